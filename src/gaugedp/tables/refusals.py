"""Refusals that do not depend on the rows. Every engine answers with one of these, whatever its own error was."""

from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import TypeVar

from gaugedp.errors import STAYS_SPENT, GaugedpError, UnknownName, UnreadableTable

T = TypeVar("T")
Failures = tuple[type[BaseException], ...]
COMMON: Failures = (OSError, MemoryError, RuntimeError, ValueError, ArithmeticError, TypeError)


def or_refuse(work: Callable[[], T], refusal: GaugedpError, failures: Failures) -> T:
    """Return `work()`, or raise the refusal without the engine's error."""
    raised: BaseException = refusal  # raised outside the handler, so that the engine's error is not its context
    try:
        return work()
    except (*COMMON, *failures) as error:
        if type(error) is RuntimeError and str(error) == "Query interrupted":  # DuckDB's report of Ctrl-C
            raised = KeyboardInterrupt()
    raise raised


def check_names(names: Sequence[object], needed: Sequence[str], *, in_text: bool = False) -> None:
    """Refuse missing, repeated and indistinguishable needed names.

    Others may be missing, occur twice or clash. `in_text` means that the names are the first line of a text file.
    """
    for name in needed:
        if name not in names:
            others = set(needed) - {name}
            raise _no_column(name, names, has_header=bool(others) and others <= set(names), in_text=in_text)
        alike = sorted({each for each in names if isinstance(each, str) and each.lower() == name.lower()})
        if names.count(name) > 1 or len(alike) > 1:
            raise UnreadableTable(
                f"Column names are repeated or differ only in case: {', '.join(map(repr, alike))}.",
                "Rename the columns.",
            )


def _no_column(name: str, names: Sequence[object], *, has_header: bool, in_text: bool) -> UnknownName:
    """Return the refusal of a missing column.

    In a file without a header, and in a frame made of one, the first row takes its place. So names are not listed, and
    the only one that is shown has the letters and digits of `name` itself. A similar name is shown if the first line
    `has_header`: it contains all other needed names.
    """
    near = get_close_matches(name, [str(candidate) for candidate in names], n=1) if has_header else []
    if near and near[0] == near[0].strip():
        return UnknownName.among("column", name, near)
    similar = next((str(candidate) for candidate in names if _letters(candidate) == _letters(name)), "")
    meant = f"Did you mean {similar!r}? " if similar else ""
    if similar == name:  # such as a pandas frame whose columns are numbers
        meant = f"The column {name} has a name that is not text: rename it. "
    elif similar != similar.strip():
        meant = f"The {'first line' if in_text else 'table'} has {similar!r}, with a space: remove the space. "
    first_line = (
        ", that the first line contains the names, and that commas (.csv) or tabs (.tsv) separate them: a table from "
        "Excel may have semicolons"
    )
    return UnknownName(f"There is no column {name!r}.", f"{meant}Check the spelling{first_line * in_text}.")


def _letters(name: object) -> str:
    return "".join(letter for letter in str(name).lower() if letter.isalnum())


def unfinished() -> UnreadableTable:
    """Return the refusal of a failed evaluation."""
    return UnreadableTable(
        "The engine could not finish reading the table.",
        "Check that the file or frame has not changed since the scan, and that memory and disk suffice.",
        STAYS_SPENT,
    )


def stopped() -> UnreadableTable:
    """Return the refusal of a broken file for prediction. Every line is needed there, and nothing was charged."""
    return UnreadableTable(
        "Some lines of the file cannot be read, and none may be left out.",
        "Check that each has as many fields as the header, all in UTF-8, that quotes are closed, that lines end alike, "
        "and that the file is whole.",
        "Nothing was spent.",
    )


def unreadable() -> UnreadableTable:
    """Return the refusal of a failed scan."""
    return UnreadableTable(
        "The columns of the table cannot be read.", "Check that the source is complete and readable."
    )


def unusable(name: str) -> UnreadableTable:
    """Return the refusal of a column with an unknown type."""
    return UnreadableTable(f"Column {name!r} has a type that the engine cannot read.", "Convert the column.")


def taken_words(of: str) -> UnreadableTable:
    """Return the refusal of a session with replaced functions."""
    return UnreadableTable(
        f"Functions created in this {of} have the names of built-in ones, which changes the meaning of statements.",
        "Rename or drop them, or write the rows to a file and scan it.",
    )
