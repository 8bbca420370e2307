"""Plans side by side: the numbers are those of the plans, and the chart holds them all."""

import dataclasses
from pathlib import Path
from xml.etree import ElementTree

import pytest

import gaugedp as gd
from gaugedp.errors import InvalidRequest
from gaugedp.releases.comparison import Comparison, compare

DOMAIN = gd.Domain.of(A=["1", "2"], B=gd.integers(1, 6))
QUERY = gd.query(DOMAIN, "A; B; A*B")
UNIT = gd.PrivacyUnit()


@pytest.fixture(scope="module")
def made() -> Comparison:
    return compare(QUERY, UNIT, (2, 0.5, 1), delta=1e-6)


def test_the_numbers_are_the_plans(made: Comparison) -> None:
    rows = made.table()
    assert [row["epsilon"] for row in rows] == [0.5, 1, 2]
    for row in rows:
        plan = gd.plan(QUERY, UNIT, epsilon=row["epsilon"], delta=1e-6)
        assert row["chosen"] == plan.mechanism.name
        for candidate in plan.candidates:
            assert row[candidate.mechanism.name] == candidate.error
            assert (row["epsilon"], candidate.error) in made.curves()[candidate.mechanism.name]


def test_a_bound_is_shown_where_plans_have_one(made: Comparison) -> None:
    class Bounded:
        def __init__(self, plan: gd.Plan) -> None:
            self.__dict__.update({field.name: getattr(plan, field.name) for field in dataclasses.fields(plan)})
            self.epsilon, self.lower_bound = plan.epsilon, 1 / plan.epsilon

    bounded = Comparison(tuple(Bounded(plan) for plan in made.plans))  # type: ignore[arg-type]
    assert bounded.lower_bound() == [(0.5, 2), (1, 1), (2, 0.5)]
    assert [row["lower_bound"] for row in bounded.table()] == [2, 1, 0.5]
    pytest.importorskip("matplotlib", reason="charts need the extra gaugedp[report]")
    assert "lower bound" in bounded.to_svg()


def test_it_prints_as_a_short_table(made: Comparison) -> None:
    lines = repr(made).splitlines()
    assert lines[0] == f"Expected errors for {QUERY.text}"
    assert lines[1].split() == list(made.table()[0])
    assert [line.split()[0] for line in lines[2:]] == ["0.5", "1", "2"]
    assert [line.split()[-1] for line in lines[2:]] == [row["chosen"] for row in made.table()]
    assert max(map(len, lines)) < 120


def test_where_nothing_is_proved_the_bound_is_zero() -> None:
    rows = compare(QUERY, UNIT, (0.1, 30.0)).table()
    assert rows[0]["lower_bound"] > 0
    assert rows[1]["lower_bound"] == 0


def test_the_chart_names_every_mechanism(made: Comparison, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="charts need the extra gaugedp[report]")
    made.save_svg(tmp_path / "errors.svg")
    text = (tmp_path / "errors.svg").read_text("utf-8")
    ElementTree.fromstring(text)
    assert all(name in text for name in (*made.curves(), "expected error", "ε", QUERY.text))
    assert text == made.to_svg()


def test_nothing_to_compare_at_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="`epsilons` is empty"):
        compare(QUERY, UNIT, ())
    with pytest.raises(InvalidRequest, match="epsilon"):
        compare(QUERY, UNIT, (0,))
