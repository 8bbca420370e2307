"""Triangulations of all faces of a polytope that agree where faces meet: by pulling vertices in one order."""

import numpy as np


def pulled(incidence: np.ndarray) -> np.ndarray:
    """Return the simplices (m, r), places in order, of facets whose points `incidence` (n_facets, n_points) tells."""
    facets = [sum(1 << int(place) for place in np.flatnonzero(row)) for row in incidence]
    known: dict[int, list[tuple[int, ...]]] = {}
    simplices = [simplex for facet in facets for simplex in _of_face(facet, facets, known)]
    return np.array(simplices if len(set(map(len, simplices))) == 1 else [])


def _of_face(face: int, others: list[int], known: dict[int, list[tuple[int, ...]]]) -> list[tuple[int, ...]]:
    if face not in known:
        first = face & -face
        place = first.bit_length() - 1
        facets = _largest({face & other for other in others} - {0, face})
        rests = [rest for facet in facets if not facet & first for rest in _of_face(facet, facets, known)]
        known[face] = [(place, *rest) for rest in rests] if face != first else [(place,)]
    return known[face]


def _largest(sets: set[int]) -> list[int]:
    """Return the sets that lie in no other."""
    kept: list[int] = []
    for one in sorted(sets, key=int.bit_count, reverse=True):
        if all(one & other != one for other in kept):
            kept.append(one)
    return kept
