"""Which questions count the areas of several levels of one tree, and nothing else."""

from collections.abc import Sequence
from itertools import pairwise

from gaugedp.domain import Domain
from gaugedp.nesting import Nesting, Place
from gaugedp.queries.maps import Identity
from gaugedp.queries.piece import Piece

_ALL = ""  # in place of a level's name, where all areas are counted together


def nested(domain: Domain, pieces: Sequence[Piece]) -> Nesting | None:
    """Return the levels of a tree that the pieces count, each crossed with the same attributes; None for all others."""
    if not all(isinstance(piece.cells, Identity) and piece.counts and piece.column is None for piece in pieces):
        return None
    named = [{domain.tree(name): name for name in piece.attributes} for piece in pieces]
    unlike = {column for names in named for column in names if len({other.get(column, _ALL) for other in named}) > 1}
    if len(unlike) != 1:
        return None
    (column,) = unlike
    levels = [names.get(column, _ALL) for names in named]
    ladder = [_ALL, *max(map(domain.levels, filter(None, levels)), key=len)]
    if len(set(levels)) < len(levels) or not domain.attribute(ladder[-1]).column:
        return None
    ends = [0]
    for piece in pieces:
        ends.append(ends[-1] + piece.cells.n_released)
    order = sorted(range(len(pieces)), key=lambda place: ladder.index(levels[place]))
    places = tuple(_place(domain, pieces[i].attributes, levels[i], ends[i]) for i in order)
    pairs = pairwise(levels[i] for i in order)
    return Nesting(places, tuple((0,) if coarse == _ALL else domain.starts(coarse, fine) for coarse, fine in pairs))


def _place(domain: Domain, attributes: Sequence[str], level: str, start: int) -> Place:
    """Return where a piece's counts stand: areas first, then the other attributes by their names."""
    names, shape = tuple(attributes), domain.shape(attributes)
    if level == _ALL:
        names, shape = (_ALL, *names), (1, *shape)
    ordered = [level, *sorted(name for name in names if name != level)]
    return Place(start, shape, tuple(names.index(name) for name in ordered))
