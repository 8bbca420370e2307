"""Conversion of guarantees from and to events of dp-accounting (the extra `events`)."""

import math
from collections.abc import Callable
from fractions import Fraction
from importlib import import_module
from typing import Any

from gaugedp._validate import decimal, positive
from gaugedp.accountant.rounding import down_decimal, up_decimal
from gaugedp.errors import InvalidRequest, MissingExtra
from gaugedp.guarantees.base import Guarantee
from gaugedp.guarantees.composed import Composed, compose
from gaugedp.guarantees.discrete import DiscreteLaplaceLoss
from gaugedp.guarantees.finite import FiniteLoss
from gaugedp.guarantees.gaussian import GaussianDP
from gaugedp.guarantees.laplace import LaplaceLoss
from gaugedp.guarantees.pure import PureDP
from gaugedp.guarantees.response import RandomizedResponseLoss
from gaugedp.guarantees.subsampled import SubsampledGaussian
from gaugedp.guarantees.zcdp import ZCDP


def from_event(event: Any) -> Guarantee:
    """Return the guarantee of a dp-accounting `event`.

    Gaussian, Laplace, discrete Laplace, randomized response, Poisson-sampled Gaussian, zCDP, their compositions and
    nothing are known; InvalidRequest for others. Neighbours are those the event was written for: sampled ones differ by
    one record added or removed.
    """
    name = type(event).__name__
    if name not in _READERS or not isinstance(event, _events().DpEvent):
        raise InvalidRequest(f"A {name} has no guarantee here.", f"Use one of: {', '.join(sorted(_READERS))}.")
    return _READERS[name](event)


def to_event(guarantee: Guarantee) -> Any:
    """Return the dp-accounting event that says as much as `guarantee`, with noise rounded down.

    ε-DP becomes randomized response. InvalidRequest where there is no such event: (ε, δ)-DP with δ > 0, Rényi curves,
    bounded range, discrete Gaussian and finite losses, groups.
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
            f"{guarantee!r} has no event.", "Export guarantees of Gaussian, Laplace or response kind, or zCDP."
        )
    return _WRITERS[type(guarantee)](events, guarantee)


def _noise(number: float) -> Fraction:
    positive(noise=number)
    return decimal(number)


def _events() -> Any:
    try:
        return import_module("dp_accounting.dp_event")
    except ImportError:
        raise MissingExtra.needed_for("Reading and writing dp-accounting events", "events") from None


def _response(event: Any) -> Guarantee:
    noise, size = Fraction(event.noise_parameter), int(event.num_buckets)
    truth, lie = 1 - noise + noise / size, noise / size
    neither = 1 - truth - lie
    return FiniteLoss([truth, lie, neither], [lie, truth, neither])


def _told(events: Any, loss: float) -> Any:
    """Return randomized response between two, lying a little less than e^−ε allows."""
    if loss > 700:
        raise InvalidRequest(f"PureDP({loss:g}) has no event.", "Export a guarantee of at most 700.")
    return events.RandomizedResponseDpEvent(2 / (1 + math.exp(min(loss, 700.0))) * (1 - 2.0**-50), 2)


def _sampled(event: Any) -> Guarantee:
    noise = from_event(event.event)
    if not isinstance(noise, GaussianDP):
        raise InvalidRequest("Only Gaussian noise can be Poisson-sampled here.", "Sample a GaussianDpEvent.")
    return SubsampledGaussian(event.sampling_probability, event.event.noise_multiplier)


def _zcdp(event: Any) -> Guarantee:
    if event.xi:
        raise InvalidRequest("zCDP with an offset xi has no guarantee here.", "Use xi = 0.")
    return ZCDP(event.rho)


_READERS: dict[str, Callable[[Any], Guarantee]] = {
    "NoOpDpEvent": lambda event: PureDP(0.0),  # noqa: ARG005
    "GaussianDpEvent": lambda event: GaussianDP(up_decimal(1 / _noise(event.noise_multiplier))),
    "LaplaceDpEvent": lambda event: LaplaceLoss(event.noise_multiplier),
    "DiscreteLaplaceDpEvent": lambda event: DiscreteLaplaceLoss(
        down_decimal(1 / _noise(event.noise_parameter)), event.sensitivity
    ),
    "RandomizedResponseDpEvent": _response,
    "ZCDpEvent": _zcdp,
    "PoissonSampledDpEvent": _sampled,
    "SelfComposedDpEvent": lambda event: from_event(event.event) * event.count,
    "ComposedDpEvent": lambda event: compose((from_event(part), 1) for part in event.events),
}

_WRITERS: dict[type[Guarantee], Callable[[Any, Any], Any]] = {
    GaussianDP: lambda events, guarantee: events.GaussianDpEvent(down_decimal(1 / decimal(guarantee.mu))),
    LaplaceLoss: lambda events, guarantee: events.LaplaceDpEvent(guarantee.scale),
    PureDP: lambda events, guarantee: _told(events, guarantee.epsilon_value),
    RandomizedResponseLoss: lambda events, guarantee: _told(events, guarantee.epsilon_value),
    ZCDP: lambda events, guarantee: events.ZCDpEvent(guarantee.rho),
    DiscreteLaplaceLoss: lambda events, guarantee: events.DiscreteLaplaceDpEvent(
        up_decimal(1 / decimal(guarantee.scale)), guarantee.sensitivity
    ),
    SubsampledGaussian: lambda events, guarantee: events.PoissonSampledDpEvent(
        guarantee.rate, events.GaussianDpEvent(guarantee.noise_multiplier)
    ),
}
