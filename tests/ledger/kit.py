"""What the ledger's tests share: one unit, one way of asking, and what every refusal must keep."""

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from gaugedp._internal.postgres import Address, is_address
from gaugedp.domain.unit import PrivacyUnit
from gaugedp.errors import GaugedpError, LedgerRefused
from gaugedp.guarantees import Guarantee, PureDP
from gaugedp.ledger import Ledger, Reservation, Stored

Place = Path | str  # of a file, or the address of a ledger on a server
UNIT = PrivacyUnit()
SECRET = b"SECRET-marker-41"
CHANGES = {  # by other hands, in the SQL of SQLite
    "charge": "UPDATE entry SET charge = '1' WHERE number = 5",
    "promise": "UPDATE entry SET promise = replace(promise, '0.1', '0.2') WHERE number = 5",
    "request": 'UPDATE entry SET request = \'{"query":"AGE"}\' WHERE number = 5',
    "request gone": "UPDATE entry SET request = NULL WHERE number = 5",
    "time": "UPDATE entry SET time = '2001-01-01T00:00:00+00:00' WHERE number = 5",
    "key": "UPDATE entry SET key = 'another' WHERE number = 5",
    "sum": "UPDATE entry SET spent = '7' WHERE number = 5",
    "kind": "UPDATE entry SET kind = 'bind', key = NULL WHERE number = 5",
    "tip": "UPDATE entry SET tip = (SELECT tip FROM entry WHERE number = 4) WHERE number = 5",
    "not a number": "UPDATE entry SET charge = 'much' WHERE number = 5",
    "release": "UPDATE entry SET released = x'00' WHERE number = 6",
    "release gone": "UPDATE entry SET released = NULL WHERE number = 6",
    "last release": "UPDATE entry SET released = x'00' WHERE number = 8",
    "binding": "UPDATE entry SET request = replace(request, 'people', 'jobs') WHERE number = 2",
    "first missing": "DELETE FROM entry WHERE number = 1",
    "middle missing": "DELETE FROM entry WHERE number = 5",
    "last missing": "DELETE FROM entry WHERE number = 8",
    "all missing": "DELETE FROM entry",
    "head count": "UPDATE head SET entries = 7",
    "head sum": "UPDATE head SET spent = '0'",
    "head tip": "UPDATE head SET tip = (SELECT tip FROM entry WHERE number = 4)",
    "head missing": "DELETE FROM head",
}
COPY = (
    "INSERT INTO entry SELECT {}, kind, {}, promise, charge, request, released, spent, time, tip "
    "FROM entry WHERE number = 5"
)


def ask(
    ledger: Ledger,
    guarantee: Guarantee | float = 0.1,
    key: str | None = None,
    *,
    request: Mapping[str, Any] | None = None,
    table: str = "people",
    unit: PrivacyUnit = UNIT,
) -> Reservation | Stored:
    """Reserve with the tests' own table, unit and request where none is given."""
    guarantees = [guarantee if isinstance(guarantee, Guarantee) else PureDP(guarantee)]
    return ledger.reserve(guarantees, table=table, unit=unit, request=request or {"query": "SEX"}, key=key)


def paid(ledger: Ledger, guarantee: Guarantee | float = 0.1, key: str | None = None) -> Reservation:
    """Reserve, and insist on a reservation."""
    reservation = ask(ledger, guarantee, key)
    assert isinstance(reservation, Reservation)
    return reservation


def filled(path: Place, count: int = 3, budget: Guarantee | None = None) -> Ledger:
    """Return a ledger with `count` settled reservations: entries 1 (open), 2 (bind), 3, 4, 5, 6, …"""
    ledger = Ledger.open(path, budget or PureDP(2))
    for number in range(count):
        ledger.settle(paid(ledger, 0.1, f"key-{number}"), SECRET)
    return ledger


def shown(place: Place) -> str:
    """What messages call the ledger."""
    return f"postgresql:///postgres?{str(place).rpartition('&')[2]}" if is_address(place) else str(place)


def kept(place: Place) -> object:
    """Everything that is stored at the place."""
    return tables_of(str(place)) if is_address(place) else folder_bytes(Path(place))


def tables_of(url: str) -> list[tuple[Any, ...]] | None:
    """The rows of a ledger on a server, the head last; None where there is no ledger."""
    import psycopg

    address, said = Address.parse(url, "ledger")
    try:
        with closing(address.connect(10)) as connection:
            entries = connection.execute(f"SELECT * FROM {said}.entry ORDER BY number").fetchall()
            return [*entries, *connection.execute(f"SELECT * FROM {said}.head").fetchall()]
    except psycopg.errors.UndefinedTable:
        return None


def folder_bytes(path: Path) -> dict[str, bytes]:
    """Return the names and bytes of the files in the folder of `path`."""
    return {file.name: file.read_bytes() for file in sorted(path.parent.iterdir()) if file.is_file()}


@contextmanager
def watched(monkeypatch: pytest.MonkeyPatch, kind: type[sqlite3.Connection]) -> Iterator[None]:
    """Let every connection to a file be of this kind."""
    plain = sqlite3.connect
    with monkeypatch.context() as patch:
        patch.setattr(sqlite3, "connect", lambda *given, **words: plain(*given, **words, factory=kind))
        yield


@contextmanager
def refused(
    *words: str, path: Place | None = None, kind: type[GaugedpError] = LedgerRefused
) -> Iterator[pytest.ExceptionInfo[GaugedpError]]:
    """Insist on a refusal that says all `words`, shows no release and no engine, and changes nothing at `path`."""
    before = None if path is None else kept(path)
    with pytest.raises(kind) as caught:
        yield caught
    message = str(caught.value)
    assert type(caught.value) is kind
    assert all(word in message for word in words), message
    assert SECRET.decode() not in message
    assert not any(engine in message.lower() for engine in ("sqlite", "psycopg", "libpq"))
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    assert message.endswith(("Nothing was read and nothing was spent.", "stays spent; no answer was shown."))
    assert path is None or kept(path) == before
