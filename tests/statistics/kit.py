"""Tests on draws, each with its p-value: small where the draws do not follow the law that is claimed."""

import numpy as np
import scipy

from gaugedp.samplers.laws import Law


def probabilities(law: Law, width: int) -> np.ndarray:
    """P(N = k), k = −width … width, from the law's coverage."""
    inside = law.coverage(np.arange(width + 1))
    upper = np.diff(inside) / 2
    return np.concatenate([upper[::-1], inside[:1], upper])


def fit(draws: np.ndarray, law: Law) -> float:
    """Chi-square: the counts of the values against their probabilities, in bins that expect 50 draws or more."""
    width = int(12 * law.variance**0.5) + 12
    expected = probabilities(law, width) * len(draws)
    edges = np.searchsorted(np.cumsum(expected), np.arange(50, len(draws) - 49, max(50, len(draws) / 60)))
    edges = np.unique(np.concatenate([[0], edges + 1]))
    counts = np.bincount(np.clip(draws + width, 0, 2 * width), minlength=2 * width + 1)
    expected[-1] += len(draws) - expected.sum()
    observed, wanted = np.add.reduceat(counts, edges), np.add.reduceat(expected, edges)
    return float(scipy.special.chdtrc(len(edges) - 1, ((observed - wanted) ** 2 / wanted).sum()))


def two_sided(z: float) -> float:
    return float(2 * scipy.special.ndtr(-abs(z)))


def size(draws: np.ndarray, law: Law) -> float:
    """The mean of |N| against E|N|, by the central limit theorem."""
    width = int(40 * law.variance**0.5) + 40
    mean = (1 - law.coverage(np.arange(width))).sum()
    return two_sided((np.abs(draws).mean() - mean) / np.sqrt((law.variance - mean**2) / len(draws)))


def sign(draws: np.ndarray) -> float:
    """As many positive as negative draws."""
    positive, negative = (draws > 0).sum(), (draws < 0).sum()
    return two_sided((float(positive) - float(negative)) / np.sqrt(positive + negative))


def correlation(one: np.ndarray, other: np.ndarray) -> float:
    """No correlation, by the central limit theorem."""
    return two_sided(np.corrcoef(one, other)[0, 1] * np.sqrt(len(one)))


def independence(draws: np.ndarray) -> float:
    """The least p-value, times their number, of correlations between coordinates, sizes, and successive draws."""
    columns = list(draws.T.astype(float))
    pairs = [(one, other) for place, one in enumerate(columns) for other in columns[:place]]
    pairs += [(np.abs(one), np.abs(other)) for one, other in pairs]
    series = draws.ravel().astype(float)
    for lag in (1, 2, 7, draws.shape[1]):
        pairs += [(series[lag:], series[:-lag]), (np.abs(series[lag:]), np.abs(series[:-lag]))]
    return min(1.0, len(pairs) * min(correlation(one, other) for one, other in pairs))


def guesses(outputs_a: np.ndarray, outputs_b: np.ndarray, threshold: float) -> int:
    """How often "b when the output is at least the threshold, a when it is below" is right."""
    return int((outputs_b >= threshold).sum() + (outputs_a < threshold).sum())


def breaks_promise(right: int, n_runs: int, epsilon: float) -> float:
    """P(at least `right` of `n_runs` guesses are right) where the release is ε-DP: each is right at e^ε/(1 + e^ε)."""
    share = 1 / (1 + np.exp(-epsilon))
    return float(scipy.special.bdtrc(right - 1, n_runs, share))
