"""Widths of planned quantile intervals in units of the column."""

from fractions import Fraction
from typing import Any

import numpy as np

from gaugedp._internal.validate import whole
from gaugedp.errors import InvalidRequest
from gaugedp.queries.outline import QUANTILE, SHARES, Outline
from gaugedp.releases.answer import Release
from gaugedp.releases.planning import Plan

_MEDIAN = "0.5"


def quantile_widths(plan: Plan, like: Release | np.ndarray, rows: int) -> list[dict[str, Any]]:
    """Predict the widths of quantile intervals from example values.

    Use it to learn how wide the interval of a median or another quantile will be in the unit of the column, such as
    euros. A plan can state these widths in ranks only, because in the unit of the column they depend on the
    distribution of its values. Take such a distribution from public sources. No table is read, and no budget is spent.

    Parameters
    ----------
    plan : Plan
        The plan of a query for quantiles of one column only.
    like : Release or ndarray, shape (n,)
        A distribution like that of the column: public values, or an earlier release with quantiles of the column in one
        cell. Between released quantiles and the bounds, values are taken as uniform.
    rows : int
        The expected number of rows in each cell, at least 1. With survey weights, it is the sum of their weights in
        steps.

    Returns
    -------
    list of dict
        One row per quantile, with `quantile`, its `value`, and two half-widths in the unit of the column: `ordinary`
        for ordinary tables and `worst` for the worst case.

    Raises
    ------
    InvalidRequest
        If the plan is of another query, the release lacks these quantiles, or a value is not finite.

    Examples
    --------
    For 10,000 evenly spread values between 0 and 1,000, the median has an interval of less than ± 3:

    >>> import gaugedp as gd
    >>> domain = gd.Domain.of(pay=gd.bounded(0, 1000))
    >>> plan = gd.plan(gd.query(domain, "median(pay)"), gd.PrivacyUnit(), epsilon=1)
    >>> gd.quantile_widths(plan, np.arange(1001), rows=10_000)[0]["ordinary"] < 3
    True
    """
    whole(minimum=1, rows=rows)
    (outline, *others) = plan.query.outlines
    if outline.measure != QUANTILE or others:
        raise InvalidRequest(
            "Interval widths are predicted for quantiles of a single column, but the plan is for another query.",
            'Plan gd.query(domain, "median(C)").',
        )
    column = plan.query.domain.column(str(outline.column))
    low, high = float(column.low), float(column.high)
    places, values = _released(like, outline, low, high) if isinstance(like, Release) else _public(like, low, high)
    wide = plan.mechanism.ordinary_widths(), plan.mechanism.half_widths(0.95)
    return [
        {
            "quantile": share,
            "value": float(np.interp(share, places, values)),
            "ordinary": _half(share, ordinary / rows, places, values),
            "worst": _half(share, worst / rows, places, values),
        }
        for share, ordinary, worst in zip(_shares(outline), *wide, strict=False)  # those of the first cell
    ]


def _half(share: float, reach: float, places: np.ndarray, values: np.ndarray) -> float:
    """Return half the distance of the quantiles at share ± reach."""
    lower, upper = np.interp([share - reach, share + reach], places, values)
    return float(upper - lower) / 2


def _public(values: np.ndarray, low: float, high: float) -> tuple[np.ndarray, np.ndarray]:
    known = np.sort(np.asarray(values, dtype=float).ravel())
    if not len(known) or not np.isfinite(known).all():
        raise InvalidRequest("The public values are empty or not finite.", "Use finite numbers.")
    return np.linspace(0, 1, len(known) + 2), np.concatenate([[low], np.clip(known, low, high), [high]])


def _released(release: Release, outline: Outline, low: float, high: float) -> tuple[np.ndarray, np.ndarray]:
    starts = np.cumsum([0, *(estimate.n_answers for estimate in release.estimates)])
    for term, start, end in zip(release.terms, starts[:-1], starts[1:], strict=True):
        shares = _shares(term)
        if term.measure == QUANTILE and term.column == outline.column and end - start == len(shares):
            answers = np.clip(release.values[start:end], low, high)
            return np.array([0.0, *shares, 1.0]), np.array([low, *answers, high])
    raise InvalidRequest(
        f"The release has no quantiles of {outline.column} in a single cell.", "Pass one that has, or public values."
    )


def _shares(outline: Outline) -> list[float]:
    texts = next((list(axis.texts) for axis in outline.axes if axis.form == SHARES), [_MEDIAN])
    return [float(Fraction(text)) for text in texts]
