"""Certified lower bounds of volumes, by draws on the sphere."""

import math
from functools import lru_cache

import numpy as np

from gaugedp.bodies import Body, LpBall, Polytope, Volume, volume
from gaugedp.bodies.frame import STEPS, sums_above
from gaugedp.entropy import Entropy, research_rng
from gaugedp.samplers.continuous import normals

MISS = 1e-9  # the probability, over the public key, that a volume is above the truth
_KEY = 24  # public and fixed, so that plans are reproducible
_WORK = 7.5e8  # multiplications: a third of a second
_POWERS = (1.0, 0.5, 0.25, 0.1)  # of the rank
_STAKES = tuple(np.geomspace(0.003, 0.95, 24).tolist())


def certified_volume(body: Body) -> Volume | None:
    """Return a lower bound of a polytope's log volume.

    It holds with confidence 1 − 1e−9. None for other bodies, and if the draws would take longer than a second or so.

    Theorem. For θ uniform on the unit sphere of ℝ^r, L regular and 0 < s ≤ r, vol K ≥ |det L|·vol
    B·(E‖Lθ‖_K^{−s})^{r/s}, with equality for s = r: polar coordinates for L⁻¹K give s = r, and Jensen's inequality
    gives s < r. Let S_i ≥ ‖Lθ_i‖_K for N independent draws, and 0 < b < 1 be fixed before them. Then m with Π(1 +
    b·(S_i^{−s}/m − 1)) = 1/α exceeds μ = E‖Lθ‖_K^{−s} with probability at most α (after Waudby-Smith and Ramdas 2024):
    in that case Π(1 + b·(‖Lθ_i‖_K^{−s}/μ − 1)) is above 1/α, and this product has mean 1 (Markov).

    L is a root of the second moment of the generators; s and b are the best for a pilot with draws of its own.
    """
    if not isinstance(body, Polytope):
        return None
    columns = body.representation
    count = min(2048, int(_WORK / (2 * STEPS * len(columns) * columns.size)))
    log, error = body.prepared.frame.log_volume
    if count < 48 or math.isinf(error):
        return None
    unit = _log_volume(columns.tobytes(), columns.shape, body.differences, count)
    scale = body.prepared.rank * math.log(body.coefficient_radius)
    return Volume(unit + scale + log - error, "certified", confidence=1 - MISS)


@lru_cache(maxsize=32)
def _log_volume(numbers: bytes, shape: tuple[int, int], balanced: bool, count: int) -> float:
    """Return the bound for {columns·λ : Σ|λ| ≤ 1}; if balanced, with the last row at zero."""
    columns = np.frombuffer(numbers).reshape(shape)
    root = _root(columns[:-1] if balanced else columns, balanced)
    rank, rng = len(root), research_rng(_KEY)
    # 96: draws by which power and stake are chosen, and which are not used again
    pilot = -np.log(_sums(columns, root, 96, rng))
    power, stake = max(
        ((power * rank, stake) for power in _POWERS for stake in _STAKES),
        key=lambda bet: _log_mean(bet[0] * pilot, bet[1], count) / bet[0],
    )
    logs = -power * np.log(_sums(columns, root, count, rng))
    gain = _log_mean(logs, stake, count) / power * rank
    # 1e-9: far more than sums of some thousand terms lose
    return float(np.linalg.slogdet(root)[1]) + volume(LpBall(rank, 2)).log_volume + gain - 1e-9 * rank


def _root(columns: np.ndarray, balanced: bool) -> np.ndarray:
    centre = columns.mean(axis=1, keepdims=True) if balanced else 0.0
    return np.linalg.cholesky((columns - centre) @ (columns - centre).T / columns.shape[1])


def _sums(columns: np.ndarray, root: np.ndarray, count: int, rng: Entropy) -> np.ndarray:
    """Return Σ|λ| of representations of Lθ, for `count` draws."""
    points = normals(count * len(root), rng).reshape(count, len(root))
    points = points / np.linalg.norm(points, axis=1, keepdims=True) @ root.T
    points = np.pad(points, ((0, 0), (0, len(columns) - len(root))))
    size = max(1, 2**23 // columns.size)  # draws of 2^23 numbers at a time
    return np.concatenate([sums_above(columns, points[start : start + size]) for start in range(0, count, size)])


def _log_mean(logs: np.ndarray, stake: float, count: int) -> float:
    """Return log m with (count/k)·Σ log(1 + b·(e^{log_i}/m − 1)) = log(1/α) for k logarithms."""
    import scipy.optimize

    goal = -math.log(MISS) / count

    def gain(log: float) -> float:
        return float(np.log1p(stake * np.expm1(np.minimum(logs - log, 700))).mean()) - goal

    low = float(logs.min()) - math.log1p(math.expm1(goal) / stake) - 1
    return float(scipy.optimize.brentq(gain, low, float(logs.max()), xtol=1e-12))
