"""Locks of this process and of ledger files, with waiting."""

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gaugedp.errors import LedgerRefused
from gaugedp.ledger.store import T

process_lock = threading.RLock()  # `fork` also waits for it, so that no child inherits an open transaction


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
    """Retry `attempt()` for at most `seconds` while a lock is held.

    `judge` decides for each of the store's `failures` whether to wait, and returns the refusal. Nothing of the failure
    itself remains in what is raised. A failed attempt must have stored nothing.
    """
    deadline = time.monotonic() + seconds
    while True:
        try:
            return attempt()
        except failures as failure:
            is_busy, refusal = judge(failure)
        if not is_busy or time.monotonic() >= deadline:
            raise refusal
        time.sleep(os.urandom(1)[0] / 8000)  # up to 32 ms of jitter, so that waiting processes do not retry together


try:
    import fcntl
except ImportError:  # not available on this system
    fcntl = None  # type: ignore[assignment]


@contextmanager
def held(path: Path, write: bool) -> Iterator[None]:
    """Lock the file at `path`, or raise BlockingIOError.

    A writer excludes all others; readers share the lock. SQLite's own lock of writers depends on the file name, so that
    two names have two locks. Closing the file drops every lock that SQLite has on it in this process, so this encloses
    a connection, and callers take turns.
    """
    with path.open("rb", buffering=0) as file:
        if fcntl is None:
            yield
            return
        fcntl.flock(file, (fcntl.LOCK_EX if write else fcntl.LOCK_SH) | fcntl.LOCK_NB)
        try:
            yield
        finally:
            fcntl.flock(file, fcntl.LOCK_UN)  # closing is not enough: a child before its exec still holds the lock
