"""Long arrays in JSON, by run lengths or packed."""

import base64
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from gaugedp._internal.rounding import INTEGERS

_WRITTEN_OUT = 100_000  # numbers up to which JSON lists each
_WHOLE = ("<i1", "<i2", "<i4", "<i8")
_TYPES = (*_WHOLE, "<f8")

Folded = Any  # [[how many, value], …], or a long array that `packed` wrote


def fold(values: np.ndarray | Sequence[Any], counts: Sequence[int] | None = None) -> Folded:
    """Write equal neighbours as [count, value]; `counts` are their multiplicities, by default 1."""
    array = np.asarray(values)
    starts = np.flatnonzero(np.concatenate([[True], array[1:] != array[:-1]])[: len(array)])
    if counts is None and len(starts) > max(_WRITTEN_OUT, len(array) // 4):  # times as many numbers as runs
        return packed(array)
    ends = np.append(starts, len(array)) if counts is None else np.cumsum([0, *counts])[np.append(starts, len(array))]
    return [list(run) for run in zip(np.diff(ends).tolist(), array[starts].tolist(), strict=True)]


def unfold(folded: Folded) -> np.ndarray:
    """Return the values of a `fold`, as floats."""
    sizes = folded_sizes(folded)
    return np.repeat(sizes, [int(count) for count, _ in folded]) if isinstance(folded, list) else sizes


def folded_sizes(folded: Folded) -> np.ndarray:
    if isinstance(folded, list):
        return np.array([float(value) for _, value in folded])
    return unpacked(folded).astype(float)


def n_folded(folded: Folded) -> int:
    counts = [count for count, _ in folded] if isinstance(folded, list) else [len(unpacked(folded))]
    if min(counts, default=0) < 0:
        raise ValueError
    return sum(counts)


def check_lengths(runs: list[Folded], most: int) -> None:
    """Raise ValueError for more than `most` values, which would fill the memory."""
    if any(n_folded(run) > most for run in runs):
        raise ValueError


def packed(values: np.ndarray, longest_list: int | None = None) -> Any:
    """Return numbers for JSON, long arrays as {"type", "base64"}."""
    if len(values) <= (_WRITTEN_OUT if longest_list is None else longest_list) or values.dtype == object:
        return values.tolist()
    kind, values = "<f8", whole_where_all_are(values)
    if values.dtype.kind == "i":
        ends = (int(values.min()), int(values.max()))
        kind = next(kind for kind in _WHOLE if all(np.iinfo(kind).min <= end <= np.iinfo(kind).max for end in ends))
    text = base64.b64encode(np.ascontiguousarray(values, dtype=kind)).decode()  # type: ignore[arg-type]
    return {"type": kind, "base64": text}


def unpacked(facts: Any) -> np.ndarray:
    """Return the array of a `packed`; ValueError for other types."""
    if isinstance(facts, list):
        return whole(facts)
    if facts["type"] not in _TYPES:
        raise ValueError
    values = np.frombuffer(base64.b64decode(facts["base64"], validate=True), dtype=facts["type"])
    return values.astype(float if facts["type"] == "<f8" else np.int64)


def whole_where_all_are(values: np.ndarray) -> np.ndarray:
    """Return int64 if possible without loss, else the array."""
    is_whole = (np.abs(values) < 2.0**63) & (np.rint(values) == values)
    return values.astype(np.int64) if is_whole.all() else values


def whole(numbers: Sequence[Any] | np.ndarray) -> np.ndarray:
    """Return int64 for integers that fit, floats, or objects."""
    if isinstance(numbers, np.ndarray) and numbers.dtype == np.int64:
        return numbers
    try:
        array = np.array(list(numbers))
    except (ValueError, OverflowError):
        return np.array(numbers, dtype=object)
    return array if array.dtype.kind in "if" else np.array(numbers, dtype=object)


def times(numbers: np.ndarray, step: Fraction) -> np.ndarray:
    """Return numbers of steps as the nearest floats."""
    up, down = step.numerator, step.denominator
    ends = (int(numbers.min()), int(numbers.max())) if numbers.dtype == np.int64 and len(numbers) else (INTEGERS,)
    if max(map(abs, ends)) * abs(up) < INTEGERS and down < INTEGERS:  # whole floats, and one rounding
        return numbers * float(up) / float(down)
    return np.array([float(number * step) for number in numbers.tolist()])
