"""Entries as text, and the hash chain that links them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from gaugedp.errors import InvalidRequest

Units = tuple[int, ...]

ORIGIN = "0" * 64  # tip before the first entry


@dataclass(frozen=True)
class LedgerEvent:
    """Content of an entry, as text. `kind` is "open", "bind", "reserve" or "settle"."""

    kind: str
    key: str | None = None
    guarantee: str | None = None
    charge: str = ""
    request: str | None = None
    released: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Row:
    """Entry with its position, sum `spent`, `time` and chain `tip`."""

    number: int
    event: LedgerEvent
    spent: str
    time: str
    tip: str


@dataclass(frozen=True)
class Head:
    """State after the last entry: `entries`, sum `spent` and `tip`."""

    entries: int
    spent: str
    tip: str


NOTHING = Head(0, "", ORIGIN)


def canonical(facts: object) -> str:
    """Return the canonical JSON of `facts`.

    Keys are sorted, there are no spaces, and the text is ASCII; numbers must be finite.
    """
    return json.dumps(facts, sort_keys=True, separators=(",", ":"), allow_nan=False)


def request_text(request: Mapping[str, Any]) -> str:
    """Return the canonical text of a request. A request that JSON cannot represent is refused, without repeating it."""
    try:
        text = canonical(dict(request))
        if json.loads(text) == _plain(request):
            return text
    except (TypeError, ValueError, RecursionError):
        pass
    raise InvalidRequest(
        "The description of the request contains something that JSON cannot express.",
        "Use only strings, finite numbers, lists, and mappings with string keys.",
    )


def _plain(facts: Any) -> Any:
    if isinstance(facts, Mapping):
        return {key: _plain(value) for key, value in facts.items()}
    return [_plain(value) for value in facts] if isinstance(facts, list | tuple) else facts


def units_text(units: Units) -> str:
    """Return integer units as text, such as "100 0"."""
    return " ".join(map(str, units))


def units(text: str) -> Units:
    """Return the units that `units_text` wrote."""
    return tuple(map(int, text.split()))


def add(first: Units, second: Units) -> Units:
    """Return the elementwise sum."""
    return tuple(a + b for a, b in zip(first, second, strict=True))


def link(previous: str, row: Row) -> str:
    """Return the tip of `row` after `previous`: SHA-256 of its content. A release enters by its own SHA-256."""
    event = row.event
    released = None if event.released is None else sha256(event.released).hexdigest()
    said = [event.kind, event.key, event.guarantee, event.charge, event.request, released]
    return sha256(canonical([previous, row.number, *said, row.spent, row.time]).encode()).hexdigest()


def extend(head: Head, event: LedgerEvent) -> tuple[Row, Head]:
    """Return the entry of `event` after `head`, and the new head. The time is recorded only for information."""
    spent = head.spent
    if event.charge:
        spent = units_text(add(units(head.spent), units(event.charge))) if head.spent else event.charge
    time = datetime.now(UTC).isoformat(timespec="seconds")
    bare = Row(head.entries + 1, event, spent, time, "")
    row = replace(bare, tip=link(head.tip, bare))
    return row, Head(row.number, spent, row.tip)
