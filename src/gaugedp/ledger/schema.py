"""Tables of a ledger file, and SQLite's failures in words."""

import sqlite3
import struct

from gaugedp.errors import LedgerRefused
from gaugedp.ledger.chain import NOTHING
from gaugedp.ledger.store import GUARDS_CHANGED, RESTORE, altered, gone

APPLICATION_ID = 0x6744504C  # "gDPL"
VERSION = 1

_TABLES = (
    """CREATE TABLE entry (
    number INTEGER PRIMARY KEY,
    kind TEXT NOT NULL CHECK (kind IN ('open', 'bind', 'reserve', 'settle')),
    key TEXT,
    promise TEXT,
    charge TEXT NOT NULL,
    request TEXT,
    released BLOB,
    spent TEXT NOT NULL,
    time TEXT NOT NULL,
    tip TEXT NOT NULL,
    UNIQUE (kind, key)
)""",
    """CREATE TABLE head (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    entries INTEGER NOT NULL,
    spent TEXT NOT NULL,
    tip TEXT NOT NULL
)""",
)
_GUARDS = (
    """CREATE TRIGGER entry_is_last BEFORE INSERT ON entry
WHEN NEW.number <> (SELECT entries FROM head) + 1
  OR EXISTS (SELECT 1 FROM entry WHERE number = NEW.number OR (kind = NEW.kind AND key = NEW.key))
BEGIN SELECT RAISE(ABORT, 'entries are added at the end'); END""",
    "CREATE TRIGGER entry_stays BEFORE UPDATE ON entry BEGIN SELECT RAISE(ABORT, 'entries stay'); END",
    "CREATE TRIGGER entry_kept BEFORE DELETE ON entry BEGIN SELECT RAISE(ABORT, 'entries stay'); END",
    "CREATE TRIGGER head_kept BEFORE DELETE ON head BEGIN SELECT RAISE(ABORT, 'the head stays'); END",
)

_WORDS = {
    sqlite3.SQLITE_BUSY: (
        "is locked by another process",
        "Try again when it has finished, or wait longer (timeout=…).",
    ),
    sqlite3.SQLITE_READONLY: ("is read-only", "Obtain write permission for the file and its folder."),
    sqlite3.SQLITE_PERM: ("may not be opened by this user", "Obtain permission to read and write it."),
    sqlite3.SQLITE_CANTOPEN: ("cannot be opened", "Check that this user may write the file and its folder."),
    sqlite3.SQLITE_FULL: ("cannot be written: the disk is full", "Free disk space."),
    sqlite3.SQLITE_IOERR: (
        "cannot be written or read: the disk is full or failing",
        "Free disk space, or check the disk.",
    ),
    sqlite3.SQLITE_NOTADB: ("is not a ledger file", "Check the path, or restore the ledger from a copy."),
    sqlite3.SQLITE_CORRUPT: ("is damaged", RESTORE),
}
_WORDS[sqlite3.SQLITE_LOCKED] = _WORDS[sqlite3.SQLITE_PROTOCOL] = _WORDS[sqlite3.SQLITE_BUSY]


def primary_code(error: Exception) -> int:
    """Return SQLite's primary result code, or that of an OSError."""
    match error:
        case BlockingIOError():
            return sqlite3.SQLITE_BUSY
        case PermissionError():
            return sqlite3.SQLITE_PERM
        case OSError():
            return sqlite3.SQLITE_CANTOPEN
    return int(getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)) & 0xFF


def refusal(code: int, name: str, is_gone: bool = False) -> LedgerRefused:
    """Return the refusal of a result `code`, without SQLite's text."""
    if code == sqlite3.SQLITE_CANTOPEN and is_gone:
        return gone(name)
    if code not in _WORDS:
        return altered(name)
    what, do = _WORDS[code]
    return LedgerRefused(f"The ledger {name} {what}.", do)


def create(connection: sqlite3.Connection) -> None:
    """Create tables, guards, the initial head and the format marks."""
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {VERSION}")
    for statement in (*_TABLES, *_GUARDS):
        connection.execute(statement)
    connection.execute("INSERT INTO head VALUES (1, ?, ?, ?)", (NOTHING.entries, NOTHING.spent, NOTHING.tip))


def distrust(connection: sqlite3.Connection) -> None:
    """Restrict the file's functions, and check the cells of pages."""
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA cell_size_check = ON")


def make_durable(connection: sqlite3.Connection, name: str) -> None:
    """Set what a commit waits for; refuse a file without WAL."""
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA fullfsync = ON")
    if connection.execute("PRAGMA journal_mode = WAL").fetchone() != ("wal",):
        raise LedgerRefused(
            f"The file system of the ledger {name} does not support the write-ahead log that makes charges durable.",
            "Move it to a local disk.",
        )


def check_header(header: bytes, name: str) -> None:
    """Refuse a file without the header of this version."""
    if header[:16] != b"SQLite format 3\0" or len(header) < 100:
        raise refusal(sqlite3.SQLITE_NOTADB, name)
    version, application_id = struct.unpack(">i4xi", header[60:72])  # the file format's section 1.3
    _check_mark(version, application_id, name)


def check_mark(connection: sqlite3.Connection, name: str) -> None:
    """Refuse an open file that is not a ledger of this version."""
    version, application_id = (
        connection.execute(f"PRAGMA {mark}").fetchone()[0] for mark in ("user_version", "application_id")
    )
    _check_mark(version, application_id, name)


def _check_mark(version: int, application_id: int, name: str) -> None:
    if application_id != APPLICATION_ID:
        raise refusal(sqlite3.SQLITE_NOTADB, name)
    if version != VERSION:
        raise LedgerRefused(
            f"The ledger {name} was written by another version of gaugedp, in a format that this version cannot read.",
            "Use the version that wrote it.",
        )


def damage(connection: sqlite3.Connection) -> list[str]:
    """Return sentences about damaged pages, and changed tables or guards."""
    faults = []
    if connection.execute("PRAGMA integrity_check(1)").fetchone() != ("ok",):
        faults.append("The file is damaged.")
    statements = connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
    if sorted(text for (text,) in statements) != sorted((*_TABLES, *_GUARDS)):
        faults.append(GUARDS_CHANGED)
    return faults
