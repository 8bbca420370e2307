"""Counts rounded to a base: multiples, near the answers, and adding up across tables."""

from itertools import product

import numpy as np
import pytest

import gaugedp as gd
from gaugedp.errors import InvalidRequest
from gaugedp.ledger import Ledger
from gaugedp.queries import Query, Workload
from gaugedp.queries.stacked import shared
from gaugedp.releases.processing import base_of, check, how, process, remark, words
from gaugedp.releases.processing.groups import groups
from tests.release.test_processing import DOMAIN, Stand, noisy

AREAS = gd.tree({"REGION": ["N", "N", "S", "S", "S"], "DISTRICT": ["N1", "N2", "S1", "S2", "S3"]})
COUNTRY = gd.Domain.of(DISTRICT=AREAS, SEX=["1", "2"], AGE=gd.integers(1, 4))
TABLES = ["REGION; REGION*SEX; DISTRICT*SEX", "count; SEX; AGE; SEX*AGE", "SEX*AGE; AGE*DISTRICT", "REGION*AGE; SEX"]


def sums(query: Query, values: np.ndarray, names: str) -> np.ndarray:
    """Add a term's cells up to those of one attribute."""
    start = 0
    for outline in query.outlines:
        if outline.text == names:
            return values[start : start + outline.size].reshape(outline.shape)
        start += outline.size
    raise KeyError(names)


@pytest.mark.parametrize(("text", "base", "seed"), list(product(TABLES, (1, 3, 5, 10), (1, 2))))
def test_rounded_counts_are_those_of_one_table(text: str, base: int, seed: int) -> None:
    query = gd.query(COUNTRY, text)
    assert isinstance(query, Workload)
    (noise,), deviations = noisy(query, seed)
    counts = np.random.default_rng(seed).integers(0, 60, query.operator.n_generators)
    steps = check(("consistent", "non_negative", f"rounded to {base}"), query)
    values = process(steps, query.operator.apply(counts) + noise, query.are_counts, query, deviations)
    assert (values % base == 0).all()
    assert (values >= 0).all()
    columns = [query.operator.column(cell) for cell in range(query.operator.n_generators)]
    units = np.stack(columns, axis=1)
    table, *_ = np.linalg.lstsq(units, values, rcond=None)
    assert units @ table == pytest.approx(values, abs=1e-6), "no table has these counts"
    apart = process(steps[:2], query.operator.apply(counts) + noise, query.are_counts, query, deviations)
    assert np.abs(values - apart).max() <= 1.5 * base
    assert how(steps, query)["together"]
    assert remark({"steps": steps, **how(steps, query)}) == ""


def test_regions_by_sex_and_districts_by_sex_add_up() -> None:
    query = gd.query(COUNTRY, TABLES[0])
    (noise,), deviations = noisy(query, 3)
    steps = ("consistent", "non_negative", "rounded to 5")
    values = process(steps, 40 + noise, np.ones(len(noise), dtype=bool), query, deviations)
    regions, by_sex = sums(query, values, "REGION"), sums(query, values, "REGION*SEX")
    districts = sums(query, values, "DISTRICT*SEX")
    assert (by_sex.sum(axis=1) == regions).all()
    assert (np.add.reduceat(districts, [0, 2]) == by_sex).all()


def test_tables_of_a_stack_agree_and_medians_stay() -> None:
    parts = tuple(gd.query(DOMAIN, text) for text in ("A; A*B", "median(PAY)", "B*A"))
    query = shared(parts, (0.4, 0.2, 0.4))  # type: ignore[arg-type]
    values = np.round(np.random.default_rng(4).normal(50, 9, len(query.steps)))
    are_counts = np.concatenate([[part.outlines[0].measure == "count"] * len(part.steps) for part in query.parts])
    after = process(("consistent", "rounded"), values, are_counts, query, np.ones(len(values)))
    place = len(after) - 6
    both, other = after[2:8].reshape(2, 3), after[place:].reshape(3, 2)
    assert (after[8:place] == values[8:place]).all()
    assert (both.sum(axis=1) == after[:2]).all()
    assert (both == other.T).all()


def test_rows_that_one_table_leaves_out_count_in_others() -> None:
    domain = gd.Domain.of(A=gd.categories(["1", "2"], outside="other"), B=["x", "y"])
    query = shared(tuple(gd.query(domain, text) for text in ("A", "B", "count")), (0.3, 0.3, 0.4))  # type: ignore[arg-type]
    places = [part.places.tolist() for part in groups(query)]
    assert places == [[0, 1, 2, 5], [3, 4]], "tables of B leave rows out: their total may be smaller"


def test_one_base_alone() -> None:
    assert [base_of([step]) for step in ("rounded", "rounded to 5", "rounded to 0", "rounded to x", "consistent")] == [
        1, 5, 0, 0, 0,
    ]  # fmt: skip
    assert words({"steps": ["rounded to 5"]}) == "counts rounded to multiples of 5"
    with pytest.raises(InvalidRequest, match="rounded and rounded to 5"):
        check(("rounded", "rounded to 5"), None)


def test_a_release_says_its_base() -> None:
    ledger = Ledger.in_memory(gd.PureDP(10))
    answer = gd.release(
        gd.query(DOMAIN, "A; A*B"), Stand(), ledger=ledger, epsilon=1.0, processing=("consistent", "rounded to 10")
    )
    assert (answer.values % 10 == 0).all()
    again = gd.Release.from_json(answer.to_json())
    assert again.processing == ("consistent", "rounded to 10")
    assert (again.values == answer.values).all()
