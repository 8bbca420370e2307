"""Noise shaped like a body, for several mechanisms."""

import math
from abc import ABC
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np

from gaugedp._internal.progress import Progress, silent
from gaugedp._internal.validate import decimal, one_of, positive
from gaugedp.accountant.rounding import above
from gaugedp.bodies import Body, LpBall, Polytope, SchattenBall
from gaugedp.bodies.digest import digest
from gaugedp.entropy import Entropy
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees import ApproxDP, Guarantee, PureDP, SphericalLaplaceLoss
from gaugedp.guarantees.spherical_curve import is_known
from gaugedp.mechanisms.base import AdditiveNoise, is_integer
from gaugedp.mechanisms.remember import remembered
from gaugedp.mechanisms.tuning import TUNED
from gaugedp.samplers.body_noise import GaugeNoise
from gaugedp.samplers.continuous import rounded
from gaugedp.samplers.direct import has_direct
from gaugedp.samplers.reals import rounded_draws

ALLOWANCE = 1e-9  # the δ of a walk if none was requested
_LEAST_BEYOND = 100  # trial draws beyond a quantile that is used
_GAUGE_ROUNDING = 1 + 1e-9  # covers the rounding of coordinates and gauges


@dataclass(frozen=True, eq=False, repr=False)
class NormNoise(AdditiveNoise, ABC):
    """Noise of density ∝ e^{−ε‖z‖_S/Δ}, rounded to the lattice.

    It is the base class of mechanisms whose noise has the shape of a body S. S is `shape`, and Δ = `scale_factor` with
    body ⊆ Δ·S. `noise` draws it at ε = Δ = 1.

    Notes
    -----
    Theorem. Let answers on the lattice differ by a point of Δ·S between neighbours. Then the release is ε-DP if the
    noise has that distribution (Hardt and Talwar 2010, theorem 3.2, with the constant 1; docs/theory/knorm.md): the
    density at two answers a distance z apart differs by a factor of at most e^{ε‖z‖_S/Δ} ≤ e^ε, and rounding is
    post-processing. If the noise comes from a walk within τ of that distribution in total variation, the release is (ε,
    (1 + e^ε)·τ)-DP; that it is this close is measured, not proved. If S is an ellipsoid of rank r ≥ 2, the release has
    `SphericalLaplaceLoss(1/ε, r)`, whose profile at some δ > 0 needs a smaller ε (docs/theory/knorm_delta.md).
    """

    body: Body
    guarantee: Guarantee
    shape: Body
    noise: GaugeNoise
    epsilon: float
    scale_factor: float
    step: Fraction
    form: ClassVar[str] = "shaped"

    def __post_init__(self) -> None:
        if not self.shape.radius(np.inf) * self._scale * (self.noise.rank + 60) < 2.0**61:  # steps that fit 64 bits
            raise InvalidRequest(
                "With this guarantee, noise would exceed 64-bit lattice steps.", "Use a larger epsilon or fewer rows."
            )
        if self.noise.lattice is not None:
            self.noise.lattice.unit(decimal(self.epsilon))  # refuses noise beyond 64 bits
        self.noise.check(self._scale)

    @property
    def exactness(self) -> str:
        """ "mixing" for a walk; "exact" if proved, else "idealized"."""
        if self.noise.walks:
            return "mixing"
        is_drawn_exactly = self.noise.law is not None or self.noise.lattice is not None
        return "exact" if is_drawn_exactly and self._is_scale_proved else "idealized"

    def recalibrated(self, guarantee: Guarantee) -> "NormNoise":
        """Return the same noise for PureDP(ε) or ApproxDP(ε, δ).

        A walk uses at most min(δ, 1e−9) of δ.
        """
        epsilon, satisfied = rate_for(guarantee, self.noise)
        return replace(self, guarantee=satisfied, epsilon=epsilon)

    @property
    def lattice_step(self) -> Fraction:
        """1 for integer answers, otherwise a small power of two."""
        return self.step

    @cached_property
    def steps(self) -> int:
        """Number of walk steps before a release, or 0."""
        if not isinstance(self.guarantee, ApproxDP):
            return 0
        return self.noise.steps(self.guarantee.delta_value / (1 + math.exp(self.epsilon)))

    @property
    def cost_of_walk(self) -> str:
        """A walk's δ as text; empty without a walk."""
        if not isinstance(self.guarantee, ApproxDP):
            return ""
        return f"not pure: its allowance is δ = {self.guarantee.delta_value:.3g}"

    def draw(self, size: int, rng: Entropy) -> np.ndarray:
        """Return draws in lattice steps.

        Draws of a walk are correlated, and take fewer steps than a release.
        """
        if self.noise.law is not None:
            return rounded_draws(self.noise.law, size, self._lattice, rng)
        if self.noise.lattice is not None:
            return self.noise.lattice.on_lattice(size, decimal(self.epsilon), rng)
        return rounded(self._in_steps(self.noise.draw(size, rng)), self._deviations, rng)

    def releasable(self, size: int, rng: Entropy, progress: Progress = silent) -> np.ndarray:
        """Return independent draws, each from its own walk."""
        if self.noise.law is not None or self.noise.lattice is not None:
            return self.draw(size, rng)
        return rounded(self._in_steps(self.noise.release(size, self.steps, rng, progress)), self._deviations, rng)

    def trial_noise(self, size: int, seed: int) -> np.ndarray:
        """Return draws that describe the noise.

        If exact draws take too long, they have nearly the same distribution.
        """
        draws = self.noise.described(size, self._scale, seed)
        return super().trial_noise(size, seed) if draws is None else draws * float(self.step)

    @property
    def most_trials(self) -> int:
        """The number of describing draws, if there are such."""
        return self.noise.n_described or super().most_trials

    @cached_property
    def variances(self) -> np.ndarray:
        """Variances from the second moment, if known, or from trials.

        They are upper bounds if few trial draws are non-zero.
        """
        squares = self.noise.squares
        if squares is not None:
            rank = self.noise.rank
            in_steps = (rank + 1) * (rank + 2) * squares * self._scale**2
            if in_steps.min() > 1 or self.step != 1:
                return (in_steps + 1 / 12) * float(self.step) ** 2
        shown = [(draws**2 * weights[..., None]).mean(axis=(0, 1)) for draws, weights in self._shown()]
        return min(shown, key=np.sum) * float(self.step) ** 2

    @remembered
    def error(self, norm: float = 2, weights: np.ndarray | None = None) -> float:
        """Return the mean norm of trial draws (public seed)."""
        return float(self._norms(norm, weights).mean())

    def error_deviation(self, norm: float = 2, weights: np.ndarray | None = None) -> float:
        """Return the standard error of `error`, from groups of draws."""
        means = self._norms(norm, weights).mean(axis=1)
        return float(means.std(ddof=1)) / math.sqrt(len(means))

    def moment(self, power: float, norm: float = 2) -> float:
        """Return E‖noise‖^power, from trial draws (public seed).

        Without the rounding, the moment is Γ(r + 1 + power)/(Γ(r + 1)·ε^power)·E‖Z‖^power for K-norm noise of rank r,
        where Z is uniform on the shape (Hardt and Talwar 2010; Lodrant 2019, theorem 5.10).

        Parameters
        ----------
        power : float
            A positive number. High powers have large sampling errors.
        norm : float
            The order of the norm, at least 1. Default 2.

        Returns
        -------
        float
            The moment, in the answers' units to the power.

        Examples
        --------
        The mean square of the noise for a disc is 6/ε², here estimated from draws:

        >>> import gaugedp as gd
        >>> mechanism = gd.KNorm.calibrate(gd.bodies.LpBall(2, 2), gd.PureDP(1.0))
        >>> bool(abs(mechanism.moment(2) / 6 - 1) < 0.05)
        True
        """
        positive(power=power)
        if not norm >= 1:
            raise InvalidRequest(f"`norm` is {norm!r}, but must be at least 1.", "Pass an order such as 2.")
        shown = ((np.linalg.norm(draws, norm, axis=2) * float(self.step), weights) for draws, weights in self._shown())
        return min(float((lengths**power * weights).mean()) for lengths, weights in shown)

    def half_widths(self, level: float, simultaneous: bool = False) -> np.ndarray:
        """Return quantiles of trial draws, raised by three standard errors.

        Simultaneous half-widths are a quantile of the largest noise relative to its deviation or, if they are smaller,
        those of a union bound: noise that is rarely ±1 is large relative to its deviation.
        """
        sizes = np.abs(self._trials)
        if not simultaneous:
            return np.ceil(_safe_quantile(sizes, level)) * float(self.step)
        deviations = self._deviations
        ratios = np.divide(sizes, deviations, out=np.zeros_like(sizes), where=deviations > 0).max(axis=2)
        together = np.ceil(_safe_quantile(ratios[:, :, None], level) * deviations) * float(self.step)
        miss = (1 - level) / sizes.shape[2]
        if ratios.size * miss < _LEAST_BEYOND:
            return together
        return min(together, self.half_widths(1 - miss), key=np.sum)

    def is_valid_for(self, body: Body) -> bool:
        """Return True for this body or smaller multiples of it."""
        if body.ambient_dim != self.body.ambient_dim:
            return False
        if is_integer(body) != is_integer(self.body):  # another lattice, and another rounding error
            return False
        (kind, size), (own_kind, own_size) = _kind_and_size(body), _kind_and_size(self.body)
        return size <= own_size and digest(kind) == digest(own_kind)

    @property
    def _is_scale_proved(self) -> bool:
        """True if body ⊆ Δ·shape is proved for floats."""
        return False

    @cached_property
    def _lattice(self) -> np.ndarray:
        """The noise's sides times Δ/ε in steps, rounded up."""
        factor = Fraction(self.scale_factor) / (decimal(self.epsilon) * self.step)
        return np.array([above(Fraction(float(side)) * factor) for side in self.noise.sides])

    @property
    def _scale(self) -> float:
        return self.scale_factor / self.epsilon / float(self.step)

    @cached_property
    def _trials(self) -> np.ndarray:
        self._in_steps(self.noise.trials)
        return self.noise.rounded_trials(self._scale)

    @cached_property
    def _deviations(self) -> np.ndarray:
        return np.sqrt(self.variances) / float(self.step)

    def _in_steps(self, unit: np.ndarray) -> np.ndarray:
        steps = unit * self._scale
        if not np.abs(steps).max() < 2.0**61:  # depends on the noise only: no table has been read
            raise InvalidRequest("The noise overflows 64-bit lattice steps.", "Use a larger epsilon or fewer rows.")
        return steps

    def _norms(self, norm: float, weights: np.ndarray | None) -> np.ndarray:
        """Return norms of trial draws, or upper bounds if few are non-zero."""
        one_of(("1", "2"), norm=f"{norm:g}")
        scales = (1.0 if weights is None else np.asarray(weights, dtype=float)) / float(self.step)
        shown = [np.linalg.norm(draws / scales, norm, axis=2) * weights for draws, weights in self._shown()]
        return min(shown, key=np.mean)

    def _shown(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return the trial draws in steps with weights, or others that are larger on average if few are non-zero."""
        self._in_steps(self.noise.trials)
        return self.noise.shown(self._scale)


def rate_for(guarantee: Guarantee, noise: GaugeNoise) -> tuple[float, Guarantee]:
    """Return the noise's rate for `guarantee`, and its own guarantee."""
    if noise.is_spherical and noise.rank > 1:
        match guarantee:
            case ApproxDP(epsilon, delta) if 0 < delta < 1 and is_known(epsilon or 1.0, noise.rank):
                guarantee = SphericalLaplaceLoss.calibrated(epsilon, delta, noise.rank)
                return 1 / guarantee.scale, guarantee
            case SphericalLaplaceLoss(scale=scale, dimension=noise.rank):
                return 1 / scale, guarantee
    return pure_or_approx(guarantee, noise.walks)


def pure_or_approx(guarantee: Guarantee, walks: bool) -> tuple[float, Guarantee]:
    """Return ε and the guarantee: PureDP, or ApproxDP for a walk."""
    if not isinstance(guarantee, PureDP | ApproxDP) or not guarantee.epsilon_value > 0:
        raise InvalidRequest(
            f"K-norm noise does not support {guarantee!r}.", "Use PureDP or ApproxDP with epsilon above 0."
        )
    epsilon = guarantee.epsilon_value
    if not walks:
        return epsilon, PureDP(epsilon)
    if epsilon > 100.0:
        raise InvalidRequest(
            f"K-norm noise drawn by a random walk does not support {guarantee!r}.", "Use an epsilon of at most 100."
        )
    delta = guarantee.delta_value if isinstance(guarantee, ApproxDP) else 0.0
    return epsilon, ApproxDP(epsilon, min(delta or ALLOWANCE, ALLOWANCE))


def lattice_of(body: Body, shape: Body, inside: float, gauge: Fraction | None = None) -> tuple[Fraction, float]:
    """Return the lattice (step, Δ) of a body and shape.

    Answers of neighbours, rounded to step·ℤ^d, differ by a point of Δ·shape. Requires body ⊆ inside·shape. Δ is proved
    if `gauge` is: at least Σ‖e_i‖_S over the unit vectors.

    Integer answers have step 1 and are not rounded. Others are rounded to a power of two below radius/(d·2^12), so fine
    that the added point of step·[−1, 1]^d increases Δ by at most a thousandth, but not below 2^−40 of the radius. A
    flat shape holds no such point: its generators must be on the lattice.
    """
    radius = body.radius(2)
    if not radius > 0:
        raise InvalidRequest("No unit can change these answers.", "Use a query that depends on the rows.")
    if is_integer(body):
        return Fraction(1), inside * _GAUGE_ROUNDING
    coarsest = radius / (body.ambient_dim * TUNED.fine_steps)
    if shape.rank == body.ambient_dim:
        cube = _gauge_of_cube(shape)
        step = _power_below(max(min(coarsest, inside / (1024 * cube)), radius * 2.0**-40))
        size = (inside + float(step) * cube) * _GAUGE_ROUNDING
        return step, size if gauge is None else max(size, above(Fraction(inside) + (step + _slip(body)) * gauge))
    step = _power_below(coarsest)
    if not _on_lattice(body, step):
        raise InvalidRequest(
            "Some answers follow from others, such as a total from its parts, and rounded noise would break this "
            "relation.",
            "Omit answers that follow from others, or use gaugedp.bodies.project(body, body.span).",
        )
    return step, inside * _GAUGE_ROUNDING


def is_own_scale_proved(body: Body, noise: GaugeNoise) -> bool:
    """Return whether answers of neighbours provably differ by a point of Δ·body.

    A body lies in itself; rounding of real answers adds a cube, whose gauge must be proved. Answers in a flat body are
    on the lattice, as its generators are, and are not rounded.
    """
    is_rounded = not is_integer(body) and noise.rank == body.ambient_dim
    return not is_rounded or noise.cube_gauge is not None


def _power_below(size: float) -> Fraction:
    return Fraction(2) ** math.floor(math.log2(size))


def _kind_and_size(body: Body) -> tuple[Body, float]:
    match body:
        case Polytope():
            return replace(body, factor=1.0), body.factor
        case LpBall() | SchattenBall():
            return replace(body, size=1.0), body.size
    return body, 1.0


def _gauge_of_cube(shape: Body) -> float:
    """Return Σ‖e_i‖_S, a bound of ‖e‖_S over [−1, 1]^d."""
    if isinstance(shape, LpBall):
        return shape.ambient_dim / shape.size
    axes = np.eye(shape.ambient_dim)
    if isinstance(shape, Polytope) and not has_direct(shape):
        return float(np.abs(shape.prepared.frame.coordinates(axes)[0]).sum()) / shape.factor
    return float(shape.gauge(axes).sum())


def _slip(body: Body) -> Fraction:
    is_rounded = isinstance(body, Polytope) and body.differences
    return Fraction(body.radius(np.inf)) / 2**52 if is_rounded else Fraction(0)


def _on_lattice(body: Body, step: Fraction) -> bool:
    """Return whether all generators lie on the lattice, exactly.

    If they and factor times these do, all answers do, and none is rounded. factor = a/b in lowest terms, b a power of
    two: so the generators are multiples of b steps.
    """
    if not isinstance(body, Polytope):
        return False
    scaled = body.columns() / float(step * Fraction(body.factor).denominator)
    # 2.0**52: differences of whole numbers below this are exact
    return bool((scaled == np.rint(scaled)).all() and np.abs(scaled).max() < 2.0**52)


def _safe_quantile(sizes: np.ndarray, level: float) -> np.ndarray:
    """Return the quantile over groups and draws (groups, n, d), plus three standard errors."""
    groups = np.quantile(sizes, level, axis=1)
    pooled = np.quantile(sizes.reshape(-1, sizes.shape[2]), level, axis=0, method="higher")
    return pooled + 3 * groups.std(axis=0, ddof=1) / math.sqrt(len(groups))
