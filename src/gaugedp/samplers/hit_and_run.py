"""Hit-and-run: draw a line through the point, then a uniform point of the line inside the body.

The uniform distribution is stationary (Smith 1984), on degenerate polytopes too. It is slower than the walk over
facets. docs/theory/walks.md
"""

from dataclasses import dataclass

import numpy as np

from gaugedp._internal.validate import whole
from gaugedp.bodies import Body, LinearImage, Polytope
from gaugedp.entropy import Entropy, system_rng
from gaugedp.errors import InvalidRequest
from gaugedp.samplers.continuous import exponentials, normals, uniforms
from gaugedp.samplers.facet_walk import facets_of
from gaugedp.samplers.walks import Walk, chart, check_one_to_one, gathered


def hit_and_run(
    body: Body,
    size: int,
    rng: Entropy | None = None,
    *,
    chains: int = 32,
    burn_in: int | None = None,
    thin: int | None = None,
) -> np.ndarray:
    """Draw nearly uniform points of a body by random walks.

    Use it for experiments with bodies for which `uniform` has no exact method. Each step of the walk, which is known as
    hit-and-run, chooses a random chord through the current point and moves to a uniform point of this chord.

    Parameters
    ----------
    body : Body
        The body in ℝ^d. Below, r is its rank, the number of dimensions that it spans.
    size : int
        The number of points to draw.
    rng : Entropy, optional
        The source of randomness. The default is that of the operating system.
    chains : int
        The number of independent walks, at most `size`. The points of one walk follow those of another. Default 32.
    burn_in : int, optional
        The number of steps of each walk before its first point. Default 20·r.
    thin : int, optional
        The number of steps per point. Default r.

    Returns
    -------
    array, shape (size, d)
        The points.

    Notes
    -----
    The draws are `mixing`: a walk of infinite length is uniform on the body (Smith 1984), but nothing proves how near a
    finite walk is to it. Steps are exact on polytopes. On other bodies, the ends of the chords are found by bisection.

    Examples
    --------
    All points lie in the hexagon, so their norm is at most 1:

    >>> from gaugedp.bodies import Polytope
    >>> from gaugedp.samplers import hit_and_run
    >>> hexagon = Polytope.symmetric_hull([[1, 0, 1], [0, 1, 1]])
    >>> points = hit_and_run(hexagon, 6)
    >>> points.shape, bool((hexagon.gauge(points) < 1 + 1e-6).all())
    ((6, 2), True)
    """
    whole(minimum=1, chains=chains)
    whole(minimum=0, size=size)
    stream = rng or system_rng()
    if isinstance(body, LinearImage):
        check_one_to_one(body)
        return hit_and_run(body.body, size, stream, chains=chains, burn_in=burn_in, thin=thin) @ body.matrix.T
    count = max(1, min(chains, size))
    walk: Walk = PolytopeWalk.started(body, count, stream) if isinstance(body, Polytope) else GaugeWalk(body, count)
    pause = body.rank if thin is None else thin
    return gathered(walk, size, 20 * body.rank if burn_in is None else burn_in, pause, stream)


# -- polytopes ---------------------------------------------------------------------------------------


@dataclass(eq=False)
class Lanes:
    """Points z = Σ_i s_i·b_i of conv{±w_j}, each with the basis b_1 … b_r of a facet whose cone it lies in.

    `columns` (r, k) holds the w_j. For l points: `basis` (l, r) and `signs` (l, r) say b_i = ±w_j, `inverse`
    (l, r, r) is that of the matrix of the b_i, and `shares` (l, r) are the s_i ≥ 0: the gauge of z is their sum.
    `products` (l, k) is yᵀW for the normal y, ⟨y, b_i⟩ = 1: the basis is optimal where all |⟨y, w_j⟩| ≤ 1.
    """

    columns: np.ndarray
    basis: np.ndarray
    signs: np.ndarray
    inverse: np.ndarray
    products: np.ndarray
    shares: np.ndarray

    @classmethod
    def at(cls, columns: np.ndarray, basis: np.ndarray, signs: np.ndarray, points: np.ndarray) -> "Lanes":
        """Return the lanes at points (l, r) in the cones of these bases."""
        inverse = _inverses(columns, basis, signs)
        shares = np.maximum((inverse @ points[:, :, None])[:, :, 0], 0.0)
        return cls(columns, basis, signs, inverse, inverse.sum(axis=1) @ columns, shares)

    def points(self) -> np.ndarray:
        """Return the points z, shape (l, r)."""
        return (facets_of(self.columns, self.basis, self.signs) @ self.shares[:, :, None])[:, :, 0]

    def twice(self) -> "Lanes":
        """Return two copies of every lane, all the first copies before the second ones."""
        states = self.basis, self.signs, self.inverse, self.products, self.shares
        return Lanes(self.columns, *(np.concatenate([state, state]) for state in states))

    def advance(self, directions: np.ndarray, limits: np.ndarray) -> np.ndarray:
        """Move each point along its direction until the gauge is 1 or `limits` (l,) is reached; return how far."""
        travelled = np.zeros(len(limits))
        live = np.arange(len(limits))
        for _ in range(10**4):
            shares, rates = self.shares[live], (self.inverse[live] @ directions[live][:, :, None])[:, :, 0]
            rooms = _divided(shares, -rates)
            leaving = rooms.argmin(axis=1)
            room = rooms.min(axis=1)
            end = _divided(np.maximum(1 - shares.sum(axis=1), 0.0), rates.sum(axis=1))
            reach = np.minimum(end, limits[live] - travelled[live])
            stride = np.minimum(room, reach)
            self.shares[live] = np.maximum(shares + stride[:, None] * rates, 0.0)
            travelled[live] += stride
            crossing = room < reach
            live, leaving = live[crossing], leaving[crossing]
            if not len(live):
                return travelled
            self._pivot(live, leaving)
        raise _lost()

    def _pivot(self, live: np.ndarray, leaving: np.ndarray) -> None:
        """Exchange the basis vector `leaving` of each live lane, whose share is zero, for the one beyond the ridge."""
        every = np.arange(len(live))
        row = self.inverse[live, leaving]
        along = row @ self.columns
        basis = self.basis[live, leaving]
        products = along[every, basis]
        along[every[:, None], self.basis[live]] = 0.0
        along[every, basis] = products  # the negative of the leaving vector may enter
        entering, gap = _entering(along, self.products[live])
        sign = -np.sign(along[every, entering])
        column = (self.inverse[live] @ (self.columns.T[entering] * sign[:, None])[:, :, None])[:, :, 0]
        pivot = column[every, leaving]
        if not pivot.all():
            raise _lost()
        factor = column / pivot[:, None]
        factor[every, leaving] = 1 - 1 / pivot
        self.inverse[live] -= factor[:, :, None] * row[:, None, :]
        self.products[live] -= gap[:, None] * along
        self.basis[live, leaving], self.signs[live, leaving] = entering, sign
        self.shares[live, leaving] = 0.0
        if (tiny := np.abs(pivot) < 0.02).any():  # then the inverse is computed again
            self._refactor(live[tiny])

    def _refactor(self, which: np.ndarray) -> None:
        self.inverse[which] = _inverses(self.columns, self.basis[which], self.signs[which])
        self.products[which] = self.inverse[which].sum(axis=1) @ self.columns


def _inverses(columns: np.ndarray, basis: np.ndarray, signs: np.ndarray) -> np.ndarray:
    try:
        return np.linalg.inv(facets_of(columns, basis, signs))
    except np.linalg.LinAlgError:
        raise _lost() from None


def _lost() -> InvalidRequest:
    return InvalidRequest(
        "The random walk failed, because some generators differ only by rounding.", "Remove such generators."
    )


def _entering(along: np.ndarray, products: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return which vector enters, and how far y − gap·row goes: the ratio test in two passes (Harris 1973)."""
    size = np.abs(along)
    room = 1 + np.sign(along) * products
    usable = np.where(size > 1e-7, size, 0.0)  # smaller entries of a row count as 0
    furthest = _divided(room + 1e-9, usable).min(axis=1)  # Harris' test lets a constraint be broken by 1e-9
    if not np.isfinite(furthest).all():  # else the negative of the leaving vector may enter
        raise _lost()
    ratio = _divided(room, usable)
    entering = np.where(ratio <= furthest[:, None], size, 0.0).argmax(axis=1)
    return entering, np.maximum(ratio[np.arange(len(ratio)), entering], 0.0)


def _divided(amount: np.ndarray, speed: np.ndarray) -> np.ndarray:
    return np.divide(amount, speed, out=np.full(speed.shape, np.inf), where=speed > 0)


@dataclass(eq=False)
class PolytopeWalk:
    """c walks in conv{±w_j}; `chart` (d, r) maps it to the body."""

    chart: np.ndarray
    lanes: Lanes

    @classmethod
    def started(cls, body: Polytope, chains: int, rng: Entropy) -> "PolytopeWalk":
        """Return walks that begin at independent uniform points of one cone, that of a random direction."""
        generators = body.distinct
        target = normals(generators.rank, rng)
        coefficients = _least_coefficients(generators.coordinates, target / np.linalg.norm(target))
        basis = np.argsort(-np.abs(coefficients))[: generators.rank]
        bases, signs = np.tile(basis, (chains, 1)), np.tile(np.sign(coefficients[basis]), (chains, 1))
        mixture = exponentials(chains * generators.rank, rng).reshape(chains, -1)
        levels = uniforms(chains, rng) ** (1 / generators.rank)
        shares = mixture * (levels / mixture.sum(axis=1))[:, None]
        points = (shares * signs) @ generators.coordinates[:, basis].T
        return cls(body.factor * generators.frame.columns, Lanes.at(generators.coordinates, bases, signs, points))

    def step(self, rng: Entropy) -> None:
        """Move every walk once, along a random combination of the generators: the line fits the shape of the body."""
        lanes, count = self.lanes, len(self.lanes.basis)
        n_columns = lanes.columns.shape[1]
        lines = normals(count * n_columns, rng).reshape(count, n_columns) @ lanes.columns.T
        lines /= np.linalg.norm(lines, axis=1, keepdims=True)
        ends = lanes.twice().advance(np.concatenate([lines, -lines]), np.full(2 * count, np.inf))
        ahead, behind = ends[:count], ends[count:]
        place = uniforms(count, rng) * (ahead + behind) - behind
        lanes.advance(lines * np.sign(place)[:, None], np.abs(place))
        self.lanes = Lanes.at(lanes.columns, lanes.basis, lanes.signs, lanes.points())
        if not np.abs(self.lanes.products).max() <= 1 + 1e-6:  # then the basis is lost
            raise _lost()

    def points(self) -> np.ndarray:
        """Return where the walks are, shape (c, d)."""
        return self.lanes.points() @ self.chart.T


def _least_coefficients(columns: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Return x of least Σ|x| with columns·x = target, at a vertex: r of its entries are not zero."""
    import scipy.optimize

    signed = np.hstack([columns, -columns])
    answer = scipy.optimize.linprog(np.ones(signed.shape[1]), A_eq=signed, b_eq=target, method="highs-ds")
    if answer.status != 0:
        raise InvalidRequest(
            f"The linear program for a first facet of the body failed: {answer.message}",
            "Scale the generators so that their largest entry is near 1.",
        )
    positive_part, negative_part = np.split(answer.x, 2)
    return np.asarray(positive_part - negative_part)


# -- bodies known by their gauge ---------------------------------------------------------------------


class GaugeWalk:
    """c walks in a body; `places` (c, r) are in coordinates of its `chart` (d, r), and begin at the origin."""

    def __init__(self, body: Body, chains: int) -> None:
        self.body, self.chart = body, chart(body)
        self.places = np.zeros((chains, self.chart.shape[1]))

    def step(self, rng: Entropy) -> None:
        """Move every walk once, along a uniform direction."""
        count, rank = self.places.shape
        lines = normals(count * rank, rng).reshape(count, rank)
        both = np.concatenate([lines, -lines])
        ends = self._lengths(np.concatenate([self.places, self.places]), both)
        ahead, behind = ends[:count], ends[count:]
        place = uniforms(count, rng) * (ahead + behind) - behind
        self.places = self.places + place[:, None] * lines

    def _lengths(self, places: np.ndarray, lines: np.ndarray) -> np.ndarray:
        """Return how far each line stays in the body, from below: at most 2/gauge(line), by halving."""
        low, high = np.zeros(len(lines)), 2 / self._gauge(lines)
        for _ in range(48):
            middle = (low + high) / 2
            inside = self._gauge(places + middle[:, None] * lines) <= 1
            low, high = np.where(inside, middle, low), np.where(inside, high, middle)
        return low

    def _gauge(self, places: np.ndarray) -> np.ndarray:
        return self.body.gauge(places @ self.chart.T)

    def points(self) -> np.ndarray:
        """Return where the walks are, shape (c, d)."""
        return self.places @ self.chart.T
