"""Private search: what it finds, what it refuses, and that its guarantee covers the choice."""

import itertools
import json
import math
import pickle
import warnings
from dataclasses import KW_ONLY, dataclass
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

import gaugedp as gd

pytest.importorskip("sklearn", reason="the extra [learn] is not installed")
from sklearn.base import ClassifierMixin, is_classifier, is_regressor
from sklearn.linear_model import Ridge as PublicRidge
from sklearn.model_selection import ParameterSampler

from gaugedp import estimators
from gaugedp.audit import audit
from gaugedp.errors import InvalidRequest
from gaugedp.estimators import LinearRegression, LogisticRegression, MatrixCompletion, PrivateSearchCV, Ridge
from gaugedp.estimators.base import PrivateEstimator
from gaugedp.estimators.fit_release import FitRelease
from gaugedp.estimators.private_search import ClassScore, NamedRows, NumberScore, Search, noisy_score
from gaugedp.estimators.random_stopping import RandomStopping
from gaugedp.estimators.reading import Reading
from tests.estimators.kit import check_habits, check_refused
from tests.estimators.test_seeds import MODELS
from tests.optimization.transcripts import transcript

RNG = np.random.default_rng(6)
ROWS = RNG.uniform(-1, 1, (6000, 3))
LABELS = (ROWS[:, 0] + 0.2 * RNG.normal(size=6000) > 0).astype(int)
SHIFTED = (ROWS[:, 0] + 0.2 * RNG.normal(size=6000) > 0.5).astype(int)  # not told apart without an intercept
TARGET = ROWS @ [0.5, 0.2, 0.0] + 0.1 * RNG.normal(size=6000)
CLASSIFIER = LogisticRegression(bounds=(-1, 1), classes=[0, 1])
REGRESSOR = Ridge(bounds=(-1, 1), target_bounds=(-1, 1))
SEARCHED = sorted({"ElasticNet", "GaussianNB", "HuberRegressor", "LinearRegression", "LinearSVC", "LogisticRegression",
                   "PoissonRegressor", "Ridge"})  # fmt: skip
BOTH = pytest.mark.parametrize("neighbours", ["replace", "add_remove"])
ASKED = pytest.mark.parametrize("requested", [gd.PureDP(2.0), gd.ApproxDP(2.0, 1e-6)], ids=repr)


@dataclass(eq=False, repr=False)
class Constant(ClassifierMixin, PrivateEstimator):
    """Always one class, drawn by a law in which a row with a 9 has its worst say; it writes down the rows it meets."""

    epsilon: float = 1.0
    delta: float = 0.0
    _: KW_ONLY
    classes: Any = (0, 1, 2)
    option: int = 0
    met: Any = None

    def fit(self, X: Any, y: Any) -> "Constant":
        del y
        rows, epsilon = np.asarray(X), self.epsilon * (1 if rows_have_a_nine(X) else 0)
        thin, top = 0.05 * math.exp(epsilon), 0.5 * math.exp(-epsilon)
        place = self._generator().integer(53) * 2.0**-53
        self.choice_ = 2 if place < top else 1 if place < top + thin else 0
        self.classes_, self.fitted_to_ = np.arange(3), rows[:, 1].tolist()
        warnings.warn("A fit has something to say.", stacklevel=1)
        self._read_by(Reading(rows.shape[1]))
        self._publish({"choice": np.array(self.choice_)}, self._requested(), "exact", {}, None)
        return self

    def predict(self, X: Any) -> np.ndarray:
        if self.met is not None:
            self.met.append((self.fitted_to_, np.asarray(X)[:-1, 1].tolist()))
        return np.full(len(np.asarray(X)), self.choice_)


def rows_have_a_nine(X: Any) -> bool:
    return bool((np.asarray(X)[:, 0] == 9).any())


# -- what is found --------------------------------------------------------------------------------------


@BOTH
@ASKED
def test_the_better_candidate_is_found_and_paid_for_once(requested: gd.PureDP | gd.ApproxDP, neighbours: str) -> None:
    delta = getattr(requested, "delta_value", 0.0)
    for model, grid, target, expected in (
        (CLASSIFIER, {"fit_intercept": [False, True]}, SHIFTED, {"fit_intercept": True}),
        (REGRESSOR, {"alpha": [1.0, 1e6]}, TARGET, {"alpha": 1.0}),
    ):
        ledger = gd.Ledger.in_memory(gd.ApproxDP(5, 1e-4), unit=gd.PrivacyUnit(neighbours=neighbours))
        search = PrivateSearchCV(
            model, grid, requested.epsilon_value, delta, draws=12, neighbours=neighbours, random_state=1, ledger=ledger
        ).fit(ROWS, target)
        assert search.best_params_ == expected
        assert search.score(ROWS, target) > 0.7
        assert (search.predict(ROWS) == search.best_estimator_.predict(ROWS)).all()
        assert ledger.spent.epsilon(delta) == pytest.approx(2.0)
        for actual in (search, search.best_estimator_):
            assert actual.guarantee_ == actual.release_.guarantee == actual.release_.requested == requested
        assert search.best_score_ == pytest.approx(0.9, abs=0.1)


def test_a_frame_keeps_its_names_and_points_of_a_random_search_are_a_grid() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(ROWS, columns=["a", "b", "c"])
    model = LogisticRegression(bounds={"a": (-1, 1), "c": (-1, 1), "b": (-2, 2)}, classes=["no", "yes"])
    sampled = ParameterSampler({"radius": [3.0, 10.0, 30.0]}, 2, random_state=1)
    points = [{name: [value] for name, value in point.items()} for point in sampled]
    search = PrivateSearchCV(model, points, 4.0, 1e-6).fit(frame, np.array(["no", "yes"])[LABELS])
    assert search.score(frame, np.array(["no", "yes"])[LABELS]) > 0.8
    assert search.feature_names_in_.tolist() == search.best_estimator_.feature_names_in_.tolist() == ["a", "b", "c"]
    assert search.classes_.tolist() == ["no", "yes"]
    assert is_classifier(search)
    assert is_regressor(PrivateSearchCV(REGRESSOR, {"alpha": [1.0]}))
    with pytest.raises(InvalidRequest, match="feature names should match"):
        search.predict(frame[["c", "b", "a"]])
    assert (pickle.loads(pickle.dumps(search)).predict(frame) == search.predict(frame)).all()


def test_losses() -> None:
    score = ClassScore(np.array([0, 1]))
    assert score.losses(np.array([0, 1, 1, 0]), np.array([0, 0, "x", None], dtype=object)).tolist() == [0, 1, 1, 1]
    number = NumberScore(-1.0, 3.0)
    targets = np.array([0.0, 9.0, np.nan, -np.inf])
    assert number.losses(np.array([1.0, 3.0, 0.0, 9.0]), targets).tolist() == [0.25, 0, 1, 1]


# -- what is shown ----------------------------------------------------------------------------------------


def test_nothing_tells_of_other_runs() -> None:
    """Neither their warnings, nor their number, nor their scores."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        search = PrivateSearchCV(Constant(), {"option": [0, 1]}, 1.0, draws=6).fit(np.zeros((200, 2)), np.zeros(200))
    assert not caught
    fitted = {name for name in vars(search) if name.endswith("_") or name.startswith("_")}
    assert fitted == {"best_estimator_", "best_index_", "best_params_", "best_score_", "guarantee_", "n_features_in_",
                      "n_iter_", "release_", "_read_as"}  # fmt: skip
    release = FitRelease.from_json(search.release_.to_json())
    assert set(release.values) == {"choice", "best_score", "best_index"}
    assert release.exactness == search.best_estimator_.release_.exactness == "idealized"
    assert json.loads(search.release_.to_json())["facts"]["draws"] == 6, "the mean, which is public"


@BOTH
def test_every_run_has_noise_of_its_own_that_nobody_can_repeat(
    neighbours: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Runs after payment have no seed, or where the search has one, seeds that differ."""
    paid, seeds = [], list[int | None]()
    fit, pay = LogisticRegression.fit, PrivateSearchCV._pay
    monkeypatch.setattr(PrivateSearchCV, "_pay", lambda *facts, **more: (paid.append(1), pay(*facts, **more))[1])

    def noted(model: Any, *table: Any) -> Any:
        seeds.extend([model.random_state] * len(paid))
        return fit(model, *table)

    monkeypatch.setattr(LogisticRegression, "fit", noted)
    for seed, is_right in ((None, lambda: set(seeds) == {None}), (1, lambda: len(set(seeds)) == len(seeds))):
        search = PrivateSearchCV(
            CLASSIFIER, {"radius": [1.0, 10.0]}, 1.0, 1e-6, draws=60, random_state=seed, neighbours=neighbours
        )
        for _ in range(5):  # one search in 30 ends after two runs
            paid.clear(), seeds.clear()
            search.fit(ROWS[:200], LABELS[:200])
            if len(seeds) > 2:
                break
        assert len(seeds) > 2
        assert is_right()
        assert search.best_estimator_.neighbours == neighbours, "its noise is for the neighbours of the search"


def test_nothing_tells_of_how_many_rows_there_are_where_that_is_private() -> None:
    facts = []
    for n_rows in (200, 201, 260):
        ledger = gd.Ledger.in_memory(gd.ApproxDP(2.0, 1e-5))
        search = PrivateSearchCV(
            CLASSIFIER, {"radius": [1.0, 10.0]}, 1.0, 1e-6, neighbours="add_remove", random_state=1, ledger=ledger
        )
        search.fit(ROWS[:n_rows], LABELS[:n_rows])
        entries = [(entry.kind, entry.request) for entry in ledger.entries() if entry.kind != "open"]
        facts.append((search.release_.facts, sorted(search.release_.values), entries))
    assert facts[0] == facts[1] == facts[2]


@BOTH
def test_no_row_is_fitted_to_and_scored_and_all_runs_share_the_parts(neighbours: str) -> None:
    rows, met = np.column_stack([np.zeros(500), np.arange(500)]), []
    search = PrivateSearchCV(Constant(met=met), {"option": [0]}, 1.0, draws=8, neighbours=neighbours, random_state=1)
    with patch("gaugedp.estimators.private_search.clone", lambda model: model):
        search.fit(rows, np.zeros(500))
    assert len(met) > 1
    fitted, scored = met[0]
    assert all(one == met[0] for one in met)
    assert sorted(fitted + scored) == list(range(500))
    assert 60 < len(scored) < 140


@pytest.mark.parametrize("name", SEARCHED)
@BOTH
def test_rows_of_zeros_show_what_a_fit_keeps(name: str, neighbours: str) -> None:
    """The guarantee is known before paying: it is the same for all rows."""
    model = getattr(estimators, name)(epsilon=0.5, delta=1e-6, neighbours=neighbours, **MODELS[name])
    kept = model.fit(np.zeros((40, 3)), np.zeros(40)).guarantee_
    assert model.fit(ROWS[:40], LABELS[:40]).guarantee_ == kept


# -- the guarantee ----------------------------------------------------------------------------------------


def with_a_nine(nine: bool) -> np.ndarray:
    rows = np.zeros((60, 2))
    rows[0, 0] = 9 if nine else 0
    return rows


def runs_of_a_search(total: float):
    """The class of the best model for a table: the more of a class there are held out, the higher its score."""
    held = NamedRows(np.zeros((1500, 2)), None), np.repeat([0, 1, 2], [300, 450, 750])
    stopping, score, seeds = RandomStopping(8), ClassScore(np.arange(3)), itertools.count()
    public = NamedRows(np.zeros((60, 2)), None), np.zeros(60)
    search = Search.plan([Constant(), Constant(option=1)], stopping, gd.PureDP(total), score, public)

    def run(rows: np.ndarray) -> float:
        best = search.best((NamedRows(rows, None), np.zeros(60)), held, gd.research_rng(next(seeds)))
        return float(best.model.choice_)

    return run


@pytest.mark.statistical
def test_the_choice_is_in_the_guarantee() -> None:
    """The best leaks more than a run is asked for, and not more than the total."""
    each = RandomStopping(8).largest(gd.PureDP(4.5)).epsilon_value
    tables = with_a_nine(True), with_a_nine(False)
    actual = audit(runs_of_a_search(4.5), *tables, gd.PureDP(4.5), 2000, rng=gd.research_rng(1))
    assert not actual.violated
    assert actual.epsilon_lower > each, "a run's guarantee does not cover the choice"


@pytest.mark.statistical
def test_a_planted_leak_is_found() -> None:
    """Each run gets all of ε, as in a search whose choice is free of charge."""
    with patch.object(RandomStopping, "largest", lambda stopping, whole, *_: stopping.part(whole, 1.0)):
        run = runs_of_a_search(1.5)
    actual = audit(run, with_a_nine(True), with_a_nine(False), gd.PureDP(1.5), 1200, rng=gd.research_rng(1))
    assert actual.violated


@BOTH
def test_a_row_moves_a_score_as_far_as_is_charged(neighbours: str) -> None:
    """A loss of 1, and of 0 or no row: by what the noise claims, and ε is attained."""
    losses = np.array([0.0, 1.0, 0.5, 1.0])
    other = np.array([0.0, 1.0, 0.5, 0.0]) if neighbours == "replace" else losses[:3]
    steps = transcript(lambda table, rng: noisy_score(table, 2.0, neighbours, rng) and 0, (losses, other), 1)
    assert len(steps) == 1
    assert 0.98 * 2.0 < steps[0].moved / steps[0].claimed <= 2.0 * (1 + 2.0**-10)


def test_a_score_is_asked_for_as_much_as_a_run() -> None:
    requested = []
    with patch(
        "gaugedp.estimators.private_search.noisy_score", lambda _, epsilon, *__: requested.append(epsilon) or 0.0
    ):
        PrivateSearchCV(Constant(), {"option": [0]}, 3.0, draws=20).fit(np.zeros((200, 2)), np.zeros(200))
    assert set(requested) == {RandomStopping(20).largest(gd.PureDP(3.0)).epsilon_value}


def test_fits_are_asked_for_their_part_and_gaussian_ones_for_more() -> None:
    total = gd.ApproxDP(1.0, 1e-6)
    for model, least, most in (
        (CLASSIFIER, 0.33, 0.4),
        (LinearRegression(bounds=(-1, 1), target_bounds=(-1, 1)), 0.6, 0.8),
    ):
        search = PrivateSearchCV(model, {"fit_intercept": [True, False]}, 1.0, 1e-6, draws=8, neighbours="replace")
        best = search.fit(ROWS, LABELS).best_estimator_
        assert least < best.epsilon < most
        assert best.delta == pytest.approx(1e-6 / 8)
        kept = best.fit(ROWS, LABELS).guarantee_
        assert RandomStopping(8).allows(kept, gd.ApproxDP(best.epsilon, best.delta), total)


# -- what is refused --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            {"param_grid": {"epsilon": [1.0, 2.0]}},
            "`param_grid` contains epsilon.*, but this is the same for all fits of the",
        ),
        ({"param_grid": {"delta": [0.0], "ledger": [None]}}, "`param_grid` contains delta, ledger"),
        ({"param_grid": {"neighbours": ["replace"]}}, "`param_grid` contains neighbours"),
        ({"param_grid": {"gamma": [1.0]}}, "`param_grid` names gamma, which LogisticRegression does not have"),
        ({"param_grid": {"radius": 1.0}}, "`param_grid` must map parameter names"),
        ({"param_grid": 3}, "`param_grid` must map parameter names"),
        ({"param_grid": []}, "`param_grid` is empty"),
        ({"param_grid": {"radius": [1.0, -1.0]}}, "radius"),
        ({"param_grid": {"solver": ["objective", "other"]}}, "solver"),
        ({"draws": 0}, "draws"),
        ({"draws": 2.5}, "draws"),
        ({"epsilon": 0.0}, "epsilon"),
        ({"epsilon": 1e-5, "delta": 0.5}, "`delta` is too large relative to `epsilon`"),
        ({"estimator": PublicRidge()}, "Ridge is not differentially private"),
        ({"estimator": LogisticRegression(bounds=(-1, 1))}, "`classes` is missing"),
        ({"estimator": Ridge(bounds=(-1, 1)), "param_grid": {}}, "`target_bounds` is missing"),
        (
            {"estimator": MatrixCompletion(rating_bounds=(0, 1)), "param_grid": {}},
            "The search compares models by their score,",
        ),
        ({"estimator": Constant(ledger=gd.Ledger.in_memory(gd.PureDP(1)))}, "charged for every fit"),
    ],
    ids=str,
)
def test_what_is_no_parameter_is_refused_before_paying(change: dict, words: str) -> None:
    check_refused(PrivateSearchCV(CLASSIFIER, {"radius": [1.0]}, 1.0), change, words, (ROWS[:80], LABELS[:80]))


@pytest.mark.parametrize("n_rows", [1, 2])
def test_too_few_rows_are_refused_before_paying(n_rows: int) -> None:
    search = PrivateSearchCV(CLASSIFIER, {"radius": [1.0]}, 1.0, neighbours="replace", random_state=1)
    with pytest.raises(InvalidRequest, match=f"n_samples={n_rows} is too small"):
        search.fit(ROWS[:n_rows], LABELS[:n_rows])


def test_rows_with_names_are_read_as_a_frame() -> None:
    named = NamedRows(ROWS[:3], np.array(["a", "b", "c"], dtype=object))
    model = LogisticRegression(1.0, bounds={"a": (0, 1), "b": (0, 1), "c": (0, 2)}, classes=[0, 1])
    assert model.fit(named, [0, 1, 1]).feature_names_in_.tolist() == ["a", "b", "c"]


EXPECTED = {
    "check_dtype_object": "a cell that is no number counts as missing: an error would tell",
    "check_classifiers_classes": "classes are public and given before: labels of other kinds count as none of them",
    "check_classifiers_regression_target": "continuous labels are in no class: an error would tell",
    "check_supervised_y_no_nan": "labels and targets that are no numbers count as lost: an error would tell",
    "check_estimator_sparse_array": "the check has four classes, and public are three",
    "check_estimator_sparse_matrix": "as above",
    "check_decision_proba_consistency": "a model of three classes meets rows of two, its columns are not margins",
    "check_supervised_y_2d": "a target with columns is refused, not flattened",
    "check_classifiers_train": "infinite values are clipped, not refused: an error would tell",
    "check_regressors_train": "infinite values are clipped, not refused: an error would tell",
}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("model", [LogisticRegression(bounds=(-10, 10), classes=[0, 1, 2]),
                                   Ridge(bounds=(-10, 10), target_bounds=(-200, 200))], ids=repr)  # fmt: skip
def test_scikit_learns_own_checks(model: Any) -> None:
    grid = {"fit_intercept": [True, False]}
    search = PrivateSearchCV(model, grid, 50.0, 1e-5, draws=2, random_state=0)
    check_habits(search, EXPECTED)
