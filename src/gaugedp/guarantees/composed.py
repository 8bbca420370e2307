"""Composition of guarantees."""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import numpy as np

from gaugedp._internal.validate import whole
from gaugedp.accountant.part import Accounting, Cost
from gaugedp.accountant.rounding import up
from gaugedp.accountant.total import directions
from gaugedp.guarantees.base import Guarantee, check_order, from_dict
from gaugedp.guarantees.groups import Grouped
from gaugedp.guarantees.pure import PureDP

Parts = tuple[tuple[Guarantee, int], ...]


@dataclass(frozen=True, eq=True)
class Composed(Guarantee):
    """Guarantee of several releases of the same rows together.

    Make it with `+`, `*` or `compose`. Its methods `epsilon` and `delta` try all composition rules and return the least
    bound. `parts` are pairs (guarantee, multiplicity).
    """

    parts: Parts

    def __post_init__(self) -> None:
        counts = [count for _, count in self.parts]
        if set(map(type, counts)) != {int} or min(counts) < 1:  # a call for each takes longer than their curves
            for count in counts:
                whole(minimum=1, count=count)

    def renyi(self, order: float) -> float:
        """Return the sum of the Rényi curves of the parts."""
        check_order(order)
        # 64: parts, from which on their curves are taken together
        if order == 1 or math.isinf(order) or len(self.parts) < 64:
            return up(math.fsum(count * part.renyi(order) for part, count in self.parts))
        shift = np.array([order - 1.0])
        totals = directions(self.parts, curves=True)
        if any(total.impossible > 0 for total in totals):
            return math.inf
        return up(max(float(total.log_moment_up(shift)[0]) for total in totals) / (order - 1), relative=2.0**-40)

    def components(self) -> Parts:
        """Return the single guarantees, each with its multiplicity."""
        return self.parts

    def cost(self, accounting: Accounting) -> Cost | None:
        """Return the sum of the parts' charges, or None."""
        costs = [(part.cost(accounting), count) for part, count in self.parts]
        if any(cost is None for cost, _ in costs):
            return None
        columns = zip(*([count * number for number in cost] for cost, count in costs if cost), strict=True)
        return tuple(sum(column) for column in columns)

    def _group(self, size: int) -> Guarantee:
        """Return the guarantee for groups of `size` units."""
        parts = [(part.group(size), count) for part, count in self.parts]
        if all(isinstance(part, Grouped) for part, _ in parts):
            return Grouped(self, size)
        return compose(parts)

    @classmethod
    def from_numbers(cls, numbers: Mapping[str, Any]) -> Guarantee:
        """Return the composition of the parts."""
        return compose((from_dict(part), _count(count)) for part, count in numbers["parts"])

    def __repr__(self) -> str:
        return " + ".join(f"{count} * {part!r}" if count > 1 else repr(part) for part, count in self.parts)


def compose(parts: Iterable[tuple[Guarantee, int]]) -> Guarantee:
    """Return the guarantee of several releases together.

    `parts` are pairs (guarantee, number of such releases); without parts the result is PureDP(0). Later mechanisms may
    read earlier answers. If their guarantees also depend on earlier answers, use a `Filter`.
    """
    counts: defaultdict[Guarantee, int] = defaultdict(int)
    for part, count in parts:
        if type(count) is not int or count < 0:
            whole(minimum=0, count=count)
        for leaf, times in part.components():
            counts[leaf] += times * int(count)
    kinds: defaultdict[str, list[tuple[Guarantee, int]]] = defaultdict(list)
    for released in counts.items():
        kinds[type(released[0]).__name__].append(released)
    ordered = [released for kind in sorted(kinds) for released in _in_order(kinds[kind])]
    if not ordered:
        return PureDP(0.0)
    return ordered[0][0] if len(ordered) == 1 and ordered[0][1] == 1 else Composed(tuple(ordered))


Guarantee._compose = staticmethod(compose)  # the sum and the multiples of guarantees


def _count(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError("a count is an integer of at least 1")
    return value


def _in_order(parts: list[tuple[Guarantee, int]]) -> list[tuple[Guarantee, int]]:
    """Return parts of one kind by ascending numbers, without those that release nothing."""
    names = type(parts[0][0]).__match_args__
    read, is_positive = attrgetter(*names), any if len(names) > 1 else bool
    kept = [part for part in parts if part[1] and is_positive(read(part[0]))]
    return sorted(kept, key=lambda part: _sortable(read(part[0])))


def _sortable(number: Any) -> Any:
    if isinstance(number, float):
        return number
    if isinstance(number, tuple):
        return tuple(map(_sortable, number))
    return str(number.to_dict()) if isinstance(number, Guarantee) else number
