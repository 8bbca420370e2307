"""Tuned numbers of private optimisation."""

from dataclasses import dataclass


@dataclass(frozen=True)
class OptimizationTuning:
    """Numbers that were tuned or guessed: every guarantee holds for any values.

    A comment says what a number trades, and ×2 what twice the number does, where that is known. The line above a group
    names the data that chose it, and after "see" a benchmark that shows its effect. A share is of ε for a pure
    guarantee and of μ² for Gaussian noise; ×2 divides the noise of its release by 2 or √2, at the cost of the others.
    """

    # Least squares and their intervals: by hand; see benchmarks/linear_regression.py and coefficients.py.
    moments_share: float = 0.1  # the preconditioner against the steps
    residuals_share: float = 0.02  # standard errors against the steps
    clipped_share: float = 0.1  # the count of clipped residuals against the steps
    least_curvature: float = 0.2  # of the metric's, by which steps contract: slopes of noise against lost signals
    usual_curvature: float = 1 / 3  # the same without moments, as of rows that are uniform in a box
    preconditioned_steps: int = 8  # convergence against noise; ×2: √2 times the noise of a step
    clipped_deviations: float = 2.5  # of the count's noise, before the width doubles: false alarms against bias
    clipped_gradients: float = 2.0  # lengths of the gradient's noise, below which clipping costs less than noise
    explained: float = 0.15  # mean square that coefficients explain, guessed; ×2: a longer path with more noise
    mean_shares: tuple[float, ...] = (0.02, 0.05, 0.1, 0.2, 0.4, 0.7, 0.9, 0.97)  # of which the mean has the best
    interval_reserve: float = 0.2  # of 1 − level, for approximations: coverage against width
    likely_weight: float = 2.0  # of hidden weights over √(S/h̄), by Boston, College and Credit: coverage against width
    bias_deviations: float = 1.5  # deviation of the bias of logistic loss over its estimate: coverage against width
    newton_first: tuple[int, int, float, float] = (4, 2, 0.01, 0.03)  # stages, steps of each, shares of curvature, step
    newton_last: tuple[int, float] = (5, 0.15)  # steps, and the share of the curvature, in the last stage
    # Gradient descent: digits, breast_cancer, Adult and drawn rows; see benchmarks/models.py.
    descent_steps: tuple[int, int] = (8, 600)  # least and most: convergence against time
    fast_steps: int = 192  # the most with momentum, which adds the noise of its steps
    moved_by_noise: float = 0.25  # of the radius, by all steps where curvature is least: path against noise
    # Objective perturbation: the same rows; see benchmarks/models.py and fit_time.py.
    output_share: float = 0.1  # of μ (its square of ε): the precision of the minimum against the noise on its gradient
    least_ridge: float = 2.5  # of λ·ε over four times one row's curvature: bias against noise
    least_ridge_of_hinge: float = 0.5  # the same for the rounded hinge
    cheap_coordinates: int = 64  # time only: up to here the matrix of all rows costs about what a gradient does
    largest_matrix: int = 1500  # memory only: above it steps use products with the matrix
    # The Gibbs sampler: by hand.
    walk_step: float = (
        4.0  # η over 1/trace: few steps against trials, e^{c/2} or so at worst; ×2: up to e² times as many
    )
    # Matrices: by hand; see benchmarks/trace_rows.py, operator_rows.py and eigenvectors.py.
    values_share: float = 0.05  # eigenvalues against directions
    matrix_steps: int = 400  # the most full-batch steps: time
    grams_share: float = 0.15  # the two Gram matrices against the gradient
    length_share: float = 0.05  # the length of the estimate against the gradient
    grams_floor: float = 0.3  # of eigenvalues in edges of the noise: bias against noise
    moments_floors: tuple[float, float] = (0.3, 2.0)  # the same for second moments, least and most
    loudness_of_one_edge: float = 5.0  # p·edge/n at which that floor is one edge; ×2: a lower floor
    matrix_prior: float = 0.2  # prior precision over p around the region's middle: bias against noise
    # Shrinkage of ridges: CPSSW8, SLID, Wage, Computers, DoctorVisits, HI, five of make_regression, three drawn ones.
    garrote_noise: float = 2.0  # times the noise in estimates of cuts, which err more than those of ridges
    least_eigenvalue: float = 1.5  # deviations of an entry's noise: bias against noise
    broadest_prior: float = 0.05  # added to eigenvalues over their mean: a limit of prior variances
    no_signal: float = 2 / 3  # prior probability: noise that is taken for a signal against lost signals
    # Ratings: by hand; see benchmarks/completion.py.
    ratings_shares: tuple[float, float, float] = (0.4, 0.03, 0.57)  # items' means, users' spread, what they decide on
    values_per_mean: float = 20.0  # prior variance of values over that of a mean; ×2: means shrink more
    most_factors: int = 8  # unless their number is given
    factor_signal: float = 25.0  # N·μ/(n·√(rank·steps)) that factors need to stand out; ×2: fewer are tried
    longest_direction: float = 2.5  # of an item over √(rank/n): clipping against the noise for ratings
    user_length: float = 1.2  # residuals of a user over their usual length: clipping against noise


TUNED = OptimizationTuning()
