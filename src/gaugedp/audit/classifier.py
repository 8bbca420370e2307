"""Scores that are learned from outputs whose side is known."""

import numpy as np

_RIDGE = 1.0
_STEPS = 25
_LARGEST = 50.0  # after standardising


def separated(values: np.ndarray, is_a: np.ndarray) -> np.ndarray:
    """Return the columns in the order of how far apart the two sides' means are, in deviations; the farthest first."""
    centred = _standard(values, values)
    gap = centred[is_a].mean(axis=0) - centred[~is_a].mean(axis=0)
    return np.argsort(-np.abs(gap), kind="stable")


def likelihood_ratios(labels: np.ndarray, is_a: np.ndarray, learn: np.ndarray) -> np.ndarray:
    """Return log((n_a + 1/2)/(n_b + 1/2)) of each run's label, counted on the runs `learn`; 0 for unseen labels."""
    size = int(labels.max()) + 1
    of_a = np.bincount(labels[learn & is_a], minlength=size)
    of_b = np.bincount(labels[learn & ~is_a], minlength=size)
    return np.asarray(np.log((of_a + 0.5) / (of_b + 0.5))[labels])


def logistic(values: np.ndarray, is_a: np.ndarray, learn: np.ndarray) -> np.ndarray:
    """Return the linear score of a ridge logistic regression of the side, learned on the runs `learn`."""
    rows = _standard(values, values[learn])
    training, labels = rows[learn], is_a[learn].astype(float)
    weights, bias = np.zeros(rows.shape[1]), 0.0
    for _ in range(_STEPS):
        step = _newton(training, labels, weights, bias)
        weights, bias = weights + step[:-1], bias + step[-1]
        if np.abs(step).max() < 1e-6:
            break
    return rows @ weights


def _newton(rows: np.ndarray, labels: np.ndarray, weights: np.ndarray, bias: float) -> np.ndarray:
    """Return a Newton step, cut in length, for the weights and the bias."""
    share = 1 / (1 + np.exp(-np.clip(rows @ weights + bias, -30, 30)))
    curvature = share * (1 - share) + 1e-9
    design = np.hstack([rows, np.ones((len(rows), 1))])
    slope = design.T @ (labels - share) - _RIDGE * np.append(weights, 0.0)
    step: np.ndarray = np.linalg.solve((design.T * curvature) @ design + _RIDGE * np.eye(design.shape[1]), slope)
    return step * min(1.0, 5 / max(float(np.abs(step).max()), 1e-300))


def _standard(values: np.ndarray, like: np.ndarray) -> np.ndarray:
    """Return columns less the medians and over the deviations of `like`, huge numbers cut; 0 where nothing varies."""
    middle = np.median(like, axis=0)
    with np.errstate(over="ignore", invalid="ignore"):
        centred = np.nan_to_num(values - middle)
        spread = np.quantile(np.abs(np.nan_to_num(like - middle)), 0.8, axis=0)
        spread = np.where(spread > 0, spread, np.abs(np.nan_to_num(like - middle)).max(axis=0))
        cut: np.ndarray = np.nan_to_num(centred / np.where(spread > 0, spread, 1)).clip(-_LARGEST, _LARGEST)
    return cut
