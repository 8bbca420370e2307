"""Data frames as sources: needed columns for an SQL engine.

Reading imports nothing: a frame can only be given by someone who imported its library. The frame is not changed.
"""

import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from types import NoneType
from typing import Any

import numpy as np

from gaugedp._internal.cells import numbers
from gaugedp.errors import MissingExtra
from gaugedp.tables.objects import is_text, text_of

LIBRARIES = {"pandas": ("DataFrame",), "polars": ("DataFrame", "LazyFrame"), "pyarrow": ("Table",)}


def make_frame(columns: Mapping[str, Any], kind: str | None = None) -> Any:
    """Return a frame of the library `kind`, else pandas or polars."""
    for name in filter(None, (kind, "pandas", "polars")):
        if find_spec(name) is not None:
            library = import_module(name)
            return library.table(dict(columns)) if name == "pyarrow" else library.DataFrame(dict(columns))
    raise MissingExtra(
        "A data frame requires a package that is not installed.", "Install pandas or polars.", "No answer is lost."
    )


def library(source: object) -> str | None:
    """Return the library of the frame `source`, or None."""
    for name, classes in LIBRARIES.items():
        module = sys.modules.get(name)
        if module is not None and isinstance(source, tuple(getattr(module, class_name) for class_name in classes)):
            return name
    return None


def failures(name: str) -> tuple[type[BaseException], ...]:
    """Return the errors that the library may raise with rows."""
    module = sys.modules[name]
    match name:
        case "polars":
            return (module.exceptions.PolarsError,)
        case "pyarrow":
            return (module.ArrowException,)
    return ()


def column_names(source: Any) -> list[object]:
    """Return the names of the columns, in order."""
    match library(source):
        case "pandas":
            return list(source.columns)
        case "polars":
            return list(source.lazy().collect_schema().names())
    return list(source.column_names)


def without_rows(source: Any) -> Any:
    """Return a frame with the same columns and no rows."""
    match library(source):
        case "pandas":
            return source.iloc[:0]
        case "polars":
            import polars

            return polars.DataFrame(schema=source.lazy().collect_schema())
    return source.schema.empty_table()


def selected(
    source: Any, names: Sequence[str], truths: Mapping[str, Mapping[str, str]], written: Mapping[str, str]
) -> Any:
    """Return the named columns in a new frame.

    `truths` is as in `tables.sources`. For pandas, `written` names a further column of truth values for some columns:
    which of their values were text.
    """
    match library(source):
        case "pandas":
            return _selected_pandas(source, names, truths, written)
        case "polars":
            lazy = source.lazy()
            places = lazy.collect_schema().names()
            polars = sys.modules["polars"]
            return lazy.select([polars.nth(places.index(name)) for name in names]).collect()
    return source.select(list(names))


def _selected_pandas(
    frame: Any, names: Sequence[str], truths: Mapping[str, Mapping[str, str]], written: Mapping[str, str]
) -> Any:
    places = list(frame.columns)
    series = {name: frame.iloc[:, places.index(name)] for name in names}
    columns = {name: _plain(each, truths.get(name, {})).array for name, each in series.items()}  # without the index
    columns |= {mark: _are_texts(series[name]) for name, mark in written.items()}
    return sys.modules["pandas"].DataFrame(columns, copy=False)


def _plain(series: Any, truths: Mapping[str, str]) -> Any:
    pandas = sys.modules["pandas"]
    if isinstance(series.dtype, pandas.CategoricalDtype):
        return _of_categories(series.cat.codes.to_numpy(), series.cat.categories, truths)
    if _holds_objects(series.dtype):
        if not str(getattr(series.dtype, "storage", "")).startswith("pyarrow"):
            return _of_objects(series.tolist(), truths)
        codes, texts = pandas.factorize(series)
        return _texts(codes, texts, truths)
    if series.dtype.kind == "c":  # one complex number makes all others complex
        return pandas.Series(numbers(series.to_numpy()))
    return series


def _are_texts(series: Any) -> np.ndarray:
    """Return whether each value was text, judging each by itself: one other value makes a column one of objects."""
    if isinstance(series.dtype, sys.modules["pandas"].CategoricalDtype):
        return np.append(_are_texts(series.cat.categories), False)[series.cat.codes.to_numpy()]
    if series.dtype.kind != "O" or not isinstance(series.dtype, np.dtype):
        return np.ones(len(series), dtype=bool)
    return np.fromiter(map(is_text, series.tolist()), bool, len(series))


def _of_objects(values: list[Any], truths: Mapping[str, str]) -> Any:
    """Return the texts of objects, each computed once if possible.

    1 and True are equal and have two texts, and subclasses may have others. Some versions of pandas compare texts only
    up to a NUL, so it must not look for equal ones.
    """
    pandas = sys.modules["pandas"]
    if not set(map(type, values)) <= {str, float, NoneType, type(pandas.NA)}:
        return pandas.Series([text_of(value, truths) for value in values], dtype=object)
    places = {value: place for place, value in enumerate(dict.fromkeys(values))}
    return _texts(np.fromiter(map(places.__getitem__, values), np.int64, len(values)), places, truths)


def _holds_objects(dtype: Any) -> bool:
    return bool(dtype.kind == "O") and isinstance(dtype, np.dtype | sys.modules["pandas"].StringDtype)


def _of_categories(codes: np.ndarray, values: Any, truths: Mapping[str, str]) -> Any:
    """Return values[codes] with the values' own type; −1 is missing."""
    if _holds_objects(values.dtype):
        return _texts(codes, values, truths)
    pandas = sys.modules["pandas"]
    has_missing = values.dtype.kind not in "iub"  # numpy has no missing integers and booleans
    array = values.array if has_missing else pandas.array(values.to_numpy())
    return _plain(pandas.Series(array.take(codes, allow_fill=True)), truths)


def _texts(codes: np.ndarray, values: Any, truths: Mapping[str, str]) -> Any:
    """Return the texts of values[codes]; −1 is missing."""
    pandas = sys.modules["pandas"]
    texts = [text_of(value, truths) for value in values]
    places = {text: place for place, text in enumerate(sorted({text for text in texts if text is not None}))}
    if not 0 < len(places) <= 2**15:  # up to so many texts, an engine is given each of them once
        return pandas.Series(np.array([*texts, None], dtype=object)[codes], dtype=object)
    codes = np.array([*(-1 if text is None else places[text] for text in texts), -1])[codes]
    return pandas.Series(pandas.Categorical.from_codes(codes, list(places)))
