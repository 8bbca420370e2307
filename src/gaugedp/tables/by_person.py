"""Tables with one row per person."""

from gaugedp.domain.person_aggregates import PerPerson
from gaugedp.errors import InvalidRequest
from gaugedp.tables.table import Table


def by_person(table: Table, person: str, /, **made: PerPerson) -> Table:
    """Return the table with one row per person.

    Use it if a person may have several rows, such as visits or payments. Each value of a person is computed from all of
    that person's rows, as you specify. A person then changes only one row of the result, so no rows need to be left out
    (docs/theory/persons.md). No data is read now. Build queries from the `domain` of the result.

    Parameters
    ----------
    table : Table
        A table whose privacy unit is the person.
    person : str
        The column that identifies the person of a row, as in `table.unit`. Rows without a person are left out.
    **made : PerPerson
        For each value of a person, by its name, how it is computed: `gd.PerPerson.count`, `sum`, `max`, `min`, `any` or
        `last`.

    Returns
    -------
    Table
        The table with one row per person and one column for each value.

    Raises
    ------
    InvalidRequest
        If `person` is not the column of the unit, the unit has several rows, or a value does not fit the rows.
    UnknownName
        If the rows have no such name.

    Examples
    --------
    Count the visits of each person, up to 9. The table of three visits becomes a table of two persons:

    >>> import gaugedp as gd
    >>> import pandas as pd
    >>> rows = pd.DataFrame({"who": [1, 1, 2], "ill": ["yes", "no", "no"]})
    >>> domain = gd.Domain.of(ill=["yes", "no"])
    >>> table = gd.Table.scan(rows, domain=domain, unit=gd.PrivacyUnit("who"), name="visits")
    >>> people = gd.by_person(table, "who", visits=gd.PerPerson.count(gd.integers(1, 9)))
    >>> people.domain.origins(["visits"])
    ["visits is the number of a who's rows."]
    """
    if not isinstance(table, Table):
        raise InvalidRequest(f"`table` is a {type(table).__name__}, but must be a table.", "Pass gd.Table.scan(…).")
    if person != table.unit.column:
        raise InvalidRequest(
            f"The table protects {table.unit}, but its rows are to be aggregated by {person!r}.",
            f"Scan it with unit=gd.PrivacyUnit({person!r}).",
        )
    return table.of_people(table.domain.by_person(table.unit, made))
