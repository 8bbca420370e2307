"""Addresses of PostgreSQL servers, and connections; the only file that imports psycopg."""

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
_PLAIN = re.compile(r"[A-Za-z0-9_.,:\[\]-]*")  # the visible part of an address, which cannot contain a password
_SECRET = re.compile("password|secret|scram_.*_key")  # the parameters of an address that are secrets
_USUAL = {"keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3, "tcp_user_timeout": 60_000}
_OURS = {"client_encoding": "utf8", "application_name": "gaugedp"}


def is_address(source: object) -> bool:
    return isinstance(source, str) and _SCHEME.match(source) is not None


def is_no_path(text: str) -> bool:
    """Return True for an address rather than a path: it may contain a password."""
    return _NO_PATH.match(text) is not None


@dataclass(frozen=True)
class Address:
    """Database on a server; `shown` names it in messages, without user and password."""

    shown: str
    _parameters: Mapping[str, Any] = field(repr=False)

    @classmethod
    def parse(cls, url: str, word: str) -> "tuple[Address, str | None]":
        """Return the address, and its value of our parameter `word`.

        It is "this" in "…?word=this", or None. InvalidRequest, without any part of it, if it is not an address.
        """
        before, _, query = url.partition("?")
        options = [option for option in query.split("&") if option]
        ours = [option for option in options if option.startswith(f"{word}=")]
        others = "&".join(option for option in options if option not in ours)
        parameters = _parameters(f"{before}?{others}" if others else before)
        if parameters is None or len(ours) > 1:
            raise InvalidRequest(
                "The address of the PostgreSQL server is not valid.",
                f"Write it as postgresql://user@host:5432/database?{word}=people.",
            )
        said = unquote_plus(ours[0].partition("=")[2]) if ours else None
        return cls(_shown(parameters), parameters), said

    def connect(self, seconds: float) -> "psycopg.Connection[Any]":
        """Return a new autocommit connection within about `seconds`."""
        limit = min(max(2, int(seconds)), 3600)
        parameters = {"connect_timeout": limit, **_USUAL, **self._parameters, **_OURS}
        connection: psycopg.Connection[Any] = driver().connect(**parameters, autocommit=True)
        connection.prepare_threshold = None  # so that a pooler may stand in between
        return connection

    def without_password(self) -> "Address":
        """Return the address without its password, for storage: PGPASSWORD or a password file then provides it."""
        parameters = {name: value for name, value in self._parameters.items() if not _SECRET.search(name)}
        return Address(self.shown, parameters)


def driver() -> Any:
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
