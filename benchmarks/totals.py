"""What would it cost to keep a total near its own optimum next to margins?

A table of 5 x 9 cells, its margins and a total are released together. The importance of the total is raised until
another term's error grows by 3 %, and until the total's is within 10 % of its error alone. For Gaussian noise the
certified optimum of each weighting bounds what any noise could do. Writes docs/benchmarks/queries.md.

    python benchmarks/totals.py
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pages

import gaugedp as gd
from gaugedp._internal.bisection import bisected

DOMAIN = gd.Domain.of(A=[str(i) for i in range(5)], B=[str(i) for i in range(9)], C=gd.bounded(0, 100))
UNIT, OTHERS = gd.PrivacyUnit(), "A*B; A; B"
TOTALS = ("count",)
GUARANTEES: tuple[tuple[str, dict[str, float]], ...] = (
    ("ε = 1", {"epsilon": 1.0}),
    ("μ = 0.5", {"mu": 0.5}),
)
LOSS, NEAR, MOST, APART = 1.03, 1.1, 1e4, 0.05  # the largest importance, and the precision of its logarithm


class Weighed:
    """The errors of a query in which the total has an importance."""

    def __init__(self, total: str, importance: float, budget: dict[str, float]) -> None:
        query = gd.query(DOMAIN, f"{OTHERS}; {total}").with_importance({total: importance})
        self.plan = gd.plan(query, UNIT, **budget)  # type: ignore[arg-type]
        ends = np.cumsum([estimate.n_released for estimate in query.estimates])[:-1]
        variances = self.plan.mechanism.variances / query.with_importance({total: 1.0}).errors.reach ** 2  # type: ignore[attr-defined]
        self.squares = [float(part.sum()) for part in np.split(variances, ends)]
        self.sizes = [estimate.n_released for estimate in query.estimates]
        self.floor = float(getattr(self.plan.mechanism, "floor", 0.0)) ** 2

    @property
    def errors(self) -> np.ndarray:
        """Root mean squares of the terms, in rows: the total last."""
        return np.sqrt(np.array(self.squares) / self.sizes)


def last_importance(kept: Callable[[Weighed], bool], total: str, budget: dict[str, float]) -> Weighed:
    """Return the weighting of the largest importance up to which `kept` is true."""
    low, _ = bisected(0.0, math.log(MOST), lambda log: kept(Weighed(total, math.exp(log), budget)), apart=APART)
    return Weighed(total, math.exp(low), budget)


def row(total: str, name: str, budget: dict[str, float]) -> str:
    alone = gd.plan(gd.query(DOMAIN, total), UNIT, **budget)  # type: ignore[arg-type]
    scale = alone.query.errors.reach
    own = float(np.sqrt((alone.mechanism.variances / scale**2).mean()))  # type: ignore[attr-defined]
    equal = Weighed(total, 1.0, budget)
    little = last_importance(lambda one: (one.errors[:-1] <= LOSS * equal.errors[:-1]).all(), total, budget)
    near = last_importance(lambda one: one.errors[-1] > NEAR * own, total, budget)
    loss = float((near.errors[:-1] / equal.errors[:-1]).max())
    cells = [total, name, *(f"{error:.3g}" for error in (own, equal.errors[-1], little.errors[-1]))]
    return f"| {' | '.join([*cells, least(total, equal, budget), f'{100 * (loss - 1):.0f} %'])} |"


def least(total: str, equal: Weighed, budget: dict[str, float]) -> str:
    """Return the least error of the total that any Gaussian noise has if the others lose 3 % at most, certified.

    With t the importance, the others' squares and t times the total's add up to the optimum of t at least.
    """
    if not equal.floor:
        return ""
    allowed = LOSS**2 * sum(equal.squares[:-1])
    weighings = [(t, Weighed(total, t, budget)) for t in (2.0, 4.0, 8.0, 16.0)]
    bounds = [(one.floor - allowed) / t / one.sizes[-1] for t, one in weighings]
    return f"{math.sqrt(max(0.0, *bounds)):.3g}"


def main() -> None:
    head = "| total | guarantee | alone | equal weights | 3 % elsewhere | least at 3 % | loss for alone + 10 % |"
    lines: list[Any] = [head, "|---|---|---:|---:|---:|---:|---:|"]
    for total in TOTALS:
        lines += [row(total, name, budget) for name, budget in GUARANTEES]
    pages.put("queries", "totals", lines)


if __name__ == "__main__":
    main()
