"""Noisy Oja: eigenvectors by products of the second moments with directions, never the matrix itself."""

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
    """V ← the orthonormal factor of V·R + η·(AV + noise), A = Σ xxᵀ, V (d, k), for `steps` steps.

    The step moves: with M the weighted mean of the noisy products, M ← (1 − w)M + w(AV + noise), V the orthonormal
    factor of M = VR, that is η = w/(1 − w), for k = 1 over ‖M‖, which is about λ₁. w = 1 (the power method) for the
    first quarter of the steps, then 1, 1/2, 1/3, …, so that what is released averages the noise of all steps after.
    With `pace` > 0 it is x ← x + pace·(Ax + noise), as printed.

    Theorem. One row moves AV by at most min(√k, √2) in the Frobenius norm where it is replaced, by 1 where it is added,
    so T steps with noise of that over μ/√T are μ-GDP. docs/theory/eigenvectors.md
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
        """Return the mechanism for `shape` = (columns, components); steps by the number of columns where None."""
        check_components(*shape)
        one_of(NEIGHBOURS, neighbours=neighbours)
        n_steps = 4 * (4 + math.ceil(2 * math.log2(shape[0]))) if steps is None else steps
        whole(minimum=1, steps=n_steps)
        mu = of_kind(guarantee, GaussianDP, purpose="Noisy products").mu
        return cls(shape, n_steps, _noise(shape, mu / math.sqrt(n_steps), neighbours))

    @classmethod
    def printed(cls, n_columns: int, steps: int, epsilon: float, delta: float) -> "Oja":
        """Return algorithm 3 of the source with its own noise and step, for rows that are replaced: to compare with.

        Its guarantee is what that noise really keeps, many times less than (ε, δ).
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
        """The deviation of the noise on each number of a product."""
        return math.sqrt(float(self.noise.variances.max()))

    def describe(self) -> str:
        """Return the steps and the noise in words."""
        return f"{self.steps} steps, noise of deviation {self.std:.6g} on products with directions"

    def solve(self, rows: np.ndarray, rng: Entropy) -> Pairs:
        """Return the pairs for rows (n, d) of norm at most 1: pay first."""
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
        """Return the number of steps that are not averaged."""
        return self.steps if self.pace else self.steps // 4

    def _pairs(self, basis: np.ndarray, mean: np.ndarray) -> Pairs:
        """Return the vectors turned within their span, and values less the length that noise adds to a mean."""
        inner = basis.T @ mean
        values, turn = np.linalg.eigh((inner + inner.T) / 2)
        added = self.shape[0] * self.std**2 / max(1, self.steps - self._alone)
        right = np.sqrt(np.maximum(np.maximum(values[::-1], 0) ** 2 - added, 0.0))
        return Pairs((basis @ turn[:, ::-1]).T, right, right * (right**2 / (right**2 + max(added, 1e-300))))


def printed_oja(
    n_columns: int, steps: int, epsilon: float, delta: float, sensitivity: float = 1.0
) -> tuple[float, float]:
    """Return (σ, η) as printed: σ = log(1.25/δ)·Δ·√(32·T·log(1/δ))/ε and η = 1/(T·σ·√d), Δ the operator norm's.

    σ should be Δ·√T/μ, μ the Gaussian parameter of (ε, δ): at δ = 1e-6 it is some 70 times too large, private and of
    no use. η makes no progress unless λ₁ is far above σ·√d.
    """
    whole(minimum=1, n_columns=n_columns, steps=steps)
    positive(epsilon=epsilon, sensitivity=sensitivity)
    between(0, 1, delta=delta)
    std = math.log(1.25 / delta) * sensitivity * math.sqrt(32 * steps * math.log(1 / delta)) / epsilon
    return std, 1 / (steps * std * math.sqrt(n_columns))


def _noise(shape: tuple[int, int], mu: float, neighbours: str = "replace") -> Gaussian:
    return Gaussian.calibrate(LpBall(math.prod(shape), 2, _moved(shape, neighbours)), GaussianDP(mu * (1 - 2.0**-40)))


def _moved(shape: tuple[int, int], neighbours: str) -> float:
    """Return how far one row moves AV, with what the rounding of directions and products may add."""
    n_columns, k = shape
    n_rows, exact = (2, math.sqrt(min(k, 2))) if neighbours == "replace" else (1, 1.0)
    size = longest(n_columns)
    return size**2 * (exact + math.sqrt(n_columns * k) * 2.0**-30) + size * n_rows * math.sqrt(k) * 2.0 ** -(BITS + 1)


def _orthonormal(columns: np.ndarray) -> np.ndarray:
    """Return the orthonormal factor whose triangular one has a positive diagonal: it turns no column round."""
    basis, triangle = np.linalg.qr(columns)
    return basis * np.where(np.diagonal(triangle) < 0, -1.0, 1.0)
