"""PostgreSQL servers: their addresses, and connections to them. The only file that imports psycopg."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote_plus

from gaugedp.errors import InvalidRequest, MissingExtra

if TYPE_CHECKING:
    import psycopg

_SCHEME = re.compile(r"postgres(ql)?://", re.IGNORECASE)
_NO_PATH = re.compile(r"(?is)\s*[a-z][a-z0-9+.-]+:/|(.*\s)?(host|hostaddr|password|dbname|service)\s*=")
_PLAIN = re.compile(r"[A-Za-z0-9_.,:\[\]-]*")  # what of an address is shown: nothing that a password may hide in
_SECRET = re.compile("password|secret|scram_.*_key")  # the parameters of an address that are secrets
_USUAL = {"keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3, "tcp_user_timeout": 60_000}
_OURS = {"client_encoding": "utf8", "application_name": "gaugedp"}


def is_address(source: object) -> bool:
    """Return whether `source` is the address of a PostgreSQL server."""
    return isinstance(source, str) and _SCHEME.match(source) is not None


def is_no_path(text: str) -> bool:
    """Return whether `text` is an address of some kind rather than the path of a file: it may hold a password."""
    return _NO_PATH.match(text) is not None


@dataclass(frozen=True)
class Address:
    """A database on a server. `shown` is what messages call it: it has neither user nor password."""

    shown: str
    _parameters: Mapping[str, Any] = field(repr=False)

    @classmethod
    def parse(cls, url: str, word: str) -> "tuple[Address, str | None]":
        """Return the address, and what it says for our own `word`: "…?word=this", or None.

        Raises InvalidRequest where it is no address, with no part of it in the message.
        """
        before, _, query = url.partition("?")
        options = [option for option in query.split("&") if option]
        ours = [option for option in options if option.startswith(f"{word}=")]
        others = "&".join(option for option in options if option not in ours)
        parameters = _parameters(f"{before}?{others}" if others else before)
        if parameters is None or len(ours) > 1:
            raise InvalidRequest(
                "The address of the server cannot be read.",
                f"Write it like postgresql://user@host:5432/database?{word}=people.",
            )
        said = unquote_plus(ours[0].partition("=")[2]) if ours else None
        return cls(_shown(parameters), parameters), said

    def connect(self, seconds: float) -> "psycopg.Connection[Any]":
        """Return a new connection that commits each statement, made in at most about `seconds`; psycopg's errors."""
        limit = min(max(2, int(seconds)), 3600)
        parameters = {"connect_timeout": limit, **_USUAL, **self._parameters, **_OURS}
        connection: psycopg.Connection[Any] = driver().connect(**parameters, autocommit=True)
        connection.prepare_threshold = None  # so that a pooler may stand in between
        return connection

    def without_password(self) -> "Address":
        """Return the address to be kept elsewhere: the password is then found by PGPASSWORD or a password file."""
        parameters = {name: value for name, value in self._parameters.items() if not _SECRET.search(name)}
        return Address(self.shown, parameters)


def driver() -> Any:
    """Return the module psycopg; MissingExtra where it is not installed."""
    try:
        import psycopg
        import psycopg.conninfo
    except ImportError:
        raise MissingExtra.needed_for("A PostgreSQL server", "postgres") from None
    return psycopg


def _parameters(url: str) -> dict[str, Any] | None:
    psycopg = driver()
    try:
        return dict(psycopg.conninfo.conninfo_to_dict(url))
    except (psycopg.Error, ValueError):
        return None


def _shown(parameters: Mapping[str, Any]) -> str:
    host, port, database = (str(parameters.get(name) or "") for name in ("host", "port", "dbname"))
    place = host if _PLAIN.fullmatch(host) else ""
    place += f":{port}" if re.fullmatch(r"[0-9,]+", port) else ""
    return f"postgresql://{place}/{database if _PLAIN.fullmatch(database) else ''}"
