"""A private PostgreSQL server: made in a temporary folder, reached by a socket in it, gone with the process.

`postgres` is the fixture: the server that all tests of a process share. Where the machine has no PostgreSQL, or no
psycopg, tests that ask for it are skipped. A module that uses it imports it: `from tests.postgres import postgres`.
"""

import atexit
import functools
import io
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

# gives up the rights of root, which PostgreSQL refuses, and asks to be told (SIGINT: stop now) when its parent dies
LAUNCH = """
import ctypes, os, resource, sys
owner, limit, *command = sys.argv[1:]
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(int(owner.split(":")[1]))
    os.setuid(int(owner.split(":")[0]))
if limit != "0":
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit), int(limit)))
try:
    ctypes.CDLL(None).prctl(1, 2)
except AttributeError:
    pass
os.chdir("/")
os.execv(command[0], command)
"""
SETTINGS = ("listen_addresses=", "max_connections=60", "shared_buffers=16MB", "fsync=on", "logging_collector=off")
PATIENCE = 60  # seconds for a server to start or stop
_numbers = count(1)
_kept: list[Any] = []  # managers: from Python 3.13 on a forked child ends what atexit alone holds


class Server:
    """A server in `folder`; `start` it, and `stop` it in PostgreSQL's modes "fast" and "immediate" (a crash)."""

    def __init__(self, folder: Path, settings: tuple[str, ...] = (), file_limit: int = 0) -> None:
        self.folder, self._settings, self._limit = folder, (*SETTINGS, *settings), file_limit
        self.process: subprocess.Popen[bytes] | None = None

    def url(self, database: str = "postgres", user: str = "keeper", **words: str) -> str:
        """The address of a database, with words such as ledger="people" after it."""
        said = "".join(f"&{word}={quote(value)}" for word, value in words.items())
        return f"postgresql://{user}@/{database}?host={quote(str(self.folder), safe='')}{said}"

    def new_ledger(self) -> str:
        """An address under which there is no ledger yet."""
        return self.url(ledger=f"l{os.getpid()}_{next(_numbers)}")

    def execute(self, *statements: str, database: str = "postgres") -> list[tuple]:
        """Run statements as the keeper, who may do everything; return the rows of the last."""
        import psycopg

        with psycopg.connect(self.url(database), autocommit=True, client_encoding="utf8") as connection:
            cursor = connection.cursor()
            for statement in statements:
                cursor.execute(statement)
            return cursor.fetchall() if cursor.description else []

    def table(self, rows: Any) -> str:
        """The address of a new table with the rows of an arrow table."""
        import psycopg
        from pyarrow import csv

        name = f"t{os.getpid()}_{next(_numbers)}"
        types = ", ".join(f"{_quoted(field.name)} {_type_name(field.type)}" for field in rows.schema)
        text = io.BytesIO()
        csv.write_csv(rows, text, csv.WriteOptions(include_header=False))
        with psycopg.connect(self.url(), autocommit=True) as connection, connection.cursor() as cursor:
            cursor.execute(f"CREATE TABLE {name} ({types})")
            with cursor.copy(f"COPY {name} FROM STDIN (FORMAT csv)") as copy:
                copy.write(text.getvalue())
        return self.url(table=name)

    def make(self) -> None:
        """Make the database cluster."""
        command = [_binary("initdb"), "-D", self._data, "-U", "keeper", "-A", "trust", "-E", "UTF8", "--no-locale"]
        with self._launch([*command, "--no-sync"]) as process:
            assert process.wait() == 0, "initdb failed"

    def start(self) -> None:
        """Start, and return when connections are taken."""
        settings = [*self._settings, f"unix_socket_directories={self.folder}"]
        options = [word for setting in settings for word in ("-c", setting)]
        self.process = self._launch([_binary("postgres"), "-D", self._data, *options])
        deadline = time.monotonic() + PATIENCE
        while not self._answers():
            assert self.process.poll() is None, "the server stopped"
            assert time.monotonic() < deadline, "the server does not start"
            time.sleep(0.05)

    def stop(self, mode: str = "fast") -> None:
        """Stop; "immediate" writes nothing more, as in a crash."""
        if self.process is not None:
            self.process.send_signal({"fast": signal.SIGINT, "immediate": signal.SIGQUIT}[mode])
            self.process.wait(PATIENCE)
            self.process = None

    def restart(self, mode: str = "immediate") -> None:
        """Stop and start."""
        self.stop(mode)
        self.start()

    def mend(self) -> None:
        """Start again after a crash that somebody else caused."""
        if self.process is not None:
            self.process.wait(PATIENCE)
        self.start()

    @property
    def _data(self) -> str:
        return str(self.folder / "data")

    def _launch(self, command: list[str]) -> "subprocess.Popen[bytes]":
        owner = self.folder.stat()
        words = [sys.executable, "-c", LAUNCH, f"{owner.st_uid}:{owner.st_gid}", str(self._limit), *command]
        return subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def _answers(self) -> bool:
        import psycopg

        try:
            psycopg.connect(self.url()).close()
        except psycopg.OperationalError:
            return False
        return True


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _type_name(kind: Any) -> str:
    import pyarrow as pa

    names = {
        pa.int8(): "smallint", pa.int16(): "smallint", pa.int32(): "integer", pa.int64(): "bigint",
        pa.uint64(): "numeric", pa.float32(): "real", pa.float64(): "double precision", pa.bool_(): "boolean",
        pa.date32(): "date", pa.timestamp("us"): "timestamp", pa.time64("us"): "time",
    }  # fmt: skip
    if pa.types.is_decimal(kind):
        return f"numeric({kind.precision}, {kind.scale})"
    return names.get(kind, "text")


def missing() -> str | None:
    """What keeps a server from being started here, None where nothing does."""
    if find_spec("psycopg") is None:
        return "psycopg is not installed"
    if _binary("initdb") is None or _binary("postgres") is None:
        return "PostgreSQL is not installed"
    return None


@contextmanager
def private_server(*settings: str, file_limit: int = 0) -> Iterator[Server]:
    """A server of its own, for tests that stop it or change it; files beyond `file_limit` bytes cannot be written."""
    with _folder() as folder:
        server = Server(folder, settings, file_limit)
        server.make()
        server.start()
        try:
            yield server
        finally:
            server.stop()


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="gd-pg-", ignore_cleanup_errors=True) as name:
        if os.geteuid() == 0:
            user = _other_user()
            os.chown(name, user.pw_uid, user.pw_gid)
        yield Path(name)


def _other_user() -> pwd.struct_passwd:
    """Somebody who is not root: the server's own user where there is one."""
    names = {user.pw_name: user for user in pwd.getpwall() if user.pw_uid != 0}
    return names.get("postgres") or names.get("nobody") or next(iter(names.values()))


@functools.cache
def _binary(name: str) -> str | None:
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return shutil.which(name) or next((str(at / name) for at in folders if (at / name).exists()), None)


@functools.cache
def shared_server() -> Server:
    """The server of this process, started when it is first asked for, stopped at the end."""
    manager = private_server()
    server = manager.__enter__()
    _kept.append(manager)
    atexit.register(manager.__exit__, None, None, None)
    return server


@pytest.fixture(scope="session")
def postgres() -> Server:
    """The server that tests share."""
    reason = missing()
    if reason is not None:
        pytest.skip(reason)
    return shared_server()
