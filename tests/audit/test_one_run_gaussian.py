"""Bounds on μ from one run hold under their hypotheses, and the hypotheses are needed."""

import math

import mpmath
import numpy as np
import pytest
import scipy

import gaugedp as gd
from gaugedp.audit.one_run_gaussian import least_mass, mu_by_curve, mu_by_independence
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees.gaussian_curve import gaussian_epsilon

MISS = 0.05
SHARES = (0.02, 0.05, 0.2, 0.5, 1.0)  # of runs that reveal


def mixture(share: float, mu: float) -> float:
    """Return how often guesses are right in a `share` of runs, the others revealing nothing, that is just μ-GDP.

    The trade-off curve of one canary has the vertex (share·(1 − right), share·right) in the share of runs that reveal,
    and with it (½, ½) ± by symmetry: it is μ-GDP if that vertex is on the Gaussian curve.
    """

    def over(right: float) -> float:
        return float(scipy.special.ndtri(share * right) - scipy.special.ndtri(share * (1 - right))) - mu

    return float(scipy.optimize.brentq(over, 0.5, 1 - 1e-12))


def is_gdp(share: float, right: float, mu: float) -> bool:
    """Check the whole curve of the mixture, by its likelihood ratios."""
    ratio = math.log(right / (1 - right))
    epsilons = np.linspace(0, ratio, 200)
    deltas = share * np.maximum(right - np.exp(epsilons) * (1 - right), 0)
    gaussian = [gd.GaussianDP(mu).delta(float(epsilon)) for epsilon in epsilons]
    return bool((deltas <= np.array(gaussian) + 1e-9).all())


def alarms(bound, n: int, mu: float) -> int:
    """Return the fewest right guesses for which the bound exceeds μ."""
    return min((v for v in range(n // 2, n + 1) if bound(n, n, v, MISS) > mu), default=n + 1)


def refuting(n: int, k: int, mu: float, miss: float = MISS) -> int:
    """Return the fewest right guesses that contradict μ-GDP."""
    low, high = 0, k + 1
    while high - low > 1:
        v = (low + high) // 2
        refuted = v > 0 and least_mass(np.array([mu]), n, k, v, miss)[0] > 1
        low, high = (low, v) if refuted else (v, high)
    return high


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("mu", [0.3, 1.0, 2.0])
def test_mixtures_are_accused_as_rarely_as_stated(share: float, mu: float) -> None:
    """Exact: a share of the runs has Binomial(n, right) right guesses, the others Binomial(n, ½)."""
    right = mixture(share, mu)
    assert is_gdp(share, right, mu)
    for n in (50, 1000):
        at_least = refuting(n, n, mu) - 1
        alarm = share * scipy.stats.binom.sf(at_least, n, right) + (1 - share) * scipy.stats.binom.sf(at_least, n, 0.5)
        assert alarm <= MISS


def test_the_recursion_is_nearly_attained() -> None:
    """Runs that reveal with a probability just above the miss are accused as soon as 1.1 times the counts allow."""
    right, n = mixture(1.02 * MISS, 1.0), 20_000
    assert refuting(n, n, 1.0) / n == pytest.approx(right, rel=0.12)


def test_independence_is_a_hypothesis() -> None:
    """A fifth of the runs looks like μ = 0.95, and the mechanism is 0.431-GDP."""
    right, n = mixture(0.2, 0.431), 1000
    assert right == pytest.approx(0.683, abs=0.002)
    accused = alarms(mu_by_independence, n, 0.431) - 1
    assert 0.2 * scipy.stats.binom.sf(accused, n, right) > 3 * MISS
    assert 0.2 * scipy.stats.binom.sf(refuting(n, n, 0.431) - 1, n, right) <= MISS


@pytest.mark.parametrize("guessed", [1.0, 0.2])
def test_independent_guesses_are_accused_as_rarely_as_stated(guessed: float) -> None:
    """Independent noise for each canary; the largest and smallest scores are guessed."""
    n, mu, rng = 400, 1.0, np.random.default_rng(3)
    k, n_runs = int(guessed * n), 4000
    inside = rng.integers(0, 2, (n_runs, n)).astype(bool)
    order = np.argsort(mu * inside + rng.normal(size=(n_runs, n)), axis=1)
    ranked = np.take_along_axis(inside, order, axis=1)
    right = ranked[:, n - k // 2 :].sum(axis=1) + (~ranked[:, : k // 2]).sum(axis=1)
    bounds = {v: mu_by_independence(n, k, int(v), MISS) for v in np.unique(right)}
    lower = np.array([bounds[v] for v in right])
    assert (lower > mu).mean() <= MISS + 3 * math.sqrt(MISS / n_runs)
    assert np.median(lower) > 0.7 * mu
    assert (right >= refuting(n, k, mu)).mean() <= MISS


@pytest.mark.parametrize(("n", "k", "v", "mu", "miss"), [(200, 200, 140, 0.3, 0.05), (300, 80, 70, 0.6, 1e-4)])
def test_the_recursion_is_that_of_the_theorem(n: int, k: int, v: int, mu: float, miss: float) -> None:
    """Against right and wrong masses in 30 digits, as in the paper: w_{j−1} ≥ g(r_j), r and w from the top."""
    with mpmath.workdps(30):
        right, wrong = mpmath.mpf(miss) * v / n, mpmath.mpf(miss) * (k - v) / n
        for j in range(v - 1, -1, -1):
            normal = mpmath.sqrt(2) * mpmath.erfinv(2 * right - 1)
            more = max(wrong, mpmath.ncdf(normal - mu))
            right, wrong = right + (more - wrong) * j / (k - j), more
            if (right + wrong) * n / k > 2:
                break
        actual = least_mass(np.array([mu]), n, k, v, miss)[0]
        assert actual == pytest.approx(float((right + wrong) * n / k), rel=1e-9)


def test_the_readings_of_the_issue() -> None:
    counts = (10_000, 10_000, 6915, 0.95, 1e-5)
    actual = {assume: gd.audit.one_run(*counts, assume=assume) for assume in ("dp", "gdp", "independent")}
    assert actual["dp"] == gd.audit.one_run(*counts) == pytest.approx(0.771, abs=1e-3)
    assert actual["gdp"] == pytest.approx(1.306, abs=2e-3)
    assert actual["independent"] == pytest.approx(4.159, abs=2e-3)
    assert actual["gdp"] == pytest.approx(gaussian_epsilon(mu_by_curve(10_000, 10_000, 6915, 0.05), 1e-5), rel=1e-6)


def test_every_result_states_its_hypothesis() -> None:
    bounds = {assume: gd.audit.one_run(100, 100, 80, 0.95, 1e-5, assume) for assume in gd.audit.canaries.HYPOTHESES}
    assert len({bound.hypothesis for bound in bounds.values()}) == 3
    assert "independently" in bounds["independent"].hypothesis
    for assume, bound in bounds.items():
        result = gd.audit.OneRun(100, 100, 80, 0.95, 1e-5, assume)
        assert (result.epsilon_lower, result.hypothesis) == (bound, bound.hypothesis)
        assert (bound.hypothesis in repr(result)) == (assume != "dp")


def test_bounds_grow_with_right_guesses_and_vanish_at_half() -> None:
    for bound in (mu_by_curve, mu_by_independence):
        values = [bound(100, 60, v, MISS) for v in range(0, 61, 5)]
        assert values == sorted(values)
        assert values[0] == values[5] == 0.0 < values[-1] < 10
    assert gd.audit.one_run(100, 0, 0, 0.95, 1e-5, "gdp") == 0.0
    assert gd.audit.one_run(100, 0, 0, 0.95, 1e-5, "independent") == 0.0


def test_what_no_bound_exists_for_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="`assume` is 'normal'"):
        gd.audit.one_run(10, 10, 8, assume="normal")
    for assume in ("gdp", "independent"):
        with pytest.raises(InvalidRequest, match="no finite epsilon at delta = 0"):
            gd.audit.audit_canaries(lambda _: pytest.fail("released"), np.asarray, 10, 2, assume=assume)
