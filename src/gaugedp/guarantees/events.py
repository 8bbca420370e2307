"""Conversion between guarantees and dp-accounting (extra `events`)."""

import math
from collections.abc import Callable
from fractions import Fraction
from importlib import import_module
from typing import Any

from gaugedp._internal.validate import decimal, positive
from gaugedp.accountant.rounding import above, down_decimal, up_decimal
from gaugedp.errors import InvalidRequest, MissingExtra
from gaugedp.guarantees.approx import ApproxDP
from gaugedp.guarantees.base import Guarantee
from gaugedp.guarantees.bounded_range import ExponentialLoss
from gaugedp.guarantees.composed import Composed, compose
from gaugedp.guarantees.discrete import DiscreteGaussianLoss, DiscreteLaplaceLoss
from gaugedp.guarantees.finite import FiniteLoss
from gaugedp.guarantees.gaussian import GaussianDP
from gaugedp.guarantees.laplace import LaplaceLoss
from gaugedp.guarantees.loss_distribution import LossDistribution
from gaugedp.guarantees.mixture_of_gaussians import MixtureOfGaussians
from gaugedp.guarantees.offset_zcdp import OffsetZCDP
from gaugedp.guarantees.pure import PureDP
from gaugedp.guarantees.repeat_and_select import RepeatAndSelect
from gaugedp.guarantees.response import RandomizedResponseLoss
from gaugedp.guarantees.sampled import Sampled
from gaugedp.guarantees.subsampled import SubsampledGaussian
from gaugedp.guarantees.truncated_sample import TruncatedPoisson, truncated_poisson
from gaugedp.guarantees.zcdp import ZCDP


def from_event(event: Any) -> Guarantee:
    """Convert an event of dp-accounting into a guarantee.

    Use it to account together for releases of this library and of another one. An event is the description of a
    mechanism in the package dp-accounting. The function needs the extra `events`.

    Parameters
    ----------
    event : DpEvent
        Gaussian or Laplace noise, discrete or not, randomized response, the exponential mechanism, permute-and-flip,
        zCDP with or without an offset, or (ε, δ)-DP; samples, repetitions and compositions of these; mixtures of
        Gaussians, truncated samples and trees of partial sums. Other events raise InvalidRequest.

    Notes
    -----
    The neighbours are those of the event. With Poisson samples, one record is added or removed; with samples without
    replacement, one record is replaced. A replaced record moves a sum by twice the clipping norm, so the mechanism on
    such a sample, and everything composed with it, is accounted for two records.
    """
    name = type(event).__name__
    if name not in _READERS or not isinstance(event, _events().DpEvent):
        raise InvalidRequest(f"The event {name} is not supported.", f"Use one of: {', '.join(sorted(_READERS))}.")
    return _READERS[name](event)


def to_event(guarantee: Guarantee) -> Any:
    """Convert a guarantee into an event of dp-accounting.

    Use it to account for a release of this library in dp-accounting. The event implies the guarantee, and noise is
    rounded down. ε-DP becomes randomized response, and the group guarantee of Gaussian noise on a Poisson sample
    becomes a mixture of Gaussians. The function needs the extra `events`.

    Guarantees without such an event raise InvalidRequest: (ε, δ)-DP with δ > 0, Rényi curves, bounded range, discrete
    Gaussian noise, finite losses, and other groups.
    """
    events = _events()
    if isinstance(guarantee, Composed):
        parts = [(to_event(part), count) for part, count in guarantee.parts]
        repeated = [event if count == 1 else events.SelfComposedDpEvent(event, count) for event, count in parts]
        return events.ComposedDpEvent(repeated)
    if not any(vars(guarantee).values()):
        return events.NoOpDpEvent()
    if type(guarantee) not in _WRITERS:
        raise InvalidRequest(
            f"{guarantee!r} has no counterpart among the events of dp-accounting.",
            "Export Gaussian, Laplace, randomized response or zCDP guarantees.",
        )
    return _WRITERS[type(guarantee)](events, guarantee)


def from_pld(distribution: Any) -> LossDistribution:
    """Convert a `PrivacyLossDistribution` of dp-accounting into a guarantee.

    It needs the extra `events`, and works with dp-accounting 0.4 to 0.6. A distribution that is not pessimistic raises
    InvalidRequest, because its profile is no upper bound.
    """
    try:
        removed, added = distribution._pmf_remove, distribution._pmf_add
        laws = [_losses(removed), _losses(added)]
        span, is_upper = removed._discretization, removed._pessimistic_estimate and added._pessimistic_estimate
    except AttributeError:
        raise InvalidRequest(
            f"{type(distribution).__name__} is not a PrivacyLossDistribution.", "Pass one from dp-accounting."
        ) from None
    if not is_upper:
        raise InvalidRequest(
            "The privacy loss distribution is an optimistic estimate, which may understate the loss.",
            "Create it with pessimistic_estimate=True.",
        )
    return LossDistribution(float(span), *laws)


def _losses(law: Any) -> tuple[int, list[float], float]:
    dense = law.to_dense_pmf()
    chances = [max(0.0, float(chance)) for chance in dense._probs]  # a Fourier transform leaves some below 0
    return int(dense._lower_loss), chances, float(dense._infinity_mass)


def _events() -> Any:
    try:
        return import_module("dp_accounting.dp_event")
    except ImportError:
        raise MissingExtra.needed_for("Reading and writing dp-accounting events", "events") from None


def _of_noise(noise: float, make: Callable[[float], Guarantee]) -> Guarantee:
    """Return the guarantee, for infinite noise PureDP(0)."""
    return PureDP(0.0) if noise == math.inf else make(noise)


def _inverse(noise: float) -> Fraction:
    positive(noise=noise)
    return 1 / decimal(noise)


def _response(event: Any) -> Guarantee:
    noise, size = Fraction(event.noise_parameter), int(event.num_buckets)
    if size == 1:
        return PureDP(0.0)
    truth, lie = 1 - noise + noise / size, noise / size
    neither = 1 - truth - lie
    return FiniteLoss([truth, lie, neither], [lie, truth, neither])


def _is_replaced(event: Any) -> bool:
    inner = [event.event] if hasattr(event, "event") else getattr(event, "events", ())
    return type(event).__name__ == "SampledWithoutReplacementDpEvent" or any(map(_is_replaced, inner))


def _composed(event: Any) -> Guarantee:
    """Return the composition; parts next to a sample without replacement count for two records."""
    parts = [(from_event(part), _is_replaced(part)) for part in event.events]
    any_replaced = any(is_replaced for _, is_replaced in parts)
    return compose((part.group(2) if any_replaced and not is_replaced else part, 1) for part, is_replaced in parts)


def _poisson(event: Any) -> Guarantee:
    if _is_replaced(event.event):
        raise InvalidRequest(
            "The event samples twice: without replacement, from a Poisson sample. No bound for this is known here.",
            "Use only one kind of sampling.",
        )
    if event.sampling_probability == 0:
        return PureDP(0.0)
    rate, noise = event.sampling_probability, from_event(event.event)
    if type(event.event).__name__ == "GaussianDpEvent" and isinstance(noise, GaussianDP):
        return SubsampledGaussian(rate, event.event.noise_multiplier)
    return _on_sample(noise, rate)


def _without_replacement(event: Any) -> Guarantee:
    rate = up_decimal(Fraction(event.sample_size, event.source_dataset_size))
    return _on_sample(from_event(event.event).group(2), rate, "without_replacement", "replace")


def _mixture(event: Any) -> Guarantee:
    if max(event.sensitivities, default=0) == 0 or event.standard_deviation == math.inf:
        return PureDP(0.0)
    return MixtureOfGaussians(event.sensitivities, event.sampling_probs, event.standard_deviation)


def _tree(event: Any) -> Guarantee:
    steps = event.step_counts
    n_nodes = int(max(steps if isinstance(steps, list | tuple) else [steps])).bit_length()  # above or at one leaf
    return _of_noise(event.noise_multiplier, lambda noise: n_nodes * GaussianDP(up_decimal(_inverse(noise))))


def _discrete_gaussian(event: Any) -> Guarantee:
    sensitivity, dimension = event.sensitivity, event.dimension
    if dimension in (None, 1) and sensitivity == int(sensitivity):
        return DiscreteGaussianLoss(event.sigma, int(sensitivity))
    return ZCDP(up_decimal((decimal(sensitivity) * _inverse(event.sigma)) ** 2 / 2))


def _on_sample(guarantee: Guarantee, rate: float, *sampling: str) -> Guarantee:
    return guarantee if guarantee == PureDP(0.0) else compose([(Sampled(guarantee, rate, *sampling), 1)])


def _told(events: Any, loss: float) -> Any:
    if loss > 700:
        raise InvalidRequest(
            f"The epsilon of PureDP({loss:g}) is too large for dp-accounting.", "Export an epsilon of at most 700."
        )
    return events.RandomizedResponseDpEvent(2 / (1 + math.exp(min(loss, 700.0))) * (1 - 2.0**-50), 2)


def _to_sampled(events: Any, guarantee: Sampled) -> Any:
    inner, rate = to_event(guarantee.guarantee), decimal(guarantee.rate)
    if guarantee.sampling == "poisson":
        return events.PoissonSampledDpEvent(guarantee.rate, inner)
    return events.SampledWithoutReplacementDpEvent(rate.denominator, rate.numerator, inner)


def _to_mixture(events: Any, guarantee: SubsampledGaussian) -> Any:
    """Return noise on a Poisson sample; for a group a mixture with slightly higher rates."""
    if guarantee.neighbours == "replace":
        raise InvalidRequest(
            f"{guarantee!r} protects replaced units, but events of dp-accounting protect added or removed ones.",
            'Export the guarantee for neighbours="add_remove".',
        )
    rate, noise, size = guarantee.rate, guarantee.noise_multiplier, guarantee.size
    if size == 1:
        return events.PoissonSampledDpEvent(rate, events.GaussianDpEvent(noise))
    exact = decimal(rate)
    chances = [above(math.comb(size, k) * exact**k * (1 - exact) ** (size - k)) for k in range(1, size + 1)]
    return events.MixtureOfGaussiansDpEvent(noise, list(range(size + 1)), [1 - math.fsum(chances), *chances])


_READERS: dict[str, Callable[[Any], Guarantee]] = {
    "NoOpDpEvent": lambda event: PureDP(0.0),  # noqa: ARG005
    "GaussianDpEvent": lambda event: _of_noise(
        event.noise_multiplier, lambda noise: GaussianDP(up_decimal(_inverse(noise)))
    ),
    "LaplaceDpEvent": lambda event: _of_noise(event.noise_multiplier, LaplaceLoss),
    "DiscreteLaplaceDpEvent": lambda event: DiscreteLaplaceLoss(
        down_decimal(_inverse(event.noise_parameter)), event.sensitivity
    ),
    "RandomizedResponseDpEvent": _response,
    "ZCDpEvent": lambda event: OffsetZCDP(event.rho, event.xi) if event.xi else ZCDP(event.rho),
    "PoissonSampledDpEvent": _poisson,
    "MixtureOfGaussiansDpEvent": _mixture,
    "SampledWithoutReplacementDpEvent": _without_replacement,
    "TruncatedSubsampledGaussianDpEvent": lambda event: truncated_poisson(
        event.dataset_size, event.sampling_probability, event.truncated_batch_size, event.noise_multiplier
    ),
    "EpsilonDeltaDpEvent": lambda event: ApproxDP(event.epsilon, event.delta) if event.delta else PureDP(event.epsilon),
    "DiscreteGaussianDpEvent": _discrete_gaussian,
    "ExponentialMechanismDpEvent": lambda event: ExponentialLoss(event.epsilon),
    "PermuteAndFlipDpEvent": lambda event: LaplaceLoss(down_decimal(_inverse(event.epsilon))),
    "SingleEpochTreeAggregationDpEvent": _tree,
    "RepeatAndSelectDpEvent": lambda event: RepeatAndSelect(from_event(event.event), event.mean, event.shape),
    "SelfComposedDpEvent": lambda event: from_event(event.event) * event.count,
    "ComposedDpEvent": _composed,
}

_WRITERS: dict[type[Guarantee], Callable[[Any, Any], Any]] = {
    GaussianDP: lambda events, guarantee: events.GaussianDpEvent(down_decimal(1 / decimal(guarantee.mu))),
    LaplaceLoss: lambda events, guarantee: events.LaplaceDpEvent(guarantee.scale),
    PureDP: lambda events, guarantee: _told(events, guarantee.epsilon_value),
    RandomizedResponseLoss: lambda events, guarantee: _told(events, guarantee.epsilon_value),
    ZCDP: lambda events, guarantee: events.ZCDpEvent(guarantee.rho),
    OffsetZCDP: lambda events, guarantee: events.ZCDpEvent(guarantee.rho, guarantee.xi),
    DiscreteLaplaceLoss: lambda events, guarantee: events.DiscreteLaplaceDpEvent(
        up_decimal(1 / decimal(guarantee.scale)), guarantee.sensitivity
    ),
    SubsampledGaussian: _to_mixture,
    TruncatedPoisson: lambda events, guarantee: events.TruncatedSubsampledGaussianDpEvent(
        dataset_size=guarantee.n_rows,
        sampling_probability=guarantee.rate,
        truncated_batch_size=guarantee.batch_size,
        noise_multiplier=guarantee.noise_multiplier,
    ),
    MixtureOfGaussians: lambda events, guarantee: events.MixtureOfGaussiansDpEvent(
        guarantee.noise_std, list(guarantee.shifts), list(map(float, guarantee.chances))
    ),
    Sampled: _to_sampled,
}
