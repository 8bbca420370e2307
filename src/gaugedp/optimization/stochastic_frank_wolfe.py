"""Stochastic Frank–Wolfe in one pass, its recursive gradients released with noise that is correlated over time."""

import math
from dataclasses import dataclass

import numpy as np

from gaugedp._validate import positive
from gaugedp.entropy import Entropy
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees import GaussianDP, Guarantee
from gaugedp.optimization.spectraplex import Region
from gaugedp.optimization.streams import MOST_NUMBERS, Stream, stream
from gaugedp.optimization.trace_designs import TraceScale, TraceTask

_ROUNDING = 1 + 2.0**-24  # of slopes and predictions in floats
_DRIFT = 2.0**-44  # a step: what rounding adds to the running gradient, of norm at most 64
_MOST_SLOTS = 2**18  # steps of a pass: more rows share slots
_FINE = 20  # the lattice has steps of 2^−20 to 2^−21 deviations


@dataclass(frozen=True)
class Schedule:
    """Slots of `group` rows each: `first` of the N slots are for D_0, `n_later` = N/2 for a step each, η = log(N)/N.

    A slot holds one row unless there are more than `most` rows.
    """

    n_rows: int
    most: int

    @property
    def group(self) -> int:
        """How many rows share a slot."""
        return -(-self.n_rows // self.most)

    @property
    def n_slots(self) -> int:
        """N."""
        return -(-self.n_rows // self.group)

    @property
    def rate(self) -> float:
        """η."""
        slots = max(3, self.n_slots)
        return math.log(slots) / slots

    @property
    def n_later(self) -> int:
        """N/2, rounded down."""
        return self.n_slots // 2

    @property
    def first(self) -> int:
        """The rest."""
        return self.n_slots - self.n_later

    def slots(self, n_rows: int, replaced: bool, rng: Entropy) -> tuple[np.ndarray, np.ndarray]:
        """Return an order of the `n_rows` rows at hand, and where in it D_0's and each later slot begin and end.

        Where rows are replaced, a shuffle. Where they are added or removed, every row draws its
        slot by itself, so that one row more or less leaves all others where they are.
        """
        words = rng.words(n_rows)
        if replaced:
            order, ranks = np.argsort(words, kind="stable"), np.arange(n_rows) // self.group
        else:
            drawn = (words % np.uint64(self.n_slots)).astype(np.int64)
            order = np.argsort(drawn, kind="stable")
            ranks = drawn[order]
        bounds = np.searchsorted(ranks, np.arange(self.first, self.n_slots + 1))
        return order, np.concatenate([[0], bounds])


@dataclass(frozen=True, eq=False)
class StochasticFrankWolfe:
    """X_{t+1} = (1 − η)X_t + η·V_t from X_0 = 0, V_t the extreme point that D_t with noise points to.

    D_0 = Σ φ′(0)·A/n_0 over n_0 = n/2 rows, and D_t = (1 − η)·D_{t−1} + g_t with
    g_t = (φ′(X_t) − (1 − η)·φ′(X_{t−1}))·A, for each other row once (algorithm 2 of the thesis of the theory page);
    beyond 262,144 rows, or where noise would take more than 1 GiB, g_t is the mean of several rows.

    Theorem. A row adds to D_0 a matrix of norm at most 1/n_0, or to one g_t one of at most η·`growth` over its number
    of rows: 1 + swing·β for any loss with |φ′| ≤ 1 and β-Lipschitz φ′, 1 for the squared loss, whose φ′ is affine in X.
    With Δ_0 and Δ these numbers, doubled where rows are replaced, and (c_0, c_1) the columns of the noise, the stream
    D_0, D_1, … with noise is μ-GDP at σ = max(Δ_0·c_0, Δ·c_1)/μ, and so is X. The weights of A are cut to these bounds,
    so that the promise holds for any slope. docs/theory/stochastic_frank_wolfe.md
    """

    region: Region
    schedule: Schedule
    growth: float
    replaced: bool
    stream: Stream
    guarantee: GaussianDP

    exactness = "idealized"

    @classmethod
    def calibrate(
        cls, promise: Guarantee, scale: TraceScale, noise: str = "toeplitz", growth: float | None = None
    ) -> "StochasticFrankWolfe":
        """Return the method for GaussianDP; `growth` as above where None, by the scale's smoothness and swing."""
        if not (isinstance(promise, GaussianDP) and promise.mu > 0):
            raise InvalidRequest(f"A stream cannot promise {promise!r}.", "Give GaussianDP: epsilon and delta above 0.")
        most = max(3, min(_MOST_SLOTS, MOST_NUMBERS // scale.region.n_coordinates))
        schedule = Schedule(max(1, round(scale.n_rows)), most)
        steepness = 1 + scale.swing * scale.smoothness if growth is None else growth
        positive(growth=steepness)
        running = stream(noise, 1 + schedule.n_later, 1 - schedule.rate)
        running.check(scale.region.n_coordinates)
        return cls(scale.region, schedule, steepness, scale.replaced, running, promise)

    @property
    def moved(self) -> tuple[float, float]:
        """(Δ_0, Δ), with what floats may add."""
        factor, drift = (2.0 if self.replaced else 1.0) * _ROUNDING, self.schedule.n_later * _DRIFT
        group = self.schedule.group
        return factor / (self.schedule.first * group) + drift, factor * self.schedule.rate * self.growth / group + drift

    @property
    def std(self) -> float:
        """σ: the deviation of w on a coordinate."""
        pairs = zip(self.moved, self.stream.columns, strict=True)
        return max(moved * column for moved, column in pairs) / self.guarantee.mu * (1 + 2.0**-40)

    def solve(self, task: TraceTask, rng: Entropy) -> np.ndarray:
        """Return X after the last step: pay first."""
        rate, width = self.schedule.rate, self.region.n_coordinates
        point = before = np.zeros(self.region.shape)
        order, starts = self.schedule.slots(len(task.target), self.replaced, rng)
        estimate = np.zeros(self.region.shape)
        for t, noise in enumerate(self.stream.noise(width, rng)):
            places = order[starts[t] : starts[t + 1]]
            weights = self._weights(task, places, (point, before) if t else (point,))
            estimate = (1 - rate) * estimate + task.designs.combine(*weights)
            vertex = self.region.vertex(self._released(estimate, noise))
            before, point = point, (1 - rate) * point + rate * vertex.matrix
        return point

    def _weights(
        self, task: TraceTask, places: np.ndarray, points: tuple[np.ndarray, ...]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows of a slot and what their designs are multiplied by."""
        now = task.slopes(places, points[0])
        if len(points) == 1:
            return places, now / (self.schedule.first * self.schedule.group)
        limit = self.schedule.rate * self.growth
        change = now - (1 - self.schedule.rate) * task.slopes(places, points[1])
        return places, np.clip(change, -limit, limit) / self.schedule.group

    def _released(self, estimate: np.ndarray, noise: np.ndarray) -> np.ndarray:
        """Return D_t with noise, rounded to the lattice."""
        step = 2.0 ** (math.floor(math.log2(self.std)) - _FINE)
        coords = self.region.coordinates(estimate) + self.std * noise
        return self.region.matrix_of(np.rint(coords / step) * step)
