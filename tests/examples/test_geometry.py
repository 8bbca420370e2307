"""Table 1 against mechanisms, and the recursive mechanism as published against its own draws and the corrected one."""

import math

import numpy as np
import pytest

import gaugedp as gd
from examples.papers import geometry
from gaugedp.bodies import LpBall, Polytope, image
from gaugedp.entropy import research_rng

LONG = image(LpBall(5, 2), np.diag([100.0, 30.0, 10.0, 1.0, 1.0]))


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_bounds_of_table_1_hold_for_matrices_in_the_cube(epsilon: float) -> None:
    """The Laplace bound is attained by signs; a thousandth is the lattice's."""
    signs = np.random.default_rng(1).integers(0, 2, (5, 50)) * 2.0 - 1
    for matrix in (signs, np.random.default_rng(2).uniform(-1, 1, (4, 9)), np.eye(3)):
        lines = geometry.table_1(matrix, epsilon)
        for line in (lines["Laplace"], lines["K-norm"]):
            assert lines["lower bound"].bound <= line.actual <= line.bound * 1.001
    attained = geometry.table_1(signs, epsilon)["Laplace"]
    assert attained.actual == pytest.approx(attained.bound, rel=0.02)
    with pytest.raises(ValueError, match=r"\[-1, 1\]"):
        geometry.table_1(2 * signs)


@pytest.mark.parametrize("body", [LONG, LpBall(4, 1), Polytope.symmetric_hull(np.diag([9.0, 3.0, 1.0]))], ids=repr)
def test_the_published_recursion(body) -> None:
    """⌊log₂ d⌋ + 1 levels; draws have the stated mean square to 6 standard errors; the corrected one is less."""
    published = geometry.PublishedNIM(body, 0.5)
    assert len(published.levels) == int(math.log2(body.rank)) + 1
    squares = (published.sample_noise(4000, research_rng(1)) ** 2).sum(axis=1)
    assert abs(squares.mean() - published.mean_square) < 6 * squares.std() / math.sqrt(4000)
    assert gd.NIM.calibrate(body, gd.PureDP(0.5)).mean_square() <= published.mean_square * 1.002
    last = published.levels[-1]
    assert last[3] == 1
    spans = np.hstack([part @ part.T for _, part, _, _ in published.levels])
    assert np.linalg.matrix_rank(spans) == body.rank


def test_it_prints(capsys: pytest.CaptureFixture[str]) -> None:
    geometry.main()
    assert "NIM as published 427" in capsys.readouterr().out
