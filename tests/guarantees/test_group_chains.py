"""Groups along a chain of neighbours: never below the truth, and near it where the Rényi curve is far away."""

import math

import numpy as np
import pytest
import scipy

from gaugedp import guarantees as g


def true_delta(rate: float, noise: float, size: int, epsilon: float) -> float:
    """The larger hockey-stick divergence of Σ Binomial(size, rate)(j)·N(j, noise²) and N(0, noise²), by quadrature."""
    places = np.linspace(-12 * noise, size + 12 * noise, 400_001)
    weights = scipy.stats.binom.pmf(np.arange(size + 1), size, rate)
    mixed = sum(weight * scipy.stats.norm.pdf(places, j, noise) for j, weight in enumerate(weights))
    alone = scipy.stats.norm.pdf(places, 0, noise)
    gaps = [first - math.exp(epsilon) * other for first, other in ((mixed, alone), (alone, mixed))]
    return max(float(np.maximum(gap, 0).sum()) * (places[1] - places[0]) for gap in gaps)


@pytest.mark.parametrize("size", [2, 3, 5])
@pytest.mark.parametrize("epsilon", [0.05, 0.5, 2.0])
def test_a_group_of_a_subsampled_step_is_between_the_truth_and_a_few_times_it(size: int, epsilon: float) -> None:
    truth = true_delta(0.01, 1.0, size, epsilon)
    chain = g.Grouped(g.SubsampledGaussian(0.01, 1), size)
    actual = chain.delta(epsilon)
    assert truth * (1 - 1e-6) <= actual <= 12 * truth
    assert chain.epsilon(actual) <= epsilon * (1 + 1e-3)


def test_the_figures_of_the_proof_page() -> None:
    """docs/theory/composition.md: along the chain, by the Rényi curve, and by mixtures."""
    pair = g.Grouped(g.SubsampledGaussian(0.01, 1), 2)
    figures = pair.delta(0.5), pair.delta(0.5, "rdp"), g.SubsampledGaussian(0.01, 1).group(2).delta(0.5)
    assert figures == pytest.approx((1.03e-5, 1.93e-4, 7.9e-6), rel=0.04)


@pytest.mark.slow
def test_compositions_are_grouped_as_a_whole() -> None:
    step = g.Sampled(g.LaplaceLoss(2), 0.1)
    whole = (100 * step).group(2)
    assert isinstance(whole, g.Grouped)
    assert whole.epsilon(1e-5) < 0.95 * whole.epsilon(1e-5, "rdp")
    assert repr(whole) == "(100 * Sampled(LaplaceLoss(2), 0.1)).group(2)"
    assert g.from_dict(whole.to_dict()) == whole
    both = (step + g.GaussianDP(0.1)).group(2)
    assert not isinstance(both, g.Grouped), "the Gaussian part has wider noise to compute with"


def test_a_rare_leak_stays_rare() -> None:
    """Two steps of a chain, each of which shows a different secret with probability 1/1000."""
    pair = g.FiniteLoss([0.999, 0.001, 0], [0.999, 0, 0.001]).group(2)
    assert pair.delta(0.0) == pytest.approx(0.002)
    assert pair.epsilon(0.0021) == 0
    assert pair.epsilon(0.0019) == math.inf


def test_a_chain_adds_up_as_the_theorem_says() -> None:
    single = g.SubsampledGaussian(0.02, 0.8)
    for size in (2, 4):
        chain = single.delta(0.3) * sum(math.exp(0.3 * i) for i in range(size))
        assert g.Grouped(single, size).delta(0.3 * size, "basic") == pytest.approx(chain, rel=1e-9)
