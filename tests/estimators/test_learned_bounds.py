"""Bounds that a fit learns: what they hold, what they cost, and what they are never told. Keys are fixed."""

import math
import pickle

import numpy as np
import pytest

import gaugedp as gd
from gaugedp.errors import InvalidRequest, LedgerRefused

pytest.importorskip("sklearn", reason="the extra [learn] is not installed")
from sklearn.base import clone

from gaugedp.estimators import HuberRegressor, Lasso, LinearRegression, LinearSVC, LogisticRegression, Ridge
from gaugedp.estimators.bound_search import BoundSearch, _apart
from gaugedp.guarantees.gaussian_curve import gaussian_mu
from tests.optimization.transcripts import check

LEARN = {"bounds": "private", "target_bounds": "private"}


def drawn(n: int, key: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Years, thousands, and a yes or no, and a target far from 0."""
    rng = np.random.default_rng(key)
    rows = np.column_stack([rng.uniform(1950, 2020, n), rng.normal(5e4, 1e4, n), rng.integers(0, 2, n)])
    return rows, 1000 + rows @ [1.0, 2e-3, 30.0] + rng.normal(0, 10, n)


# -- the search ------------------------------------------------------------------------------------------


def test_without_noise_ends_are_near_the_values() -> None:
    rows, _ = drawn(20_000)
    low, high = BoundSearch.calibrate(3, gd.ApproxDP(1e4, 0.5)).find(rows, gd.research_rng(1))
    shares = ((low <= rows) & (rows <= high)).mean(axis=0)
    assert (shares > 0.99).all()
    assert ((high - low) < 1.7 * np.ptp(rows, axis=0)).all()


@pytest.mark.statistical
@pytest.mark.parametrize("guarantee", [gd.ApproxDP(0.2, 1e-7), gd.PureDP(1.0)], ids=str)
def test_with_noise_they_are_not_far(guarantee) -> None:
    """30 searches of seven columns each: no count's noise may be taken for values: 4 deviations, 5,460 counts."""
    rng = np.random.default_rng(2)
    others = rng.lognormal(3, 1, 20_000), -rng.exponential(size=20_000), np.zeros(20_000), rng.normal(size=20_000)
    columns = np.column_stack([*drawn(20_000)[0].T, *others])
    search, middle = BoundSearch.calibrate(7, guarantee), np.quantile(columns, [0.15, 0.85], axis=0)
    for key in range(30):
        low, high = search.find(columns, gd.research_rng(key))
        assert (low <= middle[0]).all()
        assert (high >= middle[1]).all()
        assert (high - low <= 6 * np.ptp(columns, axis=0) + 0.01).all()
        assert (low < high).all()


@pytest.mark.parametrize("n", [0, 1, 50])
def test_any_column_has_bounds(n: int) -> None:
    columns = np.array([[np.nan, np.inf, -np.inf, 1e300, 0.0]] * n).reshape(n, 5)
    for guarantee in (gd.PureDP(0.01), gd.ApproxDP(10.0, 1e-6)):
        low, high = BoundSearch.calibrate(5, guarantee).find(columns, gd.research_rng(3))
        assert (low < high).all()
        assert np.isfinite([low, high]).all()


def test_ends_that_meet_are_apart() -> None:
    """Whatever noise finds: both at 0, both far out, in the wrong order."""
    places = np.array([0.0, -0.0, 5.0, -5.0, 2.0**40, -(2.0**40), 2.0**-12])
    ones, others = (grid.ravel() for grid in np.meshgrid(places, places))
    low, high = _apart(ones, others, 0.25)
    assert (low < high).all()
    assert (low <= np.minimum(ones, others)).all()
    assert (high >= np.maximum(ones, others)).all()
    assert (low[(ones > 0) & (others > 0)] >= 0).all()


@pytest.mark.parametrize("requested", [gd.PureDP(1.0), gd.ApproxDP(1.0, 1e-6)], ids=str)
def test_the_rounds_spend_what_is_asked(requested) -> None:
    search = BoundSearch.calibrate(3, requested)
    spent = search.guarantee.epsilon(0, "basic") if isinstance(requested, gd.PureDP) else search.guarantee.epsilon(1e-6)
    assert 0.999 < float(spent) <= 1


@pytest.mark.statistical
@pytest.mark.parametrize("neighbours", ["replace", "add_remove"])
@pytest.mark.parametrize("pure", [False, True])
def test_transcripts(neighbours: str, pure: bool) -> None:
    """A row far below everything, and one far above or none: nearly all counts move, or half of them."""
    d = 40
    search = BoundSearch.calibrate(d, gd.PureDP(1.0) if pure else gd.ApproxDP(1.0, 1e-6))
    rest = np.random.default_rng(4).normal(size=(3000, d))
    far = np.full((1, d), 2.0**50)
    tables = (np.vstack([rest, -far]), np.vstack([rest, far]) if neighbours == "replace" else rest)
    claim = {"epsilon": 1.0} if pure else {"mu": gaussian_mu(1.0, 1e-6)}
    least = {("replace", False): 0.99, ("replace", True): 0.98, ("add_remove", False): 0.7, ("add_remove", True): 0.5}
    check(search.find, tables, claim, 12, least[neighbours, pure])


# -- a fit with it ---------------------------------------------------------------------------------------


@pytest.mark.statistical
@pytest.mark.parametrize("neighbours", ["replace", "add_remove"])
@pytest.mark.parametrize("model", [LinearRegression(), Ridge(), HuberRegressor()], ids=lambda one: type(one).__name__)
def test_a_regression_is_nearly_as_good_as_with_tight_bounds(model, neighbours: str) -> None:
    rows, target = drawn(20_000)
    given = {"epsilon": 0.5, "delta": 1e-6, "neighbours": neighbours, "random_state": 1}
    tight = {"bounds": ([1950, 1e4, 0], [2020, 9e4, 1]), "target_bounds": (2950, 3300)}
    fits = [clone(model).set_params(**given, **bounds).fit(rows, target) for bounds in (tight, LEARN)]
    best, learned = (fit.score(rows, target) for fit in fits)
    assert learned > best - 0.03


@pytest.mark.statistical
@pytest.mark.parametrize("model", [LogisticRegression(), LogisticRegression(solver="newton"), LinearSVC()], ids=str)
def test_a_classifier_is_nearly_as_good_as_with_tight_bounds(model) -> None:
    rows, target = drawn(20_000)
    labels = (target > np.median(target)).astype(int)
    given = {"epsilon": 0.5, "delta": 1e-6, "classes": [0, 1], "random_state": 1}
    bounds = ([1950, 1e4, 0], [2020, 9e4, 1]), "private"
    best, learned = (
        clone(model).set_params(**given, bounds=bound).fit(rows, labels).score(rows, labels) for bound in bounds
    )
    assert learned > best - 0.03


def test_it_is_paid_once_and_shows_its_bounds() -> None:
    rows, target = drawn(2000)
    ledger = gd.Ledger.in_memory(gd.ApproxDP(1.5, 1e-5))
    model = LinearRegression(1.0, 1e-6, **LEARN, ledger=ledger).fit(rows, target)
    assert model.guarantee_ == model.release_.guarantee == gd.ApproxDP(1.0, 1e-6)
    assert (ledger.spent.epsilon_value, ledger.spent.delta_value) == (1.0, 1e-6)
    assert model.bounds == model.target_bounds == "private"
    low, high = model.learned_["bounds"]
    assert low.shape == high.shape == (3,)
    assert model.release_.values["bounds"] == pytest.approx(np.array([low, high]))
    assert model.release_.facts["learned"] == ["bounds", "target_bounds"]
    with pytest.raises(LedgerRefused):
        model.fit(rows, target)
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict(rows), model.predict(rows))


def test_the_parts_of_a_fit_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the search and the fit are made for is at most (ε, δ), by basic composition."""
    requested = []
    whole = BoundSearch.calibrate.__func__
    noted = classmethod(lambda cls, size, guarantee: requested.append(guarantee) or whole(cls, size, guarantee))
    monkeypatch.setattr(BoundSearch, "calibrate", noted)
    pay = LinearRegression._pay
    monkeypatch.setattr(
        LinearRegression, "_pay", lambda self, *given: requested.append(self._requested()) or pay(self, *given)
    )
    LinearRegression(1.0, 1e-6, **LEARN).fit(*drawn(500))
    search, trial, whole_, fit = requested
    assert trial == fit
    assert whole_ == gd.ApproxDP(1.0, 1e-6)
    assert 0.99 < search.epsilon_value + fit.epsilon_value <= 1
    assert 0.99e-6 < search.delta_value + fit.delta_value <= 1e-6


def test_a_seed_gives_one_fit_and_no_noise_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fit's noise is not that of the search again: its key is drawn from it."""
    rows, target = drawn(500)
    seeds, fit = [], LinearRegression._generator
    monkeypatch.setattr(LinearRegression, "_generator", lambda self: seeds.append(self.random_state) or fit(self))
    first, second = (LinearRegression(1.0, 1e-6, **LEARN, random_state=7).fit(rows, target) for _ in range(2))
    assert np.array_equal(first.coef_, second.coef_)
    assert len(set(seeds)) == 3  # the public trial, the search, the fit


def test_one_of_them_alone() -> None:
    rows, target = drawn(2000)
    model = LinearRegression(1.0, 1e-6, row_norm=6e4, target_bounds="private").fit(rows, target)
    assert sorted(model.learned_) == ["target_bounds"]
    model = Lasso(1.0, 1e-6, bounds="private", target_bounds=(2900, 3300), missing_indicator=[0]).fit(rows, target)
    assert sorted(model.learned_) == ["bounds"]
    assert model.coef_.shape == (4,)


@pytest.mark.parametrize(
    ("model", "y"),
    [
        (LinearRegression(1.0, 1e-6, bounds="private", target_bounds=(1, 0)), np.zeros(50)),
        (LinearRegression(1.0, 1e-6, bounds="private"), np.zeros(50)),
        (LinearRegression(1.0, 1e-6, **LEARN, radius=-1.0), np.zeros(50)),
        (LinearRegression(1.0, 1e-6, **LEARN), np.zeros(50, dtype="datetime64[D]")),
        (LinearRegression(1.0, 1e-6, **LEARN), np.zeros(49)),
        (LinearRegression(1.0, 1e-6, **LEARN, missing_indicator=[7]), np.zeros(50)),
        (LogisticRegression(1.0, 1e-6, bounds="private"), np.zeros(50)),
        (LogisticRegression(1.0, 1e-6, bounds="private", classes=[0, 1]), np.zeros(50, dtype="datetime64[D]")),
        (LinearSVC(1.0, 1e-6, bounds="learned", classes=[0, 1]), np.zeros(50)),
    ],
)
def test_what_cannot_be_fitted_is_refused_before_it_is_paid(model, y) -> None:
    ledger = gd.Ledger.in_memory(gd.ApproxDP(1.5, 1e-5))
    with pytest.raises(InvalidRequest):
        model.set_params(ledger=ledger).fit(np.ones((50, 2)), y)
    assert [entry.kind for entry in ledger.entries()] == ["open"]


def test_the_noise_of_a_search_grows_with_the_root_of_the_columns() -> None:
    one, many = (BoundSearch.calibrate(d, gd.ApproxDP(1.0, 1e-6)).noise.variances.max() for d in (1, 100))
    assert math.sqrt(many / one) == pytest.approx(math.sqrt(201 / 3), rel=0.01)
