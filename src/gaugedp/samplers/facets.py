"""Listed facets of a symmetric polytope of low rank, drawn by the volumes of their cones."""

import numpy as np

from gaugedp.entropy import Entropy
from gaugedp.errors import InvalidRequest
from gaugedp.samplers.continuous import uniforms
from gaugedp.samplers.facet_walk import facets_of

MOST_HULL_POINTS = {2: 10**6, 3: 50_000, 4: 5000, 5: 1000, 6: 300, 7: 120, 8: 90}  # seconds, not minutes, each


class ListedFacets:
    """Facets of conv{±w_j}, triangulated into simplices.

    w_j are the columns of `columns` (r, k). A simplex has r signed columns and is drawn with probability |det|/Σ|det|,
    the share of its cone in the volume. The simplices are Qhull's (Barber, Dobkin and Huhdanpaa 1996). Two checks are
    made: each lies in a supporting hyperplane, and the cones together have the volume of the hull.
    """

    def __init__(self, columns: np.ndarray) -> None:
        import scipy.spatial

        self.columns = columns
        try:
            hull = scipy.spatial.ConvexHull(np.hstack([columns, -columns]).T, qhull_options="Qt")
        except scipy.spatial.QhullError:
            raise _unsure() from None
        count = columns.shape[1]
        self.basis, self.signs = hull.simplices % count, np.where(hull.simplices < count, 1.0, -1.0)
        sizes = np.abs(np.linalg.det(self.facets(slice(None))))
        is_thick = sizes > 1e-12 * sizes.max()
        self.basis, self.signs, sizes = self.basis[is_thick], self.signs[is_thick], sizes[is_thick]
        self._check(float(sizes.sum()), float(hull.volume))
        self.shares = sizes / sizes.sum()
        self._ends = np.cumsum(self.shares)

    def facets(self, index: np.ndarray | slice) -> np.ndarray:
        """Return bases as matrices of signed columns."""
        return facets_of(self.columns, self.basis[index], self.signs[index])

    def draw(self, size: int, rng: Entropy) -> np.ndarray:
        """Return `size` independent bases, shape (size, r, r)."""
        places = np.searchsorted(self._ends, uniforms(size, rng) * self._ends[-1], side="right")
        return self.facets(np.minimum(places, len(self._ends) - 1))

    def second_moment(self) -> np.ndarray:
        """Return E zzᵀ = Σ share·B(I + 11ᵀ)Bᵀ/((r + 1)(r + 2)) of uniform z."""
        rank = len(self.columns)
        total = np.zeros((rank, rank))
        for start in range(0, len(self.shares), 10**4):
            part = slice(start, start + 10**4)
            facets, shares = self.facets(part), self.shares[part]
            ends = facets.sum(axis=2)
            total += np.einsum("m,mij,mkj->ik", shares, facets, facets) + (shares[:, None] * ends).T @ ends
        return total / ((rank + 1) * (rank + 2))

    def _check(self, total: float, volume: float, *, most_products: int = 2 * 10**8) -> None:
        """Refuse columns beyond a facet, of very many only some."""
        rank, count = self.columns.shape
        some = self.columns[:, :: max(1, len(self.basis) * count // most_products)]
        size = max(1, 10**6 // some.shape[1])
        for start in range(0, len(self.basis), size):
            facets = self.facets(slice(start, start + size))
            normals = np.linalg.solve(np.swapaxes(facets, 1, 2), np.ones((1, rank, 1)))[:, :, 0]
            if np.abs(normals @ some).max() > 1 + 1e-10 * rank:  # less than the stretch of the noise
                raise _unsure()
        if not abs(total / np.prod(np.arange(1.0, rank + 1)) / volume - 1) < 1e-7:
            raise _unsure()


def _unsure() -> InvalidRequest:
    return InvalidRequest(
        "The shape of the noise could not be computed reliably: some generators of the body are nearly equal.",
        "Merge generators that differ only by rounding, or use noise of another shape.",
    )
