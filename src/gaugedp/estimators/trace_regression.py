"""Trace regression with matrices of small nuclear norm."""

import math
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from gaugedp._internal.validate import one_of, positive
from gaugedp.errors import InvalidRequest
from gaugedp.estimators.base import PrivateEstimator, Scored
from gaugedp.estimators.feature_names import check_names
from gaugedp.estimators.gibbs_fit import MatrixGibbs
from gaugedp.estimators.row_count import PUBLIC_ROWS, NoisyRowCount
from gaugedp.estimators.rows import as_read, check_shape, into_ball, products, read_array, read_bounds, read_target
from gaugedp.estimators.trace_losses import SQUARED, TraceLoss, trace_loss
from gaugedp.guarantees import ApproxDP, Guarantee
from gaugedp.optimization.lattice import for_gaussian_releases
from gaugedp.optimization.matrix_descent import MatrixDescent, MatrixFrankWolfe
from gaugedp.optimization.matrix_grams import GramScale, MatrixGrams
from gaugedp.optimization.matrix_moments import MOST_COORDINATES, MatrixMoments, MomentScale
from gaugedp.optimization.stochastic_frank_wolfe import StochasticFrankWolfe
from gaugedp.optimization.trace_designs import Designs, Full, RankOne, TraceProblem, TraceScale
from gaugedp.optimization.vertices import ORACLES

SOLVERS = ("auto", "moments", "grams", "descent", "frank_wolfe", "stochastic", "gibbs")
_OF_GIBBS = (SQUARED, "huber", "absolute")
_OF_ANY_LOSS = ("descent", "frank_wolfe", "gibbs")
NORMS = ("frobenius", "operator")
Method = MatrixMoments | MatrixGrams | MatrixDescent | MatrixFrankWolfe | StochasticFrankWolfe | MatrixGibbs


@dataclass(eq=False, repr=False)
class TraceRegression(Scored, RegressorMixin, PrivateEstimator):
    """Trace regression with a bound on the nuclear norm.

    Use it to predict a number y from a matrix A, if the prediction is linear in A: y ≈ ⟨A, X⟩, the sum of the products
    of their entries. A row's matrix A is called its *design*. The fit finds a matrix X whose nuclear norm, the sum of
    its singular values, is at most `radius`. This bound favours matrices of low rank.

    Pass designs as arrays (n, m, k) of matrices, for any X (m, k), or as rows z (n, d), for A = zzᵀ and a symmetric X ⪰
    0. Specify `design_norm` or `row_norm`.

    Parameters
    ----------
    design_norm : float, optional
        Public bound on the norm of A, to which designs are clipped.
    row_norm : float, optional
        For rows z, a public bound on ‖z‖₂, which is the square root of the bound on A.
    norm : {"frobenius", "operator"}
        The norm of A. "operator", for matrices, is the largest singular value: orthogonal matrices, permutations and
        cells of a table have 1. Default "frobenius".
    target_bounds : (low, high)
        Public bounds to which the target is clipped.
    loss : {"squared", "huber", "absolute", "logistic"} or callable
        The loss of a prediction, by default "squared". "huber" is quadratic within a quarter of the target's range, and
        "absolute" within a twentieth. "logistic" takes ⟨A, X⟩ as the log-odds of the upper bound. A function of your
        own, of predictions and targets, which are arrays of one shape, must be convex in the prediction with slopes up
        to `lipschitz`. It is called with public numbers only, before the charge.
    solver : {"auto", "moments", "grams", "descent", "frank_wolfe", "stochastic", "gibbs"}
        "auto", the default, chooses "moments", "grams" or "descent", based on public numbers only. For the squared
        loss, "moments" releases the sums Σ aaᵀ and Σ y·a of a = vec(A) once, with noise. "grams", for matrices,
        releases Σ AAᵀ, Σ AᵀA and Σ y·A instead. "descent" uses noisy projected gradients of all rows, and "frank_wolfe"
        steps to the extreme points of such gradients. These two clip predictions to the target's bounds in their slopes
        (the loss stays convex). "stochastic" uses every row only once, and clips nothing. "gibbs", for matrices and
        delta above 0, draws X from the regularised exponential mechanism of the nuclear norm, in the Frobenius ball
        around it.
    noise : {"toeplitz", "oja"}
        How "stochastic", which needs delta above 0, finds extreme points. "toeplitz", the default, adds noise to its
        running gradients, correlated over the steps; "oja" adds noise to the products of these gradients with one
        direction.
    epsilon, delta, neighbours, random_state, ledger
        The privacy budget for one row, and its options, as in `LogisticRegression`.

    Notes
    -----
    Theorem. `fit` is (ε, δ)-DP for one row, and ε-DP at δ = 0. The proofs are in docs/theory/matrix_moments.md,
    nuclear_ball.md, stochastic_frank_wolfe.md and gibbs.md. If rows are added or removed, a tenth of ε is spent on
    their number. A design with an entry that is not finite counts as 0, and a missing target as the middle of its
    bounds.

    After `fit`, the model has the attributes coef_ of shape (d, d) or (m, k), solver_, reason_, method_, guarantee_ and
    release_.

    Examples
    --------
    The target is one entry of each 2 × 3 matrix, so the true X has a single 1:

    >>> import numpy as np
    >>> from gaugedp.estimators import TraceRegression
    >>> X = np.random.default_rng(0).uniform(-0.5, 0.5, (1000, 2, 3))
    >>> model = TraceRegression(epsilon=1.0, delta=1e-6, design_norm=1.0, target_bounds=(-1, 1)).fit(X, X[:, 0, 0])
    >>> model.coef_.shape, model.predict(X).shape
    ((2, 3), (1000,))
    """

    epsilon: float = 1.0
    delta: float = 0.0
    _: KW_ONLY
    radius: float = 1.0
    design_norm: float | None = None
    row_norm: float | None = None
    target_bounds: Any = None
    solver: str = "auto"
    noise: str = "toeplitz"
    norm: str = "frobenius"
    loss: Any = SQUARED
    lipschitz: float | None = None

    def fit(self, X: Any, y: Any) -> "TraceRegression":
        """Fit the model to designs X and target y.

        X holds rows (n, d) or matrices (n, m, k), and y has shape (n,). The model's ledger, if any, is charged before
        any row is read.
        """
        requested, (rows, shape) = self._requested(), _read(X, 0 if self.neighbours == "add_remove" else 1)
        target, size = read_target(y, len(rows)), self._size(shape)
        widest = self._widest(shape)
        count, rng = NoisyRowCount(requested, self.neighbours), self._generator()
        fitted = self._fitted(count.remaining)
        kind, planned = _designs(rows[:0], shape, widest), len(rows) if count.mechanism is None else PUBLIC_ROWS
        residual = self._residual(size, kind)
        self._method(self._chosen(fitted, kind, residual, planned)[0], fitted, kind, residual, planned)
        guarantee = count.with_remaining(fitted)
        reservation = self._pay(guarantee, requested, rows.shape)
        n_rows = count.draw(len(rows), rng)
        solver, reason = self._chosen(fitted, kind, residual, n_rows)
        self.method_ = self._method(solver, fitted, kind, residual, n_rows)
        scaled = into_ball(rows, 2, math.sqrt(size) if shape is None else size)
        if shape is not None and widest < 1:
            scaled = into_operator_ball(scaled, shape, widest)
        problem = TraceProblem(_designs(scaled, shape, widest), residual.target(target), residual)
        self.coef_ = float(self.radius) * self.method_.solve(problem, n_rows, rng)
        self._note_names(X)
        self.n_features_in_, self.solver_, self.reason_ = len(self.coef_), solver, reason
        facts = {"solver": solver, "reason": reason, "radius": float(self.radius), "design_norm": size}
        self._publish({"coef": self.coef_}, guarantee, self.method_.exactness, facts, reservation)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return the prediction ⟨A, coef_⟩ for each design A.

        The result has shape (n,). A design with an entry that is not finite counts as 0.
        """
        check_is_fitted(self, "coef_")
        check_names(type(self).__name__, getattr(self, "feature_names_in_", None), X)
        rows, shape = _read(X)
        rows = as_read(rows, None)
        if self.coef_.shape != ((rows.shape[1],) * 2 if shape is None else shape):
            raise InvalidRequest(
                "The design matrices have a different shape from those of the fit.",
                "Pass the columns that were passed to `fit`.",
                "",
            )
        if shape is not None:
            return products(rows, self.coef_.ravel())
        halves = np.stack([products(rows, column) for column in self.coef_.T], axis=1)
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray((halves * rows).sum(axis=1))

    def _fitted(self, guarantee: Guarantee) -> Guarantee:
        if self.solver != "gibbs":
            return for_gaussian_releases(guarantee)
        if not isinstance(guarantee, ApproxDP):
            raise InvalidRequest('solver="gibbs" requires `delta` above 0.', "Set `delta`, or choose another solver.")
        return guarantee

    def _size(self, shape: tuple[int, int] | None) -> float:
        if (self.design_norm is None) == (self.row_norm is None):
            raise InvalidRequest(
                "Exactly one of `design_norm` and `row_norm` must be given.",
                "Pass `design_norm` for design matrices or `row_norm` for designs zzᵀ of rank one, from public "
                "knowledge, never from the data.",
            )
        if self.row_norm is None:
            positive(design_norm=self.design_norm)
            assert self.design_norm is not None
            return float(self.design_norm) / self._widest(shape)
        positive(row_norm=self.row_norm)
        if shape is not None:
            raise InvalidRequest(
                "`row_norm` applies to designs zzᵀ that are given by their vectors z, but X contains matrices.",
                "Pass `design_norm` instead.",
            )
        return float(self.row_norm) * float(self.row_norm)

    def _widest(self, shape: tuple[int, int] | None) -> float:
        one_of(NORMS, norm=self.norm)
        return 1 / math.sqrt(min(shape)) if shape is not None and self.norm == "operator" else 1.0

    def _chosen(self, guarantee: Guarantee, kind: Designs, loss: TraceLoss, n_rows: float) -> tuple[str, str]:
        """Return the solver and why, by public numbers and a released number of rows only."""
        self._check_solver(kind)
        if self.solver != "auto":
            return self.solver, "requested"
        if self.loss != SQUARED:
            return "descent", "the loss is not the squared one"
        few = kind.region.n_coordinates <= MOST_COORDINATES
        moments = self._moments(guarantee, kind, loss) if few else None
        if self.norm == "operator" and isinstance(kind, Full):
            return _of_operators(math.inf if moments is None else moments.loudness(n_rows))
        if moments is None:
            return "descent", f"X has more than {MOST_COORDINATES:,} free entries"
        if moments.hides(n_rows):
            return "descent", f"noise hides the second moments of {n_rows:,.0f} rows, whatever they are"
        return "moments", "second moments released once need less noise than gradients at every step"

    def _check_solver(self, kind: Designs) -> None:
        one_of(SOLVERS, solver=self.solver)
        one_of(ORACLES, noise=self.noise)
        if self.solver == "gibbs" and not (isinstance(kind, Full) and self.loss in _OF_GIBBS):
            raise InvalidRequest(
                'solver="gibbs" needs general design matrices, and one of the losses squared, huber and absolute.',
                'Choose another solver, such as "auto".',
            )
        if self.loss != SQUARED and self.solver not in ("auto", *_OF_ANY_LOSS):
            raise InvalidRequest(
                f"solver={self.solver!r} minimises only the squared loss.", 'Choose solver="descent" or "auto".'
            )
        if self.solver == "grams" and not isinstance(kind, Full):
            raise InvalidRequest(
                'solver="grams" needs general design matrices, but the designs here are of rank one.',
                'Choose solver="moments", or "auto".',
            )

    def _residual(self, size: float, kind: Designs) -> TraceLoss:
        positive(radius=self.radius)
        low, high = (float(end) for end in read_bounds("target_bounds", self.target_bounds))
        positive(**{"radius·design_norm": float(self.radius) * size})
        clips = self.solver != "stochastic"
        return trace_loss(self.loss, self.lipschitz, float(self.radius) * size, kind.span, (low, high), clips)

    def _method(self, solver: str, guarantee: Guarantee, kind: Designs, residual: TraceLoss, n_rows: float) -> Method:
        if solver == "moments":
            return self._moments(guarantee, kind, residual)
        if solver == "grams":
            widest = self._widest(kind.region.shape)
            scale_of_grams = GramScale(
                kind.region, residual.bounds, residual.reach, widest, self.neighbours == "replace"
            )
            return MatrixGrams.calibrate(guarantee, scale_of_grams)
        if solver == "gibbs":
            assert isinstance(guarantee, ApproxDP)
            shape, widest = kind.region.shape, self._widest(kind.region.shape)
            return MatrixGibbs(shape, widest, residual.reach, self.loss, residual.bounds, guarantee, self.neighbours)
        replaced = self.neighbours == "replace"
        scale = TraceScale(kind.region, n_rows, residual.smoothness, kind.prediction_range, replaced)
        if solver == "stochastic":
            return StochasticFrankWolfe.calibrate(guarantee, scale, self.noise, 1.0)
        return (MatrixDescent if solver == "descent" else MatrixFrankWolfe).calibrate(guarantee, scale)

    def _moments(self, guarantee: Guarantee, kind: Designs, residual: TraceLoss) -> MatrixMoments:
        replaced = self.neighbours == "replace"
        scale = MomentScale(kind.region, residual.bounds, residual.reach, kind.products_at_least, replaced)
        return MatrixMoments.calibrate(guarantee, scale.centred())


def _read(X: Any, least: int = 1) -> tuple[np.ndarray, tuple[int, int] | None]:
    designs = read_array(X)
    shape = (designs.shape[1], designs.shape[2]) if designs.ndim == 3 else None
    rows = designs if shape is None else designs.reshape(len(designs), shape[0] * shape[1])
    check_shape(rows.shape, least)
    return rows, shape


def _designs(rows: np.ndarray, shape: tuple[int, int] | None, widest: float) -> Designs:
    return RankOne(rows) if shape is None else Full(rows, shape, widest)


def into_operator_ball(rows: np.ndarray, shape: tuple[int, int], largest: float) -> np.ndarray:
    """Return matrices (n, m·k) scaled to operator norm below `largest`."""
    norms = np.linalg.norm(rows.reshape(-1, *shape), 2, axis=(1, 2))
    factors = np.minimum(1.0, largest * (1 - 2.0**-40) / np.maximum(norms, 1e-300))
    return np.asarray(rows * factors[:, None])


def _of_operators(loudness: float) -> tuple[str, str]:
    if loudness <= 1:
        return "moments", "all second moments stand out of their noise"
    return "grams", "noise hides the second moments, and two Gram matrices need less"
