"""Linear parts of a query about the same rows, whose answers can add up."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np

from gaugedp.queries.base import Query
from gaugedp.queries.linear import Workload, as_workload


@dataclass(frozen=True)
class Group:
    """One workload of all terms about the same rows, the places of its released numbers, and those of its parts."""

    query: Workload
    places: np.ndarray
    parts: tuple[int, ...]


def groups(query: Query | None) -> Iterator[Group]:
    """Yield the groups of linear parts, in order.

    Two parts are about the same rows if the same attributes can leave rows out of them: answers of one group agree for
    every table, and those of two groups may differ by the rows that one of them leaves out. Second moments stay as they
    are.
    """
    alike: dict[frozenset[str], list[tuple[Workload, np.ndarray, int]]] = {}
    start = 0
    for number, part in enumerate(() if query is None else query.parts):
        places, start = np.arange(start, start + len(part.steps)), start + len(part.steps)
        if (linear := as_workload(part)) and not any(term.estimate.of_sampling for term in linear.terms):
            alike.setdefault(_dropping(linear), []).append((linear, places, number))
    for parts in alike.values():
        queries, of_parts, numbers = zip(*parts, strict=True)
        yield Group(_merged(list(queries)), np.concatenate(of_parts), numbers)


def _dropping(query: Workload) -> frozenset[str]:
    facts = {name: query.domain.attribute(name) for name in query.attributes}
    return frozenset(query.domain.tree(name) for name, fact in facts.items() if fact.outside == "drop")


def _merged(parts: list[Workload]) -> Workload:
    if len(parts) == 1:
        return parts[0]
    terms = enumerate(chain.from_iterable(part.terms for part in parts))
    return Workload(parts[0].domain, tuple(replace(term, text=f"{number} {term.text}") for number, term in terms))
