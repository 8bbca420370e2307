"""What other accountants write: events by stand-ins, laws of losses beside sums in fractions, offsets of zCDP."""

import itertools
import math
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import mpmath
import numpy as np
import pytest

import gaugedp as gd
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees import events

G = gd.guarantees
REMOVED, ADDED = (-2, [0.2, 0.1, 0.3, 0.1, 0.2], 0.1), (-3, [0.5, 0.0, 0.0, 0.5])


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the conversions run where dp-accounting is not installed."""
    stand_in = SimpleNamespace(DpEvent=object, GaussianDpEvent=lambda noise_multiplier: noise_multiplier)
    stand_in.SampledWithoutReplacementDpEvent = lambda *numbers: numbers
    stand_in.MixtureOfGaussiansDpEvent = lambda *numbers: numbers
    stand_in.TruncatedSubsampledGaussianDpEvent = dict
    monkeypatch.setattr(events, "_events", lambda: stand_in)


def event(name: str, **facts: Any) -> Any:
    return type(f"{name}DpEvent", (), facts)()


def pmf(first: int, chances: list[float], infinite: float = 0.0, pessimistic: bool = True) -> Any:
    dense = SimpleNamespace(_lower_loss=first, _probs=chances, _infinity_mass=infinite)
    return SimpleNamespace(to_dense_pmf=lambda: dense, _discretization=0.1, _pessimistic_estimate=pessimistic)


# -- events ------------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("known")
def test_a_replaced_record_counts_twice_in_a_fixed_sample() -> None:
    noise = event("Gaussian", noise_multiplier=2.0)
    read = G.from_event(event("SampledWithoutReplacement", source_dataset_size=10, sample_size=3, event=noise))
    assert read == G.Sampled(gd.GaussianDP(1.0), 0.3, "without_replacement", "replace")
    assert G.to_event(G.Sampled(gd.GaussianDP(0.5), 0.3, "without_replacement", "replace")) == (10, 3, 2.0)


@pytest.mark.usefixtures("known")
def test_what_is_beside_a_fixed_sample_is_read_for_the_same_neighbours() -> None:
    noise = event("Gaussian", noise_multiplier=2.0)
    fixed = event("SampledWithoutReplacement", source_dataset_size=10, sample_size=3, event=noise)
    poisson = event("PoissonSampled", sampling_probability=0.2, event=noise)
    twice = event("SelfComposed", event=fixed, count=2)
    read = G.from_event(event("Composed", events=[twice, poisson, event("Composed", events=[noise])]))
    assert read == 2 * G.from_event(fixed) + G.SubsampledGaussian(0.2, 2.0).group(2) + gd.GaussianDP(1.0)
    with pytest.raises(InvalidRequest, match="without replacement"):
        G.from_event(event("PoissonSampled", sampling_probability=0.2, event=twice))


@pytest.mark.usefixtures("known")
def test_the_rate_of_a_fixed_sample_is_rounded_up() -> None:
    noise = event("Gaussian", noise_multiplier=2.0)
    for drawn, rows in ((1, 3), (2, 3), (7, 11), (10, 10)):
        read = G.from_event(
            event("SampledWithoutReplacement", source_dataset_size=rows, sample_size=drawn, event=noise)
        )
        assert drawn == rows or Fraction(repr(read.rate)) >= Fraction(drawn, rows)
    listed = event("PoissonSampled", sampling_probability=0.2, event=event("Composed", events=[noise]))
    assert G.from_event(listed) == G.Sampled(gd.GaussianDP(0.5), 0.2)


@pytest.mark.usefixtures("known")
def test_what_tells_nothing_is_read_as_nothing() -> None:
    gaussian, laplace = event("Gaussian", noise_multiplier=1.0), event("Laplace", noise_multiplier=1.0)
    silent = [event("Gaussian", noise_multiplier=math.inf), event("Laplace", noise_multiplier=math.inf)]
    silent += [event("PoissonSampled", sampling_probability=0.0, event=inner) for inner in (gaussian, laplace)]
    silent += [event("PoissonSampled", sampling_probability=0.5, event=inner) for inner in silent[:2]]
    silent += [event("RandomizedResponse", noise_parameter=0.0, num_buckets=1), event("NoOp")]
    assert [G.from_event(each) for each in silent] == [gd.PureDP(0.0)] * len(silent)


@pytest.mark.usefixtures("known")
def test_noise_on_a_poisson_sample_is_read() -> None:
    laplace = event("Laplace", noise_multiplier=2.0)
    assert G.from_event(event("PoissonSampled", sampling_probability=0.2, event=laplace)) == G.Sampled(
        G.LaplaceLoss(2.0), 0.2
    )


@pytest.mark.slow
@pytest.mark.usefixtures("known")
@pytest.mark.parametrize("chances", [[0.2, 0.6, 0.2], [0.9, 0.0, 0.1], [0.0, 1.0, 0.0], [0.81, 0.18, 0.01]])
@pytest.mark.parametrize("unit", [1.0, 0.7])
def test_a_mixture_is_read_as_a_group_that_is_sampled_no_less(chances: list[float], unit: float) -> None:
    """Both directions of the mixture itself show no more, one release of it and two."""
    shifts, std = [0.0, unit, 2 * unit], 1.3
    facts = {"standard_deviation": std, "sensitivities": shifts, "sampling_probs": chances}
    read = events.from_event(event("MixtureOfGaussians", **facts))
    x = np.linspace(-12, 15, 200_001)
    without, within = (
        sum(p * np.exp(-((x - s) ** 2) / (2 * std**2)) for p, s in zip(law, shifts, strict=True))
        for law in ([1, 0, 0], chances)
    )
    for epsilon in (0.0, 0.3, 1.0):
        for p, q in ((without, within), (within, without)):
            shown = np.maximum(p - math.exp(epsilon) * q, 0).sum() / without.sum()
            assert shown <= float(read.delta(epsilon)) + 1e-9
    assert float((2 * read).delta(0.3)) >= float(read.delta(0.3))


@pytest.mark.usefixtures("known")
def test_the_mixture_of_a_group_is_near_that_group() -> None:
    facts = {"standard_deviation": 2.0, "sensitivities": [0, 1, 2], "sampling_probs": [0.81, 0.18, 0.01]}
    read = events.from_event(event("MixtureOfGaussians", **facts))
    group = G.SubsampledGaussian(0.1, 2.0).group(2)
    assert read == G.MixtureOfGaussians([0, 1, 2], [0.81, 0.18, 0.01], 2.0)
    assert float(group.delta(0.3)) * (1 - 1e-9) <= float(read.delta(0.3)) <= float(group.delta(0.3)) * (1 + 1e-9)
    assert events.from_event(event("MixtureOfGaussians", **facts | {"sensitivities": [0, 0, 0]})) == gd.PureDP(0.0)
    for wrong in ({"standard_deviation": 0.0}, {"sensitivities": [-1, 1, 2]}):
        with pytest.raises(InvalidRequest):
            events.from_event(event("MixtureOfGaussians", **facts | wrong))


@pytest.mark.usefixtures("known")
def test_what_selects_and_what_is_cut_is_read() -> None:
    cut = {"dataset_size": 40, "sampling_probability": 0.1, "truncated_batch_size": 5, "noise_multiplier": 1.5}
    run = event("Gaussian", noise_multiplier=2.0)
    read = {
        G.truncated_poisson(40, 0.1, 5, 1.5): event("TruncatedSubsampledGaussian", **cut),
        gd.ApproxDP(0.5, 1e-6): event("EpsilonDelta", epsilon=0.5, delta=1e-6),
        gd.PureDP(0.5): event("EpsilonDelta", epsilon=0.5, delta=0.0),
        G.DiscreteGaussianLoss(3.0, 2): event("DiscreteGaussian", sigma=3.0, sensitivity=2.0, dimension=None),
        gd.ZCDP(0.125): event("DiscreteGaussian", sigma=3.0, sensitivity=1.5, dimension=4),
        G.ExponentialLoss(0.5): event("ExponentialMechanism", epsilon=0.5),
        G.LaplaceLoss(2.0): event("PermuteAndFlip", epsilon=0.5),
        G.RepeatAndSelect(gd.GaussianDP(0.5), 3.0, 1.0): event("RepeatAndSelect", event=run, mean=3.0, shape=1.0),
    }
    for guarantee, written in read.items():
        assert events.from_event(written) == guarantee
    assert G.to_event(G.truncated_poisson(40, 0.1, 5, 1.5)) == cut
    assert G.to_event(G.MixtureOfGaussians([0, 2], [0.5, 0.5], 3.0)) == (3.0, [0.0, 2.0], [0.5, 0.5])
    with pytest.raises(InvalidRequest, match="add_remove"):
        G.to_event(G.SubsampledGaussian(0.1, 1.0, neighbours="replace"))


@pytest.mark.usefixtures("known")
def test_a_truncated_sample_is_read_for_its_own_number_of_rows_alone() -> None:
    cut = {"dataset_size": 40, "sampling_probability": 0.1, "truncated_batch_size": 5, "noise_multiplier": 1.5}
    step = event("TruncatedSubsampledGaussian", **cut)
    fixed = {"source_dataset_size": 10, "sample_size": 3}
    noise = event("Gaussian", noise_multiplier=2.0)
    for wrong in (
        event("PoissonSampled", sampling_probability=0.2, event=step),
        event("SampledWithoutReplacement", event=step, **fixed),
        event("Composed", events=[step, event("SampledWithoutReplacement", event=noise, **fixed)]),
    ):
        with pytest.raises(InvalidRequest):
            G.from_event(wrong)


@pytest.mark.usefixtures("known")
def test_a_group_on_samples_is_written_with_units_that_are_sampled_no_less() -> None:
    noise, moved, chances = G.to_event(G.SubsampledGaussian(0.3, 1.5).group(3))
    assert (noise, moved) == (1.5, [0, 1, 2, 3])
    exact = [math.comb(3, k) * Fraction(3, 10) ** k * Fraction(7, 10) ** (3 - k) for k in range(4)]
    assert all(Fraction(chance) >= true for chance, true in zip(chances[1:], exact[1:], strict=True))
    assert chances == pytest.approx([float(true) for true in exact], rel=1e-12)


# -- laws of losses ----------------------------------------------------------------------------------------------------


def true_delta(law: tuple[Any, ...], span: float, count: int, epsilon: float) -> mpmath.mpf:
    """Return the profile of `count` independent releases by all their sums."""
    first, chances, infinite = (*law, 0.0)[:3]
    with mpmath.workdps(40):
        finite = mpmath.mpf(0)
        for places in itertools.product(range(len(chances)), repeat=count):
            loss = sum(first + place for place in places) * mpmath.mpf(repr(span))
            weight = mpmath.fprod(mpmath.mpf(repr(chances[place])) for place in places)
            finite += weight * max(mpmath.mpf(0), 1 - mpmath.exp(mpmath.mpf(repr(epsilon)) - loss))
        return finite + 1 - (1 - mpmath.mpf(repr(infinite))) ** count


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.35])
def test_a_law_of_losses_has_the_profile_of_its_sums(count: int, epsilon: float) -> None:
    for laws in ((REMOVED, ADDED), (ADDED, REMOVED), (ADDED, ADDED)):
        truth = max(true_delta(law, 0.1, count, epsilon) for law in laws)
        delta = (count * G.LossDistribution(0.1, *laws)).delta(epsilon)
        assert truth <= float(delta) <= truth * (1 + 1e-9) + 1e-15


def test_the_divergence_is_the_larger_one_and_infinite_with_infinite_losses() -> None:
    finite = G.LossDistribution(0.1, ADDED)
    moment = 0.5 * math.exp(-0.3 * 1.5) + 0.5  # the losses are -0.3 and 0
    assert finite.renyi(2.5) == pytest.approx(max(0.0, math.log(moment) / 1.5), abs=1e-12)
    raised = G.LossDistribution(0.1, (1, [0.5, 0.5]), ADDED)
    assert raised.renyi(3) == pytest.approx(math.log(math.exp(0.2) / 2 + math.exp(0.4) / 2) / 2, rel=1e-12)
    assert G.LossDistribution(0.1, ADDED, REMOVED).renyi(2) == math.inf
    assert raised.cost("pure") == (Fraction(1, 5),)
    assert G.LossDistribution(0.1, ADDED, REMOVED).cost("approx") == (Fraction(1, 5), Fraction(1, 10))
    assert G.LossDistribution(0.1, ADDED, REMOVED).cost("zcdp") is None


def test_what_is_missing_of_a_law_is_an_infinite_loss() -> None:
    short = G.LossDistribution(0.1, (-1, [0.5, 0.0, 0.4999999]))
    assert short.removed.infinite == pytest.approx(1e-7, rel=1e-6)
    assert short.delta(5.0) >= 1e-7 * (1 - 1e-6)
    for wrong in ((0, [0.5, 0.4]), (0, [1.5, -0.5]), (0.5, [1.0]), (0, [math.nan]), (0, [0.5], -0.5)):
        with pytest.raises(InvalidRequest):
            G.LossDistribution(0.1, wrong)


@pytest.mark.parametrize("extra", [(-1, [1e-6]), (-9, [1e-6, *[0.0] * 7])])
def test_what_a_law_has_too_much_of_never_lowers_a_bound(extra: tuple[int, list[float]]) -> None:
    """Chances that are too large for small losses, 1 + 1e-6 in all: once they were subtracted at the loss 0."""
    high = math.exp(0.1) / (1 + math.exp(0.1))
    first, chances = extra
    more = [1 - high, 0.0, high] if first < -1 else [1 - high + chances[0], 0.0, high]
    exact, raised = (
        G.LossDistribution(0.1, (-1, [1 - high, 0.0, high])),
        G.LossDistribution(0.1, (first, [*chances, *more] if first < -1 else more)),
    )
    truth = math.log(high * math.exp(1e-4) + (1 - high) * math.exp(-1e-4)) / 1e-3
    assert truth <= raised.renyi(1.001) <= truth * (1 + 1e-6)
    for epsilon in (1.0, 14.0):
        low = (1000 * exact).delta(epsilon).low
        assert low * (1 - 1e-9) <= (1000 * raised).delta(epsilon) <= low * (1 + 1e-6)


def test_losses_that_no_pair_has_never_lower_a_bound() -> None:
    """E[e^{−L}] is more than 1: once three releases had less with such losses than without them."""
    rng, alone = np.random.default_rng(3), G.GaussianDP(0.8)
    for case in range(60):
        size = int(rng.integers(1, 7))
        law = (int(rng.integers(-9, 2)), rng.dirichlet(np.full(size, 0.5)).tolist())
        losses, epsilon = G.LossDistribution(float(10 ** rng.uniform(-3, 0)), law, law), float(rng.uniform(0, 3))
        assert (alone + 2 * losses).delta(epsilon, "tight") >= alone.delta(epsilon).low * (1 - 1e-9), f"{case}: {law}"


def test_losses_are_raised_as_little_as_a_pair_needs() -> None:
    """Chances of 0.5 at ±0.1 become those of a response: 1/(1 + e^{∓0.1})."""
    raised, exact = G.LossDistribution(0.1, (-1, [0.5, 0.0, 0.5])), G.RandomizedResponseLoss(0.1)
    assert (3 * raised).delta(0.15) == pytest.approx((3 * exact).delta(0.15), rel=1e-9)
    assert (2 * G.LossDistribution(0.1, (-3, [0.5, 0.5]))).delta(0.0) == 0.0  # all are raised to 0


def test_a_distribution_of_losses_is_read_with_both_directions() -> None:
    read = G.from_pld(SimpleNamespace(_pmf_remove=pmf(*REMOVED), _pmf_add=pmf(-3, [0.5, -1e-18, 0.0, 0.5])))
    assert read == G.LossDistribution(0.1, REMOVED, ADDED)
    for wrong in (SimpleNamespace(_pmf_remove=pmf(*ADDED), _pmf_add=pmf(*ADDED, 0.0, False)), 3):
        with pytest.raises(InvalidRequest, match=r"optimistic|not a PrivacyLossDistribution"):
            G.from_pld(wrong)


# -- offsets -----------------------------------------------------------------------------------------------------------


def test_an_offset_is_added_at_every_order() -> None:
    guarantee = G.OffsetZCDP(0.1, 0.5)
    assert guarantee.renyi(3) == pytest.approx(0.8, rel=1e-12)
    assert guarantee.cost("zcdp") == (Fraction(6, 10),)
    assert all(guarantee.renyi(order) <= gd.ZCDP(0.6).renyi(order) * (1 + 1e-12) for order in (1, 1.5, 2, 50))
    assert guarantee.cost("pure") is None
    assert G.OffsetZCDP(0.0, 0.5).cost("pure") == (Fraction(1, 2),)


@pytest.mark.parametrize("size", [2, 3, 5])
def test_the_group_of_an_offset_follows_step_by_step(size: int) -> None:
    """D_a(P‖Q) ≤ ka/(ka − 1)·D_{(ka − 1)/(k − 1)}(P‖R) + D_{ka}(R‖Q), for k − 1 units up to R and one from there."""
    guarantee = G.OffsetZCDP(0.1, 0.5)
    for order in (1.001, 1.5, 4.0, 30.0):
        before, last = guarantee.group(size - 1), guarantee.renyi(size * order)
        step = size * order / (size * order - 1) * before.renyi((size * order - 1) / (size - 1)) + last
        assert guarantee.group(size).renyi(order) >= step * (1 - 1e-12)
