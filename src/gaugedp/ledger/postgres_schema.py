"""The tables of a ledger in a PostgreSQL schema, and the server's refusals in plain words."""

import re
from typing import Any

from gaugedp.errors import InvalidRequest, LedgerRefused
from gaugedp.ledger.chain import NOTHING
from gaugedp.ledger.sql import GUARDS_CHANGED, altered, gone

MARK = "gaugedp ledger 1"  # the comment on the table `head`: what it is, and the version of the tables
CREATING = 0x6744504C  # the advisory lock of those who create ledgers
NAME = "gaugedp"  # the schema where the address names none
_ATTEMPT = 1000  # milliseconds the server itself waits for the lock; then we ask again
_FROZEN = 60_000  # milliseconds after which the server ends a transaction whose client says nothing

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
_GUARDS = {  # name: (what it guards against, its kind in pg_trigger, its function)
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

# first the path of schemas, by a name in full: who may create in another schema could replace the server's words
_BEGIN = f"""BEGIN ISOLATION LEVEL {{kind}};
SELECT pg_catalog.set_config('search_path', '"{{schema}}", pg_temp', true);
SELECT set_config('synchronous_commit', CASE current_setting('synchronous_commit')
        WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, true),
    set_config('lock_timeout', '{_ATTEMPT}', true),
    set_config('idle_in_transaction_session_timeout', '{_FROZEN}', true),
    current_setting('fsync') || current_setting('full_page_writes')"""

_REACH = ("cannot be reached, or its server does not let this user in", "Check the address, the user and the password.")
_RIGHTS = ("may not be used by this user", "Ask for the right to read and write its tables, or to create them.")
_FULL = ("cannot be written: the server's disk is full or failing", "Make room on the server.")
BUSY = {"55P03", "40001", "40P01", "53300", "57P03"}
_WORDS = {
    **dict.fromkeys(BUSY, ("is locked by another process", "Try again when it has finished, or wait longer.")),
    **dict.fromkeys(("53300", "57P03"), ("cannot be used: its server is too busy, or starting", "Try again later.")),
    **dict.fromkeys(("42501", "28000", "28P01"), _RIGHTS),
    **dict.fromkeys(("53100", "58030", "53200", "54000"), _FULL),
    "3D000": ("is in a database that does not exist", "Check the address, or create the database."),
    "25006": ("is read-only: its server takes no changes", "Use the address of the primary server."),
    "42P07": ("cannot be created: other tables have its place", "Name another schema: …?ledger=people."),
    "57P01": ("lost its connection: the server was stopped", "Try again when it runs."),
    "57P02": ("lost its connection: the server failed", "Try again when it runs."),
    "57014": ("was not used: the server stopped the statement", "Try again, or ask for more time."),
    "25P03": ("lost its connection: it was silent for too long", "Try again."),
}


def schema_name(said: str | None) -> str:
    """Return the schema of the ledger that the address names; refuse what PostgreSQL would shorten or keep."""
    name = NAME if said is None else said
    if not re.fullmatch(r"(?!pg_)[A-Za-z_][A-Za-z0-9_-]{0,62}", name):
        raise InvalidRequest(
            "The name of the ledger is not a name.", "Use 1 to 63 letters, digits and underscores: …?ledger=people."
        )
    return name


def refusal(sqlstate: str | None, name: str) -> LedgerRefused:
    """Return the refusal for the server's `sqlstate`, None where there was no answer; nothing of its message."""
    if sqlstate in ("42P01", "3F000"):
        return gone(name)
    words = _REACH if sqlstate is None or sqlstate.startswith("08") else _WORDS.get(sqlstate)
    if words is None and sqlstate is not None and sqlstate[:2] in ("53", "54", "58", "XX"):
        words = _FULL
    return altered(name) if words is None else LedgerRefused(f"The ledger {name} {words[0]}.", words[1])


def unsure(name: str) -> LedgerRefused:
    """Return the refusal where the connection broke while the server was writing."""
    return LedgerRefused(
        f"The connection to the ledger {name} broke while it was written.",
        "Look at its entries, and ask again.",
        "Nothing was read; what was asked for may be spent.",
    )


def begin(connection: Any, schema: str, write: bool) -> bool:
    """Begin a transaction in `schema`; return whether the server waits for its disk at a commit."""
    kind = "READ COMMITTED READ WRITE" if write else "REPEATABLE READ READ ONLY"
    answers = connection.execute(_BEGIN.format(kind=kind, schema=schema))
    while answers.nextset():
        pass
    *_, disk = answers.fetchone()
    return bool(disk == "onon")


def lock(connection: Any) -> None:
    """Exclude other writers until the transaction ends; what is read after this is the latest that was committed."""
    connection.execute("SELECT one FROM head FOR UPDATE")


def is_there(connection: Any, name: str) -> bool:
    """Return whether the schema of the transaction has a ledger; refuse one of another version, and other tables.

    The query opens a table, for then the server hears of schemas and tables that others made since the transaction
    began: a connection that was used before may know them by heart.
    """
    query = "SELECT obj_description(oid, 'pg_class') FROM pg_class WHERE oid = to_regclass('head')"
    comments = connection.execute(query).fetchone()
    mark = comments[0] if comments else None
    if comments and mark != MARK:
        what = "was written by another version of gaugedp" if str(mark).startswith("gaugedp ") else "is no ledger"
        raise LedgerRefused(f"The table head in {name} {what}.", "Name another schema: …?ledger=people.")
    return comments is not None


def create(connection: Any, schema: str) -> None:
    """Create the schema where there is none, the tables, the guards and the head before its first entry."""
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
    """Return a sentence where guards are not the original, and where an index that keeps entries apart is gone."""
    faults = []
    if connection.execute(_KEPT_INDEXES).fetchone() != (2,):
        faults.append("An index that keeps entries apart is gone.")
    guards = [(name, kind, "O", _FUNCTIONS[function]) for name, (_, kind, function) in _GUARDS.items()]
    if connection.execute(_KEPT_GUARDS).fetchall() != guards:
        faults.append(GUARDS_CHANGED)
    return faults
