"""Base of private linear classifiers."""

import math
from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy
from sklearn.base import ClassifierMixin

from gaugedp._internal.validate import between, moderate, one_of
from gaugedp.entropy import Entropy
from gaugedp.errors import InvalidRequest
from gaugedp.estimators.base import Scored, after_paying
from gaugedp.estimators.feature_names import names_of
from gaugedp.estimators.fit_in_parts import fit_in_parts, fits_in_parts
from gaugedp.estimators.intercept_noise import InterceptNoise, spares_delta
from gaugedp.estimators.labels import LabelledRows, check_given, class_shares, read_both
from gaugedp.estimators.public_noise import hides_slopes, noise_to_signal, warn_after_release, warn_before_charge
from gaugedp.estimators.reading import Reading
from gaugedp.estimators.row_count import NoisyRowCount
from gaugedp.estimators.row_scaling import Centre, ScaledRows, TwoStageMean, clip_factor, column_groups, read_scaling
from gaugedp.estimators.rows import products
from gaugedp.estimators.tuning import TUNED
from gaugedp.estimators.weights import WeightedEstimator, check_no_weights
from gaugedp.guarantees import ApproxDP, GaussianDP, Guarantee, PureDP
from gaugedp.guarantees.gaussian_curve import gaussian_mu
from gaugedp.mechanisms.pure_within import pure_within
from gaugedp.optimization.geometry import Geometry
from gaugedp.optimization.gibbs import Gibbs
from gaugedp.optimization.gradient import NoisyDescent, Scale, Slopes
from gaugedp.optimization.lattice import for_gaussian_releases
from gaugedp.optimization.losses import Loss
from gaugedp.optimization.objective_perturbation import ObjectivePerturbation, PerturbedLoss, Problem
from gaugedp.optimization.shrinkage import signal_share

_COMPOSED = ("gradient", "gibbs")  # solvers whose μ adds up with that of other releases as squares


def _longer(noise: float) -> float:
    """Return the factor by which small noise lengthens the expected weights."""
    return min(1 + TUNED.longer_by_noise / noise, 10.0)


@dataclass(frozen=True, eq=False)
class LinearProblem:
    """Input of a solver: scaled rows and public numbers.

    Rows have norm at most 1, codes are those of their classes, and weights are in [0, 1]. `auxiliary_mu` is the μ of
    the row count, the centre and the intercept together. `guarantee` is for the solver and, if those are Gaussian, for
    them too. `is_rough`: only directions from a centre count. The ridge pulls the last weight to `middle`, if
    any, and the curvature is `bent` times that at even odds.
    """

    rows: np.ndarray
    codes: np.ndarray
    weights: np.ndarray
    n_classes: int
    n_rows: float
    guarantee: Guarantee
    auxiliary_mu: float
    radius: float
    replaced: bool
    is_rough: bool
    middle: float | None = None
    bent: float = 1.0

    @property
    def outputs(self) -> int:
        """Predictions per row: 1 for two classes, else K."""
        return 1 if self.n_classes == 2 else self.n_classes

    @property
    def signs(self) -> np.ndarray:
        """−1 for the first class, 1 for the second."""
        return np.where(self.codes == 1, 1.0, -1.0)

    @property
    def target(self) -> np.ndarray:
        """Signs for two classes, else codes; arbitrary for an unknown label, whose row is 0."""
        return self.signs if self.n_classes == 2 else np.maximum(self.codes, 0)

    @property
    def noise_to_signal(self) -> float:
        """Norm of the noise in the rows' mean."""
        return noise_to_signal(self.guarantee, self.outputs * self.rows.shape[1], self.n_rows, self.replaced)

    def descended(
        self, slopes: Slopes, cap: float, rng: Entropy, kinked: bool = False, once: bool = False
    ) -> "Solution":
        """Return weights by noisy descent.

        Slopes are at most `cap`; `once` takes a single step.
        """
        guarantee, exactness = self.guarantee, "idealized"
        if isinstance(guarantee, ApproxDP):
            mu = gaussian_mu(guarantee.epsilon_value, guarantee.delta_value)
            guarantee = GaussianDP(math.sqrt(mu * mu - self.auxiliary_mu * self.auxiliary_mu) * (1 - 2.0**-40))
            exactness = "exact"
        shape = self.outputs, self.rows.shape[1]
        scale = Scale(self.radius, self.n_rows, self.replaced, kinked, once)
        descent = NoisyDescent.calibrate(guarantee, shape, cap, scale)
        by_row = slopes if self.n_classes > 2 else lambda z, y: slopes(z[:, 0], y)[:, None]
        weights = descent.solve((self.rows, self.target, self.weights), by_row, self.n_rows, rng)
        return Solution(weights, descent.variance(self.n_rows), exactness, descent.path.length)

    def stepped(self, rng: Entropy) -> "Solution":
        """Return weights by a single step of logistic loss: a noisy mean of ±x."""
        return self.descended(lambda _, y: -y / 2, 0.5, rng, once=True)

    def sampled(self, loss: Loss, rng: Entropy) -> "Solution":
        """Return weights by the Gibbs sampler."""
        geometry, n_rows = Geometry((self.rows.shape[1],), 2, self.radius), max(1, round(self.n_rows))
        neighbours = "replace" if self.replaced else "add_remove"
        mechanism = Gibbs.calibrate(
            geometry, loss, n_rows, self.guarantee, neighbours=neighbours, auxiliary_mu=self.auxiliary_mu
        )
        return Solution(mechanism.sample(self.rows, self.target, rng)[None], 0.0, mechanism.exactness)

    def perturbed(self, loss: PerturbedLoss, rng: Entropy) -> "Solution":
        """Return weights by objective perturbation."""
        assert isinstance(self.guarantee, ApproxDP | PureDP)
        radius = self.radius * _longer(self.noise_to_signal) / (1 + TUNED.shorter_by_noise * self.noise_to_signal)
        size, most = self.outputs * self.rows.shape[1], 0.0 if self.middle is None else 64.0 * radius
        problem = Problem(loss, size, radius, self.replaced, self.auxiliary_mu, most)
        n_rows = math.ceil(2 * self.n_rows) + 1000  # a noisy count may err; w needs no more precision
        mechanism = ObjectivePerturbation.calibrate(problem, self.guarantee, n_rows)
        weights = mechanism.solve(self.rows, self.target, rng, self.weights, self.middle or 0.0)
        variance = mechanism.variance(self.n_rows * self.bent)
        return Solution(weights.reshape(self.outputs, -1), variance, mechanism.exactness)


class Solution(NamedTuple):
    """Weights (K, d), about the variance of the noise in each (0 if unknown), exactness, and the length of a step."""

    weights: np.ndarray
    variance: float
    exactness: str
    step: float = 0.0


@dataclass(eq=False, repr=False)
class LinearClassifier(Scored, ClassifierMixin, WeightedEstimator):
    """Base of linear classifiers; subclasses choose the solver."""

    epsilon: float = 1.0
    delta: float = 0.0
    _: KW_ONLY
    row_norm: float | None = None
    bounds: Any = None
    missing_indicator: Any = False
    classes: Any = None
    strict_labels: bool = False
    class_weight: Any = None
    C: float | None = None
    penalty: Any = None
    dual: Any = None
    fit_intercept: bool = True
    solver: str = "auto"
    radius: float | None = None

    solvers: ClassVar[tuple[str, ...]] = ("auto", "objective", "gradient", "gibbs")
    _has_odds: ClassVar[bool] = False  # scores are log-odds
    _earlier_mu = 0.0  # μ of a Gaussian release of the same rows that came before, which is part of (ε, δ)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "LinearClassifier":
        """Fit the model to rows X and labels y.

        X has shape (n, d) and y has shape (n,). A row whose label is not in `classes` counts as a row of zeros. The
        model's ledger, if any, is charged before any row is read.
        """
        if fits_in_parts(self, y):
            fit_in_parts(self, X, y, sample_weight)
            return self
        requested, data = self._requested(), self._read(X, y, sample_weight)
        self._check_solver(len(data.classes), requested)
        assert self._earlier_mu == 0 or isinstance(requested, ApproxDP)
        check_no_weights(self.solver, data.has_weights)
        size = self._size(data)
        solver, reason = self._chosen(requested, size, len(data.rows) if self.neighbours == "replace" else None)
        count = self._count(self._kept(requested, size, solver), solver)
        together = for_gaussian_releases(count.remaining) if solver == "gradient" else count.remaining
        if self.neighbours == "replace" and self._is_hidden(data, len(data.rows)):
            together = pure_within(count.remaining)
        guarantee = count.with_remaining(together)
        warn_before_charge(self, len(data.rows), data.reading.width)
        reservation, rng = self._pay(guarantee, requested, data.rows.shape), self._generator()
        with after_paying(reservation):
            n_rows = count.draw(len(data.rows), rng)
            if self._is_hidden(data, n_rows):
                solver, reason = "labels", "the noise hides the slopes"
                noise = InterceptNoise.of_labels(count.others(together), self.neighbours == "replace")
                self.coef_, exactness = np.zeros((1, data.reading.width)), noise.noises[0].exactness
                self.intercept_ = np.array([noise.log_odds(data.signs, n_rows, rng)])
            else:
                scaled, weights, exactness, once = self._fitted(data, (count, n_rows), solver, rng)
                self.coef_, self.intercept_ = scaled.coefficients(weights)
                solver, reason = ("gradient", "single step") if once and solver != "gradient" else (solver, reason)
        if not self.fit_intercept:
            self.intercept_ = np.zeros(len(self.coef_))
        self.classes_, self.solver_, self.reason_ = data.classes, solver, reason
        self._read_by(data.reading)
        values = {"coef": self.coef_, "intercept": self.intercept_}
        facts = {"solver": solver, "reason": reason, "classes": self.classes_.tolist()}
        self._publish(values, guarantee, exactness, facts, reservation)
        warn_after_release(self, n_rows, data.reading.width)
        return self

    def _read(self, X: Any, y: Any, sample_weight: Any) -> LabelledRows:
        """Return the data, refused by type and shape only."""
        rows = self._rows(X)
        check_given(self.classes, self.bounds, self.row_norm)
        labels, classes = read_both(y, len(rows), self.classes, self.strict_labels)
        weights, class_weights = self._weights(sample_weight, len(rows)), class_shares(self.class_weight, classes)
        reading = Reading.of(self.bounds, names_of(X), rows.shape[1], self.missing_indicator)
        read_scaling(reading, self.row_norm)  # refuses
        has_weights = sample_weight is not None or self.class_weight is not None
        return LabelledRows(rows, labels, classes, weights, class_weights, has_weights, reading)

    def _has_level(self, data: LabelledRows) -> bool:
        """Return True if the intercept of two classes may be released from labels and scores alone."""
        return self.solver == "auto" and self.fit_intercept and len(data.classes) == 2 and not data.has_weights

    def _is_hidden(self, data: LabelledRows, n_rows: float) -> bool:
        """Return True if noise hides the slopes, by a public or released number of rows."""
        return self._has_level(data) and self._earlier_mu == 0 and hides_slopes(self, n_rows, data.reading.width)

    def _size(self, data: LabelledRows) -> int:
        """Return the number of weights."""
        n_classes = len(data.classes)
        return (1 if n_classes == 2 else n_classes) * (data.reading.width + self.fit_intercept)

    def _fitted(
        self, data: LabelledRows, counted: tuple[NoisyRowCount, float], solver: str, rng: Entropy
    ) -> tuple[ScaledRows, np.ndarray, str, bool]:
        """Release centre, weights and intercept; return (scaling, weights, exactness, whether by a single step)."""
        (count, n_rows), codes = counted, data.codes
        n_classes, replaced = len(data.classes), self.neighbours == "replace"
        noise = noise_to_signal(count.remaining, self._size(data), n_rows, replaced)
        once = noise > TUNED.single_step_noise and self._has_level(data) and isinstance(count.remaining, ApproxDP)
        centre = self._centre(count.remaining, (n_classes, column_groups(data.reading)), n_rows, solver, once)
        slack = 1.0 if centre.is_whole else min(1.0, TUNED.uncentred_norm * clip_factor(noise))
        scaling = read_scaling(data.reading, self.row_norm, slack)
        level = self._intercept_noise(centre, (n_classes, n_rows), data.has_weights, once, solver)
        constant = TUNED.appended_constant if self.fit_intercept else 0.0
        scaled = centre.scaled(scaling, data.rows, n_rows, clip_factor(noise), constant, rng)
        odds = level.log_odds(data.signs, n_rows, rng, TUNED.rarest) if level.is_first else 0.0
        problem = LinearProblem(
            scaled.rows(data.rows, codes >= 0), codes, data.weights * data.class_weights[codes],
            n_classes, n_rows, level.remaining,
            math.hypot(math.hypot(count.auxiliary_mu, centre.auxiliary_mu, level.auxiliary_mu), self._earlier_mu),
            self._length(n_classes, solver, noise, n_rows), replaced, scaled.typical > 0,
            odds / scaled.last if level.is_first else None, 1 / math.cosh(odds / 2) ** 2,
        )  # fmt: skip
        weights, variance, exactness, step = problem.stepped(rng) if once else self._solve(solver, problem, rng)
        if level.is_first:
            uneven = 1 - problem.bent  # classes of one size are told apart as well by longer slopes
            kept = max(signal_share(weights[0, :-1], uneven * variance), TUNED.least_kept)
            weights = np.append(kept * weights[0, :-1], weights[0, -1])[None]
        elif level.noises:
            slopes = weights[0, :-1]
            kept = signal_share(slopes, variance, TUNED.step_doubt if once else 0.0)
            known = n_rows, kept, step if once else 0.0
            kept, constant = level.intercept(problem.rows[:, :-1], data.signs, slopes, known, rng)
            weights = np.append(kept * slopes, constant / scaled.last)[None]
        return scaled, weights, exactness, once

    def _check_solver(self, n_classes: int, requested: Guarantee) -> None:
        one_of(self.solvers, solver=self.solver)
        if self.solver == "gibbs" and not (n_classes == 2 and isinstance(requested, ApproxDP)):
            what = 'solver="gibbs" needs two classes and delta above 0.'
            raise InvalidRequest(what, 'Use solver="auto", or set delta.')
        if self.radius is not None:
            moderate(radius=self.radius)
        if self.C is not None:
            between(2.0**-60, 2.0**60, C=self.C)

    def _by_noise(self, guarantee: Guarantee, size: int, n_rows: int, faint: float) -> tuple[str, str]:
        """Return the objective for public noise below `faint`, else the gradient."""
        noise = noise_to_signal(guarantee, size, n_rows, self.neighbours == "replace")
        solver, sign = ("objective", "below") if noise < faint else ("gradient", "not below")
        return solver, f"the noise, {noise:.2g} of the rows' sum, is {sign} {faint}"

    def _check_y(self, y: Any, n_rows: int) -> list[Any]:
        """Refuse labels by type and shape; return public ones."""
        check_given(self.classes, self.bounds, self.row_norm)
        _, classes = read_both(y, n_rows, self.classes, self.strict_labels)
        return [classes[0], classes[0]]

    @abstractmethod
    def _chosen(self, guarantee: Guarantee, size: int, n_rows: int | None) -> tuple[str, str]:
        """Return the solver and why, given a public number of rows or None."""

    @abstractmethod
    def _solve(self, solver: str, problem: LinearProblem, rng: Entropy) -> Solution:
        """Return the weights, one row for two classes."""

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the score of each row for each class.

        The scores have the shape (n, K) for K > 2 classes. For two classes they have the shape (n,), and a score above
        0 predicts the second class.
        """
        rows = self._like_fitted(X)
        scores: np.ndarray = np.stack([products(rows, slopes) for slopes in self.coef_], axis=1) + self.intercept_
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> np.ndarray:
        """Return the most likely class of each row."""
        scores = self.decision_function(X)
        codes = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[codes]

    def _probabilities(self, X: Any) -> np.ndarray:
        scores = self.decision_function(X)
        if scores.ndim == 1:
            second = scipy.special.expit(scores)
            return np.column_stack([1 - second, second])
        return np.asarray(scipy.special.softmax(scores, axis=1))

    def _length(self, n_classes: int, solver: str, noise: float, n_rows: float = math.inf) -> float:
        """Return the expected norm of the weights; descent gets a wider ball under small noise.

        With C it is at most √(2nC·log K): at 0 the sum of losses is n·log K, so the minimiser with penalty ‖w‖²/2C is
        not longer.
        """
        if self.radius is not None:
            return float(self.radius)
        wider = _longer(noise) if solver == "gradient" else 1.0
        length = TUNED.expected_norm * math.sqrt(n_classes - 1) * wider
        return length if self.C is None else min(length, math.sqrt(2 * n_rows * float(self.C) * math.log(n_classes)))

    def _kept(self, requested: Guarantee, size: int, solver: str) -> Guarantee:
        """Return PureDP(ε) if it needs less noise than the requested guarantee.

        PureDP(ε) implies (ε, δ). Not with an intercept: shares of ε for the other releases add up linearly, those of μ
        as squares.
        """
        if solver != "objective" or self.fit_intercept or self._earlier_mu > 0:
            return requested
        pure = PureDP(float(self.epsilon))
        return min(requested, pure, key=lambda guarantee: noise_to_signal(guarantee, size, 1.0, True))

    def _count(self, guarantee: Guarantee, solver: str) -> NoisyRowCount:
        """Return the row count, charged as μ or ε by the solver.

        Objective perturbation sets its ridge by the count, and its privacy profile by the ridge. Profiles that depend
        on an earlier release do not compose like one fixed profile, so it charges ε.
        """
        if solver in _COMPOSED and isinstance(guarantee, ApproxDP):
            return NoisyRowCount.gaussian(guarantee, self.neighbours)
        # 0.05: ε for the number of rows, at most: to plan by, some 20 of them do not matter
        return NoisyRowCount(guarantee, self.neighbours, 0.05)

    def _centre(
        self, guarantee: Guarantee, shape: tuple[int, np.ndarray], n_rows: float, solver: str, once: bool = False
    ) -> Centre | TwoStageMean:
        """Return the private centre for (classes, column groups); none if it takes much of others' δ."""
        (n_classes, groups), replaced = shape, self.neighbours == "replace"
        if not self.fit_intercept:
            return Centre(None, guarantee)
        if once:
            return Centre.of_groups(guarantee, groups, n_rows, replaced)
        noise = noise_to_signal(guarantee, n_classes * (len(groups) + 1), n_rows, replaced)
        if n_classes > 2 and noise > TUNED.rough_centre_noise and isinstance(guarantee, ApproxDP):
            centre: Centre | TwoStageMean = TwoStageMean.plan(guarantee, groups, n_rows, replaced)
        else:
            centre = Centre.plan(guarantee, len(groups), n_rows, replaced)
            if n_classes == 2 and centre.noise is None:
                centre = Centre.of_groups(guarantee, groups, n_rows, replaced)
        if solver in _COMPOSED or not isinstance(guarantee, ApproxDP):
            return centre
        beside = math.hypot(centre.auxiliary_mu, self._earlier_mu)
        return centre if spares_delta(beside, guarantee, n_classes) else Centre(None, guarantee)

    def _intercept_noise(
        self,
        centre: Centre | TwoStageMean,
        shape: tuple[int, float],
        has_weights: bool = False,
        once: bool = False,
        solver: str = "",
    ) -> InterceptNoise:
        """Return the noise of a re-estimated intercept for (classes, rows), or of labels before the weights.

        There is none for weighted rows, whose total is unknown.
        """
        (n_classes, n_rows), replaced = shape, self.neighbours == "replace"
        beside = math.hypot(centre.auxiliary_mu, self._earlier_mu)
        if not self.fit_intercept or n_classes > 2 or has_weights:
            return InterceptNoise((), centre.remaining)
        if not centre.is_whole:
            return InterceptNoise.plan(centre.remaining, n_rows, replaced, beside, once)
        if solver == "objective" and self._has_odds:
            return InterceptNoise.first(centre.remaining, n_rows, replaced, beside)
        return InterceptNoise((), centre.remaining)
