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
    "check": "Show values in a table that do not fit its domain file (not private).",
    "plan": "Show the expected errors of a query or of a fit, without reading data.",
    "explore": "Write a page that helps to choose epsilon, without reading data.",
    "geometry": "Describe the sensitivity body of a query, and bounds on its error.",
    "guarantee": "Show what a guarantee means, or epsilon of a training run.",
    "release": "Publish private answers to a query about a table.",
    "keys": "Publish the categories of a column that enough people share.",
    "sql": "Publish private answers to a SELECT statement.",
    "derive": "Compute shares, changes and other statistics from a release, at no cost.",
    "publish": "Publish several tables for one charge, with a page and a manifest.",
    "rows": "Write synthetic rows that match stored tables of counts, at no cost.",
    "stream": "Publish answers for each period, such as a month, for one charge.",
    "fit": "Fit a private regression, classification or rating model.",
    "predict": "Predict the target of each line of a table with a fitted model.",
    "recommend": "Recommend items to one user, with a model of ratings.",
    "ledger": "Create, show or verify a ledger, or write a report about it.",
    "audit": "Test whether a mechanism violates its privacy guarantee.",
    "doctor": "Check the installation, and whether a folder can hold ledgers.",
    "completion": "Print a script that completes commands in your shell.",
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
