"""The ways to a tight answer agree where two of them run, and say so where none does."""

import math

import numpy as np
import pytest

from gaugedp import guarantees as g
from gaugedp.accountant import tight
from gaugedp.accountant.atoms import explicit_distribution
from gaugedp.accountant.residues import residues
from gaugedp.accountant.total import Total
from gaugedp.guarantees.losses.subsampled import SubsampledPrivacyLoss

MIXED = 40 * g.LaplaceLoss(7) + 25 * g.RandomizedResponseLoss(0.11) + 3 * g.GaussianDP(0.2) + g.ExponentialLoss(0.3)


def total(guarantee: g.Guarantee) -> Total:
    return Total(guarantee.components())


def by_contour(guarantee: g.Guarantee, epsilon: float) -> tight.Certified:
    """Return the bracket of δ by the contour, whatever else would do."""
    parts = total(guarantee)
    order = tight.saddle(parts, epsilon)
    actual = tight._refined(parts, order, epsilon, -1.0)
    return tight._exponentials(actual)


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.1, 2.0])
@pytest.mark.parametrize(
    "guarantee",
    [
        6 * g.RandomizedResponseLoss(0.5),
        3 * g.DiscreteLaplaceLoss(2.0, 3) + 4 * g.RandomizedResponseLoss(0.25),
        2 * g.FiniteLoss([0.5, 0.3, 0.2], [0.2, 0.3, 0.5]) + g.RandomizedResponseLoss(0.4),
    ],
    ids=repr,
)
def test_the_contour_agrees_with_all_sums_written_out(guarantee: g.Guarantee, epsilon: float) -> None:
    exact = explicit_distribution(total(guarantee))
    assert exact is not None
    truth = tight._exponentials(exact.log_delta(epsilon))
    actual = by_contour(guarantee, epsilon)
    assert actual.low <= truth.high
    assert truth.low <= actual.high


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
@pytest.mark.parametrize(
    "guarantee", [12 * g.LaplaceLoss(2), 5 * g.LaplaceLoss(3) + g.LaplaceLoss(1) + 2 * g.RandomizedResponseLoss(0.3)],
    ids=repr,
)  # fmt: skip
def test_the_contour_agrees_with_the_residues(guarantee: g.Guarantee, epsilon: float) -> None:
    exact = residues(total(guarantee))
    assert exact is not None
    truth = tight._exponentials(exact.log_delta(epsilon))
    actual = by_contour(guarantee, epsilon)
    assert actual.low <= truth.high
    assert truth.low <= actual.high
    assert truth.high <= truth.low * (1 + 1e-9)


def test_padding_is_an_upper_bound_that_is_seen() -> None:
    """Few unlike responses with a Laplace: too many sums to write out, no lattice, and nothing that makes M fall."""
    parts = [g.RandomizedResponseLoss(0.1 + 0.013 * math.sqrt(k)) for k in range(24)] + [g.LaplaceLoss(4)]
    guarantee = g.compose((part, 1) for part in parts)
    contour = tight._contour(total(guarantee), 8.0, 1.0, math.log(1e-6))
    assert contour.padding > 0
    bracket = tight._without_padding(contour, 1.0, contour.log_delta(1.0))
    assert bracket.low < bracket.high
    whole = guarantee.delta(1.0, "tight")
    assert 0 < whole.low < whole
    assert math.exp(bracket.low) <= whole
    assert whole.low <= math.exp(bracket.high)
    assert whole <= guarantee.delta(1.0, "rdp")


@pytest.mark.slow
@pytest.mark.parametrize("n", [10**6, 2 * 10**6, 3 * 10**6, 10**7])
def test_many_steps_at_tiny_rates_do_not_fall_back(n: int) -> None:
    """The order that Rényi likes best lies where moments explode; the contour is taken at a smaller one then."""
    bound = (n * g.SubsampledGaussian(0.03 / math.sqrt(n), 1.0)).epsilon(1e-6)
    assert bound.method == "tight"
    assert 0.146 < bound.low <= bound < 0.1471
    assert bound <= 1.003 * bound.low


def test_a_release_is_appended_to_a_contour() -> None:
    """The appended contour speaks of the same total: the brackets meet, and both are narrow."""
    before = tight.contour_for(total(MIXED), 1e-6)
    assert before is not None
    more = 2 * g.LaplaceLoss(5) + g.GaussianDP(0.1)
    appended = tight.solved(before.plus(total(more)), math.log(1e-6), 50.0)
    anew = (MIXED + more).epsilon(1e-6, "tight")
    assert appended.low <= anew
    assert anew.low <= appended.high
    assert appended.high <= appended.low * (1 + 1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(
    "curve", [g.ZCDP(0.1), g.RenyiDP([2, 8], [0.1, 0.4]), g.Grouped(g.LaplaceLoss(4), 3)], ids=repr
)
def test_what_has_a_curve_only_falls_back_to_it_and_says_so(curve: g.Guarantee) -> None:
    guarantee = g.LaplaceLoss(3) + curve
    for bound in (guarantee.epsilon(1e-6, "tight"), guarantee.delta(1.5, "tight")):
        assert bound.method == "rdp"
        assert bound.low == 0
    assert guarantee.epsilon(1e-6, "tight") == guarantee.epsilon(1e-6, "rdp")


def test_directions_are_taken_together() -> None:
    """A composition is as bad as its worse direction, never the worse of each part."""
    guarantee = 50 * g.SubsampledGaussian(0.05, 0.9)
    sides = [tight.tight_delta(Total(guarantee.components(), removed), 1.0) for removed in (1, 0)]
    assert guarantee.delta(1.0, "tight") == max(side.high for side in sides)
    assert sides[0].low > sides[1].high


def test_the_low_end_near_the_largest_loss_is_below_the_truth() -> None:
    """Just below the largest loss δ falls steeply, so that the last places of the losses count (truth to 60 digits)."""
    guarantee = 200 * g.PureDP(0.0137) + g.LaplaceLoss(0.37)
    for epsilon, truth in ((5.44270270269726, 6.633217e-72), (5.4427026972600006, 6.63332196e-69)):
        bound = guarantee.delta(epsilon, "tight")
        assert bound.low <= truth <= bound


@pytest.mark.slow
def test_a_hopeless_question_is_answered_by_one() -> None:
    bound = (10**6 * g.SubsampledGaussian(0.99999999999999, 0.1)).delta(10)
    assert bound == 1
    assert bound.low <= 1


def test_a_sampling_rate_near_one_keeps_the_digits_of_the_line() -> None:
    """|M(c + it)/M(c)| for add, q next to 1 and small σ; the truth to 40 digits."""
    losses = SubsampledPrivacyLoss([(0.9999999999984948, 0.1363, 0, 1)], [1])
    line = losses.line(2.7928e-4, np.array([4.72978]))
    assert math.exp(line.real[0]) == pytest.approx(0.37897073380353113, rel=1e-12)
