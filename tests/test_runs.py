"""Long arrays as JSON holds them: what is written is read again, the same numbers of the same type."""

import json

import numpy as np
import pytest

from gaugedp._internal import runs as _runs
from gaugedp._internal.runs import fold, folded_sizes, n_folded, packed, unfold, unpacked, whole

SIZES = np.array([2.0, 2.0, 0.5, 2.0, 0.0, 0.0])
ARRAYS = {
    "i1": np.array([-128, 127]),
    "i2": np.array([-129, 127]),
    "i4": np.array([-(2**15) - 1, 5]),
    "i8": np.array([2**31, 2**62, -(2**63)]),
    "f8": np.array([0.1, -1e300, 0.0]),
}


@pytest.fixture
def few(monkeypatch):
    """Everything is very many."""
    monkeypatch.setattr(_runs, "_WRITTEN_OUT", 0)


def test_equal_neighbours_are_counted_once() -> None:
    assert fold(SIZES) == [[2, 2.0], [1, 0.5], [1, 2.0], [2, 0.0]]
    assert fold(["1", "1", "1/2"]) == [[2, "1"], [1, "1/2"]]
    assert fold([True, True, False]) == [[2, True], [1, False]]
    assert fold([]) == fold(np.zeros(0)) == []
    assert unfold(fold(SIZES)).tolist() == SIZES.tolist()
    assert n_folded(fold(SIZES)) == 6
    assert folded_sizes(fold(SIZES)).tolist() == [2.0, 0.5, 2.0, 0.0]


def test_values_may_come_with_how_often_they_stand_there() -> None:
    assert fold(["1", "1", "1/2", "1"], [5, 10**6, 7, 1]) == [[10**6 + 5, "1"], [7, "1/2"], [1, "1"]]


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("kind", ARRAYS)
def test_very_many_numbers_are_packed_in_the_least_type_that_holds_them(kind: str) -> None:
    facts = json.loads(json.dumps(packed(ARRAYS[kind])))
    assert facts["type"] == f"<{kind}"
    read = unpacked(facts)
    assert read.tolist() == ARRAYS[kind].tolist()
    assert read.dtype == (float if kind == "f8" else np.int64)


@pytest.mark.usefixtures("few")
def test_floats_that_are_all_whole_are_packed_as_whole_numbers() -> None:
    assert packed(np.array([3.0, -4.0]))["type"] == "<i1"


@pytest.mark.usefixtures("few")
def test_widths_of_which_each_is_another_one_are_packed() -> None:
    sizes = np.arange(30) / 8
    assert unfold(fold(sizes)).tolist() == sizes.tolist()
    assert isinstance(fold(sizes), dict)
    assert n_folded(fold(sizes)) == 30
    assert isinstance(fold(np.repeat(sizes, 9)), list)


def test_a_few_numbers_and_long_ones_are_a_list() -> None:
    assert packed(np.array([1, 2])) == [1, 2]
    long = [2**70, -1]
    assert packed(whole(long)) == long
    assert unpacked(long).tolist() == long
    assert whole(np.array([1, 2], dtype=object)).dtype == np.int64


@pytest.mark.parametrize(
    "facts",
    [
        {"type": "<i16", "base64": ""},
        {"type": "|O", "base64": "AAAAAAAAAAA="},
        {"type": "<i8", "base64": "AAAA"},
        {"type": "<i8", "base64": "?"},
        {"type": "<i8"},
    ],
)
def test_what_was_not_packed_is_refused(facts: dict) -> None:
    with pytest.raises((ValueError, KeyError)):
        unpacked(facts)


def test_runs_of_fewer_than_none_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^$"):
        n_folded([[2, 1.0], [-1, 1.0]])
