"""Every mechanism is audited at its claim, and alarms with noise that is 10 % too small; planted faults alarm.

False alarms: kit.QUARTER for the audits at the claims, shared evenly (each audit splits its share between its white-box
and its black-box tests), and kit.QUARTER for the controls of the planted faults. The keys are fixed.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.special import bdtrc

import gaugedp as gd
from gaugedp import mechanisms
from gaugedp.audit import Audit
from gaugedp.audit.distinguish import black_box
from gaugedp.audit.events import points
from gaugedp.audit.samples import runs_of
from gaugedp.bodies import LpBall
from gaugedp.guarantees import Guarantee
from tests.statistics import kit
from tests.statistics.cases import CASES, HISTOGRAM, NEAR_SCORES, SCORES, Case

pytestmark = pytest.mark.statistical

SURE = 1 - kit.QUARTER / len(CASES)
N_CONTROLS = 14
CONTROLS_SURE = 1 - kit.QUARTER / N_CONTROLS
ONE = gd.PureDP(1.0)
ELSEWHERE = {"Calibrated", "Mechanism", "AdditiveNoise", "Selection", "Quality", "Prepared"}  # interfaces and parts
ELSEWHERE |= {"RankVerified"}  # in tests/mechanisms/test_rank_verified.py
ELSEWHERE |= {"RankTree"}  # the draw of RankExponential, and noise that test_count_tree holds to its scale, by a tenth


def audited(mechanism: Any, pair: tuple[Any, Any], claim: Guarantee, runs: int = 20_000) -> Audit:
    return gd.audit.audit(mechanism, *pair, claim, runs, CONTROLS_SURE, rng=gd.research_rng(11))


# -- every mechanism ---------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_mechanism_keeps_its_claim_and_an_audit_would_have_seen_if_not(case: Case) -> None:
    mechanism, weaker = case.make(case.guarantee), case.make(case.more)
    kept, broken = (
        gd.audit.audit(one, *case.pair(one), case.guarantee, case.runs, SURE, rng=gd.research_rng(5))
        for one in (mechanism, weaker)
    )
    assert not kept.violated, kept
    assert kept.epsilon_lower <= kept.epsilon_claimed
    assert broken.violated, broken


def test_every_mechanism_has_a_case() -> None:
    audited_kinds = {type(case.make(case.guarantee)).__name__ for case in CASES}
    assert audited_kinds >= set(mechanisms.__all__) - ELSEWHERE


# -- planted faults ----------------------------------------------------------------------------------


class Silent(gd.Laplace):
    """Sensitivity 0: no noise."""

    def draw(self, size: int, rng: Any) -> np.ndarray:
        del rng
        return np.zeros((size, self.body.ambient_dim), dtype=np.int64)


class OneByte(gd.Laplace):
    """Every draw from a generator whose seed is one byte."""

    def draw(self, size: int, rng: Any) -> np.ndarray:
        known = [gd.Laplace.draw(self, 1, gd.research_rng(seed))[0] for seed in range(256)]
        return np.array(known)[np.frombuffer(rng.bytes(size), dtype=np.uint8)]


class Again(gd.Laplace):
    """Each draw is used for two answers, one after the other."""

    def draw(self, size: int, rng: Any) -> np.ndarray:
        return np.repeat(gd.Laplace.draw(self, size // 2 + 1, rng), 2, axis=0)[:size]


class Shared(gd.Laplace):
    """One number is used for the first two answers of a release."""

    def draw(self, size: int, rng: Any) -> np.ndarray:
        actual = gd.Laplace.draw(self, size, rng)
        actual[:, 1] = actual[:, 0]
        return actual


PAIR = np.array([5, 5, 5, 5]), np.array([5, 6, 5, 5])
FAULTS = {Silent: "black-box", OneByte: "black-box", Again: "white-box", Shared: "black-box"}


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_a_faulty_generator_alarms(fault: type[gd.Laplace]) -> None:
    actual = audited(fault.calibrate(HISTOGRAM, ONE), PAIR, ONE)
    assert actual.violated
    assert actual.method.startswith(FAULTS[fault]), actual


SEEN_AS = {OneByte: {"repeated draws"}, Again: {"repeated draws", "independence"}, Shared: {"independence"}}


@pytest.mark.parametrize("fault", SEEN_AS, ids=lambda fault: fault.__name__)
def test_repeats_and_reuse_are_seen_as_such(fault: type[gd.Laplace]) -> None:
    actual = audited(fault.calibrate(LpBall(4, 1, 1.0), ONE), (np.zeros(4), np.eye(4)[1]), ONE, runs=5000)
    assert SEEN_AS[fault] <= {test.name for test in actual.tests if test.alarms}


@pytest.mark.parametrize("share", [0.5, 0.25])
def test_noise_that_is_too_large_alarms(share: float) -> None:
    """ε was halved once or twice too often: no guarantee is broken, but the mechanism is not what it says."""
    wide = gd.Laplace.calibrate(HISTOGRAM, gd.PureDP(share))
    for actual in (audited(wide, PAIR, ONE), audited(replace(wide, guarantee=ONE), PAIR, ONE)):
        assert actual.violated
        assert actual.method.startswith("white-box")
        assert actual.epsilon_lower < actual.epsilon_claimed


def test_a_sensitivity_of_another_body_alarms() -> None:
    """Made for counts of one row, and a person has three."""
    three = gd.marginals(gd.Domain.of(a=gd.integers(1, 4)), "a").sensitivity(gd.PrivacyUnit("pid", max_rows=3))
    made = gd.Laplace.calibrate(HISTOGRAM, ONE)
    assert audited(replace(made, body=three), (PAIR[0], PAIR[0] + [3, 0, 0, 0]), ONE).violated


class Least(gd.Exponential):
    """argmin for argmax."""

    def draw(self, scores: np.ndarray, size: int, rng: Any) -> np.ndarray:
        return gd.Exponential.draw(self, -np.asarray(scores), size, rng)


def test_argmin_for_argmax_alarms() -> None:
    claim = gd.PureDP(2.0)
    assert audited(Least.calibrate(SCORES, claim), NEAR_SCORES, claim).violated
    assert not audited(gd.Exponential.calibrate(SCORES, claim), NEAR_SCORES, claim).violated


class Early(gd.PartitionSelection):
    """A key is shown with the chance of one more person."""

    def draw(self, counts: np.ndarray, size: int, rng: Any) -> np.ndarray:
        return gd.PartitionSelection.draw(self, np.where(counts > 0, counts + 1, 0), size, rng)


class Uncut(gd.PartitionSelection):
    """Every key is shown, with its noisy count."""

    def draw(self, counts: np.ndarray, size: int, rng: Any) -> np.ndarray:
        return np.where(counts > 0, 100 + gd.PartitionSelection.draw(self, counts, size, rng), 0)


class TrueCut(gd.PartitionSelection):
    """What is shown is decided by the true count."""

    def draw(self, counts: np.ndarray, size: int, rng: Any) -> np.ndarray:
        return np.where(counts >= 3, gd.PartitionSelection.draw(self, counts, size, rng), 0)


KEY_FAULTS = {Early: (0, 1), Uncut: (0, 1), TrueCut: (2, 3)}


@pytest.mark.parametrize("fault", KEY_FAULTS, ids=lambda fault: fault.__name__)
def test_a_faulty_threshold_alarms(fault: type[gd.PartitionSelection]) -> None:
    claim = gd.ApproxDP(1.0, 0.05)
    pair = tuple(np.array([count]) for count in KEY_FAULTS[fault])
    assert audited(fault.calibrate(1, claim), pair, claim).violated
    assert not audited(gd.PartitionSelection.calibrate(1, claim), pair, claim).violated


def test_thresholds_for_one_key_of_two_alarm() -> None:
    claim = gd.ApproxDP(1.0, 0.05)
    pair = np.array([0, 0]), np.array([1, 1])
    assert not audited(gd.PartitionSelection.calibrate(2, claim), pair, claim).violated
    assert audited(gd.PartitionSelection.calibrate(1, claim), pair, claim).violated


def three_times(guarantee: Guarantee) -> Callable[[np.ndarray], np.ndarray]:
    made, stream = gd.Laplace.calibrate(HISTOGRAM, guarantee), gd.research_rng(12)
    noise = iter(made.draw(30_000, stream).reshape(-1, 3, 4))
    return lambda answer: answer + next(noise)


def test_a_composition_that_counts_one_of_three_alarms() -> None:
    assert audited(three_times(ONE), PAIR, ONE, runs=8000).violated
    kept = audited(three_times(ONE), PAIR, 3 * ONE, runs=8000)
    assert not kept.violated
    assert kept.epsilon_lower > 1.5


def floats(seed: int) -> Callable[[float], float]:
    noise = np.random.default_rng(seed)
    return lambda answer: float(answer + noise.laplace())


def test_floats_alarm_and_the_lattice_does_not() -> None:
    assert audited(floats(13), (0.0, 1.0), ONE).violated
    ours = gd.Laplace.calibrate(LpBall(1, 1, 1.0), ONE)
    values = iter((ours.draw(20_000, gd.research_rng(14))[:, 0] * float(ours.lattice_step)).tolist())
    assert not audited(lambda answer: answer + next(values), (0.0, 1.0), ONE).violated


# -- bounds hold as often as they say ----------------------------------------------------------------

N_REPEATED = 400
MISS = 0.1


def rare(delta: float, epsilon: float, seed: int) -> Callable[[int], tuple[int, ...]]:
    """The same among outputs most of which tell nothing: three in a hundred answer, and some of those tell all."""
    toss, inner = np.random.default_rng(seed), leaky(delta / 0.03, epsilon, seed + 1)
    return lambda bit: inner(bit) if toss.random() < 0.03 else (int(toss.integers(50)),)


def leaky(delta: float, epsilon: float, seed: int) -> Callable[[int], tuple[bool, int]]:
    """Randomized response that tells all with probability δ: no (ε, δ)-DP mechanism tells more."""
    toss, truth = np.random.default_rng(seed), 1 / (1 + math.exp(-epsilon))
    return lambda bit: (True, bit) if toss.random() < delta else (False, bit if toss.random() < truth else 1 - bit)


AT_THE_CLAIM = {
    "pure": (leaky(0.0, 1.0, 1), ONE),
    "approximate": (leaky(0.1, 1.0, 2), gd.ApproxDP(1.0, 0.1)),
    "tells all": (leaky(0.3, 0.0, 3), gd.ApproxDP(0.0, 0.3)),
}
RARELY_AT_THE_CLAIM = {
    "pure": (rare(0.0, 1.0, 4), ONE),
    "approximate": (rare(0.01, 1.0, 6), gd.ApproxDP(1.0, 0.01)),
    "tells all": (rare(0.03, 0.0, 8), gd.ApproxDP(0.0, 0.03)),
}


@pytest.mark.parametrize("name", AT_THE_CLAIM)
def test_the_bound_is_above_the_truth_as_rarely_as_it_says(name: str) -> None:
    """At mechanisms that reach their claim everywhere. Too many of 400 with probability 1e-9 where the bound holds."""
    mechanism, claim = AT_THE_CLAIM[name]
    curve, stream = points(claim), gd.research_rng(15)
    tests = [black_box(runs_of(mechanism, (0, 1), 400, stream), (0, 1), curve, MISS)[0] for _ in range(N_REPEATED)]
    above = sum(test.alarms for test in tests)
    assert bdtrc(above - 1, N_REPEATED, MISS) > 1e-9
    assert np.mean([test.epsilon_lower for test in tests]) > 0.4 * np.mean([test.epsilon_claimed for test in tests])
    small = sum(test.p_value <= MISS for test in tests)
    assert bdtrc(small - 1, N_REPEATED, MISS) > 1e-9


@pytest.mark.parametrize("name", RARELY_AT_THE_CLAIM)
def test_rare_outputs_accuse_falsely_as_rarely_as_they_say(name: str) -> None:
    """Where two rules share the miss: the audit as a whole, and each of them. Too many of 400 with probability 1e-9."""
    mechanism, claim = RARELY_AT_THE_CLAIM[name]
    curve, stream = points(claim), gd.research_rng(16)
    results = [black_box(runs_of(mechanism, (0, 1), 1500, stream), (0, 1), curve, MISS) for _ in range(N_REPEATED)]
    assert bdtrc(sum(any(one.alarms for one in tests) for tests in results) - 1, N_REPEATED, MISS) > 1e-9
    for is_rare in (False, True):
        counted = [one for tests in results for one in tests if one.counted and ("rare" in one.name) == is_rare]
        assert len(counted) > N_REPEATED / 40
        small = sum(one.p_value <= MISS for one in counted)
        assert bdtrc(small - 1, len(counted), MISS) > 1e-9


def test_white_box_p_values_are_small_as_rarely_as_they_should() -> None:
    """Of Laplace noise, 300 samples: each p-value is at most 0.1 in a tenth of them, but for a chance of 1e-9."""
    made = gd.Laplace.calibrate(HISTOGRAM, ONE)
    results = [gd.audit.noise_tests(made, made.draw(2000, gd.research_rng(seed))) for seed in range(300)]
    for name in results[0]:
        small = sum(result[name] <= 0.1 for result in results)
        assert bdtrc(small - 1, len(results), 0.1) > 1e-9, name


FAST = (
    "Gaussian, real",
    "Gaussian, discrete",
    "Identity, marginals",
    "Matrix, Gaussian",
    "Matrix, real",
    "NIM",
    "Cube",
)


@pytest.mark.parametrize("case", [case for case in CASES if case.name in FAST], ids=str)
def test_p_values_of_other_noise_are_small_as_rarely_as_they_should(case: Case) -> None:
    """60 samples each, at a level of 0.1, but for a chance of 1e-9."""
    made = case.make(case.guarantee)
    streams = [gd.research_rng(seed) for seed in range(100, 160)]
    results = [gd.audit.noise_tests(made, made.draw(1000, stream), stream) for stream in streams]
    for name in results[0]:
        small = sum(result[name] <= 0.1 for result in results)
        assert bdtrc(small - 1, len(results), 0.1) > 1e-9, name
