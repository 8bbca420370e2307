"""Transcripts of the low-rank mechanisms on worst-case neighbours: see transcripts.py for what is shown, and how."""

import math

import numpy as np
import pytest

import gaugedp as gd
from gaugedp.optimization import vertices
from gaugedp.optimization.eigenvectors.noisy_moments import NoisyMoments, second_moments
from gaugedp.optimization.eigenvectors.oja import Oja
from gaugedp.optimization.eigenvectors.sphere_exponential import SphereExponential
from gaugedp.optimization.lattice import released
from gaugedp.optimization.matrix_descent import MatrixDescent, MatrixFrankWolfe
from gaugedp.optimization.matrix_grams import GramScale, MatrixGrams
from gaugedp.optimization.matrix_moments import MatrixMoments, MomentScale
from gaugedp.optimization.ratings.group_means import Groups
from gaugedp.optimization.ratings.item_factors import ITERATIONS, ItemFactors
from gaugedp.optimization.ratings.model import BITS, Ratings
from gaugedp.optimization.ratings.stages import Completion, Start, Terms
from gaugedp.optimization.spectraplex import NuclearBall, Spectraplex, lowest
from gaugedp.optimization.stochastic_frank_wolfe import Schedule, StochasticFrankWolfe
from gaugedp.optimization.trace_designs import Full, RankOne, TraceProblem, TraceScale, cut
from tests.optimization.test_streams import decays, noise_map
from tests.optimization.transcripts import ROUNDING, check, check_draws, tapes, told, transcript

pytestmark = pytest.mark.statistical
BOTH = pytest.mark.parametrize("neighbours", ["replace", "add_remove"])
WAYS = pytest.mark.parametrize("replaced", [True, False], ids=["replace", "add"])
MU = 0.5


def axes(d: int, *places: int) -> np.ndarray:
    return np.eye(d)[list(places)]


# -- eigenvectors --------------------------------------------------------------------------------------


def around(neighbours: str, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows e₁ but one, which is e₂ here and e₁ there (replaced), or not here and e₁ there."""
    rest = np.repeat(axes(d, 0), 50, axis=0)
    return (np.vstack([rest, axes(d, 1)]) if neighbours == "replace" else rest), np.vstack([rest, axes(d, 0)])


@BOTH
def test_noise_on_second_moments(neighbours: str) -> None:
    method = NoisyMoments.calibrate((60, 3), gd.GaussianDP(MU), neighbours)
    actual = check(lambda rows, rng: method.solve(rows, rng).vectors, around(neighbours, 60), {"mu": MU}, 4)
    assert actual.share > 0.997


@BOTH
@pytest.mark.parametrize("k", [1, 2])
def test_noise_on_products(neighbours: str, k: int) -> None:
    """In the plane e₁e₁ᵀ − e₂e₂ᵀ keeps all lengths; where a row is added the direction is near e₁ from step 2 on."""
    if neighbours == "replace":
        tables = np.repeat(axes(2, 1), 3, axis=0), np.vstack([axes(2, 1, 1), axes(2, 0)])
    else:
        tables = around("add_remove", 2)
        tables = np.repeat(tables[0], 80, axis=0), np.vstack([np.repeat(tables[0], 80, axis=0), axes(2, 0)])
    method = Oja.calibrate((2, k), gd.GaussianDP(MU), neighbours, steps=60)
    check(lambda rows, rng: method.solve(rows, rng).vectors, tables, {"mu": method.guarantee.mu}, 60)


@BOTH
def test_directions_from_the_sphere(neighbours: str) -> None:
    """What moves has the width that β was set for; with a β of that size a loss reaches ε: test_eigen."""
    method = SphereExponential.calibrate((100, 1), gd.PureDP(2.0), neighbours)
    rest, both = np.repeat(axes(100, 0), 1000, axis=0), axes(100, 0, 1)
    tables = np.vstack([rest, both[:1]]), np.vstack([rest, both[1:]]) if neighbours == "replace" else rest
    check_draws(directions(method), tables, method.per_direction.epsilon_value, 300)


def directions(method: SphereExponential):
    """The vectors alone; where the values are released too, their noise has no part in them."""
    return lambda rows, rng: method.directions(second_moments(rows), rng)


@BOTH
def test_values_at_directions(neighbours: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Given directions e₁ … e₃₀, which are drawn and paid for before: e₁ against e₂ moves two values."""
    method = SphereExponential.calibrate((30, 30), gd.PureDP(2.0), neighbours)
    monkeypatch.setattr(SphereExponential, "directions", lambda *_: np.eye(30))
    tables = axes(30, 0), axes(30, 1) if neighbours == "replace" else np.empty((0, 30))
    check(lambda rows, rng: method.solve(rows, rng).vectors, tables, {"epsilon": 0.1}, 400)


# -- all rows at every step ------------------------------------------------------------------------------


def sign(predictions: np.ndarray, target: np.ndarray) -> np.ndarray:
    """The slope of a loss that is linear in the prediction, upwards or downwards: it attains every bound."""
    return np.where(target > 0, 1.0, -1.0) + 0 * predictions


def designs(region, rows: list[int]):
    made = np.eye(region.shape[0] if isinstance(region, Spectraplex) else region.n_coordinates)[rows]
    return RankOne(made) if isinstance(region, Spectraplex) else Full(made, region.shape)


def regression(region, replaced: bool):
    """Two tables for y of either sign: the last row is upwards in one, downwards or not there in the other."""
    up, down = np.array([1.0, -1.0, 1.0]), np.array([1.0, -1.0, -1.0])
    one = TraceProblem(designs(region, [1, 2, 0]), up, sign)
    return one, TraceProblem(designs(region, [1, 2, 0] if replaced else [1, 2]), down if replaced else up[:2], sign)


@WAYS
@pytest.mark.parametrize("kind", [MatrixDescent, MatrixFrankWolfe])
@pytest.mark.parametrize("region", [Spectraplex(12), NuclearBall((6, 10))], ids=repr)
@pytest.mark.parametrize("guarantee", [gd.GaussianDP(MU), gd.PureDP(MU)], ids=repr)
def test_sums_of_gradients(guarantee, region, kind, replaced: bool) -> None:
    method = kind.calibrate(guarantee, TraceScale(region, 300, replaced=replaced))
    claim = {"mu": MU} if isinstance(guarantee, gd.GaussianDP) else {"epsilon": MU}
    numbers = method.n_steps * region.n_coordinates
    runs = math.ceil(14_000 / numbers)
    check(lambda problem, rng: method.solve(problem, 30, rng), regression(region, replaced), claim, runs, 0.999)


def worst_moments(region, scale: MomentScale) -> tuple[TraceProblem, TraceProblem]:
    """A last row with y = 1; and one with y = −1 whose design has the product with the first that moves furthest."""
    one = designs(region, [1, 2, 0])
    product = min(1.0, scale.weight**2 / 2)
    cosine = math.sqrt(product) if isinstance(region, Spectraplex) else product
    turned = one.rows.copy()
    turned[2] = cosine * one.rows[2] + math.sqrt(1 - cosine**2) * one.rows[0]
    if not scale.replaced:
        turned = turned[:2]
    other = RankOne(turned) if isinstance(region, Spectraplex) else Full(turned, region.shape)
    target = np.array([1.0, -1.0, 1.0])
    return TraceProblem(one, target, sign), TraceProblem(other, np.array([1.0, -1.0, -1.0])[: len(turned)], sign)


@pytest.mark.thorough
@WAYS
@pytest.mark.parametrize(
    ("guarantee", "region"),
    [
        (gd.GaussianDP(MU), Spectraplex(12)),
        (gd.GaussianDP(MU), NuclearBall((6, 10))),
        (gd.PureDP(MU), Spectraplex(5)),
        (gd.PureDP(MU), NuclearBall((3, 5))),
    ],
    ids=repr,
)
def test_moments(guarantee, region, replaced: bool) -> None:
    """Joint Gaussian noise is charged what the worst rows move; two balls more: no rows move both sums furthest."""
    scale = MomentScale(region, (-1.0, 1.0), 1.0, 0.0 if isinstance(region, Spectraplex) else -1.0, replaced)
    method = MatrixMoments.calibrate(guarantee, scale)
    tables = worst_moments(region, scale)
    if isinstance(guarantee, gd.GaussianDP):
        check(lambda problem, rng: method.solve(problem, 30, rng), tables, {"mu": MU}, 6, 0.99)
    else:
        runs = math.ceil(14_000 / region.n_coordinates)
        least = 0.75 if replaced else 0.99
        check(lambda problem, rng: method.release(problem.designs, cut(problem.target), rng), tables, {"epsilon": MU},
              runs, least)  # fmt: skip


@WAYS
@pytest.mark.parametrize("guarantee", [gd.GaussianDP(MU), gd.PureDP(MU)], ids=repr)
def test_grams(guarantee, replaced: bool) -> None:
    """A row against its opposite moves the gradient as far as is charged, or is there in one table alone."""
    region = NuclearBall((8, 9))
    method = MatrixGrams.calibrate(guarantee, GramScale(region, (-1.0, 1.0), 1.0, replaced=replaced))
    claim = {"mu": MU} if isinstance(guarantee, gd.GaussianDP) else {"epsilon": MU}
    check(lambda problem, rng: method.solve(problem, 30, rng), regression(region, replaced), claim, 200,
          0.8 if replaced else 0.95)  # fmt: skip


# -- one pass over the rows -------------------------------------------------------------------------------


def straight(monkeypatch: pytest.MonkeyPatch, slot: int) -> None:
    """Rows stand in slots in their order, 20 in D_0; of 39 rows none stands in `slot`. The guarantee holds for any."""

    def slots(_: Schedule, n_rows: int, *__: object) -> tuple[np.ndarray, np.ndarray]:
        bounds = np.r_[0, np.arange(20, 41)]
        return np.arange(n_rows), bounds - (np.arange(22) > slot) * (40 - n_rows)

    monkeypatch.setattr(Schedule, "slots", slots)


def pass_tables(region, replaced: bool, slot: int) -> tuple[TraceProblem, TraceProblem]:
    """40 rows e₁, all downwards but that of `slot`: it is upwards here, downwards or not there in the other table."""
    row = 19 + slot
    target = np.where(np.arange(40) == row, 1.0, -1.0)
    one = TraceProblem(designs(region, [0] * 40), target, sign)
    if replaced:
        return one, TraceProblem(one.designs, -np.ones(40), sign)
    return one, TraceProblem(designs(region, [0] * 39), -np.ones(39), sign)


def passed(method: StochasticFrankWolfe):
    """One pass over the 40 rows of a table."""
    return lambda problem, rng: method.solve(problem, 40, rng)


@WAYS
@pytest.mark.parametrize("name", ["toeplitz", "oja"])
@pytest.mark.parametrize("region", [Spectraplex(14), NuclearBall((9, 12))], ids=repr)
def test_running_gradients(region, name: str, replaced: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The row stands in the later slot that counts most; it moves all later steps.

    Oja's direction starts at the worst place, which chance could have chosen, and hardly leaves it at so large a μ.
    """
    mu = 500.0 if name == "oja" else MU
    method = StochasticFrankWolfe.calibrate(gd.GaussianDP(mu), TraceScale(region, 40, 1.0, 1.0, replaced), name, 1.0)
    decay = 1 - method.schedule.rate
    columns = decays(21, decay) if name == "oja" else np.linalg.solve(noise_map(21, decay), decays(21, decay))
    slot = 1 + int(np.linalg.norm(columns, axis=0)[1:].argmax())
    straight(monkeypatch, slot)
    first, other = pass_tables(region, replaced, slot)
    worst = lowest(region.square(-first.designs.combine(np.arange(1), np.ones(1))))[1]
    monkeypatch.setattr(vertices, "normals", lambda *_: worst)
    width = region.n_directions if name == "oja" else region.n_coordinates
    runs = math.ceil(7000 / (21 * width))
    check(passed(method), (first, other), {"mu": mu}, runs)


def test_a_row_moves_every_later_step_and_fades(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the tape itself: nothing before its slot, then all of what is charged times (1 − η)^k."""
    region, slot = Spectraplex(3), 4
    method = StochasticFrankWolfe.calibrate(gd.GaussianDP(MU), TraceScale(region, 40, 1.0, 1.0), "oja", 1.0)
    straight(monkeypatch, slot)
    first, other = tapes(passed(method), pass_tables(region, True, slot), 3)
    moved = [np.linalg.norm(a[1] - b[1]) for a, b in zip(first.entries, other.entries, strict=True)]
    assert max(moved[:slot]) == 0
    fading = method.moved[1] * (1 - method.schedule.rate) ** np.arange(21 - slot)
    assert (moved[slot:] <= fading).all()


# -- ratings ------------------------------------------------------------------------------------------------


def table(rows: list[tuple[int, int, float]], shape: tuple[int, int]) -> Ratings:
    users, items, values = np.array(rows).reshape(-1, 3).T
    return Ratings(users.astype(int), items.astype(int), np.rint(values * 2.0**BITS), shape)


def rating_tables(unit: str, replaced: bool) -> tuple[Ratings, Ratings]:
    """User 0 has 1 rating or 50, at the upper end; other items at the lower end instead, or none."""
    count, shape = (1 if unit == "rating" else 50), (4000, 120)
    rest = [(user, item, 0.25 * (-1) ** item) for user in range(1, 200) for item in range(user % 7, 120, 7)]
    mine = [(0, item, 1.0) for item in range(count)]
    others = [(0, 60 + item, -1.0) for item in range(count)] if replaced else []
    return table(rest + mine, shape), table(rest + others, shape)


def fitted(method: Completion):
    def run(ratings: Ratings, rng):
        actual = method.fit(ratings, rng)
        return actual.mean, actual.items, actual.users, actual.factors, actual.scores, actual.spread.value

    return run


@WAYS
@pytest.mark.parametrize("unit", ["rating", "user"])
def test_whole_fits_of_ratings(unit: str, replaced: bool) -> None:
    """Items, then items again or users' means: the pair attains all but the spread, whose 3 % of μ² need another."""
    terms = Terms(gd.ApproxDP(1.0, 1e-6), unit, replaced, 4.0)
    check(fitted(Completion(terms)), rating_tables(unit, replaced), {"mu": terms.mu}, 60, 0.98)


@WAYS
@pytest.mark.parametrize("unit", ["rating", "user"])
def test_the_spread_of_users(unit: str, replaced: bool) -> None:
    """User 0 rates many items low and one high, which goes to user 1; or two high, and then one of them low."""
    terms, count = Terms(gd.ApproxDP(1.0, 1e-6), unit, replaced, 2.0), 400
    start = Start(Groups(*2 * [np.zeros(count)], 1.0, 1.0), np.zeros(3), terms, 2, 1.0)
    low, high = [(user, item, -1.0) for user in (0, 1) for item in range(count)], [(0, 1, 1.0), (0, 2, 1.0)]
    first, other = ([*low, high[0]], [*low, (1, 1, -1.0)]) if unit == "rating" else (high, [high[0], (0, 2, -1.0)])
    tables = table(first, (2, count)), table(other if replaced else low if unit == "rating" else [], (2, count))
    actual = told([transcript(lambda *given: Completion(terms)._spread(given[0], start, given[1]), tables, 1)])
    assert actual.mu == pytest.approx(terms.mu * math.sqrt(0.03), rel=1e-3)
    assert 0.99 <= actual.share <= ROUNDING


@pytest.mark.parametrize(
    ("unit", "replaced", "least"),
    [("rating", True, 0.91), ("rating", False, 0.965), ("user", True, 0.87), ("user", False, 0.99)],
)
def test_whole_pure_fits_of_ratings(unit: str, replaced: bool, least: float) -> None:
    """Where a unit is replaced totals of weights and of squares are charged twice in ℓ₁, and cannot move so far.

    Without the spread, 94 % and 89 % of the charge are reached; for a rating, (4 + 2h)/(4 + 6h) at h = 1/16 is the most
    there is.
    """
    terms = Terms(gd.PureDP(1.0), unit, replaced, 4.0)
    check(fitted(Completion(terms)), rating_tables(unit, replaced), {"epsilon": 1.0}, 60, least)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("unit", "replaced", "least"),
    [("rating", True, 0.82), ("rating", False, 0.82), ("user", True, 0.78), ("user", False, 0.92)],
)
def test_whole_fits_of_ratings_with_factors(unit: str, replaced: bool, least: float) -> None:
    """The steps of the power iteration are the part that no pair is known to attain together: see the next tests."""
    terms = Terms(gd.ApproxDP(1.0, 1e-6), unit, replaced, 4.0)
    check(fitted(Completion(terms, 2, True)), rating_tables(unit, replaced), {"mu": terms.mu}, 60, least)


def step_of_factors(method: ItemFactors, directions: np.ndarray):
    """One step of the iteration for one user's ratings, for directions that were released before."""

    def run(values: np.ndarray, rng):
        items = np.flatnonzero(values)
        users = np.zeros(len(items), dtype=int)
        entries = users, items, method.cut((users, items, values[items]))
        return released(method.sums(entries, method.flat(directions)), method.noise, rng)

    return run


@WAYS
def test_a_step_of_factors_of_a_user(replaced: bool) -> None:
    """40,000 items and a flat direction: one user likes half of them and a few, the other the other half and the few.

    Both scores are past the reach, on the same side, and the ratings nearly opposite: the sums move by nearly 2.
    """
    count, few = 40_000, 120
    method = ItemFactors.calibrate((1, count), 1, 1.0, "user", (gd.GaussianDP(MU), replaced))
    one = np.where(np.arange(count) < count // 2 + few, 1.0, -1.0)
    other = np.where(np.arange(count) >= count // 2 - few, 1.0, -1.0) if replaced else np.zeros(count)
    flat = np.full((count, 1), 1 / math.sqrt(count))
    mu = MU / math.sqrt(ITERATIONS)
    check(step_of_factors(method, flat), (one, other), {"mu": mu}, 1)


def test_a_step_of_factors_of_a_rating() -> None:
    """(1 + ℓ)/B + 1/B² adds up lengths that are at right angles: √(1 + ℓ²)/B and a little is the most that was found.

    Of 64 ratings of length B = 8 all scores are at one end of the reach; one more, with the longest direction, takes
    them as far to the other side, and its own row is as long as rows are: 0.66 of what is charged.
    """
    count, length = 400, 8.0
    method = ItemFactors.calibrate((1, count), 1, length, "rating", (gd.GaussianDP(MU), False))
    values, directions = np.zeros(count), np.zeros((count, 1))
    values[:64], directions[:64] = 1.0, -0.0125
    more = values + np.eye(1, count, 64)[0]
    directions[64] = 0.125
    mu = MU / math.sqrt(ITERATIONS)
    check(step_of_factors(method, directions), (more, values), {"mu": mu}, 20, 0.65)
