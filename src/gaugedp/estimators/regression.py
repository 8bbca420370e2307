"""Linear regression with clipped rows."""

import math
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy

from gaugedp._internal.validate import moderate, one_of
from gaugedp.errors import InvalidRequest
from gaugedp.estimators.base import after_paying
from gaugedp.estimators.feature_names import names_of
from gaugedp.estimators.fit_in_parts import fit_in_parts, fits_in_parts
from gaugedp.estimators.gibbs_fit import GibbsFit
from gaugedp.estimators.intervals import Intervals
from gaugedp.estimators.linear_regressor import LinearRegressor
from gaugedp.estimators.mean_alone import MeanAlone
from gaugedp.estimators.public_noise import hides_slopes, row_count, warn_after_release, warn_before_charge
from gaugedp.estimators.reading import Reading
from gaugedp.estimators.row_count import PUBLIC_ROWS, NoisyRowCount
from gaugedp.estimators.rows import (
    box_steps,
    check_one_given,
    into_ball,
    into_box,
    read_bounds,
    read_target,
    with_targets,
)
from gaugedp.estimators.table_rows import TableDesign
from gaugedp.estimators.weights import check_no_weights, weighed
from gaugedp.guarantees import Guarantee
from gaugedp.ledger.entries import Reservation
from gaugedp.optimization.geometry import Geometry
from gaugedp.optimization.lattice import BITS
from gaugedp.optimization.least_squares import LeastSquares, Of
from gaugedp.optimization.losses import Absolute, Huber, Loss, Squared
from gaugedp.optimization.row_blocks import in_threads
from gaugedp.releases.executing import PaidRows

SOLVERS = ("auto", "preconditioned", "gradient", "gibbs")
LOSSES: dict[str, Loss] = {"squared": Squared(1.0), "huber": Huber(0.5), "absolute": Absolute()}  # target in [−1, 1]
Pay = Callable[[Guarantee], Reservation | None]


class UnitScaling:
    """Scaling to rows in the unit ball.

    The target is scaled to [−1, 1], and rows of a box are divided by √d. A constant feature of size 1/√d represents the
    intercept; all are divided by √(1 + 1/d).
    """

    def __init__(self, reading: Reading, row_norm: float | None, target: tuple[float, float], intercept: bool) -> None:
        self.reading, self.row_norm, self.target, self.n_columns = reading, row_norm, target, reading.width
        self.constant = 1 / math.sqrt(self.n_columns) if intercept else 0.0
        self.n_features = self.n_columns + intercept

    @property
    def _length(self) -> float:
        return math.sqrt(1 + self.constant**2)

    @property
    def constant_feature(self) -> float:
        """The constant last feature, 0 without an intercept."""
        return self.constant / self._length

    def features(self, rows: np.ndarray) -> np.ndarray:
        """Return the features (n, k) in integer steps."""
        features = np.empty((len(rows), self.n_features))

        def fill(parts: list[slice]) -> None:
            for part in parts:
                features[part] = box_steps(self.scaled(rows[part]), BITS)

        in_threads(fill, rows)
        return features

    def scaled(self, rows: np.ndarray) -> np.ndarray:
        """Return the features (n, k), of length at most 1."""
        scaled = np.empty((len(rows), self.n_features))
        if self.reading.box is not None:
            scaled[:, : self.n_columns] = self.reading.in_cube(rows) / math.sqrt(self.n_columns)
        else:
            assert self.row_norm is not None
            scaled[:, : self.n_columns] = into_ball(rows, 2, self.row_norm)
        scaled[:, self.n_columns :] = self.constant
        scaled *= 1 / self._length
        return scaled

    def goal(self, target: np.ndarray) -> np.ndarray:
        """Return the target (n,) in integer steps."""
        return box_steps(self.scaled_target(target), BITS)

    def scaled_target(self, target: np.ndarray) -> np.ndarray:
        """Return the target (n,) in [−1, 1]."""
        return into_box(target, *(np.array(end) for end in self.target))

    def back(self, weights: np.ndarray) -> tuple[np.ndarray, float]:
        """Return coefficients and intercept in data units."""
        low, high = self.target
        slopes = weights[: self.n_columns] / self._length * (high - low) / 2
        constant = float(weights[self.n_columns :].sum()) * self.constant / self._length * (high - low) / 2
        if self.reading.box is None:
            assert self.row_norm is not None
            return slopes / self.row_norm, (low + high) / 2 + constant
        column_low, column_high = self.reading.box
        slopes = slopes / math.sqrt(self.n_columns) / ((column_high - column_low) / 2)
        return slopes, (low + high) / 2 + constant - float(slopes @ ((column_low + column_high) / 2))

    def back_map(self) -> tuple[np.ndarray, np.ndarray]:
        """Return (matrix, shift) from weights to coefficients in data units, intercept last."""

        def stacked(weights: np.ndarray) -> np.ndarray:
            slopes, constant = self.back(weights)
            return np.append(slopes, constant)

        shift = stacked(np.zeros(self.n_features))
        return np.column_stack([stacked(unit) - shift for unit in np.eye(self.n_features)]), shift

    def describe(self) -> str:
        """Describe the bounds."""
        low, high = self.target
        rows = f"l2 norm at most {self.row_norm:g}" if self.reading.box is None else "columns in a box"
        return f"{rows}, target in [{low:g}, {high:g}]"


class RowSums:
    """Sums over rows in memory, scaled when first needed."""

    def __init__(self, frame: UnitScaling, target: np.ndarray, rows: np.ndarray, weights: np.ndarray) -> None:
        self._frame, self._rows, self._target, self._weights = frame, rows, target, weights

    def __len__(self) -> int:
        return len(self._rows)

    @cached_property
    def _steps(self) -> tuple[np.ndarray, np.ndarray]:
        features = weighed(self._frame.features(self._rows), self._weights)
        return np.rint(features, out=features), np.rint(weighed(self._frame.goal(self._target), self._weights))

    def __call__(self, of: Of) -> np.ndarray:
        """Return of(features, target)."""
        return of(*self._steps)


@dataclass(frozen=True)
class TableSums:
    """Sums over a table's kept rows and its public row, one pass each; no row leaves the engine."""

    rows: PaidRows
    design: TableDesign
    frame: UnitScaling
    row_key: bytes

    def __len__(self) -> int:
        return int(self(_count)[0])

    def __call__(self, of: Of) -> np.ndarray:
        """Return Σ of(features, target), the same for any blocks of rows."""
        row, target = self.design.public_row()
        of_public_row = of(self.frame.features(row), self.frame.goal(target))
        of_table = self.rows.line_sum(
            self.design.names_in_table, RowBlockSum(self.design, self.frame, of), self.row_key
        )
        return of_public_row + of_table


@dataclass(frozen=True)
class RowBlockSum:
    """A sum over a block of table rows."""

    design: TableDesign
    frame: UnitScaling
    of: Of

    def __call__(self, cells: np.ndarray, steps: np.ndarray) -> np.ndarray:
        """Return the sum, in integers."""
        rows, target = self.design.features_and_target(cells, steps)
        return self.of(self.frame.features(rows), self.frame.goal(target)).astype(np.int64)


def _count(features: np.ndarray, target: np.ndarray) -> np.ndarray:
    del target
    return np.array([len(features)])


@dataclass(eq=False, repr=False)
class LinearRegression(Intervals, LinearRegressor):
    """Linear least-squares regression with differential privacy.

    Use it to predict a number, or to estimate how the number depends on each column, if the coefficients must reveal
    little about any one row. You must specify bounds on the rows and the target from public knowledge; whatever lies
    outside is clipped. For very many columns use `Lasso` or `SparseRegression`.

    A fit is (ε, δ)-DP for one row, and ε-DP at δ = 0. The proofs are in docs/theory/least_squares.md and gibbs.md.

    Parameters
    ----------
    epsilon, delta : float
        Total privacy budget for one row. The default is epsilon = 1 and delta = 0, which gives pure ε-DP.
    row_norm : float, optional
        Rows are clipped to the ℓ₂ ball of this radius. Specify either this or `bounds`.
    bounds, missing_indicator : optional
        The public interval of each column, and the columns with an indicator of missing numbers, as in
        `LogisticRegression`. The box of the bounds of d columns is scaled to [−1, 1]^d, which lies in the ball of
        radius √d.
    target_bounds : (low, high) or "private"
        The target is clipped to these public bounds. Residuals are clipped to half the range of the target;
        "preconditioned" clips them to the whole range if half of it would bias the coefficients.
    fit_intercept : bool
        Whether a constant column is one of the features. The column makes rows longer, which is accounted for. Default
        True.
    radius : float, optional
        Public bound on the norm of the coefficients for rows of length 1 and a target in [−1, 1]. By default it is √k
        for "gradient" and 8√k for "preconditioned", where k is the number of coefficients. A ball that is too small
        shrinks the coefficients, however large ε is. It plays the role of Ridge's alpha.
    weight_bound : float
        Public bound on `sample_weight`; larger weights count as the bound. "gibbs" does not accept weights, and there
        is no `coef_interval` with them. Default 1.
    solver : {"auto", "preconditioned", "gradient", "gibbs"}
        "preconditioned" takes steps with noisy second moments, and "gradient" takes steps without them. "auto", the
        default, chooses one of these two by public numbers, or the mean of the target alone if noise hides slopes. For
        δ > 0, "gibbs" draws the coefficients from the regularised exponential mechanism.
    loss : {"squared", "huber", "absolute"}
        The loss of a residual. "huber", which is quadratic within a quarter of the target's range, and "absolute"
        require the solver "gibbs". Default "squared".
    neighbours, random_state, ledger
        Further options of the privacy budget, as in `LogisticRegression`.

    Attributes
    ----------
    coef_, intercept_
        Coefficients (d + m,) for d columns and m indicators, and the intercept.
    solver_, method_, guarantee_, release_
        The solver that was chosen ("mean" for the mean alone) and its method, the privacy guarantee of the fit, and the
        released numbers.

    Notes
    -----
    If rows are added or removed, a tenth of ε ("gibbs": a twentieth of μ², where μ is the Gaussian-DP parameter of the
    fit) is spent on their number, which determines the number of steps. "preconditioned" provides `coef_interval` and
    `summary`. It spends an eighth of μ² (of ε at δ = 0) on the mean square of the residuals and on the number of
    residuals that are clipped. "gradient" always clips residuals to half the range, which biases the coefficients of
    binary targets. With an intercept it starts at a noisy mean of the target, around which the ball is centred, and the
    coefficients shrink if the noise is large.

    Examples
    --------
    The target is the sum of two columns, so there are two coefficients:

    >>> import numpy as np
    >>> from gaugedp.estimators import LinearRegression
    >>> X = np.random.default_rng(0).uniform(-1, 1, (1000, 2))
    >>> model = LinearRegression(epsilon=1.0, delta=1e-6, bounds=(-1, 1), target_bounds=(-2, 2)).fit(X, X.sum(axis=1))
    >>> model.coef_.shape, model.predict(X).shape
    ((2,), (1000,))
    """

    epsilon: float = 1.0
    delta: float = 0.0
    _: KW_ONLY
    row_norm: float | None = None
    radius: float | None = None
    solver: str = "auto"
    loss: str = "squared"

    judged_by = "preconditioned"
    _possible = np.empty((0, 0))  # public rows, of which all others are weighted sums, if there are such

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "LinearRegression":
        """Fit the model to rows X and target y.

        X has shape (n, d) and y has shape (n,). The model's ledger, if any, is charged before any row is read.
        """
        if fits_in_parts(self, y):
            fit_in_parts(self, X, y, sample_weight)
            return self
        requested, rows = self._requested(), self._rows(X)
        target = read_target(y, len(rows))
        weights, frame = self._weights(sample_weight, len(rows)), self._frame(rows.shape[1], names_of(X))
        data = with_targets(self.neighbours, target, rows, weights)
        check_no_weights(self.solver, sample_weight is not None)
        if self.solver == "gibbs":
            self._draw(frame, *data)
        else:
            warn_before_charge(self, len(rows), frame.n_columns)
            pay: Pay = lambda guarantee: self._pay(guarantee, requested, rows.shape)  # noqa: E731
            self._fit(frame, RowSums(frame, *data), pay)
            warn_after_release(self, self.method_.n_rows, frame.n_columns)
        return self

    def fit_table(self, design: TableDesign, rows: PaidRows, row_key: bytes) -> "LinearRegression":
        """Fit the model to a table's rows in its engine.

        The result equals that of `fit` on the rows of `design.read` and its public row. Each step is one pass, in which
        only sums leave the engine. The guarantee is for one kept row, added or removed; the caller (TableFit) charges
        the ledger for a unit.
        """
        if self.neighbours != "add_remove" or self.ledger is not None:
            raise InvalidRequest(
                "A fit to a table protects added or removed rows, and its ledger is passed with the table.",
                'Use neighbours="add_remove", and omit `ledger` here.',
            )
        if self.solver == "gibbs":
            raise InvalidRequest('solver="gibbs" requires rows in memory, not a table.', "Choose another solver.")
        frame = self._frame(design.n_features, np.asarray(design.names, dtype=object))
        self._fit(frame, TableSums(rows, design, frame, row_key), lambda _: None)
        self._note_names(None)
        warn_after_release(self, self.method_.n_rows, frame.n_columns)
        return self

    def _fit(self, frame: UnitScaling, sums: "RowSums | TableSums", pay: Pay) -> None:
        rng = self._generator()
        count, planned, guarantee = self._plan(len(sums), frame)
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

    def _plan(self, n_rows: int, frame: UnitScaling) -> tuple[NoisyRowCount, LeastSquares | MeanAlone, Guarantee]:
        count = row_count(self, frame.n_columns)
        if count.mechanism:  # planned for refusals alone
            return count, self._sloped(PUBLIC_ROWS, frame, count.remaining), count.with_remaining(count.remaining)
        planned = self._method(n_rows, frame, count.remaining)
        return count, planned, count.with_remaining(planned.guarantee)

    def _span(self, frame: UnitScaling) -> np.ndarray | None:
        """Return an orthonormal basis (k, r) of the features' span, None if complete."""
        return scipy.linalg.orth(frame.features(self._possible).T, rcond=1e-6) if len(self._possible) else None

    def _draw(self, frame: UnitScaling, target: np.ndarray, rows: np.ndarray, _: np.ndarray) -> None:
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

    def _frame(self, n_columns: int, names: np.ndarray | None) -> UnitScaling:
        one_of(SOLVERS, solver=self.solver)
        one_of(tuple(LOSSES), loss=self.loss)
        if self.loss != "squared" and self.solver != "gibbs":
            raise InvalidRequest(
                f"solver={self.solver!r} does not support loss={self.loss!r}.", 'Use solver="gibbs", or HuberRegressor.'
            )
        if self.radius is not None:
            moderate(radius=self.radius)
        check_one_given(self.bounds, self.row_norm)
        if self.row_norm is not None:
            moderate(row_norm=self.row_norm)
        reading = Reading.of(self.bounds, names, n_columns, self.missing_indicator)
        low, high = read_bounds("target_bounds", self.target_bounds)
        return UnitScaling(reading, self.row_norm, (float(low), float(high)), self.fit_intercept)

    def _method(self, n_rows: int, frame: UnitScaling, guarantee: Guarantee) -> LeastSquares | MeanAlone:
        shape, has_weights, constant = (n_rows, frame.n_features), self._weights_up_to > 0, frame.constant_feature
        if self.solver == "auto" and hides_slopes(self, n_rows, frame.n_columns):
            return MeanAlone.calibrate(shape, guarantee, self.neighbours == "replace", has_weights, constant)
        return self._sloped(n_rows, frame, guarantee)

    def _sloped(self, n_rows: int, frame: UnitScaling, guarantee: Guarantee) -> LeastSquares:
        shape, radius = (n_rows, frame.n_features), None if self.radius is None else float(self.radius)
        constant = 0.0 if self._weights_up_to > 0 else frame.constant_feature  # the sum of weights is not released
        return LeastSquares.calibrate(shape, guarantee, radius, self.neighbours, self.solver, constant)
