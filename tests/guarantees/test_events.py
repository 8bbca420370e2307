"""Events of dp-accounting read and written; where it is not installed, only the refusal is seen."""

import math
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
    G.OffsetZCDP(0.1, 0.5),
    G.Sampled(G.LaplaceLoss(2.0), 0.25),
    3 * G.Sampled(G.DiscreteLaplaceLoss(2.0, 2) + gd.GaussianDP(0.5), 0.1),
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


@pytest.mark.parametrize(
    "guarantee",
    [10 * gd.GaussianDP(0.2) + 5 * G.LaplaceLoss(4.0), 20 * G.SubsampledGaussian(0.1, 1.0).group(3)],
    ids=["several kinds", "a group on samples"],
)
def test_the_peer_agrees_on_what_was_written(guarantee: G.Guarantee) -> None:
    pytest.importorskip("dp_accounting")
    from dp_accounting.pld import pld_privacy_accountant

    peer = pld_privacy_accountant.PLDAccountant()
    peer.compose(to_event(guarantee))
    assert guarantee.epsilon(1e-5) == pytest.approx(peer.get_epsilon(1e-5), rel=1e-3)


@pytest.mark.parametrize(
    "guarantee", [gd.ApproxDP(1, 1e-6), G.ExponentialLoss(1.0), G.DiscreteGaussianLoss(2.0)], ids=repr
)
def test_what_has_no_event_is_refused(guarantee: G.Guarantee) -> None:
    pytest.importorskip("dp_accounting")
    with pytest.raises(InvalidRequest, match="The epsilon of PureDP"):
        to_event(guarantee)


def test_events_that_are_not_known_are_refused() -> None:
    events = pytest.importorskip("dp_accounting.dp_event")
    nothing = events.PoissonSampledDpEvent(0.1, events.NonPrivateDpEvent())
    for event in (events.NonPrivateDpEvent(), nothing, events.ZCDpEvent(0.1, -0.2), events.GaussianDpEvent(0.0), 3):
        with pytest.raises(InvalidRequest):
            from_event(event)


def test_what_tells_nothing_costs_nothing() -> None:
    events = pytest.importorskip("dp_accounting.dp_event")
    gaussian, laplace = events.GaussianDpEvent(math.inf), events.LaplaceDpEvent(math.inf)
    silent = [gaussian, laplace, events.PoissonSampledDpEvent(0.5, gaussian), events.RandomizedResponseDpEvent(0.0, 1)]
    silent += [events.PoissonSampledDpEvent(0.0, event) for event in (events.GaussianDpEvent(1.0), laplace)]
    silent += [events.SampledWithoutReplacementDpEvent(10, 0, events.GaussianDpEvent(1.0))]
    assert [from_event(event) for event in silent] == [gd.PureDP(0.0)] * len(silent)


def test_a_replaced_record_counts_twice_in_a_sample_without_replacement() -> None:
    events = pytest.importorskip("dp_accounting.dp_event")
    event = events.SampledWithoutReplacementDpEvent(10, 3, events.GaussianDpEvent(2.0))
    read = from_event(event)
    assert read == G.Sampled(gd.GaussianDP(1.0), 0.3, "without_replacement", "replace")
    assert to_event(G.Sampled(gd.GaussianDP(0.5), 0.3, "without_replacement", "replace")) == event


def test_the_losses_of_a_distribution_are_read_as_atoms() -> None:
    pytest.importorskip("dp_accounting")
    from dp_accounting.pld import privacy_loss_distribution as pld

    made = pld.from_gaussian_mechanism(1.0, sampling_prob=0.2, value_discretization_interval=1e-2)
    guarantee, thrice = G.from_pld(made), made.self_compose(3)
    for epsilon in (0.0, 0.3, 2.0):
        for ours, peers in ((guarantee, made), (3 * guarantee, thrice), (G.from_pld(thrice), thrice)):
            delta = peers.get_delta_for_epsilon(epsilon)
            assert delta * (1 - 1e-9) <= float(ours.delta(epsilon)) <= delta * (1 + 1e-6) + 1e-14
    assert G.from_json(G.to_json(guarantee)) == guarantee


def test_a_distribution_that_is_no_upper_bound_is_refused() -> None:
    pytest.importorskip("dp_accounting")
    from dp_accounting.pld import privacy_loss_distribution as pld

    for wrong in (pld.from_laplace_mechanism(1.0, pessimistic_estimate=False, use_connect_dots=False), 3):
        with pytest.raises(InvalidRequest):
            G.from_pld(wrong)


def test_without_the_extra_the_refusal_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dp_accounting.dp_event", None)
    with pytest.raises(MissingExtra, match=r"gaugedp\[events\]"):
        to_event(gd.GaussianDP(1.0))
