"""Black-box tests: what runs prove about ε, whatever is inside."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy

from gaugedp.audit.events import Point, Rule, best_of, best_rules, rarest_of
from gaugedp.audit.result import Test
from gaugedp.audit.samples import Runs
from gaugedp.audit.statistics import scores

_LARGEST = 1e300  # of a score
_CAUTION = 3.0  # deviations by which the best of many rules may be lucky on the runs that it is chosen on
_FOR_RARE = 0.5  # of the miss, for the rare rule where there is one


def black_box(runs: Runs, answers: tuple[Any, Any], points: Sequence[Point], miss: float) -> list[Test]:
    """Return a test for each score and one of rare outputs; one or two are `counted`, the leading one first.

    Theorem (docs/theory/audit.md, theorem 2). The runs are independent given the sides. Scores are learned on the
    first quarter; rules, with score and point of the curve, are chosen on the second: the one that would prove the
    largest ε, and, where it would raise an alarm, the one on few runs whose guesses are least likely under the claim.
    They share the miss: all counted tests' bounds on the second half are below the true ε at their δ but with
    probability `miss`.
    """
    quarter, half = runs.outputs.size // 4, runs.outputs.size // 2
    by_name = _scores(runs, answers, quarter)
    deviations = _CAUTION - float(scipy.special.ndtri(min(miss, 0.4)))
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
    """Return the rare rule that has the most evidence, if twice as much, from twice the runs, would alarm."""
    rare = rarest_of(rules)
    if rare is None or rare == common or 2 * rare.evidence < -math.log(miss * _FOR_RARE):
        return None
    return rare


def _order(test: Test) -> tuple[bool, float]:
    """Counted tests first: the one that is farthest above its claim, else that of the common rule."""
    if not test.counted:
        return True, test.p_value
    return False, (test.epsilon_claimed or 0.0) - (test.epsilon_lower or 0.0) if test.alarms else 0.0


def _scores(runs: Runs, answers: tuple[Any, Any], n_learned: int) -> dict[str, np.ndarray]:
    size = runs.outputs.size
    by_name = scores(runs.outputs, runs.is_a, np.arange(size) < n_learned, answers)
    if not by_name:  # all outputs are equal
        return {"nothing": np.zeros(size)}
    return {name: np.clip(score, -_LARGEST, _LARGEST) for name, score in by_name.items()}


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
