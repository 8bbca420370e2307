"""Completion: how far a unit moves each sum, what is spent, and what is found. Keys are fixed."""

import math
from dataclasses import replace

import numpy as np
import pytest

import gaugedp as gd
from gaugedp.guarantees import GaussianDP
from gaugedp.optimization.ratings.group_means import Groups, gain
from gaugedp.optimization.ratings.item_factors import ITERATIONS, ItemFactors, orthonormal
from gaugedp.optimization.ratings.model import BITS, Completed, Ratings, Spread
from gaugedp.optimization.ratings.stages import Completion, Terms, item_sums, spread_sum, user_sums

SHAPE = (6, 5)
APPROX, PURE = gd.ApproxDP(1.0, 1e-6), gd.PureDP(1.0)
WAYS = pytest.mark.parametrize("replaced", [True, False], ids=["replace", "add"])
UNITS = pytest.mark.parametrize("unit", ["rating", "user"])
ASKED = pytest.mark.parametrize("requested", [APPROX, PURE], ids=["gaussian", "laplace"])


def table(rows, shape=SHAPE) -> Ratings:
    """Rows (user, item, value in [−1, 1])."""
    users, items, values = (np.array(column) for column in zip(*rows, strict=True)) if rows else 3 * (np.zeros(0),)
    return Ratings(users.astype(int), items.astype(int), np.rint(values * 2.0**BITS), shape)


def some_rows(rng, count: int) -> list:
    """Random rows, values often at the ends, items often rated twice by a user."""
    ends = rng.choice([-1.0, 1.0, 0.3], count)
    return list(zip(rng.integers(0, SHAPE[0], count), rng.integers(0, SHAPE[1], count), ends, strict=True))


def moves(rng, unit: str, replaced: bool):
    """Pairs of neighbouring lists of rows."""
    for _ in range(150):
        rows = some_rows(rng, int(rng.integers(1, 40)))
        if unit == "rating":
            yield rows, rows[1:] + (some_rows(rng, 1) if replaced else [])
            continue
        others = [row for row in rows if row[0] != 0]
        mine = [(0, item, value) for _, item, value in some_rows(rng, int(rng.integers(0, 20)))]
        yield (rows, others + mine) if replaced else (others + mine, others)


# -- sensitivity ---------------------------------------------------------------------------------------


@WAYS
@UNITS
@ASKED
def test_no_unit_moves_the_items_sums_further_than_the_noise_knows(unit: str, requested, replaced: bool) -> None:
    rng, terms = np.random.default_rng(1), Terms(requested, unit, replaced, 4.0)
    noise = Completion(terms).item_noise(SHAPE, 0.4)
    times, norm = terms.totals_factor(SHAPE[0], 0.4), 1 if terms.is_pure else 2
    for first, other in moves(rng, unit, replaced):
        moved = item_sums(table(first), terms, times) - item_sums(table(other), terms, times)
        assert np.linalg.norm(moved, norm) <= noise.body.radius(norm)


@WAYS
@ASKED
@pytest.mark.parametrize(("unit", "count"), [("rating", 1), ("user", 4), ("user", 40)])
def test_the_bound_on_the_items_sums_is_attained(unit: str, count: int, requested, replaced: bool) -> None:
    """A user of 4 or 40 items moves to others, all values at their ends: but for totals, which cancel in part."""
    shape, terms = (2, 80), Terms(requested, unit, replaced, 4.0)
    norm, once = (1 if terms.is_pure else 2), 1.0 if unit == "rating" else 4.0
    one = table([(0, item, 1.0) for item in range(count)], shape)
    other = table([(0, 40 + item, -1.0) for item in range(count)] if replaced else [], shape)
    moved = (item_sums(one, terms, 0.25) - item_sums(other, terms, 0.25))[:-3]
    expected = 2 * once * (2 if replaced else 1)
    assert np.linalg.norm(moved, norm) ** norm == pytest.approx(expected, rel=1e-4)


@WAYS
@pytest.mark.parametrize("n_factors", [0, 2])
def test_no_rating_moves_the_users_sums_further(n_factors: int, replaced: bool) -> None:
    rng, terms = np.random.default_rng(2), Terms(APPROX, "rating", replaced)
    factors = rng.standard_normal((SHAPE[1], n_factors))
    model = Completed(0.0, np.zeros(SHAPE[1]), np.zeros(SHAPE[0]), factors, np.zeros((SHAPE[0], n_factors)))
    noise, _ = Completion(terms)._user_noise(SHAPE[0], n_factors, 0.3)
    pairs = list(moves(rng, "rating", replaced))
    best = int(np.linalg.norm(factors, axis=1).argmax()) if n_factors else 0
    pairs.append(([(0, best, 1.0)], [(0, best, -1.0)] if replaced else []))
    results = [
        np.linalg.norm(user_sums(table(first), model)[0] - user_sums(table(second), model)[0])
        for first, second in pairs
    ]
    assert 0.99 * noise.body.radius(2) <= max(results) <= noise.body.radius(2)


@WAYS
@UNITS
@pytest.mark.parametrize("length", [1.0, 1.7, 5.0])
def test_no_unit_moves_the_factors_sums_further(unit: str, replaced: bool, length: float) -> None:
    """Directions as long as they may be; a pair rated twice has no part."""
    rng = np.random.default_rng(3)
    method = ItemFactors.calibrate(SHAPE, 2, length, unit, (GaussianDP(1.0), replaced))
    for first, other in moves(rng, unit, replaced):
        directions = method.flat(np.linalg.qr(rng.standard_normal((SHAPE[1], 2)))[0])
        moved = np.linalg.norm(_factor_sums(method, first, directions) - _factor_sums(method, other, directions))
        assert moved <= method.noise.body.radius(2)


def _factor_sums(method: ItemFactors, rows: list, directions: np.ndarray) -> np.ndarray:
    single = table(rows).once()
    values = single.values * 2.0**-BITS
    cut = method.cut((single.users, single.items, values))
    return method.sums((single.users, single.items, cut), directions)


def test_a_users_part_of_the_factors_sums_reaches_its_bound() -> None:
    """Many items, all scores beyond the reach: a user who turns round moves the sums by 2, as replacing is paid for."""
    shape = (1, 400)
    method = ItemFactors.calibrate(shape, 1, 1.0, "user", (GaussianDP(1.0), True))
    directions = method.flat(np.ones((400, 1)) / 20)
    sums = []
    for side in (slice(0, 200), slice(200, 400)):
        items = np.arange(400)[side]
        cut = method.cut((np.zeros(200, dtype=int), items, np.ones(200)))
        sums.append(method.sums((np.zeros(200, dtype=int), items, cut), directions))
    assert np.linalg.norm(sums[0]) == pytest.approx(1, abs=1e-3)
    assert method.noise.body.radius(2) == pytest.approx(2, abs=1e-5)


@pytest.mark.parametrize("count", [1, 3, 4, 9, 25])
def test_an_added_rating_moves_a_full_user_by_a_good_part_of_its_bound(count: int) -> None:
    """Users as long as `length`, or cut to it; the bound adds up three terms that are not large at once."""
    shape, reached = (1, 400), 0.0
    for length in (1.0, 1.9, 3.0, 5.0):
        method = ItemFactors.calibrate(shape, 1, length, "rating", (GaussianDP(1.0), False))
        sums = []
        for rows in (count, count + 1):
            users, items = np.zeros(rows, dtype=int), np.arange(rows)
            directions = np.concatenate([np.full(count, 0.05), np.full(400 - count, 0.125)])[:, None]
            sums.append(method.sums((users, items, method.cut((users, items, np.ones(rows)))), method.flat(directions)))
        moved = np.linalg.norm(sums[1] - sums[0]) / method.noise.body.radius(2)
        assert moved <= 1
        reached = max(reached, float(moved))
    assert reached > 0.2


def test_rounding_moves_the_factors_sums_by_what_is_counted_for_it() -> None:
    """Two kinds of rows on opposite sides whose roundings change together when a row is added; found by search.

    The directions are as long as they may be and all on one line, so their operator norm is 2.5·√r: with 2 in its place
    the bound would be 0.371, and the sums move by 0.405.
    """
    n_items, rank, counts = 2**18, 8, (131_072, 120_149)
    values = np.concatenate([np.repeat([66.0, 72.0], counts), [4096.0]]) * 2.0**-BITS
    length = float(np.sqrt((values[:-1] ** 2).sum()))
    method = ItemFactors.calibrate((1, n_items), rank, length, "rating", (GaussianDP(1.0), False))
    directions = np.zeros((n_items, rank))
    directions[:, 0] = 1.0
    directions[counts[0] : sum(counts), 0] = -1.0
    directions, sums = method.flat(directions), []
    for count in (len(values) - 1, len(values)):
        users, items = np.zeros(count, dtype=int), np.arange(count)
        sums.append(method.sums((users, items, method.cut((users, items, values[:count]))), directions))
    assert 0.4 < np.linalg.norm(sums[1] - sums[0]) <= method.noise.body.radius(2)


def test_users_sums_are_whole_numbers() -> None:
    """Of 2^−24, counts too: so neighbours' sums differ by what their rows differ by, and by no rounding."""
    rng = np.random.default_rng(12)
    factors = rng.standard_normal((SHAPE[1], 2))
    model = Completed(0.0, np.zeros(SHAPE[1]), np.zeros(SHAPE[0]), factors, np.zeros((SHAPE[0], 2)))
    steps = user_sums(table(some_rows(rng, 500)), model)[0] * 2.0**24
    assert (steps == np.rint(steps)).all()


@UNITS
@ASKED
def test_sums_do_not_depend_on_the_order_of_rows(unit: str, requested) -> None:
    rng, terms = np.random.default_rng(4), Terms(requested, unit, True, 4.0)
    rows = [
        (user, item, float(value)) for (user, item, _), value in zip(some_rows(rng, 300), rng.random(300), strict=True)
    ]
    other = [rows[place] for place in rng.permutation(300)]
    assert (item_sums(table(rows), terms, 0.25) == item_sums(table(other), terms, 0.25)).all()
    method = ItemFactors.calibrate(SHAPE, 2, 1.5, unit, (GaussianDP(1.0), True))
    directions = method.flat(rng.standard_normal((SHAPE[1], 2)))
    assert (_factor_sums(method, rows, directions) == _factor_sums(method, other, directions)).all()


# -- what is spent -------------------------------------------------------------------------------------


class Bill:
    """Collects the guarantees of all noise that a fit makes."""

    def __init__(self, monkeypatch) -> None:
        self.spent: list = []
        for kind in (gd.Gaussian, gd.Laplace):
            prepare = kind.prepare

            def watched(mechanism, *given, prepare=prepare):
                self.spent.append(mechanism.guarantee)
                return prepare(mechanism, *given)

            monkeypatch.setattr(kind, "prepare", watched)


@WAYS
@UNITS
@pytest.mark.parametrize(("requested", "forced"), [(APPROX, True), (APPROX, False), (PURE, False)], ids=str)
def test_all_noise_together_is_what_is_guaranteed(
    unit: str, requested, forced: bool, replaced: bool, monkeypatch
) -> None:
    bill, terms = Bill(monkeypatch), Terms(requested, unit, replaced)
    Completion(terms, is_forced=forced).fit(table(some_rows(np.random.default_rng(5), 30)), gd.research_rng(5))
    total = sum(one.mu**2 if isinstance(one, GaussianDP) else one.epsilon_value for one in bill.spent)
    most = terms.mu**2 if requested is APPROX else 1.0
    assert len(bill.spent) >= (ITERATIONS + 1 if forced else 2)
    assert most * (1 - 1e-6) <= total <= most


# -- what is found -------------------------------------------------------------------------------------


def made(shape: tuple[int, int], count: int, rank: int, key: int):
    """Ratings with item and user means and `rank` strong factors, in [−1, 1]; the noiseless values of all cells."""
    rng = np.random.default_rng((*shape, key))
    left, right = rng.standard_normal((shape[0], rank)), rng.standard_normal((shape[1], rank))
    truth = 0.15 * rng.standard_normal((shape[0], 1)) + 0.2 * rng.standard_normal(shape[1])
    truth = truth + 0.3 * left @ right.T / math.sqrt(max(rank, 1))
    cells = rng.permutation(shape[0] * shape[1])[:count]
    users, items = cells // shape[1], cells % shape[1]
    values = np.clip(truth[users, items] + 0.3 * rng.standard_normal(count), -1, 1)
    return Ratings(users, items, np.rint(values * 2.0**BITS), shape), truth


def misses(model: Completed, truth: np.ndarray, own: Ratings | None = None) -> float:
    offsets, scores = (model.users, model.scores) if own is None else model.own(own)
    actual = model.mean + model.items + offsets[:, None] + scores @ model.factors.T
    return float(np.sqrt(np.mean((np.clip(actual, -1, 1) - np.clip(truth, -1, 1)) ** 2)))


def test_without_noise_factors_are_found() -> None:
    ratings, truth = made((800, 100), 20_000, 2, 1)
    for unit in ("rating", "user"):
        model = Completion(Terms(gd.ApproxDP(1e4, 0.1), unit, True, 4.0)).fit(ratings, gd.research_rng(1))
        assert 2 <= model.factors.shape[1] <= 4
        assert misses(model, truth, ratings) < 0.15
        flat = Completion(Terms(gd.ApproxDP(1e4, 0.1), unit, True, 4.0), rank=0).fit(ratings, gd.research_rng(1))
        assert misses(flat, truth, ratings) > 0.25
    # with noise on users' parts too, which is small here
    model = Completion(Terms(gd.ApproxDP(1e4, 0.1), "rating", True)).fit(ratings, gd.research_rng(1))
    assert misses(model, truth) < 0.2


@pytest.mark.statistical
def test_factors_pay_at_a_guarantee_that_people_ask_for() -> None:
    """ε = 4, δ = 1e-6, whole users protected, 4,000 users; medians over three keys."""
    actual, flat = [], []
    for key in range(3):
        ratings, truth = made((4000, 200), 160_000, 2, key)
        terms = Terms(gd.ApproxDP(4, 1e-6), "user", True, 4.0)
        actual.append(misses(Completion(terms).fit(ratings, gd.research_rng(key)), truth, ratings))
        flat.append(misses(Completion(terms, rank=0).fit(ratings, gd.research_rng(key)), truth, ratings))
    assert np.median(actual) < 0.7 * np.median(flat)


@pytest.mark.statistical
def test_where_there_are_no_factors_none_stand_out() -> None:
    """Whole fits with factors forced, 20 keys: chance makes one stand out once in a hundred or so."""
    counts = []
    for key in range(20):
        ratings, _ = made((300, 60), 6000, 0, key)
        counts.append(Completion(Terms(gd.ApproxDP(2, 1e-6), "user", True), 3, True).fit(ratings, gd.research_rng(key)))
    assert sum(model.factors.shape[1] for model in counts) <= 2


@pytest.mark.parametrize(
    "requested",
    [gd.ApproxDP(1e-3, 1e-9), PURE, gd.ApproxDP(50, 1e-6), gd.ApproxDP(1e15, 1e-6), gd.PureDP(1e15)],
    ids=str,
)
@UNITS
def test_any_table_gives_a_model(unit: str, requested) -> None:
    tables = [
        table([]),
        table([(0, 0, 1.0)]),
        table([(0, 0, 1.0)] * 50),
        table([], (1, 1)),
        table([(0, 0, -1.0)], (1, 1)),
    ]
    for ratings in tables:
        for forced in (False, True):
            model = Completion(Terms(requested, unit, True, 4.0), is_forced=forced).fit(ratings, gd.research_rng(9))
            own = model.own(ratings)
            for numbers in (model.mean, model.items, model.users, model.factors, model.scores, *own):
                assert np.isfinite(numbers).all()


def test_what_a_user_gets_from_their_own_rows_is_theirs_alone() -> None:
    """Other users' rows change nothing of it, once the model is there."""
    ratings, _ = made((200, 40), 4000, 1, 3)
    model = Completion(Terms(gd.ApproxDP(20, 1e-3), "user", True, 4.0)).fit(ratings, gd.research_rng(3))
    mine = ratings.users == 7
    alone = replace(ratings, users=ratings.users[mine], items=ratings.items[mine], values=ratings.values[mine])
    for all_, one in zip(model.own(ratings), model.own(alone), strict=True):
        assert all_[7] == pytest.approx(one[7], abs=1e-12)


def own_offset(values: list[float], spread: Spread | None = None) -> float:
    """The offset of a user with ratings of these values, where the mean is 0 and there are no factors."""
    none = np.zeros((SHAPE[1], 0)), np.zeros((1, 0))
    model = Completed(0.0, np.zeros(SHAPE[1]), np.zeros(1), *none, variance=0.2, spread=spread or Spread())
    rows = [(0, place % SHAPE[1], value) for place, value in enumerate(values)]
    return float(model.own(table(rows, (1, SHAPE[1])))[0][0])


def test_an_offset_by_own_ratings_is_a_posterior_mean() -> None:
    """Against numbers drawn from the prior: the mean of those offsets that give the same mean of eight ratings."""
    rng, size, within = np.random.default_rng(13), 2_000_000, 0.2
    ratios = rng.choice([0.0, 0.02, 0.05, 0.1, 0.2, 0.4, 0.8], size, p=np.array([9, *6 * [1]]) / 15)
    offsets = np.sqrt(ratios * within) * rng.standard_normal(size)
    means = offsets + math.sqrt(within / 8) * rng.standard_normal(size)
    for mean in (-0.4, 0.1, 0.25, 0.5):
        like = np.abs(means - mean) < 0.005
        error = offsets[like].std() / math.sqrt(like.sum())
        assert own_offset([mean] * 8) == pytest.approx(offsets[like].mean(), abs=5 * error + 1e-3)


def test_offsets_by_own_ratings_grow_with_what_speaks_for_them() -> None:
    shares = [own_offset([mean] * 10) / mean for mean in (0.05, 0.1, 0.2, 0.4, 0.8)]
    assert shares == sorted(shares)
    assert shares[0] < 0.3
    assert shares[-1] > 0.8
    assert own_offset([]) == 0
    released = [own_offset([0.2] * 10, Spread(value, 0.002)) for value in (-0.1, 0.0, 0.01, 0.04, 0.16, 5.0)]
    assert released == sorted(released)
    assert released[0] == pytest.approx(0, abs=1e-5)
    assert released[3] == pytest.approx(0.2 * 10 / (10 + 1 / 0.2), rel=1e-3)


# -- how users differ ----------------------------------------------------------------------------------


@WAYS
@UNITS
@ASKED
@pytest.mark.parametrize("most", [1.0, 2.5, 4.0])
def test_no_unit_moves_the_spread_further_than_the_noise_knows(
    most: float, unit: str, requested, replaced: bool
) -> None:
    """Random pairs, and those that attain the bound: user 0 loses a rating that differs, user 1 gets one more."""
    rng, terms = np.random.default_rng(14), Terms(requested, unit, replaced, most)
    model = Completed(0.0, np.zeros(SHAPE[1]), np.zeros(SHAPE[0]), np.zeros((SHAPE[1], 0)), np.zeros((SHAPE[0], 0)))
    alike, apart = [(0, place, 1.0) for place in range(5)], [(0, 0, 1.0), (0, 1, -1.0)]
    pairs = [*moves(rng, unit, replaced)] + ([(alike, apart if replaced else [])] if unit == "user" else [])
    many = [(place % 2, place % 5, 1.0) for place in range(800)]
    pairs += [([*many, (0, 0, -1.0)], [*many, (1, 0, 1.0)] if replaced else many)] if unit == "rating" else []
    weight = terms.user_weight
    moved = [abs(spread_sum(table(a), model, weight) - spread_sum(table(b), model, weight)) for a, b in pairs]
    bound = terms.spread_noise.body.radius(1 if terms.is_pure else 2)
    assert 0.99 * bound <= max(moved) <= bound


def test_the_spread_is_that_of_users_offsets() -> None:
    """2,000 users, offsets of variance 0.02, ratings of variance 0.09 around them, of random items."""
    rng, shape = np.random.default_rng(15), (2000, 30)
    users, items = np.divmod(rng.permutation(shape[0] * shape[1])[:24_000], shape[1])
    values = math.sqrt(0.02) * rng.standard_normal(shape[0])[users] + 0.3 * rng.standard_normal(len(users))
    ratings = Ratings(users, items, np.rint(np.clip(values, -1, 1) * 2.0**BITS), shape)
    for unit in ("rating", "user"):
        for requested, width in ((gd.ApproxDP(4, 1e-6), 4.0), (gd.PureDP(50), 4.0), (gd.ApproxDP(1e4, 0.1), 0.0)):
            spread = Completion(Terms(requested, unit, True, 4.0)).fit(ratings, gd.research_rng(15)).spread
            assert abs(spread.value - 0.02) < width * spread.std + 0.002
            assert spread.std < 0.05


# -- shrinkage -----------------------------------------------------------------------------------------


def test_means_are_shrunk_as_noise_asks() -> None:
    rng = np.random.default_rng(10)
    counts = rng.integers(5, 60, 2000).astype(float)
    truth = 0.1 + 0.25 * rng.standard_normal(2000)
    values = counts * truth + np.sqrt(0.3 * counts) * rng.standard_normal(2000)
    for std in (0.01, 5.0):
        noisy = Groups(
            values + std * rng.standard_normal(2000), counts + std * rng.standard_normal(2000), std**2, std**2
        )
        off, spread = noisy.means(0.1, 0.3)
        assert spread == pytest.approx(0.0625, rel=0.25)
        error = counts @ (off + 0.1 - truth) ** 2 / counts.sum()
        assert error < counts @ (0.1 - truth) ** 2 / counts.sum() * (0.25 if std < 1 else 0.6)
        guaranteed = gain(noisy.sizes, spread, 0.3, std**2)
        assert counts @ (0.1 - truth) ** 2 / counts.sum() - error == pytest.approx(guaranteed, rel=0.3)


def test_two_releases_are_one_of_their_joint_precision() -> None:
    one = Groups(np.array([1.0, 2.0]), np.array([3.0, 4.0]), 1.0, 2.0)
    both = one.with_more(Groups(np.array([5.0, 6.0]), np.array([7.0, 8.0]), 3.0, 6.0))
    assert both.sums == pytest.approx([2.0, 3.0])
    assert (both.variance, both.count_variance) == (0.75, 1.5)


def test_factors_are_uncorrelated_over_ratings() -> None:
    rng = np.random.default_rng(11)
    sizes = rng.integers(0, 50, 30).astype(float)
    actual = orthonormal(rng.standard_normal((30, 3)), sizes)
    weights = sizes / sizes.sum()
    assert weights @ actual == pytest.approx(np.zeros(3), abs=1e-9)
    assert (actual * weights[:, None]).T @ actual == pytest.approx(np.eye(3), abs=1e-9)
