"""A second accountant, which shares nothing with the library: a lower and an upper bound on δ.

The outcomes of each dominating pair (P, Q) are cut into cells of losses. *Upper*: a cell is split between its ends,
with its probability under P and Q kept, which can only raise the profile (Jensen). *Lower*: a cell is one outcome,
which is post-processing, and its loss is then lowered to the grid. Sums are by Fourier transforms of tilted chances.
What that loses or folds is bounded in their sum, and counts against both ends: (1 − e^(−x))·e^(−cx) is at most κ(c).
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar

from tests.laws.pairs import Law, atoms

Array = Any
SIZE = 2**12  # places of a sum
LEAST, FOLDED = -60.0, 45.0  # log δ that counts as 0; so little, as e^−45, of a tilted sum is outside of its window
FLOAT, FLOATS = 1e-13, 1e-8  # relative, for the rounding of losses, and of probabilities


class Grid(NamedTuple):
    anchor: float
    span: float
    weights: Array
    log_moment: float
    infinite: float

    @property
    def losses(self) -> Array:
        return self.anchor + self.span * np.arange(len(self.weights))

    def moved(self, step: float) -> float:
        with np.errstate(divide="ignore"):
            logs = step * self.losses + np.log(self.weights)
        return float(logs.max()) + math.log(float(np.exp(logs - logs.max()).sum()))


class Look(NamedTuple):
    loss: Array
    log_p: Array
    low: Array
    high: Array

    @classmethod
    def of(cls, law: Law) -> "Look":
        cells = law.cut(np.unique(law.losses))
        kept = (cells.p > 0) & np.isfinite(cells.loss)
        order = np.argsort(cells.loss[kept])
        log_p = np.log(np.maximum(cells.p, 1e-320))
        return cls(*(each[kept][order] for each in (cells.loss, log_p, cells.low, cells.high)))

    def log_moment(self, order: float) -> float:
        logs = self.log_p + order * self.loss
        return float(logs.max()) + math.log(float(np.exp(logs - logs.max()).sum()))

    def change(self, steps: Array, order: float) -> Array:
        logs = np.multiply.outer(steps, self.loss) + (self.log_p + order * self.loss - self.log_moment(order))
        top = logs.max(axis=1)
        return top + np.log(np.exp(logs - top[:, None]).sum(axis=1))

    def ends(self, count: int, order: float, log_delta: float) -> tuple[float, float]:
        """Return losses below which, tilted, and above which, as they are, next to nothing lies."""
        logs = self.log_p + order * self.loss
        first = int(np.searchsorted(np.cumsum(np.exp(logs - self.log_moment(order))), 1e-11 / count))
        last = int(np.sum(np.cumsum(np.exp(self.log_p[::-1]))[::-1] > 1e-11 / count * math.exp(log_delta)))
        a, b = self.low[min(first, len(self.low) - 1)], self.high[max(last - 1, 0)]
        return float(max(a, self.loss[0])), float(max(a, min(b, self.loss[-1])))


def tilted(places: Array, p: Array, anchor: float, span: float, order: float, infinite: float) -> Grid:
    first = int(places.min())
    sums = np.bincount((places - first).astype(int), p)
    with np.errstate(divide="ignore"):
        logs = np.log(sums) + order * (anchor + span * (first + np.arange(len(sums))))
    sizes = np.exp(logs - logs.max())
    log_moment = float(logs.max()) + math.log(float(sizes.sum()))
    return Grid(anchor + first * span, span, sizes / sizes.sum(), log_moment, infinite)


def upper(law: Law, anchor: float, span: float, ends: tuple[float, float], order: float) -> Grid:
    a, b = (math.floor((end - anchor) / span) for end in ends)
    edges = anchor + span * np.arange(a, b + 3)
    cells = law.cut(edges)
    gone, kept = cells.high > edges[-1], (cells.high <= edges[-1]) & (cells.p > 0)
    p, low, high = cells.p[kept], *(np.maximum(end[kept], edges[0]) for end in (cells.low, cells.high))
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.expm1(low - np.clip(cells.loss[kept], low, high)) / np.expm1(low - high) + 1e-6
    share = np.where(high > low, np.clip(share, 0, 1), 1)
    losses, p = np.concatenate([low, high]) - anchor, np.concatenate([p * (1 - share), p * share])
    losses, p = (losses + FLOAT * (span + abs(anchor) + np.abs(losses)))[p > 0], p[p > 0]
    below = np.floor(losses / span)
    share = np.clip(np.expm1(below * span - losses) / math.expm1(-span), 0, 1)
    places, p = np.concatenate([below, below + 1]), np.concatenate([p * (1 - share), p * share])
    return tilted(places, p, anchor, span, order, float(cells.p[gone].sum()))


def lower(law: Law, anchor: float, span: float, ends: tuple[float, float], order: float) -> Grid:
    a, b = (math.floor((end - anchor) / span) for end in ends)
    cells = law.cut(anchor + span * (np.arange(a, b + 2) + 0.5))
    loss = cells.loss - anchor
    kept = (cells.p > 0) & (loss >= (a - 1) * span) & (loss < np.inf)
    infinite, p = float(cells.p[(loss == np.inf) & (cells.q == 0)].sum()), cells.p[kept]
    loss = loss[kept] - FLOAT * (span + abs(anchor) + np.abs(loss[kept]))
    sizes = np.exp(np.log(p) + order * (loss - loss.max()))
    short, heavy = (-loss / span) % 1, sizes > 1e-4 * sizes.max()
    tries = [float(short[heavy & (short < 0.5)].max(initial=0.0)), *short[np.argsort(-sizes)[:4]]]
    at = loss[heavy] / span
    shift = min(tries, key=lambda s: float(sizes[heavy] @ (at + s - np.floor(at + s + 1e-9)))) + 1e-9
    return tilted(np.minimum(np.floor(loss / span + shift), b), p, anchor - shift * span, span, order, infinite)


class Sum(NamedTuple):
    grid: Grid
    lost: float

    @classmethod
    def of(cls, grids: Sequence[tuple[Grid, int]], window: "Window") -> "Sum":
        span, anchor = grids[0][0].span, sum(n * grid.anchor for grid, n in grids)
        size = 2 ** math.ceil(math.log2((window.high - window.low) / span + 4))
        start = math.floor((window.low - anchor) / span)
        spectrum, norms = np.ones(size // 2 + 1, dtype=complex), 1.0
        for grid, n in grids:
            norms += n * float(np.linalg.norm(grid.weights))
            spectrum *= np.fft.rfft(np.bincount(np.arange(len(grid.weights)) % size, grid.weights, size)) ** n
        weights = np.roll(np.fft.irfft(spectrum, size), -(start % size))
        ends = anchor + span * start, anchor + span * (start + size - 1)
        lost = 8 * 2.0**-53 * math.log2(size) * math.sqrt(size) * norms  # Higham 2002, theorem 24.2
        for step, end in zip(window.steps, ends, strict=True):
            lost += 2 * math.exp(min(1.0, sum(n * grid.moved(step) for grid, n in grids) - step * end))
        infinite = -math.expm1(sum(n * math.log1p(-min(grid.infinite, 1 - 1e-16)) for grid, n in grids))
        return cls(Grid(ends[0], span, weights, sum(n * grid.log_moment for grid, n in grids), infinite), lost)

    def as_law(self, order: float) -> Law:
        at = np.flatnonzero(self.grid.weights > 1e-19)
        losses = self.grid.losses[at]
        p = np.exp(np.minimum(np.log(self.grid.weights[at]) + self.grid.log_moment - order * losses, 700))
        return atoms(np.append(losses, np.inf), np.append(p, self.grid.infinite))


class Window(NamedTuple):
    low: float
    high: float
    steps: tuple[float, float]

    @classmethod
    def of(cls, looks: Sequence[tuple[Look, int]], order: float) -> "Window":
        spread = sum(n * (look.loss[-1] - look.loss[0]) for look, n in looks)
        steps = np.append(order * np.geomspace(0.03, 30, 12), FOLDED / max(spread, 1e-9) * np.geomspace(1, 100, 3))
        ends = [
            (FOLDED + sum(n * look.change(sign * steps, order) for look, n in looks)) / (sign * steps)
            for sign in (-1, 1)
        ]
        at = int(ends[0].argmax()), int(ends[1].argmin())
        return cls(float(ends[0][at[0]]), float(ends[1][at[1]]), (-float(steps[at[0]]), float(steps[at[1]])))


def log_kappa(order: float) -> float:
    return -math.log1p(order) - order * math.log1p(1 / order)


def bracket(parts: Sequence[tuple[Law, int]], epsilon: float) -> tuple[float, float]:
    """Return a lower and an upper bound on δ at `epsilon` of as many releases of each law."""
    looks = [(Look.of(law), n) for law, n in parts]

    def log_bound(log_order: float) -> float:
        order = math.exp(log_order)
        bound = sum(n * look.log_moment(order) for look, n in looks) + log_kappa(order) - order * epsilon
        return max(bound, LEAST) + 1e-3 * log_order

    best = minimize_scalar(log_bound, bounds=(-9, 9), method="bounded", options={"xatol": 0.1})
    order, log_delta = math.exp(best.x), max(min(float(best.fun), 0.0), LEAST)
    windows = [Window.of([look], order) for look in looks]

    def one_end(way: Callable[..., Grid], sign: int) -> float:
        """Return a bound on δ: sums of equal parts first, each on a grid that suits it, and then all of them."""
        laws, lost = [], 0.0
        for (law, n), (look, _), window in zip(parts, looks, windows, strict=True):
            summed = law
            if n > 1:
                ends = look.ends(n, order, log_delta)
                span = max((window.high - window.low) / SIZE, (ends[1] - ends[0]) / SIZE, 1e-12)
                anchor, span = (0.0, span) if law.span is None else (law.losses[0], law.span / max(1, law.span // span))
                total = Sum.of([(way(law, float(anchor), span, ends, order), n)], window)
                summed, lost = total.as_law(order), lost + total.lost + 1e-19 * len(total.grid.weights)
                if not summed.cut(np.zeros(1)).p[:-1].any():  # all is below the floats: nothing is shown
                    return max(0.0, float(sign))
            laws.append((summed, Look.of(summed).ends(1, order, log_delta)))
        window = Window.of(looks, order)
        span = max((window.high - window.low) / SIZE, *((b - a) / SIZE / 2 for _, (a, b) in laws), 1e-12)
        total = Sum.of([(way(law, 0.0, span, ends, order), 1) for law, ends in laws], window)
        gaps = np.maximum(total.grid.losses - epsilon + sign * FLOAT * (1 + epsilon), 0.0)
        finite_part = float((-np.expm1(-gaps) * np.exp(-order * gaps)) @ total.grid.weights)
        finite_part += sign * math.exp(log_kappa(order)) * (lost + total.lost)
        bound = total.grid.infinite + math.exp(min(total.grid.log_moment - order * epsilon, 600)) * finite_part
        return min(1.0, max(0.0, bound * (1 + sign * FLOATS)))

    return one_end(lower, -1), one_end(upper, 1)
