"""The matrix mechanism: strategy noise mapped to the answers."""

import contextlib
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np

from gaugedp._internal.validate import between, one_of
from gaugedp.bodies import Body, Generators, MatrixGenerators, Polytope
from gaugedp.entropy import Entropy
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees import ZCDP, ApproxDP, GaussianDP, Guarantee, PureDP
from gaugedp.guarantees.gaussian_curve import gaussian_mu
from gaugedp.mechanisms.base import AdditiveNoise, is_integer, lattice_radius
from gaugedp.mechanisms.body_limits import is_histogram
from gaugedp.mechanisms.noise_laws import CLOSE, LinearLaw
from gaugedp.mechanisms.noise_widths import (
    expected_root,
    laplace_reach,
    rounded_laplace_variances,
    rounded_means,
    rounded_quantiles,
    rounded_variances,
    safe_rank,
)
from gaugedp.mechanisms.pure_within import pure_within
from gaugedp.mechanisms.remember import remembered
from gaugedp.mechanisms.strategies import Strategy, best_strategy
from gaugedp.mechanisms.strategies.base import UP
from gaugedp.mechanisms.tuning import TUNED
from gaugedp.mechanisms.unit_draws import batches, drawn, in_order, public_draws, trial_draws
from gaugedp.samplers.continuous import rounded
from gaugedp.samplers.discrete import check_scale
from gaugedp.samplers.reals import rounded_draws

_MOST_TRIALS = 20_000
_MOST_ENTRIES = 2**18  # of a strategy that is written out, so that its rows take a quarter of a second


@dataclass(frozen=True, eq=False, repr=False)
class Matrix(AdditiveNoise):
    """Correlated noise that is optimised for all answers together.

    Use it for many overlapping answers, such as all two-way tables of a survey. Its error can be much smaller than that
    of independent noise, because the noise of overlapping answers is chosen jointly. It is known as the matrix
    mechanism.

    Notes
    -----
    Let g be a vector of independent standard normal variables, or of Laplace variables for pure differential privacy. A
    matrix L, called the *strategy*, maps g to the answers, and the noise is s·L·g, rounded. Every change of the answers
    by one unit is L·u for a vector u of length at most Δ, in the ℓ₂ norm, or in the ℓ₁ norm for Laplace variables.
    `scale` is s divided by the public `step` to whose multiples answers are rounded, and is rounded up.

    Theorem (docs/theory/matrix.md, theorem 1). With normal variables and s = Δ/μ, the release is μ-GDP, and ρ-zCDP if
    μ² = 2ρ. With Laplace variables and s = Δ/ε, it is ε-DP. The reason is that the changed answer is obtained from g +
    u/s in the same way as the original one from g.

    A Gaussian strategy minimises the expected squared error over all L if the strategy states so (Edmonds, Nikolov and
    Ullman 2020; Nikolov 2015). A strategy with Laplace variables is found by local search (McKenna, Miklau, Hay and
    Machanavajjhala 2018). Draws are "exact" for Laplace noise on merged cells and sums (docs/theory/reals.md), and
    otherwise "idealized", with floating-point errors far below this step.

    Examples
    --------
    For the counts of all 55 ranges of ten age groups, the expected error is 11, compared with 40 for independent
    Gaussian noise:

    >>> import gaugedp as gd
    >>> body = gd.query(gd.Domain.of(age=gd.bins(0, 100, 10)), "ranges(age)").sensitivity(gd.PrivacyUnit())
    >>> [round(noise.calibrate(body, gd.GaussianDP(1)).error()) for noise in (gd.Matrix, gd.Gaussian)]
    [11, 40]
    """

    body: Polytope
    guarantee: Guarantee
    strategy: Strategy
    step: Fraction
    scale: float
    name: ClassVar[str] = "Matrix"
    plan_order: ClassVar[int] = 8
    form: ClassVar[str] = "strategy"

    @classmethod
    def calibrate(cls, body: Body, guarantee: Guarantee, weights: np.ndarray | None = None) -> "Matrix":
        """Return the mechanism for a polytope and a guarantee.

        It supports PureDP, ApproxDP, GaussianDP and ZCDP. The strategy is chosen for a small E‖noise/w‖₂², where w =
        `weights`, shape (d,). Other bodies are refused, and so are large ones without structure (see `best_strategy`).
        """
        satisfied, rate = _sharpen(guarantee)
        if not isinstance(body, Polytope):
            raise InvalidRequest(f"Matrix noise requires a polytope, not {body!r}.", "Use Laplace or Gaussian.")
        p = 1 if isinstance(satisfied, PureDP) else 2
        fine, _ = lattice_radius(body, p, weights)  # refuses a body that is a point
        strategy = best_strategy(body, p, weights)
        step = fine if is_integer(body) else _step(strategy, fine)
        return cls(body, satisfied, strategy, step, _scale(body, strategy, step, rate))

    @classmethod
    def candidates(cls, body: Body, guarantee: Guarantee, weights: np.ndarray | None = None) -> "Iterator[Matrix]":
        """Yield the better of the pure and Gaussian mechanism."""
        mechanisms: list[Matrix] = []
        if _is_beaten(body, guarantee, weights):
            return
        for noise_guarantee in dict.fromkeys((pure_within(guarantee), guarantee)):
            with contextlib.suppress(InvalidRequest):
                mechanisms.append(cls.calibrate(body, noise_guarantee, weights))
        yield from mechanisms if len(mechanisms) < 2 else [min(mechanisms, key=lambda noise: noise.error(2, weights))]

    @classmethod
    def why_not(cls, body: Body, guarantee: Guarantee, weights: np.ndarray | None = None) -> str:
        """Return the reason why there is no candidate."""
        dominated = _is_beaten(body, guarantee, weights)
        return "no strategy has a smaller mean square here" if dominated else "no strategy is found in seconds"

    def recalibrated(self, guarantee: Guarantee) -> "Matrix":
        """Return the mechanism with the same strategy."""
        satisfied, rate = _sharpen(guarantee)
        if isinstance(satisfied, PureDP) == self._is_normal:
            raise InvalidRequest(f"This noise does not support {guarantee!r}.", "Use Matrix.calibrate instead.")
        return replace(self, guarantee=satisfied, scale=_scale(self.body, self.strategy, self.step, rate))

    @property
    def exactness(self) -> str:
        """ "exact" if the strategy and rounding are proved, else "idealized"."""
        return "exact" if self.strategy.law is not None and self._is_rounding_proved else "idealized"

    @property
    def lattice_step(self) -> Fraction:
        """1 for integer answers, otherwise a small power of two."""
        return self.step

    def draw(self, size: int, rng: Entropy) -> np.ndarray:
        """Return draws in lattice steps."""
        if self.strategy.law is not None:
            return rounded_draws(self.strategy.law, size, np.array([self.scale]), rng)
        counts = batches(self.strategy, size)
        deviations = self._spread(self._deviations)
        parts = [rounded(self._real(count, rng), deviations, rng) for count in counts]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def noise_law(self) -> LinearLaw:
        """Return the distribution of L, as drawn, times independent noise."""
        power = 2 if self._is_normal else 1
        rate = 1 / Fraction(self.scale) ** power / (2 if isinstance(self.guarantee, ZCDP) else 1)
        strategy, accounting = self.strategy, str(self.guarantee.accounting)
        preimages = None if self._is_normal else strategy.preimages
        return LinearLaw(accounting, power, rate, strategy.n_noise, strategy.apply, preimages, CLOSE)

    def trial_noise(self, size: int, seed: int) -> np.ndarray:
        """Return trial draws by numpy's generator."""
        parts = list(trial_draws(self.strategy, size, self._is_normal, seed))
        return np.rint(np.concatenate(parts) * self.scale) * float(self.step)

    @property
    def variances(self) -> np.ndarray:
        """Variances of the noise of each answer, with its rounding.

        They are exact, but for narrow Laplace noise of more than 2^18 entries of L: there those of a row are taken to
        be of one size, which changes them by up to 5 % from a deviation of 0.3 steps on.
        """
        return self._spread(self._run_variances)

    @property
    def floor(self) -> float:
        """Lower bound on √E‖noise/weights‖² over all normal noise, or 0.

        It is for this guarantee and the weights of the calibration (docs/theory/matrix.md, theorem 2).
        """
        return self.strategy.least / _sharpen(self.guarantee)[1] if self._is_normal else 0.0

    @remembered
    def error(self, norm: float = 2, weights: np.ndarray | None = None) -> float:
        """Return the expected norm of noise/weights.

        It is computed by quadrature, or from trial draws of a public seed, with a standard error below 1 %. If lengths
        vary little, the root mean square is returned, which is at most 0.5 % larger.
        """
        one_of(("1", "2"), norm=f"{norm:g}")
        if norm == 1 and self._is_normal:
            scales = np.ones(1) if weights is None else np.asarray(weights, dtype=float)
            return float((self._spread(rounded_means(self._deviations)) / scales).sum()) * float(self.step)
        wide = norm == 2 and float(self._deviations.min()) >= 1
        spectrum = self.strategy.spectrum(weights) if wide else None
        if spectrum is None:
            return self._trial_error(norm, weights)
        values, counts = spectrum
        if not self._is_normal:
            # Var ‖L·g‖²/(E‖L·g‖²)² is at most 5·tr(M²)/(tr M)², M = LLᵀ: E g² = 2, E g⁴ = 24.
            # E√S ≥ √(E S)·(1 − Var S/(2·(E S)²)), by Hölder: it is within 0.5 % of its bound.
            steady = 5 * float(values**2 @ counts) <= 0.01 * float(values @ counts) ** 2
            return math.sqrt(self._mean_square(weights)) if steady else self._trial_error(norm, weights)
        scaled = math.sqrt(self._mean_square(weights) / float(values @ counts))  # with the rounding's share
        return scaled * expected_root(values, counts)

    def half_widths(self, level: float, simultaneous: bool = False) -> np.ndarray:
        """Return half-widths of intervals, exact for normal noise.

        For Laplace noise they come from trial draws or `laplace_reach`. Simultaneous widths are a quantile, raised by
        three standard errors, of the largest noise relative to its deviation in trial draws of a public seed. If it
        gives smaller widths, Šidák's inequality (normal) or a union bound (Laplace) is used instead.
        """
        between(0, 1, level=level)
        if not simultaneous:
            return self._in_units(self._each(level))
        d = self.body.ambient_dim
        bound = self._each(level ** (1 / d) if self._is_normal else 1 - (1 - level) / d)
        rank = safe_rank(self._n_trials, level)
        if rank is None:
            return self._in_units(bound)
        together = self._spread(np.ceil(self._trials[0][rank] * self._deviations - 0.5).clip(0))
        return self._in_units(min(bound, together, key=np.sum))

    def is_valid_for(self, body: Body) -> bool:
        """Return True if the guarantee holds for this sensitivity body."""
        if not isinstance(body, Polytope) or body.factor > self.body.factor:
            return False
        if not _equal(body.generators, self.body.generators):
            return False
        same = (body.differences, body.with_zero) == (self.body.differences, self.body.with_zero)
        return same or (self.body.differences and self.body.with_zero)

    def describe(self) -> str:
        """Return the strategy, the distribution and the range of deviations."""
        law = "Gaussian" if self._is_normal else "Laplace"
        deviations = np.sqrt(self._run_variances)
        low, high = float(deviations.min()), float(deviations.max())
        return f"rounded {law} on {self.strategy.describe()}, std {low:.6g} to {high:.6g}"

    @property
    def _is_normal(self) -> bool:
        return not isinstance(self.guarantee, PureDP)

    @property
    def _is_rounding_proved(self) -> bool:
        return is_integer(self.body) or self.strategy.is_cube_proved

    def _real(self, size: int, rng: Entropy) -> np.ndarray:
        return drawn(self.strategy, size, self._is_normal, rng) * self.scale

    @cached_property
    def _runs(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Squares, largest entries and lengths of runs of L's rows."""
        squares = self.strategy.squares
        largest = squares if self._is_normal else self.strategy.largest
        is_new = (squares[1:] != squares[:-1]) | (largest[1:] != largest[:-1])
        if self._sizes is not None:
            is_new |= (self._sizes[1:] != self._sizes[:-1]).any(axis=1)
        starts = np.flatnonzero(np.concatenate([[True], is_new]))
        return squares[starts], largest[starts], np.diff(np.append(starts, len(squares)))

    @cached_property
    def _sizes(self) -> np.ndarray | None:
        """Sorted sizes of each row's entries, (d, k); None for normal noise or a large L."""
        d, k = self.body.ambient_dim, self.strategy.n_noise
        if self._is_normal or d * k > _MOST_ENTRIES:
            return None
        return np.sort(np.abs(self.strategy.apply(np.eye(k)).T), axis=1)

    def _spread(self, values: np.ndarray) -> np.ndarray:
        """Expand values per run to values per answer, shape (d,)."""
        return np.repeat(values, self._runs[2])

    def _in_units(self, steps: np.ndarray) -> np.ndarray:
        return steps if self.step == 1 else steps * float(self.step)

    @cached_property
    def _deviations(self) -> np.ndarray:
        return self.scale * np.sqrt(self._runs[0] * (1 if self._is_normal else 2))

    @cached_property
    def _run_variances(self) -> np.ndarray:
        if self._is_normal:
            return rounded_variances(self._deviations) * float(self.step) ** 2
        squares, largest, lengths = self._runs
        if self._sizes is not None:
            in_steps = rounded_laplace_variances(self.scale * self._sizes[np.cumsum(lengths) - lengths])
        else:  # as if the entries of a row were of one size
            counts = np.divide(squares, largest**2, out=np.ones_like(squares), where=largest > 0)
            in_steps = rounded_laplace_variances(self.scale * largest[:, None], counts[:, None])
        return in_steps * float(self.step) ** 2

    def _mean_square(self, weights: np.ndarray | None) -> float:
        return float((self.variances / (1 if weights is None else np.asarray(weights, dtype=float) ** 2)).sum())

    def _trial_error(self, norm: float, weights: np.ndarray | None) -> float:
        scales = 1.0 if weights is None else np.asarray(weights, dtype=float)
        # 4 * 10**6: numbers drawn to estimate an expected error
        size = min(_MOST_TRIALS, max(12, (4 * 10**6) // (self.strategy.n_noise + self.body.ambient_dim)))
        squares, norms = [np.zeros(0)], [np.zeros(0)]
        for part in public_draws(self.strategy, size, self._is_normal):
            rows = part * self.scale
            np.rint(rows, out=rows)
            rows *= float(self.step) / scales
            squares.append(np.einsum("ij,ij->i", rows, rows))
            norms.append(np.sqrt(squares[-1]) if norm == 2 else np.linalg.norm(rows, norm, axis=1))
            if len(part) == 1 and _agree(norms):
                break
        square = float(np.concatenate(squares).mean())
        if square == 0:  # almost always zero: an upper bound, by Jensen's inequality
            return math.sqrt(self._mean_square(weights))
        correction = math.sqrt(self._mean_square(weights) / square)
        return float(np.concatenate(norms).mean()) * correction

    def _each(self, level: float) -> np.ndarray:
        if self._is_normal:
            return self._spread(rounded_quantiles(self._deviations, level))
        squares, largest, _ = self._runs
        reach = np.ceil(self.scale * laplace_reach(squares, largest, level) - 0.5).clip(0)
        rank = safe_rank(self._n_trials, level)
        if rank is None:
            return self._spread(reach)
        return np.minimum(self._spread(reach), np.ceil(self._trials[1][rank] - 0.5).clip(0))

    @property
    def _n_trials(self) -> int:
        # 10**7: numbers drawn for the widths of the chosen mechanism
        return min(_MOST_TRIALS, 10**7 // (self.strategy.n_noise + self.body.ambient_dim))

    @cached_property
    def _trials(self) -> tuple[np.ndarray, np.ndarray]:
        """Sorted largest relative noise; sorted Laplace magnitudes of each answer."""
        ratios, sizes = in_order(self.strategy, self._n_trials, self._is_normal)
        return ratios, sizes * self.scale


def _is_beaten(body: Body, guarantee: Guarantee, weights: np.ndarray | None) -> bool:
    """Return whether no Laplace strategy improves on noise per count.

    The counts are disjoint, so a unit is in one cell. The columns of a strategy A have ℓ₁ norms of at most 1, so
    (AᵀA)_ii ≤ 1, and A⁺ multiplies the variance of each count by (AᵀA)⁻¹_ii ≥ 1/(AᵀA)_ii ≥ 1. With a δ, the best
    strategy comes with a bound on all normal noise.
    """
    alike = weights is None or float(np.ptp(weights)) == 0
    return (
        isinstance(guarantee, PureDP)
        and alike
        and isinstance(body, Polytope)
        and not body.differences
        and is_histogram(body)
    )


def _agree(norms: list[np.ndarray]) -> bool:
    lengths = np.concatenate(norms)
    return len(lengths) >= 3 and bool((np.abs(lengths - lengths.mean()) <= 0.003 * lengths.mean()).all())


def _equal(first: Generators, second: Generators) -> bool:
    if isinstance(first, MatrixGenerators) and isinstance(second, MatrixGenerators):
        return np.array_equal(first.matrix, second.matrix)
    return first == second


def _sharpen(guarantee: Guarantee) -> tuple[PureDP | GaussianDP | ZCDP, float]:
    """Return the guarantee of the noise, and ε or μ."""
    match guarantee:
        case PureDP(epsilon_value=epsilon) if epsilon > 0:
            return guarantee, epsilon
        case ApproxDP(epsilon_value=epsilon, delta_value=delta) if delta > 0:
            mu = gaussian_mu(epsilon, delta)
            return GaussianDP(mu), mu
        case GaussianDP(mu=mu) if mu > 0:
            return guarantee, mu
        case ZCDP(rho=rho) if rho > 0:
            return guarantee, math.sqrt(2 * rho)
    raise InvalidRequest(f"Matrix noise does not support {guarantee!r}.", "Pass epsilon, delta, rho or mu above 0.")


def _step(strategy: Strategy, fine: Fraction) -> Fraction:
    """Return a step whose rounding adds ≤ 2^−12 of the radius."""
    coarsest = strategy.radius / (strategy.cube_radius() * TUNED.fine_steps)
    return min(fine, Fraction(2) ** math.floor(math.log2(coarsest)))


def _scale(body: Body, strategy: Strategy, step: Fraction, rate: float) -> float:
    radius = strategy.radius / float(step) + (0.0 if is_integer(body) else strategy.cube_radius())
    scale = radius / rate * UP
    check_scale(Fraction(scale * math.sqrt(float(strategy.squares.max()))))
    return scale
