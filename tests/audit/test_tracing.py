"""Tracing: who was in the data of a mean, and how much of that a guarantee allows."""

import math

import numpy as np
import pytest

import gaugedp as gd
from gaugedp.audit.claim import ceiling
from gaugedp.errors import InvalidRequest

RNG = np.random.default_rng(1)
MEMBERS, OTHERS = RNG.normal(size=(40, 4000)), RNG.normal(size=(500, 4000))


def mean(rows: np.ndarray) -> np.ndarray:
    return rows.mean(axis=0)


def test_a_mean_of_few_rows_gives_its_members_away() -> None:
    found = gd.audit.tracing_attack(mean, MEMBERS, OTHERS)
    assert found.true_positive_rate > 0.9
    assert found.false_positive_rate <= 0.01
    assert found.ceiling == 1.0
    assert found.guarantee is None


def test_a_mean_of_other_rows_does_not() -> None:
    found = gd.audit.tracing_attack(lambda _: OTHERS[:20].mean(axis=0), MEMBERS, OTHERS[20:], false_positive_rate=0.05)
    assert found.true_positive_rate < 0.3
    assert found.false_positive_rate == pytest.approx(0.05)


def test_the_printed_statistic_is_the_printed_one_and_finds_nobody() -> None:
    """Σ_{j∈S} (x_j − x̃_j) against σ√(8·s·log(1/δ)), on a case that is done by hand."""
    found = gd.audit.tracing_attack(mean, MEMBERS, OTHERS, statistic="printed")
    assert found.threshold == pytest.approx(OTHERS.std() * math.sqrt(8 * 4000 * math.log(1e6)))
    assert (found.true_positive_rate, found.false_positive_rate) == (0, 0)
    high = np.full((3, 4), 40.0)
    low = np.array([[0.0, 1, 0, 1], [1, 0, 1, 0]] * 10)
    easy = gd.audit.tracing_attack(lambda _: np.array([1.0, 0, 0, 1]), high, low, statistic="printed")
    assert easy.threshold == pytest.approx(0.5 * math.sqrt(8 * 2 * math.log(1e6)))
    assert easy.true_positive_rate == 1


class Fitted:
    guarantee_ = gd.PureDP(2.0)

    def __init__(self, rows: np.ndarray) -> None:
        self.mean_ = rows.mean(axis=0)


def test_the_ceiling_is_that_of_the_guarantee_wherever_it_is() -> None:
    def carried(rows: np.ndarray) -> np.ndarray:
        return rows.mean(axis=0)

    carried.guarantee = gd.PureDP(2.0)  # type: ignore[attr-defined]
    for release, more in ((Fitted, {}), (carried, {}), (mean, {"guarantee": gd.PureDP(2.0)})):
        found = gd.audit.tracing_attack(release, MEMBERS, OTHERS, **more)
        assert found.ceiling == pytest.approx(math.exp(2) * 0.01, rel=1e-6)
    weaker = gd.audit.tracing_attack(Fitted, MEMBERS, OTHERS, guarantee=gd.ApproxDP(3.0, 1e-3))
    assert weaker.ceiling == pytest.approx(math.exp(3) * 0.01 + 1e-3, rel=1e-6)


def test_the_ceiling_is_the_least_over_the_curve() -> None:
    """For Gaussian noise Neyman and Pearson's test is the best: Φ(Φ⁻¹(FPR) + μ); the ceiling is near it from above."""
    from scipy.special import ndtr, ndtri

    for mu in (0.3, 1.0, 2.0):
        best = float(ndtr(ndtri(0.01) + mu))
        assert best <= ceiling(gd.GaussianDP(mu), 0.01) < 1.25 * best
    assert ceiling(gd.PureDP(50.0), 0.01) == 1.0


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"members": np.zeros((0, 5))}, "There are no members"),
        ({"non_members": np.zeros((0, 4000))}, "There are no non_members"),
        ({"non_members": np.zeros((5, 3))}, "4000 coordinates and the non-members 3"),
        ({"members": np.full((2, 4000), np.nan)}, "not finite"),
        ({"false_positive_rate": 0.0}, "false_positive_rate is 0.0"),
        ({"false_positive_rate": 1.5}, "false_positive_rate is 1.5"),
        ({"statistic": "likelihood"}, "statistic is 'likelihood'"),
        ({"guarantee": 1.0}, "The claim is 1.0"),
        ({"release_fn": lambda rows: rows.mean()}, "Release 4000 numbers"),
    ],
)
def test_bad_requests(changed: dict, words: str) -> None:
    asked = {"release_fn": mean, "members": MEMBERS, "non_members": OTHERS} | changed
    with pytest.raises(InvalidRequest, match=words):
        gd.audit.tracing_attack(**asked)


def test_without_a_guarantee_no_ceiling_is_told() -> None:
    words = repr(gd.audit.tracing_attack(mean, MEMBERS, OTHERS))
    assert "None" not in words
    assert words.endswith("; no guarantee sets a limit")
    claimed = gd.audit.tracing_attack(mean, MEMBERS, OTHERS, guarantee=gd.PureDP(2.0))
    assert repr(claimed).endswith("; at most 0.0739 under PureDP(2)")
