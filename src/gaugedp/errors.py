"""Exceptions and warnings. Each message states what is wrong and what to do."""

from collections.abc import Iterable
from difflib import get_close_matches

UNTOUCHED = "Nothing was read and nothing was spent."
STAYS_SPENT = "The budget of this request stays spent; no answer was shown."


class GaugedpError(Exception):
    """Base class of the library's errors.

    Catch it to handle any error of this library. The message states `what` is wrong, what to `do`, and what was left
    `undone`. It mentions only the request and public facts, never a value from the data.
    """

    exit_code = 2

    def __init__(self, what: str, do: str, undone: str = UNTOUCHED) -> None:
        self.what, self.do, self.undone = what, do, undone
        super().__init__(f"{what} {do} {undone}".strip())

    def __reduce__(self) -> tuple[type, tuple[str, str, str]]:
        return type(self), (self.what, self.do, self.undone)


class InvalidRequest(GaugedpError, ValueError):
    """Error for an invalid argument or combination of arguments."""


class UnknownName(GaugedpError, LookupError):
    """Error for a name that does not exist.

    The message suggests the nearest name that exists.
    """

    @classmethod
    def among(cls, kind: str, name: object, known: Iterable[object], undone: str = UNTOUCHED) -> "UnknownName":
        """Return the error, with the nearest name as a hint."""
        names = [str(item) for item in known]
        near = get_close_matches(str(name), names, n=1)
        hint = f"Did you mean {near[0]!r}?" if near else f"Choose one of: {', '.join(names[:18]) or '(none)'}."
        return cls(f"There is no {kind} {str(name)!r}.", hint, undone)


class UnreadableTable(GaugedpError):
    """Error for a table that does not match its domain."""


class LedgerRefused(GaugedpError):
    """Error for a charge or access that the ledger refuses.

    For example, the remaining budget does not suffice, or the ledger belongs to another table.
    """

    exit_code = 3


class NotDurable(UserWarning):
    """Warning about a ledger that a restart may lose.

    The message states what may be lost, for example after a power cut.
    """


class HopelessFit(UserWarning):
    """Warning about a fit whose noise hides most signal.

    `gd.plan_fit` states how many rows or which ε the fit needs.
    """


class MissingExtra(GaugedpError, ImportError):
    """Error for an optional dependency that is not installed.

    The message contains the command that installs it.
    """

    @classmethod
    def needed_for(cls, purpose: str, extra: str) -> "MissingExtra":
        """Return the error that names the extra to install."""
        return cls(
            f"{purpose} requires a package that is not installed.", f"Install it with: pip install 'gaugedp[{extra}]'."
        )
