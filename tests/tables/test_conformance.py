"""Every engine gives the integers of the reference: the same cells, the same sums, the same rows of each person."""

import numpy as np
import pytest

from gaugedp.queries import query, with_sampling_error
from gaugedp.tables import aggregate
from gaugedp.tables.aggregate import Rows
from gaugedp.tables.table import Aggregate, Table
from gaugedp.tables.tuning import TableTuning
from tests.tables.conformance import CASES, DESIGNS, IDS, TIMES, WEIGHTED, large, people, plain, survey
from tests.tables.engines import ENGINES
from tests.tables.reference import kept_rows, listed_rows, reference_moments, reference_totals

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas")
KEY = b"conformance"
COLUMNS = ["income", "debt", "loss"]


def scanned(case, engine, times=1):
    return Table.scan(ENGINES[engine](case.table, times), domain=case.domain, unit=case.unit)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", CASES)
def test_totals(name, engine):
    case = CASES[name]()
    got = scanned(case, engine).totals(case.totals, KEY)
    expected = reference_totals(case.domain, case.totals, case.rows, case.unit, KEY)
    for total, mine, theirs in zip(case.totals, got, expected, strict=True):
        assert mine.tolist() == theirs.tolist(), total
        assert mine.dtype in (np.int64, object)


class Reference(Rows):
    """Rows of a case that the reference adds up."""

    def __init__(self, case):
        self.case, self.domain, self.unit, self.name = case, case.domain, case.unit, "reference"

    def totals(self, totals, row_key):
        return reference_totals(self.domain, totals, self.case.rows, self.unit, row_key)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("max_rows", [None, 3], ids=["rows", "people"])
@pytest.mark.parametrize("design", DESIGNS)
def test_weighted_statistics_of_a_design(design, max_rows, engine):
    """What a release of a survey evaluates, with the sums for its total intervals."""
    case = survey(design, max_rows)
    source, reference = scanned(case, engine), Reference(case)
    for part in with_sampling_error(query(case.domain, WEIGHTED)).parts:
        assert part.evaluate(source, KEY).tolist() == part.evaluate(reference, KEY).tolist(), part.text


@pytest.mark.parametrize("engine", ENGINES)
def test_areas_that_the_engine_tells_itself(engine, monkeypatch):
    """Where the finest areas have too many cells to be counted first, coarser ones are read off the column."""
    monkeypatch.setattr(aggregate, "TUNED", TableTuning(fine_cells=0))
    case = CASES["nested"]()
    table = scanned(case, engine)
    for total in case.totals:
        (got,) = table.totals([total], KEY)
        assert got.tolist() == reference_totals(case.domain, [total], case.rows, case.unit, KEY)[0].tolist(), total
    names = ["text region", "real district"]
    lines = listed_rows(case.domain, names, ["v"], kept(case, names, ["v"]))
    assert np.hstack(table.rows(names, ["v"], KEY)).tolist() == lines.tolist()


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", IDS)
def test_totals_and_rows_in_buckets(kind, engine):
    """A part of the people at a time: the same numbers, whatever the number of buckets."""
    case = people(kind)
    expected = reference_totals(case.domain, case.totals, case.rows, case.unit, KEY)
    table = scanned(case, engine).in_buckets(3)
    got = table.totals(case.totals, KEY)
    assert [answer.tolist() for answer in got] == [answer.tolist() for answer in expected]
    lines = listed_rows(case.domain, ["day"], ["amount"], kept(case, ["day"], ["amount"]))
    assert np.hstack(table.rows(["day"], ["amount"], KEY)).tolist() == lines.tolist()


@pytest.mark.parametrize("engine", ENGINES)
def test_sums_beyond_64_bits(engine):
    case = large()
    total, squares, count = scanned(case, engine, TIMES).totals(case.totals, KEY)
    n_rows = case.table.num_rows * TIMES
    assert (total.tolist(), count.tolist()) == ([n_rows * 2**41], [n_rows])
    assert squares.tolist() == [n_rows * 2**46]  # C is 2^23
    assert total[0] > 2**63


@pytest.mark.parametrize("engine", ENGINES)
def test_rows(engine):
    case = people("texts")
    attributes, columns = ["kind", "day"], ["share", "amount"]
    expected = listed_rows(case.domain, attributes, columns, kept(case, attributes, columns))
    got = np.hstack(scanned(case, engine).rows(attributes, columns, KEY))
    assert got.tolist() == expected.tolist()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("way", ["sql", "batches"])
@pytest.mark.parametrize("case", [plain(), people("integers", max_rows=2)], ids=["rows", "people"])
def test_moments(case, way, engine, monkeypatch):
    columns = list(case.domain.columns)
    table = scanned(case, engine)
    monkeypatch.setattr(type(table._engine), "sql_products", 100 if way == "sql" else 0)
    got = table.moments(columns, KEY)
    n_rows, first, second = reference_moments(case.domain, columns, kept(case, [], columns), 12)
    assert (got.n_rows, got.first.tolist(), got.second.tolist()) == (n_rows, first, second)
    fine = table.moments(columns, KEY, bits=22, products=False)
    assert fine.first.tolist() == reference_moments(case.domain, columns, kept(case, [], columns), 22)[1]
    assert fine.second is None


def gradient(cells, steps):
    """Σ x·clip(⟨w, x⟩ − t, ±100): x the steps of two columns, t a cell."""
    residual = np.clip(steps @ np.array([3, -2]) - cells[:, 0], -100, 100)
    return np.stack([steps.T @ residual, steps.sum(axis=0)])


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("max_rows", [1, 3])
def test_a_gradient_in_one_pass(max_rows, engine):
    case = people("floats", max_rows)
    names = (["day"], ["amount", "share"])
    lines = listed_rows(case.domain, *names, kept(case, *names))
    expected = gradient(lines[:, :1], lines[:, 1:])
    assert scanned(case, engine).vector_sum(names, gradient, KEY).tolist() == expected.tolist()


@pytest.mark.parametrize("engine", ENGINES)
def test_no_rows_have_sums_too(engine):
    table = scanned(CASES["empty"](), engine)
    moments = table.moments(COLUMNS, KEY)
    assert (moments.n_rows, moments.first.tolist(), moments.second.tolist()) == (0, [0] * 3, [[0] * 3] * 3)
    assert table.vector_sum((["sex"], ["income", "debt"]), gradient, KEY).tolist() == [[0, 0], [0, 0]]
    assert [part.shape for part in table.rows(["sex"], ["income"], KEY)] == [(0, 1), (0, 1)]


def kept(case, attributes, columns):
    totals = [Aggregate(tuple(attributes)), *(Aggregate((), name) for name in columns)]
    return kept_rows(case.domain, totals, case.rows, case.unit, KEY)
