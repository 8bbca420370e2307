"""Folder of a publication: pages, tables, release and manifest."""

import hashlib
import json
import os
import re
import shutil
import tempfile
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from gaugedp._internal.displays import drawing
from gaugedp._internal.files import part_prefix, write_csv
from gaugedp._internal.language import listed, say, written_in
from gaugedp.domain.captions import Captions
from gaugedp.errors import GaugedpError, InvalidRequest
from gaugedp.queries.outline import COUNT, SUM, Outline
from gaugedp.releases.answer import Release
from gaugedp.releases.publication.metadata import write_catalogue, write_metadata
from gaugedp.releases.publication.publication import Publication
from gaugedp.releases.tidy.printed import save_book
from gaugedp.releases.tidy.spreadsheet import check_installed as check_sheets
from gaugedp.releases.tidy.tabular import NUMBERS

MANIFEST = "manifest.json"
_PAID = "The answers are charged and stored in the ledger; with the same key they cost nothing."
Listed = Mapping[str, Sequence[Any]]


def write_folder(
    publication: Publication, release: Release, folder: str | Path, erratum: Mapping[str, Any] | None = None
) -> bool:
    """Write the folder atomically, with an `erratum` if any; return True if it existed identically."""
    target = Path(folder).absolute()
    part = Path(tempfile.mkdtemp(prefix=part_prefix(target.parent), dir=target.parent))
    try:
        if erratum:
            (part / "erratum.html").write_text(drawing("erratum")(release, erratum), encoding="utf-8")
        _fill(publication, release, part, erratum)
        part.chmod(0o755)
        if target.exists():
            if not target.is_dir() or _contents(target) != _contents(part):
                raise GaugedpError(
                    f"The folder {str(folder)!r} already contains other files than this publication would write.",
                    "Pass another folder.",
                    _PAID,
                )
            return True
        part.rename(target)
        return False
    finally:
        shutil.rmtree(part, ignore_errors=True)


def check_place(publication: Publication, digest: str, folder: str | Path) -> None:
    """Refuse an unusable folder, or missing libraries, before the charge."""
    drawing("check_installed")()
    if "xlsx" in publication.formats:
        check_sheets()
    target = Path(folder).absolute()
    if not target.parent.is_dir():
        raise InvalidRequest(f"There is no folder {str(target.parent)!r}.", "Create it first.")
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise InvalidRequest(f"{str(target.parent)!r} cannot be written to.", "Use a folder that you may write to.")
    if target.exists() and not _is_of(digest, publication.key, target / MANIFEST):
        raise InvalidRequest(f"{str(folder)!r} already contains other files.", "Use a folder that does not exist.")


def _is_of(digest: str, key: str | None, manifest: Path) -> bool:
    try:
        facts = json.loads(manifest.read_text("utf-8"))
        return bool((facts["digest"], facts["ledger"]["key"]) == (digest, key))
    except (OSError, ValueError, KeyError, TypeError):
        return False


def check_folder(folder: str | Path) -> list[str]:
    """Return a sentence per file that differs from the manifest."""
    path = Path(folder) / MANIFEST
    try:
        files = json.loads(path.read_text("utf-8"))["files"].items()
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise InvalidRequest(f"{str(path)!r} is not a manifest.", "Use the folder of a publication.") from None
    contents = _contents(Path(folder))
    wrong = [f"{name} is missing." for name, _ in files if name not in contents]
    wrong += [f"{name} was changed." for name, digest in files if name in contents and contents[name] != digest]
    named = {MANIFEST, *(name for name, _ in files)}
    return wrong + [f"{name} does not belong to this publication." for name in sorted(set(contents) - named)]


def _fill(publication: Publication, release: Release, folder: Path, erratum: Mapping[str, Any] | None) -> None:
    release.save_html(folder / "index.html")
    release.save_press_html(folder / "press.html")
    release.save_json(folder / "release.json")
    (folder / "tables").mkdir()
    for number, (table, question) in enumerate(zip(publication.tables, publication.queries, strict=True), 1):
        terms = {text for text, _ in question.labels.terms}
        columns = _columns(release, terms, publication.labels)
        name = f"{number:02}-{_slug(table.title)}"
        for kind in publication.formats:
            WRITERS[kind](folder / "tables" / f"{name}.{kind}", columns, (release, terms, publication.labels))
        write_metadata(folder / "tables" / name, release, terms)
    write_catalogue(folder, publication.title, release)
    facts = {**_manifest(publication, release, folder), **({"supersedes": erratum} if erratum else {})}
    (folder / MANIFEST).write_text(json.dumps(facts, indent=1), encoding="utf-8")


def _columns(release: Release, terms: set[str], labels: str) -> dict[str, list[Any]]:
    columns = release.columns(labels=labels)
    lines = [place for place, text in enumerate(columns["query"]) if text in terms]
    rows = {name: [column[place] for place in lines] for name, column in columns.items()}
    return {name: column for name, column in rows.items() if any(value is not None for value in column)}


def _manifest(publication: Publication, release: Release, folder: Path) -> Mapping[str, Any]:
    account = release.facts.get("account", {})
    return {
        "title": publication.title,
        "question": release.facts["query"],
        "digest": release.facts["digest"],
        "guarantee": release.guarantee.to_dict(),
        "asked": release.facts["asked"],
        "unit": release.facts["unit"],
        "version": release.facts["version"],
        "ledger": {name: account.get(name) for name in ("entry", "tip", "key")},
        "tables": [
            {"title": table.title, "query": table.text, "footnote": table.footnote} for table in publication.tables
        ],
        "files": _contents(folder),
    }


def _contents(folder: Path) -> dict[str, str]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def _slug(title: str) -> str:
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]+", "-", plain.lower()).strip("-")[:60] or "table"


def titled(publication: Publication) -> Publication:
    """Return the publication with table titles as captions."""
    with written_in(publication.language):
        return _titled(publication)


def _titled(publication: Publication) -> Publication:
    pairs = zip(publication.tables, publication.queries, strict=True)
    captions = publication.domain.captions
    titles = {
        outline.text: _title(table.title, outline, question.outlines[0], captions)
        for table, question in pairs
        for outline in question.outlines
    }
    captions = replace(captions, title=publication.title, terms=titles)
    return replace(publication, domain=publication.domain.with_captions(captions))


def _title(title: str, term: Outline, first: Outline, captions: Captions) -> str:
    if term == first:
        return title
    if not term.names:
        return say("notes.in_all", title=title)
    is_margin = term.kind == first.kind and term.measure in (COUNT, SUM) and set(term.names) < set(first.names)
    names = listed(list(map(captions.name, term.names)))
    return say("notes.totals" if is_margin else "notes.by", title=title, names=names)


Source = tuple[Release, set[str], str]  # a release, the terms of one table, and the names of cells


def _write_csv(path: Path, columns: Listed, _: Source) -> None:
    write_csv(path, [columns])


def _write_parquet(path: Path, columns: Listed, _: Source) -> None:
    from gaugedp.tables.duckdb.engine import write_parquet

    kinds = {name: float if name in NUMBERS else object for name in columns}
    write_parquet(path, [{name: np.array(column, dtype=kinds[name]) for name, column in columns.items()}])


def _write_excel(path: Path, columns: Listed, source: Source) -> None:
    release, terms, labels = source
    save_book(path, release, columns, labels, terms)


WRITERS: dict[str, Callable[[Path, Listed, Source], None]] = {
    "csv": _write_csv,
    "parquet": _write_parquet,
    "xlsx": _write_excel,
}
