"""What a release was: its question and its noise, from its public facts."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from gaugedp._runs import unfold
from gaugedp.answer import Release
from gaugedp.attributes import categories
from gaugedp.domain import Domain, PrivacyUnit
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees import from_dict
from gaugedp.mechanisms.base import AdditiveNoise, Mechanism
from gaugedp.planning import Plan
from gaugedp.queries.base import Query
from gaugedp.queries.estimates import for_released
from gaugedp.queries.linear import Workload
from gaugedp.queries.outline import CELLS, COUNT, Outline
from gaugedp.queries.text import query

_LEVEL = 0.95  # at which widths tell whether the noise is that of the release
_COUNTED = (COUNT, "share", "difference", "ratio", "index", "change")  # what is computed from counts of cells


@dataclass(frozen=True)
class Source:
    """The linear parts of a released question: each with the place of its first number, and its noise."""

    domain: Domain
    unit: PrivacyUnit
    parts: tuple[tuple[int, Workload, AdditiveNoise], ...]

    @classmethod
    def of(cls, release: Release, domain: Domain | None, planned: Plan | None) -> "Source":
        """Return that of a release: as `planned`, as the `domain` has it, or as the release alone tells."""
        if "derived" in release.facts:
            raise InvalidRequest(
                "These figures were computed from a release.", "Give that release: all figures follow from it.", ""
            )
        unit = PrivacyUnit.of(release.facts["unit"])
        if planned is not None:
            _check_same(release, planned.query)
            return cls.made(planned.query, planned.mechanism, unit)
        if domain is None:
            question = query(_told(release), release.facts["query"])
        else:
            question = query(domain, release.facts["query"])
            _check_same(release, question)
        return cls.made(question, _mechanism(release, question, unit), unit)

    @classmethod
    def made(cls, question: Query, mechanism: Mechanism, unit: PrivacyUnit) -> "Source":
        """Return that of a question and the mechanism that answered it."""
        return cls(question.domain, unit, tuple(_linear(question, mechanism)))


def _linear(question: Query, mechanism: Mechanism) -> Iterator[tuple[int, Workload, AdditiveNoise]]:
    start = 0
    for part, noise in zip(question.parts, mechanism.parts, strict=True):
        if part.linear is not None and isinstance(noise, AdditiveNoise):
            yield start, part.linear, noise
        start += part.n_released


def _check_same(release: Release, question: Query) -> None:
    if question.digest() != release.facts["digest"]:
        raise InvalidRequest(
            "The release answers another question than this domain or plan has.",
            "Give the domain, or the plan, that it was released with.",
            "",
        )


def _mechanism(release: Release, question: Query, unit: PrivacyUnit) -> Mechanism:
    """Return the mechanism of a plan whose name, law and widths are those of the release."""
    facts = release.facts["mechanism"]
    for mechanism in question.candidates(unit, from_dict(release.facts["asked"])):
        if (mechanism.name, mechanism.describe()) == (facts["name"], facts["noise"]) and _has_widths(
            release, question, mechanism
        ):
            return mechanism
    raise InvalidRequest(
        "The noise of this release does not follow from what it tells.",
        "Give planned=, the plan that it was released with.",
        "",
    )


def _has_widths(release: Release, question: Query, mechanism: Mechanism) -> bool:
    widths = for_released(question.estimates, question.widths_in_units(mechanism.half_widths(_LEVEL)))
    known = unfold(release.facts["widths"]["single"][str(_LEVEL)])
    return widths.shape == known.shape and np.allclose(widths, known)


def _told(release: Release) -> Domain:
    """Return a domain in which the release's question counts the same cells, from the release alone."""
    if not all(term.measure in _COUNTED and all(axis.form == CELLS for axis in term.axes) for term in release.terms):
        raise InvalidRequest(
            "The release does not tell all that its figures were made of.",
            'Give domain=, such as gd.Domain.load("domain.toml").',
            "",
        )
    return Domain.of(**{name: categories(cells) for name, cells in _cells(release.terms).items()})


def _cells(terms: Sequence[Outline]) -> dict[str, list[str]]:
    """Return the cells of each attribute: what others are compared with is the first."""
    cells: dict[str, list[str]] = {}
    for term in terms:
        for place, axis in enumerate(term.axes):
            first = [term.reference] if term.reference and place == 0 else []
            cells[axis.name] = [*first, *axis.texts]
    return {name: texts for name, texts in cells.items() if name != "cell"}
