"""The audit as people call it: any function, any output, bad requests, what is returned."""

import json
import math
import re
from collections import namedtuple
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy

import gaugedp as gd
from gaugedp._internal.numbers import digits_down
from gaugedp.audit.neighbours import neighbours
from gaugedp.bodies import LpBall, Polytope
from gaugedp.errors import InvalidRequest

LINE = LpBall(1, 1, 1.0)
ONE = gd.PureDP(1.0)


def coins(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def audited(mechanism, a=0, b=1, claim=ONE, runs=4000, **more):
    return gd.audit.audit(mechanism, a, b, claim, runs=runs, rng=gd.research_rng(1), **more)


def response(epsilon: float, seed: int = 1):
    """Randomized response about a bit."""
    toss, truth = coins(seed), 1 / (1 + math.exp(-epsilon))
    return lambda bit: bit if toss.random() < truth else 1 - bit


# -- what is found -----------------------------------------------------------------------------------


def test_a_kept_guarantee_is_not_accused_and_nearly_proved() -> None:
    actual = audited(response(1.0))
    assert not actual.violated
    assert 0.8 < actual.epsilon_lower < 1
    assert actual.epsilon_claimed == 1
    assert actual.delta == 0
    assert actual.method.startswith("black-box: ")


def test_a_broken_guarantee_is_found() -> None:
    actual = audited(response(1.5))
    assert actual.violated
    assert 1 < actual.epsilon_lower < 1.5
    assert repr(actual).count("violated") == 1


def tell(words: list, seed: int = 2):
    """One of the words, the last one almost only from answer 1."""
    toss = coins(seed)
    return lambda bit: words[-1] if bit and toss.random() < 0.5 else words[int(toss.integers(len(words) - 1))]


@pytest.mark.many
@pytest.mark.parametrize(
    "words",
    [
        ["x", "y", "z"],
        [None, 0.5, 1.5],
        [1.0, 2.0, float("nan")],
        [1.0, float("inf"), float("-inf")],
        [0.0, 1.0, -0.0],
        [(1, "a"), (1, None), (1, "a", "b")],
        [np.zeros((2, 2)), np.ones((2, 2)), np.eye(2)],
        [np.zeros(2), np.zeros(3), np.zeros(1)],
        [{"p": [1, 2]}, {"p": []}, {"q": [1, 2]}],
        [2**80, 2**80 + 2, 2**80 + 1],
        [1 + 2j, 1j, 1 - 2j],
        [np.float32(0.5), True, np.int8(3)],
        [b"x", frozenset({1, 2}), frozenset({1, 3})],
    ],
    ids=str,
)
def test_any_output_is_told_from_any_other(words: list) -> None:
    assert audited(tell(words), claim=gd.PureDP(2.0)).violated
    teller = tell(words, seed=3)
    kept = audited(lambda _: teller(1))  # the same law for both answers
    assert not kept.violated


def test_lists_of_random_length_tell_by_their_length() -> None:
    toss = coins(3)
    assert audited(lambda bit: list(toss.integers(0, 2, toss.poisson(3 + 2 * bit)))).violated


def test_a_quadratic_difference_is_seen() -> None:
    """The sign of each output is fair, and its two sizes tell: as of eigenvectors."""
    toss = coins(4)
    scale = {0: np.array([3.0, 1.0]), 1: np.array([1.0, 3.0])}
    actual = audited(lambda bit: scale[bit] * toss.normal(size=2))
    assert actual.violated


def test_the_low_order_bits_of_floats_tell() -> None:
    toss = coins(5)
    actual = audited(lambda x: x + toss.laplace(), 0.0, 1.0)
    assert actual.violated
    assert actual.epsilon_lower > 2


def test_a_point_with_a_tiny_delta_is_not_the_only_one_that_is_tried() -> None:
    """σ a third too small: nothing is seen at δ = 1e−6, and much at larger ones."""
    mu = gd.ApproxDP(1.0, 1e-6)
    claim = gd.Gaussian.calibrate(LpBall(1, 2, 1.0), mu).guarantee
    wide = gd.Gaussian.calibrate(LpBall(1, 2, 1.0), gd.GaussianDP(1.5 * claim.mu))
    step = float(wide.lattice_step)
    noise = iter((wide.draw(20_000, gd.research_rng(6)) * step)[:, 0].tolist())
    actual = gd.audit.audit(lambda x: x + next(noise), 0.0, 1.0, claim, rng=gd.research_rng(7))
    assert actual.violated
    assert actual.delta > 1e-3


# -- rare outputs that only one answer has -----------------------------------------------------------

SIGNALS = {"a number": lambda value: value + 1000.0, "None": lambda _: None, "a text": lambda _: "error"}
SMALL_DELTA = gd.ApproxDP(1.0, 1e-4)


def telling(rate: float, sign=SIGNALS["None"], seed: int = 6):
    """Laplace noise for ε = 1 on a coarse grid; `sign` of it with probability `rate` where the answer is above 0."""
    noise = coins(seed)

    def release(answer: float):
        value = round(answer + noise.laplace(scale=1.0), 1)
        return sign(value) if answer > 0 and noise.random() < rate else value

    return release


@pytest.mark.parametrize("sign", SIGNALS)
@pytest.mark.parametrize(("rate", "runs"), [(0.02, 20_000), (0.1, 4000)])
def test_a_rare_output_that_only_one_answer_has_is_found(sign: str, rate: float, runs: int) -> None:
    actual = audited(telling(rate, SIGNALS[sign]), 0.0, 1.0, runs=runs)
    assert actual.violated, actual
    assert actual.epsilon_lower > 1.3
    assert not audited(telling(0.0), 0.0, 1.0, runs=runs).violated


@pytest.mark.slow
@pytest.mark.parametrize("sign", SIGNALS)
def test_a_rare_output_beyond_delta_is_found(sign: str) -> None:
    actual = audited(telling(5e-3, SIGNALS[sign]), 0.0, 1.0, SMALL_DELTA, runs=60_000)
    assert actual.violated, actual
    assert actual.delta < 0.01
    assert not audited(telling(1e-4, SIGNALS[sign]), 0.0, 1.0, SMALL_DELTA, runs=60_000).violated


def test_the_test_of_rare_outputs_leaves_the_bound_of_common_ones() -> None:
    """The honest twin: what is proved stays near the claim."""
    actual = audited(telling(0.0), 0.0, 1.0, runs=20_000)
    assert 0.85 < actual.epsilon_lower <= 1
    assert not actual.method.endswith("rare outputs")


def test_functions_of_ours_that_choose_or_need_the_answer() -> None:
    body = gd.marginals(gd.Domain.of(a=gd.integers(1, 3)), "a").sensitivity(gd.PrivacyUnit())
    mechanism = gd.KNorm.calibrate(body, ONE)
    pool = mechanism.pool(600, gd.research_rng(8))

    def release(answer: np.ndarray) -> np.ndarray:
        return pool.pop()(answer)

    one_by_one = gd.audit.audit(
        release, np.array([4, 5, 6]), np.array([5, 5, 6]), ONE, runs=600, rng=gd.research_rng(7)
    )
    assert not one_by_one.violated
    assert not gd.audit.audit(mechanism, [4, 5, 6], [5, 5, 6], runs=600, rng=gd.research_rng(9)).violated


def test_what_is_returned_can_be_written_down() -> None:
    actual = gd.audit.audit(gd.Laplace.calibrate(LINE, ONE), [0.0], [1.0], runs=1000, rng=gd.research_rng(1))
    facts = json.loads(json.dumps(actual.to_dict()))
    assert facts["epsilon_lower"] == actual.epsilon_lower
    assert facts["guarantee"] == "PureDP(1)"
    assert {row["kind"] for row in facts["tests"]} == {"white-box", "black-box"}
    assert 1 <= sum(row["counted"] for row in facts["tests"] if row["kind"] == "black-box") <= 2
    assert actual.runs == 1000
    assert actual.seconds > 0
    assert "1,000 runs" in repr(actual)


def test_the_same_key_gives_the_same_audit() -> None:
    mechanism = gd.Laplace.calibrate(LINE, ONE)
    first, other = (gd.audit.audit(mechanism, [0.0], [1.0], runs=500, rng=gd.research_rng(2)) for _ in range(2))
    assert first.to_dict() | {"seconds": 0} == other.to_dict() | {"seconds": 0}


# -- what is refused ---------------------------------------------------------------------------------

HOLES = [(math.nan, 1.0), (0.0, math.nan), (np.full(2, math.nan), np.zeros(2))]
WIDE = gd.Laplace.calibrate(LpBall(10_000, 1, 1.0), ONE)
REFUSED = [
    ("`confidence` is 1.0", {"confidence": 1.0}),
    ("`confidence` is 0", {"confidence": 0}),
    ("`confidence` is nan", {"confidence": float("nan")}),
    ("`runs` is 99", {"runs": 99}),
    ("`runs` is 1000.5", {"runs": 1000.5}),
    ("The two answers are equal", {"b": 0.0}),
    ("does not state the guarantee", {"claim": None}),
    ("`guarantee` is 2.0", {"claim": 2.0}),
    ("have different shapes, () and (2,)", {"b": [1, 2]}),
    ("raised ZeroDivisionError on answer_", {"mechanism": lambda x: 1 / (x - x)}),
    ("raised KeyError on answer_b", {"mechanism": lambda x: {0: 1}[x]}),
    ("An audit needs a mechanism or a function,", {"mechanism": 3}),
    *(("One of the two answers contains NaN", {"a": a, "b": b}) for a, b in HOLES),
    ("do not fit in memory", {"mechanism": WIDE, "a": np.zeros(10_000), "b": np.eye(1, 10_000)[0], "runs": 10**6}),
]


@pytest.mark.parametrize(("words", "changed"), REFUSED)
def test_bad_requests_are_refused_in_a_sentence(words: str, changed: dict) -> None:
    requested = {"mechanism": lambda x: x, "a": 0, "b": 1, "runs": 200} | changed
    with pytest.raises(InvalidRequest, match=r".\. .*Nothing was read and nothing was spent\.$") as refused:
        audited(**requested)
    assert words in str(refused.value)


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        (([0.0], [2.0]), "times the most that one unit can change"),
        (([0.0, 1.0], [1.0, 1.0]), "of shape (2,)"),
        (([0.0], [0.0]), "are equal"),
        (([0.0], [math.nan]), "contains NaN"),
        (([0.0], [math.inf]), "finite numbers each"),
    ],
)
def test_answers_of_a_mechanism_must_be_neighbours(answers, words: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        gd.audit.audit(gd.Laplace.calibrate(LINE, ONE), *answers, runs=200)
    assert words in str(refused.value)


def test_a_result_that_is_always_the_same_proves_nothing() -> None:
    actual = audited(lambda _: "same", runs=100)
    assert (actual.epsilon_lower, actual.violated) == (0.0, False)


class Opaque:
    """Holds an answer, and shows nothing of it."""

    def __init__(self, value: float) -> None:
        self.value = value


@pytest.mark.parametrize(
    "hide",
    [
        Opaque,
        lambda _: object(),
        lambda value: (one for one in [value]),
        lambda value: [1.0, Opaque(value)],
        lambda value: {"model": Opaque(value)},
        lambda value: lambda: value,
        lambda value: np.array([Opaque(value), None]),
        lambda value: scipy.sparse.csr_array([[value + 1.0]]),
    ],
)
def test_an_output_that_cannot_be_read_is_refused_before_all_runs(hide) -> None:
    calls = []

    def release(value: float):
        calls.append(value)
        return hide(value)

    with pytest.raises(InvalidRequest, match=r"which the audit cannot compare\. Let it return a number"):
        audited(release, runs=500)
    assert len(calls) == 1


def test_a_rare_output_that_cannot_be_read_is_refused_too() -> None:
    toss = coins(9)
    with pytest.raises(InvalidRequest, match="of type Opaque"):
        audited(lambda _: Opaque(1.0) if toss.random() < 0.02 else 1.0, runs=500)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([[1.0], [2.0, 3.0]], [[1.0, 2.0], [3.0]]),
        ([[], [1]], [[1], []]),
        ((1, (2, 3)), ((1, 2), 3)),
        ([1, [2]], [[1], 2]),
        ([np.zeros(2), np.zeros(3)], [np.zeros(3), np.zeros(2)]),
        ({"a": [[1], [2, 3]]}, {"a": [[1, 2], [3]]}),
        (np.array([2**60]), np.array([2**60 + 1])),
        (np.array([2**53]), np.array([2**53 + 1])),
        (np.ma.array([1.0, 2.0], mask=[0, 1]), np.ma.array([1.0, 2.0], mask=[0, 0])),
        (np.array([(1.0,)], dtype=[("a", float)]), np.array([(1.0,)], dtype=[("b", float)])),
        (1.0, 1),
        (True, 1),
        (np.float32(1.0), np.float64(1.0)),
        (np.zeros(2, dtype=np.int32), np.zeros(2)),
        (np.array(1.0), 1.0),
        ({1: "a"}, {1.0: "a"}),
    ],
    ids=str,
)
def test_structure_and_types_are_part_of_an_output(one, other) -> None:
    actual = audited(lambda value: other if value else one, runs=500)
    assert actual.violated


@dataclass(frozen=True)
class Shown:
    total: float
    words: tuple[str, ...]


Pair = namedtuple("Pair", "first second")
WHOLE = gd.Domain.of(a=gd.integers(1, 2))


def released(value: float) -> gd.Release:
    frame = pd.DataFrame({"a": [1] * (1 + 100 * int(value))})
    table = gd.Table.scan(frame, domain=WHOLE, unit=gd.PrivacyUnit(), name="t")
    account = gd.Ledger.open(":memory:", ONE, table="t", unit=gd.PrivacyUnit())
    return gd.release(gd.query(WHOLE, "a"), table, ledger=account, epsilon=1.0, rng=gd.research_rng(1))


@pytest.mark.parametrize(
    "shown",
    [
        lambda value: Shown(value, ("x",)),
        lambda value: Shown(0.0, ("x", str(value))),
        lambda value: Pair(1, value),
        Decimal,
        lambda value: date(2000, 1 + value, 1),
        lambda value: pd.DataFrame({"x": np.arange(200.0) * 10.0, "y": np.arange(200) == value + 100}),
        lambda value: pd.DataFrame({f"x{value}": [1.0]}),
        lambda value: pd.Series([1.0], index=[value]),
        lambda value: pl.DataFrame({"x": [value]}),
    ],
)
def test_frames_and_records_are_read_to_the_end(shown) -> None:
    assert audited(shown, runs=200).violated


def test_a_release_of_ours_is_read_by_its_answers() -> None:
    far = {0: released(0), 1: released(1)}
    assert audited(far.__getitem__, runs=200).violated
    near = {0: released(0), 1: replace(released(0), facts={**far[0].facts, "account": {"spent": "PureDP(2)"}})}
    assert not audited(near.__getitem__, runs=200).violated


def test_tables_with_missing_values_are_answers_and_equal_ones_are_told() -> None:
    hole = np.array([[1.0, math.nan]])
    assert audited(np.nansum, hole, np.array([[5.0, math.nan]]), runs=200).violated
    with pytest.raises(InvalidRequest, match="are equal"):
        audited(np.nansum, hole, hole.copy(), runs=200)


# -- what is printed ---------------------------------------------------------------------------------


def gaussian(std: float, seed: int = 7):
    """Gaussian noise without low digits."""
    noise = coins(seed)
    return lambda answer: round(answer + noise.normal(scale=std), 1)


def test_marks_and_guesses_are_explained() -> None:
    text = repr(audited(response(1.5)))
    assert (
        "! marks a test that alarms, * one that may alarm and does not; the others do not affect the verdict." in text
    )
    assert "In brackets: the answer, a or b, that the score of an output suggests, and the number" in text
    assert re.search(r"\(b if score ≥ \S+, (else a|a if ≤ \S+): [\d,]+ of [\d,]+ right\)", text)


def test_an_audit_has_the_name_that_it_is_given() -> None:
    assert repr(audited(response(1.0), name="a coin")).startswith("Audit of a coin\n")
    assert "Audit of response" in repr(audited(response(1.0)))


def test_low_digits_are_told_apart_from_noise_that_is_too_small() -> None:
    toss = coins(5)
    sentence = "The low digits of the outputs reveal the answer: round the outputs to audit only the calibration."
    by_digits = audited(lambda x: x + toss.laplace(), 0.0, 1.0)
    assert by_digits.remarks == (sentence,)
    assert sentence in repr(by_digits)
    by_size = audited(gaussian(1.0), claim=gd.GaussianDP(0.3))
    assert by_size.violated
    assert by_size.remarks == ()


def test_rounded_noise_that_is_too_small_is_not_blamed_on_digits() -> None:
    """Of numbers with two decimals, "off the grid" says little more than "below 1/4", and that says all."""
    noise = coins(8)
    actual = audited(lambda x: round(x + noise.normal(scale=0.3), 2), claim=gd.ApproxDP(1, 1e-5), runs=20_000)
    assert actual.violated
    assert actual.remarks == ()


def test_answers_that_are_too_near_are_told() -> None:
    body = gd.query(gd.Domain.of(a=["x", "y"]), "a").sensitivity(gd.PrivacyUnit())
    mechanism, zero = gd.Laplace.calibrate(LpBall(2, 1), gd.PureDP(2.0)), np.zeros(2)
    near = gd.audit.audit(mechanism, zero, [0.125, 0], runs=500, rng=gd.research_rng(1))
    assert near.reach == 0.125
    assert "The two answers are 0.125 as far apart as neighbours' can be" in repr(near)
    whole = gd.audit.audit(mechanism, *neighbours(mechanism), runs=500, rng=gd.research_rng(1))
    assert (whole.reach, whole.remarks) == (1.0, ())
    counts = gd.Laplace.calibrate(body, gd.PureDP(2.0))
    with pytest.raises(InvalidRequest, match="equal on the mechanism's lattice, whose step is 1"):
        gd.audit.audit(counts, zero, [0.4, 0], runs=500)
    with pytest.raises(InvalidRequest, match="At least one of the two answers is not an"):
        gd.audit.audit(counts, "a", "b", runs=500)
    with pytest.raises(InvalidRequest, match="The answers exceed 2"):
        gd.audit.audit(mechanism, [1e300, 0], [0, 0], runs=500)


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_how_rare_an_output_it_would_see_is_told(epsilon: float) -> None:
    """With the probability that is told, at least 7 of 10 audits see it; with a tenth of that, at most 2 do."""
    silent = audited(leaking(epsilon, 0.0, 1), claim=gd.PureDP(epsilon), runs=1000)
    told = silent.remarks[0]
    assert told.startswith("An output that only one of the answers gives is detected where its probability is")
    chance = float(re.findall(r"0\.\d+", told)[0])
    seen = [
        sum(
            audited(leaking(epsilon, share * chance, seed), claim=gd.PureDP(epsilon), runs=1000).violated
            for seed in SEEDS
        )
        for share in (1.0, 0.1)
    ]
    assert seen[0] >= 7
    assert seen[1] <= 2
    for large in (8.0, 800.0):
        few = audited(leaking(large, 0.0, 1), claim=gd.PureDP(large), runs=1000).remarks[0]
        assert few.startswith("So few runs can hardly contradict the claim, whatever the outputs: about ")


@dataclass
class Record:
    noisy: float
    note: str


TELLING = {
    "a pair": lambda x, says: (x, "yes" if says else "no"),
    "a mapping": lambda x, says: {"noisy": x, "who": "alice" if says else "bob", "id": f"{x:.9f}"},
    "a key": lambda x, says: {"x" if says else "y": x},
    "a record": lambda x, says: Record(x, f"group {says:d}"),
    "a date": lambda x, says: (x, date(2020, 1, 1 + says)),
    "a sentence": lambda x, says: f"estimate {x:.9f}, group {'smokers' if says else 'others'}",
    "a length": lambda x, says: f"{x:.9f}" + "0" * 9 * says,
}


@pytest.mark.parametrize("name", TELLING)
def test_texts_beside_noisy_numbers_are_seen(name: str) -> None:
    toss = coins(3)
    assert audited(lambda bit: TELLING[name](toss.normal(), bit == 1), runs=2000).violated
    assert not audited(lambda _: TELLING[name](toss.normal(), toss.random() < 0.5), runs=2000).violated


SEEDS = range(1, 11)


def leaking(epsilon: float, chance: float, seed: int):
    """Twice the noise that is needed, but one answer gives itself away with a chance."""
    toss = coins(seed)
    return lambda x: 10**6 if x == 1 and toss.random() < chance else round(x + toss.laplace(scale=2 / epsilon))


NEEDED = 3.73  # σ for (1, 1e-5) at a distance of 1


def test_the_curve_of_gaussian_noise_is_the_claim_to_audit() -> None:
    """Half of the noise: found by the curve, hardly ever by its one point, which says so."""
    by_curve = audited(gaussian(NEEDED / 2), claim=gd.GaussianDP(1 / NEEDED), runs=20_000)
    assert by_curve.violated
    by_point = audited(gaussian(NEEDED / 2), claim=gd.ApproxDP(1.0, 1e-5), runs=5000)
    assert not by_point.violated
    assert "claim its curve, gd.GaussianDP(Δ/σ)" in by_point.remarks[0]
    assert by_point.remarks[0] in repr(by_point)
    walk = gd.KNorm.calibrate(LpBall(2, 2, 1.0), ONE)
    of_ours = gd.audit.audit(walk, [0, 0], [1, 0], gd.ApproxDP(1.0, 1e-9), runs=500, rng=gd.research_rng(1))
    assert of_ours.remarks == ()


def test_the_mu_that_is_proved_is_that_of_the_bound() -> None:
    actual = audited(gaussian(NEEDED / 2), claim=gd.GaussianDP(1 / NEEDED), runs=20_000)
    assert actual.mu_lower is not None
    assert 1 / NEEDED < actual.mu_lower < 2 / NEEDED
    assert gd.GaussianDP(actual.mu_lower).delta(actual.epsilon_lower) <= actual.delta
    assert gd.GaussianDP(actual.mu_lower * 1.001).delta(actual.epsilon_lower) > actual.delta
    assert f"μ ≥ {digits_down(actual.mu_lower)}, where" in repr(actual)
    assert replace(actual, epsilon_lower=0.0).mu_lower == 0.0
    assert audited(response(1.0)).mu_lower is None


# -- how far it is -----------------------------------------------------------------------------------


def test_an_audit_tells_how_far_it_is() -> None:
    told: list[float] = []
    audited(response(1.0), runs=200, on_progress=told.append)
    assert told == sorted(told)
    assert (told[0], told[-1], len(told)) == (0.0, 1.0, 101)


@pytest.mark.slow
def test_both_walks_of_an_audit_are_told() -> None:
    """The runs up to a half, and what they are compared with beyond it."""
    told: list[float] = []
    body = Polytope.symmetric_hull(np.random.default_rng(1).integers(0, 2, (9, 24)) * 2.0 - 1)
    walk = gd.KNorm.calibrate(body, gd.ApproxDP(1.0, 1e-9))
    gd.audit.audit(walk, *neighbours(walk), runs=100, rng=gd.research_rng(1), on_progress=told.append)
    assert told == sorted(told)
    assert len([share for share in told if share <= 0.5]) > 3
    assert len([share for share in told if share > 0.5]) > 3
