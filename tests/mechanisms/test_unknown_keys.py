"""Which keys are shown: neighbours by brute force over all small tables, exact laws, and what is refused."""

import math
from collections import Counter
from collections.abc import Iterable
from itertools import combinations, combinations_with_replacement, product

import numpy as np
import pytest
import scipy

import gaugedp as gd
from gaugedp.errors import InvalidRequest
from gaugedp.mechanisms import PartitionSelection
from gaugedp.mechanisms.partition_selection import _gaussian, _split
from gaugedp.samplers.key_noise import GaussianNoise, OptimalNoise

KEYS = "abc"
ASKED = gd.ApproxDP(1.0, 0.05)
Law = dict[int, float]


def law_of(selection: PartitionSelection, count: int) -> Law:
    """What is shown of a key: its noisy count with its chance, 0 where it is hidden."""
    if count == 0:
        return {0: 1.0}
    noise = selection.noise
    if isinstance(noise, OptimalNoise):
        sizes = np.diff(np.array([value / 2**noise.n_bits for value in noise.in_units]))
        values = count - np.arange(len(sizes))
    else:
        reach = math.ceil(12 * noise.std)
        values = count + np.arange(-reach, reach + 1)
        edges = scipy.special.ndtr((np.arange(-reach, reach + 2) - 0.5) / float(noise.std))
        sizes = np.diff(edges)
    results: Law = Counter()
    for value, size in zip(values.tolist(), sizes.tolist(), strict=True):
        results[value if value >= noise.cut else 0] += size
    return results


def tables(n_people: int, n_keys: int) -> Iterable[tuple[tuple[str, ...], ...]]:
    """All tables of up to `n_people` persons, each with 1 … `n_keys` different keys."""
    persons = [own for size in range(1, n_keys + 1) for own in combinations(KEYS, size)]
    for size in range(n_people + 1):
        yield from combinations_with_replacement(persons, size)


def counts_of(table: Iterable[tuple[str, ...]]) -> tuple[int, ...]:
    counted = Counter(key for person in table for key in person)
    return tuple(counted[key] for key in KEYS)


def neighbours(n_people: int, n_keys: int, replaced: bool) -> set[tuple[tuple[int, ...], tuple[int, ...]]]:
    """The counts of all pairs of tables that differ by one person."""
    persons = [own for size in range(1, n_keys + 1) for own in combinations(KEYS, size)]
    pairs = set()
    for table in tables(n_people, n_keys):
        for person in persons:
            more = counts_of([*table, person])
            others = [counts_of([*table, other]) for other in persons] if replaced else [counts_of(table)]
            pairs |= {pair for other in others for pair in ((more, other), (other, more)) if more != other}
    return pairs


def delta_between(laws: dict[int, Law], pair: tuple[tuple[int, ...], tuple[int, ...]], epsilon: float) -> float:
    """The exact δ at ε of all that is shown of the keys, which are independent."""
    changed = [(a, b) for a, b in zip(*pair, strict=True) if a != b]
    support = [[(laws[a].get(value, 0.0), laws[b].get(value, 0.0)) for value in laws[a]] for a, b in changed]
    chances = np.ones((1, 2))
    for each in support:
        chances = (chances[:, None, :] * np.array(each)[None]).reshape(-1, 2)
    return float(np.maximum(0.0, chances[:, 0] - math.exp(epsilon) * chances[:, 1]).sum())


def worst(selection: PartitionSelection, n_people: int, n_keys: int, replaced: bool) -> float:
    laws = {count: law_of(selection, count) for count in range(n_people + 2)}
    pairs = neighbours(n_people, n_keys, replaced)
    return max(delta_between(laws, pair, selection.guarantee.epsilon_value) for pair in pairs)


@pytest.mark.parametrize(("n_keys", "replaced"), [(1, False), (1, True), (2, False), (2, True), (3, False)])
def test_all_small_tables_keep_the_guarantee(n_keys: int, replaced: bool) -> None:
    """Both directions of every pair of neighbours with up to 4 persons of 3 keys; too few changed keys alarm."""
    n_changed = n_keys * (2 if replaced else 1)
    options = [*_split(n_changed, ASKED), *_gaussian(n_changed, ASKED)]
    for noise in options:
        if n_changed <= 3 or isinstance(noise, OptimalNoise):  # the product of four Gaussian laws is large
            assert worst(PartitionSelection(ASKED, n_changed, noise), 3, n_keys, replaced) <= 0.05 * (1 + 1e-9)
    if n_changed > 1:
        assert worst(PartitionSelection(ASKED, 1, *_split(1, ASKED)), 3, n_keys, replaced) > 0.05


def test_one_person_of_one_key_leaves_nothing_of_delta_unused() -> None:
    """The largest δ over all small tables is the one asked for, to its rounding."""
    selection = PartitionSelection.calibrate(1, ASKED)
    assert worst(selection, 4, 1, False) == pytest.approx(0.05, rel=1e-12)


def test_gaussian_noise_holds_for_every_number_of_new_keys() -> None:
    """Two changed keys, of which none to both are new, in every pair of directions."""
    selection = PartitionSelection(ASKED, 2, *_gaussian(2, ASKED))
    laws = {count: law_of(selection, count) for count in (0, 1, 5, 6)}
    deltas = [
        delta_between(laws, pair, 1.0)
        for old, new in product(((5, 6), (6, 5), (0, 1), (1, 0)), repeat=2)
        for pair in [((old[0], new[0]), (old[1], new[1]))]
    ]
    assert 0.04 < max(deltas) <= 0.05
    lower = PartitionSelection(ASKED, 2, GaussianNoise(selection.noise.std, selection.noise.cut - 1))
    laws = {count: law_of(lower, count) for count in (0, 1)}
    assert delta_between(laws, ((1, 1), (0, 0)), 1.0) > 0.05


@pytest.mark.parametrize("n_changed", [1, 2, 3, 4, 10, 100])
def test_the_noise_with_the_smaller_even_count_is_chosen(n_changed: int) -> None:
    requested = gd.ApproxDP(1.0, 1e-6)
    options = [
        PartitionSelection(requested, n_changed, noise)
        for noise in [*_split(n_changed, requested), *_gaussian(n_changed, requested)]
    ]
    chosen = PartitionSelection.calibrate(n_changed, requested)
    assert chosen.least_count(0.5) == min(option.least_count(0.5) for option in options)
    assert isinstance(chosen.noise, OptimalNoise) == (n_changed <= 2)


def test_least_counts_are_the_first_with_that_chance() -> None:
    selection = PartitionSelection.calibrate(1, gd.ApproxDP(1.0, 1e-6))
    for chance in (1e-7, 0.01, 0.5, 0.99):
        least = selection.least_count(chance)
        below, at = selection.chances(np.array([least - 1, least]))
        assert below < chance <= at


@pytest.mark.parametrize("n_changed", [1, 3])
def test_hidden_keys_are_zero_and_shown_ones_are_not(n_changed: int) -> None:
    """Shares within 5 deviations; a cut that is one lower is 15 off."""
    selection = PartitionSelection.calibrate(n_changed, gd.ApproxDP(1.0, 1e-6))
    counts = np.array([0, 1, 5, selection.least_count(0.5), 1000])
    actual = selection.draw(counts, 20_000, gd.research_rng(3))
    assert not actual[:, 0].any()
    assert (actual[:, 4] >= selection.noise.cut).all()
    shares = (actual > 0).mean(axis=0)
    assert shares == pytest.approx(selection.chances(counts), abs=5 * 0.5 / 20_000**0.5)
    assert (actual[:, 4] - selection.noise.shift).mean() == pytest.approx(1000, abs=1)


def test_a_key_that_nobody_has_is_hidden_whatever_its_noise() -> None:
    """Gaussian noise alone passes the cut in one draw of twenty."""
    selection = PartitionSelection(gd.ApproxDP(1.0, 0.3), 2, *_gaussian(2, gd.ApproxDP(1.0, 0.3)))
    actual = selection.draw(np.array([0, 1]), 2000, gd.research_rng(5))
    assert not actual[:, 0].any()
    assert actual[:, 1].any()


def test_long_tables_give_way_to_gaussian_noise() -> None:
    """At ε = 1e-4 over 20 keys a table would have 8 million chances."""
    assert isinstance(PartitionSelection.calibrate(20, gd.ApproxDP(1e-4, 1e-9)).noise, GaussianNoise)


@pytest.mark.parametrize(
    ("requested", "words"),
    [
        (gd.PureDP(1.0), "no key may be shown, because a key that only one person has would reveal"),
        (gd.ApproxDP(1.0, 0.0), "no key may be shown"),
        (gd.ApproxDP(0.0, 1e-6), "`epsilon` is 0.0"),
        (gd.ApproxDP(1e-9, 1e-9), "need a million people"),
        (gd.ZCDP(0.1), "Partition selection does not support"),
    ],
    ids=str,
)
def test_what_shows_no_key_is_refused(requested: gd.guarantees.Guarantee, words: str) -> None:
    with pytest.raises(InvalidRequest, match=words):
        PartitionSelection.calibrate(1, requested)


@pytest.mark.parametrize("n_changed", [2, 3, 5, 20, 300])
@pytest.mark.parametrize(
    ("epsilon", "delta"), [(0.1, 1e-9), (1.0, 1e-6), (4.0, 1e-6), (1.0, 0.05), (0.01, 0.05), (0.001, 0.001)]
)
def test_no_mixture_of_new_keys_and_old_ones_costs_more_than_is_asked(
    n_changed: int, epsilon: float, delta: float
) -> None:
    """Of j new keys each shows itself with its chance; where none does, old ones have their Gaussian noise."""
    (noise,) = _gaussian(n_changed, gd.ApproxDP(epsilon, delta))
    assert isinstance(noise, GaussianNoise)
    std, chance = float(noise.std), float(noise.chances(np.array([1]))[0])
    for n_new in range(n_changed + 1):
        hidden = n_new * math.log1p(-chance)
        left = math.exp(hidden) * normal_delta(math.sqrt(n_changed - n_new) / std, epsilon - hidden)
        assert -math.expm1(hidden) + left <= delta * (1 + 1e-9), n_new


def normal_delta(mu: float, epsilon: float) -> float:
    """δ at ε of two normal laws of variance 1, `mu` apart (Balle and Wang 2018)."""
    if mu == 0:
        return 0.0
    first, second = scipy.special.ndtr(mu / 2 - epsilon / mu), scipy.special.log_ndtr(-mu / 2 - epsilon / mu)
    return float(first - math.exp(epsilon + second))
