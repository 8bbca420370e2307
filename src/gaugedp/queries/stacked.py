"""Stacks of queries that different mechanisms answer."""

import hashlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import chain, product

import numpy as np

from gaugedp.bodies.product import Product
from gaugedp.domain import Domain, PrivacyUnit
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees.base import Guarantee
from gaugedp.guarantees.shares import equal_shares, share_of
from gaugedp.mechanisms.base import Mechanism
from gaugedp.mechanisms.product_mechanism import JOINED, ProductMechanism
from gaugedp.queries.base import IN_ROWS, ErrorScale, MechanismChoice, Query, Rows
from gaugedp.queries.candidate import best
from gaugedp.queries.labels import Labels
from gaugedp.queries.linear import Workload, as_workload
from gaugedp.queries.outline import Outline
from gaugedp.queries.quantiles import Quantiles
from gaugedp.queries.steps import Steps
from gaugedp.queries.tuning import TUNED
from gaugedp.statistics.base import Statistic


@dataclass(frozen=True, eq=False)
class Stacked(Query):
    """Query whose parts have separate mechanisms and budget shares.

    Make it with `gd.stack` or `gd.query`. The `shares` of the guarantee add up to at most 1; if there are none, all
    parts have equal shares. The simultaneous intervals of all parts hold together, because each part has a share of the
    failure probability.
    """

    questions: tuple[Query, ...]
    shares: tuple[Fraction, ...] = ()

    @property
    def parts(self) -> tuple[Query, ...]:
        """Queries of the stack."""
        return self.questions

    @property
    def domain(self) -> Domain:
        """Domain of all parts."""
        return self.parts[0].domain

    @property
    def text(self) -> str:
        """Texts of the parts, joined by semicolons."""
        return "; ".join(part.text for part in self.parts)

    @property
    def labels(self) -> Labels:
        """Labels of the parts."""
        return Labels(tuple(chain.from_iterable(part.labels.terms for part in self.parts)))

    @property
    def outlines(self) -> tuple[Outline, ...]:
        """Outlines of the parts."""
        return tuple(chain.from_iterable(part.outlines for part in self.parts))

    @property
    def attributes(self) -> tuple[str, ...]:
        """Attributes of the parts, without repetition."""
        return tuple(dict.fromkeys(chain.from_iterable(part.attributes for part in self.parts)))

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of the parts, without repetition."""
        return tuple(dict.fromkeys(chain.from_iterable(part.columns for part in self.parts)))

    @property
    def steps(self) -> Steps:
        """Return the steps of the parts."""
        return Steps(list(chain.from_iterable(part.steps.runs for part in self.parts)))

    @cached_property
    def errors(self) -> ErrorScale:
        """Error scale of the parts, in rows, as ranks are."""
        runs = list(chain.from_iterable(part.errors.runs for part in self.parts))
        sizes = [sum(term.n_widths for term in part.estimates) for part in self.parts]
        weights = [part.errors.reach[:size] for part, size in zip(self.parts, sizes, strict=True)]
        words = f"{IN_ROWS}, and that of a quantile is the distance of its rank"
        return ErrorScale(runs, 1.0, words, False, np.concatenate(weights))

    def sensitivity(self, unit: PrivacyUnit) -> Product:
        """Return the product of the parts' bodies."""
        return Product(tuple(part.sensitivity(unit) for part in self.parts))

    @property
    def mechanisms(self) -> "StackedMechanisms":
        """The combinations of the parts' mechanisms."""
        return StackedMechanisms(self)

    def evaluate(self, table: Rows, row_key: bytes) -> np.ndarray:  # noqa: ARG002
        """Refuse: a release evaluates `parts`, all with one row key.

        The same key selects the same rows of a person in each part.
        """
        raise InvalidRequest("Stacked queries cannot be evaluated directly.", "Use gd.release.")

    @property
    def estimates(self) -> tuple[Statistic, ...]:
        """Estimates of the parts."""
        return tuple(chain.from_iterable(part.estimates for part in self.parts))

    def digest(self) -> str:
        """Return a hash of the parts' digests."""
        shares = [f"share {share}" for share in self.shares]
        return hashlib.sha256("\n".join([*(part.digest() for part in self.parts), *shares]).encode()).hexdigest()

    def __repr__(self) -> str:
        return f"Stacked({self.text!r}, {self.n_answers} answers)"


@dataclass(frozen=True, eq=False)
class StackedMechanisms(MechanismChoice):
    """Combinations of one mechanism for each part of a stack."""

    query: Stacked

    def for_error(self) -> Stacked:
        """Return the stack of the parts chosen by their errors."""
        return replace(self.query, questions=tuple(part.mechanisms.for_error() for part in self.query.parts))

    @property
    def preferences(self) -> tuple[object, ...]:
        """Budget shares, and the preferences of the parts."""
        return self.query.shares, *(part.mechanisms.preferences for part in self.query.parts)

    def candidates(self, unit: PrivacyUnit, guarantee: Guarantee) -> Iterator[ProductMechanism]:
        """Yield combinations of the parts' candidates.

        With `shares`, it is the combination of the parts' best candidates only.
        """
        offers = (part.mechanisms.candidates(unit, share) for part, share in self._shared(guarantee))
        if not self.query.shares:
            return map(ProductMechanism, product(*offers))
        mechanisms = tuple(best(part, list(offered))[0] for part, offered in zip(self.query.parts, offers, strict=True))
        return iter([ProductMechanism(mechanisms, self.query.shares)])

    def left_out(self, unit: PrivacyUnit, guarantee: Guarantee, offered: Collection[str]) -> dict[str, str]:
        """Return the reasons against mechanisms of any part, by name."""
        names = set(chain.from_iterable(name.split(JOINED) for name in offered))
        pairs = self._shared(guarantee)
        return {
            name: why for part, share in pairs for name, why in part.mechanisms.left_out(unit, share, names).items()
        }

    def _shared(self, guarantee: Guarantee) -> list[tuple[Query, Guarantee]]:
        shares = self.query.shares or equal_shares(len(self.query.parts))
        return [(part, share_of(guarantee, share)) for part, share in zip(self.query.parts, shares, strict=True)]

    def accept(self, mechanism: Mechanism) -> bool:
        """Return whether each part is answered by its own mechanism."""
        if len(mechanism.parts) != len(self.query.parts):
            return False
        return all(part.mechanisms.accept(inner) for part, inner in zip(self.query.parts, mechanism.parts, strict=True))

    def remarks(self, mechanism: Mechanism) -> list[str]:
        """Return the remarks of the parts, and the share of second moments."""
        shares = zip(self.query.parts, self.query.shares, strict=False)
        said = [
            f"{part.text}: {float(share):.3g} of the guarantee, for the sampling error of the other terms."
            for part, share in shares
            if any(estimate.of_sampling for estimate in part.estimates)
        ]
        pairs = zip(self.query.parts, mechanism.parts, strict=True)
        return said + list(chain.from_iterable(part.mechanisms.remarks(inner) for part, inner in pairs))


def joined(questions: Sequence[Query]) -> Query:
    """Join queries of one domain; linear ones become one workload.

    That workload takes the position of the first linear query.
    """
    linear = [workload for workload in map(as_workload, questions) if workload is not None]
    others = [question for question in questions if as_workload(question) is None]
    texts = [question.text for question in others]
    if len(set(texts)) < len(texts):
        raise InvalidRequest(f"A term occurs twice in {'; '.join(texts)!r}.", "Request each term once.")
    if linear and not others:
        workload = Workload(linear[0].domain, tuple(term for question in linear for term in question.terms))
        importance = {text: times for question in linear for text, times in question.said_importance.items()}
        return workload.with_importance(importance) if importance else workload
    if len(questions) == 1:
        return questions[0]
    parts = [_sharing(question, TUNED.quantile_misses / len(others)) for question in others]
    if linear:
        place = next(i for i, question in enumerate(questions) if as_workload(question) is not None)
        parts.insert(place, joined(linear))
    return Stacked(tuple(parts))


def shared(questions: Sequence[Query], shares: Sequence[Fraction]) -> Query:
    """Join queries of one domain with given budget shares. The shares add up to at most 1."""
    parts = [part for question in questions for part in question.parts]
    texts = [text for part in parts for text in part.text.split("; ")]
    if len(set(texts)) < len(texts):
        twice = next(text for text in texts if texts.count(text) > 1)
        raise InvalidRequest(f"The term {twice!r} occurs in two tables.", "Use it in only one of them.")
    if len(parts) == 1 and shares[0] == 1:
        return parts[0]
    pairs = zip(questions, shares, strict=True)
    of_parts = [share / len(question.parts) for question, share in pairs for _ in question.parts]
    n_quantiles = sum(as_workload(part) is None for part in parts) or 1
    return Stacked(tuple(_sharing(part, TUNED.quantile_misses / n_quantiles) for part in parts), tuple(of_parts))


def _sharing(question: Query, share: float) -> Query:
    return question.with_share(share) if isinstance(question, Quantiles) else question
