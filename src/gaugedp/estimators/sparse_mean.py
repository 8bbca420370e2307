"""Sparse means of rows in high dimension."""

import math
import warnings
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from gaugedp._internal.rounding import SCORES
from gaugedp._internal.validate import between, non_negative, one_of, positive, whole
from gaugedp.bodies import LpBall
from gaugedp.entropy import Entropy
from gaugedp.errors import InvalidRequest
from gaugedp.estimators.base import PrivateEstimator
from gaugedp.estimators.row_count import NoisyRowCount, share_of
from gaugedp.estimators.rows import box_steps, into_box, read_bounds
from gaugedp.estimators.tuning import TUNED
from gaugedp.guarantees import Guarantee, PureDP
from gaugedp.guarantees.shares import part
from gaugedp.mechanisms import Exponential, Peeling
from gaugedp.mechanisms.peeling import NOISES
from gaugedp.optimization.lattice import SUM_BITS
from gaugedp.optimization.row_blocks import blocks
from gaugedp.optimization.sparse_shrinkage import posterior_means


@dataclass(frozen=True)
class Outlook:
    """Detection limits of a fit, from public numbers only.

    `noise_std` is the standard deviation of each value's noise; `detectable` the size from which a mean is picked,
    before any that is zero, with probability 0.95; `largest` the largest mean that the bounds allow.
    """

    n_rows: int
    noise_std: float
    detectable: float
    largest: float

    @property
    def is_enough(self) -> bool:
        """True if some mean within the bounds is detectable."""
        return self.detectable < self.largest

    def rows_needed(self, size: float) -> int:
        """Return the number of rows that detects this mean."""
        positive(size=size)
        return math.ceil(self.n_rows * self.detectable / size)

    def __str__(self) -> str:
        detection = f"With {self.n_rows:,} rows a mean of {self.detectable:.3g} and more is found (95 %)"
        if self.is_enough:
            return f"{detection}; values carry noise of standard deviation {self.noise_std:.3g}."
        quarter = self.largest / 4
        return (
            f"{self.n_rows:,} rows are too few: only a mean of {self.detectable:.3g} and more would be found, and the "
            f"bounds allow {self.largest:.3g}. {self.rows_needed(self.largest):,} rows find the largest possible mean, "
            f"{self.rows_needed(quarter):,} one of {quarter:.3g}."
        )


@dataclass(eq=False, repr=False)
class SparseMean(PrivateEstimator):
    """Private mean of many columns, with few nonzero coordinates.

    Use it if a table has more columns than `Mean` can estimate, and most of the true means are 0 or nearly 0. The fit
    selects the `sparsity` means that are largest in size and releases only these, with noise; all others are reported
    as 0.

    Parameters
    ----------
    sparsity : int
        Number of selected coordinates. Choose slightly more than are nonzero, because coordinates of pure noise cost
        little: mean_ is values_ shrunk by `posterior_means`, which is post-processing at no cost. Default 10.
    bounds : (low, high) or "private"
        Two public numbers, to which every value is clipped; a missing value counts as their middle. For a
        σ-sub-Gaussian distribution, whose tails are no heavier than those of a normal one with standard deviation σ,
        use `sub_gaussian_bounds(n, sigma, mean_bound)`. "private" spends a tenth of ε to find a power of two within the
        public `magnitudes` = (least, largest).
    noise : {"gumbel", "laplace"}
        "gumbel", the default, uses exponential mechanisms and Gaussian values. "laplace" is the algorithm as published.
    epsilon, delta, neighbours, random_state, ledger
        The privacy budget for one row, and its options, as in `LogisticRegression`.

    Notes
    -----
    Theorem. One row changes every coordinate of the sum by at most high − low if rows are replaced, and by max(|low|,
    |high|) if they are added or removed. These changes form a cube, for which `Peeling` selects coordinates and adds
    noise to them. `fit` is (ε, δ)-DP (Cai, Wang and Zhang 2021, algorithm 3, with the noise of docs/theory/peeling.md).

    The fit warns with `TooFewRows` if nothing within the bounds can be detected. After `fit`, the model has the
    attributes mean_ of shape (d,), support_ (the selected coordinates) and values_ of shape (sparsity,), outlook_ (if
    rows are replaced), n_rows_, bounds_, solver_, mechanism_, guarantee_ and release_.

    Examples
    --------
    Of 100 columns the first five have the mean 3, and all others the mean 0. Select eight:

    >>> import numpy as np
    >>> from gaugedp.estimators import SparseMean
    >>> X = np.random.default_rng(0).normal([3] * 5 + [0] * 95, 1, (5000, 100))
    >>> model = SparseMean(sparsity=8, epsilon=1.0, delta=1e-6, bounds=(-5, 5)).fit(X)
    >>> model.mean_.shape, model.support_.shape
    ((100,), (8,))
    """

    sparsity: int = 10
    epsilon: float = 1.0
    delta: float = 0.0
    _: KW_ONLY
    bounds: Any = None
    magnitudes: Any = None
    noise: str = "gumbel"

    def fit(self, X: Any, y: Any = None) -> "SparseMean":
        """Estimate the mean of rows X of shape (n, d).

        The model's ledger, if any, is charged before any row is read.
        """
        del y
        requested, rows = self._requested(), self._rows(X)
        self._check(rows.shape[1])
        search = self._range()
        count = NoisyRowCount(share_of(requested, 1 - TUNED.range_share) if search else requested, self.neighbours)
        low, high = (-1.0, 1.0) if search else self._public_bounds()
        mechanism = self._calibrated(rows.shape, count.remaining, (low, high))
        if self.neighbours == "replace":
            _warn_of_few(_outlook(len(rows), mechanism, (low, high)), search is not None)
        guarantee = count.with_remaining(mechanism.guarantee)
        guarantee = guarantee + search.mechanism.guarantee if search else guarantee
        rng = self._generator()
        reservation = self._pay(guarantee, requested, rows.shape)
        reach = search.choose(rows, rng) if search else 1.0
        self.bounds_ = (low * reach, high * reach)
        self._pick(rows, mechanism, rng)
        self._show(rows.shape, mechanism, count.draw(len(rows), rng))
        self._note_names(X)
        facts = {"noise": mechanism.describe(), "bounds": list(self.bounds_), "n_columns": rows.shape[1]}
        values = {"support": self.support_, "values": self.values_, "n_rows": np.array(self.n_rows_)}
        self._publish(values, guarantee, mechanism.exactness, facts, reservation)
        return self

    def interval(self, level: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
        """Return confidence intervals (lower, upper) of the selected coordinates.

        Both have shape (sparsity,). Each interval covers the mean of the clipped values with probability at least
        `level` (default 0.95) over the noise of the values, given the selection. Intervals are refused unless rows are
        replaced, because otherwise the number of rows is uncertain.
        """
        between(0, 1, level=level)
        check_is_fitted(self, "mean_")
        if self.neighbours != "replace":
            raise InvalidRequest(
                "Intervals of the selected means require a public number of rows.",
                'Use neighbours="replace", which treats the number of rows as public.',
                "",
            )
        width = self.mechanism_.half_width(level) * self._unit / self.n_rows_
        return self.values_ - width, self.values_ + width

    def _check(self, n_columns: int) -> None:
        whole(minimum=1, sparsity=self.sparsity)
        one_of(NOISES, noise=self.noise)
        if self.sparsity >= n_columns:
            raise InvalidRequest(
                f"`sparsity` is {self.sparsity}, but X has only {n_columns} columns.",
                "Choose a smaller `sparsity`, or use Mean, which estimates the means of all columns.",
            )

    def _range(self) -> "PrivateRange | None":
        if not (isinstance(self.bounds, str) and self.bounds == "private"):
            return None
        return PrivateRange(self.magnitudes, PureDP(part(float(self.epsilon), TUNED.range_share)))

    def _public_bounds(self) -> tuple[float, float]:
        low, high = (float(end) for end in read_bounds("bounds", self.bounds))
        if abs(low + high) > 4 * (high - low):
            raise InvalidRequest(
                f"The bounds ({low:g}, {high:g}) are far from 0 compared with their width, so every mean would "
                "count as nonzero.",
                "Subtract a public number from the columns first, so that most means are near 0.",
            )
        return low, high

    def _calibrated(self, shape: tuple[int, int], guarantee: Guarantee, bounds: tuple[float, float]) -> Peeling:
        """Return the selection, for sums over half the bounds' width."""
        low, high = bounds
        sensitivity = 2.0 if self.neighbours == "replace" else max(abs(low), abs(high)) / ((high - low) / 2)
        body = LpBall(shape[1], math.inf, sensitivity * (1 + SCORES))
        light = Peeling.calibrate(body, guarantee, self.sparsity, self.noise, share=0.3)
        tenth = max(abs(low), abs(high)) / (high - low) / 5 * shape[0]
        if self.neighbours == "replace" and light.error_bound(0.05) <= tenth:
            return light
        return Peeling.calibrate(body, guarantee, self.sparsity, self.noise)

    @property
    def _unit(self) -> float:
        return (self.bounds_[1] - self.bounds_[0]) / 2

    def _pick(self, rows: np.ndarray, mechanism: Peeling, rng: Entropy) -> None:
        low, high = (np.array(end) for end in self.bounds_)
        steps = sum(box_steps(into_box(block, low, high)).sum(axis=0) for block in blocks(rows))  # exact
        middle = (low + high) / (high - low)  # of the bounds, in units of half their width
        total = (steps + np.rint(len(rows) * middle * 2.0**SUM_BITS)) * 2.0**-SUM_BITS  # below 2^53, exact too
        self.support_, self._sums = mechanism.split(mechanism.sample(total, rng))

    def _show(self, shape: tuple[int, int], mechanism: Peeling, n_rows: float) -> None:
        low, high = self.bounds_
        self.n_rows_, self.n_features_in_ = n_rows, shape[1]
        self.mechanism_, self.solver_ = mechanism, self.noise
        self.values_ = np.clip(self._sums * self._unit / n_rows, low, high)
        self.mean_ = np.zeros(shape[1])
        noise_std = max(mechanism.value_std, 2.0**-300) * self._unit / n_rows
        self.mean_[self.support_] = noise_std * posterior_means(self.values_ / noise_std)
        if self.neighbours == "replace":
            self.outlook_ = _outlook(shape[0], mechanism, self.bounds_)


class TooFewRows(UserWarning):
    """Warning that noise will exceed every value within the bounds.

    It follows from public numbers and comes before the charge, so nothing has been spent yet.
    """


def _outlook(n_rows: int, mechanism: Peeling, bounds: tuple[float, float]) -> Outlook:
    per_row, largest = (bounds[1] - bounds[0]) / 2 / n_rows, max(abs(bounds[0]), abs(bounds[1]))
    return Outlook(n_rows, mechanism.value_std * per_row, mechanism.error_bound(0.05) * per_row, largest)


def _warn_of_few(outlook: Outlook, in_units: bool) -> None:
    """Warn if nothing can be detected; a learned range, for bounds of (−1, 1), changes nothing in that."""
    if not outlook.is_enough:
        warnings.warn(f"{outlook}{' The unit is the learned bound.' if in_units else ''}", TooFewRows, stacklevel=3)


def sub_gaussian_bounds(n_rows: int, sigma: float, mean_bound: float) -> tuple[float, float]:
    """Return clipping bounds (−T, T) for sub-Gaussian values.

    Use them as the `bounds` of `SparseMean`. They are for values of n rows that are σ-sub-Gaussian: their tails are no
    heavier than those of a normal distribution with standard deviation σ = `sigma`. The means must lie within
    ±`mean_bound`.

    Notes
    -----
    The bounds are T = mean_bound + sigma·√(log n), because a larger T would only add noise.

    For a normal distribution of standard deviation σ the clipping bias is at most σ·E(Z − √log n)₊ ≤ σ/(√(2πn)·log n),
    where Z is standard normal. This is a small part of the sampling error σ/√n. (√(2·log n) would clip hardly any
    value.)

    Examples
    --------
    For 1,000 rows, the bounds are about √7 = 2.6 standard deviations beyond the bound on the means:

    >>> from gaugedp.estimators import sub_gaussian_bounds
    >>> low, high = sub_gaussian_bounds(1000, sigma=1.0, mean_bound=2.0)
    >>> round(high, 2)
    4.63
    """
    whole(minimum=2, n_rows=n_rows)
    positive(sigma=sigma)
    non_negative(mean_bound=mean_bound)
    reach = mean_bound + sigma * math.sqrt(math.log(n_rows))
    return -reach, reach


class PrivateRange:
    """A private power of two that a share α of rows exceed.

    `magnitudes` = (least, largest) is public: the exponential mechanism chooses T among the powers of two between them.
    With r(T) the number of rows with max_j |x_j| > T, the score of T is min(α·n − r(T), r(T/2) − α·n), which one row
    changes by at most 1: it is positive for the least T that at most α·n rows exceed, and for no other.
    """

    SHARE = 0.02

    def __init__(self, magnitudes: Any, guarantee: Guarantee) -> None:
        try:
            low, high = (float(end) for end in magnitudes)
        except (TypeError, ValueError):
            raise InvalidRequest(
                "`magnitudes` is not a pair of numbers.", "Pass magnitudes=(least, largest)."
            ) from None
        if not 2.0**-1000 < low < high < 2.0**1000:
            raise InvalidRequest(
                f"`magnitudes` is ({low:g}, {high:g}), but must consist of two positive, increasing numbers.",
                "Pass magnitudes=(least, largest) with 0 < least < largest.",
            )
        self.bounds = 2.0 ** np.arange(math.floor(math.log2(low)), math.ceil(math.log2(high)) + 1)
        self.mechanism = Exponential.calibrate(LpBall(len(self.bounds), math.inf), guarantee)

    def choose(self, rows: np.ndarray, rng: Entropy) -> float:
        """Return T; invalid entries do not count."""
        largest = np.abs(np.nan_to_num(rows, nan=0.0, posinf=math.inf, neginf=-math.inf)).max(axis=1)
        beyond = np.array([(largest > bound).sum() for bound in (self.bounds[0] / 2, *self.bounds)])
        allowed = self.SHARE * len(rows)
        index = self.mechanism.sample(np.minimum(allowed - beyond[1:], beyond[:-1] - allowed), rng)
        return float(self.bounds[index])
