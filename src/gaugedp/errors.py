"""The six exceptions and one warning. An exception says what is wrong, what to do, and what was not done."""

from collections.abc import Iterable
from difflib import get_close_matches

UNTOUCHED = "Nothing was read and nothing was spent."
STAYS_SPENT = "The budget of this request stays spent; no answer was shown."


class GaugedpError(Exception):
    """A refusal in plain words: `what` is wrong, what to `do`, and what was left `undone`.

    The message is made of the request and of public facts, never of a value from the data.
    """

    exit_code = 2

    def __init__(self, what: str, do: str, undone: str = UNTOUCHED) -> None:
        self.what, self.do, self.undone = what, do, undone
        super().__init__(f"{what} {do} {undone}".strip())

    def __reduce__(self) -> tuple[type, tuple[str, str, str]]:
        return type(self), (self.what, self.do, self.undone)


class InvalidRequest(GaugedpError, ValueError):
    """A number, a shape or a combination of arguments that no answer can be given for."""


class UnknownName(GaugedpError, LookupError):
    """A name that the domain, the table or the query language does not have."""

    @classmethod
    def among(cls, kind: str, name: object, known: Iterable[object], undone: str = UNTOUCHED) -> "UnknownName":
        """Return the error for `name`, with the nearest `known` name as a hint."""
        names = [str(item) for item in known]
        near = get_close_matches(str(name), names, n=1)
        hint = f"Did you mean {near[0]!r}?" if near else f"Choose one of: {', '.join(names[:18]) or '(none)'}."
        return cls(f"There is no {kind} {str(name)!r}.", hint, undone)


class UnreadableTable(GaugedpError):
    """A file, frame or relation that cannot be read as the domain describes it."""


class LedgerRefused(GaugedpError):
    """The ledger does not allow the request: budget, identity, lock, damage or disk."""

    exit_code = 3


class NotDurable(UserWarning):
    """A ledger that a restart or a power cut may lose."""


class MissingExtra(GaugedpError, ImportError):
    """An optional part that is not installed."""

    @classmethod
    def needed_for(cls, purpose: str, extra: str) -> "MissingExtra":
        """Return the error that names the extra to install."""
        return cls(
            f"{purpose} needs a part that is not installed.", f"Install it with: pip install 'gaugedp[{extra}]'."
        )
