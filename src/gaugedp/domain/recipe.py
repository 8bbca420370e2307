"""Facts of a domain that decide an answer, as JSON."""

import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from datetime import date
from fractions import Fraction
from typing import Any

from gaugedp.domain.attributes import Bins, BoundedColumn, Categories, EdgeBins, Integers
from gaugedp.domain.captions import Captions
from gaugedp.domain.dates import Dates
from gaugedp.domain.domain import Domain
from gaugedp.domain.hierarchies import Level
from gaugedp.domain.person_aggregates import PerPerson
from gaugedp.domain.text_format import PLAIN, TextFormat
from gaugedp.domain.unit import PrivacyUnit
from gaugedp.domain.weights import NO_DESIGN

_KINDS = Bins, BoundedColumn, Categories, Dates, Domain, EdgeBins, Integers, Level, PerPerson, PrivacyUnit, TextFormat
_CLASSES = {kind.__name__: kind for kind in _KINDS}


def recipe_of(domain: Domain, attributes: tuple[str, ...], columns: tuple[str, ...]) -> Any:
    """Return the facts about attributes and columns. A fact of an unknown class raises ValueError."""
    few = replace(
        _deciding(domain),
        attributes={name: domain.attribute(name) for name in attributes},
        columns={name: domain.column(name) for name in dict.fromkeys([*columns, *filter(None, [domain.weights])])},
        rows=domain.rows and _deciding(domain.rows),
    )
    return _written(few)


def domain_of(recipe: Any) -> Domain:
    """Return the domain that `recipe_of` wrote. Any other text raises ValueError, TypeError or a refusal."""
    domain = _read(recipe)
    if not isinstance(domain, Domain):
        raise TypeError
    return domain


def _deciding(domain: Domain) -> Domain:
    """Return the domain without facts that decide no answer."""
    return replace(domain, captions=Captions(), impossible=(), file=None, design=NO_DESIGN)


def _written(fact: Any) -> Any:
    if is_dataclass(fact) and type(fact) in _CLASSES.values():
        facts = {each.name: getattr(fact, each.name) for each in fields(fact)}
        told = {name: _written(each) for name, each in facts.items() if each not in (PLAIN, NO_DESIGN)}
        return {"is": type(fact).__name__, **told}
    match fact:
        case Fraction() | date() if type(fact) in (Fraction, date):
            return {"is": type(fact).__name__, "text": str(fact)}
        case tuple() | list():
            return list(fact) if set(map(type, fact)) == {str} else [_written(each) for each in fact]
        case Mapping():
            return {"is": "dict", "pairs": [[name, _written(each)] for name, each in fact.items()]}
        case Captions():
            return None
        case None | str() | int() | float():
            return fact
    raise ValueError(type(fact).__name__)


def _read(written: Any) -> Any:
    if isinstance(written, list):
        return tuple(written) if set(map(type, written)) == {str} else tuple(_read(each) for each in written)
    if not isinstance(written, dict):
        return written
    match written.get("is"):
        case "Fraction":
            if not re.fullmatch(r"-?[0-9]+(/[0-9]+)?", written["text"]):  # an exponent could exhaust the memory
                raise ValueError(written["text"])
            return Fraction(written["text"])
        case "date":
            return date.fromisoformat(written["text"])
        case "dict":
            return {name: _read(each) for name, each in written["pairs"]}
        case str(kind):
            facts = {name: _read(each) for name, each in written.items() if name not in ("is", "captions")}
            return _CLASSES[kind](**facts)
    raise ValueError
