"""Refusals that say nothing of the rows: every engine answers with one of these, whatever its own error was."""

from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import TypeVar

from gaugedp.errors import STAYS_SPENT, GaugedpError, UnknownName, UnreadableTable

T = TypeVar("T")
Failures = tuple[type[BaseException], ...]
COMMON: Failures = (OSError, MemoryError, RuntimeError, ValueError, ArithmeticError, TypeError)


def or_refuse(work: Callable[[], T], refusal: GaugedpError, failures: Failures) -> T:
    """Return what `work` gives, or raise the refusal, in which no trace of the engine's error is left."""
    raised: BaseException = refusal  # outside the handler, so that the engine's error is not even its context
    try:
        return work()
    except (*COMMON, *failures) as error:
        if type(error) is RuntimeError and str(error) == "Query interrupted":  # how DuckDB reports Ctrl-C
            raised = KeyboardInterrupt()
    raise raised


def check_names(names: Sequence[object], needed: Sequence[str], *, in_text: bool = False) -> None:
    """Refuse a missing column, a name that occurs twice, and names that the engine cannot tell apart.

    Others may be missing, occur twice or clash. `in_text` says that the names are the first line of a text file.
    """
    for name in needed:
        if name not in names:
            others = set(needed) - {name}
            raise _no_column(name, names, has_header=bool(others) and others <= set(names), in_text=in_text)
        alike = sorted(
            {candidate for candidate in names if isinstance(candidate, str) and candidate.lower() == name.lower()}
        )
        if names.count(name) > 1 or len(alike) > 1:
            raise UnreadableTable(f"The column names {', '.join(map(repr, alike))} clash.", "Rename the columns.")


def _no_column(name: str, names: Sequence[object], *, has_header: bool, in_text: bool) -> UnknownName:
    """Return the refusal of a missing column.

    In a file that has no header, and in a frame made of one, the first row stands in its place. So names are not
    listed, and the only one that is told has the letters and digits of `name` itself. One that is near `name` is told
    where the first line `has_header`: all other needed names are in it.
    """
    near = get_close_matches(name, [str(candidate) for candidate in names], n=1) if has_header else []
    if near and near[0] == near[0].strip():
        return UnknownName.among("column", name, near)
    similar = next((str(candidate) for candidate in names if _letters(candidate) == _letters(name)), "")
    meant = f"Did you mean {similar!r}? " if similar else ""
    if similar == name:  # as in a pandas frame whose columns are numbers
        meant = f"The column {name} has a name that is no text: rename it. "
    elif similar != similar.strip():
        meant = f"The {'first line' if in_text else 'table'} has {similar!r}, with a space: take the space away. "
    first_line = (
        ", that the first line holds the names, and that commas (.csv) or tabs (.tsv) separate them: a table from "
        "Excel may have semicolons"
    )
    return UnknownName(f"There is no column {name!r}.", f"{meant}Check the spelling{first_line * in_text}.")


def _letters(name: object) -> str:
    return "".join(letter for letter in str(name).lower() if letter.isalnum())


def unfinished() -> UnreadableTable:
    """Return the refusal of a look that failed."""
    return UnreadableTable(
        "The engine could not finish reading the table.",
        "Check that the file or frame still is what it was when it was scanned, and that memory and disk suffice.",
        STAYS_SPENT,
    )


def stopped() -> UnreadableTable:
    """Return the refusal of a file of which every line is needed, and that nobody paid for."""
    return UnreadableTable(
        "Not every line of the file can be read, and none may be left out here.",
        "Check that each has as many fields as the header, all in UTF-8, that quotes are closed, that lines end alike, "
        "and that the file is whole.",
        "Nothing was spent.",
    )


def unreadable() -> UnreadableTable:
    """Return the refusal of a scan that failed."""
    return UnreadableTable(
        "The columns of the table cannot be read.", "Check that the source is whole and may be read."
    )


def unusable(name: str) -> UnreadableTable:
    """Return the refusal of a column that the engine does not know how to read."""
    return UnreadableTable(f"Column {name!r} has a type that the engine cannot read.", "Convert the column.")


def taken_words(of: str) -> UnreadableTable:
    """Return the refusal of a place where functions have been replaced."""
    return UnreadableTable(
        f"Functions made in this {of} have the names of the engine's own, so that its statements mean something else.",
        "Rename or drop them, or write the rows to a file and scan it.",
    )
