"""Tables of a ledger in PostgreSQL, and the server's failures in words."""

import re
from typing import Any

from gaugedp.errors import InvalidRequest, LedgerRefused
from gaugedp.ledger.chain import NOTHING
from gaugedp.ledger.store import GUARDS_CHANGED, altered, gone

MARK = "gaugedp ledger 1"  # comment on the table `head`: its purpose, and the version of the tables
CREATING = 0x6744504C  # advisory lock for creating ledgers
NAME = "gaugedp"  # default schema

_TABLES = (
    """CREATE TABLE entry (
    number bigint PRIMARY KEY,
    kind text NOT NULL CHECK (kind IN ('open', 'bind', 'reserve', 'settle')),
    key text,
    promise text,
    charge text NOT NULL,
    request text,
    released bytea,
    spent text NOT NULL,
    time text NOT NULL,
    tip text NOT NULL
)""",
    "CREATE UNIQUE INDEX entry_once ON entry (kind, md5(key))",
    "CREATE INDEX entry_key ON entry USING hash (key)",
    """CREATE TABLE head (
    one integer PRIMARY KEY CHECK (one = 1),
    entries bigint NOT NULL,
    spent text NOT NULL,
    tip text NOT NULL
)""",
    f"COMMENT ON TABLE head IS '{MARK}'",
)
_STAYS = "BEGIN RAISE EXCEPTION 'entries and the head stay'; END"
_IS_LAST = """DECLARE last bigint;
BEGIN
    EXECUTE format('SELECT entries FROM %I.head', TG_TABLE_SCHEMA) INTO last;
    IF NEW.number IS DISTINCT FROM last + 1 THEN RAISE EXCEPTION 'entries are added at the end'; END IF;
    RETURN NEW;
END"""
_FUNCTIONS = {"stays": _STAYS, "is_last": _IS_LAST}
_GUARDS = {  # name: (forbidden event, its type in pg_trigger, its function)
    "entry_is_last": ("BEFORE INSERT ON entry FOR EACH ROW", 7, "is_last"),
    "entry_kept": ("BEFORE TRUNCATE ON entry FOR EACH STATEMENT", 34, "stays"),
    "entry_stays": ("BEFORE UPDATE OR DELETE ON entry FOR EACH ROW", 27, "stays"),
    "head_kept": ("BEFORE TRUNCATE ON head FOR EACH STATEMENT", 34, "stays"),
    "head_stays": ("BEFORE DELETE ON head FOR EACH ROW", 11, "stays"),
}
_KEPT_GUARDS = """SELECT tgname::text, tgtype::integer, tgenabled::text, prosrc
FROM pg_trigger JOIN pg_proc ON pg_proc.oid = tgfoid
WHERE tgrelid IN (to_regclass('entry'), to_regclass('head')) AND NOT tgisinternal AND tgqual IS NULL
ORDER BY tgname"""
_KEPT_INDEXES = """SELECT count(*) FROM pg_index
WHERE indrelid = to_regclass('entry') AND indisunique AND indisvalid AND indpred IS NULL"""

# first the search path, by a qualified name: objects in another schema could shadow the server's functions
_BEGIN = """BEGIN ISOLATION LEVEL {kind};
SELECT pg_catalog.set_config('search_path', '"{schema}", pg_temp', true);
SELECT set_config('synchronous_commit', CASE current_setting('synchronous_commit')
        WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, true),
    set_config('lock_timeout', '1000', true),
    set_config('idle_in_transaction_session_timeout', '60000', true),
    current_setting('fsync') || current_setting('full_page_writes')"""

_REACH = ("cannot be reached, or its server does not let this user in", "Check the address, the user and the password.")
_RIGHTS = ("may not be used by this user", "Obtain permission to read and write its tables, or to create them.")
_FULL = ("cannot be written: the server's disk is full or failing", "Free disk space on the server.")
BUSY = {"55P03", "40001", "40P01", "53300", "57P03"}
_WORDS = {
    **dict.fromkeys(BUSY, ("is locked by another process", "Try again when it has finished, or wait longer.")),
    **dict.fromkeys(("53300", "57P03"), ("cannot be used: its server is too busy, or starting", "Try again later.")),
    **dict.fromkeys(("42501", "28000", "28P01"), _RIGHTS),
    **dict.fromkeys(("53100", "58030", "53200", "54000"), _FULL),
    "3D000": ("is in a database that does not exist", "Check the address, or create the database."),
    "25006": ("is read-only: its server accepts no changes", "Use the address of the primary server."),
    "42P07": ("cannot be created: other tables have its names", "Use another schema: …?ledger=people."),
    "57P01": ("lost its connection: the server was stopped", "Try again when it runs."),
    "57P02": ("lost its connection: the server failed", "Try again when it runs."),
    "57014": ("was not used: the server stopped the statement", "Try again, or request more time."),
    "25P03": ("lost its connection: it was idle for too long", "Try again."),
}


def schema_name(said: str | None) -> str:
    """Return the schema of an address; refuse unsafe names."""
    name = NAME if said is None else said
    if not re.fullmatch(r"(?!pg_)[A-Za-z_][A-Za-z0-9_-]{0,62}", name):
        raise InvalidRequest(
            f"The address names the ledger {name}, which is not a valid name.",
            "Use 1 to 63 letters, digits and underscores: …?ledger=people.",
        )
    return name


def refusal(sqlstate: str | None, name: str) -> LedgerRefused:
    """Return the refusal of an `sqlstate`, without the server's text. None means that there was no answer."""
    if sqlstate in ("42P01", "3F000"):
        return gone(name)
    words = _REACH if sqlstate is None or sqlstate.startswith("08") else _WORDS.get(sqlstate)
    if words is None and sqlstate is not None and sqlstate[:2] in ("53", "54", "58", "XX"):
        words = _FULL
    return altered(name) if words is None else LedgerRefused(f"The ledger {name} {words[0]}.", words[1])


def unsure(name: str) -> LedgerRefused:
    """Return the refusal for a connection that broke while writing."""
    return LedgerRefused(
        f"The connection to the ledger {name} broke while it was written.",
        "Check its entries, and try again.",
        "Nothing was read; the request may have been charged.",
    )


def begin(connection: Any, schema: str, write: bool) -> bool:
    """Begin a transaction; return whether commits wait for the disk."""
    kind = "READ COMMITTED READ WRITE" if write else "REPEATABLE READ READ ONLY"
    answers = connection.execute(_BEGIN.format(kind=kind, schema=schema))
    while answers.nextset():
        pass
    *_, disk = answers.fetchone()
    return bool(disk == "onon")


def lock(connection: Any) -> None:
    """Exclude other writers until the transaction ends. Reads after this see the latest committed state."""
    connection.execute("SELECT one FROM head FOR UPDATE")


def is_there(connection: Any, name: str) -> bool:
    """Return True if the schema has a ledger of this version.

    Other versions and other tables are refused. The query opens a table, so that the server notices schemas and tables
    that others made since the transaction began: a reused connection may have cached them.
    """
    query = "SELECT obj_description(oid, 'pg_class') FROM pg_class WHERE oid = to_regclass('head')"
    comments = connection.execute(query).fetchone()
    mark = comments[0] if comments else None
    if comments and mark != MARK:
        what = "was written by another version of gaugedp" if str(mark).startswith("gaugedp ") else "is not a ledger"
        raise LedgerRefused(f"The table head in {name} {what}.", "Use another schema: …?ledger=people.")
    return comments is not None


def create(connection: Any, schema: str) -> None:
    """Create the schema if absent, tables, guards and the initial head."""
    (is_there,) = connection.execute("SELECT to_regnamespace(quote_ident(%s)) IS NOT NULL", [schema]).fetchone()
    if not is_there:
        connection.execute(f'CREATE SCHEMA "{schema}"')
    for statement in _TABLES:
        connection.execute(statement)
    for function, body in _FUNCTIONS.items():
        connection.execute(f"CREATE FUNCTION {function}() RETURNS trigger LANGUAGE plpgsql AS $guard${body}$guard$")
    for guard, (moment, _, function) in _GUARDS.items():
        connection.execute(f"CREATE TRIGGER {guard} {moment} EXECUTE FUNCTION {function}()")
    connection.execute("INSERT INTO head VALUES (1, %s, %s, %s)", [NOTHING.entries, NOTHING.spent, NOTHING.tip])


def damage(connection: Any) -> list[str]:
    """Return sentences about changed guards and missing indexes."""
    faults = []
    if connection.execute(_KEPT_INDEXES).fetchone() != (2,):
        faults.append("A unique index of the entries is missing.")
    guards = [(name, kind, "O", _FUNCTIONS[function]) for name, (_, kind, function) in _GUARDS.items()]
    if connection.execute(_KEPT_GUARDS).fetchall() != guards:
        faults.append(GUARDS_CHANGED)
    return faults
