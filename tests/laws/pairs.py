"""The dominating pairs of all kinds of guarantees, from their definitions and without the library.

Noise with a loss that grows along a line is cut anywhere on the line; what is between two cuts is a cell.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import special

Array = Any
NODES, WEIGHTS = np.polynomial.legendre.leggauss(4)


class Cells(NamedTuple):
    """Probabilities of sets of outcomes under P and Q, and the ends between which their losses lie."""

    p: Array
    q: Array
    low: Array
    high: Array

    @property
    def loss(self) -> Array:
        """Return log P/Q of each set; where Q is too small to divide by, the lower end."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where((self.low < self.high) & (self.q > 1e-290), np.log(self.p / self.q), self.low)


class Law(NamedTuple):
    """A pair: losses for a first look, and its cells for any ascending edges.

    The first of the losses and one other, a multiple of `span` away, have a probability of their own.
    """

    losses: Array
    cut: Callable[[Array], Cells]
    span: float | None = None


# -- pairs of one release ----------------------------------------------------------------------------------------------


def atoms(loss: Array, p: Array, q: Array | None = None, span: float | None = None) -> Law:
    loss, p = np.asarray(loss, dtype=float), np.asarray(p, dtype=float)
    with np.errstate(over="ignore", invalid="ignore"):
        cells = Cells(p, np.minimum(p * np.exp(-loss), 1e300) if q is None else np.asarray(q, dtype=float), loss, loss)
    return Law(np.sort(loss[np.isfinite(loss)]), lambda _: cells, span)


def finite(p: Sequence[Any], q: Sequence[Any]) -> Law:
    p, q = np.array(p, dtype=float), np.array(q, dtype=float)
    with np.errstate(divide="ignore", invalid="ignore"):
        losses = np.where(q > 0, np.log(p / q), np.inf)
    known = np.unique(losses[np.isfinite(losses)])
    return atoms(losses, p, q, float(known[1] - known[0]) if len(known) == 2 else None)


def response(epsilon: float, delta: float = 0.0) -> Law:
    p = special.expit([-epsilon, epsilon]) * (1 - delta)
    return atoms([-epsilon, epsilon, np.inf, -np.inf], [*p, delta, 0], [*p[::-1], 0, delta], 2 * epsilon)


def exponential(width: float, share: float, at_ends: float) -> Law:
    """Return the density share·e^{(x − width)/2} on ±width, and P = `at_ends` at its upper end."""

    def cut(edges: Array) -> Cells:
        x = np.unique(np.clip(edges, -width, width))
        low, high, size = x[:-1], x[1:], -2 * share * np.expm1((x[:-1] - x[1:]) / 2)
        ends, other = np.array([width, -width]), at_ends * np.array([1, math.exp(-width)])
        p, q = size * np.exp((high - width) / 2), size * np.exp((-low - width) / 2)
        return Cells(*map(np.append, (p, q, low, high), (other, other[::-1], ends, ends)))

    losses = np.linspace(-width, width, 1001)
    return Law(losses, lambda edges: cut(np.concatenate([[-width], edges, [width]])), 2 * width)


def spherical(width: float, dimension: int) -> Law:
    """Noise e^(−t‖z‖), t = `width`: in coordinates of two foci the loss is −t·cos θ."""
    z = width / 2
    kappa = (dimension - 1) / z * special.kve(dimension / 2, z) / special.kve(dimension / 2 - 1, z)

    def density(angle: Array, sign: int) -> Array:
        square = np.sin(angle) ** 2
        return np.exp(-sign * z * np.cos(angle) - z) * square ** (dimension / 2 - 1) * (square + kappa)

    def narrow(angles: Array, sign: int) -> Array:
        half = np.diff(angles) / 2
        return half * sum(w * density(angles[:-1] + half * (1 + x), sign) for x, w in zip(NODES, WEIGHTS, strict=True))

    def integrals(angles: Array, sign: int) -> Array:
        """Return the integrals between angles; wide ones are added up from narrow ones."""
        fine = np.union1d(angles, np.linspace(0, math.pi, 401))
        sums = np.concatenate([[0.0], np.cumsum(narrow(fine, sign))])[np.searchsorted(fine, angles)]
        return np.where(np.diff(angles) > math.pi / 400, np.diff(sums), narrow(angles, sign))

    whole = float(narrow(np.linspace(0, math.pi, 4001), 1).sum())

    def cut(edges: Array) -> Cells:
        angles = np.arccos(np.clip(-np.concatenate([[-width], edges, [width]]) / width, -1, 1))
        ends = -width * np.cos(angles)
        return Cells(integrals(angles, 1) / whole, integrals(angles, -1) / whole, ends[:-1], ends[1:])

    return Law(-width * np.cos(np.linspace(0, math.pi, 1001)), cut)


def normals(mine: Sequence[Any], theirs: Sequence[Any], std: float) -> Law:
    """Mixtures of (weight, centre): P of `mine`, Q of `theirs`, with a loss that grows along the line."""
    centres = [centre for _, centre in (*mine, *theirs)]
    table = np.linspace(min(centres) - 38 * std, max(centres) + 38 * std, 2001)

    def side(parts: Sequence[Any], x: Array) -> tuple[Array, Array]:
        logs = np.array([math.log(w) + (x - c / 2) * c / std**2 for w, c in parts])
        total = np.logaddexp.reduce(logs, axis=0)
        return total, np.exp(logs - total).T @ np.array([c for _, c in parts]) / std**2

    def loss(x: Array) -> tuple[Array, Array]:
        (first, slope), (second, other) = side(mine, x), side(theirs, x)
        return first - second, np.maximum(slope - other, 1e-300)

    def masses(parts: Sequence[Any], x: Array) -> Array:
        z = [(w, (x - c) / std) for w, c in parts]
        return sum(w * np.where(y[1:] <= 0, np.diff(special.ndtr(y)), -np.diff(special.ndtr(-y))) for w, y in z)

    known = np.maximum.accumulate(loss(table)[0])

    def cut(edges: Array) -> Cells:
        x = guess = np.interp(edges, known, table)
        for _ in range(2):  # wherever the cells end, their probabilities and their ends are their own
            at, slope = loss(x)
            x = guess + np.clip(
                x - guess + np.clip((edges - at) / slope, -1e9, 1e9), table[0] - table[1], table[1] - table[0]
            )
        x = np.concatenate([[-np.inf], np.maximum.accumulate(x), [np.inf]])
        ends = np.concatenate([[-np.inf], np.maximum.accumulate(loss(x[1:-1])[0]), [np.inf]])
        return Cells(masses(mine, x), masses(theirs, x), ends[:-1], ends[1:])

    return Law(known, cut)


# -- pairs of pairs ----------------------------------------------------------------------------------------------------


def turned(law: Law) -> Law:
    def cut(edges: Array) -> Cells:
        p, q, low, high = law.cut(-edges[::-1])
        return Cells(q, p, -high, -low)

    return Law(-law.losses[::-1], cut, law.span)


def sampled(law: Law, rate: float) -> Law:
    """(1 − q)·Q + q·P against Q."""

    def moved(loss: Array) -> Array:
        return np.logaddexp(math.log1p(-rate), math.log(rate) + loss)

    def cut(edges: Array) -> Cells:
        with np.errstate(divide="ignore"):
            back = np.log1p(np.maximum(np.expm1(np.minimum(edges, 600)) / rate, -1))
        p, q, low, high = law.cut(back)
        return Cells((1 - rate) * q + rate * p, q, moved(low), moved(high))

    return Law(moved(law.losses), cut)


def replaced(law: Law, rate: float) -> Law:
    """A sample of fixed size: what is above 0 of a symmetric pair, as much below it, and the rest at 0."""
    one = sampled(law, rate)

    def cut(edges: Array) -> Cells:
        cells = one.cut(np.unique(np.abs([*edges, 0.0])))
        p, q, low, high = (each[cells.low >= 0] for each in cells)
        rest = [1 - p.sum() - q.sum()]
        return Cells(*map(np.concatenate, ((p, q, rest), (q, p, rest), (low, -high, [0.0]), (high, -low, [0.0]))))

    return Law(np.concatenate([-one.losses[::-1], one.losses]), cut)


def mixture(chances: Sequence[Any], laws: Sequence[Law]) -> Law:
    def cut(edges: Array) -> Cells:
        parts = [(float(w), law.cut(edges)) for w, law in zip(chances, laws, strict=True)]
        scaled = [Cells(w * cells.p, w * cells.q, cells.low, cells.high) for w, cells in parts]
        return Cells(*map(np.concatenate, zip(*scaled, strict=True)))

    return Law(np.sort(np.concatenate([law.losses for law in laws])), cut)


# -- guarantees --------------------------------------------------------------------------------------------------------


def discrete_laplace(scale: float, d: int) -> Law:
    """Noise ∝ e^(−|k|/scale) against the same moved by d, written out where P or Q is not next to nothing."""
    k = np.arange(-d, 1)
    rate = math.exp(-1 / scale)
    p = rate ** np.abs(k) * (1 - rate) / (1 + rate)
    p[[0, -1]] = rate**d / (1 + rate), 1 / (1 + rate)
    return atoms((2 * k + d) / scale, p, span=2 / scale)


def discrete_gaussian(std: float, d: int) -> Law:
    k = np.arange(-math.ceil(38 * std), math.ceil(38 * std) + d + 1)
    p = np.exp(-((k - d) ** 2) / (2 * std**2))
    return atoms((2 * k * d - d * d) / (2 * std**2), p / p.sum(), span=d / std**2)


def loss_distribution(span: float, losses: Any) -> Law:
    p = np.array(losses.probabilities)
    values = (losses.first + np.arange(len(p))) * span
    return atoms(np.append(values, np.inf), np.append(p, losses.infinite), span=span)


def law_of(guarantee: Any, removed: int = 1) -> Law:
    """Return the pair of a guarantee by its public numbers, `removed` of its units being removed."""
    return LAWS[type(guarantee).__name__](guarantee, removed)


def of_sample(g: Any, removed: int) -> Law:
    if g.sampling != "poisson":
        return replaced(law_of(g.guarantee), g.rate)
    return sampled(law_of(g.guarantee), g.rate) if removed else turned(sampled(law_of(g.guarantee, 0), g.rate))


def of_mixture_of_gaussians(g: Any, removed: int) -> Law:
    law = normals([*zip(map(float, g.chances), g.shifts, strict=True)], [(1.0, 0.0)], g.noise_std)
    return law if removed else turned(law)


def of_subsampled(g: Any, removed: int) -> Law:
    sides = (g.size, -g.size) if g.neighbours == "replace" else (removed, removed - g.size)
    return normals(*(binomial(abs(n), g.rate, -1 if n < 0 else 1) for n in sides), g.noise_multiplier)


def binomial(n: int, rate: float, sign: int) -> list[tuple[float, float]]:
    return [(math.comb(n, i) * rate**i * (1 - rate) ** (n - i), sign * i) for i in range(n + 1)]


def gaussian(mu: float) -> Law:
    return normals([(1.0, mu)], [(1.0, 0.0)], 1.0)


LAWS: dict[str, Callable[[Any, int], Law]] = {
    "PureDP": lambda g, _: response(g.epsilon_value),
    "RandomizedResponseLoss": lambda g, _: response(g.epsilon_value),
    "ApproxDP": lambda g, _: response(g.epsilon_value, g.delta_value),
    "GaussianDP": lambda g, _: gaussian(g.mu),
    "LaplaceLoss": lambda g, _: exponential(1 / g.scale, 0.25, 0.5),
    "ExponentialLoss": lambda g, _: exponential(g.epsilon_value, -0.5 / math.expm1(-g.epsilon_value), 0.0),
    "SphericalLaplaceLoss": lambda g, _: spherical(1 / g.scale, g.dimension),
    "DiscreteLaplaceLoss": lambda g, _: discrete_laplace(g.scale, g.sensitivity),
    "DiscreteGaussianLoss": lambda g, _: discrete_gaussian(g.noise_std, g.sensitivity),
    "FiniteLoss": lambda g, removed: finite(g.p, g.q) if removed else finite(g.q, g.p),
    "LossDistribution": lambda g, removed: loss_distribution(g.span, g.removed if removed else g.added),
    "SubsampledGaussian": of_subsampled,
    "MixtureOfGaussians": of_mixture_of_gaussians,
    "Mixture": lambda g, removed: mixture(
        g.probabilities, [law_of(part, min(removed, part.n_units)) for part in g.guarantees]
    ),
    "TruncatedPoisson": lambda g, removed: law_of(g.equivalent, removed),
    "Sampled": of_sample,
}

# Mechanisms that keep a guarantee which has no pair of its own: no answer may be below what they have.
WITNESSES: dict[str, Callable[[Any], Law]] = {
    "ZCDP": lambda g: gaussian(math.sqrt(2 * g.rho)),
    "OffsetZCDP": lambda g: gaussian(math.sqrt(2 * g.rho)),
    "RenyiDP": lambda g: gaussian(math.sqrt(min(2 * v / a for a, v in zip(g.orders, g.values, strict=True)))),
    "Grouped": lambda g: response(g.size * g.guarantee.epsilon_value),  # a chain of responses with log odds in steps
    "ExponentialLoss": lambda g: response(g.epsilon_value / 2),
    "LossDistribution": lambda _: finite([1.0], [1.0]),  # its two directions need not be those of one pair
}
