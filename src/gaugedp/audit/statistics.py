"""Scores that may distinguish two answers."""

import math
from typing import Any

import numpy as np

from gaugedp.audit.outputs import Outputs, numbers_of

Scores = dict[str, np.ndarray]

_SHARES = (0.5, 1.0, 2.0, 4.0)  # of the spectral norm of b − a


def scores(outputs: Outputs, is_a: np.ndarray, learn: np.ndarray, answers: tuple[Any, Any]) -> Scores:
    """Return each score (n,) by name, learned on the runs `learn` (n,)."""
    values = outputs.finite
    order = separated(values[learn], is_a[learn])
    by_name = {f"coordinate {place}": values[:, place] for place in order[:24]}
    by_name |= _against(values, outputs.shape, answers)
    by_name |= _floating(values[:, order[:24]])
    by_name |= _learned(values, is_a, learn, order)
    for name, labels in {"equal outputs": outputs.keys, "kind of output": outputs.kinds, **outputs.texts}.items():
        by_name[f"likelihood ratio of {name}"] = likelihood_ratios(labels, is_a, learn)
    return {name: score for name, score in by_name.items() if np.ptp(score) > 0}


def _learned(values: np.ndarray, is_a: np.ndarray, learn: np.ndarray, order: np.ndarray) -> Scores:
    # 14: coordinates whose squares and products are learned from
    few, many = values[:, order[:14]], values[:, order[:400]]  # coordinates that a linear score is learned from
    return {
        "logistic regression on coordinates": logistic(many, is_a, learn),
        "logistic regression on coordinates, squares and products": logistic(_crossed(few, learn), is_a, learn),
    }


def _crossed(values: np.ndarray, learn: np.ndarray) -> np.ndarray:
    centred = values - np.median(values[learn], axis=0)
    scale = np.quantile(np.abs(centred[learn]), 0.7, axis=0)
    plain = np.clip(centred / np.where(scale > 0, scale, 1), -6, 6)
    first, second = np.triu_indices(values.shape[1])
    return np.hstack([plain, plain[:, first] * plain[:, second], np.abs(plain)])


# -- formulas ----------------------------------------------------------------------------------------


def _against(values: np.ndarray, shape: tuple[int, ...] | None, answers: tuple[Any, Any]) -> Scores:
    first, second = (numbers_of(answer) for answer in answers)
    if shape is None or first is None or second is None:
        return {}
    low, high = first.astype(float), second.astype(float)
    if low.ndim == 2 and low.shape == (values.shape[1],) * 2:
        return _quadratic(values, low, high)
    if low.size != values.shape[1]:
        return {}
    near_a, near_b = values - low.ravel(), values - high.ravel()
    by_name = {"projection on b − a": values @ (high - low).ravel()}
    for norm in (1.0, 2.0, math.inf):
        of_a, of_b = (np.linalg.norm(rows, norm, axis=1) for rows in (near_a, near_b))
        by_name[f"ℓ_{norm:g} norm of y − a less that of y − b"] = of_a - of_b
    return by_name


def _quadratic(values: np.ndarray, low: np.ndarray, high: np.ndarray) -> Scores:
    """Return yᵀ(b − a)y, and log ratios of the distances of yᵀay and yᵀby from the top, for eigenvectors y."""
    of_a, of_b = (np.einsum("ni,ij,nj->n", values, matrix, values) for matrix in (low, high))
    by_name = {"quadratic form of b − a": of_b - of_a}
    unit = float(np.linalg.norm(high - low, 2))
    tops = [float(np.linalg.norm(matrix, 2)) * (values**2).sum(axis=1) for matrix in (low, high)]
    for share in _SHARES if unit > 0 else ():
        below_a, below_b = (np.abs(top - form) + share * unit for top, form in zip(tops, (of_a, of_b), strict=True))
        by_name[f"log ratio of distances below the top, plus {share:g}"] = np.log(below_a / below_b)
    return by_name


def _floating(values: np.ndarray) -> Scores:
    """Return scores of low-order bits: floats x + noise lie on a grid that depends on x (Mironov 2012)."""
    if np.array_equal(values, np.rint(values)):
        return {}
    off_grid = near_and_off_grid(values)
    lowest, trailing = _last_bits(values)
    by_name = {"numbers below 1/4 and off the grid of 2^-53": off_grid.sum(axis=1).astype(float)}
    for place in range(min(4, values.shape[1])):
        by_name[f"lowest set bit of number {place}"] = lowest[:, place]
        by_name[f"trailing zero bits of number {place}"] = trailing[:, place]
    return by_name


def near_and_off_grid(values: np.ndarray, step: float = 1 / 2.0**53) -> np.ndarray:
    """Return True for |x| < 1/4 that is no multiple of `step`, a power of two."""
    return np.asarray((np.abs(values) < 0.25) & (values / step != np.rint(values / step)))


def _last_bits(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return exponents of the lowest set bit, and trailing zeros; 1100 at 0."""
    fraction, exponent = np.frexp(values)
    mantissa = (fraction * 2.0**53).astype(np.int64)
    zeros = np.log2(np.maximum((mantissa & -mantissa).astype(float), 1))
    at_zero = values == 0
    return np.where(at_zero, 1100, exponent - 53 + zeros), np.where(at_zero, 1100, zeros)


def separated(values: np.ndarray, is_a: np.ndarray) -> np.ndarray:
    """Sort columns by distance of both means in deviations, descending."""
    centred = _standard(values, values)
    gap = centred[is_a].mean(axis=0) - centred[~is_a].mean(axis=0)
    return np.argsort(-np.abs(gap), kind="stable")


def likelihood_ratios(labels: np.ndarray, is_a: np.ndarray, learn: np.ndarray) -> np.ndarray:
    """Return log((n_a + 1/2)/(n_b + 1/2)) of each run's label, counted on the runs `learn`."""
    size = int(labels.max()) + 1
    of_a = np.bincount(labels[learn & is_a], minlength=size)
    of_b = np.bincount(labels[learn & ~is_a], minlength=size)
    return np.asarray(np.log((of_a + 0.5) / (of_b + 0.5))[labels])


def logistic(values: np.ndarray, is_a: np.ndarray, learn: np.ndarray) -> np.ndarray:
    """Return the linear score of a ridge logistic regression."""
    rows = _standard(values, values[learn])
    training, labels = rows[learn], is_a[learn].astype(float)
    weights, bias = np.zeros(rows.shape[1]), 0.0
    for _ in range(25):
        step = _newton(training, labels, weights, bias)
        weights, bias = weights + step[:-1], bias + step[-1]
        if np.abs(step).max() < 1e-6:
            break
    return rows @ weights


def _newton(rows: np.ndarray, labels: np.ndarray, weights: np.ndarray, bias: float) -> np.ndarray:
    share = 1 / (1 + np.exp(-np.clip(rows @ weights + bias, -30, 30)))
    curvature = share * (1 - share) + 1e-9
    design = np.hstack([rows, np.ones((len(rows), 1))])
    slope = design.T @ (labels - share) - 1.0 * np.append(weights, 0.0)
    step: np.ndarray = np.linalg.solve((design.T * curvature) @ design + 1.0 * np.eye(design.shape[1]), slope)
    return step * min(1.0, 5 / max(float(np.abs(step).max()), 1e-300))


def _standard(values: np.ndarray, like: np.ndarray, *, largest: float = 50.0) -> np.ndarray:  # after standardising
    middle = np.median(like, axis=0)
    with np.errstate(over="ignore", invalid="ignore"):
        centred = np.nan_to_num(values - middle)
        spread = np.quantile(np.abs(np.nan_to_num(like - middle)), 0.8, axis=0)
        spread = np.where(spread > 0, spread, np.abs(np.nan_to_num(like - middle)).max(axis=0))
        cut: np.ndarray = np.nan_to_num(centred / np.where(spread > 0, spread, 1)).clip(-largest, largest)
    return cut
