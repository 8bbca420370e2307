"""Weights of rows in queries."""

from dataclasses import replace

from gaugedp.domain.domain import Domain
from gaugedp.errors import InvalidRequest
from gaugedp.queries.piece import Piece, RowWeight

_LARGEST = 2**53  # steps of a product: floats represent integers exactly up to here


def unweighted(domain: Domain, weighted: bool) -> str:
    """Return the word in front of a term without the domain's weights."""
    return "" if weighted or domain.weights is None else "unweighted "


def row_weight(domain: Domain) -> RowWeight | None:
    """Return the weights of the rows, if the domain has any; the least is 0 if one may be missing."""
    if domain.weights is None:
        return None
    column = domain.column(domain.weights)
    return RowWeight(domain.weights, 0 if column.missing is None else column.low_steps, column.high_steps)


def times_weight(domain: Domain, piece: Piece) -> Piece:
    """Return the piece in steps of products with its weight, if it has one."""
    if piece.weight is None:
        return piece
    if piece.reach > _LARGEST:
        raise InvalidRequest(
            f"{piece.column} and the weight {piece.weight.column} have too many steps together.",
            "Give one of them a coarser step: products of 2^53 steps or more are not added up.",
        )
    return replace(piece, step=piece.step * domain.column(piece.weight.column).step)
