"""Header of a ledger: its budget, table and unit."""

import json
from dataclasses import dataclass, replace
from os import urandom

from gaugedp.domain.unit import PrivacyUnit
from gaugedp.errors import InvalidRequest, LedgerRefused
from gaugedp.guarantees import Budget, Guarantee, from_dict
from gaugedp.ledger.chain import LedgerEvent, canonical, units_text


@dataclass(frozen=True)
class LedgerHeader:
    """Budget, table and unit of a ledger.

    Table and unit are None until the ledger is bound to them. With `approval`, a second person must approve each
    charge.
    """

    budget: Guarantee
    table: str | None = None
    unit: PrivacyUnit | None = None
    approval: bool = False

    def bind(self, table: str | None, unit: PrivacyUnit | None) -> "LedgerHeader":
        """Return the header with missing table and unit filled in."""
        people = None if unit is None else replace(unit, as_one=False)  # the same people, however their rows are read
        return replace(self, table=self.table or table, unit=self.unit or people)

    def check(self, name: str, table: str | None, unit: PrivacyUnit | None) -> None:
        """Refuse a table or unit other than the bound ones."""
        if None not in (table, self.table) and table != self.table:
            raise LedgerRefused(
                f"The ledger {name} is for the table {self.table!r}, but the request is about {table!r}.",
                "Use the ledger of that table.",
            )
        if unit is not None and self.unit is not None and unit != self.unit:
            raise LedgerRefused(
                f"The ledger {name} protects {self.unit}, but the request protects {unit}.",
                _other_unit(self.unit, unit),
            )

    def check_budget(self, name: str, budget: Guarantee | None) -> None:
        """Refuse a `budget` that is not the stored one."""
        if budget is not None and budget != self.budget:
            raise LedgerRefused(
                f"The ledger {name} was opened with a budget of {self.budget!r}, not {budget!r}.",
                "Omit the budget or pass the stored one, because a budget cannot be changed.",
            )

    def check_requires_approval(self, name: str) -> None:
        """Refuse a ledger without approval: the rule is set once."""
        if not self.approval:
            raise LedgerRefused(
                f"The ledger {name} was opened without approvals.", "Omit `approval`, or open another ledger."
            )

    def bindings(self) -> str:
        """Return table and unit as text for a "bind" entry."""
        return canonical({"table": self.table, "unit": None if self.unit is None else self.unit.to_dict()})

    def bound_by(self, bindings: str) -> "LedgerHeader":
        """Return the header after a "bind" entry with this text."""
        facts = json.loads(bindings)
        unit = None if facts["unit"] is None else PrivacyUnit.of(facts["unit"])
        return replace(self, table=facts["table"], unit=unit)


def _other_unit(bound: PrivacyUnit, requested: PrivacyUnit) -> str:
    if (bound.column, bound.neighbours) != (requested.column, requested.neighbours):
        return f"Use the unit of the ledger{_in_domain_file(bound, requested)}."
    return (
        f"Use the unit of the ledger: max_rows is fixed with the ledger, here at {bound.max_rows}. To count persons "
        "too, use a column that marks one row of each person, or open another ledger: two budgets add up."
    )


def _in_domain_file(bound: PrivacyUnit, requested: PrivacyUnit) -> str:
    old, new = requested.to_dict(), bound.to_dict()
    no_column = bound.column is None and requested.column is not None  # and no max_rows, which needs one
    names = [name for name in ("column", "neighbours", "max_rows") if new[name] not in (None, old[name])]
    lines = [f"{name} = {json.dumps(new[name])}" for name in names if not (no_column and name == "max_rows")]
    return f": under [unit] in the domain file write {' and '.join([*lines, *['no column'] * no_column])}"


def opened_by(opening: str) -> LedgerHeader:
    """Return the header after an "open" entry with this text."""
    facts = json.loads(opening)
    return LedgerHeader(from_dict(facts["budget"]), approval=facts.get("approval", False) is not False)


def opening_event(budget: Guarantee, approval: bool = False) -> LedgerEvent:
    """Return the unique first entry of a new ledger."""
    nothing = Budget(budget).nothing
    facts = {"budget": budget.to_dict(), "format": 1, "id": urandom(16).hex()}
    if approval:
        facts["approval"] = True
    return LedgerEvent("open", charge=units_text(nothing), request=canonical(facts))


def check_names(table: object, unit: object) -> None:
    """Refuse invalid table names and units; None passes."""
    if table is not None:
        check_text("The table's name", table)
    if unit is not None and not isinstance(unit, PrivacyUnit):
        raise InvalidRequest(
            f"`unit` is of type {type(unit).__name__}, but must be a privacy unit.",
            "Pass one, such as gd.PrivacyUnit().",
        )


def check_text(what: str, text: object) -> None:
    """Refuse anything but a storable text of 1 … 1,000 characters."""
    if not isinstance(text, str) or not 1 <= len(text) <= 1000 or not _storable(text):
        raise InvalidRequest(f"{what} is not a text of 1 to 1000 characters.", "Pass a short text.")


def _storable(text: str) -> bool:
    return "\0" not in text and text.encode("utf-8", "replace").decode() == text
