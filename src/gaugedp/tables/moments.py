"""Integer sums of clipped columns and of their products.

One statement, or batches of rows, compute them. Column j of a row is x = ⌊2^bits · (2k − span)/span + 1/2⌋, where k = 0
… span is its clipped value in steps above the lower bound; so the bounds are −2^bits and 2^bits. A missing value is 0,
the middle. Division, product and sum of 64-bit floats are rounded alike by every engine, so x is the same number
everywhere, and |x| ≤ 2^bits.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from sqlglot import exp

from gaugedp.domain.domain import Domain
from gaugedp.errors import InvalidRequest
from gaugedp.tables.bounding import over
from gaugedp.tables.engine import Sql


@dataclass(frozen=True)
class Moments:
    """Row count, Σ x (d,) and perhaps Σ x xᵀ (d, d), int64."""

    n_rows: int
    first: np.ndarray
    second: np.ndarray | None


@dataclass(frozen=True)
class Scaled:
    """Scaling to integers within ±2^bits, perhaps with products."""

    spans: tuple[int, ...]
    bits: int
    products: bool

    @classmethod
    def of(cls, domain: Domain, columns: Sequence[str], bits: int, products: bool) -> "Scaled":
        """Return the scaling, with at most 22 or 12 bits."""
        limit = 12 if products else 22  # sums over 2^40 rows, and of products over 2^38, fit 64 bits
        if not (isinstance(bits, int) and 1 <= bits <= limit):
            raise InvalidRequest(f"`bits` is {bits!r}, which is not supported.", f"Pass an integer from 1 to {limit}.")
        facts = [domain.column(name) for name in columns]
        return cls(tuple(fact.high_steps - fact.low_steps for fact in facts), bits, products)

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Summed products, without repetition."""
        d = len(self.spans) if self.products else 0
        return [(i, j) for i in range(d) for j in range(i, d)]

    def statement(self, listed: Sql) -> Sql:
        """Return the statement: one row `n`, `x<j>`, `p<i>_<j>`."""
        scaled = [self._scaled(j, span).as_(f"x{j}") for j, span in enumerate(self.spans)]
        sums: dict[str, Sql] = {f"x{j}": exp.column(f"x{j}") for j in range(len(self.spans))}
        sums |= {f"p{i}_{j}": exp.column(f"x{i}") * exp.column(f"x{j}") for i, j in self.pairs}
        totals = [_total(name, value) for name, value in sums.items()]
        return over(over(listed, *scaled, name="listed"), exp.Count(this=exp.Star()).as_("n"), *totals)

    def read(self, result: Mapping[str, np.ndarray]) -> Moments:
        """Return the moments of the statement's result."""
        names = ("n", *(f"x{j}" for j in range(len(self.spans))), *(f"p{i}_{j}" for i, j in self.pairs))
        return self.unpacked(np.array([int(result[name][0]) for name in names], dtype=np.int64))

    def __call__(self, cells: np.ndarray, steps: np.ndarray) -> np.ndarray:
        """Return a batch's sums as one vector, products above the diagonal."""
        del cells
        spans = np.array(self.spans, dtype=float)
        numbers = np.where(steps < 0, 0.0, np.floor((2 * steps - spans) / spans * 2.0**self.bits + 0.5))
        upper = np.triu_indices(len(self.spans))
        products = (numbers.T @ numbers)[upper] if self.products else np.empty(0)  # below 2^53, so exact
        return np.concatenate([[len(steps)], numbers.sum(axis=0), products]).astype(np.int64)

    def unpacked(self, vector: np.ndarray) -> Moments:
        """Return the moments of such a vector."""
        d = len(self.spans)
        first = vector[1 : d + 1].astype(np.int64)
        if not self.products:
            return Moments(int(vector[0]), first, None)
        second = np.zeros((d, d), dtype=np.int64)
        second[np.triu_indices(d)] = vector[d + 1 :]
        return Moments(int(vector[0]), first, second + np.triu(second, 1).T)

    def _scaled(self, j: int, span: int) -> Sql:
        steps, zero = exp.column(f"s{j}"), exp.convert(0)
        share = exp.cast(steps * 2 - span, "DOUBLE") / _float(span)
        whole = exp.cast(exp.func("FLOOR", share * _float(2**self.bits) + _float(0.5)), "BIGINT")
        return exp.Case().when(steps.copy() < zero, zero.copy()).else_(whole)


def _total(name: str, value: Sql) -> Sql:
    total = exp.func("COALESCE", exp.Sum(this=exp.cast(value, "BIGINT")), exp.convert(0))
    return exp.cast(total, "BIGINT").as_(name)


def _float(number: float) -> Sql:
    return exp.Literal.number(f"{float(number)!r}e0")
