"""Black-box tests: what runs prove about ε, whatever is inside."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy

from gaugedp.audit.result import Test
from gaugedp.audit.rules import Point, Rule, best_of, best_rule
from gaugedp.audit.scores import scores
from gaugedp.audit.sources import Runs

_LARGEST = 1e300  # of a score
_CAUTION = 3.0  # deviations by which the best of many rules may be lucky on the runs that it is chosen on


def black_box(runs: Runs, answers: tuple[Any, Any], points: Sequence[Point], miss: float) -> list[Test]:
    """Return a test for each score; one of them is `counted`: it alone was chosen without the runs it is tested on.

    Theorem (docs/theory/audit.md, theorem 2). The runs are independent given the sides. Scores are learned on the
    first quarter, rule, score and point of the curve are chosen on the second, so the counted test's bound on the
    second half is above the true ε at its δ with probability at most `miss`.
    """
    quarter, half = runs.outputs.size // 4, runs.outputs.size // 2
    place = np.arange(runs.outputs.size)
    found = scores(runs.outputs, runs.is_a, place < quarter, answers)
    found = {name: np.clip(score, -_LARGEST, _LARGEST) for name, score in found.items()}
    if not found:  # all outputs are equal
        found = {"nothing": np.zeros(runs.outputs.size)}
    deviations = _CAUTION - float(scipy.special.ndtri(min(miss, 0.4)))
    rules = {
        name: best_rule(score[quarter:half], runs.is_a[quarter:half], points, deviations)
        for name, score in found.items()
    }
    chosen = best_of(list(rules.values()), len(points))
    tests = [
        _test(name, rule, (found[name][half:], runs.is_a[half:]), (miss, rule is chosen))
        for name, rule in rules.items()
    ]
    return sorted(tests, key=lambda test: (not test.counted, test.p_value))


def _test(name: str, rule: Rule, rest: tuple[np.ndarray, np.ndarray], how: tuple[float, bool]) -> Test:
    miss, counted = how
    guesses = rule.guesses(*rest)
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
    parts = [f"{upper} from {rule.high:.6g}"] if math.isfinite(rule.high) else []
    if rule.always:
        parts.append(f"else {lower}")
    elif math.isfinite(rule.low):
        parts.append(f"{lower} up to {rule.low:.6g}")
    return f"{', '.join(parts) or 'no guess'}: {right:,} of {guessed:,} right"
