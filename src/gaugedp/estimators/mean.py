"""The mean of clipped rows, with additive noise."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from gaugedp._internal.validate import between, one_of
from gaugedp.bodies import Body, LpBall
from gaugedp.entropy import Entropy
from gaugedp.errors import InvalidRequest
from gaugedp.estimators.base import PrivateEstimator
from gaugedp.estimators.feature_names import names_of
from gaugedp.estimators.fit_release import FitRelease
from gaugedp.estimators.reading import Reading
from gaugedp.estimators.row_count import NoisyRowCount
from gaugedp.estimators.rows import SUM_BITS, ball_steps, box_steps, check_one_given, into_ball
from gaugedp.estimators.table_fit import row_share
from gaugedp.guarantees import ApproxDP, Guarantee, PureDP
from gaugedp.guarantees.parse_guarantee import chargeable
from gaugedp.ledger.entries import Reservation
from gaugedp.mechanisms import KNorm
from gaugedp.mechanisms.base import AdditiveNoise
from gaugedp.mechanisms.choose import candidates, choose
from gaugedp.optimization.lattice import with_noise
from gaugedp.optimization.row_blocks import blocks
from gaugedp.releases.executing import Charge, PaidRows, execute
from gaugedp.tables.aggregate import Rows
from gaugedp.tables.table import Table

NOISES = ("auto", "body", "cube", "gaussian", "laplace")
_NAMES = {"body": "KNorm", "cube": "Cube", "gaussian": "Gaussian", "laplace": "Laplace"}


@dataclass(eq=False, repr=False)
class Mean(PrivateEstimator):
    """The mean of clipped rows, with additive noise.

    Rows in ℝ^d are clipped to public bounds or to a ball. Specify `bounds` or `row_norm`.

    bounds, missing_indicator : as in `LogisticRegression`; the mean of an indicator is the share of rows without
        that number.
    row_norm : rows are clipped to the ball of this radius of the ℓ_p norm, p = `norm` in [1, ∞].
    noise : "auto" minimises the expected ℓ₂ error; "gaussian" (δ > 0), "laplace", "cube", or "body" (K-norm noise
        of the shape of the bounds or the ball).

    Theorem. The sum of the clipped rows changes by a point of the box or ball, of twice its size if rows are replaced;
    `fit` adds the noise of a mechanism for that body, and is (ε, δ)-DP (ε-DP at δ = 0) for one row. If rows are added
    or removed, a tenth of ε is spent on their number. docs/theory/means.md

    For norms other than 1, 2 and ∞ the fit is "idealized", as powers are computed in floating point.

    After fit: mean_ (d + m,) for d columns and m indicators, n_rows_, solver_, mechanism_, guarantee_, release_.

    Examples
    --------
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
        """Estimate the mean of rows X (n, d)."""
        del y
        requested, rows, rng = self._requested(), self._rows(X), self._generator()
        reading = self._geometry(rows.shape[1], names_of(X))
        count = NoisyRowCount(requested, self.neighbours)
        guarantee, finish = self._prepared(self._ball(reading.width), count, 1, rng)
        reservation = self._pay(guarantee, requested, rows.shape)
        total: np.ndarray = sum(self._steps(reading, block).sum(axis=0) for block in blocks(rows)) * 2.0**-SUM_BITS
        finish(total, len(rows), reading, reservation)
        return self

    def fit_table(self, table: Table, columns: Sequence[str]) -> "Mean":
        """Estimate the mean of a table's bounded columns.

        It takes one pass over the kept rows, which stay where they are. The bounds are those of the domain, and a
        missing number counts as their middle. (ε, δ)-DP for the table's unit: neighbours differ by at most k rows added
        or removed, each of which is guaranteed its share (TableFit).
        """
        self._requested()
        execute(
            TableMean(self, columns, self._table_reading(table, columns)), self._account(), table, rng=self._generator()
        )
        return self

    def _prepared(
        self, ball: LpBall, count: NoisyRowCount, size: int, rng: Entropy
    ) -> tuple[Guarantee, Callable[..., None]]:
        """Draw the noise; return the guarantee for `size` rows, and the function of the exact sum."""
        mechanism, reason = self._chosen(ball, count.remaining)
        noise = mechanism.prepare(rng)
        guarantee = count.with_remaining(mechanism.guarantee).group(size)

        def finish(exact: np.ndarray, n_rows: int, reading: Reading, reservation: Reservation | None = None) -> None:
            total = with_noise(exact, mechanism, noise)
            self._read_by(reading)
            self._show(total, count.draw(n_rows, rng), mechanism, count)
            facts = {"noise": mechanism.describe(), "reason": reason, "bounds": self._in_words()}
            values = {"mean": self.mean_, "n_rows": np.array(self.n_rows_)}
            exactness = "idealized" if self._is_bent else mechanism.exactness
            self._publish(values, guarantee, exactness, facts, reservation)

        return guarantee, finish

    def interval(self, level: float = 0.95, simultaneous: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """Return (lower, upper) for the clipped rows' mean.

        The coverage, of all coordinates together if `simultaneous`, is at least `level` over the noise only: sampling
        error relative to a population is not included.
        """
        between(0, 1, level=level)
        check_is_fitted(self, "mean_")
        exact = self._count.mechanism is None
        share_level = level if exact else (1 + level) / 2
        widths = self.mechanism_.half_widths(share_level, simultaneous) + float(self.mechanism_.lattice_step)
        off = 0.0 if exact else self._count.half_width(share_level)
        fewest_rows, most_rows = max(self.n_rows_ - off, 1.0), self.n_rows_ + off
        ends = [(self._total + sign * widths) / n for sign in (-1, 1) for n in (fewest_rows, most_rows)]
        low, high = np.minimum.reduce(ends), np.maximum.reduce(ends)
        return self._unscaled(low), self._unscaled(high)

    @property
    def _is_bent(self) -> bool:
        """True if norms take powers, whose last bit no standard fixes."""
        return self.row_norm is not None and self.norm not in (1, 2, math.inf)

    def _geometry(self, n_columns: int, names: np.ndarray | None) -> Reading:
        check_one_given(self.bounds, self.row_norm)
        one_of(NOISES, noise=self.noise)
        if self.row_norm is not None:
            self._ball(n_columns)
            into_ball(np.zeros((1, 1)), self.norm, self.row_norm)  # refuses a bad row_norm
        return Reading.of(self.bounds, names, n_columns, self.missing_indicator)

    def _table_reading(self, table: Table, columns: Sequence[str]) -> Reading:
        has_bounds = self.bounds is not None or self.row_norm is not None or self.missing_indicator is not False
        if has_bounds or self.neighbours != table.unit.neighbours:
            raise InvalidRequest(
                f"The table specifies bounds and neighbours={table.unit.neighbours!r}.",
                "Omit bounds, row_norm and missing_indicator, and use the neighbours of the table.",
            )
        if not columns or len(set(columns)) < len(columns):
            raise InvalidRequest(f"The columns are {', '.join(columns) or 'none'}.", "Name at least one, each once.")
        one_of(NOISES, noise=self.noise)
        facts = [table.domain.column(name) for name in columns]
        box = np.array([float(fact.low) for fact in facts]), np.array([float(fact.high) for fact in facts])
        return Reading(len(columns), box)

    def _ball(self, n_columns: int) -> LpBall:
        """Unit body of a clipped and scaled row."""
        p = math.inf if self.row_norm is None else float(self.norm)
        return LpBall(n_columns, p, 2.0 if self.neighbours == "replace" else 1.0)

    def _chosen(self, body: LpBall, guarantee: Guarantee) -> tuple[AdditiveNoise, str]:
        name = _NAMES.get(self.noise)  # None for "auto"
        mechanisms = [mechanism for mechanism in _mechanisms(body, guarantee) if name in (None, mechanism.name)]
        if not mechanisms:
            raise InvalidRequest(
                f"noise={self.noise!r} cannot satisfy {guarantee!r}.", 'Use noise="auto"; Gaussian noise needs delta.'
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

    def _show(self, total: np.ndarray, n_rows: float, mechanism: AdditiveNoise, count: NoisyRowCount) -> None:
        self._total, self._count = total, count
        self.n_rows_, self.mechanism_, self.solver_ = n_rows, mechanism, mechanism.name
        inside = np.clip(total / n_rows, -1, 1)
        self.mean_ = self._unscaled(inside)

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
        count = NoisyRowCount(row_share(requested, size, float(model.epsilon)), "add_remove")
        guarantee, finish = model._prepared(LpBall(len(self.columns), math.inf, 1.0), count, size, rng)
        request = {"fit": type(model).__name__, "columns": list(self.columns), "research_seed": model._seed}

        def evaluate(rows: PaidRows) -> FitRelease:
            moments = rows.column_sums(self.columns, rng.bytes(16), SUM_BITS)
            finish(moments.first * 2.0**-SUM_BITS, moments.n_rows, self.reading)
            return model.release_

        return Charge(chargeable(guarantee, requested), table.name, table.unit, request), evaluate


def _mechanisms(body: Body, guarantee: Guarantee) -> Iterator[AdditiveNoise]:
    """Yield the additive mechanisms for the guarantee, K-norm noise included."""
    offered = [mechanism for mechanism in candidates(body, guarantee) if isinstance(mechanism, AdditiveNoise)]
    yield from offered
    pure = PureDP(guarantee.epsilon_value) if isinstance(guarantee, ApproxDP) else guarantee
    if body.ambient_dim > 1 and isinstance(body, LpBall) and KNorm not in map(type, offered):
        yield KNorm.calibrate(body, pure)
