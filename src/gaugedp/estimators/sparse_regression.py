"""Sparse least squares by screening and hard thresholding."""

import math
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Any

import numpy as np

from gaugedp._internal.rounding import SCORES
from gaugedp._internal.validate import one_of, whole
from gaugedp.bodies import LpBall
from gaugedp.entropy import Entropy
from gaugedp.errors import InvalidRequest
from gaugedp.estimators.feature_names import names_of
from gaugedp.estimators.fit_in_parts import fit_in_parts, fits_in_parts
from gaugedp.estimators.linear_regressor import LinearRegressor
from gaugedp.estimators.reading import Reading
from gaugedp.estimators.rows import box_steps, into_box, read_bounds, read_target, with_targets
from gaugedp.estimators.tuning import TUNED
from gaugedp.guarantees import ZCDP, ApproxDP, ExponentialLoss, GaussianDP, Guarantee, PureDP, compose
from gaugedp.guarantees.calibrate import largest_parameter
from gaugedp.mechanisms import Peeling
from gaugedp.mechanisms.base import AdditiveNoise
from gaugedp.optimization.lattice import BITS, ball_noise, released
from gaugedp.optimization.symmetric import coordinates, square_of

SOLVERS = ("auto", "screen", "iht")
_SHARES = {"screen": (0.35, 0.65, 0.0), "iht": (0.15, 0.4, 0.45)}  # of the guarantee: screening, equations, rounds


@dataclass(frozen=True)
class BudgetSplit:
    """Split of the guarantee between the parts of a fit.

    With rounds, the normal equations are solved twice. The shares are of ρ under (ε, δ), of ε under ε; the total is the
    tight guarantee of their composition.
    """

    guarantee: Guarantee
    k: int
    shares: tuple[float, float, float]
    rounds: int
    n_constants: int = 0  # of the k features, which are not screened

    @property
    def n_equations(self) -> int:
        """Number of times that normal equations are solved."""
        return 2 if self.rounds else 1

    @cached_property
    def rho(self) -> float:
        """Largest ρ whose composition satisfies (ε, δ)."""
        assert isinstance(self.guarantee, ApproxDP)
        return largest_parameter(self.composed, self.guarantee.epsilon_value, self.guarantee.delta_value)

    def composed(self, rho: float) -> Guarantee:
        """Return the guarantee of all parts at ρ."""
        screen, equations, rounds = (share * rho for share in self.shares)
        times = self.n_equations
        n_screened = self.k - self.n_constants
        parts = [(_ranges(screen, n_screened), n_screened), (_gaussian(equations / times), times)]
        if self.rounds:
            per_round = rounds / self.rounds / 2  # half for the choice, half for the values
            parts += [(_ranges(per_round, self.k), self.k * self.rounds), (_gaussian(per_round), self.rounds)]
        return compose(parts)

    def part(self, share: float) -> PureDP | ZCDP:
        """Return the guarantee of a part with this share."""
        if isinstance(self.guarantee, PureDP):
            return PureDP(self.guarantee.epsilon_value * share * (1 - 2.0**-40))
        return ZCDP(self.rho * share * (1 - 2.0**-40))


@dataclass(eq=False, repr=False)
class SparseRegression(LinearRegressor):
    """Linear regression with at most `sparsity` nonzero coefficients.

    Use it if few of many columns matter and you want to know which. The fit selects columns privately and estimates the
    coefficients of the selected columns with noise. Rows and target are clipped to public bounds.

    Parameters
    ----------
    bounds, missing_indicator
        The public interval of each column, and the columns with an indicator of missing numbers, as in
        `LogisticRegression`. Indicators count towards `sparsity`.
    target_bounds : (low, high)
        Public bounds to which the target is clipped.
    solver : {"auto", "screen", "iht"}
        "screen" selects 2·sparsity features by their correlation with the target (exponential mechanisms), solves noisy
        normal equations on them, and again on the largest. "iht" adds `rounds` (default 4) of iterative hard
        thresholding: a gradient step on clipped residuals, after which `Peeling` keeps 2·sparsity features. Finally the
        equations are solved again on the remaining features. It finds features that others hide, and adds more noise.
        "auto", the default, uses "iht" if the noise of a round, a public number, is small.
    epsilon, delta, neighbours, random_state, ledger
        The privacy budget for one row, and its options, as in `LogisticRegression`.

    Notes
    -----
    Theorem (docs/theory/sparse_regression.md). All released sums add up products of numbers in [−1, 1], so one row
    changes each of them by at most 2 (1 if rows are added or removed). It changes the second moments of k features and
    their products with the target by at most √(2k² + 4kβ²) in ℓ₂, in coordinates that preserve the Frobenius norm. Here
    β² = √(2k) is their relative weight. `fit` composes these releases, and is (ε, δ)-DP for one row, and ε-DP at δ = 0.

    After `fit`, the model has the attributes coef_ of shape (d + m,) for d columns and m indicators, intercept_,
    support_ (the selected columns), solver_, guarantee_ and release_.

    Examples
    --------
    Of 30 columns only the first determines the target. Select two:

    >>> import numpy as np
    >>> from gaugedp.estimators import SparseRegression
    >>> X = np.random.default_rng(0).uniform(-1, 1, (2000, 30))
    >>> model = SparseRegression(sparsity=2, epsilon=1.0, delta=1e-6, bounds=(-1, 1), target_bounds=(-1, 1))
    >>> model.fit(X, X[:, 0]).support_.shape
    (2,)
    """

    sparsity: int = 10
    epsilon: float = 1.0
    delta: float = 0.0
    _: KW_ONLY
    solver: str = "auto"
    rounds: int = 4

    def fit(self, X: Any, y: Any) -> "SparseRegression":
        """Fit the model to rows X and target y.

        X has shape (n, d) and y has shape (n,). The model's ledger, if any, is charged before any row is read.
        """
        if fits_in_parts(self, y):
            fit_in_parts(self, X, y)
            return self
        requested, rows = self._requested(), self._rows(X)
        target = read_target(y, len(rows))
        reading = Reading.in_box(self.bounds, names_of(X), rows.shape[1], self.missing_indicator)
        self._check(reading.width)
        range_ = read_bounds("target_bounds", self.target_bounds)
        solver, reason = self._solver(requested, (len(rows), reading.width))
        budget = self._budget(requested, solver, reading.width)
        steps = Steps(budget, reading.width + self.fit_intercept, self.neighbours)
        reservation = self._pay(steps.guarantee, requested, rows.shape)
        target, rows = with_targets(self.neighbours, target, rows)
        goal = box_steps(into_box(target, *range_), BITS)
        columns = np.hstack([reading.in_cube(rows), np.ones((len(rows), int(self.fit_intercept)))])
        weights = steps.solve(box_steps(columns, BITS), goal, self.sparsity, self._generator())
        self._show(reading, weights[: reading.width], float(weights[reading.width :].sum()), range_)
        self.support_, self.solver_ = np.flatnonzero(self.coef_), solver
        facts = {"solver": solver, "reason": reason}
        self._publish(self._values, steps.guarantee, steps.exactness, facts, reservation)
        return self

    def _check(self, n_columns: int) -> None:
        whole(minimum=1, sparsity=self.sparsity, rounds=self.rounds)
        one_of(SOLVERS, solver=self.solver)
        if self.sparsity >= n_columns:
            raise InvalidRequest(
                f"`sparsity` is {self.sparsity}, but X has only {n_columns} columns.",
                "Choose a smaller `sparsity`, or use LinearRegression, which spends no budget on choosing columns.",
            )

    def _budget(self, guarantee: Guarantee, solver: str, n_columns: int) -> BudgetSplit:
        k = min(2 * self.sparsity, n_columns - 1) + self.fit_intercept
        rounds = self.rounds if solver == "iht" else 0
        return BudgetSplit(guarantee, k, _SHARES[solver], rounds, int(self.fit_intercept))

    def _solver(self, guarantee: Guarantee, shape: tuple[int, int]) -> tuple[str, str]:
        if self.solver != "auto":
            return self.solver, "requested"
        if self.neighbours != "replace":
            return "screen", "the number of rows is private"
        budget = self._budget(guarantee, "iht", shape[1])
        part = budget.part(_SHARES["iht"][2] / self.rounds)
        selection = Peeling.calibrate(LpBall(shape[1] + 1, math.inf, 2.0), part, budget.k)
        noise = 3 * selection.value_std * math.sqrt(budget.k) / shape[0]
        if noise < TUNED.useful_round:
            return "iht", f"the noise of a round, {noise:.2g} of the target's range, is below {TUNED.useful_round}"
        return "screen", f"the noise of a round, {noise:.2g} of the target's range, is not below {TUNED.useful_round}"


class Steps:
    """The mechanisms of a fit, calibrated before reading."""

    def __init__(self, budget: BudgetSplit, n_columns: int, neighbours: str) -> None:
        screen, moments, rounds = budget.shares
        sensitivity = (2.0 if neighbours == "replace" else 1.0) * (1 + SCORES)
        cube = LpBall(n_columns, math.inf, sensitivity)
        self.k, self.rounds, self.n_slopes = budget.k, budget.rounds, n_columns - budget.n_constants
        self.weight = (2 * self.k) ** 0.25  # of products with the target, against second moments
        of_slopes, n_screened = LpBall(self.n_slopes, math.inf, sensitivity), budget.k - budget.n_constants
        self.screen = Peeling.calibrate(of_slopes, budget.part(screen), n_screened, share=1.0)
        self.n_equations = budget.n_equations
        self.moments = _moments(self.k, self.weight, neighbours, budget.part(moments / self.n_equations))
        self.round = Peeling.calibrate(cube, budget.part(rounds / self.rounds), self.k) if self.rounds else None

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee of all parts together."""
        parts = [(self.screen.guarantee, 1), (self.moments.guarantee, self.n_equations)]
        return compose(parts + ([(self.round.guarantee, self.rounds)] if self.round else []))

    @property
    def exactness(self) -> str:
        """Exactness of the least exact part."""
        return self.moments.exactness

    def solve(self, features: np.ndarray, goal: np.ndarray, n_kept: int, rng: Entropy) -> np.ndarray:
        """Return coefficients (d,) for features in [−1, 1], a constant last, of which the `n_kept` largest remain."""
        constants = np.arange(self.n_slopes, features.shape[1])
        found = self.screen.sample(features[:, : self.n_slopes].T @ goal * 4.0**-BITS, rng)
        support = np.append(found, constants)
        weights = np.zeros(features.shape[1])
        weights[support], square, first = self._equations(features[:, support], goal, rng)
        curvature = float(np.linalg.eigvalsh(square)[-1])
        for _ in range(self.rounds):
            weights, support = self._step(features, goal, (weights, curvature), rng)
        if self.rounds:
            support = np.append(self._largest(weights, self.k - len(constants)), constants)
            weights[support], square, first = self._equations(features[:, support], goal, rng)
        remain = np.isin(support, np.append(self._largest(weights, n_kept), constants))
        weights[:] = 0.0
        weights[support[remain]] = np.linalg.solve(square[np.ix_(remain, remain)], first[remain])
        return weights

    def _largest(self, weights: np.ndarray, n: int) -> np.ndarray:
        """Return the places of the n largest slopes."""
        return np.sort(np.argsort(-np.abs(weights[: self.n_slopes]), kind="stable")[:n])

    def _equations(
        self, features: np.ndarray, goal: np.ndarray, rng: Entropy
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Solve the noisy normal equations; return coefficients and the two sides, the first with a ridge."""
        unit, step = 4.0**-BITS, float(self.moments.lattice_step)
        exact = np.concatenate([coordinates(features.T @ features), self.weight * (features.T @ goal)]) * unit
        noisy = released(exact, self.moments, rng)
        square = square_of(noisy[: -self.k])
        values = np.linalg.eigvalsh(square)
        noise = math.sqrt(float(self.moments.variances.max()) * self.k / 2)
        ridge = max(0.0, noise - values[0]) + 1e-9 * abs(values[-1]) + step
        square, first = square + ridge * np.eye(self.k), noisy[-self.k :] / self.weight
        return np.linalg.solve(square, first), square, first

    def _step(
        self, features: np.ndarray, goal: np.ndarray, state: tuple[np.ndarray, float], rng: Entropy
    ) -> tuple[np.ndarray, np.ndarray]:
        assert self.round is not None
        weights, curvature = state
        scale = 2.0**-BITS
        predicted = features @ np.rint(np.clip(weights, -64.0, 64.0) * 2.0**24) * 2.0**-24  # exact, in any order
        residual = box_steps(np.clip((goal - predicted) * scale, -1, 1), BITS)
        scores = weights * curvature + features.T @ residual * scale**2
        support, values = self.round.split(self.round.sample(scores, rng))
        updated = np.zeros_like(weights)
        updated[support] = values / curvature
        return updated, support


def _ranges(rho: float, k: int) -> Guarantee:
    return ExponentialLoss(math.sqrt(8 * rho / k))


def _gaussian(rho: float) -> GaussianDP:
    return GaussianDP(math.sqrt(2 * rho))


def _moments(k: int, weight: float, neighbours: str, guarantee: PureDP | ZCDP) -> AdditiveNoise:
    once = k * k + k * weight**2  # ‖zzᵀ‖² + β²·‖z·t‖² for z in the cube, |t| ≤ 1
    twice = 2 * k * k + 4 * k * weight**2  # of a difference: the squares have a product that is not negative
    size = math.sqrt(twice if neighbours == "replace" else once) * (1 + SCORES)
    n_kept = _gaussian(guarantee.rho) if isinstance(guarantee, ZCDP) else guarantee
    return ball_noise(LpBall(k * (k + 1) // 2 + k, 2, size), n_kept)
