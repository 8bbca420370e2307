"""Minima of regularised sums of losses, to a given distance."""

import copy
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Generic, TypeVar

import numpy as np
import scipy

from gaugedp.optimization.losses import Loss, Softmax
from gaugedp.optimization.row_blocks import READ_ONCE, in_threads, slices
from gaugedp.optimization.tuning import TUNED

Newton = Callable[[np.ndarray], np.ndarray]
L = TypeVar("L", bound=Loss | Softmax)

NEWTON_STEPS, USUAL_STEPS = 400, 8  # the most and the fewest steps; the fewest suffice for most data
_SUMMED_ROWS = 2**12  # rows whose products are summed together, which bounds the rounding


class Regularised(ABC, Generic[L]):
    """A regularised sum of losses with a linear term.

    F(w) = Σ_i u_i·φ(⟨w, x_i⟩, y_i) + λ‖w‖²/2 + ⟨b, w⟩. `data` holds rows (n, d) of norm at most 1, targets and weights
    u in [0, 1] (n,), which default to 1. w and b are flat vectors; `strength` is λ > 0, so F is λ-strongly convex.
    """

    repeats = 1  # the number of rows that each row represents in a step's matrix

    def __init__(self, loss: L, data: tuple[np.ndarray, ...], strength: float, linear: np.ndarray) -> None:
        self.loss, self.strength, self.linear = loss, strength, linear
        self.rows, self.target, *others = data
        self.weights = others[0] if others else np.broadcast_to(1.0, (len(self.rows),))

    def thinned(self) -> "Regularised[L]":
        """Return the problem of every k-th row, with k-fold weight in a step's matrix; itself for few rows."""
        n_rows, size = len(self.rows), len(self.linear)
        repeats = n_rows // max(16 * size, 2**14, TUNED.cheap_coordinates * n_rows // size)
        if repeats < 2:
            return self
        sample = copy.copy(self)
        sample.rows, sample.target = self.rows[::repeats], self.target[::repeats]
        sample.weights, sample.repeats = self.weights[::repeats], repeats
        return sample

    def shaped(self, weights: np.ndarray) -> np.ndarray:
        """Return w as (d,) or (K, d), for predictions."""
        return weights

    def losses(self, weights: np.ndarray) -> tuple[float, np.ndarray]:
        """Return Σuφ and its gradient Σuφ′xᵀ."""
        sums = in_threads(partial(self._sums, self.shaped(weights)), self.rows, _SUMMED_ROWS * self.rows.shape[1])
        return sum(total for total, _ in sums), np.sum([gradient for _, gradient in sums], axis=0).ravel()

    def _sums(self, matrix: np.ndarray, blocks: list[slice]) -> tuple[float, np.ndarray]:
        total, gradient = 0.0, np.zeros_like(matrix)
        for block in blocks:
            rows, target, shares = self.rows[block], self.target[block], self.weights[block]
            of_block = np.zeros_like(matrix)
            for part in slices(rows, READ_ONCE):
                z = rows[part] @ matrix.T
                total += float((self.loss.value(z, target[part]) * shares[part]).sum())
                of_block += (self.loss.derivative(z, target[part]).T * shares[part]) @ rows[part]
            gradient += of_block
        return total, gradient

    @abstractmethod
    def curvatures(self, weights: np.ndarray) -> np.ndarray:
        """Return the curvatures that `product` and `matrix` use."""

    @abstractmethod
    def product(self, curvatures: np.ndarray, vector: np.ndarray) -> np.ndarray:
        """Return the Hessian of the losses times `vector`."""

    @abstractmethod
    def matrix(self, curvatures: np.ndarray) -> np.ndarray:
        """Return the Hessian of the losses."""

    def at(self, weights: np.ndarray) -> tuple[float, np.ndarray]:
        """Return F and its gradient."""
        value, gradient = self.losses(weights)
        value += self.strength / 2 * float(weights @ weights) + float(self.linear @ weights)
        return value, gradient + self.strength * weights + self.linear

    def newton(self, weights: np.ndarray) -> Newton:
        """Return the function that maps a gradient to its Newton step at `weights`."""
        curvatures = self.curvatures(weights)
        if len(weights) > TUNED.largest_matrix:
            return partial(_conjugate, lambda v: self.repeats * self.product(curvatures, v) + self.strength * v)
        matrix = self.repeats * self.matrix(curvatures)
        matrix[np.diag_indices(len(matrix))] += self.strength
        return partial(scipy.linalg.cho_solve, (np.linalg.cholesky(matrix), True))

    def blocks(self) -> Iterator[slice]:
        """Yield slices that cover the rows."""
        for start in range(0, len(self.rows), _SUMMED_ROWS):
            yield slice(start, start + _SUMMED_ROWS)


class Binary(Regularised[Loss]):
    """A problem with one prediction per row: w is (d,)."""

    def curvatures(self, weights: np.ndarray) -> np.ndarray:
        """Return uφ″, shape (n,)."""
        return self.loss.curvature(self.rows @ weights, self.target) * self.weights

    def product(self, curvatures: np.ndarray, vector: np.ndarray) -> np.ndarray:
        """Return Σuφ″·⟨x, v⟩x."""
        return (curvatures * (self.rows @ vector)) @ self.rows

    def matrix(self, curvatures: np.ndarray) -> np.ndarray:
        """Return Σuφ″·xxᵀ."""
        hessian = np.zeros((self.rows.shape[1],) * 2)
        held, roots = np.empty(self.rows[:_SUMMED_ROWS].shape), np.sqrt(curvatures)[:, None]  # fresh memory is slow
        for part in self.blocks():
            weighed = np.multiply(self.rows[part], roots[part], out=held[: len(roots[part])])
            hessian += weighed.T @ weighed
        return hessian


class Multiclass(Regularised[Softmax]):
    """A problem with softmax loss: w is (K, d), flattened."""

    def shaped(self, weights: np.ndarray) -> np.ndarray:
        """Return w as (K, d)."""
        return weights.reshape(self.loss.n_classes, -1)

    def curvatures(self, weights: np.ndarray) -> np.ndarray:
        """Return the probabilities p, shape (n, K)."""
        return self.loss.probabilities(self.rows @ self.shaped(weights).T)

    def product(self, curvatures: np.ndarray, vector: np.ndarray) -> np.ndarray:
        """Return Σu(diag p − ppᵀ)Vx·xᵀ."""
        total = np.zeros((self.loss.n_classes, self.rows.shape[1]))
        for part in self.blocks():
            weighed = curvatures[part] * (self.rows[part] @ vector.reshape(total.shape).T)
            weighed -= curvatures[part] * weighed.sum(axis=1, keepdims=True)
            total += (weighed.T * self.weights[part]) @ self.rows[part]
        return total.ravel()

    def matrix(self, curvatures: np.ndarray) -> np.ndarray:
        """Return Σu(diag p − ppᵀ) ⊗ xxᵀ."""
        n_classes, n_columns = self.loss.n_classes, self.rows.shape[1]
        hessian = np.zeros((n_classes, n_columns, n_classes, n_columns))
        for part in self.blocks():
            for k in range(n_classes):
                for j in range(k + 1):
                    weights = self.weights[part] * curvatures[part, k] * ((k == j) - curvatures[part, j])
                    hessian[k, :, j] += (self.rows[part].T * weights) @ self.rows[part]
        for k in range(n_classes):
            for j in range(k):
                hessian[j, :, k] = hessian[k, :, j]
        return hessian.reshape((n_classes * n_columns,) * 2)


def minimise(problem: Regularised[Any], distance: float) -> np.ndarray:
    """Return a point at most `distance` from F's minimum.

    Theorem. F is λ-strongly convex, so ‖∇F(w)‖ ≤ λ·`distance` at the returned point is a certificate. Newton steps,
    each halved until F satisfies Armijo's condition, are taken until the certificate holds, and at least `USUAL_STEPS`
    for any data. If there are many rows, a subset makes a step's matrix, which serves for many steps, each of which
    corrects it (`Secants`). It is recomputed when a step leaves more than a quarter of the gradient, from all rows when
    it was new and left half, and at every step if that is cheap. If `NEWTON_STEPS` do not suffice, steps of 1/(nβ + λ)
    along the gradient each approach by a fixed factor. Half of the bound is reserved for the rounding of the gradient.
    docs/theory/objective_perturbation.md
    """
    weights, enough = np.zeros_like(problem.linear), problem.strength * distance / 2
    value, gradient = problem.at(weights)
    model, size = problem.thinned(), float(np.linalg.norm(gradient))
    secants = Secants(model.newton(weights), problem.strength)
    for count in range(NEWTON_STEPS):
        if count >= USUAL_STEPS and size <= enough:
            break
        before, here = weights, (value, gradient)
        weights, value, gradient = _step(problem, before, here, secants(gradient))
        secants.learn(weights - before, gradient - here[1])
        left, size = np.linalg.norm(gradient) / max(size, 1e-300), float(np.linalg.norm(gradient))
        if size > enough and (left > 0.25 or (model is problem and len(weights) <= TUNED.cheap_coordinates)):
            model = problem if secants.is_new and left > 0.5 else model
            secants = Secants(model.newton(weights), problem.strength)
    return _descended(problem, weights, (gradient, enough))


class Secants:
    """The inverse of a matrix, corrected by limited-memory BFGS.

    Every change y of the gradient along a step s has ⟨s, y⟩ ≥ λ‖s‖²; pairs that rounding moves below half of this are
    not learned, so the map stays positive definite and yields descent directions (Nocedal 1980).
    """

    def __init__(self, solve: Newton, strength: float) -> None:
        self._solve, self._strength = solve, strength
        # 20: of steps and changes of the gradient that correct a matrix
        self._pairs: deque[tuple[np.ndarray, np.ndarray, float]] = deque(maxlen=20)

    @property
    def is_new(self) -> bool:
        """True if at most one step has been learned."""
        return len(self._pairs) <= 1

    def learn(self, step: np.ndarray, change: np.ndarray) -> None:
        """Learn a step and the gradient's change along it."""
        bent = float(step @ change)
        if bent > self._strength / 2 * float(step @ step):
            self._pairs.append((step, change, bent))

    def __call__(self, gradient: np.ndarray) -> np.ndarray:
        """Return the inverse times a gradient."""
        right, shares = gradient, []
        for step, change, bent in reversed(self._pairs):
            shares.append(float(step @ right) / bent)
            right = right - shares[-1] * change
        direction = self._solve(right)
        for (step, change, bent), share in zip(self._pairs, reversed(shares), strict=True):
            direction = direction + (share - float(change @ direction) / bent) * step
        return direction


def _descended(problem: Regularised[Any], weights: np.ndarray, here: tuple[np.ndarray, float]) -> np.ndarray:
    """Run gradient descent until ‖gradient‖ ≤ the tolerance, which the start may already satisfy."""
    gradient, enough = here
    length = 1 / (len(problem.rows) * problem.loss.smoothness + problem.strength)
    while np.linalg.norm(gradient) > enough:
        weights = weights - length * gradient
        gradient = problem.at(weights)[1]
    return weights


def _step(
    problem: Regularised[Any], weights: np.ndarray, here: tuple[float, np.ndarray], direction: np.ndarray
) -> tuple[np.ndarray, float, np.ndarray]:
    value, gradient = here
    slope = float(gradient @ direction)
    length, slack = 1.0, 2.0**-44 * (abs(value) + 1)
    for _ in range(40):  # halvings at most
        trial = weights - length * direction
        there = problem.at(trial)
        if there[0] <= value - length * slope / 1e4 + slack:
            break
        length /= 2
    return trial, *there


def _conjugate(product: Callable[[np.ndarray], np.ndarray], right: np.ndarray) -> np.ndarray:
    """Return an approximate solution of a positive definite system: always a descent direction."""
    from scipy.sparse.linalg import LinearOperator, cg

    operator = LinearOperator((len(right), len(right)), matvec=product, dtype=float)
    return cg(operator, right, maxiter=200, atol=0.0)[0]  # conjugate steps at most
