"""Noise on the joint table's cells, mapped to the answers."""

import math
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache, partial
from typing import Any, ClassVar

import numpy as np

from gaugedp._internal.trial_stream import PUBLIC_SEED, trial_stream
from gaugedp._internal.validate import decimal, one_of
from gaugedp.bodies import Body, Polytope
from gaugedp.entropy import Entropy
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees import Guarantee, PureDP
from gaugedp.mechanisms.base import AdditiveNoise, lattice_radius
from gaugedp.mechanisms.body_limits import is_histogram
from gaugedp.mechanisms.independent import in_words
from gaugedp.mechanisms.noise_laws import LinearLaw
from gaugedp.mechanisms.noise_widths import safe_rank
from gaugedp.mechanisms.pure_within import pure_within
from gaugedp.mechanisms.remember import remembered
from gaugedp.samplers.discrete import MAX_SCALE
from gaugedp.samplers.laws import DiscreteLaplace, LaplaceSum

MOST_CELLS = 10**6
_lately: "deque[tuple[tuple[Any, ...], float]]" = deque(maxlen=128)  # errors that were found from draws


@dataclass(frozen=True, eq=False, repr=False)
class Identity(AdditiveNoise):
    """Laplace noise on every cell of a table.

    Use it for queries that need many cells, such as the counts of all age ranges. Each cell of the table gets discrete
    Laplace noise only once, and all answers are computed from the noisy cells. Therefore the answers are consistent
    with one another: the count of a range is the sum of the counts of its parts.

    Notes
    -----
    Let c be the largest total change of the cells by one unit. The noise on each cell has the scale c/ε, so the noisy
    cells are ε-DP, and so are all answers computed from them. Let F be the matrix that maps the cells to the answers.
    If F has as many distinct columns as its rank, as for a histogram, prefix sums or all ranges, this mechanism is the
    K-norm mechanism of F (Hardt and Talwar 2010; docs/theory/identity.md).

    Examples
    --------
    For the counts of all 55 ranges of ten age groups, the expected error is 18, compared with 311 if every count gets
    Laplace noise:

    >>> import gaugedp as gd
    >>> body = gd.query(gd.Domain.of(age=gd.bins(0, 100, 10)), "ranges(age)").sensitivity(gd.PrivacyUnit())
    >>> [round(noise.calibrate(body, gd.PureDP(1)).error()) for noise in (gd.Identity, gd.Laplace)]
    [18, 311]
    """

    body: Polytope
    guarantee: PureDP
    law: DiscreteLaplace
    name: ClassVar[str] = "Identity"
    plan_order: ClassVar[int] = 2
    exactness: ClassVar[str] = "exact"
    form: ClassVar[str] = "cells"

    @property
    def lattice_step(self) -> Fraction:
        """The lattice spacing 1: the answers are integers."""
        return Fraction(1)

    @classmethod
    def calibrate(cls, body: Body, guarantee: Guarantee) -> "Identity":
        """Return the mechanism for counting queries of ≤ 10^6 cells."""
        if not isinstance(guarantee, PureDP) or guarantee.epsilon_value <= 0:
            raise InvalidRequest(f"Laplace noise does not support {guarantee!r}.", "Use PureDP with epsilon above 0.")
        if not isinstance(body, Polytope) or not body.generators.counting:
            raise InvalidRequest("Noise on cells requires a query that counts rows.", "Use Laplace or Gaussian.")
        if body.generators.n_generators > MOST_CELLS:
            what = f"Noise on {body.generators.n_generators:,} cells is not supported; the maximum is {MOST_CELLS:,}."
            raise InvalidRequest(what, "Use Laplace or Gaussian.")
        lattice_radius(body, 1, None)  # refuses a body that is a point
        law = DiscreteLaplace(Fraction(body.coefficient_radius) / decimal(guarantee.epsilon_value))
        if law.scale * int(body.generators.row_squares().max()) > MAX_SCALE:  # at least the sum of a row's entries
            raise InvalidRequest("The noise on the cells would overflow 64-bit sums.", "Use Laplace or Gaussian.")
        return cls(body, guarantee, law)

    @classmethod
    def candidates(cls, body: Body, guarantee: Guarantee, weights: np.ndarray | None = None) -> "Iterator[Identity]":
        """Yield one mechanism for counts, unless it is Laplace noise."""
        if not cls.why_not(body, guarantee, weights):
            yield cls.calibrate(body, pure_within(guarantee))

    @classmethod
    def why_not(cls, body: Body, guarantee: Guarantee, weights: np.ndarray | None = None) -> str:  # noqa: ARG003
        """Return the reason why there is no candidate."""
        if not isinstance(body, Polytope) or not body.generators.counting:
            return "for queries that only count rows"
        if body.generators.n_generators > MOST_CELLS:
            return f"the joint table has {body.generators.n_generators:,} cells"
        largest = float(body.generators.row_squares().max())
        if body.coefficient_radius / pure_within(guarantee).epsilon_value * largest > MAX_SCALE / 2:
            return "its noise would not fit 64-bit numbers"
        return "identical to Laplace for this query" if is_histogram(body) else ""

    def recalibrated(self, guarantee: Guarantee) -> "Identity":
        """Return the mechanism for the same body."""
        return Identity.calibrate(self.body, guarantee)

    def draw(self, size: int, rng: Entropy) -> np.ndarray:
        """Return draws of F·η."""
        cells = self.law.draw(size * self._n_cells, rng).reshape(size, self._n_cells)
        return self.body.generators.apply(cells).astype(np.int64)  # large entries make sums of Python's integers

    def noise_law(self) -> LinearLaw:
        """Return the distribution of F times independent noise on cells."""
        n, law = self._n_cells, self.law
        cells = partial(np.eye, n, dtype=np.int64)
        return LinearLaw(law.accounting, law.power, law.rate, n, self.body.generators.apply, cells, rounding=0.0)

    @property
    def variances(self) -> np.ndarray:
        """The cell variance times the squared row norms of F."""
        return self.law.variance * self.body.generators.row_squares()

    @remembered
    def error(self, norm: float = 2, weights: np.ndarray | None = None) -> float:
        """Return the expected norm of noise/weights, to about 2 %.

        It is estimated from trial draws, whose public seed serves every budget. If most trials are 0, Σ E|η_i|·‖F_i‖ ≤
        n·E η²·max ‖F_i‖ is the bound.
        """
        one_of(("1", "2"), norm=f"{norm:g}")
        noisy = self._n_cells * self.law.variance
        if noisy < 0.1:  # cells that have noise, on average
            return noisy * self.body.generators.largest_norm(norm, weights)
        scales = np.ones(self.body.ambient_dim) if weights is None else weights
        for (generators, *key), error in list(_lately):  # a plan for another δ needs the same
            if key == [self.law, norm, scales.tobytes()] and generators == self.body.generators:
                return error
        # 2 * 10**6: cells of noise drawn to estimate an expected error
        trials = self.trial_noise(self._most_trials(max(40, (2 * 10**6) // self._n_cells)), PUBLIC_SEED)
        error = float(np.linalg.norm(trials / scales, norm, axis=1).mean())
        _lately.append(((self.body.generators, self.law, norm, scales.tobytes()), error))
        return error

    def least_error(self, weights: np.ndarray | None = None) -> float:
        """Return a lower bound on the expected error.

        The error is the Euclidean norm of the noise of all answers. A plan uses the bound to rule this mechanism out
        without drawing its noise.

        Parameters
        ----------
        weights : array, shape (d,), optional
            The weights of the answers. No bound is known if they are given.

        Returns
        -------
        float
            The bound. It is 0 with weights, for answers that do not add up cells, and for noise of a scale below 0.05
            steps.

        Notes
        -----
        Let S be the squared error. Hölder's inequality implies that the expected error is at least √(E[S]/(1 + v)),
        where v is the variance of S divided by E[S]². Both moments follow from the variance and the fourth cumulant of
        the noise, with a bound on the norm of FᵀF, where F maps the cells to the answers.
        """
        if weights is not None or not self._adds.all() or float(self.law.scale) < 0.05:  # scale in steps
            return 0.0
        generators = self.body.generators
        rows = generators.row_squares()  # sums of entries, too, where those are 0 and 1
        largest = generators.largest_norm(1, None)  # sums of a column's entries, and of their squares
        cumulant = 2 + math.cosh(1 / float(self.law.scale))
        v = (2 * float(rows.max()) + cumulant) * largest / float(rows.sum())
        # 1 - 2.0**-40: covers the rounding of sums
        return math.sqrt(self.law.variance * float(rows.sum()) / (1 + v)) * (1 - 2.0**-40)

    def half_widths(self, level: float, simultaneous: bool = False) -> np.ndarray:
        """Return half the widths of confidence intervals.

        Parameters
        ----------
        level : float
            The probability with which an interval contains the exact answer, between 0 and 1.
        simultaneous : bool
            Whether all intervals together must hold with this probability. Default False, which is for each interval by
            itself.

        Returns
        -------
        array, shape (d,)
            For each of the d answers, the largest distance between the noisy and the exact answer at this level.

        Notes
        -----
        The numbers are exact for answers that add up cells. For other answers they come from Chernoff's bound or, like
        all simultaneous ones, from quantiles of simulated noise that are raised by three standard errors. If too few
        draws were made for the level, simultaneous intervals are individual ones with the error probability divided by
        d.
        """
        if not simultaneous:
            return self._each(level)
        ratios = self._sorted_ratios
        rank = safe_rank(len(ratios), level)
        if rank is None:
            return self._each(1 - (1 - level) / self.body.ambient_dim)
        return np.ceil(np.sqrt(self.variances) * ratios[rank])

    def is_valid_for(self, body: Body) -> bool:
        """Return whether columns agree and the radius is no larger."""
        return (
            isinstance(body, Polytope)
            and body.generators == self.body.generators
            and body.coefficient_radius <= self.body.coefficient_radius
        )

    def describe(self) -> str:
        """Return the scale on the cells."""
        return f"F x discrete Laplace, scale {in_words([float(self.law.scale)])} on {self._n_cells:,} cells"

    @property
    def _n_cells(self) -> int:
        return self.body.generators.n_generators

    @property
    def _adds(self) -> np.ndarray:
        generators = self.body.generators
        return np.asarray(generators.row_squares() == generators.apply(np.ones(self._n_cells)))

    def _each(self, level: float) -> np.ndarray:
        counts, adds = self.body.generators.row_squares(), self._adds
        widths = np.zeros(len(counts))
        widths[adds] = self._sum_widths(level, counts[adds])
        if not adds.all():
            widths[~adds] = np.ceil(self._other_widths(level))[~adds]
        return widths

    def _sum_widths(self, level: float, counts: np.ndarray) -> np.ndarray:
        """Return quantiles for sums of cells, for some sizes rounded up."""
        sizes = tabulated = np.unique(counts)
        if len(sizes) > 48:  # quantiles of at most 48 sums are computed
            tabulated = sizes[np.unique(np.geomspace(1, len(sizes), num=48).astype(int) - 1)]
        widths = [_sum_width(self.law.scale, int(size), level) if size else 0 for size in tabulated]
        return np.array(widths, dtype=float)[np.searchsorted(tabulated, counts)]

    def _other_widths(self, level: float) -> np.ndarray:
        sizes = self._sorted_sizes
        rank = safe_rank(len(sizes), level)
        return self._chernoff(level) if rank is None else sizes[rank]

    def _most_trials(self, size: int) -> int:
        return min(size, max(1, 10**7 // self.body.ambient_dim), 20_000)  # drawn numbers held in memory

    def trial_noise(self, size: int, seed: int) -> np.ndarray:
        """Return trial draws by numpy (floors of exponentials are geometric)."""
        rng, shape, scale = trial_stream(seed), (size, self._n_cells), float(self.law.scale)
        first, second = (np.floor(scale * rng.standard_exponential(shape)) for _ in range(2))
        return np.asarray(self.body.generators.apply(first - second))

    @property
    def _sizes(self) -> np.ndarray:
        # 2 * 10**7: cells of noise drawn for the widths of the chosen mechanism
        # 10**4: above, the draws would be too few for a quantile
        size = (2 * 10**7) // self._n_cells if self._n_cells <= 10**4 else 1
        return np.abs(self.trial_noise(self._most_trials(size), PUBLIC_SEED))

    @cached_property
    def _sorted_sizes(self) -> np.ndarray:
        return np.sort(self._sizes, axis=0)

    @cached_property
    def _sorted_ratios(self) -> np.ndarray:
        sizes, deviations = self._sizes, np.sqrt(self.variances)
        ratios = np.divide(sizes, deviations, out=np.zeros_like(sizes), where=deviations > 0)
        return np.sort(ratios.max(axis=1))

    def _chernoff(self, level: float) -> np.ndarray:
        """Return widths by Chernoff's bound for S = Σ_j F_j·η_j.

        log E e^(sη) ≤ s²b²/(1 − s²b²) ≤ 2s²b² for |s|·b ≤ 1/√2, b the scale, entries of F at most m in size;
        so P(|S| > w) ≤ 2·exp(−w²/(8b²q)) for w ≤ 2√2·bq/m, else 2·exp(−w/(2√2·bm)), q the row's squared norm.
        """
        need = math.log(2 / (1 - level))
        scale = float(self.law.scale)
        largest = self.body.generators.largest_norm(math.inf, None)
        squares = self.body.generators.row_squares()
        return np.maximum(scale * np.sqrt(8 * squares * need), 2 * math.sqrt(2) * scale * largest * need)


@lru_cache(maxsize=4096)
def _sum_width(scale: Fraction, count: int, level: float) -> int:
    return LaplaceSum(scale, count).half_width(level)
