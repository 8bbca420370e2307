"""Norms with their balls, duals and strongly convex regularisers.

Lemma. For 1 < q ≤ 2, f = ‖x‖_q²/2 is m-strongly convex in ‖·‖₂ with m = (q − 1)·2^{2/q − 1}, for vectors and for
Schatten norms.

Proof for q < 2. Equivalently, the gradient of the conjugate ‖y‖_p²/2, p = q/(q − 1), is 1/m-Lipschitz. By symmetry,
homogeneity and continuity it suffices to bound its second derivative at y > 0 with ‖y‖_p = 1. Let r = 2/q − 1, so that
1/m = (p − 1)·2^−r. Let x_i = y_i^p, which sum to 1, w_i = x_i^{(1+r)/2} and ρ = (p − 2)/(p − 1) = 2r/(1 + r). Divided
by p − 1, the claim is Σ x_i^r·h_i² − ρT² ≤ 2^−r·Σ h_i² with T = Σ w_i·h_i.

1. If all x_i ≤ ½, then x_i^r ≤ 2^−r.
2. Otherwise let x = x_1 > ½, y = 1 − x, α = x^r − 2^−r, β_i = 2^−r − x_i^r > 0 and B = Σ_{i>1} w_i²/β_i. By the
   Cauchy–Schwarz inequality w_1²·h_1² ≤ (1/ρ + B)·(ρT² + Σ_{i>1} β_i·h_i²), so it suffices that w_1²/α − B ≥ 1/ρ. As
   u^r/(2^−r − u^r) increases in u, B is largest if one x_i equals y. With t = x − y, Bernoulli's inequality gives
   w_1²/α − B ≥ x·(1 + t)^r/((1 + t)^r − 1) − y·(1 − t)^r/(1 − (1 − t)^r) ≥ x·(1 + 1/(rt)) − y·(1/(rt) − 1) = 1 + 1/r ≥
   1/ρ.
3. Matrices: g = f − m‖x‖₂²/2 is convex and depends only on the sizes of the entries, in any order. By von Neumann's
   trace inequality, its value at the singular values of X is the supremum of ⟨X, Y⟩ − g*(σ(Y)) over matrices Y, so it
   is convex in X.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from gaugedp._internal.validate import positive, whole
from gaugedp.bodies.lp import dual_exponent
from gaugedp.errors import InvalidRequest


@dataclass(frozen=True)
class Geometry:
    """Ball of a norm, with a regulariser for Gibbs sampling.

    Use it for `Gibbs`, as the set of coefficients that a model may have: `radius` limits their norm. The norm is ℓ_p
    for vectors, of shape (d,), and Schatten-p (the ℓ_p norm of the singular values) for matrices, of shape (m, n).
    Points are rows of arrays (k, d); matrices are rows of length m·n, row after row.

    Notes
    -----
    The ball is {x : ‖x‖_p ≤ radius}, 1 ≤ p ≤ ∞. The regulariser is a convex function that draws the weights towards 0.
    With N = d entries or N = min(m, n) singular values, it is r(x) = `weight`/2·‖x‖_q², where

    - p ≥ 2: q = 2 and weight 1;
    - p < 2: the weight is N^{2/p − 2/q}/(q − 1), and q in [p, 2] minimises it unless it is given.

    A larger q increases the bounds on risks, as √`range`, and makes the Gibbs sampler faster: q = 2 is a Gaussian.

    Theorem. r is 1-strongly convex in ‖·‖_p, and `convexity`-strongly convex in ‖·‖₂, where `convexity` = N^{2/p −
    2/q}·2^{2/q − 1} (1 for p ≥ 2). On the ball, r lies in [0, `range`], where `range` is weight·radius²/2 for p ≤ 2 and
    N^{1 − 2/p}·radius²/2 above. (Ball, Carlen and Lieb 1994, for ‖x‖_q²/(2(q − 1)) in ‖·‖_q, and ‖x‖_q ≥ N^{1/q −
    1/p}·‖x‖_p.)

    Examples
    --------
    An ℓ₁ ball of radius 2 in 100 dimensions, whose points have an ℓ₂ norm of at most 2:

    >>> from gaugedp.optimization import Geometry
    >>> ball = Geometry((100,), 1, radius=2.0)
    >>> round(ball.exponent, 2), round(ball.reach(2), 2)
    (1.14, 2.0)
    """

    shape: tuple[int, ...]
    p: float
    radius: float = 1.0
    q: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.shape, tuple) or len(self.shape) not in {1, 2}:
            raise InvalidRequest(
                f"`shape` is {self.shape!r}, but must consist of one or two positive integers.",
                "Pass (d,) for vectors, or (m, n) for matrices.",
            )
        whole(minimum=1, **dict(zip(("rows", "columns"), self.shape, strict=False)))
        positive(radius=self.radius)
        if not self.p >= 1:
            raise InvalidRequest(
                f"`p` is {self.p!r}, but must be at least 1.", "Pass a number of at least 1, or math.inf."
            )
        if self.q is not None and not (1 < self.q <= 2 and min(self.p, 2) <= self.q):
            raise InvalidRequest(
                f"`q` is {self.q!r}, but must be above 1 and lie between p and 2.", "Pass such a number, or omit `q`."
            )

    @property
    def ambient_dim(self) -> int:
        """Dimension of the space: d or m·n."""
        return math.prod(self.shape)

    @property
    def n_free(self) -> int:
        """Dimension of the ball."""
        return self.ambient_dim

    @property
    def n_values(self) -> int:
        """N: the number of entries or singular values."""
        return min(self.shape)

    @property
    def dual_exponent(self) -> float:
        """Exponent p/(p − 1) of the dual norm."""
        return dual_exponent(self.p)

    @cached_property
    def exponent(self) -> float:
        """Exponent q of the regulariser.

        Unless given, it is the minimiser log N − √(log²N − 2·log N) of N^{−2/q}/(q − 1), clipped to [p, 2].
        """
        if self.q is not None:
            return float(self.q)
        log = math.log(self.n_values)
        if self.p >= 2 or log <= 2:
            return 2.0
        return min(2.0, max(self.p, log - math.sqrt(log * log - 2 * log)))

    @cached_property
    def convexity(self) -> float:
        """Strong convexity of r in ℓ₂ (the Frobenius norm)."""
        return self.curvature * 2 ** (2 / self.exponent - 1)

    @cached_property
    def curvature(self) -> float:
        """Strong convexity of r in ‖·‖_q."""
        return self.n_values ** (2 / self.p - 2 / self.exponent) if self.p < 2 else 1.0

    @property
    def weight(self) -> float:
        """Factor of ‖x‖_q²/2 in the regulariser."""
        return self.curvature / (self.exponent - 1)

    @property
    def range(self) -> float:
        """Range Θ of r on the ball."""
        return self.weight * self.reach(self.exponent) ** 2 / 2

    @property
    def bend(self) -> float:
        """Curvature of the boundary: 1/radius for ‖·‖₂, else 0."""
        return 1 / self.radius if self.p == 2 else 0.0

    @property
    def outer(self) -> "Geometry":
        """The smallest ℓ₂ (Frobenius) ball around this ball."""
        return self if self.p == 2 else Geometry((self.ambient_dim,), 2, self.reach(2) * (1 + 2.0**-40))

    @property
    def length(self) -> float:
        """Upper bound on ‖x‖₂ over the ball, with rounding."""
        return self.outer.radius

    def reach(self, exponent: float) -> float:
        """Return the largest ‖x‖_`exponent` on the ball."""
        return self.radius * self.n_values ** max(0.0, 1 / exponent - 1 / self.p)

    @property
    def row_reach(self) -> float:
        """Largest ‖a‖₂ of a row with dual norm 1."""
        return self.n_values ** max(0.0, 1 / 2 - 1 / self.dual_exponent)

    def norm(self, points: np.ndarray) -> np.ndarray:
        """Return ‖x‖_p, shape (k,)."""
        return self._norm(points, self.p)

    def dual_norm(self, points: np.ndarray) -> np.ndarray:
        """Return the dual norm ‖x‖_{p/(p−1)}, shape (k,)."""
        return self._norm(points, self.dual_exponent)

    def contains(self, points: np.ndarray) -> np.ndarray:
        """Return a mask (k,) of the points in the ball."""
        return self.norm(points) <= self.radius

    def regulariser(self, points: np.ndarray) -> np.ndarray:
        """Return r(x), shape (k,)."""
        return self.weight / 2 * self._norm(points, self.exponent) ** 2

    def gradient(self, points: np.ndarray) -> np.ndarray:
        """Return ∇r(x), shape (k, d)."""
        return self.weight * self._spectral(points, lambda values: duality(values, self.exponent))

    def mirror(self, slopes: np.ndarray) -> np.ndarray:
        """Return the points (k, d) with ∇r(x) = slope."""
        dual = dual_exponent(self.exponent)
        return self._spectral(slopes, lambda values: duality(values, dual)) / self.weight

    def normal(self, points: np.ndarray) -> np.ndarray:
        """Return a subgradient (k, d) of ‖x‖_p for x ≠ 0."""
        if math.isinf(self.p):
            return self._spectral(points, _largest)
        return self._spectral(points, lambda values: duality(values, self.p) / _lengths(values, self.p))

    def projection(self, points: np.ndarray) -> np.ndarray:
        """Return the ℓ₂ projection onto the ball.

        It exists for p = 1, 2 or ∞; other p are refused.
        """
        if math.isinf(self.p):
            return self._spectral(points, lambda values: np.clip(values, -self.radius, self.radius))
        if self.p == 2:
            return self._spectral(points, lambda v: v * np.minimum(1, self.radius / _lengths(v, 2)))
        if self.p == 1:
            return self._spectral(points, lambda values: _onto_cross_polytope(values, self.radius))
        what = f"The nearest point of the ball can be computed for p = 1, 2 or infinity only, but p is {self.p:g}."
        raise InvalidRequest(what, "Use one of these values.")

    def _norm(self, points: np.ndarray, exponent: float) -> np.ndarray:
        if len(self.shape) == 1:
            return np.linalg.norm(points, exponent, axis=1)
        if exponent == 2:
            return np.linalg.norm(points, axis=1)
        values = np.linalg.svd(points.reshape(-1, *self.shape), compute_uv=False)
        return np.linalg.norm(values, exponent, axis=1)

    def _spectral(self, points: np.ndarray, change: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        if len(self.shape) == 1:
            return change(points)
        left_vectors, values, right_vectors = np.linalg.svd(points.reshape(-1, *self.shape), full_matrices=False)
        return ((left_vectors * change(values)[:, None, :]) @ right_vectors).reshape(points.shape)


@dataclass(frozen=True)
class Simplex:
    """Probability simplex: non-negative weights with the sum 1.

    Use it as the geometry of `Gibbs` if the coefficients of a model are shares, such as the weights of a portfolio. It
    is regularised by the negative entropy r(x) = Σ x_i·log x_i, whose values vary by log d over d weights.

    Notes
    -----
    r is 1-strongly convex in ℓ₁ (Pinsker's inequality). It is 2-strongly convex in ℓ₂, because the difference h of two
    points has the sum 0, so ‖h‖₁² ≥ 2‖h‖₂². The mirror map, which turns gradients into points, is the softmax.
    """

    d: int

    radius: ClassVar[float] = 1.0
    length: ClassVar[float] = 1.0
    convexity: ClassVar[float] = 2.0

    def __post_init__(self) -> None:
        whole(minimum=1, d=self.d)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape (d,) of a point."""
        return (self.d,)

    @property
    def ambient_dim(self) -> int:
        """Dimension d of the space."""
        return self.d

    @property
    def n_free(self) -> int:
        """Dimension d − 1 of the simplex."""
        return self.d - 1

    @property
    def range(self) -> float:
        """Range log d of the entropy."""
        return math.log(self.d)

    @property
    def row_reach(self) -> float:
        """Largest ‖a‖₂ of a row with ‖a‖_∞ = 1: √d."""
        return math.sqrt(self.d)

    def dual_norm(self, points: np.ndarray) -> np.ndarray:
        """Return ‖x‖_∞, shape (k,)."""
        return np.abs(points).max(axis=1, initial=0.0)

    def regulariser(self, points: np.ndarray) -> np.ndarray:
        """Return Σ x_i·log x_i (k,) with 0·log 0 = 0."""
        logs = np.log(points, out=np.zeros_like(points), where=points > 0)
        return (points * logs).sum(axis=1)

    def gradient(self, points: np.ndarray) -> np.ndarray:
        """Return 1 + log x (k, d) for x > 0."""
        return 1 + np.log(points)

    def mirror(self, slopes: np.ndarray) -> np.ndarray:
        """Return the softmax of the slopes, shape (k, d)."""
        weights = np.exp(slopes - slopes.max(axis=1, keepdims=True))
        return weights / weights.sum(axis=1, keepdims=True)


# a convex set of points of norm ≤ `radius` and ℓ₂ norm ≤ `length`, with r that is 1-strongly convex in that norm
NormedSet = Geometry | Simplex


def duality(values: np.ndarray, exponent: float) -> np.ndarray:
    """Return each row's (sub)gradient of ‖·‖²/2 in the norm of `exponent`; 0 at 0."""
    lengths = _lengths(values, exponent)
    return np.sign(values) * (np.abs(values) / lengths) ** (exponent - 1) * lengths


def _lengths(values: np.ndarray, exponent: float) -> np.ndarray:
    """Return the positive norms of the rows, shape (k, 1)."""
    return np.maximum(np.linalg.norm(values, exponent, axis=1, keepdims=True), np.finfo(float).tiny)


def _largest(values: np.ndarray) -> np.ndarray:
    signs = np.zeros_like(values)
    rows, places = np.arange(len(values)), np.abs(values).argmax(axis=1)
    signs[rows, places] = np.sign(values[rows, places])
    return signs


def _onto_cross_polytope(values: np.ndarray, radius: float) -> np.ndarray:
    """Project rows onto the ℓ₁ ball (Duchi and others 2008)."""
    sizes = np.sort(np.abs(values), axis=1)[:, ::-1]
    counts = np.arange(1, values.shape[1] + 1)
    cuts = (np.cumsum(sizes, axis=1) - radius) / counts
    n_positive = (sizes > cuts).sum(axis=1)
    cut = np.maximum(0, cuts[np.arange(len(values)), n_positive - 1])[:, None]
    return np.sign(values) * np.maximum(np.abs(values) - cut, 0)
