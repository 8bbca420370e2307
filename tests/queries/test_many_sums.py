"""Questions of many sums: their generators are counted and searched, never listed."""

import numpy as np
import pytest

import gaugedp as gd
from gaugedp.bodies import BoxHull, Polytope
from gaugedp.samplers.laws import DiscreteLaplace
from tests.queries.brute import differences

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


@pytest.mark.slow
@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
@pytest.mark.parametrize("term", ["sum({})", "mean({})", "sum({}) by sex"])
def test_three_hundred_sums_are_planned(term: str, neighbours: str) -> None:
    domain = gd.Domain.of(sex=["1", "2"], **{f"x{i}": gd.bounded(-i, 2 * i + 1, missing="drop") for i in range(300)})
    query = gd.query(domain, "; ".join(term.format(f"x{i}") for i in range(300)))
    unit = gd.PrivacyUnit(neighbours=neighbours)
    body = query.sensitivity(unit)
    assert body.generators.n_generators >= 2**300
    plan = gd.plan(query, unit, epsilon=1.0, delta=1e-6)
    assert {"Laplace", "Gaussian", "Cube"} <= {row["mechanism"] for row in plan.table()}
    farthest = body.argmax(np.ones(body.ambient_dim))[0]
    assert farthest.sum() == pytest.approx(body.support(np.ones(body.ambient_dim))[0])


SMALL = gd.Domain.of(
    sex=["1", "2"],
    a=gd.bounded(0, 3, missing=0),
    b=gd.bounded(-2, 1, missing="drop"),
    c=gd.bounded(4, 6, step=2, missing=4),
    e=gd.bounded(2, 3, missing="drop"),
)
BOXES = ["sum(a); sum(b)", "sum(a); sum(b); sum(c)", "mean(a); sum(b); mean(c)", "sum(c); sum(e)", "mean(c); sum(a)"]


@pytest.mark.parametrize("unit", [gd.PrivacyUnit(), gd.PrivacyUnit(neighbours="replace"), gd.PrivacyUnit("pid")])
@pytest.mark.parametrize("text", BOXES)
def test_boxes_are_recognised_and_just_large_enough(text: str, unit: gd.PrivacyUnit) -> None:
    """Every row there is: no two neighbours differ by more, and in every direction some differ by as much."""
    query = gd.query(SMALL, text)
    body, apart = query.sensitivity(unit), differences(query, unit)
    assert isinstance(body, BoxHull)
    assert body.gauge(apart).max() == pytest.approx(1)
    directions = np.random.default_rng(2).normal(size=(50, body.ambient_dim))
    assert body.support(directions) == pytest.approx((directions @ apart.T).max(axis=1))


@pytest.mark.parametrize(
    "text", ["sum(a)", "mean(a)", "sum(a); sum(c) by sex", "sum(a); mean(a); sum(b)", "sum(a); mean(b)"]
)
def test_what_is_no_box_stays_a_list(text: str) -> None:
    assert type(gd.query(SMALL, text).sensitivity(gd.PrivacyUnit())) is Polytope


@pytest.mark.slow
@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
@pytest.mark.parametrize("term", ["sum({})", "mean({})"])
def test_noise_of_the_body_s_shape_is_pure_and_takes_no_walk(term: str, neighbours: str) -> None:
    domain = gd.Domain.of(**{f"x{i}": gd.bounded(0, 2 * i + 1, missing=0) for i in range(40)})
    query = gd.query(domain, "; ".join(term.format(f"x{i}") for i in range(40)))
    plan = gd.plan(query, gd.PrivacyUnit(neighbours=neighbours), epsilon=1.0)
    noise = {candidate.mechanism.name: candidate.mechanism for candidate in plan.candidates}["KNorm"]
    assert noise.guarantee == gd.PureDP(1.0)
    assert noise.exactness == "exact"


def test_thirty_sums_are_released(tmp_path) -> None:
    domain = gd.Domain.of(**{f"x{i}": gd.bounded(0, 1) for i in range(30)})
    path = tmp_path / "rows.csv"
    path.write_text(",".join(domain.columns) + "\n" + "\n".join([",".join("1" * 30)] * 50))
    table = gd.Table.scan(path, domain=domain, unit=gd.PrivacyUnit(), name="rows")
    ledger = gd.Ledger.open(":memory:", gd.PureDP(1e6), table="rows", unit=table.unit)
    answer = gd.release(gd.query(domain, "; ".join(f"sum(x{i})" for i in range(30))), table, ledger=ledger, epsilon=1e6)
    assert np.allclose(answer.values, 50, atol=0.1)


def test_many_means_compute_each_law_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A control: means in bounds of unlike width, hence with unlike laws, take a computation each."""
    widths: list[int] = []
    moment = DiscreteLaplace.gaussian_moment
    monkeypatch.setattr(DiscreteLaplace, "gaussian_moment", lambda law, rate: widths.append(1) or moment(law, rate))

    def laplace_error(highs: list[int]) -> float:
        widths.clear()
        domain = gd.Domain.of(**{f"x{i}": gd.bounded(0, high, missing="drop") for i, high in enumerate(highs)})
        query = gd.query(domain, "; ".join(f"mean(x{i})" for i in range(len(highs))))
        return gd.Laplace.calibrate(query.sensitivity(gd.PrivacyUnit()), gd.PureDP(1.0), query.errors.weights).error()

    laplace_error([100] * 12)
    assert len(widths) == 2
    laplace_error(list(range(90, 102)))
    assert len(widths) > 2
