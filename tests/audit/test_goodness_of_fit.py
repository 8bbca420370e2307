"""The tests on draws: their p-values are right where they are known, and small where the law is another."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import gaugedp as gd
from gaugedp.audit import goodness_of_fit
from gaugedp.audit.noise import expected
from gaugedp.bodies import LpBall
from gaugedp.errors import InvalidRequest
from gaugedp.samplers.laws import DiscreteGaussian, DiscreteLaplace, LaplaceSum

LAW = DiscreteLaplace(Fraction(5))
DRAWS = LAW.draw(40_000, gd.research_rng(1))


def test_chi_square_is_pearsons_where_all_bins_are_large() -> None:
    observed, wanted = np.array([480, 350, 170]), np.array([440.0, 370.0, 190.0])
    assert goodness_of_fit.chi_square(observed, wanted) == pytest.approx(stats.chisquare(observed, wanted).pvalue)


def test_chi_square_joins_what_is_rare() -> None:
    observed, wanted = np.array([500, 0, 440, 30, 30]), np.array([480.0, 10.0, 460.0, 20.0, 30.0])
    joined = stats.chisquare([500, 440, 60], [480.0, 460.0, 60.0]).pvalue
    assert goodness_of_fit.chi_square(observed, wanted) == pytest.approx(joined)


def test_bins_that_stay_small_together_are_binomial() -> None:
    observed, wanted = np.array([500, 470, 30]), np.array([510.0, 470.0, 20.0])
    alone = 2 * stats.binom.sf(29, 1000, 0.02)
    assert goodness_of_fit.chi_square(observed, wanted) == pytest.approx(2 * min(alone, 1))
    assert goodness_of_fit.chi_square(np.array([995, 5]), np.array([995.0, 5.0])) == 1.0
    assert goodness_of_fit.chi_square(np.array([940, 60]), np.array([995.0, 5.0])) < 1e-30


@pytest.mark.statistical
def test_what_is_rare_is_not_accused() -> None:
    """Draws that are hardly ever not 0: one coincidence is a correlation of 1/m. 200 samples; 1e-6 a p-value."""
    rng = np.random.default_rng(4)
    for _ in range(200):
        draws = (rng.random((3000, 6)) < 0.002).astype(int) * rng.choice([-1, 1], (3000, 6))
        assert goodness_of_fit.independence(draws) > 1e-6
        assert goodness_of_fit.succession(draws) > 1e-6
    copied = draws.copy()
    copied[:, 1] = copied[:, 0] = rng.random(3000) < 0.01
    assert goodness_of_fit.independence(copied) < 1e-6


def test_kolmogorov_bounds_are_bounds() -> None:
    values = np.random.default_rng(1).random(500) ** 1.1
    actual = goodness_of_fit.follows(values, lambda x: x)
    exact = stats.kstest(values, "uniform").pvalue
    assert exact <= actual < 1.2 * exact + 0.2
    other = np.random.default_rng(2).random(500)
    assert stats.ks_2samp(values, other).pvalue <= goodness_of_fit.same_law(values, other)
    assert goodness_of_fit.same_law(other, other + 0.3) < 1e-9


def test_every_test_of_a_law_is_two_sided() -> None:
    for scale, is_right in ((Fraction(5), True), (Fraction(9, 2), False), (Fraction(11, 2), False)):
        for test in (goodness_of_fit.fit, goodness_of_fit.size):
            assert (test(DRAWS, DiscreteLaplace(scale)) > 1e-6) == is_right


def test_noise_that_is_hardly_ever_there_is_tested_by_counting() -> None:
    rare = DiscreteLaplace(Fraction(1, 20))
    assert goodness_of_fit.size(np.zeros(1000, dtype=np.int64), rare) == 1.0
    assert goodness_of_fit.size(np.repeat([0, 1], [995, 5]), rare) < 1e-9


def test_the_chance_of_equal_draws_is_that_of_pairs() -> None:
    chance = goodness_of_fit.chance_of_equals(LAW)
    assert (DRAWS[:20_000] == DRAWS[20_000:]).mean() == pytest.approx(chance, abs=0.01)
    assert goodness_of_fit.repeats(DRAWS[:, None], chance) > 1e-6
    assert goodness_of_fit.repeats(np.repeat(DRAWS, 2)[:, None], chance) < 1e-9
    few = np.arange(3000)[:, None]
    assert goodness_of_fit.repeats(few, 1e-9) == 1.0
    assert goodness_of_fit.repeats(np.concatenate([few, few[:1]]), 1e-9) < 0.02


def test_what_never_varies_is_not_accused() -> None:
    still = np.zeros((500, 3))
    assert goodness_of_fit.independence(still) == 1.0
    assert goodness_of_fit.succession(still) == 1.0
    assert goodness_of_fit.sign(still[:, 0]) == 1.0
    assert goodness_of_fit.union_bound([]) == 1.0


def test_noise_tests_refuse_what_they_cannot_read() -> None:
    made = gd.Laplace.calibrate(LpBall(3, 1, 1.0), gd.PureDP(1.0))
    for draws in (np.zeros((500, 2)), np.zeros(500), np.zeros((10, 3))):
        with pytest.raises(InvalidRequest, match="`draws` has shape"):
            gd.audit.noise_tests(made, draws)


def test_the_law_is_computed_anew_from_the_claim() -> None:
    made = gd.Laplace.calibrate(LpBall(3, 1, 1.0), gd.PureDP(0.5))
    assert expected(made, gd.PureDP(1.0)).runs[0][1].scale == made.runs[0][1].scale / 2
    assert expected(made, gd.ApproxDP(1.0, 1e-6)) is None  # Laplace noise is not made for that
    normal = gd.Gaussian.calibrate(LpBall(3, 2, 1.0), gd.ApproxDP(1.0, 1e-6))
    assert expected(normal, gd.ApproxDP(1.0, 1e-6)).runs == normal.runs
    body = gd.prefix_sums(gd.Domain.of(a=gd.integers(1, 9)), "a").sensitivity(gd.PrivacyUnit())
    strategy = gd.Matrix.calibrate(body, gd.GaussianDP(0.5))
    assert expected(strategy, gd.GaussianDP(0.5)).scale == pytest.approx(strategy.scale, rel=1e-9)
    assert expected(strategy, gd.GaussianDP(1.0)).scale == pytest.approx(strategy.scale / 2, rel=1e-9)
    assert expected(lambda answer: answer, gd.PureDP(1.0)) is None


@pytest.mark.parametrize(("kind", "power"), [(DiscreteLaplace, 1), (DiscreteGaussian, 2)])
def test_wide_laws_are_looked_at_in_strides(kind: type, power: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A law with 2^30 steps, which no list holds; and one that is looked at both ways."""
    wide = kind(Fraction(2**30) ** power)
    draws = wide.draw(20_000, gd.research_rng(4))
    assert goodness_of_fit.fit(draws, wide) > 1e-4
    assert goodness_of_fit.size(draws, wide) > 1e-4
    assert goodness_of_fit.fit(draws // 2, wide) < 1e-9
    assert goodness_of_fit.size(draws * 9 // 10, wide) < 1e-9
    assert 0 < goodness_of_fit.chance_of_equals(wide) < 2.0**-30
    monkeypatch.setattr(goodness_of_fit, "_MOST_PLACES", 2**20)
    near = kind(Fraction(300) ** power)
    actual = near.draw(5000, gd.research_rng(5))
    plainly = [test(actual, near) for test in (goodness_of_fit.fit, goodness_of_fit.size)] + [
        goodness_of_fit.chance_of_equals(near)
    ]
    monkeypatch.setattr(goodness_of_fit, "_MOST_PLACES", 2000)
    coarsely = [test(actual, near) for test in (goodness_of_fit.fit, goodness_of_fit.size)] + [
        goodness_of_fit.chance_of_equals(near)
    ]
    assert coarsely[0] > 1e-4
    assert coarsely[1] == pytest.approx(plainly[1], rel=0.03)
    assert plainly[2] <= coarsely[2] <= 1.1 * plainly[2], "a bound"


@pytest.mark.slow
def test_wide_sums_of_laplace_noise_are_looked_at_in_strides(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their law is an integral, which a list of all places of would not fit memory."""
    monkeypatch.setattr(goodness_of_fit, "_MOST_PLACES", 300)
    single, wide = DiscreteLaplace(Fraction(10**6)), LaplaceSum(Fraction(10**6), 3)
    draws = single.draw(60_000, gd.research_rng(6)).reshape(-1, 3).sum(axis=1)
    assert goodness_of_fit.fit(draws, wide) > 1e-4
    assert goodness_of_fit.size(draws, wide) > 1e-4
    assert goodness_of_fit.fit(draws * 9 // 10, wide) < 1e-9
    assert goodness_of_fit.size(draws * 9 // 10, wide) < 1e-9
