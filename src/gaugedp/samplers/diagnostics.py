"""Diagnostics of random walks, which cannot prove convergence."""

import math

import numpy as np

from gaugedp.errors import InvalidRequest


def autocorrelation_time(series: np.ndarray) -> float:
    """Estimate the autocorrelation time of a stationary series.

    It is τ = 1 + 2·Σ_{t≥1} ρ_t, ρ the autocorrelation, for shape (n,) or (c, n), whose rows are independent series of
    one distribution. The sums ρ_{2t} + ρ_{2t+1} are added up to the first that is not positive, and made to decrease:
    Geyer's initial monotone sequence (1992, section 3.3), right for reversible walks. Infinity for a constant series. A
    series much shorter than τ underestimates it.
    """
    rows = np.atleast_2d(np.asarray(series, dtype=float))
    if rows.ndim != 2 or rows.size < 2 or not np.isfinite(rows).all():
        raise InvalidRequest(
            f"The series has shape {np.shape(series)}, or contains NaN or infinity.",
            "Pass finite numbers of shape (n,) for one chain, or (c, n) for c chains.",
        )
    if not np.ptp(rows) > 0:
        return math.inf
    scaled = rows - rows.mean()
    scaled /= np.abs(scaled).max()
    correlations = _autocovariances(scaled) / float((scaled**2).mean())
    pairs = correlations[: len(correlations) // 2 * 2].reshape(-1, 2).sum(axis=1)
    stop = int(np.argmax(pairs <= 0)) if (pairs <= 0).any() else len(pairs)
    return max(float(2 * np.minimum.accumulate(pairs[:stop]).sum() - 1), 1 / rows.size)


def _autocovariances(rows: np.ndarray) -> np.ndarray:
    """Return Σ_t x_t·x_{t+k}/n for all k, averaged over rows."""
    length = rows.shape[1]
    spectrum = np.fft.rfft(rows, 2 * length, axis=1)
    power = (spectrum * spectrum.conj()).real.mean(axis=0)
    return np.fft.irfft(power, 2 * length)[:length] / length


def slowest_time(sums: np.ndarray) -> float:
    """Return the largest autocorrelation time of |c|² and (c·u)², c the `sums` (n, groups, r)."""
    flat = sums.reshape(-1, sums.shape[2])
    vectors = np.linalg.eigh(flat.T @ flat)[1]
    ends = flat @ vectors[:, [0, len(vectors) // 2, -1]]
    watched = np.hstack([ends**2, (flat**2).sum(axis=1, keepdims=True)]).reshape(*sums.shape[:2], 4)
    times = [float(autocorrelation_time(watched[:, :, place].T)) for place in range(4)]
    return max((time for time in times if math.isfinite(time)), default=1.0)  # a constant needs no time
