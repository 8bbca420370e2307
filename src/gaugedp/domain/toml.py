"""Domain files: TOML with the public description of a table."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date, time
from pathlib import Path
from typing import Any, TypeVar, cast

from gaugedp._internal.names import in_quotes
from gaugedp._internal.validate import whole
from gaugedp.domain.attributes import OTHER, Attribute, BoundedColumn, bins, bounded, categories, integers, unknown_keys
from gaugedp.domain.captions import OWN, TEXTS, Caption, Captions
from gaugedp.domain.dates import dates
from gaugedp.domain.geography import read_areas
from gaugedp.domain.hierarchies import Tree, read_tree
from gaugedp.domain.lookup_tables import look_up
from gaugedp.domain.person_aggregates import KINDS, PerPerson
from gaugedp.errors import InvalidRequest, UnknownName

T = TypeVar("T")
SECTIONS = ("name", "unit", "attributes", "columns", "weights", "person", "impossible", "file")
_OF_CELLS = (
    *("values", "low", "high", "width", "edges", "from", "to"),
    *("date", "timezone", "outside", "tree", "keys", "look_up"),
)
_UNKNOWN = ("keys", "most")
_OF_WEIGHTS = ("column", "strata", "clusters", "label")  # which are read first
_ALIKE = {"min": "low", "minimum": "low", "lower": "low", "max": "high", "maximum": "high", "upper": "high"}
_DATE = re.compile(r"\d{4}-\d{1,2}-\d{1,2}.*|\d{1,2}[./]\d{1,2}[./]\d{2,4}")


def read_attributes(facts: Mapping[str, Any], folder: Path) -> dict[str, Attribute]:
    """Return the attributes and tree levels of a domain file. Files of trees are in `folder`."""
    attributes: dict[str, Attribute] = {}
    for name, value in _section(facts, "attributes").items():
        add_facts(attributes, _attributes(name, _plain(value), folder))
    return attributes


def add_facts(facts: dict[str, T], more: Mapping[str, T]) -> None:
    """Add facts by name, refusing names that are described twice."""
    for name, fact in more.items():
        if name in facts:
            raise InvalidRequest(f"{name} is described twice.", "Describe it once: by itself, or as a level of a tree.")
        facts[name] = fact


def named_tree(name: str, described: Tree) -> Mapping[str, Attribute]:
    """Return the levels of a tree with finest level `name`."""
    *_, last = described.levels
    if last != name:
        raise InvalidRequest(
            f"The finest level of the tree {name} is the column {last}, but must have the name of the attribute.",
            f"Call this column {name}.",
        )
    return described.levels


def read_columns(facts: Mapping[str, Any], folder: Path) -> dict[str, BoundedColumn]:
    """Return the bounded columns; lookup tables are in `folder`."""
    return {name: _column(name, _plain(value), folder) for name, value in _section(facts, "columns").items()}


def read_weights(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the weight column, its bounds, strata and clusters, if there is a [weights] section."""
    if "weights" not in facts:
        return {}
    section = dict(_section(facts, "weights"))
    column = section.pop("column", None)
    if not isinstance(column, str) or not column:
        raise InvalidRequest(
            "The section [weights] must name the column of the weights, but has no `column`.",
            'Write, for example, column = "PWGTP", low = 1 and high = 600.',
        )
    if "replicates" in section:
        raise InvalidRequest(
            "Replicate weights are not supported, because the noise for their many totals would exceed the "
            "sampling error.",
            "Omit replicates, and name the strata and clusters of the sample if they are public.",
        )
    design: dict[str, Any] = {key: section.pop(key) for key in ("strata", "clusters") if key in section}
    for key, name in design.items():
        if not isinstance(name, str) or not name:
            raise InvalidRequest(
                f"`{key}` in [weights] is {name!r}, which is not the name of an attribute.",
                f'Name an attribute, such as {key} = "REGION".',
            )
    section.pop("label", None)  # a caption
    return {"name": column, "weight": _bounded(column, section, "[weights]", _OF_WEIGHTS), **design}


def read_impossible(facts: Mapping[str, Any]) -> Sequence[Any]:
    """Return the structural zeros, as written."""
    listed = facts.get("impossible", [])
    if not isinstance(listed, Sequence) or isinstance(listed, str):
        raise InvalidRequest(
            f"`impossible` in the domain file is {listed!r}, but must be a list of sections.",
            "Write each as an [[impossible]] section.",
        )
    return listed


def read_per_person(facts: Mapping[str, Any]) -> dict[str, PerPerson]:
    """Return the aggregations of a person's rows."""
    return {name: _per_person(name, _plain(value)) for name, value in _section(facts, "person").items()}


def read_own(facts: Mapping[str, Any], attributes: Mapping[str, Attribute]) -> dict[str, Caption]:
    """Return the captions of the names in [person]."""
    captions = {name: _caption_words(value) for name, value in _section(facts, "person").items()}
    return {
        name: Caption.of(f"[person] {name}", words, attributes[name].labels if name in attributes else None)
        for name, words in captions.items()
        if words
    }


def read_captions(facts: Mapping[str, Any], attributes: Mapping[str, Attribute], folder: Path) -> Captions:
    """Return the captions of a domain file."""
    captions = {name: _caption_words(value) for name, value in _section(facts, "columns").items()}
    columns = {name: Caption.of(f"column {name}", words) for name, words in captions.items() if words}
    if "weights" in facts and (words := _caption_words(facts["weights"])):
        columns[str(facts["weights"].get("column"))] = Caption.of("[weights]", words)
    for name, value in _section(facts, "attributes").items():
        if words := {**captions.get(name, {}), **_caption_words(value)}:
            columns[name] = Caption.of(f"attribute {name}", words, attributes[name].labels)
            if "geography" in words:
                columns[name] = replace(columns[name], areas=_areas(name, words["geography"], attributes[name], folder))
    return Captions.of({key: facts[key] for key in TEXTS if key in facts}).with_columns(columns)


def _areas(name: str, path: object, attribute: Attribute, folder: Path) -> dict[str, str]:
    place = f"attribute {name}"
    if not isinstance(path, str):
        raise InvalidRequest(
            f"In {place}: `geography` is {path!r}, but must be a file name.", 'Write, for example, "areas.geojson".'
        )
    return named(place, lambda: read_areas(folder / path, name, attribute.labels))


def _caption_words(value: object) -> dict[str, Any]:
    return {key: fact for key, fact in value.items() if key in OWN} if isinstance(value, Mapping) else {}


def _plain(value: Any) -> Any:
    return {key: fact for key, fact in value.items() if key not in OWN} if isinstance(value, Mapping) else value


def read_toml(path: str | Path, what: str = "domain file") -> dict[str, Any]:
    """Return the content of a TOML file, or explain the failure; `what` names the file."""
    import tomllib

    if not isinstance(path, str | Path):
        raise InvalidRequest(
            f"The {what} is of type {type(path).__name__}, which is not a path.", "Pass the path of the file."
        )
    try:
        return tomllib.loads(_text(path))
    except FileNotFoundError:
        raise InvalidRequest(f"There is no {what} {str(path)!r}.", "Check the path.") from None
    except OSError as error:
        raise InvalidRequest(
            f"The {what} {str(path)!r} cannot be read ({error.strerror}).", "Check the path."
        ) from None
    except UnicodeDecodeError:
        raise InvalidRequest(f"The {what} {str(path)!r} is not UTF-8.", "Save it as UTF-8.") from None
    except (ValueError, RecursionError) as error:  # not TOML, or extreme numbers or nesting
        raise InvalidRequest(
            f"The {what} {str(path)!r} is not TOML: {error}.",
            "Correct that line: put texts in quotes, also names with spaces or letters outside A to Z, and replace "
            "each … "
            "by a number.",
        ) from None


def _text(path: str | Path) -> str:
    return Path(path).read_bytes().decode("utf-8-sig")


def with_keys(path: str | Path, name: str, keys: Sequence[str]) -> str:
    """Return a domain file's text with the keys of an attribute. Every other value is "other"."""
    facts = read_toml(path)
    described = {key: fact for key, fact in facts["attributes"][name].items() if key not in _UNKNOWN}
    expected = {**facts, "attributes": {**facts["attributes"], name: {**described, "values": ["-"], "outside": OTHER}}}
    expected.setdefault("name", Path(path).stem)
    text = _text(path) if "name" in facts else f"name = {in_quotes(expected['name'])}\n{_text(path)}"
    for places in _places(text):
        if _parsed(_filled(text, places, ["-"])) == expected:
            return _filled(text, places, keys)
    raise InvalidRequest(
        f"The keys cannot be written into {str(path)!r}, because the description of {name} was not found on a line "
        "of its own.",
        f'Write it on its own line: {name} = {{ keys = "unknown", most = 1000 }}.',
    )


def _places(text: str) -> "Iterator[tuple[re.Match[str], re.Match[str]]]":
    for keys in re.finditer(r"""keys"?'?\s*=\s*("unknown"|'unknown')""", text):
        yield from ((keys, most) for most in re.finditer(r"""most"?'?\s*=\s*[+\w]+""", text))


def _filled(text: str, places: "tuple[re.Match[str], re.Match[str]]", keys: Sequence[str]) -> str:
    listed = ",\n  ".join(map(in_quotes, keys))
    said = dict(zip(places, (f"values = [\n  {listed},\n]", f'outside = "{OTHER}"'), strict=True))
    for place in sorted(places, key=re.Match.start, reverse=True):
        text = text[: place.start()] + said[place] + text[place.end() :]
    return text


def _parsed(text: str) -> dict[str, Any] | None:
    import tomllib

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None


def _section(facts: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    section = facts.get(name, {})
    if not isinstance(section, Mapping):
        raise InvalidRequest(
            f"{name} in the domain file is {section!r}, but must be a section.", f"Write it as a [{name}] section."
        )
    return section


def only_keys(place: str, facts: object, keys: tuple[str, ...], more: tuple[str, ...] = ()) -> None:
    """Refuse anything but a mapping with the given `keys`. Hints also name `more` keys, which were read before."""
    if not isinstance(facts, Mapping):
        raise InvalidRequest(
            f"{place} is {facts!r}, but must be a table of keys and values.", f"Write the keys {', '.join(keys)}."
        )
    for key in facts:
        if key not in keys and _ALIKE.get(key) in keys:
            raise UnknownName(f"In {place}: there is no key {key!r}.", f"Use {_ALIKE[key]!r}.")
        if key not in keys:
            refusal = UnknownName.among("key", key, (*keys, *more))
            raise UnknownName(f"In {place}: there is no key {key!r}.", refusal.do)


def _attributes(name: str, value: object, folder: Path) -> Mapping[str, Attribute]:
    place = f"attribute {name}"
    if isinstance(value, Mapping) and "keys" in value:
        return {name: named(place, lambda: _unknown(place, value))}
    if isinstance(value, Mapping) and "look_up" in value:
        return {name: _looked_up(name, value, folder)}
    if not isinstance(value, Mapping) or "tree" not in value:
        return {name: _attribute(name, value)}
    only_keys(place, value, ("tree", "outside"), OWN)
    if not isinstance(value["tree"], str):
        raise InvalidRequest(f"In {place}: `tree` must name a CSV file.", 'Write, for example, tree = "areas.csv".')
    return named(place, lambda: read_tree(folder / value["tree"], name, value.get("outside", "drop"))).levels


def _unknown(place: str, value: Mapping[str, Any]) -> Attribute:
    only_keys(place, value, _UNKNOWN, OWN)
    if value["keys"] != "unknown" or "most" not in value:
        what = f"`keys` is {value['keys']!r}" if value["keys"] != "unknown" else "`most` is missing"
        raise InvalidRequest(
            f'In {place}: {what}, but unknown categories are described by keys = "unknown" and their largest number.',
            'Write { keys = "unknown", most = 1000 }, or list the categories.',
        )
    return unknown_keys(value["most"])


def _looked_up(name: str, value: Mapping[str, Any], folder: Path) -> Attribute:
    place = f"attribute {name}"
    only_keys(place, value, ("look_up", "on", "outside"), OWN)
    return cast(Attribute, _told(place, name, value["look_up"], value.get("on"), folder, value.get("outside", "drop")))


def _told(
    place: str, name: str, path: object, on: object, folder: Path, outside: str, **numbers: BoundedColumn
) -> Attribute | BoundedColumn:
    if not isinstance(path, str) or not isinstance(on, str):
        what = f"`look_up` is {path!r}" if not isinstance(path, str) else "`on` is not a string"
        raise InvalidRequest(
            f"In {place}: {what}, but a public table is described by a file name and the name of a shared column.",
            'Write { look_up = "places.csv", on = "PLACE" }.',
        )
    columns = named(place, lambda: look_up(folder / path, on, outside, **numbers))
    if name not in columns:
        raise UnknownName.among(f"column of {path}", name, columns)
    return columns[name]


def _attribute(name: str, value: Any) -> Attribute:
    place = f"attribute {name}"
    if isinstance(value, list):
        return named(place, lambda: categories(value))
    only_keys(place, value, _OF_CELLS, OWN)
    facts = dict(value)
    outside = facts.pop("outside", "drop")
    match sorted(facts):
        case ["values"]:
            return named(place, lambda: categories(facts["values"], outside))
        case ["high", "low", "width"] | ["edges"]:
            _check_no_dates(place, facts)
            return named(place, lambda: bins(**facts, outside=outside))
        case ["date", "from", "to"] | ["date", "from", "timezone", "to"]:
            first, last, by = facts.pop("from"), facts.pop("to"), facts.pop("date")
            return named(place, lambda: dates(first, last, by=by, **facts, outside=outside))
        case ["from", "to"]:
            _check_no_dates(place, facts)
            named(place, lambda: whole(minimum=-(2**53), **facts))
            return named(place, lambda: integers(facts["from"], facts["to"], outside))
    raise InvalidRequest(
        f"The keys of {place} are {', '.join(sorted(facts)) or '(none)'}, which do not form any of the "
        "descriptions of an attribute.",
        'Write, for example, ["1", "2"], { low = 0, high = 100, width = 10 }, { edges = [0, 18, 65] }, '
        '{ from = 1, to = 12 } or { date = "month", from = "2024-01", to = "2024-12" }.',
    )


def _column(name: str, value: object, folder: Path) -> BoundedColumn:
    if not isinstance(value, Mapping) or "look_up" not in value:
        return _bounded(name, value)
    number = _bounded(name, {key: fact for key, fact in value.items() if key not in ("look_up", "on")})
    column = _told(f"column {name}", name, value["look_up"], value.get("on"), folder, "drop", **{name: number})
    return cast(BoundedColumn, column)


def _bounded(name: str, value: Any, place: str = "", more: tuple[str, ...] = (*OWN, "look_up")) -> BoundedColumn:
    place = place or f"column {name}"
    only_keys(place, value, ("low", "high", "step", "missing", "unknown"), more)
    facts = dict(value)
    if "low" not in facts or "high" not in facts:
        raise InvalidRequest(
            f"Column {name} has no bounds.", "Specify low and high from public knowledge, never from the data."
        )
    _check_no_dates(place, facts)
    return named(place, lambda: bounded(**facts))


def _per_person(name: str, value: Any) -> PerPerson:
    place = f"[person] {name}"
    kinds = [kind for kind in KINDS if kind in value] if isinstance(value, Mapping) else []
    if len(kinds) != 1:
        raise InvalidRequest(
            f"{place} is {value!r}, which does not specify an aggregate of a person's rows.",
            f"Use one of {', '.join(KINDS)}, such as {{ count = true, from = 0, to = 50 }}.",
        )
    facts = dict(value)
    of, cells, order = facts.pop(kinds[0]), facts.pop("is", []), facts.pop("order", None)
    cells = [cells] if isinstance(cells, str) else cells
    of = None if kinds == ["count"] and of is True else of
    texts = [text for text in (of, order) if text is not None] + (cells if isinstance(cells, list) else [None])
    if not all(isinstance(text, str) for text in texts):
        raise InvalidRequest(
            f"{place} is {value!r}, but must be a string or true.",
            "Write names and cells in quotes; to count all rows, write true.",
        )
    values = _values(name, facts) if facts else None
    return named(place, lambda: PerPerson(kinds[0], of, tuple(cells), order, values))


def _values(name: str, facts: Mapping[str, Any]) -> Attribute | BoundedColumn:
    is_summed = "low" in facts and not {"width", "edges", "outside"} & set(facts)
    return _bounded(name, facts) if is_summed else _attribute(name, facts)


def named(place: str, make: Callable[[], T]) -> T:
    """Return `make()`; a refusal is prefixed with the `place`."""
    try:
        return make()
    except InvalidRequest as refusal:
        raise InvalidRequest(f"In {place}: {refusal.what}", refusal.do) from None


def _check_no_dates(place: str, facts: Mapping[str, Any]) -> None:
    for key, value in facts.items():
        for entry in value if isinstance(value, list) else [value]:
            if isinstance(entry, date | time) or (isinstance(entry, str) and _DATE.fullmatch(entry)):
                raise InvalidRequest(
                    f"In {place}: `{key}` is a date, but must be a number.",
                    'For dates write { date = "month", from = "2024-01", to = "2024-12" }, under [attributes].',
                )
