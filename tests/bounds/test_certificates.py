"""Lower bounds on mean squared errors: exact errors of known mechanisms are never below them, and often equal."""

import math
from fractions import Fraction
from itertools import pairwise

import mpmath
import numpy as np
import pytest
import scipy.special
from scipy.optimize import minimize

import gaugedp as gd
from gaugedp.bodies import Polytope
from gaugedp.bounds.kullback_leibler import least_second_moment
from gaugedp.bounds.one_answer import least_variance
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees.base import Guarantee
from gaugedp.guarantees.gaussian_curve import gaussian_delta
from gaugedp.mechanisms import Gaussian, Identity, Laplace, Matrix
from gaugedp.mechanisms.strategies.best import best_strategy
from gaugedp.samplers.laws import RoundedGaussian
from tests.cases import one_in

SLACK = 1 + 1e-9
CLOSE = {"pure": 1e-9, "rho": 6e-4, "mu": 2e-8}


def geometric_variance(epsilon: float) -> float:
    n = np.arange(1, 40_000)
    return 2 * float((n**2 * np.exp(-epsilon * n)).sum()) * math.tanh(epsilon / 2)


def discrete_gaussian_variance(sigma: float) -> float:
    n = np.arange(-math.ceil(40 * sigma) - 5, math.ceil(40 * sigma) + 6)
    weights = np.exp(-(n**2) / (2 * sigma**2))
    return float((weights * n**2).sum() / weights.sum())


@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 1.0, 3.0, 10.0])
def test_the_geometric_mechanism_attains_the_pure_bound(epsilon: float) -> None:
    assert least_variance(gd.PureDP(epsilon)).value == pytest.approx(geometric_variance(epsilon), rel=CLOSE["pure"])
    assert least_variance(gd.ApproxDP(epsilon, 0.0)) == least_variance(gd.PureDP(epsilon))


@pytest.mark.parametrize("rho", [1e-3, 0.01, 0.03, 0.1, 0.5, 1.0, 3.0])
def test_the_discrete_gaussian_is_never_below_the_concentrated_bound(rho: float) -> None:
    bound, variance = least_variance(gd.ZCDP(rho)).value, discrete_gaussian_variance(1 / math.sqrt(2 * rho))
    assert bound <= variance * SLACK
    assert bound >= 1 / math.sinh(2 * rho) * (1 - 1e-3)
    if rho <= 0.1:
        assert bound >= variance * (1 - CLOSE["rho"])


@pytest.mark.parametrize("mu", [0.05, 0.5, 0.999, 1.001, 2.0, 4.0])
def test_normal_noise_is_never_below_the_gaussian_bound(mu: float) -> None:
    bound = least_variance(gd.GaussianDP(mu)).value
    assert bound <= 1 / mu**2
    if mu <= 1.001:
        assert bound >= (1 - CLOSE["mu"]) / mu**2


@pytest.mark.parametrize("mu", [0.1, 0.5, 1.0, 3.0])
def test_no_noise_on_whole_numbers_has_less_variance_than_rounded_normal_noise(mu: float) -> None:
    """Rounded from any offset it has the trade-off of normal noise, and from none, or with any thresholds, less."""
    k = np.arange(-math.ceil(9 / mu) - 2, math.ceil(9 / mu) + 3)
    least = RoundedGaussian(1 / Fraction(str(mu))).variance
    for offset in (0.0, 0.1, 0.37, 0.5):
        p = np.diff(scipy.special.ndtr((k + 0.5 - offset) * mu), prepend=0.0, append=1.0)
        for epsilon in np.linspace(0, 3 * mu, 13):
            beyond = np.maximum(np.append(p, 0) - math.exp(epsilon) * np.append(0, p), 0).sum()
            assert beyond <= gaussian_delta(mu, epsilon) + 1e-12
        moment = float(p @ np.append(k, k[-1] + 1) ** 2.0)
        assert moment == pytest.approx(least, rel=1e-9) if offset == 0 else moment >= least * (1 - 1e-9)
    rng = np.random.default_rng(7)
    for _ in range(200):
        above, below = np.cumsum(mu * rng.beta(5, 1, (2, 40 * len(k))), axis=1)
        first = mu * rng.uniform(-0.5, 1.5)
        odd = 2.0 * np.arange(above.size) + 1
        tails = scipy.special.ndtr(-(first + np.append(0, above[:-1]))) + scipy.special.ndtr(first - below)
        assert float(odd @ tails) >= least * (1 - 1e-9)


def test_the_concentrated_bound_is_the_least_second_moment_on_the_integers() -> None:
    """An independent optimum: the best distribution on −8 … 8 for the divergence ½, by a general solver."""
    n = np.arange(-8, 9)

    def moment(logits: np.ndarray) -> tuple[float, float]:
        p = np.exp(logits - logits.max())
        p /= p.sum()
        both = float(((p[1:] - p[:-1]) * np.log(p[1:] / p[:-1])).sum())
        return float(p @ n**2), both

    def penalised(logits: np.ndarray) -> float:
        value, both = moment(logits)
        return value + 1000.0 * max(0.0, both - 1.0) ** 2

    value, both = moment(minimize(penalised, -(n**2) / 2.0, method="BFGS").x)
    assert both == pytest.approx(1.0, abs=2e-3)
    assert least_second_moment(0.5) <= value + 2 * max(0.0, both - 1.0)
    assert least_second_moment(0.5) == pytest.approx(value, rel=5e-3)


def truncated_geometric(epsilon: float, n_steps: int) -> tuple[float, float]:
    """Return δ and the variance of the geometric distribution that is cut to −n … n."""
    n = np.arange(-n_steps, n_steps + 1)
    p = np.exp(-epsilon * np.abs(n))
    p /= p.sum()
    shifted = np.concatenate([[0.0], p])
    delta = float(np.maximum(np.concatenate([p, [0.0]]) - math.exp(epsilon) * shifted, 0).sum())
    return delta, float(p @ n**2)


@pytest.mark.parametrize("epsilon", [0.05, 0.3, 1.0, 2.0])
@pytest.mark.parametrize("n_steps", [1, 2, 5, 12])
def test_truncated_geometric_noise_is_never_below_the_bound_of_epsilon_and_delta(epsilon: float, n_steps: int) -> None:
    delta, variance = truncated_geometric(epsilon, n_steps)
    bound = least_variance(gd.ApproxDP(epsilon, delta)).value
    assert 0.8 * variance <= bound <= variance * SLACK
    assert bound <= least_variance(gd.PureDP(epsilon)).value


def canonical(epsilon: float, delta: float) -> mpmath.mpf:
    """Theorem 5 with 60 digits, step by step."""
    with mpmath.workdps(60):
        ratio, left = mpmath.exp(-mpmath.mpf(epsilon)), (1 - mpmath.mpf(delta)) / (1 + mpmath.exp(mpmath.mpf(epsilon)))
        centre = 1 - 2 * left
        edge, last, squares, mass = centre * ratio, 1, mpmath.mpf(0), centre
        while left >= edge:
            squares, mass, left = squares + 2 * last**2 * edge, mass + 2 * edge, left - edge
            edge, last = edge * ratio, last + 1
        width = left / edge
        both, one = max(0, width - mpmath.mpf(1) / 2), min(width, 1 - width)
        added = 4 * both * last**2 * edge + 2 * one * (last**2 * edge - (last * edge) ** 2 / (mass + edge))
        return squares + added


@pytest.mark.parametrize("epsilon", [1.2e-16, 1e-12, 3e-9, 1e-5, 0.02, 0.7, 3.0, 12.0])
@pytest.mark.parametrize("delta", [0.003, 0.177, 0.5, 0.89])
def test_the_bound_of_epsilon_and_delta_loses_no_digits(epsilon: float, delta: float) -> None:
    bound, truth = least_variance(gd.ApproxDP(epsilon, delta)).value, canonical(epsilon, delta)
    assert bound <= truth
    assert bound == pytest.approx(float(truth), rel=1e-11)


def test_extreme_parameters_have_bounds() -> None:
    assert least_variance(gd.ApproxDP(800.0, 1e-6)).value == 0
    assert least_variance(gd.ApproxDP(1.0, 1e-320)).value == pytest.approx(least_variance(gd.PureDP(1.0)).value)
    assert least_variance(gd.PureDP(1e-170)).value == least_variance(gd.GaussianDP(1e-170)).value == math.inf


def test_bounds_fall_with_the_budget() -> None:
    kinds = (
        gd.PureDP,
        gd.ZCDP,
        gd.GaussianDP,
        lambda size: gd.ApproxDP(size, 1e-6),
        lambda size: gd.ApproxDP(1.0, size / 100),
    )
    for kind in kinds:
        values = [least_variance(kind(size)).value for size in np.geomspace(0.05, 20, 25)]
        assert all(first >= second for first, second in pairwise(values)), kind


def test_a_guarantee_of_another_kind_has_no_bound() -> None:
    assert least_variance(gd.RenyiDP([2.0], [0.1])) is None
    assert least_variance(gd.PureDP(1000.0)).value == 0
    assert least_variance(gd.ZCDP(1000.0)).value == 0


GUARANTEES: list[Guarantee] = [
    gd.PureDP(0.2), gd.PureDP(1.0), gd.PureDP(3.0), gd.ZCDP(0.02), gd.ZCDP(0.5), gd.ZCDP(2.0),
    gd.GaussianDP(0.4), gd.GaussianDP(1.5), gd.ApproxDP(1.0, 1e-6), gd.ApproxDP(0.3, 1e-2),
]  # fmt: skip


@pytest.mark.parametrize("batch", one_in(10, range(100)))
def test_no_mechanism_of_ours_is_below_the_bound_for_many_answers(batch: int) -> None:
    """1,000 random bodies of integers, in 100 batches; all mechanisms that can be calibrated for them."""
    rng = np.random.default_rng([50, batch])
    for _ in range(10):
        matrix = rng.integers(-2, 3, (int(rng.integers(1, 5)), int(rng.integers(1, 7))))
        if not matrix.any(axis=0).all():
            continue
        body = Polytope.symmetric_hull(matrix.astype(float), int(rng.integers(1, 4)))
        guarantee = GUARANTEES[int(rng.integers(len(GUARANTEES)))]
        weights = None if rng.random() < 0.5 else rng.uniform(0.5, 2.0, len(matrix))
        scales = np.ones(len(matrix)) if weights is None else weights
        bound = best_strategy(body, 2, weights).least ** 2 * least_variance(guarantee).value
        for kind in (Laplace, Gaussian, Identity, Matrix):
            try:
                mechanism = kind.calibrate(body, guarantee)
            except InvalidRequest:
                continue
            error = float((mechanism.variances / scales**2).sum())
            assert error >= bound / SLACK, (batch, kind.__name__, guarantee, matrix.tolist())


DOMAIN = gd.Domain.of(A=["1", "2", "3"], B=["1", "2"], C=gd.bounded(0, 10), P=gd.integers(0, 19))
ONE_ROW = gd.PrivacyUnit()


@pytest.mark.parametrize(
    "budget", [{"epsilon": 1.0}, {"rho": 0.1}, {"mu": 0.5}, {"epsilon": 1.0, "delta": 1e-6}], ids=str
)
def test_a_plan_for_a_histogram_is_certified_to_one_percent(budget: dict[str, float]) -> None:
    for unit, most in ((ONE_ROW, 1.0105), (gd.PrivacyUnit(column="pid", max_rows=3), 1.04)):
        plan = gd.plan(gd.query(DOMAIN, "A*B"), unit, **budget)
        assert 1 <= plan.certified_ratio <= most
        assert plan.certificate["bound"] <= plan.certificate["error"] * SLACK
        assert set(plan.certificate) >= {"theorem", "bound", "error", "kind"}
        assert plan.certificate["kind"] == "factorisation"


@pytest.mark.parametrize("text", ["prefix(P)", "A; B; A*B", "sum(C) by A", "mean(C)", "ranges(P)", "share(A) by B"])
def test_ordinary_queries_have_a_certificate_for_each_guarantee_and_unit(text: str) -> None:
    for unit in (ONE_ROW, gd.PrivacyUnit(neighbours="replace"), gd.PrivacyUnit(column="pid", max_rows=2)):
        for budget, most in (({"rho": 0.05}, 1.02), ({"mu": 0.5}, 1.02), ({"epsilon": 1.0}, 3.0)):
            plan = gd.plan(gd.query(DOMAIN, text), unit, **budget)
            bound, error = plan.certificate["bound"], plan.certificate["error"]
            assert bound <= error * SLACK, (unit, budget)
            assert plan.certified_ratio <= most, (unit, budget)


@pytest.mark.parametrize("text", ["sd(C)", "median(C)", "median(C); A"])
def test_a_query_whose_body_only_contains_its_differences_has_no_certificate(text: str) -> None:
    plan = gd.plan(gd.query(DOMAIN, text), ONE_ROW, epsilon=1.0)
    assert plan.certified_ratio == math.inf
    assert plan.certificate["kind"] == "none"
    assert plan.certificate["bound"] == 0


LOOKED_UP = gd.Domain.of(
    **gd.look_up({"C": ["a", "b"], "PRICE": ["10", "20"], "KIND": ["k", "l"]}, on="C", PRICE=gd.bounded(0, 100))
)
PEOPLE = gd.PrivacyUnit("pid")
MADE = DOMAIN.by_person(PEOPLE, {"n": gd.PerPerson.count(gd.integers(0, 3))})


@pytest.mark.parametrize(
    ("domain", "text"),
    [
        (DOMAIN.with_impossible({"A": ["1"], "B": ["2"]}), "A*B"),
        (LOOKED_UP, "sum(PRICE)"),
        (LOOKED_UP, "sum(PRICE) by KIND"),
        (gd.Domain({"AGE": gd.bins(0, 100, 10)}, {"AGE": gd.bounded(0, 100)}), "AGE; sum(AGE)"),
        (MADE, "n"),
    ],
    ids=["structural zeros", "looked-up number", "two look-ups", "one source", "aggregated rows"],
)
def test_rows_that_cannot_be_any_have_no_certificate(domain: gd.Domain, text: str) -> None:
    """Laplace noise of scale 20 is enough for prices of 10 and 20, whatever the bounds of the column say."""
    unit = domain.unit or ONE_ROW
    assert gd.plan(gd.query(domain, text), unit, epsilon=1.0).certificate["kind"] == "none"


@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
@pytest.mark.parametrize(
    "domain",
    [gd.Domain.of(pid=["a", "b"]), gd.Domain.of(**gd.look_up({"pid": ["a", "b"], "KIND": ["k", "l"]}, on="pid"))],
    ids=["the column", "looked up"],
)
def test_the_units_own_column_has_no_certificate(domain: gd.Domain, neighbours: str) -> None:
    """A cell has one unit at most there, so the constant ½ needs no noise and errs by ½."""
    unit = gd.PrivacyUnit("pid", neighbours=neighbours)
    plan = gd.plan(gd.query(domain, next(iter(domain.attributes))), unit, epsilon=0.01)
    assert plan.certificate["kind"] == "none"
    assert plan.lower_bound <= 0.5 * math.sqrt(len(plan.query.steps))


@pytest.mark.slow
def test_a_body_whose_shadow_qhull_gives_up_on_has_a_certificate() -> None:
    domain = gd.Domain.of(a=gd.integers(1, 3), g=gd.integers(1, 15))
    assert gd.plan(gd.query(domain, "a; prefix(g)"), ONE_ROW, epsilon=1.0).certificate["bound"] > 0


def test_bins_without_a_float_inside_have_no_certificate() -> None:
    domain = gd.Domain.of(A=gd.bins(2.0**53, 2.0**53 + 4, 1))
    assert gd.plan(gd.query(domain, "A"), ONE_ROW, mu=0.5).certificate["kind"] == "none"


@pytest.mark.parametrize(("outside", "kind"), [("drop", "factorisation"), ("other", "none")])
def test_replaced_rows_need_a_row_that_counts_nowhere(outside: str, kind: str) -> None:
    """The number of all rows is public where rows are replaced and each counts: no noise is needed for it."""
    domain = gd.Domain.of(A=gd.categories(["1", "2"], outside))
    plan = gd.plan(gd.query(domain, "A"), gd.PrivacyUnit(neighbours="replace"), epsilon=1.0)
    assert plan.certificate["kind"] == kind


def test_a_bound_for_pure_mechanisms_is_none_under_a_delta() -> None:
    """Under (0.2, 0.2) the best noise for one count has less variance than any pure one."""
    plan = gd.plan(gd.query(DOMAIN, "A*B"), ONE_ROW, epsilon=0.2, delta=0.2)
    pure = gd.plan(gd.query(DOMAIN, "A*B"), ONE_ROW, epsilon=0.2)
    assert plan.certificate["bound"] < 0.6 * pure.certificate["bound"]
