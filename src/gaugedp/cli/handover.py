"""What a command hands over once it is paid for: files, then what is printed, and the account in a line."""

import shlex
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import click

from gaugedp.cli.stage import stage
from gaugedp.errors import GaugedpError
from gaugedp.guarantees.printed import rounded_left, rounded_up
from gaugedp.ledger import Ledger


@contextmanager
def handed_over(what: str) -> Iterator[None]:
    """Write and print inside; trouble with that is told with the key under which `what` is kept."""
    again = f"--key {shlex.quote(stage.key)}"
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:  # such as `| head`: nothing is wrong, and click ends the command quietly
        click.echo(f"The output was closed early: {again} shows it again, at no cost.", err=True)
        raise
    except OSError as error:
        raise GaugedpError(
            f"The {what} could not be written ({error.strerror}).",
            f"Make room and run this again with {again}.",
            f"The {what} is paid for and kept in the ledger; under that key it costs nothing.",
        ) from None


def stored_before(what: str, account: Mapping[str, Any]) -> str:
    """Say that `what` was in the ledger already."""
    entry = account["entry"]
    return f"This is the stored {what} of entry {entry}, paid for before; nothing was read and nothing was spent now."


def show_account(account: Mapping[str, Any], stored: Ledger | None) -> None:
    """Print what was spent; where the answer was `stored` in a ledger before, with its balance of now."""
    now = account if stored is None else {**account, **_balance(stored)}
    if stored is None:
        click.echo(f"The same again costs nothing with --key {shlex.quote(stage.key)}; without it, it is paid anew.")
    click.echo(
        f"Spent {rounded_up(now['spent'])} of {rounded_up(now['budget'])}; "
        f"{rounded_left(now['remaining'], now['budget'])} is left. "
        f"Tip after entry {now['entry']}: {now['tip']}"
    )


def _balance(ledger: Ledger) -> dict[str, Any]:
    last = ledger.entries()[-1]
    return {**ledger.balance, "entry": last.number, "tip": last.tip}
