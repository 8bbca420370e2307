"""Tuned numbers of the estimators."""

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class EstimatorTuning:
    """Numbers that were tuned or guessed, described as in `gaugedp.optimization.tuning`."""

    # Releases next to a fit: by hand.
    count_share: Fraction = Fraction(1, 10)  # a private number of rows against the fit
    rough_count_share: Fraction = Fraction(1, 20)  # the same where slopes of a thousand rows are hidden
    count_share_gaussian: float = 0.05  # the same, if all other releases are Gaussian
    class_count_share: Fraction = Fraction(1, 20)  # balanced class weights against the fit; in a theorem
    range_share: Fraction = Fraction(1, 10)  # the range of a sparse mean against the mean
    loss_share: Fraction = Fraction(1, 5)  # log-losses against the counts of a score report
    squares_share: Fraction = Fraction(1, 20)  # the width of the log-loss's interval against the counts
    # Means and slopes under much noise: tables other than those of benchmarks/trivial.py; rounds: by hand.
    mean_noise: float = 0.03  # deviation of its noise over half the range, against the noise of slopes
    mean_noise_gaussian: float = 0.02  # the same, if noise is Gaussian
    explained_usually: float = 0.05  # loss saved by the Lasso's coefficients; ×2: longer ones, with more noise
    explained_at_most: float = 0.2  # the same; if noise hides this much, a mean is released and the radius shrinks
    useful_round: float = 0.01  # noise of a round of sparse regression over the range, below which rounds help
    # Naive Bayes: drawn classes; see benchmarks/models.py --plain.
    class_variance: float = 1e-3  # least, of the square of half a range: overconfidence against sharpness
    class_noise: float = 0.5  # least, of the noise: the same
    classes_share: float = 0.1  # numbers of rows of the classes against sums of columns
    # Its calibration: VietNamI, SwissLabor, PSID1976, OJ, Caravan, attrition and 13 others, 8 of several classes.
    scores_share: float = 0.1  # counts of scores against sums of columns
    least_slope: float = 0.2  # of compressed scores, 2 being calibrated; less: to the prior if noise is large
    offset_deviation: float = 0.3  # of log-odds from those of naive Bayes; ×2: more noise, less bias
    hidden_classes: float = 0.1  # noise above which only the classes are counted
    hidden_classes_pure: float = 0.15  # the same at δ = 0; one of 0.1 gave up breast_cancer in benchmarks/models.py
    # Learned bounds: made-up columns; see benchmarks/learned_bounds.py, on others.
    bounds_share: Fraction = Fraction(3, 20)  # the bounds against the fit
    bounds_delta: Fraction = Fraction(1, 10)  # of δ, the same
    outside_deviations: float = 4.0  # of a count's noise, values outside an end; ×2: tighter bounds, more clipping
    outside_share: float = 0.002  # of the rows, values outside an end; ×2: tighter bounds, more clipping
    # Additive models: tables that benchmarks/additive.py names, and for levels HI, SLID, Boston, Carseats; on others.
    edges_share: float = 0.06  # the edges of bins against the shape functions
    edges_share_pure: float = 0.1  # the same for a pure guarantee
    basis_functions: int = 8  # detail of a shape function against noise; ×2: noise grows faster than the fit improves
    count_deviations: float = 2.0  # deviations by which counts of cells are lowered, against false peaks
    most_bin_noise: float = 0.5  # noise of all cells over the rows, above which bins have equal width
    even_bins: float = 0.3  # weight of a cell's width next to its share of the rows
    even_bins_by_noise: float = 3.0  # the same for each unit of noise
    # Classifiers' learned bins: attrition, diamonds, HI, HMDA, SLID, spam7, VietNamI, drawn spikes, and most of those.
    low_waves: int = 4  # cosines next to steps
    low_wave_height: float = 0.7  # their amplitude: noise against slopes that are bent less
    steps: int = 16  # groups of bins with a level of their own
    step_height: float = 0.8  # amplitude of a level; ×2: sharper jumps, more noise
    step_deviations: float = 3.0  # rows of a group at least, in deviations of the noise of a count
    step_width: float = 0.1  # weight of the number of bins next to the rows of a group
    totals_share: float = 0.1  # the number and mean of the targets against the descent
    calibration_share: float = 0.1  # the slope of the predictions against the descent
    level_bias: float = 0.05  # of the mean of residuals by the loss, guessed; ×2: more noise of the level
    slope_noise: tuple[float, float] = (0.02, 0.1)  # of ε and μ, at which calibration is to ¾ before it is measured
    huber_width: float = 0.1  # of residuals that count fully under much noise: bias against noise; ×2: twice the noise
    huber_noise: float = 0.004  # below which the width grows
    huber_power: float = 1.66  # how fast it grows
    additive_radius: float = 2.0  # of the coefficients: bias against noise
    additive_constant: float = 0.5  # the constant feature over a row's norm: noise of the level against that of slopes
    # Linear classifiers: digits, breast_cancer, Adult and drawn rows; see benchmarks/models.py, on the same.
    centre_share: float = 0.1  # the centre of the rows against the weights
    centre_noise: float = 0.1  # wanted of the centre, in units of the ball
    most_centre_noise: float = 0.5  # noise above which no centre of all columns is released
    whole_mean_noise: float = 0.7  # noise above which the first rough mean is one of groups of columns
    group_means_radius: float = 0.5  # the ball for means of groups: clipping against noise; ×2: twice the noise
    rough_centre_radius: float = 0.15  # the ball around a rough centre: clipping against noise; ×2: twice the noise
    directions_from: float = 0.05  # distance from a rough centre above which only a row's direction counts
    mean_doubt: float = 1.5  # factor of the noise that shrinks a rough mean; 1 is James and Stein's
    uncentred_norm: float = 0.25  # row norm over √d without a centre: clipping against noise; ×2: twice the noise
    clipping_noise: float = 0.0003  # noise at which the clipping norm doubles; ×2: more noise, less clipping
    appended_constant: float = 0.2  # the constant of the intercept: its noise against that of the slopes
    expected_norm: float = 10.0  # of weights: bias against noise; enough for margins of a few tenths
    shorter_by_noise: float = 10.0  # how noise above a tenth shortens them
    longer_by_noise: float = 0.005  # noise below which they are longer
    rough_centre_noise: float = 0.05  # noise above which several classes have a rough centre
    capped_noise: float = 0.003  # noise at which slopes are capped halfway: bias against noise; ×2: caps come later
    most_capped: float = 0.75  # of the slopes, around a rough centre, where nearly all rows have equal influence
    single_step_noise: float = 0.15  # noise above which two classes take a single step
    hinge_noise: float = 0.004  # noise at which the hinge's kink is rounded over 1; Adult and rows on the sphere
    # Intercepts: 31 public and three drawn tables, none reported; one of the others, breast_cancer.
    label_noise: float = 0.1  # wanted of the mean of the labels ±1, as far as the shares allow
    label_shares: tuple[float, float] = (0.07, 0.3)  # the labels against the weights: least, and most for a single step
    score_shares: tuple[float, float] = (0.09, 0.14)  # the first and second mean of the scores, of what labels leave
    step_doubt: float = 0.5  # deviations by which noise of a single step counts as longer; ×2: safer, less gain
    least_kept: float = 0.01  # of weights that noise explains, so that scores still have an order
    score_limits: tuple[float, float] = (1.5, 0.8)  # clipping of scores against noise, in both releases
    spared_delta: float = 0.02  # of δ, that a centre or level may take, as objective perturbation spends it many times
    label_doubt: float = 2.0  # noise variances subtracted from the square of the label's mean; 1 is unbiased
    class_distance: float = 2.0  # assumed, in spreads; ×2: the more common class is favoured less
    # Labels before objective perturbation: public and drawn tables with 0.3 to 57 % in a class.
    first_label_share: float = 0.05  # the labels against the weights: few rows with much noise against rare classes
    first_label_noise: float = 0.002  # wanted of the mean of the labels ±1, as far as the share allows
    rarest: float = 1e-4  # share of a class
    # Clusters: mixtures of eight normals in ten dimensions, and digits; see benchmarks/models.py --plain.
    region_share: float = 0.1  # the region of the rows against the rounds
    last_round_share: float = 0.4  # the last round against the others
    round_noise: float = 0.35  # of a mean in spreads, at most: more rounds against less noise in each
    places_noise: float = 0.2  # the same for several places per cluster
    thin_share: float = 0.02  # of the average, below which a cluster is moved
    thin_deviations: float = 2.0  # of noise, the same
    # Principal components: by hand; see benchmarks/eigenvectors.py.
    distance_from_mean: float = 0.3  # mean square in the unit ball, guessed; ×2: the mean has less of the budget
    spectral_clipping_noise: float = 0.005  # larger keeps the variance of long tails, smaller ones directions
    moment_columns: int = 4000  # memory: above it d² second moments are not computed


TUNED = EstimatorTuning()
