"""Standard errors and intervals of coefficients."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from gaugedp._internal.displays import drawn_by
from gaugedp._internal.numbers import answers
from gaugedp._internal.validate import between
from gaugedp.errors import InvalidRequest
from gaugedp.estimators.reading import Reading
from gaugedp.guarantees import Guarantee
from gaugedp.optimization.best_weights import NormalMixture

_HEADS = ("coefficient", "estimate", "std. error", "lower", "upper")


@dataclass(frozen=True, repr=False)
class Summary:
    """Table of coefficients with standard errors and intervals.

    The intercept is last. `repr` and notebooks show the table.
    """

    title: str
    names: tuple[str, ...]
    law: NormalMixture
    level: float
    supposed: str

    @property
    def lines(self) -> Iterator[tuple[str, ...]]:
        """Lines (name, estimate, standard error, lower, upper) as texts."""
        low, high = self.law.interval(self.level)
        columns = zip(self.names, self.law.median, low, high, self.law.deviations, strict=True)
        for name, *numbers in columns:
            (texts,) = answers(*([number] for number in numbers))
            yield name, texts[0], texts[3], texts[1], texts[2]

    @property
    def note(self) -> str:
        """Note on the meaning of the intervals."""
        return (
            f"Intervals at {self.level:.4g} account for noise and sampling, for independent rows within their bounds "
            f"and {self.supposed}."
        )

    @property
    def heads(self) -> tuple[str, ...]:
        """Titles of the columns."""
        return _HEADS

    def __repr__(self) -> str:
        lines = [_HEADS, *self.lines]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        table = ("  ".join([name.ljust(widths[0]), *map(str.rjust, rest, widths[1:])]) for name, *rest in lines)
        return "\n".join([self.title, *table, self.note])

    _repr_html_ = drawn_by("summary")


class Intervals:
    """Confidence intervals of coefficients, for noise and sampling."""

    judged_by: ClassVar[str]  # the solver that provides them
    supposed: ClassVar[str] = "residuals of equal variance"  # in addition to independent rows
    n_features_in_: int
    solver_: str
    _requested: Callable[[], Guarantee]
    _read_as: Reading
    _best: NormalMixture | None = None  # of the coefficients, the intercept last; None if the fit does not provide it

    def coef_interval(self, level: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
        """Return confidence intervals (lower, upper) of the coefficients.

        Each interval covers, with probability of about `level` (default 0.95), the coefficient of the model from which
        the rows are drawn. It accounts for both noise and sampling. The intervals are a function of the release, so
        they cost no budget.

        The intervals assume that rows are independent and within their bounds, that the residuals of a linear model
        have equal variance, and that logistic steps end near the best fit. The midpoint is another estimate than
        `coef_`. The ends are quantiles that leave out four fifths of 1 − `level`; the rest allows for approximations.
        If noise hides the curvature, as for nearly collinear columns, no interval covers every coefficient (theorem 3).
        They are then wide and conservative, and assume that hidden weights are at most four times as large as those of
        a mean direction that explains the whole target, and logistic scores of root mean square at most 3.5. They are
        refused if the solver releases no second moments. docs/theory/least_squares.md, newton.md
        """
        law, _ = self._law(level)
        low, high = law.interval(level)
        return low[:-1], high[:-1]

    def summary(self, level: float = 0.95) -> Summary:
        """Return a printable table of the coefficients and their intervals."""
        law, size = self._law(level)
        names = getattr(self, "feature_names_in_", None)
        columns = [f"x{i}" for i in range(size)] if names is None else [str(name) for name in names]
        missing = [f"{columns[i]} missing" for i in self._read_as.indicators]
        title = f"{type(self).__name__}, {self._requested()}"
        return Summary(title, (*columns, *missing, "intercept"), law, level, self.supposed)

    @property
    def _errors(self) -> dict[str, np.ndarray]:
        return {} if self._best is None else {"estimate": self._best.median, "standard_error": self._best.deviations}

    def _law(self, level: float) -> tuple[NormalMixture, int]:
        check_is_fitted(self, "n_features_in_")
        between(0, 1, level=level)
        if self._best is None:
            raise self._no_law()
        return self._best, self.n_features_in_

    def _no_law(self) -> InvalidRequest:
        if self.solver_ == self.judged_by:
            reason, action = "its rows have weights", "Fit without sample_weight."
        else:
            reason, action = (
                f'solver="{self.solver_}" releases no second moments',
                f'Fit with solver="{self.judged_by}".',
            )
        return InvalidRequest(f"This fit provides no intervals for its coefficients: {reason}.", action, "")
