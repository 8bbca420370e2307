"""Exact K-norm noise of integer answers by rejection from a box."""

import math
from copy import copy
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np

from gaugedp._internal.trial_stream import PUBLIC_SEED, TrialStream, trial_stream
from gaugedp.bodies.digest import digest
from gaugedp.bodies.polytope import Polytope
from gaugedp.entropy import Entropy
from gaugedp.errors import InvalidRequest
from gaugedp.samplers.body_noise import GROUPS, GaugeNoise
from gaugedp.samplers.box_coordinates import box_coordinates
from gaugedp.samplers.continuous import gammas, uniforms
from gaugedp.samplers.discrete import geometric, uniform_below
from gaugedp.samplers.gauge_side import GaugeSide
from gaugedp.samplers.nearest import NearestPlane
from gaugedp.samplers.reals import WORD
from gaugedp.samplers.tuning import TUNED

_FINE_STEPS = 2**20  # at least: steps of the fine lattice in 1/ε
_LEAST_MULTIPLE = 2**14  # least multiple of the body that is drawn from, in steps of the fine lattice
_LARGEST_SIDE = 2.0**30  # of a scale times a half side: integers of 64 bits hold all sums up to 2^7 times that
_known: dict[str, "LatticeRejection | InvalidRequest"] = {}


class Trials(NamedTuple):
    """Lattice points (groups, n, d) with their gauges and weights (groups, n)."""

    draws: np.ndarray
    gauges: np.ndarray
    weights: np.ndarray


class LatticeRejection(GaugeNoise):
    """Noise on the lattice of sums of a flat body's integer generators, P(z) ∝ e^{−ε⌈N‖z‖_K⌉/N}.

    In box coordinates (`BoxCoordinates`) a multiple t of the body and a point y of the box t·Π[−h_i, h_i] are drawn on
    the fine lattice ℤ^r/N. With z the lattice point near y, y is accepted if ‖z‖_K + ‖y − z‖_K ≤ t, the second rounded
    up; integers decide (docs/theory/flat_knorm.md, theorem 1). `trials` and `weighted` describe the noise: their
    directions come from public points in floats, weighted and resampled.
    """

    expected_trials: float
    price = ", by rejection"
    n_described = GROUPS * TUNED.radii * TUNED.directions

    def __init__(self, body: Polytope, step: Fraction = Fraction(1)) -> None:
        columns, per_unit = body.distinct.columns, 1 / step
        if not ((columns == np.rint(columns)).all() and float(body.factor).is_integer() and per_unit.denominator == 1):
            raise InvalidRequest(
                "Some answers are combinations of others; exact K-norm noise then requires integer answers.",
                "Use KNorm with walk=True, or Matrix.",
            )
        coordinates = box_coordinates(columns)
        if coordinates is None:
            raise InvalidRequest("No exact K-norm noise was found.", "Use Matrix, or KNorm with walk=True.")
        self.coordinates, self.rank, self.factor = coordinates, body.rank, int(body.factor)
        self.per_unit = int(per_unit)
        self.lattice, self.n_columns = self, coordinates.columns.shape[1]
        self.half, self.side = coordinates.half, GaugeSide(coordinates.columns)
        self.plane = NearestPlane(coordinates.left)
        self._left, self._matrix, self._adjoint = (
            matrix.astype(np.int64).astype(object)
            for matrix in (coordinates.left, coordinates.matrix, coordinates.adjoint)
        )
        self._functionals = self._learned(trial_stream(PUBLIC_SEED))
        if not self.expected_trials <= TUNED.most_trials:
            raise InvalidRequest(
                f"Drawing K-norm noise exactly would take more than {self.expected_trials:.2g} trials per draw.",
                "Use Matrix, or KNorm with walk=True.",
            )
        self._rounded: dict[float, Trials] = {}

    def on_lattice(self, size: int, epsilon: Fraction, rng: Entropy) -> np.ndarray:
        """Return exact draws in lattice steps, int64 (size, d)."""
        fineness, scale = self.fine_law(epsilon)
        found: list[list[int]] = []
        wanted = 8.0 * size
        while len(found) < size:
            count = int(min(TUNED.block, 1 + wanted * self.expected_trials))
            found += self._accepted(count, fineness, scale, rng)
            wanted = min(2 * wanted, float(TUNED.block))
        points = np.array(found[:size], dtype=object).reshape(size, self.rank)
        return (points @ self._left.T).astype(np.int64)

    def unit(self, epsilon: Fraction) -> Fraction:
        """Return the scale of the law in units of the body without its factor, of whose columns steps are shifts."""
        fineness, scale = self.fine_law(epsilon)
        return scale / fineness

    def fine_law(self, epsilon: Fraction) -> tuple[int, Fraction]:
        """Return N and the scale N·factor/ε of the gauge on the fine lattice."""
        unit, fineness = self.factor / epsilon, self.per_unit
        while fineness * unit < _FINE_STEPS:
            fineness *= 2
        if not float(fineness * unit) * float(self.half.max()) < _LARGEST_SIDE:
            raise InvalidRequest("The noise would overflow 64-bit lattice steps.", "Use a larger epsilon.")
        return fineness, fineness * unit

    def lattice_columns(self) -> np.ndarray:
        """Return the images M·A⁻¹·w_j of the columns that the gauge is computed with."""
        shown = self.coordinates
        return np.asarray(self.per_unit * shown.left @ (shown.adjoint @ shown.columns / shown.divisor))

    def reference(self, size: int, scale: float, rng: Entropy) -> np.ndarray:
        """Return draws (k, d), k ≤ size: continuous noise in floats, rounded, and accepted by weight."""
        found: list[np.ndarray] = []
        for _ in range(40):
            draws = self.draw(512, rng)
            shown = self.as_steps(draws, self._gauges(draws[:, self.coordinates.kept]), scale)
            found.append(shown.draws[uniforms(512, rng) < shown.weights])
            if sum(map(len, found)) >= size:
                break
        return np.concatenate(found)[:size]

    def accepted(self, points: np.ndarray, sizes: np.ndarray, fineness: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the lattice points (k, r) near fine points (k, r), and whether they are accepted at `sizes`."""
        numerators = points.astype(object) @ self._adjoint.T
        spacing = fineness // self.per_unit
        chosen = self.plane.exact(numerators, self.coordinates.divisor * spacing)
        near = (chosen @ self._matrix.T * spacing).astype(np.int64)
        left = sizes - _LEAST_MULTIPLE * self.side.multiples(points - near, _LEAST_MULTIPLE)
        is_accepted = left >= 0
        is_accepted[is_accepted] = self.side.inside(near[is_accepted], left[is_accepted])
        return chosen, is_accepted

    def draw(self, size: int, rng: Entropy) -> np.ndarray:
        """Return independent draws of density ∝ e^{−‖z‖_K}, in floats."""
        return gammas(self.rank + 1, size, rng)[:, None] * self.uniform(size, rng)

    def uniform(self, size: int, rng: Entropy) -> np.ndarray:
        """Return independent draws, in floats."""
        batches: list[np.ndarray] = []
        missing = size
        while missing > 0:
            count = min(TUNED.block, 1 + int(missing * self.expected_trials))
            points = (2 * uniforms(count * self.rank, rng).reshape(count, self.rank) - 1) * self.half
            points = points[self._maybe(points, 0.0)]
            batches.append(points[self.side.programs(points)[0] <= 1][:missing])
            missing -= len(batches[-1])
        return self._answers(np.concatenate(batches))

    def weighted(self, scale: float) -> tuple[np.ndarray, np.ndarray]:
        """Return lattice points (GROUPS, n, d) and weights (GROUPS, n) of mean 1 that describe the law at ε = 1/scale.

        Draws of a near scale are weighted, and if nearly all would be 0, of a larger one.
        """
        base, known = self._near(scale)
        weights = known.weights * np.exp(-known.gauges * (1 / scale - 1 / base))
        return known.draws, np.maximum(weights / np.maximum(weights.mean(axis=1, keepdims=True), 1e-300), 1e-300)

    def rounded_trials(self, scale: float) -> np.ndarray:
        """Return trial draws of the law at ε = 1/scale, resampled by weight in each group."""
        draws, weights = self.weighted(scale)
        ends = np.cumsum(weights, axis=1)
        places = (np.arange(weights.shape[1]) + 0.5) / weights.shape[1]
        chosen = [np.searchsorted(end, places * end[-1]) for end in ends]
        return np.stack([group[index] for group, index in zip(draws, chosen, strict=True)])

    def shown(self, scale: float) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return the weighted trial draws."""
        return [self.weighted(scale)]

    def described(self, size: int, scale: float, seed: int) -> np.ndarray:
        """Return draws (size, d) that describe the noise: the public trial draws in random order, with random signs.

        None repeats before all have been used.
        """
        stream, points = trial_stream(seed), self.rounded_trials(scale)
        chosen = stream.permutation(max(size, self.n_described))[:size] % self.n_described
        return np.asarray(points.reshape(self.n_described, -1)[chosen] * stream.choice([-1.0, 1.0], (size, 1)))

    def check(self, scale: float) -> None:
        """Refuse noise that takes too many trials."""
        if not self._trials_at(scale) <= TUNED.most_work:
            raise InvalidRequest(
                f"Drawing K-norm noise exactly would take about {self._trials_at(scale):.2g} trials per draw.",
                "Use Matrix, another epsilon, or KNorm with walk=True.",
            )

    def _trials_at(self, scale: float) -> float:
        return self.expected_trials / float(self._near(scale)[1].weights.mean())

    def as_steps(self, draws: np.ndarray, sizes: np.ndarray, scale: float) -> Trials:
        """Return draws (…, d) with gauges `sizes` times `scale`, rounded to the lattice, with weights for its law."""
        at = self.coordinates
        shown = draws[..., at.kept] * scale
        near = self.plane.floats(shown)
        gauges, missed = self._gauges(near), self._gauges(shown - near)
        return Trials(near @ at.left.T, gauges, np.exp(sizes - (gauges + missed) / scale))

    def _gauges(self, points: np.ndarray) -> np.ndarray:
        """Return the gauges of x (…, r), for the body with its factor, in units of 1."""
        targets = points.reshape(-1, self.rank) @ self.coordinates.matrix.T / self.factor
        return self.side.programs(targets)[0].reshape(points.shape[:-1])

    def _near(self, scale: float) -> tuple[float, Trials]:
        base = max(2.0 ** (round(TUNED.scales * math.log2(scale)) / TUNED.scales), self._least_scale)
        if base not in self._rounded:
            if len(self._rounded) == TUNED.scales:
                del self._rounded[next(iter(self._rounded))]
            draws = self.trials
            self._rounded[base] = self.as_steps(draws, self._sizes, base)
        return base, self._rounded[base]

    @cached_property
    def _least_scale(self) -> float:
        shown, scale = self.trials[..., self.coordinates.kept], 1 / 16
        while self.plane.floats(shown * scale).any(axis=2).mean() < 0.5:
            scale *= 1.25
        return scale

    def _trials(self, rng: Entropy) -> np.ndarray:  # noqa: ARG002
        stream = trial_stream(PUBLIC_SEED)
        edges = self._answers(np.stack([self._directions(stream) for _ in range(GROUPS)]))
        sizes = stream.standard_gamma(self.rank, (GROUPS, TUNED.radii, TUNED.directions))
        self._sizes = sizes.reshape(GROUPS, -1)
        return (sizes[..., None] * edges[:, None]).reshape(GROUPS, TUNED.radii * TUNED.directions, -1)

    def _directions(self, stream: TrialStream) -> np.ndarray:
        """Return the edges of the body in nearly uniform directions, resampled from weighted public points."""
        edges, weights = self._outer(self._in_box(TUNED.public_points, stream), self._functionals)
        found = np.empty((0, self.rank))
        while len(found) < TUNED.directions:
            chosen = edges[stream.choice(len(edges), 2 * TUNED.directions, p=weights / weights.sum())]
            gauges = self.side.programs(chosen)[0]
            is_kept = stream.random(len(chosen)) < gauges ** -float(self.rank)
            found = np.vstack([found, (chosen / gauges[:, None])[is_kept]])
        return found[: TUNED.directions]

    def _outer(self, points: np.ndarray, functionals: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the points where rays leave the box and all |functionals| ≤ 1, and shares of the box in each ray."""
        in_box = np.abs(points / self.half).max(axis=1)
        values = points @ functionals.T
        outer = np.maximum(np.abs(values, out=values).max(axis=1, initial=0.0), in_box)  # in place: copies take longest
        return points / outer[:, None], (in_box / outer) ** self.rank

    def _answers(self, points: np.ndarray) -> np.ndarray:
        at = self.coordinates
        return points @ (self.factor / at.divisor * at.left @ at.adjoint).T

    def _in_box(self, size: int, stream: TrialStream) -> np.ndarray:
        return stream.uniform(-1, 1, (size, self.rank)) * self.half

    def _learned(self, stream: TrialStream) -> np.ndarray:
        """Return functionals at most 1 on the body that many points of the box violate, the best first.

        Programs at points where rays leave the body that the functionals found so far allow give further ones, and the
        share of the box that the body fills.
        """
        found = np.empty((0, self.rank))
        for _ in range(TUNED.learning_rounds):
            edges, weights = self._outer(self._in_box(TUNED.learning_points, stream), found)
            chosen = edges[stream.choice(TUNED.learning_points, TUNED.solved_points, p=weights / weights.sum())]
            gauges, _, duals = self.side.programs(chosen)
            share = float(weights.mean() * (gauges ** -float(self.rank)).mean())
            self.expected_trials = float(f"{1 / share:.3g}")  # the same on every machine
            if self.expected_trials > 4 * TUNED.most_trials:  # an early estimate may be off by a factor of 4
                break
            functionals, sizes = self.side.functionals(duals[gauges > 1])
            functionals, sizes = functionals[sizes > 0], sizes[sizes > 0]
            found = np.unique(np.vstack([found, functionals / sizes[:, None]]), axis=0)
        violated = np.abs(self._in_box(TUNED.learning_points, stream) @ found.T) > 1
        best = np.argsort(-violated.sum(axis=0), kind="stable")
        order: list[int] = []
        while len(order) < TUNED.first_functionals and violated.any():
            order.append(int(violated.sum(axis=0).argmax()))
            violated = violated[~violated[:, order[-1]]]
        return found[[*order, *(place for place in best.tolist() if place not in order)]]

    def _maybe(self, points: np.ndarray, slack: float) -> np.ndarray:
        """Return places of points of the box that may lie inside, if each coordinate is off by at most `slack`."""
        places = np.arange(len(points))
        for some in (self._functionals[: TUNED.first_functionals], self._functionals[TUNED.first_functionals :]):
            limits = 1 + 1e-9 + slack * np.abs(some).sum(axis=1)
            places = places[(np.abs(points[places] @ some.T) <= limits).all(axis=1)]
        return places

    def _accepted(self, count: int, fineness: int, scale: Fraction, rng: Entropy) -> list[list[int]]:
        words = rng.words(count * self.rank).reshape(count, self.rank)
        places = self._maybe((words * 2.0 ** (1 - WORD) - 1) * self.half, 1 / _LEAST_MULTIPLE + 2.0**-40)
        sizes = self._multiples(len(places), scale, rng)
        rows = zip(words[places].tolist(), sizes.tolist(), strict=True)
        points = np.array([self._point(row, size, rng) for row, size in rows], dtype=np.int64)
        chosen, is_accepted = self.accepted(points.reshape(-1, self.rank), sizes, fineness)
        return [
            point
            for point, size in zip(chosen[is_accepted].tolist(), sizes[is_accepted].tolist(), strict=True)
            if self._is_size_kept(size, rng)
        ]

    def _multiples(self, count: int, scale: Fraction, rng: Entropy) -> np.ndarray:
        """Return sums of r + 1 geometric variables, drawn again below the least multiple."""
        found = np.zeros(count, dtype=np.int64)
        while (low := np.flatnonzero(found < _LEAST_MULTIPLE)).size:
            found[low] = geometric(len(low) * (self.rank + 1), scale, rng).reshape(-1, self.rank + 1).sum(axis=1)
        return found

    def _point(self, words: list[int], size: int, rng: Entropy) -> list[int]:
        """Return ⌊V_i·(2·h_i·size + 1)⌋ − h_i·size, V_i uniform on [0, 1] with the first bits of a word."""
        return [_below(word, 2 * h * size + 1, rng) - h * size for word, h in zip(words, self._half, strict=True)]

    def _is_size_kept(self, size: int, rng: Entropy) -> bool:
        """Return True with probability Π (2·h_i·size + 1)/(2·h_i·(size + i)), i = 1 … r."""
        limits = [2 * h * (size + place) for place, h in enumerate(self._half, start=1)]
        chosen = uniform_below(np.array(limits), rng).tolist()
        return all(number < 2 * h * size + 1 for number, h in zip(chosen, self._half, strict=True))

    @cached_property
    def _half(self) -> list[int]:
        return [int(half) for half in self.half]


def lattice_noise(body: Polytope, step: Fraction = Fraction(1)) -> LatticeRejection:
    """Return cached noise for a flat body of integer generators on a lattice; a refusal is cached, too."""
    key = f"{digest(body)} {step}"
    if key not in _known:
        if len(_known) == 16:
            del _known[next(iter(_known))]
        try:
            _known[key] = LatticeRejection(body, step)
        except InvalidRequest as refusal:
            _known[key] = copy(refusal)  # without its traceback
    known = _known[key]
    if isinstance(known, InvalidRequest):
        raise copy(known)
    return known


def _below(word: int, limit: int, rng: Entropy) -> int:
    """Return ⌊V·limit⌋ for V uniform on [0, 1], whose first 64 bits are given and further ones drawn if needed."""
    bits = WORD
    while (low := word * limit >> bits) != ((word + 1) * limit - 1) >> bits:
        word, bits = word << WORD | rng.integer(WORD), bits + WORD
    return low
