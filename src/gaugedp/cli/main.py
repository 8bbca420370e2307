"""`gaugedp`: the command line."""

import gc
import io
import os
import sys
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import click

from gaugedp.cli.commands import Commands
from gaugedp.cli.stage import stage
from gaugedp.errors import UNTOUCHED, GaugedpError, HopelessFit, NotDurable

SPIN = "10"  # log₂ of the processor cycles that a thread of OpenBLAS waits; its default is 26


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="gaugedp", prog_name="gaugedp")
def cli() -> None:
    """Publish statistics about people with differential privacy.

    Start with a domain file, which describes your table (gaugedp domain). Then see how precise the answers to a query
    would be (gaugedp plan), and publish the answers (gaugedp release). `gaugedp COMMAND --help` explains each command.

    Exit codes: 0 success; 2 wrong input; 3 refused by the ledger; 1 a failure after the charge, or a violation that an
    audit found. With the codes 2 and 3, nothing was read or spent.
    """


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit with its code.

    numpy's threads wait for the next matrix product at full load: here only for a microsecond.
    """
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", SPIN)
    gc.set_threshold(50_000)  # imports make 500,000 objects that stay
    sys.exit(run(arguments))


def run(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    stage.clear()
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal without ± shows "?"
    try:
        with warnings.catch_warnings():
            warnings.showwarning = partial(_show_warning, warnings.showwarning)
            code = cli.main(arguments, prog_name="gaugedp", standalone_mode=False)
    except GaugedpError as error:
        return _fail(str(error), 1 if stage.has_paid else error.exit_code)
    except click.ClickException as error:
        error.show()
        return _fail(UNTOUCHED, 2)
    except (click.Abort, KeyboardInterrupt):
        return _fail(f"Interrupted. {stage.consequence}", 130)
    return code if isinstance(code, int) else 0


def _show_warning(show: Callable[..., None], message: Warning | str, category: type[Warning], *place: Any) -> None:
    if issubclass(category, NotDurable | HopelessFit):
        click.echo(f"Remark: {message}", err=True)
    else:
        show(message, category, *place)


def _fail(sentence: str, code: int) -> int:
    click.echo(sentence, err=True)
    return code
