"""Command groups, with lazy imports and suggestions for mistyped names."""

import importlib
import re
import shlex
from difflib import get_close_matches

import click

_SUGGESTIONS = {
    "show": "gaugedp ledger show PATH",
    "verify": "gaugedp ledger verify PATH",
    "open": "gaugedp ledger open PATH --budget B",
    "report": "gaugedp release … --report FILE, or gaugedp ledger report PATH --out FILE",
}


COMMANDS = {  # in the order of work, with one line of help, so that --help imports none of them
    "domain": "Write a domain file to fill in, from column names alone.",
    "check": "Show the custodian the out-of-domain values of a table.",
    "plan": "Compare the mechanisms for a query, or plan a fit; reads no data.",
    "explore": "Write a page that shows error against epsilon; reads no data.",
    "geometry": "Describe the sensitivity body of a query, and bounds on the error; reads no data.",
    "guarantee": "Show how well a membership test can do under a guarantee; reads no data.",
    "release": "Answer a query from a table and charge the ledger.",
    "keys": "Select the categories of a column that enough people share (partition selection).",
    "sql": "Answer a SELECT of aggregates, as release does; without a table, translate it.",
    "derive": "Compute shares, changes and other statistics from a release, at no cost.",
    "publish": "Publish all tables of a file for one charge, with a page and a manifest.",
    "rows": "Write synthetic rows that match stored tables of counts, at no cost.",
    "stream": "Answer a query for each period of a year or more, for one charge.",
    "fit": "Fit a model to a table and charge the ledger.",
    "predict": "Predict for each line of a table with a fitted model.",
    "recommend": "Recommend items to one user, with a model of ratings.",
    "ledger": "Open, show or verify a ledger, or report on a year.",
    "audit": "Test a mechanism on two neighbouring answers.",
    "doctor": "Check the installation, and a folder for ledgers.",
    "completion": "Print a script that completes commands in a shell.",
}


class Commands(click.Group):
    """Commands of `gaugedp`, each in the module of its name."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command."""
        del ctx
        if cmd_name not in COMMANDS:
            return None
        return getattr(importlib.import_module(f"gaugedp.cli.{cmd_name}"), cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the named command, or suggest where to find it."""
        if args[0] in _SUGGESTIONS and not ctx.resilient_parsing:
            ctx.fail(f"No such command {args[0]!r}. Write: {_SUGGESTIONS[args[0]]}")
        near = get_close_matches(args[0], COMMANDS, n=1)
        if near and args[0] not in COMMANDS and not ctx.resilient_parsing:
            ctx.fail(f"No such command {args[0]!r}. Did you mean {near[0]!r}?")
        return super().resolve_command(ctx, args)


class LedgerCommands(click.Group):
    """Commands of `gaugedp ledger`."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the named command, or suggest `show`."""
        if not args[0].isalpha() and not ctx.resilient_parsing:
            ctx.fail(f"A command is missing. Write: gaugedp ledger show {shlex.quote(without_password(args[0]))}")
        return super().resolve_command(ctx, args)


def without_password(path: str) -> str:
    """Remove user name and password from an address."""
    return re.sub(r"://[^@/]*@", "://", path)
