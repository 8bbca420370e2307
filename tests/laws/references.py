"""Slow minimisers that estimators are compared with where scikit-learn has no counterpart."""

from typing import Any

import numpy as np
import scipy


def with_constant(rows: np.ndarray) -> np.ndarray:
    """Return rows (n, d + 1) with a constant last."""
    return np.column_stack([rows, np.ones(len(rows))])


def huber(rows: np.ndarray, target: np.ndarray, width: float) -> np.ndarray:
    """Return predictions by the loss of Huber of a given width, without a penalty."""
    full = with_constant(rows)

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        gaps = full @ weights - target
        slopes = np.clip(gaps, -width, width)
        return float((slopes * (gaps - slopes / 2)).sum()), full.T @ slopes

    start = np.linalg.lstsq(full, target, rcond=None)[0]
    return full @ scipy.optimize.minimize(loss, start, jac=True, method="BFGS", options={"gtol": 1e-9}).x


def constrained(rows: np.ndarray, target: np.ndarray, radius: float, intercept: bool = True) -> np.ndarray:
    """Return predictions by least squares over coefficients whose absolute values add up to at most `radius`."""
    full = with_constant(rows) if intercept else rows
    k, n = full.shape[1], len(full)

    def loss(parts: np.ndarray) -> tuple[float, np.ndarray]:
        gaps = full @ (parts[:k] - parts[k:]) - target
        slopes = full.T @ gaps / n
        return float((gaps**2).mean() / 2), np.append(slopes, -slopes)

    ball = {"type": "ineq", "fun": lambda parts: radius - parts.sum(), "jac": lambda _: -np.ones(2 * k)}
    found = scipy.optimize.minimize(
        loss, np.zeros(2 * k), jac=True, bounds=[(0, None)] * (2 * k), constraints=ball, method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    ).x  # fmt: skip
    return full @ (found[:k] - found[k:])


def hinge(model: Any, data: Any) -> np.ndarray:
    """Return the mean hinge loss of a classifier with two classes."""
    return np.array([np.maximum(0, 1 - _signs(data) * model.decision_function(data.rows)).mean()])


def least_hinge(data: Any) -> np.ndarray:
    """Return the least mean hinge loss of a linear classifier, by linear programming."""
    full, n = with_constant(data.rows), len(data.rows)
    cost = np.append(np.zeros(full.shape[1]), np.full(n, 1 / n))
    above = np.hstack([-_signs(data)[:, None] * full, -np.eye(n)])
    free = [(None, None)] * full.shape[1] + [(0, None)] * n
    return np.array([scipy.optimize.linprog(cost, above, -np.ones(n), bounds=free).fun])


def top_part(square: np.ndarray, rank: int) -> np.ndarray:
    """Return a symmetric matrix cut to its leading eigenvectors."""
    values, vectors = np.linalg.eigh(square)
    return (vectors[:, -rank:] * values[-rank:]) @ vectors[:, -rank:].T


def _signs(data: Any) -> np.ndarray:
    return 2.0 * np.asarray(data.target) - 1
