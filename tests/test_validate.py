"""The checks at the door."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import strategies as st

from gaugedp._internal import validate as _validate
from gaugedp._internal.validate import decimal
from gaugedp.errors import InvalidRequest
from tests.steady import given


def test_a_float_means_the_decimal_that_prints_as_it() -> None:
    assert decimal(0.1) == Fraction(1, 10)
    assert decimal(1e-300) == Fraction(1, 10**300)
    assert decimal(np.float64(0.3)) == Fraction(3, 10)
    assert decimal(2) == 2
    assert decimal(Fraction(1, 3)) == Fraction(1, 3)
    assert sum([decimal(0.1)] * 10) == 1


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_decimal_is_nearest_to_its_own_float(value: float) -> None:
    assert float(decimal(value)) == value


GOOD = [
    (_validate.finite, [0, -1.5, Fraction(1, 3), np.float64(2), np.int64(3)]),
    (_validate.positive, [5e-324, 1, Fraction(1, 3), np.float64(2)]),
    (_validate.non_negative, [0, 0.0, 5e-324, 7]),
    (_validate.whole, [0, 1, 10**30, np.int64(3)]),
]
BAD = [math.nan, math.inf, -math.inf, True, np.True_, "1", None, 1j, [1], np.array([1.0, 2.0])]
WORSE = [
    (_validate.finite, []),
    (_validate.positive, [0, -0.0, -1e-300]),
    (_validate.non_negative, [-5e-324]),
    (_validate.whole, [1.0, 1.5, -1, Fraction(1, 2)]),
]


@pytest.mark.parametrize(("check", "values"), GOOD)
def test_good_numbers_pass(check, values: list) -> None:
    for value in values:
        check(number=value)


@pytest.mark.parametrize(("check", "values"), WORSE)
def test_bad_numbers_are_refused_by_name(check, values: list) -> None:
    for value in BAD + values:
        with pytest.raises(InvalidRequest, match="`number` is"):
            check(number=value)


def test_between_leaves_out_both_ends() -> None:
    _validate.between(0, 1, part=0.5)
    for value in (0, 1, 2, *BAD):
        with pytest.raises(InvalidRequest, match="part"):
            _validate.between(0, 1, part=value)


def test_whole_has_a_minimum_and_one_of_has_choices() -> None:
    _validate.whole(minimum=3, rows=3)
    with pytest.raises(InvalidRequest, match="at least 3"):
        _validate.whole(minimum=3, rows=2)
    _validate.one_of(("a", "b"), letter="a")
    with pytest.raises(InvalidRequest, match="Choose one of: 'a', 'b'"):
        _validate.one_of(("a", "b"), letter="c")


def test_numbers_beyond_the_floats_are_refused() -> None:
    with pytest.raises(InvalidRequest):
        _validate.finite(number=10**400)


@pytest.mark.parametrize("rows", [np.array([52013.5, 1.0]), [52013.5], (52013.5,), {"income": 52013.5}, {52013.5}])
def test_a_refusal_tells_the_type_of_what_may_hold_data_and_nothing_of_what_it_holds(rows: object) -> None:
    for check in (_validate.finite, _validate.positive, _validate.non_negative, _validate.whole):
        with pytest.raises(InvalidRequest, match=f"`epsilon` is of type {type(rows).__name__}") as refused:
            check(epsilon=rows)
        assert "52013" not in str(refused.value)
