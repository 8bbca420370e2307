"""Goodness-of-fit tests of draws, as p-values.

Each is small if the draws do not follow the claimed distribution. All are two-sided: noise that is too wide alarms like
noise that is too narrow. "CLT" marks p-values that hold by the central limit theorem; the others are exact or bounds.
"""

import math
from collections.abc import Callable, Iterable
from itertools import combinations

import numpy as np
import scipy

from gaugedp.samplers.laws import Law, SymmetricLaw

Found = dict[str, float]  # p-values by the names of tests

_DRAWS_PER_BIN = 50  # draws expected
_MOST_PLACES = 2**11  # on one side of 0, at which a distribution is evaluated: bins are far wider
_LEAST_COUNT = 50.0  # of counts: below, tails that far out are not those of chi-square
_LAGS = (1, 2, 7)


def union_bound(p_values: Iterable[float]) -> float:
    """Combine p-values by the union bound."""
    values = list(p_values)
    return min(1.0, len(values) * min(values)) if values else 1.0


def two_sided(z: float) -> float:
    """Return P(|N(0, 1)| ≥ |z|); 1 for NaN."""
    return 1.0 if math.isnan(z) else float(2 * scipy.special.ndtr(-abs(z)))


def some(n: int, limit: int = 24) -> np.ndarray:  # columns at most
    """Return at most `limit` evenly spread places among n."""
    return np.unique(np.linspace(0, n - 1, min(n, limit)).astype(int))


# -- one distribution --------------------------------------------------------------------------------


def probabilities(law: SymmetricLaw, width: int, stride: int = 1) -> np.ndarray:
    """Return P(⌈|N|/stride⌉·sign N = k), k = −⌊width/stride⌋ …, from the coverage of N."""
    inside = law.coverage(np.arange(width // stride + 1) * stride)
    upper = np.diff(inside) / 2
    return np.concatenate([upper[::-1], inside[:1], upper])


def _grid(law: SymmetricLaw) -> tuple[int, int]:
    width = int(12 * law.variance**0.5) + 12
    stride = max(1, width // _MOST_PLACES)
    return width - width % stride, stride


def fit(draws: np.ndarray, law: SymmetricLaw) -> float:
    """Return the chi-square p-value (CLT) of values (n,)."""
    reach, stride = _grid(law)
    expected, width = probabilities(law, reach, stride) * len(draws), reach // stride
    draws = np.sign(draws) * -(-np.abs(draws) // stride)
    per_bin = max(_DRAWS_PER_BIN, len(draws) / 60)
    edges = np.searchsorted(np.cumsum(expected), np.arange(_DRAWS_PER_BIN, len(draws) - _DRAWS_PER_BIN + 1, per_bin))
    edges = np.unique(np.concatenate([[0], edges + 1]))
    edges = edges[edges <= 2 * width]
    counts = np.bincount(np.clip(draws + width, 0, 2 * width).astype(int), minlength=2 * width + 1)
    expected[-1] += len(draws) - expected.sum()
    return chi_square(np.add.reduceat(counts, edges), np.add.reduceat(expected, edges))


def chi_square(observed: np.ndarray, expected: np.ndarray) -> float:
    """Return Pearson's p-value (CLT), with a binomial one for small bins."""
    counts, due = _joined(observed, expected)
    n, few = round(float(due.sum())), due < _LEAST_COUNT
    alone = [_binomial(int(counts[few].sum()), n, float(due[few].sum() / due.sum()))] if few.any() else []
    counts, due = counts[~few], due[~few]
    if len(due) < 2:
        return union_bound(alone)
    due = due * (counts.sum() / due.sum())
    return union_bound([*alone, float(scipy.special.chdtrc(len(due) - 1, ((counts - due) ** 2 / due).sum()))])


def _binomial(count: int, n: int, share: float) -> float:
    """Return the exact two-sided p-value for Binomial(n, share)."""
    share = min(1.0, max(0.0, share))
    below = float(scipy.special.bdtr(count, n, share)) if count < n else 1.0
    above = float(scipy.special.bdtrc(count - 1, n, share)) if count else 1.0
    return min(1.0, 2 * min(below, above))


def _joined(observed: np.ndarray, expected: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    order = np.argsort(expected, kind="stable")
    due, counts = expected[order].astype(float), observed[order].astype(float)
    head = int((due < _LEAST_COUNT).sum())
    if not head:
        return counts, due
    return np.append(counts[:head].sum(), counts[head:]), np.append(due[:head].sum(), due[head:])


def size(draws: np.ndarray, law: SymmetricLaw) -> float:
    """Return the p-value (CLT) of the mean of |N| against E|N|."""
    mean = law.mean_size
    spread = math.sqrt(max(law.variance - mean**2, 1e-30) / len(draws))
    gap = float(np.abs(draws).mean()) - mean
    if law.variance * len(draws) > _DRAWS_PER_BIN:
        return two_sided(gap / spread)
    n_nonzero = int(np.count_nonzero(draws))
    share = 1 - float(law.coverage(np.array(0)))
    return min(1.0, 2 * float(scipy.special.bdtrc(n_nonzero - 1, len(draws), share))) if n_nonzero else 1.0


def sign(draws: np.ndarray) -> float:
    """Return the p-value (CLT) of as many positive as negative draws."""
    positive, negative = float((draws > 0).sum()), float((draws < 0).sum())
    return two_sided((positive - negative) / math.sqrt(positive + negative)) if positive + negative else 1.0


def mean_squares(rows: np.ndarray, variances: np.ndarray) -> float:
    """Return the p-value (CLT) of the columns' mean squares."""
    squares = rows.astype(float) ** 2
    errors = squares.std(axis=0) / math.sqrt(len(rows))
    gaps = squares.mean(axis=0) - variances
    unmoved = (errors == 0) & (np.abs(gaps) * len(rows) < 20)  # constant, and expected to be so
    deviations = gaps[~unmoved] / np.maximum(errors[~unmoved], 1e-300)
    return union_bound(map(two_sided, deviations))


def follows(values: np.ndarray, cdf: Callable[[np.ndarray], np.ndarray]) -> float:
    """Bound Kolmogorov's p-value of a continuous distribution: twice Smirnov's one-sided one."""
    shares, n = np.sort(cdf(values)), len(values)
    steps = np.arange(n + 1) / n
    distance = max(float((steps[1:] - shares).max()), float((shares - steps[:-1]).max()))
    return min(1.0, 2 * float(scipy.special.smirnov(n, min(1.0, distance))))


# -- two samples -------------------------------------------------------------------------------------


def same_law(first: np.ndarray, second: np.ndarray) -> float:
    """Bound the two-sample Kolmogorov p-value by 4·exp(−n·D²).

    The sizes are n; Wei and Dudley 2012 (theorem 1) have e in place of 4.
    """
    both = np.sort(np.concatenate([first, second]))
    ends = [np.searchsorted(np.sort(part), both, side="right") / len(part) for part in (first, second)]
    distance = float(np.abs(ends[0] - ends[1]).max())
    return min(1.0, 4 * math.exp(-2 * len(first) * len(second) / (len(first) + len(second)) * distance**2))


def same_mean(first: np.ndarray, second: np.ndarray) -> float:
    """Return the p-value (CLT) of equal means."""
    error = math.sqrt(float(first.var()) / len(first) + float(second.var()) / len(second))
    return two_sided((float(first.mean()) - float(second.mean())) / max(error, 1e-300))


# -- independence ------------------------------------------------------------------------------------


def correlation(first: np.ndarray, second: np.ndarray, odd: tuple[np.ndarray, np.ndarray] | None = None) -> float:
    """Return the p-value (CLT) of no correlation.

    It is 1 if one series never varies. If both rarely leave their most frequent value, the number of joint departures
    is not normal: the p-value is then a bound for that count. `first` may be the same series as `second`, some places
    later. `odd` marks the departures, if the most frequent value is not the median.
    """
    if np.ptp(first) == 0 or np.ptp(second) == 0:
        return 1.0
    rare = (first != np.median(first), second != np.median(second)) if odd is None else odd
    counts = [float(values.sum()) for values in rare]
    # 500.0: coincidences of rare values, below which they are counted and not correlated
    if max(counts) < len(first) / 2 and counts[0] * counts[1] / len(first) < 500.0:
        return _coincidences(*rare)
    if min(counts) < _DRAWS_PER_BIN < len(first) / 2:
        return 1.0
    return two_sided(float(np.corrcoef(first, second)[0, 1]) * math.sqrt(len(first)))


def _coincidences(first: np.ndarray, second: np.ndarray) -> float:
    """Bound the p-value of the joint count.

    Both single counts are given. For independent columns the joint one is hypergeometric, and P(X ≥ c) ≤ e^{−m}(em/c)^c
    for c above its mean m (Hoeffding 1963, theorems 1 and 4). Pairs of a series with itself overlap: they form two
    classes of disjoint pairs, one of which has half of the count; twice the bound for half of m and c holds for both.
    """
    mean, count = float(first.sum()) * float(second.sum()) / len(first) / 2, float((first & second).sum()) / 2
    if count <= mean:
        return 1.0
    return min(1.0, 2 * math.exp(count - mean - count * math.log(count / mean)))


def independence(draws: np.ndarray) -> float:
    """Return a p-value of uncorrelated coordinates, sizes and neighbours."""
    columns = draws[:, some(draws.shape[1])].astype(float)
    return union_bound(_independence(f(columns), f(draws.astype(float))) for f in (np.asarray, np.abs))


def _independence(columns: np.ndarray, rows: np.ndarray) -> float:
    centred = rows - rows.mean(axis=0)
    series = (centred / np.maximum(centred.std(axis=0), 1e-300)).ravel()
    odd = (rows != np.median(rows, axis=0)).ravel()
    lags = sorted({*_LAGS, rows.shape[1]})
    later = [correlation(series[lag:], series[:-lag], (odd[lag:], odd[:-lag])) for lag in lags]
    return union_bound([correlation(*pair) for pair in combinations(columns.T, 2)] + later)


def succession(draws: np.ndarray) -> float:
    """Return a p-value of uncorrelated successive draws and sizes."""
    columns = draws[:, some(draws.shape[1], 8)].T.astype(float)
    pairs = [(column[lag:], column[:-lag]) for column in columns for lag in _LAGS]
    return union_bound(correlation(f(later), f(earlier)) for later, earlier in pairs for f in (np.asarray, np.abs))


def repeats(draws: np.ndarray, chance: float) -> float:
    """Bound the p-value of the number of equal draws.

    Draws are rows, and `chance` bounds the probability that two independent ones are equal. Among n/2 disjoint pairs,
    adjacent or half the sample apart, the number of equal ones is binomial; among all pairs, Markov's inequality
    applies. A generator with one byte of seed repeats itself once in 256.
    """
    half = len(draws) // 2
    p_values = []
    for first, second in ((draws[: 2 * half : 2], draws[1 : 2 * half : 2]), (draws[:half], draws[half : 2 * half])):
        equal = int((first == second).all(axis=1).sum())
        p_values.append(float(scipy.special.bdtrc(equal - 1, half, chance)) if equal else 1.0)
    counts = np.unique(draws, axis=0, return_counts=True)[1].astype(float)
    pairs = float((counts * (counts - 1)).sum()) / 2
    p_values.append(chance * len(draws) * (len(draws) - 1) / 2 / pairs if pairs else 1.0)
    return union_bound(p_values)


def chance_of_equals(law: Law) -> float:
    """Bound P(N = N′) for two independent draws.

    It is exact at stride 1. In a block of `stride` places no probability is above the mean of the block before it.
    """
    reach, stride = _grid(law)
    masses = probabilities(law, reach, stride)
    middle = len(masses) // 2
    upper = masses[middle + 1 :]
    highest = np.concatenate([masses[middle : middle + 1], upper[:-1] / stride])
    exact = (masses**2).sum() if stride == 1 else masses[middle] ** 2 + 2 * (upper * highest).sum()
    return min(1.0, float(exact) * (1 + 1e-9))
