"""Metadata of a publication: CSVW, JSON-stat, SDMX-CSV and DCAT."""

import csv
import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from gaugedp._internal.displays import drawing
from gaugedp._internal.files import write_csv
from gaugedp._internal.language import say, written_in
from gaugedp.guarantees import from_dict
from gaugedp.guarantees.printed import rounded_up
from gaugedp.queries.outline import Outline
from gaugedp.releases.answer import Release
from gaugedp.releases.tidy.flags import legends
from gaugedp.releases.tidy.tabular import NUMBERS

CSVW, DCAT = "metadata.csvw.json", "catalogue.dcat.json"
_STATISTICS = ("estimate", "lower", "upper")
_CONTACT = "dc:creator"
_TOTAL = "_T"  # the code of SDMX for all categories together
_ADDRESS, _EMAIL = re.compile(r"https?://\S+"), re.compile(r"[^@\s]+@[^@\s]+")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


def write_metadata(path: Path, release: Release, terms: Collection[str]) -> None:
    """Write NAME.json-stat.json and NAME.sdmx.csv for the terms of a table."""
    kept = [(term, place) for term, place in _places(release) if term.text in terms]
    with written_in(release.language):
        _dump(path.with_name(f"{path.name}.json-stat.json"), _json_stat(release, kept))
    if any(term.axes for term, _ in kept):
        write_csv(path.with_name(f"{path.name}.sdmx.csv"), _sdmx(path.name, release, kept))


def write_catalogue(folder: Path, title: str, release: Release) -> None:
    """Write the CSVW description of all CSV files of tables, and the DCAT entry of the folder."""
    tables = sorted(path for path in (folder / "tables").glob("*.csv") if not path.name.endswith(".sdmx.csv"))
    with written_in(release.language):
        about = _about(title, release)
    if tables:
        described = [_csvw(path, path.relative_to(folder).as_posix()) for path in tables]
        _dump(folder / CSVW, {"@context": "http://www.w3.org/ns/csvw", **about, "tables": described})
    _dump(folder / DCAT, _dcat(folder, about))


Kept = Sequence[tuple[Outline, slice]]


def _places(release: Release) -> Iterator[tuple[Outline, slice]]:
    start = 0
    for term in release.terms:
        yield term, slice(start, start + term.size)
        start += term.size


def _about(title: str, release: Release) -> dict[str, Any]:
    captions, guarantee = release.captions, drawing("amount")(rounded_up(from_dict(release.facts["asked"])))
    noise = say("notes.noise", guarantee=guarantee)
    facts = {"title": title, "source": captions.source, "creator": captions.contact, "license": captions.licence}
    facts |= {"issued": captions.date, "description": " ".join(filter(None, [captions.footnote, noise]))}
    return {f"dc:{name}": _linked(text) for name, text in facts.items() if text}


def _linked(text: str) -> Any:
    """Return an address of the web as an IRI, and any other text as it is."""
    return {"@id": text} if _ADDRESS.fullmatch(text) else text


def _csvw(path: Path, url: str) -> dict[str, Any]:
    with path.open(newline="", encoding="utf-8") as file:
        names = next(csv.reader(file))
    columns = [
        {
            "name": f"c{number}_{_code(name)}",
            "titles": name,
            "datatype": "number" if name in NUMBERS else "string",
            "null": ["", "inf", "-inf"] if name in NUMBERS else "",
        }
        for number, name in enumerate(names, 1)
    ]
    return {"url": url, "tableSchema": {"columns": columns}}


def _json_stat(release: Release, kept: Kept) -> dict[str, Any]:
    columns, (marks, hidden) = release.number_columns(), release.marks()
    datasets = [_dataset(release, term, columns, (marks[place], hidden[place]), place) for term, place in kept]
    head = {"version": "2.0", "class": "dataset"}
    if len(datasets) == 1:
        return {**head, **datasets[0]}
    items = [{"class": "dataset", **dataset} for dataset in datasets]
    return {"version": "2.0", "class": "collection", "link": {"item": items}}


def _dataset(
    release: Release,
    term: Outline,
    columns: Mapping[str, np.ndarray],
    flags: tuple[np.ndarray, np.ndarray],
    place: slice,
) -> dict[str, Any]:
    captions, (marks, hidden) = release.captions, flags
    dimensions = {
        axis.name: {
            "label": captions.name(axis.name),
            "category": {
                "index": list(axis.texts),
                "label": {text: captions.cell(axis.name, text) for text in axis.texts},
            },
        }
        for axis in term.axes
    }
    own = "statistic" if "statistic" not in dimensions else "statistic_"
    words = {name: say(f"answers.{name}") for name in _STATISTICS}
    dimensions[own] = {"label": "statistic", "category": {"index": list(_STATISTICS), "label": words}}
    numbers = np.stack([np.where(hidden, np.nan, columns[name][place]) for name in _STATISTICS], axis=1).ravel()
    status = {str(i): mark for i, mark in enumerate(np.repeat(marks, len(_STATISTICS)).tolist()) if mark}
    facts = {
        "label": captions.terms.get(term.text) or term.text,
        "source": captions.source,
        "updated": captions.date if _DAY.fullmatch(captions.date) else "",
        "note": [text for text in (captions.footnote, *legends(release.flags, [term.text])) if text],
        "status": status,
    }
    return {
        **{name: fact for name, fact in facts.items() if fact},
        "id": list(dimensions),
        "size": [*term.shape, len(_STATISTICS)],
        "role": {"metric": [own]},
        "dimension": dimensions,
        "value": [float(number) if np.isfinite(number) else None for number in numbers],
    }


def _sdmx(name: str, release: Release, kept: Kept) -> Iterator[dict[str, list[Any]]]:
    """Yield the terms as blocks of SDMX-CSV 2.0; attributes that a term has not are `_T`, the total."""
    names = list(dict.fromkeys(axis for term, _ in kept for axis in term.names))
    heads = dict(zip(names, _codes(names), strict=True))
    columns, (marks, hidden) = release.number_columns(), release.marks()
    for term, place in kept:
        texts = np.unravel_index(np.arange(term.size), term.shape) if term.axes else ()
        cells = {axis.name: [axis.texts[int(i)] for i in at] for axis, at in zip(term.axes, texts, strict=True)}
        numbers = {
            head: _numbers(np.where(hidden, np.nan, columns[column])[place])
            for head, column in (("OBS_VALUE", "estimate"), ("LOWER_95", "lower"), ("UPPER_95", "upper"))
        }
        yield {
            "STRUCTURE": ["dataflow"] * term.size,
            "STRUCTURE_ID": [f"GAUGEDP:{_code(name).upper()}(1.0)"] * term.size,
            "ACTION": ["I"] * term.size,
            "MEASURE": [_code("_".join(filter(None, [term.measure, term.column])))] * term.size,
            **{head: cells.get(axis, [_TOTAL] * term.size) for axis, head in heads.items()},
            **numbers,
            "OBS_STATUS": list(marks[place]),
        }


def _numbers(values: np.ndarray) -> list[Any]:
    return [float(value) if np.isfinite(value) else "" for value in values]


def _code(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9_]+", "_", text).strip("_") or "X"


def _codes(names: Sequence[str]) -> list[str]:
    codes: list[str] = []
    taken = {"STRUCTURE", "STRUCTURE_ID", "ACTION", "MEASURE", "OBS_VALUE", "LOWER_95", "UPPER_95", "OBS_STATUS"}
    for name in names:
        code, number = _code(name), 2
        while code in taken:
            code, number = f"{_code(name)}_{number}", number + 1
        taken.add(code)
        codes.append(code)
    return codes


def _dcat(folder: Path, facts: Mapping[str, Any]) -> dict[str, Any]:
    files = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    about = {name.replace("dc:", "dct:"): text for name, text in facts.items() if name != _CONTACT}
    return {
        "@context": {
            "dcat": "http://www.w3.org/ns/dcat#",
            "dct": "http://purl.org/dc/terms/",
            "vcard": "http://www.w3.org/2006/vcard/ns#",
        },
        "@type": "dcat:Dataset",
        **about,
        **({"dcat:contactPoint": _card(facts[_CONTACT])} if _CONTACT in facts else {}),
        "dcat:distribution": [
            {"@type": "dcat:Distribution", "dcat:downloadURL": {"@id": quote(name)}} for name in files
        ],
    }


def _card(contact: Any) -> dict[str, Any]:
    """Return a contact as a vCard."""
    if not isinstance(contact, str):
        return {"@type": "vcard:Kind", "vcard:hasURL": contact}
    email = {"vcard:hasEmail": {"@id": f"mailto:{contact}"}} if _EMAIL.fullmatch(contact) else {}
    return {"@type": "vcard:Kind", "vcard:fn": contact, **email}


def _dump(path: Path, facts: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(facts, indent=1, ensure_ascii=False, allow_nan=False), encoding="utf-8")
