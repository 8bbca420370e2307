"""Guarantees as JSON: what was written reads back equal, and nothing else is read."""

import json
import math

import pytest
from hypothesis import strategies as st

from gaugedp.errors import InvalidRequest
from gaugedp.guarantees import (
    ZCDP,
    ApproxDP,
    ExponentialLoss,
    GaussianDP,
    Grouped,
    Guarantee,
    PureDP,
    RandomizedResponseLoss,
    RenyiBudget,
    from_dict,
    from_json,
    to_json,
)
from tests.guarantees.zoo import ANY
from tests.steady import given

PURE = {"kind": "PureDP", "epsilon": 1}
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-(10**9), 10**9), st.floats(), st.text(max_size=5))
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=6), inner)),
    max_leaves=8,
)
KINDS = st.sampled_from(["PureDP", "ApproxDP", "ZCDP", "GaussianDP", "Composed", "RenyiDP", "purEDP", ""])


@given(ANY)
def test_what_was_written_reads_back_equal(guarantee: Guarantee) -> None:
    assert from_json(to_json(guarantee)) == guarantee
    assert from_dict(guarantee.to_dict()) == guarantee
    assert to_json(from_json(to_json(guarantee))) == to_json(guarantee)


def test_nested_compositions_read_back_equal() -> None:
    guarantee = 3 * (2 * PureDP(0.1) + GaussianDP(0.5)) + 7 * ApproxDP(1, 1e-9)
    assert from_json(to_json(guarantee)) == guarantee
    inner = {"kind": "Composed", "parts": [[(2 * PureDP(0.1)).to_dict(), 3], [PureDP(0.1).to_dict(), 1]]}
    assert from_dict(inner) == 7 * PureDP(0.1)


def test_the_text_is_plain_and_sorted() -> None:
    assert to_json(ApproxDP(1, 1e-6)) == '{"delta": 1e-06, "epsilon": 1.0, "kind": "ApproxDP", "version": 1}'


def test_a_text_of_another_version_is_refused_in_words() -> None:
    assert from_json('{"kind": "ZCDP", "rho": 0.5}') == from_json('{"kind": "ZCDP", "rho": 0.5, "version": 1}')
    for version in ("2", "true", '"1"', "null"):
        with pytest.raises(InvalidRequest, match="reads version 1"):
            from_json(f'{{"kind": "ZCDP", "rho": 0.5, "version": {version}}}')


@pytest.mark.parametrize("guarantee", [PureDP(2), RandomizedResponseLoss(2), ExponentialLoss(2)])
def test_whole_numbers_are_written_as_floats(guarantee: Guarantee) -> None:
    assert '"epsilon": 2.0' in to_json(guarantee)


def test_the_names_in_ledgers_of_0_1_are_read() -> None:
    budget = {"kind": "BestOrder", "epsilon": 1.0, "delta": 1e-6, "orders": [2.0, 8.0]}
    assert from_dict(budget) == RenyiBudget(1, 1e-6, [2, 8])
    assert json.loads(to_json(from_dict(budget))) == {**budget, "version": 1}
    grouped = {"kind": "Grouped", "promise": {"kind": "ZCDP", "rho": 0.5}, "size": 3}
    assert from_dict(grouped) == Grouped(ZCDP(0.5), 3)


@given(st.text())
def test_text_is_refused(text: str) -> None:
    with pytest.raises(InvalidRequest):
        from_json(text)


@given(VALUES)
def test_json_is_refused(value: object) -> None:
    with pytest.raises(InvalidRequest, match="does not describe a guarantee"):
        from_json(json.dumps(value))


@given(KINDS, st.dictionaries(st.sampled_from(["epsilon", "delta", "rho", "mu", "parts"]), VALUES), examples=60)
def test_near_misses_are_refused_or_read_back_equal(kind: str, facts: dict[str, object]) -> None:
    try:
        guarantee = from_json(json.dumps({"kind": kind, **facts}))
    except InvalidRequest:
        return
    assert from_json(to_json(guarantee)) == guarantee


@pytest.mark.parametrize(
    "facts",
    [
        {"kind": "PureDP"},
        {"kind": "PureDP", "epsilon": -1},
        {"kind": "PureDP", "epsilon": math.nan},
        {"kind": "PureDP", "epsilon": math.inf},
        {"kind": "PureDP", "epsilon": "1"},
        {"kind": "PureDP", "epsilon": True},
        {"kind": "PureDP", "epsilon": None},
        {"kind": "ApproxDP", "epsilon": 1, "delta": 1},
        {"kind": "ApproxDP", "epsilon": 1},
        {"kind": ["PureDP"], "epsilon": 1},
        {"kind": None},
        {"epsilon": 1},
        {"kind": "Composed"},
        {"kind": "Composed", "parts": 3},
        {"kind": "Composed", "parts": "ab"},
        {"kind": "Composed", "parts": [PURE]},
        {"kind": "Composed", "parts": [[PURE]]},
        {"kind": "Composed", "parts": [[PURE, "2"]]},
        {"kind": "Composed", "parts": [[PURE, None]]},
        {"kind": "Composed", "parts": [[PURE, [2]]]},
        {"kind": "Composed", "parts": [[3, 2]]},
        *({"kind": "Composed", "parts": [[PURE, count]]} for count in (-3, 2.5, True, math.nan, math.inf)),
    ],
)
def test_wrong_facts_are_refused(facts: dict[str, object]) -> None:
    with pytest.raises(InvalidRequest, match="does not describe a guarantee"):
        from_json(json.dumps(facts))


def test_deep_nesting_and_numbers_beyond_the_floats_are_refused() -> None:
    for text in ("[" * 100_000, '{"kind": "PureDP", "epsilon": 1' + "0" * 400 + "}"):
        with pytest.raises(InvalidRequest):
            from_json(text)


def test_very_long_numbers_are_refused() -> None:
    try:
        from_json('{"kind": "PureDP", "epsilon": ' + "1" * 5000 + "}")
    except InvalidRequest:
        return
