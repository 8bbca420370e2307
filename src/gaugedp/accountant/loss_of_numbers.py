"""Privacy losses with one number per row, and their sums over many rows.

A sum over many rows is interpolated: it equals one over a few nodes.

Theorem. Let M be that of randomized response, Laplace noise or bounded range with the number t (ε or 1/λ), a = z + ½
and Re z ≥ 0. For complex t with |t| ≤ 1/(2|a|), log M/t² is analytic and at most 4·|z|·|a|.

Proof. For s from ½ to a, |s| grows from ½, and w = st has |w| ≤ ½. There |∂ log M/∂s| ≤ 2|t|: it is t·tanh w, or
t·(coth w − 1/w), at most |t|·tan ½. For Laplace noise M·e^{t/2} = cosh w + (t/2)·sinh(w)/w. As |t|/2 ≤ |w|, its modulus
is at least 2 − e^{|w|}, and its derivative at most |t|·(e^{|w|} − 1). M is 1 at z = 0, so |log M| ≤ 2|z|·|t|. It has no
term constant or linear in t, so the maximum principle gives the bound from |t| = 1/(2|a|).

Nodes. Rows with numbers between two powers of 2, the largest at most 0.354/|a|, lie in an ellipse of parameter 5.1
within the disc. Interpolation of log M/t² at 24 Chebyshev nodes errs by at most 4·5.1^−23/4.1 of its bound (Trefethen
2013, Approximation Theory and Approximation Practice, theorem 8.2), so log M by two units 2^−53 of |z|·|a|·Σt². The
weights of the nodes follow from Σt²·T_j, j < 24, which err by up to 4 + 2j + 4j² units of Σt². The coefficients of log
M/t² fall as 5.1^−j, so this is 43 units. Sums of 24 terms lose 16 units of Σ_j |Σt²·T_j|. On a line, |z| is the height.
"""

import math
from abc import abstractmethod
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from gaugedp._internal.rounding import UNIT
from gaugedp.accountant.loss import Array, Line, PrivacyLoss, blocks

_GROUPED_ROWS, _NODES = 2**10, 24  # rows of a group that nodes replace, and the nodes
_INTERPOLATED_UP_TO = 0.354  # t·|z + ½| up to which the nodes interpolate to 2 units
_LEAST_SQUARED = 1e-100  # number whose square does not underflow


class Weighted(NamedTuple):
    """Numbers with weights; a sum over them errs by `lost`·|z|·|z + ½|."""

    numbers: Array
    weights: Array
    lost: float = 0.0


_NONE = Weighted(np.array([]), np.array([]))


class PrivacyLossOfNumbers(PrivacyLoss):
    """Losses with one number t per row, in blocks.

    The derivative of log M in z is at most 2·|t| where |t| ≤ 1/(2|z + ½|), and log M has no term linear in t.
    """

    def __init__(self, rows: list[tuple[Any, ...]], counts: list[int]) -> None:
        super().__init__(rows, counts)
        self.numbers = np.array([row[0] for row in rows], dtype=float)

    @abstractmethod
    def block_moment(self, orders: Array, numbers: Array) -> Array:
        """Return log M, of shape (rows, orders)."""

    @abstractmethod
    def block_line(self, order: float, heights: Array, numbers: Array, counts: Array) -> Line:
        """Return the line of the rows with multiplicities."""

    def log_moment(self, orders: Array) -> Array:
        """Return the sum of log M."""
        rows, nodes = self._within(float(orders.max()) + 0.5)
        return self._moments(orders, rows.numbers, rows.weights) + self._moments(orders, *nodes[:2])

    def rounding(self, orders: Array) -> Array:
        """Return a bound on the error of `log_moment`."""
        rows, nodes = self._within(float(orders.max()) + 0.5)
        sizes = self._moments(orders, rows.numbers, rows.weights)
        sizes = sizes + self._moments(orders, nodes.numbers, np.abs(nodes.weights))
        return 64 * UNIT * sizes + nodes.lost * orders * (orders + 0.5)

    def line(self, order: float, heights: Array) -> Line:
        """Return the sum of the lines."""
        reach = float(np.hypot(order + 0.5, heights.max()))
        rows, nodes = self._within(reach)
        parts = blocks(len(rows.numbers), len(heights))
        lines = (self.block_line(order, heights, rows.numbers[part, None], rows.weights[part]) for part in parts)
        total = Line.sum(lines, heights)
        if not nodes.numbers.size:
            return total
        signed, absolute = (
            self.block_line(order, heights, nodes.numbers[:, None], weights)
            for weights in (nodes.weights, np.abs(nodes.weights))
        )
        return total.plus(Line(*signed[:2], absolute.rounding + nodes.lost * heights * reach))

    def _moments(self, orders: Array, numbers: Array, weights: Array) -> Array:
        total = np.zeros(len(orders))
        for part in blocks(len(numbers), len(orders)):
            total += weights[part] @ self.block_moment(orders, numbers[part, None])
        return total

    def _within(self, reach: float) -> tuple[Weighted, Weighted]:
        """Return rows, and nodes in place of the others, for |z + ½| ≤ `reach`."""
        if not self._groups:
            return Weighted(self.numbers, self.counts), _NONE
        kept, nodes = np.ones(len(self.numbers), dtype=bool), [_NONE]
        for rows, instead in self._groups:
            if float(self.numbers[rows].max()) * reach <= _INTERPOLATED_UP_TO:
                kept, nodes = kept & ~rows, [*nodes, instead]
        numbers, weights, lost = zip(*nodes, strict=True)
        joined = Weighted(np.concatenate(numbers), np.concatenate(weights), math.fsum(lost))
        return Weighted(self.numbers[kept], self.counts[kept]), joined

    @cached_property
    def _groups(self) -> list[tuple[Array, Weighted]]:
        """Many rows with numbers between the same powers of 2, and nodes for them."""
        if len(self.numbers) < _GROUPED_ROWS:
            return []
        exponents = np.frexp(np.maximum(self.numbers, _LEAST_SQUARED / 2))[1]
        values, sizes = np.unique(exponents[self.numbers > _LEAST_SQUARED], return_counts=True)
        groups = [exponents == value for value, size in zip(values, sizes, strict=True) if size >= _GROUPED_ROWS]
        return [(rows, few_nodes(self.numbers[rows], self.counts[rows])) for rows in groups]


def few_nodes(numbers: Array, counts: Array) -> Weighted:
    """Return Chebyshev nodes with the same sums of t²·p(t) for polynomials p of degree below `_NODES`."""
    low, high = float(numbers.min()), float(numbers.max())
    middle, half = (low + high) / 2, max((high - low) / 2, 2.0**-20 * high)
    squares, places = counts * numbers**2, math.pi * (np.arange(_NODES) + 0.5) / _NODES
    moments = _chebyshev_moments((numbers - middle) / half, squares)
    lost = UNIT * (64 * moments[0] + 16 * float(np.abs(moments).sum()))
    moments[0] /= 2
    nodes = middle + half * np.cos(places)
    return Weighted(nodes, np.cos(np.outer(places, np.arange(_NODES))) @ moments * (2 / _NODES) / nodes**2, lost)


def _chebyshev_moments(x: Array, weights: Array) -> Array:
    """Return Σ w·T_j(x) for j < `_NODES`, by 2·T_i·T_j = T_{i+j} + T_{i−j}."""
    polynomials = [np.ones_like(x), x]
    while len(polynomials) <= _NODES // 2:
        polynomials.append(2 * x * polynomials[-1] - polynomials[-2])
    first = np.array([weights.sum(), (weights * x).sum()])
    products = [[(weights * a * a).sum(), (weights * a * b).sum()] for a, b in pairwise(polynomials)]
    return np.asarray((2 * np.array(products) - first).ravel())
