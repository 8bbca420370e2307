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
    p = rng.dirichlet(np.ones(5)) * (1 - 1e-9)
    return g.LossDistribution(size / 2, (-2, p.tolist(), 1e-9), (-2, p[::-1].tolist(), 1e-9))


def simple(rng: np.random.Generator, size: float) -> g.Guarantee:
    return [g.LaplaceLoss(1 / size), g.PureDP(size), g.GaussianDP(size)][rng.integers(3)]


def mixture(rng: np.random.Generator, size: float, _: int) -> g.Guarantee:
    chance = rng.uniform(0.05, 0.95)
    return g.Mixture([chance, 1 - chance], [simple(rng, size * factor) for factor in (0.5, 1.5)])


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
        int(rng.integers(1, 13))
    ),
    "DiscreteGaussianLoss": lambda _, size, __: g.DiscreteGaussianLoss(min(max(1 / size, 0.3), 100.0)),
    "FiniteLoss": finite,
    "LossDistribution": loss_distribution,
    "SubsampledGaussian": subsampled,
    "Mixture": mixture,
    "MixtureOfGaussians": lambda rng, size, _: g.MixtureOfGaussians(
        [0, 1, 2], rng.dirichlet(np.ones(3)).tolist(), 1 / size
    ),
    "Sampled": sampled,
    "ZCDP": lambda _, size, __: g.ZCDP(size**2 / 2),
    "OffsetZCDP": lambda rng, size, _: g.OffsetZCDP(size**2 / 2, size * rng.uniform(0, 0.1)),
    "RenyiDP": lambda _, size, __: g.RenyiDP([2, 8, 64], [size**2 * a / 2 for a in (2, 8, 64)]),
    "Grouped": lambda _, size, __: g.Grouped(g.PureDP(size / 2), 2),
}
ASYMMETRIC = {"FiniteLoss", "LossDistribution", "SubsampledGaussian", "MixtureOfGaussians", "Sampled"}
SLOW = {"SphericalLaplaceLoss", "Mixture", "MixtureOfGaussians", "Sampled", "ZCDP", "OffsetZCDP", "RenyiDP", "Grouped"}


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


def reference(parts: list[tuple[g.Guarantee, int]], epsilon: float, witnesses: bool = False) -> tuple[float, float]:
    """Return the bracket of the worst direction; 1 is its upper end where a part is known by a mechanism only."""
    n_units = max(part.n_units for part, _ in parts)
    ways = range(n_units + 1) if any(type(part).__name__ in ASYMMETRIC for part, _ in parts) else [1]
    ends = [bracket([law(part, n, removed, witnesses) for part, n in parts], epsilon) for removed in ways]
    return max(low for low, _ in ends), max(high for _, high in ends)


def law(part: Any, count: int, removed: int, witnesses: bool) -> tuple[Any, int]:
    name = type(part).__name__
    if isinstance(part, g.GaussianDP):  # as many are one
        return law_of(g.GaussianDP(part.mu * math.sqrt(count)), 1), 1
    if name in WITNESSES and (witnesses or name not in LAWS):
        return WITNESSES[name](part), count
    return law_of(part, min(removed, part.n_units)), count


def epsilon_of(rng: np.random.Generator, whole: g.Guarantee) -> float:
    """Return an ε from 1e-3 to 50, at which δ is more often than not between 1e-15 and 0.5."""
    if rng.random() < 0.8:
        epsilon = float(whole.epsilon(10 ** rng.uniform(-15, math.log10(0.5))))
        if 1e-3 <= epsilon <= 50:
            return epsilon
    return float(10 ** rng.uniform(-3, math.log10(50)))


def answer(case: int) -> tuple[g.Guarantee, list[tuple[g.Guarantee, int]], float]:
    """Return a composition, its parts, and an ε."""
    rng = generator("composition", case)
    parts = parts_of(rng)
    whole = g.compose(parts)
    return whole, parts, epsilon_of(rng, whole)


@pytest.mark.parametrize("cases", batches("composition"), ids=str)
def test_answers_lie_between_the_ends_of_a_second_accountant(cases: range) -> None:
    for case in cases:
        whole, parts, epsilon = answer(case)
        delta, (low, high) = whole.delta(epsilon, "tight"), reference(parts, epsilon)
        where = f"case {case}: ({whole!r}).delta({epsilon!r}) = {float(delta)!r}, low {delta.low!r}"
        assert low <= delta, f"{where} is below {low!r}"
        if not all(type(part).__name__ in LAWS for part, _ in parts):
            continue
        assert delta.low <= high, f"{where} is above {high!r}"
        assert not 1e-12 <= high <= 0.5 or delta <= LARGEST_RATIO * high, f"{where} is far above {high!r}"


@pytest.mark.parametrize("cases", batches("composition", 50), ids=str)
def test_epsilon_is_where_delta_is(cases: range) -> None:
    """A tenth of the cases: the stated ε is enough, its lower end is not, and the least rule is not below the truth."""
    for case in cases[::10]:
        whole, parts, epsilon = answer(case)
        delta = min(max(float(whole.delta(epsilon, "tight")), 1e-15), 0.5)
        bound, least = whole.epsilon(delta, "tight"), whole.epsilon(delta)
        where = f"case {case}: ({whole!r}).epsilon({delta!r}) = {float(bound)!r}, low {bound.low!r}"
        low, _ = reference(parts, float(bound)) if bound < 1e3 else (0.0, 1.0)
        assert low <= delta, f"{where} is too small: δ is at least {low!r}"
        if bound.low > 0 and all(type(part).__name__ in LAWS for part, _ in parts):
            _, high = reference(parts, bound.low)
            assert delta <= high, f"{where}: δ is at most {high!r} at the lower end"
        assert least <= bound, where
        if least < bound:
            low, _ = reference(parts, float(least), witnesses=True)
            assert low <= delta, f"{where}, by {least.method!r} {float(least)!r}: δ is at least {low!r}"


@pytest.mark.parametrize("cases", batches("composition", 50), ids=str)
def test_a_release_more_is_never_a_smaller_answer(cases: range) -> None:
    """A tenth of the cases; what is stated may fall by as much as the answer exceeded its lower end, and no more."""
    for case in cases[::10]:
        whole, parts, epsilon = answer(case)
        rng = generator("composition added", case)
        more = DRAWS[str(rng.choice(["PureDP", "LaplaceLoss", "GaussianDP", "ApproxDP"]))](
            rng, 10 ** rng.uniform(-3, 0), 1
        )
        for larger in (whole + more, g.compose([(parts[0][0], 1), *parts])):
            before, after = whole.delta(epsilon), larger.delta(epsilon)
            slack = 1e-9 if before.low else 1e-2
            where = f"case {case}: δ({epsilon!r}) of {whole!r} is {float(before)!r}, of {larger!r} {float(after)!r}"
            assert after >= max(before.low, float(before) * (1 - slack)) * (1 - 1e-9), where


@pytest.mark.parametrize("cases", batches("composition", 50), ids=str)
def test_order_grouping_and_repetition_do_not_matter(cases: range) -> None:
    for case in cases:
        rng = generator("composition", case)
        parts = parts_of(rng)
        whole = g.compose(parts)
        shuffled = [parts[i] for i in rng.permutation(len(parts))]
        assert g.compose(shuffled) == whole, f"case {case}"
        assert sum((count * part for part, count in shuffled[1:]), shuffled[0][1] * shuffled[0][0]) == whole
        part, count = parts[0]
        assert sum([part] * min(count, 20)) == min(count, 20) * part, f"case {case}"
