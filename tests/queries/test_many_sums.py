"""Questions of many sums: their generators are counted and searched, never listed."""

import numpy as np
import pytest

import gaugedp as gd

MIXED = gd.Domain.of(
    sex=["1", "2"], age=gd.integers(1, 3), a=gd.bounded(-3, 10), b=gd.bounded(2, 50, missing="drop"), c=gd.bounded(0, 7)
)
TEXTS = ["sum(a); sum(b); sum(c)", "count; sum(a) by sex; mean(b) by age", "sex; sum(b); mean(b); sum(c) by sex*age"]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
def test_extremes_are_those_of_the_list(text: str, neighbours: str) -> None:
    body = gd.query(MIXED, text).sensitivity(gd.PrivacyUnit(neighbours=neighbours))
    columns, listed = body.generators, body.columns()
    for direction in np.random.default_rng(1).normal(size=(20, body.ambient_dim)):
        (high, top), (low, bottom) = columns.extremes(direction)
        assert high == pytest.approx((direction @ listed).max())
        assert low == pytest.approx((direction @ listed).min())
        assert direction @ columns.column(top) == pytest.approx(high)
        assert direction @ columns.column(bottom) == pytest.approx(low)


@pytest.mark.parametrize("text", TEXTS)
def test_the_rank_is_that_of_the_list(text: str) -> None:
    body = gd.query(MIXED, text).sensitivity(gd.PrivacyUnit())
    assert body.generators.rank == np.linalg.matrix_rank(body.columns())


@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
@pytest.mark.parametrize("term", ["sum({})", "mean({})", "sum({}) by sex"])
def test_three_hundred_sums_are_planned(term: str, neighbours: str) -> None:
    domain = gd.Domain.of(sex=["1", "2"], **{f"x{i}": gd.bounded(-i, 2 * i + 1, missing="drop") for i in range(300)})
    query = gd.query(domain, "; ".join(term.format(f"x{i}") for i in range(300)))
    unit = gd.PrivacyUnit(neighbours=neighbours)
    body = query.sensitivity(unit)
    assert body.generators.n_generators >= 3**300
    plan = gd.plan(query, unit, epsilon=1.0, delta=1e-6)
    assert {"Laplace", "Gaussian", "Cube"} <= {row["mechanism"] for row in plan.table()}
    farthest = body.argmax(np.ones(body.ambient_dim))[0]
    assert farthest.sum() == pytest.approx(body.support(np.ones(body.ambient_dim))[0])


def test_thirty_sums_are_released(tmp_path) -> None:
    domain = gd.Domain.of(**{f"x{i}": gd.bounded(0, 1) for i in range(30)})
    path = tmp_path / "rows.csv"
    path.write_text(",".join(domain.columns) + "\n" + "\n".join([",".join("1" * 30)] * 50))
    table = gd.Table.scan(path, domain=domain, unit=gd.PrivacyUnit(), name="rows")
    ledger = gd.Ledger.open(":memory:", gd.PureDP(1e6), table="rows", unit=table.unit)
    answer = gd.release(gd.query(domain, "; ".join(f"sum(x{i})" for i in range(30))), table, ledger=ledger, epsilon=1e6)
    assert np.allclose(answer.values, 50, atol=0.1)
