"""Tests of membership: what no test can exceed, beside formulas and every event of small mechanisms."""

import itertools
import math

import numpy as np
import pytest
import scipy

from gaugedp import guarantees as g
from gaugedp.errors import InvalidRequest
from gaugedp.report import tradeoff_svg


def events(seed: int, n: int = 4) -> tuple[g.FiniteLoss, list[tuple[float, float]]]:
    """A random mechanism with four outcomes, and (P(S), Q(S)) of every event, in both orders."""
    rng = np.random.default_rng([2903, seed])
    p, q = rng.dirichlet(np.ones(n)), rng.dirichlet(np.ones(n))
    subsets = [list(s) for size in range(n + 1) for s in itertools.combinations(range(n), size)]
    pairs = [(float(p[s].sum()), float(q[s].sum())) for s in subsets]
    return g.FiniteLoss(p.tolist(), q.tolist()), pairs + [(b, a) for a, b in pairs]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("epsilon", [-3.0, -0.7, -0.01, 0.0, 0.4])
def test_delta_is_that_of_the_worst_event_at_negative_epsilon_too(seed: int, epsilon: float) -> None:
    mechanism, pairs = events(seed)
    truth = max(p - math.exp(epsilon) * q for p, q in pairs)
    actual = mechanism.delta(epsilon)
    assert truth * (1 - 1e-12) <= actual <= truth * (1 + 1e-9)
    assert actual.low <= truth * (1 + 1e-12)


@pytest.mark.parametrize("prior", [0.01, 0.3, 0.5, 0.9])
def test_no_event_does_better(prior: float) -> None:
    mechanism, pairs = events(7)
    risk = mechanism.membership_risk(prior)
    slack = 1 + 1e-12
    assert max(p - q for p, q in pairs) <= risk.advantage * slack
    best = max(prior * p + (1 - prior) * (1 - q) for p, q in pairs)
    assert best <= risk.accuracy * slack
    assert risk.accuracy <= best * (1 + 1e-9)
    assert max(prior * p / (prior * p + (1 - prior) * q) for p, q in pairs if p + q) <= risk.posterior * slack
    for p, q in pairs:
        if 0 < q < 1:
            (test,) = mechanism.membership_risk(prior, (q,)).tests
            assert p <= test.true_positive_rate * slack
            assert prior * p / (prior * p + (1 - prior) * q) <= test.posterior * slack


def test_gaussian_numbers_by_hand() -> None:
    risk = g.GaussianDP(1.0).membership_risk(0.2, (0.05,))
    normal = scipy.stats.norm
    assert risk.advantage == pytest.approx(2 * normal.cdf(0.5) - 1)
    assert risk.tests[0].true_positive_rate == pytest.approx(normal.cdf(normal.ppf(0.05) + 1), rel=1e-6)
    edge = math.log(4) + 0.5
    assert risk.accuracy == pytest.approx(0.2 * normal.sf(edge - 1) + 0.8 * normal.cdf(edge))
    assert (risk.mu, risk.posterior) == (1.0, 1.0)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_pure_privacy_has_the_mu_of_its_formula(epsilon: float) -> None:
    truth = 2 * scipy.stats.norm.ppf(1 / (1 + math.exp(-epsilon)))
    risk = g.PureDP(epsilon).membership_risk(0.5)
    assert risk.mu is not None
    assert truth * (1 - 1e-12) <= risk.mu <= truth * (1 + 1e-6)
    assert risk.posterior == pytest.approx(1 / (1 + math.exp(-epsilon)))


def test_mu_is_above_the_profile_everywhere_and_nearly_touches_it() -> None:
    guarantee = 3 * g.LaplaceLoss(2.0)
    mu = guarantee.membership_risk().mu
    assert mu is not None
    gaps = [
        float(g.GaussianDP(mu).delta(epsilon)) - float(guarantee.delta(epsilon))
        for epsilon in np.linspace(0, 1.6, 81).tolist()
    ]
    assert min(gaps) >= 0
    less = g.GaussianDP(mu * 0.995)
    assert any(less.delta(epsilon) < guarantee.delta(epsilon) for epsilon in np.linspace(0, 1.6, 81).tolist())


def test_what_has_no_mu_says_so() -> None:
    risk = g.ZCDP(0.1).membership_risk()
    assert risk.mu is None
    assert "not known" in risk.table()
    assert risk.to_dict()["mu"] is None


def test_nothing_released_tells_nothing() -> None:
    risk = g.PureDP(0.0).membership_risk(0.1, (0.05,))
    assert (risk.advantage, risk.accuracy, risk.mu) == (0.0, 0.9, 0.0)
    assert risk.tests[0].true_positive_rate == pytest.approx(0.05)


@pytest.mark.parametrize(("prior", "rates"), [(0.0, (0.1,)), (1.0, (0.1,)), (0.5, (0.0,)), (0.5, (1.5,))])
def test_priors_and_rates_are_probabilities(prior: float, rates: tuple[float, ...]) -> None:
    with pytest.raises(InvalidRequest):
        g.PureDP(1).membership_risk(prior, rates)


def test_a_picture_of_both_errors() -> None:
    drawing = tradeoff_svg({"pure": g.PureDP(1), "normal": g.GaussianDP(1)})
    assert "false-positive rate" in drawing
    assert "guessing" in drawing
    with pytest.raises(InvalidRequest, match="1 to 6"):
        tradeoff_svg({})
