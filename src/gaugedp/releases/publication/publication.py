"""Publication: its tables, their budget shares, and one joint query."""

import re
from bisect import bisect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

from gaugedp._internal.language import ENGLISH, checked
from gaugedp._internal.names import parts
from gaugedp._internal.numbers import readable
from gaugedp._internal.validate import decimal, is_finite
from gaugedp.domain import Domain, PrivacyUnit
from gaugedp.domain.captions import TEXTS, Captions
from gaugedp.domain.toml import only_keys, read_toml
from gaugedp.errors import InvalidRequest, UnknownName
from gaugedp.guarantees.base import Guarantee
from gaugedp.guarantees.parse_guarantee import guarantee_asked
from gaugedp.guarantees.shares import share_of
from gaugedp.queries import Query, query
from gaugedp.queries.outline import COUNT, SUM
from gaugedp.queries.sampling import sampling_share, second_moments
from gaugedp.queries.stacked import shared
from gaugedp.releases.answer import Release
from gaugedp.releases.described import Facts
from gaugedp.releases.planning import Plan, plan
from gaugedp.releases.processing import agreement, check, effective
from gaugedp.releases.sampling_error import NOISE, TOTAL
from gaugedp.releases.tidy.flags import Flag, check_marks
from gaugedp.releases.tidy.tabular import LABELS

_STEPS = ("consistent", "non_negative", "round")
_KEYS = (
    *TEXTS, *_STEPS, "data", "domain", "key", "epsilon", "delta", "rho", "mu", "formats", "tables", "importance",
    "labels", "flags", "language", "intervals",
)  # fmt: skip
_OF_A_TABLE = ("title", "query", "weight", "within", "footnote", "importance", "flags", *_STEPS)
FORMATS = ("csv", "parquet", "xlsx")
_DATES = ("date", "next_release")
_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_SHARE_PARTS = 2**14  # resolution of the least share for a target accuracy


@dataclass(frozen=True)
class PublishedTable:
    """Table of a publication: title, query, and budget weight or target precision."""

    title: str
    text: str
    weight: Fraction | None = None
    within: float | None = None
    footnote: str = ""
    importance: Mapping[str, float] = field(default_factory=dict)
    processing: tuple[str, ...] = ()
    flags: tuple[Flag, ...] = ()


@dataclass(frozen=True)
class Publication:
    """Set of tables that are published together, for one charge.

    Use it for a regular publication, such as an annual report. A TOML file describes its tables, and `Publication.load`
    reads it (docs/how-to/publish.md).

    The tables share one guarantee, and each gets a part in proportion to its `weight`, which is 1 by default. A table
    with `within` instead gets the smallest part for which its 95 % intervals are at most ± `within`, and the other
    tables divide the rest. If `intervals` is "total", a part of the guarantee is spent on estimates of the sampling
    error (`gd.with_sampling_error`).

    The remaining options cost nothing. `processing` names the steps of post-processing of a table, and `flags` marks
    noisy answers. `labels` states whether files contain codes, labels or both, and `language` is that of pages and
    notes.
    """

    title: str
    tables: tuple[PublishedTable, ...]
    domain: Domain
    guarantee: Guarantee
    data: Path | None = None
    key: str | None = None
    formats: tuple[str, ...] = ("csv",)
    labels: str = "both"
    importance: Mapping[str, float] = field(default_factory=dict)
    language: str = ENGLISH
    intervals: str = NOISE

    @classmethod
    def load(cls, path: str | Path) -> "Publication":
        """Return the publication that a TOML file describes.

        The format is in docs/how-to/publish.md. Paths in the file are relative to the file.
        """
        facts, folder = read_toml(path, "publication file"), Path(path).parent
        only_keys("the publication", facts, _KEYS)
        domain = Domain.load(folder / _text("domain", facts.get("domain", "domain.toml")))
        tables = facts.get("tables")
        if not isinstance(tables, list) or not tables:
            raise InvalidRequest("The publication has no tables.", "Write a [[tables]] section with title and query.")
        of_tables = tuple(_table(number, table, facts) for number, table in enumerate(tables, 1))
        check_marks([flag for table in of_tables for flag in table.flags])
        parameters = [_number(name, facts.get(name)) for name in ("epsilon", "delta", "rho", "mu")]
        data, key = facts.get("data"), facts.get("key")
        return cls(
            _text("title", facts.get("title", domain.captions.title or domain.name)),
            of_tables,
            domain.with_captions(_captions(domain.captions, facts)),
            guarantee_asked(*parameters),
            None if data is None else folder / _text("data", data),
            None if key is None else _text("key", key),
            _formats(facts.get("formats", ["csv"])),
            _labels(facts.get("labels", "both")),
            _importance("the publication", facts.get("importance", {})),
            checked(facts.get("language", ENGLISH)),
            _intervals(facts.get("intervals", NOISE)),
        )

    @cached_property
    def queries(self) -> tuple[Query, ...]:
        """Query of each table."""
        questions = [query(self.domain, table.text) for table in self.tables]
        terms = [[outline.text for outline in question.outlines] for question in questions]
        for text in self.importance:
            if not any(text in texts for texts in terms):
                raise UnknownName.among("term", text, [text for texts in terms for text in texts])
        return tuple(
            question.with_importance(given) if given else question
            for question, table, texts in zip(questions, self.tables, terms, strict=True)
            if (given := {**_among(self.importance, texts), **table.importance}) is not None
        )

    def shares(self, unit: PrivacyUnit | None = None) -> tuple[Fraction, ...]:
        """Return each table's share of the guarantee, as fractions.

        The shares add up to 1, or to less if no table has a weight. Targets that together need more than the guarantee
        are refused.
        """
        protected = self.domain.protected(unit)
        least_shares = [
            None if table.within is None else self._least(question, table, protected)
            for table, question in zip(self.tables, self.queries, strict=True)
        ]
        needed = sum((share for share in least_shares if share is not None), Fraction(0))
        weights = [table.weight or Fraction(1) for table in self.tables if table.within is None]
        available = 1 - decimal(sampling_share(self.domain)) if self.intervals == TOTAL else Fraction(1)
        if needed > available or (needed == available and weights):
            raise InvalidRequest(
                f"The accuracies that the tables request need {readable(float(needed))} times the given guarantee.",
                "Use a larger `epsilon`, or accept a larger `within`.",
            )
        if not weights:
            return tuple(share for share in least_shares if share is not None)
        left = (available - needed) / sum(weights)
        return tuple(
            (table.weight or Fraction(1)) * left if share is None else share
            for table, share in zip(self.tables, least_shares, strict=True)
        )

    def plan(self, unit: PrivacyUnit | None = None) -> Plan:
        """Return the plan of all tables, without reading data."""
        protected = self.domain.protected(unit)
        questions, shares = list(self.queries), list(self.shares(protected))
        if self.intervals == TOTAL:
            part = decimal(sampling_share(self.domain))
            for moments, share in second_moments(shared(questions, shares), part):
                questions.append(moments)
                shares.append(share)
        return plan(shared(questions, shares), protected, **_parameters(self.guarantee))

    def finished(self, release: Release, question: Query) -> Release:
        """Return the release after processing, with flags, at no cost."""
        rules = [flag.to_dict() for flag in self._flags()]
        facts = {**({"flags": rules} if rules else {}), **self.agreement(question)}
        flagged = replace(release, facts=Facts.of(release.facts).including(**facts))
        flagged = flagged if self.language == ENGLISH else flagged.in_language(self.language)
        steps = self.steps
        if len(set(steps)) == 1:
            return flagged.processed(*steps[0], query=question) if steps[0] else flagged
        sizes = [sum(len(part.steps) for part in each.parts) for each in self.queries]
        others = len(question.steps) - sum(sizes)  # second moments stay as they are
        return flagged.processed_by_table([*zip(sizes, steps, strict=True), (others, ())], question)

    def agreement(self, question: Query) -> dict[str, Any]:
        """Return the fact of which tables add up with each other, if there are several."""
        of_parts = [names for names, each in zip(self.steps, self.queries, strict=True) for _ in each.parts]
        of_parts += [()] * (len(question.parts) - len(of_parts))
        return {"agreement": agreement(question, of_parts)} if len(of_parts) > 1 else {}

    @property
    def steps(self) -> list[tuple[str, ...]]:
        """Steps of each table, without those that change nothing in it."""
        pairs = zip(self.tables, self.queries, strict=True)
        return [effective(table.processing, each.estimates) for table, each in pairs]

    def _flags(self) -> list[Flag]:
        """Return the rules; those of some tables name their terms."""
        if len({table.flags for table in self.tables}) == 1:
            return list(self.tables[0].flags)
        terms: dict[Flag, tuple[str, ...]] = {}
        for table, question in zip(self.tables, self.queries, strict=True):
            for flag in dict.fromkeys(table.flags):
                terms[flag] = (*terms.get(flag, ()), *(text for text, _ in question.labels.terms))
        return [replace(flag, terms=texts) for flag, texts in terms.items()]

    def check_steps(self, question: Query) -> None:
        """Refuse processing steps that do not apply."""
        for steps in dict.fromkeys(table.processing for table in self.tables):
            check(steps, question)

    def _least(self, question: Query, table: PublishedTable, unit: PrivacyUnit) -> Fraction:
        """Return the least share with intervals within ± within."""
        half_width = table.within or 0.0
        if not {outline.measure for outline in question.outlines} <= {COUNT, SUM}:
            raise InvalidRequest(
                f"`within` states the accuracy of counts and sums, but {table.title!r} has other terms.",
                "Give it a `weight` instead.",
            )
        if (reached := _widest(question, unit, self.guarantee)) > half_width:
            raise InvalidRequest(
                f"Even the whole guarantee gives {table.title!r} ± {readable(reached)}, not ± {half_width:g}.",
                "Use a larger `epsilon`, or accept a larger `within`.",
            )

        def is_enough(parts: int) -> bool:
            return _widest(question, unit, share_of(self.guarantee, Fraction(parts, _SHARE_PARTS))) <= half_width

        return Fraction(bisect(range(_SHARE_PARTS), False, 1, key=is_enough), _SHARE_PARTS)


def _widest(question: Query, unit: PrivacyUnit, guarantee: Guarantee) -> float:
    terms = plan(question, unit, **_parameters(guarantee)).terms()
    return max(float(term["ordinary_95"] or term["interval_95"][0]) for term in terms)


def _parameters(guarantee: Guarantee) -> dict[str, float]:
    return {name: value for name, value in guarantee.to_dict().items() if isinstance(value, float)}


def _table(number: int, facts: Any, of_all: Mapping[str, Any]) -> PublishedTable:
    """Return a table; steps and flags that it does not give are those `of_all` tables."""
    place = f"table {number}"
    only_keys(place, facts, _OF_A_TABLE)
    if "query" not in facts:
        raise InvalidRequest(f"In {place}: `query` is missing.", 'Write query = "SEX*AGE".')
    if "weight" in facts and "within" in facts:
        raise InvalidRequest(f"In {place}: `weight` and `within` are both given.", "Use only one of them.")
    numbers = {name: _number(f"{name} of {place}", facts.get(name)) for name in ("weight", "within")}
    for name, value in numbers.items():
        if value is not None and not value > 0:
            raise InvalidRequest(f"In {place}: `{name}` is {value!r}, but must be above 0.", "Write a positive number.")
    text = _text(f"query of {place}", facts["query"])
    weight = None if numbers["weight"] is None else decimal(numbers["weight"])
    title, footnote = (_text(f"{name} of {place}", facts.get(name, "")) for name in ("title", "footnote"))
    importance = _importance(place, facts.get("importance", {}))
    steps = _steps({**_processing(of_all), **_processing(facts, f" of {place}")})
    flags = _flags(facts["flags"], place) if "flags" in facts else _flags(of_all.get("flags", []))
    return PublishedTable(title or text, text, weight, numbers["within"], footnote, importance, steps, flags)


def _among(importance: Mapping[str, float], texts: Sequence[str]) -> dict[str, float]:
    return {text: times for text, times in importance.items() if text in texts}


def _importance(place: str, given: Any) -> dict[str, float]:
    """Return the importance of terms, from a table or from a text such as "SEX=10; AGE=2"."""
    pairs: Any = given.items() if isinstance(given, Mapping) else []
    if isinstance(given, str):
        split = [part.rpartition("=") for part in parts(given, ";") if part]
        pairs = [(text.strip(), _float(times)) for text, _, times in split]
    if not isinstance(given, str | Mapping) or not all(is_finite(times) and times > 0 for _, times in pairs):
        raise InvalidRequest(
            f"`importance` of {place} is {given!r}, but must assign positive numbers to terms.",
            'Write { "SEX" = 10 }, with numbers above 0.',
        )
    return {str(text): float(times) for text, times in pairs}


def _float(text: str) -> float | None:
    return float(text) if re.fullmatch(r"\s*\d+(\.\d+)?\s*", text) else None


def _processing(facts: Mapping[str, Any], place: str = "") -> dict[str, Any]:
    """Return the values of `consistent`, `non_negative` and `round`, as far as they are given."""
    given = {key: facts[key] for key in _STEPS if key in facts}
    for key in _STEPS[:2]:
        if not isinstance(given.get(key, False), bool):
            raise InvalidRequest(
                f"`{key}`{place} is {given[key]!r}, which is neither true nor false.", "Write true or false."
            )
    base = given.get("round", False)
    if not isinstance(base, int) or base < 0 or base > 10**6:
        raise InvalidRequest(
            f"`round`{place} is {base!r}, which is not a base for rounding.", "Write true, false, or a base such as 5."
        )
    return given


def _steps(given: Mapping[str, Any]) -> tuple[str, ...]:
    base = given.get("round", False)
    steps = [key for key in _STEPS[:2] if given.get(key)]
    return (*steps, *(["rounded" if base == 1 else f"rounded to {base}"] if base else []))


def _labels(labels: Any) -> str:
    if labels not in LABELS:
        raise InvalidRequest(f"`labels` is {labels!r}, but must be one of {', '.join(LABELS)}.", "Write one of these.")
    return str(labels)


def _intervals(intervals: Any) -> str:
    if intervals not in (NOISE, TOTAL):
        raise InvalidRequest(f"`intervals` is {intervals!r}, but must be {NOISE} or {TOTAL}.", "Write one of these.")
    return str(intervals)


def _flags(flags: Any, place: str = "the publication") -> tuple[Flag, ...]:
    if not isinstance(flags, list):
        raise InvalidRequest(
            f"`flags` of {place} is {flags!r}, but must be a list of rules.", "Write rules with when, mark and text."
        )
    return tuple(Flag.of(rule, place) for rule in flags)


def _captions(captions: Captions, facts: Mapping[str, Any]) -> Captions:
    given = {key: facts.get(key, getattr(captions, key)) for key in TEXTS}
    given |= {key: _date(key, given[key]) for key in _DATES}
    now, later = (given[key] for key in _DATES)
    if now and later and later < now[: len(later)]:
        raise InvalidRequest(
            f"`next_release` is {later}, which is before `date`, {now}.", "Write a later date, or omit next_release."
        )
    texts: dict[str, Any] = {key: _text(key, text) for key, text in given.items()}
    return replace(captions, **texts)


def _date(key: str, value: Any) -> str:
    """Return a day as YYYY-MM-DD, "" if there is none; a next release may also be a month."""
    if value == "" or (isinstance(value, date) and not isinstance(value, datetime)):
        return str(value)
    month = "-01" if key == _DATES[1] and isinstance(value, str) and len(value) == len("2027-03") else ""
    try:
        if _DAY.fullmatch(f"{value}{month}"):
            return str(value) if date.fromisoformat(f"{value}{month}") else ""
    except ValueError:
        pass
    raise InvalidRequest(
        f"`{key}` is {str(value)!r}, which is not a date of the calendar in the form YYYY-MM-DD.",
        "Write it as 2026-11-29.",
    )


def _formats(formats: Any) -> tuple[str, ...]:
    if not isinstance(formats, Sequence) or isinstance(formats, str) or not set(formats) <= set(FORMATS):
        raise InvalidRequest(
            f"`formats` is {formats!r}, but must be a list of file formats.", f"List some of {', '.join(FORMATS)}."
        )
    return tuple(dict.fromkeys(formats))


def _number(name: str, value: Any) -> float | None:
    if value is not None and not is_finite(value):
        raise InvalidRequest(f"`{name}` is {value!r}, but must be a finite number.", "Pass a number.")
    return None if value is None else float(value)


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise InvalidRequest(f"`{name}` is {value!r}, but must be a string.", "Write it in quotes.")
    return value
