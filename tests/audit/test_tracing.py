"""Tracing: who was in the data of a mean, and how much of that a guarantee allows."""

import math

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

import gaugedp as gd
from gaugedp.bounds import tracing_ceiling
from gaugedp.errors import InvalidRequest

RNG = np.random.default_rng(1)
MEMBERS, OTHERS = RNG.normal(size=(40, 4000)), RNG.normal(size=(500, 4000))


def mean(rows: np.ndarray) -> np.ndarray:
    return rows.mean(axis=0)


def test_a_mean_of_few_rows_gives_its_members_away() -> None:
    actual = gd.audit.tracing_attack(mean, MEMBERS, OTHERS)
    assert actual.true_positive_rate > 0.9
    assert actual.false_positive_rate <= 0.01
    assert actual.ceiling == 1.0
    assert actual.guarantee is None


def test_a_mean_of_other_rows_does_not() -> None:
    actual = gd.audit.tracing_attack(lambda _: OTHERS[:20].mean(axis=0), MEMBERS, OTHERS[20:], false_positive_rate=0.05)
    assert actual.true_positive_rate < 0.3
    assert actual.false_positive_rate == pytest.approx(0.05)


def test_the_printed_statistic_of_every_coordinate_finds_nobody() -> None:
    """Σ_{j∈S} (x_j − x̃_j) against σ√(8·s·log(1/δ)), S all coordinates: their sum tells next to nothing of a row."""
    actual = gd.audit.tracing_attack(mean, MEMBERS, OTHERS, statistic="printed")
    assert actual.threshold == pytest.approx(OTHERS.std() * math.sqrt(8 * 4000 * math.log(1e6)))
    assert (actual.true_positive_rate, actual.false_positive_rate) == (0, 0)


@pytest.mark.parametrize(
    ("statistic", "s", "signs"),
    [
        ("printed", 2, [1, 0, 1, 0]),
        ("signed", 2, [0, -1, 1, 0]),
        ("printed", None, [1, 0, 1, 1]),
        ("signed", None, [1, -1, 1, 0]),
    ],
)
def test_it_looks_at_the_largest_coordinates(statistic: str, s: int | None, signs: list[int]) -> None:
    """By hand: M = (1, −2, 3, 0), with three coordinates that are not 0; the others' deviation is 1/2."""
    low = np.array([[0.0, 1, 0, 1], [1, 0, 1, 0]] * 10)
    row = 30.0 * np.array(signs)
    elsewhere = np.where(row == 0, 30.0, -row)
    actual = gd.audit.tracing_attack(
        lambda _: np.array([1.0, -2, 3, 0]), np.array([row, elsewhere]), low, statistic=statistic, s=s
    )
    assert actual.threshold == pytest.approx(0.5 * math.sqrt(8 * (s or 3) * math.log(1e6)))
    assert (actual.true_positive_rate, actual.false_positive_rate) == (0.5, 0)


@pytest.mark.slow
@pytest.mark.parametrize("statistic", ["printed", "signed"])
@pytest.mark.parametrize(("n", "s", "delta"), [(25, 1000, 1e-6), (50, 1000, 1e-2), (9, 100, 1e-6)])
def test_the_power_at_the_sources_sizes_is_the_one_computed(statistic: str, n: int, s: int, delta: float) -> None:
    """d = 20,000 without privacy, 150 members or more in all: within 5 deviations of a binomial law."""
    rng, rates = np.random.default_rng(n), []
    repeats = -(-150 // n)
    for _ in range(repeats):
        members, others = rng.normal(size=(n, 20_000)), rng.normal(size=(100, 20_000))
        actual = gd.audit.tracing_attack(mean, members, others, statistic=statistic, s=s, delta=delta)
        rates.append(actual.true_positive_rate)
        assert actual.false_positive_rate <= delta**2 + 0.02
    power = gd.audit.tracing_power(n, 20_000, s, delta, statistic)
    assert abs(np.mean(rates) - power) < 5 * math.sqrt(power * (1 - power) / (n * repeats))


def test_the_computed_power_at_the_sources_sizes() -> None:
    sizes = [(25, 1000, 1e-6), (50, 1000, 1e-2), (9, 100, 1e-6)]
    results = [gd.audit.tracing_power(n, 20_000, s, delta) for n, s, delta in sizes]
    assert results == pytest.approx([0.964, 0.987, 0.263], abs=1e-3)


@pytest.mark.parametrize("statistic", ["printed", "signed"])
@pytest.mark.parametrize(
    ("n", "d", "s", "delta", "noise", "error"),
    [
        (1, 10, 1, 0.5, 0, 0.03),
        (2, 20, 5, 0.2, 0.1, 0.03),
        (3, 1000, 10, 0.1, 0.3, 0.002),
        (40, 1000, 500, 0.1, 0, 2e-3),
    ],
)
def test_the_computed_power_is_the_mean_over_the_largest(  # noqa: PLR0917
    statistic: str, n: int, d: int, s: int, delta: float, noise: float, error: float
) -> None:
    """Against the mean of Φ over drawn sums of the s largest, 20,000 of them or 4 million numbers."""
    drawn = np.random.default_rng(d).normal(size=(min(20_000, 4_000_000 // d), d))
    sums = np.sort(np.abs(drawn) if statistic == "signed" else drawn, axis=1)[:, d - s :].sum(axis=1)
    r = 1 / math.sqrt(n + n**2 * noise**2)
    exact = ndtr((r * sums - math.sqrt(8 * s * math.log(1 / delta))) / math.sqrt(s * (2 - r**2)))
    sampling = 4 * exact.std() / math.sqrt(len(exact))
    assert abs(gd.audit.tracing_power(n, d, s, delta, statistic, noise) - exact.mean()) < error + sampling


def test_noise_on_the_mean_lowers_the_power_as_computed() -> None:
    """The same rows and noise of half a mean's deviation: within 5 deviations of a binomial law, and lower."""
    rng, n = np.random.default_rng(4), 25
    noise = 0.5 / math.sqrt(n)
    rates = []
    for _ in range(6):
        members, others, added = (rng.normal(size=size) for size in ((n, 20_000), (100, 20_000), 20_000))
        actual = gd.audit.tracing_attack(
            lambda rows, added=added: rows.mean(axis=0) + noise * added, members, others, statistic="printed", s=1000
        )
        rates.append(actual.true_positive_rate)
    power = gd.audit.tracing_power(n, 20_000, 1000, noise=noise)
    assert power < 0.9 * gd.audit.tracing_power(n, 20_000, 1000)
    assert abs(np.mean(rates) - power) < 5 * math.sqrt(power * (1 - power) / 150)


def test_all_coordinates_are_no_choice() -> None:
    """S everything: the sum of x − x̃ has variance 2s, whatever the mean says."""
    assert gd.audit.tracing_power(7, 50, 50, 0.1) == pytest.approx(ndtr(-math.sqrt(4 * math.log(10))), rel=1e-3)


class Fitted:
    guarantee_ = gd.PureDP(2.0)

    def __init__(self, rows: np.ndarray) -> None:
        self.mean_ = rows.mean(axis=0)


def test_the_ceiling_is_that_of_the_guarantee_wherever_it_is() -> None:
    def carried(rows: np.ndarray) -> np.ndarray:
        return rows.mean(axis=0)

    carried.guarantee = gd.PureDP(2.0)  # type: ignore[attr-defined]
    for release, more in ((Fitted, {}), (carried, {}), (mean, {"guarantee": gd.PureDP(2.0)})):
        actual = gd.audit.tracing_attack(release, MEMBERS, OTHERS, **more)
        assert actual.ceiling == pytest.approx(math.exp(2) * 0.01, rel=1e-6)
    weaker = gd.audit.tracing_attack(Fitted, MEMBERS, OTHERS, guarantee=gd.ApproxDP(3.0, 1e-3))
    assert weaker.ceiling == pytest.approx(math.exp(3) * 0.01 + 1e-3, rel=1e-6)


def test_the_ceiling_is_the_least_over_the_curve() -> None:
    """For Gaussian noise Neyman and Pearson's test is the best: Φ(Φ⁻¹(FPR) + μ); the ceiling is that."""
    for mu in (0.3, 1.0, 2.0):
        best = float(ndtr(ndtri(0.01) + mu))
        assert best <= tracing_ceiling(gd.GaussianDP(mu), 0.01) < 1.001 * best
    assert tracing_ceiling(gd.PureDP(50.0), 0.01) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"members": np.zeros((0, 5))}, "`members` has shape"),
        ({"non_members": np.zeros((0, 4000))}, "`non_members` has shape"),
        ({"non_members": np.zeros((5, 3))}, "4000 columns, but `non_members` has 3"),
        ({"members": np.full((2, 4000), np.nan)}, "contains NaN"),
        ({"false_positive_rate": 0.0}, "`false_positive_rate` is 0.0"),
        ({"false_positive_rate": 1.5}, "`false_positive_rate` is 1.5"),
        ({"statistic": "likelihood"}, "`statistic` is 'likelihood'"),
        ({"statistic": "printed", "s": 4001}, "`s` is 4001, but there are only 4000 coordinates"),
        ({"statistic": "signed", "s": 0}, "`s` is 0"),
        ({"guarantee": 1.0}, "`guarantee` is 1.0"),
        ({"release_fn": lambda rows: rows.mean()}, "return 4000 finite numbers"),
    ],
)
def test_bad_requests(changed: dict, words: str) -> None:
    requested = {"release_fn": mean, "members": MEMBERS, "non_members": OTHERS} | changed
    with pytest.raises(InvalidRequest, match=words):
        gd.audit.tracing_attack(**requested)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"n_rows": 0}, "`n_rows` is 0"),
        ({"s": 11}, "`s` is 11, but there are only 10 coordinates"),
        ({"delta": 1.0}, "`delta` is 1.0"),
        ({"noise": -1.0}, "`noise` is -1.0"),
        ({"statistic": "correlation"}, "`statistic` is 'correlation'"),
    ],
)
def test_bad_sizes_have_no_power(changed: dict, words: str) -> None:
    with pytest.raises(InvalidRequest, match=words):
        gd.audit.tracing_power(**({"n_rows": 3, "d": 10, "s": 2} | changed))


def test_without_a_guarantee_no_ceiling_is_told() -> None:
    words = repr(gd.audit.tracing_attack(mean, MEMBERS, OTHERS))
    assert "None" not in words
    assert words.endswith("; no guarantee sets a limit")
    claimed = gd.audit.tracing_attack(mean, MEMBERS, OTHERS, guarantee=gd.PureDP(2.0))
    assert repr(claimed).endswith("; at most 0.0739 under PureDP(2)")


@pytest.mark.slow
@pytest.mark.parametrize(
    "guarantee", [gd.PureDP(0.5), gd.GaussianDP(0.5), gd.ZCDP(0.1), gd.ApproxDP(1.0, 1e-9)], ids=str
)
def test_no_power_is_above_what_a_guarantee_leaves(guarantee) -> None:
    free = gd.bounds.tracing_power(9, 5000, 500, 1e-3)
    assert free == gd.audit.tracing_power(9, 5000, 500, 1e-3)
    capped = gd.bounds.tracing_power(9, 5000, 500, 1e-3, guarantee=guarantee)
    assert capped == gd.bounds.tracing_ceiling(guarantee, 1e-6) < free
    for rate in (1e-6, 0.01, 0.3):
        least = min(math.exp(epsilon) * rate + guarantee.delta(epsilon) for epsilon in np.linspace(0, 6, 13))
        assert gd.bounds.tracing_ceiling(guarantee, rate) <= least * (1 + 1e-7)
        assert gd.bounds.tracing_ceiling(guarantee, rate) >= rate
    assert gd.bounds.tracing_ceiling(gd.GaussianDP(0.5), 0.05) == pytest.approx(ndtr(ndtri(0.05) + 0.5), rel=1e-6)


def test_a_ceiling_needs_a_rate() -> None:
    with pytest.raises(InvalidRequest, match="false_positive_rate"):
        gd.bounds.tracing_ceiling(gd.PureDP(1.0), 1.5)
