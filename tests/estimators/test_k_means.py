"""Clusters by noisy numbers and sums of rows."""

import math

import numpy as np
import pytest

import gaugedp as gd

pytest.importorskip("sklearn", reason="the extra [learn] is not installed")

from gaugedp.estimators import KMeans
from gaugedp.estimators.column_sums import GroupSums
from gaugedp.estimators.k_means import _nearest
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
    together = _nearest(rows, centres)
    assert 50 < together.sum() < 350
    order = RNG.permutation(300)
    assert (_nearest(rows[:, order], centres[:, order]) == together).all()
    assert [int(_nearest(row[None], centres)[0]) for row in rows] == together.tolist()


def test_centres_are_on_their_lattice() -> None:
    """Of the start, of thin clusters that are moved, and of the last round."""
    for rounds in (1, 4):
        centres = KMeans(5, 2.0, 1e-6, bounds=(-1, 1), rounds=rounds).fit(ROWS / [100, 1])._centres * 2**18
        assert (centres == np.rint(centres)).all()


def corner(neighbours: str, d: int) -> tuple:
    """A corner of the cube, and the opposite one or no row in its place."""
    rest = np.zeros((60, d))
    one = np.vstack([rest, np.ones((1, d))])
    return (one,), (np.vstack([rest, -np.ones((1, d))]) if neighbours == "replace" else rest,)


@pytest.mark.statistical
@BOTH
@pytest.mark.parametrize("pure", [False, True])
def test_a_row_moves_the_sums_as_far_as_is_charged(pure: bool, neighbours: str) -> None:
    """One cluster: the opposite corner moves all sums of it but the number of rows."""
    model = KMeans(1, EPSILON, 0.0 if pure else DELTA, bounds=(-1, 1), rounds=3, neighbours=neighbours)
    expected = claim("replace", pure)  # no part goes to the number of rows
    check(fits(model, "cluster_centers_"), corner(neighbours, 40), expected, 90, 0.98)


@pytest.mark.statistical
@BOTH
def test_gaussian_sums_of_many_clusters_cost_no_more(neighbours: str) -> None:
    model = KMeans(4, EPSILON, DELTA, bounds=(-1, 1), neighbours=neighbours)
    least = 0.69 if neighbours == "replace" else 0.98  # from one cluster to another: √2 of 2
    check(fits(model, "cluster_centers_"), corner(neighbours, 40), claim("replace"), 20, least)


@pytest.mark.statistical
@BOTH
@pytest.mark.parametrize("weaker", [1.0, 0.9])
def test_pure_sums_of_many_clusters_cost_no_more(weaker: float, neighbours: str) -> None:
    """Each cluster has noise for all of ε, as lengths add up over clusters. Noise 10 % narrower breaks the claim."""
    clusters, rounds, tables = 4, 3, corner(neighbours, 40)
    model = KMeans(clusters, EPSILON, bounds=(-1, 1), rounds=rounds, neighbours=neighbours)
    steps = [step for key in range(40) for step in transcript(fits(model, "cluster_centers_"), tables, key, weaker)]
    count = sum(step.drawn.size for step in steps)
    width = sum(float(np.linalg.norm(step.drawn)) / step.claimed for step in steps) / count
    moves = [step.moved / (width * step.claimed) for step in steps]
    spent = np.reshape(moves, (-1, clusters * rounds)).sum(axis=1)
    slack = 5 / math.sqrt(count)
    assert slack < 0.05
    assert (spent.max() <= EPSILON * (1 + slack)) == (weaker == 1.0)
    assert spent.max() >= 0.97 * EPSILON


def test_releases_share_what_was_asked() -> None:
    for requested, square in ((gd.ApproxDP(1.0, 1e-6), 1), (gd.PureDP(1.0), 2)):
        one, five = (GroupSums.calibrate((3, 4), 2.0, requested, "replace", n).noise.variances.max() for n in (1, 5))
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
