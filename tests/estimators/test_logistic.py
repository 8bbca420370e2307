"""Private logistic regression: what it fits, what it guarantees, and that its noise is there. Keys are fixed."""

import math
import warnings
from functools import partial

import numpy as np
import pytest

import gaugedp as gd
from gaugedp.errors import InvalidRequest

pytest.importorskip("sklearn", reason="the extra [learn] is not installed")
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.linear_model import LogisticRegression as Plain
from sklearn.model_selection import StratifiedShuffleSplit

from gaugedp.entropy import research_rng
from gaugedp.estimators import linear_model, row_scaling
from gaugedp.estimators.fit_release import FitRelease
from gaugedp.estimators.labels import codes_of, read_classes, read_labels
from gaugedp.estimators.logistic import LogisticRegression
from gaugedp.estimators.reading import Reading
from gaugedp.estimators.row_scaling import Centre, ScaledRows, TwoStageMean, column_groups, read_scaling, sums_of
from gaugedp.estimators.rows import read_table
from gaugedp.guarantees.gaussian_curve import gaussian_mu
from gaugedp.mechanisms import Gaussian
from gaugedp.optimization.gradient import Scale
from gaugedp.optimization.losses import Softmax

RNG = np.random.default_rng(1)


def sphere(n: int, d: int, key: int, n_classes: int = 2) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(key)
    rows = rng.standard_normal((n, d))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    truth = rng.standard_normal((n_classes, d)) * (4 / math.sqrt(d))
    return rows, (rows @ truth.T + rng.gumbel(size=(n, n_classes))).argmax(axis=1)


ROWS, LABELS = sphere(3000, 4, 1)
MODEL = LogisticRegression(1.0, 1e-6, row_norm=1.0, classes=[0, 1], random_state=1)


def mean_loss(model, rows: np.ndarray, labels: np.ndarray) -> float:
    return float(-model.predict_log_proba(rows)[np.arange(len(labels)), labels].mean())


@pytest.mark.slow
@pytest.mark.parametrize("neighbours", ["replace", "add_remove"])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize(("n_classes", "solver"), [(2, "auto"), (3, "auto"), (3, "objective"), (2, "gradient")])
def test_without_noise_it_is_the_model_without_privacy(n_classes, solver, delta: float, neighbours: str) -> None:
    rows, labels = sphere(2000, 3, 2, n_classes)
    rows = rows * RNG.uniform(0.1, 1, (2000, 1))
    model = clone(MODEL).set_params(
        epsilon=1e7, delta=delta, neighbours=neighbours, classes=range(n_classes), solver=solver, radius=100
    )
    plain = Plain(C=1e6, max_iter=2000, tol=1e-8).fit(rows, labels)
    actual = mean_loss(model.fit(rows, labels), rows, labels)
    assert actual == pytest.approx(mean_loss(plain, rows, labels), abs=1e-3)
    assert np.abs(model.predict_proba(rows) - plain.predict_proba(rows)).max() < 0.03


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["objective", "gradient"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_it_stays_that_model_however_large_epsilon_is(n_classes: int, solver: str) -> None:
    rows, labels = sphere(2000, 3, 2, n_classes)
    model = clone(MODEL).set_params(classes=range(n_classes), solver=solver)
    plain = Plain(C=1e6, max_iter=2000, tol=1e-8).fit(rows, labels)
    for epsilon in (1e4, 1e8, 1e12, 1e300):
        actual = mean_loss(model.set_params(epsilon=epsilon).fit(rows, labels), rows, labels)
        assert actual == pytest.approx(mean_loss(plain, rows, labels), abs=1e-3)


def test_bounds_bring_rows_back_in_their_units() -> None:
    """Columns of other units, one of them centred, one with 0 in its bounds: same predictions as the plain model."""
    rows = ROWS * [1, 10, 100, 1] + [0, 500, 0, 7]
    bounds = [-1, 480, -100, 6], [1, 520, 100, 8]
    model = clone(MODEL).set_params(epsilon=1e7, row_norm=None, bounds=bounds).fit(rows, LABELS)
    plain = Plain(C=1e6, max_iter=2000, tol=1e-8).fit(ROWS, LABELS)
    assert model.coef_[0] * [1, 10, 100, 1] == pytest.approx(plain.coef_[0], abs=0.05)
    assert np.abs(model.predict_proba(rows) - plain.predict_proba(ROWS)).max() < 0.01


def test_scaling_keeps_zero_where_the_bounds_hold_it() -> None:
    scaling = read_scaling(Reading.in_box(([0, 10, -4], [2, 30, 1]), None, 3, False), None)
    unit = scaling.unit(np.array([[2, 30, -4], [0, 20, 0], [9, -5, 9], [np.nan, np.inf, -np.inf]]))
    scaled = unit * math.sqrt(3)
    assert scaled == pytest.approx(np.array([[1, 1, -1], [0, 0, 0], [1, -1, 0.25], [0.5, 1, -1]]))


def test_designs_stay_in_the_ball_and_coefficients_come_back() -> None:
    scaling = read_scaling(Reading(3), 2.0)
    rows = RNG.standard_normal((50, 3)) * np.where(np.arange(50) < 25, 0.5, 3.0)[:, None]
    rows[3] = np.nan
    design = ScaledRows(scaling, np.array([0.3, -0.2, 0.1]), 0.8, 0.2)
    known = np.arange(50) != 7
    made = design.rows(rows, known)
    assert np.linalg.norm(made, axis=1).max() == pytest.approx(1, abs=1e-12)
    assert (made[7] == 0).all()
    centred = scaling.unit(rows) - design.shift
    inside = (
        (np.linalg.norm(centred, axis=1) < 0.8) & np.isfinite(rows).all(axis=1) & (np.linalg.norm(rows, axis=1) < 2)
    )
    assert inside.sum() > 5
    weights = RNG.standard_normal((2, 4))
    slopes, constants = design.coefficients(weights)
    assert rows[inside & known] @ slopes.T + constants == pytest.approx((made @ weights.T)[inside & known])


@pytest.mark.parametrize("replaced", [True, False])
def test_the_centre_moves_within_its_ball(replaced: bool) -> None:
    centre = Centre.plan(gd.ApproxDP(1.0, 1e-6), 3, 10_000, replaced)
    assert centre.noise is not None
    points = RNG.standard_normal((200, 3)) * RNG.uniform(0.2, 1, (200, 1))
    points = np.vstack([points / np.maximum(1, np.linalg.norm(points, axis=1, keepdims=True)), np.eye(3), -np.eye(3)])
    sums = np.column_stack([points, (points**2).sum(axis=1)])
    moved = np.linalg.norm(sums[:, None] - sums[None], axis=2).max() if replaced else np.linalg.norm(sums, axis=1).max()
    radius = centre.noise.body.radius(2)
    assert moved <= radius
    assert moved == pytest.approx(radius, rel=1e-4)


def test_the_centre_and_spread_are_found() -> None:
    unit = np.clip(RNG.standard_normal((5000, 2)) * 0.1 + [0.5, -0.3], -0.7, 0.7)
    centre = Centre.plan(gd.ApproxDP(4.0, 1e-6), 2, 5000, True)
    mean, spread = centre.release(lambda: sums_of([unit[:999], unit[999:]]), 5000, research_rng(1))
    assert mean == pytest.approx(unit.mean(axis=0), abs=0.05)
    assert spread == pytest.approx(math.sqrt(unit.var(axis=0).sum()), abs=0.12)
    assert Centre.plan(gd.ApproxDP(0.1, 1e-6), 50, 100, True).noise is None
    assert Centre.plan(gd.PureDP(1.0), 2, 10, False).noise is None


def test_the_guarantee_is_what_was_asked() -> None:
    cases = {"objective": 2, "gradient": 3}
    for solver, n_classes in cases.items():
        for neighbours in ("replace", "add_remove"):
            for delta in (0.0, 1e-6):
                model = clone(MODEL).set_params(
                    solver=solver, classes=range(n_classes), neighbours=neighbours, delta=delta
                )
                model.fit(ROWS[:200], LABELS[:200])
                assert model.solver_ == solver
                spent = float(model.guarantee_.epsilon(delta))
                assert 0.96 < spent <= 1 + 1e-9
                assert model.release_.guarantee == model.guarantee_


def test_gradient_steps_and_centre_share_mu(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    calibrate = linear_model.NoisyDescent.calibrate
    monkeypatch.setattr(
        linear_model.NoisyDescent, "calibrate", lambda *given: seen.append(given[0]) or calibrate(*given)
    )
    model = clone(MODEL).set_params(solver="gradient", neighbours="replace").fit(ROWS, LABELS)
    auxiliary_mu = Centre.plan(gd.ApproxDP(1.0, 1e-6), 4, 3000, True).auxiliary_mu
    assert 0 < auxiliary_mu < model.guarantee_.mu
    assert math.hypot(seen[0].mu, auxiliary_mu) == pytest.approx(model.guarantee_.mu, rel=1e-9)
    assert math.hypot(seen[0].mu, auxiliary_mu) <= model.guarantee_.mu


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(("neighbours", "n"), [("replace", 2000), ("add_remove", 1200)])
def test_number_centre_and_steps_share_mu(
    neighbours: str, n: int, n_classes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where noise is loud: a Gaussian count, the centre, the level of two classes, and the steps keep μ between them.

    For two classes one step is taken, from slopes of 1/2.
    """
    made = []
    for kind in (linear_model.NoisyDescent, Gaussian):
        calibrate = kind.calibrate
        keep = lambda *given, calibrate=calibrate, **more: made.append(calibrate(*given, **more)) or made[-1]  # noqa: E731
        monkeypatch.setattr(kind, "calibrate", keep)
    monkeypatch.setattr(linear_model.NoisyDescent, "solve", lambda one, *_: np.zeros(one.shape))
    rows, labels = np.zeros((n, 40)), np.zeros(n)
    model = clone(MODEL).set_params(epsilon=0.1, classes=range(n_classes), neighbours=neighbours).fit(rows, labels)
    (descent,) = (one for one in made if isinstance(one, linear_model.NoisyDescent))
    own = [one for one in made if isinstance(one, Gaussian) and one is not descent.noise]
    near = [40] if neighbours == "add_remove" else []  # its noise hides the ball where rows are replaced
    beside = [1, *near] if n_classes == 3 else [1, 1, 1, 1]
    assert [one.body.ambient_dim for one in own] == (beside if neighbours == "replace" else [1, *beside])
    assert (descent.path.n_steps == 1) == (descent.cap == 0.5) == (n_classes == 2)
    assert descent.noise.body.radius(2) >= (2 if neighbours == "replace" else 1) * descent.cap
    parts = [one.guarantee.mu for one in own] + [descent.guarantee.mu]
    assert math.hypot(*parts) == pytest.approx(model.guarantee_.mu, rel=1e-9)
    assert math.hypot(*parts) <= model.guarantee_.mu
    assert model.guarantee_.epsilon(1e-6) <= 0.1 * (1 + 1e-9)


@pytest.mark.parametrize("replaced", [True, False])
def test_the_mean_alone_moves_within_its_ball(replaced: bool) -> None:
    centre = Centre.of_groups(gd.ApproxDP(0.1, 1e-5), np.arange(10), 2000, replaced)
    assert centre.groups is not None
    assert centre.noise.body.radius(2) == pytest.approx(2 if replaced else 1, rel=1e-5)
    assert centre.noise.body.radius(2) >= (2 if replaced else 1)
    assert centre.auxiliary_mu == pytest.approx(math.sqrt(0.1) * gaussian_mu(0.1, 1e-5))
    assert Centre.of_groups(gd.PureDP(1.0), np.arange(10), 2000, replaced).noise is None
    hidden = Centre.of_groups(gd.ApproxDP(0.1, 1e-5), np.arange(10), 100, replaced)
    assert hidden.noise is None, "noise would hide the ball"


@pytest.mark.parametrize("replaced", [True, False])
def test_means_of_groups_move_within_their_ball(replaced: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    reading = Reading.of(([-1.0, 0.0, 2.0, 5.0, -3.0], [1.0, 4.0, 3.0, 9.0, -1.0]), None, 5, False)
    groups = column_groups(reading)
    assert groups.tolist() == [0, 0, 1, 1, 1]
    assert column_groups(Reading.of((0, 1), None, 3, False)).tolist() == [0, 0, 0]
    assert column_groups(Reading.of((1, 2), None, 3, False)).tolist() == [0, 0, 0]
    centre, sums = Centre.of_groups(gd.ApproxDP(1.0, 1e-6), groups, 1000, replaced), []
    monkeypatch.setattr(row_scaling, "released", lambda exact, *_: sums.append(exact) or exact)
    points = np.random.default_rng(1).standard_normal((40, 5))
    points = np.vstack([points, np.where(groups == 0, 9.0, 0.0), np.where(groups == 0, -9.0, 0.0)])
    points /= np.maximum(1, np.linalg.norm(points, axis=1, keepdims=True))
    for point in points:
        centre.release(partial(sums_of, [point[None]]), 1000, research_rng(1))
    moved = np.array(sums)[:, None] - (np.array(sums)[None] if replaced else 0)
    radius = centre.noise.body.radius(2)
    assert np.linalg.norm(moved, axis=-1).max() <= radius
    assert np.linalg.norm(moved, axis=-1).max() == pytest.approx(radius, rel=1e-5)


def test_a_shift_of_groups_is_that_of_their_means() -> None:
    centre = Centre.of_groups(gd.ApproxDP(8.0, 1e-3), np.array([0, 0, 1]), 4000, True)
    shift, spread = centre.release(lambda: sums_of([np.tile([0.2, 0.4, -0.5], (4000, 1))]), 4000, research_rng(1))
    assert shift == pytest.approx([0.3, 0.3, -0.5], abs=0.01)
    assert spread == pytest.approx(math.sqrt(1 - 2 * 0.09 - 0.25), abs=0.01)


@pytest.mark.statistical
def test_a_mean_alone_is_shrunk_by_its_noise() -> None:
    """Rows of norm 0.6, all alike: the mean of 400 releases is the row, made shorter; of zeros nothing stands out."""
    row, n = np.full(16, 0.15), 1500
    centre = Centre.of_groups(gd.ApproxDP(0.1, 1e-5), np.arange(16), n, False)
    rng = research_rng(3)
    results = [centre.release(lambda: sums_of([np.tile(row, (n, 1))]), n, rng) for _ in range(400)]
    means = np.array([mean for mean, _ in results])
    noise = math.sqrt(float(centre.noise.variances.sum())) / n
    assert 0.2 < noise < 0.5
    assert means.mean(axis=0) @ row == pytest.approx(0.36 / (1 + noise**2 / 0.36), abs=0.03)
    assert np.mean(((means - row) ** 2).sum(axis=1)) < 0.98 * noise**2 * (1 + 4 * math.sqrt(2 / 6400))
    spreads = np.array([spread for _, spread in results])
    assert (spreads < 1).mean() > 0.95
    still = [centre.release(lambda: np.zeros(17), n, rng) for _ in range(400)]
    assert np.mean([np.linalg.norm(mean) for mean, _ in still]) < 0.3 * noise


BOX = Reading.of(([-1.0, -4.0, 2.0, 5.0, -3.0], [1.0, 4.0, 3.0, 9.0, -1.0]), None, 5, False)


@pytest.mark.parametrize("replaced", [True, False])
@pytest.mark.parametrize(("n_rows", "sizes"), [(100, [2]), (190, [2, 5]), (2000, [5, 5])])
def test_a_row_moves_both_means_of_a_rough_centre_within_their_ball(
    n_rows: int, sizes: list[int], replaced: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tables of one row each, random and at corners: any two are apart by the charge at most, and some attain it."""
    n_rows, sums, scaling = n_rows if replaced else n_rows // 2, {}, read_scaling(BOX, None)
    centre = TwoStageMean.plan(gd.ApproxDP(0.5, 1e-6), column_groups(BOX), n_rows, replaced)
    noises = [centre.noise] if centre.near is None else [centre.noise, centre.near]
    assert [noise.body.ambient_dim for noise in noises] == sizes

    def keep(exact: np.ndarray, noise: Gaussian, _: object) -> np.ndarray:
        sums.setdefault(id(noise), []).append(exact)
        return np.zeros_like(exact)

    monkeypatch.setattr(row_scaling, "released", keep)
    signs = np.array([[1.0, 1, 1, 1, 1], [-1, -1, -1, -1, -1], [1, 1, 0, 0, 0], [-1, -1, 0, 0, 0]])
    units = np.vstack([np.random.default_rng(1).uniform(-1, 1, (60, 5)), signs])
    for unit in units:
        centre.scaled(scaling, unit[None] * scaling.width + scaling.centre, n_rows, 1.0, 0.2, research_rng(1))
    for noise in noises:
        points = np.array(sums[id(noise)])
        moved = np.linalg.norm(points[:, None] - (points[None] if replaced else 0), axis=-1).max()
        assert moved <= noise.body.radius(2)
        assert moved == pytest.approx(noise.body.radius(2), rel=1e-5)
        assert noise.body.radius(2) == pytest.approx(2 if replaced else 1, rel=1e-5)


def test_a_rough_centre_takes_a_tenth_of_what_squares_add_up_to() -> None:
    mu = gaussian_mu(0.5, 1e-6)
    for n_rows, share in ((100, 0.05), (190, 0.1), (2000, 0.1)):
        centre = TwoStageMean.plan(gd.ApproxDP(0.5, 1e-6), column_groups(BOX), n_rows, True)
        mus = [noise.guarantee.mu for noise in (centre.noise, centre.near) if noise is not None]
        assert math.hypot(*mus) == pytest.approx(centre.auxiliary_mu, rel=1e-12)
        assert centre.auxiliary_mu == pytest.approx(math.sqrt(share) * mu, rel=1e-12)


@pytest.mark.parametrize(("epsilon", "size"), [(0.6, 1), (8.0, 60)])
def test_a_rough_centre_is_found_and_rows_count_by_their_direction(epsilon: float, size: int) -> None:
    n, middle = 600, np.where(np.arange(60) < 40, 0.3, 0.4)
    rows = middle + 0.1 * np.random.default_rng(2).standard_normal((n, 60))
    scaling = read_scaling(Reading.of((0.0, 1.0), None, 60, False), None)
    centre = TwoStageMean.plan(gd.ApproxDP(epsilon, 1e-6), np.zeros(60, int), n, True)
    assert centre.noise.body.ambient_dim == size
    fits = [centre.scaled(scaling, rows, n, 1.0, 0.2, research_rng(key)) for key in range(20)]
    assert np.mean([fit.shift.sum() / 60**0.5 for fit in fits]) == pytest.approx(middle.mean(), abs=0.03)
    lengths = np.linalg.norm(fits[0].rows(rows, np.ones(n, bool))[:, :60], axis=1)
    assert lengths == pytest.approx(1 / math.hypot(1, 0.2))
    slopes, _ = fits[0].coefficients(np.ones((1, 61)))
    assert slopes == pytest.approx(1 / (math.hypot(1, 0.2) * 0.15 * 60**0.5)), "as if rows were that far off"


@pytest.mark.slow
def test_public_numbers_alone_choose_the_solver() -> None:
    results = {}
    for n in (300, 60_000):
        for fill in (0.0, 1.0):
            model = clone(MODEL).set_params(epsilon=8.0, classes=[0, 1, 2], neighbours="replace")
            model.fit(np.full((n, 2), fill), np.full(n, int(fill)))
            results[n, fill] = model.solver_
    assert results == {
        (300, 0.0): "gradient",
        (300, 1.0): "gradient",
        (60_000, 0.0): "objective",
        (60_000, 1.0): "objective",
    }


@pytest.mark.parametrize("epsilon", [1e-3, 1.0])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_any_rows_and_labels_give_a_fit(n_classes: int, delta: float, epsilon: float) -> None:
    """One row, more columns than rows, constant columns, infinities, labels of other kinds: no error, no warning."""
    model = clone(MODEL).set_params(epsilon=epsilon, delta=delta, classes=range(n_classes))
    odd = np.array([[np.nan, 1.0], [np.inf, -1.0], [1e308, 1e308], [0.0, 0.0]])
    for rows, labels in [
        (np.ones((1, 1)), [0]),
        (np.zeros((3, 20)), [0, 1, 1]),
        (odd, [0, 1, 7, -3]),
        (odd, [np.nan, np.inf, 0.5, 1.0]),
        (odd, ["a", "b", "", "0"]),
        (odd, np.array([None, {}, (1,), 0], dtype=object)),
    ]:
        model.fit(rows, labels)
        assert np.isfinite(model.coef_).all()
        assert np.isfinite(model.intercept_).all()


def test_other_labels_count_as_rows_of_zeros() -> None:
    classes = np.array(["no", "yes"])
    assert codes_of(np.array(["yes", "maybe", "no"]), classes).tolist() == [1, -1, 0]
    assert codes_of(np.array([2.0, 3.0, np.nan]), np.array([3, 2])).tolist() == [1, 0, -1]


ODD = ["?", None, -1, 0.5, (1, 2), np.nan, float("inf"), b"1", [1]]


@pytest.mark.parametrize("odd", ODD, ids=repr)
@pytest.mark.parametrize("kind", [int, float, bool, np.int64, np.float32, np.bool_, str])
def test_one_label_does_not_change_how_others_are_read(kind, odd) -> None:
    labels = [kind(one) for one in (0, 1, 1, 0)]
    if kind is str:
        labels = ["0", "1", "1", "0"]
    classes = read_classes([0, 1])
    for given in (labels, [*labels, odd], [odd, *labels]):
        codes = codes_of(read_labels(given, len(given)), classes)
        kept = codes[1:] if given[0] is odd else codes[:4]
        assert kept.tolist() == [0, 1, 1, 0]
    mixed = read_classes([0, "a"])
    assert codes_of(read_labels([0, 0, "a"], 3), mixed).tolist() == [0, 0, 1]
    assert codes_of(read_labels([0, 0, 0], 3), mixed).tolist() == [0, 0, 0]


def test_labels_read_alike_whatever_type_their_column_got() -> None:
    """A missing label makes a column of numbers floats, and a list of texts objects, which keep a NUL at the end."""
    pandas = pytest.importorskip("pandas")
    large = read_classes([0, 2**53 + 2])
    for last, code in ((0, 0), (None, -1)):
        column = pandas.Series([2**53 + 2, 0, last])
        assert codes_of(read_labels(column, 3), large).tolist() == [1, 0, code]
    texts = read_classes(["a", "b"])
    for last, code in (("b", 1), (None, -1), (3, -1)):
        assert codes_of(read_labels(["a\0", "a", last], 3), texts).tolist() == [0, 0, code]
        assert codes_of(read_labels([10**5000, "a", last], 3), texts).tolist() == [-1, 0, code]
    assert codes_of(read_labels([None, "", "a"], 3), read_classes(["", "a"])).tolist() == [-1, 0, 1]


@pytest.mark.parametrize("n_classes", [3, 8, 20])
def test_a_row_alone_has_the_slopes_that_it_has_among_others(n_classes: int) -> None:
    rng = np.random.default_rng(n_classes)
    points, labels = rng.standard_normal((400, n_classes)) * 3, rng.integers(0, n_classes, 400)
    descent = linear_model.NoisyDescent.calibrate(gd.GaussianDP(1.0), (n_classes, 2), 0.7, Scale(1.0, 400))
    capped = lambda z, y: descent._capped(Softmax(n_classes).derivative(z, y))  # noqa: E731
    together = capped(points, labels)
    alone = [capped(points[i : i + 1], labels[i : i + 1])[0] for i in range(400)]
    assert (together == np.array(alone)).all()


@pytest.mark.parametrize("scale", [{"radius": 1e-300}, {"radius": 1e300}, {"row_norm": 1e-320}, {"row_norm": 1e200}])
def test_scales_that_no_float_can_square_are_refused_before_paying(scale: dict) -> None:
    ledger = gd.Ledger.in_memory(gd.PureDP(2.0), unit=gd.PrivacyUnit(neighbours="replace"))
    with pytest.raises(InvalidRequest, match="between 1e-60 and 1e60"):
        clone(MODEL).set_params(delta=0.0, ledger=ledger, **scale).fit(ROWS, LABELS)
    assert ledger.spent.epsilon(0) == 0


def test_what_is_refused_after_paying_says_that_it_stays_spent(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise InvalidRequest("No amount of noise achieves this guarantee", "Use a larger delta.")

    monkeypatch.setattr(linear_model.ObjectivePerturbation, "calibrate", refused)
    ledger = gd.Ledger.in_memory(gd.ApproxDP(2.0, 1e-5))
    with pytest.raises(InvalidRequest, match="The budget of this request stays spent"):
        clone(MODEL).set_params(solver="objective", ledger=ledger).fit(ROWS, LABELS)
    assert ledger.spent.epsilon(1e-5) > 0.9


@pytest.mark.parametrize(("epsilon", "delta", "n_classes"), [(1e-3, 0.01, 2), (1e-3, 1e-3, 3), (0.01, 1e-3, 26)])
def test_a_centre_leaves_the_objective_its_delta(epsilon: float, delta: float, n_classes: int) -> None:
    model = clone(MODEL).set_params(epsilon=epsilon, delta=delta, classes=range(n_classes), solver="objective")
    assert model.fit(ROWS, LABELS).guarantee_.epsilon(delta) <= epsilon * (1 + 1e-9)


@pytest.mark.parametrize("classes", [[1, "1"], [1, 1.0], [0, None], [(1,), 2]], ids=str)
def test_classes_that_read_alike_are_refused(classes) -> None:
    with pytest.raises(InvalidRequest):
        read_classes(classes)


def test_a_cell_of_text_does_not_change_the_others() -> None:
    rows = [[np.float32(0.1)], [np.float32(0.7)], ["1.0"]]
    assert read_table(rows)[:2].ravel().tolist() == [float(np.float32(0.1)), float(np.float32(0.7))]
    loud = clone(MODEL).set_params(epsilon=1e7, fit_intercept=False)
    expected = clone(loud).fit(np.where(LABELS[:, None] == 1, ROWS, ROWS * (np.arange(3000) % 2)[:, None]), LABELS)
    labels = np.where((LABELS == 0) & (np.arange(3000) % 2 == 0), 9, LABELS)
    assert loud.fit(ROWS, labels).coef_ == pytest.approx(expected.coef_, abs=1e-4)


def test_clipped_rows_and_missing_facts() -> None:
    far = ROWS * 50
    assert (clone(MODEL).fit(far, LABELS).coef_ == clone(MODEL).fit(far * 7, LABELS).coef_).mean() > 0
    for wrong, words in [
        ({"row_norm": None}, "Rows are scaled by a public bound on their"),
        ({"classes": None}, "`classes` is missing"),
        ({"classes": [1]}, "two different"),
        ({"classes": [1, 1]}, "two different"),
        ({"solver": "svd"}, "solver"),
        ({"radius": -1.0}, "radius"),
        ({"row_norm": 0.0}, "row_norm"),
        ({"bounds": (1, 0)}, "bounds"),
        ({"neighbours": "swap"}, "neighbours"),
        ({"epsilon": 0.0}, "epsilon"),
    ]:
        with pytest.raises(InvalidRequest, match=words):
            clone(MODEL).set_params(**wrong).fit(ROWS, LABELS)


def test_it_is_paid_for_before_the_rows_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = gd.Ledger.in_memory(gd.ApproxDP(1.5, 1e-5))
    model = clone(MODEL).set_params(ledger=ledger).fit(ROWS, LABELS)
    assert ledger.spent.epsilon(1e-6) <= 1
    assert FitRelease.from_json(model.release_.to_json()).estimator == "LogisticRegression"
    before, spent = len(ledger.entries()), []
    monkeypatch.setattr(ScaledRows, "rows", lambda *_: spent.append(len(ledger.entries())) or 1 / 0)
    with pytest.raises(ZeroDivisionError):
        clone(MODEL).set_params(epsilon=0.2, ledger=ledger).fit(ROWS, LABELS)
    assert spent[0] > before


@pytest.mark.parametrize("neighbours", ["replace", "add_remove"])
def test_the_noise_is_that_for_the_neighbours_and_the_cap(neighbours: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the mechanisms are asked for, whose noise their own tests weigh: half of it would be seen here."""
    made = []
    for kind in (linear_model.ObjectivePerturbation, linear_model.NoisyDescent):
        calibrate = kind.calibrate
        keep = lambda *given, calibrate=calibrate: made.append(calibrate(*given)) or made[-1]  # noqa: E731
        monkeypatch.setattr(kind, "calibrate", keep)
    wide = np.pad(ROWS, ((0, 0), (0, 40)))  # of so many columns a pure guarantee's noise is longer
    for solver, rows in (("objective", wide), ("objective", ROWS), ("gradient", ROWS)):
        clone(MODEL).set_params(solver=solver, neighbours=neighbours, fit_intercept=False).fit(rows, LABELS)
    perturbed, pure, descent = made
    moved, share, rest = (2, 1.0, 1.0) if neighbours == "replace" else (1, 0.9, math.sqrt(0.95))
    cap = perturbed.problem.loss.cap
    assert 1 <= perturbed.noise * gaussian_mu(share, 1e-6) / (moved * cap) < 1.15
    assert 1 <= pure.noise * share / (moved * pure.problem.loss.cap) < 1.15
    mu = rest * gaussian_mu(1.0, 1e-6)
    assert perturbed.problem.replaced == (neighbours == "replace")
    deviation = math.sqrt(float(descent.noise.variances.mean()))
    assert deviation == pytest.approx(moved * descent.cap * math.sqrt(descent.path.n_steps) / mu, rel=1e-2)
    assert 0.5 < cap < 1


def test_where_the_number_of_rows_is_private_only_its_release_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two tables whose noisy counts agree get the same mechanisms."""
    made = []
    for kind in (linear_model.ObjectivePerturbation, linear_model.NoisyDescent):
        calibrate = kind.calibrate
        keep = lambda *given, calibrate=calibrate: made.append(given) or calibrate(*given)  # noqa: E731
        monkeypatch.setattr(kind, "calibrate", keep)
    monkeypatch.setattr(linear_model.NoisyRowCount, "draw", lambda *_: 123.0)
    for solver in ("objective", "gradient"):
        for n in (50, 3000):
            model = clone(MODEL).set_params(solver=solver, neighbours="add_remove", fit_intercept=False)
            model.fit(ROWS[:n], LABELS[:n])
    assert made[0] == made[1]
    assert made[2] == made[3]


@pytest.mark.statistical
@pytest.mark.parametrize(("n", "d", "epsilon", "most"), [(10_000, 10, 1, 4.5e-4), (1000, 10, 1, 0.025)])
def test_the_excess_risk_on_the_sphere(n: int, d: int, epsilon: float, most: float) -> None:
    """‖w*‖ = 4, δ = 1e-6: the mean of four fits with fixed keys; the benchmark has more."""
    rng = np.random.default_rng((n, d))
    rows, truth = sphere(n, d, 5)[0], rng.standard_normal(d)
    labels = (rng.random(n) < 1 / (1 + np.exp(-rows @ truth * (4 / np.linalg.norm(truth))))).astype(int)
    best = mean_loss(Plain(C=1e6, fit_intercept=False, max_iter=1000).fit(rows, labels), rows, labels)
    results = [
        mean_loss(clone(MODEL).set_params(epsilon=epsilon, random_state=key).fit(rows, labels), rows, labels)
        for key in range(4)
    ]
    assert np.mean(results) - best <= most


@pytest.mark.statistical
def test_the_accuracy_on_real_rows() -> None:
    """Medians of five splits, fixed keys; the benchmark has more, and the small ε."""
    cancer, sick = load_breast_cancer(return_X_y=True)
    digits, names = load_digits(return_X_y=True)
    ends = cancer.mean(axis=0) - 3 * cancer.std(axis=0), cancer.mean(axis=0) + 3 * cancer.std(axis=0)
    for X, y, how, epsilon, least in [
        (cancer, sick, {"bounds": ends, "row_norm": 2.0}, 1.0, 0.92),
        (cancer, sick, {"bounds": ends, "row_norm": 2.0}, 10.0, 0.95),
        (digits, names, {"bounds": (0, 16)}, 1.0, 0.80),
        (digits, names, {"bounds": (0, 16)}, 10.0, 0.92),
    ]:
        model = LogisticRegression(epsilon, 1e-5, classes=np.unique(y), random_state=3, **how)
        cuts = StratifiedShuffleSplit(5, test_size=0.3, random_state=0).split(X, y)
        assert np.median([clone(model).fit(X[a], y[a]).score(X[b], y[b]) for a, b in cuts]) >= least


def test_nothing_is_said_about_the_rows() -> None:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        clone(MODEL).fit(ROWS * 1e6, LABELS)
    assert not said


def test_the_ball_of_descent_is_wider_where_noise_is_faint_and_never_where_a_radius_is_given() -> None:
    model = clone(MODEL).set_params(radius=None)
    assert model._length(3, "objective", 1e-9) == model._length(3, "gradient", math.inf) == 10 * math.sqrt(2)
    assert model._length(3, "gradient", 0.005) == pytest.approx(20 * math.sqrt(2))
    assert model._length(3, "gradient", 1e-300) == pytest.approx(100 * math.sqrt(2))
    assert clone(MODEL).set_params(radius=7.0)._length(3, "gradient", 1e-9) == 7.0
