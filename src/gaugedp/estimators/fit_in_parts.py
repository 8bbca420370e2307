"""Fits that need others: learned bounds, balanced classes, several targets, solvers of scikit-learn."""

from fractions import Fraction
from typing import Any

import numpy as np
from sklearn.base import clone

from gaugedp._internal.cells import are_alike, is_nested, row_of, shape_of_most
from gaugedp.bodies import LpBall
from gaugedp.estimators.base import after_paying, epsilon_and_delta
from gaugedp.estimators.feature_names import names_of
from gaugedp.estimators.fit_release import FitRelease
from gaugedp.estimators.habits import SOLVERS, next_seed
from gaugedp.estimators.labels import check_given, codes_of, read_both
from gaugedp.estimators.learned_bounds import fit_learning_bounds, learns_bounds, with_guarantee
from gaugedp.estimators.private_search import NamedRows
from gaugedp.estimators.public_noise import warn_before_charge
from gaugedp.estimators.row_count import share_of
from gaugedp.estimators.rows import read_bounds
from gaugedp.estimators.tuning import TUNED
from gaugedp.estimators.unpaid_reads import warn_of_pipeline
from gaugedp.guarantees import ApproxDP, Guarantee, PureDP
from gaugedp.guarantees.shares import part
from gaugedp.mechanisms import Laplace
from gaugedp.optimization.lattice import released

BALANCED = "balanced"


def fits_in_parts(model: Any, y: Any = None) -> bool:
    """Return True if the fit is made of other fits."""
    has_several = "target_bounds" in model.get_params(deep=False) and _n_targets(y) > 1
    return learns_bounds(model) or _is_balanced(model) or _is_familiar(model) or has_several


def fit_in_parts(model: Any, X: Any, y: Any, sample_weight: Any = None) -> Any:
    """Fit the model by other fits, whose guarantees compose to the requested one."""
    if _is_familiar(model):
        _fit_with_own_solver(model, X, y, sample_weight)
    elif _is_balanced(model):
        _fit_balanced(model, X, y, sample_weight)
    elif _n_targets(y) == 1:
        fit_learning_bounds(model, X, y, sample_weight)
    else:
        _fit_targets(model, X, y, sample_weight)
    return model


def _is_familiar(model: Any) -> bool:
    solver = model.get_params(deep=False).get("solver")
    return isinstance(solver, str) and solver in SOLVERS


def _is_balanced(model: Any) -> bool:
    weight = model.get_params(deep=False).get("class_weight")
    return isinstance(weight, str) and weight == BALANCED


def _n_targets(y: Any) -> int:
    """Return the number of columns of y, by its shape; for lists by that of most rows."""
    shape = getattr(y, "shape", None)
    if shape is None:
        entries = list(y) if is_nested(y) else []
        most = shape_of_most(entries)
        return most[0] if len(most) == 1 and are_alike(entries, most) and most[0] > 1 else 1
    return int(shape[1]) if len(shape) == 2 else 1


def _fit_with_own_solver(model: Any, X: Any, y: Any, sample_weight: Any) -> None:
    """Fit with the solver "auto"; the clone is charged."""
    warn_of_pipeline(model)
    fitted = clone(model).set_params(solver="auto", ledger=model.ledger).fit(X, y, *_if_any(sample_weight))
    next_seed(model.random_state)
    _take(model, fitted)


def _fit_balanced(model: Any, X: Any, y: Any, sample_weight: Any) -> None:
    """Fit with weights inversely proportional to noisy numbers of rows of the classes.

    Theorem. The counts are (ε/20)-DP: a row changes one of them by 1, a replaced row two. The fit with their results
    has the rest, (19ε/20, δ). Both together are (ε, δ)-DP by basic composition.
    """
    requested, rows = model._requested(), model._rows(X)
    check_given(model.classes, model.bounds, model.row_norm)
    labels, classes = read_both(y, len(rows), model.classes, model.strict_labels)
    model._weights(sample_weight, len(rows))  # refuses
    epsilon, remaining = epsilon_and_delta(requested)[0], share_of(requested, 1 - TUNED.class_count_share)
    moved = 2.0 if model.neighbours == "replace" else 1.0
    noise = Laplace.calibrate(LpBall(len(classes), 1, moved), PureDP(part(epsilon, TUNED.class_count_share)))
    even = {"class_weight": dict.fromkeys(classes.tolist(), 1.0)}
    _try(model, remaining, X, (model._check_y(y, len(rows)), sample_weight), even)
    warn_before_charge(model, len(rows), rows.shape[1], remaining)
    reservation = model._pay(requested, requested, rows.shape)
    with after_paying(reservation):
        rng = model._generator()
        codes = codes_of(labels, classes)
        counts = np.bincount(codes[codes >= 0], minlength=len(classes)).astype(float)
        noisy = np.maximum(released(counts, noise, rng), 1.0)
        weights = dict(zip(classes.tolist(), (noisy.min() / noisy).tolist(), strict=True))
        fitted = with_guarantee(model, remaining, _seed(model, rng), {"class_weight": weights})
        fitted.fit(X, y, *_if_any(sample_weight))
    _take(model, fitted)
    facts = {"class_counts": noisy.tolist()}
    values = {**fitted.release_.values, "class_counts": noisy}
    _publish(model, fitted.release_, values, facts, (requested, reservation))


def _fit_targets(model: Any, X: Any, y: Any, sample_weight: Any) -> None:
    """Fit each of m targets with (ε/m, δ/m), which compose to (ε, δ)."""
    requested, rows, m = model._requested(), model._rows(X), _n_targets(y)
    targets = _columns(y, m)
    model._weights(sample_weight, len(rows))  # refuses
    share = Fraction(1, m)
    each: Guarantee = share_of(requested, share)
    if isinstance(each, ApproxDP):
        each = ApproxDP(each.epsilon_value, part(each.delta_value, share))
    bounds = _bounds_of_targets(model.target_bounds, m)
    for target, ends in zip(targets, bounds, strict=True):
        _try(model, each, X, (model._check_y(target, len(rows)), sample_weight), {"target_bounds": ends})
    warn_before_charge(model, len(rows), rows.shape[1], each)
    reservation = model._pay(requested, requested, rows.shape)
    with after_paying(reservation):
        rng, fitted = model._generator(), []
        for target, ends in zip(targets, bounds, strict=True):
            single = with_guarantee(model, each, _seed(model, rng), {"target_bounds": ends})
            fitted.append(single.fit(X, target, *_if_any(sample_weight)))
    _take(model, fitted[0])
    model._best = None  # intervals are of a single target, and so is the support
    vars(model).pop("support_", None)
    model.coef_ = np.stack([single.coef_ for single in fitted])
    model.intercept_ = np.array([single.intercept_ for single in fitted])
    values = {"coef": model.coef_, "intercept": model.intercept_}
    _publish(model, fitted[0].release_, values, {"targets": m}, (requested, reservation))


def _columns(y: Any, m: int) -> list[Any]:
    if hasattr(y, "iloc"):
        return [y.iloc[:, j] for j in range(m)]
    if not hasattr(y, "shape"):
        inner = [row_of(row) for row in y]
        return [[row[j] if row is not None and len(row) == m else None for row in inner] for j in range(m)]
    return [y[:, j] for j in range(m)]


def _bounds_of_targets(bounds: Any, m: int) -> list[Any]:
    """Return the bounds of each target: a pair of numbers for all, or (lows, highs)."""
    if isinstance(bounds, str) or bounds is None:
        return [bounds] * m
    low, high = read_bounds("target_bounds", bounds, m)
    return list(zip(low.tolist(), high.tolist(), strict=True))


def _try(model: Any, guarantee: Guarantee, X: Any, given: tuple[Any, Any], parameters: dict[str, Any]) -> None:
    """Fit to rows of zeros, so that an impossible fit is refused before the charge."""
    public_y, weights = given
    names, n_columns = names_of(X), model._rows(X).shape[1]
    zeros = NamedRows(np.zeros((2, n_columns)), names)
    trial = with_guarantee(model, guarantee, 0, parameters)
    trial._is_trial = True
    trial.fit(zeros, public_y, *_if_any(None if weights is None else np.ones(2)))


def _if_any(weights: Any) -> tuple[Any, ...]:
    """Return the weights as an argument, for estimators that have none too."""
    return () if weights is None else (weights,)


def _seed(model: Any, rng: Any) -> int | None:
    return None if model.random_state is None else int.from_bytes(rng.bytes(6), "big")


def _take(model: Any, fitted: Any) -> None:
    """Give the model what the other fit found."""
    parameters = model.get_params(deep=False)
    vars(model).update({name: value for name, value in vars(fitted).items() if name not in parameters})
    vars(model).pop("_is_part", None)


def _publish(model: Any, release: FitRelease, values: Any, facts: dict[str, Any], paid: tuple[Guarantee, Any]) -> None:
    told = {"asked", "neighbours", "research_seed", "missing_indicator", "weight_bound"}
    others = {name: fact for name, fact in release.facts.items() if name not in told}
    model._publish(values, paid[0], release.exactness, {**others, **facts}, paid[1])
