"""The first score above a threshold: its law, and the likelihood ratios of neighbours."""

import math

import mpmath
import numpy as np
import pytest

import gaugedp as gd
from gaugedp.bodies import LpBall
from gaugedp.entropy import research_rng
from gaugedp.errors import InvalidRequest

DOMAIN = gd.Domain.of(a=["u", "w", "x", "y"])
COUNTS = gd.marginals(DOMAIN, "a").sensitivity(gd.PrivacyUnit())  # all move one way
SCORES = gd.marginals(DOMAIN, "a").sensitivity(gd.PrivacyUnit(neighbours="replace"))  # either way
FINE = LpBall(3, math.inf, 0.3)
DRAWS = 200_000


def law(mechanism: gd.AboveThreshold, scores: list[int]) -> list[mpmath.mpf]:
    """By the definition, in 50 digits: the sum over the threshold's noise."""
    with mpmath.workdps(50):
        a, b = (mpmath.mpf(scale.numerator) / scale.denominator
                for scale in (mechanism.threshold_scale, mechanism.score_scale))  # fmt: skip
        falls = [mpmath.e ** (-1 / scale) for scale in (a, b)]
        tails = [falls[1] ** far / (1 + falls[1]) for far in range(200)]
        actual = [mpmath.mpf(0)] * (len(scores) + 1)
        for r in range(-150, 151):
            left = (1 - falls[0]) / (1 + falls[0]) * falls[0] ** abs(r)
            for place, score in enumerate(scores):
                needed = int(mechanism.threshold) + r - score
                above = tails[needed] if needed > 0 else 1 - tails[1 - needed]
                actual[place] += left * above
                left *= 1 - above
            actual[-1] += left
        return actual


@pytest.mark.parametrize("body", [COUNTS, SCORES], ids=["counts", "scores"])
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
def test_the_law_is_that_of_the_definition_and_of_the_draws(body, epsilon: float) -> None:
    mechanism = gd.AboveThreshold.calibrate(body, gd.PureDP(epsilon), threshold=4)
    scores = np.array([1, 5, 3, 9])
    expected = np.array([float(share) for share in law(mechanism, scores.tolist())])
    assert mechanism.probabilities(scores) == pytest.approx(expected, abs=1e-12)
    assert expected.sum() == pytest.approx(1)
    drawn = np.bincount(mechanism.draw(scores, DRAWS, research_rng(7)), minlength=5) / DRAWS
    assert (np.abs(drawn - expected) <= 5 * np.sqrt(expected * (1 - expected) / DRAWS)).all()


@pytest.mark.parametrize(("body", "one_way"), [(COUNTS, True), (SCORES, False)], ids=["counts", "scores"])
@pytest.mark.parametrize("threshold", [0, 3])
def test_no_neighbours_are_told_apart_beyond_epsilon(body, one_way: bool, threshold: int) -> None:
    """All moves of three scores by −1, 0 and 1 (all up, or all down, for counts); the worst is near ε."""
    epsilon, scores = 1.0, (0, 2, 1, 0)
    mechanism = gd.AboveThreshold.calibrate(body, gd.PureDP(epsilon), threshold)
    own, worst = law(mechanism, list(scores)), 0.0
    steps = (0, 1) if one_way else (-1, 0, 1)
    for move in np.array(np.meshgrid(*[steps] * 4)).reshape(4, -1).T:
        for sign in (1, -1) if one_way else (1,):
            other = law(mechanism, [score + sign * int(step) for score, step in zip(scores, move, strict=True)])
            worst = max(worst, *(abs(float(mpmath.log(p / q))) for p, q in zip(own, other, strict=True)))
    assert worst <= epsilon
    assert worst > 0.55 * epsilon, "and noise of little more than half is told apart"


def test_scores_off_the_lattice_and_the_units_of_the_threshold() -> None:
    mechanism = gd.AboveThreshold.calibrate(FINE, gd.PureDP(50.0), threshold=0.75)
    assert (mechanism.draw(np.array([0.1, 0.9, 2.0]), 500, research_rng(1)) == 1).mean() > 0.99
    assert (mechanism.draw(np.array([0.1, 0.2, 0.3]), 500, research_rng(1)) == 3).mean() > 0.99
    again = mechanism.recalibrated(gd.PureDP(0.1))
    assert (again.threshold, again.guarantee) == (0.75, gd.PureDP(0.1))


def test_its_bound_holds() -> None:
    mechanism = gd.AboveThreshold.calibrate(SCORES, gd.PureDP(1.0), threshold=100)
    far = mechanism.error_bound(0.05)
    scores = np.array([100 - far, 100 - far, 100 + far, 0])
    assert (mechanism.draw(np.rint(scores).astype(int), 20_000, research_rng(5)) == 2).mean() >= 0.95


@pytest.mark.parametrize(
    ("guarantee", "threshold", "words"),
    [
        (gd.ZCDP(1.0), 0, "PureDP"),
        (gd.PureDP(1.0), math.nan, "threshold"),
        (gd.PureDP(1e-18), 0, "epsilon|scale|noise"),
    ],
)
def test_what_cannot_be_made_is_refused(guarantee, threshold: float, words: str) -> None:
    with pytest.raises(InvalidRequest, match=words):
        gd.AboveThreshold.calibrate(SCORES, guarantee, threshold)
