"""Sampled mechanisms: against made-up mechanisms on all samples, closed forms with 50 digits, and Gaussian noise."""

import itertools
import math
import random
from collections.abc import Iterable
from fractions import Fraction

import mpmath
import pytest

from gaugedp import guarantees as g
from gaugedp.errors import InvalidRequest
from tests.guarantees import finite, oracles
from tests.guarantees.signed import assert_upper

Law = tuple[Fraction, ...]
REPLACED = {"sampling": "without_replacement", "neighbours": "replace"}
EPSILONS = [0.0, 0.05, 0.3, 1.0]


# -- made-up mechanisms: a law of the answer for every sample ----------------------------------------------------------


def made_up_law(rng: random.Random) -> Law:
    parts = [rng.choice([1, 2, 5, 20]) for _ in range(3)]
    return tuple(Fraction(part, sum(parts)) for part in parts)


def mixed(laws: Iterable[tuple[Fraction, Law]]) -> Law:
    """Return the law of an answer for a random sample."""
    weighted = [[weight * chance for chance in law] for weight, law in laws]
    return tuple(map(sum, zip(*weighted, strict=True)))


def worst(pairs: list[finite.Laws]) -> g.ApproxDP:
    """Return the least (ε, δ) at ε = 0.4 that holds for all pairs, the δ rounded up."""
    return g.ApproxDP(0.4, float(max(finite.delta(pair, 0.4) for pair in pairs)) * (1 + 1e-12))


def poisson(rng: random.Random, rate: Fraction) -> tuple[list[finite.Laws], finite.Laws]:
    """Return the laws on neighbouring samples of three units, and on a Poisson sample of all and of the first two."""
    samples = [frozenset(s) for size in range(4) for s in itertools.combinations(range(3), size)]
    answer = {sample: made_up_law(rng) for sample in samples}
    neighbours = [(answer[s], answer[s | {u}]) for s in samples for u in range(3) if u not in s]

    def law(units: frozenset[int]) -> Law:
        chances = [(s, rate ** len(s) * (1 - rate) ** (len(units) - len(s))) for s in samples if s <= units]
        return mixed((chance, answer[s]) for s, chance in chances)

    return neighbours, (law(frozenset({0, 1, 2})), law(frozenset({0, 1})))


def fixed_size(rng: random.Random, size: int) -> tuple[list[finite.Laws], finite.Laws]:
    """Return the laws on neighbouring samples of `size` out of four units; 4 stands for what replaces the first."""
    answer = {frozenset(s): made_up_law(rng) for s in itertools.combinations(range(5), size)}
    neighbours = [(answer[s], answer[t]) for s, t in itertools.combinations(answer, 2) if len(s & t) == size - 1]

    def law(units: tuple[int, ...]) -> Law:
        samples = list(itertools.combinations(units, size))
        return mixed((Fraction(1, len(samples)), answer[frozenset(s)]) for s in samples)

    return neighbours, (law((0, 1, 2, 3)), law((4, 1, 2, 3)))


@pytest.mark.many
@pytest.mark.parametrize("seed", range(60))
def test_no_mechanism_on_a_sample_shows_more(seed: int) -> None:
    """Neither on a Poisson sample nor on one of a fixed size."""
    rng = random.Random(seed)
    rate, size = Fraction(rng.randint(1, 19), 20), rng.randint(1, 3)
    samples = ((poisson(rng, rate), float(rate), {}), (fixed_size(rng, size), size / 4, REPLACED))
    for (neighbours, laws), share, more in samples:
        for guarantee in (worst(neighbours), g.PureDP(max(map(finite.loss, neighbours)))):
            assert_never_less(g.Sampled(guarantee, share, **more), laws)


def assert_never_less(sampled: g.Guarantee, laws: finite.Laws) -> None:
    for count in (1, 2, 3):
        shown = finite.product(*[laws] * count)
        for epsilon in EPSILONS:
            assert (count * sampled).delta(epsilon) >= finite.delta(shown, epsilon)
    for order in (1.5, 2.0, 7.0):
        assert sampled.renyi(order) >= finite.renyi(laws, order)


# -- the worst mechanisms: nothing less can be said --------------------------------------------------------------------


def response(loss: str) -> finite.Laws:
    """Return randomized response with e^ε = `loss`."""
    ratio = Fraction(loss)
    return (ratio / (1 + ratio), 1 / (1 + ratio)), (1 / (1 + ratio), ratio / (1 + ratio))


@pytest.mark.parametrize("rate", ["0.01", "0.3", "0.9"])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_randomized_response_on_a_poisson_sample_shows_as_much(rate: str, count: int) -> None:
    with_unit, without = response("3")
    share = Fraction(rate)
    laws = mixed([(1 - share, without), (share, with_unit)]), without
    sampled = count * g.Sampled(g.PureDP(math.log(3)), float(rate))
    for epsilon in EPSILONS:
        assert_upper(sampled.delta(epsilon), finite.delta(finite.product(*[laws] * count), epsilon), 1e-9, 1e-14)


@pytest.mark.parametrize("rate", [0.01, 0.3, 0.9])
def test_a_pure_guarantee_stays_pure(rate: float) -> None:
    with mpmath.workdps(50):
        truth = mpmath.log(1 + mpmath.mpf(repr(rate)) * mpmath.expm1(mpmath.mpf(2)))
    for facts in ({}, REPLACED):
        sampled = g.Sampled(g.PureDP(2), rate, **facts)
        for loss in (sampled.epsilon(0.0), sampled.renyi(math.inf), float(sampled.cost("pure")[0])):
            assert_upper(loss, truth, 1e-12)
        assert_upper((100 * sampled).epsilon(0.0), 100 * truth, 1e-12)


# -- closed forms with 50 digits ---------------------------------------------------------------------------------------


def laplace_delta(shift: float, epsilon: mpmath.mpf) -> mpmath.mpf:
    return max(mpmath.mpf(0), -mpmath.expm1((epsilon - mpmath.mpf(shift)) / 2))


INNER = {
    "laplace": (g.LaplaceLoss(0.5), lambda epsilon: laplace_delta(2.0, epsilon)),
    "gaussian": (g.GaussianDP(1.25), lambda epsilon: oracles.gaussian_delta(1.25, epsilon)),
    "response": (g.RandomizedResponseLoss(1.5), lambda epsilon: oracles.response_delta(1.5, epsilon)),
}


def true_delta(profile, rate: float, epsilon: float) -> mpmath.mpf:
    """The larger of both directions: q·δ(log(1 + (e^ε − 1)/q)), and D·δ(log(q·e^ε/D)) with D = 1 − (1 − q)·e^ε > 0."""
    with mpmath.workdps(50):
        q, grown = mpmath.mpf(repr(rate)), mpmath.exp(mpmath.mpf(repr(epsilon)))
        share = 1 - (1 - q) * grown
        added = share * profile(mpmath.log(q * grown / share)) if share > 0 else mpmath.mpf(0)
        return max(q * profile(mpmath.log(1 + (grown - 1) / q)), added)


@pytest.mark.parametrize("rate", [1e-4, 0.01, 0.3, 0.99])
@pytest.mark.parametrize("kind", INNER)
def test_single_releases_are_their_closed_forms(kind: str, rate: float) -> None:
    guarantee, profile = INNER[kind]
    for facts in ({}, REPLACED):
        sampled = g.Sampled(guarantee, rate, **facts)
        for epsilon in (0.0, 1e-5, 0.01, 0.5, 1.4):
            truth = true_delta(profile, rate, epsilon)
            assert_upper(sampled.delta(epsilon), truth, 1e-10, 1e-17)
            if 0 < truth < true_delta(profile, rate, 0.0) * 0.99:
                assert_upper(sampled.epsilon(float(truth)), epsilon * (1 - 1e-10), 1e-6)


def laplace_profile(gamma: mpmath.mpf) -> mpmath.mpf:
    """sup P(S) − γ·Q(S) of two Laplace laws of scale 1 whose centres are 1 apart."""
    if gamma <= mpmath.exp(-1):
        return 1 - gamma
    if gamma < 1:
        return 1 - gamma + gamma * laplace_delta(1, -mpmath.log(gamma))
    return laplace_delta(1, mpmath.log(gamma))


def twice_laplace(q: mpmath.mpf, epsilon: float, remove: bool) -> mpmath.mpf:
    """The mean, over the loss of a first release, of the profile of a second at what is left of ε, at any real one."""
    grown = mpmath.exp(mpmath.mpf(epsilon))

    def second(gamma: mpmath.mpf) -> mpmath.mpf:
        if remove:
            return 1 - gamma if gamma <= 1 - q else q * laplace_profile((gamma - 1 + q) / q)
        share = 1 - (1 - q) * gamma
        return share * laplace_profile(q * gamma / share) if share > 0 else mpmath.mpf(0)

    def at(x: mpmath.mpf) -> mpmath.mpf:
        ratio = 1 - q + q * mpmath.exp(min(max(2 * x - 1, -1), 1))
        return ratio * second(grown / ratio) if remove else second(grown * ratio)

    ends = at(mpmath.mpf(-1)) / 2 + at(mpmath.mpf(2)) * mpmath.exp(-1) / 2  # x < 0 and x > 1 without the unit
    return ends + mpmath.quad(lambda x: at(x) * mpmath.exp(-x) / 2, [mpmath.mpf(k) / 24 for k in range(25)])


@pytest.mark.parametrize("rate", [pytest.param(0.01, marks=pytest.mark.thorough), 0.3])
def test_two_releases_of_laplace_noise_are_their_integral(rate: float) -> None:
    guarantee = 2 * g.Sampled(g.LaplaceLoss(1), rate)
    with mpmath.workdps(20):
        for epsilon in (0.001, 0.02, 0.2):
            truth = max(twice_laplace(mpmath.mpf(repr(rate)), epsilon, remove) for remove in (True, False))
            assert_upper(guarantee.delta(epsilon), truth * (1 - mpmath.mpf(1e-7)), 3e-3)


@pytest.mark.parametrize(
    ("rate", "noise", "count"),
    [
        *(pytest.param(*each, marks=pytest.mark.thorough) for each in ((0.01, 1.0, 100), (0.0064, 1.0, 782))),
        (0.3, 2.0, 10),
        (0.2, 0.5, 30),
    ],
)
def test_gaussian_noise_is_what_its_own_guarantee_says(rate: float, noise: float, count: int) -> None:
    own, sampled = (
        count * each for each in (g.SubsampledGaussian(rate, noise), g.Sampled(g.GaussianDP(1 / noise), rate))
    )
    truth = own.epsilon(1e-5)
    assert truth.low <= sampled.epsilon(1e-5) <= truth * (1 + 5e-4)
    assert own.delta(1.0).low <= sampled.delta(1.0) <= own.delta(1.0) * (1 + 5e-3)


# -- what is sampled, and how ------------------------------------------------------------------------------------------


def test_a_whole_release_may_be_sampled() -> None:
    release = g.PureDP(0.5) + g.GaussianDP(0.5)
    sampled = 20 * g.Sampled(release, 0.1)
    assert 0.3 * release.epsilon(1e-5) < sampled.epsilon(1e-5) < 2 * release.epsilon(1e-5)
    rare = g.Sampled(release, 1e-3)
    assert release.delta(0.1) * 1e-3 * 0.1 < rare.delta(1e-3) < release.delta(0.0) * 1e-3


def test_a_rare_leak_stays_in_compositions() -> None:
    for facts in ({}, REPLACED):
        sampled = 20 * g.Sampled(g.ApproxDP(0.5, 1e-3), 0.1, **facts)
        leaks = 1 - (1 - 1e-4) ** 20
        assert sampled.delta(1.5) >= leaks
        assert sampled.epsilon(leaks * 0.99) == math.inf
        assert sampled.epsilon(leaks * 1.01) < 2


@pytest.mark.slow
def test_a_curve_may_be_sampled_and_gaussian_noise_keeps_it() -> None:
    rho, rate = 0.08, 0.2
    sampled = 10 * g.Sampled(g.ZCDP(rho), rate)
    gaussian = 10 * g.SubsampledGaussian(rate, 1 / math.sqrt(2 * rho))
    assert gaussian.epsilon(1e-5) < sampled.epsilon(1e-5) < 1.6 * gaussian.epsilon(1e-5)


@pytest.mark.slow
def test_a_fixed_size_never_tells_less_than_a_poisson_sample() -> None:
    for inner in (g.PureDP(1), g.GaussianDP(1)):
        first, other = (20 * g.Sampled(inner, 0.1, **facts) for facts in ({}, REPLACED))
        assert first.epsilon(1e-5).low <= other.epsilon(1e-5) <= 1.2 * first.epsilon(1e-5)


@pytest.mark.parametrize("inner", [g.PureDP(1), g.GaussianDP(1)], ids=repr)
@pytest.mark.parametrize("facts", [{}, REPLACED], ids=["poisson", "fixed"])
def test_the_pairs_have_the_profiles_of_the_theorems(inner: g.Guarantee, facts: dict[str, str]) -> None:
    """At γ ≥ 1 that of the closed form; below, the complements of that of the other order: theorems 1 and 2."""
    sampled = g.Sampled(inner, 0.2, **facts)
    (removed, r_left), (added, a_left) = [pair_atoms(sampled, remove) for remove in (True, False)]
    for ratio in (1.05, 1.2, 1.6):
        truth = float(sampled.delta(math.log(ratio)))
        assert profile_of(removed, r_left, ratio) == pytest.approx(truth, rel=1e-3, abs=1e-12)
        below = 1 - 1 / ratio + profile_of(added, a_left, ratio) / ratio
        assert profile_of(removed, r_left, 1 / ratio) == pytest.approx(below, rel=1e-3)
        if facts:
            assert profile_of(added, a_left, ratio) == pytest.approx(truth, rel=1e-3, abs=1e-12)


def pair_atoms(sampled: g.Guarantee, remove: bool) -> tuple[list[tuple[float, float]], float]:
    pair = sampled.dominating_pair(remove)
    return list(zip(*pair.row[0][:2], strict=True)), float(pair.impossible)


def profile_of(atoms: list[tuple[float, float]], impossible: float, ratio: float) -> float:
    finite_part = math.fsum(weight * max(0.0, 1 - ratio * math.exp(-loss)) for loss, weight in atoms)
    return impossible + (1 - impossible) * finite_part


def test_a_group_may_be_sampled_by_its_chain() -> None:
    inner = g.Grouped(g.ApproxDP(0.1, 1e-9), 2)
    assert g.Sampled(inner, 0.1).delta(0.5) <= inner.delta(0.5)


def test_all_units_and_none() -> None:
    inner = g.LaplaceLoss(2) + g.ZCDP(0.1)
    for facts in ({}, REPLACED):
        assert 3 * g.Sampled(inner, 1, **facts) == 3 * inner
        assert g.Sampled(inner, 1, **facts).renyi(3.0) == inner.renyi(3.0)
        assert 5 * g.Sampled(inner, 0, **facts) == g.PureDP(0)
        nothing = g.Sampled(g.ApproxDP(1, 0.5), 0, **facts)
        assert (nothing.epsilon(0.0), nothing.delta(0.0), nothing.renyi(math.inf), nothing.cost("zcdp")) == (
            0,
            0,
            0,
            (0,),
        )


def test_costs_are_those_of_the_theorem_or_of_the_mechanism() -> None:
    sampled = g.Sampled(g.ApproxDP(1, 1e-6), 0.1)
    loss, delta = map(float, sampled.cost("approx"))
    assert (loss, delta) == pytest.approx((math.log1p(0.1 * math.expm1(1)), 1e-7))
    assert sampled.cost("zcdp") is None
    assert g.Sampled(g.GaussianDP(0.5), 0.1).cost("gaussian") == g.GaussianDP(0.5).cost("gaussian")
    pure = g.Sampled(g.LaplaceLoss(0.5), 0.1)
    assert float(pure.cost("zcdp")[0]) == pytest.approx(math.log1p(0.1 * math.expm1(2)) ** 2 / 2)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: g.Sampled(0.5, 0.1), "Pass the guarantee of the mechanism"),
        (lambda: g.Sampled(g.PureDP(1), 1.5), "`rate` is"),
        (lambda: g.Sampled(g.PureDP(1), -0.1), "rate"),
        (lambda: g.Sampled(g.PureDP(1), 0.1, "shuffled"), "'poisson', 'without_replacement'"),
        (lambda: g.Sampled(g.PureDP(1), 0.1, "poisson", "replace"), "Use neighbours='add_remove'"),
        (lambda: g.Sampled(g.PureDP(1), 0.1, "without_replacement"), "Use neighbours='replace'"),
    ],
)
def test_what_is_not_proved_is_refused(make, says: str) -> None:
    with pytest.raises(InvalidRequest, match=says):
        make()
