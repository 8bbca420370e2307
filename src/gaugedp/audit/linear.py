"""White-box tests of linear maps of independent noise."""

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from gaugedp.audit import goodness_of_fit
from gaugedp.audit.goodness_of_fit import Found
from gaugedp.bodies.base import Body
from gaugedp.entropy import Entropy
from gaugedp.mechanisms import Identity, Matrix
from gaugedp.mechanisms.base import is_integer
from gaugedp.mechanisms.noise_widths import rounded_laplace_variances
from gaugedp.samplers.continuous import normals
from gaugedp.samplers.laws import LaplaceSum, RoundedGaussian

_TESTED_ROWS = 12


def common(draws: np.ndarray, chance: float) -> Found:
    """Return the tests for any symmetric noise; `chance` bounds P(two draws are equal)."""
    columns = draws.T[goodness_of_fit.some(draws.shape[1])]
    return {
        "signs": goodness_of_fit.union_bound(goodness_of_fit.sign(column) for column in columns),
        "succession": goodness_of_fit.succession(draws),
        "repeated draws": goodness_of_fit.repeats(draws, chance),
    }


def chance_by_width(deviations: np.ndarray) -> float:
    """Bound P(two rounded draws are equal) by 1/(σ − 1/2).

    σ is the largest deviation (d,) in steps of noise with a log-concave density. Such a density is at most 1/(its
    deviation) everywhere (Bobkov and Ledoux 2019, appendix B), rounding moves the deviation by 1/2 at most, and two
    draws are equal at most as often as the most probable point is drawn.
    """
    return float(min(1.0, 1 / max(float(deviations.max()) - 0.5, 1e-9)))


def directions(d: int, rng: Entropy) -> np.ndarray:
    """Return random unit vectors (k, d)."""
    draws = normals(8 * d, rng).reshape(8, d)
    return np.asarray(draws / np.linalg.norm(draws, axis=1, keepdims=True))


def covers(body: Body, support: Callable[[np.ndarray], np.ndarray]) -> float:
    """Return 1 if the support of the body is at most the other one on the axes, else 0."""
    axes = np.eye(body.ambient_dim)[goodness_of_fit.some(body.ambient_dim)]
    return float((body.support(axes) <= support(axes) * (1 + 1e-9)).all())


def like(draws: np.ndarray, reference: np.ndarray, rng: Entropy) -> Found:
    """Compare the sizes of two samples, and their projections on axes and random directions."""
    spread = np.maximum(reference.std(axis=0), 1e-9)
    ours, theirs = draws / spread, reference / spread
    axes = np.eye(draws.shape[1])[goodness_of_fit.some(draws.shape[1], 8)]  # axes at most
    weights = np.vstack([axes, directions(draws.shape[1], rng)])
    projections = (goodness_of_fit.same_law(ours @ weight, theirs @ weight) for weight in weights)
    sizes = (np.linalg.norm(rows, axis=1) for rows in (ours, theirs))
    return {"size": goodness_of_fit.same_mean(*sizes), "projections": goodness_of_fit.union_bound(projections)}


# -- noise on cells ----------------------------------------------------------------------------------


def identity_tests(mechanism: Identity, draws: np.ndarray, rng: Entropy, *_: object) -> Found:
    """Return the tests of noise on cells.

    They test the noise of the cells if F has full column rank; else rows of F and projections. Two draws are equal with
    probability at most P(η = 0)^r, r the rank: given the noise on the other cells, r cells under independent columns
    must have one particular value.
    """
    n_cells = mechanism.body.generators.n_generators
    p_values = common(draws, float(mechanism.law.coverage(np.array(0))) ** mechanism.body.rank)
    if n_cells <= 64 and mechanism.body.rank == n_cells:  # cells whose noise is solved for
        matrix = mechanism.body.generators.apply(np.eye(n_cells)).T
        cells = np.rint(np.linalg.lstsq(matrix, draws.T.astype(float), rcond=None)[0].T).astype(np.int64)
        return p_values | {
            "law": goodness_of_fit.fit(cells.ravel(), mechanism.law),
            "size": goodness_of_fit.size(cells.ravel(), mechanism.law),
            "independence": goodness_of_fit.independence(cells),
            "cells explain the noise": float(np.array_equal(mechanism.body.generators.apply(cells), draws)),
        }
    weights = directions(draws.shape[1], rng)
    parts = np.stack([mechanism.body.generators.adjoint(row) for row in weights])
    return p_values | {
        "law": _rows(mechanism, draws),
        "size of projections": goodness_of_fit.mean_squares(
            draws @ weights.T, mechanism.law.variance * (parts**2).sum(axis=1)
        ),
    }


def _rows(mechanism: Identity, draws: np.ndarray) -> float:
    counts = mechanism.body.generators.row_squares()
    adds = np.flatnonzero(counts == mechanism.body.generators.apply(np.ones(mechanism.body.generators.n_generators)))
    adds = adds[counts[adds] > 0]
    return goodness_of_fit.union_bound(
        goodness_of_fit.fit(draws[:, place], LaplaceSum(mechanism.law.scale, int(counts[place])))
        for place in adds[goodness_of_fit.some(len(adds), _TESTED_ROWS)]
        if len(adds)
    )


# -- strategies --------------------------------------------------------------------------------------


def expected_scale(mechanism: Matrix) -> tuple[float, bool]:
    """Return the required scale in steps, and True for normal noise."""
    radius = mechanism.strategy.radius / float(mechanism.step)
    if not is_integer(mechanism.body):
        radius += mechanism.strategy.cube_radius()
    pure = mechanism.guarantee.cost("pure")
    if pure is not None:
        return radius / float(pure[0]), False
    square = mechanism.guarantee.cost("zcdp")
    assert square is not None  # ρ = μ²/2
    return radius / math.sqrt(2 * square[0]), True


def matrix_tests(mechanism: Matrix, draws: np.ndarray, rng: Entropy, *_: object) -> Found:
    """Return the tests of coordinates (normal noise) and projections."""
    scale, is_normal = expected_scale(mechanism)
    deviations = scale * np.sqrt(mechanism.strategy.squares * (1 if is_normal else 2))
    p_values = common(draws, chance_by_width(deviations))
    wide = np.flatnonzero(deviations >= 1.0)  # below, rounding has no simple variance
    if is_normal:
        p_values["law"] = goodness_of_fit.union_bound(
            goodness_of_fit.fit(draws[:, place], RoundedGaussian(Fraction(float(deviations[place]))))
            for place in np.flatnonzero(deviations > 0)[goodness_of_fit.some(int((deviations > 0).sum()), _TESTED_ROWS)]
        )
    # 4 * 10**6: entries of a strategy that is written out
    is_small = mechanism.strategy.n_noise * len(deviations) <= 4 * 10**6
    entries = mechanism.strategy.apply(np.eye(mechanism.strategy.n_noise)).T if is_small else None
    variances = deviations**2 + 1 / 12
    if entries is not None and not is_normal:  # a percent less at a deviation of 1
        variances = rounded_laplace_variances(scale * np.abs(entries))
    p_values["size"] = goodness_of_fit.mean_squares(draws[:, wide], variances[wide])
    if entries is not None and len(wide) == len(deviations):
        weights = directions(draws.shape[1], rng)
        parts = weights @ entries  # uᵀL, shape (k, n_noise)
        variances = scale**2 * (1 if is_normal else 2) * (parts**2).sum(axis=1) + 1 / 12
        p_values["size of projections"] = goodness_of_fit.mean_squares(draws @ weights.T, variances)
    return p_values
