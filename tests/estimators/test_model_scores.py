"""Scores of a fitted model on other rows: exact values, sensitivity, audits, intervals, refusals. Keys are fixed."""

import numpy as np
import pytest

import gaugedp as gd

pytest.importorskip("sklearn", reason="the extra [learn] is not installed")
from sklearn.metrics import confusion_matrix, log_loss, mean_absolute_error, r2_score, roc_auc_score

from gaugedp.audit import audit
from gaugedp.errors import InvalidRequest
from gaugedp.estimators import (
    PCA,
    GaussianNB,
    LinearRegression,
    LinearSVC,
    LogisticRegression,
    PrivateSearchCV,
    score_report,
    score_sums,
)
from gaugedp.estimators.given_scores import GivenScores
from gaugedp.estimators.model_scores import ClassSums, NumberSums, _bernstein_sums, _moments
from gaugedp.estimators.private_search import NamedRows
from gaugedp.estimators.rows import products
from gaugedp.estimators.score_sums import ScoreNoise, expected_counts

BOTH = pytest.mark.parametrize("neighbours", ["replace", "add_remove"])
KNOWN = {"bounds": (-1, 1), "random_state": 1}


def table(n: int = 4000, key: int = 1) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(key)
    rows = rng.uniform(-1, 1, (n, 2))
    return rows, np.where(rng.random(n) < 1 / (1 + np.exp(1 - 3 * rows[:, 0])), "yes", "no")


def numbers(n: int = 4000, key: int = 1) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(key)
    rows = rng.uniform(-1, 1, (n, 2))
    return rows, rows @ [1, -1] + rng.normal(0, 0.2, n)


CLASSIFIER = LogisticRegression(1.0, 1e-6, classes=["no", "yes"], **KNOWN).fit(*table())
REGRESSION = LinearRegression(1.0, 1e-6, target_bounds=(-3, 3), **KNOWN).fit(*numbers())


@BOTH
def test_without_noise_scores_are_the_exact_ones(neighbours: str) -> None:
    rows, labels = table(key=2)
    report = score_report(CLASSIFIER, rows, labels, epsilon=1e5, neighbours=neighbours, random_state=1)
    shares = CLASSIFIER.predict_proba(rows)[:, 1]
    exact = {
        "accuracy": (CLASSIFIER.predict(rows) == labels).mean(),
        "majority share": (labels == "no").mean(),
        "log-loss": log_loss(labels, shares),
        "AUC": roc_auc_score(labels, np.floor(shares * 20)),
    }
    assert report.confusion_matrix_ == pytest.approx(confusion_matrix(labels, CLASSIFIER.predict(rows)), abs=0.1)
    for place, (middle, share, low, high) in enumerate(report.calibration_):
        inside = np.floor(shares * 20) == place
        assert middle == pytest.approx((place + 0.5) / 20)
        if inside.any():
            assert low - 1e-3 <= (labels[inside] == "yes").mean() <= high + 1e-3
            assert share == pytest.approx((labels[inside] == "yes").mean(), abs=1e-2)
    rows, target = numbers(key=2)
    report_of_numbers = score_report(REGRESSION, rows, target, epsilon=1e5, neighbours=neighbours, random_state=1)
    exact_numbers = {
        "R²": r2_score(target, REGRESSION.predict(rows)),
        "mean absolute error": mean_absolute_error(target, REGRESSION.predict(rows)),
    }
    for scored, expected in ((report, exact), (report_of_numbers, exact_numbers)):
        assert set(scored.scores_) == set(expected)
        for name, (value, low, high) in scored.scores_.items():
            assert value == pytest.approx(expected[name], abs=2e-3)
            assert low <= value <= high
    assert "accuracy: " in report.summary()
    assert "R²: " in report_of_numbers.summary()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "model",
    [
        LinearSVC(1.0, 1e-6, classes=["no", "yes"], **KNOWN),
        GaussianNB(1.0, 1e-6, classes=["no", "yes"], **KNOWN),
        LogisticRegression(1.0, 1e-6, classes=["no", "perhaps", "yes"], **KNOWN),
    ],
    ids=lambda model: type(model).__name__,
)
def test_any_classifier_is_scored(model) -> None:
    rows, labels = table()
    report = score_report(model.fit(rows, labels), rows, labels, epsilon=50.0, random_state=1)
    assert report.scores_["accuracy"][0] == pytest.approx(model.score(rows, labels), abs=0.01)
    assert ("AUC" in report.scores_) == (len(model.classes) == 2) == ("calibration_" in vars(report))


@pytest.mark.parametrize("replaced", [True, False])
def test_no_row_moves_the_sums_further_than_their_body(replaced: bool) -> None:
    """Every pair of rows and targets of a grid, without noise: the longest move is not far below what is charged."""
    seen: list[tuple[np.ndarray, float]] = []

    class Exact(ScoreNoise):
        def released(self, exact, law, draws):
            seen.append((exact, law.body.radius(1)))
            return super().released(exact, law, draws)

    noise = Exact(1.0, replaced, gd.research_rng(1))
    cases = [
        (ClassSums(np.array(["no", "yes"])), CLASSIFIER, ["no", "yes", "odd"]),
        (NumberSums(-3.0, 3.0), REGRESSION, [-3.0, 0.0, 3.0, 50.0, np.nan]),
    ]
    for sums_of, model, targets in cases:
        ends: list[list[np.ndarray]] = []
        for x in ([-1.0, -1.0], [0.0, 0.0], [1.0, -1.0], [-1.0, 1.0]):
            for target in targets:
                seen.clear()
                sums_of.release(model, NamedRows(np.array([x]), None), np.array([target]), noise)
                ends.append([exact for exact, _ in seen])
        radii = [radius for _, radius in seen]
        others = ends if replaced else [[np.zeros_like(exact) for exact in ends[0]]]
        moved = [max(np.abs(a[i] - b[i]).sum() for a in ends for b in others) for i in range(len(radii))]
        for most, radius in zip(moved, radii, strict=True):
            assert 0.3 * radius < most <= radius
        if isinstance(sums_of, ClassSums):
            assert moved[0] == radii[0]


@pytest.mark.statistical
@pytest.mark.parametrize(("paid", "leaks"), [(1.0, False), (8.0, True)])
@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_an_audit_alarms_for_noise_of_eight_times_epsilon_alone(
    kind: str, paid: float, leaks: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One row is replaced by the one that moves the sums furthest; what is seen is their move along that."""
    monkeypatch.setattr(score_sums, "_DRAWS", 1)
    seeds, rows = iter(range(10**6)), NamedRows(np.zeros((1, 2)), None)
    if kind == "classes":
        sums_of, model, ends = ClassSums(np.array(["no", "yes"])), CLASSIFIER, (np.array(["no"]), np.array(["yes"]))
    else:
        sums_of, model, ends = NumberSums(-3.0, 3.0), REGRESSION, (np.array([-3.0]), np.array([3.0]))
    numbers: list[np.ndarray] = []

    class Kept(ScoreNoise):
        def released(self, exact, law, draws):
            released = super().released(exact, law, draws)
            numbers.append(released[0])
            return released

    def released(end: np.ndarray, epsilon: float, key: int) -> np.ndarray:
        numbers.clear()
        sums_of.release(model, rows, end, Kept(epsilon, True, gd.research_rng(key)))
        return np.concatenate(numbers)

    still = [released(end, 1e6, 1) for end in ends]

    def seen(end: np.ndarray) -> float:
        return float(released(end, paid, next(seeds)) @ (still[1] - still[0]).round(3))

    assert audit(seen, *ends, gd.PureDP(1.0), 500, rng=gd.research_rng(1)).violated == leaks


@pytest.mark.statistical
@pytest.mark.parametrize("epsilon", [0.5, 1e5])
@pytest.mark.parametrize(("model", "draw"), [(CLASSIFIER, table), (REGRESSION, numbers)], ids=["classes", "numbers"])
def test_intervals_hold_the_score_of_other_rows_as_often_as_they_say(
    epsilon: float, model, draw, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows are drawn anew: 38 to 40 of 40 are expected; five misses or more happen once in 20 at 95 %."""
    monkeypatch.setattr(score_sums, "_DRAWS", 200)
    exact = score_report(model, *draw(200_000, 3), epsilon=1e6, random_state=1).scores_
    held = dict.fromkeys(exact, 0)
    for key in range(40):
        scores = score_report(model, *draw(400, 100 + key), epsilon=epsilon, random_state=key).scores_
        for name, (_, low, high) in scores.items():
            held[name] += low <= exact[name][0] <= high
    assert all(count >= 36 for count in held.values()), held


def test_without_noise_an_interval_is_as_wide_as_sampling_makes_it() -> None:
    """Of accuracy 2·z·√(p(1 − p)/n), z for 1 − 0.7/20: neither less nor much more."""
    value, low, high = score_report(CLASSIFIER, *table(key=2), epsilon=1e5, random_state=1).scores_["accuracy"]
    assert (high - low) / 2 == pytest.approx(2.108 * np.sqrt(value * (1 - value) / 4000), rel=0.08)


@pytest.mark.statistical
def test_the_interval_of_the_commonest_share_holds_where_classes_are_equally_common(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The largest of two noisy shares is above ½, and so are quantiles of it: each class has an interval of its own."""
    monkeypatch.setattr(score_sums, "_DRAWS", 200)
    model = LogisticRegression(1.0, 1e-6, classes=["no", "yes"], **KNOWN).fit(*table(200))
    held = 0
    for key in range(40):
        rng = np.random.default_rng(key)
        labels = np.where(rng.random(500) < 0.5, "no", "yes")
        report = score_report(model, rng.uniform(-1, 1, (500, 2)), labels, epsilon=1.0, random_state=key)
        held += report.scores_["majority share"][1] <= 0.5
    assert held >= 36


@pytest.mark.parametrize("count", [0, 1, 5, 200])
def test_expected_counts_have_the_quantiles_of_a_gamma_law(count: int) -> None:
    from scipy.stats import gamma, norm

    level = np.array([0.02, 0.2, 0.5, 0.8, 0.98])
    exact = gamma(count + 0.5).ppf(level) - 0.5
    assert expected_counts(np.full(5, float(count)), norm.ppf(level)) == pytest.approx(exact, abs=0.2, rel=0.02)
    assert (expected_counts(np.full(5, -3.0), norm.ppf(level)) < 0).sum() >= 3


def test_sums_of_polynomials_hold_the_moments_and_add_up_to_one_a_row() -> None:
    rng = np.random.default_rng(1)
    r, u = rng.random(50), rng.random(50)
    sums = _bernstein_sums(r, u)
    assert 50 - 1e-4 < sums.sum() <= 50
    assert (sums >= 0).all()
    moments = _moments(sums.ravel())
    for a in range(5):
        for b in range(5):
            assert moments[a, b] == pytest.approx((r**a * (2 * u - 1) ** b).sum(), abs=1e-3)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (object(), "not differentially private"),
        (PCA(1, 1.0, row_norm=1.0), "not fitted"),
        (PCA(1, 1.0, 1e-6, **KNOWN).fit(table()[0]), "PCA makes no predictions"),
    ],
    ids=["other", "unfitted", "PCA"],
)
def test_what_cannot_be_scored_costs_nothing(model, words: str) -> None:
    from sklearn.exceptions import NotFittedError

    ledger = gd.Ledger.in_memory(gd.PureDP(5))
    with pytest.raises((InvalidRequest, NotFittedError), match=words):
        score_report(model, np.zeros((4, 2)), np.zeros(4), ledger=ledger)
    assert [entry.kind for entry in ledger.entries()] == ["open"]


@pytest.mark.parametrize(
    ("change", "rows", "words"),
    [
        ({"level": 1.0}, np.zeros((4, 2)), "level"),
        ({"epsilon": 0}, np.zeros((4, 2)), "epsilon"),
        ({}, np.zeros((4, 3)), "3 features"),
        ({}, np.zeros((5, 2)), "`y` must be a one-dimensional array with one"),
    ],
)
def test_refusals_cost_nothing(change: dict, rows: np.ndarray, words: str) -> None:
    ledger = gd.Ledger.in_memory(gd.PureDP(5))
    with pytest.raises(InvalidRequest, match=words):
        score_report(CLASSIFIER, rows, np.array(["no"] * 4), ledger=ledger, **change)
    assert [entry.kind for entry in ledger.entries()] == ["open"]


@pytest.mark.filterwarnings("ignore")
def test_a_search_is_scored_by_its_best_model() -> None:
    search = PrivateSearchCV(LogisticRegression(classes=["no", "yes"], bounds=(-1, 1)), {"radius": [1.0]}, 2.0, 1e-6)
    rows, labels = table()
    search.set_params(draws=1, random_state=1).fit(rows, labels)
    of_search, of_best = (
        score_report(model, rows, labels, epsilon=10.0, random_state=1) for model in (search, search.best_estimator_)
    )
    assert of_search.scores_ == of_best.scores_
    assert of_best.scores_["accuracy"][0] > 0.6


def test_the_ledger_pays_epsilon_alone_and_no_rows_are_fine() -> None:
    ledger = gd.Ledger.in_memory(gd.PureDP(5), unit=gd.PrivacyUnit())
    given = {"epsilon": 0.5, "neighbours": "add_remove", "ledger": ledger, "random_state": 1}
    report = score_report(CLASSIFIER, np.zeros((0, 2)), np.array([], dtype=str), **given)
    assert ledger.spent == gd.PureDP(0.5)
    assert report.release_.exactness == "idealized"
    for value, low, high in report.scores_.values():
        assert low <= value <= high


@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_a_row_whose_prediction_is_no_number_moves_no_more_than_any_other(kind: str) -> None:
    """Products of huge numbers are inf − inf."""
    rows, huge = np.zeros((5, 2)), np.array([[1.7e308, 1.7e308]])
    sums_of = {"classes": ClassSums(np.array(["no", "yes"])), "numbers": NumberSums(-3.0, 3.0)}[kind]
    if kind == "classes":
        model = LogisticRegression(1.0, row_norm=2.0, classes=["no", "yes"], random_state=1).fit(*table(50))
        model.coef_ = np.array([[5.0, -5.0]])
    else:
        model = LinearRegression(1.0, row_norm=2.0, target_bounds=(-3, 3), random_state=1).fit(*numbers(50))
        model.coef_ = np.array([5.0, -5.0])
    target = np.array(["no"] * 6 if kind == "classes" else [0.0] * 6)
    sums = []
    for x, y in ((rows, target[:5]), (np.vstack([rows, huge]), target)):

        class Told(ScoreNoise):
            def released(self, exact, law, draws):
                sums.append(exact)
                return super().released(exact, law, draws)

        sums_of.release(model, NamedRows(x, None), y, Told(1.0, False, gd.research_rng(1)))
    half = len(sums) // 2
    for before, after in zip(sums[:half], sums[half:], strict=True):
        assert np.abs(after - before).sum() <= 1


@pytest.mark.parametrize("n", [1, 2, 6, 10, 1001])
def test_a_prediction_depends_on_its_row_alone(n: int) -> None:
    """A product of matrices has other last bits with one row more."""
    rng = np.random.default_rng(n)
    rows, slopes = rng.normal(size=(n + 1, 20)), rng.normal(size=20)
    assert np.array_equal(products(rows, slopes)[:n], products(rows[:n], slopes))
    assert np.array_equal(products(np.asfortranarray(rows), slopes), products(rows, slopes))


@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_what_the_noises_keep_adds_up_to_epsilon(kind: str) -> None:
    """So noise that is a tenth too small for its body, or a share that is a tenth too large, is seen."""
    sums_of = {"classes": ClassSums(np.array(["no", "yes"])), "numbers": NumberSums(-3.0, 3.0)}[kind]
    laws = []

    class Told(ScoreNoise):
        def released(self, exact, law, draws):
            laws.append(law)
            return super().released(exact, law, draws)

    model, target = (CLASSIFIER, ["no"]) if kind == "classes" else (REGRESSION, [0.0])
    sums_of.release(model, NamedRows(np.zeros((1, 2)), None), np.array(target), Told(0.5, False, gd.research_rng(1)))
    assert 0.5 * (1 - 1e-9) <= sum(law.guarantee.epsilon_value for law in laws) <= 0.5


# -- predictions from elsewhere, and groups --------------------------------------------------------


@BOTH
def test_given_predictions_are_scored_like_those_of_a_model(neighbours: str) -> None:
    rows, labels = table(key=3)
    given = {"epsilon": 2.0, "neighbours": neighbours, "random_state": 1}
    of_model, shares = score_report(CLASSIFIER, rows, labels, **given), CLASSIFIER.predict_proba(rows)
    for scores in (shares, shares[:, 1], shares[:, 1].tolist()):
        of_scores = score_report(labels, scores, classes=["no", "yes"], **given)
        assert of_scores.scores_ == of_model.scores_
        assert (of_scores.confusion_matrix_ == of_model.confusion_matrix_).all()
    rows, target = numbers(key=3)
    of_numbers = score_report(target, REGRESSION.predict(rows), target_bounds=(-3, 3), **given)
    assert of_numbers.scores_ == score_report(REGRESSION, rows, target, **given).scores_


def test_rates_by_group_are_the_exact_ones_without_noise_and_cost_no_more() -> None:
    rng = np.random.default_rng(5)
    labels, shares, group = rng.choice(["no", "yes"], 6000), rng.random(6000), rng.choice(["a", "b", "c"], 6000)
    ledger = gd.Ledger.in_memory(gd.PureDP(1e6))
    given = {"classes": ["no", "yes"], "group": group, "groups": ["a", "b"]}
    report = score_report(labels, shares, epsilon=1e5, ledger=ledger, random_state=1, **given)
    assert report.guarantee_ == gd.PureDP(1e5)
    assert [entry.kind for entry in ledger.entries()].count("reserve") == 1
    for name in ("a", "b"):
        inside, is_yes = group == name, labels == "yes"
        exact = {
            "selection rate": (shares[inside] > 0.5).mean(),
            "true-positive rate": (shares[inside & is_yes] > 0.5).mean(),
            "false-positive rate": (shares[inside & ~is_yes] > 0.5).mean(),
            "base rate": is_yes[inside].mean(),
            "AUC": roc_auc_score(labels[inside], np.floor(shares[inside] * 20)),
            "accuracy": ((shares[inside] > 0.5) == is_yes[inside]).mean(),
        }
        for score, expected in exact.items():
            value, low, high = report.by_group_[name][score]
            assert value == pytest.approx(expected, abs=2e-3)
            assert low <= value <= high
    assert report.confusion_matrix_.sum() == pytest.approx((group != "c").sum(), abs=1)
    assert "a:" in report.summary()


@pytest.mark.parametrize("replaced", [True, False])
def test_a_row_that_changes_its_group_costs_no_more_than_epsilon(replaced: bool) -> None:
    """The moves of all sums of both groups, over their scales, add up to at most ε, and nearly reach it."""
    kind, scales = ClassSums(np.array(["no", "yes"])), []

    class Exact(ScoreNoise):
        def released(self, exact, law, draws):
            scales.append((exact, law.body.radius(1) / law.guarantee.epsilon_value))
            return super().released(exact, law, draws)

    def sums(of_group: int, p: float, label: str) -> list[tuple[np.ndarray, float]]:
        scales.clear()
        noise = Exact(1.0, replaced, gd.research_rng(1), is_split=True)
        for group in range(2):
            inside = np.array([group == of_group])
            rows = NamedRows(np.array([[p]])[inside], None)
            kind.release(GivenScores(kind.classes, None), rows, np.array([label])[inside], noise)
        return list(scales)

    empty = [(np.zeros_like(exact), scale) for exact, scale in sums(0, 0.5, "no")]
    places = [sums(group, p, label) for group in range(2) for p in (0.0, 0.4, 1.0) for label in ("no", "yes")]
    others = places if replaced else [empty]
    losses = [
        sum(np.abs(a - b).sum() / scale for (a, scale), (b, _) in zip(one, other, strict=True))
        for one in places
        for other in others
    ]
    assert 0.9 < max(losses) <= 1 + 1e-9


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "Exactly one of `classes` and `target_bounds`"),
        ({"classes": [0, 1], "target_bounds": (0, 1)}, "Exactly one of `classes` and `target_bounds`"),
        ({"classes": [0, 1, 2]}, "`y_score` has 1 columns, but must have 3"),
        ({"classes": [0, 1], "groups": ["a", "b"]}, "Only one of `group` and `groups` is given"),
        ({"classes": [0, 1], "group": ["a"] * 3, "groups": ["a", "b"]}, "Pass such an array, for example frame"),
        ({"classes": [0, 1], "epsilon": 0.0}, "epsilon"),
    ],
)
def test_wrong_predictions_are_refused_before_the_charge(given: dict, words: str) -> None:
    ledger = gd.Ledger.in_memory(gd.PureDP(10))
    with pytest.raises(InvalidRequest, match=words):
        score_report(np.zeros(10, int), np.zeros(10), ledger=ledger, **given)
    assert [entry.kind for entry in ledger.entries()] == ["open"]


def test_a_model_needs_no_classes() -> None:
    with pytest.raises(InvalidRequest, match="The model has its own classes or bounds, so"):
        score_report(CLASSIFIER, *table(), classes=["no", "yes"])
