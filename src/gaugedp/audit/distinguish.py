"""The audit: outputs for two answers, what they prove, and whether the claim can be true."""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from gaugedp._progress import part_of, silent
from gaugedp._validate import between, whole
from gaugedp.audit.black_box import black_box
from gaugedp.audit.claim import points
from gaugedp.audit.noise import expected, white_box
from gaugedp.audit.result import Audit, Test
from gaugedp.audit.samples import reach, runs_of
from gaugedp.entropy import Entropy, system_rng
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees.base import Guarantee
from gaugedp.mechanisms.base import Calibrated

_LEAST_RUNS = 100
_RUNS, _RUNS_ALONE = 0.5, 0.9  # of the time, with white-box tests and without


def audit(  # noqa: PLR0913, PLR0917 - a door that people use
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
    """Run a mechanism on two neighbours' answers, and bound its ε from below against its claim.

    `mechanism`: ours, or any function of an answer whose calls are independent, with its claim as `guarantee`; an
    output is a number, an array, a text, None, bytes, a date, a frame, a release, or lists, sets, mappings, dataclasses
    of such; anything else is refused. `answer_a`, `answer_b`: what neighbouring tables give; that they are neighbours'
    is for you to know, if the mechanism is not ours. No table is read; nothing is spent.

    A mechanism of ours is also tested white-box, against the law that the claim asks of it; both halves of the audit
    then have half of 1 − `confidence`. Sides are drawn from `rng` (the operating system's if None), and so is the
    noise of a mechanism of ours. `name` is what the result calls the mechanism. `on_progress` is told the share of the
    audit that is done, from 0 to 1.

    Guarantee: where the claim is true, `violated` is True with probability at most 1 − `confidence`; `epsilon_lower`
    is above the true ε at `delta` with no larger probability (docs/theory/audit.md).
    """
    start = time.perf_counter()
    whole(minimum=_LEAST_RUNS, runs=runs)
    between(0, 1, confidence=confidence)
    claim = _claim(mechanism, guarantee)
    curve = points(claim)
    stream = system_rng() if rng is None else rng
    model = expected(mechanism, claim)
    of_runs = _RUNS_ALONE if model is None else _RUNS
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
    raise InvalidRequest("A function carries no claim to audit.", "Give guarantee=, such as guarantee=gd.PureDP(1.0).")


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
