"""Privacy by enumeration: the exact probabilities of outputs on neighbouring answers, nothing drawn."""

from itertools import product

import numpy as np
import pytest
import scipy

import gaugedp as gd
from gaugedp.bodies import LpBall, Polytope
from gaugedp.samplers.laws import DiscreteGaussian, DiscreteLaplace, RoundedGaussian
from tests.mechanisms.registry import DOMAIN, REPLACED, ROW
from tests.queries.brute import differences

PERSON_REPLACED = gd.PrivacyUnit("pid", "replace", 2)


# -- exact probabilities -----------------------------------------------------------------------------


def log_law(law, k: np.ndarray) -> np.ndarray:
    """log P(N = k), written down from the definition of the law."""
    k = np.abs(np.asarray(k, dtype=float))
    if isinstance(law, DiscreteLaplace):
        q = np.exp(-1 / float(law.scale))
        return -k / float(law.scale) + np.log((1 - q) / (1 + q))
    if isinstance(law, DiscreteGaussian):
        wide = np.arange(int(40 * float(law.parameter) ** 0.5) + 40.0)
        weight = np.exp(-(wide**2) / (2 * float(law.parameter)))
        return -(k**2) / (2 * float(law.parameter)) - np.log(2 * weight.sum() - 1)
    std = float(law.std)
    near, far = scipy.special.log_ndtr(-(k - 0.5) / std), scipy.special.log_ndtr(-(k + 0.5) / std)
    return near + np.log(-np.expm1(far - near))


LAWS = [
    DiscreteLaplace(gd.Laplace.calibrate(LpBall(1, 1, 3.0), gd.PureDP(0.5)).runs[0][1].scale / 5000),
    DiscreteGaussian(
        gd.Gaussian.calibrate(Polytope.symmetric_hull(np.eye(1)), gd.ZCDP(0.3)).runs[0][1].parameter / 10**6
    ),
    RoundedGaussian(gd.Gaussian.calibrate(LpBall(1, 2, 3.0), gd.GaussianDP(0.5)).runs[0][1].std / 5000),
]


@pytest.mark.parametrize("law", LAWS, ids=lambda law: type(law).__name__)
def test_the_probabilities_are_those_of_the_law(law) -> None:
    k = np.arange(-400, 401)
    probability = np.exp(log_law(law, k))
    assert probability.sum() == pytest.approx(1, abs=1e-12)
    assert probability @ k**2 == pytest.approx(law.variance, rel=1e-9)
    inside = np.array([probability[np.abs(k) <= width].sum() for width in range(20)])
    assert inside == pytest.approx(law.coverage(np.arange(20)), abs=1e-12)


def laws_of(mechanism) -> list:
    return [law for count, law in mechanism.runs for _ in range(count)]


# -- Laplace -----------------------------------------------------------------------------------------


def largest_loss(laws: list, apart: np.ndarray) -> float:
    """max over all outputs of |log P(y)/P′(y)| for answers that are `apart`: coordinates are independent."""
    total = 0.0
    for law, shift in zip(laws, apart, strict=True):
        reach = 3 * abs(int(shift)) + 5
        k = np.arange(-reach, reach + 1)
        total += np.abs(log_law(law, k) - log_law(law, k - shift)).max()
    return total


COUNTS = ["a", "b; a*b", "prefix(a)", "ranges(a)", "count; c"]
SUMS = ["sum(v)", "b; sum(v) by b", "mean(w)", "mean(v) by b; count"]


@pytest.mark.parametrize("unit", [ROW, REPLACED, PERSON_REPLACED], ids=str)
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("text", [*COUNTS, *SUMS])
def test_laplace_noise_keeps_its_guarantee_between_all_neighbours(text: str, unit, epsilon: float) -> None:
    query = gd.query(DOMAIN, text)
    weights = None if np.ptp(query.errors.reach) == 0 else query.errors.reach
    mechanism = gd.Laplace.calibrate(query.sensitivity(unit), gd.PureDP(epsilon), weights)
    laws = laws_of(mechanism)
    apart = np.unique(differences(query, unit), axis=0)
    widths = np.array([float(law.scale) for law in laws])
    candidates = apart[np.argsort((np.abs(apart) / widths).sum(axis=1))[-20:]]
    loss = max(largest_loss(laws, candidate) for candidate in candidates)
    assert loss <= epsilon * (1 + 1e-9)
    assert loss >= (0.9 if text in COUNTS else 0.6) * epsilon  # radii of mixtures are upper bounds
    assert loss * 1.11 > epsilon or text in SUMS  # noise 10 % too small would be seen


@pytest.mark.parametrize("weights", [None, np.array([1.0, 4.0])], ids=["even", "weighted"])
@pytest.mark.parametrize("p", [1, 2, np.inf])
def test_answers_off_the_lattice_are_covered_with_their_rounding(p: float, weights) -> None:
    body = LpBall(2, p, 0.7)
    mechanism = gd.Laplace.calibrate(body, gd.PureDP(1.0), weights)
    step, widths = float(mechanism.lattice_step), np.array([float(law.scale) for law in laws_of(mechanism)])
    rng = np.random.default_rng(4)
    answers = rng.uniform(-50, 50, (20_000, 2))
    neighbours = answers + body.argmax(rng.normal(size=(20_000, 2)) / (1 if weights is None else weights))
    apart = np.round(neighbours / step) - np.round(answers / step)
    losses = (np.abs(apart) / widths).sum(axis=1)
    assert losses.max() <= 1
    assert losses.max() > 0.99


# -- noise on cells ----------------------------------------------------------------------------------

SMALL = gd.Domain.of(x=gd.integers(1, 3), y=["p", "q"], z=["r", "s"])
ON_CELLS = {
    "x": gd.marginals(SMALL, "x"),
    "prefix(x)": gd.prefix_sums(SMALL, "x"),
    "ranges(x)": gd.ranges(SMALL, "x"),
    "y; z": gd.marginals(SMALL, "y", "z"),
    "matrix": gd.workload([[1, 2, -1]], gd.Domain.of(x=gd.integers(1, 3))),
}


def output_law(query, law) -> dict[tuple[int, ...], float]:
    """P(F·η = y) by going through every η of a box; too small by what lies outside the box."""
    columns = query.sensitivity(ROW).generators
    reach = 14 if columns.n_generators == 3 else 9
    noise = np.array(list(product(range(-reach, reach + 1), repeat=columns.n_generators)))
    probability = np.exp(log_law(law, noise).sum(axis=1))
    outputs, place = np.unique(columns.apply(noise), axis=0, return_inverse=True)
    total = np.bincount(place.ravel(), weights=probability)
    return dict(zip(map(tuple, outputs.tolist()), total.tolist(), strict=True))


@pytest.mark.parametrize("unit", [ROW, REPLACED], ids=str)
@pytest.mark.parametrize("text", ON_CELLS)
def test_noise_on_cells_keeps_its_guarantee_between_all_neighbours(text: str, unit) -> None:
    query, epsilon = ON_CELLS[text], 1.5
    mechanism = gd.Identity.calibrate(query.sensitivity(unit), gd.PureDP(epsilon))
    law = output_law(query, mechanism.law)
    central = [y for y in law if max(map(abs, y)) <= 4]
    losses = [
        abs(np.log(law[y] / law[moved]))
        for apart in np.unique(differences(query, unit), axis=0).astype(int)
        for y in central
        if (moved := tuple((np.array(y) - apart).tolist())) in law
    ]
    assert max(losses) <= epsilon * (1 + 1e-3)
    assert text == "matrix" or max(losses) > 0.9 * epsilon  # one row of a matrix shows less than its cells


# -- Gaussian ----------------------------------------------------------------------------------------

EPSILONS = np.concatenate([np.linspace(0, 3, 31), np.linspace(3.5, 12, 18)])


def exact_delta(laws: list, apart: np.ndarray, epsilon: float) -> float:
    """Σ_y max(0, P(y) − e^ε·P′(y)) over a box that holds all but 1e-16 of P; up to two coordinates may move."""
    tables = []
    for law, shift in zip(laws, apart, strict=True):
        if shift:
            reach = int(9 * law.variance**0.5) + 10 + abs(int(shift))
            k = np.arange(-reach, reach + 1)
            tables.append((np.exp(log_law(law, k)), np.exp(log_law(law, k - shift))))
    first, other = tables[0]
    for more, shifted in tables[1:]:
        first, other = np.outer(first, more).ravel(), np.outer(other, shifted).ravel()
    return float(np.maximum(first - np.exp(epsilon) * other, 0).sum())


GAUSSIANS = {
    "one answer": ("count", ROW, [1]),
    "two ways": ("y; z", ROW, [1, 0, 1, 0]),
    "replaced": ("x", REPLACED, [1, -1, 0]),
    "prefix of two": ("prefix(y)", ROW, [1, 1]),
}


@pytest.mark.parametrize("mu", [0.15, 0.5, 1.0, 3.0])
@pytest.mark.parametrize("name", GAUSSIANS)
def test_rounded_gaussian_noise_keeps_the_whole_curve(name: str, mu: float) -> None:
    text, unit, apart = GAUSSIANS[name]
    mechanism = gd.Gaussian.calibrate(gd.query(SMALL, text).sensitivity(unit), gd.GaussianDP(mu))
    laws = laws_of(mechanism)
    exact = np.array([exact_delta(laws, np.array(apart), epsilon) for epsilon in EPSILONS])
    claimed = np.array([mechanism.guarantee.delta(float(epsilon)) for epsilon in EPSILONS])
    assert (exact <= claimed + 1e-15).all()
    if mu <= 0.5:  # wide noise loses little by rounding: the curve is met
        assert exact[0] > 0.98 * claimed[0]
        smaller = [RoundedGaussian(law.std * 10 / 11) for law in laws]
        assert exact_delta(smaller, np.array(apart), 0.0) > claimed[0]  # noise 10 % too small would be seen


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-6), (0.5, 1e-3), (3.0, 1e-9)])
def test_gaussian_noise_keeps_the_guarantee_that_was_asked(epsilon: float, delta: float) -> None:
    mechanism = gd.Gaussian.calibrate(gd.count(SMALL).sensitivity(ROW), gd.ApproxDP(epsilon, delta))
    assert mechanism.guarantee.delta(epsilon) <= delta
    assert exact_delta(laws_of(mechanism), np.array([1]), epsilon) <= delta
    assert exact_delta(laws_of(mechanism), np.array([1]), epsilon) > 0.3 * delta  # rounding hides a part of it


def renyi(laws: list, apart, order: float) -> float:
    """The exact divergence of `order`: coordinates are independent, so it adds."""
    total = 0.0
    for law, shift in zip(laws, apart, strict=True):
        reach = int(40 * law.variance**0.5 + order * abs(shift) * 2) + 40
        k = np.arange(-reach, reach + 1)
        logs = order * log_law(law, k) + (1 - order) * log_law(law, k - shift)
        total += scipy.special.logsumexp(logs) / (order - 1)
    return total


@pytest.mark.parametrize("rho", [0.005, 0.3, 2.0])
@pytest.mark.parametrize("name", GAUSSIANS)
def test_discrete_gaussian_noise_keeps_its_divergence(name: str, rho: float) -> None:
    text, unit, apart = GAUSSIANS[name]
    mechanism = gd.Gaussian.calibrate(gd.query(SMALL, text).sensitivity(unit), gd.ZCDP(rho))
    orders = np.array([1.01, 1.5, 2, 3, 7.5, 20, 64])
    exact = np.array([renyi(laws_of(mechanism), apart, order) for order in orders])
    assert (exact <= rho * orders * (1 + 1e-9) + 1e-12).all()
    assert exact[2] > 0.9 * rho * orders[2]
    smaller = [DiscreteGaussian(law.parameter * 100 / 121) for law in laws_of(mechanism)]
    assert renyi(smaller, apart, 2.0) > 2 * rho  # noise 10 % too small would be seen


@pytest.mark.parametrize("unit", [ROW, REPLACED, PERSON_REPLACED], ids=str)
@pytest.mark.parametrize("text", ["b; sum(v) by b", "mean(w)", "a; sum(v); sum(w)"])
def test_weighted_gaussian_noise_keeps_its_guarantee(text: str, unit) -> None:
    query = gd.query(DOMAIN, text)
    apart = differences(query, unit)
    for guarantee in (gd.GaussianDP(0.5), gd.ZCDP(0.125)):
        laws = laws_of(gd.Gaussian.calibrate(query.sensitivity(unit), guarantee, query.errors.reach))
        std = np.array([float(getattr(law, "std", 0) or law.parameter**0.5) for law in laws])
        shift = np.linalg.norm(apart / std, axis=1).max()  # of the unrounded normal variables
        assert 0.6 * 0.5 <= shift <= 0.5 * (1 + 1e-12)
