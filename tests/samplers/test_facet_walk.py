"""The walk over facets: its moves are exact, its law is that of the cones' volumes, compiled or not."""

import copy
import itertools

import numpy as np
import pytest

from gaugedp.bodies import Polytope, prepared
from gaugedp.entropy import Entropy, research_rng
from gaugedp.errors import InvalidRequest
from gaugedp.samplers.facet_walk import Chains, facets_of, fastest, numpy_steps, started
from gaugedp.samplers.facets import ListedFacets
from gaugedp.samplers.gauge_noise import FacetNoise, WalkNoise, gauge_noise

pytestmark = pytest.mark.statistical


def signs_matrix(d: int, n: int) -> np.ndarray:
    return np.random.default_rng(1).integers(0, 2, (d, n)) * 2.0 - 1


def two_way_marginals(*sizes: int) -> np.ndarray:
    cells = list(itertools.product(*map(range, sizes)))
    pairs = itertools.combinations(range(len(sizes)), 2)
    return np.array(
        [
            [float(cell[a] == i and cell[b] == j) for cell in cells]
            for a, b in pairs
            for i in range(sizes[a])
            for j in range(sizes[b])
        ]
    )


BODIES = {
    "signs 3x9": signs_matrix(3, 9),
    "signs 5x50": signs_matrix(5, 50),
    "uniform 6x14": np.random.default_rng(3).uniform(-1, 1, (6, 14)),
    "marginals 2x2x2": two_way_marginals(2, 2, 2),
    "thin": np.diag([1.0, 1e-4, 1e3]) @ signs_matrix(3, 9),
}


@pytest.fixture(params=BODIES, scope="module")
def ready(request):
    return prepared(BODIES[request.param])


def generic(ready) -> np.ndarray:
    return WalkNoise(ready, 1.0).columns


def is_facet(chains: Chains) -> bool:
    facets = chains.facets()
    normals = np.linalg.solve(np.swapaxes(facets, 1, 2), np.ones((1, facets.shape[1], 1)))[:, :, 0]
    return bool(np.abs(normals @ chains.columns).max() < 1 + 1e-8)


def test_walks_begin_and_stay_on_facets(ready) -> None:
    chains = started(generic(ready), 8, research_rng(0))
    assert is_facet(chains)
    for _ in range(5):
        chains.walk(60, research_rng(1))
        assert is_facet(chains)
        assert np.allclose(chains.inverse @ chains.facets(), np.eye(ready.rank), atol=1e-8)


def test_a_crossing_is_undone_by_crossing_back_and_its_pivot_is_the_quotient_of_volumes(ready) -> None:
    columns = generic(ready)
    for seed in range(20):
        before = started(columns, 1, research_rng(seed))
        after = copy.deepcopy(before)
        ridge = np.array([[seed % ready.rank]])
        numpy_steps(after, ridge, np.array([[0.0]]))
        quotient = abs(np.linalg.det(after.facets()[0]) / np.linalg.det(before.facets()[0]))
        for coin, moves in ((quotient * (1 - 1e-6), True), (quotient * (1 + 1e-6), False)):
            again = copy.deepcopy(before)
            numpy_steps(again, ridge, np.array([[coin]]))
            assert (again.basis == (after if moves else before).basis).all()
        numpy_steps(after, ridge, np.array([[0.0]]))
        assert (after.basis == before.basis).all()
        assert (after.signs == before.signs).all()


def test_facets_are_visited_as_often_as_their_cones_are_large() -> None:
    """64 walks on all the facets of a random polytope: total variation below what 4 standard errors allow."""
    columns = np.random.default_rng(5).normal(size=(3, 6))
    listed = ListedFacets(columns)
    share = {
        key(basis, signs): volume
        for basis, signs, volume in zip(listed.basis, listed.signs, listed.shares, strict=True)
    }
    chains = started(columns, 64, research_rng(2))
    chains.walk(200, research_rng(3))
    seen = dict.fromkeys(share, 0)
    rounds = 400
    for _ in range(rounds):
        chains.walk(20, research_rng(4 + _))
        for basis, signs in zip(chains.basis, chains.signs, strict=True):
            seen[key(basis, signs)] += 1
    count = 64 * rounds
    for facet, volume in share.items():
        assert abs(seen[facet] / count - volume) < 5 * (volume * (1 - volume) / count) ** 0.5


def key(basis: np.ndarray, signs: np.ndarray) -> frozenset:
    return frozenset(zip(basis.tolist(), signs.tolist(), strict=True))


def test_compiled_steps_are_the_same_steps(ready) -> None:
    if fastest() is numpy_steps:
        pytest.skip("numba is not installed: there are no compiled steps")
    slow = started(generic(ready), 5, research_rng(1))
    fast = copy.deepcopy(slow)
    draws = slow.draws(700, research_rng(2))
    slow.take(*draws, numpy_steps)
    fast.take(*draws, fastest())
    assert (slow.basis == fast.basis).all()
    assert (slow.signs == fast.signs).all()
    assert np.allclose(slow.inverse, fast.inverse, atol=1e-8)


@pytest.mark.parametrize("name", ["signs 3x9", "signs 5x50", "uniform 6x14", "marginals 2x2x2"])
def test_the_walk_agrees_with_the_list_of_facets(name: str) -> None:
    """Mean length within four standard errors of both; second moments within 4 of the walk's own."""
    ready = prepared(BODIES[name])
    walk, listed = WalkNoise(ready, 1.0), FacetNoise(ready, 1.0)
    lengths = [np.linalg.norm(noise.trials, axis=2).mean(axis=1) for noise in (walk, listed)]
    error = np.hypot(*(each.std(ddof=1) / len(each) ** 0.5 for each in lengths))
    assert abs(lengths[0].mean() - lengths[1].mean()) < 4 * error
    r = ready.rank
    exact = np.trace(listed.second_moment) * (r + 1) * (r + 2)
    squares = (walk.trials**2).sum(axis=2).mean(axis=1)
    assert abs(squares.mean() - exact) < 4 * squares.std(ddof=1) / len(squares) ** 0.5
    assert np.linalg.norm(listed.trials, axis=2).mean() ** 2 < exact


def test_a_walk_that_redraws_its_ridge_on_rejection_is_caught() -> None:
    """The positive control: moves that are always accepted do not follow the volumes."""
    columns = np.diag([1.0, 1.0, 6.0]) @ np.random.default_rng(5).normal(size=(3, 6))
    listed = ListedFacets(columns)
    chains = started(columns, 64, research_rng(2))
    sizes = []
    for round_ in range(60):
        ridges, _ = chains.draws(20, research_rng(round_))
        chains.take(ridges, np.zeros(ridges.shape))
        sizes.append(np.abs(np.linalg.det(chains.facets())).mean())
    largest = np.abs(np.linalg.det(listed.facets(slice(None))))
    expected = float(listed.shares @ largest)
    error = np.std(sizes) / len(sizes) ** 0.5
    assert abs(np.mean(sizes) - expected) > 8 * error


def test_the_stretch_covers_the_shift_of_the_generators(ready) -> None:
    """Every generator has at most the gauge `stretch` in the shifted body (by linear programs)."""
    walk = WalkNoise(ready, 1.0)
    shifted = Polytope.symmetric_hull(walk.columns)
    assert shifted.gauge(ready.coordinates.T).max() <= walk.stretch * (1 + 1e-7)


def test_a_walk_forgets_as_many_facets_as_there_may_be_in_half_as_many_steps_again(ready) -> None:
    noise = WalkNoise(ready, 1.0)
    vars(noise)["autocorrelation_time"] = 8.0
    rank, count = noise.columns.shape
    for allowance in (1e-9, 1e-30):
        needed = 4 * (np.log(1 / allowance) + rank / 2 * np.log(2 * count))
        assert 1.5 * needed <= noise.steps(allowance) <= 1.5 * needed + 1


def test_facets_of_signs_columns() -> None:
    columns = np.arange(6.0).reshape(2, 3)
    actual = facets_of(columns, np.array([[0, 2]]), np.array([[1.0, -1.0]]))
    assert actual.tolist() == [[[0.0, -2.0], [3.0, -5.0]]]


def test_facets_beyond_which_a_generator_lies_are_refused() -> None:
    """The facets of a square, and a corner that was forgotten: 1.8 beyond the plane at 1."""
    listed = ListedFacets(np.eye(2))
    listed.columns = np.array([[1.0, 0.0, 0.9], [0.0, 1.0, 0.9]])
    with pytest.raises(InvalidRequest, match="reliably"):
        listed._check(4.0, 2.0)


def test_a_walk_that_rejects_no_step_ends_in_both_classes_of_facets(monkeypatch: pytest.MonkeyPatch) -> None:
    """The unit vectors and a generator inside of their hull: all facets have one volume, and each step flips a sign.

    Of 400 walks that begin in one class, between 140 and 260 end in it, but for 2 in 10⁹.
    """
    rank, size = 10, 400
    body = Polytope.symmetric_hull(np.column_stack([np.eye(rank), np.full(rank, 0.02)]))
    noise = gauge_noise(body)
    assert noise.walks
    kept: list[Chains] = []

    def in_one_class(columns: np.ndarray, count: int, rng: Entropy) -> Chains:
        many = started(columns, 8 * count, rng)
        same = np.flatnonzero(many.signs.prod(axis=1) > 0)[:count]
        kept.append(Chains(columns, many.basis[same], many.signs[same], many.inverse[same], many.products[same]))
        return kept[-1]

    monkeypatch.setattr("gaugedp.samplers.gauge_noise.started", in_one_class)
    for steps in (200, 201):
        noise.release(size, steps, research_rng(48))
        assert 140 < int((kept[-1].signs.prod(axis=1) > 0).sum()) < 260
