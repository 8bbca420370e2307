"""Products of questions, by brute force over small tables."""

import numpy as np
import pytest

import gaugedp as gd
from gaugedp.errors import InvalidRequest
from tests.queries.brute import differences, longest

DOMAIN = gd.Domain.of(
    a=gd.integers(1, 3), b=gd.integers(1, 2, "other"), c=gd.categories(["x, y", "z"]), v=gd.bounded(0, 9, missing=0)
)
UNITS = [gd.PrivacyUnit(), gd.PrivacyUnit(neighbours="replace"), gd.PrivacyUnit("pid", max_rows=2)]
TEXTS = ["prefix(a)*c", "ranges(a) by c", "ranges(a)*ranges(b)", "c*prefix(b)*ranges(a)", "prefix(a)*c; b"]


@pytest.mark.parametrize("unit", UNITS, ids=["row", "replaced", "person"])
@pytest.mark.parametrize("text", TEXTS)
def test_no_neighbours_differ_by_more_than_the_body(text: str, unit: gd.PrivacyUnit) -> None:
    query = gd.query(DOMAIN, text)
    body, apart = query.sensitivity(unit), differences(query, unit)
    directions = np.random.default_rng(5).normal(size=(8, len(query.steps)))
    assert (body.support(directions) >= (directions @ apart.T).max(axis=1) * (1 - 1e-12)).all()
    for p in (1, 2, np.inf):
        assert body.radius(p) >= longest(apart, p) * (1 - 1e-12)
    if unit == UNITS[0] and len(query.terms) == 1:
        assert body.radius(2) == pytest.approx(longest(apart, 2), rel=1e-12)


def test_a_product_counts_the_rows_that_are_in_both() -> None:
    query = gd.product(gd.ranges(DOMAIN, "a"), gd.prefix_sums(DOMAIN, "b"))
    cells = np.random.default_rng(2).integers(0, 9, (3, 3))
    answers = dict(zip([label for _, label in query.labels], query.pieces[0].cells.apply(cells.ravel()), strict=True))
    assert answers["a=1..a=2, ..b=2"] == cells[:2, :2].sum()
    assert answers["a=2..a=3, ..b=other"] == cells[1:].sum()
    directions = np.random.default_rng(3).normal(size=len(query.steps))
    adjoint = query.pieces[0].cells.adjoint(directions)
    assert adjoint @ cells.ravel() == pytest.approx(directions @ query.pieces[0].cells.apply(cells.ravel()))


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("prefix(a)*c", lambda d: gd.product(gd.prefix_sums(d, "a"), gd.marginals(d, "c"))),
        ("ranges(a) by b*c", lambda d: gd.product(gd.ranges(d, "a"), gd.marginals(d, ("b", "c")))),
        ("b*c", lambda d: gd.product(gd.marginals(d, "b"), gd.marginals(d, "c"))),
    ],
)
def test_text_and_python_ask_the_same(text: str, same) -> None:
    query = same(DOMAIN)
    assert gd.query(DOMAIN, text).labels == query.labels
    assert gd.query(DOMAIN, query.text).digest() == query.digest()
    assert len(set(query.labels)) == query.n_answers


@pytest.mark.parametrize(
    "text", ["prefix(a)*a", "prefix(a)*count", "sum(v)*prefix(a)", "ranges(a)*prefix(a)", "prefix(a)*"]
)
def test_what_has_no_product_is_refused(text: str) -> None:
    with pytest.raises(InvalidRequest):
        gd.query(DOMAIN, text)


def test_other_questions_are_refused_in_python() -> None:
    for query in (gd.count(DOMAIN), gd.bounded_sums(DOMAIN, "v"), gd.query(DOMAIN, "a; b")):
        with pytest.raises(InvalidRequest, match="multiplied"):
            gd.product(gd.prefix_sums(DOMAIN, "a"), query)
    with pytest.raises(InvalidRequest, match="nothing"):
        gd.product()


def test_a_product_is_released(tmp_path) -> None:
    domain = gd.Domain.of(a=gd.integers(1, 3), b=gd.integers(1, 2))
    path = tmp_path / "rows.csv"
    path.write_text("a,b\n" + "1,1\n" * 30 + "3,2\n" * 50)
    table = gd.Table.scan(path, domain=domain, unit=gd.PrivacyUnit(), name="rows")
    ledger = gd.Ledger.in_memory(gd.PureDP(100))
    answer = gd.release(gd.query(domain, "prefix(a)*b"), table, ledger=ledger, epsilon=50)
    assert np.abs(answer.values - [30, 0, 30, 0, 30, 50]).max() <= 3
