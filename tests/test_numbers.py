"""One number has one printed form: what is spent goes up, what is left down, answers of a question to one place."""

import math
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import strategies as st

from gaugedp._internal.numbers import answers, digits_down, digits_up, exact, readable
from tests.steady import given

ROUNDED = [
    (0.0800000000002, "0.08001", "0.08"),
    (0.0199999999998, "0.02", "0.01999"),
    (1 / 3, "0.3334", "0.3333"),
    (2.9987654, "2.999", "2.998"),
    (0.12345, "0.12345", "0.12345"),  # as people write them
    (1e-6, "1e-06", "1e-06"),
    (2.0, "2", "2"),
    (0.0, "0", "0"),
    (math.inf, "inf", "inf"),
]


@pytest.mark.parametrize(("value", "up", "down"), ROUNDED)
def test_budgets_are_rounded_to_digits_that_people_read(value: float, up: str, down: str) -> None:
    assert (digits_up(value), digits_down(value)) == (up, down)


@given(st.floats(0, 1e6))
def test_up_is_never_below_and_down_never_above(value: float) -> None:
    assert Decimal(digits_down(value)) <= Decimal(exact(value)) <= Decimal(digits_up(value))
    assert float(exact(value)) == value
    assert all(len(Decimal(text).normalize().as_tuple().digits) <= 6 for text in (digits_up(value), digits_down(value)))


def test_errors_have_four_digits() -> None:
    shown = [readable(value) for value in (83.4339, 12345.6, 999.96, 2.1e-7, 0, -0.25)]
    assert shown == ["83.43", "12,346", "1,000", "2.1e-07", "0", "-0.25"]


def test_a_question_has_one_number_of_decimals() -> None:
    assert list(answers([356.91, 833.0], [340.11, 820.12], [370.15, 851.2])) == [
        ("356.9", "340.1", "370.2"),
        ("833.0", "820.1", "851.2"),
    ]
    assert list(answers([3559, -20], [3409, -170], [3709, 130])) == [
        ("3,559", "3,409", "3,709"),
        ("-20", "-170", "130"),
    ]
    assert list(answers([38.5, 40], [38, 39], [39, 41.5])) == [("38.5", "38.0", "39.0"), ("40.0", "39.0", "41.5")]
    assert list(answers([193401755], [190406023], [196397487])) == [("193,400,000", "190,400,000", "196,400,000")]


def test_a_wide_interval_takes_no_digits_from_a_narrow_one() -> None:
    small, large = answers([66749.25, 100000.0], [66748.11, 0.0], [66750.39, 200000.0])
    assert small == ("66,749.2", "66,748.1", "66,750.4")
    assert large == ("100,000.0", "0.0", "200,000.0")


def test_other_columns_stand_to_the_same_place() -> None:
    assert list(answers([12.34], [10.111], [14.1], [13.0])) == [("12.34", "10.11", "14.10", "13.00")]


@given(st.lists(st.tuples(st.floats(-1e9, 1e9), st.floats(0, 1e9), st.floats(0, 1e9)), min_size=1, max_size=6))
def test_ends_are_rounded_outwards(rows: list[tuple[float, float, float]]) -> None:
    middle, below, above = (np.array(column) for column in zip(*rows, strict=True))
    lower, upper = middle - below, middle + above
    texts = list(answers(middle, lower, upper))
    assert len({text.partition(".")[2].__len__() for row in texts for text in row}) == 1
    for (_, low, high), least, most in zip(texts, lower.tolist(), upper.tolist(), strict=True):
        assert Decimal(low.replace(",", "")) <= Decimal(repr(least))
        assert Decimal(repr(most)) <= Decimal(high.replace(",", ""))
