"""Comparison of two releases, at no cost, with intervals for the errors of both."""

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from gaugedp._internal.names import parts
from gaugedp._internal.runs import unfold
from gaugedp.domain.domain import Domain
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees import compose, from_dict
from gaugedp.queries import Workload, query
from gaugedp.queries.linear import Term, as_workload
from gaugedp.queries.outline import COUNT, SUM, Outline
from gaugedp.queries.quantiles import LEVEL, check_level
from gaugedp.releases.answer import Release
from gaugedp.releases.deriving.derive import NoisyNumbers, Source, noise_of, released_ends
from gaugedp.releases.deriving.terms import FormTerm
from gaugedp.releases.planning import Plan
from gaugedp.releases.sampling_error import NOISE, TOTAL, SamplingError, sampling_errors
from gaugedp.statistics.between import BETWEEN, RatioBetween
from gaugedp.statistics.forms import Quotient
from gaugedp.statistics.mean import ColumnMean

_UNDONE = "Nothing was read and nothing was spent."
_TERM = re.compile(rf"^({'|'.join(BETWEEN)})\s*\((.+)\)$")
_MARKED = {
    NOISE: "differs from the earlier release by more than the noise of both",
    TOTAL: "differs from the earlier release by more than the noise and the sampling errors of both",
}
CONTAINED = {
    NOISE: "The intervals account only for the noise of both releases, not for sampling error.",
    TOTAL: (
        "The intervals account for the noise and the sampling errors of both releases, as for two independent samples. "
        "If the samples overlap, the intervals are usually too long."
    ),
}
_MOST_ANSWERS = 20_000  # some gigabytes of draws
_LARGEST = 1e100  # of the error of a number whose error is not known
_SEEDS = (1913, 1914)  # public: of the draws of the later and the earlier release


def compare_releases(
    later: Release,
    earlier: Release,
    text: str,
    *,
    domain: Domain | None = None,
    planned: tuple[Plan | None, Plan | None] = (None, None),
    level: float = LEVEL,
) -> Release:
    """Compare the answers of two releases, at no cost.

    Use it for changes from one year to the next, or for differences between two tables. The comparison is a release
    with intervals that include the noise of both, and their sampling errors if both have total intervals. No table is
    read and no budget is spent: the comparison satisfies the composition of the guarantees of both releases. Their
    noise must be independent, as it is in separate releases.

    Parameters
    ----------
    later, earlier : Release
        Two releases with the same cells, at most 20,000 of them, and equal bounds of the compared column.
    text : str
        Comparisons joined by `;`, such as `change(SEX)`, `difference(SEX*REGION)`, `ratio(mean(C) by SEX)` or
        `index(count)`. The counts, sums or means must follow from both releases, as for `gd.derive`.
    domain : Domain, optional
        The domain of both releases. It is needed for sums, means and numeric cells.
    planned : tuple of Plan, optional
        The plans of both releases, such as those of publications, which can be given instead of a domain.
    level : float
        The confidence level of the intervals, from 0.95 to 0.999. Default 0.95.

    Returns
    -------
    Release
        The comparisons. If both releases have total intervals, those of weighted counts, sums and means include the
        sampling errors of two independent samples. All others include only the noise. A comparison whose interval
        excludes "no change" is marked `*`. For means, and with sampling errors, the coverage is approximate
        (docs/theory/derived.md).

    Raises
    ------
    InvalidRequest
        If a comparison does not follow from both releases, cells or bounds differ, or there are too many answers.

    Examples
    --------
    The change in the number of rows of each sex, in percent, from 100 rows to 120:

    >>> import gaugedp as gd
    >>> import pandas as pd
    >>> domain = gd.Domain.of(sex=["1", "2"])
    >>> years = []
    >>> for n in (50, 60):
    ...     table = gd.Table.scan(pd.DataFrame({"sex": ["1", "2"] * n}), domain=domain, name="people")
    ...     ledger = gd.Ledger.in_memory(gd.PureDP(2))
    ...     years.append(gd.release(gd.query(domain, "sex"), table, ledger=ledger, epsilon=1.0))
    >>> list(gd.compare_releases(years[1], years[0], "change(sex)").labels)
    [('change(sex)', 'sex=1'), ('change(sex)', 'sex=2')]

    Both values of the result are near 20, because each sex has grown from 50 to 60 rows.
    """
    check_level(level)
    if _is_one(later, earlier):
        raise InvalidRequest("Both releases are the same.", "Pass two releases with independent noise.", _UNDONE)
    sources = [Source.of(release, domain, plan) for release, plan in zip((later, earlier), planned, strict=True)]
    terms = [_term(sources, term) for term in parts(text, ";") if term]
    if not terms:
        raise InvalidRequest("The text names no comparison.", 'Write for example "change(SEX)".', _UNDONE)
    if len({_still(term.kind) for _, term in terms}) > 1:
        raise InvalidRequest(
            "The text mixes comparisons for which no change is 0, such as differences, with others for which it "
            "is 1, such as ratios.",
            "Derive them separately.",
            _UNDONE,
        )
    noisy = [_noise_of_both((later, earlier), sources, sides) for sides, _ in terms]
    answer = released_ends(later, [term for _, term in terms], noisy, level)
    intervals = answer.facts["intervals"]
    when = f"interval excludes {_still(terms[0][1].kind)}"
    rules = [{"when": when, "mark": "*", "text": _MARKED[intervals], "suppress": False}]
    asked = compose((from_dict(release.facts["asked"]), 1) for release in (later, earlier))
    guarantee = compose((release.guarantee, 1) for release in (later, earlier))
    facts = {name: fact for name, fact in answer.facts.items() if name != "account"}
    facts |= {"flags": rules, "rules": [*facts["rules"], *_said(later, earlier, intervals)], "asked": asked.to_dict()}
    facts["derived"] = {**facts["derived"], "earlier": earlier.facts["digest"]}
    return Release(answer.numbers, answer.labels, answer.estimates, guarantee, facts)


def _is_one(later: Release, earlier: Release) -> bool:
    """Return True for releases of one charge, processed or not. Equal numbers alone may be chance."""
    tips = [(release.facts.get("account") or {}).get("tip") for release in (later, earlier)]
    return later.to_json() == earlier.to_json() or (tips[0] == tips[1] and tips[0] is not None)


def _said(later: Release, earlier: Release, intervals: str) -> Iterator[str]:
    yield f"Compared with the release of {earlier.facts['query']!r} (digest {earlier.facts['digest'][:12]})."
    yield CONTAINED[intervals]
    if later.facts["unit"] != earlier.facts["unit"]:
        yield f"The earlier release protects another unit ({earlier.facts['protects']}), which can look like a change."
    if later.facts["digest"] != earlier.facts["digest"]:
        yield (
            "The releases answer different queries: rows that only one of them leaves out or replaces can look like a "
            "change."
        )


def _still(kind: type[Any]) -> str:
    counts = kind.of_counts
    return "0" if counts is BETWEEN["difference"].of_counts else f"{counts.factor * (1 + counts.shift):g}"


def _term(sources: Sequence[Source], text: str) -> tuple[tuple[Workload, Workload], FormTerm]:
    match = _TERM.match(text)
    questions = [as_workload(query(source.domain, match[2])) for source in sources] if match else []
    if match is None or any(question is None or len(question.terms) > 1 for question in questions):
        names = ", ".join(f"{name}(…)" for name in BETWEEN)
        raise InvalidRequest(f"{text!r} compares no counts, sums or means.", f"Write {names}.", _UNDONE)
    later, earlier = (question for question in questions if question is not None)
    if [outline.to_dict() for outline in later.outlines] != [outline.to_dict() for outline in earlier.outlines]:
        raise InvalidRequest(
            f"The two releases have different cells for {match[2]!r}.", "Compare releases with the same cells.", _UNDONE
        )
    kind, outline = BETWEEN[match[1]], later.outlines[0]
    bounded = [name for name in (outline.column, outline.weights) if name]
    if moved := [name for name in bounded if _bounds(later, name) != _bounds(earlier, name)]:
        raise InvalidRequest(
            f"The bounds of {moved[0]} differ between the releases, which would look like a change.",
            "Compare releases with the same bounds.",
            _UNDONE,
        )
    if outline.size > _MOST_ANSWERS:
        raise InvalidRequest(
            f"{match[2]!r} has {outline.size:,} answers, but at most {_MOST_ANSWERS:,} can be compared.",
            "Compare fewer cells at once.",
            _UNDONE,
        )
    n_answers, quotient = _quotient(later, later.terms[0], outline, kind)
    n_own = len(later.steps) // n_answers  # numbers of an answer: its count or sum, or a sum and a count
    places = np.arange(2 * len(later.steps)).reshape(2 * n_own, n_answers).T
    step = Fraction(later.steps.runs[0][0] if match[1] == "difference" else 1) / 10**6  # a millionth of a unit
    design = later.domain.design
    shown = Outline(text, kind.kind, outline.column, outline.axes, strata=design.strata, clusters=design.clusters)
    scale, offset = kind.of_counts.factor, kind.of_counts.factor * kind.of_counts.shift
    return (later, earlier), FormTerm(kind, later, shown, [quotient] * n_answers, places, step, scale, offset)


def _bounds(question: Workload, name: str) -> tuple[Fraction, Fraction, Fraction]:
    column = question.domain.column(name)
    return column.low, column.high, column.step


def _quotient(question: Workload, term: Term, outline: Outline, kind: type[RatioBetween]) -> tuple[int, Quotient]:
    if outline.measure in (COUNT, SUM):
        piece = question.pieces[0]
        if piece.low < 0 and kind is not BETWEEN["difference"]:
            raise InvalidRequest(
                f"The values of {piece.column} may be negative, so a ratio of their sums has no meaning.",
                "Use difference instead.",
                _UNDONE,
            )
        return len(question.steps), kind.quotient(float(piece.step))
    if outline.measure != ColumnMean.kind:
        raise InvalidRequest(
            f"{outline.text!r} is neither a count, a sum nor a mean, so it cannot be compared between releases.",
            "Compare counts, sums or means.",
            _UNDONE,
        )
    column = question.domain.column(str(outline.column))
    middle, half_range = float((column.low + column.high) / 2), float((column.high - column.low) / 2)
    if kind is not BETWEEN["difference"] and middle < half_range:
        raise InvalidRequest(
            f"The values of {outline.column} may be negative, so a ratio of their means has no meaning.",
            "Use difference instead.",
            _UNDONE,
        )
    return term.estimate.n_answers, kind.of_means.quotient(middle, half_range, float(column.step))


def _noise_of_both(
    releases: tuple[Release, Release], sources: Sequence[Source], sides: tuple[Workload, Workload]
) -> NoisyNumbers:
    later, earlier = (
        noise_of(release, source, question, seed)
        for release, source, question, seed in zip(releases, sources, sides, _SEEDS, strict=True)
    )
    size = min(len(later.draws), len(earlier.draws))
    numbers, laws = (np.concatenate(both) for both in ((later.numbers, earlier.numbers), (later.laws, earlier.laws)))
    draws = np.hstack([later.draws[:size], earlier.draws[:size]])
    errors = [_sampling_error(*of_one) for of_one in zip(releases, sides, (later, earlier), strict=True)]
    if any(error is None for error in errors):
        return NoisyNumbers(numbers, draws, laws)
    sampling = SamplingError(*(np.concatenate(both) for both in zip(*filter(None, errors), strict=True)))
    return NoisyNumbers(numbers, draws, laws, sampling)


def _sampling_error(release: Release, question: Workload, noisy: NoisyNumbers) -> SamplingError | None:
    """Return the sampling errors of the numbers of a query that follows from a release; None if not estimated."""
    if release.intervals != TOTAL:
        return None
    units = np.concatenate([np.full(int(count), float(Fraction(step))) for count, step in release.facts["steps"]])
    numbers = np.concatenate([release.numbers.astype(float) * units, noisy.numbers])
    deviations = np.concatenate([unfold(release.facts["deviations"]), noisy.draws.std(axis=0)])
    term, outlines = question.terms[0], (*release.terms, question.outlines[0])
    *_, error = sampling_errors(outlines, (*release.estimates, term.estimate), numbers, deviations)
    if not error.deviations.all():
        return None
    n_answers = term.estimate.n_answers
    counts = np.maximum(noisy.numbers[n_answers:], 0.0) if len(noisy.numbers) > n_answers else 1.0  # s of Σ/n is n·s
    own = np.minimum(error.deviations, _LARGEST) * counts
    return SamplingError(
        np.concatenate([own, np.zeros(len(noisy.numbers) - n_answers)]),
        np.resize(error.freedom, len(noisy.numbers)),
    )
