"""Clusters by noisy numbers and sums of rows."""

import math

import numpy as np
import pytest
from scipy.spatial.distance import cdist

import gaugedp as gd

pytest.importorskip("sklearn", reason="the extra [learn] is not installed")

from gaugedp.estimators import KMeans
from gaugedp.estimators.column_sums import GroupSums
from gaugedp.estimators.lloyd import _shares, nearest
from tests.estimators.kit import OF_TRANSFORMERS, SKIPPED, check_habits, check_refused
from tests.estimators.test_transcripts import BOTH, DELTA, EPSILON, claim, fits
from tests.optimization.transcripts import check, transcript

RNG = np.random.default_rng(5)
CENTRES = np.array([[20.0, 0.2], [50.0, 0.8], [80.0, 0.3]])
ROWS = CENTRES[RNG.integers(3, size=6000)] + RNG.normal(0, [3, 0.03], (6000, 2))
BOUNDS = ([0, 0], [100, 1])


@BOTH
@pytest.mark.parametrize("requested", [{"epsilon": 2.0, "delta": 1e-6}, {"epsilon": 4.0, "delta": 0.0}])
def test_clusters_are_found(requested: dict, neighbours: str) -> None:
    """More centres than clusters, so that none stays without one: each true centre has one close by."""
    model = KMeans(6, **requested, bounds=BOUNDS, neighbours=neighbours, random_state=2).fit(ROWS)
    gaps = np.linalg.norm((CENTRES[:, None] - model.cluster_centers_) / [50, 0.5], axis=2)
    assert gaps.min(axis=1).max() < 0.15
    assert model.guarantee_.epsilon(requested["delta"]) <= requested["epsilon"] * (1 + 1e-9)
    assert model.release_.exactness == "exact"
    assert not {"labels_", "inertia_"} & set(vars(model))


def test_a_row_belongs_to_the_nearest_centre_in_units_of_the_bounds() -> None:
    model = KMeans(4, 2.0, 1e-6, bounds=BOUNDS, random_state=1)
    labels = model.fit_predict(ROWS)
    gaps = np.linalg.norm((np.clip(ROWS, *BOUNDS)[:, None] - model.cluster_centers_) / [50, 0.5], axis=2)
    chosen = gaps[np.arange(len(ROWS)), labels]
    assert (chosen <= gaps.min(axis=1) + 1e-3).all()
    assert (labels == model.predict(ROWS)).all()


def test_the_cluster_of_a_row_depends_on_no_other_row() -> None:
    """Midpoints of two centres, where the last bit of a sum in floats would decide: alone, and among others."""
    centres = np.rint(RNG.uniform(-1, 1, (2, 300)) * 2**18) / 2**18
    rows = np.rint((centres.mean(axis=0) + RNG.uniform(-1e-3, 1e-3, (400, 300))) * 2**12) / 2**12
    together = nearest(rows, centres)
    assert 50 < together.sum() < 350
    order = RNG.permutation(300)
    assert (nearest(rows[:, order], centres[:, order]) == together).all()
    assert [int(nearest(row[None], centres)[0]) for row in rows] == together.tolist()


def test_centres_are_on_their_lattice() -> None:
    """Of the start, of thin clusters that are moved, and of the last round."""
    for rounds in (1, 4):
        centres = KMeans(5, 2.0, 1e-6, bounds=(-1, 1), rounds=rounds).fit(ROWS / [100, 1])._centres * 2**18
        assert (centres == np.rint(centres)).all()


def corner(neighbours: str, d: int, n: int = 60) -> tuple:
    """A corner of the cube, and the opposite one or no row in its place; enough other rows for several rounds."""
    rest = np.random.default_rng(1).uniform(-1, 1, (n, d))
    one = np.vstack([rest, np.ones((1, d))])
    return (one,), (np.vstack([rest, -np.ones((1, d))]) if neighbours == "replace" else rest,)


@pytest.mark.statistical
@BOTH
@pytest.mark.parametrize("pure", [False, True])
def test_a_row_moves_the_sums_as_far_as_is_charged(pure: bool, neighbours: str) -> None:
    """One cluster: the opposite corner moves all sums of it but the number of rows."""
    model = KMeans(1, EPSILON, 0.0 if pure else DELTA, bounds=(-1, 1), rounds=3, neighbours=neighbours)
    expected = claim("replace", pure)  # no part goes to the number of rows
    n_rows, runs = (700, 150) if pure else (3000, 90)  # one place per cluster, as lengths of several add up
    check(fits(model, "cluster_centers_"), corner(neighbours, 40, n_rows), expected, runs, 0.97)


@pytest.mark.statistical
@BOTH
def test_gaussian_sums_of_many_clusters_cost_no_more(neighbours: str) -> None:
    model = KMeans(4, EPSILON, DELTA, bounds=(-1, 1), neighbours=neighbours)
    least = 0.6 if neighbours == "replace" else 0.98  # from one cluster to another: √2 of 2
    check(fits(model, "cluster_centers_"), corner(neighbours, 40, 3000), claim("replace"), 20, least)


@pytest.mark.statistical
@BOTH
@pytest.mark.parametrize("weaker", [1.0, 0.9])
def test_pure_sums_of_many_clusters_cost_no_more(weaker: float, neighbours: str) -> None:
    """Each cluster has noise for all of ε, as lengths add up over clusters. Noise 10 % narrower breaks the claim."""
    model = KMeans(4, EPSILON, bounds=(-1, 1), rounds=3, neighbours=neighbours)
    run, tables = fits(model, "cluster_centers_"), corner(neighbours, 40, 6000)
    runs = [transcript(run, tables, key, weaker) for key in range(40)]
    assert min(len(steps) for steps in runs) >= 1 + 4 * 3, "a region, and three rounds"
    steps = [step for one in runs for step in one]
    count = sum(step.drawn.size for step in steps)
    width = sum(float(np.abs(step.drawn).max()) / step.claimed for step in steps) / count
    spent = np.array([sum(step.moved / (width * step.claimed) for step in one) for one in runs])
    slack = 5 / math.sqrt(count)
    assert slack < 0.05
    assert (spent.max() <= EPSILON * (1 + slack)) == (weaker == 1.0)
    assert spent.max() >= 0.97 * EPSILON


@pytest.mark.parametrize("rounds", range(1, 30))
def test_shares_of_rounds_add_up_to_all(rounds: int) -> None:
    assert sum(_shares(rounds)) == pytest.approx(1)
    assert len(_shares(rounds)) == rounds


@pytest.mark.parametrize(
    ("requested", "neighbours"), [({"epsilon": 8.0}, "replace"), ({"epsilon": 8.0, "delta": 1e-5}, "add_remove")]
)
def test_all_clusters_are_found_from_every_start(requested: dict, neighbours: str) -> None:
    """Eight separated clusters in ten dimensions: of 20 starts, all end within a tenth of the least inertia."""
    rng = np.random.default_rng(0)
    true = rng.uniform(-0.8, 0.8, (8, 10))
    rows = true[rng.integers(8, size=20_000)] + rng.normal(0, 0.06, (20_000, 10))
    inertia = lambda centres: cdist(rows, centres, "sqeuclidean").min(axis=1).sum()  # noqa: E731
    for seed in range(20):
        model = KMeans(8, **requested, bounds=(-1, 1), neighbours=neighbours, random_state=seed).fit(rows)
        assert inertia(model.cluster_centers_) < 1.1 * inertia(true)


def test_releases_share_what_was_asked() -> None:
    for requested, square in ((gd.ApproxDP(1.0, 1e-6), 1), (gd.PureDP(1.0), 2)):
        one, five = (GroupSums.calibrate((3, 4), requested, "replace", 1 / n).noise.variances.max() for n in (1, 5))
        assert five / one == pytest.approx(5.0**square, rel=1e-6)


def test_thin_clusters_move_beside_the_fullest() -> None:
    """All rows in a corner: centres that start elsewhere come to it."""
    rows = np.clip(RNG.normal(0.8, 0.05, (5000, 2)), -1, 1)
    model = KMeans(3, 4.0, 1e-6, bounds=(-1, 1), random_state=4).fit(rows)
    assert len(set(model.predict(rows).tolist())) == 3


@pytest.mark.parametrize(
    ("change", "words"),
    [({"bounds": None}, "bounds"), ({"n_clusters": 0}, "n_clusters"), ({"rounds": 0}, "rounds"),
     ({"rounds": 2.5}, "rounds")],
)  # fmt: skip
def test_what_is_no_parameter_is_refused_before_paying(change: dict, words: str) -> None:
    check_refused(KMeans(2, 1.0, 1e-6, bounds=(-1, 1)), change, words, (ROWS[:50], None))


def test_too_many_columns_are_refused_before_paying() -> None:
    check_refused(KMeans(2, 1.0, 1e-6, bounds=(-1, 1)), {}, "32,768 columns", (np.zeros((1, 2**15 + 1)), None))


EXPECTED = {
    "check_dtype_object": "a cell that is no number counts as missing: an error would tell",
    "check_clustering": "labels of the rows are not kept in the model: they would be saved with it",
    "check_estimators_nan_inf": "missing numbers are in the middle, infinite ones clipped: an error would tell",
}


@pytest.mark.filterwarnings("ignore")
def test_scikit_learns_own_checks() -> None:
    model = KMeans(3, 50.0, 1e-5, bounds=(-10, 10), random_state=0)
    check_habits(model, EXPECTED, SKIPPED | OF_TRANSFORMERS)
