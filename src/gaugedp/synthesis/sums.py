"""Sums of one table onto many scopes, each from the smallest table at hand, and the adjoint."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gaugedp.synthesis.junction_tree import Scope, spread, summed


@dataclass(frozen=True)
class SumTree:
    """Scopes below `scope`, each reached by leaving out one variable at a time; sums are shared on the way."""

    scope: Scope
    below: tuple["SumTree", ...]

    @classmethod
    def of(cls, scope: Scope, wanted: Sequence[Scope]) -> "SumTree":
        """Return the tree that reaches the wanted scopes: the variable that most of them lack is left out first."""
        below, left = list[SumTree](), [other for other in wanted if other != scope]
        while left:
            out = max(scope, key=lambda name: sum(name not in other for other in left))
            without = [other for other in left if out not in other]
            below.append(cls.of(tuple(name for name in scope if name != out), without))
            left = [other for other in left if out in other]
        return cls(scope, tuple(below))

    def sums(self, table: np.ndarray) -> Iterator[tuple[Scope, np.ndarray]]:
        """Yield each scope of the tree with the sums of the table onto it."""
        yield self.scope, table
        for part in self.below:
            yield from part.sums(summed(table, self.scope, part.scope))

    def spread(self, tables: Mapping[Scope, np.ndarray], sizes: Sequence[int]) -> np.ndarray:
        """Return a table over `scope`: the sum of tables over scopes of the tree, each the same along other axes.

        Each scope is in the tree once.
        """
        over = np.zeros([sizes[name] for name in self.scope])
        if self.scope in tables:
            over += tables[self.scope]
        for part in self.below:
            over += spread(part.spread(tables, sizes), part.scope, self.scope)
        return over
