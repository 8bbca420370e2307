"""Points written as sums of columns: upper bounds of many gauges at once, without linear programs."""

import numpy as np

STEPS = 15  # then sums are within some thousandths of the least
_SHRINKAGE = 0.5  # of the smoothing, from step to step
_ROUNDING = 2.0**-40  # of a sum: far more than its additions lose


def sums_above(columns: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Return, for each row of `points` (k, m), a number S ≥ min{Σ|λ_j| : columns·λ = point}; shape (k,).

    `columns` (m, n) have rank m. Each λ comes from reweighted least squares, Σλ²/w least with w = √(λ² + smoothing²) of
    the λ before (Daubechies and others 2010). Any λ gives a bound; what it leaves of the point, by rounding, is paid
    for by the least squares solution: Σ|λ| ≤ √n·‖columns⁺‖·‖what is left‖₂.
    """
    inverse = np.linalg.pinv(columns)
    worst = np.sqrt(columns.shape[1]) * np.linalg.norm(inverse, 2) * (1 + _ROUNDING)
    coefficients = points @ inverse.T
    scale = np.abs(coefficients).mean(axis=1, keepdims=True)
    sums = np.full(len(points), np.inf)
    for step in range(STEPS + 1):
        remainder = np.linalg.norm(points - coefficients @ columns.T, axis=1)
        sums = np.minimum(sums, np.abs(coefficients).sum(axis=1) + worst * remainder)
        weights = np.hypot(coefficients, _SHRINKAGE**step * scale)
        grams = (columns * weights[:, None, :]) @ columns.T
        coefficients = weights * (np.linalg.solve(grams, points[..., None])[..., 0] @ columns)
    return sums * (1 + _ROUNDING)
