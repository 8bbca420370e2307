"""Additive models: what they find, refuse and release; audits, with controls that must alarm. Keys are fixed."""

import math
import pickle
from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np
import pytest

import gaugedp as gd
from gaugedp.entropy import research_rng
from gaugedp.guarantees.gaussian_curve import gaussian_mu

pytest.importorskip("sklearn", reason="the extra [learn] is not installed")
from gaugedp.estimators import AdditiveClassifier, AdditiveRegressor, LogisticRegression, additive_regressor
from gaugedp.estimators.additive_descent import AdditiveDescent
from gaugedp.estimators.additive_model import coded
from gaugedp.estimators.bin_search import BinSearch, LearnedBins, cells_within, merged
from gaugedp.estimators.column_sums import GroupSums
from gaugedp.estimators.row_scaling import Centre
from gaugedp.estimators.shape_functions import Bins, features, longest, monotone
from gaugedp.optimization.lattice import for_gaussian_releases
from tests.estimators import kit

DRAW = np.random.default_rng(0)
ROWS = DRAW.uniform(-1, 1, (4000, 2))
NUMBERS = np.abs(ROWS[:, 0]) + ROWS[:, 1] + 0.1 * DRAW.standard_normal(4000)
LABELS = (np.abs(ROWS[:, 0]) > 0.5).astype(int)
BOX: dict[str, Any] = {"bounds": (-1, 1)}
REGRESSION = AdditiveRegressor(2.0, 1e-6, target_bounds=(-1.5, 2.5), random_state=1, **BOX)
CLASSES = AdditiveClassifier(2.0, 1e-6, classes=[0, 1], random_state=1, **BOX)
BOTH = [(REGRESSION, NUMBERS), (CLASSES, LABELS)]
NO_COLUMNS = {"check_n_features_in_after_fitting": "another message"}
EXPECTED = {
    "check_estimators_nan_inf": "a missing number counts as the middle of its bounds",
    "check_supervised_y_no_nan": "a label or target that is no number is no error: it would tell",
    "check_supervised_y_2d": "refused, not flattened",
    "check_dtype_object": "an entry that is no number is no error: it would tell",
    "check_requires_y_none": "another message",
    "check_classifiers_classes": "classes are public, and given",
    "check_classifiers_one_label": "classes are public, and given",
    "check_classifiers_train": "classes and bounds are public, and given",
    "check_classifiers_regression_target": "labels that are no class are no error: it would tell",
    "check_parameters_default_constructible": "bounds and classes have no default",
    "check_decision_proba_consistency": "three classes are given, two are tested",
    "check_estimators_dtypes": "classes are public, and given",
    "check_estimator_sparse_array": "classes are public, and given: the check has four",
    "check_estimator_sparse_matrix": "classes are public, and given: the check has four",
    **NO_COLUMNS,
}  # fmt: skip


def refitted(model: Any, target: np.ndarray, **change: Any) -> Any:
    from sklearn.base import clone

    return clone(model).set_params(**change).fit(ROWS, target)


@pytest.mark.parametrize(("model", "target", "least"), [(*BOTH[0], 0.85), (*BOTH[1], 0.9)])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_a_function_that_no_line_fits_is_found(model: Any, target: np.ndarray, least: float, delta: float) -> None:
    assert refitted(model, target, epsilon=8.0, delta=delta).score(ROWS, target) > least


@pytest.mark.parametrize(("model", "target"), BOTH)
def test_predictions_are_sums_of_centred_functions(model: Any, target: np.ndarray) -> None:
    fitted, total = refitted(model, target), 0.0
    for j, shape in enumerate(fitted.shape_functions_.values()):
        assert shape.values @ shape.weights == pytest.approx(0.0, abs=1e-9)
        assert len(shape.edges) == len(shape.values) + 1
        total = total + shape.values[np.searchsorted(shape.edges[1:-1], ROWS[:, j], side="right")]
    scores = fitted.predict(ROWS) if model is REGRESSION else fitted.decision_function(ROWS)
    wanted = total + fitted.intercept_[0]
    assert scores == pytest.approx(np.clip(wanted, -1.5, 2.5) if model is REGRESSION else wanted)
    assert fitted.predict(ROWS[:1])[0] == fitted.predict(ROWS)[0]
    assert {row["feature"] for row in fitted.shape_table()} == {"x0", "x1"}


def test_monotone_functions_rise_or_fall() -> None:
    fitted = refitted(REGRESSION, NUMBERS, monotone={0: -1, 1: 1})
    assert (np.diff(fitted.shape_functions_["x0"].values) <= 1e-12).all()
    assert (np.diff(fitted.shape_functions_["x1"].values) >= -1e-12).all()
    assert monotone(np.array([0.0, 2.0, 1.0, 3.0]), np.ones(4), 1) == pytest.approx([0, 1.5, 1.5, 3])


def test_categories_are_bins_and_others_add_nothing() -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"place": np.where(ROWS[:, 0] > 0, "north", "south"), "size": ROWS[:, 1]})
    target = (ROWS[:, 0] > 0) + 0.0
    model = AdditiveRegressor(
        8.0, 1e-6, bounds={"size": (-1, 1)}, categories={"place": ["north", "south"]}, target_bounds=(0, 1),
        random_state=1,
    ).fit(frame, target)  # fmt: skip
    place = model.shape_functions_["place"]
    assert place.categories == ("north", "south")
    assert place.values[0] - place.values[1] == pytest.approx(1, abs=0.1)
    unknown = pd.DataFrame({"place": ["west", None], "size": [0.0, 0.0]})
    middle = model.predict(pd.DataFrame({"place": ["north", "south"], "size": [0.0, 0.0]})).mean()
    assert model.predict(unknown) == pytest.approx([middle] * 2, abs=0.05)
    assert model.plot(["place"], level=0.9)._repr_html_().count("<svg") == 1


@pytest.mark.parametrize(
    "last", [[0.4, 2], [0.4, "x"], [0.4], [0.4, [1, 2]], [0.4, 2j], [0.4, 2, 3], ["x", 2], [[1, 2], 2], 0.4, None]
)
def test_no_row_of_a_list_with_categories_decides_a_refusal(last: Any) -> None:
    """What is not a row of the others' length counts as one of missing cells."""
    model = AdditiveRegressor(1.0, bounds=(-1, 1), categories={1: [1, 2]}, target_bounds=(-1, 1), random_state=1)
    rows: list[Any] = [[0.1, 1], [0.2, 2], [0.3, 1]]
    fitted = model.fit([*rows, last], [0.1] * 4)
    others = fitted.predict(np.array([row for row in rows if row is not last]))
    assert (fitted.predict([*rows, last])[:3] == others).all()
    assert coded([*rows, last], {1: (1, 2)}, 1)[:3].tolist() == [[0.1, 0], [0.2, 1], [0.3, 0]]


def test_masked_cells_and_texts_beside_numbers_are_read_with_categories() -> None:
    masked = np.ma.masked_array([[0.1, 1.0], [0.2, 2.0]], mask=[[True, False], [False, True]])
    assert coded(masked, {1: (1, 2)}, 1) == pytest.approx(np.array([[math.nan, 0], [0.2, 2]]), nan_ok=True)
    for rows in ([[0.1, "a"], [0.2, "b"]], np.array([[0.1, "a"], [0.2, "b"]])):
        assert coded(rows, {1: ("a", "b")}, 1).tolist() == [[0.1, 0], [0.2, 1]]
    sparse = pytest.importorskip("scipy.sparse").csr_array([[0.0, 1.0], [0.2, 2.0]])
    assert coded(sparse, {1: (1, 2)}, 1).tolist() == [[0, 0], [0.2, 1]]
    for refused in (np.ones((3, 2), dtype=complex), np.ones((3, 2), dtype="M8[D]"), np.ones((3, 2, 2)), [1, 2]):
        with pytest.raises(gd.InvalidRequest):
            coded(refused, {1: (1, 2)}, 1)


@pytest.mark.parametrize(("model", "target", "solver"), [(*BOTH[0], "preconditioned"), (*BOTH[1], "newton")])
def test_standard_errors_hold_the_truth(model: Any, target: np.ndarray, solver: str) -> None:
    """Of a coarse function of the first column: eight bins, the truth being the same fit almost without noise."""
    given = {"solver": solver, "bins": 8}
    shape = refitted(model, target, epsilon=5.0, **given).shape_functions_["x0"]
    truth = refitted(model, target, epsilon=500.0, **given).shape_functions_["x0"]
    assert (np.abs(shape.values - truth.values) < 4 * shape.standard_errors).all()
    assert shape.standard_errors.max() < 2 * np.abs(truth.values).max()
    assert refitted(model, target).shape_functions_["x0"].standard_errors is None


def test_learned_edges_are_where_the_rows_are() -> None:
    """A column of which 99 of 100 rows are in the first thousandth of its bounds."""
    column = np.abs(DRAW.standard_cauchy((5000, 1))).clip(0, 1e4)
    search = BinSearch.calibrate((cells_within(0.0, 1e4),), gd.GaussianDP(1.0), "add_remove")
    ((edges, shares, _),) = search.find(column, 32, research_rng(1))
    assert (edges[0], edges[-1]) == (0, 1e4)
    assert (np.diff(edges) > 0).all()
    assert (edges < 100).sum() >= 5
    assert shares.sum() == pytest.approx(1)
    hidden = merged(np.linspace(0, 1, 65), np.ones(64), 100.0, 4)
    assert hidden.groups.tolist() == [0] * 4
    assert hidden.edges == pytest.approx([0, 0.25, 0.5, 0.75, 1])


def test_groups_of_bins_exceed_their_noise_and_do_not_change_the_number_of_functions() -> None:
    """Many small shares next to two large ones, under no noise to much noise."""
    weights = np.append(DRAW.dirichlet(np.ones(40)) / 4, [0.5, 0.25])
    edges, sizes = np.linspace(0, 1, 43), []
    for deviation in (0.0, 0.01, 0.1, math.inf):
        groups = LearnedBins(edges, weights, deviation).groups
        shares = np.bincount(groups, weights + 0.1 / 42)
        assert set(np.diff(groups)) <= {0, 1}
        assert len(shares) == 1 or shares.min() >= 3 * deviation
        assert Bins.of_groups("a", edges, weights, groups).basis.shape == (42, 20)
        sizes.append(len(shares))
    assert sizes[0] == 16 > sizes[1] > sizes[2] > sizes[3] == 1
    assert groups.tolist() == [0] * 42


def test_frequent_numbers_have_levels_of_their_own() -> None:
    """A tenth of the rows is at each of four numbers, whose classes alternate; other rows have either class."""
    frequent = np.array([0.3, 0.36, 0.42, 0.48])
    place = DRAW.integers(0, 10, 8000)
    column = np.where(place < 4, frequent[place % 4], DRAW.uniform(0, 1, 8000))
    model = AdditiveClassifier(4.0, 1e-6, classes=[0, 1], bounds=(0, 1), random_state=1)
    model.fit(column[:, None], np.where(place < 4, place % 2, DRAW.integers(0, 2, 8000)))
    assert model.predict(frequent[:, None]).tolist() == [0, 1, 0, 1]


@pytest.mark.parametrize(("neighbours", "moved"), [("add_remove", 3), ("replace", 6)])
def test_the_search_has_noise_for_all_columns_of_a_row(neighbours: str, moved: int) -> None:
    cells = (cells_within(-1.0, 1.0),) * 3
    gaussian = BinSearch.calibrate(cells, gd.GaussianDP(0.5), neighbours).noise
    laplace = BinSearch.calibrate(cells, gd.PureDP(0.5), neighbours).noise
    assert math.sqrt(gaussian.variances[0]) == pytest.approx(math.sqrt(moved) / 0.5, rel=0.01)
    assert math.sqrt(laplace.variances[0]) == pytest.approx(math.sqrt(2) * moved / 0.5, rel=0.01)


def test_rows_of_features_are_no_longer_than_stated() -> None:
    bins = (
        Bins.of_numbers("a", np.linspace(0, 1, 33), 8, np.full(32, 1 / 32)),
        Bins.of_categories("b", ("u", "v", "w")),
        Bins.of_groups("c", np.linspace(0, 1, 33), np.full(32, 1 / 32), np.arange(32) // 2),
    )
    rows = np.array([[a, b, a] for a in np.linspace(0, 1, 200) for b in range(4)])
    lengths = np.linalg.norm(features(bins, rows), axis=1)
    assert lengths.max() == pytest.approx(longest(bins))
    few = Bins.of_numbers("a", np.array([0.0, 0.5, 1.0]), 8, np.full(2, 0.5))
    assert few.basis.shape == (2, 8)  # for any edges


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"bounds": None}, "bounds"),
        ({"bins": 1}, "bins"),
        ({"edges": "quantiles"}, "`edges` must be"),
        ({"edges": np.array([0.1, 0.5])}, "`edges` must be"),
        ({"edges": {0: [0.5, 0.1]}}, "not increasing"),
        ({"edges": {5: [0.1]}}, "`edges` names a column"),
        ({"categories": {7: [1, 2]}}, "`categories` names a column"),
        ({"categories": {0: [1, 1]}}, "`categories` must map columns of X to lists"),
        ({"categories": {0: [1, "1.0"]}}, "`categories` must map columns of X to lists"),
        ({"categories": {0: [[1], [2]]}}, "`categories` must map columns of X to lists"),
        ({"categories": {0: [([1],), 2]}}, "`categories` must map columns of X to lists"),
        ({"monotone": {0: 2}}, "monotone"),
        ({"monotone": {0: [1]}}, "monotone"),
        ({"monotone": {0: np.array([1])}}, "monotone"),
        ({"monotone": {-1: 1}}, "monotone"),
        ({"solver": "fast"}, "solver"),
    ],
)
@pytest.mark.parametrize(("model", "target"), BOTH)
def test_bad_parameters_cost_nothing(model: Any, target: np.ndarray, change: dict[str, Any], words: str) -> None:
    kit.check_refused(model, change, words, (ROWS, target))


@pytest.mark.parametrize("neighbours", ["replace", "add_remove"])
@pytest.mark.parametrize(
    ("model", "target", "solver"),
    [(*BOTH[0], "auto"), (*BOTH[1], "auto"), (*BOTH[0], "preconditioned"), (*BOTH[1], "newton")],
)
def test_a_fit_is_charged_once_and_saved(
    model: Any, target: np.ndarray, solver: str, neighbours: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    settled, settle = [], gd.Ledger.settle
    monkeypatch.setattr(gd.Ledger, "settle", lambda *of: settled.append(of[2]) or settle(*of))
    ledger = gd.Ledger.in_memory(gd.ApproxDP(4, 1e-3))
    fitted = refitted(model, target, ledger=ledger, solver=solver, neighbours=neighbours)
    entries = ledger.entries()
    assert [entry.kind for entry in entries] == ["open", "bind", "reserve", "settle"]
    assert entries[2].request["fit"] == type(model).__name__
    assert settled == [fitted.release_.to_json().encode()]
    assert fitted.release_.requested == gd.ApproxDP(2.0, 1e-6)
    again = pickle.loads(pickle.dumps(fitted))
    assert (again.predict(ROWS) == fitted.predict(ROWS)).all()


@pytest.mark.parametrize("model", [REGRESSION, CLASSES], ids=str)
def test_the_habits_of_scikit_learn(model: Any) -> None:
    from sklearn.base import clone

    wide = {"bounds": (-10, 10), "epsilon": 50.0}
    facts = {"target_bounds": (-200, 200)} if model is REGRESSION else {"classes": [0, 1, 2]}
    kit.check_habits(clone(model).set_params(**wide, **facts), EXPECTED)


def fits(model: Any, epsilon: float) -> Callable[[float], np.ndarray]:
    """Return fits of four rows, one of which is given with its target: predictions at three points."""
    from sklearn.base import clone

    keys, at = count(), np.array([[-1.0], [0.0], [1.0]])

    def run(row: float) -> np.ndarray:
        fitted = clone(model).set_params(epsilon=epsilon, delta=1e-3, bins=8, random_state=next(keys))
        fitted.fit(np.array([[row], [0.0], [0.0], [0.0]]), np.array([row > 0, 0, 1, 0], dtype=float))
        shapes = fitted._scores(at)
        return np.asarray(shapes, dtype=float)

    return run


@pytest.mark.statistical
@pytest.mark.parametrize("model", [AdditiveRegressor(target_bounds=(0, 1), **BOX),
                                   AdditiveClassifier(classes=[0, 1], **BOX)], ids=repr)  # fmt: skip
def test_a_whole_fit_is_quiet_and_alarms_at_a_fraction_of_its_noise(model: Any, monkeypatch) -> None:
    """Black-box, 1,000 runs of rows that are replaced; an audit alarms falsely at a rate of 0.1 %."""
    monkeypatch.setattr(additive_regressor, "hides_slopes", lambda *_: False)  # so few would get the mean alone
    claim = gd.GaussianDP(gaussian_mu(2.0, 1e-3))
    model.set_params(neighbours="replace")
    for loud in (1.0, 30.0):
        actual = gd.audit.audit(
            fits(model, 2.0 * loud), 1.0, -1.0, claim, runs=1000, confidence=0.999, rng=research_rng(3)
        )
        assert actual.violated == (loud > 1)


def size_of(guarantee: Any) -> float:
    """Return what adds up: μ², or ε."""
    return guarantee.mu**2 if isinstance(guarantee, gd.GaussianDP) else guarantee.epsilon(0)


@pytest.mark.parametrize("guarantee", [gd.GaussianDP(1.0), gd.PureDP(1.0)])
def test_shares_of_the_descent_add_up(guarantee: Any) -> None:
    method = AdditiveDescent.calibrate(guarantee, "add_remove")
    total = sum(map(size_of, [method.totals.noise.guarantee, method.calibration.noise.guarantee, method.guarantee]))
    assert 0.999 < total <= 1


def test_vectors_whose_sums_are_released_are_short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of targets and predictions at the ends of their ranges."""
    longest_seen, release = [], GroupSums.release

    def spy(self: GroupSums, vectors: np.ndarray, *others: Any) -> np.ndarray:
        longest_seen.append(float(np.abs(vectors).max()))
        return release(self, vectors, *others)

    monkeypatch.setattr(GroupSums, "release", spy)
    method = AdditiveDescent.calibrate(gd.GaussianDP(1.0), "replace")
    design, target = np.ones((50, 2)) / math.sqrt(2), np.where(np.arange(50) % 2, 1.0, -1.0)
    method.solve(design, target, method.level(target, research_rng(1)), research_rng(1))
    method._calibrated(-target, 2 * target, (50.0, 0.5), research_rng(1))
    assert len(longest_seen) == 3
    assert max(longest_seen) <= 1


def test_edges_and_fit_share_the_guarantee(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tenth of ε for the edges and the rest for the fit, or shares of μ² that add up to 1."""
    given, calibrate = [], AdditiveDescent.calibrate
    monkeypatch.setattr(AdditiveDescent, "calibrate", lambda *of: given.append(of[0]) or calibrate(*of))
    layout = REGRESSION._layout(ROWS, 2)
    for delta in (0.0, 1e-6):
        refitted(REGRESSION, NUMBERS, delta=delta)
        requested = for_gaussian_releases(gd.ApproxDP(2.0, delta) if delta else gd.PureDP(2.0))
        search = layout.search(requested, "replace")
        assert search is not None
        assert 0.999 < (size_of(search.noise.guarantee) + size_of(given[-1])) / size_of(requested) <= 1
    search = layout.search(gd.PureDP(2.0), "replace")
    inner = CLASSES._inner(layout.trial_bins(8), gd.PureDP(2.0), search, research_rng(1))
    assert inner.epsilon + search.noise.guarantee.epsilon(0) <= 2.0


@pytest.mark.parametrize("solver", ["objective", "gradient"])
def test_a_fit_after_edges_accounts_for_them(solver: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen, solve = [], LogisticRegression._solve
    monkeypatch.setattr(LogisticRegression, "_solve", lambda *of: seen.append(of[2].auxiliary_mu) or solve(*of))
    for earlier in (0.0, 0.05):
        model = LogisticRegression(1.0, 1e-6, solver=solver, random_state=1, **BOX, classes=[0, 1])
        model._earlier_mu = earlier
        model.fit(ROWS, LABELS)
    assert seen[1] == pytest.approx(math.hypot(seen[0], 0.05))
    search = CLASSES._layout(ROWS, 2).search(gd.ApproxDP(2.0, 1e-6), "replace")
    assert search is not None
    inner = CLASSES._inner(CLASSES._layout(ROWS, 2).trial_bins(8), gd.ApproxDP(2.0, 1e-6), search, research_rng(1))
    assert inner._earlier_mu == search.noise.guarantee.mu > 0


def test_the_objective_is_left_to_noise_that_exists_next_to_edges(monkeypatch: pytest.MonkeyPatch) -> None:
    """Under replace many rows choose the objective, for which the edges may leave too little δ; a trial shows it."""
    tried, fit = [], LogisticRegression.fit
    monkeypatch.setattr(LogisticRegression, "fit", lambda *of: (fit(*of), tried.append(of[0].solver_))[0])
    rows = np.linspace(-1, 1, 20000)[:, None]
    labels = np.arange(20000) % 5
    for given, solver in (((0.1, 0.3), "gradient"), ((5.0, 1e-6), "objective")):
        tried.clear()
        AdditiveClassifier(*given, classes=range(5), random_state=1, neighbours="replace", **BOX).fit(rows, labels)
        assert tried == [solver, solver]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_nothing_beside_edges_and_objective_takes_much_of_delta(n_classes: int) -> None:
    requested, seen = gd.ApproxDP(1.0, 1e-6), []
    for earlier in (0.0, 0.5):
        model = LogisticRegression(1.0, 1e-6, solver="objective", classes=list(range(n_classes)), **BOX)
        model._earlier_mu = earlier
        centre = model._centre(requested, (n_classes, np.zeros(2, dtype=int)), 1e6, "objective")
        level = model._intercept_noise(Centre(None, requested), (2, 1e6))
        first = model._intercept_noise(Centre.plan(requested, 2, 1e6, False), (2, 1e6), solver="objective")
        seen.append((centre.auxiliary_mu > 0, level.auxiliary_mu > 0, first.auxiliary_mu > 0))
    assert seen == [(True,) * 3, (False,) * 3]


@pytest.mark.parametrize(
    "change",
    [{"edges": {0: []}}, {"edges": {0: [5.0]}}, {"categories": {0: ["a"]}}, {"bounds": (1, math.nextafter(1, 2))}],
)
@pytest.mark.parametrize("model", [REGRESSION, CLASSES], ids=str)
@pytest.mark.parametrize("solver", ["auto", "other"])
def test_a_column_without_a_function_is_fitted(model: Any, change: dict[str, Any], solver: str) -> None:
    from sklearn.base import clone

    named = {"auto": "auto", "other": "preconditioned" if model is REGRESSION else "newton"}[solver]
    fitted = clone(model).set_params(solver=named, **change).fit(ROWS[:50, :1], LABELS[:50])
    assert np.isfinite(fitted.predict(ROWS[:, :1])).all()


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("epsilon", [1e20, 1e200, 1e300])
def test_an_enormous_epsilon_is_no_error_after_the_charge(epsilon: float, delta: float) -> None:
    assert np.isfinite(refitted(REGRESSION, NUMBERS, epsilon=epsilon, delta=delta).predict(ROWS)).all()


def test_a_part_of_a_fit_whose_epsilon_is_too_small_quotes_no_other_epsilon() -> None:
    with pytest.raises(gd.InvalidRequest, match="`epsilon` is too small for the parts of this fit"):
        AdditiveClassifier(1e-6, classes=[0, 1], **BOX).fit(ROWS, LABELS)


def test_no_solver_leaves_out_an_earlier_release() -> None:
    """Objective perturbation stays with δ, and what cannot account for Gaussian noise is not used after it."""
    requested, kept = gd.ApproxDP(1.0, 1e-12), []
    for earlier in (0.0, 0.05):
        model = LogisticRegression(1.0, 1e-12, fit_intercept=False, classes=[0, 1], **BOX)
        model._earlier_mu = earlier
        kept.append(model._kept(requested, 1, "objective"))
    assert kept == [gd.PureDP(1.0), requested]
    for given in ({"delta": 1e-6, "solver": "newton"}, {"delta": 0.0}):
        model = LogisticRegression(1.0, classes=[0, 1], **given, **BOX)
        model._earlier_mu = 0.05
        with pytest.raises(AssertionError):
            model.fit(ROWS, LABELS)
