"""Gram matrices, a gradient and a length: exact sums, how far a row moves them, and the matrix that they give."""

import math

import numpy as np
import pytest

import gaugedp as gd
from gaugedp.entropy import research_rng
from gaugedp.optimization.matrix_grams import GramScale, MatrixGrams, grams, lengths
from gaugedp.optimization.spectraplex import NuclearBall
from gaugedp.optimization.symmetric import coordinates
from gaugedp.optimization.trace_designs import Full, TraceProblem, cut

SHAPE = (3, 4)


def orthogonal(n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    """Orthogonal matrices as rows of Frobenius norm 1: their operator norm is 1/√d."""
    signs = rng.choice([-1.0, 1.0], (n, 1, d))  # without them columns have a mean
    return (np.linalg.qr(rng.standard_normal((n, d, d)))[0] * signs / math.sqrt(d)).reshape(n, -1)


def unit(n: int, rng: np.random.Generator) -> np.ndarray:
    rows = rng.standard_normal((n, SHAPE[0] * SHAPE[1]))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def no_slope(*_: np.ndarray) -> np.ndarray:
    raise AssertionError("the slope of the problem is not used")


def test_sums_are_those_of_the_definition_and_do_not_depend_on_the_order_of_rows() -> None:
    rng = np.random.default_rng(3)
    made, target = Full(unit(3000, rng), SHAPE), cut(rng.uniform(-1, 1, 3000))
    matrices = made.rows.reshape(-1, *SHAPE)
    left, right, first = grams(made, target)
    assert left == pytest.approx(np.einsum("nij,nkj->ik", matrices, matrices))
    assert right == pytest.approx(np.einsum("nij,nik->jk", matrices, matrices))
    assert first == pytest.approx(np.einsum("n,nij->ij", target, matrices))
    direction = rng.standard_normal(SHAPE) / 10
    sums = lengths(made, target, direction, 1.0)
    q = np.einsum("nij,ij->n", matrices, direction)
    assert sums == pytest.approx([np.sum(q**2), np.sum(target * q)], abs=3000 * 2.0**-11)
    order = rng.permutation(3000)
    mixed = Full(made.rows[order], SHAPE)
    for one, other in zip((left, right, first), grams(mixed, target[order]), strict=True):
        assert (one == other).all()
    assert (sums == lengths(mixed, target[order], direction, 1.0)).all()


@pytest.mark.parametrize("replaced", [True, False])
@pytest.mark.parametrize("kind", ["unit", "one cell", "orthogonal"])
def test_no_row_moves_the_sums_further_than_is_charged(kind: str, replaced: bool) -> None:
    rng = np.random.default_rng(5)
    rows = {"unit": unit(60, rng), "one cell": np.eye(12), "orthogonal": orthogonal(60, 4, rng)}[kind]
    shape = (4, 4) if kind == "orthogonal" else SHAPE
    made = Full(rows, shape, 0.5 if kind == "orthogonal" else 1.0)
    scale = GramScale(NuclearBall(shape), (-1.0, 1.0), 1.0, made.widest, replaced)
    direction = np.linalg.qr(rng.standard_normal((4, 4)))[0][: shape[0]] / shape[0]
    points: dict[str, list[np.ndarray]] = {"grams": [], "gradient": [], "length": []}
    for row in made.rows:
        for t in (-1.0, 1.0):
            alone = Full(row[None], shape, made.widest)
            left, right, first = grams(alone, np.array([t]))
            points["grams"].append(np.concatenate([coordinates(left), coordinates(right)]))
            points["gradient"].append(first.ravel())
            points["length"].append(lengths(alone, np.array([t]), direction, scale.longest))
    charged = {"grams": scale.of_grams, "gradient": scale.of_gradient, "length": scale.of_length}
    for name, seen in points.items():
        table = np.array(seen)
        ends = table if replaced else np.zeros((1, table.shape[1]))
        furthest = max(float(np.linalg.norm(table - end, axis=1).max()) for end in ends)
        assert furthest <= charged[name], name
        if name == "gradient" or (name == "grams" and kind == "one cell"):
            assert furthest >= 0.99 * charged[name], name


def test_the_length_is_charged_what_two_rows_can_move() -> None:
    """Rows give (q², t·q) with |q|, |t| ≤ 1: no two are further apart than √5, and some are by 2."""
    ends = np.array([[q * q, t * q] for q in np.linspace(-1, 1, 41) for t in (-1.0, 1.0)])
    furthest = max(float(np.linalg.norm(ends - end, axis=1).max()) for end in ends)
    scale = GramScale(NuclearBall(SHAPE), (-1.0, 1.0), 1.0)
    assert furthest <= scale.of_length
    assert furthest >= 0.89 * scale.of_length


@pytest.mark.parametrize("kind", ["orthogonal", "one cell"])
def test_without_noise_worth_the_name_the_matrix_is_found(kind: str) -> None:
    rng = np.random.default_rng(7)
    d = 4
    rows = orthogonal(4000, d, rng) if kind == "orthogonal" else np.eye(d * d)[rng.integers(0, d * d, 4000)]
    made = Full(rows, (d, d), 0.5 if kind == "orthogonal" else 1.0)
    sides = np.linalg.qr(rng.standard_normal((d, d)))[0][:2]
    true = 0.8 * np.outer(*sides)
    target = made.predictions(true)
    scale = GramScale(made.region, (-1.0, 1.0), 1.0, made.widest)
    method = MatrixGrams.calibrate(gd.GaussianDP(300.0), scale)
    actual = method.solve(TraceProblem(made, target, no_slope), 4000, research_rng(1))
    assert np.linalg.norm(actual - true) < 0.1


def test_the_releases_keep_together_what_is_asked() -> None:
    for requested, delta in ((gd.GaussianDP(0.7), 1e-6), (gd.PureDP(0.7), 0.0)):
        method = MatrixGrams.calibrate(requested, GramScale(NuclearBall(SHAPE), (-1.0, 1.0), 1.0))
        assert (
            0.999 * requested.epsilon(delta) < method.guarantee.epsilon(delta) <= requested.epsilon(delta) * (1 + 1e-9)
        )
        assert method.exactness == "exact"


def test_where_noise_hides_everything_the_matrix_is_short() -> None:
    """Designs in one direction: their Gram matrices say nothing of the curvature, and the length mends it."""
    rng = np.random.default_rng(9)
    d = 6
    rows = np.tile((np.eye(d) / math.sqrt(d)).ravel(), (4000, 1)) * rng.choice([0.9, 1.0], 4000)[:, None]
    made = Full(rows, (d, d), 1 / math.sqrt(d))
    target = made.predictions(np.eye(d) / (4 * d))
    scale = GramScale(made.region, (-1.0, 1.0), 1.0, made.widest)
    method = MatrixGrams.calibrate(gd.GaussianDP(1.0), scale)
    excess = []
    for seed in range(8):
        actual = method.solve(TraceProblem(made, target, no_slope), 4000, research_rng(seed))
        excess.append(float(np.mean((made.predictions(actual) - target) ** 2) / np.mean(target**2)))
    assert np.median(excess) < 0.5
