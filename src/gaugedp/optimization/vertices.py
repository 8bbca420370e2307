"""Private linear-minimisation oracles for running gradients, in one pass."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gaugedp._internal.rounding import TRANSFORMS
from gaugedp._internal.validate import one_of
from gaugedp.entropy import Entropy
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees import GaussianDP, Guarantee
from gaugedp.optimization.spectraplex import Region, unit
from gaugedp.optimization.streams import ToeplitzRoot, steps
from gaugedp.samplers.continuous import normals

ORACLES = ("toeplitz", "oja")

Choose = Callable[[np.ndarray], np.ndarray]  # from D_t to the matrix V_t, for t = 0, 1, … in order


@dataclass(frozen=True)
class Running:
    """Running decayed sums D_t = Σ_{s ≤ t} decay^{t−s}·g_s, t < n_steps.

    X_{t+1} is a function of V_0 … V_t, and g_{t+1} of X_0 … X_{t+1}. One row is in one g_s, and changes it by a sum of
    weights times designs of norm at most 1; the weights' sizes add up to at most `sensitivities`[0] for s = 0 and [1]
    later. So a row changes *every* D_t from s on, by decay^{t−s} of it.
    """

    region: Region
    n_steps: int
    decay: float
    sensitivities: tuple[float, float]

    @property
    def total(self) -> float:
        """ℓ₂ sensitivity of all D_t to a row, rounded up."""
        levels = self.decay ** (2 * np.arange(self.n_steps))
        lengths = [float(part.sum()) ** (1 / 2) for part in (levels, levels[:-1])]
        return max(sensitivity * length for sensitivity, length in zip(self.sensitivities, lengths, strict=True)) * (
            1 + TRANSFORMS
        )


@dataclass(frozen=True, eq=False)
class NoisyGradients:
    """The oracle that minimises ⟨D_t + noise, V⟩: Analyze-Gauss at every step, with correlated noise.

    Theorem. μ-GDP at σ = max(Δ_0·c_0, Δ·c_1)/μ, (c_0, c_1) the columns of `stream`, Δ_0 and Δ those of `running`.
    docs/theory/stochastic_frank_wolfe.md
    """

    running: Running
    guarantee: GaussianDP

    @cached_property
    def stream(self) -> ToeplitzRoot:
        """The noise of all steps."""
        return ToeplitzRoot(self.running.n_steps, self.running.decay)

    @cached_property
    def std(self) -> float:
        """σ: the standard deviation of w on a coordinate."""
        pairs = zip(self.running.sensitivities, self.stream.columns, strict=True)
        return max(sensitivity * column for sensitivity, column in pairs) / self.guarantee.mu * (1 + 2.0**-40)

    def start(self, rng: Entropy) -> Choose:
        """Return the function from D_0, D_1, … to vertices."""
        region = self.running.region
        noise = self.stream.noise(region.n_coordinates, rng)
        return lambda slope: region.vertex(self.released(slope, next(noise))).matrix

    def released(self, slope: np.ndarray, noise: np.ndarray) -> np.ndarray:
        """Return D_t with noise, rounded to the lattice."""
        region = self.running.region
        return region.matrix_of(_on_lattice(region.coordinates(slope) + self.std * noise, self.std))


@dataclass(frozen=True, eq=False)
class NoisyProducts:
    """The oracle that follows Oja's method along the pass.

    A step is x ← normalise(x − pace·(S_t·x + noise)), and V_t is the point of x. S_t is the quadratic form of D_t on
    the sphere (`Region.square`). x remembers 1/pace steps and averages their noise. The pace is at least ten times the
    rate of Frank–Wolfe, and more if the noise allows it: 0.03·|r|/(p·σ²), with r a mean of −xᵀ(S_t·x + noise) over the
    releases so far, as long as no step is longer than 1.

    Theorem. μ-GDP at σ = max(Δ_0·c_0, Δ·c_1)/μ with the columns of independent noise, as a row changes S_t·x by at most
    decay^{t−s}·Δ in ℓ₂. Only the operator norm of the row's change matters. docs/theory/stochastic_frank_wolfe.md
    """

    running: Running
    guarantee: GaussianDP

    @cached_property
    def std(self) -> float:
        """σ: the standard deviation of the noise in a product."""
        return self.running.total / self.guarantee.mu * (1 + 2.0**-40)

    @cached_property
    def least(self) -> float:
        """The least pace."""
        return min(1.0, 10.0 * (1 - self.running.decay))  # ten times the rate of Frank–Wolfe

    def pace(self, depth: float, product: np.ndarray) -> float:
        """Return the pace for r = `depth`."""
        # 0.03: about half of the squared angle that noise may turn the direction
        allowed = 0.03 * abs(depth) / (self.running.region.n_directions * self.std**2)
        return max(self.least, min(allowed, 1 / max(float(np.linalg.norm(product)), 1e-300)))

    def start(self, rng: Entropy) -> Choose:
        """Return the function that follows the lowest direction, called with D_0, D_1, … in order."""
        region, size = self.running.region, self.running.region.n_directions
        noise = steps(self.running.n_steps, size, rng)
        place, depth = unit(normals(size, rng)), 0.0

        def follow(slope: np.ndarray) -> np.ndarray:
            nonlocal place, depth
            product = self.released(slope, place, next(noise))
            depth += self.least * (-float(place @ product) - depth)
            place = unit(place - self.pace(depth, product) * product)
            return region.at(place)

        return follow

    def released(self, slope: np.ndarray, place: np.ndarray, noise: np.ndarray) -> np.ndarray:
        """Return S_t·x with noise, rounded to the lattice."""
        return _on_lattice(self.running.region.square(slope) @ place + self.std * noise, self.std)


# points V_t of a region, often extreme, of low ⟨D_t, V⟩; `start` returns a function to call with D_0, D_1, …
Oracle = NoisyGradients | NoisyProducts


def oracle(name: str, guarantee: Guarantee, running: Running) -> Oracle:
    """Return the oracle named `name` for a GaussianDP."""
    one_of(ORACLES, noise=name)
    if not (isinstance(guarantee, GaussianDP) and guarantee.mu > 0):
        raise InvalidRequest(
            f"A stream of Gaussian noise cannot guarantee {guarantee!r}.",
            "Use GaussianDP, or ApproxDP with epsilon and delta above 0.",
        )
    return NoisyProducts(running, guarantee) if name == "oja" else NoisyGradients(running, guarantee)


def _on_lattice(numbers: np.ndarray, std: float) -> np.ndarray:
    # 20: released numbers lie on a lattice with steps of 2^−20 to 2^−21 deviations
    step = 2.0 ** (math.floor(math.log2(std)) - 20)
    return np.rint(numbers / step) * step
