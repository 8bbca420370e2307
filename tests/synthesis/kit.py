"""Rows that are counted by numpy: a table for the tests of choices, which says when it is looked at."""

from collections.abc import Callable, Sequence

import numpy as np

import gaugedp as gd
from gaugedp.releases.executing import PaidRows
from gaugedp.tables.aggregate import Aggregate, Rows

DOMAIN = gd.Domain.of(A=["0", "1", "2"], B=["0", "1"], C=["0", "1"], D=["0", "1", "2", "3"])
DELTA = 1e-6


class Counted(Rows):
    """Rows of cells (n, 4) in the order of DOMAIN; `seen` is called at each look."""

    name, domain = "people", DOMAIN

    def __init__(
        self, cells: np.ndarray, unit: gd.PrivacyUnit | None = None, seen: Callable[[], object] = lambda: None
    ) -> None:
        self.cells, self.unit, self._seen = cells, unit or gd.PrivacyUnit(), seen

    def totals(self, totals: Sequence[Aggregate], row_key: bytes) -> list[np.ndarray]:
        del row_key
        self._seen()
        return [self._counts(total.attributes) for total in totals]

    def _counts(self, names: tuple[str, ...]) -> np.ndarray:
        shape = DOMAIN.shape(names)
        places = [list(DOMAIN.attributes).index(name) for name in names]
        cells = np.ravel_multi_index(tuple(self.cells[:, places].T), shape)
        return np.bincount(cells, minlength=int(np.prod(shape)))


def paid(rows: Rows) -> PaidRows:
    """The rows as if a ledger had been charged."""
    return PaidRows(rows, None, {})  # type: ignore[arg-type]


def people(n: int = 3000, seed: int = 1) -> np.ndarray:
    """Cells in which B is nearly A > 0, D leans on B and C, and A and C are independent."""
    random = np.random.default_rng(seed)
    a, c = random.integers(0, 3, n), random.integers(0, 2, n)
    b = np.where(random.random(n) < 0.95, a > 0, a == 0).astype(int)
    d = np.where(random.random(n) < 0.6, 2 * b + c, random.integers(0, 4, n))
    return np.stack([a, b, c, d], axis=1)
