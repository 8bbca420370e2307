"""Commands that are looked for where they are not: a group that says where they are."""

import re
import shlex

import click

_ELSEWHERE = {
    "show": "gaugedp ledger show PATH",
    "verify": "gaugedp ledger verify PATH",
    "open": "gaugedp ledger open PATH --budget B",
    "report": "gaugedp release … --report FILE",
}


class Commands(click.Group):
    """The commands of `gaugedp`."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command of the first word, or say where one of that name is."""
        if args[0] in _ELSEWHERE and not ctx.resilient_parsing:
            ctx.fail(f"No such command {args[0]!r}. Write: {_ELSEWHERE[args[0]]}")
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
