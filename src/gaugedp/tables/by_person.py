"""Tables with one row a person."""

from gaugedp.domain.person_aggregates import PerPerson
from gaugedp.errors import InvalidRequest
from gaugedp.tables.table import Table


def by_person(table: Table, person: str, /, **made: PerPerson) -> Table:
    """Return the table with one row a person, made of all the rows of that person, on the same engine.

    `person` is the column that tells whose a row is, that of `table.unit`. `made` says by name what is said of each:
    `gd.PerPerson.count`, `sum`, `max`, `min`, `any` or `last`. Nothing is read now. Questions are built from the
    `domain` of the result. Its unit is the person, whose one row depends on the rows of that person alone, so that a
    question moves by one row where a person comes, goes or changes (docs/theory/persons.md): none is left out. Rows
    without a person are left out.

    Raises InvalidRequest or UnknownName for another person, a unit of several rows, or values that do not fit the rows.
    """
    if not isinstance(table, Table):
        raise InvalidRequest(f"The table is of type {type(table).__name__}.", "Give gd.Table.scan(…).")
    if person != table.unit.column:
        raise InvalidRequest(
            f"The table protects {table.unit}, and its rows are to be those of each {person!r}.",
            f"Scan it with unit=gd.PrivacyUnit({person!r}).",
        )
    return table.of_people(table.domain.by_person(table.unit, made))
