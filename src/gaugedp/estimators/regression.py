"""Linear regression with clipped rows."""

import math
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
import scipy

from gaugedp._validate import moderate, one_of
from gaugedp.errors import InvalidRequest
from gaugedp.estimators.base import after_paying
from gaugedp.estimators.feature_names import names_of
from gaugedp.estimators.gibbs_fit import GibbsFit
from gaugedp.estimators.intervals import Intervals
from gaugedp.estimators.learned_bounds import fit_learning_bounds, learns_bounds
from gaugedp.estimators.linear_regressor import LinearRegressor
from gaugedp.estimators.reading import Reading
from gaugedp.estimators.regression_sums import Frame, RowSums, TableSums
from gaugedp.estimators.row_count import PUBLIC_ROWS, NoisyRowCount
from gaugedp.estimators.rows import check_one_given, read_bounds, read_target
from gaugedp.estimators.table_rows import TableDesign
from gaugedp.estimators.weights import check_no_weights
from gaugedp.guarantees import Guarantee
from gaugedp.ledger.entries import Reservation
from gaugedp.optimization.geometry import Geometry
from gaugedp.optimization.least_squares import LeastSquares
from gaugedp.optimization.losses import Absolute, Huber, Loss, Squared
from gaugedp.tables.table import Table

SOLVERS = ("auto", "preconditioned", "gradient", "gibbs")
LOSSES: dict[str, Loss] = {"squared": Squared(1.0), "huber": Huber(0.5), "absolute": Absolute()}  # target in [−1, 1]
Pay = Callable[[Guarantee], Reservation | None]


@dataclass(eq=False, repr=False)
class LinearRegression(Intervals, LinearRegressor):
    """Linear regression, by least squares, for rows in a ball, or in a box, and a bounded target.

    row_norm : rows are pulled back to the ℓ₂ ball of this radius. Or
    bounds, missing_indicator : as in `LogisticRegression`; the box of the bounds is scaled to [−1, 1]^d, in the ball of
        radius √d.
    target_bounds : (low, high), public, or "private"; the target is clipped to them, residuals to half their range.
    fit_intercept : a constant column is one of the features; it makes rows longer, which is accounted for.
    radius : a public bound on the norm of the coefficients in units where rows have length 1 and the target is in
        [−1, 1]; where None √k for "gradient" and 8√k for "preconditioned", k the number of coefficients. A ball that is
        too small shortens them, whatever ε is. It has the place of Ridge's alpha.
    weight_bound : as in `LogisticRegression`; not with "gibbs". With weights there is no `coef_interval`.
    solver : "preconditioned" steps by noisy second moments, "gradient" steps without, or "auto", by public numbers.
        "gibbs", for δ > 0, draws the coefficients from the regularised exponential mechanism in the ℓ₂ ball.
    loss : "squared"; with "gibbs" also "huber", a parabola within a quarter of the target's range, or "absolute".

    Theorem. `fit` is (ε, δ)-DP for one row, ε-DP at δ = 0; docs/theory/least_squares.md and gibbs.md. Where rows are
    added or removed, a tenth of ε, with "gibbs" a twentieth of μ², goes to their number, by which steps are planned.

    "preconditioned" gives `coef_interval` and `summary`: a fiftieth of μ² (of ε) goes to the residuals' mean square.

    After fit: coef_ (d + m,) for d columns and m indicators, intercept_, solver_, method_, guarantee_, release_.
    """

    epsilon: float = 1.0
    delta: float = 0.0
    _: KW_ONLY
    row_norm: float | None = None
    radius: float | None = None
    solver: str = "auto"
    loss: str = "squared"

    judged_by = "preconditioned"
    _possible = np.empty((0, 0))  # public rows, of which all others are sums with weights, where there are such

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "LinearRegression":
        """Fit to rows X (n, d) and target y (n,)."""
        if learns_bounds(self):
            fit_learning_bounds(self, X, y, sample_weight)
            return self
        requested, rows = self._requested(), self._rows(X)
        target = read_target(y, len(rows))
        weights, frame = self._weights(sample_weight, len(rows)), self._frame(rows.shape[1], names_of(X))
        check_no_weights(self.solver, sample_weight is not None)
        if self.solver == "gibbs":
            self._draw(frame, rows, target)
        else:
            pay: Pay = lambda guarantee: self._pay(guarantee, requested, rows.shape)  # noqa: E731
            self._fit(frame, RowSums(frame, (rows, target, weights)), pay)
        return self

    def fit_table(self, design: TableDesign, table: Table, row_key: bytes) -> "LinearRegression":
        """Fit to the rows of a table where they are, as `fit` does to those of `design.read` and its public row.

        A look for each step, in which sums alone leave the engine. The guarantee is for a kept row, added or removed;
        what a unit is guaranteed, and the payment, are up to the caller (TableFit).
        """
        if self.neighbours != "add_remove" or self.ledger is not None:
            raise InvalidRequest("A table has private rows.", 'Give neighbours="add_remove", and no ledger.')
        if self.solver == "gibbs":
            raise InvalidRequest("gibbs needs rows in memory.", "Choose another solver.")
        frame = self._frame(design.n_features, np.asarray(design.names, dtype=object))
        self._fit(frame, TableSums(table, design, frame, row_key), lambda _: None)
        self._note_names(None)
        return self

    def _fit(self, frame: Frame, sums: "RowSums | TableSums", pay: Pay) -> None:
        rng, count = self._generator(), NoisyRowCount(self._requested(), self.neighbours)
        planned = self._method(PUBLIC_ROWS if count.mechanism else len(sums), frame, count.remaining)
        guarantee = count.with_remaining(planned.guarantee if count.mechanism is None else count.remaining)
        reservation = pay(guarantee)
        n_rows = int(count.draw(len(sums), rng))
        self.method_ = planned if count.mechanism is None else self._method(n_rows, frame, count.remaining)
        weights, best = self.method_.solve_sums(sums, rng, self._span(frame))
        self.coef_, self.intercept_ = frame.back(weights)
        self._best = None if best is None or self._weights_up_to > 0 else best.mapped(*frame.back_map())
        self._read_by(frame.reading)
        self.solver_ = self.method_.solver
        facts = {"solver": self.solver_, "noise": self.method_.describe(), "bounds": frame.describe()}
        self._publish({**self._values, **self._errors}, guarantee, self.method_.exactness, facts, reservation)

    def _span(self, frame: Frame) -> np.ndarray | None:
        """Return an orthonormal basis (k, r) of where all features lie; None where that is everywhere."""
        return scipy.linalg.orth(frame.features(self._possible).T, rcond=1e-6) if len(self._possible) else None

    def _draw(self, frame: Frame, rows: np.ndarray, target: np.ndarray) -> None:
        requested = self._requested()
        radius = math.sqrt(frame.n_features) if self.radius is None else float(self.radius)
        plan = GibbsFit.plan(Geometry((frame.n_features,), 2, radius), LOSSES[self.loss], requested, self.neighbours)
        reservation = self._pay(plan.guarantee, requested, rows.shape)
        with after_paying(reservation):
            weights, exactness, facts = plan.solve(frame.scaled(rows), frame.scaled_target(target), self._generator())
        self.coef_, self.intercept_ = frame.back(weights)
        self._best, self.solver_ = None, "gibbs"
        self._read_by(frame.reading)
        self._publish(self._values, plan.guarantee, exactness, {**facts, "bounds": frame.describe()}, reservation)

    def _frame(self, n_columns: int, names: np.ndarray | None) -> Frame:
        one_of(SOLVERS, solver=self.solver)
        one_of(tuple(LOSSES), loss=self.loss)
        if self.loss != "squared" and self.solver != "gibbs":
            raise InvalidRequest(f"loss={self.loss!r} goes with gibbs.", 'Give solver="gibbs", or take HuberRegressor.')
        if self.radius is not None:
            moderate(radius=self.radius)
        check_one_given(self.bounds, self.row_norm)
        if self.row_norm is not None:
            moderate(row_norm=self.row_norm)
        reading = Reading.of(self.bounds, names, n_columns, self.missing_indicator)
        low, high = read_bounds("target_bounds", self.target_bounds)
        return Frame(reading, self.row_norm, (float(low), float(high)), self.fit_intercept)

    def _method(self, n_rows: int, frame: Frame, guarantee: Guarantee) -> LeastSquares:
        radius = None if self.radius is None else float(self.radius)
        return LeastSquares.calibrate((n_rows, frame.n_features), guarantee, radius, self.neighbours, self.solver)
