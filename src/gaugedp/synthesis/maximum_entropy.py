"""Maximum-entropy distributions for noisy tables of counts, on junction trees."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gaugedp.synthesis.counts import CountTable
from gaugedp.synthesis.junction_tree import JunctionTree, Scope, spread, summed
from gaugedp.synthesis.tuning import TUNED

_LEAST_VARIANCE = 1e-9


def total(tables: Sequence[CountTable]) -> float:
    """Return the estimated number of rows, weighted by inverse variance."""
    sums = np.array([table.values.sum() for table in tables])
    weights = 1 / np.maximum([table.variances.sum() for table in tables], _LEAST_VARIANCE)
    return float(sums @ weights / weights.sum())


def fitted(tree: JunctionTree, tables: Sequence[CountTable], n: float) -> list[np.ndarray]:
    """Return the normalised table of each clique.

    The distribution p of one row minimises KL(n·p, uniform) + Σ (n·p(cell) − count)²/(2·slack), a slack in proportion
    to the variance of each count: the maximum-entropy distribution among the least-squares fits. It is a product of one
    factor per cell, exp(multiplier); the multipliers maximise the dual, which is smooth and concave, by L-BFGS.
    """
    return refitted(tree, tables, n, [np.zeros(table.values.shape) for table in tables], 200)[0]


def refitted(
    tree: JunctionTree, tables: Sequence[CountTable], n: float, starts: Sequence[np.ndarray], most_steps: int
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return the fit and its multipliers after `most_steps` iterations."""
    from scipy.optimize import minimize

    dual = _Dual(tree, tables, n)
    options = {"maxiter": most_steps, "maxfun": 2 * most_steps, "gtol": 1e-3, "ftol": 0}
    start = np.concatenate([part.ravel() for part in starts]) / dual.scales
    done = minimize(dual.value, start, jac=True, method="L-BFGS-B", options=options)
    multipliers = dual.scales * done.x
    return dual.law(multipliers)[0], dual.parts(multipliers)


@dataclass(frozen=True, eq=False)
class _Dual:
    """The dual in scaled multipliers, of curvature about 1."""

    tree: JunctionTree
    tables: Sequence[CountTable]
    n: float

    @cached_property
    def aims(self) -> np.ndarray:
        return np.concatenate([table.values.ravel() for table in self.tables])

    @cached_property
    def slacks(self) -> np.ndarray:
        variances = np.concatenate([table.variances.ravel() for table in self.tables])
        return np.asarray(TUNED.slack * variances / max(float(np.sqrt(variances).mean()), _LEAST_VARIANCE))

    @cached_property
    def scales(self) -> np.ndarray:
        return np.asarray(1 / np.sqrt(np.maximum(self.aims, 1.0) + self.slacks))

    @cached_property
    def plans(self) -> "list[SumTree]":
        homes = {table.scope: self.tree.home(table.scope) for table in self.tables}
        scopes_at = [
            [scope for scope, home in homes.items() if home == place] for place in range(len(self.tree.cliques))
        ]
        return [SumTree.of(clique, scopes) for clique, scopes in zip(self.tree.cliques, scopes_at, strict=True)]

    def value(self, scaled: np.ndarray) -> tuple[float, np.ndarray]:
        multipliers = self.scales * scaled
        laws, log_sum = self.law(multipliers)
        sums = {scope: part for plan, law in zip(self.plans, laws, strict=True) for scope, part in plan.sums(law)}
        counts = np.concatenate([self.n * table.of(sums[table.scope]).ravel() for table in self.tables])
        pulls = self.slacks * multipliers
        value = self.n * log_sum - multipliers @ self.aims + pulls @ multipliers / 2
        return float(value), self.scales * (counts - self.aims + pulls)

    def law(self, multipliers: np.ndarray) -> tuple[list[np.ndarray], float]:
        sizes, sums = self.tree.sizes, dict[Scope, np.ndarray]()
        for table, numbers in zip(self.tables, self.parts(multipliers), strict=True):
            over = table.over(numbers, sizes)
            sums[table.scope] = sums[table.scope] + over if table.scope in sums else over
        return self.tree.tables([plan.spread(sums, sizes) for plan in self.plans])

    def parts(self, multipliers: np.ndarray) -> list[np.ndarray]:
        ends = np.cumsum([table.values.size for table in self.tables])[:-1]
        pairs = zip(self.tables, np.split(multipliers, ends), strict=True)
        return [numbers.reshape(table.values.shape) for table, numbers in pairs]


@dataclass(frozen=True)
class SumTree:
    """Subsets of `scope`, reached by dropping one variable at a time. Sums are shared along the tree."""

    scope: Scope
    below: tuple["SumTree", ...]

    @classmethod
    def of(cls, scope: Scope, wanted: Sequence[Scope]) -> "SumTree":
        """Return the tree to the wanted scopes. The variable that most of them lack is left out first."""
        below, left = list[SumTree](), [other for other in wanted if other != scope]
        while left:
            out = max(scope, key=lambda name: sum(name not in other for other in left))
            without = [other for other in left if out not in other]
            below.append(cls.of(tuple(name for name in scope if name != out), without))
            left = [other for other in left if out in other]
        return cls(scope, tuple(below))

    def sums(self, table: np.ndarray) -> Iterator[tuple[Scope, np.ndarray]]:
        """Yield each scope with the sums of the table."""
        yield self.scope, table
        for part in self.below:
            yield from part.sums(summed(table, self.scope, part.scope))

    def spread(self, tables: Mapping[Scope, np.ndarray], sizes: Sequence[int]) -> np.ndarray:
        """Return the broadcast sum of tables over the tree's scopes.

        Each scope is in the tree once.
        """
        over = np.zeros([sizes[name] for name in self.scope])
        if self.scope in tables:
            over += tables[self.scope]
        for part in self.below:
            over += spread(part.spread(tables, sizes), part.scope, self.scope)
        return over
