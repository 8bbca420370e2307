"""White-box tests of a mechanism's noise against its guarantee."""

import math
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import scipy

from gaugedp._internal.progress import Progress, silent
from gaugedp.audit import goodness_of_fit
from gaugedp.audit.goodness_of_fit import Found
from gaugedp.audit.linear import chance_by_width, common, covers, identity_tests, like, matrix_tests
from gaugedp.audit.samples import ObservedRuns
from gaugedp.bodies import Body, LinearImage, Polytope
from gaugedp.entropy import Entropy, research_rng, system_rng
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees.base import Guarantee
from gaugedp.mechanisms.base import AdditiveNoise, Calibrated
from gaugedp.mechanisms.independent import IndependentNoise
from gaugedp.mechanisms.nim import NestedNoise
from gaugedp.mechanisms.norm_noise import NormNoise
from gaugedp.samplers.body_noise import GaugeNoise, LatticeLaw
from gaugedp.samplers.continuous import gammas
from gaugedp.samplers.direct import has_direct
from gaugedp.samplers.uniform import uniform

_LEAST_DRAWS = 50


def shaped_tests(mechanism: NormNoise, draws: np.ndarray, rng: Entropy, progress: Progress) -> Found:
    """Return the tests of noise of density ∝ e^{−ε‖z‖/Δ}.

    "radius": the gauge of such noise is Gamma(r), r the rank; "uniform": ‖u‖^r of uniform draws is uniform; "size" and
    "projections": against Gamma(r + 1) times uniform draws, rounded; "radius and direction": they are independent. If
    rounding is coarse, "radius" uses draws before rounding. Noise on a lattice has `_lattice_tests`. ε is that of the
    guarantee, not the mechanism's own.
    """
    scale = expected_scale(mechanism)
    if mechanism.noise.lattice is not None:
        return _lattice_tests(mechanism, mechanism.noise.lattice, draws, scale, rng)
    reference = np.rint(reference_noise(mechanism, len(draws), rng, progress) * scale)
    p_values = common(draws, chance_by_width(reference.std(axis=0))) | like(draws, reference, rng)
    p_values["covers its body"] = covers(
        mechanism.body, lambda axes: mechanism.scale_factor * mechanism.shape.support(axes)
    )
    return p_values if isinstance(mechanism.noise, NestedNoise) else p_values | _radial(mechanism, draws / scale, rng)


def _lattice_tests(mechanism: NormNoise, lattice: LatticeLaw, draws: np.ndarray, scale: float, rng: Entropy) -> Found:
    """Return the tests of noise with P(z) ∝ e^{−‖z‖_K/scale} on sums of generators.

    "gauge", "size" and "projections" compare with draws by another algorithm in floats, if it yields enough; "on its
    lattice": no draw leaves the span of the generators; "covers its body": the columns in use are those of the body.
    """
    columns, body = lattice.lattice_columns(), cast(Polytope, mechanism.body)
    p_values = common(draws, 1 / (1 + 2 * columns.shape[1] * float(np.exp(-1 / scale))))
    basis = body.span
    off = np.abs(draws - draws @ basis @ basis.T).max(initial=0.0)
    p_values["on its lattice"] = float(off <= 1e-9 * (1 + np.abs(draws).max(initial=0)))
    p_values["covers its body"] = covers(body, lambda axes: body.factor * np.abs(axes @ columns).max(axis=1))
    reference = lattice.reference(min(len(draws), 2000), scale, rng)
    if len(reference) < 50:
        return p_values
    gauges = (body.gauge(rows[:500]) for rows in (draws, reference))
    p_values["gauge"] = goodness_of_fit.same_law(*gauges)
    return p_values | like(draws, reference, rng)


def expected_scale(mechanism: NormNoise) -> float:
    """Return Δ/ε in steps, with ε of the guarantee."""
    epsilon, _ = mechanism.guarantee.cost("approx") or (0, 0)
    return mechanism.scale_factor / float(epsilon) / float(mechanism.step)


def reference_noise(mechanism: NormNoise, size: int, rng: Entropy, progress: Progress = silent) -> np.ndarray:
    """Return noise at ε = Δ = 1 by other algorithms than `draw`."""
    noise = mechanism.noise
    if isinstance(noise, NestedNoise):
        return _nested(noise, size, rng, mechanism.steps)
    return _single(noise, size, rng, mechanism.steps, progress)


def _single(noise: GaugeNoise, size: int, rng: Entropy, steps: int, progress: Progress = silent) -> np.ndarray:
    if noise.walks:
        return noise.release(size, steps, rng, progress)
    return np.asarray(gammas(noise.rank + 1, size, rng)[:, None] * noise.uniform(size, rng))


def _nested(noise: NestedNoise, size: int, rng: Entropy, steps: int) -> np.ndarray:
    """Draw by the recursion of docs/theory/nim.md."""
    total: np.ndarray | None = None
    for level, share, weight in zip(noise.levels[::-1], noise.shares[::-1], noise.weights[::-1], strict=True):
        draws = _single(level.noise, size, rng, steps) / share
        on_long = draws @ level.long @ (level.basis @ level.long).T
        on_short = draws @ level.short @ (level.basis @ level.short).T
        total = on_short + (on_long if total is None else (1 - weight) * on_long + weight * total)
    assert total is not None
    return total


def _radial(mechanism: NormNoise, unit: np.ndarray, rng: Entropy) -> Found:
    noise, body = mechanism.noise, mechanism.shape
    n_draws = min(1500, len(unit)) if _needs_programs(body) else len(unit)  # gauges by programs: a millisecond each
    if _is_fine(mechanism):
        rows = unit[:n_draws]
    else:
        rows = noise.release(n_draws, mechanism.steps, rng) if noise.walks else noise.draw(n_draws, rng)
    radii = body.gauge(rows)
    p_values = {"radius": goodness_of_fit.follows(radii, lambda gauge: scipy.special.gammainc(noise.rank, gauge))}
    pairs = [(radii, np.abs(rows[:, place]) / radii) for place in goodness_of_fit.some(rows.shape[1], 8)]
    p_values["radius and direction"] = goodness_of_fit.union_bound(goodness_of_fit.correlation(*pair) for pair in pairs)
    if not noise.walks:
        powers = body.gauge(noise.uniform(n_draws, rng)) ** noise.rank
        p_values["uniform"] = goodness_of_fit.follows(np.minimum(powers, 1.0), lambda share: share)
    return p_values


def _needs_programs(body: Body) -> bool:
    if has_direct(body):
        return False
    return isinstance(body, Polytope) or (isinstance(body, LinearImage) and _needs_programs(body.body))


def _is_fine(mechanism: NormNoise) -> bool:
    """Return True if rounding hardly changes spans and gauges."""
    body = mechanism.shape
    if body.rank < body.ambient_dim:
        return False
    shift = float(body.gauge(np.eye(body.ambient_dim)).sum()) / 2 / expected_scale(mechanism)
    # 0.01: of the gauge's deviation, that rounding may shift it by and be forgotten
    return shift <= 0.01 * math.sqrt(body.rank)


def noise_tests(
    mechanism: AdditiveNoise, draws: np.ndarray, rng: Entropy | None = None, progress: Progress = silent
) -> Found:
    """Test the noise of a mechanism, and return p-values.

    Use it to check that an implementation draws the noise that its guarantee assumes. The tests examine the
    distribution, size, sign and independence of the single coordinates or cells. They also examine projections of the
    noise, its gauge (the norm whose unit ball is the sensitivity body), and repeated and successive draws.

    Parameters
    ----------
    mechanism : AdditiveNoise
        The mechanism, whose noise distribution is tested.
    draws : ndarray, shape (n, d)
        At least 50 draws of the noise, in steps of `mechanism.lattice_step`.
    rng : Entropy, optional
        Random stream for the reference noise. By default the operating system supplies the randomness.
    progress : callable, optional
        Called with the completed share of the reference noise.

    Returns
    -------
    dict of str to float
        The p-value of each test, by its name. If the noise has the distribution that it should have, a p-value is at
        most p with probability at most p. Tests that `goodness_of_fit` marks CLT need many draws for this.
    """
    if draws.ndim != 2 or draws.shape[1] != mechanism.body.ambient_dim or len(draws) < _LEAST_DRAWS:
        raise InvalidRequest(
            f"`draws` has shape {draws.shape}, which has too few rows or the wrong number of columns.",
            f"Pass at least {_LEAST_DRAWS} draws in lattice steps, with shape (n, {mechanism.body.ambient_dim}).",
        )
    if mechanism.form not in NOISE_TESTS:
        raise InvalidRequest(
            f"No test of single draws is available for {mechanism!r}.",
            "Audit it as a function of an answer instead: lambda answer: mechanism.sample(answer).",
        )
    return NOISE_TESTS[mechanism.form](mechanism, draws, system_rng() if rng is None else rng, progress)


def expected(mechanism: Any, claim: Guarantee) -> Calibrated | None:
    """Return the mechanism calibrated for `claim`, or None."""
    if not isinstance(mechanism, Calibrated) or mechanism.form not in {*NOISE_TESTS, *CHOICE_TESTS}:
        return None
    try:
        return mechanism.recalibrated(claim)
    except InvalidRequest:  # the mechanism is not made for such a claim
        return None


def white_box(
    model: Any, runs: ObservedRuns, answers: tuple[Any, Any], rng: Entropy, progress: Progress = silent
) -> Found:
    """Return the p-values of an audit's runs against `model`."""
    if runs.noise is None:
        return choice_tests(model, runs, answers)
    return noise_tests(model, runs.noise, rng, progress)


def independent_tests(mechanism: IndependentNoise, draws: np.ndarray, *_: object) -> Found:
    """Return the tests of independent coordinates."""
    stops = np.cumsum([count for count, _ in mechanism.runs])
    blocks = np.split(draws, stops[:-1], axis=1)
    parts = [(block.ravel(), law) for block, (_, law) in zip(blocks, mechanism.runs, strict=True)]
    parts = [parts[place] for place in goodness_of_fit.some(len(parts), 24)]  # laws at most
    chance = float(np.prod([goodness_of_fit.chance_of_equals(law) ** count for count, law in mechanism.runs]))
    return {
        "law": goodness_of_fit.union_bound(goodness_of_fit.fit(*part) for part in parts),
        "size": goodness_of_fit.union_bound(goodness_of_fit.size(*part) for part in parts),
        "signs": goodness_of_fit.union_bound(goodness_of_fit.sign(values) for values, _ in parts),
        "independence": goodness_of_fit.independence(draws),
        "repeated draws": goodness_of_fit.repeats(draws, chance),
    }


NOISE_TESTS: dict[str, Callable[[Any, np.ndarray, Entropy, Progress], Found]] = {
    "independent": independent_tests,
    "cells": identity_tests,
    "strategy": matrix_tests,
    "shaped": shaped_tests,
}


def choice_tests(model: Any, runs: ObservedRuns, answers: tuple[Any, Any]) -> Found:
    """Return p-values of the outputs of both sides."""
    p_values = Found()
    for name, side, answer in (("a", runs.is_a, answers[0]), ("b", ~runs.is_a, answers[1])):
        tests = CHOICE_TESTS[model.form](model, runs.outputs.columns[side], answer)
        p_values |= {f"{test} at {name}": p_value for test, p_value in tests.items()}
    return p_values


def _of_indices(model: Any, rows: np.ndarray, answer: Any, first: int = 0) -> Found:
    law = np.asarray(model.probabilities(answer))
    indices = rows[:, 0].astype(int) - first
    counts = np.bincount(indices, minlength=len(law))
    return {
        "law": goodness_of_fit.chi_square(counts, law * len(rows)),
        "succession": goodness_of_fit.succession(indices[:, None]),
    }


def _of_picks(model: Any, rows: np.ndarray, answer: Any) -> Found:
    p_values = _of_indices(model, rows, answer)
    if model.law is None:
        return p_values
    picks, values = model.split(rows)
    noise = np.rint(values / float(model.lattice_step)).astype(np.int64) - model.in_steps(answer)[picks]
    return p_values | {
        "law of values": goodness_of_fit.fit(noise.ravel(), model.law),
        "size of values": goodness_of_fit.size(noise.ravel(), model.law),
    }


def _of_points(model: Any, rows: np.ndarray, answer: Any, *, public_seed: int = 20240229) -> Found:
    """Test mean scores and coordinates against weighted uniform points."""
    # 400_000: uniform points that are weighted by the density
    points = uniform(model.over, min(400_000, 20 * len(rows)), research_rng(public_seed))
    row = np.asarray(answer, dtype=float)
    weights = np.exp(model.log_weights(row, points))
    pairs = [(model.quality.values(row, rows), model.quality.values(row, points))]
    pairs += list(zip(rows.T, points.T, strict=True))
    scores = _weighted(*pairs[0], weights)
    places = goodness_of_fit.union_bound(_weighted(ours, theirs, weights) for ours, theirs in pairs[1:])
    return {"mean score": scores, "mean place": places, "succession": goodness_of_fit.succession(rows)}


def _weighted(ours: np.ndarray, theirs: np.ndarray, weights: np.ndarray) -> float:
    """Return the p-value (CLT) of equality with a weighted mean."""
    share = weights / weights.sum()
    mean = float(share @ theirs)
    error = math.sqrt(float(ours.var()) / len(ours) + float(share**2 @ (theirs - mean) ** 2))
    return goodness_of_fit.two_sided((float(ours.mean()) - mean) / max(error, 1e-300))


CHOICE_TESTS: dict[str, Callable[[Any, np.ndarray, Any], Found]] = {
    "choice": _of_indices,
    "value": lambda model, rows, answer: _of_indices(model, rows, answer, model.first),
    "picks": _of_picks,
    "point": _of_points,
}
