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
from gaugedp.releases.processing import STEPS, base_of, check, how, may_be_joint, process, words
from gaugedp.releases.remarks import remarks
from gaugedp.releases.sampling_error import TOTAL, SamplingError, contained, sampling_errors, total_intervals
from gaugedp.releases.tidy.tabular import Tabular
from gaugedp.statistics.base import (
    Ends,
    Statistic,
    all_answers,
    by_pivot,
    curves_of,
    read_statistic,
    split,
)

FORMAT = "gaugedp-release-1"
EXACTNESS = ("exact", "idealized", "mixing")
RAW = "of the raw answers, before processing"
_LARGEST = 1e250  # bound on released numbers, widths, their ends, and inverses
_MOST_PLACES = 64  # per released number, in a curve of widths: 52 for a standard deviation


@dataclass(frozen=True, eq=False)
class Release(Tabular):
    """Published release: noisy integers on a lattice, and public facts.

    The lattice is fixed before the data is read. `facts` holds everything else that `to_json` writes: the query, the
    unit, the rules for rows, the guarantee, the mechanism, its candidates, the account at the time of the release and,
    if any, the processing of the numbers.
    """

    numbers: np.ndarray
    labels: Labels
    estimates: tuple[Statistic, ...]
    guarantee: Guarantee
    facts: Mapping[str, Any] = field(repr=False)

    _repr_html_ = drawn_by("release")

    @property
    def exactness(self) -> str:
        """ "exact", "idealized" or "mixing"."""
        return str(self.facts["mechanism"]["exactness"])

    @cached_property
    def values(self) -> np.ndarray:
        """Answers, processed if `processing` says so, shape (n_answers,)."""
        return all_answers(self.estimates, self._shown)

    @cached_property
    def raw(self) -> np.ndarray:
        """Unprocessed answers, which the intervals describe, shape (n_answers,)."""
        return all_answers(self.estimates, self._released)

    @property
    def processing(self) -> tuple[str, ...]:
        """Processing steps from `raw` to `values`, in order."""
        return tuple(self.facts.get("processing", {}).get("steps", ()))

    def processed(self, *steps: str, query: Query | None = None) -> "Release":
        """Return the release with processed `values`, at no cost.

        The steps are "consistent", "non_negative" and "rounded" (or "rounded to 5", for multiples of 5). They always
        start from the raw numbers and are applied in this order; without steps, the raw release is returned. Guarantee,
        raw numbers and intervals do not change, because post-processing reads no data.

        "consistent" moves all answers to the nearest ones that some table could have (weighted least squares), and
        needs the `query`; quantiles next to them stay as they are. "non_negative" and "rounded" change counts and
        shares, never sums or means. "consistent" with "non_negative" fits one table without negative cells, if it has
        at most 100,000 joint cells, starting with the total: answers add up, no count is below 0, and sums and means
        lie within their bounds. "consistent" with "rounded" gives counts that add up exactly, if they have at most
        4,096 joint cells or are levels of a single tree; otherwise rounded answers may disagree slightly.

        Raises
        ------
        UnknownName
            An unknown step.
        InvalidRequest
            "consistent" without the query of this release, or for a query that is too large.
        """
        names = check(steps, query)
        done = {"steps": list(names), **how(names, query)}
        return self._with_values(done, self._process(names, query) if names else None)

    def processed_by_table(self, tables: Sequence[tuple[int, Sequence[str]]], query: Query) -> "Release":
        """Return the release with values that are processed with steps of their own in each table.

        `tables` holds the number of released values of each table, in order, and its steps. All released values are
        processed with each choice of steps, and a table shows those of its own; so tables with equal steps add up.
        """
        sizes, steps = [size for size, _ in tables], [check(names, query) for _, names in tables]
        values, places = self._released.copy(), np.repeat(np.arange(len(tables)), sizes)
        parts = []
        for names in dict.fromkeys(each for each in steps if each):
            chosen = [number for number, each in enumerate(steps) if each == names]
            is_shown = np.isin(places, chosen)
            values[is_shown] = self._process(names, query)[is_shown]
            numbers = [number + 1 for number in chosen]
            parts.append({"tables": numbers, "steps": list(names), **how(names, query)})
        union = list(dict.fromkeys(name for names in steps for name in names))
        return self._with_values({"steps": union, "parts": parts}, values)

    def _with_values(self, done: dict[str, Any], values: np.ndarray | None) -> "Release":
        facts = Facts.of(self.facts).without("processing")
        if values is not None and done["steps"]:
            facts = facts.including(processing={**done, "intervals": RAW, "values": packed(values)})
        return replace(self, facts=facts)

    def in_language(self, language: str) -> "Release":
        """Return the release with pages and notes in a language: "en", "de", "fr", "es" or "sl".

        The names and titles of the domain stay as they are, and so do the numbers in CSV and JSON files.
        """
        return replace(self, facts=Facts.of(self.facts).including(language=checked(language)))

    def interval(self, level: float = 0.95, simultaneous: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """Return confidence intervals (lower, upper) of the raw answers.

        Each interval contains its true answer with probability at least `level` over the noise; if `simultaneous`, all
        do together. Processed `values` may lie outside. `level` is raised to the next of LEVELS, at most 0.999;
        simultaneous widths use 0.6 of the allowed failure probability.

        A mean has a Fieller interval: {m : |sum − m·count| ≤ q(m)}, where q(m) is the level-quantile of |noise_sum −
        m·noise_count|; its simultaneous interval follows from those of its sum and its count. The interval of a share
        is the same for its count and the total of its group. Intervals of quantiles, individual and simultaneous, were
        released at a level of their own; a higher level is refused. Rows that the rules leave out are not part of the
        true answer. If `intervals` is "total", those of weighted terms include the sampling error, approximately.
        """
        between(0, LEVELS[-2] + 1e-12, level=level)
        for estimate in self.estimates:
            if estimate.ends is not None and level > estimate.ends + 1e-12:
                raise InvalidRequest(
                    f"The intervals of these quantiles were released at {estimate.ends:g}; {level!r} is requested.",
                    f"Request at most {estimate.ends:g}, or release them with a higher level=.",
                )
        ends = list(self._all_at_once(level) if simultaneous else self._each_alone(level))
        if self.intervals == TOTAL:
            misses = (1 - level) / (len(self.labels) if simultaneous else 1)
            ends = total_intervals(self.estimates, self.raw, ends, self._sampling, misses)
        low, high = zip(*ends, strict=True)
        return np.concatenate(low), np.concatenate(high)

    @property
    def intervals(self) -> str:
        """Errors that intervals contain: "noise", or "total" with the sampling error of weighted terms."""
        return contained(self.terms)

    @property
    def sampling_errors(self) -> list[np.ndarray]:
        """Standard errors of sampling of each term's answers, 0 if they are not estimated."""
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
        """Outline of each term: its measure and its axes. Releases of old versions have one axis, "cell"."""
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
        """Return the JSON for the ledger, without redundant facts.

        `Release.from_json` reads it, and computes widths, candidates and bounds on demand.
        """
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
            raise InvalidRequest("The text is not a release.", "Give the text that `to_json` wrote.") from None
        return release

    def remarks(self, query: Query) -> list[str]:
        """Return remarks on uninformative answers and possibly empty categories.

        They follow from the released numbers and the domain, so they cost nothing. A `query` other than that of the
        release is refused.
        """
        check_released(self, query)
        shown = np.array([self.raw, *self.interval(0.95)])
        return list(remarks(query, shown, np.array(self.interval(0.95, simultaneous=True))))

    def save_html(self, path: str | Path, query: Query | None = None, language: str | None = None) -> None:
        """Write the report: one page that needs no network.

        With the `query`, it includes the `remarks`. `language` is that of `in_language`.
        """
        check_ending(path, ".html")
        said = [] if query is None else self.remarks(query)
        Path(path).write_text(drawing("page")(self._in(language), remarks=said), encoding="utf-8")

    def save_press_html(self, path: str | Path, language: str | None = None) -> None:
        """Write a page for the press. It states findings in sentences, shows one picture, and explains the noise."""
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
        """Raise ValueError if anything cannot be shown."""
        self._check_sizes()
        self._check_ends()
        self._check_processing()
        if not (np.abs(self.values) < _LARGEST).all():
            raise ValueError
        if self.language not in LANGUAGES or self.exactness not in EXACTNESS or not isinstance(repr(self), str):
            raise ValueError

    def _check_ends(self) -> None:
        """Raise ValueError if intervals are missing, infinite or too many."""
        sizes = [estimate.n_answers for estimate in self.estimates]
        if [len(cells) for _, cells in self.labels.terms] != sizes or [term.size for term in self.terms] != sizes:
            raise ValueError
        assert self.captions is not None  # invalid captions are refused here
        if Facts.of(self.facts).recipe is not None:  # the widths are computed on demand
            return
        highest = min((estimate.ends for estimate in self.estimates if estimate.ends), default=LEVELS[-2])
        for level, at_once in product((level for level in LEVELS if level <= max(highest, 0.95)), (False, True)):
            low, high = self.interval(level, at_once)
            if not ((np.abs(low) < _LARGEST) & ((np.abs(high) < _LARGEST) | (high == np.inf))).all():
                raise ValueError  # ratios may have no upper end

    def _check_sizes(self) -> None:
        """Raise ValueError for numbers whose sums or quotients may overflow."""
        widths = Facts.of(self.facts).stored["widths"] or {}
        runs = [folded_sizes(levels) for kind in widths.values() for levels in kind.values()]
        for part in (self._released, self._shown, *runs):
            sizes = np.abs(part)
            if not ((sizes == 0) | ((sizes > 1 / _LARGEST) & (sizes < _LARGEST))).all():
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
            raise InvalidRequest(f'"consistent" needs the released query, which {what}.', "Give it as query=.")
        if "deviations" not in self.facts:
            raise InvalidRequest("The release is of a version without processing.", "Use it unprocessed.")
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
        """Return the widths of quotients by pivot, if stored."""
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
        raise InvalidRequest("The release answers another query.", "Give the query that was released.")


def _stored(level: float) -> str:
    """Return the next of LEVELS."""
    return next((str(stored_level) for stored_level in LEVELS if stored_level >= level - 1e-12), str(LEVELS[-1]))
