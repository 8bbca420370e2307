"""Squared loss of matrix regressions, minimised from once-released moments."""

import math
from dataclasses import dataclass, replace

import numpy as np

from gaugedp._internal.validate import non_negative, positive
from gaugedp.entropy import Entropy
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees import GaussianDP, Guarantee, compose
from gaugedp.mechanisms.base import AdditiveNoise
from gaugedp.optimization.gradient import accelerated
from gaugedp.optimization.lattice import BITS, ball_noise, released, shared, sum_ball
from gaugedp.optimization.row_blocks import slices
from gaugedp.optimization.spectraplex import Region
from gaugedp.optimization.symmetric import coordinates, repulsion, square_of
from gaugedp.optimization.trace_designs import Designs, TraceProblem, cut
from gaugedp.optimization.tuning import TUNED

MOST_COORDINATES = 1_600  # p: H has p² numbers, their decomposition takes p³ operations


@dataclass(frozen=True)
class MomentScale:
    """Public scales from which the noise of `MatrixMoments` follows.

    They describe a trace regression: a matrix X predicts the target y of a design matrix A by reach·⟨A, X⟩. The design
    is used as the vector a = vec(A) with ‖a‖₂ ≤ 1, and targets are within `bounds`. `products_at_least` is a lower
    bound on ⟨A, A′⟩ of two designs: 0 for A = zzᵀ, else −1.

    `centre` is a number c ≥ 0; c > 0 requires A = zzᵀ. The remainder of a target after the matrix c·I is y_c = y −
    reach·c·tr A, and t = y_c/`largest`.
    """

    region: Region
    bounds: tuple[float, float]
    reach: float
    products_at_least: float
    replaced: bool = True
    centre: float = 0.0

    def __post_init__(self) -> None:
        non_negative(centre=self.centre)
        positive(width=self.bounds[1] - self.bounds[0], largest=self.largest, ratio=self.ratio)
        if self.region.radius != 1:
            raise InvalidRequest(
                f"The radius of the ball of matrices is {self.region.radius!r}, but must be 1.",
                "Scale the matrices so that the radius is 1.",
            )
        if self.centre and self.products_at_least < 0:
            raise InvalidRequest(
                "`centre` applies only to designs zzᵀ of rank one, but these have another form.", "Leave it at 0."
            )

    def centred(self) -> "MomentScale":
        """Return the scale with the centre c of least noise.

        The centre follows from public numbers.
        """
        if self.products_at_least < 0:
            return self
        return min((replace(self, centre=c / 64) for c in range(33)), key=lambda scale: scale.noise)

    @property
    def shift(self) -> float:
        """Factor of tr A that is subtracted from a target."""
        return self.reach * self.centre

    @property
    def largest(self) -> float:
        """Largest |y − shift·s|·s over s = tr A in [0, 1], at least |y_c|·‖a‖."""
        return max(_furthest(end, self.shift) for end in self.bounds)

    @property
    def ratio(self) -> float:
        """Largest |y_c| divided by the largest prediction."""
        return self.largest / self.reach

    @property
    def from_second(self) -> float:
        """Weight of H's noise in the gradient.

        It is half of the largest ‖X − c·I‖².
        """
        size = self.centre * self.centre * self.region.shape[0]
        return max(1 - 2 * self.centre + size, size) / 2

    @property
    def weight(self) -> float:
        """Weight of b relative to H that balances their noise."""
        return min(math.sqrt(2.0), max(0.5, math.sqrt(self.ratio / math.sqrt(self.from_second))))

    @property
    def residual(self) -> float:
        """Approximate deviation of targets from predictions.

        It is relative to the largest prediction.
        """
        return 0.125 * (self.bounds[1] - self.bounds[0]) / self.reach

    @property
    def noise(self) -> float:
        """Variance of a gradient entry at extreme points, μ = 1."""
        return self.sensitivity**2 * (self.from_second + (self.ratio / self.weight) ** 2)

    @property
    def least_product(self) -> float:
        """Lower bound on the inner product of two rows' moments.

        It determines how far two rows can move the released sums.

        Notes
        -----
        The result bounds k² + w²·q·k, where k = ⟨a, a′⟩ and q = t·t′. For k ≥ 0 and t < 0 < t′, t ≥ (low −
        shift)/largest and t′ ≤ (high − shift·k)/largest, because k ≤ ‖a′‖ ≤ tr A′. For k < 0, which designs cut to
        multiples of 2^−BITS may have down to −2√p·2^−BITS, q is at most the largest t².
        """
        p, square = self.region.n_coordinates, self.weight**2
        lowest_k = max(-1.0, self.products_at_least - 2 * math.sqrt(p) * 2.0**-BITS)
        low, high = (self.bounds[0] - self.shift) / self.largest, self.bounds[1] / self.largest
        opposite = square * low * high if low < 0 < high else 0.0
        bend = 1 - square * min(low, 0.0) * self.shift / self.largest
        return min(_least(opposite, 1.0, bend), _least(square * max(-low, high) ** 2, -lowest_k))

    def scaled(self, designs: Designs, target: np.ndarray) -> np.ndarray:
        """Return t for targets within bounds, in multiples of 2^−12."""
        return cut((target - self.shift * designs.traces()) / self.largest if self.centre else target / self.largest)

    @property
    def sensitivity(self) -> float:
        """Frobenius sensitivity of (H, w·b) to one row."""
        norm = 1 + self.weight**2
        return math.sqrt(2 * norm - 2 * self.least_product) if self.replaced else math.sqrt(norm)


@dataclass(frozen=True, eq=False)
class MatrixMoments:
    """Trace regression from noisy second moments of the designs.

    Use it to estimate a matrix X of low rank from targets y that are near reach·⟨A, X⟩ for known matrices A, the
    *designs*. It adds noise to two sums over the rows, and computes X from the noisy sums.

    Notes
    -----
    The sums are H = Σ aaᵀ and b = Σ t·a, where a = vec(A) and t is the scaled target (see `MomentScale`). Gaussian
    noise has one standard deviation on the joint vector (H, w·b), in coordinates that preserve its Frobenius norm.
    Noise for pure ε has the shapes of two balls, one for H and one for b. X is the most likely matrix of the region
    (the set of allowed matrices), given both sums and their public noise distributions. It minimises ‖ratio·b − Hx‖² in
    the metric of all errors, where x = vec(X) and ratio makes up for the scale of t, so that Σ(reach·⟨A, X⟩ − y)² is
    small.

    Theorem (docs/theory/matrix_moments.md). Two rows change (H, w·b) by at most √(2 + 2w² − 2·least_product), and a
    single row by √(1 + w²). Therefore the release is μ-GDP, or ε-DP. The minimiser is a function of the release.
    """

    scale: MomentScale
    noise: AdditiveNoise
    noise_of_b: AdditiveNoise | None

    @classmethod
    def calibrate(cls, guarantee: Guarantee, scale: MomentScale) -> "MatrixMoments":
        """Return the method for GaussianDP or PureDP.

        More than MOST_COORDINATES coefficients are refused.
        """
        p = scale.region.n_coordinates
        if p > MOST_COORDINATES:
            raise InvalidRequest(
                f"The model has {p:,} coefficients, but the noisy products of rows can be released for at most "
                f"{MOST_COORDINATES:,}.",
                'Use fewer columns, or solver="descent".',
            )
        n_of_h = p * (p + 1) // 2
        if isinstance(guarantee, GaussianDP):
            return cls(scale, ball_noise(sum_ball(n_of_h + p, scale.sensitivity), shared(guarantee, 1.0)), None)
        share = _share_of_h(scale)
        of_h, of_b = _separate(scale)
        noise_of_b = ball_noise(sum_ball(p, of_b), shared(guarantee, 1 - share))
        return cls(scale, ball_noise(sum_ball(n_of_h, of_h), shared(guarantee, share)), noise_of_b)

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee of both sums together."""
        parts = [self.noise] if self.noise_of_b is None else [self.noise, self.noise_of_b]
        return compose([(part.guarantee, 1) for part in parts])

    @property
    def exactness(self) -> str:
        """Exactness of the noise: "exact" or "idealized"."""
        return self.noise.exactness

    @property
    def edge(self) -> float:
        """Approximate largest eigenvalue of H's noise: √(2p) diagonal deviations."""
        return math.sqrt(2 * self.scale.region.n_coordinates * float(self.noise.variances.max()))

    @property
    def variance(self) -> float:
        """Approximate variance of a gradient entry's noise, τ².

        It is that at an extreme point.
        """
        of_b = self.variance_of_first * self.scale.ratio**2
        return float(self.noise.variances.max()) * self.scale.from_second + of_b

    @property
    def variance_of_second(self) -> float:
        """Noise variance of an entry of H off its diagonal."""
        return float(self.noise.variances.max()) / 2

    @property
    def variance_of_first(self) -> float:
        """Noise variance of an entry of b."""
        if self.noise_of_b is not None:
            return float(self.noise_of_b.variances.max())
        return float(self.noise.variances.max()) / self.scale.weight**2

    def loudness(self, n_rows: float) -> float:
        """Return the edge over n/p ≥ H's mean eigenvalue."""
        return self.edge * self.scale.region.n_coordinates / n_rows

    def hides(self, n_rows: float) -> bool:
        """Return True if the edge exceeds n ≥ H's eigenvalues."""
        return self.edge > n_rows

    def solve(self, problem: TraceProblem, n_rows: float, rng: Entropy) -> np.ndarray:
        """Return X for targets within bounds. Charge the budget first."""
        del n_rows
        second, first = self.release(problem.designs, self.scale.scaled(problem.designs, problem.target), rng)
        centre = self.scale.centre * self.scale.region.coordinates(np.eye(*self.scale.region.shape))
        return self._minimum(second, self.scale.ratio * first + second @ centre)

    def release(self, designs: Designs, target: np.ndarray, rng: Entropy) -> tuple[np.ndarray, np.ndarray]:
        """Return H (p, p) and b (p,) with fresh noise."""
        second, first = moments(designs, target)
        if self.noise_of_b is not None:
            noisy = released(coordinates(second), self.noise, rng)
            return square_of(noisy), released(first, self.noise_of_b, rng)
        weight, p = self.scale.weight, len(first)
        noisy = released(np.concatenate([coordinates(second), weight * first]), self.noise, rng)
        return square_of(noisy[:-p]), noisy[-p:] / weight

    def raised(self, second: np.ndarray, n_rows: float) -> np.ndarray:
        """Raise the eigenvalues of H to a floor.

        It is for penalties on the whole space.
        """
        values, vectors = np.linalg.eigh(second)
        return np.asarray((vectors * np.maximum(values, self._floor(n_rows))) @ vectors.T)

    def _floor(self, n_rows: float) -> float:
        loudness = self.loudness(n_rows) / TUNED.loudness_of_one_edge
        least, most = TUNED.moments_floors
        return self.edge * min(most, max(least, min(loudness, math.sqrt(loudness))))

    def denoised(self, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return denoised eigenvalues of H, and the eigenvectors.

        The values are λ − σ²·Σ_j 1/(λ − λ_j), at least 0: as p grows, the nearest to H among all matrices with these
        vectors (Bun, Allez, Bouchaud and Potters 2016).
        """
        values, vectors = np.linalg.eigh(second)
        pushed = repulsion(values, float(self.noise.variances.max()), self.edge**2 / len(values))
        return np.maximum(values - pushed, 0.0), vectors

    def _minimum(self, second: np.ndarray, first: np.ndarray) -> np.ndarray:
        """Return the most likely x in the region for b = Hx + noise, by accelerated steps (Nesterov 1983)."""
        region, (values, vectors) = self.scale.region, self.denoised(second)
        rows = self.scale.residual**2 / self.variance * values
        prior = TUNED.matrix_prior * len(values) * self.variance
        curvature = values**2 / (1 + rows) + prior
        steepest, middle = float(curvature[-1]), region.coordinates(region.middle)
        hessian = (vectors * curvature) @ vectors.T
        slope = vectors @ (values / (1 + rows) * (first @ vectors)) + prior * middle

        def moved(start: np.ndarray) -> np.ndarray:
            lower = region.matrix_of(start - (hessian @ start - slope) / steepest)
            return region.coordinates(region.projection(lower))

        return region.matrix_of(accelerated(moved, middle))


def moments(designs: Designs, target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return Σ aaᵀ and Σ t·a, exact in any order of up to 2^28 rows, for t in steps of 2^−12."""
    p = designs.region.n_coordinates
    second, first = np.zeros((p, p)), np.zeros(p)
    for part in slices(designs.rows, 2**22 * designs.rows.shape[1] // p):
        vectors = designs.vectors(part)
        second += vectors.T @ vectors
        first += target[part] @ vectors
    return second, first


def _least(slope: float, furthest: float, bend: float = 1.0) -> float:
    """Return a lower bound on bend·k² + slope·k for slope·k ≤ 0, |k| ≤ furthest."""
    k = min(abs(slope) / (2 * bend), furthest)
    return bend * k * k - abs(slope) * k


def _furthest(target: float, shift: float) -> float:
    """Return the maximum of |y − shift·s|·s over [0, 1]."""
    peak = min(1.0, max(0.0, target / (2 * shift))) if shift else 1.0
    return max(abs(target - shift), abs(target - shift * peak) * peak)


def _separate(scale: MomentScale) -> tuple[float, float]:
    return (math.sqrt(2.0), 2.0) if scale.replaced else (1.0, 1.0)


def _share_of_h(scale: MomentScale) -> float:
    """Return the share of ε for H of least variance.

    u/s² + v/(1 − s)² has its minimum at s = u^⅓/(u^⅓ + v^⅓), u and v the variances at s = 1. A ball's noise has a
    deviation of about √(its dimension) per entry; half of the variance of H is in Hx.
    """
    p = scale.region.n_coordinates
    of_h, of_b = _separate(scale)
    u, v = p * (p + 1) / 2 * scale.from_second * of_h**2, p * (scale.ratio * of_b) ** 2
    return float(1 / (1 + (v / u) ** (1 / 3)))
