"""Rounding to the points of an integer lattice, one direction after another."""

import numpy as np

_BITS = 8  # of the coefficients
_TIE = 1e-9  # which floats decide in the same way on every machine


class NearestPlane:
    """Rounding of x (r,) to integers c(x) with c(x + k) = c(x) + k for integers k, and M·(x − c) short (Babai 1986).

    In a reduced basis M·T, c_i = ⌊x_i + Σ_{j > i} μ_ij·(x_j − c_j) + 1/2⌋ from the last to the first. Every fixed μ has
    the property; those of the QR decomposition, rounded to multiples of 2⁻⁸, make differences short.
    """

    def __init__(self, left: np.ndarray) -> None:
        change = _reduced(left)
        self.rank, self._back = left.shape[1], np.rint(np.linalg.inv(change)).astype(np.int64)
        self._change = change.astype(np.int64)
        if not np.array_equal(self._back @ self._change, np.eye(self.rank)):
            self._change = self._back = np.eye(self.rank, dtype=np.int64)
        triangle = np.linalg.qr(left @ self._change, mode="r")
        self._shares = np.rint(2**_BITS * triangle / np.diag(triangle)[:, None]).astype(np.int64)

    def exact(self, numerators: np.ndarray, divisor: int) -> np.ndarray:
        """Return c (n, r) for x = numerators/divisor, integers of any size (n, r)."""
        missed = np.array(numerators, dtype=object) @ self._back.astype(object).T
        chosen = np.zeros_like(missed)
        for place in range(self.rank - 1, -1, -1):
            shares = self._shares[place].astype(object)
            total = (missed[:, place] << _BITS) + missed[:, place + 1 :] @ shares[place + 1 :]
            chosen[:, place] = (2 * total + (divisor << _BITS)) // (2 * divisor << _BITS)
            missed[:, place] = missed[:, place] - chosen[:, place] * divisor
        return np.asarray(chosen @ self._change.astype(object).T)

    def floats(self, points: np.ndarray) -> np.ndarray:
        """Return c (…, r) for x (…, r) in floats."""
        missed = points @ self._back.T
        chosen = np.zeros_like(missed)
        for place in range(self.rank - 1, -1, -1):
            total = missed[..., place] + missed[..., place + 1 :] @ (self._shares[place, place + 1 :] / 2**_BITS)
            chosen[..., place] = np.floor(total + 0.5)
            missed[..., place] -= chosen[..., place]
        return np.asarray(chosen @ self._change.T)


def _reduced(left: np.ndarray) -> np.ndarray:
    """Return unimodular integers T with short columns of M·T (Lenstra, Lenstra and Lovász 1982)."""
    basis = np.vstack([left, np.eye(left.shape[1])])  # the last rows record T
    place, swaps = 1, 0
    while place < left.shape[1] and swaps < 2000:
        triangle = np.asarray(np.linalg.qr(basis[: len(left), : place + 1], mode="r"))
        for before in range(place - 1, -1, -1):
            times = np.floor(triangle[before, place] / triangle[before, before] + 0.5 - _TIE)
            basis[:, place] -= times * basis[:, before]
            triangle[:, place] -= times * triangle[:, before]
        if triangle[place - 1 : place + 1, place] @ triangle[place - 1 : place + 1, place] >= (
            # an exchange must shorten a squared length by a hundredth
            (0.99 - _TIE) * triangle[place - 1, place - 1] ** 2
        ):
            place += 1
        else:
            basis[:, [place - 1, place]] = basis[:, [place, place - 1]]
            place, swaps = max(1, place - 1), swaps + 1
    return basis[len(left) :]
