"""Stages of a command, and the consequences of an interruption."""

import shlex

import click

from gaugedp.errors import STAYS_SPENT, UNTOUCHED

_WORDS = {
    "plan": "Planning: comparing the mechanisms",
    "pay": "Checking the ledger",
    "look": "Reading the table: counting the rows",
    "store": "Storing the answer in the ledger",
    "process": "Processing the answers",
    "write": "Writing the files",
}
_OTHER_WORDS = {"period": "Reading the table of the period"}  # not part of a release
_SHARES = {"look": "Counting the rows", "audit": "Auditing", "check": "Reading the lines"}


class Stage:
    """Current stage of a command; an interruption states what was spent."""

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
        """Begin a stage and announce it on standard error."""
        self.begin(name)
        self._told = 0.0
        click.echo(f"{(_WORDS | _OTHER_WORDS | {'look': self.reading})[name]} ...", err=True)

    def draw(self, share: float) -> None:
        """Print progress at each quarter on standard error."""
        if share < 1 and share >= self._told + 0.25:
            self._told = share
            click.echo(f"{_SHARES.get(self.name, 'Drawing the noise')}: {share:.0%}", err=True)

    def follow(self, name: str) -> None:
        """Announce the stages of a planned release."""
        if name != "plan":
            self.show(name)

    @property
    def was_stored(self) -> bool:
        """True if a release ended with an answer stored earlier."""
        return self.name == "pay"

    @property
    def has_paid(self) -> bool:
        """True if the ledger was charged."""
        return self.name in ("look", "store", "process", "write")

    @property
    def consequence(self) -> str:
        """Consequence of an interruption now, in a sentence."""
        if self.can_resume and self.name in ("pay", "look", "store"):
            cost = "and it is not charged twice" if self.name == "pay" else "at no cost"
            again = f"--key {shlex.quote(self.key)} and the same --folder"
            return f"The budget stays spent: run this again with {again}, {cost}."
        match self.name:
            case "plan" | "audit":
                return UNTOUCHED
            case "check":
                return "Nothing was spent."
            case "pay":
                return "Nothing was read; if `gaugedp ledger show` lists the request, its budget is gone."
            case "period":
                return "The budget of the stream stays spent: run this again for the answer, at no cost."
            case "process" | "write":
                return (
                    "The budget stays spent, and the answer is stored: "
                    f"run this again with --key {shlex.quote(self.key)}, at no cost."
                )
        return STAYS_SPENT


stage = Stage()
