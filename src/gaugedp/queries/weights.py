"""Pieces of bounded columns, and weights of rows in them."""

from dataclasses import replace
from fractions import Fraction

from gaugedp._internal.rounding import INTEGERS
from gaugedp.domain.attributes import BoundedColumn
from gaugedp.domain.domain import Domain
from gaugedp.errors import InvalidRequest
from gaugedp.queries.piece import Piece, RowWeight
from gaugedp.statistics.base import CENTRED, ROUNDED, SQUARED, SUMMED, Part, Statistic
from gaugedp.tables.aggregate import Coarse


def unweighted(domain: Domain, weighted: bool) -> str:
    """Return the word in front of a term without the domain's weights."""
    return "" if weighted or domain.weights is None else "unweighted "


def row_weight(domain: Domain, power: int = 1) -> RowWeight | None:
    """Return a power of the rows' weights, if the domain has any; the least is 0 if one may be missing."""
    if domain.weights is None:
        return None
    column = domain.column(domain.weights)
    light = 0 if column.missing is None else column.low_steps
    return RowWeight(domain.weights, light**power, column.high_steps**power, power)


def times_weight(domain: Domain, piece: Piece) -> Piece:
    """Return the piece in steps of products with its weight, if it has one."""
    if piece.weight is None:
        return piece
    if piece.reach > INTEGERS:
        raise InvalidRequest(
            f"The products of {piece.column} and the weight {piece.weight.column} would exceed 2^53 steps.",
            "Give the column or the weight a coarser `step`.",
        )
    return replace(piece, step=piece.step * domain.column(piece.weight.column).step ** piece.weight.power)


def moment_of(moment: str | Part, counts: Piece, column: BoundedColumn) -> Piece:
    """Return the piece of a bounded column for a moment."""
    counts = replace(counts, may_miss=column.missing is None)
    span = column.high_steps - column.low_steps
    coarse = _coarse(counts, column)
    if isinstance(moment, Part):
        whole = 1 if moment.is_last else span if moment.degree == 1 else coarse.reach**2
        return replace(counts, part=moment, low=0, high=whole, step=Fraction(1, whole))
    if moment == SUMMED:
        return replace(counts, low=column.low_steps, high=column.high_steps, step=column.step)
    if moment == ROUNDED and coarse.bits:
        step = (column.high - column.low) / (2 * coarse.reach)
        return replace(counts, centred=True, coarse=True, low=-coarse.reach, high=coarse.reach, step=step)
    if moment in (CENTRED, ROUNDED):
        return replace(counts, centred=True, low=-span, high=span, step=column.step / 2)
    if moment == SQUARED:
        reach = coarse.reach
        step = ((column.high - column.low) / (2 * reach)) ** 2
        return replace(counts, squared=True, low=-(reach**2), high=reach**2, step=step)
    return counts


def of_moments(
    domain: Domain, kind: type[Statistic], counts: Piece, column: BoundedColumn
) -> tuple[tuple[Piece, ...], Statistic]:
    """Return the pieces of a statistic of a bounded column, and the statistic."""
    pieces = tuple(times_weight(domain, moment_of(moment, counts, column)) for moment in kind.moments)
    coarse = _coarse(counts, column)
    rounding = float((column.high - column.low) / (2 * coarse.reach)) if coarse.bits else 0.0
    return pieces, kind.of_column(counts.cells.n_released, column).rounded(rounding)


def _coarse(counts: Piece, column: BoundedColumn) -> Coarse:
    return Coarse(column.high_steps - column.low_steps, 1 if counts.weight is None else counts.weight.heavy)
