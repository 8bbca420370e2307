"""The log-Sobolev calculator: its bound holds, its best β solves its equation, and its ceiling is where it is said."""

import math

import numpy as np
import pytest

from examples.papers import log_sobolev
from examples.papers.log_sobolev import LogSobolev

CASES = [LogSobolev(d, spread, eps, delta) for d in (3, 20, 500) for spread in (0.1, 10, 1e4)
         for eps, delta in ((0.1, 1e-6), (1.0, 1e-6), (8.0, 1e-9))]  # fmt: skip


@pytest.mark.parametrize("one", CASES, ids=str)
def test_the_best_beta_keeps_delta_and_no_larger_one_does(one: LogSobolev) -> None:
    assert one.delta_at(one.best) == pytest.approx(one.delta, rel=1e-6)
    assert one.delta_at(1.01 * one.best) > one.delta
    assert one.delta_at(one.printed) <= one.delta * (1 + 1e-9)
    assert one.printed <= one.best * (1 + 1e-12)
    assert one.by_curvature * 2 * one.spread < one.n_columns - 2
    assert one.by_curvature * (1 - 1e-9) <= one.best


@pytest.mark.parametrize("one", CASES, ids=str)
def test_the_ceiling_is_below_the_threshold_of_concentration(one: LogSobolev) -> None:
    """At the ceiling half of the curvature is left; neither it nor what curvature proves reaches d/(2·spread)."""
    assert one.curvature(one.ceiling) == pytest.approx((one.n_columns - 2) / 2)
    assert max(one.ceiling, one.by_curvature) < one.threshold
    for gamma in np.linspace(0.01, 0.99, 99):
        assert one.accuracy(float(gamma), one.ceiling, one.spread) == 0.0


def test_more_delta_or_rows_do_not_lift_it_while_pure_has_no_ceiling() -> None:
    results = [LogSobolev(50, n, 1.0, delta) for n in (1e4, 1e5) for delta in (1e-9, 1e-2)]
    assert [result.ceiling for result in results] == pytest.approx([1.2e-3, 1.2e-3, 1.2e-4, 1.2e-4])
    assert all(result.pure == 0.5 and result.by_curvature < 48 / (2 * result.spread) for result in results)
    assert results[0].accuracy(0.1, 0.5, 1e4) > 0.75e4  # the same bound tells much of the pure mechanism's β


def test_beside_the_uniform_law_there_is_no_ceiling_but_a_logarithm() -> None:
    """At d = 10 the best β·n passes d/2 and grows by 2·log 100 from n = 10⁴ to 10⁶, up to a logarithm of itself."""
    best = [LogSobolev(10, n, 1.0, 1e-6).best * n for n in (1e4, 1e6)]
    assert 5 < best[0] < best[1] - 6 < best[0] + 2 * math.log(100) - 6
    assert all(one < 1e-2 * 0.5 * n for one, n in zip(best, (1e4, 1e6), strict=True)), "far below the pure mechanism"


def test_dimension_gives_the_sharp_constant_of_the_sphere_and_never_less_than_curvature() -> None:
    for d in (3, 8, 40):
        one = LogSobolev(d, 2.0, 1.0, 1e-6)
        assert one.rho(1e-9) == pytest.approx(d - 1, rel=1e-6)
        for beta in np.linspace(0.01, d / 2, 40):
            assert one.with_dimension(beta) >= one.curvature(beta)
        values = [(one.curvature(0.2) - 0.16 / t) * (t + d - 1) / (t + d - 2) for t in np.geomspace(1e-4, 1e4, 4001)]
        assert one.with_dimension(0.2) == pytest.approx(max(values), rel=1e-4)


@pytest.mark.parametrize("width", [0.1, 0.5, 1.0, 2.0, 4.0])
def test_no_constant_is_above_the_spectral_gap(width: float) -> None:
    """d = 3, A = e₃e₃ᵀ: the gap of functions of z, a grid's, is at least that of the law, and that at least each ρ."""
    edges = np.linspace(-1, 1, 401)
    z = (edges[1:] + edges[:-1]) / 2
    weight, step = np.exp(width * z**2), edges[1] - edges[0]
    flow = ((1 - edges**2) * np.exp(width * edges**2))[1:-1] / step**2
    form = np.diag(np.append(flow, 0) + np.append(0, flow)) - np.diag(flow, 1) - np.diag(flow, -1)
    gap = np.linalg.eigvalsh(form / np.sqrt(np.outer(weight, weight)))[1]
    assert LogSobolev(3, 1.0, 1.0, 0.1).rho(width) <= gap * (1 + 1e-4)


@pytest.mark.parametrize("angle", [0.0, 0.4, 1.2])
def test_the_hessian_on_the_sphere_is_the_one_that_the_curvature_takes(angle: float) -> None:
    """W = −β·xᵀAx along a great circle: W″ = −2β(uᵀAu − xᵀAx), at least −2β·spread, and that at u = e₁, x = e₃."""
    values, beta, step = np.array([5.0, 2.0, 1.0]), 0.7, 1e-3
    x = np.array([math.sin(angle), 0, math.cos(angle)])
    u = np.array([math.cos(angle), 0, -math.sin(angle)])
    heights = [-beta * (values @ (math.cos(t) * x + math.sin(t) * u) ** 2) for t in (-step, 0, step)]
    second = (heights[0] - 2 * heights[1] + heights[2]) / step**2
    assert second == pytest.approx(-2 * beta * (values @ u**2 - values @ x**2), rel=1e-4)
    one = LogSobolev(3, 4.0, 1.0, 1e-6)
    assert 1 + second >= one.curvature(beta) - 1e-3
    if angle == 0:
        assert 1 + second == pytest.approx(one.curvature(beta), abs=1e-3)


def test_the_loss_of_neighbours_is_within_the_bound() -> None:
    """d = 3, by a grid: P(loss ≥ ε) of two laws a row apart is below `delta_at`; the printed condition is told."""
    z, phi = np.meshgrid((np.arange(600) + 0.5) / 300 - 1, (np.arange(300) + 0.5) / 300 * 2 * math.pi)
    flat = np.sqrt(1 - z**2)
    squares = np.stack([(flat * np.cos(phi)) ** 2, (flat * np.sin(phi)) ** 2, z**2]).reshape(3, -1)
    for beta in (0.05, 0.1, 0.2):
        logs = [beta * (np.array(values) @ squares) for values in ((2.0, 1.0, 0.0), (1.0, 2.0, 0.0))]
        logs = [log - np.log(np.exp(log).mean()) for log in logs]
        for epsilon in (0.02, 0.05, 0.1):
            tail = float((np.exp(logs[0]) * (logs[0] - logs[1] >= epsilon)).mean())
            assert tail <= LogSobolev(3, 2.0, epsilon, 0.5).delta_at(beta)
    assert math.isnan(LogSobolev(5, 1.0, 9.0, 0.5).printed)


def test_it_prints(capsys: pytest.CaptureFixture[str]) -> None:
    log_sobolev.main()
    assert "d = 50, n = 1e+07: curvature 24, best 25, pure 5e+06, concentrates 25" in capsys.readouterr().out
