"""Entries, reservations and stored releases of a ledger."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gaugedp._internal.names import written_in_list
from gaugedp.guarantees import Guarantee, from_dict
from gaugedp.ledger.chain import Row, Units, units
from gaugedp.ledger.signature import Signature, unsigned

ANSWERED, UNANSWERED, SEEDED = "answered", "charged, never answered", "seeded: not private"


@dataclass(frozen=True)
class Reservation:
    """Durable charge of a guarantee, which can be settled once."""

    key: str
    guarantee: Guarantee
    number: int
    tip: str


@dataclass(frozen=True)
class Stored:
    """Release that the ledger stored for an earlier identical request."""

    key: str
    released: bytes = field(repr=False)


@dataclass(frozen=True)
class Entry:
    """Entry of a ledger, such as a charge or result.

    Its `kind` is "open", "bind" (to a table and a unit), "reserve" (a charge) or "settle" (a result). `key`,
    `guarantee` and `request` may be None. `charge` is in the budget's integer units, and `time` is in UTC. `by`,
    `purpose` and `approved_by` come from `Ledger.signed`.
    """

    number: int
    kind: str
    key: str | None
    guarantee: Guarantee | None
    charge: Units
    request: Mapping[str, Any] | None
    time: str
    tip: str
    by: str | None = None
    purpose: str | None = None
    approved_by: str | None = None

    @property
    def question(self) -> str:
        """Text of the query, keys or fit; empty without one."""
        request = self.request or {}
        if "keys" in request:
            return f"keys of {request['keys']}"
        if "fit" not in request:
            return str(request.get("query", ""))
        target = request.get("target")
        if target is None:
            return f"fit {request['fit']}"
        names = ", ".join(map(written_in_list, request.get("features", ())))
        return f"fit {request['fit']} of {target}" + (f" by {names}" if names else "")

    @property
    def is_seeded(self) -> bool:
        """True if the noise is reproducible, which protects nobody."""
        return (self.request or {}).get("research_seed") is not None


def states(entries: Sequence[Entry]) -> list[str]:
    """Return the state of each charge, "" for other entries."""
    settled = {entry.key for entry in entries if entry.kind == "settle"}
    return [_state(entry, entry.key in settled) for entry in entries]


def _state(entry: Entry, is_settled: bool) -> str:
    state = ANSWERED if is_settled else UNANSWERED
    if entry.kind != "reserve":
        return ""
    return f"{state}; {SEEDED}" if entry.is_seeded else state


def entry(row: Row) -> Entry:
    """Return the entry of a stored `row`, without its release."""
    event = row.event
    guarantee = None if event.guarantee is None else from_dict(json.loads(event.guarantee))
    stored = None if event.request is None else json.loads(event.request)
    request, signature = None if stored is None else unsigned(stored), Signature.of(stored)
    said = (event.kind, event.key, guarantee, units(event.charge), request)
    return Entry(row.number, *said, row.time, row.tip, signature.by, signature.purpose, signature.approved_by)
