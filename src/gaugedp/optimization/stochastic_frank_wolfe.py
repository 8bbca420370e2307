"""One-pass stochastic Frank–Wolfe with a private linear-minimisation oracle."""

import math
from dataclasses import dataclass

import numpy as np

from gaugedp._internal.rounding import TABLES
from gaugedp._internal.validate import positive
from gaugedp.entropy import Entropy
from gaugedp.guarantees import Guarantee
from gaugedp.optimization.row_blocks import PRODUCTS, slices
from gaugedp.optimization.spectraplex import Region
from gaugedp.optimization.streams import MOST_NUMBERS
from gaugedp.optimization.trace_designs import TraceProblem, TraceScale
from gaugedp.optimization.vertices import Oracle, Running, oracle


@dataclass(frozen=True)
class Schedule:
    """Slots of `group` rows each for D_0 and for later steps.

    Of the N slots, `first` are for D_0 and `n_later` = N/2 for one step each; η = log(N)/N. A slot holds one row unless
    there are more than `most_slots` rows.
    """

    n_rows: int
    most_slots: int

    @property
    def group(self) -> int:
        """Number of rows per slot."""
        return -(-self.n_rows // self.most_slots)

    @property
    def n_slots(self) -> int:
        """Number N of slots."""
        return -(-self.n_rows // self.group)

    @property
    def rate(self) -> float:
        """Step size η."""
        slots = max(3, self.n_slots)
        return math.log(slots) / slots

    @property
    def n_later(self) -> int:
        """Number of later slots: N/2, rounded down."""
        return self.n_slots // 2

    @property
    def first(self) -> int:
        """Number of slots for D_0."""
        return self.n_slots - self.n_later

    def slots(self, n_rows: int, replaced: bool, rng: Entropy) -> tuple[np.ndarray, np.ndarray]:
        """Return an order of the `n_rows` rows, and slots' bounds.

        It is a shuffle if rows are replaced; else every row draws its slot independently, so one row moves no other.
        """
        words = rng.words(n_rows)
        if replaced:
            order, ranks = np.argsort(words, kind="stable"), np.arange(n_rows) // self.group
        else:
            slots = (words % np.uint64(self.n_slots)).astype(np.int64)
            order = np.argsort(slots, kind="stable")
            ranks = slots[order]
        bounds = np.searchsorted(ranks, np.arange(self.first, self.n_slots + 1))
        return order, np.concatenate([[0], bounds])


@dataclass(frozen=True, eq=False)
class StochasticFrankWolfe:
    """Trace regression by Frank–Wolfe that reads each row once.

    Use it if there are many rows, because one pass over them is enough: every row contributes to only one gradient. The
    method fits a matrix X to predict each target by the product ⟨A, X⟩ with a known matrix A, its *design*.

    Notes
    -----
    The method starts at X_0 = 0 and moves by X_{t+1} = (1 − η)X_t + η·V_t. Here V_t is an extreme point of the region
    (the set of allowed matrices), which the private `oracle` finds for a gradient estimate D_t. The first estimate is
    D_0 = Σ φ′(0)·A/n_0 over n_0 = n/2 rows, where φ′ is the slope of the loss. Later ones are D_t = (1 − η)·D_{t−1} +
    g_t with g_t = (φ′(X_t) − (1 − η)·φ′(X_{t−1}))·A, for each other row once (algorithm 2 of the thesis of the theory
    page). Beyond 65,536 rows, or if the noise would take more than 1 GiB, g_t is the mean of several rows.

    Theorem (docs/theory/stochastic_frank_wolfe.md). A row adds to D_0 a matrix of norm at most 1/n_0, or to one g_t a
    matrix of norm at most η·`growth` over its number of rows. `growth` is 1 + swing·β for any loss with |φ′| ≤ 1 and
    β-Lipschitz φ′, where swing is the largest difference between two predictions ⟨A, X⟩ in the region. It is 1 for the
    squared loss, whose φ′ is affine in X. Let Δ_0 and Δ be these norms, doubled if rows are replaced. Then all V_t
    together, and so X, satisfy the oracle's guarantee. The weights of A are clipped to these bounds, so that the
    guarantee holds for any slope.
    """

    schedule: Schedule
    growth: float
    replaced: bool
    oracle: Oracle

    exactness = "idealized"

    @classmethod
    def calibrate(
        cls, guarantee: Guarantee, scale: TraceScale, noise: str = "toeplitz", growth: float | None = None
    ) -> "StochasticFrankWolfe":
        """Return the method with the oracle `noise`.

        `growth` is by default the bound from the smoothness of the loss.
        """
        # 2**16: twice the steps of a pass: more rows share slots
        most_slots = max(3, min(2**16, MOST_NUMBERS // scale.region.n_coordinates))
        schedule = Schedule(max(1, round(scale.n_rows)), most_slots)
        steepness = 1 + scale.prediction_range * scale.smoothness if growth is None else growth
        positive(growth=steepness)
        sensitivities = _moved(schedule, steepness, scale.factor)
        running = Running(scale.region, 1 + schedule.n_later, 1 - schedule.rate, sensitivities)
        return cls(schedule, steepness, scale.replaced, oracle(noise, guarantee, running))

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee of all steps together."""
        return self.oracle.guarantee

    @property
    def region(self) -> Region:
        """The region of X."""
        return self.oracle.running.region

    @property
    def moved(self) -> tuple[float, float]:
        """Sensitivities (Δ_0, Δ), including float errors."""
        return self.oracle.running.sensitivities

    def solve(self, problem: TraceProblem, n_rows: float, rng: Entropy) -> np.ndarray:
        """Return X after the last step. Charge the budget first."""
        del n_rows
        rate = self.schedule.rate
        point = before = estimate = np.zeros(self.region.shape)
        choose = self.oracle.start(rng)
        order, starts = self.schedule.slots(len(problem.target), self.replaced, rng)
        for t in range(1 + self.schedule.n_later):
            added = self._added(problem, order[starts[t] : starts[t + 1]], (point, before) if t else (point,))
            estimate = (1 - rate) * estimate + added
            before, point = point, (1 - rate) * point + rate * choose(estimate)
        return point

    def _added(self, problem: TraceProblem, places: np.ndarray, points: tuple[np.ndarray, ...]) -> np.ndarray:
        parts = slices(problem.designs.rows[: len(places)], PRODUCTS)
        return sum(
            (problem.designs.combine(*self._weights(problem, places[part], points)) for part in parts),
            start=np.zeros(self.region.shape),
        )

    def _weights(
        self, problem: TraceProblem, places: np.ndarray, points: tuple[np.ndarray, ...]
    ) -> tuple[np.ndarray, np.ndarray]:
        now = problem.slopes(places, points[0])
        if len(points) == 1:
            return places, now / (self.schedule.first * self.schedule.group)
        limit = self.schedule.rate * self.growth
        change = now - (1 - self.schedule.rate) * problem.slopes(places, points[1])
        return places, np.clip(change, -limit, limit) / self.schedule.group


def _moved(schedule: Schedule, growth: float, factor: float) -> tuple[float, float]:
    """Return (Δ_0, Δ), including float errors.

    The computed D_t is exactly the recursion with g_t + ε_t, ‖ε_t‖ ≤ 2^−51·‖D_t‖ approximately. The ε_t of neighbours
    may differ for all t, which moves C·g by at most c·Σ‖ε_t − ε′_t‖. So Δ is raised by m·2^−43, sufficient for ‖D_t‖ up
    to 64. The mean of the first batch is off by at most n_0·2^−53 in any order; n_0·2^−51 is added. Slopes have a
    factor 1 + 2^−24.
    """
    grown, group = factor * (1 + TABLES), schedule.group
    # 2^−43 a step: twice what rounding adds to the running gradient, of norm at most 64
    # 2^−51 a row of the first batch: four times what rounding adds to its mean
    drift = schedule.n_later * 2.0**-43 + schedule.first * group * 2.0**-51
    return grown / (schedule.first * group) + drift, grown * schedule.rate * growth / group + drift
