"""Audits by distinguishing the outputs for two answers."""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy

from gaugedp._internal.progress import part_of, silent
from gaugedp._internal.validate import between, whole
from gaugedp.audit.events import ProfilePoint, Rule, best_of, best_rules, points, rarest_of
from gaugedp.audit.noise import expected, white_box
from gaugedp.audit.result import Audit, Test
from gaugedp.audit.samples import ObservedRuns, reach, runs_of
from gaugedp.audit.statistics import scores
from gaugedp.entropy import Entropy, system_rng
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees.base import Guarantee
from gaugedp.mechanisms.base import Calibrated

_FOR_RARE = 0.5  # of the miss, for the rare rule where there is one


def audit(  # noqa: PLR0913, PLR0917 - an entry point
    mechanism: Any,
    answer_a: Any,
    answer_b: Any,
    guarantee: Guarantee | None = None,
    runs: int = 20_000,
    confidence: float = 0.99,
    rng: Entropy | None = None,
    name: str | None = None,
    on_progress: Callable[[float], object] = silent,
) -> Audit:
    """Test whether a mechanism violates its privacy guarantee.

    Use it on a mechanism of your own, or of any library, before you rely on its guarantee. The mechanism runs many
    times on two neighbouring answers, which are answers for tables that differ in one unit. If the outputs differ by
    more than the guarantee allows, the audit reports a violation. Note that finding no violation does not prove
    privacy. No table is read, and no budget is spent.

    Parameters
    ----------
    mechanism : Mechanism or callable
        A mechanism of this library, or a function that maps an answer to an output, with independent randomness in each
        call. The output may be a number, an array, a text, None, bytes, a date, a frame, a release, or a container of
        these.
    answer_a, answer_b : array_like or object
        The answers on two neighbouring tables. For a function of your own, only you can know whether they are.
    guarantee : Guarantee, optional
        The claim to test. The default is the guarantee of the mechanism.
    runs : int
        The number of runs, at least 100. Default 20,000.
    confidence : float
        The probability, at least, with which a correct mechanism is not reported as a violation. Default 0.99.
    rng : Entropy, optional
        A random stream for reproducible audits. The default is that of the operating system.
    name : str, optional
        The name of the mechanism in the result. By default it is derived from the mechanism.
    on_progress : callable, optional
        A function that is called with the completed share of the audit, from 0 to 1.

    Returns
    -------
    Audit
        The verdict, the tests, and a lower confidence bound on ε. The bound exceeds the true ε at its δ with
        probability at most 1 − `confidence` (docs/theory/audit.md).

    Notes
    -----
    All mechanisms are tested by their outputs alone. For mechanisms of this library, half of 1 − `confidence` goes to
    additional tests that compare the outputs with the noise distribution that the claim requires.

    Examples
    --------
    Rounding does not hide which of the answers 10 and 11 was given, so the claim of ε = 1 is violated:

    >>> import gaugedp as gd
    >>> gd.audit.audit(round, 10, 11, gd.PureDP(1), runs=1000, rng=gd.research_rng(1)).violated
    True
    """
    start = time.perf_counter()
    whole(minimum=100, runs=runs)  # runs at least
    between(0, 1, confidence=confidence)
    claim = _claim(mechanism, guarantee)
    curve = points(claim)
    stream = system_rng() if rng is None else rng
    model = expected(mechanism, claim)
    of_runs = 0.9 if model is None else 0.5  # share of the time, as white-box tests take the rest
    samples = runs_of(mechanism, (answer_a, answer_b), int(runs), stream, part_of(on_progress, 0.0, of_runs))
    miss = (1 - confidence) * (1 if model is None else 0.5)
    tests = black_box(samples, (answer_a, answer_b), curve, miss)
    if model is not None:
        white_box_progress = part_of(on_progress, of_runs, 1.0)
        p_values = white_box(model, samples, (answer_a, answer_b), stream, white_box_progress)
        level = miss / len(p_values)
        tests += [Test(title, "white-box", p, True, p < level) for title, p in p_values.items()]
    on_progress(1.0)
    called = _name(mechanism) if name is None else name
    result = _judged(tests, claim, called, (int(runs), confidence, time.perf_counter() - start))
    return replace(result, reach=reach(mechanism, (answer_a, answer_b)))


def _claim(mechanism: Any, guarantee: Guarantee | None) -> Guarantee:
    if guarantee is not None:
        return guarantee
    if isinstance(mechanism, Calibrated):
        return mechanism.guarantee
    raise InvalidRequest(
        "You passed a function, which does not state the guarantee that the audit should test.",
        "Pass the guarantee as well, such as guarantee=gd.PureDP(1.0).",
    )


def _judged(tests: list[Test], claim: Guarantee, name: str, how: tuple[int, float, float]) -> Audit:
    counted = next(test for test in tests if test.kind == "black-box" and test.counted)
    alarms = [test for test in tests if test.alarms]
    first: Callable[[Test], Any] = lambda test: (test is not counted, test.p_value)  # noqa: E731
    decided = min(alarms, key=first, default=counted)
    return Audit(
        mechanism=name,
        guarantee=claim,
        epsilon_lower=counted.epsilon_lower or 0.0,
        epsilon_claimed=counted.epsilon_claimed or 0.0,
        delta=counted.delta or 0.0,
        violated=bool(alarms),
        method=f"{decided.kind}: {decided.name}",
        runs=how[0],
        confidence=how[1],
        seconds=how[2],
        tests=tuple(tests),
    )


def _name(mechanism: Any) -> str:
    if isinstance(mechanism, Calibrated):
        return repr(mechanism)
    return str(getattr(mechanism, "__qualname__", type(mechanism).__name__))


def black_box(runs: ObservedRuns, answers: tuple[Any, Any], points: Sequence[ProfilePoint], miss: float) -> list[Test]:
    """Return a test of each score and one of rare outputs.

    One or two are `counted`, the leading one first. Theorem (docs/theory/audit.md, theorem 2). The runs are independent
    given the sides. Scores are learned on the first quarter; rules, with score and point of the curve, are chosen on
    the second: the one that would prove the largest ε, and, if it would raise an alarm, the one on few runs whose
    guesses are least likely under the claim. They share the miss: all counted tests' bounds on the second half are
    below the true ε at their δ except with probability `miss`.
    """
    quarter, half = runs.outputs.size // 4, runs.outputs.size // 2
    by_name = _scores(runs, answers, quarter)
    # 3.0: deviations by which the best of many rules may be lucky on the runs that it is chosen on
    deviations = 3.0 - float(scipy.special.ndtri(min(miss, 0.4)))
    rules = {
        name: best_rules(score[quarter:half], runs.is_a[quarter:half], points, deviations)
        for name, score in by_name.items()
    }
    common = best_of([rule for rule, _ in rules.values()], len(points))
    rare = _promising([rule for _, rule in rules.values() if rule is not None], common, miss)
    held_out = {name: (score[half:], runs.is_a[half:]) for name, score in by_name.items()}
    levels = (miss * (1 - _FOR_RARE), miss * _FOR_RARE) if rare else (miss, 0.0)
    tests = [_test(name, rule, held_out[name], (levels[0], rule is common)) for name, (rule, _) in rules.items()]
    tests += [
        _test(f"{name}, rare outputs", rule, held_out[name], (levels[1], True))
        for name, (_, rule) in rules.items()
        if rule is not None and rule is rare
    ]
    return sorted(tests, key=_order)


def _promising(rules: Sequence[Rule], common: Rule, miss: float) -> Rule | None:
    """Return the rare rule with most evidence, if twice as much would alarm."""
    rare = rarest_of(rules)
    if rare is None or rare == common or 2 * rare.evidence < -math.log(miss * _FOR_RARE):
        return None
    return rare


def _order(test: Test) -> tuple[bool, float]:
    """Return a sort key: counted tests first, alarms by their excess."""
    if not test.counted:
        return True, test.p_value
    return False, (test.epsilon_claimed or 0.0) - (test.epsilon_lower or 0.0) if test.alarms else 0.0


def _scores(runs: ObservedRuns, answers: tuple[Any, Any], n_learned: int) -> dict[str, np.ndarray]:
    size = runs.outputs.size
    by_name = scores(runs.outputs, runs.is_a, np.arange(size) < n_learned, answers)
    if not by_name:  # all outputs are equal
        return {"nothing": np.zeros(size)}
    return {name: np.clip(score, -1e300, 1e300) for name, score in by_name.items()}


def _test(name: str, rule: Rule, held_out: tuple[np.ndarray, np.ndarray], how: tuple[float, bool]) -> Test:
    miss, counted = how
    guesses = rule.guesses(*held_out)
    bound = max(0.0, guesses.epsilon(miss, rule.point.delta))
    return Test(
        name=name,
        kind="black-box",
        p_value=guesses.p_value(rule.point.epsilon, rule.point.delta),
        counted=counted,
        alarms=counted and bound > rule.point.epsilon,
        detail=_in_words(rule, guesses.right, guesses.guessed),
        epsilon_lower=bound,
        epsilon_claimed=rule.point.epsilon,
        delta=rule.point.delta,
    )


def _in_words(rule: Rule, right: int, guessed: int) -> str:
    upper, lower = ("a", "b") if rule.upper_is_a else ("b", "a")
    parts = [f"{upper} if score ≥ {rule.high:.4g}"] if math.isfinite(rule.high) else []
    if rule.always:
        parts.append(f"else {lower}")
    elif math.isfinite(rule.low):
        parts.append(f"{lower} if {'' if parts else 'score '}≤ {rule.low:.4g}")
    return f"{', '.join(parts) or 'no guess'}: {right:,} of {guessed:,} right"
