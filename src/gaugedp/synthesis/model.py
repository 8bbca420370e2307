"""A law of rows that is fitted again whenever a table of counts is added."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gaugedp.synthesis.counts import CountTable
from gaugedp.synthesis.junction_tree import JunctionTree, Scope
from gaugedp.synthesis.most_entropy import refitted, total
from gaugedp.synthesis.released import Variables

_STEPS = 30  # of a fit: it starts where the last one ended, and the rows are fitted to the end


@dataclass(frozen=True, eq=False)
class Model:
    """The law on `tree` near the `tables` of counts: `laws` are those of the cliques, for `n` rows."""

    variables: Variables
    tables: tuple[CountTable, ...]
    multipliers: Sequence[np.ndarray]
    tree: JunctionTree
    laws: Sequence[np.ndarray]
    n: float

    @classmethod
    def of(cls, variables: Variables, tables: Sequence[CountTable], starts: Sequence[np.ndarray] = ()) -> "Model":
        """Return the law after a few steps from the multipliers of the first tables, and from 0 of the others."""
        tree = variables.tree(table.scope for table in tables)
        n = max(total(tables), 1.0)
        others = [np.zeros(table.values.shape) for table in tables[len(starts) :]]
        laws, multipliers = refitted(tree, tables, n, [*starts, *others], _STEPS)
        return cls(variables, tuple(tables), multipliers, tree, laws, n)

    def added(self, table: CountTable) -> "Model":
        """Return the model with one more table."""
        return Model.of(self.variables, [*self.tables, table], self.multipliers)

    def counts(self, names: Sequence[str]) -> np.ndarray:
        """Return the expected counts in the cells of attributes, with an axis for each."""
        return self.n * self.variables.counts(names, self.tree.law(self.laws, self.variables.scope(names)))

    def n_cells_with(self, names: Sequence[str]) -> int:
        """Return the cells of all cliques where those attributes have a table too; 0 where a clique holds them."""
        scope = self.variables.scope(names)
        if any(set(scope) <= set(clique) for clique in self.tree.cliques):
            return 0
        return self.variables.tree([*self._scopes, scope]).n_cells

    @cached_property
    def _scopes(self) -> list[Scope]:
        return [table.scope for table in self.tables]
