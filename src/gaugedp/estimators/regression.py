"""Linear regression with clipped rows."""

import math
from typing import Any

import numpy as np

from gaugedp._validate import one_of, positive
from gaugedp.errors import InvalidRequest
from gaugedp.estimators.linear_regressor import LinearRegressor
from gaugedp.estimators.rows import box_steps, into_ball, into_box, read_bounds, read_rows, read_target
from gaugedp.estimators.size import Count
from gaugedp.guarantees import Guarantee
from gaugedp.ledger.base import Ledger
from gaugedp.optimization.least_squares import BITS, LeastSquares

SOLVERS = ("auto", "preconditioned", "gradient")
_PUBLIC_ROWS = 1000  # what the steps are planned for where the number of rows is private


class LinearRegression(LinearRegressor):
    """Least squares for rows in a ball, or in a box, and a bounded target.

    row_norm : rows are pulled back to the ℓ₂ ball of this radius. Or
    bounds : (low, high), numbers or arrays (d,): rows are clipped to the box and scaled to [−1, 1]^d, in the ball of
        radius √d.
    target_bounds : (low, high), public; the target is clipped to them.
    fit_intercept : a constant column is one of the features; it makes rows longer, which is accounted for.
    radius : a public bound on the norm of the coefficients in units where rows have length 1 and the target is in
        [−1, 1]; √(number of coefficients) where None.
    solver : "preconditioned" steps by noisy second moments, "gradient" steps without, or "auto", by public numbers.

    Theorem. `fit` is (ε, δ)-DP for one row, ε-DP at δ = 0; docs/theory/least_squares.md. Where rows are added or
    removed, a tenth of ε goes to their number, by which the steps are planned.

    What is not a number counts as the middle of its bounds; a row with one as 0 in a ball. Residuals are clipped to
    half the target's range. After fit: coef_ (d,), intercept_, solver_, guarantee_, release_, method_.
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 0.0,
        *,
        row_norm: float | None = None,
        bounds: Any = None,
        target_bounds: Any = None,
        fit_intercept: bool = True,
        radius: float | None = None,
        solver: str = "auto",
        neighbours: str = "replace",
        random_state: int | None = None,
        ledger: Ledger | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.row_norm = row_norm
        self.bounds = bounds
        self.target_bounds = target_bounds
        self.fit_intercept = fit_intercept
        self.radius = radius
        self.solver = solver
        self.neighbours = neighbours
        self.random_state = random_state
        self.ledger = ledger

    def fit(self, X: Any, y: Any) -> "LinearRegression":
        """Fit to rows X (n, d) and target y (n,)."""
        asked, rows = self._asked(), read_rows(X)
        target = read_target(y, len(rows))
        frame = self._frame(rows.shape[1])
        stream, count = self._stream(), Count(asked, self.neighbours)
        planned = self._method(len(rows) if count.mechanism is None else _PUBLIC_ROWS, frame, count.rest)
        guarantee = count.with_rest(planned.guarantee if count.mechanism is None else count.rest)
        paid = self._pay(guarantee, asked, rows.shape)
        n_rows = int(count.draw(len(rows), stream))
        self.method_ = planned if count.mechanism is None else self._method(n_rows, frame, count.rest)
        found = self.method_.solve(frame.features(rows), frame.goal(target), stream)
        self.coef_, self.intercept_ = frame.back(found)
        self.n_features_in_, self.solver_ = rows.shape[1], self.method_.solver
        facts = {"solver": self.solver_, "noise": self.method_.describe(), "bounds": frame.describe()}
        values = {"coef": self.coef_, "intercept": np.array(self.intercept_)}
        self._publish(values, guarantee, self.method_.exactness, facts)
        self._settle(paid)
        return self

    def _frame(self, n_columns: int) -> "Frame":
        one_of(SOLVERS, solver=self.solver)
        if self.radius is not None:
            positive(radius=self.radius)
        if (self.bounds is None) == (self.row_norm is None):
            raise InvalidRequest(
                "Either bounds or row_norm must be given.",
                "Give bounds=(low, high), or row_norm, from public knowledge, never read off the data.",
            )
        box = None if self.bounds is None else read_bounds("bounds", self.bounds, n_columns)
        if self.row_norm is not None:
            positive(row_norm=self.row_norm)
        low, high = read_bounds("target_bounds", self.target_bounds)
        return Frame(box, self.row_norm, (float(low), float(high)), n_columns, self.fit_intercept)

    def _method(self, n_rows: int, frame: "Frame", asked: Guarantee) -> LeastSquares:
        radius = math.sqrt(frame.n_features) if self.radius is None else float(self.radius)
        return LeastSquares.calibrate((n_rows, frame.n_features), asked, radius, self.neighbours, self.solver)


class Frame:
    """The units in which rows have length 1 at most and the target is in [−1, 1].

    Rows of a box are divided by √d. A constant feature of size 1/√d, that of the others in a row of length 1, stands
    for the intercept; all are divided by √(1 + 1/d).
    """

    def __init__(
        self, box: Any, row_norm: float | None, target: tuple[float, float], n_columns: int, intercept: bool
    ) -> None:
        self.box, self.row_norm, self.target, self.n_columns = box, row_norm, target, n_columns
        self.constant = 1 / math.sqrt(n_columns) if intercept else 0.0
        self.n_features = n_columns + intercept

    @property
    def _length(self) -> float:
        return math.sqrt(1 + self.constant**2)

    def features(self, rows: np.ndarray) -> np.ndarray:
        """Return the features (n, d or d + 1) in whole steps."""
        scaled = np.empty((len(rows), self.n_features))
        if self.box is not None:
            scaled[:, : self.n_columns] = into_box(rows, *self.box) / (math.sqrt(self.n_columns) * self._length)
        else:
            assert self.row_norm is not None
            scaled[:, : self.n_columns] = into_ball(rows, 2, self.row_norm) / self._length
        scaled[:, self.n_columns :] = self.constant / self._length
        return box_steps(scaled, BITS)

    def goal(self, target: np.ndarray) -> np.ndarray:
        """Return the target (n,) in whole steps."""
        low, high = (np.array(end) for end in self.target)
        return box_steps(into_box(target, low, high), BITS)

    def back(self, found: np.ndarray) -> tuple[np.ndarray, float]:
        """Return coefficients and intercept in the units of the data."""
        low, high = self.target
        slopes = found[: self.n_columns] / self._length * (high - low) / 2
        constant = float(found[self.n_columns :].sum()) * self.constant / self._length * (high - low) / 2
        if self.box is None:
            assert self.row_norm is not None
            return slopes / self.row_norm, (low + high) / 2 + constant
        least, most = self.box
        slopes = slopes / math.sqrt(self.n_columns) / ((most - least) / 2)
        return slopes, (low + high) / 2 + constant - float(slopes @ ((least + most) / 2))

    def describe(self) -> str:
        """Return the bounds in words."""
        low, high = self.target
        rows = f"l2 norm at most {self.row_norm:g}" if self.box is None else "columns in a box"
        return f"{rows}, target in [{low:g}, {high:g}]"
