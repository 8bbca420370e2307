"""The locks of this process and of a ledger file, whatever name it has, and waiting for other processes."""

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gaugedp.errors import LedgerRefused
from gaugedp.ledger.store import T

process_lock = threading.RLock()  # `fork` waits for it too, so that no child inherits an open transaction


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=process_lock.acquire, after_in_parent=process_lock.release, after_in_child=process_lock.release
    )


def retry_while_locked(
    attempt: Callable[[], T],
    seconds: float,
    failures: type[Exception] | tuple[type[Exception], ...],
    judge: Callable[[Any], tuple[bool, LedgerRefused]],
) -> T:
    """Return `attempt()`, tried again for at most `seconds` while another holds the lock.

    `judge` tells of each of the store's `failures` whether to wait, and the refusal that says it in words. Nothing of
    the failure itself is left in what is raised. An attempt that fails must have kept nothing.
    """
    deadline = time.monotonic() + seconds
    while True:
        try:
            return attempt()
        except failures as failure:
            is_busy, refusal = judge(failure)
        if not is_busy or time.monotonic() >= deadline:
            raise refusal
        time.sleep(os.urandom(1)[0] / 8000)  # up to 32 ms, so that waiting processes do not march in step


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
