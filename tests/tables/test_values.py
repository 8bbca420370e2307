"""The rows at each value of a bounded column: kept by the same rules as the rows of a sum, and no others."""

import numpy as np
import pytest

import gaugedp as gd
from gaugedp.errors import InvalidRequest, UnknownName
from gaugedp.tables.aggregate import MOST_VALUES, Aggregate
from tests.tables.sources import KINDS, make

DOMAIN = gd.Domain.of(s=["a", "b"], v=gd.bounded(-2, 3, 0.5), w=gd.bounded(0, 40))
TYPES = {"s": str, "v": float, "w": int, "pid": int}
PERSON = gd.PrivacyUnit("pid", max_rows=2)


def rows(n: int) -> list[dict]:
    values = [-9.0, -2.0, -0.25, 0.25, 0.3, 3.0, float("inf"), float("nan"), None]
    return [{"s": "ab"[i % 2], "v": values[i % 9], "w": i % 50, "pid": i // 7} for i in range(n)]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_the_rows_of_a_person_are_those_of_a_sum(kind, tmp_path) -> None:
    """Values, counts and sums of one look speak of the same rows, at most two of each person."""
    table = gd.Table.scan(make(kind, rows(700), TYPES, tmp_path), domain=DOMAIN, unit=PERSON)
    requested = [
        Aggregate(("s",), "v", each=True),
        Aggregate(("s",), "v", present=True),
        Aggregate(("s",), "v"),
        Aggregate(("s",)),
    ]
    values, present, sums, counts = table.totals(requested, b"key")
    values = values.reshape(2, 11)
    assert values.dtype == np.int64
    assert values.sum(axis=1).tolist() == present.tolist()
    assert (values @ np.arange(-10, 11, 2)).tolist() == sums.tolist()
    assert counts.sum() == 200
    alone = table.totals(requested[:1], b"key")[0].reshape(2, 11)
    assert alone.sum() <= 200
    other = table.totals(requested[:1], b"another key")[0].reshape(2, 11)
    assert (alone != other).any()


def test_a_person_has_at_most_max_rows_at_each_value(tmp_path) -> None:
    table = gd.Table.scan(make("csv", rows(70), TYPES, tmp_path), domain=DOMAIN, unit=gd.PrivacyUnit("pid", max_rows=1))
    assert table.totals([Aggregate((), "w", each=True)], b"key")[0].sum() == 10


def test_many_values_with_sets_of_attributes() -> None:
    """More joint cells than are grouped first: the sets are grouped one by one."""
    import pandas as pd

    domain = gd.Domain.of(s=gd.integers(0, 9), v=gd.bounded(0, 200_000))
    frame = pd.DataFrame({"s": [0, 9, 9], "v": [200_000, 7, 7]})
    by_s, alone, counts = gd.Table.scan(frame, domain=domain).totals(
        [Aggregate(("s",), "v", each=True), Aggregate((), "v", each=True), Aggregate(("s",))], b""
    )
    assert (by_s.reshape(10, -1)[9, 7], by_s.reshape(10, -1)[0, -1], by_s.sum()) == (2, 1, 3)
    assert (alone[7], alone[200_000], alone.sum()) == (2, 1, 3)
    assert counts.tolist() == [1, 0, 0, 0, 0, 0, 0, 0, 0, 2]


def test_too_many_values_are_refused_before_anything_is_read() -> None:
    domain = gd.Domain.of(s=["a", "b"], v=gd.bounded(0, MOST_VALUES // 2))
    import pandas as pd

    table = gd.Table.scan(pd.DataFrame({"s": ["a"], "v": [1]}), domain=domain)
    object.__setattr__(table, "_engine", None)  # a look would fail
    with pytest.raises(InvalidRequest, match=r"v has 10,000,002 possible values.*coarser step.*Nothing was read"):
        table.totals([Aggregate(("s",), "v", each=True)], b"")
    for total, error in (
        (Aggregate((), "x", each=True), UnknownName),
        (Aggregate((), None, each=True), InvalidRequest),
    ):
        with pytest.raises(error):
            table.totals([total], b"")
