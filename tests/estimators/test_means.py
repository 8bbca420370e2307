"""Means: clipped sums are exact, noise is as planned, intervals hold, and what is refused. Keys are fixed."""

import math
import pickle
import warnings

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import gaugedp as gd
from gaugedp._internal.validate import decimal
from gaugedp.entropy import research_rng
from gaugedp.errors import InvalidRequest, LedgerRefused

pytest.importorskip("sklearn", reason="the extra [learn] is not installed")
from sklearn.base import clone

from gaugedp.estimators import Mean, SparseMean, TooFewRows, sub_gaussian_bounds
from gaugedp.estimators.fit_release import FitRelease
from gaugedp.estimators.row_count import NoisyRowCount
from gaugedp.estimators.rows import ball_steps, box_steps, into_ball, into_box
from gaugedp.estimators.sparse_mean import PrivateRange

NORMAL = np.random.default_rng(1).standard_normal((400, 5))
LOUD = 1e6  # an ε beyond which nothing is left of the noise


# -- rows ----------------------------------------------------------------------------------------------


def test_a_sum_of_steps_is_the_same_in_any_order() -> None:
    steps = box_steps(into_box(NORMAL, np.array(-3.0), np.array(2.0)))
    assert np.array_equal(steps, np.round(steps))
    assert np.array_equal(steps.sum(axis=0), steps[::-1].cumsum(axis=0)[-1])
    assert np.abs(steps).max() <= 2**22


@given(st.lists(st.floats(allow_nan=True, allow_infinity=True), min_size=3, max_size=3))
def test_any_row_is_brought_inside(values) -> None:
    row = np.array([values])
    assert np.abs(into_box(row, np.array(-1.0), np.array(4.0))).max() <= 1
    for p in (1, 1.5, 2, math.inf):
        inside = into_ball(row, p, 2.5)
        assert np.linalg.norm(inside[0], p) <= 1 + 1e-12
        assert np.linalg.norm(ball_steps(inside)[0], p) <= 2**22 * (1 + 1e-12)


def test_what_is_no_number_counts_as_the_middle() -> None:
    row = np.array([[np.nan, np.inf, -np.inf]])
    assert into_box(row, np.array(0.0), np.array(4.0)).tolist() == [[0, 1, -1]]
    assert into_ball(row, 2, 1.0).tolist() == [[0, 0, 0]]


# -- the mean ------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("neighbours", ["replace", "add_remove"])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_without_noise_it_is_the_mean_of_the_clipped_rows(neighbours: str, delta: float) -> None:
    clipped = np.clip(NORMAL, -1, 2).mean(axis=0)
    box = Mean(LOUD, delta, bounds=(-1, 2), neighbours=neighbours, random_state=1).fit(NORMAL)
    assert box.mean_ == pytest.approx(clipped, abs=1e-4)
    lows = np.array([-1, -2, -1, -1, 0.0])
    many = Mean(LOUD, delta, bounds=(lows, lows + 3), neighbours=neighbours, random_state=1).fit(NORMAL)
    assert many.mean_ == pytest.approx(np.clip(NORMAL, lows, lows + 3).mean(axis=0), abs=1e-4)
    for p in (1, 1.5, 2, math.inf):
        norms = np.linalg.norm(NORMAL, p, axis=1, keepdims=True)
        pulled = (NORMAL / np.maximum(norms / 1.5, 1)).mean(axis=0)
        ball = Mean(LOUD, delta, row_norm=1.5, norm=p, neighbours=neighbours, random_state=1).fit(NORMAL)
        assert ball.mean_ == pytest.approx(pulled, abs=1e-4)


NOISES = [("laplace", 0.0), ("cube", 0.0), ("body", 0.0), ("gaussian", 1e-6), ("auto", 0.0), ("auto", 1e-6)]


@pytest.mark.statistical
@pytest.mark.parametrize(("noise", "delta"), NOISES)
@pytest.mark.parametrize("geometry", [{"bounds": (-2, 2)}, {"row_norm": 2.0}, {"row_norm": 2.0, "norm": 1}], ids=str)
def test_intervals_hold_and_the_error_is_as_planned(geometry, noise: str, delta: float) -> None:
    """150 fits with fixed keys, 5 coordinates: four standard errors."""
    geometry = geometry | {"neighbours": "replace"}  # where the number of rows is public
    make = lambda key: Mean(1.0, delta, noise=noise, random_state=key, **geometry)  # noqa: E731
    exact = Mean(LOUD, delta, random_state=0, **geometry).fit(NORMAL).mean_
    held, lengths = [], []
    for key in range(150):
        model = make(key).fit(NORMAL)
        low, high = model.interval(0.9)
        held.append((low - 1e-4 <= exact) & (exact <= high + 1e-4))
        lengths.append(np.linalg.norm(model.mean_ - exact))
    assert np.mean(held) >= 0.9 - 4 * 0.3 / 750**0.5
    assert np.mean(held) <= 0.9 + 4 * 0.3 / 150**0.5
    planned = model.mechanism_.error(2) / 400 * 2.0  # the box and the balls have the half width 2
    assert np.mean(lengths) == pytest.approx(planned, abs=4 * np.std(lengths) / 150**0.5 + 0.01 * planned)
    assert noise == "auto" or model.solver_ == {"body": "KNorm"}.get(noise, noise.title())


def test_replacing_moves_twice_what_adding_does() -> None:
    moved = {}
    for neighbours in ("replace", "add_remove"):
        model = Mean(1.0, bounds=(-1, 1), noise="laplace", neighbours=neighbours, random_state=1).fit(NORMAL)
        moved[neighbours] = model.mechanism_.body.radius(math.inf)
        assert model.guarantee_.epsilon(0) == pytest.approx(1)
    assert moved == {"replace": 2, "add_remove": 1}


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("geometry", [{"bounds": (-1, 1)}, {"row_norm": 2.0}, {"row_norm": 2.0, "norm": 1}], ids=str)
def test_where_rows_are_added_their_number_is_noisy(geometry, delta: float) -> None:
    """The sum and the number are released together; intervals are for both, one by one and all at once."""
    make = lambda key: Mean(1.0, delta, neighbours="add_remove", random_state=key, **geometry)  # noqa: E731
    results = [make(key).fit(NORMAL) for key in range(60)]
    counts = np.array([model.n_rows_ for model in results])
    mechanism, scale = results[0].mechanism_, results[0]._count_scale
    assert counts.std() == pytest.approx(float(mechanism.variances[-1]) ** 0.5 / scale, rel=0.4)
    assert abs(counts.mean() - 400) < 4 * counts.std() / 60**0.5
    exact = Mean(LOUD, delta, random_state=0, **geometry).fit(NORMAL).mean_
    for simultaneous in (False, True):
        ends = [model.interval(0.9, simultaneous) for model in results]
        held = np.array([(low - 1e-4 <= exact) & (exact <= high + 1e-4) for low, high in ends])
        assert np.mean(held.all(axis=1) if simultaneous else held) >= 0.85


def test_no_row_moves_the_sum_and_the_number_beyond_the_body() -> None:
    """Added: c and its 1, scaled, of the longest c; the body is at most a billionth larger."""
    for norm, d in ((1, 3), (2, 1), (2, 3), (3, 4), (math.inf, 3)):
        model = Mean(row_norm=1.0, norm=norm, neighbours="add_remove")
        body, scale = model._ball(d, True)
        corner = np.append(np.full(d, 1.0 if norm == math.inf else d ** (-1 / norm)), scale)
        assert 1 - 1e-8 < body.gauge(np.array([corner]))[0] <= 1


@pytest.mark.parametrize("neighbours", ["replace", "add_remove"])
def test_a_mean_far_from_the_middle_is_no_worse(neighbours: str) -> None:
    """Incomes at a tenth of their bounds; with both neighbours, the median error of 60 fits in units of 1/(n ε)."""
    rows = np.random.default_rng(0).uniform(0, 0.1, (300, 1))
    means = [Mean(0.1, bounds=(0, 1), neighbours=neighbours, random_state=key).fit(rows).mean_[0] for key in range(60)]
    assert np.median(np.abs(means - rows.mean())) * 300 * 0.1 < 1.0


# -- the sparse mean -----------------------------------------------------------------------------------

D, S = 300, 5
SUPPORT = np.arange(0, 300, 60)
TRUTH = np.zeros(D)
TRUTH[SUPPORT] = [1, -0.8, 0.7, -1, 0.9]
ROWS = TRUTH + np.random.default_rng(2).standard_normal((4000, D))


@pytest.mark.parametrize("neighbours", ["replace", "add_remove"])
@pytest.mark.parametrize("noise", ["gumbel", "laplace"])
def test_the_support_is_found(neighbours: str, noise: str) -> None:
    bounds = sub_gaussian_bounds(len(ROWS), 1.0, 1.0)
    model = SparseMean(S, 20.0, 1e-6, bounds=bounds, noise=noise, neighbours=neighbours, random_state=1).fit(ROWS)
    assert sorted(model.support_) == SUPPORT.tolist()
    assert np.linalg.norm(model.mean_ - TRUTH) < 0.2
    assert model.guarantee_.epsilon(1e-6) <= 20
    assert np.count_nonzero(model.mean_) == S


def test_pure_guarantees_are_kept_too() -> None:
    model = SparseMean(S, 60.0, bounds=(-4, 4), neighbours="replace", random_state=1).fit(ROWS)
    assert model.guarantee_ == gd.PureDP(60.0)
    assert sorted(model.support_) == SUPPORT.tolist()


@pytest.mark.parametrize("neighbours", ["replace", "add_remove"])
@pytest.mark.parametrize("scale", [1e-30, 1.0, 1e30])
@pytest.mark.parametrize("epsilon", [1e6, 4e7, 1e9])
def test_shrinkage_ends_where_noise_does(neighbours: str, scale: float, epsilon: float) -> None:
    """Noise of 10⁻²⁰ of a value, and none at all: mean_ does not fall to 0."""
    bounds = (-4 * scale, 4 * scale)
    model = SparseMean(S, epsilon, bounds=bounds, neighbours=neighbours, random_state=1).fit(ROWS * scale)
    assert model.mean_[model.support_] == pytest.approx(model.values_, rel=1e-6)


def test_the_middle_of_the_bounds_may_be_anywhere() -> None:
    model = SparseMean(S, 30.0, 1e-6, bounds=(-3, 5), random_state=1).fit(ROWS)
    assert sorted(model.support_) == SUPPORT.tolist()
    assert np.linalg.norm(model.mean_ - TRUTH) < 0.2
    loud = SparseMean(S, LOUD, 0.5, bounds=(-3, 5), random_state=1).fit(ROWS)
    assert loud.values_ == pytest.approx(np.clip(ROWS, -3, 5).mean(axis=0)[loud.support_], abs=1e-3)


@pytest.mark.statistical
def test_intervals_of_picked_values_hold() -> None:
    """60 fits of 5 values: four standard errors."""
    exact, held = np.clip(ROWS, -4, 4).mean(axis=0), []
    for key in range(60):
        model = SparseMean(S, 8.0, 1e-6, neighbours="replace", bounds=(-4, 4), random_state=key).fit(ROWS)
        low, high = model.interval(0.9)
        held.append((low <= exact[model.support_]) & (exact[model.support_] <= high))
    assert 0.9 - 4 * 0.3 / 300**0.5 <= np.mean(held) <= 0.9 + 4 * 0.3 / 300**0.5


@pytest.mark.parametrize("factor", [1.0, 1e3, 1e-3])
def test_a_private_range_follows_the_data(factor: float) -> None:
    model = SparseMean(S, 20.0, 1e-6, bounds="private", magnitudes=(1e-6, 1e6), random_state=1).fit(ROWS * factor)
    assert 2 <= model.bounds_[1] / factor <= 8
    assert sorted(model.support_) == SUPPORT.tolist()
    assert model.guarantee_.epsilon(1e-6) <= 20
    assert model.guarantee_.epsilon(1e-6) > 16


def test_a_range_is_a_power_of_two_that_few_rows_exceed() -> None:
    search = PrivateRange((0.1, 100), gd.PureDP(5.0))
    assert search.bounds.tolist() == [2.0**k for k in range(-4, 8)]
    rows = np.concatenate([np.full((990, 2), 3.0), np.full((10, 2), 90.0)])
    assert search.choose(rows, gd.research_rng(1)) == 4.0
    assert PrivateRange((0.1, 100), gd.PureDP(1)).choose(np.full((5, 1), np.nan), gd.research_rng(1)) <= 128


def test_too_few_rows_are_said_from_public_numbers() -> None:
    few, given = ROWS[:64], {"bounds": (-4, 4), "neighbours": "replace", "random_state": 1}
    with pytest.warns(TooFewRows, match="64 rows are too few") as seen:
        model = SparseMean(S, 1.0, 1e-6, **given).fit(few)
    with pytest.warns(TooFewRows) as again:
        SparseMean(S, 1.0, 1e-6, **given).fit(np.zeros_like(few))
    assert str(seen[0].message) == str(again[0].message)
    needed = model.outlook_.rows_needed(1.0)
    assert needed > 1000
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        enough = SparseMean(S, 1.0, 1e-6, **given).fit(np.resize(ROWS, (2 * needed, D)))
    assert enough.outlook_.detectable < 1
    assert sorted(enough.support_) == SUPPORT.tolist()


@pytest.mark.statistical
@pytest.mark.parametrize(("n", "epsilon", "most"), [(8000, 1.0, 0.10), (2000, 4.0, 0.12)])
def test_the_error_in_high_dimension(n: int, epsilon: float, most: float) -> None:
    """d = 1000, s = 10, means in [0.5, 1]; four repetitions with fixed keys. The benchmark has more."""
    errors = []
    for key in range(4):
        rng = np.random.default_rng(key)
        mean = np.zeros(1000)
        mean[rng.choice(1000, 10, replace=False)] = rng.choice([-1, 1], 10) * rng.uniform(0.5, 1, 10)
        rows = mean + rng.standard_normal((n, 1000))
        bounds = sub_gaussian_bounds(n, 1.0, 1.0)
        model = SparseMean(10, epsilon, 1e-6, bounds=bounds, random_state=key).fit(rows)
        errors.append(np.linalg.norm(model.mean_ - mean))
    assert np.mean(errors) <= most


@pytest.mark.statistical
@pytest.mark.parametrize("picked", [30, 60])
def test_more_coordinates_than_matter_cost_less_than_a_threshold(picked: int) -> None:
    """n = 6,000, d = 300, ten means in [0.5, 1]: six fits. A threshold of 2.5 deviations is free too."""
    ours, threshold = [], []
    for key in range(6):
        rng = np.random.default_rng((6000, key))
        mean = np.zeros(300)
        mean[rng.choice(300, 10, replace=False)] = rng.choice([-1, 1], 10) * rng.uniform(0.5, 1, 10)
        rows = mean + rng.standard_normal((6000, 300))
        bounds = sub_gaussian_bounds(6000, 1.0, 1.0)
        model = SparseMean(picked, 1.0, 1e-6, bounds=bounds, random_state=key, neighbours="replace").fit(rows)
        kept = np.zeros(300)
        kept[model.support_] = np.where(np.abs(model.values_) > 2.5 * model.outlook_.noise_std, model.values_, 0)
        ours.append(np.linalg.norm(model.mean_ - mean))
        threshold.append(np.linalg.norm(kept - mean))
    assert np.mean(ours) <= np.mean(threshold)


@settings(deadline=None, max_examples=30)
@given(st.integers(3, 10**7))
def test_public_bounds_cost_less_than_sampling(n: int) -> None:
    low, high = sub_gaussian_bounds(n, 2.0, 1.0)
    assert low == -high
    reach = (high - 1.0) / 2.0
    density = math.exp(-(reach**2) / 2) / math.sqrt(2 * math.pi)
    bias = density - reach * 0.5 * math.erfc(reach / math.sqrt(2))  # E(Z − reach)₊
    assert bias <= 1 / (math.sqrt(2 * math.pi * n) * math.log(n)) + 1e-12


# -- rates ---------------------------------------------------------------------------------------------


def test_rates_by_hand() -> None:
    rate = gd.bounds.sparse_mean(8000, 1000, 10, 1.0, 1e-6, 2.0)
    assert rate.statistical == pytest.approx(2 * math.sqrt(10 * math.log(1000) / 8000))
    assert rate.privacy == pytest.approx(2 * 10 * math.log(100) * math.sqrt(6 * math.log(10)) / 8000)
    assert float(rate) == rate.value == rate.statistical + rate.privacy
    assert rate.upper > rate.value
    assert rate.kind == "rate, constants unknown"
    assert "constants unknown" in str(rate)
    dense = gd.bounds.dense_mean(8000, 1000, 0.5, 1e-6)
    assert dense.privacy == pytest.approx(1000 * math.sqrt(6 * math.log(10)) / 4000)
    assert dense.statistical == pytest.approx(math.sqrt(1 / 8))


def test_privacy_is_free_from_where_it_says() -> None:
    """Also the printed condition, with √n·ε for nε: both parts are equal at √n·ε = √(s·log(1/δ)/log d)·log(d/s)."""
    for epsilon in (0.1, 1.0):
        start = gd.bounds.sparse_mean(10_000, 500, 7, epsilon, 1e-9).free_from(0.1)
        actual = gd.bounds.sparse_mean(start, 500, 7, epsilon, 1e-9)
        assert actual.privacy / actual.statistical == pytest.approx(0.1, rel=1e-2)
        equal = gd.bounds.sparse_mean(10_000, 500, 7, epsilon, 1e-9).free_from(1.0)
        by_hand = math.sqrt(7 * math.log(1e9) / math.log(500)) * math.log(500 / 7)
        assert math.sqrt(equal) * epsilon == pytest.approx(by_hand, rel=1e-2)


# -- habits --------------------------------------------------------------------------------------------

MODELS = [Mean(bounds=(-1, 1)), SparseMean(2, bounds=(-1, 1), delta=1e-6, epsilon=50)]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_fits_are_paid_for_before_they_look(model) -> None:
    ledger = gd.Ledger.in_memory(gd.ApproxDP(model.epsilon * 1.5, 1e-5))
    fitted = clone(model).set_params(ledger=ledger).fit(NORMAL)
    assert len(ledger.entries()) >= 2
    assert ledger.spent.epsilon(1e-6) <= model.epsilon
    with pytest.raises(LedgerRefused):
        clone(model).set_params(ledger=ledger).fit(NORMAL)
    again = FitRelease.from_json(fitted.release_.to_json())
    assert again.guarantee == fitted.guarantee_
    assert {name: value.tolist() for name, value in again.values.items()} == {
        name: np.asarray(value).tolist() for name, value in fitted.release_.values.items()
    }


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_a_fit_never_repeats_unless_asked(model) -> None:
    first, other = clone(model).fit(NORMAL), clone(model).fit(NORMAL)
    assert first.mean_.tolist() != other.mean_.tolist()
    same = [clone(model).set_params(random_state=3).fit(NORMAL).mean_.tolist() for _ in range(2)]
    assert same[0] == same[1]
    assert first.release_.facts["research_seed"] is None


WRONG = [
    (Mean, "Either `bounds` or `row_norm`"),
    (lambda: Mean(bounds=(0, 1), row_norm=1.0), "Either `bounds` or `row_norm`"),
    (lambda: Mean(bounds=(1, 1)), "low < high"),
    (lambda: Mean(bounds=(0, np.inf)), "NaN or infinity"),
    (lambda: Mean(bounds=3), "not a pair"),
    (lambda: Mean(bounds=([0, 0], [1, 1])), "2 and 2 numbers, but X has 5 columns"),
    (lambda: Mean(row_norm=0.0), "row_norm"),
    (lambda: Mean(row_norm=1.0, norm=0.5), "`p` is 0.5"),
    (lambda: Mean(0.0, bounds=(0, 1)), "epsilon"),
    (lambda: Mean(np.nan, bounds=(0, 1)), "epsilon"),
    (lambda: Mean(1.0, 1.0, bounds=(0, 1)), "delta"),
    (lambda: Mean(1.0, -0.1, bounds=(0, 1)), "delta"),
    (lambda: Mean(bounds=(0, 1), neighbours="swap"), "Choose one of"),
    (lambda: Mean(bounds=(0, 1), noise="gaussian"), "set `delta`"),
    (lambda: Mean(bounds=(0, 1), noise="pink"), "Choose one of"),
    (lambda: Mean(bounds=(0, 1), ledger="x"), "must be a ledger"),
    (lambda: SparseMean(2), "`bounds` is missing"),
    (lambda: SparseMean(5, bounds=(0, 1)), "`sparsity` is 5, but X has only 5 columns"),
    (lambda: SparseMean(0, bounds=(0, 1)), "sparsity"),
    (lambda: SparseMean(2, bounds="private"), "`magnitudes` is not a pair"),
    (lambda: SparseMean(2, bounds="private", magnitudes=(2, 1)), "least < largest"),
    (lambda: SparseMean(2, bounds=(0, 1), noise="laplace"), "Peeling with Laplace noise does not support"),
    (lambda: SparseMean(2, bounds=(2.0**37 - 1, 2.0**37 + 1)), "far from 0"),
    (lambda: Mean(bounds=(0, 5e-324)), "` is too small or too large for"),
    (lambda: Mean(bounds=(-1.7e308, 1.7e308)), "` is too small or too large for"),
]


@pytest.mark.parametrize(("make", "words"), WRONG)
def test_bad_parameters_are_refused_and_nothing_is_spent(make, words: str) -> None:
    model = make()
    ledger = gd.Ledger.in_memory(gd.PureDP(5))
    if model.ledger is None:
        model.set_params(ledger=ledger)
    with pytest.raises(InvalidRequest, match=words):
        model.fit(NORMAL)
    assert ledger.spent == gd.PureDP(0)


@pytest.mark.parametrize("rows", [[], [[]], [1.0, 2.0], 5, "ab", np.zeros((0, 3)), np.zeros((2, 2, 2))], ids=str)
def test_bad_rows_are_refused(rows) -> None:
    with pytest.raises(InvalidRequest, match=r"rows|one row"):
        Mean(bounds=(0, 1), neighbours="replace").fit(rows)


@pytest.mark.parametrize("rows", [[["a"]], [[10**400]], [[None]], [[[1.0, 2.0]], [3.0]]], ids=str)
def test_a_cell_that_is_no_number_is_not_refused(rows) -> None:
    assert Mean(bounds=(0, 1)).fit(rows).n_features_in_ == 1


def test_ledgers_for_persons_are_refused() -> None:
    for unit in (gd.PrivacyUnit("pid", max_rows=3, neighbours="replace"), gd.PrivacyUnit(neighbours="replace")):
        ledger = gd.Ledger.in_memory(gd.PureDP(5), unit=unit)
        with pytest.raises(InvalidRequest, match=r"[Uu]se a ledger that protects the same unit"):
            Mean(bounds=(0, 1), ledger=ledger).fit(NORMAL)
        assert ledger.spent == gd.PureDP(0)


def test_hypotheses_of_the_rates_are_checked() -> None:
    """The quotient √(s·log(1/δ))·log(d/s)/(nε) is that of the privacy part and √s, the error of the estimate 0."""
    with pytest.warns(gd.bounds.UnmetHypothesis, match=r"25\.7 times the error of the estimate 0"):
        rate = gd.bounds.sparse_mean(n=10, d=100_000, s=100, epsilon=1.0, delta=1e-6)
    assert len(rate.unmet) == 1
    assert rate.unmet[0] in str(rate)
    assert pickle.loads(pickle.dumps(rate)).unmet == rate.unmet
    for numbers in ((10**6, 1000, 10, 20.0, 1e-9), (1000, 1000, 1, 1.0, 0.001), (10, 10, 1, 0.1, 0.01)):
        with pytest.warns(gd.bounds.UnmetHypothesis):
            assert gd.bounds.sparse_mean(*numbers).unmet
    with pytest.warns(gd.bounds.UnmetHypothesis, match="below 1/n"):
        assert gd.bounds.dense_mean(1000, 10, 1.0, 0.01).unmet
    with pytest.warns(gd.bounds.UnmetHypothesis, match=r"at least e\^"):
        assert gd.bounds.dense_mean(40, 1, 1.0, 1e-30).unmet
    assert gd.bounds.sparse_mean(10_000, 1000, 10, 1.0, 1e-6).unmet == ()


def test_bounded_rows_need_no_logarithm() -> None:
    for rate in (gd.bounds.sparse_mean, gd.bounds.dense_mean):
        sizes = (10_000, 100, 5) if rate is gd.bounds.sparse_mean else (10_000, 100)
        wide, bounded = (rate(*sizes, 1.0, 1e-6, bounded=known) for known in (False, True))
        assert float(wide) == float(bounded)
        parts = [each.upper - each.statistical for each in (wide, bounded)]
        assert parts[0] / parts[1] == pytest.approx(math.sqrt(math.log(10_000)))


RATES = [(0, 10, 2, 1, 1e-6), (10, 10, 10, 1, 1e-6), (10, 10, 0, 1, 1e-6), (10, 10, 2, 0, 1e-6), (10, 10, 2, 1, 1.0)]


@pytest.mark.parametrize("numbers", RATES, ids=str)
def test_bad_rates_are_refused(numbers) -> None:
    with pytest.raises(InvalidRequest):
        gd.bounds.sparse_mean(*numbers)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_the_ledger_is_not_told_how_many_rows_there_are(model) -> None:
    for neighbours, shape in (("replace", [400, 5]), ("add_remove", [5])):
        ledger = gd.Ledger.in_memory(gd.ApproxDP(100.0, 1e-4))
        clone(model).set_params(ledger=ledger, neighbours=neighbours).fit(NORMAL)
        requested = [entry.request for entry in ledger.entries() if entry.request and "fit" in entry.request]
        assert [request["shape"] for request in requested] == [shape]


def test_a_private_number_is_noisy_and_charged() -> None:
    count = NoisyRowCount(gd.PureDP(1.0), "add_remove")
    assert len({count.draw(400, research_rng(key)) for key in range(20)}) > 10
    assert count.with_remaining(count.remaining).epsilon(0) == pytest.approx(1.0)


@given(st.floats(1e-9, 1e9), st.none() | st.floats(1e-6, 10.0))
@example(1.0, 0.05)
def test_shares_never_add_up_to_more(epsilon: float, largest: float | None) -> None:
    for requested in (gd.PureDP(epsilon), gd.ApproxDP(epsilon, 1e-6)):
        count = NoisyRowCount(requested, "add_remove", largest)
        assert count.mechanism.guarantee.epsilon_value <= (largest or math.inf)
        rest = count.remaining.epsilon_value
        assert decimal(count.mechanism.guarantee.epsilon_value) + decimal(rest) <= decimal(epsilon)
        assert rest >= (epsilon - min(0.1 * epsilon, largest or math.inf)) * (1 - 1e-10)


@pytest.mark.parametrize("norm", [0, 0.5, -1, float("nan"), float("-inf")])
@pytest.mark.parametrize("d", [1, 2])
def test_a_norm_that_is_none_is_refused_in_one_dimension_too(norm: float, d: int) -> None:
    ledger = gd.Ledger.in_memory(gd.PureDP(5))
    with pytest.raises(InvalidRequest):
        Mean(epsilon=1.0, row_norm=1.0, norm=norm, ledger=ledger).fit(np.full((50, d), 0.5))
    assert ledger.spent.epsilon(0) == 0
