"""A classifier's fit by noisy Newton steps, which knows how far noise and sampling move its coefficients."""

from typing import Any

import numpy as np

from gaugedp._validate import moderate
from gaugedp.errors import InvalidRequest
from gaugedp.estimators.base import after_paying
from gaugedp.estimators.feature_names import names_of
from gaugedp.estimators.labels import check_given, class_shares, codes_of, read_both
from gaugedp.estimators.reading import Reading
from gaugedp.estimators.regression_sums import Frame
from gaugedp.optimization.newton import NoisyNewton

REASON = "asked for"
_CENTRED = (-1.0, 1.0)  # a target that is in its units already


def fit_newton(model: Any, X: Any, y: Any, sample_weight: Any) -> Any:
    """Fit a LinearClassifier with two classes to rows X (n, d) and labels y (n,), in the frame of least squares."""
    requested, rows = model._requested(), model._rows(X)
    check_given(model.classes, model.bounds, model.row_norm)
    labels, classes = read_both(y, len(rows), model.classes, model.strict_labels)
    row_weights, shares = model._weights(sample_weight, len(rows)), class_shares(model.class_weight, classes)
    if len(classes) != 2:
        raise InvalidRequest(f'There are {len(classes)} classes, and "newton" takes two.', 'Choose solver="auto".')
    if model.bounds is not None and model.row_norm is not None:
        raise InvalidRequest('Both bounds and row_norm are given, and "newton" takes one.', "Leave one of them out.")
    moderate(**{name: value for name in ("radius", "row_norm") if (value := getattr(model, name)) is not None})
    reading = Reading.of(model.bounds, names_of(X), rows.shape[1], model.missing_indicator)
    frame = Frame(reading, model.row_norm, _CENTRED, model.fit_intercept)
    method = NoisyNewton.calibrate(frame.n_features, requested, model.radius, model.neighbours)
    reservation = model._pay(method.guarantee, requested, rows.shape)
    with after_paying(reservation):
        codes, features = codes_of(labels, classes), frame.features(rows)
        features[codes < 0] = 0.0
        target = np.column_stack([codes == 1, row_weights * shares[codes]])
        weights, law = method.solve(lambda of: of(features, target), model._generator())
    slopes, constant = frame.back(weights)
    model.coef_, model.intercept_ = slopes[None], np.array([constant if model.fit_intercept else 0.0])
    model._best = law.mapped(*frame.back_map())
    model.classes_, model.solver_, model.reason_ = classes, "newton", REASON
    model._read_by(reading)
    values = {"coef": model.coef_, "intercept": model.intercept_, **model._errors}
    facts = {"solver": "newton", "reason": REASON, "noise": method.describe(), "classes": classes.tolist()}
    model._publish(values, method.guarantee, method.exactness, facts, reservation)
    return model
