"""Structural zeros: combinations of cells that no row has.

They are public facts, such as that no child has a degree.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gaugedp.domain.attributes import Attribute
from gaugedp.errors import InvalidRequest, UnknownName

_HOW = 'Name at least two attributes with their cells, such as AGE = ["[0,10)"] and DEGREE = ["yes"].'


@dataclass(frozen=True)
class Impossible:
    """Structural zero: a combination of cells that no row can have.

    Only synthetic rows use it. A release counts rows in these cells like all others.
    """

    cells: Mapping[str, tuple[str, ...]]

    @classmethod
    def of(cls, facts: object, attributes: Mapping[str, Attribute]) -> "Impossible":
        """Return the structural zero of a mapping of attributes to cells.

        Unknown names, and a single attribute, are refused.
        """
        if not isinstance(facts, Mapping) or len(facts) < 2:
            raise InvalidRequest(f"The structural zero {facts!r} does not describe a combination of cells.", _HOW)
        return cls({name: _cells(name, cells, attributes) for name, cells in facts.items()})

    def to_dict(self) -> dict[str, list[str]]:
        """Return the cells as JSON-compatible data."""
        return {name: list(cells) for name, cells in self.cells.items()}


def _cells(name: str, cells: object, attributes: Mapping[str, Attribute]) -> tuple[str, ...]:
    if name not in attributes:
        raise UnknownName.among("attribute", name, attributes)
    listed = [cells] if isinstance(cells, str) else cells
    if not isinstance(listed, Sequence) or not listed or not all(isinstance(cell, str) for cell in listed):
        raise InvalidRequest(f"A structural zero describes {name} by {cells!r}, but must list some of its cells.", _HOW)
    attribute = attributes[name]
    if not attribute.has_cells:
        raise InvalidRequest(
            f"A structural zero names {name}, whose categories are not known yet.",
            f"Release its keys first and use the resulting domain, or leave {name} out.",
        )
    for cell in listed:
        if cell not in attribute.labels:
            raise UnknownName.among(f"cell of {name}", cell, attribute.labels)
    return tuple(dict.fromkeys(listed))
