"""Parameters and seeds as they are written for scikit-learn."""

from collections.abc import Collection, Mapping
from difflib import get_close_matches
from typing import Any

from gaugedp.errors import UNTOUCHED

_OTHER_NAMES = {  # names of other libraries, and the parameter here
    "eps": "epsilon", "data_norm": "row_norm", "accountant": "ledger", "bounds_X": "bounds", "range_X": "bounds",
    "bounds_y": "target_bounds", "range_y": "target_bounds", "y_bounds": "target_bounds", "labels": "classes",
    "class_prior": "priors", "regularization": "radius", "seed": "random_state", "k": "n_clusters",
    "cv_results": "param_grid", "param_distributions": "param_grid", "lambda_": "alpha", "reg_param": "alpha",
}  # fmt: skip
SOLVERS = ("lbfgs", "liblinear", "newton-cg", "newton-cholesky", "sag", "saga")  # of scikit-learn: read as "auto"


def check_parameters(kind: str, given: Mapping[str, Any], known: Collection[str]) -> None:
    """Raise TypeError for unknown parameters, with the class and the nearest parameter."""
    for name in given:
        if name in known:
            continue
        other = _OTHER_NAMES.get(name)
        near = [other] if other in known else get_close_matches(name, known, n=1)
        hint = f"Did you mean {near[0]!r}?" if near else f"Its parameters are {', '.join(known)}."
        raise TypeError(f"{kind} has no parameter {name!r}. {hint} {UNTOUCHED}")


def next_seed(random_state: Any) -> Any:
    """Return the next seed of NumPy's RandomState or Generator, and anything else unchanged.

    The generator is the caller's, and a seed is for research only: no noise is drawn from NumPy.
    """
    kind = type(random_state).__name__
    if kind == "RandomState":
        return int(random_state.randint(2**31 - 1))
    return int(random_state.integers(2**63)) if kind == "Generator" else random_state
