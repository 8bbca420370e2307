"""What describes noise is computed when somebody asks for it, from what a ledger keeps, and is the same then."""

import json
import pickle
from dataclasses import replace
from datetime import datetime
from typing import Any

import numpy as np
import pytest

import gaugedp as gd
from gaugedp.domain.dates import Dates
from gaugedp.domain.lookup_tables import look_up
from gaugedp.domain.recipe import domain_of, recipe_of
from gaugedp.errors import InvalidRequest
from gaugedp.mechanisms.base import AdditiveNoise
from gaugedp.queries.base import Query
from gaugedp.releases.described import LATE, LEVELS, described_facts
from gaugedp.releases.planning import Plan
from tests.golden.tables import DOMAIN, QUESTIONS, ledger, released, table

DRAWN = ["A; B; AGE", "mean(X) by A", "sd(Y)", "share(A) by B", "ratio(B) by A", "ranges(AGE)"]
ASKED = {"epsilon": 1.0}


@pytest.mark.parametrize("text", DRAWN)
def test_a_release_describes_no_noise_before_it_is_asked(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        pytest.fail("noise was described")

    plan = gd.plan(gd.query(DOMAIN, text), gd.PrivacyUnit(), **ASKED)
    for kind in {type(offer.mechanism) for offer in plan.candidates}:
        monkeypatch.setattr(kind, "half_widths", fail)
    monkeypatch.setattr(Plan, "curves", fail)
    monkeypatch.setattr(AdditiveNoise, "trial_noise", fail)
    account = ledger(ASKED)
    answer = gd.release(plan.query, table(), ledger=account, planned=plan, key="k")
    assert not {*LATE} & {name for name, fact in json.loads(account.stored("k")).items() if fact}
    monkeypatch.undo()
    assert answer.facts["widths"]
    assert answer.facts["candidates"]


def test_intervals_take_neither_the_bound_nor_the_other_mechanisms(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = released("A; A*B", ASKED, ledger(ASKED))
    for name in ("table", "bound_facts"):
        monkeypatch.setattr(gd.Plan, name, lambda _: pytest.fail("more than asked was computed"))
    assert answer.interval(0.95)[0].shape == answer.numbers.shape


@pytest.mark.many
@pytest.mark.parametrize(
    ("text", "requested"), QUESTIONS[5:], ids=[f"{text} {requested}" for text, requested in QUESTIONS[5:]]
)
def test_what_a_ledger_keeps_is_restored_to_the_byte(text: str, requested: dict[str, float]) -> None:
    account = ledger(requested)
    answer = released(text, requested, account)
    stored = account.stored("golden").decode()
    assert stored == answer.to_store() == gd.Release.from_json(stored).to_store()
    first = answer.to_json()
    assert gd.Release.from_json(stored).to_json() == released(text, requested, account).to_json() == first
    assert pickle.loads(pickle.dumps(answer)).to_json() == gd.Release.from_json(first).to_json() == first


ROWS = gd.Domain.of(
    REGION=gd.tree({"LAND": ["N", "N", "S"], "REGION": ["n1", "n2", "s1"]}),
    DAY=gd.dates("2024-01-01", "2024-03-31", by="month", outside="other"),
    EDGE=gd.bins(edges=[0, 0.5, 7]),
    NUMBER=gd.integers(-2, 9),
    PAY=gd.bounded(0, 10, 0.25, missing=1.5, unknown=[-1, 99]),
    **look_up({"CODE": ["1", "2"], "GROUP": ["p", "q"], "SIZE": ["3", "4"]}, on="CODE", SIZE=gd.bounded(0, 9)),
)
PEOPLE = ROWS.by_person(
    gd.PrivacyUnit("pid"),
    {
        "n": gd.PerPerson.count(gd.integers(0, 5)),
        "top": gd.PerPerson.max("NUMBER"),
        "all": gd.PerPerson.sum("PAY", gd.bounded(0, 90)),
    },
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("domain", "text"),
    [
        (ROWS, "REGION; LAND; DAY*EDGE"),
        (ROWS, "NUMBER; mean(PAY) by LAND"),
        (ROWS, "GROUP; sum(SIZE)"),
        (PEOPLE, "n*top; mean(all) by n"),
    ],
)
def test_every_kind_of_domain_is_read_back(domain: gd.Domain, text: str) -> None:
    query = gd.query(domain, text)
    recipe = json.loads(json.dumps(recipe_of(domain, query.attributes, query.columns)))
    assert gd.query(domain_of(recipe), text).digest() == query.digest()
    assert "recipe" in described_facts({}, gd.plan(query, domain.protected(), rho=0.1)).stored


def test_a_matrix_is_described_at_once() -> None:
    query = gd.queries.workload(np.array([[1.0, 2.0]]), gd.Domain.of(B=["no", "yes"]))
    facts = described_facts({}, gd.plan(query, gd.PrivacyUnit(), epsilon=1.0)).stored
    assert "recipe" not in facts
    assert facts["widths"]
    assert facts["candidates"]


def by_hand(text: str) -> list[Any]:
    """Return a plan that was put together by hand, and mechanisms of one's own, for a question."""
    plan = gd.plan(gd.query(DOMAIN, text), gd.PrivacyUnit(), **ASKED)
    other = next(offer.mechanism for offer in plan.candidates if offer.mechanism is not plan.mechanism)
    return [replace(plan, mechanism=other), other, plan.mechanism]


@pytest.mark.parametrize("place", range(3))
def test_noise_of_somebody_s_own_is_described_at_once(place: int) -> None:
    account, choice = ledger(ASKED), by_hand("A; B; AGE")[place]
    argument = {"planned": choice} if place == 0 else {"mechanism": choice}
    answer = gd.release(gd.query(DOMAIN, "A; B; AGE"), table(), ledger=account, key="k", **argument)
    kept, shown = (json.loads(text) for text in (account.stored("k").decode(), answer.to_json()))
    assert kept | {"labels": None} == shown | {"labels": None}
    mechanism = choice.mechanism if place == 0 else choice
    assert np.allclose(answer.interval(0.95)[1] - answer.raw, mechanism.half_widths(0.95))


def test_a_recipe_for_another_query_is_refused() -> None:
    account = ledger(ASKED)
    released("mean(X) by A", ASKED, account)
    stored = account.stored("golden").decode()
    for one, other in (('"100"', '"50"'), ('"z"', '"q"'), ('"Categories"', '"Domain"'), ('"Bins"', '"Else"')):
        recipe = json.loads(stored)["recipe"]
        changed = json.loads(json.dumps(recipe).replace(one, other))
        if changed != recipe:
            with pytest.raises(InvalidRequest, match="not a release"):
                gd.Release.from_json(json.dumps({**json.loads(stored), "recipe": changed}))


def test_noise_that_cannot_be_planned_again_has_wider_intervals() -> None:
    account = ledger(ASKED)
    answer = released("mean(X) by A", ASKED, account)
    facts = json.loads(account.stored("golden"))
    facts["mechanism"]["noise"] = "of a version that planned otherwise"
    other = gd.Release.from_json(json.dumps(facts))
    assert other.facts["candidates"] == []
    for level in LEVELS[:-1]:
        for simultaneous in (False, True):
            (low, high), (lower, higher) = (each.interval(level, simultaneous) for each in (answer, other))
            assert (lower <= low).all()
            assert (high <= higher).all()


def test_the_importance_of_terms_is_kept() -> None:
    query = gd.query(DOMAIN, "A; B; A*AGE").with_importance({"A": 50.0})
    account = ledger({"rho": 0.5})
    answer = gd.release(query, table(), ledger=account, key="k", rho=0.5)
    stored = account.stored("k").decode()
    assert "recipe" in json.loads(stored)
    assert gd.Release.from_json(stored).to_json() == answer.to_json()


@pytest.mark.parametrize(
    "query",
    [
        gd.stack(gd.query(DOMAIN, "A; B; A*AGE").with_importance({"A": 50.0}), gd.query(DOMAIN, "median(X)")),
        gd.query(DOMAIN, "median(X)").with_share(0.01),
    ],
    ids=["importance in a part", "a share of misses"],
)
def test_what_no_text_tells_is_described_at_once(query: Query) -> None:
    account = ledger(ASKED)
    answer = gd.release(query, table(), ledger=account, key="k", **ASKED)
    stored = account.stored("k").decode()
    assert gd.Release.from_json(stored).to_json() == answer.to_json()


@pytest.mark.parametrize("value", ["nan", "inf", -1.0, None, {}, "x"])
def test_deviations_that_are_none_are_refused(value: object) -> None:
    account = ledger(ASKED)
    released("A; B; AGE", ASKED, account)
    facts = json.loads(account.stored("golden"))
    facts["deviations"][0][1] = value
    with pytest.raises(InvalidRequest, match="not a release"):
        gd.Release.from_json(json.dumps(facts))


def test_a_fraction_of_a_recipe_is_written_in_digits() -> None:
    with pytest.raises(ValueError, match="1e99999999"):
        domain_of({"is": "Fraction", "text": "1e99999999"})


def test_facts_of_other_classes_are_told_at_once() -> None:
    day = datetime(2024, 1, 1)
    with pytest.raises(ValueError, match="datetime"):
        recipe_of(gd.Domain({"D": Dates("day", day, day)}), ("D",), ())


def test_processing_leaves_noise_undescribed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Plan, "curves", lambda *_: pytest.fail("noise was described"))
    answer = released("share(A) by B", ASKED, ledger(ASKED)).processed("non_negative", "rounded")
    monkeypatch.undo()
    assert "widths" in json.loads(answer.processed().to_json())
