"""The regularized exponential mechanism in the geometry of any norm."""

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import numpy as np
import scipy

from gaugedp._internal.cells import entries_of, numbers, read_cells
from gaugedp._internal.progress import Progress, part_of, silent
from gaugedp._internal.validate import between, one_of, positive, whole
from gaugedp.bodies import Body
from gaugedp.entropy import Entropy, system_rng
from gaugedp.errors import STAYS_SPENT, InvalidRequest
from gaugedp.guarantees import ApproxDP, Guarantee, PureDP
from gaugedp.guarantees.gaussian_curve import gaussian_mu
from gaugedp.guarantees.printed import rounded_up
from gaugedp.mechanisms.norm_noise import ALLOWANCE
from gaugedp.optimization.geometry import Geometry, NormedSet, Simplex
from gaugedp.optimization.gibbs_walks import Walk, walk_of
from gaugedp.optimization.losses import Hinge, Logistic, Loss
from gaugedp.optimization.posterior import Posterior, clean
from gaugedp.optimization.smoothing import SmoothHinge, smoothed
from gaugedp.optimization.value_loss import Function, PairedValues, ValueLoss, loss_of
from gaugedp.optimization.weight_maps import WeightMap, set_and_map
from gaugedp.samplers.proximal import least_steps
from gaugedp.samplers.value_queries import Queries, QueryPlan, QuerySampler

PURPOSES = ("erm", "sco", "strongly_convex")
_ROUNDED_DOWN = 1 - 1e-9  # covers rounding of the rows' norms and of the parameters


@dataclass(frozen=True, eq=False, repr=False)
class Gibbs:
    """Weights w drawn from a distribution that favours small losses.

    Use it to fit a linear model with a convex loss φ privately: the weights are drawn at random, and their loss is
    probably near the minimum. The duration of a draw depends on the rows, because proposals can be rejected. It has no
    limit, except that `query_bound` limits the evaluations of a user-defined loss.

    Notes
    -----
    For rows x_i with targets y_i, the density is ∝ exp(−κ·Σ_i φ(⟨w, x_i⟩, y_i) − λ·r(w)) on a set 𝒳: the geometry's
    ball, the simplex, or the smallest Euclidean ball if `in_ball` is False. κ is `rate` and λ is `strength` (k = κn and
    μ = λ/k in the reference). `geometry` gives the norm, the ball, the regulariser r and its range Θ. Rows have a dual
    norm of at most `row_norm`, and G = lipschitz·row_norm. c is 2 if rows are replaced, and 1 if they are added or
    removed. The end of the walk and the target distribution are (2τ)-GDP to each other, where τ = `total_variation`
    also bounds their distance in total variation. `stop` bounds the probability that the walk stops early.

    Theorem 1 (privacy). The target is μ-GDP with μ = cGκ/√λ, because neighbours' exponents differ by a cGκ-Lipschitz
    function and are λ-strongly convex (Gopi and others 2023, theorem 2; they state c = 1 for replaced rows, and that is
    not private enough: losses ±Gx attain c = 2). κ is the largest for which δ(ε) of μ-GDP is at most δ·(1 − 2⁻⁴). The
    walk's end is (μ + 4τ)-GDP, and the sample is (ε, δ(ε) of that + (1 + e^ε)·`stop`)-DP, which is at most δ.

    Theorem 2 (PureDP(ε) requested). κ is ε divided by the range on 𝒳 of the change of the sum of losses by one row. So
    the exponents' difference has the range ε, and the target is ε-DP. The sample is (ε, (1 + e^ε)(τ + `stop`))-DP, and
    `guarantee` states this, with 1e−9 for the second number. The range is 2cGR if 𝒳 is the ball itself, of radius R.

    Theorem 3 (risk): see `risk_bound`. The proofs are in docs/theory/gibbs.md.

    The proximal sampler ("mixing") draws the sample, from 0, with a number of steps that depends on public numbers
    only. The theorems also hold on the Euclidean ball; the risk is compared with that of the geometry's ball.

    Examples
    --------
    A logistic regression with two coefficients, whose Euclidean norm is at most 5:

    >>> import gaugedp as gd
    >>> import numpy as np
    >>> from gaugedp.optimization import Geometry, Gibbs, Logistic
    >>> X, y = np.array([[0.5, 0.5], [-0.5, 0.5]] * 500), np.array([1.0, -1.0] * 500)
    >>> mechanism = Gibbs.calibrate(Geometry((2,), 2, radius=5.0), Logistic(), 1000, gd.ApproxDP(1, 1e-6))
    >>> mechanism.sample(X, y).shape
    (2,)
    """

    walk: Walk
    loss: Loss | ValueLoss
    n_rows: int
    guarantee: ApproxDP
    rate: float
    strength: float
    row_norm: float
    neighbours: str
    purpose: str
    bias: float
    total_variation: float
    stop: float
    map: WeightMap = field(default_factory=WeightMap)
    queries: Queries = field(default_factory=Queries)

    exactness = "mixing"

    @classmethod
    def calibrate(  # noqa: PLR0913 - public numbers only
        cls,
        geometry: Geometry | Simplex | Body,
        loss: Loss | Function,
        n_rows: int,
        guarantee: Guarantee,
        *,
        purpose: str = "erm",
        row_norm: float = 1.0,
        neighbours: str = "replace",
        convexity: float | None = None,
        in_ball: bool = True,
        lipschitz: float | None = None,
        auxiliary_mu: float = 0.0,
    ) -> "Gibbs":
        """Return the mechanism for ApproxDP(ε, δ) or PureDP(ε).

        A loss with a kink is replaced by a smooth one, as steep and within d/(4k): the guarantee is the same.

        Parameters
        ----------
        geometry : Geometry, Simplex or Body
            The set of weights: a `Geometry`, the `Simplex`, or a body, which is an LpBall, SchattenBall,
            Polytope.symmetric_hull, or an image of one. Weights of a polytope are F·x, where x is in the ℓ₁ ball of its
            generators (see `WeightMap`), and `geometry` is that ball. Matrices with p < 2 and no q use the largest q
            whose Θ is at most 1.1 times the minimum: bounds on risks are at most 5 % larger, and steps are fewer.
        loss : Loss or function
            One of the library's losses or, with `lipschitz`, a function f(W, rows, targets) of your own (see
            `ValueLoss`), for rows that are replaced and weights in_ball.
        n_rows : int
            The number of rows; for rows that are added or removed, a public guess.
        purpose : {"erm", "sco", "strongly_convex"}
            "erm" (default) minimises the bound on the mean loss of the rows (λ = d/Θ for any n, ε and δ). "sco"
            minimises the bound on the mean loss of their population (λ = (d + 2nμ²/c²)/Θ). "strongly_convex" is for
            losses to which `convexity`·r has been added, and minimises those.
        auxiliary_mu : float
            The μ of all Gaussian releases, before or after, that share an ApproxDP guarantee with the sample. The
            distribution is √(μ² − auxiliary_mu²)-GDP, because Gaussian parameters compose as squares. Default 0.
        """
        inner, weight_map = set_and_map(geometry)
        walk = walk_of(inner, in_ball)
        row_loss = loss_of(loss, lipschitz, neighbours == "replace" and in_ball and row_norm == 1)
        whole(minimum=1, n_rows=n_rows)
        positive(row_norm=row_norm)
        one_of(PURPOSES, purpose=purpose)
        one_of(("replace", "add_remove"), neighbours=neighbours)
        if (purpose == "strongly_convex") != (convexity is not None):
            what = '`convexity` and purpose="strongly_convex" belong together, but only one of them is given.'
            raise InvalidRequest(what, "Pass both, or neither.")
        if convexity is not None:
            positive(convexity=convexity)
        factor = 2 if neighbours == "replace" else 1
        problem = GibbsProblem(walk.geometry, row_loss.lipschitz * row_norm, n_rows, factor, convexity, auxiliary_mu)
        rate, strength, tau, stop, satisfied = problem.solve(guarantee, purpose, in_ball)
        bias = 0.0
        if isinstance(row_loss, Loss):
            row_loss, bias = smoothed(row_loss, walk.geometry.n_free / (2 * rate * n_rows))
        law = (rate, strength, row_norm, neighbours, purpose, bias, tau, stop)
        return cls(walk, row_loss, n_rows, satisfied, *law, weight_map)

    @property
    def geometry(self) -> NormedSet:
        """The norm with its ball, r and Θ."""
        return self.walk.geometry

    @property
    def weight_shape(self) -> tuple[int, ...]:
        """Shape of the weights: the geometry's or its image's."""
        return self.map.shape(self.geometry.shape)

    @property
    def lattice_step(self) -> Fraction:
        """Lattice step of released points, a power of two.

        It follows from the radius.
        """
        # 24: bits of the lattice, below the radius
        return Fraction(2) ** (math.floor(math.log2(self.geometry.radius)) - 24)

    @cached_property
    def steps(self) -> int:
        """Number of sampler steps, from public numbers."""
        return least_steps(self._pace, self._convexity, self.geometry.length, self.total_variation)

    @cached_property
    def query_bound(self) -> int:
        """Most evaluations of single losses per sample.

        It follows from public numbers, and exists only for a user-defined loss. The sampler stops there, with a
        probability of at most `stop`.
        """
        if not isinstance(self.loss, ValueLoss):
            what = "The number of loss evaluations has no public bound for a loss of the library."
            raise InvalidRequest(what, "Use the number of `steps`, or pass the loss as a function with `lipschitz`.")
        return 2 * self._plan.picks(self.steps, self.stop)

    def sample(
        self, rows: np.ndarray, targets: np.ndarray, rng: Entropy | None = None, progress: Progress = silent
    ) -> np.ndarray:
        """Draw weights for rows and targets. Charge the budget first.

        The rows have shape (n, …), and the targets (n,).
        """
        rng = system_rng() if rng is None else rng
        return self.draw(rows, targets, 1, rng, progress)[0].reshape(self.weight_shape)

    def draw(
        self, rows: np.ndarray, targets: np.ndarray, size: int, rng: Entropy, progress: Progress = silent
    ) -> np.ndarray:
        """Return `size` independent samples, one a row.

        Each sample spends the guarantee. Rows beyond `row_norm` are scaled back to it; a row that is not finite, or
        whose target is not, counts as 0.
        """
        whole(minimum=1, size=size)
        if isinstance(self.loss, ValueLoss):
            unit, chain = float(self.lattice_step), self._query_sampler(rows, targets, self.loss)
            points = [chain.draw(self.walk.start, self.steps, rng, progress) for _ in range(size)]
            return self.map.weights(np.rint(np.array(points) / unit) * unit)
        posterior = self.posterior(rows, targets)
        sampler, parts = self.walk.sampler(posterior, self._pace), []
        batch = max(1, 2**17 // max(len(posterior.rows), self.geometry.ambient_dim))
        for start in range(0, size, batch):
            count = min(batch, size - start)
            shown = part_of(progress, start / size, (start + count) / size)
            parts.append(sampler.draw((count, self.geometry.ambient_dim), self.steps, rng, shown))
        unit = float(self.lattice_step)
        return self.map.weights(np.rint(np.concatenate(parts) / unit) * unit)

    def posterior(self, rows: np.ndarray, targets: np.ndarray) -> Posterior:
        """Return the exponent for rows, for a library loss."""
        if isinstance(self.loss, ValueLoss):
            what = "The posterior needs the slopes of the loss, which are unknown for a loss of your own."
            raise InvalidRequest(what, "Use a loss of the library.")
        table, goal = read_cells(rows), numbers(entries_of(targets))
        table = table.reshape(len(table), math.prod(table.shape[1:]))
        n_rows = self.n_rows if self.neighbours == "replace" else len(table)
        n_weights = math.prod(self.weight_shape)
        if table.shape != (n_rows, n_weights) or goal.shape != (n_rows,):
            expected = f"{self.n_rows} rows" if self.neighbours == "replace" else "rows"
            raise InvalidRequest(
                "The mechanism was calibrated for rows of another shape than those that were passed.",
                f"Pass {expected} with {n_weights} numbers each, and one target per row.",
                STAYS_SPENT,
            )
        clipped, goal = clean(self.map.features(table), goal, self.geometry, self.row_norm)
        signed = isinstance(self.loss, Logistic | Hinge | SmoothHinge)
        # 2.0**20: targets over the largest prediction on the ball
        largest = 1.0 if signed else 2.0**20 * self.row_norm * self.geometry.radius
        return Posterior(clipped, np.clip(goal, -largest, largest), self.loss, self.geometry, self.rate, self.strength)

    def risk_bound(self, population: bool | None = None, *, confidence: float | None = None) -> float:
        """Return a bound on the excess loss of the weights.

        The excess is F(w) − min F, where F is a mean loss. The result bounds its mean or, with `confidence`, the excess
        itself. `population` selects the mean loss of the population; by default it is True if the purpose is "sco".

        Theorem 3. Let k = κn. If F is the mean loss of the rows, the bound on the mean is (d + λΘ)/k. If F is the mean
        loss of the population that the rows are drawn from, it is 2κG²/λ more. If the losses have `convexity`·r added,
        it is d/k. The errors of a smoothed kink, the sampler and the lattice are added.

        Theorem 4. Let F be the mean loss of the rows, and L = −log Φ(Φ⁻¹(1 − confidence − `stop`) − 2τ). F(w) − min F
        is above (d + √(2dL) + L + λΘ)/k plus the errors of a kink and the lattice with probability at most 1 −
        `confidence`.
        """
        population = self.purpose == "sco" if population is None else population
        excess, drift = 0.0, self._drift
        if confidence is not None:
            excess, drift = self._deviation(confidence, population), 0.0
        k = self.rate * self.n_rows
        regulariser_range = 0.0 if self.purpose == "strongly_convex" else self.strength * self.geometry.range
        steep = self.loss.lipschitz * self.row_norm
        bound = (self.geometry.n_free + excess + regulariser_range) / k + self.bias
        if population:
            bound += 2 * self.rate * steep**2 / self.strength
        rounding = float(self.lattice_step) * math.sqrt(self.geometry.ambient_dim) / 2
        return bound + steep * self.geometry.row_reach * (drift + rounding)

    @property
    def _drift(self) -> float:
        """Largest ℓ₂ shift of the mean by the sampler's error."""
        stopped = 2 * self.geometry.length * self.stop if isinstance(self.loss, ValueLoss) else 0.0
        return self.geometry.length * math.exp(-self.steps * math.log1p(self._pace * self._convexity)) + stopped

    def _deviation(self, confidence: float, population: bool) -> float:
        """Return √(2dL) + L of theorem 4.

        Proof. Let V ≥ 0 be the exponent above its minimum on 𝒳, at w*. For 0 < a < 1 and u = w* + (1 − a)(w − w*),
        convexity gives V(u) ≤ (1 − a)·V(w), so E e^{aV} = ∫ e^{−(1−a)V}/∫ e^{−V} ≤ (1 − a)^{−d}. Hence P(V ≥ d + √(2dL)
        + L) ≤ e^{−L} by Markov's inequality for a = b/(1 + b), b = √(2L/d). Here k·(F(w) − min F) ≤ V(w) + λΘ, as r ≥
        0. The end of the walk is 2τ-GDP to the target, so e^{−L} there becomes at most 1 − `confidence` − `stop`.
        """
        if population or self.purpose == "strongly_convex":
            raise InvalidRequest(
                "A bound with `confidence` is available only for the mean loss of the rows, not of the population.",
                'Pass population=False and the purpose "erm" or "sco", or omit `confidence`.',
            )
        between(0, 1, confidence=confidence)
        failure = 1 - confidence - self.stop
        if failure <= 0:
            raise InvalidRequest(
                f"The confidence {confidence} is too high, because the sampler may fail with a larger probability.",
                "Choose a smaller confidence, such as 0.95.",
            )
        log = -float(scipy.special.log_ndtr(scipy.special.ndtri(failure) - 2 * self.total_variation))
        return math.sqrt(2 * self.geometry.n_free * log) + log

    def describe(self) -> str:
        """Describe the distribution."""
        where = "of the set itself" if self.walk.has_corners else "of a Euclidean ball"
        return (
            f"a point {where}, {self.geometry.ambient_dim} numbers, k = {self.rate * self.n_rows:.6g}, "
            f"k·mu = {self.strength:.6g}, {self.steps:,} steps of the proximal sampler"
        )

    def __repr__(self) -> str:
        return f"Gibbs({self.describe()}, {rounded_up(self.guarantee)}, {self.exactness})"

    @property
    def _pace(self) -> float:
        """The sampler's step η: about 1/trace of the Hessian."""
        if isinstance(self.loss, ValueLoss):
            return self._plan.step
        k, reach = self.rate * self.n_rows, self.row_norm * self.geometry.row_reach
        losses = min(k * self.loss.smoothness * reach**2, (k * self.loss.lipschitz * reach) ** 2 / 9)
        return self.walk.step(losses, self.strength)

    @property
    def _convexity(self) -> float:
        return self.strength * self.geometry.convexity

    @cached_property
    def _plan(self) -> QueryPlan:
        steep = self.rate * self.n_rows * self.loss.lipschitz * self.geometry.row_reach
        return QueryPlan.least(steep, self.geometry.ambient_dim, self.strength * self.geometry.range * (1 + 2.0**-40))

    def _query_sampler(self, rows: np.ndarray, targets: np.ndarray, loss: ValueLoss) -> QuerySampler:
        table, goal = np.asarray(rows), np.asarray(targets)
        if len(table) != self.n_rows or len(goal) != self.n_rows:
            raise InvalidRequest(
                "The mechanism was calibrated for another number of rows or targets than were passed.",
                f"Pass {self.n_rows} rows, and one target per row.",
                STAYS_SPENT,
            )
        values = PairedValues(loss, table, goal, self.weight_shape, self.map)
        oracle, picks = self.walk.oracle(self.strength), self.query_bound // 2
        return QuerySampler(values, self.rate, self.n_rows, self._plan, oracle, picks, self.queries)


@dataclass(frozen=True)
class GibbsProblem:
    """Numbers that determine κ and λ; c is `factor`."""

    geometry: NormedSet
    lipschitz: float
    n_rows: int
    factor: int
    convexity: float | None
    auxiliary_mu: float = 0.0

    def solve(self, guarantee: Guarantee, purpose: str, in_ball: bool) -> tuple[float, float, float, float, ApproxDP]:
        """Return κ, λ, τ, the stopping probability and the guarantee."""
        if isinstance(guarantee, PureDP) and guarantee.epsilon_value > 0 and self.auxiliary_mu == 0:
            epsilon, share = guarantee.epsilon_value, ALLOWANCE / 2
            rate, strength = self._pure(epsilon, in_ball)
            satisfied = ApproxDP(epsilon, ALLOWANCE)
            stop = tau = share * math.exp(-float(np.logaddexp(0, epsilon))) * _ROUNDED_DOWN
        elif isinstance(guarantee, ApproxDP) and guarantee.epsilon_value > 0 and guarantee.delta_value > 0:
            epsilon, delta, satisfied = guarantee.epsilon_value, guarantee.delta_value, guarantee
            share = delta * 2.0**-4 / 2  # of δ, for the sampler: half for the walk, half for where it may stop
            mu = self._remaining(gaussian_mu(epsilon, delta - 2 * share))
            rate, strength = self._approximate(mu, purpose)
            tau = (self._remaining(gaussian_mu(epsilon, delta - share)) - mu) / 4
            stop = share * math.exp(-float(np.logaddexp(0, epsilon))) * _ROUNDED_DOWN
        else:
            raise InvalidRequest(f"The Gibbs sampler cannot guarantee {guarantee!r}.", "Use ApproxDP or PureDP.")
        return rate, strength, tau, stop, satisfied

    def _remaining(self, mu: float) -> float:
        """Return the μ that remains for the sample."""
        if not 0 <= self.auxiliary_mu < mu:
            raise InvalidRequest(
                f"`auxiliary_mu` is {self.auxiliary_mu!r}, but must be below the mu of the guarantee, {mu:.4g}.",
                "Choose a number from 0 to below this value.",
            )
        return math.sqrt(mu * mu - self.auxiliary_mu * self.auxiliary_mu) * (1 - 2.0**-40)

    def _pure(self, epsilon: float, in_ball: bool) -> tuple[float, float]:
        outer = self.geometry.row_reach * self.geometry.length
        width = 2 * self.factor * self.lipschitz * (self.geometry.radius if in_ball else outer)
        rate = epsilon / width * _ROUNDED_DOWN
        if self.convexity is not None:
            return rate, rate * self.n_rows * self.convexity
        return rate, self.geometry.n_free / (2 * self.geometry.range)

    def _approximate(self, mu: float, purpose: str) -> tuple[float, float]:
        sensitivity = self.factor * self.lipschitz
        if self.convexity is not None:
            strength = (self.n_rows * mu * self.convexity / sensitivity) ** 2
        else:
            spread = 2 * self.n_rows * (mu / self.factor) ** 2 if purpose == "sco" else 0.0
            strength = (self.geometry.n_free + spread) / self.geometry.range
        return mu * math.sqrt(strength) / sensitivity * _ROUNDED_DOWN, strength
