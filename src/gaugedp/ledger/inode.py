"""The lock of the ledger file itself, whatever name it has."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

try:
    import fcntl
except ImportError:  # a system without it mounts no files
    fcntl = None  # type: ignore[assignment]


@contextmanager
def held(path: Path, write: bool) -> Iterator[None]:
    """Hold the file at `path`: nobody else beside a writer, readers beside a reader; else raise BlockingIOError.

    SQLite's own lock of writers lies beside the name, so that two names have two. Closing the file drops every lock
    that SQLite has on it in this process, so this encloses a connection, and happens in turn.
    """
    with path.open("rb", buffering=0) as file:
        if fcntl is None:
            yield
            return
        fcntl.flock(file, (fcntl.LOCK_EX if write else fcntl.LOCK_SH) | fcntl.LOCK_NB)
        try:
            yield
        finally:
            fcntl.flock(file, fcntl.LOCK_UN)  # closing alone leaves it to a child that has not yet begun its program
