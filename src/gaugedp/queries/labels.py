"""Labels of answers, generated lazily from their axes."""

import math
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, chain, groupby, product, repeat
from typing import Any, overload

_WRITTEN_OUT = 100_000  # up to so many answers, JSON lists each label

Pair = tuple[str, str]


class Words(ABC):
    """Texts of the answers along one axis, by number."""

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of texts."""

    @abstractmethod
    def __getitem__(self, place: int) -> str:
        """Return one text, 0 ≤ place < len."""

    def __iter__(self) -> Iterator[str]:
        return map(self.__getitem__, range(len(self)))

    @abstractmethod
    def facts(self) -> Any:
        """Return the JSON-compatible description."""


@dataclass(frozen=True)
class Listed(Words):
    """Texts in a sequence."""

    texts: Sequence[str]

    def __len__(self) -> int:
        return len(self.texts)

    def __getitem__(self, place: int) -> str:
        return self.texts[place]

    def facts(self) -> Any:
        """Return the list."""
        return list(self.texts)


@dataclass(frozen=True)
class Spans(Words):
    """Every range of cells, by first and last, in lexicographic order."""

    texts: Sequence[str]

    def __len__(self) -> int:
        return len(self.texts) * (len(self.texts) + 1) // 2

    def __getitem__(self, place: int) -> str:
        first = bisect_right(self._starts, place) - 1
        return f"{self.texts[first]}..{self.texts[first + place - self._starts[first]]}"

    def facts(self) -> Any:
        """Return the cells."""
        return {"ranges": list(self.texts)}

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *accumulate(range(len(self.texts), 1, -1))]


@dataclass(frozen=True)
class Numbered(Words):
    """Rows of a matrix, by number."""

    count: int

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, place: int) -> str:
        return f"row {place}"

    def facts(self) -> Any:
        """Return the number of rows."""
        return {"rows": self.count}


def words(facts: Any) -> Words:
    """Return the texts that `facts` described."""
    match facts:
        case {"ranges": [*texts]}:
            return Spans([str(text) for text in texts])
        case {"rows": int(count)}:
            return Numbered(count)
        case [*texts]:
            return Listed([str(text) for text in texts])
    raise ValueError


@dataclass(frozen=True)
class Cells(Sequence[str]):
    """Texts of a term's answers: combinations of `axes`, last fastest."""

    axes: tuple[Words, ...]

    @cached_property
    def _sizes(self) -> tuple[int, ...]:
        return tuple(map(len, self.axes))

    @cached_property
    def _count(self) -> int:
        return math.prod(self._sizes)

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> list[str]: ...
    def __getitem__(self, place: int | slice) -> str | list[str]:
        places = range(len(self))[place]
        return self._text(places) if isinstance(places, int) else list(map(self._text, places))

    def __iter__(self) -> Iterator[str]:
        return map(", ".join, product(*self.axes))

    def _text(self, place: int) -> str:
        texts = []
        for axis, size in zip(self.axes[::-1], self._sizes[::-1], strict=True):
            place, here = divmod(place, size)
            texts.append(axis[here])
        return ", ".join(texts[::-1])


@dataclass(frozen=True, eq=False)
class Labels(Sequence[Pair]):
    """Pairs (query, cell) of all answers, by term. It equals a list of the same pairs; a slice is a list."""

    terms: tuple[tuple[str, Cells], ...]

    @classmethod
    def of(cls, facts: Any) -> "Labels":
        """Return labels from `facts` or from a list of pairs."""
        if facts and isinstance(facts[0], Mapping):
            return cls(tuple((str(term["query"]), Cells(tuple(map(words, term["cells"])))) for term in facts))
        pairs = [(str(query), str(cell)) for query, cell in facts]
        grouped = [(query, [cell for _, cell in same]) for query, same in groupby(pairs, key=lambda pair: pair[0])]
        return cls(tuple((query, Cells((Listed(cells),))) for query, cells in grouped))

    def facts(self) -> list[Any]:
        """Return the labels for JSON: pairs, or if many, by term."""
        return list(self) if len(self) <= _WRITTEN_OUT else self.by_terms()

    def by_terms(self) -> list[dict[str, Any]]:
        """Return the axes of each term, which give its labels."""
        return [{"query": query, "cells": [axis.facts() for axis in cells.axes]} for query, cells in self.terms]

    def questions(self) -> Iterator[str]:
        """Yield the query of each answer."""
        return chain.from_iterable(repeat(query, len(cells)) for query, cells in self.terms)

    def cells(self) -> Iterator[str]:
        """Yield the cell of each answer."""
        return chain.from_iterable(cells for _, cells in self.terms)

    def __len__(self) -> int:
        return self._ends[-1]

    @overload
    def __getitem__(self, place: int) -> Pair: ...
    @overload
    def __getitem__(self, place: slice) -> list[Pair]: ...
    def __getitem__(self, place: int | slice) -> Pair | list[Pair]:
        places = range(len(self))[place]
        return self._pair(places) if isinstance(places, int) else list(map(self._pair, places))

    def __iter__(self) -> Iterator[Pair]:
        return zip(self.questions(), self.cells(), strict=True)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or len(self) != len(other):
            return False
        return all(mine == theirs for mine, theirs in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]  # as for a list

    def __repr__(self) -> str:
        return repr(list(self)) if len(self) <= 100 else f"{repr(self[:3])[:-1]}, ... {len(self):,} in total]"

    @cached_property
    def _ends(self) -> list[int]:
        return list(accumulate((len(cells) for _, cells in self.terms), initial=0))

    def _pair(self, place: int) -> Pair:
        term = bisect_right(self._ends, place) - 1
        query, cells = self.terms[term]
        return query, cells[place - self._ends[term]]
