"""Volumes of polytopes of high rank, estimated by walks over the facets of bodies between a cross-polytope and them.

python -m examples.papers.volume_by_walks
"""

import math

import numpy as np

from gaugedp.bodies.polytope import Polytope
from gaugedp.bodies.volume import Volume, volume
from gaugedp.entropy import Entropy, research_rng, system_rng
from gaugedp.samplers.continuous import uniforms
from gaugedp.samplers.facet_walk import started

_SHIFT = 1e-6  # by which generators are shortened, so that facets are simplices
_BURN = 50  # steps of a walk before it is looked at, and while it is, to a dimension
_LOOKS = 3  # a walk is looked at every r/3 steps


def estimated_volume(body: Polytope, rng: Entropy | None = None, strata: int = 24, chains: int = 12) -> Volume:
    """Return log vol_r(K) of a polytope as an "estimate" with its standard error; exact where no walk is needed.

    Theorem [ours]. In coordinates of the best basis let K_t = conv({±e_i} ∪ {±t·w_j}), the w_j the other generators.
    For almost all t, d log vol(K_t)/d log t = E m_B(t), the number of columns t·w_j in a facet B of K_t drawn with
    probability ∝ |det F_B|; up to t₀ = 1/max‖w_j‖₁, K_t is the cross-polytope. So log vol(K) = log(2^r/r!) + ∫ E m_B(t)
    d log t over [t₀, 1]. Proof: differentiate vol(K_t) = Σ_B |det F_B(t)|/r!, whose facets change at finitely many t.

    Two values of log t are drawn in each of the `strata`; at each, `chains` walks over the facets give the mean. The
    standard error comes from the differences of pairs. It knows no bias of walks that are too short, and the
    shortening of the generators by at most a millionth, which makes K smaller.
    """
    generators = body.distinct
    rank, count = generators.coordinates.shape
    if rank in (1, count):
        return volume(body)
    rng = system_rng() if rng is None else rng
    others = np.setdiff1d(np.arange(count), generators.basis)
    columns = generators.coordinates.copy()
    columns[:, others] *= 1 - _SHIFT * uniforms(len(others), rng)
    gain, error = _log_gain(columns, others, (strata, chains), rng)
    cross = rank * math.log(2 * body.factor) - math.lgamma(rank + 1)
    return Volume(cross + generators.frame.log_volume[0] + gain, "estimate", error)


def _log_gain(columns: np.ndarray, others: np.ndarray, sizes: tuple[int, int], rng: Entropy) -> tuple[float, float]:
    """Return an estimate of ∫ E m_B(t) d log t over [t₀, 1], stratified, and its standard error."""
    strata, chains = sizes
    length = max(0.0, math.log(np.abs(columns[:, others]).sum(axis=0).max()))
    width = length / strata
    places = width * (np.arange(strata)[:, None] + uniforms(2 * strata, rng).reshape(strata, 2)) - length
    means = np.array([_mean_scaled(columns, others, (log, chains), rng) for log in places.flat]).reshape(strata, 2)
    return width * float(means.mean(axis=1).sum()), width * float(np.linalg.norm(means[:, 0] - means[:, 1])) / 2


def _mean_scaled(columns: np.ndarray, others: np.ndarray, at: tuple[float, int], rng: Entropy) -> float:
    """Return the mean number of scaled columns in a facet, at (log t, number of walks)."""
    log_scale, chains = at
    scaled = columns.copy()
    scaled[:, others] *= math.exp(log_scale)
    is_scaled = np.zeros(columns.shape[1], dtype=bool)
    is_scaled[others] = True
    rank = len(columns)
    walks = started(scaled, chains, rng)
    walks.walk(_BURN * rank, rng)
    every = max(1, rank // _LOOKS)
    counts = []
    for _ in range(_BURN * rank // every):
        walks.walk(every, rng)
        counts.append(is_scaled[walks.basis].sum(axis=1).mean())
    return float(np.mean(counts))


def main() -> None:
    """Print the estimate for 30 columns of signs in 6 dimensions, next to the exact volume."""
    signs = np.random.default_rng(1).integers(0, 2, (6, 30)) * 2.0 - 1
    body = Polytope.symmetric_hull(signs)
    estimate, exact = estimated_volume(body, research_rng(11)), volume(body)
    print(f"log volume {estimate.log_volume:.3f} ± {estimate.standard_error:.3f}, exact {exact.log_volume:.3f}")


if __name__ == "__main__":
    main()
