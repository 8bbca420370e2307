"""Tables with one row per person."""

from gaugedp.domain.person_aggregates import PerPerson
from gaugedp.errors import InvalidRequest
from gaugedp.tables.table import Table


def by_person(table: Table, person: str, /, **made: PerPerson) -> Table:
    """Aggregate a table to one row per person.

    `person` is the column that identifies the person of a row, that of `table.unit`. `made` names the values of a
    person: `gd.PerPerson.count`, `sum`, `max`, `min`, `any` or `last`. Nothing is read now, and the engine stays the
    same. Queries are built from the `domain` of the result. Its unit is the person, whose row depends only on the rows
    of that person, so that a query changes by one row if a person is added, removed or changed
    (docs/theory/persons.md): no person is left out. Rows without a person are left out.

    Raises
    ------
    InvalidRequest
        Another person column, a unit of several rows, or values that do not fit the rows.
    UnknownName
        A name that the rows do not have.

    Examples
    --------
    >>> import gaugedp as gd
    >>> import pandas as pd
    >>> rows = pd.DataFrame({"who": [1, 1, 2], "ill": ["yes", "no", "no"]})
    >>> domain = gd.Domain.of(ill=["yes", "no"])
    >>> table = gd.Table.scan(rows, domain=domain, unit=gd.PrivacyUnit("who"), name="visits")
    >>> people = gd.by_person(table, "who", visits=gd.PerPerson.count(gd.integers(1, 9)))
    >>> list(people.domain.attributes)
    ['visits']
    """
    if not isinstance(table, Table):
        raise InvalidRequest(f"The table is of type {type(table).__name__}.", "Give gd.Table.scan(…).")
    if person != table.unit.column:
        raise InvalidRequest(
            f"The table protects {table.unit}, but rows are to be aggregated by {person!r}.",
            f"Scan it with unit=gd.PrivacyUnit({person!r}).",
        )
    return table.of_people(table.domain.by_person(table.unit, made))
