"""Files of a command: written beside their place first, under names that nothing else has."""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import click

from gaugedp.entropy import system_rng
from gaugedp.ledger.header import check_text


def checked_key(key: str | None) -> str:
    """Return the key of a request, a new one where none is given."""
    if key is None:
        return system_rng().bytes(16).hex()
    check_text("The key", key)
    return key


def write_beside(path: Path, write: Callable[[Path], None]) -> None:
    """Write beside `path` first, so that a full disk leaves what was there; a pipe or device is written as it is.

    That a file was there already is told: it may have held what was paid for.
    """
    target, was_there = path.resolve(), path.exists()
    if was_there and not target.is_file():
        write(target)
        return
    descriptor, name = tempfile.mkstemp(prefix=".gaugedp-", dir=target.parent)
    os.close(descriptor)
    part = Path(name)
    try:
        write(part)
        part.chmod(target.stat().st_mode if was_there else 0o666 & ~_umask())
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
    if was_there:
        click.echo(f"{path} was there before, and was written over.", err=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
