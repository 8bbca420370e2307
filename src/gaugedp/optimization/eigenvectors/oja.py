"""Noisy Oja iterations: eigenvectors from matrix–vector products only."""

import math
from dataclasses import dataclass

import numpy as np

from gaugedp._internal.validate import between, one_of, positive, whole
from gaugedp.bodies import LpBall
from gaugedp.entropy import Entropy
from gaugedp.guarantees import GaussianDP
from gaugedp.guarantees.parse_guarantee import of_kind
from gaugedp.mechanisms import Gaussian
from gaugedp.optimization.eigenvectors.noisy_moments import NEIGHBOURS, Pairs, check_components, longest, products
from gaugedp.optimization.lattice import BITS, with_noise
from gaugedp.samplers.continuous import normals


@dataclass(frozen=True, eq=False)
class Oja:
    """Leading eigenvectors of Σ xxᵀ, by noisy orthogonal iteration.

    Use it for principal components if there are too many columns for a noisy d × d matrix. It repeatedly multiplies A =
    Σ xxᵀ, the sum over the rows x, by the current vectors, adds noise, and makes the vectors orthonormal again.

    Notes
    -----
    Each of the `steps` steps replaces the vectors V (d, k) by the orthonormal factor of V·R + η·(AV + noise). The step
    size η varies. Let M = VR be the weighted mean of the noisy products. A step computes M ← (1 − w)M + w(AV + noise),
    so η = w/(1 − w), divided for k = 1 by ‖M‖, which is about λ₁, the largest eigenvalue. The weight w is 1 (the power
    method) for the first quarter of the steps and then 1, 1/2, 1/3, …, so that the result averages the noise of all
    later steps. With `pace` > 0 the step is x ← x + pace·(Ax + noise), as published.

    Theorem (docs/theory/eigenvectors.md). One row changes AV by at most min(√k, √2) in the Frobenius norm if it is
    replaced, and by 1 if it is added. Hence T steps whose noise is this sensitivity divided by μ/√T are μ-GDP.
    """

    shape: tuple[int, int]
    steps: int
    noise: Gaussian
    pace: float = 0.0

    exactness = "exact"

    @classmethod
    def calibrate(
        cls, shape: tuple[int, int], guarantee: GaussianDP, neighbours: str = "replace", steps: int | None = None
    ) -> "Oja":
        """Return the mechanism for `shape` = (columns, components)."""
        check_components(*shape)
        one_of(NEIGHBOURS, neighbours=neighbours)
        n_steps = 4 * (4 + math.ceil(2 * math.log2(shape[0]))) if steps is None else steps
        whole(minimum=1, steps=n_steps)
        mu = of_kind(guarantee, GaussianDP, purpose="Noisy products").mu
        return cls(shape, n_steps, _noise(shape, mu / math.sqrt(n_steps), neighbours))

    @classmethod
    def printed(cls, n_columns: int, steps: int, epsilon: float, delta: float) -> "Oja":
        """Return algorithm 3 as published, for comparisons.

        It is for replaced rows. Its `guarantee` is the one that the published noise satisfies, which is many times
        stronger than (ε, δ).
        """
        std, pace = printed_oja(n_columns, steps, epsilon, delta)
        return cls((n_columns, 1), steps, _noise((n_columns, 1), _moved((n_columns, 1), "replace") / std), pace)

    @property
    def guarantee(self) -> GaussianDP:
        """The guarantee of all steps together."""
        assert isinstance(self.noise.guarantee, GaussianDP)
        return GaussianDP(self.noise.guarantee.mu * math.sqrt(self.steps) * (1 + 2.0**-45))

    @property
    def std(self) -> float:
        """Standard deviation of the noise in a product."""
        return math.sqrt(float(self.noise.variances.max()))

    def describe(self) -> str:
        """Describe the steps and the noise."""
        return f"{self.steps} steps, noise of deviation {self.std:.6g} on products with directions"

    def solve(self, rows: np.ndarray, rng: Entropy) -> Pairs:
        """Return eigenpairs for rows (n, d). Charge the budget first."""
        noises = self.noise.pool(self.steps, rng)
        basis = _orthonormal(normals(math.prod(self.shape), rng).reshape(self.shape))
        mean = np.zeros(self.shape)
        for step, noise in enumerate(noises):
            noisy = with_noise(products(rows, basis), self.noise, noise)
            weight = 1.0 if self.pace else 1 / max(1, step - self._alone + 1)
            mean = (1 - weight) * mean + weight * noisy
            basis = _orthonormal(basis + self.pace * noisy if self.pace else mean)
        return self._pairs(basis, mean)

    @property
    def _alone(self) -> int:
        return self.steps if self.pace else self.steps // 4

    def _pairs(self, basis: np.ndarray, mean: np.ndarray) -> Pairs:
        inner = basis.T @ mean
        values, turn = np.linalg.eigh((inner + inner.T) / 2)
        added = self.shape[0] * self.std**2 / max(1, self.steps - self._alone)
        right = np.sqrt(np.maximum(np.maximum(values[::-1], 0) ** 2 - added, 0.0))
        return Pairs((basis @ turn[:, ::-1]).T, right, right * (right**2 / (right**2 + max(added, 1e-300))))


def printed_oja(
    n_columns: int, steps: int, epsilon: float, delta: float, sensitivity: float = 1.0
) -> tuple[float, float]:
    """Return (σ, η) as published.

    σ = log(1.25/δ)·Δ·√(32·T·log(1/δ))/ε and η = 1/(T·σ·√d), with Δ the sensitivity in the operator norm. σ should be
    Δ·√T/μ, where μ is the Gaussian parameter of (ε, δ): at δ = 1e-6 the published σ is some 70 times too large, private
    but useless. η makes no progress unless λ₁ is far above σ·√d.
    """
    whole(minimum=1, n_columns=n_columns, steps=steps)
    positive(epsilon=epsilon, sensitivity=sensitivity)
    between(0, 1, delta=delta)
    std = math.log(1.25 / delta) * sensitivity * math.sqrt(32 * steps * math.log(1 / delta)) / epsilon
    return std, 1 / (steps * std * math.sqrt(n_columns))


def _noise(shape: tuple[int, int], mu: float, neighbours: str = "replace") -> Gaussian:
    return Gaussian.calibrate(LpBall(math.prod(shape), 2, _moved(shape, neighbours)), GaussianDP(mu * (1 - 2.0**-40)))


def _moved(shape: tuple[int, int], neighbours: str) -> float:
    n_columns, k = shape
    n_rows, exact = (2, math.sqrt(min(k, 2))) if neighbours == "replace" else (1, 1.0)
    size = longest(n_columns)
    return size**2 * (exact + math.sqrt(n_columns * k) * 2.0**-30) + size * n_rows * math.sqrt(k) * 2.0 ** -(BITS + 1)


def _orthonormal(columns: np.ndarray) -> np.ndarray:
    """Return the QR factor whose R has positive diagonal."""
    basis, triangle = np.linalg.qr(columns)
    return basis * np.where(np.diagonal(triangle) < 0, -1.0, 1.0)
