"""Norms and quantiles of rounded normal and Laplace maps."""

import math
from collections.abc import Callable

import numpy as np
import scipy

_SUMMED_STD = 4.0  # deviations, in steps, up to which sums over the lattice are taken
_LEAST_VARIANCE = 1e-14  # that is stated: no sum of rounded terms may state none
_SUMMED_TERMS = 24  # of an alternating series without weights, and as many with the weights of Euler's transformation


def expected_root(values: np.ndarray, counts: np.ndarray) -> float:
    """Return E√S for S = Σ values·χ²(counts), to 1e−4."""
    is_large = values > 1e-14 * values.max(initial=0.0)
    values, counts = values[is_large], counts[is_large]
    if not len(values):
        return 0.0
    return mean_root(float(values @ counts), lambda t: -0.5 * (np.log1p(2 * np.multiply.outer(t, values)) @ counts))


def mean_root(mean: float, log_moment: Callable[[np.ndarray], np.ndarray]) -> float:
    """Return E√S = (2√π)⁻¹·∫ (1 − E e^(−tS))·t^(−3/2) dt, S ≥ 0, on a log grid."""
    log_t = np.linspace(-30, 40, 1401) - math.log(mean)
    t = np.exp(log_t)
    integrand = -np.expm1(log_moment(t)) / np.sqrt(t)  # (1 − E e^(−tS))·t^(−3/2), times dt/dlog t
    core = float((integrand[1:] + integrand[:-1]) @ np.diff(log_t)) / 2
    below, above = 2 * mean * math.sqrt(t[0]), 2 / math.sqrt(t[-1])
    return (core + below + above) / (2 * math.sqrt(math.pi))


def rounded_variances(stds: np.ndarray) -> np.ndarray:
    """Return E N² = Σ (2k + 1)·P(|N| > k) for rounded normal variables, or std² + 1/12 beyond 4."""
    wide = stds**2 + 1 / 12
    narrow = stds < _SUMMED_STD
    if narrow.any():
        wide[narrow] = _beyond(stds[narrow]) @ (2 * np.arange(_terms()) + 1)
    return wide


def rounded_laplace_variances(sizes: np.ndarray, counts: np.ndarray | float = 1.0) -> np.ndarray:
    """Return E N² for N = round(Σ_j a_j·η_j), the η_j independent with density e^(−|t|)/2.

    `sizes` (n, k) are the |a_j| in steps, and `counts`, of a shape that fits, how many variables have each of them. By
    Fourier series of the rounding error, with φ(t) = Π_j 1/(1 + a_j²t²) at t = 2πm, E N² = 2·Σ a_j² + 1/12 + Σ_{m≥1}
    (−1)^m·(φ(t)/(πm)² − 2φ′(t)/(πm)). Euler's binomial weights sum this alternating series to some
    1e−15. Variances below 1e−14 are raised to it, and beyond a deviation of 2 the series is left out.
    """
    squares = sizes**2
    total = 2 * (counts * squares).sum(axis=1) + 1 / 12
    narrow = total < 4  # squared steps, from where on the series is below a thousandth of the rest
    squares, counts = squares[narrow], np.broadcast_to(counts, sizes.shape)[narrow]
    euler = scipy.special.bdtrc(np.arange(2 * _SUMMED_TERMS) - _SUMMED_TERMS, _SUMMED_TERMS, 0.5)
    for m in range(1, 2 * _SUMMED_TERMS):
        x = (2 * math.pi * m) ** 2 * squares
        phi = np.exp(-(counts * np.log1p(x)).sum(axis=1))
        decrease = (counts * x / (1 + x)).sum(axis=1) / (math.pi * m)  # −φ′/φ
        term = phi * (1 / (math.pi * m) ** 2 + 2 * decrease / (math.pi * m))
        total[narrow] += (-1) ** m * euler[m] * term
    return np.where(sizes.any(axis=1), total.clip(_LEAST_VARIANCE), 0.0)


def rounded_means(stds: np.ndarray) -> np.ndarray:
    """Return E|N| = Σ P(|N| > k) for rounded normal variables, by the midpoint rule beyond 4."""
    wide = math.sqrt(2 / math.pi) * (stds - 1 / (24 * np.maximum(stds, _SUMMED_STD)))
    narrow = stds < _SUMMED_STD
    if narrow.any():
        wide[narrow] = _beyond(stds[narrow]).sum(axis=1)
    return wide


def _terms() -> int:
    return int(12 * _SUMMED_STD)


def _beyond(stds: np.ndarray) -> np.ndarray:
    """Return P(|N| > k) for k = 0, 1, …"""
    with np.errstate(divide="ignore"):
        places = (np.arange(_terms()) + 0.5) / (math.sqrt(2) * stds[:, None])
    return scipy.special.erfc(places)


def rounded_quantiles(stds: np.ndarray, level: float) -> np.ndarray:
    """Return the least integer w with P(|N| ≤ w) ≥ level, N a rounded normal variable."""
    reach = math.sqrt(2) * float(scipy.special.erfinv(level)) * (1 + 1e-12)
    return np.maximum(np.ceil(reach * stds - 0.5), 0.0)


def laplace_reach(squares: np.ndarray, largest: np.ndarray, level: float) -> np.ndarray:
    """Return w with P(|Σ_j a_j·η_j| > w) ≤ 1 − level.

    The η_j are independent of density e^(−|t|)/2, `squares` are q = Σ a_j², `largest` at least m = max |a_j|. It is the
    least of three bounds in units of the deviation √(2q) of S = Σ_j a_j·η_j. S is a mixture of centred normal
    distributions, hence unimodal: (r/(r + 1))^r·E S^r/σ^r/t^r for r = 2 and 4 (Gauss and Winckler), where E S⁴ = 3·σ⁴ +
    12·Σ a_j⁴ ≤ (3 + 3·m²/q)·σ⁴. Chernoff: log E e^(sS) = −Σ log(1 − s²a_j²) ≤ −(q/m²)·log(1 − s²m²) for s < 1/m,
    because −log(1 − x)/x increases in x.
    """
    miss = 1 - level
    count = np.divide(squares, largest**2, out=np.ones_like(squares), where=largest > 0).clip(1)  # as m² ≤ q
    # 200: counts for which Chernoff's bound is computed
    grid = np.geomspace(1, count.max(), num=200)  # the next smaller count errs on the safe side
    chernoff = _chernoff(grid, miss)[np.searchsorted(grid[1:], count)]
    by_squares, by_fourths = math.sqrt(4 / (9 * miss)), (0.4096 * (3 + 3 / count) / miss) ** 0.25
    return np.minimum.reduce([chernoff, by_fourths, np.full_like(count, by_squares)]) * np.sqrt(2 * squares)


def _chernoff(count: np.ndarray, miss: float) -> np.ndarray:
    """Return t with 2·min_s e^(−s·t·√(2·count))/(1 − s²)^count = miss, by bisection from above."""
    low, high = np.zeros_like(count), np.full_like(count, 4 - 4 * math.log(miss))
    for _ in range(50):
        middle = (low + high) / 2
        x = middle * np.sqrt(2 * count)
        s = x / (count + np.hypot(count, x))
        more = math.log(2) - s * x - count * np.log1p(-s * s) > math.log(miss)
        low, high = np.where(more, middle, low), np.where(more, high, middle)
    return high


def safe_rank(size: int, level: float) -> int | None:
    """Return the order statistic three standard errors above, or None."""
    rank = math.ceil(size * level + 3 * math.sqrt(size * level * (1 - level)))
    return rank if rank < size else None
