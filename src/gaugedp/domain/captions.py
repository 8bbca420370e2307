"""Captions shown instead of names and codes. They change no query and no answer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from gaugedp.errors import InvalidRequest, UnknownName

TEXTS = ("title", "source", "footnote", "rows", "date", "contact", "licence", "next_release")  # of a domain
OWN = ("label", "labels", "phrase", "unit", "geography")  # for an attribute or a column


@dataclass(frozen=True)
class Caption:
    """Caption of a column: title, unit, cell labels and map.

    Pages and tables show the caption instead of the column's name and codes. `phrase` words cells in sentences, each by
    words of its own or by those of "*", such as "aged {}". `areas` maps cells to outlines, from which maps are drawn.
    """

    label: str = ""
    unit: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    phrase: Mapping[str, str] = field(default_factory=dict)
    areas: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, place: str, facts: Mapping[str, Any], cells: Sequence[str] | None = None) -> "Caption":
        """Return the caption that a mapping describes.

        Labels are allowed only for the named `cells`.
        """
        label, unit = (_text(f"{key} in {place}", facts.get(key, "")) for key in ("label", "unit"))
        labels = facts.get("labels", {})
        if not isinstance(labels, Mapping):
            raise InvalidRequest(
                f"`labels` in {place} is {labels!r}, but must assign a label to each cell.",
                'Write them as { "1" = "men", "2" = "women" }.',
            )
        for cell in labels:
            if cell not in (cells or ()):
                raise UnknownName.among(f"cell of {place}", str(cell), cells or ["(none)"])
        texts = {cell: _text(f"a label in {place}", text) for cell, text in labels.items()}
        return cls(label, unit, texts, _phrase(place, facts.get("phrase", {}), cells or ()))

    def to_dict(self) -> dict[str, Any]:
        """Return the non-empty parts as JSON-compatible data."""
        texts = {"label": self.label, "unit": self.unit, "labels": dict(self.labels)}
        facts = {**texts, "phrase": dict(self.phrase), "areas": dict(self.areas)}
        return {key: fact for key, fact in facts.items() if fact}


@dataclass(frozen=True)
class Captions:
    """Titles and labels that are printed with published answers.

    Use captions to publish answers in plain words instead of column names and codes. They change no query and no
    answer.

    Parameters
    ----------
    title, source, footnote : str
        The title of the table, the source of its data, and a footnote.
    rows : str
        The plural noun for the rows of the table, such as "persons".
    date, contact, licence, next_release : str
        Details of the publication, which are printed on pages and in notes.
    columns : mapping of str to Caption
        The caption of each column, by the name of the column.
    terms : mapping of str to str
        The title of each term of a query, by the text of the term.

    Examples
    --------
    >>> from gaugedp.domain.captions import Caption, Captions
    >>> captions = Captions(rows="persons", columns={"SEX": Caption(label="Sex", labels={"1": "men", "2": "women"})})
    >>> captions.name("SEX"), captions.cell("SEX", "2")
    ('Sex', 'women')
    """

    title: str = ""
    source: str = ""
    footnote: str = ""
    rows: str = ""
    date: str = ""
    contact: str = ""
    licence: str = ""
    next_release: str = ""
    columns: Mapping[str, Caption] = field(default_factory=dict)
    terms: Mapping[str, str] = field(default_factory=dict)  # titles by text of the term

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> "Captions":
        """Return the captions that a mapping describes, without columns."""
        texts = {key: _text(key, facts.get(key, "")) for key in TEXTS}
        columns = {str(name): Caption(**caption) for name, caption in facts.get("columns", {}).items()}
        terms = {str(text): str(title) for text, title in facts.get("terms", {}).items()}
        return cls(**texts, columns=columns, terms=terms)

    def with_columns(self, columns: Mapping[str, Caption]) -> "Captions":
        """Return the captions with new captions of columns."""
        return replace(self, columns=columns)

    def name(self, column: str) -> str:
        """Return a column's label, or its name."""
        return self._of(column).label or column

    def unit(self, column: str) -> str:
        """Return the unit of a column's numbers, or ""."""
        return self._of(column).unit

    def cell(self, column: str, text: str) -> str:
        """Return the label of a cell or run of cells."""
        labels = self._of(column).labels
        return "..".join(labels.get(end, end) for end in text.split("..")) if labels else text

    def phrase(self, column: str, text: str, label: str) -> str:
        """Return the words of a labelled cell in a sentence, or ""."""
        phrases = self._of(column).phrase
        return phrases.get(text, phrases.get(_ANY, "")).replace("{}", label)

    def has_labels(self, column: str) -> bool:
        """Return True if the cells of the column have labels."""
        return bool(self._of(column).labels)

    def areas(self, column: str) -> Mapping[str, str]:
        """Return the outlines of a column's cells, if any."""
        return self._of(column).areas

    def about(self, names: Sequence[str]) -> "Captions":
        """Return the captions of the named columns only."""
        columns = {name: caption for name, caption in self.columns.items() if name in names}
        return self.with_columns(columns)

    def to_dict(self) -> dict[str, Any]:
        """Return the non-empty parts as JSON-compatible data."""
        texts = {key: getattr(self, key) for key in TEXTS if getattr(self, key)}
        columns = {name: caption.to_dict() for name, caption in self.columns.items() if caption.to_dict()}
        parts = {"columns": columns, "terms": dict(self.terms)}
        return {**texts, **{name: part for name, part in parts.items() if part}}

    def _of(self, column: str) -> Caption:
        return self.columns.get(column, _NOTHING)


_NOTHING = Caption()
_ANY = "*"  # the key of the phrase of all other cells


def _phrase(place: str, facts: object, cells: Sequence[str]) -> dict[str, str]:
    phrases = {_ANY: facts} if isinstance(facts, str) else facts
    if not isinstance(phrases, Mapping):
        what = f"`phrase` in {place} is {facts!r}, which is neither text nor a table of texts."
        raise InvalidRequest(what, 'Write it as "aged {}", or as one text for each cell.')
    for cell in phrases:
        if cell not in (_ANY, *cells):
            raise UnknownName.among(f"cell of {place}", str(cell), list(cells) or ["(none)"])
    return {cell: _text(f"a phrase in {place}", text) for cell, text in phrases.items()}


def _text(what: str, value: object) -> str:
    if not isinstance(value, str):
        raise InvalidRequest(f"{what[0].upper()}{what[1:]} is {value!r}, but must be a string.", "Write it in quotes.")
    return value
