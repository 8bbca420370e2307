"""Statistics computed from a release, at no cost, with intervals."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import takewhile
from typing import Any

import numpy as np

from gaugedp._internal.names import parts
from gaugedp._internal.rounding import INTEGERS
from gaugedp._internal.runs import unfold
from gaugedp.domain import Domain, PrivacyUnit
from gaugedp.domain.attributes import categories
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees import from_dict
from gaugedp.mechanisms.base import AdditiveNoise, Mechanism
from gaugedp.queries import Query, Workload, query, with_sampling_error
from gaugedp.queries.labels import Cells, Labels
from gaugedp.queries.linear import as_workload
from gaugedp.queries.maps import Identity
from gaugedp.queries.outline import CELLS, Axis, Outline
from gaugedp.queries.piece import Piece
from gaugedp.queries.quantiles import LEVEL, check_level
from gaugedp.releases.answer import Release
from gaugedp.releases.conclusions import concluded
from gaugedp.releases.deriving.summed import Summed, Sums
from gaugedp.releases.deriving.terms import FormTerm, form_term
from gaugedp.releases.described import spread
from gaugedp.releases.metadata import about_answers
from gaugedp.releases.plan_widths import bonferroni_level
from gaugedp.releases.planning import Plan
from gaugedp.releases.sampling_error import NOISE, TOTAL, SamplingError
from gaugedp.statistics import KINDS
from gaugedp.statistics.base import for_released, in_units
from gaugedp.statistics.forms import Pivot

_UNDONE = "Nothing was read and nothing was spent."
_OF_ANSWERS = ("processing", "nested", "derived")  # facts about the answers of the release
_OF_PLAN: dict[str, Any] = {"candidates": [], "lower_bound": None}  # those of the release are for its own query
_REASON = "computed from the released answers to {!r}"


@dataclass(frozen=True)
class Source:
    """Linear parts of a query: first number, workload and noise."""

    domain: Domain
    unit: PrivacyUnit
    parts: tuple[tuple[int, Workload, AdditiveNoise], ...]

    @classmethod
    def of(cls, release: Release, domain: Domain | None, planned: Plan | None) -> "Source":
        """Return the parts of a release. They follow from the plan, from the `domain`, or from the release itself."""
        if "derived" in release.facts:
            raise InvalidRequest("These statistics were computed from a release.", "Pass that release instead.", "")
        unit = PrivacyUnit.of(release.facts["unit"])
        if planned is not None:
            _check_same(release, planned.query)
            return cls.made(planned.query, planned.mechanism, unit)
        if domain is None:
            question = query(_told(release), release.facts["query"])
        else:
            question = _asked(release, domain)
            _check_same(release, question)
        return cls.made(question, _mechanism(release, question, unit), unit)

    @classmethod
    def made(cls, question: Query, mechanism: Mechanism, unit: PrivacyUnit) -> "Source":
        """Return the parts of a query and its mechanism."""
        return cls(question.domain, unit, tuple(_linear(question, mechanism)))


def _linear(question: Query, mechanism: Mechanism) -> Iterator[tuple[int, Workload, AdditiveNoise]]:
    start = 0
    for part, noise in zip(question.parts, mechanism.parts, strict=True):
        workload = as_workload(part)
        if workload is not None and isinstance(noise, AdditiveNoise):
            yield start, workload, noise
        start += len(part.steps)


def _asked(release: Release, domain: Domain) -> Query:
    """Return the query of a release; second moments are taken to have the default share."""
    if release.intervals == NOISE:
        return query(domain, release.facts["query"])
    own = takewhile(lambda term: not KINDS[term.measure].of_sampling, release.terms)
    return with_sampling_error(query(domain, "; ".join(term.text for term in own)))


def _check_same(release: Release, question: Query) -> None:
    if question.digest() != release.facts["digest"]:
        raise InvalidRequest(
            "The release does not answer the query of this domain or plan.",
            "Pass the domain or the plan with which the release was made.",
            "",
        )


def _mechanism(release: Release, question: Query, unit: PrivacyUnit) -> Mechanism:
    facts = release.facts["mechanism"]
    for mechanism in question.mechanisms.candidates(unit, from_dict(release.facts["asked"])):
        if (mechanism.name, mechanism.describe()) == (facts["name"], facts["noise"]) and _has_widths(
            release, question, mechanism
        ):
            return mechanism
    raise InvalidRequest(
        "The release does not contain enough facts to reconstruct the distribution of its noise.",
        "Pass the plan of the release as `planned`.",
        "",
    )


def _has_widths(release: Release, question: Query, mechanism: Mechanism) -> bool:
    known = in_units(question.estimates, mechanism.half_widths(0.95), question.steps.runs)
    widths = for_released(question.estimates, known)
    known = unfold(release.facts["widths"]["single"][str(0.95)])
    return widths.shape == known.shape and np.allclose(widths, known)


def _told(release: Release) -> Domain:
    kinds = [KINDS[term.measure] for term in release.terms]
    are_weighted = any(term.weights for term in release.terms)
    if (
        are_weighted
        or not all(kind.has_counts and not kind.moments for kind in kinds)
        or not all(axis.form == CELLS for term in release.terms for axis in term.axes)
    ):
        raise InvalidRequest(
            "The release does not describe its cells completely.",
            'Pass its domain: --domain FILE on the command line, domain=gd.Domain.load("domain.toml") in Python.',
            "",
        )
    return Domain.of(**{name: categories(cells) for name, cells in _cells(release.terms).items()})


def _cells(terms: Sequence[Outline]) -> dict[str, list[str]]:
    cells: dict[str, list[str]] = {}
    for term in terms:
        for place, axis in enumerate(term.axes):
            first = [term.reference] if term.reference and place == 0 else []
            cells[axis.name] = [*first, *axis.texts]
    return {name: texts for name, texts in cells.items() if name != "cell"}


def derive(
    release: Release, text: str, *, domain: Domain | None = None, planned: Plan | None = None, level: float = LEVEL
) -> Release:
    """Compute other statistics from a release, at no cost.

    Use it if you need a statistic that you did not request but that follows from released counts, sums or means by
    adding up cells. For example, `REGION`, `share(SEX) by REGION`, `change(SEX)` and `independence(SEX, REGION)` all
    follow from `SEX*REGION`. No table is read and no budget is spent, and the guarantee stays that of the release.

    Parameters
    ----------
    release : Release
        The release, whose raw answers are used. The statistics are over rows with a cell in all released attributes.
    text : str
        Terms of `gd.query`, joined by `;`, or one of the following. `difference(mean(C) by A*B)`, and likewise `ratio`,
        `index` and `change`, compare means along A. `gini(A) by B` is the Gini index. `lorenz(A, 0.5, 0.9) by B` gives
        the shares of the total for the lowest half and the lowest nine tenths of rows.
    domain : Domain, optional
        The domain of the release. It is needed for sums, means and numeric cells.
    planned : Plan, optional
        The plan of the release, if it was not made by `gd.plan`, such as the plan of a publication.
    level : float
        The confidence level of intervals for terms that `gd.query` does not have, from 0.95 to 0.999. Default 0.95.

    Returns
    -------
    Release
        The statistics. Their intervals are computed from simulated noise. For Gini, Lorenz and compared means, the
        coverage is approximate (docs/theory/derived.md).

    Raises
    ------
    InvalidRequest
        If a statistic, such as a quantile, does not follow from the release, or if domain or plan are of another query.

    Examples
    --------
    Counts by sex follow from released counts by sex and age, so the ledger is charged only once:

    >>> import gaugedp as gd
    >>> import pandas as pd
    >>> domain = gd.Domain.of(sex=["1", "2"], age=gd.bins(0, 100, 50))
    >>> rows = pd.DataFrame({"sex": ["1", "2"] * 50, "age": [10, 60] * 50})
    >>> table = gd.Table.scan(rows, domain=domain, name="people")
    >>> ledger = gd.Ledger.in_memory(gd.PureDP(2))
    >>> released = gd.release(gd.query(domain, "sex*age"), table, ledger=ledger, epsilon=1.0)
    >>> list(gd.derive(released, "sex").labels), ledger.spent
    ([('sex', 'sex=1'), ('sex', 'sex=2')], PureDP(1))
    """
    check_level(level)
    source = Source.of(release, domain, planned)
    terms = [form_term(source.domain, term) for term in parts(text, ";") if term]
    if figures := [term for term in terms if term]:
        if len(figures) < len(terms):
            raise InvalidRequest(
                "Terms that exist only for releases are mixed with other terms.", "Derive them separately.", _UNDONE
            )
        return _with_ends(release, source, figures, level)
    question = as_workload(query(source.domain, text))
    if question is None:
        raise InvalidRequest("Quantiles cannot be derived from a release.", "Request counts, sums or means.", _UNDONE)
    if not any(_offers(source, question)):
        question = replace(question, terms=tuple(term.without_squares() for term in question.terms))
    start, noise = _noise(source, question)
    numbers = noise.added(release.numbers[start : start + noise.inner.n_answers])
    planned = Plan(
        question, source.unit, from_dict(release.facts["asked"]), (), noise, _REASON.format(release.facts["query"])
    )
    about = {**about_answers(question), **spread(planned)}
    facts = _facts(release, about, question.outlines)
    return Release(numbers, question.labels, concluded(question, noise, numbers), release.guarantee, facts)


def _with_ends(release: Release, source: Source, terms: Sequence[FormTerm], level: float) -> Release:
    noisy = [noise_of(release, source, term.question, 1912) for term in terms]
    return released_ends(release, terms, noisy, level)


@dataclass(frozen=True, eq=False)
class NoisyNumbers:
    """Released numbers (k,), draws of their noise (m, k), labels of its distributions (k,), and sampling errors."""

    numbers: np.ndarray
    draws: np.ndarray
    laws: np.ndarray
    sampling: SamplingError | None = None  # of the numbers (k,), in units


def released_ends(release: Release, terms: Sequence[FormTerm], noisy: Sequence[NoisyNumbers], level: float) -> Release:
    """Return the release of statistics with intervals at a level, from the numbers of each term.

    Simultaneous intervals divide the failure probability equally.
    """
    n_answers = sum(len(term.quotients) for term in terms)
    misses = ((1 - bonferroni_level(level)) / n_answers, 1 - level)
    numbers = [_with_released_ends(term, own, misses) for term, own in zip(terms, noisy, strict=True)]
    text = "; ".join(term.outline.text for term in terms)
    about = {
        "query": text,
        "digest": sha256(f"{release.facts['digest']} {text}".encode()).hexdigest(),
        "steps": [[len(part), str(term.step)] for term, part in zip(terms, numbers, strict=True)],
        "counts": [[5 * n_answers, False]],
        "deviations": [[5 * n_answers, 0.0]],
        "widths": None,
        "intervals": TOTAL if any(own.sampling for own in noisy) else NOISE,
    }
    estimates = tuple(term.kind(len(term.quotients), level, no_end=INTEGERS * float(term.step)) for term in terms)
    labels = Labels(tuple((term.outline.text, Cells(tuple(term.cells))) for term in terms))
    facts = _facts(release, about, [term.outline for term in terms])
    return Release(np.concatenate(numbers), labels, estimates, release.guarantee, facts)


def noise_of(release: Release, source: Source, question: Workload, seed: int) -> NoisyNumbers:
    """Return the released numbers of a query with public trial draws of their noise, in units."""
    start, noise = _noise(source, question)
    if noise.exactness == "mixing":
        raise InvalidRequest(
            "The noise of this release was drawn by a random walk, so the errors of derived statistics are not known.",
            "Release the new query.",
            _UNDONE,
        )
    units = question.steps.sizes
    numbers = noise.added(release.numbers[start : start + noise.inner.n_answers]).astype(float) * units
    size = max(min(20_000, noise.most_trials, 10**7 // noise.inner.n_answers), 4000)
    laws = noise.variances if noise.form else np.arange(len(numbers), dtype=float)
    return NoisyNumbers(numbers, noise.trial_noise(size, seed) * units, laws)


def _with_released_ends(term: FormTerm, noisy: NoisyNumbers, misses: tuple[float, float]) -> np.ndarray:
    pivots = list(zip(_pivots(term, noisy), term.places, strict=True))
    ends = []
    for miss in misses:
        reach = np.zeros(len(noisy.numbers)) if noisy.sampling is None else noisy.sampling.reach(miss)
        ends.append(np.array([pivot.ends(noisy.numbers[own], miss, reach[own]) for pivot, own in pivots]).T)
    answers = np.array([[pivot.quotient.value(noisy.numbers[own]) for pivot, own in pivots]])
    middle, *sides = (term.scale * np.vstack([answers, *ends]) + term.offset) / float(term.step)
    rounded = (
        [np.floor(low + 1e-6) for low in sides[::2]],  # up to a millionth of a step
        [np.ceil(high - 1e-6) for high in sides[1::2]],
    )
    columns = [np.rint(middle), *(side for both in zip(*rounded, strict=True) for side in both)]
    return np.clip(np.concatenate(columns), -INTEGERS, INTEGERS).astype(np.int64)


def _pivots(term: FormTerm, noisy: NoisyNumbers) -> Iterator[Pivot]:
    pivots: dict[tuple[object, ...], Pivot] = {}
    for quotient, place in zip(term.quotients, term.places, strict=True):
        key = (id(quotient), *noisy.laws[place].tolist())
        pivots[key] = pivots.get(key) or quotient.pivot(noisy.draws[:, place])
        yield pivots[key]


def _noise(source: Source, question: Workload) -> tuple[int, Summed]:
    offers = list(_offers(source, question))
    if not offers:
        raise InvalidRequest(
            f"{question.text!r} does not follow from {'; '.join(part.text for _, part, _ in source.parts)!r}.",
            "Request cells, shares or comparisons of attributes that were released together.",
            _UNDONE,
        )
    return min(offers, key=lambda offer: float(offer[1].variances.sum()))


def _offers(source: Source, question: Workload) -> Iterator[tuple[int, Summed]]:
    body = question.sensitivity(source.unit)
    for start, part, noise in source.parts:
        sums = [_shortest(noise, list(_sums(part, piece))) for piece in question.pieces]
        if all(sums):
            yield start, Summed(noise, tuple(part for part in sums if part), body)


def _sums(released: Workload, wanted: Piece) -> Iterator[Sums]:
    start = 0
    for piece in released.pieces:
        shape = released.domain.shape(piece.attributes)
        if set(wanted.attributes) <= set(piece.attributes) and _alike(piece, wanted):
            yield Sums(start, shape, tuple(piece.attributes.index(name) for name in wanted.attributes))
        start += piece.cells.n_released


def _alike(piece: Piece, wanted: Piece) -> bool:
    plain = all(each.cells == Identity(each.cells.n_cells) for each in (piece, wanted))
    return plain and replace(piece, attributes=wanted.attributes, cells=wanted.cells) == wanted


def _shortest(noise: AdditiveNoise, offers: list[Sums]) -> Sums | None:
    return min(offers, key=lambda sums: float(sums.apply(noise.variances).sum()), default=None)


def _facts(release: Release, about: dict[str, Any], outlines: Sequence[Outline]) -> dict[str, Any]:
    facts = {name: fact for name, fact in release.facts.items() if name not in _OF_ANSWERS}
    axes = {axis.name: axis for term in release.terms for axis in term.axes}
    said = f"Computed from the released answers to {release.facts['query']}, at no further cost."
    shown = (replace(outline, axes=tuple(_axis(axis, axes) for axis in outline.axes)) for outline in outlines)
    return {
        **facts,
        **_OF_PLAN,
        **about,
        "reason": _REASON.format(release.facts["query"]),
        "terms": [outline.to_dict() for outline in shown],
        "rules": [*release.facts["rules"], said],
        "derived": {"query": release.facts["query"], "digest": release.facts["digest"]},
    }


def _axis(axis: Axis, released: dict[str, Axis]) -> Axis:
    known = released.get(axis.name, axis)
    alike = len(axis.texts) == len(known.texts)
    return replace(axis, values=known.values, borders=known.borders if alike else axis.borders)
