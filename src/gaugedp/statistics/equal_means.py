"""Tests of equal means, from released sums, squares and counts.

docs/theory/p_values.md
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gaugedp._internal.trial_stream import TrialStream
from gaugedp.statistics.base import CENTRED, COUNTED, SQUARED, Wording
from gaugedp.statistics.p_value import PValue


@dataclass(frozen=True)
class EqualMeans(PValue, kind="equal means"):
    """P-values of tests of equal means.

    Each test compares the mean of a part with that of the first part. The released numbers are sums of distances d from
    the middle of the bounds, sums of 2d² − half_range², and counts, each a table (parts, groups).
    """

    parts: int
    half_range: float
    moments: ClassVar[tuple[str, ...]] = (CENTRED, SQUARED, COUNTED)
    first_cell: ClassVar[int] = 1
    wording = Wording("p-value of the same mean of {} in it and in {}", from_zero=True)

    @property
    def n_released(self) -> int:
        """The number of sums, squares and counts."""
        return self.n_answers // (self.parts - 1) * self.parts * len(self.moments)

    def without_squares(self) -> "EqualMeansByBounds":
        """Return the test that takes the largest possible variance."""
        return EqualMeansByBounds(self.n_answers, self.parts, self.half_range)

    def cases(self, values: np.ndarray) -> np.ndarray:
        """Return sum, square and count of both parts, (2, 3), in units of half the range.

        Without squares they are as if all values were at the bounds.
        """
        numbers = values.reshape(*values.shape[:-1], len(self.moments), self.parts, -1)
        sums, counts = numbers[..., 0, :, :] / self.half_range, numbers[..., -1, :, :]
        squares = numbers[..., 1, :, :] / self.half_range**2 if SQUARED in self.moments else counts
        cells = np.stack([sums, squares, counts], axis=-1)
        own, first = np.broadcast_arrays(cells[..., 1:, :, :], cells[..., :1, :, :])
        return np.stack([own, first], axis=-2).reshape(*values.shape[:-1], self.n_answers, 2, 3)

    def null(self, cases: np.ndarray, noises: np.ndarray, spare: float, rng: TrialStream) -> np.ndarray:
        """Return sums of rows with one mean, normal; with `spare` there are more rows of larger variance."""
        deviations = noises.std(axis=0)
        mean, variances = _moments(cases)
        counts = np.maximum(cases[..., 2] + spare * deviations[..., 2], 0.0)
        more = spare * deviations[..., 1] / (2 * np.maximum(cases[..., 2], 1.0))
        variances = np.minimum(variances + more, 1 - mean**2)
        squares = counts * (2 * (variances + mean**2) - 1)
        normal = rng.standard_normal((len(noises), *counts.shape))
        sums = np.clip(counts * mean + np.sqrt(counts * variances) * normal, -counts, counts)
        return np.stack(np.broadcast_arrays(sums, squares, counts), axis=-1)

    def distance(self, cases: np.ndarray, variances: np.ndarray) -> np.ndarray:
        """Return the square of the difference, weighted by counts, over its variance."""
        mean, of_rows = _moments(cases)
        counts = np.maximum(cases[..., 2], 0.0)
        total = counts.sum(axis=-1, keepdims=True)
        other = np.divide(counts[..., ::-1], total, out=np.full_like(counts, 0.5), where=total > 0)
        of_noise = variances[..., 0] + mean**2 * variances[..., 2]
        scale = (other**2 * (counts * of_rows + of_noise)).sum(axis=-1)
        gaps = other * (cases[..., 0] - mean * cases[..., 2])
        squares = (gaps[..., 0] - gaps[..., 1]) ** 2
        return np.divide(squares, scale, out=np.zeros_like(scale), where=scale > 0)


@dataclass(frozen=True)
class EqualMeansByBounds(EqualMeans, kind="equal means by bounds"):
    """P-values of tests of equal means, with the largest possible variance."""

    moments = (CENTRED, COUNTED)
    wording = Wording("p-value of the same mean of {} in it and in {}, at the largest variance", from_zero=True)


def _moments(cases: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the common mean (…, 1), and the variance in each part (…, 2)."""
    counts = np.maximum(cases[..., 2], 0.0)
    total = counts.sum(axis=-1, keepdims=True)
    sums = cases[..., 0].sum(axis=-1, keepdims=True)
    mean = np.clip(np.divide(sums, total, out=np.zeros_like(sums), where=total > 0), -1, 1)
    share = np.divide(cases[..., 1], counts, out=np.ones_like(counts), where=counts > 0)
    return mean, np.clip((share + 1) / 2 - mean**2, 0.0, 1 - mean**2)
