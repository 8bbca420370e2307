"""The mean of clipped rows, with additive noise."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from gaugedp._internal.rounding import NORMS
from gaugedp._internal.validate import between, one_of, positive
from gaugedp.bodies import Body, LpBall
from gaugedp.entropy import Entropy
from gaugedp.errors import InvalidRequest
from gaugedp.estimators.base import PrivateEstimator
from gaugedp.estimators.feature_names import names_of
from gaugedp.estimators.fit_release import FitRelease
from gaugedp.estimators.reading import Reading
from gaugedp.estimators.rows import ball_steps, box_steps, check_one_given, into_ball
from gaugedp.estimators.table_fit import row_share
from gaugedp.guarantees import ApproxDP, Guarantee, PureDP
from gaugedp.guarantees.parse_guarantee import chargeable
from gaugedp.ledger.entries import Reservation
from gaugedp.mechanisms import KNorm
from gaugedp.mechanisms.base import AdditiveNoise
from gaugedp.mechanisms.choose import candidates, choose
from gaugedp.optimization.lattice import SUM_BITS, with_noise
from gaugedp.optimization.row_blocks import blocks
from gaugedp.releases.executing import Charge, PaidRows, execute
from gaugedp.statistics.inversion import quotients_within
from gaugedp.statistics.mean import PLACES, MeanWidths
from gaugedp.tables.aggregate import Rows
from gaugedp.tables.table import Table

NOISES = ("auto", "body", "cube", "gaussian", "laplace")
_NAMES = {"body": "KNorm", "cube": "Cube", "gaussian": "Gaussian", "laplace": "Laplace"}


@dataclass(eq=False, repr=False)
class Mean(PrivateEstimator):
    """Private mean of the rows of a table.

    Use it to estimate the means of numeric columns of an array or data frame. Each row is first clipped to public
    bounds or to a ball, so that a single row can change the mean only little. Noise then hides that change. Specify
    `bounds` or `row_norm` from public knowledge, such as 0 to 120 for an age.

    Parameters
    ----------
    bounds, missing_indicator
        The public interval of each column, and the columns with an indicator of missing numbers, as in
        `LogisticRegression`. The mean of an indicator is the share of rows without that number.
    row_norm : float, optional
        Rows are clipped to the ball of this radius of the ℓ_p norm, where p is `norm`, a number in [1, ∞] (default 2).
    noise : {"auto", "gaussian", "laplace", "cube", "body"}
        The distribution of the noise. "auto", the default, minimises the expected ℓ₂ error. "gaussian" needs δ > 0.
        "body" is K-norm noise, which has the shape of the bounds or the ball.
    epsilon, delta, neighbours, random_state, ledger
        The privacy budget for one row, and its options, as in `LogisticRegression`.

    Notes
    -----
    Theorem (docs/theory/means.md). One row changes the sum of the clipped rows by a point of the box or ball, or of one
    twice as large if rows are replaced. `fit` adds the noise of a mechanism for that body, and is (ε, δ)-DP for one
    row, and ε-DP at δ = 0. If rows are added or removed, their number is one more coordinate of that sum.

    For norms other than 1, 2 and ∞ the fit is "idealized", because powers are computed in floating point. After `fit`,
    the model has the attributes mean_ of shape (d + m,) for d columns and m indicators, n_rows_, solver_, mechanism_,
    guarantee_ and release_.

    Examples
    --------
    Estimate the means of two columns. Each lies within its confidence interval:

    >>> import numpy as np
    >>> from gaugedp.estimators import Mean
    >>> X = np.random.default_rng(0).uniform(20, 60, (1000, 2))
    >>> model = Mean(epsilon=1.0, bounds=(0, 100)).fit(X)
    >>> low, high = model.interval(0.95)
    >>> bool((low < model.mean_).all() and (model.mean_ < high).all())
    True
    """

    epsilon: float = 1.0
    delta: float = 0.0
    _: KW_ONLY
    bounds: Any = None
    missing_indicator: Any = False
    row_norm: float | None = None
    norm: float = 2
    noise: str = "auto"

    def fit(self, X: Any, y: Any = None) -> "Mean":
        """Estimate the mean of rows X of shape (n, d).

        The model's ledger, if any, is charged before any row is read.
        """
        del y
        requested, rows, rng = self._requested(), self._rows(X), self._generator()
        reading = self._geometry(rows.shape[1], names_of(X))
        guarantee, finish = self._prepared(reading.width, requested, self.neighbours == "add_remove", 1, rng)
        reservation = self._pay(guarantee, requested, rows.shape)
        total: np.ndarray = sum(self._steps(reading, block).sum(axis=0) for block in blocks(rows)) * 2.0**-SUM_BITS
        finish(total, len(rows), reading, reservation)
        return self

    def fit_table(self, table: Table, columns: Sequence[str]) -> "Mean":
        """Estimate the means of a table's bounded columns.

        Use it instead of `fit` if the rows are in a file or a database, where they stay. The fit takes one pass over
        the rows that the domain admits. The bounds are those of the domain, and a missing number counts as the middle
        of its bounds. The fit is (ε, δ)-DP for the table's privacy unit. Neighbouring tables differ by at most k rows
        added or removed, and each of these rows has a share of the guarantee (see `TableFit`).
        """
        self._requested()
        execute(
            TableMean(self, columns, self._table_reading(table, columns)), self._account(), table, rng=self._generator()
        )
        return self

    def _prepared(
        self, n_columns: int, requested: Guarantee, is_counted: bool, size: int, rng: Entropy
    ) -> tuple[Guarantee, Callable[..., None]]:
        ball, count_scale = self._ball(n_columns, is_counted)
        mechanism, reason = self._chosen(ball, requested)
        noise = mechanism.prepare(rng)
        guarantee = mechanism.guarantee.group(size)

        def finish(exact: np.ndarray, n_rows: int, reading: Reading, reservation: Reservation | None = None) -> None:
            numbers = np.append(exact, n_rows * count_scale) if is_counted else exact
            self._read_by(reading)
            self._show(with_noise(numbers, mechanism, noise), n_rows, mechanism, count_scale)
            facts = {"noise": mechanism.describe(), "reason": reason, "bounds": self._in_words()}
            values = {"mean": self.mean_, "n_rows": np.array(self.n_rows_)}
            exactness = "idealized" if self._is_bent else mechanism.exactness
            self._publish(values, guarantee, exactness, facts, reservation)

        return guarantee, finish

    def interval(self, level: float = 0.95, simultaneous: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """Return confidence intervals (lower, upper) of the mean.

        They cover the mean of the clipped rows with probability at least `level` (default 0.95): each coordinate
        separately, or all coordinates together if `simultaneous`. They account for the noise only, not for sampling
        error relative to a population.
        """
        between(0, 1, level=level)
        check_is_fitted(self, "mean_")
        step, middle = float(self.mechanism_.lattice_step), np.clip(self._total / self.n_rows_, -1, 1)
        if not self._count_scale:
            widths = self.mechanism_.half_widths(level, simultaneous) + step
            low, high = (self._total - widths) / self._count, (self._total + widths) / self._count
            return self._unscaled(low), self._unscaled(high)
        d = len(self._total)
        units = np.append(np.ones(d), 1 / self._count_scale)
        if simultaneous:
            around = self.mechanism_.half_widths(level, True) * units
            curves = around[:d, None] + around[d] * np.abs(PLACES)
        else:
            curves = MeanWidths(self.mechanism_, units, np.arange(d), np.full(d, d)).widths(level)
        low, high = quotients_within(self._total, np.full(d, self._count), curves + step * (1 + units[d]), PLACES)
        return self._unscaled(np.minimum(low, middle)), self._unscaled(np.maximum(high, middle))

    @property
    def _is_bent(self) -> bool:
        """True if norms take powers, whose last bit no standard fixes."""
        return self.row_norm is not None and self.norm not in (1, 2, math.inf)

    def _geometry(self, n_columns: int, names: np.ndarray | None) -> Reading:
        check_one_given(self.bounds, self.row_norm)
        one_of(NOISES, noise=self.noise)
        if self.row_norm is not None:
            if self.norm != math.inf:
                positive(norm=self.norm)
            LpBall(n_columns, float(self.norm), 1.0)  # refuses a norm that is none, in one dimension too
            into_ball(np.zeros((1, 1)), self.norm, self.row_norm)  # refuses a bad row_norm
        return Reading.of(self.bounds, names, n_columns, self.missing_indicator)

    def _table_reading(self, table: Table, columns: Sequence[str]) -> Reading:
        has_bounds = self.bounds is not None or self.row_norm is not None or self.missing_indicator is not False
        if has_bounds or self.neighbours != table.unit.neighbours:
            raise InvalidRequest(
                f"The table already specifies bounds and neighbours={table.unit.neighbours!r}.",
                "Omit `bounds`, `row_norm` and `missing_indicator`, and use the neighbours of the table.",
            )
        if not columns or len(set(columns)) < len(columns):
            raise InvalidRequest(
                f"Each column must be named once, but the columns are: {', '.join(columns) or 'none'}.",
                "Name at least one column, and none twice.",
            )
        one_of(NOISES, noise=self.noise)
        facts = [table.domain.column(name) for name in columns]
        box = np.array([float(fact.low) for fact in facts]), np.array([float(fact.high) for fact in facts])
        return Reading(len(columns), box)

    def _ball(self, n_columns: int, is_counted: bool) -> tuple[LpBall, float]:
        p = math.inf if self.row_norm is None or n_columns == 1 else float(self.norm)
        if not is_counted:
            return LpBall(n_columns, p, 2.0), 0.0
        scale = _count_scale(n_columns, p)
        radius = 1.0 if p == math.inf else (1 + scale**p) ** (1 / p) * (1 + NORMS)
        return LpBall(n_columns + 1, p, radius), scale

    def _chosen(self, body: LpBall, guarantee: Guarantee) -> tuple[AdditiveNoise, str]:
        name = _NAMES.get(self.noise)  # None for "auto"
        mechanisms = [mechanism for mechanism in _mechanisms(body, guarantee) if name in (None, mechanism.name)]
        if not mechanisms:
            raise InvalidRequest(
                f"noise={self.noise!r} cannot satisfy {guarantee!r}.",
                'Use noise="auto", or set `delta` for Gaussian noise.',
            )
        return choose(mechanisms, [mechanism.error(2) for mechanism in mechanisms])

    def _steps(self, reading: Reading, rows: np.ndarray) -> np.ndarray:
        if self.row_norm is None:
            return box_steps(reading.in_cube(rows))
        return ball_steps(into_ball(rows, self.norm, self.row_norm))

    def _unscaled(self, scaled: np.ndarray) -> np.ndarray:
        if self.row_norm is not None:
            return scaled * self.row_norm
        assert self._read_as.box is not None
        low, high = self._read_as.box
        return (low + high) / 2 + scaled * (high - low) / 2

    def _show(self, released: np.ndarray, n_rows: int, mechanism: AdditiveNoise, count_scale: float) -> None:
        self._total, self._count, self._count_scale = released, float(n_rows), count_scale
        if count_scale:
            self._total, self._count = released[:-1], float(released[-1] / count_scale)
        self.n_rows_, self.mechanism_, self.solver_ = max(self._count, 1.0), mechanism, mechanism.name
        self.mean_ = self._unscaled(np.clip(self._total / self.n_rows_, -1, 1))

    def _in_words(self) -> str:
        if self.row_norm is not None:
            return f"l{self.norm:g} norm at most {self.row_norm:g}"
        assert self._read_as.box is not None
        low, high = self._read_as.box
        return f"{np.min(low):g} to {np.max(high):g}"


@dataclass(frozen=True)
class TableMean:
    """The mean of a table's columns, for `model`."""

    model: Mean
    columns: Sequence[str]
    reading: Reading

    encode, decode = staticmethod(FitRelease.to_json), staticmethod(FitRelease.from_json)

    def prepare(self, table: Rows, rng: Entropy) -> tuple[Charge, Callable[[PaidRows], FitRelease]]:
        """Draw the noise; see `Measurement`."""
        model, size, requested = self.model, table.unit.most_changes, self.model._requested()
        share = row_share(requested, size, float(model.epsilon))
        guarantee, finish = model._prepared(len(self.columns), share, True, size, rng)
        request = {"fit": type(model).__name__, "columns": list(self.columns), "research_seed": model._seed}

        def evaluate(rows: PaidRows) -> FitRelease:
            moments = rows.column_sums(self.columns, rng.bytes(16), SUM_BITS)
            finish(moments.first * 2.0**-SUM_BITS, moments.n_rows, self.reading)
            return model.release_

        return Charge(chargeable(guarantee, requested), table.name, table.unit, request), evaluate


def _mechanisms(body: Body, guarantee: Guarantee) -> Iterator[AdditiveNoise]:
    offered = [mechanism for mechanism in candidates(body, guarantee) if isinstance(mechanism, AdditiveNoise)]
    yield from offered
    pure = PureDP(guarantee.epsilon_value) if isinstance(guarantee, ApproxDP) else guarantee
    if body.ambient_dim > 1 and isinstance(body, LpBall) and KNorm not in map(type, offered):
        yield KNorm.calibrate(body, pure)


def _count_scale(n_columns: int, p: float) -> float:
    """Return the scale of the count next to a sum in the ℓ_p ball, in multiples of 2^−10.

    It minimises the ℓ₂ error of the mean that is furthest from 0: docs/theory/means.md
    """
    if p == math.inf:
        return 1.0
    furthest = max(n_columns**-1.0, n_columns ** (-2 / p))
    return math.ceil(furthest ** (1 / (p + 2)) * 1024) / 1024
