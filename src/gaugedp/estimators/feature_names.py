"""Column names, which are public."""

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from gaugedp.errors import InvalidRequest

_SHOWN = 5


def names_of(X: Any) -> np.ndarray | None:
    """Return a data frame's column names (d,), None without text names."""
    names = getattr(X, "columns", None)
    if names is None or not all(isinstance(name, str) for name in names):
        return None
    return np.asarray(list(names), dtype=object)


def check_names(kind: str, fitted: np.ndarray | None, X: Any) -> None:
    """Refuse columns unlike the `fitted` ones, as scikit-learn does."""
    names = names_of(X)
    if fitted is None and names is not None:
        warnings.warn(f"X has feature names, but {kind} was fitted without feature names", stacklevel=4)
    if fitted is not None and names is None:
        warnings.warn(f"X does not have valid feature names, but {kind} was fitted with feature names", stacklevel=4)
    if fitted is None or names is None or fitted.tolist() == names.tolist():
        return
    unseen, missing = sorted(set(names) - set(fitted)), sorted(set(fitted) - set(names))
    reasons = _listed("Feature names unseen at fit time:", unseen)
    reasons += _listed("Feature names seen at fit time, yet now missing:", missing)
    reasons = reasons or "Feature names must be in the same order as they were in fit.\n"
    raise InvalidRequest(
        f"The feature names should match those that were passed during fit.\n{reasons}",
        "Pass the same columns in the same order.",
        "",
    )


def _listed(title: str, names: list[str]) -> str:
    lines = [f"- {name}\n" for name in names[:_SHOWN]] + ["- ...\n"] * (len(names) > _SHOWN)
    return f"{title}\n{''.join(lines)}" if names else ""


def by_name(name: str, bounds: Any, names: np.ndarray | None) -> Any:
    """Return bounds {column: (low, high)} as arrays (lows, highs), others unchanged."""
    if not isinstance(bounds, Mapping):
        return bounds
    if names is None:
        raise InvalidRequest(
            f"`{name}` names columns, but the columns of X have no names.",
            f"Pass a data frame whose column names are text, or {name}=([lows], [highs]).",
        )
    missing = [column for column in names if column not in bounds]
    extra = [column for column in bounds if column not in names.tolist()]
    if missing:
        raise InvalidRequest(f"`{name}` has no entry for {_few(missing)}.", "Specify (low, high) for every column.")
    if extra:
        raise InvalidRequest(f"`{name}` names {_few(extra)}, which is not in X.", "Use only names of columns of X.")
    try:
        pairs = np.array([tuple(bounds[column]) for column in names], dtype=float)
    except (TypeError, ValueError):
        pairs = np.zeros(0)
    if pairs.shape != (len(names), 2):
        raise InvalidRequest(f"`{name}` has an entry that is not a pair.", f"Use {name}={{'age': (17, 90), ...}}.")
    return pairs[:, 0], pairs[:, 1]


def _few(names: list[Any]) -> str:
    return ", ".join([repr(str(name)) for name in names[:_SHOWN]] + ["..."] * (len(names) > _SHOWN))
