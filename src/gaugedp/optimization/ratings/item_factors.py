"""Item factors by a power iteration with private user factors."""

import math
from dataclasses import dataclass

import numpy as np

from gaugedp._internal.rounding import SCORES
from gaugedp.bodies import LpBall
from gaugedp.entropy import Entropy
from gaugedp.guarantees import GaussianDP
from gaugedp.mechanisms.base import AdditiveNoise
from gaugedp.optimization.lattice import ball_noise, released, shared
from gaugedp.optimization.ratings.group_means import LEAST_VARIANCE
from gaugedp.optimization.tuning import TUNED
from gaugedp.samplers.continuous import normals

ITERATIONS = 4
_ROW_BITS, _DIRECTION_BITS, _SCORE_BITS = 20, 16, 12  # sums of products over 2^21 users are exact
_REACH = {"user": 1.0, "rating": 2.0}  # the bound to which scores are clipped, over √(r/n)

Entries = tuple[np.ndarray, np.ndarray, np.ndarray]  # users, items, residuals in [−1, 1]: a pair once at most


@dataclass(frozen=True, eq=False)
class ItemFactors:
    """A noisy power iteration on Σ_u x_u·x_uᵀ without its diagonal.

    x_u are the residuals of a user, clipped to norm `length`. A step maps V (n, r) to W = Σ_u Σ_i
    e_i·(x_ui/length)·clip(Σ_{j≠i} x_uj·V_j/(length·reach))ᵀ, scores clipped to the unit ball, plus Gaussian noise; the
    next V spans the rows of W, shrunk according to the noise of each item.

    Theorem. A user's part of W has Frobenius norm at most 1, so W changes by at most 2 if a user is replaced (1 if one
    is added). One entry added or removed changes it by at most (1 + ℓ)/B + 1/B² + rounding, B = `length` ≥ 1 and ℓ the
    largest ‖V_i‖ over the reach; twice that if one is replaced. Each step is (μ/√T)-GDP, all of them are μ-GDP.
    docs/theory/matrix_completion.md
    """

    shape: tuple[int, int]
    rank: int
    length: float
    unit: str  # "user" or "rating"
    noise: AdditiveNoise
    guarantee: GaussianDP

    @classmethod
    def calibrate(
        cls, shape: tuple[int, int], rank: int, length: float, unit: str, guarantee: tuple[GaussianDP, bool]
    ) -> "ItemFactors":
        """Return the method for (guarantee, True if units are replaced)."""
        total, replaced = guarantee
        once = 1.0 if unit == "user" else min(_entry_moves(shape[1], rank, length), 2.0)
        sensitivity = (2.0 if replaced else 1.0) * once * (1 + SCORES)
        noise = ball_noise(LpBall(shape[1] * rank, 2, sensitivity), shared(total, 1 / ITERATIONS))
        return cls(shape, rank, length, unit, noise, total)

    def solve(self, entries: Entries, sizes: np.ndarray, rng: Entropy) -> tuple[np.ndarray, float]:
        """Return item factors (n, k) and their ridge.

        k ≤ rank factors exceed the noise. Weighted by the released numbers of ratings `sizes` (n,), they have mean 0,
        mean square 1 and no correlation. Charge the budget first.
        """
        users, items, _ = entries
        rows = self.cut(entries)
        directions = np.linalg.qr(normals(self.shape[1] * self.rank, rng).reshape(-1, self.rank))[0]
        for _ in range(ITERATIONS):
            probe = self.flat(centred(directions, sizes))
            noisy = released(self.sums((users, items, rows), probe), self.noise, rng)
            shrunk, variances = self._shrunk(noisy, sizes)
            directions = np.linalg.svd(shrunk, full_matrices=False)[0]
        directions = directions[:, : self._standing_out(noisy, variances)]
        return orthonormal(self.flat(directions), sizes), self._ridge(noisy, probe, directions, float(sizes.sum()))

    def cut(self, entries: Entries) -> np.ndarray:
        """Return x/length in integer steps of 2^−20, truncated towards 0."""
        users, _, residuals = entries
        lengths = np.sqrt(np.bincount(users, residuals**2, minlength=self.shape[0]))
        return np.trunc(residuals / np.maximum(lengths, self.length)[users] * 2.0**_ROW_BITS)

    def flat(self, directions: np.ndarray) -> np.ndarray:
        """Return V with clipped rows, in integer steps of 2^−16."""
        longest = TUNED.longest_direction * math.sqrt(self.rank / self.shape[1])
        lengths = np.linalg.norm(directions, axis=1, keepdims=True)
        unit = 2.0**_DIRECTION_BITS
        return np.trunc(directions * np.minimum(1.0, longest / np.maximum(lengths, 1e-300)) * unit) / unit

    def sums(self, rows: Entries, directions: np.ndarray) -> np.ndarray:
        """Return W (n, r) for x/length in steps of 2^−20 and V in steps of 2^−16: exact in any order."""
        users, items, sizes = rows
        scores = np.stack([np.bincount(users, v[items] * sizes, minlength=self.shape[0]) for v in directions.T], axis=1)
        total = np.zeros((self.shape[1], self.rank))
        for start in range(0, len(users), 2**18):
            some = slice(start, start + 2**18)
            lean = directions[items[some]] * sizes[some, None]
            clipped = self._clipped(scores[users[some]] - lean) * sizes[some, None]
            total += np.stack([np.bincount(items[some], column, minlength=len(total)) for column in clipped.T], axis=1)
        return total * 2.0 ** -(_ROW_BITS + _SCORE_BITS)

    def _clipped(self, scores: np.ndarray) -> np.ndarray:
        """Return scores over the reach, clipped to the unit ball, in integer steps of 2^−12."""
        reach = _REACH[self.unit] * math.sqrt(self.rank / self.shape[1]) * 2.0**_ROW_BITS
        squares = sum(column * column for column in scores.T)  # by columns, so that a row gives the same in any table
        lengths = np.maximum(np.sqrt(squares), reach)
        return np.trunc(scores / lengths[:, None] * 2.0**_SCORE_BITS)

    def _shrunk(self, noisy: np.ndarray, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return shrunk rows of W per rating, and the variance of their entries by chance."""
        mean = max(float(sizes.sum()) / self.shape[0], 1.0)
        variances = max(float(self.noise.variances.max()), LEAST_VARIANCE) + sizes / (mean * self.rank)
        squares = float((sizes**2).sum())
        excess = float((noisy**2).sum()) / self.rank - float(variances.sum())
        spread = max(excess, 1e-3 * float(variances.sum())) / max(squares, 1e-9)
        weights = sizes * spread / (sizes**2 * spread + variances)
        return noisy * weights[:, None], variances

    def _standing_out(self, noisy: np.ndarray, variances: np.ndarray) -> int:
        rare = math.sqrt(self.rank) + 3.0  # deviations, exceeded by chance once in a hundred times
        edge = math.sqrt(float(variances.sum())) + rare * math.sqrt(float(variances.max()))
        return int((np.linalg.svd(noisy, compute_uv=False) > edge).sum())

    def _ridge(self, noisy: np.ndarray, probe: np.ndarray, directions: np.ndarray, n_ratings: float) -> float:
        """Return about the residual variance over that of a user's score, from ⟨V_j, W_j⟩."""
        inside = probe.T @ directions
        squares = np.diag(inside.T @ (probe.T @ noisy) @ inside) / np.maximum((inside**2).sum(axis=0), 1e-12)
        reach = _REACH[self.unit] * math.sqrt(self.rank / self.shape[1])
        ratio = float(squares.mean()) * reach * self.shape[1] / max(n_ratings, 1.0) if squares.size else 0.0
        return float(np.clip(1 / max(ratio, 1e-9), 3.0, 300.0))


def centred(directions: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Subtract the columns' means over ratings, so that a user's overall level has no score."""
    means = sizes @ directions / max(float(sizes.sum()), 1e-300)
    return directions - means


def orthonormal(directions: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Centre the columns and orthonormalise them over the ratings."""
    flat = centred(directions, sizes)
    weights = sizes / max(float(sizes.sum()), 1e-300)
    values, vectors = np.linalg.eigh(flat.T @ (flat * weights[:, None]))
    return flat @ (vectors / np.sqrt(np.maximum(values, 1e-12)))


def _entry_moves(n_items: int, rank: int, length: float) -> float:
    """Return the bound on the change of W by one entry, including rounding.

    In the notation of docs/theory/matrix_completion.md, truncating x to multiples of 2^−20 adds √n·2^−20 to ‖x′ − x‖,
    and 1.25·n·2^−20 to the change of a score over ρ√(r/n), as ‖V‖ ≤ 2.5√r and ρ = 2. Truncating clipped scores to
    multiples of 2^−12 adds √r·2^−12.
    """
    if length < 1:
        return math.inf
    reach = _REACH["rating"] * math.sqrt(rank / n_items)
    rounding = math.sqrt(n_items) * 2.0**-_ROW_BITS  # of x, on every item
    longest = TUNED.longest_direction * math.sqrt(rank)  # the Frobenius norm of V, so its operator norm
    scores = rounding * longest / reach + math.sqrt(rank) * 2.0**-_SCORE_BITS
    return (1 + TUNED.longest_direction / _REACH["rating"]) / length + 1 / length**2 + rounding + scores
