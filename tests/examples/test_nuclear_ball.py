"""The terms of the bound by hand, their rates, and the bound against the method's own noise."""

import math
import pickle

import numpy as np
import pytest

import gaugedp as gd
from examples.papers import nuclear_ball
from examples.papers.nuclear_ball import conjectured_rate, nuclear_risk, oja_privacy
from gaugedp.guarantees.gaussian_curve import gaussian_mu
from gaugedp.optimization import Spectraplex, StochasticFrankWolfe, TraceScale

N, D = 10_000, 20
LOG, KAPPA = math.log(N), (2 * math.log(D + 2) - 1) * math.e


def test_the_terms_are_those_of_the_corollary() -> None:
    """Corollary 2.3.1(a) with L₀ = 2 and L₁ = 3."""
    actual = nuclear_risk(N, D, 1.0, 1e-6, lipschitz=2.0, smoothness=3.0, spread=None)
    longer = (1 + 2 / N) * math.exp(LOG / N / 2)
    assert actual.start == pytest.approx(2 / math.sqrt(N))
    assert actual.batch == pytest.approx(4 * 2 * math.sqrt(2 * KAPPA) * LOG / N * longer)
    assert actual.stream == pytest.approx(16 * (2 * 3 + 2) * math.sqrt(KAPPA) * LOG / math.sqrt(N))
    assert actual.curvature == pytest.approx(2 * 3 * LOG / N)
    assert actual.confidence == 0
    assert actual.one_pass == pytest.approx(actual.statistical + actual.privacy)


def test_the_bound_is_the_least_and_says_which() -> None:
    """X = 0 is at most L₀ off at ordinary n: L₀·‖X‖_* is attained by a linear loss; one pass wins at last."""
    few, many = (nuclear_risk(n, 2, 1.0, 1e-6, lipschitz=2.0, smoothness=1e-3) for n in (300, 2 * 10**6))
    assert (few.value, few.method, float(few)) == (2.0, "X = 0", 2.0)
    assert few.one_pass > 2
    assert (many.value, many.method) == (many.one_pass, "one pass")
    assert many.value < 2
    assert nuclear_risk(N, D, 1.0, 1e-6, failure=1e-9).value == 1


def test_a_bound_with_high_probability_is_larger_and_is_that_of_part_b() -> None:
    mean, sure = (nuclear_risk(N, D, 1.0, 1e-6, failure=failure, spread=None) for failure in (None, 0.02))
    log = math.log(N / 0.01)  # half of the failures are the sampling's
    longer = (1 + 2 / N) * math.exp(LOG / N / 2)
    assert sure.stream == pytest.approx(8 * math.e * 3 * math.sqrt(KAPPA) * LOG / math.sqrt(N))
    assert sure.batch == pytest.approx(math.e * mean.batch)
    first, second = 4 * math.sqrt(6 * log) * LOG / N * longer, 8 * 3 * math.sqrt(3 * log) * LOG / math.sqrt(N)
    assert sure.confidence == pytest.approx(first + second)
    assert sure.privacy > mean.privacy
    assert nuclear_risk(N, D, 1.0, 1e-6, failure=1e-9, spread=None).one_pass > sure.one_pass > mean.one_pass


def test_the_sums_behind_the_corollary_are_below_its_terms() -> None:
    """(2.14) summed as it stands, with the bounds of theorem 2.3.2(a), L₀ = L₁ = 1."""
    for n in (10, 101, 1000, 20_000):
        eta, m = math.log(n) / n, n // 2
        t = np.arange(m + 1)
        kappa = (2 * math.log(D + 2) - 1) * math.e
        weight = 4 * eta * (1 - eta) ** (m - t)
        actual = nuclear_risk(n, D, 1.0, 1e-6, spread=None)
        assert (weight * 2 * math.sqrt(kappa / (n - m)) * (1 - eta) ** t).sum() <= actual.batch
        assert (weight * 4 * eta * np.sqrt(kappa * t) * 3).sum() <= actual.stream
        assert (2 * eta**2 * (1 - eta) ** t).sum() <= actual.curvature
        assert (1 - eta) ** (m + 1) <= actual.start


def test_the_bound_by_variances_says_something_from_13_000_rows_on() -> None:
    """d = 20, ε = 1: where the corollary needs 8.5·10^6 rows; a smaller second moment of rows helps."""
    assert nuclear_risk(12_000, D, 1.0, 1e-6).method == "X = 0"
    for n, most in ((14_000, 1), (10**5, 0.26), (10**6, 0.06)):
        actual = nuclear_risk(n, D, 1.0, 1e-6)
        assert (actual.method, actual.value < most) == ("one pass", True)
        assert nuclear_risk(n, D, 1.0, 1e-6, spread=1 / D).value < actual.value
        assert nuclear_risk(n, D, 1.0, 1e-6, spread=None).statistical > 20 * actual.statistical
        assert nuclear_risk(n, D, 1.0, 1e-6, failure=0.05).one_pass > actual.one_pass


@pytest.mark.parametrize("failure", [None, 0.1])
def test_errors_of_gradients_are_below_their_terms(failure: float | None) -> None:
    """Least squares on zzᵀ, z uniform on the sphere, y in {0, 1}: E_t of 4 passes."""
    n, d, rng = 600, 4, np.random.default_rng(1)
    eta, m = math.log(n) / n, n // 2
    bound, sums = nuclear_risk(n, d, 1.0, 1e-6, spread=1 / d, failure=failure), []
    for _ in range(4):
        z = rng.normal(size=(n, d))
        z /= np.linalg.norm(z, axis=1, keepdims=True)
        y, total = rng.integers(0, 2, n), 0.0

        def slope(x: np.ndarray, rows: slice, z: np.ndarray = z, y: np.ndarray = y) -> np.ndarray:
            weights = np.einsum("ni,ij,nj->n", z[rows], x, z[rows]) - y[rows]
            return (z[rows] * weights[:, None]).T @ z[rows]

        x = before = estimate = np.zeros((d, d))
        for t in range(m + 1):
            row = slice(n - m + t - 1, n - m + t)
            moved = slope(x, row) - (1 - eta) * slope(before, row) if t else slope(x, slice(n - m)) / (n - m)
            estimate = (1 - eta) * estimate + moved
            truth = (2 * x + np.trace(x) * np.eye(d)) / (d * (d + 2)) - np.eye(d) / (2 * d)
            values = np.linalg.eigvalsh(estimate - truth)
            total += eta * (1 - eta) ** (m - t) * (max(values[-1], 0) + max(-values[0], 0))
            value, vectors = np.linalg.eigh(estimate)
            vertex = np.outer(vectors[:, 0], vectors[:, 0]) * (value[0] < 0)
            before, x = x, (1 - eta) * x + eta * vertex
        sums.append(total)
    assert max(sums) <= bound.batch + bound.stream <= (10 if failure is None else 40) * np.mean(sums)


def test_rates() -> None:
    def privacy(n: int, d: int = D, epsilon: float = 1.0) -> float:
        return nuclear_risk(n, d, epsilon, 1e-6).privacy

    many, more = 2**15, 2**19
    assert -1 < math.log(privacy(more) / privacy(many)) / math.log(16) < -0.78
    assert privacy(N, 80) / privacy(N, 20) == pytest.approx(2, rel=0.03)  # √d
    ratio = gaussian_mu(2.0, 1e-6) / gaussian_mu(1.0, 1e-6)
    assert privacy(N) / privacy(N, epsilon=2.0) == pytest.approx(ratio)


@pytest.mark.statistical
def test_the_privacy_term_covers_what_the_noise_costs() -> None:
    """⟨D, V⟩ − min ⟨D, Y⟩ for V chosen with the noise of the last step: the mean of 60 draws of streams."""
    n, d = 400, 6
    model = StochasticFrankWolfe.calibrate(gd.GaussianDP(gaussian_mu(1.0, 1e-6)), TraceScale(Spectraplex(d), n))
    rng, lost = gd.research_rng(3), []
    gradient = np.diag(np.linspace(-3.0, 1.0, d))
    for _ in range(60):
        *_, last = model.oracle.stream.noise(model.region.n_coordinates, rng)
        chosen = model.region.vertex(model.oracle.released(gradient, last)).matrix
        lost.append(float((gradient * chosen).sum()) - model.region.vertex(gradient).value)
    assert 0 < np.mean(lost) <= nuclear_risk(n, d, 1.0, 1e-6).privacy


def test_the_conjectured_rate() -> None:
    actual = conjectured_rate(10_000, 25, 0.5)
    assert actual.value == pytest.approx(1 / 100 + 5 / 5000)
    assert (actual.statistical, actual.privacy) == (pytest.approx(0.01), pytest.approx(0.001))
    assert "constants unknown" in str(actual)
    assert pickle.loads(pickle.dumps(actual)) == actual


def test_ojas_term_falls_as_the_root() -> None:
    small, large = (oja_privacy(n, 25, 1.0, 1e-6) for n in (10**8, 10**10))
    assert -0.5 < math.log(large / small) / math.log(100) < -0.35  # n^−½ times logarithms
    each = 1e-6 / (400 * (4 + 1))
    logs = math.log(1 / each) * math.sqrt(math.log(1.25 / each)) * math.log(400)
    assert oja_privacy(400, 25, 2.0, 1e-6) == pytest.approx(16 * 3 * logs * math.sqrt(25 * 402) / 800)
    assert oja_privacy(10**4, 25, 1.0, 1e-6) > nuclear_risk(10**4, 25, 1.0, 1e-6).privacy


def test_it_prints(capsys: pytest.CaptureFixture[str]) -> None:
    nuclear_ball.main()
    assert "n = 1e+04: 1 by X = 0" in capsys.readouterr().out
