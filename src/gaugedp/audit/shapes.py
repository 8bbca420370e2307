"""White-box tests of noise that has the shape of a body."""

import math

import numpy as np
import scipy

from gaugedp._progress import Progress, silent
from gaugedp.audit import goodness_of_fit
from gaugedp.audit.goodness_of_fit import Found
from gaugedp.audit.linear import chance_by_width, common, directions
from gaugedp.bodies.base import Body
from gaugedp.bodies.derived import LinearImage
from gaugedp.bodies.polytope import Polytope
from gaugedp.entropy import Entropy
from gaugedp.mechanisms.nim import Nested
from gaugedp.mechanisms.norm_noise import NormNoise
from gaugedp.samplers.continuous import gammas
from gaugedp.samplers.direct import has_direct
from gaugedp.samplers.gauge_noise import GaugeNoise

_MOST_PROGRAMS = 1500  # gauges by linear programs: a millisecond each
_FINE = 0.01  # of the gauge's deviation, that rounding may shift it by and be forgotten
_MOST_AXES = 8


def shaped_tests(mechanism: NormNoise, draws: np.ndarray, rng: Entropy, progress: Progress) -> Found:
    """Return the tests of noise of density ∝ e^{−ε‖z‖/Δ}.

    "radius": the gauge of such noise is Gamma(r), r the rank; "uniform": ‖u‖^r of uniform draws is uniform; "size" and
    "projections": against Gamma(r + 1) times uniform draws, rounded; "radius and direction": they are independent.
    Where rounding is coarse, "radius" is of draws before it. ε is that of the guarantee, not the mechanism's own.
    """
    scale = expected_scale(mechanism)
    reference = np.rint(reference_noise(mechanism, len(draws), rng, progress) * scale)
    spread = np.maximum(reference.std(axis=0), 1e-9)
    ours, theirs = (np.linalg.norm(rows / spread, axis=1) for rows in (draws, reference))
    p_values = common(draws, chance_by_width(reference.std(axis=0)))
    p_values["size"] = goodness_of_fit.same_mean(ours, theirs)
    p_values["projections"] = _projections(draws / spread, reference / spread, rng)
    p_values["covers its body"] = float(_covers(mechanism))
    return p_values if isinstance(mechanism.noise, Nested) else p_values | _radial(mechanism, draws / scale, rng)


def expected_scale(mechanism: NormNoise) -> float:
    """Return Δ/ε in steps, ε that of the guarantee."""
    epsilon, _ = mechanism.guarantee.cost("approx") or (0, 0)
    return mechanism.scale_factor / float(epsilon) / float(mechanism.step)


def reference_noise(mechanism: NormNoise, size: int, rng: Entropy, progress: Progress = silent) -> np.ndarray:
    """Return noise at ε = Δ = 1 by another way than `draw`: radius times uniform, level by level; walks by walks."""
    noise = mechanism.noise
    if isinstance(noise, Nested):
        return _nested(noise, size, rng, mechanism.steps)
    return _single(noise, size, rng, mechanism.steps, progress)


def _single(noise: GaugeNoise, size: int, rng: Entropy, steps: int, progress: Progress = silent) -> np.ndarray:
    if noise.walks:
        return noise.release(size, steps, rng, progress)
    return np.asarray(gammas(noise.rank + 1, size, rng)[:, None] * noise.uniform(size, rng))


def _nested(noise: Nested, size: int, rng: Entropy, steps: int) -> np.ndarray:
    """Return the recursion of docs/theory/nim.md, written from its formula: from the last level to the first."""
    total: np.ndarray | None = None
    for level, share, weight in zip(noise.levels[::-1], noise.shares[::-1], noise.weights[::-1], strict=True):
        draws = _single(level.noise, size, rng, steps) / share
        on_long = draws @ level.long @ (level.basis @ level.long).T
        on_short = draws @ level.short @ (level.basis @ level.short).T
        total = on_short + (on_long if total is None else (1 - weight) * on_long + weight * total)
    assert total is not None
    return total


def _radial(mechanism: NormNoise, unit: np.ndarray, rng: Entropy) -> Found:
    """Return the tests of gauges, of the draws themselves where rounding is fine beside them."""
    noise, body = mechanism.noise, mechanism.shape
    n_draws = _MOST_PROGRAMS if _needs_programs(body) else len(unit)
    n_draws = min(n_draws, len(unit))
    rows = unit[:n_draws] if _is_fine(mechanism) else _unrounded(mechanism, n_draws, rng)
    radii = body.gauge(rows)
    p_values = {"radius": goodness_of_fit.follows(radii, lambda gauge: scipy.special.gammainc(noise.rank, gauge))}
    pairs = [(radii, np.abs(rows[:, place]) / radii) for place in goodness_of_fit.some(rows.shape[1], _MOST_AXES)]
    p_values["radius and direction"] = goodness_of_fit.union_bound(goodness_of_fit.correlation(*pair) for pair in pairs)
    if not noise.walks:
        powers = body.gauge(noise.uniform(n_draws, rng)) ** noise.rank
        p_values["uniform"] = goodness_of_fit.follows(np.minimum(powers, 1.0), lambda share: share)
    return p_values


def _unrounded(mechanism: NormNoise, size: int, rng: Entropy) -> np.ndarray:
    noise = mechanism.noise
    return noise.release(size, mechanism.steps, rng) if noise.walks else noise.draw(size, rng)


def _needs_programs(body: Body) -> bool:
    if has_direct(body):
        return False
    return isinstance(body, Polytope) or (isinstance(body, LinearImage) and _needs_programs(body.body))


def _is_fine(mechanism: NormNoise) -> bool:
    """Whether rounding keeps draws in the span and moves their gauge by a hundredth of its deviation at most."""
    body = mechanism.shape
    if body.rank < body.ambient_dim:
        return False
    shift = float(body.gauge(np.eye(body.ambient_dim)).sum()) / 2 / expected_scale(mechanism)
    return shift <= _FINE * math.sqrt(body.rank)


def _projections(draws: np.ndarray, reference: np.ndarray, rng: Entropy) -> float:
    axes = np.eye(draws.shape[1])[goodness_of_fit.some(draws.shape[1], _MOST_AXES)]
    weights = np.vstack([axes, directions(draws.shape[1], rng)])
    return goodness_of_fit.union_bound(
        goodness_of_fit.same_law(draws @ weight, reference @ weight) for weight in weights
    )


def _covers(mechanism: NormNoise) -> bool:
    """Whether generators of the body lie in scale_factor·shape, tried in some directions."""
    body = mechanism.body
    axes = np.eye(body.ambient_dim)[goodness_of_fit.some(body.ambient_dim)]
    inside = body.support(axes) <= mechanism.scale_factor * mechanism.shape.support(axes) * (1 + 1e-9)
    return bool(inside.all())
