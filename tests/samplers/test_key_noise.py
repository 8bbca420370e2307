"""Noise on counts of unknown keys: chances against 50 digits, and as large as any; exact privacy; laws of draws."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
import scipy
from mpmath import mp, mpf

import gaugedp as gd
from gaugedp.samplers.key_noise import GaussianNoise, OptimalNoise, n_chances, optimal_noise
from tests.samplers.fit import of_cells

PAIRS = [("1", "1e-6"), ("0.1", "1e-9"), ("3", "0.01"), ("0.02", "1e-12"), ("80", "1e-30"), ("0.5", "0.3")]
N_DRAWS = 40_000


def noise_of(epsilon: str, delta: str) -> OptimalNoise:
    return OptimalNoise(Fraction(epsilon), Fraction(delta))


def law(noise: OptimalNoise) -> list[Fraction]:
    """P(J = j), j = 0, 1, …: a key of count n is shown where n > J, with n − J."""
    unit = 1 << noise.n_bits
    return [Fraction(high - low, unit) for low, high in pairwise(noise.in_units)]


def largest_delta(noise: OptimalNoise, epsilon: str) -> mpf:
    """δ at ε of all that is shown of one key whose count changes by one, whatever the count: the worse direction."""
    with mp.workdps(200):
        chances, factor = [mpf(p.numerator) / p.denominator for p in law(noise)], mp.exp(mpf(epsilon))
        more = sum(max(mpf(0), p - factor * q) for p, q in zip(chances, [mpf(0), *chances], strict=False))
        fewer = sum(max(mpf(0), p - factor * q) for p, q in zip(chances, [*chances[1:], mpf(0)], strict=True))
        return max(more, fewer)


@pytest.mark.parametrize(("epsilon", "delta"), PAIRS)
def test_a_person_more_or_less_is_epsilon_delta_exactly(epsilon: str, delta: str) -> None:
    """Rounding takes 2^−64 of δ at most."""
    with mp.workdps(200):
        actual = largest_delta(noise_of(epsilon, delta), epsilon)
        assert mpf(delta) * (1 - mpf(2) ** -63) < actual <= mpf(delta)
    control = noise_of(str(float(epsilon) * 1.01), delta)
    assert largest_delta(control, epsilon) > mpf(delta) or float(epsilon) > 50


@pytest.mark.parametrize(("epsilon", "delta"), PAIRS)
def test_chances_are_those_of_the_closed_form(epsilon: str, delta: str) -> None:
    """Desfontaines, Voss, Gipson and Mandayam 2022, theorem 1, in 50 digits."""
    noise = noise_of(epsilon, delta)
    with mp.workdps(50):
        e, d = mpf(min(float(epsilon), 50.0)) if float(epsilon) > 50 else mpf(epsilon), mpf(delta)
        grow = mp.exp(e)
        first = 1 + int(mp.floor(mp.log((grow + 2 * d - 1) / (d * (grow + 1))) / e))
        at_first = (grow**first - 1) / (grow - 1) * d
        for count, actual in enumerate(noise.in_units):
            shrunk = mp.exp(-(count - first) * e)
            rising, falling = (
                (grow**count - 1) / (grow - 1) * d,
                (1 - shrunk) * (1 + d / (grow - 1)) + shrunk * at_first,
            )
            exact = rising if count <= first else min(mpf(1), falling)
            assert float(mpf(actual) / 2**noise.n_bits / exact if exact else actual + 1) == pytest.approx(1, abs=1e-15)
            assert mpf(actual) / 2**noise.n_bits <= exact


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 0.01), (0.4, 0.05), (2.0, 1e-3)])
def test_no_selection_has_larger_chances(epsilon: float, delta: float) -> None:
    """The largest π(n) among all that keep (ε, δ) between every two counts, by a linear program for each n."""
    noise = optimal_noise(epsilon, delta, 1)
    size = len(noise.in_units)
    grow = np.exp(epsilon)
    rows, limits = [], []
    for low in range(size - 1):
        for a, b in ((low, low + 1), (low + 1, low)):
            shown, hidden = np.zeros(size), np.zeros(size)
            shown[[a, b]], hidden[[a, b]] = (1, -grow), (-1, grow)
            rows += [shown, hidden]
            limits += [delta, delta - 1 + grow]
    bounds = [(0, 0), *[(0, 1)] * (size - 1)]
    for count, actual in enumerate(noise.chances(np.arange(size))):
        best = scipy.optimize.linprog(-np.eye(size)[count], rows, limits, bounds=bounds)
        assert actual == pytest.approx(-best.fun, abs=1e-9)


@pytest.mark.parametrize(("epsilon", "delta"), PAIRS)
def test_the_length_of_the_table_is_known_beforehand(epsilon: str, delta: str) -> None:
    assert abs(len(noise_of(epsilon, delta).in_units) - n_chances(float(epsilon), float(delta))) <= 3


def fits(found: np.ndarray, chances: np.ndarray) -> float:
    """Return the p-value of a chi-square test on 40 cells of neighbouring values."""
    cells = np.minimum(np.floor(np.cumsum(chances) * 40), 39).astype(int)
    return of_cells(np.bincount(cells[found], minlength=40), np.bincount(cells, chances, minlength=40))


@pytest.mark.statistical
@pytest.mark.parametrize(("epsilon", "delta"), [("1", "1e-3"), ("0.2", "1e-6")])
def test_draws_follow_the_law(epsilon: str, delta: str) -> None:
    """False alarms: 1e-4 for each of the two laws."""
    noise = noise_of(epsilon, delta)
    chances = np.array([float(chance) for chance in law(noise)])
    actual = -noise.draw(N_DRAWS, gd.research_rng(7))
    assert fits(actual, chances) > 1e-4
    assert actual.mean() == pytest.approx(-noise.shift, abs=0.5 + 5 * actual.std() / N_DRAWS**0.5)
    wrong = -noise_of(str(float(epsilon) * 1.1), delta).draw(N_DRAWS, gd.research_rng(7))
    assert fits(wrong, chances) < 1e-4


def test_the_words_that_a_first_look_leaves_open_are_settled_by_the_same_law() -> None:
    """With 4 bits known at first, nearly every draw needs more of them."""
    noise = noise_of("1", "0.01")
    narrow = type(noise._table)(noise._weights, first_bits=4)
    chances = np.array([float(chance) for chance in law(noise)])
    assert fits(narrow.draw(N_DRAWS, gd.research_rng(8)), chances) > 1e-4


def test_gaussian_chances_are_those_of_the_draws() -> None:
    """Within 5 deviations; and a key that nobody has is never shown."""
    noise = GaussianNoise(Fraction(3), 10)
    shown = (8 + noise.draw(N_DRAWS, gd.research_rng(9)) >= noise.cut).mean()
    assert shown == pytest.approx(noise.chances(np.array([8]))[0], abs=5 * 0.5 / N_DRAWS**0.5)
    assert noise.chances(np.array([0]))[0] == 0
