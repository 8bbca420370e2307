"""The Bingham law: against integrals, at its extremes, and a wrong acceptance that every test must find. Keys fixed."""

import math

import numpy as np
import pytest
from scipy import integrate, special, stats

import gaugedp as gd
from gaugedp.errors import InvalidRequest
from gaugedp.samplers.bingham import Bingham

pytestmark = pytest.mark.statistical
N = 20_000
ALARM = 1e-4  # of each goodness test over all keys


class Divided(Bingham):
    """Positive control: the acceptance divides by (xᵀΩx)^{d/2}, as a public library does."""

    def gaps(self, heights: np.ndarray) -> np.ndarray:
        return heights + self.ambient_dim / 2 * np.log1p(2 * heights / self.b)


def basis(d: int, key: int) -> np.ndarray:
    return np.linalg.qr(np.random.default_rng(key).standard_normal((d, d)))[0]


def spike_cdf(d: int, strength: float, values: np.ndarray) -> np.ndarray:
    """The law of t = ⟨x, u⟩² where A = u·uᵀ: density ∝ e^{strength·t}·t^{−1/2}·(1 − t)^{(d−3)/2}, t = sin²θ."""
    angles = np.linspace(0, math.pi / 2, 200_001)
    heights = strength * (np.sin(angles) ** 2 - 1)
    with np.errstate(divide="ignore"):
        logs = heights + (d - 2) * np.log(np.cos(angles)) if d > 2 else heights
    logs[-1] = heights[-1] if d == 2 else -math.inf
    mass = integrate.cumulative_trapezoid(np.exp(logs - logs.max()), angles, initial=0)
    return np.interp(np.arcsin(np.sqrt(values)), angles, mass / mass[-1])


@pytest.mark.parametrize("beta", [0.25, 0.5, 3.0])
def test_the_mean_on_the_circle_is_the_integral(beta: float) -> None:
    """For diag(20, 4) it is 12 + 8·I₁(8β)/I₀(8β): 17.58 at β = 1/4, 18.91 at β = 1/2; four standard errors."""
    square = np.diag([20.0, 4.0])
    exact = 12 + 8 * special.i1e(8 * beta) / special.i0e(8 * beta)
    scores = Bingham.of(square, beta).draw(N, gd.research_rng(1)) ** 2 @ np.diag(square)
    error = scores.std() / math.sqrt(N)
    assert scores.mean() == pytest.approx(exact, abs=4 * error)
    honest = Bingham.of(square, beta)
    wrong = Divided(honest.vectors, honest.rates, honest.b).draw(N, gd.research_rng(1)) ** 2 @ np.diag(square)
    assert abs(wrong.mean() - exact) > 10 * error


@pytest.mark.parametrize("d", [2, 3, 10, 50, 500])
@pytest.mark.parametrize("strength", [0.0, 0.3, 1.0, 4.0])
def test_the_law_of_the_score_is_the_density(d: int, strength: float) -> None:
    """Kolmogorov's test at strength·d, below, at and above the place where the law begins to concentrate."""
    turn = basis(d, 2)
    spike = np.outer(turn[:, 0], turn[:, 0])
    size = N if d < 500 else 3000
    one = Bingham.of(spike, strength * d)
    actual = (one.draw(size, gd.research_rng(3)) @ turn[:, 0]) ** 2
    assert stats.kstest(spike_cdf(d, strength * d, actual), "uniform").pvalue > ALARM
    if strength >= 1 and d <= 3:  # in more dimensions it hardly ever accepts
        wrong = Divided(one.vectors, one.rates, one.b).draw(size, gd.research_rng(3)) @ turn[:, 0]
        assert stats.kstest(spike_cdf(d, strength * d, wrong**2), "uniform").pvalue < 1e-9
    if strength >= 1:
        faint = Bingham.of(spike, 0.8 * strength * d).draw(size, gd.research_rng(3)) @ turn[:, 0]
        assert stats.kstest(spike_cdf(d, strength * d, faint**2), "uniform").pvalue < 1e-9


@pytest.mark.parametrize("rates", [(0.0, 3.0, 11.0), (0.0, 0.0, 40.0), (0.0, 25.0, 25.0)])
def test_second_moments_of_any_spectrum_are_integrals(rates: tuple[float, ...]) -> None:
    """On the sphere of ℝ³, by a grid over both angles; five standard errors each."""
    turn = basis(3, 5)
    z, phi = np.meshgrid((np.arange(2000) + 0.5) / 1000 - 1, (np.arange(800) + 0.5) / 800 * 2 * math.pi)
    flat = np.sqrt(1 - z**2)
    squares = np.stack([(flat * np.cos(phi)) ** 2, (flat * np.sin(phi)) ** 2, z**2]).reshape(3, -1)
    weights = np.exp(-np.array(rates) @ squares)
    exact = squares @ weights / weights.sum()
    square = (turn * -np.array(rates)) @ turn.T
    draws = Bingham.of(square, 1.0).draw(N, gd.research_rng(4)) @ turn
    moments = draws.T @ draws / N
    errors = 5 * np.std(draws[:, :, None] * draws[:, None], axis=0) / math.sqrt(N)
    assert (np.abs(moments - np.diag(exact)) < errors).all()


def test_no_proposal_is_kept_with_a_chance_above_one() -> None:
    for d in (1, 2, 7, 100):
        for beta in (0.0, 1e-9, 1.0, d, 1e4, 1e30, 1e300):
            one = Bingham.of(np.diag(np.linspace(-1, 2, d)), beta)
            heights = one.propose(500, gd.research_rng(6)) ** 2 @ one.rates
            assert 1 <= one.b <= d
            assert one.gaps(heights).min() > -1e-9
            assert abs(one.gaps(np.array([(d - one.b) / 2]))[0]) < 1e-9


@pytest.mark.parametrize("d", [2, 20, 300])
def test_about_the_root_of_the_dimension_of_proposals_is_enough(d: int) -> None:
    """At full concentration the chance is 0.86/√d and more; the documented 1.2·√d proposals."""
    for beta in (0.0, d / 2, float(d), 1e9):
        one = Bingham.of(np.diag(np.arange(d) == 0).astype(float), beta)
        kept = np.exp(-one.gaps(one.propose(4000, gd.research_rng(7)) ** 2 @ one.rates))
        assert kept.mean() + 4 * kept.std() / math.sqrt(4000) > 0.85 / math.sqrt(d)


@pytest.mark.parametrize("square", [np.zeros((5, 5)), 7 * np.eye(5), 1e-300 * np.eye(5), -1e200 * np.eye(5)])
def test_equal_eigenvalues_give_the_uniform_law(square: np.ndarray) -> None:
    draws = Bingham.of(square, 1e3).draw(N, gd.research_rng(8))
    assert np.linalg.norm(draws, axis=1) == pytest.approx(1.0)
    assert stats.kstest(spike_cdf(5, 0.0, draws[:, 2] ** 2), "uniform").pvalue > ALARM


def test_a_huge_beta_gives_the_top_eigenvector_with_a_fair_sign() -> None:
    turn = basis(6, 9)
    square = (turn * np.arange(6)) @ turn.T
    for scaled, beta in ((square, 1e300), (1e300 * square, 1e300), (1e-300 * square, 1e308)):
        places = Bingham.of(scaled, beta).draw(2000, gd.research_rng(10)) @ turn[:, -1]
        if scaled[0, 0] > 1e-100:
            assert np.abs(places) == pytest.approx(1.0)
        assert stats.binomtest(int((places > 0).sum()), 2000).pvalue > ALARM


def test_in_one_dimension_it_is_a_coin() -> None:
    draws = Bingham.of(np.array([[3.0]]), 2.0).draw(2000, gd.research_rng(11))
    assert set(draws[:, 0]) == {-1.0, 1.0}
    assert stats.binomtest(int((draws > 0).sum()), 2000).pvalue > ALARM


def test_draws_are_independent_of_one_another() -> None:
    scores = Bingham.of(np.diag([3.0, 1, 0]), 2.0).draw(N, gd.research_rng(12)) @ [1.0, 0.5, -1]
    assert abs(np.corrcoef(scores[1:], scores[:-1])[0, 1]) < 4 / math.sqrt(N)


def test_what_is_no_matrix_or_no_beta_is_refused() -> None:
    for square, beta in [(np.zeros((2, 3)), 1.0), (np.zeros(4), 1.0), (np.eye(2), -1.0), (np.eye(2), math.nan)]:
        with pytest.raises(InvalidRequest):
            Bingham.of(square, beta)
    with pytest.raises(InvalidRequest):
        Bingham.of(np.eye(2), 1.0).draw(0, gd.research_rng(1))


def test_a_matrix_that_is_not_symmetric_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="The matrix must be symmetric and finite"):
        Bingham.of(np.array([[1.0, 2.0], [0.0, 1.0]]), 1.0)
    assert Bingham.of(np.array([[1.0, 2.0], [2.0 + 1e-12, 1.0]]), 1.0).rates.shape == (2,)
