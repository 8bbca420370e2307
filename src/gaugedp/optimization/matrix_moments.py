"""The moments of a regression on matrices, released once; then the squared loss is minimised as often as one likes."""

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

MOST_COORDINATES = 1_600  # p: H has p² numbers, their decomposition takes p³ operations
_LEAST_FLOOR, _MOST_FLOOR, _LOUDNESS_OF_ONE_EDGE = (
    0.3,
    2.0,
    5.0,
)  # floors in units of the edge; where p·edge/n is 5, it is one edge
_PRIOR = 0.2  # times p: the precision of a coordinate of X around the region's middle, before anything is seen
_RESIDUAL = 1 / 8  # of the target's range: how far targets are from predictions, a guess
_CENTRES = tuple(c / 64 for c in range(33))
_LIGHT, _HEAVY = 0.5, math.sqrt(2.0)  # of the weight of b beside H


@dataclass(frozen=True)
class MomentScale:
    """The scale of the noise of H = Σ aaᵀ and b = Σ t·a, a = vec(A) with ‖a‖₂ ≤ 1, t = y_c/`largest`.

    y is within `bounds`, predictions are reach·⟨A, X⟩, and y_c = y − reach·c·tr A is what c·I leaves of it, c =
    `centre` ≥ 0. `products_at_least` is a bound below ⟨A, A′⟩ of two designs: 0 for A = zzᵀ, else −1. c > 0 is for
    A = zzᵀ.
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
            raise InvalidRequest(f"The radius is {self.region.radius!r}.", "Scale the matrices to a radius of 1.")
        if self.centre and self.products_at_least < 0:
            raise InvalidRequest("The designs have no centre.", "Leave it at 0 for designs that are not zzᵀ.")

    def centred(self) -> "MomentScale":
        """Return the scale with the c of least noise, by public numbers; that without one where designs are not zzᵀ."""
        if self.products_at_least < 0:
            return self
        return min((replace(self, centre=c) for c in _CENTRES), key=lambda scale: scale.noise)

    @property
    def shift(self) -> float:
        """Return the factor of tr A that is subtracted from a target."""
        return self.reach * self.centre

    @property
    def largest(self) -> float:
        """The largest |y − shift·s|·s over s = tr A in [0, 1], which is at least |y_c|·‖a‖."""
        return max(_furthest(end, self.shift) for end in self.bounds)

    @property
    def ratio(self) -> float:
        """The largest |y_c| over the largest prediction."""
        return self.largest / self.reach

    @property
    def from_second(self) -> float:
        """Half of the largest ‖X − c·I‖² of an extreme point X: the noise of H in the gradient, in variances of it."""
        size = self.centre * self.centre * self.region.shape[0]
        return max(1 - 2 * self.centre + size, size) / 2

    @property
    def weight(self) -> float:
        """w, by which b stands beside H: at w² = ratio/√from_second both noises weigh alike in the gradient."""
        return min(_HEAVY, max(_LIGHT, math.sqrt(self.ratio / math.sqrt(self.from_second))))

    @property
    def residual(self) -> float:
        """About the deviation of a target from its prediction, over the largest prediction."""
        return _RESIDUAL * (self.bounds[1] - self.bounds[0]) / self.reach

    @property
    def noise(self) -> float:
        """The variance of a number of the gradient at an extreme point X, for μ = 1."""
        return self.sensitivity**2 * (self.from_second + (self.ratio / self.weight) ** 2)

    @property
    def least_product(self) -> float:
        """A bound below k² + w²·q·k, k = ⟨a, a′⟩ and q = t·t′: the inner product of the moments of two rows.

        For k ≥ 0 and t < 0 < t′, t ≥ (low − shift)/largest and t′ ≤ (high − shift·k)/largest, as k ≤ ‖a′‖ ≤ tr A′. For
        k < 0, which designs cut to multiples of 2^−BITS may have down to −2√p·2^−BITS, q is the largest t² at most.
        """
        p, square = self.region.n_coordinates, self.weight**2
        lowest_k = max(-1.0, self.products_at_least - 2 * math.sqrt(p) * 2.0**-BITS)
        low, high = (self.bounds[0] - self.shift) / self.largest, self.bounds[1] / self.largest
        opposite = square * low * high if low < 0 < high else 0.0
        bend = 1 - square * min(low, 0.0) * self.shift / self.largest
        return min(_least(opposite, 1.0, bend), _least(square * max(-low, high) ** 2, -lowest_k))

    def scaled(self, designs: Designs, target: np.ndarray) -> np.ndarray:
        """Return t for targets within their bounds, in whole multiples of 2^−12, cut towards 0."""
        return cut((target - self.shift * designs.traces()) / self.largest if self.centre else target / self.largest)

    @property
    def sensitivity(self) -> float:
        """Return the sensitivity of (H, w·b) in the Frobenius norm, for one row."""
        norm = 1 + self.weight**2
        return math.sqrt(2 * norm - 2 * self.least_product) if self.replaced else math.sqrt(norm)


@dataclass(frozen=True, eq=False)
class MatrixMoments:
    """Estimate X with Σ(reach·⟨A, X⟩ − y)² small from H = Σ aaᵀ and b = Σ t·a, a = vec(A), with noise on both.

    Gaussian noise is of one deviation on the joint vector (H, w·b), in coordinates that keep its Frobenius norm; noise
    for pure ε has the shapes of two balls, one for H and one for b. X is the likeliest matrix of the region by both
    sums and their noise, all of public law: ‖ratio·b − Hx‖² in the metric of what noise and sampling add.

    Theorem. Two rows move (H, w·b) by at most √(2 + 2w² − 2·least_product), a row alone by √(1 + w²): the release is
    μ-GDP, or ε-DP. The minimiser is a function of the release. docs/theory/matrix_moments.md
    """

    scale: MomentScale
    noise: AdditiveNoise
    noise_of_b: AdditiveNoise | None

    @classmethod
    def calibrate(cls, guarantee: Guarantee, scale: MomentScale) -> "MatrixMoments":
        """Return the method for GaussianDP or PureDP; refused for matrices of more than MOST_COORDINATES numbers."""
        p = scale.region.n_coordinates
        if p > MOST_COORDINATES:
            raise InvalidRequest(
                f"There are {p:,} coefficients, and moments of at most {MOST_COORDINATES:,} are released.",
                "Choose fewer, or a fit by descent.",
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
        """ "exact" or "idealized", as the noise is."""
        return self.noise.exactness

    @property
    def edge(self) -> float:
        """About the largest eigenvalue of the noise of H: √(2p) times the deviation of an entry of its diagonal."""
        return math.sqrt(2 * self.scale.region.n_coordinates * float(self.noise.variances.max()))

    @property
    def variance(self) -> float:
        """τ²: about the variance of a number of the gradient at an extreme point, by the noise of both sums."""
        noise_of_b = self.noise if self.noise_of_b is None else self.noise_of_b
        weight = self.scale.weight if self.noise_of_b is None else 1.0
        of_b = float(noise_of_b.variances.max()) * (self.scale.ratio / weight) ** 2
        return float(self.noise.variances.max()) * self.scale.from_second + of_b

    def loudness(self, n_rows: float) -> float:
        """Return the edge over n/p, which the mean eigenvalue of H is at most."""
        return self.edge * self.scale.region.n_coordinates / n_rows

    def hides(self, n_rows: float) -> bool:
        """Return whether noise hides H whatever it is: its largest eigenvalue, at most n, is below the edge."""
        return self.edge > n_rows

    def solve(self, problem: TraceProblem, n_rows: float, rng: Entropy) -> np.ndarray:
        """Return X for targets within their bounds; the slope of the problem is not used: pay first."""
        del n_rows
        second, first = self.release(problem.designs, self.scale.scaled(problem.designs, problem.target), rng)
        centre = self.scale.centre * self.scale.region.coordinates(np.eye(*self.scale.region.shape))
        return self._minimum(second, self.scale.ratio * first + second @ centre)

    def release(self, designs: Designs, target: np.ndarray, rng: Entropy) -> tuple[np.ndarray, np.ndarray]:
        """Return H (p, p) and b (p,) with noise drawn now."""
        second, first = moments(designs, target)
        if self.noise_of_b is not None:
            noisy = released(coordinates(second), self.noise, rng)
            return square_of(noisy), released(first, self.noise_of_b, rng)
        weight, p = self.scale.weight, len(first)
        noisy = released(np.concatenate([coordinates(second), weight * first]), self.noise, rng)
        return square_of(noisy[:-p]), noisy[-p:] / weight

    def raised(self, second: np.ndarray, n_rows: float) -> np.ndarray:
        """Return H with eigenvalues of at least the floor, for penalties on the whole space."""
        values, vectors = np.linalg.eigh(second)
        return np.asarray((vectors * np.maximum(values, self._floor(n_rows))) @ vectors.T)

    def _floor(self, n_rows: float) -> float:
        """Return what eigenvalues of H are raised to: the more, the louder noise is."""
        loudness = self.loudness(n_rows) / _LOUDNESS_OF_ONE_EDGE
        return self.edge * min(_MOST_FLOOR, max(_LEAST_FLOOR, min(loudness, math.sqrt(loudness))))

    def denoised(self, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return eigenvalues λ − σ²·Σ_j 1/(λ − λ_j), at least 0, and the eigenvectors of H with noise.

        Among all with these vectors it is the nearest matrix to H, as p grows (Bun, Allez, Bouchaud and Potters 2016).
        """
        values, vectors = np.linalg.eigh(second)
        pushed = repulsion(values, float(self.noise.variances.max()), self.edge**2 / len(values))
        return np.maximum(values - pushed, 0.0), vectors

    def _minimum(self, second: np.ndarray, first: np.ndarray) -> np.ndarray:
        """Return the likeliest x in the region, b = Hx + noise, by accelerated projected steps (Nesterov 1983)."""
        region, (values, vectors) = self.scale.region, self.denoised(second)
        rows = self.scale.residual**2 / self.variance * values
        prior = _PRIOR * len(values) * self.variance
        curvature = values**2 / (1 + rows) + prior
        steepest, middle = float(curvature[-1]), region.coordinates(region.middle)
        hessian = (vectors * curvature) @ vectors.T
        slope = vectors @ (values / (1 + rows) * (first @ vectors)) + prior * middle

        def moved(start: np.ndarray) -> np.ndarray:
            lower = region.matrix_of(start - (hessian @ start - slope) / steepest)
            return region.coordinates(region.projection(lower))

        return region.matrix_of(accelerated(moved, middle))


def moments(designs: Designs, target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return Σ aaᵀ and Σ t·a, t whole multiples of 2^−12: exact in any order of the rows, up to 2^28 of them."""
    p = designs.region.n_coordinates
    second, first = np.zeros((p, p)), np.zeros(p)
    for part in slices(designs.rows, 2**22 * designs.rows.shape[1] // p):
        vectors = designs.vectors(part)
        second += vectors.T @ vectors
        first += target[part] @ vectors
    return second, first


def _least(slope: float, furthest: float, bend: float = 1.0) -> float:
    """Return a bound below bend·k² + slope·k, k 0 or of the sign that makes slope·k negative, |k| ≤ furthest."""
    k = min(abs(slope) / (2 * bend), furthest)
    return bend * k * k - abs(slope) * k


def _furthest(target: float, shift: float) -> float:
    """Return the largest |y − shift·s|·s over s in [0, 1]: at 1, or where the slope of a parabola is 0."""
    peak = min(1.0, max(0.0, target / (2 * shift))) if shift else 1.0
    return max(abs(target - shift), abs(target - shift * peak) * peak)


def _separate(scale: MomentScale) -> tuple[float, float]:
    """Return by how much H and b move, each by itself."""
    return (math.sqrt(2.0), 2.0) if scale.replaced else (1.0, 1.0)


def _share_of_h(scale: MomentScale) -> float:
    """Return the share s of ε for H: u/s² + v/(1 − s)² is least at u^⅓/(u^⅓ + v^⅓), u and v the variances at s = 1.

    A ball's noise has a deviation of about √(its dimension) an entry; half of the variance of H is in Hx.
    """
    p = scale.region.n_coordinates
    of_h, of_b = _separate(scale)
    u, v = p * (p + 1) / 2 * scale.from_second * of_h**2, p * (scale.ratio * of_b) ** 2
    return float(1 / (1 + (v / u) ** (1 / 3)))
