"""Events of dp-accounting read and written; where it is not installed, only the refusal is seen."""

import sys

import pytest

import gaugedp as gd
from gaugedp.errors import InvalidRequest, MissingExtra
from gaugedp.guarantees import from_event, to_event

G = gd.guarantees
EXACT = [
    gd.GaussianDP(0.5),
    G.LaplaceLoss(3.0),
    gd.ZCDP(0.1),
    G.DiscreteLaplaceLoss(10.0, 3),
    G.SubsampledGaussian(0.01, 1.1),
    3 * gd.GaussianDP(0.25) + 2 * G.LaplaceLoss(2.0) + 100 * G.SubsampledGaussian(0.01, 1.0),
    gd.PureDP(0.0),
]


@pytest.mark.parametrize("guarantee", EXACT, ids=repr)
def test_a_guarantee_comes_back_from_its_event(guarantee: G.Guarantee) -> None:
    pytest.importorskip("dp_accounting")
    assert from_event(to_event(guarantee)) == guarantee


@pytest.mark.parametrize("guarantee", [gd.PureDP(0.3), G.RandomizedResponseLoss(2.0)], ids=repr)
def test_a_pure_guarantee_comes_back_as_randomized_response_and_never_smaller(guarantee: G.Guarantee) -> None:
    pytest.importorskip("dp_accounting")
    back = from_event(to_event(guarantee))
    for epsilon in (0.0, 0.1, 0.25):
        assert guarantee.delta(epsilon) * (1 - 1e-12) <= back.delta(epsilon) <= guarantee.delta(epsilon) * (1 + 1e-9)


def test_many_buckets_are_read_as_their_two_rows() -> None:
    events = pytest.importorskip("dp_accounting.dp_event")
    guarantee = from_event(events.RandomizedResponseDpEvent(0.5, 4))
    assert guarantee == G.FiniteLoss([0.625, 0.125, 0.25], [0.125, 0.625, 0.25])


def test_the_peer_agrees_on_what_was_written() -> None:
    pytest.importorskip("dp_accounting")
    from dp_accounting.pld import pld_privacy_accountant

    guarantee = 10 * gd.GaussianDP(0.2) + 5 * G.LaplaceLoss(4.0)
    peer = pld_privacy_accountant.PLDAccountant()
    peer.compose(to_event(guarantee))
    assert guarantee.epsilon(1e-5) == pytest.approx(peer.get_epsilon(1e-5), rel=1e-3)


@pytest.mark.parametrize(
    "guarantee", [gd.ApproxDP(1, 1e-6), G.ExponentialLoss(1.0), G.DiscreteGaussianLoss(2.0)], ids=repr
)
def test_what_has_no_event_is_refused(guarantee: G.Guarantee) -> None:
    pytest.importorskip("dp_accounting")
    with pytest.raises(InvalidRequest, match="has no event"):
        to_event(guarantee)


def test_events_that_are_not_known_are_refused() -> None:
    events = pytest.importorskip("dp_accounting.dp_event")
    laplace = events.PoissonSampledDpEvent(0.1, events.LaplaceDpEvent(1.0))
    for event in (events.NonPrivateDpEvent(), laplace, events.ZCDpEvent(0.1, 0.2), events.GaussianDpEvent(0.0), 3):
        with pytest.raises(InvalidRequest):
            from_event(event)


def test_without_the_extra_the_refusal_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dp_accounting.dp_event", None)
    with pytest.raises(MissingExtra, match=r"gaugedp\[events\]"):
        to_event(gd.GaussianDP(1.0))
