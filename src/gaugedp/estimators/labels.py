"""Classes and labels, each read independently of the others."""

import math
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.exceptions import DataConversionWarning

from gaugedp._internal.cells import (
    NUMERIC,
    as_they_are,
    cells_of,
    is_nested,
    is_number,
    kind_of,
    number,
    numbers,
    row_of,
    shape_of_most,
)
from gaugedp.errors import InvalidRequest
from gaugedp.estimators.reading import Reading


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """Rows (n, d) with labels and weights (n,), classes with weights (k,), and their reading."""

    rows: np.ndarray
    labels: np.ndarray
    classes: np.ndarray
    weights: np.ndarray
    class_weights: np.ndarray
    has_weights: bool
    reading: Reading

    @cached_property
    def codes(self) -> np.ndarray:
        """The index (n,) of each label's class, else −1."""
        return codes_of(self.labels, self.classes)

    @property
    def signs(self) -> np.ndarray:
        """1 for the second class, −1 for the first, 0 for a label that is no class."""
        return np.where(self.codes < 0, 0.0, np.where(self.codes == 1, 1.0, -1.0))


def check_given(classes: Any, bounds: Any, row_norm: Any) -> None:
    """Refuse, in one message, missing classes and missing bounds."""
    no_bounds = bounds is None and row_norm is None
    if classes is None:
        beside = ", and so are `row_norm` and `bounds`" if no_bounds else ""
        advice = ", and row_norm or bounds=(low, high)," if no_bounds else ""
        raise InvalidRequest(
            f"`classes` is missing{beside}.",
            f"Specify classes=[...]{advice} from public knowledge, never from the data.",
        )


def read_classes(classes: Any) -> np.ndarray:
    """Return the classes, at least two and distinct, sorted as in scikit-learn if possible."""
    if isinstance(classes, str | bytes):
        raise InvalidRequest("`classes` is a single text.", "Pass a list, such as classes=['<=50K', '>50K'].")
    if not isinstance(classes, Iterable):
        raise InvalidRequest("`classes` is not a list.", "Pass a list, such as classes=[0, 1].")
    labels = _as_array(classes)
    keys = {_key(label) for label in labels.tolist()} if labels.ndim == 1 else set()
    if None in keys:
        raise InvalidRequest("A class is neither text nor a finite number.", "Pass, for example, classes=[0, 1].")
    if len(labels) < 2 or len(keys) < len(labels):
        raise InvalidRequest("`classes` must list at least two different labels.", "Pass, for example, classes=[0, 1].")
    return _sorted(labels, isinstance(classes, set | frozenset))


def _sorted(labels: np.ndarray, is_set: bool) -> np.ndarray:
    try:
        return labels[sorted(range(len(labels)), key=labels.tolist().__getitem__)]
    except TypeError:  # texts and numbers: in the order given, which a set does not have
        if is_set:
            raise InvalidRequest(
                "`classes` is a set that mixes strings and numbers, so the order of its classes is undefined.",
                "Pass a list instead.",
            ) from None
        return labels


def read_labels(y: Any, n_rows: int) -> np.ndarray:
    """Return the labels (n,), unchanged."""
    if y is None:
        raise InvalidRequest("This estimator requires y to be passed, but the target y is None.", "Pass the labels.")
    labels = _as_array(_flat(y) if is_nested(y) else y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        warnings.warn("A column-vector y was passed when a 1d array was expected.", DataConversionWarning, stacklevel=3)
        labels = labels[:, 0]
    if labels.shape != (n_rows,):
        raise InvalidRequest(
            "`y` must be a one-dimensional array with one label for each row of X.",
            "Pass such an array, for example frame['label'].",
        )
    return labels


def _flat(y: Any) -> np.ndarray:
    """Return cells (n, 1) from rows of one cell; refuse others."""
    rows = list(y)
    if shape_of_most(rows) != (1,):
        raise InvalidRequest(
            "`y` must be a one-dimensional array with one label for each row of X.",
            "Pass such an array, for example frame['label'].",
        )
    inner = [row_of(row) for row in rows]
    return as_they_are(row[0] if row is not None and len(row) == 1 else None for row in inner)[:, None]


def read_both(y: Any, n_rows: int, classes: Any, strict: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return labels (n,) and classes, checked for shape.

    If `strict`, a label that is not a class is refused too, without privacy: this is for whoever holds the rows.
    """
    labels, sorted_classes = read_labels(y, n_rows), read_classes(classes)
    check_kind(y, sorted_classes)
    if strict and (codes_of(labels, sorted_classes) < 0).any():
        raise InvalidRequest(
            "A label is not among the classes.",
            "Correct the labels or the classes, or set strict_labels=False: such rows then have no influence.",
        )
    return labels, sorted_classes


def class_shares(class_weight: Any, classes: np.ndarray) -> np.ndarray:
    """Return public class weights (K,) over the largest; 1 by default."""
    if class_weight is None:
        return np.ones(len(classes))
    if not isinstance(class_weight, Mapping):
        raise InvalidRequest(
            f'`class_weight` is of type {type(class_weight).__name__}, but must be a dict or "balanced".',
            "Pass {label: weight}, from public knowledge.",
        )
    shares, places = np.ones(len(classes)), codes_of(_as_array(list(class_weight)), classes)
    weights = np.array([number(weight) for weight in class_weight.values()])
    if (places < 0).any() or not (np.isfinite(weights) & (weights >= 0)).all():
        raise InvalidRequest(
            "`class_weight` must map classes to finite weights of at least 0, but at least one entry does not.",
            "Pass {label: weight}, and write labels as in `classes`.",
        )
    shares[places] = weights
    if shares.max() == 0:
        raise InvalidRequest("All class weights are 0.", "Give at least one class a positive weight.")
    return np.asarray(shares / shares.max())


def check_kind(y: Any, classes: np.ndarray) -> None:
    """Refuse labels whose column type rules out all classes.

    Nothing could be learnt from them: dates, durations or complex numbers, or numbers if no class is a number or a text
    that writes one. Text, lists and objects are not refused: a text may write a number (`codes_of`), and no single
    entry must decide.
    """
    if kind_of(y) in "cmMV":
        raise InvalidRequest("The labels are neither text nor numbers.", "Pass labels that are among the classes.")
    if is_number(y) and not any(math.isfinite(number(_key(label))) for label in classes.tolist()):
        raise InvalidRequest(
            "The labels are numbers, but none of the classes is a number.",
            "Write the classes as in the labels. For cross_val_predict or VotingClassifier, which number the classes "
            "0, 1, ..., pass y and classes as these numbers.",
        )


def codes_of(labels: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return the index of each label in `classes`, else −1.

    Every label is read independently: as the number it is or its text writes, else as text. So one label cannot change
    how another is read, even if it changed the type of the whole column beforehand.
    """
    codes = np.full(len(labels), -1)
    if labels.dtype.kind in NUMERIC and classes.dtype.kind in NUMERIC and np.abs(classes.astype(float)).max() < 2**53:
        for place, label in enumerate(classes):
            codes[labels == label] = place
        return codes
    places = {_key(label): place for place, label in enumerate(classes.tolist())}
    code_of = {key: place for key, place in places.items() if key is not None}
    for row, label in enumerate(labels.tolist()):
        key = _key(label)
        codes[row] = -1 if key is None else code_of.get(key, -1)
    return codes


def _as_array(labels: Any) -> np.ndarray:
    if hasattr(labels, "__array__"):
        cells = cells_of(labels)
        return numbers(cells) if cells.dtype.kind == "c" else cells
    array = as_they_are(labels)
    entries = array.tolist()
    if entries and all(type(entry) is str for entry in entries):
        return np.asarray(entries)
    return _numeric(array) if all(type(entry) in (int, float, bool) for entry in entries) else array


def _numeric(entries: np.ndarray) -> np.ndarray:
    read = np.asarray(entries.tolist())
    return read if read.dtype.kind in "bif" and read.tolist() == entries.tolist() else entries


def _key(label: Any) -> str | None:
    value = label.item() if isinstance(label, np.generic) else label
    if isinstance(value, str):
        written = value.rstrip("\0").strip()  # NUL at the end is lost where texts are an array
        text = {"True": "1", "False": "0"}.get(written, written)
        try:
            parsed = float(text)
        except ValueError:
            return text
        return _key(parsed) if math.isfinite(parsed) else None  # as the numbers that an array would write so
    if isinstance(value, int):
        return _key(number(value))  # as it would be in a column where another is missing
    if isinstance(value, float) and math.isfinite(value):
        return str(int(value)) if value.is_integer() else repr(value)
    return None
