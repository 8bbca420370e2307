"""Counts of nested areas after processing: beside dense least squares, on random trees and any levels of them."""

import json

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given
from hypothesis import strategies as st

import gaugedp as gd
from gaugedp.domain.nesting import Recursion
from gaugedp.errors import InvalidRequest
from gaugedp.releases.processing import STEPS, check, process, remark, words
from gaugedp.releases.processing.consistency import consistent
from tests.queries.strategies import examples
from tests.release.test_processing import Stand, columns

QUESTIONS = [
    "REGION; DISTRICT; TRACT",
    "TRACT; count",
    "TRACT; REGION",
    "REGION; DISTRICT",
    "SEX; TRACT*SEX; SEX*REGION",
    "AGE*SEX*TRACT; SEX*DISTRICT*AGE; REGION*AGE*SEX",
    "count; REGION; DISTRICT; TRACT",
]
OTHERS = [
    "TRACT",
    "REGION; DISTRICT*SEX",
    "REGION; REGION*SEX",
    "prefix(TRACT); REGION",
    "SEX; SEX*AGE",
    "REGION*SEX; SEX*REGION",
    "REGION; SEX",
    "REGION; TRACT; mean(PAY) by REGION",
    "REGION; TRACT; sum(PAY)",
    "SEX*REGION; AGE*TRACT",
]
COUNTS = ("consistent", "non_negative")


def areas(sizes: list[list[int]], outside: str = "drop") -> gd.Domain:
    """Regions with districts of so many tracts."""
    paths = [
        (f"r{region}", f"r{region}d{district}", f"r{region}d{district}t{tract}")
        for region, districts in enumerate(sizes)
        for district, n_tracts in enumerate(districts)
        for tract in range(n_tracts)
    ]
    columns = dict(zip(("REGION", "DISTRICT", "TRACT"), map(list, zip(*paths, strict=True)), strict=True))
    return gd.Domain.of(
        SEX=["m", "f"], AGE=gd.integers(1, 3), TRACT=gd.tree(columns, outside), PAY=gd.bounded(0, 9, step=1)
    )


DOMAIN = areas([[2, 3, 1], [1], [4, 2]])


@st.composite
def released(draw, questions=QUESTIONS):
    """A question, noisy counts, and a deviation for each."""
    sizes = st.lists(st.lists(st.integers(1, 4), min_size=1, max_size=3), min_size=1, max_size=3)
    query = gd.query(areas(draw(sizes), draw(st.sampled_from(["drop", "other"]))), draw(st.sampled_from(questions)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    deviations = rng.uniform(0.5, 3, len(query.steps))
    truth = query.operator.apply(rng.poisson(draw(st.sampled_from([0.1, 3])), query.operator.n_generators))
    return query, truth + deviations * rng.standard_normal(len(query.steps)), deviations


def processed(question, *steps):
    query, values, deviations = question
    return process(steps, values, query.are_counts, query, deviations)


def best(F, values, deviations):
    """The least squares written out, and their covariance."""
    weighted = F / deviations[:, None]
    inverse = np.linalg.pinv(weighted)
    return F @ (inverse @ (values / deviations)), F @ inverse @ inverse.T @ F.T


def nearest(wanted, spread, total):
    """max(0, wanted − spread·τ), of the sum `total`."""
    reach = (np.abs(wanted).max() + total + 1) / spread.min()
    tau = scipy.optimize.brentq(
        lambda tau: np.maximum(0, wanted - spread * tau).sum() - total, -reach, reach, xtol=1e-14
    )
    return np.maximum(0, wanted - spread * tau)


@pytest.mark.parametrize("text", QUESTIONS)
def test_levels_of_one_tree_are_found(text: str) -> None:
    nesting = gd.query(DOMAIN, text).operator.nesting
    assert [place.n_areas for place in nesting.places] == sorted(place.n_areas for place in nesting.places)


@pytest.mark.parametrize("text", OTHERS)
def test_other_questions_are_none(text: str) -> None:
    assert gd.query(DOMAIN, text).operator.nesting is None


@pytest.mark.slow
@examples(80)
@given(released())
def test_estimates_and_variances_are_those_of_dense_least_squares(question) -> None:
    query, values, deviations = question
    nesting = query.operator.nesting
    expected, covariance = best(columns(query), values, deviations)
    recursion = Recursion.of(nesting, nesting.split(deviations**2))
    assert processed(question, "consistent") == pytest.approx(expected, abs=1e-9)
    assert nesting.joined(recursion.variances) == pytest.approx(np.diag(covariance), rel=1e-9)


def test_they_are_those_of_the_closed_form_of_marginals() -> None:
    """Where a tree is one more attribute, both ways to the least squares are there."""
    query, flat = gd.query(DOMAIN, "SEX; TRACT*SEX"), gd.query(DOMAIN, "SEX; TRACT*SEX; TRACT; AGE")
    values = np.random.default_rng(1).normal(size=len(flat.steps))
    deviations = np.repeat([1.0, 2.0, 1e6, 1e6], [2, 26, 13, 3])
    both = consistent(flat, values, deviations)[:28]
    assert process(("consistent",), values[:28], query.are_counts, query, deviations[:28]) == pytest.approx(
        both, abs=1e-9
    )


@examples(60)
@given(released())
def test_without_negatives_each_level_is_the_nearest_given_the_one_above(question) -> None:
    """Dense least squares of each level and those below, and for each area a root of the sum of what is at least 0."""
    query, values, deviations = question
    F, actual = columns(query), processed(question, *COUNTS)
    levels = query.operator.nesting.split(np.arange(len(query.steps)))
    for i, level in enumerate(levels):
        below = np.concatenate([rows.ravel() for rows in levels[i:]])
        known, covariance = best(F[below], values[below], deviations[below])
        known, spread = known[: level.size], np.diag(covariance)[: level.size]
        if i == 0:
            assert actual[level.ravel()] == pytest.approx(np.maximum(known, 0), abs=1e-8)
            continue
        for area in levels[i - 1].ravel():
            parts = np.array([(F[area] >= F[row]).all() for row in level.ravel()])
            expected, u, total = known[parts], spread[parts], actual[area]
            assert actual[level.ravel()[parts]] == pytest.approx(nearest(expected, u, total), abs=1e-7)


@examples(80)
@given(released(), st.sampled_from([("consistent",), COUNTS]))
def test_rounded_counts_are_whole_add_up_and_move_by_less_than_one(question, steps) -> None:
    before, after = processed(question, *steps), processed(question, *steps, "rounded")
    query, F = question[0], columns(question[0])
    assert (after == np.rint(after)).all()
    assert F @ np.linalg.lstsq(F, after, rcond=None)[0] == pytest.approx(after, abs=1e-8)
    assert np.abs(after - before).max() < 1
    assert before.min() < 0 or after.min() >= 0
    whole = query.operator.apply(np.arange(query.operator.n_generators) % 5)
    assert (process((*steps, "rounded"), whole + 0.0, query.are_counts, query, question[2]) == whole).all()


def test_an_area_with_nothing_has_nothing_below_it() -> None:
    query = gd.query(DOMAIN, "REGION; TRACT")
    values = np.concatenate([[-5.0, 0.0, 30.0], np.full(13, 2.0)])
    actual = process(COUNTS, values, query.are_counts, query, np.ones(16))
    deep = process(COUNTS, values - 1e9, query.are_counts, query, np.ones(16))
    assert (actual >= 0).all()
    assert (deep == 0).all()


@pytest.mark.slow
def test_a_large_tree_is_done_at_once_and_said_so() -> None:
    """2,000,000 joint cells are too many for other questions; all three steps keep adding up, and facts say it."""
    domain = areas([[10_000] * 10] * 10)
    query = gd.query(domain, "SEX*REGION; SEX*DISTRICT; TRACT*SEX")
    assert check(STEPS, query) == STEPS
    with pytest.raises(InvalidRequest, match="6,000,000 cells"):
        check(STEPS, gd.query(domain, "SEX*REGION; DISTRICT*AGE; TRACT*SEX"))
    rng = np.random.default_rng(1)
    values = process(STEPS, rng.normal(0, 5, len(query.steps)), query.are_counts, query, np.full(len(query.steps), 5.0))
    assert (values == np.rint(values)).all()
    assert values.min() == 0
    region, district, tract = query.operator.nesting.split(values)
    assert (district.reshape(10, 10, 2).sum(axis=1) == region).all()
    assert (tract.reshape(100, 10_000, 2).sum(axis=1) == district).all()


def test_a_release_says_what_was_done_and_comes_back() -> None:
    query = gd.query(DOMAIN, "REGION; TRACT")
    raw = gd.release(
        query, Stand(DOMAIN), ledger=gd.Ledger.in_memory(gd.PureDP(2)), epsilon=0.5, rng=gd.research_rng(2)
    )
    answer = raw.processed(*STEPS, query=query)
    assert words(answer.facts["processing"]).endswith("below 0; then rounded to integers that add up")
    assert remark(answer.facts["processing"]) == ""
    again = gd.Release.from_json(answer.to_json())
    assert (again.values == answer.values).all()
    assert (again.interval()[0] == raw.interval()[0]).all()
    for damage in ("yes", [], 3):
        facts = json.loads(answer.to_json())
        facts["processing"]["nested"] = damage
        with pytest.raises(InvalidRequest, match="not a release"):
            gd.Release.from_json(json.dumps(facts))
    alone = raw.processed("non_negative", "rounded")
    assert "nested" not in alone.facts["processing"]
