"""Mixtures of mechanisms and of Gaussians, truncated samples, the best of K runs: beside enumerations."""

import itertools
import math
import random
import re
from fractions import Fraction

import mpmath
import numpy as np
import pytest

import gaugedp as gd
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees.repeat_and_select import log_stopping
from gaugedp.guarantees.sampled import poisson_curve

G = gd.guarantees
EPSILONS = (0.0, 0.2, 1.0, 2.5)


def made_up(rng: random.Random, n: int = 3) -> tuple[Fraction, ...]:
    parts = [rng.choice([1, 2, 5, 20]) for _ in range(n)]
    return tuple(Fraction(part, sum(parts)) for part in parts)


def shown(p: np.ndarray, q: np.ndarray, epsilon: float, width: float = 1.0) -> float:
    """Return the larger Σ max(p − e^ε·q, 0)·width of both directions."""
    return float(max(np.maximum(x - math.exp(epsilon) * y, 0).sum() for x, y in ((p, q), (q, p))) * width)


def powers(law: tuple[Fraction, ...], times: int) -> np.ndarray:
    return np.array([float(math.prod(each)) for each in itertools.product(law, repeat=times)])


# -- one of several mechanisms -----------------------------------------------------------------------------------------


def test_mixtures_on_one_lattice_are_summed_over_a_period() -> None:
    """A response of 0.2 or of 0.1: the sums are whole tenths, of which every one has a probability."""
    whole = 300 * G.Mixture([0.25, 0.75], [G.PureDP(0.2), G.PureDP(0.1)])
    chances, one = np.ones(1), np.zeros(5)
    for places, weight, loss in (((0, 4), 0.25, 0.2), ((1, 3), 0.75, 0.1)):
        one[list(places)] = weight / (1 + math.exp(loss)), weight / (1 + math.exp(-loss))
    for _ in range(300):
        chances = np.convolve(chances, one)
    losses = (np.arange(len(chances)) - 600) / 10
    for epsilon in (0.05, 2.0, 7.25):
        exact, delta = float(np.maximum(-np.expm1(epsilon - losses), 0.0) @ chances), whole.delta(epsilon, "tight")
        assert exact * (1 - 1e-12) <= delta <= exact * (1 + 1e-10)
        assert exact * (1 - 1e-10) <= delta.low <= exact * (1 + 1e-12)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("times", [1, 2, 3])
def test_a_published_draw_shows_the_mean_and_a_hidden_one_no_more(seed: int, times: int) -> None:
    rng = random.Random(seed)
    chance = Fraction(rng.randint(1, 9), 10)
    laws = [(made_up(rng), made_up(rng)) for _ in range(2)]
    mixture = G.Mixture([chance, 1 - chance], [G.FiniteLoss(*pair) for pair in laws])
    weights = (chance, 1 - chance)
    published = [
        powers(tuple(w * x for w, pair in zip(weights, laws, strict=True) for x in pair[i]), times) for i in (0, 1)
    ]
    hidden = [
        powers(tuple(weights[0] * x + weights[1] * y for x, y in zip(laws[0][i], laws[1][i], strict=True)), times)
        for i in (0, 1)
    ]
    for epsilon in EPSILONS:
        bound = (times * mixture).delta(epsilon)
        exact = shown(*published, epsilon)
        assert bound.low - 1e-12 <= max(exact, bound.low)
        assert exact * (1 - 1e-9) <= float(bound)
        if times > 1:
            assert float(bound) <= exact * (1 + 1e-9) + 1e-12
        assert shown(*hidden, epsilon) <= float(bound) + 1e-12


@pytest.mark.parametrize("times", [1, 3, 40])
def test_equal_parts_are_the_mechanism(times: int) -> None:
    step = G.SubsampledGaussian(0.3, 1.2)
    mixture = G.Mixture([0.25, 0.75], [step, step])
    assert float((times * mixture).epsilon(1e-5)) == pytest.approx(float((times * step).epsilon(1e-5)), rel=1e-9)
    assert mixture.renyi(3.0) == pytest.approx(step.renyi(3.0), rel=1e-12)


def test_the_costs_of_a_mixture_are_the_largest_and_the_mean_of_delta() -> None:
    mixture = G.Mixture([0.25, 0.75], [gd.ApproxDP(0.5, 0.01), gd.ApproxDP(0.25, 0.02)])
    assert mixture.cost("approx") == (Fraction(1, 2), Fraction(7, 400))
    assert G.Mixture([0.5, 0.5], [gd.ZCDP(0.1), gd.ZCDP(0.3)]).cost("zcdp") == (Fraction(3, 10),)
    assert mixture.cost("zcdp") is None
    assert G.Mixture([0.5, 0.5], [gd.PureDP(1), gd.ZCDP(0.3)]).cost("pure") is None
    assert mixture.group(3) == G.Mixture(
        [0.25, 0.75], [gd.ApproxDP(0.5, 0.01).group(3), gd.ApproxDP(0.25, 0.02).group(3)]
    )


def test_a_part_with_a_leak_leaks_as_often_as_it_is_drawn() -> None:
    mixture = G.Mixture([0.125, 0.875], [G.FiniteLoss([1, 0], [0, 1]), gd.PureDP(0.1)])
    assert float(mixture.delta(5.0)) == pytest.approx(0.125, rel=1e-9)
    assert float((2 * mixture).delta(5.0)) == pytest.approx(1 - 0.875**2, rel=1e-9)


def test_what_is_no_mixture_is_refused() -> None:
    for chances, parts in (
        ([0.5], [gd.PureDP(1)]),
        ([0.5, 0.5], [gd.PureDP(1)]),
        ([1], [3]),
        ([-0.5, 1.5], [gd.PureDP(1)] * 2),
    ):
        with pytest.raises(InvalidRequest):
            G.Mixture(chances, parts)


@pytest.mark.slow
@pytest.mark.parametrize("delta", [1e-6, 1e-10, 1e-30])
def test_an_epsilon_is_not_read_off_where_a_closed_profile_has_lost_its_digits(delta: float) -> None:
    """A shift of a thousandth: the profile of each part has no closed form beyond some ε."""
    parts = [G.MixtureOfGaussians([0, 1], [0.5, 0.5], 1000.0), G.MixtureOfGaussians([0, 1], [0.4, 0.6], 1000.0)]
    epsilon = float(G.Mixture([0.5, 0.5], parts).epsilon(delta))
    assert min(float(part.epsilon(delta)) for part in parts) <= epsilon
    with mpmath.workdps(50):
        shown = sum(sampled_profile(mpmath.mpf(rate), 1 / mpmath.mpf(1000), epsilon) for rate in ("0.5", "0.6")) / 2
    assert shown <= delta * (1 + 1e-9)


def sampled_profile(rate: mpmath.mpf, mu: mpmath.mpf, epsilon: float) -> mpmath.mpf:
    """Return q·δ(ε′) of Gaussian noise, e^{ε′} = 1 + (e^ε − 1)/q."""
    inner = mpmath.log1p(mpmath.expm1(epsilon) / rate)
    near, far = mu / 2 - inner / mu, -mu / 2 - inner / mu
    return rate * (mpmath.ncdf(near) - mpmath.exp(inner) * mpmath.ncdf(far))


def test_compositions_of_gaussian_parts_are_means_over_how_often_each_was_drawn() -> None:
    small, large, times = 0.001, 0.01, 64
    exact = sum(
        math.comb(times, k)
        * 0.5**times
        * float(gd.GaussianDP(math.sqrt(k * small**2 + (times - k) * large**2)).delta(0))
        for k in range(times + 1)
    )
    bound = (times * G.Mixture([0.5, 0.5], [gd.GaussianDP(small), gd.GaussianDP(large)])).delta(0)
    assert exact * (1 - 1e-9) <= bound <= exact * (1 + 1e-6)


def test_a_part_that_hardly_ever_happens_still_counts_at_delta_zero() -> None:
    rare = Fraction(1, 10**400)
    assert float((2 * G.Mixture([rare, 1 - rare], [gd.PureDP(5), gd.PureDP(1)])).epsilon(0)) >= 10


@pytest.mark.parametrize("chance", [1e-20, 1e-12])
def test_a_rare_part_is_not_lost_in_the_curve(chance: float) -> None:
    with mpmath.workdps(50):
        exact = mpmath.log1p(mpmath.mpf(repr(chance)) / (1 + mpmath.mpf(repr(chance))) * mpmath.expm1("1.44"))
    curve = G.Mixture([chance, 0.5, 0.5], [gd.GaussianDP(1.2), gd.PureDP(0), gd.PureDP(0)]).renyi(2)
    assert exact <= curve <= exact * (1 + mpmath.mpf("1e-11"))
    apart = G.MixtureOfGaussians([0, 1e-9, 1.2], [0.5, 0.5, chance], 1.0).renyi(2)
    assert exact <= apart <= exact * (1 + mpmath.mpf("1e-3")) + mpmath.mpf("1e-17")


def test_mixtures_with_the_same_chances_have_an_order_in_a_sum() -> None:
    first, second = (G.truncated_poisson(100, 0.1, 20, std) for std in (1.0, 2.0))
    assert first + second == second + first


# -- mixtures of Gaussians, and replaced units -------------------------------------------------------------------------


def gaussian_mixture(x: np.ndarray, shifts: list[float], chances: list[float], std: float) -> np.ndarray:
    laws = [p * np.exp(-((x - s) ** 2) / (2 * std**2)) for p, s in zip(chances, shifts, strict=True)]
    return np.asarray(sum(laws) / (std * math.sqrt(2 * math.pi)))


@pytest.mark.parametrize(
    ("shifts", "chances", "std"),
    [([0.0, 1.0, 2.0], [0.2, 0.6, 0.2], 1.0), ([1.0, 3.5], [0.9, 0.1], 2.0), ([0.0, 0.5], [0.99, 0.01], 0.7)],
)
def test_a_mixture_of_gaussians_shows_what_its_densities_do(
    shifts: list[float], chances: list[float], std: float
) -> None:
    x = np.linspace(-14 * std, 4 + 14 * std, 100_001)
    within, without = gaussian_mixture(x, shifts, chances, std), gaussian_mixture(x, [0.0], [1.0], std)
    mixture = G.MixtureOfGaussians(shifts, chances, std)
    for epsilon in EPSILONS:
        exact = shown(within, without, epsilon, x[1] - x[0])
        assert float(mixture.delta(epsilon)) == pytest.approx(exact, rel=1e-6, abs=1e-13)
        assert mixture.delta(epsilon) >= exact * (1 - 1e-6)


@pytest.mark.slow
def test_compositions_of_a_mixture_that_samples_one_unit_are_those_of_the_sample() -> None:
    mixture, sample = G.MixtureOfGaussians([0, 1], [0.8, 0.2], 1.0), G.SubsampledGaussian(0.2, 1.0)
    for times in (2, 20):
        ours, exact = float((times * mixture).epsilon(1e-5)), float((times * sample).epsilon(1e-5))
        assert exact * (1 - 1e-9) <= ours <= exact * (1 + 1e-4)
    for order in (1.5, 2.0, 8.0):
        assert mixture.renyi(order) >= sample.renyi(order) * (1 - 1e-12)


def test_a_shift_without_a_chance_is_none_and_equal_shifts_are_one() -> None:
    plain = G.MixtureOfGaussians([0, 1], [0.5, 0.5], 2)
    assert G.MixtureOfGaussians([1, 7, 0, 1], [0.25, 0, 0.5, 0.25], 2) == plain
    assert float((3 * G.MixtureOfGaussians([0], [1], 2)).epsilon(0)) == 0
    for wrong in (([0, 1], [1], 2), ([-1, 1], [0.5, 0.5], 2), ([0, 1], [0.5, 0.5], 0)):
        with pytest.raises(InvalidRequest):
            G.MixtureOfGaussians(*wrong)


@pytest.mark.parametrize(("rate", "std"), [(0.2, 1.0), (0.8, 0.6)])
def test_one_unit_replaced_moves_both_laws(rate: float, std: float) -> None:
    x = np.linspace(-2 - 14 * std, 2 + 14 * std, 100_001)
    laws = [gaussian_mixture(x, [0.0, sign], [1 - rate, rate], std) for sign in (1.0, -1.0)]
    guarantee = G.SubsampledGaussian(rate, std, neighbours="replace")
    for epsilon in EPSILONS:
        exact = shown(*laws, epsilon, x[1] - x[0])
        assert float(guarantee.delta(epsilon)) == pytest.approx(exact, rel=1e-6)
    assert float(guarantee.delta(1.0)) > float(G.SubsampledGaussian(rate, std).delta(1.0))
    assert guarantee.group(2).size == 2
    whole = float(G.SubsampledGaussian(1, 2.0, neighbours="replace").delta(1))
    assert whole == pytest.approx(float(gd.GaussianDP(1.0).delta(1)), rel=1e-9)
    with pytest.raises(InvalidRequest):
        G.SubsampledGaussian(rate, std, neighbours="add")


# -- truncated Poisson samples -----------------------------------------------------------------------------------------


def kept_sums(values: list[float], rate: float, most: int) -> dict[float, float]:
    """Return the sums over the kept units with their chances, all samples and cuts counted."""
    sums: dict[float, float] = {}
    for drawn in itertools.product((0, 1), repeat=len(values)):
        units = [v for v, is_drawn in zip(values, drawn, strict=True) if is_drawn]
        chance = rate ** len(units) * (1 - rate) ** (len(values) - len(units))
        kept = list(itertools.combinations(units, min(most, len(units))))
        for each in kept:
            sums[sum(each)] = sums.get(sum(each), 0.0) + chance / len(kept)
    return sums


@pytest.mark.parametrize(("rate", "most", "std"), [(0.5, 2, 1.0), (0.5, 1, 0.6), (0.9, 2, 0.5), (0.3, 3, 1.0)])
@pytest.mark.parametrize("others", [[-1.0, -1.0, -1.0], [-1.0, -1.0], [-1.0, 0.5, 1.0], [0.0, 0.0, 0.0]])
def test_no_table_shows_more_on_a_truncated_sample(rate: float, most: int, std: float, others: list[float]) -> None:
    x = np.linspace(-5 - 12 * std, 5 + 12 * std, 40_001)
    tables = [kept_sums(values, rate, most) for values in ([*others, 1.0], others)]
    laws = [gaussian_mixture(x, list(sums), list(sums.values()), std) for sums in tables]
    guarantee = G.truncated_poisson(len(others) + 1, rate, most, std)
    for epsilon in EPSILONS:
        assert shown(*laws, epsilon, x[1] - x[0]) <= float(guarantee.delta(epsilon)) * (1 + 1e-6) + 1e-12


@pytest.mark.parametrize(("rate", "most", "std"), [(0.5, 2, 1.0), (0.5, 1, 0.6), (0.9, 4, 0.5), (0.3, 3, 1.0)])
def test_a_truncated_sample_protects_removals_and_additions(rate: float, most: int, std: float) -> None:
    """A table of four units, next to all that have one more or one less, in both orders."""
    x = np.linspace(-5 - 12 * std, 5 + 12 * std, 40_001)
    for units in ([-1.0, -1.0, -1.0, -1.0], [-1.0, -1.0, -1.0, 1.0], [-1.0, 0.5, 1.0, 1.0], [0.0, 0.0, 0.0, 1.0]):
        guarantee = G.truncated_poisson(n_units=4, rate=rate, batch_size=most, noise_multiplier=std)
        for neighbour in (units[:-1], [*units, 1.0], [*units, -1.0]):
            laws = [
                gaussian_mixture(x, list(s), list(s.values()), std)
                for s in (kept_sums(values, rate, most) for values in (units, neighbour))
            ]
            for epsilon in EPSILONS:
                assert shown(*laws, epsilon, x[1] - x[0]) <= float(guarantee.delta(epsilon)) * (1 + 1e-6) + 1e-12


def test_additions_to_a_truncated_sample_need_more_than_removals_from_it() -> None:
    """Nothing is cut from four units, and something from five: a table of four is not one that is never cut."""
    x = np.linspace(-20, 20, 40_001)
    sums = [kept_sums(values, 0.95, 4) for values in ([-1.0] * 4, [*[-1.0] * 4, 1.0])]
    laws = [gaussian_mixture(x, list(s), list(s.values()), 0.5) for s in sums]
    exact = shown(*laws, 1.0, x[1] - x[0])
    assert float(G.SubsampledGaussian(0.95, 0.5).delta(1.0)) < exact
    assert exact <= float(G.truncated_poisson(4, 0.95, 4, 0.5).delta(1.0))


def test_a_truncated_sample_of_distant_others_shows_all_of_it_but_for_one_part() -> None:
    """With the others at −1 and one of them kept, a cut is told apart, and u − y is 2."""
    others, std = [-1.0], 0.02
    x = np.linspace(-3, 3, 100_001)
    laws = [
        gaussian_mixture(x, list(s), list(s.values()), std)
        for s in (kept_sums([*others, 1.0], 0.5, 1), kept_sums(others, 0.5, 1))
    ]
    exact = shown(*laws, 0.5, x[1] - x[0])
    assert float(G.truncated_poisson(2, 0.5, 1, 1.0).delta(0.5)) < exact
    assert exact <= float(G.Mixture([0.5, 0.5], [gd.GaussianDP(200), gd.GaussianDP(200)]).delta(0.5))


@pytest.mark.parametrize("cut", [(1, 0.9, 2, 2.0), (2, 0.9, 3, 1.0), (4, 0.5, 2, 1.0), (100, 0.1, 20, 0.01)])
def test_a_truncated_sample_says_nothing_of_groups(cut: tuple[int, float, int, float]) -> None:
    """The tables of a group have other numbers of rows, of which more are cut."""
    step = G.truncated_poisson(*cut)
    read = [G.from_json(G.to_json(each)) for each in (step, 3 * step, step + gd.PureDP(0.1))]
    assert step.group(1) == step == read[0]
    assert read[0].delta(1.0) == step.delta(1.0)
    wrapped = [G.Mixture([0.5, 0.5], [step, gd.PureDP(1)]), G.RepeatAndSelect(step, 2.0, 1.0)]
    for each in (step, 3 * step, step + gd.PureDP(0.1), *read, *wrapped, 2 * wrapped[1]):
        for size in (2, 3, 64):
            with pytest.raises(InvalidRequest, match="No bound for groups is available for"):
                each.group(size)
    with pytest.raises(InvalidRequest, match="No bound for groups is available for"):
        G.Grouped(step, 2)
    with pytest.raises(InvalidRequest):
        G.from_dict({"kind": "Grouped", "guarantee": step.to_dict(), "size": 2})
    for sampling in (("poisson", "add_remove"), ("without_replacement", "replace")):
        with pytest.raises(
            InvalidRequest, match="does not hold for such neighbours"
        ):  # samples have other numbers of rows, too
            G.Sampled(step, 0.5, *sampling)


def test_a_group_on_a_truncated_sample_sees_more_than_one_that_is_never_cut() -> None:
    """Nothing is cut from one or two rows of which two are kept, and something from three."""
    x = np.linspace(-30, 30, 60_001)
    sums = [kept_sums(values, 0.9, 2) for values in ([-1.0], [-1.0, 1.0, 1.0])]
    laws = [gaussian_mixture(x, list(s), list(s.values()), 2.0) for s in sums]
    assert float(G.SubsampledGaussian(0.9, 2.0).group(2).delta(4.0)) < shown(*laws, 4.0, x[1] - x[0])


def test_a_sample_that_is_never_cut_is_a_sample_and_one_that_is_rarely_cut_nearly_one() -> None:
    plain = G.SubsampledGaussian(0.1, 1.0).delta(1.0)
    assert G.truncated_poisson(100, 0.1, 101, 1.0).delta(1.0) == plain
    for most in (90, 60, 30):
        cut = G.truncated_poisson(100, 0.1, most, 1.0).delta(1.0)
        assert plain * (1 - 1e-12) <= cut <= plain * (1 + 1e-4)
    for wrong in ((0, 0.1, 1, 1.0), (10, 0.1, 0, 1.0), (10, 1.1, 1, 1.0), (10, 0.1, 1, 0.0)):
        with pytest.raises(InvalidRequest):
            G.truncated_poisson(*wrong)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ((True, 0.1, 1, 1.0), "`n_units` is True"),
        ((10**20, 0.1, 1, 1.0), "`n_units` is 100000000000000000000 and"),
        ((10**400, 0.1, 1, 1.0), "Pass values in these ranges"),
        ((100, 0.1, 10, 0.0019), "`noise_multiplier` is 0.0019,"),
    ],
    ids=range(4),
)
def test_numbers_of_a_truncated_sample_are_refused_by_their_own_names(wrong: tuple, words: str) -> None:
    with pytest.raises(InvalidRequest, match=re.escape(words)):
        G.truncated_poisson(*wrong)
    assert float(G.truncated_poisson(2**53, 0.1, 10, 1.0).delta(1.0)) > 0
    assert float(G.truncated_poisson(100, 0.1, 101, 0.0019).delta(1.0)) > 0


# -- Rényi curves of samples, and the best of K runs -------------------------------------------------------------------


def divergence(order: float, p: np.ndarray, q: np.ndarray) -> float:
    return math.log(float((p**order * q ** (1 - order)).sum())) / (order - 1)


@pytest.mark.many
@pytest.mark.parametrize("seed", range(40))
def test_no_made_up_mechanism_on_a_poisson_sample_has_a_larger_curve(seed: int) -> None:
    rng = random.Random(seed)
    without, within = (np.array(list(map(float, made_up(rng)))) for _ in range(2))
    rate = rng.choice([0.01, 0.1, 0.3, 0.7, 0.95])
    curve = G.FiniteLoss(within, without)
    mixed = (1 - rate) * without + rate * within
    for order in (1.05, 1.5, 2.0, 2.4, 2.99, 3.0, 3.6, 5.0, 9.0, 15.5):
        bound = poisson_curve(curve, rate, order)
        for pair in ((mixed, without), (without, mixed)):
            assert divergence(order, *pair) <= bound * (1 + 1e-9) + 1e-15


def test_the_curve_of_gaussian_noise_is_met_at_whole_orders() -> None:
    for order in (2, 3, 7, 40):
        curve = poisson_curve(gd.GaussianDP(0.5), 0.05, float(order))
        assert curve == pytest.approx(G.SubsampledGaussian(0.05, 2.0).renyi(order), rel=1e-9)
    assert poisson_curve(gd.GaussianDP(0.5), 0.05, 300.0) == math.inf


def best_of(law: np.ndarray, chances: dict[int, float]) -> np.ndarray:
    """Return the law of the largest output of K runs; the last entry is that of none."""
    below = np.concatenate([[0.0], np.cumsum(law)])
    best = sum(p * np.diff(below**k) for k, p in chances.items() if k)
    return np.append(best, chances.get(0, 0.0))


def negative_binomial(shape: float, gamma: float) -> dict[int, float]:
    weights, product = {}, 1.0
    for k in range(1, 700):
        product *= (k - 1 + shape) / k if k > 1 or shape else 1.0
        weights[k] = product * (1 - gamma) ** k
    total = sum(weights.values())
    return {k: weight / total for k, weight in weights.items()}


@pytest.mark.parametrize("shape", [0, 0.5, 1, 3, math.inf])
@pytest.mark.parametrize("seed", range(3))
def test_the_best_of_k_runs_never_has_a_larger_curve(shape: float, seed: int) -> None:
    rng = random.Random(seed)
    laws = [np.array(list(map(float, made_up(rng, 4)))) for _ in range(2)]
    if math.isinf(shape):
        mean = rng.choice([0.5, 2.0, 5.0])
        chances = {k: float(mpmath.exp(-mean) * mpmath.mpf(mean) ** k / mpmath.factorial(k)) for k in range(80)}
    else:
        chances = negative_binomial(shape, rng.choice([0.05, 0.3, 0.8]))
        mean = sum(k * p for k, p in chances.items())
    repeated = G.RepeatAndSelect(G.FiniteLoss(*laws), mean, shape)
    best = [best_of(law, chances) for law in laws]
    kept = best[0] > 0
    for order in (1.1, 2.0, 4.0, 20.0):
        for p, q in (best, best[::-1]):
            assert divergence(order, p[kept], q[kept]) <= repeated.renyi(order) * (1 + 1e-9)


def test_gaussian_runs_have_the_curve_of_the_corollary() -> None:
    """Papernot and Steinke 2022, corollary 4, with E K from γ."""
    gamma, shape, rho = 0.1, 0.5, 1.0
    mean = shape * (1 / gamma - 1) / (1 - gamma**shape)
    repeated = G.RepeatAndSelect(gd.ZCDP(rho), mean, shape)
    fixed = 2 * (1 + shape) * math.sqrt(rho * math.log(1 / gamma)) - shape * rho
    assert repeated.renyi(1.5) == pytest.approx(2 * math.sqrt(rho * math.log(mean)) + fixed, rel=1e-9)
    assert repeated.renyi(50) == pytest.approx(49 * rho + math.log(mean) / 49 + fixed, rel=1e-9)
    assert G.RepeatAndSelect(gd.PureDP(0.5), 100, 1).cost("pure")[0] == pytest.approx(1.5)
    assert G.RepeatAndSelect(gd.PureDP(0.5), 100, math.inf).cost("pure") is None
    assert G.RepeatAndSelect(gd.ZCDP(rho), 1, 2).renyi(3) == 3 * rho


@pytest.mark.parametrize("wrong", [(0.5, 1), (0, math.inf), (3, -1), (3, math.nan), (3, True), (1e13, 1)])
def test_what_is_no_law_of_runs_is_refused(wrong: tuple[float, float]) -> None:
    with pytest.raises(InvalidRequest):
        G.RepeatAndSelect(gd.PureDP(1), *wrong)


@pytest.mark.parametrize(
    ("mean", "shape"),
    [
        (2.0, 1e11),
        (5.08, 3.7e11),
        (1 + 4.2e-5, 3.7e7),
        (1 + 7e-10, 1.11),
        (1e4, -0.99),
        (1e12, -0.5),
        (1e12, 1e13),
        (7, 0),
    ],
)
def test_the_chance_to_stop_is_rounded_down(mean: float, shape: float) -> None:
    found = log_stopping(mean, shape)
    with mpmath.workdps(60):
        eta, m = mpmath.mpf(shape), mpmath.mpf(mean)

        def mean_of(x: mpmath.mpf) -> mpmath.mpf:
            return mpmath.expm1(x) / (-mpmath.expm1(-eta * x) / eta if eta else x)

        assert mean_of(mpmath.mpf(found)) >= m
        assert mean_of(mpmath.mpf(found) * (1 - mpmath.mpf("1e-4"))) <= m


@pytest.mark.thorough
def test_a_sample_of_a_mechanism_for_other_neighbours_is_refused() -> None:
    """One of two units, a Poisson sample of it and noise: a unit that is replaced shows more than was stated."""
    inner = G.SubsampledGaussian(0.5, 1.0)
    for guarantee in (inner, 3 * inner, G.Sampled(gd.GaussianDP(1), 0.5), G.RepeatAndSelect(inner, 3)):
        with pytest.raises(InvalidRequest, match="does not hold for such neighbours"):
            G.Sampled(guarantee, 0.5, "without_replacement", "replace")
        assert G.Sampled(guarantee, 0.5).delta(1.0) >= 0
    mixed = G.Mixture([0.5, 0.5], [inner, gd.PureDP(1)])
    with pytest.raises(InvalidRequest, match="does not hold for such neighbours"):
        G.Sampled(mixed, 0.5, "without_replacement", "replace")


def test_runs_that_are_hardly_ever_made_are_not_without_loss() -> None:
    assert G.RepeatAndSelect(gd.PureDP(1e-100), 1e-300, math.inf).renyi(2) > 0


def test_curves_that_grow_beyond_the_floats_leave_the_others() -> None:
    assert 0 < G.Sampled(gd.GaussianDP(20), 0.1).renyi(2.5) <= 500
    assert 0 < G.Sampled(gd.GaussianDP(1), 1 - 1e-9).renyi(100) <= 50 * (1 + 1e-9)


# -- noise for an interval ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", [0.5, 0.95, 0.9999])
@pytest.mark.parametrize("half_width", [0, 3.7, 40])
@pytest.mark.parametrize("law", ["discrete_laplace", "discrete_gaussian", "laplace", "gaussian"])
def test_the_noise_of_an_interval_stays_in_it_and_a_little_more_does_not(
    level: float, half_width: float, law: str
) -> None:
    if half_width == 0 and not law.startswith("discrete"):
        with pytest.raises(InvalidRequest):
            G.interval_noise(half_width, level, law)
        return
    noise = G.interval_noise(half_width, level, law)
    for scale, is_inside in ((noise, True), (noise * (1 + 1e-6), False)):
        assert (within(law, half_width, mpmath.mpf(float(scale))) >= mpmath.mpf(level)) is is_inside
    assert float(noise.guarantee.epsilon(1e-6)) > 0


def within(law: str, half_width: float, scale: mpmath.mpf) -> mpmath.mpf:
    with mpmath.workdps(40):
        h, k = mpmath.mpf(half_width), range(1, math.floor(half_width) + 1)
        if law == "laplace":
            return 1 - mpmath.exp(-h / scale)
        if law == "gaussian":
            return mpmath.erf(h / scale / mpmath.sqrt(2))
        if law == "discrete_laplace":
            return 1 - 2 * mpmath.exp(-(len(k) + 1) / scale) / (1 + mpmath.exp(-1 / scale))
        total = mpmath.jtheta(3, 0, mpmath.exp(-1 / (2 * scale**2)))
        return (1 + 2 * mpmath.fsum(mpmath.exp(-(mpmath.mpf(i) ** 2) / (2 * scale**2)) for i in k)) / total


@pytest.mark.parametrize("sensitivity", [1, 3, 7])
@pytest.mark.parametrize("half_width", [1.0, 2.5, 10.0, 33.0, 47.1])
def test_the_guarantee_of_an_interval_is_rounded_up(half_width: float, sensitivity: int) -> None:
    noise = G.interval_noise(half_width, 0.95, "gaussian", sensitivity)
    assert Fraction(repr(noise.guarantee.mu)) * Fraction(repr(float(noise))) >= sensitivity
    noise = G.interval_noise(half_width, 0.95, "laplace", sensitivity)
    assert Fraction(repr(noise.guarantee.scale)) * sensitivity <= Fraction(repr(float(noise)))


@pytest.mark.parametrize(
    ("half_width", "level", "law"), [(1e8, 0.95, "discrete_laplace"), (10, 1e-7, "discrete_gaussian")]
)
def test_discrete_noise_that_is_too_wide_to_look_for_is_refused(half_width: float, level: float, law: str) -> None:
    with pytest.raises(InvalidRequest, match="or use continuous noise"):
        G.interval_noise(half_width, level, law)


def test_wide_discrete_gaussian_noise_is_near_the_most() -> None:
    assert G.interval_noise(10**6, 0.95, "discrete_gaussian") == G.interval_noise(10**6, 0.95, "gaussian")
    for wrong in ((-1, 0.9), (3, 1.0), (3, 0.0)):
        with pytest.raises(InvalidRequest):
            G.interval_noise(*wrong)
    with pytest.raises(InvalidRequest):
        G.interval_noise(3, 0.9, "cauchy")


# -- closed profiles ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("std", "size", "epsilon"), [(0.703, 2, 16.0), (1.0, 1, 0.0), (5.0, 7, 1.5), (30.0, 1, 0.01), (1.0, 1, 60.0)]
)
def test_one_discrete_gaussian_number_has_a_closed_profile(std: float, size: int, epsilon: float) -> None:
    with mpmath.workdps(50):
        s, e = mpmath.mpf(str(std)), mpmath.exp(mpmath.mpf(str(epsilon)))
        far = int(60 * std) + 200
        weights = {k: mpmath.exp(-(mpmath.mpf(k) ** 2) / (2 * s * s)) for k in range(-far - size, far + size)}
        total = mpmath.fsum(weights.values())
        exact = mpmath.fsum(max(weights[k] - e * weights[k + size], 0) for k in range(-far, far)) / total
    actual = G.DiscreteGaussianLoss(std, size).exact_delta(epsilon)
    assert exact <= actual <= max(exact * (1 + mpmath.mpf(2) ** -36), mpmath.mpf(5e-324))
