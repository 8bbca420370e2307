"""Accurate means of powers of a density ratio."""

import math

import numpy as np

from gaugedp.accountant.loss import Array

_SERIES_UP_TO = 0.25  # up to here e^u − 1 − u is computed by its series
_FACTORIALS = [1 / math.factorial(k) for k in range(13, 1, -1)]


def log_means(orders: Array, log_ratio: Array, log_weights: Array) -> Array:
    """Return the log of the mean of r^{1 + order} under Q.

    With e = 1 + order it sums r^e − 1 − e·(r − 1) ≥ 0, of mean M − 1 (that of r is 1); for huge M it sums r^e.
    """
    logs = log_weights + (1 + orders) * log_ratio
    largest, near = logs.max(axis=1), np.abs(log_ratio) < 1
    with np.errstate(over="ignore", invalid="ignore"):  # of an M that is huge
        changes = _near_one(orders, log_ratio[near], log_weights[near])
        changes = np.log1p(changes + _far_from_one(orders, log_ratio[~near], log_weights[~near]))
    if float(largest.max()) < 600:
        return changes
    return np.where(largest < 600, changes, largest + np.log(np.exp(logs - largest[:, None]).sum(axis=1)))


def _near_one(orders: Array, log_ratio: Array, log_weights: Array) -> Array:
    """Return Σ w·(g(c·l) − c·g(l) + (e^l − 1)·(e^cl − 1)), l = log r, c the order and g(u) = e^u − 1 − u."""
    weights, powers = np.exp(log_weights), np.vstack([np.ones(1), orders]) * log_ratio
    grown = _grown(powers, log_weights)
    curved = np.where(np.abs(powers) < _SERIES_UP_TO, weights * _curve(powers), grown - weights * powers).sum(axis=1)
    return np.asarray(curved[1:] - orders[:, 0] * curved[0] + grown[1:] @ np.expm1(log_ratio))


def _far_from_one(orders: Array, log_ratio: Array, log_weights: Array) -> Array:
    """Return Σ w·(r·(r^c − 1) + c·(1 − r)), with r in the weight to avoid overflow."""
    raised = log_weights + log_ratio
    rest = orders[:, 0] * float((np.exp(log_weights) - np.exp(raised)).sum())
    return np.asarray(_grown(orders * log_ratio, raised).sum(axis=1) + rest)


def _grown(powers: Array, log_weights: Array) -> Array:
    """Return w·(e^u − 1) at the `powers` u, without overflow."""
    near = np.exp(log_weights) * np.expm1(np.minimum(powers, 30.0))
    if float(powers.max(initial=0.0)) < 30:
        return np.asarray(near)
    return np.where(powers < 30, near, np.exp(log_weights + powers) - np.exp(log_weights))


def _curve(u: Array) -> Array:
    """Return e^u − 1 − u by its series."""
    u = np.clip(u, -_SERIES_UP_TO, _SERIES_UP_TO)
    total = np.full_like(u, _FACTORIALS[0])
    for term in _FACTORIALS[1:]:
        total *= u
        total += term
    return total * u * u
