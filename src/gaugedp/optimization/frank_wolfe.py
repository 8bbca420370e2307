"""Private Frank–Wolfe on the ℓ₁ ball, with exponential-mechanism vertex selection."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from gaugedp._internal.progress import Progress, silent
from gaugedp._internal.rounding import SCORES
from gaugedp._internal.validate import one_of, positive, whole
from gaugedp.bodies import LpBall
from gaugedp.entropy import Entropy, system_rng
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees import ApproxDP, ExponentialLoss, Guarantee, PureDP, compose
from gaugedp.guarantees.calibrate import largest_parameter
from gaugedp.guarantees.gaussian_curve import gaussian_mu
from gaugedp.guarantees.parse_guarantee import of_kind
from gaugedp.mechanisms import Exponential
from gaugedp.optimization.lattice import BITS, WEIGHT_BITS
from gaugedp.optimization.losses import Loss, check_loss
from gaugedp.optimization.row_blocks import READ_ONCE, RowBlocks, in_threads, summed

_RADII = (1.0, 0.7, 0.5, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01)  # shares of the radius


@dataclass(frozen=True)
class FrankWolfe:
    """Calibration of private Frank–Wolfe, with its total guarantee.

    `FrankWolfe.calibrate` makes it from public numbers. The function `frank_wolfe` then fits the weights.
    """

    selection: Exponential
    steps: int
    guarantee: Guarantee
    neighbours: str

    @classmethod
    def calibrate(  # noqa: PLR0913, PLR0917 - public numbers only
        cls,
        n_rows: int,
        n_columns: int,
        loss: Loss,
        radius: float,
        guarantee: Guarantee,
        neighbours: str = "replace",
        steps: int | None = None,
    ) -> "FrankWolfe":
        """Return the calibration for PureDP(ε) or ApproxDP(ε, δ).

        Call it before `frank_wolfe`, which uses the result. It depends on public numbers only.

        Parameters
        ----------
        n_rows, n_columns : int
            The numbers of rows and features. The guarantee never uses `n_rows`, which only sets the number of steps if
            `steps` is None. If the number of rows is private, give a public guess.
        loss : Loss
            A smooth loss: Huber, Logistic or Squared.
        radius : float
            The radius of the ℓ₁ ball.
        guarantee : PureDP or ApproxDP
            The guarantee of all steps together.
        neighbours : {"replace", "add_remove"}
            Whether neighbouring data sets differ by a replaced row (default), or by a row added or removed.
        steps : int, optional
            The number of steps. By default the number with the smallest bound on the risk.

        Notes
        -----
        Each step of Frank–Wolfe selects a vertex of the ℓ₁ ball by its score ∓Σ_i φ′_i·x_ij. If the features are in
        [−1, 1], one row changes a score by at most 2·`lipschitz` if rows are replaced, and by `lipschitz` if they are
        added or removed.
        """
        whole(minimum=1, n_rows=n_rows, n_columns=n_columns)
        positive(radius=radius)
        one_of(("replace", "add_remove"), neighbours=neighbours)
        check_loss(loss)
        of_kind(guarantee, PureDP, ApproxDP, purpose="Frank-Wolfe")
        if not math.isfinite(loss.smoothness):
            raise InvalidRequest(
                f"Frank-Wolfe requires a loss with a continuous slope, but that of {loss!r} jumps.",
                "Use Huber, Logistic or Squared.",
            )
        if steps is None:
            steps = _best_steps(_noise_of(n_rows, n_columns, neighbours), loss, radius, guarantee)[0]
        whole(minimum=1, steps=steps)
        if steps > 2**20:  # more would not have exact predictions
            raise InvalidRequest(f"`steps` is {steps}, but at most {2**20} are supported.", "Choose fewer steps.")
        # of scores over the Lipschitz constant
        sensitivity = (2.0 if neighbours == "replace" else 1.0) * (1 + SCORES)
        step_epsilon = _step_epsilon(guarantee, steps)
        selection = Exponential.calibrate(LpBall(2 * n_columns, math.inf, sensitivity), ExponentialLoss(step_epsilon))
        return cls(selection, steps, compose([(selection.guarantee, steps)]), neighbours)

    def blindness(self, n_rows: float) -> float:
        """Return the approximate squared length that weights owe to noise.

        The length is in units of the radius. The value is that of weights whose vertices are drawn blindly, and is
        smaller if a choice loses less than a usual slope, 0.1.
        """
        lost = math.log(self.selection.n_candidates) / float(self.selection.rate) * float(self.selection.step) / n_rows
        return min(1.0, (lost / 0.1) ** 2) * (4 * self.steps + 2) / (3 * self.steps * (self.steps + 1))

    def risk_bound(self, n_rows: int, loss: Loss, radius: float) -> float:
        """Return a bound on the mean excess loss of the weights.

        It compares the mean loss of n = `n_rows` rows, with features as rounded, with its minimum over the ℓ₁ ball of
        radius R.

        Notes
        -----
        Two errors contribute. T steps of Frank–Wolfe without noise have an error of at most 2C/(T + 2), where C = 4βR²
        and β is the loss's smoothness (Jaggi 2013, theorem 1). A private choice misses the best score by at most
        2B·log(2d)/ε₀ on average, because its distribution maximises the mean of ε₀/(2B) times the score plus the
        entropy, which is at most log(2d). This adds the mean loss α = 2B·log(2d)·R·lipschitz/(n·ε₀). Here d is the
        number of features, ε₀ is the ε of one step, and B is 2 if rows are replaced and 1 otherwise. The bound is the
        sum, or 2R·lipschitz if that is smaller.
        """
        gap = math.log(self.selection.n_candidates) / float(self.selection.rate) + 1
        lost = radius * loss.lipschitz * (gap * float(self.selection.step) + 2.0 ** (1 - BITS) * n_rows) / n_rows
        bound = 8 * loss.smoothness * radius**2 / (self.steps + 2) + lost
        return min(bound, 2 * radius * loss.lipschitz)


def frank_wolfe(  # noqa: PLR0913, PLR0917 - data, problem, guarantee, randomness
    features: RowBlocks,
    targets: np.ndarray,
    loss: Loss,
    radius: float,
    calibration: FrankWolfe,
    rng: Entropy | None = None,
    progress: Progress = silent,
) -> np.ndarray:
    """Minimise a mean loss over an ℓ₁ ball, privately.

    Use it to fit a linear model with many features, few of which matter, by private Frank–Wolfe. It returns weights w
    (d,) with ‖w‖₁ ≤ radius. The loss of a row with features x and target y is φ(⟨w, x⟩, y). Charge the budget before
    you call it.

    Notes
    -----
    Theorem (docs/theory/frank_wolfe.md). If the features (n, d) are in [−1, 1] and the loss has a finite `lipschitz`,
    the weights satisfy `calibration.guarantee`. The reason is that all T selected vertices together satisfy it, and the
    weights are computed from them. Features are rounded to multiples of 2^−12 and clipped, and count as 0 if not
    finite. Sums of products are exact.

    Examples
    --------
    The target is the first of 20 features:

    >>> import gaugedp as gd
    >>> import numpy as np
    >>> from gaugedp.optimization import FrankWolfe, Squared
    >>> from gaugedp.optimization.frank_wolfe import frank_wolfe
    >>> X = np.random.default_rng(0).uniform(-1, 1, (1000, 20))
    >>> calibration = FrankWolfe.calibrate(1000, 20, Squared(1.0), 1.0, gd.ApproxDP(1, 1e-6))
    >>> frank_wolfe(X, X[:, 0], Squared(1.0), 1.0, calibration).shape
    (20,)

    The result has one weight for each feature.
    """
    stream = system_rng() if rng is None else rng
    walk = start(features, targets, (loss, radius), calibration.steps)
    for t in range(calibration.steps):
        scores = walk.slopes()
        walk.go(int(calibration.selection.sample(np.concatenate([-scores, scores]), stream)))
        progress((t + 1) / calibration.steps)
    return radius * walk.shares


class Walk(ABC):
    """A Frank–Wolfe iterate, stored as an integer combination of vertices.

    With γ = 2/(t + 2) and vertices v_1 … v_t, w = R·2/(t(t + 1))·u, where u = Σ s·v_s has integer entries. `grid` is
    (n, d) in integer steps of 2^−12. The predictions ⟨u, x⟩ are integers below 2^53 and are updated with u.
    """

    def __init__(self, grid: np.ndarray, n_steps: int) -> None:
        self.grid, self.n_steps = grid, n_steps
        self.weights, self.predicted, self.count = np.zeros(grid.shape[1]), np.zeros(len(grid)), 0

    def go(self, vertex: int) -> None:
        """Take a step towards a vertex: coordinate j, or its negative for vertex d + j."""
        self.count += 1
        place, share = vertex % len(self.weights), self.count if vertex < len(self.weights) else -self.count
        self.weights[place] += share
        self.predicted += share * self.grid[:, place]
        self._learn(place, share)

    @property
    def unit(self) -> float:
        """The scale 2/(t(t + 1)) of u."""
        return 2 / max(1, self.count * (self.count + 1))

    @property
    def shares(self) -> np.ndarray:
        """w/R, truncated to a grid so that its ℓ₁ norm is at most 1."""
        cut: np.ndarray = np.trunc(self.weights * self.unit * 2.0**WEIGHT_BITS) * 2.0**-WEIGHT_BITS
        return cut

    @abstractmethod
    def slopes(self) -> np.ndarray:
        """Return Σ φ′_i·x_i/lipschitz (d,), each row's term in [−1, 1]."""

    @abstractmethod
    def _learn(self, place: int, share: int) -> None:
        """Update the state after u_place grew by `share`."""


class Derivatives(Walk):
    """Slopes of any loss, by a full pass."""

    def __init__(self, grid: np.ndarray, problem: tuple[np.ndarray, Loss, float], n_steps: int) -> None:
        super().__init__(grid, n_steps)
        self.targets, self.loss, self.radius = problem

    def slopes(self) -> np.ndarray:
        """Return exact sums of clipped, rounded derivatives."""
        unit = self.radius * 2.0**-BITS * self.unit

        def of(part: slice) -> np.ndarray:
            slopes = self.loss.derivative(self.predicted[part] * unit, self.targets[part]) / self.loss.lipschitz
            return np.asarray(np.rint(np.clip(np.nan_to_num(slopes), -1, 1) * 2.0**BITS) @ self.grid[part])

        return summed(of, self.grid) * 4.0**-BITS

    def _learn(self, place: int, share: int) -> None:
        del place, share


class ClippedResiduals(Walk):
    """Slopes clip(ρ⟨w/R, x⟩ − y, ±1), y in integer steps.

    Second moments update the sum of all residuals without a pass over the rows; rows with a residual beyond ±1 are
    corrected one by one, rounded towards 0. All sums are of integers, without rounding.

    Let κ = L/β and ρ = R/κ. For the squared loss and Huber's loss φ′/L = clip(r, ±1) with r = ρ⟨w/R, x⟩ − y/κ. Clipping
    y/κ to ±(1 + ρ) changes no clipped residual. Σ x·r = ρ·2/(t(t + 1))·Gu − Σ x·y/κ with G = Σ xxᵀ and the integers u =
    t(t + 1)/2·w/R. The excess of r beyond ±1, rounded up to a multiple of 2^−12, is subtracted row by row, so every row
    still adds a multiple c·x with |c| ≤ 1. These are integers of any size, and each score is rounded once, by at most
    2^−25 for 2^28 rows, within the 2^−20 by which the body of the mechanism is enlarged. The float r is accurate to
    2^−40 for ρ ≤ 2^8; for larger ρ (public), and for other losses, each step reads all rows.
    """

    def __init__(self, grid: np.ndarray, targets: np.ndarray, ratio: float, n_steps: int) -> None:
        super().__init__(grid, n_steps)
        self.targets, self.ratio = np.rint(np.clip(targets, -1 - ratio, 1 + ratio) * 2.0**BITS), ratio
        self._of_weights = np.zeros(len(self.weights), object)
        self._of_targets = summed(lambda part: (self.targets[part] @ grid[part]).astype(np.int64), grid).astype(object)
        self._moments = dict(enumerate(grid.T @ grid)) if len(self.weights) <= min(16 * n_steps, 2**11) else {}

    def slopes(self) -> np.ndarray:
        """Return the exact sums, rounded once."""
        residuals = self.predicted * (self.ratio * self.unit) - self.targets
        beyond = np.flatnonzero(np.abs(residuals) > 2.0**BITS)
        far = residuals[beyond]
        cut = self._sums(np.sign(far) * np.ceil(np.abs(far) - 2.0**BITS), beyond)
        (top, bottom), size = (2 * self.ratio).as_integer_ratio(), max(1, self.count * (self.count + 1))
        total = self._of_weights * top - (self._of_targets + cut) * (size * bottom)
        return np.asarray(total / (size * bottom << 2 * BITS), float)

    def _learn(self, place: int, share: int) -> None:
        if place not in self._moments:
            self._moments[place] = self.grid[:, place] @ self.grid
        self._of_weights += self._moments[place].astype(np.int64).astype(object) * share

    def _sums(self, numbers: np.ndarray, places: np.ndarray) -> np.ndarray:
        """Return Σ number·x over rows at `places` in exact integers."""
        total, height = np.zeros(len(self.weights), np.int64), max(1, READ_ONCE // len(self.weights))
        for start in range(0, len(places), height):
            part = slice(start, start + height)
            total += (numbers[part] @ self.grid[places[part]]).astype(np.int64)
        return total.astype(object)


def start(features: RowBlocks, targets: np.ndarray, problem: tuple[Loss, float], n_steps: int) -> Walk:
    """Return the initial iterate; public numbers decide its class. A row without a target counts as 0."""
    (loss, radius), known, grid = problem, ~np.isnan(targets), np.empty(features.shape)

    def fill(parts: list[slice]) -> None:
        for part in parts:
            block = features[part]
            np.multiply(np.clip(np.where(np.isfinite(block), block, 0.0), -1, 1), 2.0**BITS, out=grid[part])
            np.rint(grid[part], out=grid[part])

    in_threads(fill, grid)
    grid[~known] = 0.0
    goal = np.clip(np.where(known, targets, 0.0), -(2.0**60), 2.0**60)  # so that no product overflows
    scale = loss.lipschitz / loss.smoothness
    # 2.0**8: of radius and clipping, up to which sums of residuals fit in 63 bits
    if loss.is_clipped_residual and radius <= 2.0**8 * scale:
        return ClippedResiduals(grid, goal / scale, radius / scale, n_steps)
    return Derivatives(grid, (goal, loss, radius), n_steps)


def _step_epsilon(guarantee: Guarantee, steps: int) -> float:
    if isinstance(guarantee, PureDP) and guarantee.epsilon_value > 0:
        return guarantee.epsilon_value / steps * (1 - 2.0**-40)
    if isinstance(guarantee, ApproxDP) and guarantee.epsilon_value > 0 and guarantee.delta_value > 0:
        return largest_parameter(
            lambda epsilon: compose([(ExponentialLoss(epsilon), steps)]), guarantee.epsilon_value, guarantee.delta_value
        )
    raise InvalidRequest(f"Frank-Wolfe cannot guarantee {guarantee!r}.", "Use PureDP or ApproxDP with epsilon above 0.")


def best_radius(  # noqa: PLR0913, PLR0917 - public numbers only
    n_rows: int, n_columns: int, loss: Loss, radius: float, guarantee: Guarantee, neighbours: str, explained: float
) -> float:
    """Return the share of the radius of the least expected loss.

    Coefficients of the whole radius save the loss `explained`, a guess, and a share r of it leaves (1 − r)² of that.
    """
    noise = _noise_of(n_rows, n_columns, neighbours)
    risks = [explained * (1 - r) ** 2 + _best_steps(noise, loss, r * radius, guarantee)[1] for r in _RADII]
    return _RADII[int(np.argmin(risks))]


def _noise_of(n_rows: int, n_columns: int, neighbours: str) -> float:
    """Return 2B·log(2d)/n."""
    return (4.0 if neighbours == "replace" else 2.0) * math.log(2 * n_columns) / n_rows


def _best_steps(noise: float, loss: Loss, radius: float, guarantee: Guarantee) -> tuple[int, float]:
    """Return the T of least typical risk, and that risk, 2C/(T + 2) + noise·R·lipschitz/ε₀(T) with C = βR²/6."""
    counts = np.arange(8, 2001)  # in fewer, vertices that are drawn blindly would not cancel
    if isinstance(guarantee, ApproxDP) and guarantee.delta_value > 0:
        step_epsilons = 2 * gaussian_mu(guarantee.epsilon_value, guarantee.delta_value) / np.sqrt(counts)
    else:
        step_epsilons = float(guarantee.epsilon(0.0)) / counts
    risks = loss.smoothness * radius**2 / 3 / (counts + 2) + noise * radius * loss.lipschitz / step_epsilons
    return int(counts[risks.argmin()]), float(risks.min())
