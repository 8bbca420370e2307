"""Releases, the statistics computed from them, and their JSON."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from gaugedp._internal.displays import drawing, drawn_by
from gaugedp._internal.files import check_ending
from gaugedp._internal.language import LANGUAGES, checked
from gaugedp._internal.runs import (
    check_lengths,
    folded_sizes,
    packed,
    times,
    unfold,
    unpacked,
    whole,
)
from gaugedp._internal.validate import between
from gaugedp.domain.captions import Captions
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees import Guarantee, from_dict
from gaugedp.guarantees.printed import rounded_up
from gaugedp.queries.base import Query
from gaugedp.queries.labels import Labels
from gaugedp.queries.outline import COUNT, Outline
from gaugedp.releases.described import LEVELS, Facts, restored_facts
from gaugedp.releases.processing import STEPS, base_of, check, effective, how, may_be_joint, process, words
from gaugedp.releases.remarks import remarks
from gaugedp.releases.sampling_error import NOISE, TOTAL, SamplingError, contained, sampling_errors, total_intervals
from gaugedp.releases.tidy.in_words import apart
from gaugedp.releases.tidy.tabular import Tabular
from gaugedp.statistics.base import Ends, Statistic, all_answers, by_pivot, curves_of, read_statistic, split

FORMAT = "gaugedp-release-1"
EXACTNESS = ("exact", "idealized", "mixing")
RAW = "of the raw answers, before processing"
_LARGEST_NUMBER = 1e250  # bound on released numbers, widths, their ends, and inverses
_MOST_PLACES = 64  # per released number, in a curve of widths: 52 for a standard deviation


@dataclass(frozen=True, eq=False)
class Release(Tabular):
    """Published answers with confidence intervals and public facts.

    `gd.release` returns it. The answers are in `values`, in the order of `labels`, and `interval` returns their
    confidence intervals. `to_frame` and `save_html` show both. Everything in a release is public. `facts` describes how
    the release was made: its query, privacy unit, rules for rows, guarantee and mechanism. `numbers` are the noisy
    integers from which the answers were computed.
    """

    numbers: np.ndarray
    labels: Labels
    estimates: tuple[Statistic, ...]
    guarantee: Guarantee
    facts: Mapping[str, Any] = field(repr=False)

    _repr_html_ = drawn_by("release")

    @property
    def exactness(self) -> str:
        """Exactness of the noise: "exact", "idealized" or "mixing"; see `Calibrated`."""
        return str(self.facts["mechanism"]["exactness"])

    @cached_property
    def values(self) -> np.ndarray:
        """Published answers after any processing, shape (n_answers,)."""
        return all_answers(self.estimates, self._shown)

    @cached_property
    def raw(self) -> np.ndarray:
        """Unprocessed answers, shape (n_answers,). Intervals are about these."""
        return all_answers(self.estimates, self._released)

    @property
    def processing(self) -> tuple[str, ...]:
        """Processing steps from `raw` to `values`, in order."""
        return tuple(self.facts.get("processing", {}).get("steps", ()))

    def processed(self, *steps: str, query: Query | None = None) -> "Release":
        """Return the release with processed answers, at no cost.

        Use it to make tables add up, or to remove negative counts. No data is read, so the guarantee, the raw answers
        and the intervals stay the same. Without steps, you get the raw release.

        Parameters
        ----------
        *steps : {"consistent", "non_negative", "rounded", "rounded to 5"}
            The steps, which are applied to the raw answers in this order. "consistent" replaces the answers, except
            quantiles, by the nearest ones that some table could have (by weighted least squares). "non_negative" raises
            negative counts and shares to 0, and "rounded" rounds counts. With "consistent" and "non_negative", one
            table of at most 100,000 cells without negative cells is fitted. With "consistent" and "rounded", rounded
            counts add up exactly, for at most 4,096 joint cells or one tree.
        query : Query, optional
            The query of this release, which only "consistent" needs.

        Raises
        ------
        UnknownName, InvalidRequest
            If a step is unknown, or if "consistent" lacks the query or the query is too large.
        """
        names = effective(check(steps, query), self.estimates)
        done = {"steps": list(names), **how(names, query)}
        return self._with_values(done, self._process(names, query) if names else None)

    def processed_by_table(self, tables: Sequence[tuple[int, Sequence[str]]], query: Query) -> "Release":
        """Return the release with separate processing steps for each table.

        `tables` lists, in order, the number of released values of each table and its steps. Tables with equal steps are
        processed together, so that they add up.
        """
        sizes, steps = [size for size, _ in tables], [check(names, query) for _, names in tables]
        values, places = self._released.copy(), np.repeat(np.arange(len(tables)), sizes)
        parts = []
        for names in dict.fromkeys(each for each in steps if each):
            chosen = [number for number, each in enumerate(steps) if each == names]
            is_shown = np.isin(places, chosen)
            values[is_shown] = self._process(names, query)[is_shown]
            numbers = [number + 1 for number in chosen]
            parts.append({"tables": numbers, "steps": list(names), **how(names, query, is_shown)})
        union = list(dict.fromkeys(name for names in steps for name in names))
        return self._with_values({"steps": union, "parts": parts}, values)

    def _with_values(self, done: dict[str, Any], values: np.ndarray | None) -> "Release":
        facts = Facts.of(self.facts).without("processing")
        if values is not None and done["steps"]:
            facts = facts.including(processing={**done, "intervals": RAW, "values": packed(values)})
        return replace(self, facts=facts)

    def in_language(self, language: str) -> "Release":
        """Return the release with pages and notes in another language.

        The languages are "en", "de", "fr", "es" and "sl". Names of the domain and numbers in files do not change.
        """
        return replace(self, facts=Facts.of(self.facts).including(language=checked(language)))

    def interval(self, level: float = 0.95, simultaneous: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """Return confidence intervals (lower, upper) of the raw answers.

        Each interval contains the exact answer, which excludes rows that the rules leave out, with probability at least
        `level` over the noise. If `intervals` is "total", the intervals of weighted terms approximately include the
        sampling error. Both results have the shape (n_answers,). docs/theory/derived.md explains how intervals of means
        and shares are found.

        Parameters
        ----------
        level : float
            The probability, from 0 to 0.999. It is raised to the next level that is stored. Default 0.95. Intervals of
            quantiles have the level at which they were released, and a higher one is refused.
        simultaneous : bool
            Whether all intervals together contain their answers with this probability, which makes them wider. By
            default, the probability is for each interval by itself.
        """
        between(0, LEVELS[-2] + 1e-12, level=level)
        for estimate in self.estimates:
            if estimate.ends is not None and level > estimate.ends + 1e-12:
                raise InvalidRequest(
                    f"These intervals were released at level {estimate.ends:g}, but {level!r} is requested.",
                    f"Request at most {estimate.ends:g}, or release them with a higher `level`.",
                )
        ends = list(self._all_at_once(level) if simultaneous else self._each_alone(level))
        if self.intervals == TOTAL:
            misses = (1 - level) / (len(self.labels) if simultaneous else 1)
            ends = total_intervals(self.estimates, self.raw, ends, self._sampling, misses)
        low, high = zip(*ends, strict=True)
        return np.concatenate(low), np.concatenate(high)

    @property
    def intervals(self) -> str:
        """Errors that the intervals include: "noise" or "total"."""
        if "derived" in self.facts:
            return TOTAL if self.facts.get("intervals") == TOTAL else NOISE
        return contained(self.terms)

    @property
    def sampling_errors(self) -> list[np.ndarray]:
        """Standard errors of sampling, by term; 0 if not estimated."""
        return [error.deviations for error in self._sampling]

    @cached_property
    def _sampling(self) -> list[SamplingError]:
        return sampling_errors(self.terms, self.estimates, self._released, unfold(self.facts["deviations"]))

    def _all_at_once(self, level: float) -> Iterator[Ends]:
        parts = (split(self.estimates, numbers) for numbers in (self._released, self._widths(level, True)))
        for estimate, values, widths in zip(self.estimates, *parts, strict=True):
            yield estimate.simultaneous_intervals(values, widths)

    def _each_alone(self, level: float) -> Iterator[Ends]:
        values, curves = split(self.estimates, self._released), curves_of(self.estimates, self._curves(level))
        widths = {estimate.of_widths(level): self._widths(*estimate.of_widths(level)) for estimate in self.estimates}
        parts = {which: split(self.estimates, of_level) for which, of_level in widths.items()}
        for place, estimate in enumerate(self.estimates):
            yield estimate.intervals(values[place], parts[estimate.of_widths(level)][place], curves[place])

    @cached_property
    def terms(self) -> tuple[Outline, ...]:
        """Description of each term: its measure and its axes."""
        if "terms" in self.facts:
            return tuple(map(Outline.of, self.facts["terms"]))
        return tuple(Outline.unknown(text, cells) for text, cells in self.labels.terms)

    @cached_property
    def captions(self) -> Captions:
        """Captions shown instead of names and codes."""
        return Captions.of(self.facts.get("captions", {}))

    def number_columns(self, level: float = 0.95) -> dict[str, np.ndarray]:
        """Return the numeric columns of `columns`, shape (n_answers,) each."""
        (low, high), (lowest, highest) = self.interval(level), self.interval(level, simultaneous=True)
        ends = {"lower": low, "upper": high, "lower_all": lowest, "upper_all": highest}
        columns = {"estimate": self.values, **ends}
        return {**columns, "raw": self.raw} if self.processing else columns

    def to_json(self) -> str:
        """Return the release as JSON; `Release.from_json` reads it."""
        return self._as_text(self.facts, self.labels.facts(), packed(whole(self.numbers)))

    def to_store(self) -> str:
        """Return JSON for the ledger, without facts that `from_json` recomputes."""
        numbers = packed(whole(self.numbers), longest_list=1_000)  # writing a long list would dominate the time
        return self._as_text(Facts.of(self.facts).stored, self.labels.by_terms(), numbers)

    def _as_text(self, facts: Mapping[str, Any], labels: list[Any], numbers: Any) -> str:
        return json.dumps(
            {
                **facts,
                "guarantee": self.guarantee.to_dict(),
                "numbers": numbers,
                "labels": labels,
                "estimates": [estimate.to_dict() for estimate in self.estimates],
            }
        )

    @classmethod
    def from_json(cls, text: str) -> "Release":
        """Return the release that `to_json` or `to_store` wrote."""
        try:
            facts = json.loads(text)
            if facts.pop("format") != FORMAT:
                raise KeyError("format")
            numbers = unpacked(facts.pop("numbers"))
            labels, described = Labels.of(facts.pop("labels")), facts.pop("estimates")
            measures = [term["measure"] for term in facts.get("terms", ())] or [COUNT] * len(described)
            estimates = tuple(map(read_statistic, described, measures))
            guarantee = from_dict(facts.pop("guarantee"))
            widths = (facts["widths"] or {}).values()
            runs = [facts["steps"], *(levels for kind in widths for levels in kind.values())]
            check_lengths(runs, _MOST_PLACES * len(numbers))
            release = cls(numbers, labels, estimates, guarantee, restored_facts({"format": FORMAT, **facts}, estimates))
            release._check_shown()
        except (TypeError, ValueError, AttributeError, LookupError, ArithmeticError, RecursionError):
            raise InvalidRequest("The text is not a release in JSON.", "Pass the text that `to_json` wrote.") from None
        return release

    def remarks(self, query: Query) -> list[str]:
        """Return remarks on uninformative answers and possibly empty categories.

        They follow from published numbers, so they cost nothing. `query` must be the query of this release.
        """
        check_released(self, query)
        shown = np.array([self.raw, *self.interval(0.95)])
        return list(remarks(query, shown, np.array(self.interval(0.95, simultaneous=True))))

    def save_html(self, path: str | Path, query: Query | None = None, language: str | None = None) -> None:
        """Write the report as one self-contained HTML page.

        With the `query` of the release, the page also shows the `remarks`. For `language`, see `in_language`.
        """
        check_ending(path, ".html")
        said = [] if query is None else self.remarks(query)
        Path(path).write_text(drawing("page")(self._in(language), remarks=said), encoding="utf-8")

    def save_press_html(self, path: str | Path, language: str | None = None) -> None:
        """Write a page for the press: findings and a picture."""
        check_ending(path, ".html")
        Path(path).write_text(drawing("press_page")(self._in(language)), encoding="utf-8")

    def _in(self, language: str | None) -> "Release":
        return self if language is None else self.in_language(language)

    def save_json(self, path: str | Path) -> None:
        """Write `to_json` to a file."""
        check_ending(path, ".json")
        Path(path).write_text(self.to_json(), encoding="utf-8")

    @cached_property
    def _released(self) -> np.ndarray:
        runs = [(int(count), Fraction(step)) for count, step in self.facts["steps"]]
        ends = np.cumsum([count for count, _ in runs])
        if not runs or ends[-1] != len(self.numbers):
            raise ValueError
        parts = np.split(whole(self.numbers), ends[:-1])
        return np.concatenate([times(part, step) for part, (_, step) in zip(parts, runs, strict=True)])

    @cached_property
    def _shown(self) -> np.ndarray:
        if not self.processing:
            return self._released
        return np.asarray(unpacked(self.facts["processing"]["values"]), dtype=float)

    def _check_shown(self) -> None:
        self._check_sizes()
        self._check_ends()
        self._check_processing()
        if not (np.abs(self.values) < _LARGEST_NUMBER).all():
            raise ValueError
        if self.language not in LANGUAGES or self.exactness not in EXACTNESS or not isinstance(repr(self), str):
            raise ValueError

    def _check_ends(self) -> None:
        """Raise ValueError if intervals are missing, infinite or too many."""
        sizes = [estimate.n_answers for estimate in self.estimates]
        if [len(cells) for _, cells in self.labels.terms] != sizes or [term.size for term in self.terms] != sizes:
            raise ValueError
        assert self.captions is not None  # invalid captions are refused here, and invalid sets of tables:
        assert (self.sets, apart(self.facts, self.captions, self.terms)) is not None
        if Facts.of(self.facts).recipe is not None:  # the widths are computed on demand
            return
        highest = min((estimate.ends for estimate in self.estimates if estimate.ends), default=LEVELS[-2])
        for level, at_once in product((level for level in LEVELS if level <= max(highest, 0.95)), (False, True)):
            low, high = self.interval(level, at_once)
            if not ((np.abs(low) < _LARGEST_NUMBER) & ((np.abs(high) < _LARGEST_NUMBER) | (high == np.inf))).all():
                raise ValueError  # ratios may have no upper end

    def _check_sizes(self) -> None:
        """Raise ValueError for numbers whose sums or quotients may overflow."""
        widths = Facts.of(self.facts).stored["widths"] or {}
        runs = [folded_sizes(levels) for kind in widths.values() for levels in kind.values()]
        for part in (self._released, self._shown, *runs):
            sizes = np.abs(part)
            if not ((sizes == 0) | ((sizes > 1 / _LARGEST_NUMBER) & (sizes < _LARGEST_NUMBER))).all():
                raise ValueError

    def _check_processing(self) -> None:
        if not all(step in STEPS or base_of([step]) for step in self.processing):
            raise ValueError
        if self.facts.get("processing", {}).get("jointly", False) not in (False, may_be_joint(self.processing)):
            raise ValueError
        if self.facts.get("processing", {}).get("nested", False) not in (False, "consistent" in self.processing):
            raise ValueError
        words(self.facts.get("processing", {"steps": ()}))  # refuses facts that cannot be described
        if self._shown.shape != self.numbers.shape or not np.isfinite(self._shown).all():
            raise ValueError

    def _process(self, names: tuple[str, ...], query: Query | None) -> np.ndarray:
        if "consistent" in names and (query is None or query.digest() != self.facts["digest"]):
            what = "is not given" if query is None else "differs"
            raise InvalidRequest(f'"consistent" needs the released query, which {what}.', "Pass it as `query`.")
        if "deviations" not in self.facts:
            raise InvalidRequest("This release has an old format, so it cannot be processed.", "Use it unprocessed.")
        deviations, are_counts = (unfold(self.facts[name]) for name in ("deviations", "counts"))
        return process(names, self._released, are_counts.astype(bool), query, deviations)

    def _widths(self, level: float, simultaneous: bool) -> np.ndarray:
        if all(estimate.ends for estimate in self.estimates):
            return np.zeros(len(self.numbers))
        widths = unfold(self.facts["widths"]["simultaneous" if simultaneous else "single"][_stored(level)])
        if len(widths) != len(self.numbers):
            raise ValueError
        return widths

    def _curves(self, level: float) -> dict[str, np.ndarray]:
        widths = self.facts["widths"] or {}
        curves = {
            pivot: unfold(widths[pivot][_stored(level)]).reshape(-1, sum(term.n_answers for _, term in terms)).T
            for pivot, terms in by_pivot(self.estimates).items()
            if _stored(level) in widths.get(pivot, {})
        }
        if any(part.shape[1] < 2 or (part < 0).any() for part in curves.values()):
            raise ValueError
        return curves

    def __repr__(self) -> str:
        processed = f"; processed: {', '.join(self.processing)}; intervals {RAW}" if self.processing else ""
        guaranteed = f"{rounded_up(self.guarantee)}, {self.exactness}"
        return f"Release({self.facts['query']!r}, {len(self.labels)} answers, {guaranteed}{processed})"


def check_released(release: Release, query: Query) -> None:
    """Refuse a query that is not the release's."""
    if not isinstance(query, Query) or release.facts["digest"] != query.digest():
        raise InvalidRequest("The query differs from the one that was released.", "Pass the query that was released.")


def _stored(level: float) -> str:
    return next((str(stored_level) for stored_level in LEVELS if stored_level >= level - 1e-12), str(LEVELS[-1]))
