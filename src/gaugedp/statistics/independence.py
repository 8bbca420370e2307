"""Chi-square tests of released tables: independence, and equal shares.

docs/theory/p_values.md
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gaugedp._internal.trial_stream import TrialStream
from gaugedp.errors import InvalidRequest
from gaugedp.statistics.base import Wording
from gaugedp.statistics.p_value import PValue


@dataclass(frozen=True)
class Independence(PValue, kind="independence"):
    """P-values of tests of independence in two-way tables, one for each group.

    The distance is Σ (x − E)²/(E + v), where E is the product of the released margins, negative ones raised to 0, and v
    the variance of the noise. Without noise it is Pearson's.
    """

    rows: int
    columns: int
    word = "independence"
    is_of_products = is_of_pairs = True
    skipped_axes: ClassVar[int] = 2
    wording = Wording("p-value of {text}", from_zero=True)

    @classmethod
    def of_table(cls, shape: Sequence[int], names: Sequence[str]) -> "Independence":
        """Return the tests of tables of the first two axes of `shape`."""
        if len(names) != 2 or min(shape[:2]) < 2:
            raise InvalidRequest(
                "A test of independence requires two attributes with at least two cells each.",
                "Write independence(A, B), or independence(A, B) by R.",
            )
        return cls(int(np.prod(shape[2:])), *shape[:2])

    @property
    def n_released(self) -> int:
        """The number of counts."""
        return self.n_answers * self.rows * self.columns

    def cases(self, values: np.ndarray) -> np.ndarray:
        """Return the table of each group."""
        tables = values.reshape(*values.shape[:-1], self.rows, self.columns, self.n_answers)
        return np.moveaxis(tables, -1, -3)

    def null(self, cases: np.ndarray, noises: np.ndarray, spare: float, rng: TrialStream) -> np.ndarray:
        """Return multinomial tables with independent rows and columns.

        With `spare`, small margins are smaller and the total is larger than released.
        """
        totals = cases.sum(axis=(-2, -1)) + spare * noises.sum(axis=(-2, -1)).std(axis=0)
        shares = [_shares(cases.sum(axis=axis), spare * noises.sum(axis=axis).std(axis=0)) for axis in (-1, -2)]
        cells = (shares[0][:, :, None] * shares[1][:, None, :]).reshape(len(cases), -1)
        n_rows = np.rint(np.clip(totals, 0, 2.0**62)).astype(np.int64)
        return rng.multinomial(n_rows, cells, size=noises.shape[:2]).reshape(noises.shape).astype(float)

    def distance(self, cases: np.ndarray, variances: np.ndarray) -> np.ndarray:
        """Return Σ (x − E)²/(E + v)."""
        rows, columns = (np.maximum(cases.sum(axis=axis), 0.0) for axis in (-1, -2))
        total = np.maximum(cases.sum(axis=(-2, -1)), 0.0)[..., None, None]
        weight = rows.sum(axis=-1)[..., None, None] * columns.sum(axis=-1)[..., None, None]
        products = total * rows[..., :, None] * columns[..., None, :]
        expected = np.divide(products, weight, out=np.zeros_like(products), where=weight > 0)
        scales = expected + variances
        squares = np.divide((cases - expected) ** 2, scales, out=np.zeros_like(scales), where=scales > 0)
        return squares.sum(axis=(-2, -1))


@dataclass(frozen=True)
class EqualShares(Independence, kind="equal shares"):
    """P-values of tests of equal shares.

    Each test compares the share of a cell in a part with that in the first part, by the two-by-two table of the cell
    and all others. The counts are a table (parts, groups, cells).
    """

    parts: int
    word = ""
    skipped_axes: ClassVar[int] = 0
    first_cell = 1
    is_of_pairs = False
    wording = Wording("p-value of the same share of {rows} in it and in {}", from_zero=True)

    @classmethod
    def of_parts(cls, n_pairs: int, cells: int, parts: int) -> "EqualShares":
        """Return the tests of each of `cells` in `n_pairs` pairs of parts."""
        if cells == 1:
            raise InvalidRequest("The share of a single cell is always 1.", "Test the shares of at least two cells.")
        return cls(n_pairs * cells, 2, cells, parts)

    @property
    def n_released(self) -> int:
        """The number of counts."""
        return self.n_answers // (self.parts - 1) * self.parts

    def cases(self, values: np.ndarray) -> np.ndarray:
        """Return the two-by-two table of each part, group and cell."""
        counts = values.reshape(*values.shape[:-1], self.parts, -1, self.columns)
        both = np.stack([counts, counts.sum(axis=-1, keepdims=True) - counts], axis=-1)
        own, first = np.broadcast_arrays(both[..., 1:, :, :, :], both[..., :1, :, :, :])
        return np.stack([own, first], axis=-2).reshape(*values.shape[:-1], self.n_answers, 2, 2)


def _shares(margins: np.ndarray, spare: np.ndarray) -> np.ndarray:
    """Return the shares of margins (tables, cells), all but the largest less `spare`."""
    largest = margins == margins.max(axis=1, keepdims=True)
    kept = np.where(largest, np.maximum(margins, 1.0), np.maximum(margins - spare, 0.0))
    return np.asarray(kept / kept.sum(axis=1, keepdims=True))
