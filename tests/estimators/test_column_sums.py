"""Estimators from sums of columns: scaling, filling in, naive Bayes."""

from itertools import count

import numpy as np
import pytest

import gaugedp as gd

pytest.importorskip("sklearn", reason="the extra [learn] is not installed")
from sklearn.datasets import make_classification
from sklearn.pipeline import make_pipeline

from gaugedp.estimators import GaussianNB, LogisticRegression, SimpleImputer, StandardScaler
from gaugedp.estimators.column_sums import GroupSums, least_noise
from gaugedp.estimators.naive_bayes import ClassNoise, _likelihoods
from gaugedp.estimators.score_calibration import cells_of, n_cells
from gaugedp.guarantees.gaussian_curve import gaussian_mu
from tests.estimators.kit import check_habits, check_refused
from tests.estimators.test_transcripts import BOTH, DELTA, EPSILON, claim, fits
from tests.optimization.transcripts import check

RNG = np.random.default_rng(3)
ROWS = RNG.normal([1, 20, 300], [1, 5, 40], (8000, 3))
LABELS = (ROWS[:, 0] + ROWS[:, 1] / 5 > 5).astype(int)
BOUNDS = ([-3, 0, 100], [5, 40, 500])
HALF = np.array([4, 20, 200])
ASKED = [{"epsilon": 1.0, "delta": 1e-6}, {"epsilon": 2.0, "delta": 0.0}]
KINDS = pytest.mark.parametrize("kind", [StandardScaler, SimpleImputer, GaussianNB])


def made(kind, *requested: float, **given):
    return kind(*requested, **({"classes": [0, 1]} if kind is GaussianNB else {}), **given)


@pytest.mark.parametrize("neighbours", ["replace", "add_remove"])
@pytest.mark.parametrize("requested", ASKED)
def test_a_scaler_finds_means_and_deviations(requested: dict, neighbours: str) -> None:
    scaler = StandardScaler(**requested, bounds=BOUNDS, neighbours=neighbours).fit(ROWS)
    assert (np.abs(scaler.mean_ - [1, 20, 300]) / HALF).max() < 0.03
    assert scaler.scale_ == pytest.approx([1, 5, 40], rel=0.2)
    scaled = scaler.transform(ROWS)
    assert np.abs(scaled.mean(axis=0)).max() < 0.15
    assert scaled.std(axis=0) == pytest.approx(np.ones(3), rel=0.2)
    assert scaler.guarantee_.epsilon(requested["delta"]) <= requested["epsilon"] * (1 + 1e-9)
    assert scaler.release_.exactness == "exact"
    bare = StandardScaler(**requested, bounds=BOUNDS, with_mean=False, with_std=False).fit(ROWS)
    assert bare.transform(ROWS[:5]) == pytest.approx(np.clip(ROWS[:5], *BOUNDS))


def test_what_is_missing_has_no_part_and_is_filled_in() -> None:
    holed = ROWS.copy()
    holed[RNG.random(ROWS.shape) < 0.4] = np.nan
    imputer = SimpleImputer(2.0, 1e-6, bounds=BOUNDS).fit(holed)
    assert (np.abs(imputer.statistics_ - [1, 20, 300]) / HALF).max() < 0.03
    filled, gaps = imputer.transform(holed), np.isnan(holed)
    assert (filled[gaps] == np.tile(imputer.statistics_, (8000, 1))[gaps]).all()
    assert (filled[~gaps] == holed[~gaps]).all()
    scaler = StandardScaler(2.0, 1e-6, bounds=BOUNDS).fit(holed)
    assert (np.abs(scaler.mean_ - [1, 20, 300]) / HALF).max() < 0.03
    assert (scaler.transform(np.full((1, 3), np.nan)) == 0).all()


def test_a_column_that_is_never_there_gets_a_number_within_its_bounds() -> None:
    imputer = SimpleImputer(1.0, 1e-6, bounds=(0, 10)).fit(np.full((50, 2), np.nan))
    assert ((imputer.statistics_ >= 0) & (imputer.statistics_ <= 10)).all()


@pytest.mark.parametrize("neighbours", ["replace", "add_remove"])
def test_naive_bayes_tells_classes_apart(neighbours: str) -> None:
    model = GaussianNB(1.0, 1e-6, bounds=BOUNDS, classes=[0, 1], neighbours=neighbours).fit(ROWS, LABELS)
    assert model.score(ROWS, LABELS) > 0.9
    assert model.class_prior_ == pytest.approx([1 - LABELS.mean(), LABELS.mean()], abs=0.03)
    assert model.predict_proba(ROWS[:20]).sum(axis=1) == pytest.approx(np.ones(20))
    assert (model.classes_[model.predict_proba(ROWS).argmax(axis=1)] == model.predict(ROWS)).all()
    texts = np.array(["no", "yes"])[LABELS]
    named = GaussianNB(1.0, 1e-6, bounds=BOUNDS, classes=["no", "yes", "maybe"]).fit(ROWS, texts)
    assert np.mean(named.predict(ROWS) == texts) > 0.85


@pytest.mark.parametrize(("neighbours", "least"), [("replace", 0.68), ("add_remove", 0.7)])
def test_noisy_variances_do_not_decide(neighbours: str, least: float) -> None:
    """Three classes, pure epsilon 3; without noise 0.74, and 0.45 when small variances were noise."""
    rows, labels = make_classification(
        5000, 20, n_informative=8, n_redundant=4, n_classes=3, class_sep=1.2, random_state=0
    )
    bounds = rows.min(axis=0), rows.max(axis=0)
    scores = [
        GaussianNB(3.0, bounds=bounds, classes=[0, 1, 2], neighbours=neighbours, random_state=key)
        .fit(rows, labels).score(rows, labels) for key in range(5)
    ]  # fmt: skip
    assert np.mean(scores) > least


def test_a_pipeline_pays_for_each_step_from_one_ledger() -> None:
    ledger = gd.Ledger.in_memory(gd.ApproxDP(3.0, 1e-5))
    steps = (
        StandardScaler(1.0, 1e-6, bounds=BOUNDS, ledger=ledger),
        LogisticRegression(1.0, 1e-6, bounds=(-3, 3), classes=[0, 1], ledger=ledger),
    )
    assert make_pipeline(*steps).fit(ROWS, LABELS).score(ROWS, LABELS) > 0.9
    assert ledger.spent.epsilon(2e-6) == pytest.approx(2.0, rel=1e-6), "one for each step"


@pytest.mark.statistical
@BOTH
@pytest.mark.parametrize(
    ("kind", "least"),
    [(StandardScaler, 0.57), pytest.param(SimpleImputer, 0.7, marks=pytest.mark.thorough), (GaussianNB, 0.62)],
)
def test_a_row_moves_the_sums_as_far_as_is_charged(kind, least: float, neighbours: str) -> None:
    """A corner against its opposite, or against no row: squares, and what is there, do not move in the first.

    With fewer rows naive Bayes only counts its classes.
    """
    model = made(kind, EPSILON, DELTA, bounds=(-1, 1), neighbours=neighbours)
    rest = np.zeros((1000 if kind is GaussianNB else 60, 40))
    one = np.vstack([rest, np.ones((1, 40))])
    other = np.vstack([rest, -np.ones((1, 40))]) if neighbours == "replace" else rest
    tables = tuple((rows, np.zeros(len(rows), dtype=int)) for rows in (one, other))
    shown = {StandardScaler: ("mean_", "var_"), SimpleImputer: ("statistics_",), GaussianNB: ("theta_", "var_")}
    expected = {"mu": claim("replace")["mu"]}  # no part goes to the number of rows
    check(
        fits(model, *shown[kind]),
        tables,
        expected,
        60 if kind is GaussianNB else 200,
        least if neighbours == "replace" else 0.98,
    )


def test_a_replaced_row_is_charged_twice_its_norm_and_an_added_one_once() -> None:
    ways = ("replace", "add_remove")
    for requested, norm, once in ((gd.PureDP(1.0), np.inf, 1.0), (gd.ApproxDP(1.0, 1e-6), 2, 5**0.5)):
        noise = [GroupSums.calibrate((2, 5), requested, way).noise.body.radius(norm) for way in ways]
        assert noise == pytest.approx([2 * once, once])
    sums = GroupSums.calibrate((2, 3), gd.ApproxDP(500.0, 1e-6), "replace")
    vectors, groups = np.eye(3)[[0, 1, 2, 0]], np.array([0, 1, -1, 0])
    actual = sums.release(vectors, groups, gd.research_rng(1))
    assert actual == pytest.approx(np.array([[2, 0, 0], [0, 1, 0]]), abs=1.0)


@KINDS
@pytest.mark.parametrize(
    ("change", "words"),
    [({"bounds": None}, "bounds"), ({"bounds": (1, 0)}, "bounds"), ({"epsilon": -1.0}, "epsilon")],
)
def test_what_is_no_parameter_is_refused_before_paying(kind, change: dict, words: str) -> None:
    check_refused(made(kind, 1.0, 1e-6, bounds=(-1, 1)), change, words, (ROWS[:50], LABELS[:50]))


EXPECTED = {
    "check_dtype_object": "a cell that is no number counts as missing: an error would tell",
    "check_classifiers_classes": "classes are public and given before: labels of other kinds count as none of them",
    "check_classifiers_train": "as above, and infinite values are clipped, not refused: an error would tell",
    "check_classifiers_regression_target": "continuous labels are in no class: an error would tell",
    "check_supervised_y_no_nan": "labels that are no numbers are in no class: an error would tell",
    "check_estimator_sparse_array": "the check has four classes, and public are three",
    "check_estimator_sparse_matrix": "as above",
}
SKIPPED = {  # fits draw noise; no array-API input
    *("check_pipeline_consistency", "check_transformer_general", "check_transformer_data_not_an_array"),
    "check_array_api_input",
}


@pytest.mark.filterwarnings("ignore")
@KINDS
def test_scikit_learns_own_checks(kind) -> None:
    model = made(kind, 50.0, 1e-5, bounds=(-10, 10), random_state=0)
    if kind is GaussianNB:
        model.set_params(classes=[0, 1, 2])
    check_habits(model, EXPECTED, SKIPPED)


@pytest.mark.thorough
@pytest.mark.statistical
@pytest.mark.parametrize(
    ("neighbours", "delta", "claim"),
    [
        ("replace", 1e-6, {"epsilon": 0.1}),
        ("add_remove", 0.0, {"epsilon": 0.1}),
        ("add_remove", 1e-6, {"mu": gaussian_mu(0.1, 1e-6)}),
    ],
)
def test_counts_alone_take_the_whole_guarantee(neighbours: str, delta: float, claim: dict[str, float]) -> None:
    """A row that changes its class, or one more row: noise hides the columns by the (noisy) number of rows."""
    model = GaussianNB(0.1, delta, bounds=(-1, 1), classes=range(100), neighbours=neighbours, calibrate=False)
    rows, labels = np.zeros((60, 100)), np.zeros(60, dtype=int)
    changed = (rows, np.append(labels[1:], 1)) if neighbours == "replace" else (rows[1:], labels[1:])
    check(fits(model, "class_prior_", "solver_"), ((rows, labels), changed), claim, 110)


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("n_rows", [3, 60])
def test_a_whole_fit_of_naive_bayes_is_quiet_and_alarms_at_a_fraction_of_its_noise(n_rows: int) -> None:
    """Black-box: counts alone, or also columns and scores; a false alarm has a chance of 0.1 %. ε is 1.5 or 4.5."""
    seeds, rows = count(), np.zeros((n_rows, 1))
    for loud in (1.0, 3.0):

        def run(label: int, loud: float = loud) -> np.ndarray:
            public = {"bounds": (-1, 1), "classes": [0, 1], "neighbours": "replace", "random_state": next(seeds)}
            model = GaussianNB(1.5 * loud, **public).fit(np.vstack([rows, [[2.0 * label - 1]]]), [0] * n_rows + [label])
            assert model.solver_ == ("labels" if n_rows == 3 else "moments")
            return np.hstack([model.class_prior_[:1], model.theta_[:, 0]])

        found = gd.audit.audit(run, 0, 1, gd.PureDP(1.5), runs=1500, confidence=0.999, rng=gd.research_rng(3))
        assert found.violated == (loud > 1)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_parts_of_naive_bayes_share_the_guarantee(delta: float) -> None:
    for calibrates in (True, False):
        noise = ClassNoise.calibrate(
            (3, 2), gd.ApproxDP(5.0, delta) if delta else gd.PureDP(5.0), "replace", calibrates
        )
        for parts in ([noise.counts, noise.sums, noise.scores], [noise.counts, noise.rest]):
            spent = [part.noise.guarantee for part in parts if part is not None]
            share = [one.mu**2 / noise.sums.guarantee.mu**2 if delta else one.epsilon_value / 5 for one in spent]
            assert 0.999 < sum(share) <= 1


def test_counts_that_move_two_sums_have_noise_for_two() -> None:
    for requested, norm, most in ((gd.PureDP(1.0), 1, 2.0), (gd.ApproxDP(1.0, 1e-6), 2, 2**0.5)):
        radii = [GroupSums.counting(5, requested, way).noise.body.radius(norm) for way in ("add_remove", "replace")]
        assert radii == pytest.approx([1.0, most])


SKEWED = np.random.default_rng(7)
HIDDEN = SKEWED.normal(size=(8000, 1))
COPIES = np.clip(np.hstack([HIDDEN] * 12) / 4 + SKEWED.normal(0, 0.05, (8000, 12)), -1, 1)  # far from independent
RARE = (SKEWED.random(8000) < 1 / (1 + np.exp(2.5 - HIDDEN[:, 0]))).astype(int)  # one in ten


def log_loss(model: GaussianNB) -> float:
    return -float(model.predict_log_proba(COPIES)[np.arange(8000), RARE].mean())


@pytest.mark.parametrize("neighbours", ["replace", "add_remove"])
@pytest.mark.parametrize("requested", ASKED)
def test_calibrated_naive_bayes_is_not_worse_than_trivial(requested: dict, neighbours: str) -> None:
    """Twelve copies of one column: without a calibration every fifth row is taken for the rare class."""
    public = {**requested, "bounds": (-1, 1), "classes": [0, 1], "neighbours": neighbours, "random_state": 1}
    model, plain = (GaussianNB(**public, calibrate=way).fit(COPIES, RARE) for way in (True, False))
    majority, entropy = 1 - RARE.mean(), -np.log([1 - RARE.mean(), RARE.mean()]) @ [1 - RARE.mean(), RARE.mean()]
    assert plain.score(COPIES, RARE) < majority - 0.05
    assert model.score(COPIES, RARE) > majority - 0.01
    assert log_loss(model) < entropy < log_loss(plain)


def test_calibration_keeps_the_order_of_two_classes() -> None:
    model = GaussianNB(2.0, 1e-6, bounds=(-1, 1), classes=[0, 1], random_state=1).fit(COPIES, RARE)
    before = np.diff(_likelihoods(COPIES, model.theta_, model.var_))[:, 0]
    after = np.diff(model.predict_log_proba(COPIES))[:, 0]
    assert (np.diff(after[np.argsort(before)]) >= 0).all()


def test_given_priors_replace_the_shares_after_the_calibration() -> None:
    public = {"epsilon": 2.0, "bounds": (-1, 1), "classes": [0, 1], "random_state": 1}
    even, as_found = (GaussianNB(**public, priors=priors).fit(COPIES, RARE) for priors in ([0.5, 0.5], None))
    moved = [np.diff(model.predict_log_proba(COPIES))[:, 0] for model in (even, as_found)]
    assert moved[0] - moved[1] == pytest.approx(-np.diff(np.log(as_found.class_prior_))[0])


def test_batches_calibrate_together() -> None:
    model = GaussianNB(1.0, bounds=(-1, 1), classes=[0, 1], random_state=np.random.default_rng(1))
    for part in np.array_split(np.arange(8000), 8):
        model.partial_fit(COPIES[part], RARE[part])
    assert model.score(COPIES, RARE) > 1 - RARE.mean() - 0.01


def test_rows_after_counts_alone_start_again() -> None:
    model = GaussianNB(0.5, bounds=(-1, 1), classes=[0, 1], random_state=np.random.default_rng(1))
    model.fit(COPIES[:40], RARE[:40])
    assert model.solver_ == "labels"
    assert np.ptp(model.predict_proba(COPIES), axis=0).max() < 1e-12
    model.partial_fit(COPIES, RARE)
    assert (model.solver_, model.guarantee_) == ("moments", 2 * gd.PureDP(0.5))
    assert model.class_prior_ == pytest.approx([1 - RARE.mean(), RARE.mean()], abs=0.02)


def test_the_released_number_of_rows_hides_columns_and_not_the_true_one(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    monkeypatch.setattr(GaussianNB, "_hides_columns", lambda *given: seen.append(given[1]) or True)
    model = GaussianNB(0.5, bounds=(-1, 1), classes=[0, 1], random_state=1).fit(COPIES, RARE)
    assert model.solver_ == "labels"
    assert len(seen) == 1
    assert 0 < abs(seen[0] - 8000) < 500


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_all_sums_of_naive_bayes_have_noise(delta: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """One seed and two tables: next to enormous noise they are equal."""
    monkeypatch.setattr(GaussianNB, "_hides_columns", lambda *_: False)
    public = {"bounds": (-1, 1), "classes": [0, 1], "random_state": 1}
    one, other = (
        GaussianNB(1e-5, delta, **public).fit(rows, labels)._noisy_sums
        for rows, labels in ((COPIES[:300], RARE[:300]), (-COPIES[300:900], 1 - RARE[300:900]))
    )
    for part in (slice(1), slice(1, 25), slice(25, None)):  # counts, sums of columns, counts of scores
        size = np.median(np.abs(one[:, part]))
        assert size > 1e4
        assert np.abs(one[:, part] - other[:, part]).max() < 0.1 * size


def test_a_cell_depends_on_its_own_row_only() -> None:
    scores, codes = SKEWED.normal(0, 3, (500, 4)), SKEWED.integers(-1, 4, 500)
    priors = np.log([0.4, 0.3, 0.2, 0.1])
    cells = cells_of(scores, priors, codes)
    alone = [cells_of(scores[[row]], priors, codes[[row]])[0] for row in range(500)]
    assert cells.tolist() == alone
    assert (cells[codes < 0] == -1).all()
    assert set(cells) <= set(range(-1, n_cells(4)))


@pytest.mark.parametrize(("size", "epsilon", "is_pure"), [(3, 1.0, True), (3, 8.0, True), (200, 0.1, False)])
def test_delta_never_adds_noise(size: int, epsilon: float, is_pure: bool) -> None:
    requested = gd.ApproxDP(epsilon, DELTA)
    kind = least_noise((1, size), requested, "add_remove")
    assert (kind == gd.PureDP(epsilon)) is is_pure
    assert is_pure or kind == requested
    noises = [GroupSums.calibrate((1, size), one, "add_remove").deviation for one in (requested, gd.PureDP(epsilon))]
    assert GroupSums.calibrate((1, size), kind, "add_remove").deviation == min(noises)


def test_a_call_that_failed_after_its_charge_adds_no_noise(monkeypatch) -> None:
    model = GaussianNB(epsilon=9.0, bounds=BOUNDS, classes=[0, 1]).partial_fit(ROWS, LABELS)
    with monkeypatch.context() as broken:
        broken.setattr(GaussianNB, "_values", lambda _: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            model.partial_fit(ROWS, LABELS)
    assert model.partial_fit(ROWS, LABELS)._n_calls == 2
