"""Stored releases whose numbers no release could have are refused in words, without a warning."""

import json

import pytest

import gaugedp as gd
from gaugedp.errors import InvalidRequest


@pytest.fixture
def stored(tmp_path) -> dict:
    domain = gd.Domain.of(SEX=gd.categories(["f", "m"]), PAY=gd.bounded(0, 1000, 1))
    (tmp_path / "people.csv").write_text("SEX,PAY\nf,10\nm,20\n")
    table = gd.Table.scan(tmp_path / "people.csv", domain=domain, unit=gd.PrivacyUnit(), name="people")
    ledger = gd.Ledger.in_memory(gd.PureDP(2.0))
    return json.loads(gd.release(gd.query(domain, "mean(PAY) by SEX"), table, ledger=ledger, epsilon=1.0).to_json())


@pytest.mark.parametrize("size", [10**260, 10**307, "1e-260"])
def test_numbers_that_would_overflow_are_refused(stored: dict, size: object) -> None:
    assert gd.Release.from_json(json.dumps(stored)).labels
    if isinstance(size, int):
        stored["numbers"] = [size] * len(stored["numbers"])
    else:
        stored["steps"] = [[count, size] for count, _ in stored["steps"]]
        stored["numbers"] = [1] * len(stored["numbers"])
    with pytest.raises(InvalidRequest, match="not a release"):
        gd.Release.from_json(json.dumps(stored))


def test_means_that_would_overflow_are_refused(stored: dict) -> None:
    for one in stored["estimates"]:
        one["ratio"] = [1e307, 1e307]
    with pytest.raises(InvalidRequest, match="not a release"):
        gd.Release.from_json(json.dumps(stored))
