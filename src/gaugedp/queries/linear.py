"""Linear queries: stacked counts and sums over contingency tables."""

import hashlib
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from gaugedp._internal.validate import positive
from gaugedp.bodies import BoxHull, Polytope
from gaugedp.domain import Domain, PrivacyUnit
from gaugedp.errors import InvalidRequest, UnknownName
from gaugedp.guarantees.base import Guarantee
from gaugedp.mechanisms.base import AdditiveNoise, Mechanism
from gaugedp.mechanisms.choose import candidates, left_out
from gaugedp.mechanisms.independent import IndependentNoise
from gaugedp.queries.base import IN_ROWS, ErrorScale, MechanismChoice, Query, Rows
from gaugedp.queries.columns import WorkloadColumns, heaviest
from gaugedp.queries.labels import Cells, Labels, Listed, Words
from gaugedp.queries.maps import MatrixMap, check_size
from gaugedp.queries.outline import ROWS, Axis, Outline, attribute_axis
from gaugedp.queries.piece import Piece
from gaugedp.queries.steps import Steps
from gaugedp.statistics.base import Part, Statistic
from gaugedp.tables.aggregate import Aggregate


@dataclass(frozen=True)
class Term:
    """Term of a stack: its text, released pieces and estimate."""

    text: str
    pieces: tuple[Piece, ...]
    estimate: Statistic

    def without_squares(self) -> "Term":
        """Return the term without sums of squares, if its estimate can do without."""
        estimate = self.estimate.without_squares()
        pieces = tuple(piece for piece in self.pieces if not piece.squared or estimate is self.estimate)
        return replace(self, pieces=pieces, estimate=estimate)

    def answered(self, words: tuple[Words, ...]) -> tuple[Words, ...]:
        """Return the labels that have an answer, without references."""
        first = self.estimate.first_cell
        shown = (Listed(list(words[0])[first:]), *words[1:]) if first else words
        return shown[self.estimate.skipped_axes :]


@dataclass(frozen=True, eq=False)
class Workload(Query):
    """Query of counts, sums and statistics computed from them.

    Make it with `gd.query` or a function such as `gd.marginals`. It can have several terms, such as `sex; mean(pay)`,
    which are answered together.

    All terms use the same rows. A row is left out of the whole query if its value in an attribute of any term is
    missing or out of domain, and the rule of this attribute is "drop". Attributes in `also` leave rows out in the same
    way. If the rule of a bounded column is "drop", a row without a value is left out only of the terms about this
    column.
    """

    domain: Domain
    terms: tuple[Term, ...]
    importance: tuple[float, ...] = ()  # of each term; empty if all are equal
    also: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.terms:
            raise InvalidRequest("The query has no terms.", "Add at least one, such as a marginal.")
        if len({term.text for term in self.terms}) < len(self.terms):
            raise InvalidRequest(f"A term occurs twice in {self.text!r}.", "Request each term once.")
        if len({piece.weight for piece in self.pieces if piece.weight}) > 1:
            raise InvalidRequest(
                f"{self.text!r} mixes weights and squared weights.",
                "Use gd.with_sampling_error(query), or request them separately.",
            )
        in_counts = sum(piece.cells.n_released for piece in self.pieces if piece.counts)
        n_released = sum(term.estimate.n_released for term in self.terms)
        check_size(f"The query has {n_released:,} answers", in_counts, n_released - in_counts)

    @property
    def text(self) -> str:
        """Texts of the terms, joined by semicolons."""
        return "; ".join(term.text for term in self.terms)

    @cached_property
    def pieces(self) -> tuple[Piece, ...]:
        """Pieces of all terms, in order."""
        return tuple(piece for term in self.terms for piece in term.pieces)

    @property
    def attributes(self) -> tuple[str, ...]:
        """Attributes that the query uses, in the domain's order."""
        used = {name for piece in self.pieces for name in piece.attributes} | set(self.also)
        return tuple(name for name in self.domain.attributes if name in used)

    @property
    def left_out_by(self) -> tuple[str, ...]:
        """Attributes whose rules leave rows out of the query."""
        return tuple(name for name in self.attributes if self.domain.attribute(name).outside == "drop")

    @property
    def columns(self) -> tuple[str, ...]:
        """Bounded columns that the query uses, the weight last."""
        columns = [piece.column for piece in self.pieces if piece.column]
        return tuple(dict.fromkeys([*columns, *(piece.weight.column for piece in self.pieces if piece.weight)]))

    @property
    def choices(self) -> tuple[str, ...]:
        """Choices of the pieces: columns, and squares of columns."""
        return tuple(dict.fromkeys(piece.choice for piece in self.pieces if piece.choice))

    @cached_property
    def labels(self) -> Labels:
        """Pairs (term, cell), one for each answer."""
        return Labels(tuple((term.text, self._cells(term)) for term in self.terms))

    @cached_property
    def steps(self) -> Steps:
        """Value of one unit of the integers of each piece."""
        return Steps([(piece.step * step, count) for piece in self.pieces for step, count in piece.cells.step_runs])

    @cached_property
    def errors(self) -> ErrorScale:
        """Error scales: 1 for counts, the bound for sums.

        A row of a matrix is compared as it is. If terms have an importance, each scale is divided by its root.
        """
        pairs = [(piece, *run) for piece in self.pieces for run in piece.cells.step_runs]
        runs = [(float(1 / step if piece.counts else piece.reach), count) for piece, step, count in pairs]
        alike, weights = ErrorScale(runs, 1.0, "rows"), None
        if self.importance:
            sizes = [term.estimate.n_released for term in self.terms]
            weights = alike.reach / np.sqrt(np.repeat(self.importance, sizes))
        is_of_sums = alike.weights is None and not self.importance and not any(piece.counts for piece in self.pieces)
        words = "rows" if not self.columns else "the unit of the sums" if is_of_sums else IN_ROWS
        words += ", times the square root of the term's importance" * bool(self.importance)
        return ErrorScale(runs, float(self.steps.runs[0][0]), words, not self.columns or is_of_sums, weights)

    def with_importance(self, importance: Mapping[str, float]) -> "Workload":
        """Return the query with some terms more important than others.

        Use it if some terms need to be more accurate than others, such as totals compared with details. The mechanism
        is then chosen to minimise the weighted sum of squared errors. The exact answers and the privacy guarantee do
        not change.

        Parameters
        ----------
        importance : mapping of str to float
            The weight of each term, above 0, by the text of the term. Terms that are not named have the weight 1.

        Examples
        --------
        A squared error of the total has a hundred times the weight of one of a count by sex:

        >>> import gaugedp as gd
        >>> gd.query(gd.Domain.of(sex=["1", "2"]), "count; sex").with_importance({"count": 100}).importance
        (100.0, 1.0)
        """
        texts = [term.text for term in self.terms]
        for text, times in importance.items():
            if text not in texts:
                raise UnknownName.among("term", text, texts)
            positive(importance=times)
        return replace(self, importance=tuple(float(importance.get(text, 1.0)) for text in texts))

    @property
    def said_importance(self) -> dict[str, float]:
        """Importance of terms by text; empty if all are equal."""
        return dict(zip((term.text for term in self.terms), self.importance, strict=False))

    @cached_property
    def operator(self) -> WorkloadColumns:
        """Linear map from joint tables to the released integers."""
        return WorkloadColumns.of(self.domain, self.choices, self.pieces)

    def sensitivity(self, unit: PrivacyUnit) -> Polytope:
        """Return all changes that one unit can cause.

        Mechanisms scale their noise to this set, which is called the sensitivity body. Changes are those of the exact
        answers if one protected unit, such as a person, is added, removed or replaced.

        Parameters
        ----------
        unit : PrivacyUnit
            The protected unit, with its largest number of rows, `max_rows`.

        Notes
        -----
        Let v run over the possible contributions of one row to the answers. If units are added or removed, the body is
        the convex hull of all points v and −v, times `max_rows`. If units are replaced, the hull also contains all
        differences of two such points. In a query with weighted terms only, the body is multiplied by the largest
        weight.

        The body is a `BoxHull` for sums of several columns over all rows, and for means of columns that have a value in
        every row. Its radii are exact for these, for single marginals, prefix sums, ranges and sums, and for stacks of
        marginals; otherwise they are upper bounds.

        Examples
        --------
        A row counts once in the first query, so it changes all answers together by 1. In the second query it counts
        twice:

        >>> import gaugedp as gd
        >>> domain, unit = gd.Domain.of(sex=["1", "2"], age=gd.bins(0, 100, 10)), gd.PrivacyUnit()
        >>> [gd.query(domain, text).sensitivity(unit).radius(1) for text in ("sex", "sex; sex*age")]
        [1.0, 2.0]
        """
        replace = unit.neighbours == "replace"
        corners, factor = self.operator.corners, unit.max_rows * heaviest(self.pieces)
        body = Polytope(self.operator, factor, differences=replace, with_zero=replace)
        return body if corners is None else BoxHull(corners, body.factor, body.differences, body.with_zero)

    @property
    def are_counts(self) -> np.ndarray:
        """Return which released values are counts, as booleans, shape (n_released,).

        Sums, general combinations of cells, and the sums and counts behind a mean are not counts. The counts behind
        shares are: if none is negative, the shares of a group add up to 1.
        """
        pairs = [(term.estimate.has_counts, piece) for term in self.terms for piece in term.pieces]
        return np.concatenate([has_counts & _rows_are_counts(piece) for has_counts, piece in pairs])

    @property
    def mechanisms(self) -> "LinearMechanisms":
        """The mechanisms that can answer the query."""
        return LinearMechanisms(self)

    def evaluate(self, table: Rows, row_key: bytes) -> np.ndarray:
        """Return the exact integers of the table."""
        needed = [total for piece in self.pieces for total in _needed(piece)]
        needed = list(dict.fromkeys([*needed, *(Aggregate((name,)) for name in self.also)]))
        totals = dict(zip(needed, table.totals(needed, row_key), strict=True))
        rows = [piece.cells.apply(_cells(piece, totals)) for piece in self.pieces]
        exact = object if any(part.dtype == object for part in rows) else np.int64
        return np.concatenate([part.astype(exact, copy=False) for part in rows])

    @property
    def estimates(self) -> tuple[Statistic, ...]:
        """Estimate of each term from the released values."""
        return tuple(term.estimate for term in self.terms)

    def digest(self) -> str:
        """Return a hash of text, domain facts and matrices."""
        facts = [self.text, *(f"{name}={self.domain.attribute(name)!r}" for name in self.attributes)]
        facts += [f"{name}={self.domain.column(name)!r}" for name in self.columns]
        facts += self.domain.recipe([*self.attributes, *self.columns])
        facts += [f"{term.text}: {term.pieces[0].weight!r}" for term in self.terms if term.pieces[0].weight]
        state = hashlib.sha256("\n".join(facts).encode())
        for piece in self.pieces:
            if isinstance(piece.cells, MatrixMap):
                steps = " ".join(str(step) for step, count in piece.cells.step_runs for _ in range(count))
                state.update(f"{steps} {piece.cells.matrix.shape}".encode() + piece.cells.matrix.tobytes())
        return state.hexdigest()

    @cached_property
    def outlines(self) -> tuple[Outline, ...]:
        """Outlines, one per term."""
        return tuple(self._outline(term) for term in self.terms)

    def _outline(self, term: Term) -> Outline:
        piece = term.pieces[0]
        reference = self.domain.attribute(piece.attributes[0]).labels[0] if term.estimate.first_cell else ""
        weights = "" if piece.weight is None else piece.weight.column
        left_out_by = self.left_out_by if self.domain.weights else ()
        kind, axes = term.estimate.kind, self._axes(term)
        design = self._design(piece) if term.estimate.of_sampling else {}
        return Outline(term.text, kind, piece.column, axes, reference, weights, left_out_by, **design)

    def _design(self, piece: Piece) -> dict[str, Any]:
        """Return the attributes of the sampling design, and the coarser levels of a piece's attributes."""
        domain, design = self.domain, self.domain.design
        if not design:
            return {}
        pairs = [(level, name) for name in piece.attributes for level in domain.levels(name)[:-1]]
        levels = {level: (name, domain.starts(level, name)) for level, name in pairs}
        return {"strata": design.strata, "clusters": design.clusters, "levels": levels}

    def _axes(self, term: Term) -> tuple[Axis, ...]:
        piece = term.pieces[0]
        facts = [self.domain.attribute(name) for name in piece.attributes]
        words = piece.cells.labels([fact.labels for fact in facts]) if facts else ()
        forms = [factor.form for factor in piece.cells.factors] or [piece.cells.form] * len(words)
        if forms == [ROWS]:
            return (Axis("row", words[0], ROWS),)
        shown, skipped = term.answered(words), term.estimate.skipped_axes
        axes = zip(piece.attributes[skipped:], facts[skipped:], shown, forms[skipped:], strict=True)
        return tuple(attribute_axis(*parts) for parts in axes)

    def _cells(self, term: Term) -> Cells:
        piece = term.pieces[0]
        columns = [[f"{name}={label}" for label in self.domain.attribute(name).labels] for name in piece.attributes]
        return Cells(term.answered(piece.cells.labels(columns)))

    def __repr__(self) -> str:
        text = self.text if len(self.text) <= 60 else self.text[:57] + "..."
        return f"Workload({text!r}, {self.n_answers} answers)"


@dataclass(frozen=True, eq=False)
class LinearMechanisms(MechanismChoice):
    """Mechanisms with additive noise for a workload's sensitivity body."""

    query: Workload

    @property
    def preferences(self) -> tuple[object, ...]:
        """The importance of the terms."""
        return self.query.importance

    def candidates(self, unit: PrivacyUnit, guarantee: Guarantee) -> Iterator[Mechanism]:
        """Yield the mechanisms for the sensitivity body, with independent noise if it must be."""
        form = IndependentNoise.form if all(estimate.is_independent for estimate in self.query.estimates) else ""
        return candidates(self.query.sensitivity(unit), guarantee, self.query.errors.weights, form)

    def left_out(self, unit: PrivacyUnit, guarantee: Guarantee, offered: Collection[str]) -> dict[str, str]:
        """Return the reasons against mechanisms, by name."""
        return left_out(self.query.sensitivity(unit), guarantee, self.query.errors.weights, offered)

    def accept(self, mechanism: Mechanism) -> bool:
        """Return True if the mechanism adds integer multiples of steps."""
        return isinstance(mechanism, AdditiveNoise) and mechanism.lattice_step == 1


def as_workload(query: Query | None) -> Workload | None:
    """Return the query if it is a workload, else None.

    The released integers of a workload are linear in the joint table, so that they can be made consistent.
    """
    return query if isinstance(query, Workload) else None


def are_counts(query: Query) -> np.ndarray:
    """Return which released values count rows, shape (len(steps),)."""
    linear = [(part, as_workload(part)) for part in query.parts]
    flags = [np.zeros(len(part.steps), dtype=bool) if one is None else one.are_counts for part, one in linear]
    return np.concatenate(flags)


def _rows_are_counts(piece: Piece) -> np.ndarray:
    if isinstance(piece.cells, MatrixMap) and piece.counts:
        steps, counts = zip(*piece.cells.step_runs, strict=True)
        entries = piece.cells.matrix * np.repeat([float(step) for step in steps], counts)[:, None]
        return np.asarray(((entries == 0) | (entries == 1)).all(axis=1))
    return np.full(piece.cells.n_released, piece.counts)


def _needed(piece: Piece) -> Sequence[Aggregate]:
    power = 0 if piece.weight is None else piece.weight.power
    count = Aggregate(piece.attributes, piece.column, present=piece.column is not None, weighted=power)
    if piece.part and piece.part.is_last:
        return [count, Aggregate(piece.attributes, weighted=power)]
    squares = replace(count, present=False, squared=True)
    if piece.part and piece.part.degree == 2:
        return [count, replace(squares, squared=False), squares]
    return [count, replace(squares, squared=piece.squared, coarse=piece.coarse)] if piece.sums else [count]


def _cells(piece: Piece, totals: dict[Aggregate, np.ndarray]) -> np.ndarray:
    counts, *sums = (totals[total] for total in _needed(piece))
    if piece.part:
        return _parts(piece, piece.part, counts, [part.astype(object) for part in sums])
    if not piece.sums:
        return counts
    if piece.centred or piece.squared:
        return sums[0]
    return (sums[0] + (piece.low + piece.high) * counts.astype(object)) // 2


def _parts(piece: Piece, part: Part, counts: np.ndarray, sums: list[np.ndarray]) -> np.ndarray:
    """Return the sums of a part of the rows' weights, from those of values between −C and C, C² or C = `high`."""
    if part.is_last:
        return np.asarray(sums[0] - counts)
    side, all_rows = part.place - part.degree / 2, piece.high * counts.astype(object)
    if part.degree == 1:
        return np.asarray((all_rows + (sums[0] if side > 0 else -sums[0])) // 2)
    squares = (sums[1] + all_rows) // 2
    if side == 0:
        return np.asarray((all_rows - squares) // 2)
    return np.asarray((all_rows + int(side) * 2 * math.isqrt(piece.high) * sums[0] + squares) // 4)


def n_cells(domain: Domain, attributes: Sequence[str]) -> int:
    """Return the number of cells of a valid marginal."""
    size = math.prod(domain.shape(attributes))
    if len(set(attributes)) < len(attributes):
        raise InvalidRequest(f"{'*'.join(attributes)} names an attribute twice.", "Name each attribute once.")
    if len(finest := domain.finest(attributes)) < len(attributes):
        raise InvalidRequest(
            f"{'*'.join(attributes)} crosses levels of one tree.",
            f"Write {'*'.join(finest)}: each of its cells lies in one area of every level above.",
        )
    check_size(f"The marginal {'*'.join(attributes)} has {size:,} cells", size)
    return size
