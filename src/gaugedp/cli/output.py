"""Output of a command: files, printed text and the account."""

import os
import shlex
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import click

from gaugedp._internal.files import part_prefix
from gaugedp.cli.stage import stage
from gaugedp.entropy import system_rng
from gaugedp.errors import GaugedpError
from gaugedp.guarantees.printed import rounded_left, rounded_up
from gaugedp.ledger import Ledger
from gaugedp.ledger.header import check_text


@contextmanager
def handed_over(what: str) -> Iterator[None]:
    """Guard output: report a failure with the request's key."""
    again = f"--key {shlex.quote(stage.key)}"
    try:
        with written(what, again, f"The {what} is charged and stored in the ledger; with that key it costs nothing."):
            yield
            sys.stdout.flush()
    except BrokenPipeError:  # such as `| head`: no error, and click ends the command silently
        click.echo(f"The output was closed early: {again} shows it again, at no cost.", err=True)
        raise


@contextmanager
def written(what: str, again: str, kept: str) -> Iterator[None]:
    """Guard writing: a failure names the option to run again."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        sentence = f"The {what} could not be written ({error.strerror})."
        raise GaugedpError(sentence, f"Free disk space and run this again with {again}.", kept) from None


def hand_over(
    what: str, writers: Sequence[tuple[Callable[[Path], object], str | None]], show: Callable[[], None]
) -> None:
    """Write the files whose paths are given, then show."""
    with handed_over(what):
        for write, path in writers:
            if path is not None:
                write_beside(Path(path), write)
        show()


def stored_before(what: str, account: Mapping[str, Any]) -> str:
    """Return the sentence that `what` was in the ledger already."""
    entry = account["entry"]
    return f"This is the stored {what} of entry {entry}, charged earlier; nothing was read and nothing was spent now."


def show_payment(what: str, account: Mapping[str, Any], stored: Ledger | None, beside: str = "") -> None:
    """Print what was spent, or that `what` was stored."""
    if stored is not None:
        click.echo(stored_before(what, account) + beside)
    show_account(account, stored)


def show_account(account: Mapping[str, Any], stored: Ledger | None, again: str | None = None) -> None:
    """Print what was spent; if `stored`, the current balance."""
    now, entries = account, ""
    if stored is None:
        entries = f"Entry {account['entry']} records the charge, and a later entry the result. "
        click.echo(again or f"To get this answer again at no cost, add --key {shlex.quote(stage.key)}.")
    else:
        last = stored.entries()[-1]
        now = {**account, **stored.balance, "entry": last.number, "tip": last.tip}
    click.echo(
        f"Spent {rounded_up(now['spent'])} of {rounded_up(now['budget'])}; "
        f"{rounded_left(now['remaining'], now['budget'])} is left. {entries}"
        f"Tip after entry {now['entry']}: {now['tip']}"
    )


def checked_key(key: str | None) -> str:
    """Return a valid key; by default a random one."""
    if key is None:
        return system_rng().bytes(16).hex()
    check_text("The key", key)
    return key


def save(path: str, write: Callable[[Path], object]) -> None:
    """Write a file that costs nothing; report a failure."""
    try:
        write_beside(Path(path), write)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise GaugedpError(
            f"{path!r} could not be written ({error.strerror}).",
            "Free disk space, or choose another file.",
            "Nothing was spent.",
        ) from None


def write_beside(path: Path, write: Callable[[Path], object]) -> None:
    """Write to a temporary file, then replace `path`.

    A full disk thus leaves the old file; a pipe or device receives the complete bytes.
    """
    stream, was_there = _standard_stream(path), path.exists()
    if stream is not None or (was_there and not path.is_file()):
        _pass_on(path, stream, write)
        return
    target = path.resolve()
    descriptor, name = tempfile.mkstemp(prefix=part_prefix(target.parent), dir=target.parent)
    os.close(descriptor)
    part = Path(name)
    try:
        write(part)
        part.chmod(target.stat().st_mode if was_there else 0o666 & ~_umask())
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
    if was_there:
        click.echo(f"{path} existed already and was overwritten.", err=True)


def is_kept(path: str) -> bool:
    """Return True if `path` is a file, not a stream."""
    return _standard_stream(Path(path)) is None and Path(path).is_file()


def _standard_stream(path: Path) -> BinaryIO | None:
    place = os.path.abspath(path)
    if place in ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"):
        return sys.stdout.buffer
    return sys.stderr.buffer if place in ("/dev/stderr", "/dev/fd/2", "/proc/self/fd/2") else None


def _pass_on(path: Path, stream: BinaryIO | None, write: Callable[[Path], object]) -> None:
    with tempfile.TemporaryDirectory(prefix="gaugedp-") as folder:
        part = Path(folder) / "part"
        write(part)
        if stream is None:
            path.write_bytes(part.read_bytes())
        else:
            stream.write(part.read_bytes())
            stream.flush()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
