"""One row for each statistic that a query can ask for: its terms, and what it is of rows, by its definition.

The contract (test_contract.py) holds every kind in `gaugedp.statistics.KINDS` that has a row here, and fails for one
that has none.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

import gaugedp as gd
from gaugedp.statistics import KINDS, Statistic
from gaugedp.statistics.base import all_answers
from tests.queries.stub import StubTable

DOMAIN = gd.Domain.of(
    a=["u", "w", "x"], b=["p", "q"], v=gd.bounded(-2, 8, step=0.5), above=gd.bounded(2, 12, step=0.5)
)  # above is v + 4
SHAPE = {"a": 3, "b": 2}
Row = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """A kind, its terms, and `define`: of a column, the statistic of the values of each cell; of cells, of counts.

    A column's is of no values in a cell without rows. Counts are a table (cells of the first attribute, groups), and an
    answer that is not defined is NaN. `exact` is how far an answer may be off where there is no noise.
    """

    terms: tuple[str, ...]
    define: Callable[[np.ndarray], Any]
    exact: float = 1e-9

    @property
    def column(self) -> str:
        """The column that the terms are about; empty for cells."""
        return next((name for name in DOMAIN.columns if f"({name})" in self.terms[0]), "")


def counted(compare: Callable[[np.ndarray, np.ndarray], np.ndarray], before: bool = False) -> Callable[..., np.ndarray]:
    """Return the comparison of all cells but the first with the first, or with the one before."""
    return lambda table: compare(table[1:], table[:-1] if before else np.broadcast_to(table[:1], table[1:].shape))


def over(own: np.ndarray, other: np.ndarray) -> np.ndarray:
    return np.divide(own, other, out=np.full(own.shape, np.nan), where=other > 0)


def _shares(table: np.ndarray) -> np.ndarray:
    return np.nan_to_num(over(table, table.sum(axis=0) + 0 * table), nan=1 / len(table))


CASES = {
    "count": Case(("a", "a*b", "count"), lambda table: table),
    "sum": Case(("sum(v)", "sum(v) by b"), lambda values: values.sum() if len(values) else 0.0),
    "mean": Case(("mean(v)", "mean(v) by a"), lambda values: values.mean() if len(values) else 3.0),
    "standard deviation": Case(("sd(v)", "sd(v) by a"), lambda values: values.std() if len(values) else 2.5, 1e-6),
    "coefficient of variation": Case(
        ("cv(above)", "cv(above) by a"), lambda values: values.std() / values.mean() if len(values) else 2.5 / 7, 1e-6
    ),
    "share": Case(("share(a)", "share(a) by b"), _shares),
    "difference": Case(("difference(a)", "difference(a) by b"), counted(np.subtract)),
    "ratio": Case(("ratio(a)", "ratio(a) by b"), counted(over)),
    "index": Case(("index(a)", "index(a) by b"), counted(lambda own, other: 100 * over(own, other))),
    "change": Case(("change(a)", "change(a) by b"), counted(lambda own, other: 100 * over(own, other) - 100, True)),
}  # fmt: skip
OF_OTHERS = {
    "matrix": "tests/queries/test_arithmetic.py",
    **dict.fromkeys(("quantile", "quantile without interval"), "tests/queries/test_quantiles.py"),
    **dict.fromkeys(
        (kind for kind in KINDS if kind.endswith(("gini", "lorenz", " of means", " releases"))), "tests/deriving"
    ),
    **dict.fromkeys(("independence", "equal shares", "equal means"), "tests/statistics/test_p_values.py"),
    "equal means by bounds": "tests/statistics/test_p_values.py",
    **dict.fromkeys(("squared weights", "second moments"), "tests/release/test_sampling_error.py"),
    **dict.fromkeys((kind for kind in KINDS if kind.startswith("weighted ")), "tests/release/test_sampling_designs.py"),
}  # which a query of counts and sums does not ask for, and where they are tested
TERMS = [term for case in CASES.values() for term in case.terms]
CURVED = [term for kind, case in CASES.items() if KINDS[kind].pivot for term in case.terms]


def case_of(term: str) -> Case:
    """Return the case of a term."""
    return next(case for case in CASES.values() if term in case.terms)


def statistic_of(term: str) -> Statistic:
    """Return the statistic of a term."""
    (statistic,) = gd.query(DOMAIN, term).estimates
    return statistic


def made(rng: np.random.Generator, n_rows: int) -> list[Row]:
    """Return made-up rows; some have no value."""
    cells = {name: rng.integers(size, size=n_rows).tolist() for name, size in SHAPE.items()}
    values = [None if rng.random() < 0.2 else int(k) * DOMAIN.column("v").step for k in rng.integers(-4, 17, n_rows)]
    above = [None if value is None else value + 4 for value in values]
    return [
        dict(zip(("v", "above", *SHAPE), row, strict=True)) for row in zip(values, above, *cells.values(), strict=True)
    ]


def table_of(rows: list[Row]) -> gd.Table:
    """Return a table of the rows."""
    texts = {name: [DOMAIN.attribute(name).labels[row[name]] for row in rows] for name in SHAPE}
    values = {name: [np.nan if row[name] is None else float(row[name]) for row in rows] for name in DOMAIN.columns}
    return gd.Table.scan(pd.DataFrame({**texts, **values}), domain=DOMAIN)


def released(term: str, rows: list[Row]) -> np.ndarray:
    """Return what a release of the rows would have without noise, in its units."""
    query = gd.query(DOMAIN, term)
    return query.evaluate(StubTable(DOMAIN, rows), bytes(16)).astype(float) * query.steps.sizes


def answered(term: str, numbers: np.ndarray) -> np.ndarray:
    """Return the answers to a term of released numbers."""
    return all_answers(gd.query(DOMAIN, term).estimates, numbers)


def truth(term: str, rows: list[Row]) -> np.ndarray:
    """Return the answers by the definition; NaN where there is none."""
    case, names = case_of(term), gd.query(DOMAIN, term).attributes
    shape = tuple(SHAPE[name] for name in names)
    groups: dict[tuple[int, ...], list[Any]] = {place: [] for place in np.ndindex(shape)}
    for row in rows:
        groups[tuple(row[name] for name in names)].append(row[case.column or "v"])
    if not case.column:
        counts = np.array([len(values) for values in groups.values()], dtype=float)
        return np.ravel(case.define(counts.reshape(shape[0] if shape else 1, -1)))
    values = [np.array([float(value) for value in cell if value is not None]) for cell in groups.values()]
    return np.array([case.define(cell) for cell in values])
