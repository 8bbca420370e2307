"""Stages of a command, and the consequences of an interruption."""

import shlex

import click

from gaugedp.errors import STAYS_SPENT, UNTOUCHED

_WORDS = {
    "plan": "Planning: comparing the mechanisms",
    "pay": "Asking the ledger",
    "look": "Reading the table: counting the rows",
    "store": "Storing the answer in the ledger",
    "process": "Processing the answers",
    "write": "Writing the files",
}
_OTHER_WORDS = {"period": "Reading the table of the period"}  # of no release
_SHARES = {"look": "Counting the rows", "audit": "Auditing", "check": "Reading the lines"}


class Stage:
    """The stage of a command; an interruption must state what was spent."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Forget an earlier command of this process."""
        self.name = "plan"
        self.key = ""
        self.can_resume = False
        self.reading = _WORDS["look"]
        self._told = 0.0

    def begin(self, name: str) -> None:
        """Note that a stage begins."""
        self.name = name

    def show(self, name: str) -> None:
        """Note that a stage begins, and say so on standard error."""
        self.begin(name)
        self._told = 0.0
        click.echo(f"{(_WORDS | _OTHER_WORDS | {'look': self.reading})[name]} ...", err=True)

    def draw(self, share: float) -> None:
        """Say on standard error how much of the noise is drawn, or of a look or an audit is done, at each quarter."""
        if share < 1 and share >= self._told + 0.25:
            self._told = share
            click.echo(f"{_SHARES.get(self.name, 'Drawing the noise')}: {share:.0%}", err=True)

    def follow(self, name: str) -> None:
        """Show the stages of a release whose plan is made."""
        if name != "plan":
            self.show(name)

    @property
    def was_stored(self) -> bool:
        """Return whether a release has ended without a look: its answer was in the ledger already."""
        return self.name == "pay"

    @property
    def has_paid(self) -> bool:
        """Return whether the ledger was charged."""
        return self.name in ("look", "store", "process", "write")

    @property
    def consequence(self) -> str:
        """Return the consequence of an interruption at this stage, in a sentence."""
        if self.can_resume and self.name in ("pay", "look", "store"):
            cost = "and it is not paid twice" if self.name == "pay" else "at no cost"
            again = f"--key {shlex.quote(self.key)} and the same --folder"
            return f"What was paid stays spent: run this again with {again}, {cost}."
        match self.name:
            case "plan" | "audit":
                return UNTOUCHED
            case "check":
                return "Nothing was spent."
            case "pay":
                return "Nothing was read; if `gaugedp ledger show` lists the request, its budget is gone."
            case "period":
                return "The stream stays paid: run this again for the answer, at no cost."
            case "process" | "write":
                return (
                    "The budget stays spent, and the answer is kept: "
                    f"run this again with --key {shlex.quote(self.key)}, at no cost."
                )
        return STAYS_SPENT


stage = Stage()
