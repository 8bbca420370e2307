"""Numbers are the decimals that were written: sums and products of them are exact, by fractions."""

import math
import random
from fractions import Fraction

import pytest

import gaugedp as gd
import gaugedp.guarantees as g
from gaugedp._internal.validate import decimal


def together(parts: list[gd.ApproxDP]) -> tuple[Fraction, Fraction]:
    """Return Σε and 1 − Π(1 − δ), exactly."""
    epsilon = sum((decimal(part.epsilon_value) for part in parts), Fraction(0))
    return epsilon, 1 - math.prod((1 - decimal(part.delta_value) for part in parts), start=Fraction(1))


def drawn(rng: random.Random) -> list[gd.ApproxDP]:
    """Two to four guarantees whose ε have two digits and whose δ have one."""
    return [gd.ApproxDP(rng.randint(1, 300) / 100, rng.randint(0, 5) / 10) for _ in range(rng.randint(2, 4))]


def test_the_sum_of_two_is_what_was_written() -> None:
    both = gd.ApproxDP(1, 0.1) + gd.ApproxDP(2, 0.2)
    assert both.epsilon(0.28) == 3
    assert both.delta(3) == 0.28
    assert both.epsilon(math.nextafter(0.28, 0)) == math.inf
    assert (2 * gd.ApproxDP(1, 0.1)).epsilon(0.19) == 2
    assert (g.ExponentialLoss(1) + gd.ApproxDP(2, 0.2)).epsilon(0.2) == 3
    assert (gd.ApproxDP(1, 0.1) + g.FiniteLoss([0.1, 0.9], [0, 1])).epsilon(0.19) == 1


@pytest.mark.parametrize("seed", range(40))
def test_sums_are_exact(seed: int) -> None:
    parts = drawn(random.Random(seed))
    total = g.compose((part, 1) for part in parts)
    epsilon, delta = together(parts)
    written = float(delta)
    assert decimal(written) == delta  # at most four digits
    actual = total.epsilon(written)
    assert decimal(float(actual)) <= epsilon
    assert total.epsilon(written, "tight") <= float(epsilon)
    if delta:
        assert total.epsilon(math.nextafter(written, 0)) == math.inf
    most = total.delta(float(epsilon))
    assert delta <= decimal(float(most)) <= delta + Fraction(1, 10**16)


@pytest.mark.parametrize("seed", range(20))
def test_what_is_left_of_delta_is_exact(seed: int) -> None:
    """A Gaussian release beside: δ less what the others take, to the last digit of a tiny rest."""
    rng = random.Random(seed)
    other, rest = gd.ApproxDP(rng.randint(1, 9) / 10, rng.randint(1, 5) / 10), 10.0 ** -rng.randint(3, 9)
    delta = float(decimal(other.delta_value) + decimal(rest))
    left = (decimal(delta) - decimal(other.delta_value)) / (1 - decimal(other.delta_value))
    least = gd.GaussianDP(1.0).epsilon(float(left) * (1 + 1e-12))
    for method in ("tight", "rdp", "basic"):
        actual = (other + gd.GaussianDP(1.0)).epsilon(delta, method)
        assert least <= actual + 2 * other.epsilon_value
        assert math.isfinite(actual)
    assert (other + gd.GaussianDP(1.0)).epsilon(delta, "basic") >= float(gd.GaussianDP(1.0).epsilon(float(left)))


@pytest.mark.parametrize("seed", range(20))
def test_a_filter_adds_decimals(seed: int) -> None:
    """A budget that is the exact sum of its releases takes all of them, and nothing is left."""
    rng = random.Random(seed)
    parts = [gd.ApproxDP(rng.randint(1, 300) / 100, rng.randint(1, 9) / 1000) for _ in range(rng.randint(2, 6))]
    sums = [
        sum(map(decimal, column)) for column in zip(*((p.epsilon_value, p.delta_value) for p in parts), strict=True)
    ]
    budget = g.Filter(gd.ApproxDP(float(sums[0]), float(sums[1])))
    for part in parts:
        assert budget.admits(part)
        budget.spend(part)
    assert budget.remaining == gd.ApproxDP(0, 0)
    assert not budget.admits(gd.ApproxDP(1e-12, 0))


@pytest.mark.parametrize("seed", range(20))
def test_groups_multiply_decimals(seed: int) -> None:
    rng = random.Random(seed)
    size, value = rng.randint(2, 40), rng.randint(1, 9999) / 1000
    exact = size * decimal(value)
    for grown in (gd.PureDP(value).group(size).epsilon_value, gd.GaussianDP(value).group(size).mu):
        assert decimal(grown) == exact
    assert decimal(gd.ApproxDP(value, 0).group(size).epsilon_value) == exact
    assert decimal(gd.ZCDP(value).group(size).rho) == size * exact


@pytest.mark.parametrize("seed", range(20))
def test_the_infinite_losses_of_finite_laws_are_exact(seed: int) -> None:
    """An outcome that only one law has costs its probability, no more: by tenths, two or three times."""
    rng = random.Random(seed)
    chance, count = Fraction(rng.randint(1, 9), 10), rng.randint(1, 3)
    total = count * g.FiniteLoss([chance, 1 - chance], [0, 1])
    delta = float(1 - (1 - chance) ** count)
    assert total.epsilon(delta) <= 1e-10
    assert delta <= total.delta(0.0) <= delta * (1 + 1e-12)
