"""Conversion of outputs of any kind to numbers."""

import contextlib
import re
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, fields, is_dataclass
from datetime import date, time, timedelta
from enum import Enum
from numbers import Number
from typing import Any

import numpy as np

from gaugedp.errors import InvalidRequest
from gaugedp.releases.answer import Release

_PLAIN = (str, bytes, bytearray, type(None), Number, np.generic, date, time, timedelta, Enum)  # repr distinguishes them
_MOST_NUMBERS = 2 * 10**7  # stored, over all runs; further columns are left out, keys cover all
_DIGITS = re.compile("[0-9]+")


@dataclass(frozen=True, eq=False)
class Outputs:
    """Numeric form of n outputs.

    `columns` (n, k) are their numbers, NaN if missing; `keys` and `kinds` (n,) integers. Two outputs have the same key
    exactly if they are equal, and the same kind if they have the same types and shapes, also of their contents, and the
    same pattern of NaN and infinities: 1, 1.0 and True are three outputs. `shape` is that of all outputs, None if they
    differ. `texts` (n,) label other parts by name: equal if these texts, or their forms without digits, are.
    """

    columns: np.ndarray
    keys: np.ndarray
    kinds: np.ndarray
    shape: tuple[int, ...] | None
    texts: Mapping[str, np.ndarray] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """The number of outputs."""
        return len(self.keys)

    @property
    def finite(self) -> np.ndarray:
        """The columns with 0 for NaN, clipped to ±1e100."""
        return np.asarray(np.clip(np.nan_to_num(self.columns), -1e100, 1e100))  # whose square is a float


def of_array(outputs: np.ndarray) -> Outputs:
    """Convert an array of numbers, one output per row."""
    flat = np.asarray(outputs, dtype=float).reshape(len(outputs), -1)
    columns = flat[:, : max(1, _MOST_NUMBERS // len(flat))]
    return Outputs(columns, _numbered_rows(flat), _numbered_rows(_patterns(flat)), outputs.shape[1:])


def of_objects(outputs: list[Any]) -> Outputs:
    """Convert numbers, arrays, texts, None, dates and their containers."""
    if all(_is_numeric(output) for output in outputs) and len({_structure(output) for output in outputs}) == 1:
        return of_array(np.stack([np.asarray(output, dtype=float) for output in outputs]))
    leaves = [_leaves(output) for output in outputs]
    names = [_structure(output) for output in outputs]
    columns = _padded([[leaf for leaf in row if isinstance(leaf, float)] for row in leaves])
    keys = [(name, tuple(_exact(leaf) for leaf in row)) for name, row in zip(names, leaves, strict=True)]
    kinds = [(name, row.tobytes()) for name, row in zip(names, _patterns(columns), strict=True)]
    texts = [[str(leaf) for leaf in row if not isinstance(leaf, float)] for row in leaves]
    if any(texts):
        columns = np.hstack([columns, [[float(sum(map(len, row)))] for row in texts]])
    return Outputs(columns, _numbered(keys), _numbered(kinds), None, _texts(texts))


def numbers_of(answer: Any) -> np.ndarray | None:
    """Return an array of numbers, or None."""
    with contextlib.suppress(TypeError, ValueError):
        numbers = np.asarray(answer)
        return numbers if numbers.dtype.kind in "biuf" else None
    return None


def _texts(rows: list[list[str]]) -> dict[str, np.ndarray]:
    labels = {"texts": _numbered(map(tuple, rows))}
    labels["texts without digits"] = _numbered(tuple(_DIGITS.sub("0", text) for text in row) for row in rows)
    for place in range(min(16, max(map(len, rows)))):
        labels[f"text {place}"] = _numbered(row[place] if place < len(row) else "" for row in rows)
    return labels


def _is_numeric(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        is_plain = value.dtype.kind in "biuf" and value.dtype.itemsize <= 8 and not isinstance(value, np.ma.MaskedArray)
        is_whole = value.dtype.kind in "iu" and value.size > 0
        return is_plain and not (is_whole and (int(value.min()) < -(2**53) or int(value.max()) > 2**53))
    is_small = isinstance(value, int | np.integer | np.bool_) and abs(int(value)) <= 2**53
    return is_small or isinstance(value, float | np.float16 | np.float32)


def check_readable(value: Any) -> None:
    """Refuse an output with unreadable parts, which would equal any other."""
    if not _is_numeric(value):
        _leaves(value)


def _leaves(value: Any) -> list[Any]:
    is_plain = isinstance(value, _PLAIN)
    if not is_plain:
        return [leaf for part in _parts(value) for leaf in _leaves(part)]
    if _is_numeric(value):
        return [float(value)]
    if isinstance(value, complex | np.complexfloating):
        return [float(value.real), float(value.imag)]
    return [repr(value)]


def _parts(value: Any) -> Iterable[Any]:
    match value:
        case np.ma.MaskedArray():
            return np.asarray(value.data), np.ma.getmaskarray(value)
        case np.ndarray():
            return list(value.ravel().tolist())
        case Mapping():
            return value.items()
        case Set():
            return sorted(value, key=repr)
        case Sequence():
            return value
        case Release():  # its account contains the cost, which is independent of the table
            return value.values, value.raw
    return _parts_of_record(value)


def _parts_of_record(value: Any) -> Iterable[Any]:
    if is_dataclass(value) and not isinstance(value, type):
        return [getattr(value, entry.name) for entry in fields(value)]
    with contextlib.suppress(AttributeError, TypeError, ValueError, RuntimeError):
        return [*_labels(value), np.array(value.__array__())]
    raise InvalidRequest(
        f"The audited function returned a value of type {type(value).__name__}, which the audit cannot compare.",
        "Let it return a number, an array, a string, None, or a list of these.",
    )


def _labels(frame: Any) -> list[Any]:
    axes = [getattr(frame, name, None) for name in ("index", "columns")]
    return [list(labels) for labels in axes if isinstance(labels, Iterable)]


def _structure(value: Any) -> str:
    if isinstance(value, np.ndarray):
        name = f"{type(value).__name__} {value.dtype} {value.shape}"
        if _is_numeric(value):
            return name
    else:
        name = type(value).__name__
        if isinstance(value, _PLAIN):
            return name
    names = [_structure(part) for part in _parts(value)]
    inside = names[0] if len(set(names)) == 1 else ", ".join(names)
    return f"{name} {len(names)} ({inside})"


def _exact(leaf: Any) -> bytes | str:
    return np.float64(leaf).tobytes() if isinstance(leaf, float) else str(leaf)


def _padded(rows: list[list[float]]) -> np.ndarray:
    longest = min(max(map(len, rows)), max(1, _MOST_NUMBERS // len(rows)))
    padded = np.full((len(rows), longest + 1), np.nan)
    for place, row in enumerate(rows):
        padded[place, 0] = len(row)
        padded[place, 1 : 1 + min(len(row), longest)] = row[:longest]
    return padded


def _patterns(columns: np.ndarray) -> np.ndarray:
    """Return 0 for finite numbers, 1, 2, 3 for NaN, ∞ and −∞; one column if all are finite."""
    if np.isfinite(columns).all():
        return np.zeros((len(columns), 1), dtype=np.int8)
    infinite = np.where(np.isinf(columns), np.where(columns > 0, 2, 3), 0)
    return np.where(np.isnan(columns), 1, infinite).astype(np.int8)


def _numbered_rows(rows: np.ndarray) -> np.ndarray:
    solid = np.ascontiguousarray(rows)
    if solid.shape[1] == 0:
        return np.zeros(len(solid), dtype=np.int64)
    packed = solid.view([("", f"V{solid.dtype.itemsize * solid.shape[1]}")]).ravel()
    return _numbered(packed["f0"].tolist())


def _numbered(keys: Iterable[Any]) -> np.ndarray:
    numbers: dict[Any, int] = {}
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.int64)
