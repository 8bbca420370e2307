"""Warnings of reads that no ledger records."""

import sys
import warnings
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import FrameType
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, PolynomialFeatures

_fitted: dict[int, Any] = {}  # the address of rows that were fitted without a ledger, and a weak reference to them
_begun: "weakref.WeakKeyDictionary[Any, Any]" = weakref.WeakKeyDictionary()  # models, and what they are fitted to
_has_warned: list[bool] = []  # of a second fit, in this process
_is_part: ContextVar[bool] = ContextVar("_is_part", default=False)
_FITS = ("fit", "fit_predict", "fit_transform")  # methods of a pipeline that fit its last step


@contextmanager
def of_one_fit() -> Iterator[None]:
    """Context manager: fits inside are parts of one fit, whose charge is for all of them."""
    token = _is_part.set(True)
    try:
        yield
    finally:
        _is_part.reset(token)


def begin_fit(model: Any, X: Any) -> None:
    """Remember the object that holds the rows of a fit.

    Only which object it is counts, never what it holds: a warning must not depend on the data.
    """
    base = getattr(X, "base", None)
    try:
        _begun[model] = weakref.ref(X if base is None else base)
    except TypeError:  # a list has no weak references
        _begun.pop(model, None)


def _rows_of(model: Any) -> Any:
    reference = _begun.get(model)
    return None if reference is None else reference()


def note_fit(model: Any) -> None:
    """Remember that the rows of the model were fitted."""
    held = _rows_of(model)
    if held is not None and not _is_part.get():
        place = id(held)
        _fitted[place] = weakref.ref(held, lambda _: _fitted.pop(place, None))


def warn_of_refit(model: Any) -> None:
    """Warn, once per process, of a second fit to the same object without a ledger."""
    held = _rows_of(model)
    if held is None or id(held) not in _fitted or _has_warned or _is_part.get():
        return
    _has_warned.append(True)
    warnings.warn(
        "The same rows are fitted again without a ledger. The guarantees of both fits add up. "
        "Pass ledger=gd.Ledger.open(...) to the models, so that their sum is recorded.",
        stacklevel=5,
    )


def warn_of_pipeline(model: Any) -> None:
    """Warn if an earlier step of the pipeline around a fit learns from the rows without privacy."""
    for pipeline in _pipelines_of(sys._getframe(1)):
        steps = [step for _, step in pipeline.steps]
        if steps[-1] is not model:
            continue
        names = [name for step in steps[:-1] for name in _learning(step)]
        if names:
            warnings.warn(
                f"{' and '.join(dict.fromkeys(names))} in the pipeline learns from the rows without privacy, and the "
                "model contains its statistics. Use gaugedp.estimators.StandardScaler, SimpleImputer or PCA, "
                "from_domain, or bounds.",
                stacklevel=5,
            )
        return


def _pipelines_of(frame: FrameType | None) -> Iterator[Pipeline]:
    for _ in range(30):  # frames between a pipeline's method and the charge
        if frame is None:
            return
        caller = frame.f_locals.get("self") if frame.f_code.co_name in _FITS else None
        if isinstance(caller, Pipeline):
            yield caller
        frame = frame.f_back


def _learning(step: Any) -> Iterator[str]:
    """Yield the names of the steps that learn from rows and are not private, nested ones included."""
    inner = [part for part in _parts(step) if isinstance(part, BaseEstimator)]
    if inner:
        for part in inner:
            yield from _learning(part)
    elif isinstance(step, BaseEstimator) and not _is_public(step):
        yield type(step).__name__


def _parts(step: Any) -> list[Any]:
    named = getattr(step, "transformers", None) or getattr(step, "transformer_list", None) or []
    return [part[1] for part in [*named, *getattr(step, "steps", [])]]


def _is_public(step: Any) -> bool:
    if isinstance(step, OneHotEncoder | OrdinalEncoder):
        return not isinstance(step.categories, str)
    if "ledger" in step.get_params(deep=False) or isinstance(step, PolynomialFeatures):
        return True
    tags = getattr(step, "__sklearn_tags__", None)
    return not (tags().requires_fit if tags else step._get_tags()["requires_fit"])  # the second before version 1.6
