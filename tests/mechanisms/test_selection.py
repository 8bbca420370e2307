"""Choosing among candidates: laws by enumeration, exact privacy, tails, and what is refused. Keys are fixed."""

import copy
import itertools
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st

import gaugedp as gd
from gaugedp.bodies import LpBall, Polytope, scaled
from gaugedp.errors import InvalidRequest
from gaugedp.mechanisms.exponential import bounded_range
from gaugedp.samplers.laws import DiscreteLaplace

ONE = gd.PureDP(1.0)
CUBE = LpBall(4, np.inf, 1.0)
DOMAIN = gd.Domain.of(a=gd.integers(1, 4))
COUNTS = gd.marginals(DOMAIN, "a").sensitivity(gd.PrivacyUnit())
REPLACED = gd.marginals(DOMAIN, "a").sensitivity(gd.PrivacyUnit(neighbours="replace"))
SCORES = np.array([0.0, 0.5, 1.5, 2.0])
INDEX_ONLY = [gd.Exponential, gd.PermuteAndFlip, gd.NoisyMax]
N_DRAWS = 60_000


def fits(found: np.ndarray, chances: np.ndarray) -> float:
    seen, expected = np.bincount(found.astype(int), minlength=len(chances)), chances * len(found)
    return float(scipy.special.chdtrc(len(chances) - 1, ((seen - expected) ** 2 / expected).sum()))


# -- laws ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", INDEX_ONLY)
@pytest.mark.parametrize("body", [CUBE, COUNTS, REPLACED], ids=["cube", "counts", "replaced"])
def test_draws_follow_the_law(kind, body) -> None:
    mechanism = kind.calibrate(body, ONE)
    actual = mechanism.draw(np.round(SCORES * 2), N_DRAWS, gd.research_rng(1))
    assert fits(actual, mechanism.probabilities(np.round(SCORES * 2))) > 1e-4
    control = kind.calibrate(body, gd.PureDP(1.1)).probabilities(np.round(SCORES * 2))
    assert fits(actual, control) < 1e-4


def test_the_exponential_law_by_hand() -> None:
    weights = np.exp(SCORES / 2)
    assert gd.Exponential.calibrate(CUBE, ONE).probabilities(SCORES) == pytest.approx(weights / weights.sum(), abs=1e-4)
    weights = np.exp([0, 1, 3, 4])
    actual = gd.Exponential.calibrate(COUNTS, ONE).probabilities(np.array([0, 1, 3, 4]))
    assert actual == pytest.approx(weights / weights.sum(), rel=1e-12)


def flipped(scores: np.ndarray, rate: float) -> np.ndarray:
    """Permute-and-flip by its definition: all orders, candidate after candidate."""
    heads = np.exp(-rate * (max(scores) - scores))
    chances = np.zeros(len(scores))
    for order in itertools.permutations(range(len(scores))):
        left = 1.0
        for index in order:
            chances[index] += left * heads[index]
            left *= 1 - heads[index]
    return chances / math.factorial(len(scores))


def test_permute_and_flip_by_its_definition() -> None:
    scores = np.array([3, 0, 1, 3])
    actual = gd.PermuteAndFlip.calibrate(COUNTS, gd.PureDP(0.7)).probabilities(scores)
    assert actual == pytest.approx(flipped(scores, 0.7), rel=1e-12)


def laplace_table(scale: float, reach: int) -> tuple[np.ndarray, np.ndarray]:
    values = np.arange(-reach, reach + 1)
    weights = np.exp(-np.abs(values) / scale)
    return values, weights / weights.sum()


def noisy_max_by_hand(scores, scale: float, absolute: bool = False, reach: int = 40) -> np.ndarray:
    values, weights = laplace_table(scale, reach)
    chances = np.zeros(len(scores))
    for places in itertools.product(range(len(values)), repeat=len(scores)):
        noisy = np.asarray(scores) + values[list(places)]
        chances[(np.abs(noisy) if absolute else noisy).argmax()] += weights[list(places)].prod()
    return chances


@pytest.mark.parametrize("absolute", [False, True])
def test_noisy_max_by_enumeration(absolute: bool) -> None:
    body = gd.marginals(gd.Domain.of(a=gd.integers(1, 2)), "a").sensitivity(gd.PrivacyUnit(neighbours="replace"))
    mechanism = gd.NoisyMax.calibrate(body, ONE, absolute=absolute)
    assert mechanism.scale == 2
    scores = [1, -3]
    expected = noisy_max_by_hand(scores, 2.0, absolute, 60)
    assert mechanism.probabilities(np.array(scores)) == pytest.approx(expected, rel=1e-9)
    assert fits(mechanism.draw(np.array(scores), N_DRAWS, gd.research_rng(2)), expected) > 1e-4


def test_the_factor_two_falls_for_counts_alone() -> None:
    assert [gd.NoisyMax.calibrate(body, ONE).scale for body in (COUNTS, REPLACED)] == [1, 2]
    assert gd.NoisyMax.calibrate(COUNTS, ONE, absolute=True).scale == 2
    three = gd.marginals(DOMAIN, "a").sensitivity(gd.PrivacyUnit("pid", max_rows=3))
    assert gd.NoisyMax.calibrate(three, ONE).scale == 3
    signed = gd.workload(np.array([[1, -1, 0, 2], [0, 1, 0, 0]]), DOMAIN).sensitivity(gd.PrivacyUnit())
    assert gd.NoisyMax.calibrate(signed, ONE).scale == 4
    assert gd.NoisyMax.calibrate(gd.prefix_sums(DOMAIN, "a").sensitivity(gd.PrivacyUnit()), ONE).scale == 1


def test_scores_are_rounded_and_the_rounding_is_paid_for() -> None:
    mechanism = gd.Exponential.calibrate(CUBE, ONE)
    assert mechanism.width * mechanism.lattice_step > 1
    assert mechanism.width * mechanism.lattice_step < 1.001
    assert (
        mechanism.in_steps(SCORES + float(mechanism.lattice_step) / 3).tolist() == mechanism.in_steps(SCORES).tolist()
    )


# -- privacy -------------------------------------------------------------------------------------------

moves = st.lists(st.floats(-1, 1), min_size=4, max_size=4)
starts = st.lists(st.floats(-3, 3), min_size=4, max_size=4)


@settings(deadline=None)
@given(starts, moves, st.sampled_from([0.3, 1.0, 4.0]))
def test_no_output_loses_more_than_epsilon(start, move, epsilon: float) -> None:
    first, other = np.array(start), np.array(start) + np.array(move)
    for kind in (gd.Exponential, gd.PermuteAndFlip):
        mechanism = kind.calibrate(CUBE, gd.PureDP(epsilon))
        losses = np.log(mechanism.probabilities(first) / mechanism.probabilities(other))
        assert np.abs(losses).max() <= epsilon * (1 + 1e-9)
        if kind is gd.Exponential:
            assert np.ptp(losses) <= epsilon * (1 + 1e-9)


@settings(deadline=None, max_examples=60)
@given(starts, st.lists(st.sampled_from([-1.0, 1.0, 0.5]), min_size=4, max_size=4), st.sampled_from([0.3, 1.0, 4.0]))
def test_permute_and_flip_tells_no_more_than_laplace_noise(start, move, epsilon: float) -> None:
    mechanism = gd.PermuteAndFlip.calibrate(CUBE, gd.PureDP(epsilon))
    one = mechanism.probabilities(np.array(start))
    other = mechanism.probabilities(np.array(start) + np.array(move))
    for at in np.linspace(-epsilon, epsilon, 9):
        told = np.maximum(one - np.exp(at) * other, 0.0).sum()
        assert told <= mechanism.guarantee.delta(at) * (1 + 1e-9) + 1e-12
    for order in (1.5, 2.0, 8.0):
        divergence = np.log((one**order * other ** (1 - order)).sum()) / (order - 1)
        assert divergence <= mechanism.guarantee.renyi(order) * (1 + 1e-9)


def test_permute_and_flip_has_the_curve_of_laplace_noise() -> None:
    """Two candidates whose scores change places show the middle of the profile."""
    mechanism = gd.PermuteAndFlip.calibrate(LpBall(2, np.inf, 1.0), ONE)
    assert mechanism.guarantee == gd.guarantees.LaplaceLoss(1.0)
    assert mechanism.guarantee.renyi(2) == pytest.approx(math.log(2 * math.e / 3 + math.exp(-2) / 3), rel=1e-9)
    assert mechanism.guarantee.cost("pure") == (1,)
    first, other = (mechanism.probabilities(np.array(row)) for row in ([0.5, -0.5], [-0.5, 0.5]))
    assert np.maximum(first - other, 0.0).sum() == pytest.approx(mechanism.guarantee.delta(0.0), rel=1e-3)
    assert gd.PermuteAndFlip.calibrate(CUBE, gd.PureDP(0.7)).guarantee.cost("pure")[0] <= Fraction(7, 10)


@settings(deadline=None)
@given(st.lists(st.integers(0, 6), min_size=4, max_size=4), st.integers(0, 3))
def test_counts_lose_no_more_than_epsilon(start, cell: int) -> None:
    one = np.array(start)
    other = one + np.eye(4, dtype=int)[cell]
    for kind in INDEX_ONLY:
        mechanism = kind.calibrate(COUNTS, ONE)
        losses = np.log(mechanism.probabilities(one) / mechanism.probabilities(other))
        assert np.abs(losses).max() <= 1 + 1e-7
        assert np.ptp(losses) <= 1 + 1e-7 or kind is not gd.Exponential


@pytest.mark.slow
@pytest.mark.parametrize("absolute", [False, True])
def test_noisy_max_loses_no_more_than_epsilon(absolute: bool) -> None:
    body = gd.marginals(gd.Domain.of(a=gd.integers(1, 3)), "a").sensitivity(gd.PrivacyUnit(neighbours="replace"))
    mechanism = gd.NoisyMax.calibrate(body, ONE, absolute=absolute)
    worst = 0.0
    for start in itertools.product(range(-3, 4), repeat=3):
        one = mechanism.probabilities(np.array(start))
        for move in itertools.product((-1, 0, 1), repeat=3):
            worst = max(worst, np.abs(np.log(one / mechanism.probabilities(np.array(start) + move))).max())
    assert 0.5 < worst <= 1 + 1e-9
    weak = gd.NoisyMax.calibrate(body, gd.PureDP(2.5), absolute=absolute)  # the control: half the noise and less
    gap = np.log(weak.probabilities(np.array([-3, 0, 0])) / weak.probabilities(np.array([-2, -1, -1])))
    assert np.abs(gap).max() > 1


def index_chances(scores: tuple[int, int], scale: float, reach: int = 900) -> np.ndarray:
    """P(|s_0 + η_0| ≥ |s_1 + η_1|), and the rest, by enumeration of both noises on whole numbers."""
    values, weights = laplace_table(scale, reach)
    first = np.abs(scores[0] + values)[:, None] >= np.abs(scores[1] + values)
    return np.array([weights @ first @ weights, weights @ ~first @ weights])


def joint_loss(scale_index: float, scale_value: float, one, other) -> float:
    """The largest loss of (index, value): that of the value is |v − other| − |v − one| over its scale, at the ends."""
    ratio = np.log(index_chances(one, scale_index) / index_chances(other, scale_index))
    apart = np.abs(np.array(one) - other) / scale_value
    return float((np.abs(ratio) + apart).max())


def test_private_max_as_printed_costs_one_and_a_half() -> None:
    """Two scores, B = 1: from (s, s + m) to (s + 1, s + m − 1) the index loses nearly ε, the value ε/2 more."""
    body = gd.marginals(gd.Domain.of(a=gd.integers(1, 2)), "a").sensitivity(gd.PrivacyUnit(neighbours="replace"))
    epsilon = 1.0
    printed = gd.NoisyMax.as_printed(body, gd.PureDP(epsilon))
    assert printed.guarantee == gd.PureDP(1.5)
    assert printed.scale == printed.value_scale == 2
    pairs = [((200, 200 + m), (201, 199 + m)) for m in (5, 20, 80, 320)]
    losses = [joint_loss(2.0, 2.0, *pair) for pair in pairs]
    assert losses == sorted(losses)
    assert 1.49 * epsilon < losses[-1] <= 1.5 * epsilon  # its claim is ε
    ours = gd.NoisyMax.calibrate(body, gd.PureDP(epsilon), with_value=True)
    assert (ours.scale, ours.value_scale) == (4, 2)
    assert 0.98 * epsilon < max(joint_loss(4.0, 2.0, *pair) for pair in pairs) <= epsilon


def test_the_value_has_fresh_noise() -> None:
    mechanism = gd.NoisyMax.calibrate(COUNTS, ONE, with_value=True)
    actual = mechanism.draw(np.array([0, 50, 0, 0]), N_DRAWS, gd.research_rng(3))
    assert (actual[:, 0] == 1).all()
    law = DiscreteLaplace(mechanism.value_scale)
    assert actual[:, 1].mean() == pytest.approx(50, abs=5 * (law.variance / N_DRAWS) ** 0.5)
    assert actual[:, 1].var() == pytest.approx(law.variance, rel=0.05)


GUARANTEES = [gd.PureDP(0.5), gd.ZCDP(0.02), gd.ApproxDP(0.5, 1e-6), gd.ApproxDP(0.5, 0.01), gd.ApproxDP(0.5, 0)]


@pytest.mark.parametrize("guarantee", [*GUARANTEES, gd.guarantees.ExponentialLoss(0.5)], ids=str)
def test_the_range_keeps_the_guarantee_and_no_more(guarantee) -> None:
    actual = bounded_range(guarantee)
    assert actual >= 0.4 - 1e-12
    larger = gd.guarantees.ExponentialLoss(actual * 1.0001)
    kept = gd.guarantees.ExponentialLoss(actual)
    if isinstance(guarantee, gd.ApproxDP):
        assert kept.delta(0.5) <= guarantee.delta_value < larger.delta(0.5)
    elif isinstance(guarantee, gd.ZCDP):
        assert actual == pytest.approx(0.4)
        assert kept.cost("zcdp")[0] <= Fraction(2, 100) < larger.cost("zcdp")[0]
    else:
        assert actual == 0.5


# -- how good ------------------------------------------------------------------------------------------


@settings(deadline=None)
@given(starts, st.sampled_from([0.2, 1.0, 5.0]))
def test_permute_and_flip_is_never_worse(start, epsilon: float) -> None:
    scores = np.array(start)
    gaps = [kind.calibrate(CUBE, gd.PureDP(epsilon)).probabilities(scores) @ (scores.max() - scores)
            for kind in (gd.PermuteAndFlip, gd.Exponential)]  # fmt: skip
    assert gaps[0] <= gaps[1] + 1e-9


N_TAIL = 10**5


@pytest.mark.statistical
@pytest.mark.parametrize("failure", [0.1, 0.01])
@pytest.mark.parametrize("kind", INDEX_ONLY)
def test_the_tail_bounds_hold_and_are_within_their_constants(kind, failure: float) -> None:
    """10⁵ draws, five standard errors. The scores that come nearest to the bound: one good candidate, the rest bad."""
    k = 50
    mechanism = kind.calibrate(LpBall(k, np.inf, 1.0), ONE)
    bound = mechanism.error_bound(failure)
    shares = []
    for gap in np.array([0.35, 0.5, 0.75, 0.99, 1.01]) * bound:
        scores = np.full(k, -gap)
        scores[7] = 0.0
        missed = (mechanism.draw(scores, N_TAIL, gd.research_rng(4)) != 7).mean()
        shares.append(missed)
    assert shares[-1] <= failure + 5 * (failure / N_TAIL) ** 0.5
    assert max(shares) > failure / 2  # so no bound below a third of this one could hold


@pytest.mark.statistical
def test_laplace_noise_stays_within_its_tail() -> None:
    """P(‖noise‖_∞ ≥ log(k/γ)·Δ₁/ε) ≤ γ over 10⁵ draws, and at least γ·(1 − γ)/2."""
    mechanism = gd.Laplace.calibrate(LpBall(20, 1, 1.0), ONE)
    largest = np.abs(mechanism.sample_noise(N_TAIL, gd.research_rng(5))).max(axis=1)
    for failure in (0.2, 0.05, 0.01):
        share = (largest >= mechanism.error_bound(failure)).mean()
        assert failure * (1 - failure) / 2 <= share <= failure + 5 * (failure / N_TAIL) ** 0.5


# -- peeling -------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_peeling_picks_one_after_another() -> None:
    mechanism = gd.Peeling.calibrate(CUBE, gd.PureDP(8.0), k=2)
    scores = np.array([0.0, -2.0, 1.0, 0.5])
    picks, _ = mechanism.split(mechanism.draw(scores, 20_000, gd.research_rng(6)))
    weights = np.exp(float(mechanism.rate) * np.abs(mechanism.in_steps(scores)))
    expected = np.zeros((4, 4))
    for i, j in itertools.permutations(range(4), 2):
        expected[i, j] = weights[i] / weights.sum() * weights[j] / (weights.sum() - weights[i])
    off = ~np.eye(4, dtype=bool)
    seen = np.bincount(picks[:, 0] * 4 + picks[:, 1], minlength=16).reshape(4, 4)
    assert not seen[~off].any()
    assert scipy.special.chdtrc(11, ((seen - expected * 20_000)[off] ** 2 / (expected * 20_000)[off]).sum()) > 1e-4


def test_peeling_is_a_gaussian_and_exponentials() -> None:
    """At k = 10, ε = 1, δ = 1e-6 the printed noise is 115·B, zCDP alone gives 20.3·B; the accountant a little less."""
    body, k = LpBall(1000, np.inf, 0.001), 10
    ours = gd.Peeling.calibrate(body, gd.ApproxDP(1, 1e-6), k=k)
    assert ours.guarantee.epsilon(1e-6) == pytest.approx(1, abs=1e-4)
    assert ours.guarantee.epsilon(1e-6) <= 1
    scale, std = float(ours.step / ours.rate) / 0.001, math.sqrt(ours.law.variance) * float(ours.step) / 0.001
    assert 19 < scale < 20.3
    assert 19 < std < 20.3
    printed = gd.Peeling.calibrate(body, gd.ApproxDP(1, 1e-6), k=k, noise="laplace")
    assert math.sqrt(2) * float(printed.step / printed.rate) / 0.001 == pytest.approx(115.2, rel=1e-3)
    assert printed.guarantee.epsilon(1e-6) < 0.5  # private, and wasteful
    rho = gd.Peeling.calibrate(body, gd.ZCDP(0.05), k=k)
    assert rho.guarantee.cost("zcdp")[0] <= Fraction(5, 100)
    assert float(rho.guarantee.cost("zcdp")[0]) == pytest.approx(0.05)


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("share", [0.25, 1])
def test_pure_picks_and_values_share_epsilon(k: int, share: float) -> None:
    """k picks of range e and, of counts that one row moves by 1 in ℓ₁, values of scale s: k·e + 1/s = ε."""
    peeling = gd.Peeling.calibrate(COUNTS, gd.PureDP(2.0), k=k, share=share)
    values = 0 if peeling.law is None else 1 / peeling.law.scale
    assert k * peeling.epsilon == 2 * Fraction(share)
    assert k * peeling.epsilon + values == 2


def test_the_values_are_as_sensitive_as_the_body() -> None:
    """One row is in one cell: any k counts move by 1 together, in ℓ₁ and ℓ₂."""
    many = gd.Peeling.calibrate(COUNTS, ONE, k=3)
    assert many.law == DiscreteLaplace(Fraction(2))
    assert gd.Peeling.calibrate(LpBall(4, np.inf), ONE, k=3).half_width(0.9) > 2.5 * many.half_width(0.9)
    assert gd.Peeling.calibrate(REPLACED, ONE, k=3).law == DiscreteLaplace(Fraction(4))


@pytest.mark.parametrize("noise", ["gumbel", "laplace"])
def test_large_scores_are_found_with_their_signs(noise: str) -> None:
    mechanism = gd.Peeling.calibrate(LpBall(30, np.inf, 0.01), gd.ApproxDP(1, 1e-6), k=3, noise=noise)
    scores = np.zeros(30)
    scores[[3, 8, 20]] = [50, -60, 70]
    picks, values = mechanism.split(mechanism.sample(scores, gd.research_rng(7)))
    assert sorted(picks) == [3, 8, 20]
    assert np.abs(values - scores[picks]).max() < mechanism.half_width(0.9999)
    on_lattice = values / float(mechanism.lattice_step)
    assert np.array_equal(on_lattice, np.round(on_lattice))


# -- randomized response -------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [2, 3, 10])
def test_responses_follow_the_law_and_estimates_are_unbiased(k: int) -> None:
    mechanism = gd.RandomizedResponse.calibrate(LpBall(k, np.inf), ONE)
    law = mechanism.probabilities(1)
    assert law.sum() == pytest.approx(1)
    assert law[1] / law[0] == pytest.approx(math.e)
    assert fits(mechanism.draw(1, N_DRAWS, gd.research_rng(8)), law) > 1e-4
    counts = np.arange(1, k + 1) * 400
    rows, rng = np.repeat(np.arange(k), counts), gd.research_rng(9)
    runs = np.array([mechanism.estimate(mechanism.respond(rows, rng)) for _ in range(200)])
    assert np.abs(runs.mean(axis=0) - counts).max() < 4.5 * runs.std(axis=0).max() / 200**0.5
    assert runs.sum(axis=1) == pytest.approx(counts.sum())


def test_yes_or_no() -> None:
    mechanism = gd.RandomizedResponse.calibrate(LpBall(1, np.inf), gd.PureDP(2.0))
    assert mechanism.n_categories == 2
    assert mechanism.guarantee == gd.guarantees.RandomizedResponseLoss(2.0)
    assert set(mechanism.respond(np.array([True, False, True])).tolist()) <= {0, 1}
    assert mechanism.sample(1) in (0, 1)


@pytest.mark.statistical
def test_intervals_of_responses_hold() -> None:
    """600 repetitions of 3 intervals at 90 %, four standard errors; they are discrete, hence a little wide."""
    mechanism = gd.RandomizedResponse.calibrate(3, ONE)
    counts, rng = np.array([30, 0, 170]), gd.research_rng(10)
    rows, held = np.repeat(np.arange(3), counts), []
    for _ in range(600):
        low, high = mechanism.interval(mechanism.respond(rows, rng), 0.9)
        held.append((low <= counts) & (counts <= high))
    assert np.mean(held, axis=0).min() >= 0.9 - 4 * 0.3 / 600**0.5
    assert np.mean(held, axis=0).max() <= 0.97


def test_an_interval_by_hand() -> None:
    """n = 4, k = 2, one response 1: the tails are summed by hand for every m."""
    mechanism = gd.RandomizedResponse.calibrate(2, ONE)
    p, q = mechanism.truth, mechanism.other

    def tail(m: int, test) -> float:
        pairs = itertools.product(range(m + 1), range(4 - m + 1))
        chance = lambda n, s, x: math.comb(n, x) * s**x * (1 - s) ** (n - x)  # noqa: E731
        return sum(chance(m, p, x) * chance(4 - m, q, y) for x, y in pairs if test(x + y))

    inside = [m for m in range(5) if tail(m, lambda c: c >= 1) > 0.05 and tail(m, lambda c: c <= 1) > 0.05]
    low, high = mechanism.interval(np.array([0, 0, 1, 0]), 0.9)
    assert (low[1], high[1]) == (min(inside), max(inside))


# -- once, and what is refused -------------------------------------------------------------------------


def test_a_prepared_choice_is_made_once() -> None:
    mechanism = gd.Exponential.calibrate(CUBE, ONE)
    prepared = mechanism.prepare(gd.research_rng(11))
    assert not prepared.is_used
    with pytest.raises(InvalidRequest, match="there are 4 candidates"):
        prepared(np.zeros(3))
    assert prepared(SCORES) == mechanism.draw(SCORES, 1, gd.research_rng(11))[0]
    assert prepared.is_used
    with pytest.raises(InvalidRequest, match="choice has already been made"):
        prepared(SCORES)
    for spread in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="may be made only once"):
            spread(mechanism.prepare())


def test_ties_are_fair() -> None:
    for kind in (gd.Exponential, gd.PermuteAndFlip):
        actual = kind.calibrate(CUBE, ONE).draw(np.zeros(4), N_DRAWS, gd.research_rng(12))
        assert fits(actual, np.full(4, 0.25)) > 1e-4
    noisy = gd.NoisyMax.calibrate(COUNTS, gd.PureDP(50.0)).draw(np.zeros(4), 1000, gd.research_rng(12))
    assert (noisy == 0).mean() > 0.99  # no noise to speak of: the first of equals


@pytest.mark.parametrize("kind", [*INDEX_ONLY, gd.Peeling])
@pytest.mark.parametrize("bad", [np.inf, np.nan, -np.inf, "x", None])
def test_scores_that_are_no_numbers_are_refused(kind, bad) -> None:
    mechanism = kind.calibrate(CUBE, ONE)
    with pytest.raises(InvalidRequest, match="not a finite number"):
        mechanism.sample(np.array([0, bad, 1, 2], dtype=object))


@pytest.mark.parametrize("kind", [*INDEX_ONLY, gd.Peeling])
def test_huge_scores_do_not_overflow(kind) -> None:
    mechanism = kind.calibrate(CUBE, ONE)
    assert int(np.atleast_1d(mechanism.sample(np.array([1e300, -1e300, 0.0, 5.0])))[0]) in range(4)
    many = kind.calibrate(COUNTS, ONE)
    assert int(np.atleast_1d(many.sample(np.array([2**62, 5, 2**200, 7], dtype=object)))[0]) in range(4)


REFUSED = [
    (lambda: gd.Peeling.calibrate(CUBE, ONE, k=5), "`k` is 5, but there are only 4"),
    (lambda: gd.Peeling.calibrate(CUBE, ONE, k=0), "integer of at least 1"),
    (lambda: gd.Peeling.calibrate(CUBE, ONE, noise="cauchy"), "Choose one of"),
    (lambda: gd.Peeling.calibrate(CUBE, ONE, share=1.5), "between 0 and 1"),
    (lambda: gd.Peeling.calibrate(CUBE, ONE, noise="laplace"), "Peeling with Laplace noise does not support"),
    (lambda: gd.Peeling.calibrate(LpBall(100, np.inf), gd.ApproxDP(900, 1e-6), 100, "laplace"), "such a large epsilon"),
    (lambda: gd.Peeling.calibrate(CUBE, gd.GaussianDP(1)), "Peeling does not support"),
    (lambda: gd.Exponential.calibrate(CUBE, gd.GaussianDP(1)), "does not support"),
    (lambda: gd.Exponential.calibrate(CUBE, gd.PureDP(0)), "Pass a positive epsilon or rho"),
    (lambda: gd.NoisyMax.calibrate(CUBE, gd.ApproxDP(1, 1e-6)), "Use PureDP"),
    (lambda: gd.PermuteAndFlip.calibrate(CUBE, gd.ZCDP(1)), "Use PureDP"),
    (lambda: gd.RandomizedResponse.calibrate(1, ONE), "at least 2"),
    (lambda: gd.RandomizedResponse.calibrate(3, gd.PureDP(0)), "epsilon above 0"),
    (lambda: gd.RandomizedResponse.calibrate(3, ONE).respond(np.array([0, 3])), ", but at least one is not"),
    (lambda: gd.RandomizedResponse.calibrate(3, ONE).respond(np.array([0.5])), "must be integers"),
    (lambda: gd.RandomizedResponse.calibrate(3, ONE).estimate(np.array([], dtype=int)), "There are no responses"),
    (lambda: gd.RandomizedResponse.calibrate(3, ONE).interval(np.array([1]), 1.0), "between 0 and 1"),
    (lambda: gd.Exponential.calibrate(CUBE, ONE).error_bound(0.0), "between 0 and 1"),
    (lambda: gd.Exponential.calibrate(CUBE, ONE).draw(SCORES, 0, gd.research_rng(0)), "at least 1"),
    (lambda: gd.Exponential.calibrate(CUBE, ONE).sample(np.array([])), "there are 4 candidates"),
    (lambda: gd.Exponential.calibrate(Polytope.symmetric_hull(np.zeros((2, 1))), ONE), "no unit can change"),
]  # fmt: skip


@pytest.mark.parametrize(("request_", "words"), REFUSED)
def test_what_cannot_be_done_is_refused(request_, words: str) -> None:
    with pytest.raises(InvalidRequest, match=words):
        request_()


@pytest.mark.parametrize("factor", [0.5, 0.9, 1.5, 2.5])
def test_counts_that_are_scaled_are_no_integers(factor: float) -> None:
    """A body of counts times 1.5 moves scores by 1.5: the loss at its worst pair stays within the guarantee."""
    body = scaled(COUNTS, factor)
    for kind in (gd.Exponential, gd.PermuteAndFlip):
        mechanism = kind.calibrate(body, ONE)
        assert mechanism.width * mechanism.lattice_step >= factor
        first, other = factor * np.array([1.0, 0, 0, 0]), np.zeros(4)
        losses = np.log(mechanism.probabilities(first) / mechanism.probabilities(other))
        assert np.abs(losses).max() <= 1


def test_scores_between_whole_numbers_move_no_further_than_their_body() -> None:
    """Rounding to even would send 0.5 to 0 and 1.5 to 2."""
    for kind in (gd.Exponential, gd.PermuteAndFlip, gd.NoisyMax):
        mechanism = kind.calibrate(COUNTS, ONE)
        steps = [mechanism.in_steps(np.array([x, 0, 0, 0])) for x in (0.5, 1.5, 2.5, -0.5, -1.5)]
        assert [int(row[0]) for row in steps] == [1, 2, 3, 0, -1]
