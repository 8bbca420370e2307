"""Files of a command: written beside their place first, under names that nothing else has."""

import os
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

from gaugedp.entropy import system_rng
from gaugedp.errors import InvalidRequest, LedgerRefused
from gaugedp.ledger import Ledger
from gaugedp.ledger.account import check_text


def checked_key(key: str | None) -> str:
    """Return the key of a request, a new one where none is given."""
    if key is None:
        return system_rng().bytes(16).hex()
    check_text("The key", key)
    return key


def check_new(written: Iterable[str | None], ledger_path: str, key: str | None) -> None:
    """Refuse to write over a file, which may hold what was paid for, unless the request's own `key` is answered."""
    there = [path for path in written if path is not None and Path(path).is_file()]
    if there and (key is None or not _is_answered(ledger_path, key)):
        raise InvalidRequest(
            f"There is a file {there[0]} already.",
            "Name another: what is in it would be lost. The --key of an earlier release may write its own again.",
        )


def _is_answered(ledger_path: str, key: str) -> bool:
    try:
        entries = Ledger.open(ledger_path).entries()
    except (InvalidRequest, LedgerRefused):  # there is none yet, or it will refuse the request itself
        return False
    return any(entry.key == key and entry.kind == "settle" for entry in entries)


def write_beside(path: Path, write: Callable[[Path], None]) -> None:
    """Write beside `path` first, so that a full disk leaves what was there; a pipe or device is written as it is."""
    target = path.resolve()
    if target.exists() and not target.is_file():
        write(target)
        return
    descriptor, name = tempfile.mkstemp(prefix=".gaugedp-", dir=target.parent)
    os.close(descriptor)
    part = Path(name)
    try:
        write(part)
        part.chmod(target.stat().st_mode if target.exists() else 0o666 & ~_umask())
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
