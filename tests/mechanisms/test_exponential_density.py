"""The exponential mechanism on a body: its law, its guarantee on a grid, its two ways of drawing, its refusals."""

import math
import pickle
from collections.abc import Callable

import numpy as np
import pytest

import gaugedp as gd
from gaugedp.bodies import Ellipsoid, LpBall, Polytope
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees import ExponentialLoss
from gaugedp.mechanisms import ExponentialDensity, Quality
from tests.samplers.fit import of_cells

pytestmark = pytest.mark.statistical
ONE = gd.PureDP(1.0)
LINE, UNIT = LpBall(1, 1, 1.0), LpBall(1, 1, 0.25)
DISC, DIAMOND = LpBall(2, 2, 1.0), LpBall(2, 1, 0.5)


def distance_line(answer: np.ndarray, points: np.ndarray) -> np.ndarray:
    return -np.abs(points[:, 0] - answer[0]) / 0.25


def distance_plane(answer: np.ndarray, points: np.ndarray) -> np.ndarray:
    return -np.abs(points - answer).sum(axis=1) / 0.5


def two_peaks(answer: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Neither concave nor monotone in the point: sin of a multiple of the distance, slope 1 in the answer."""
    return np.sin(np.abs(points - answer).sum(axis=1) / 0.5)


ON_LINE = Quality(distance_line, UNIT, (-6.0, 0.0), clipped=True)
ON_DISC = Quality(distance_plane, DIAMOND, (-4.0, 0.0), clipped=True)
PEAKS = Quality(two_peaks, DIAMOND, (-1.0, 1.0))
A_LINE, A_PLANE = np.array([0.4]), np.array([0.3, -0.2])


def line_grid(count: int) -> np.ndarray:
    return ((np.arange(count) + 0.5) / count * 2 - 1)[:, None]


def disc_grid(count: int) -> np.ndarray:
    axis = line_grid(count)[:, 0]
    grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    return grid[(grid**2).sum(axis=1) <= 1]


def cells(points: np.ndarray) -> np.ndarray:
    """16 intervals of a line, or 6 × 6 squares of the plane."""
    count = 16 if points.shape[1] == 1 else 6
    parts = np.clip(((points + 1) / 2 * count).astype(int), 0, count - 1)
    return parts @ count ** np.arange(points.shape[1])


def misfit(draws: np.ndarray, score: Callable, answer: np.ndarray, epsilon: float, bounds: tuple) -> float:
    """The chi-square p-value of the draws against density ∝ e^{ε·score/2}, integrated on a fine grid."""
    grid = line_grid(80_000) if draws.shape[1] == 1 else disc_grid(800)
    weights = np.exp(epsilon * np.clip(score(answer, grid), *bounds) / 2)
    return of_cells(np.bincount(cells(draws), minlength=36), np.bincount(cells(grid), weights, minlength=36))


LAWS = {
    "line": (ON_LINE, LINE, A_LINE, 1.0),
    "line, clipped": (Quality(distance_line, UNIT, (-2.0, -0.5), clipped=True), LINE, A_LINE, 1.5),
    "line, beyond": (ON_LINE, LINE, np.array([3.0]), 1.0),
    "disc": (ON_DISC, DISC, A_PLANE, 1.0),
    "disc, two peaks": (PEAKS, DISC, A_PLANE, 3.0),
}


@pytest.mark.many
@pytest.mark.parametrize("constant_time", [False, True], ids=["rejection", "walk"])
@pytest.mark.parametrize("name", LAWS)
def test_the_law_is_that_of_the_theorem(name: str, constant_time: bool) -> None:
    """20,000 draws, or 8,000 of a walk; over all keys a fair mechanism fails one of the ten with a chance of 1e-3.

    The key is fixed.
    """
    quality, over, answer, epsilon = LAWS[name]
    mechanism = ExponentialDensity.calibrate(quality, over, gd.PureDP(epsilon), constant_time)
    draws = mechanism.draw(answer, 8000 if constant_time else 20_000, gd.research_rng(5))
    assert misfit(draws, quality.score, answer, epsilon, quality.bounds) > 1e-4


@pytest.mark.parametrize(
    ("name", "constant_time"), [("line", False), ("disc", False), ("disc, two peaks", False), ("disc", True)]
)
def test_the_test_of_the_law_alarms_at_twice_epsilon(name: str, constant_time: bool) -> None:
    """Positive control; the walk with fewer draws, being slow at a large epsilon."""
    quality, over, answer, epsilon = LAWS[name]
    wrong = ExponentialDensity.calibrate(quality, over, gd.PureDP(2 * epsilon), constant_time)
    draws = wrong.draw(answer, 4000 if constant_time else 20_000, gd.research_rng(5))
    assert misfit(draws, quality.score, answer, epsilon, quality.bounds) < 1e-9


def test_one_draw_at_a_time_has_the_law_too() -> None:
    """1,000 calls of `sample`, each way; false alarms 2e-4 over all keys."""
    rng = gd.research_rng(6)
    for constant_time in (False, True):
        mechanism = ExponentialDensity.calibrate(PEAKS, DISC, ONE, constant_time)
        draws = np.array([mechanism.sample(A_PLANE, rng) for _ in range(1000)])
        assert misfit(draws, two_peaks, A_PLANE, 1.0, (-1, 1)) > 1e-4


def test_the_square_and_the_hexagon_have_exact_draws_too() -> None:
    """The mean of a linear score on the square is a product of known integrals; five standard errors."""
    square = LpBall(2, np.inf, 1.0)
    hexagon = Polytope.symmetric_hull(np.array([[2.0, 1, 1], [0, 1, -1]]))
    linear = Quality(lambda a, y: y @ a, LpBall(2, 1, 1.0), (-3.0, 3.0), clipped=True)
    mechanism = ExponentialDensity.calibrate(linear, square, gd.PureDP(2.0))
    answer = np.array([1.5, -0.5])
    draws = mechanism.draw(answer, 20_000, gd.research_rng(7))
    expected = 1 / np.tanh(answer) - 1 / answer  # density ∝ e^{a·y} on [−1, 1]
    assert (np.abs(draws.mean(axis=0) - expected) < 5 * draws.std(axis=0) / 20_000**0.5).all()
    outputs = ExponentialDensity.calibrate(ON_DISC, hexagon, ONE).draw(A_PLANE, 500, gd.research_rng(8))
    assert hexagon.gauge(outputs).max() < 1.001


# -- the guarantee -------------------------------------------------------------------------------------


def losses(mechanism: ExponentialDensity, one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """log p(y)/p′(y) on a grid of Y, p and p′ normalised there: the guarantee holds on any finite Y as well."""
    grid = line_grid(4001) if mechanism.over.ambient_dim == 1 else disc_grid(101)
    logs = [mechanism.log_weights(answer, grid) for answer in (one, other)]
    first, second = (each - np.logaddexp.reduce(each) for each in logs)
    return first - second


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("quality", [ON_LINE, ON_DISC, PEAKS], ids=["line", "disc", "two peaks"])
def test_no_loss_and_no_range_of_losses_is_above_epsilon(quality: Quality, epsilon: float) -> None:
    over = LINE if quality is ON_LINE else DISC
    mechanism = ExponentialDensity.calibrate(quality, over, gd.PureDP(epsilon))
    largest = 0.0
    for scale in (0.0, 0.3, 1.0, 3.0):
        answer = scale * np.ones(over.ambient_dim)
        for change in quality.body.argmax(np.eye(over.ambient_dim)):
            for sign in (1, -1):
                actual = losses(mechanism, answer, answer + sign * change)
                assert np.abs(actual).max() <= epsilon
                assert np.ptp(actual) <= epsilon
                largest = max(largest, np.ptp(actual))
    assert largest > 0.6 * epsilon  # and it is not far below


def test_the_test_of_the_guarantee_alarms_when_a_score_has_twice_its_sensitivity() -> None:
    steep = Quality(lambda a, y: 2 * distance_line(a, y), UNIT, (-12.0, 0.0), clipped=True)
    unchecked = ExponentialDensity(steep, LINE, ExponentialLoss(1.0), 1.0)  # calibrate would refuse it
    assert np.ptp(losses(unchecked, np.array([0.0]), np.array([0.25]))) > 1.5


def test_the_kinds_of_guarantee() -> None:
    exact = ExponentialDensity.calibrate(ON_LINE, LINE, ONE)
    assert (exact.guarantee, exact.exactness, exact.proposals) == (ExponentialLoss(1.0), "idealized", 0)
    assert exact.guarantee.epsilon(0.0) == 1.0
    assert ExponentialDensity.calibrate(ON_LINE, LINE, gd.ApproxDP(1.0, 1e-6)).guarantee == ExponentialLoss(1.0)
    assert ExponentialDensity.calibrate(ON_LINE, LINE, ExponentialLoss(2.0)).guarantee == ExponentialLoss(2.0)
    walk = ExponentialDensity.calibrate(ON_LINE, LINE, ONE, constant_time=True)
    assert (walk.guarantee, walk.exactness) == (gd.ApproxDP(1.0, 1e-9), "mixing")
    assert ExponentialDensity.calibrate(ON_LINE, LINE, gd.ApproxDP(1, 1e-6), True).guarantee == gd.ApproxDP(1, 1e-9)
    shorter = ExponentialDensity.calibrate(ON_LINE, LINE, gd.ApproxDP(1, 1e-30), True)
    assert shorter.guarantee == gd.ApproxDP(1, 1e-30)
    assert shorter.proposals > 2 * walk.proposals


@pytest.mark.parametrize("epsilon", [1e-6, 0.5, 3.0])
def test_the_walk_is_as_long_as_its_proof_asks(epsilon: float) -> None:
    walk = ExponentialDensity.calibrate(ON_LINE, LINE, gd.PureDP(epsilon), constant_time=True)
    allowed = math.log(1e-9) - math.log1p(math.exp(epsilon))
    assert walk.proposals * math.log(-math.expm1(-epsilon * 3) or 1e-300) <= allowed
    assert walk.proposals < 1.1 * math.exp(epsilon * 3) * -allowed + 2


def test_the_proved_distance_of_the_walk_holds_for_a_finite_body() -> None:
    """The kernel on 40 points, exactly: total variation after n proposals, against (1 − e^{−range})^n."""
    heights = -3 * np.abs(np.linspace(-1, 1, 40) - 0.3) ** 0.5
    target = np.exp(heights) / np.exp(heights).sum()
    kernel = np.minimum(1, np.exp(heights[None] - heights[:, None])) / 40
    kernel += np.diag(1 - kernel.sum(axis=1))
    law = np.full(40, 1 / 40)
    for count in range(1, 60):
        assert np.abs(law - target).sum() / 2 <= (1 - math.exp(-np.ptp(heights))) ** count + 1e-12
        law = law @ kernel


def test_the_walk_scores_the_same_number_of_points_for_every_answer() -> None:
    seen: list[int] = []

    def counted(answer: np.ndarray, points: np.ndarray) -> np.ndarray:
        seen.append(len(points))
        return distance_line(answer, points)

    walk = ExponentialDensity.calibrate(
        Quality(counted, UNIT, (-6.0, 0.0), clipped=True), LINE, ONE, constant_time=True
    )
    totals = set()
    for place in (0.0, 0.9, 50.0):
        seen.clear()
        walk.sample(np.array([place]), gd.research_rng(1))
        totals.add(sum(seen))
    assert totals == {walk.proposals}


# -- outputs and errors ------------------------------------------------------------------------------


@pytest.mark.parametrize("over", [DISC, Ellipsoid(np.diag([1e-9, 2e-9])), LpBall(2, 1, 1e7)], ids=repr)
def test_outputs_lie_on_a_lattice_fixed_by_the_body(over) -> None:
    flat = Quality(lambda _a, y: np.zeros(len(y)), DIAMOND, (-1.0, 1.0))
    mechanism = ExponentialDensity.calibrate(flat, over, ONE)
    step = mechanism.lattice_step
    assert step.numerator.bit_count() == step.denominator.bit_count() == 1
    assert over.radius(2) / 2**15 < step <= over.radius(2) / 2**12
    draws = mechanism.draw(A_PLANE, 200, gd.research_rng(2)) / float(step)
    assert (draws == np.rint(draws)).all()


def test_the_bound_on_the_error_holds_and_is_of_use() -> None:
    """10,000 draws: the share beyond the bound is at most e^{−t} and five standard errors."""
    for quality, over, answer, slope in ((ON_LINE, LINE, A_LINE, 4.0), (ON_DISC, DISC, A_PLANE, 2 * 2**0.5)):
        mechanism = ExponentialDensity.calibrate(quality, over, gd.PureDP(8.0))
        scores = quality.values(answer, mechanism.draw(answer, 10_000, gd.research_rng(3)))
        for t in (0.5, 1.0, 2.0):
            bound = mechanism.error_bound(t, slope)
            assert bound < quality.width
            assert (scores < -bound - 0.01).mean() <= math.exp(-t) + 5 * (math.exp(-t) / 10_000) ** 0.5
        assert mechanism.error_bound(1e9, slope) == quality.width
        assert mechanism.error_bound(0.0, 1e-9) == pytest.approx(2e-9)


def test_a_score_cannot_move_the_points_it_is_shown() -> None:
    def greedy(answer: np.ndarray, points: np.ndarray) -> np.ndarray:
        scores = distance_line(answer, points)
        points[:] = answer[0]
        answer[:] = 7.0
        return scores

    mechanism = ExponentialDensity.calibrate(Quality(greedy, UNIT, (-6.0, 0.0), clipped=True), LINE, ONE)
    answer = A_LINE.copy()
    assert len(np.unique(mechanism.draw(answer, 100, gd.research_rng(1)))) > 50
    assert answer == A_LINE


def test_a_score_that_is_no_number_on_the_data_counts_as_the_lowest() -> None:
    """Only far from what is checked: there it would be refused."""

    def holes(answer: np.ndarray, points: np.ndarray) -> np.ndarray:
        scores = np.clip(distance_line(answer, points), -1, 0)
        return np.where((answer[0] > 1e6) & (points[:, 0] > 0), math.nan, scores)

    quality = Quality(holes, UNIT, (-1.0, 0.0))
    mechanism = ExponentialDensity.calibrate(quality, LINE, ONE)
    assert mechanism.draw(np.array([2e6]), 100, gd.research_rng(1)).shape == (100, 1)
    assert (quality.values(np.array([2e6]), line_grid(10)) == -1).all()


def test_a_score_that_raises_does_not_tell_why() -> None:
    def broken(answer: np.ndarray, points: np.ndarray) -> np.ndarray:
        if answer[0] > 1e6:
            raise ValueError("the secret is 42")
        return np.zeros(len(points))

    mechanism = ExponentialDensity.calibrate(Quality(broken, UNIT, (-1.0, 1.0)), LINE, ONE)
    with pytest.raises(InvalidRequest, match="stays spent") as caught:
        mechanism.sample(np.array([2e6]))
    assert "42" not in str(caught.value)
    assert caught.value.__cause__ is caught.value.__context__ is None


# -- refusals ----------------------------------------------------------------------------------------

REFUSED = {
    "too steep": (lambda a, y: 1.01 * distance_line(a, y), "changed a quality by 1.01"),
    "steep in places": (lambda a, y: 2 * np.sin(40 * (a[0] - y[:, 0])), "In a test, one unit changed a quality by"),
    "a jump": (lambda a, y: 2.0 * (a[0] > y[:, 0]) - 2, "changed a quality by 2"),
    "nan": (lambda a, y: np.where(y[:, 0] > 0.5, math.nan, 0.0) + 0 * a, "NaN or infinity"),
    "infinite": (lambda a, y: np.where(y[:, 0] > 0.5, math.inf, 0.0) + 0 * a, "NaN or infinity"),
    "a pole": (lambda _a, y: 1 / np.abs(y[:, 0]), "The quality function left its bounds"),
    "one number": (lambda _a, _y: 0.0, "shape"),
    "a column": (lambda a, y: y - a, "shape"),
    "relative": (
        lambda a, y: np.argsort(np.argsort(-np.abs(y[:, 0] - a[0]))) / -len(y),
        "The quality of a point changed when it was",
    ),
}


@pytest.mark.parametrize("constant_time", [False, True])
@pytest.mark.parametrize("name", REFUSED)
def test_a_score_that_breaks_a_hypothesis_is_refused(name: str, constant_time: bool) -> None:
    score, words = REFUSED[name]
    quality = Quality(score, UNIT, (-6.0, 0.0), clipped=name not in {"a pole", "infinite"})
    with pytest.raises(InvalidRequest, match=words):
        ExponentialDensity.calibrate(quality, LINE, ONE, constant_time)


@pytest.mark.parametrize(
    "bounds",
    [
        None,
        (0.0, math.inf),
        (-math.inf, 0.0),
        (math.nan, 1.0),
        (1.0, 1.0),
        (1.0, 0.0),
        (0.0, 1.0, 2.0),
        5.0,
        ("a", 1.0),
    ],
)
def test_a_quality_without_finite_bounds_is_refused(bounds) -> None:
    with pytest.raises(InvalidRequest, match=r"needs a bounded|above 0"):
        Quality(distance_line, UNIT, bounds)


@pytest.mark.parametrize(
    "guarantee",
    [gd.PureDP(0), gd.ApproxDP(0, 1e-6), gd.ZCDP(0.5), gd.GaussianDP(1), 1.0, math.nan, None],
    ids=repr,
)
def test_a_guarantee_it_cannot_keep_is_refused(guarantee) -> None:
    with pytest.raises(InvalidRequest, match="epsilon above 0"):
        ExponentialDensity.calibrate(ON_LINE, LINE, guarantee)


def test_walks_that_would_not_end_are_refused() -> None:
    with pytest.raises(InvalidRequest, match="more than 10,000,000"):
        ExponentialDensity.calibrate(ON_LINE, LINE, gd.PureDP(10.0), constant_time=True)
    with pytest.raises(InvalidRequest, match="more than 10,000,000"):
        ExponentialDensity.calibrate(ON_LINE, LINE, gd.PureDP(1e300), constant_time=True)


def test_bodies_without_exact_uniform_draws_are_refused() -> None:
    rows = np.random.default_rng(1).integers(0, 2, (10, 60)) * 2.0 - 1
    flat = Quality(lambda _a, y: np.zeros(len(y)), UNIT, (-1.0, 1.0))
    with pytest.raises(InvalidRequest, match="cannot be drawn exactly"):
        ExponentialDensity.calibrate(flat, Polytope.symmetric_hull(rows), ONE)


@pytest.mark.parametrize("answer", [np.zeros(2), 0.0, np.array([math.nan]), np.array([math.inf])], ids=repr)
def test_an_answer_of_another_shape_is_refused(answer) -> None:
    with pytest.raises(InvalidRequest, match="stays spent"):
        ExponentialDensity.calibrate(ON_LINE, LINE, ONE).sample(answer)


def test_the_system_draws_anew() -> None:
    mechanism = ExponentialDensity.calibrate(ON_LINE, LINE, ONE)
    assert len({float(mechanism.sample(A_LINE)[0]) for _ in range(20)}) > 15
    assert "by rejection" in repr(mechanism)
    assert pickle.loads(pickle.dumps(mechanism)).guarantee == mechanism.guarantee
