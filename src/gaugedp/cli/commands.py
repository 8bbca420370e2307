"""The groups of commands: imported when they are called, and found under names that people try."""

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
    "check": "Show the custodian alone what in a table does not fit its domain.",
    "plan": "Compare the mechanisms for a question; reads no data.",
    "explore": "Write a page that shows error against epsilon; reads no data.",
    "geometry": "Show the shape of a question's noise and how near the best it is; reads no data.",
    "guarantee": "Show what a guarantee leaves to someone who tests for one person; reads no data.",
    "release": "Answer a question from a table and pay for it.",
    "keys": "Show which keys of a column many people have, where nobody knows them, and pay for it.",
    "sql": "Answer the aggregates of a SELECT, as release does; without a table, translate it.",
    "derive": "Compute shares, changes and other figures from a release, at no cost.",
    "publish": "Publish all tables of a file at one price, with a page and a manifest.",
    "rows": "Write synthetic rows that keep stored tables of counts, at no cost.",
    "stream": "Answer a question for each period of a year or more, at one price.",
    "fit": "Fit a model to a table and pay for it.",
    "predict": "Predict for each line of a table with a fitted model.",
    "recommend": "Recommend items to one user, by a model of ratings and their own.",
    "ledger": "Open, show or verify a ledger, or report its year.",
    "audit": "Test a mechanism on two neighbouring answers.",
    "doctor": "Check the installation, and a folder for ledgers.",
    "completion": "Print a script that completes commands in a shell.",
}


class Commands(click.Group):
    """The commands of `gaugedp`, each in the module of its name."""

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
        """Return the command of the first word, or say where one of that name is."""
        if args[0] in _SUGGESTIONS and not ctx.resilient_parsing:
            ctx.fail(f"No such command {args[0]!r}. Write: {_SUGGESTIONS[args[0]]}")
        near = get_close_matches(args[0], COMMANDS, n=1)
        if near and args[0] not in COMMANDS and not ctx.resilient_parsing:
            ctx.fail(f"No such command {args[0]!r}. Did you mean {near[0]!r}?")
        return super().resolve_command(ctx, args)


class LedgerCommands(click.Group):
    """The commands of `gaugedp ledger`."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command of the first word, or show how a ledger of that name is shown."""
        if not args[0].isalpha() and not ctx.resilient_parsing:
            ctx.fail(f"A command is missing. Write: gaugedp ledger show {shlex.quote(without_password(args[0]))}")
        return super().resolve_command(ctx, args)


def without_password(path: str) -> str:
    """Return an address without what stands before its @, and any other path as it is."""
    return re.sub(r"://[^@/]*@", "://", path)
