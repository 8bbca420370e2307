"""Rules for out-of-domain, out-of-bounds and missing values."""

from collections.abc import Sequence

from gaugedp.domain.attributes import NO_NUMBER, BoundedColumn, Categories
from gaugedp.domain.domain import Domain
from gaugedp.queries.base import Query

_OUTSIDE_RULES = {
    "drop": "Rows whose {name} is missing or out of domain are left out of {place}.",
    "other": "Rows whose {name} is missing or out of domain are counted in its cell 'other'.",
}
_SPELLING = "Categories must match the table exactly, including case and spaces; others count 0."


def query_rules(query: Query) -> list[str]:
    """Return the rules for values outside the domain, in sentences: for the attributes, and one for each column."""
    places = [part.text for part in query.parts] if len(query.parts) > 1 else ["the whole query"]
    parts = zip(query.parts, places, strict=True)
    about_cells = [rule for part, place in parts for rule in cell_rules(query.domain, part.attributes, place)]
    no_number = query.domain.text_format.no_number
    about_columns = [column_rule(name, query.domain.column(name), no_number) for name in query.columns]
    about_columns += weight_rules(query)
    origins = query.domain.origins([*query.attributes, *query.columns])
    return list(dict.fromkeys([*origins, *about_cells, *about_columns]))


def weight_rules(query: Query) -> list[str]:
    """Describe which terms are weighted, and that weights are clipped."""
    names: dict[str, list[str]] = {outline.weights: [] for outline in query.outlines if outline.weights}
    for outline in query.outlines:
        names.get(outline.weights, []).append(outline.text)
    return [
        f"Rows count with their weight {name}, as clipped, in {', '.join(texts)}. Weights beyond the bounds are not "
        "made up for elsewhere."
        for name, texts in names.items()
    ]


def cell_rules(domain: Domain, attributes: Sequence[str], place: str = "the whole query") -> list[str]:
    """Describe the rules for out-of-domain rows and for categories."""
    facts = {domain.tree(name): domain.attribute(name) for name in attributes}
    outside = [_OUTSIDE_RULES[fact.outside].format(name=name, place=place) for name, fact in facts.items()]
    return outside + [_SPELLING] * any(isinstance(fact, Categories) for fact in facts.values())


def column_rule(name: str, facts: BoundedColumn, no_number: str = NO_NUMBER) -> str:
    """Describe the rule for missing or out-of-bounds values."""
    bounds = f"[{float(facts.low):g}, {float(facts.high):g}] in steps of {float(facts.step):g}"
    rule = f"Rows where {name} is missing are left out of the terms about it."
    if facts.missing is not None:
        rule = f"Where {name} is missing it counts as {float(facts.missing):g}."
    listed = " or ".join(f"{float(code):.12g}" for code in facts.unknown)
    codes = f"{name} = {listed} counts as missing. " if listed else ""
    return f"{name} is clipped to {bounds}; {no_number}. {codes}{rule}"


def left_out(domain: Domain, attributes: Sequence[str], columns: Sequence[str], person: str | None) -> list[str]:
    """Describe the rows that are left out, in at most a line."""
    dropping_cells = [domain.tree(name) for name in attributes if domain.attribute(name).outside == "drop"]
    cells = list(dict.fromkeys(dropping_cells))
    dropping = [name for name in columns if domain.column(name).missing is None]
    rows = [
        *([f"rows whose {' or '.join(cells)} is missing or out of domain"] if cells else []),
        *([f"rows whose {person} is missing"] if person is not None else []),
        *([f"from terms about {' or '.join(dropping)}, rows where it is missing"] if dropping else []),
    ]
    return [f"Left out: {'; '.join(rows)}."] if rows else []
