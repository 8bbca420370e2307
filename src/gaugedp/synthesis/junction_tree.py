"""Junction trees of variables, with sums by message passing."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations

import numpy as np

Scope = tuple[int, ...]  # numbers of variables, increasing
_LOG_OF_ZERO = -1e6  # the logarithm of a negligible weight: finite, so that differences are numbers


@dataclass(frozen=True)
class Edge:
    """A clique, its parent, and their common variables."""

    child: int
    parent: int
    separator: Scope


@dataclass(frozen=True)
class JunctionTree:
    """A junction tree of cliques, the first being the root; those of a variable are connected."""

    sizes: tuple[int, ...]
    cliques: tuple[Scope, ...]
    edges: tuple[Edge, ...]  # from the root on: a clique stands after its parent
    impossible: Mapping[Scope, np.ndarray] = field(default_factory=dict)  # structural zeros of scopes

    @classmethod
    def of(
        cls, sizes: Sequence[int], scopes: Iterable[Scope], impossible: Mapping[Scope, np.ndarray] | None = None
    ) -> "JunctionTree":
        """Return a tree with a clique for each scope. Variables are eliminated in the order of the smallest table."""
        impossible = impossible or {}
        cliques = _cliques(sizes, [*scopes, *impossible])
        edges, inside = list[Edge](), [0]
        while len(inside) < len(cliques):
            pairs = ((child, parent) for child in range(len(cliques)) if child not in inside for parent in inside)
            child, parent = max(pairs, key=lambda pair: len(_shared(cliques, *pair)))
            edges.append(Edge(child, parent, _shared(cliques, child, parent)))
            inside.append(child)
        return cls(tuple(sizes), cliques, tuple(edges), impossible)

    @cached_property
    def n_cells(self) -> int:
        """The number of cells of all cliques."""
        return sum(math.prod(self.sizes[name] for name in clique) for clique in self.cliques)

    def home(self, scope: Scope) -> int:
        """Return the number of a clique that contains the variables."""
        return next(place for place, clique in enumerate(self.cliques) if set(scope) <= set(clique))

    def tables(self, potentials: Sequence[np.ndarray]) -> tuple[list[np.ndarray], float]:
        """Return the normalised clique tables, and the log normaliser.

        The distribution is ∝ exp(sum of potentials), finite and of the cliques' shapes, and 0 at structural zeros.
        """
        beliefs, ups = self._possible(potentials), dict[int, np.ndarray]()
        for edge in reversed(self.edges):
            clique = self.cliques[edge.child]
            ups[edge.child] = _log_summed(beliefs[edge.child], clique, edge.separator)
            beliefs[edge.parent] += spread(ups[edge.child], edge.separator, self.cliques[edge.parent])
        largest = beliefs[0].max()
        root = np.exp(beliefs[0] - largest)
        log_sum = float(largest + np.log(root.sum()))
        tables = [root / root.sum(), *([np.empty(0)] * len(self.edges))]
        for edge in self.edges:
            clique = self.cliques[edge.child]
            with np.errstate(divide="ignore"):  # a cell that has vanished stays 0
                down = np.log(summed(tables[edge.parent], self.cliques[edge.parent], edge.separator))
            beliefs[edge.child] += spread(down - ups[edge.child], edge.separator, clique)
            tables[edge.child] = np.exp(beliefs[edge.child])
        return tables, log_sum

    @cached_property
    def has_rows(self) -> bool:
        """True if any row is possible."""
        _, log_sum = self.tables([np.zeros([self.sizes[name] for name in clique]) for clique in self.cliques])
        return log_sum > _LOG_OF_ZERO / 2

    def _possible(self, potentials: Sequence[np.ndarray]) -> list[np.ndarray]:
        beliefs = [potential.copy() for potential in potentials]
        for scope, cells in self.impossible.items():
            home = self.home(scope)
            beliefs[home] = np.where(spread(cells, scope, self.cliques[home]), _LOG_OF_ZERO, beliefs[home])
        return beliefs

    def law(self, tables: Sequence[np.ndarray], scope: Scope) -> np.ndarray:
        """Return the marginal of a scope from the clique tables.

        The scope need not be in a clique. The root is the clique with most of it; cliques that add nothing are skipped.
        """
        root = max(range(len(self.cliques)), key=lambda place: len(set(scope) & set(self.cliques[place])))
        cliques = self._seen_from(root, (), tables, frozenset(scope))
        assert cliques is not None
        return cliques[1]

    def _seen_from(
        self, place: int, before: Scope, tables: Sequence[np.ndarray], wanted: frozenset[int], above: int = -1
    ) -> tuple[Scope, np.ndarray] | None:
        """Return P(wanted variables beyond | those shared with `above`), or None."""
        clique = self.cliques[place]
        terms, there = [(clique, _given(tables[place], clique, before))], set(clique)
        for other, separator in self._near[place]:
            part = None if other == above else self._seen_from(other, separator, tables, wanted, place)
            if part is not None:
                terms.append(part)
                there.update(part[0])
        scope_kept = tuple(sorted((wanted & there) | set(before)))
        if above >= 0 and scope_kept == before:
            return None
        operands = [operand for names, table in terms for operand in (table, list(names))]
        return scope_kept, np.asarray(np.einsum(*operands, list(scope_kept), optimize="greedy"))

    @cached_property
    def _near(self) -> tuple[tuple[tuple[int, Scope], ...], ...]:
        pairs = [(edge.child, edge.parent, edge.separator) for edge in self.edges]
        both = [*pairs, *((parent, child, separator) for child, parent, separator in pairs)]
        return tuple(tuple(pair[1:] for pair in both if pair[0] == place) for place in range(len(self.cliques)))


def spread(table: np.ndarray, scope: Scope, clique: Scope) -> np.ndarray:
    """Reshape a table to broadcast over a larger clique."""
    sizes = dict(zip(scope, table.shape, strict=True))
    return table.reshape([sizes.get(name, 1) for name in clique])


def summed(table: np.ndarray, clique: Scope, scope: Scope) -> np.ndarray:
    """Sum a table over the variables outside the scope."""
    return np.asarray(table.sum(axis=tuple(axis for axis, name in enumerate(clique) if name not in scope)))


def _given(table: np.ndarray, clique: Scope, before: Scope) -> np.ndarray:
    if not before:
        return table
    sums = spread(summed(table, clique, before), before, clique)
    return np.divide(table, sums, out=np.zeros_like(table), where=sums > 0)


def _log_summed(table: np.ndarray, clique: Scope, scope: Scope) -> np.ndarray:
    axes = tuple(axis for axis, name in enumerate(clique) if name not in scope)
    largest = table.max(axis=axes, keepdims=True)
    return np.asarray(np.log(np.exp(table - largest).sum(axis=axes)) + largest.squeeze(axes))


def _shared(cliques: Sequence[Scope], first: int, second: int) -> Scope:
    return tuple(name for name in cliques[first] if name in cliques[second])


def _cliques(sizes: Sequence[int], scopes: Iterable[Scope]) -> tuple[Scope, ...]:
    near: dict[int, set[int]] = {name: {name} for name in range(len(sizes))}
    for scope in scopes:
        for first, second in combinations(scope, 2):
            near[first].add(second)
            near[second].add(first)
    cliques = list[set[int]]()
    while near:
        taken = min(near, key=lambda name: math.prod(sizes[other] for other in near[name]))
        clique = near.pop(taken)
        for other in clique - {taken}:
            near[other] = (near[other] | clique) - {taken}
        if not any(clique <= other for other in cliques):
            cliques.append(clique)
    return tuple(tuple(sorted(clique)) for clique in cliques)
