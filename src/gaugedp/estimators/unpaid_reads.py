"""Warnings of reads that no ledger records."""

import sys
import warnings
import weakref
from collections.abc import Iterator
from types import FrameType
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

_fitted: dict[int, Any] = {}  # the address of rows that were fitted without a ledger, and a weak reference to them
_has_warned: list[bool] = []  # of a second fit, in this process
_FRAMES = 30  # between the fit of a pipeline and the charge of its last step


def identity(X: Any) -> Any:
    """Return a weak reference to the object that holds the rows, or None.

    Only which object it is counts, never what it holds: a warning must not depend on the data.
    """
    base = getattr(X, "base", None)
    try:
        return weakref.ref(X if base is None else base)
    except TypeError:  # a list has no weak references
        return None


def note_fit(rows: Any) -> None:
    """Remember that the rows were fitted."""
    held = None if rows is None else rows()
    if held is not None:
        _fitted[id(held)] = weakref.ref(held, lambda _, place=id(held): _fitted.pop(place, None))  # type: ignore[misc]


def warn_of_refit(rows: Any) -> None:
    """Warn, once per process, of a second fit to the same object without a ledger."""
    held = None if rows is None else rows()
    if held is None or id(held) not in _fitted or _has_warned:
        return
    _has_warned.append(True)
    warnings.warn(
        "The same rows are fitted again, and no ledger adds up what both fits reveal: their guarantees add up. "
        "Give the models ledger=gd.Ledger.open(...).",
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
                f"{' and '.join(dict.fromkeys(names))} in the pipeline learns from the rows without privacy, and its "
                "statistics are in the model. Use gaugedp.estimators.StandardScaler, SimpleImputer or PCA, "
                "from_domain, or bounds.",
                stacklevel=5,
            )
        return


def _pipelines_of(frame: FrameType | None) -> Iterator[Pipeline]:
    for _ in range(_FRAMES):
        if frame is None:
            return
        caller = frame.f_locals.get("self") if frame.f_code.co_name == "fit" else None
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
    """Return True for private, stateless and public steps."""
    if isinstance(step, OneHotEncoder | OrdinalEncoder):
        return not isinstance(step.categories, str)
    return "ledger" in step.get_params(deep=False) or not step.__sklearn_tags__().requires_fit
