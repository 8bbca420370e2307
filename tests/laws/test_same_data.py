"""The same data, the same answer: every source gives the same integers, or the same refusal before anything is charged.

Where that does not hold, and why:

- A text file has no empty text: an empty field is missing. Tables with one are not compared with text files.
- Text has no types. A category such as "01" matches the number 1 and not the text "1"; a type that no category can
  match is refused, and its text is counted in no cell.
- No category is infinite: "inf" matches the text and not the number.
- Which rows of a person stay is drawn by the person's number or text: other rows stay of a person who has too many.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gaugedp import Table
from gaugedp.errors import GaugedpError
from gaugedp.tables.aggregate import Aggregate
from tests.laws.awkward import Awkward, Sources, as_texts, as_types, awkward, typed
from tests.laws.kit import batches, generator
from tests.tables.engines import ENGINES, require_spark, spark

COVERS: dict[str, set[str]] = {}  # it asks tables for exact integers, below all that is public
LAW, SOME = "same_data", 2
_UNCHARGED = "Nothing was read and nothing was spent."
Outcome = tuple[str, Any]


def totals_of(table: Awkward) -> list[Aggregate]:
    """The counts of each attribute and of both, and what a bounded column gives."""
    names = tuple(table.domain.attributes)
    sums = [Aggregate((), name, present=present) for name in table.domain.columns for present in (True, False)]
    return [*(Aggregate((name,)) for name in names), Aggregate(names), Aggregate(()), *sums]


def outcome(table: Awkward, source: Any) -> Outcome:
    """Return the integers, or the words of the refusal without the engine's name of the type."""
    try:
        scanned = Table.scan(source, domain=table.domain, unit=table.unit)
    except GaugedpError as refusal:
        assert _UNCHARGED in str(refusal)  # noqa: PT017
        return "refused", re.sub(r"holds .*?\)(,|$)", "holds,", refusal.args[0] if refusal.args else str(refusal))
    return "answered", [total.tolist() for total in scanned.totals(totals_of(table), b"key")]


def outcomes(table: Awkward, sources: Sources, draw: np.random.Generator) -> dict[str, Outcome]:
    """Return what some of the sources give: all of them would take ten times as long."""
    chosen = draw.choice(list(sources), size=min(SOME, len(sources)), replace=False)
    return {str(name): outcome(table, sources[name]()) for name in chosen}


def same(table: Awkward, sources: dict[str, Outcome]) -> Outcome:
    """Return the outcome that all have."""
    (first, wanted), *others = sources.items()
    for name, got in others:
        assert got == wanted, f"{name} gives {got}, {first} {wanted}; {table.in_words()}"
    return wanted


def cells(table: Awkward, counts: list[list[int]]) -> list[int]:
    """How many rows are in a cell of each attribute, and have a number of each column."""
    inside = [sum(counts[place][: each.n_inside]) for place, each in enumerate(table.domain.attributes.values())]
    numbers = counts[len(inside) + 2 :: 2]
    return [*inside, *(number[0] for number in numbers)]


@contextmanager
def points_without_zone(engine: str) -> Iterator[None]:
    """Let Spark make points in time without a zone of Arrow's; of its own accord it gives them the session's."""
    if engine != "spark":
        yield
        return
    require_spark()
    settings = spark().conf
    settings.set("spark.sql.timestampType", "TIMESTAMP_NTZ")
    try:
        yield
    finally:
        settings.unset("spark.sql.timestampType")


@pytest.mark.slow
@pytest.mark.parametrize("cases", batches(LAW), ids=str)
def test_every_source_gives_the_same_integers(cases: range, tmp_path: Path) -> None:
    for case in cases:
        draw = generator(LAW, case)
        table = awkward(draw)
        try:
            texts, types = (
                outcomes(table, each, draw) for each in (as_texts(table, tmp_path), as_types(table, tmp_path))
            )
            text, typed = same(table, texts), same(table, types)
            assert text[0] == "answered"
            if table.is_plain and typed[0] == "answered":
                assert text == typed, f"text gives {text}, types {typed}; {table.in_words()}"
            if typed[0] == "refused":
                assert 0 in cells(table, text[1]), f"{typed} for what is answered as text: {text}; {table.in_words()}"
        except AssertionError as error:
            raise AssertionError(f"case {case}: {error}") from None


@pytest.mark.thorough
@pytest.mark.parametrize("engine", ["spark", "postgres"])
@pytest.mark.parametrize("cases", batches(LAW)[:3], ids=str)
def test_a_server_gives_the_same_integers(cases: range, engine: str) -> None:
    for case in cases:
        table = awkward(generator(LAW, case))
        if "uuid" not in table.kinds.values():
            rows = typed(table)
            with points_without_zone(engine):
                served = ENGINES[engine](rows, 1)
            assert outcome(table, served) == outcome(table, rows), f"case {case}: {table.in_words()}"
