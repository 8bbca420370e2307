"""Outputs of a mechanism or of any function."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from gaugedp._internal.progress import Progress, silent
from gaugedp.audit.outputs import Outputs, check_readable, numbers_of, of_array, of_objects
from gaugedp.bodies.base import Body
from gaugedp.entropy import Entropy
from gaugedp.errors import InvalidRequest
from gaugedp.mechanisms.base import AdditiveNoise, Calibrated, Mechanism, is_integer
from gaugedp.mechanisms.selection import Selection

_FAILURES = (
    ArithmeticError, AssertionError, AttributeError, LookupError, NotImplementedError, OSError, RuntimeError,
    TypeError, ValueError,
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class ObservedRuns:
    """Observed runs: sides (True: answer a), outputs, and noise in lattice steps if known."""

    is_a: np.ndarray
    outputs: Outputs
    noise: np.ndarray | None = None


def runs_of(
    mechanism: Any, answers: tuple[Any, Any], n_runs: int, rng: Entropy, progress: Progress = silent
) -> ObservedRuns:
    """Return `n_runs` independent runs with sides by fair coins."""
    _check_answers(*answers)
    is_a = rng.bits(n_runs)
    if isinstance(mechanism, AdditiveNoise):
        return _with_noise(mechanism, answers, is_a, rng, progress)
    if isinstance(mechanism, Selection):
        mechanism.in_steps(answers[0])  # refuses what it cannot read
    if isinstance(mechanism, Mechanism | Selection):
        check_neighbours(mechanism.body, np.subtract(answers[1], answers[0]))
    if isinstance(mechanism, Mechanism):
        return ObservedRuns(is_a, of_objects(_finished(mechanism, answers, is_a, rng, progress)))
    if isinstance(mechanism, Calibrated):
        return ObservedRuns(is_a, _drawn(mechanism, answers, is_a, rng))
    if not callable(mechanism):
        raise InvalidRequest(
            f"An audit needs a mechanism or a function, but {mechanism!r} is neither.",
            "Pass a mechanism, or a function that takes an answer and returns an output.",
        )
    return ObservedRuns(is_a, of_objects(_called(mechanism, answers, is_a, progress)))


def _check_answers(answer_a: Any, answer_b: Any) -> None:
    numeric = [row for row in map(numbers_of, (answer_a, answer_b)) if row is not None]
    if any(row.size and np.isnan(row).all() for row in numeric):
        raise InvalidRequest("One of the two answers contains NaN.", "Pass the answers of two neighbouring tables.")
    if len(numeric) == 2 and numeric[0].shape != numeric[1].shape:
        raise InvalidRequest(
            f"The two answers have different shapes, {numeric[0].shape} and {numeric[1].shape}.",
            "Pass answers of the same shape. To audit a function of tables, let it take the number 0 or 1 and "
            "choose the table itself.",
        )
    if answer_a is answer_b or (len(numeric) == 2 and np.array_equal(numeric[0], numeric[1], equal_nan=True)):
        raise InvalidRequest(
            "The two answers are equal, so no test can distinguish their outputs.",
            "Pass the answers of two neighbouring tables that differ.",
        )


def in_steps(mechanism: AdditiveNoise, answers: tuple[Any, Any]) -> tuple[np.ndarray, np.ndarray]:
    """Return neighbours' answers in lattice steps; refuse other answers."""
    if any(numbers_of(answer) is None for answer in answers):
        raise InvalidRequest(
            "At least one of the two answers is not an array of numbers.",
            f"Pass the answers of two neighbouring tables, with {mechanism.body.ambient_dim} numbers each.",
        )
    rows = [np.atleast_1d(np.asarray(answer, dtype=float)) for answer in answers]
    if rows[0].shape != (mechanism.body.ambient_dim,) or not np.isfinite(rows).all():
        raise InvalidRequest(
            f"The answers, of shape {rows[0].shape}, are not {mechanism.body.ambient_dim} finite numbers each.",
            f"Pass two answers with {mechanism.body.ambient_dim} finite numbers each.",
        )
    steps = [np.rint(row / float(mechanism.lattice_step)) for row in rows]
    if not max(np.abs(row).max() for row in steps) < 2.0**62:  # the largest entry
        raise InvalidRequest(
            "The answers exceed 2^62 lattice steps, the most that the audit can represent.",
            "Subtract the same number from both answers, because only their difference matters.",
        )
    low, high = (row.astype(np.int64) for row in steps)
    check_neighbours(mechanism.body, high - low if is_integer(mechanism.body) else rows[1] - rows[0])
    if np.array_equal(low, high):
        raise InvalidRequest(
            f"The two answers are equal on the mechanism's lattice, whose step is {mechanism.lattice_step}.",
            "Pass answers that differ by a corner of mechanism.body, such as one from "
            "mechanism.body.argmax(directions).",
        )
    return low, high


def reach(mechanism: Any, answers: tuple[Any, Any]) -> float:
    """Return the distance of the answers relative to the largest of neighbours; 1 without a body."""
    if not isinstance(mechanism, AdditiveNoise | Selection):
        return 1.0
    difference = np.subtract(*(np.atleast_1d(np.asarray(answer, dtype=float)) for answer in answers))
    return min(1.0, float(mechanism.body.gauge(difference[None])[0]))


def check_neighbours(body: Body, difference: np.ndarray) -> None:
    """Refuse two answers that no two neighbours have."""
    distance = float(body.gauge(difference[None].astype(float))[0])
    if not distance <= 1 + 1e-6:  # the gauge is by a linear program
        raise InvalidRequest(
            f"The two answers cannot come from neighbouring tables: they differ by {distance:.6g} times the most "
            "that one unit can change.",
            "Pass answers whose difference lies in mechanism.body.",
        )


def _with_noise(
    mechanism: AdditiveNoise, answers: tuple[Any, Any], is_a: np.ndarray, rng: Entropy, progress: Progress
) -> ObservedRuns:
    low, high = in_steps(mechanism, answers)
    if len(is_a) * len(low) > 5 * 10**7:  # numbers at most
        raise InvalidRequest(
            f"{len(is_a):,} runs of a query with {len(low):,} answers do not fit in memory.",
            "Use fewer runs, or a query with fewer answers.",
        )
    noise = mechanism.checked(mechanism.releasable(len(is_a), rng, progress), len(is_a))
    values = np.where(is_a[:, None], low, high) + noise
    return ObservedRuns(is_a, of_array(values * float(mechanism.lattice_step)), noise)


def _drawn(mechanism: Any, answers: tuple[Any, Any], is_a: np.ndarray, rng: Entropy) -> Outputs:
    counts = int(is_a.sum()), int((~is_a).sum())
    parts = [
        np.asarray(_guarded(partial(mechanism.draw, size=count, rng=rng), answer, name))
        for answer, count, name in zip(answers, counts, "ab", strict=True)
    ]
    outputs = np.empty((len(is_a), *parts[0].shape[1:]))
    outputs[is_a], outputs[~is_a] = parts
    return of_array(outputs)


def _finished(
    mechanism: Mechanism, answers: tuple[Any, Any], is_a: np.ndarray, rng: Entropy, progress: Progress
) -> list[Any]:
    low, high = (np.rint(np.asarray(answer, dtype=float)).astype(np.int64) for answer in answers)
    rows = np.where(is_a[:, None], low, high)
    return [finish(row) for finish, row in zip(mechanism.pool(len(is_a), rng, progress), rows, strict=True)]


def _called(
    mechanism: Callable[[Any], Any], answers: tuple[Any, Any], is_a: np.ndarray, progress: Progress
) -> list[Any]:
    outputs: list[Any] = []
    every = max(1, len(is_a) // 100)
    for side in is_a.tolist():
        if len(outputs) % every == 0:
            progress(len(outputs) / len(is_a))
        outputs.append(_guarded(mechanism, answers[0], "a") if side else _guarded(mechanism, answers[1], "b"))
        if len(outputs) == 1:
            check_readable(outputs[0])  # before an hour of runs
    return outputs


def _guarded(mechanism: Callable[[Any], Any], answer: Any, name: str) -> Any:
    try:
        return mechanism(answer)
    except _FAILURES as error:
        raise InvalidRequest(
            f"The audited mechanism raised {type(error).__name__} on answer_{name} ({error}).",
            "Pass answers that it accepts. If failing is one of its outputs, let it return None instead of raising.",
        ) from error
