"""Law 1, composition: the accountant and a second one agree, and adding a release never makes an answer smaller."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gaugedp import guarantees as g
from tests.laws.kit import batches, generator
from tests.laws.pairs import LAWS, WITNESSES, law_of
from tests.laws.reference import bracket

Draw = Callable[[np.random.Generator, float, int], g.Guarantee]
LARGEST_RATIO = 1.01  # of an answer to the upper end of the reference, for δ in [1e-12, 0.5]


def finite(rng: np.random.Generator, size: float, count: int) -> g.Guarantee:
    p = rng.dirichlet(np.ones(2 if count > 8 else rng.integers(2, 5)))
    q = p * np.exp(size * rng.uniform(-1, 1, len(p)))
    return g.FiniteLoss(p.tolist(), (q / q.sum()).tolist())


def discrete_laplace(rng: np.random.Generator, size: float, _: int) -> g.Guarantee:
    sensitivity = int(rng.integers(1, 13))
    return g.DiscreteLaplaceLoss(sensitivity / size, sensitivity)


def subsampled(rng: np.random.Generator, _: float, count: int) -> g.Guarantee:
    rate, std = 10 ** rng.uniform(-3, -0.1), 10 ** rng.uniform(-0.3, 0.7) * count**0.2
    if rng.random() < 0.3:
        return g.SubsampledGaussian(rate, 2 * std, 1 if std < 1 else 2, "replace" if std < 1 else "add_remove")
    return g.SubsampledGaussian(rate, std)


def loss_distribution(rng: np.random.Generator, size: float, _: int) -> g.Guarantee:
    """Each direction has losses that some pair has: e^{−L} has the mean 1 where L is finite."""
    tilt = np.exp(np.arange(-2, 3) * size / 4)
    p = [(row + row[::-1]) * tilt for row in rng.dirichlet(np.ones(5), 2)]
    return g.LossDistribution(size / 2, *((-2, (row / row.sum() * (1 - 1e-9)).tolist(), 1e-9) for row in p))


def simple(rng: np.random.Generator, size: float) -> g.Guarantee:
    return [g.LaplaceLoss(1 / size), g.PureDP(size), g.GaussianDP(size)][rng.integers(3)]


def mixture(rng: np.random.Generator, size: float, _: int) -> g.Guarantee:
    chance = rng.uniform(0.05, 0.95)
    draws = [[lambda *_: simple(rng, size), finite, discrete_laplace, sampled][i] for i in rng.integers(4, size=2)]
    return g.Mixture([chance, 1 - chance], [draw(rng, size * f, 1) for draw, f in zip(draws, (0.5, 1.5), strict=True)])


def sampled(rng: np.random.Generator, size: float, _: int) -> g.Guarantee:
    ways = (("poisson", "add_remove"), ("without_replacement", "replace"))
    return g.Sampled(simple(rng, 2 * size), rng.uniform(0.05, 0.9), *ways[rng.integers(2)])


DRAWS: dict[str, Draw] = {
    "PureDP": lambda _, size, __: g.PureDP(size),
    "ApproxDP": lambda rng, size, _: g.ApproxDP(size, 10 ** rng.uniform(-16, -4)),
    "RandomizedResponseLoss": lambda _, size, __: g.RandomizedResponseLoss(size),
    "GaussianDP": lambda _, size, __: g.GaussianDP(size),
    "LaplaceLoss": lambda _, size, __: g.LaplaceLoss(1 / size),
    "ExponentialLoss": lambda _, size, __: g.ExponentialLoss(size),
    "SphericalLaplaceLoss": lambda rng, size, _: g.SphericalLaplaceLoss(1 / size, int(rng.integers(2, 30))),
    "DiscreteLaplaceLoss": discrete_laplace,
    "DiscreteGaussianLoss": lambda _, size, __: g.DiscreteGaussianLoss(min(max(1 / size, 0.3), 100.0)),
    "FiniteLoss": finite,
    "LossDistribution": loss_distribution,
    "SubsampledGaussian": subsampled,
    "Mixture": mixture,
    "MixtureOfGaussians": lambda rng, size, _: g.MixtureOfGaussians(
        [0, 1, 2], rng.dirichlet(np.ones(3)).tolist(), 1 / size
    ),
    "TruncatedPoisson": lambda rng, size, _: g.truncated_poisson(
        int(rng.integers(1, 200)), rng.uniform(0.01, 0.3), int(rng.integers(1, 60)), 1 / min(size, 1.5)
    ),
    "Sampled": sampled,
    "ZCDP": lambda _, size, __: g.ZCDP(size**2 / 2),
    "OffsetZCDP": lambda rng, size, _: g.OffsetZCDP(size**2 / 2, size * rng.uniform(0, 0.1)),
    "RenyiDP": lambda _, size, __: g.RenyiDP([2, 8, 64], [size**2 * a / 2 for a in (2, 8, 64)]),
    "Grouped": lambda _, size, __: g.Grouped(g.PureDP(size / 2), 2),
}
COVERS = {"guarantees": {*DRAWS, "Composed"}}
ASYMMETRIC = {
    "FiniteLoss",
    "LossDistribution",
    "SubsampledGaussian",
    "MixtureOfGaussians",
    "Sampled",
    "TruncatedPoisson",
}
SLOW = {
    "SphericalLaplaceLoss",
    "Mixture",
    "MixtureOfGaussians",
    "Sampled",
    "TruncatedPoisson",
    "ZCDP",
    "OffsetZCDP",
    "RenyiDP",
    "Grouped",
}


def parts_of(rng: np.random.Generator) -> list[tuple[g.Guarantee, int]]:
    """Return 2 to 6 kinds, each 1 to 1,000 times; a third of the draws are few releases with losses that coincide."""
    chances = np.array([0.05 if name in SLOW else 1.0 for name in DRAWS])
    names = rng.choice(list(DRAWS), rng.integers(2, 7), replace=False, p=chances / chances.sum())
    base = 10 ** rng.uniform(-1.5, 0.3) if rng.random() < 0.33 else 0.0
    parts = []
    for name in names:
        count = int(rng.integers(1, 5)) if base else round(10 ** rng.uniform(0, 3))
        size = base * float(rng.choice([0.5, 1, 1, 2, 3])) if base else 10 ** rng.uniform(-2.5, 0.3) / math.sqrt(count)
        parts.append((DRAWS[name](rng, size, count), count))
    return parts


def reference(parts: list[tuple[g.Guarantee, int]], epsilon: float, least: bool = False) -> tuple[float, float]:
    """Return the bracket of the worst direction; of witnesses for the `least` rule, and where a part has no pair."""
    n_units, witnesses = max(part.n_units for part, _ in parts), least or not has_pairs(parts)
    ways = range(n_units + 1) if any(is_asymmetric(part) for part, _ in parts) else [1]
    ends = [bracket([law(part, n, removed, witnesses) for part, n in parts], epsilon) for removed in ways]
    return max(low for low, _ in ends), max(high for _, high in ends)


def is_asymmetric(part: Any) -> bool:
    if isinstance(part, g.Mixture):
        return any(map(is_asymmetric, part.guarantees))
    return type(part).__name__ in ASYMMETRIC


def law(part: Any, count: int, removed: int, witnesses: bool) -> tuple[Any, int]:
    name = type(part).__name__
    if isinstance(part, g.GaussianDP):  # as many are one
        return law_of(g.GaussianDP(part.mu * math.sqrt(count)), 1), 1
    if name in WITNESSES and (witnesses or name not in LAWS):
        return WITNESSES[name](part), count
    return law_of(part, min(removed, part.n_units)), count


def place_of(rng: np.random.Generator, parts: list[tuple[g.Guarantee, int]]) -> float:
    """Return an ε from 1e-3 to 50, some deviations from the mean of the losses."""
    means = [count * part.renyi(1) for part, count in parts]  # infinite where a loss can be
    mean = math.fsum(filter(math.isfinite, means))
    return min(max(mean + rng.uniform(-1, 7) * math.sqrt(2 * mean), 1e-3), 50.0)


def check_delta(whole: g.Guarantee, parts: list[tuple[g.Guarantee, int]], epsilon: float) -> None:
    delta, (low, high) = whole.delta(epsilon, "tight"), reference(parts, epsilon)
    where = f"({whole!r}).delta({epsilon!r}) = {float(delta)!r}, low {delta.low!r}"
    assert low <= delta, f"{where} is below {low!r}"
    if has_pairs(parts):
        assert delta.low <= high, f"{where} is above {high!r}"
        assert not 1e-12 <= high <= 0.5 or delta <= LARGEST_RATIO * high, f"{where} is far above {high!r}"


def check_epsilon(whole: g.Guarantee, parts: list[tuple[g.Guarantee, int]], delta: float) -> None:
    """The stated ε is enough for δ, and hardly more than that."""
    epsilon = whole.epsilon(delta, "tight")
    where = f"({whole!r}).epsilon({delta!r}) = {float(epsilon)!r}, low {epsilon.low!r}"
    if epsilon > 1e3:
        return
    low, high = reference(parts, float(epsilon))
    assert low <= delta, f"{where} is too small: δ is at least {low!r}"
    if has_pairs(parts) and epsilon.low > 0:
        near = epsilon - epsilon.low <= 1e-6 * epsilon  # else the reference is asked at the lower end, too
        high_at_low = high if near else reference(parts, epsilon.low)[1]
        assert delta <= high_at_low * (1 + 1e-3), f"{where}: δ is at most {high_at_low!r} at the lower end"


def check_least(whole: g.Guarantee, parts: list[tuple[g.Guarantee, int]], epsilon: float) -> None:
    """The least of all rules is not below what a mechanism with these guarantees has."""
    least, tight = whole.delta(epsilon), whole.delta(epsilon, "tight")
    low, _ = reference(parts, epsilon, least=True)
    where = f"({whole!r}).delta({epsilon!r}) = {float(least)!r} by {least.method!r}"
    assert low <= least <= tight, f"{where}: between {low!r} and {float(tight)!r}"


def check_one_more(whole: g.Guarantee, parts: list[tuple[g.Guarantee, int]], epsilon: float, more: g.Guarantee) -> None:
    """A release more is never a smaller answer, beyond the width of a bracket: at most 1 %, where δ is 1e-12 at least.

    Answers are upper bounds. Below, where no accuracy is promised, one may be wider than the next.
    """
    before = whole.delta(epsilon)
    wide = 1 - before.low / before + 1e-9 if before else 0.0
    slack = min(1e-2, wide) if before >= 1e-12 else wide
    for larger in (whole + more, g.compose([(parts[0][0], 1), *parts])):
        after = larger.delta(epsilon)
        where = f"δ({epsilon!r}) of {whole!r} is {float(before)!r}, of {larger!r} {float(after)!r}"
        assert after >= float(before) * (1 - slack), where


def check_order(rng: np.random.Generator, whole: g.Guarantee, parts: list[tuple[g.Guarantee, int]]) -> None:
    shuffled = [parts[i] for i in rng.permutation(len(parts))]
    assert g.compose(shuffled) == whole
    assert sum((count * part for part, count in shuffled[1:]), shuffled[0][1] * shuffled[0][0]) == whole
    part, count = parts[0]
    assert sum([part] * min(count, 20)) == min(count, 20) * part


def has_pairs(parts: list[tuple[g.Guarantee, int]]) -> bool:
    return all(type(part).__name__ in LAWS for part, _ in parts)


@pytest.mark.many
@pytest.mark.parametrize("cases", batches("composition"), ids=str)
def test_composition(cases: range) -> None:
    """Half of the cases ask for δ and half for ε; a tenth try the least rule and a release more."""
    for case in cases:
        rng = generator("composition", case)
        parts = parts_of(rng)
        whole, epsilon = g.compose(parts), place_of(rng, parts)
        try:
            check_order(rng, whole, parts)
            if case % 2:
                check_epsilon(whole, parts, float(10 ** rng.uniform(-15, math.log10(0.5))))
            else:
                check_delta(whole, parts, epsilon)
            if case % 10 == 0:
                kind = str(rng.choice(["PureDP", "LaplaceLoss", "GaussianDP", "ApproxDP"]))
                check_least(whole, parts, epsilon)
                check_one_more(whole, parts, epsilon, DRAWS[kind](rng, 10 ** rng.uniform(-3, 0), 1))
        except AssertionError as error:
            raise AssertionError(f"case {case}: {error}") from error


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 1.3, 2.0])
@pytest.mark.parametrize(
    "whole",
    [
        3 * g.DiscreteLaplaceLoss(4, 6) + g.LaplaceLoss(1),
        2 * g.DiscreteLaplaceLoss(4.66, 6) + g.LaplaceLoss(1.12),
        2 * g.DiscreteLaplaceLoss(4, 6) + g.LaplaceLoss(100),
        2 * g.PureDP(0.5) + 2 * g.RandomizedResponseLoss(0.5) + 2 * g.LaplaceLoss(2),
        3 * g.FiniteLoss([0.75, 0.25], [0.25, 0.75]) + 2 * g.LaplaceLoss(1),
        20 * g.DiscreteLaplaceLoss(25, 70) + g.PureDP(0.04),
    ],
    ids=repr,
)
def test_losses_that_coincide(whole: g.Guarantee, epsilon: float) -> None:
    check_delta(whole, list(whole.components()), epsilon)


@pytest.mark.parametrize("others", [g.ApproxDP(0, 0), g.RandomizedResponseLoss(1), 2 * g.PureDP(0.5)], ids=repr)
@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.3])
def test_laplace_scales_that_coincide(epsilon: float, others: g.Guarantee) -> None:
    """The largest losses are 1/2, 1 and 2, powers of 2 as no others stay whole: 2 + 2/2 is as much as 3.

    Scales that are hardly others have sums that are all different, and the same δ.
    """
    whole = 4 * g.LaplaceLoss(2) + 6 * g.LaplaceLoss(1) + 2 * g.LaplaceLoss(0.5) + others
    apart = 4 * g.LaplaceLoss(2) + 6 * g.LaplaceLoss(1 + 1e-11) + 2 * g.LaplaceLoss(0.5) + others
    check_delta(whole, list(whole.components()), epsilon)
    assert math.isclose(whole.delta(epsilon), apart.delta(epsilon), rel_tol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("whole", "epsilon"),
    [
        (
            g.DiscreteGaussianLoss(30.1139214499)
            + 2 * g.PureDP(0.06641446559294216)
            + 2 * g.LaplaceLoss(30.1139214499)
            + 4 * g.SubsampledGaussian(0.0169831398092, 0.961371086414),
            0.15,
        ),
        (100 * g.PureDP(0.000916) + 16 * g.LaplaceLoss(521.8) + 12 * g.FiniteLoss([0.75, 0.25], [0.749, 0.251]), 0.06),
        (g.DiscreteGaussianLoss(20.0) + g.ExponentialLoss(0.03) + 2 * g.FiniteLoss([0.52, 0.48], [0.48, 0.52]), 0.1),
    ],
    ids=repr,
)
def test_few_releases_of_several_kinds(whole: g.Guarantee, epsilon: float) -> None:
    """A line would have to be padded: some per cent of δ."""
    check_delta(whole, list(whole.components()), epsilon)
    delta = whole.delta(epsilon, "tight")
    assert delta.low > 0.98 * delta


@pytest.mark.parametrize(
    "part",
    [
        g.Sampled(g.LaplaceLoss(0.5), 0.1),
        g.Sampled(g.LaplaceLoss(0.5), 0.25, "without_replacement", "replace"),
        g.MixtureOfGaussians([0, 1, 2], [0.5, 0.25, 0.25], 1.5),
        g.Mixture([0.25, 0.75], [g.Sampled(g.LaplaceLoss(0.5), 0.1), g.PureDP(0.3)]),
    ],
    ids=repr,
)
def test_low_ends_of_larger_pairs(part: g.Guarantee) -> None:
    """The pairs of these kinds are above their own, so that nothing is certified from below."""
    whole = 3 * part
    delta = whole.delta(0.5, "tight")
    assert delta.low == whole.epsilon(1e-6, "tight").low == 0
    check_delta(whole, [(part, 3)], 0.5)
