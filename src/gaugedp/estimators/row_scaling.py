"""Row scaling for linear classifiers, with a private centre."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from gaugedp._internal.rounding import SCORES
from gaugedp._internal.validate import moderate
from gaugedp.bodies import LpBall
from gaugedp.entropy import Entropy
from gaugedp.errors import InvalidRequest
from gaugedp.estimators.reading import Reading
from gaugedp.estimators.rows import ball_steps, into_ball, lengths_of
from gaugedp.estimators.tuning import TUNED
from gaugedp.guarantees import ApproxDP, GaussianDP, Guarantee, PureDP
from gaugedp.guarantees.gaussian_curve import gaussian_mu
from gaugedp.mechanisms import Gaussian, KNorm
from gaugedp.mechanisms.base import AdditiveNoise
from gaugedp.optimization.lattice import SUM_BITS, released
from gaugedp.optimization.row_blocks import in_threads

Map = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class Scaling:
    """The public map of rows (n, d) into the ℓ₂ unit ball.

    `centre` is subtracted from a row, which is divided by `width`, clipped to norm `row_norm` and divided by it.
    """

    reading: Reading
    centre: np.ndarray
    width: np.ndarray
    row_norm: float

    def unit(self, block: np.ndarray) -> np.ndarray:
        """Return a few rows in the unit ball, recomputed each time."""
        return into_ball(self._inside(block), 2, self.row_norm)

    def sums(self, X: np.ndarray, of: Map = lambda units: units) -> np.ndarray:
        """Return Σ(v, ‖v‖²) over v = `of` the unit rows, in the unit ball too."""
        return np.sum(in_threads(lambda parts: sums_of(of(self.unit(X[part])) for part in parts), X), axis=0)

    def _inside(self, block: np.ndarray) -> np.ndarray:
        if self.reading.box is None:
            return block
        return np.clip((self.reading(block) - self.centre) / self.width, -1, 1)


def clip_factor(noise_to_signal: float, enough: float = TUNED.clipping_noise) -> float:
    """Return the clipping norm over rows' typical length."""
    return 1 + enough / noise_to_signal


def read_scaling(reading: Reading, row_norm: Any, slack: float = 1.0) -> Scaling:
    """Return the scaling by a box, `row_norm`, or both.

    In a box (low, high) a column whose bounds include 0 is divided by the larger end, so that 0 stays 0 and sparse rows
    stay short; any other is centred on the middle of its bounds. All land in [−1, 1]. Rows are clipped to `row_norm` in
    these units if it is given, else to `slack`·√d. Without a box, `row_norm` is in the rows' units and required.
    """
    box, n_columns = reading.box, reading.width
    if box is None and row_norm is None:
        raise InvalidRequest(
            "Rows are scaled by a public bound on their length, but neither `row_norm` nor `bounds` is given.",
            "Specify `row_norm`, or bounds=(low, high), from public knowledge, never from the data.",
        )
    if row_norm is not None:
        moderate(row_norm=row_norm)
    longest = float(row_norm) if row_norm is not None else slack * math.sqrt(n_columns)
    if box is None:
        return Scaling(reading, np.zeros(n_columns), np.ones(n_columns), longest)
    low, high = box
    holds_zero = (low <= 0) & (high >= 0)
    centre = np.where(holds_zero, 0.0, low / 2 + high / 2)
    return Scaling(reading, centre, np.where(holds_zero, np.maximum(-low, high), high / 2 - low / 2), longest)


def column_groups(reading: Reading) -> np.ndarray:
    """Return the groups (d,) of columns with similar means.

    A group is 1 if the bounds exclude 0, else 0. Without bounds, or if all bounds are of one kind, there is one group.
    """
    if reading.box is None:
        return np.zeros(reading.width, dtype=int)
    low, high = reading.box
    holds_zero = (low <= 0) & (high >= 0)
    return np.where(holds_zero | ~holds_zero.any(), 0, 1)


@dataclass(frozen=True, eq=False)
class ScaledRows:
    """Centred unit rows, clipped to `reach`, with a constant.

    The private centre `shift` (d,) is subtracted, unless `constant` = 0. Coefficients are for rows at a distance of
    `typical` from the centre, if that is more than `reach`.
    """

    scaling: Scaling
    shift: np.ndarray
    reach: float
    constant: float
    typical: float = 0.0

    @property
    def size(self) -> float:
        """Norm of the largest row, with its constant."""
        return math.hypot(1.0, self.constant)

    @property
    def last(self) -> float:
        """Constant in the last entry of every known row."""
        return self.constant / self.size

    def rows(self, X: np.ndarray, labelled: np.ndarray) -> np.ndarray:
        """Return rows (n, d or d + 1) in the unit ball; 0 unless `labelled`."""
        n_columns = len(self.shift)
        rows = np.empty((len(X), n_columns + (self.constant > 0)))

        def fill(parts: list[slice]) -> None:
            for part in parts:
                block = self.scaling.unit(X[part])
                block -= self.shift
                scale = 1 / (self.size * np.maximum(lengths_of(block), self.reach))
                np.multiply(block, scale[:, None], out=rows[part, :n_columns])

        in_threads(fill, X)
        rows[:, n_columns:] = self.last
        rows[~labelled] = 0.0
        return rows

    def coefficients(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return coefficients (K, d) and intercepts (K,) for unscaled rows."""
        n_columns = len(self.shift)
        of_unit = weights[:, :n_columns] / (self.size * max(self.reach, self.typical))
        constants = weights[:, n_columns:].sum(axis=1) * self.last - of_unit @ self.shift
        slopes = of_unit / self.scaling.row_norm / self.scaling.width
        return slopes, constants - slopes @ self.scaling.centre


@dataclass(frozen=True, eq=False)
class Centre:
    """Noise for the sums of (u, ‖u‖²) over unit rows.

    `remaining` is the rest of the guarantee, and `auxiliary_mu` the μ of Gaussian noise, else 0. The sums take a tenth
    of μ² (of ε for a pure guarantee), or less if the mean's noise is then a tenth of the ball. They take nothing if
    that noise would exceed half of the ball. Then Σ⟨u, e⟩ are released instead, for a tenth of μ²: e is 1/√size on one
    of the `groups` (d,) of columns.

    Theorem. One row changes the sums by at most 2 if it is replaced: (a + b)² + (a² − b²)² ≤ 4 for a, b in [0, 1]; by
    √2 if it is added; those of groups by 2 and 1. docs/theory/objective_perturbation.md
    """

    noise: AdditiveNoise | None
    remaining: Guarantee
    auxiliary_mu: float = 0.0
    groups: np.ndarray | None = None

    @property
    def is_whole(self) -> bool:
        """True if the mean of all columns is released."""
        return self.noise is not None and self.groups is None

    @classmethod
    def of_groups(cls, guarantee: Guarantee, groups: np.ndarray, n_rows: float, replaced: bool) -> "Centre":
        """Return Gaussian noise for groups 0, 1, …; none without δ, or if it hides the ball."""
        sensitivity, n_groups = (2.0 if replaced else 1.0) * (1 + SCORES), int(groups.max()) + 1
        if not isinstance(guarantee, ApproxDP):
            return cls(None, guarantee)
        auxiliary_mu = math.sqrt(TUNED.centre_share) * gaussian_mu(guarantee.epsilon_value, guarantee.delta_value)
        if sensitivity * math.sqrt(n_groups) > n_rows * auxiliary_mu:
            return cls(None, guarantee)
        noise = Gaussian.calibrate(LpBall(n_groups, 2, sensitivity), GaussianDP(auxiliary_mu))
        return cls(noise, guarantee, auxiliary_mu, groups)

    @classmethod
    def plan(cls, guarantee: Guarantee, n_columns: int, n_rows: float, replaced: bool) -> "Centre":
        """Return the noise that public numbers suggest."""
        sensitivity = (2.0 if replaced else math.sqrt(2)) * (1 + SCORES)
        ball = LpBall(n_columns + 1, 2, sensitivity)
        if isinstance(guarantee, ApproxDP):
            mu = gaussian_mu(guarantee.epsilon_value, guarantee.delta_value)
            fine = sensitivity * math.sqrt(n_columns + 1) / (n_rows * mu)  # noise of the mean with all of the guarantee
            share = min(TUNED.centre_share, min(fine / TUNED.centre_noise, 1.0) ** 2)
            return cls.spending(mu * math.sqrt(share), guarantee, ball, fine / math.sqrt(share))
        assert isinstance(guarantee, PureDP)
        fine = sensitivity * (n_columns + 1) / (n_rows * guarantee.epsilon_value)
        spent = guarantee.epsilon_value * min(TUNED.centre_share, fine / TUNED.centre_noise)
        return cls.spending(spent, guarantee, ball, fine * guarantee.epsilon_value / spent)

    @classmethod
    def spending(cls, spent: float, guarantee: Guarantee, ball: LpBall, noise: float) -> "Centre":
        """Return noise that spends this μ or ε; none if it hides the mean."""
        if noise > TUNED.most_centre_noise:
            return cls(None, guarantee)
        if isinstance(guarantee, ApproxDP):
            return cls(Gaussian.calibrate(ball, GaussianDP(spent)), guarantee, spent)
        assert isinstance(guarantee, PureDP)
        return cls(KNorm.calibrate(ball, PureDP(spent)), PureDP((guarantee.epsilon_value - spent) * (1 - 2.0**-50)))

    def release(self, sums: Callable[[], np.ndarray], n_rows: float, rng: Entropy) -> tuple[np.ndarray | float, float]:
        """Return the rows' shrunk mean and spread.

        `sums` returns Σ(u, ‖u‖²) over the unit rows, and is not called without noise.
        """
        if self.noise is None:
            return 0.0, 1.0
        if self.groups is not None:
            roots = np.sqrt(np.bincount(self.groups))
            totals = np.bincount(self.groups, sums()[:-1])  # of integer steps
            means = released(totals / roots, self.noise, rng) / n_rows
            means, length = self._shrunk(means / max(1.0, float(np.linalg.norm(means))), n_rows)
            return (means / roots)[self.groups], math.sqrt(max(0.1**2, 1 - length))
        noisy = released(sums(), self.noise, rng) / n_rows
        mean, length = self._shrunk(noisy[:-1], n_rows)
        return mean, math.sqrt(min(1.0, max(0.1**2, float(noisy[-1]) - length)))

    def _shrunk(self, mean: np.ndarray, n_rows: float) -> tuple[np.ndarray, float]:
        assert self.noise is not None
        faint = float(self.noise.variances[: len(mean)].sum()) / n_rows**2
        return shrunk(mean, faint), max(float(mean @ mean) - faint, 0.0)

    def scaled(
        self, scaling: Scaling, X: np.ndarray, n_rows: float, factor: float, constant: float, rng: Entropy
    ) -> ScaledRows:
        """Return centred rows, clipped to `factor` times their spread."""
        mean, spread = self.release(lambda: scaling.sums(X), n_rows, rng)
        shift = np.zeros(scaling.reading.width) + mean
        reach = min(1 + float(np.linalg.norm(shift)), spread * factor) if self.noise else 1.0
        return ScaledRows(scaling, shift, reach, constant)


@dataclass(frozen=True, eq=False)
class TwoStageMean:
    """Noise for a rough mean of the unit rows, refined once.

    `remaining` is the rest of the guarantee. The first release is Σu over unit rows u, or if its noise would exceed 0.7
    of the ball Σ v/½, v = ⟨u, e⟩ for e = 1/√size on each of the `groups` (d,) of columns, clipped to the ball of radius
    ½. The second, if there is a `near` noise, is Σ v/0.15, v = u less the first mean, clipped to the ball of radius
    0.15. Each takes a twentieth of μ².

    Theorem. Given the first release, both are sums of vectors of norm at most 1: one row changes them by at most 2 if
    it is replaced, by 1 if it is added. docs/theory/objective_perturbation.md
    """

    groups: np.ndarray
    noise: AdditiveNoise
    near: AdditiveNoise | None
    remaining: Guarantee
    auxiliary_mu: float
    is_whole: ClassVar[bool] = True

    @classmethod
    def plan(cls, guarantee: ApproxDP, groups: np.ndarray, n_rows: float, replaced: bool) -> "TwoStageMean":
        """Return Gaussian noise for groups 0, 1, …; no `near` noise if it hides the ball."""
        moved, width = (2.0 if replaced else 1.0) * (1 + SCORES), len(groups)
        mu = math.sqrt(TUNED.centre_share / 2) * gaussian_mu(guarantee.epsilon_value, guarantee.delta_value)
        hidden = moved * math.sqrt(width) / (n_rows * mu)
        first = width if hidden <= TUNED.whole_mean_noise else int(groups.max()) + 1
        noise = Gaussian.calibrate(LpBall(first, 2, moved), GaussianDP(mu))
        if hidden > 1:
            return cls(groups, noise, None, guarantee, mu)
        near = Gaussian.calibrate(LpBall(width, 2, moved), GaussianDP(mu))
        return cls(groups, noise, near, guarantee, math.sqrt(2) * mu)

    def scaled(
        self, scaling: Scaling, X: np.ndarray, n_rows: float, _factor: float, constant: float, rng: Entropy
    ) -> ScaledRows:
        """Return the centred rows, nearly all at equal distance."""
        shift = self._first(scaling, X, n_rows, rng)
        if self.near is not None:
            sums = scaling.sums(X, lambda units: into_ball(units - shift, 2, TUNED.rough_centre_radius))
            mean, faint = _mean(self.near, sums, n_rows, rng)
            shift = shift + shrunk(mean, len(mean) * faint) * TUNED.rough_centre_radius
        return ScaledRows(scaling, shift, TUNED.directions_from, constant, TUNED.rough_centre_radius)

    def _first(self, scaling: Scaling, X: np.ndarray, n_rows: float, rng: Entropy) -> np.ndarray:
        """Return the first mean (d,), with groups and rest shrunk separately."""
        groups, roots = self.groups, np.sqrt(np.bincount(self.groups))
        if self.noise.body.ambient_dim == len(groups):
            mean, faint = _mean(self.noise, scaling.sums(X), n_rows, rng)
            means = np.bincount(groups, mean) / roots
            doubt = TUNED.mean_doubt * (len(groups) - len(roots)) * faint
            rest = shrunk(mean - (means / roots)[groups], doubt)
            return rest + (shrunk(means, len(roots) * faint) / roots)[groups]
        indicators = np.eye(len(roots))[groups]

        def of_groups(units: np.ndarray) -> np.ndarray:
            sums = ball_steps(units) @ indicators  # exact in integers
            return into_ball(sums * 2.0**-SUM_BITS / roots, 2, TUNED.group_means_radius)

        means, faint = _mean(self.noise, scaling.sums(X, of_groups), n_rows, rng)
        return (shrunk(means, len(roots) * faint) * TUNED.group_means_radius / roots)[groups]


def _mean(noise: AdditiveNoise, sums: np.ndarray, n_rows: float, rng: Entropy) -> tuple[np.ndarray, float]:
    mean = released(sums[:-1], noise, rng) / n_rows
    return mean / max(1.0, float(np.linalg.norm(mean))), float(noise.variances[0]) / n_rows**2


def shrunk(mean: np.ndarray, faint: float) -> np.ndarray:
    """Return the mean shrunk by `faint`, its noise's squared length (James and Stein 1961)."""
    length = float(mean @ mean)
    return mean * max(0.0, 1 - faint / max(length, faint, 1e-300))


def sums_of(units: Iterable[np.ndarray]) -> np.ndarray:
    """Return Σ(u, ‖u‖²) over blocks of unit rows, truncated to multiples of 2^−SUM_BITS."""
    total: np.ndarray | float = 0.0
    for block in units:
        steps = ball_steps(block)
        squares = np.trunc(np.einsum("ij,ij->i", steps, steps) * 2.0**-SUM_BITS)
        total = total + np.append(steps.sum(axis=0), squares.sum())
    return np.asarray(total * 2.0**-SUM_BITS)
