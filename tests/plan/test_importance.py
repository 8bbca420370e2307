"""Terms of unlike importance: which noise a plan takes, and that nothing else changes."""

import numpy as np
import pytest

import gaugedp as gd
from gaugedp.errors import InvalidRequest, UnknownName
from tests.release.test_nested import areas
from tests.release.test_processing import Stand

DOMAIN = areas([[4, 4], [4, 4], [4, 4]])
UNIT = gd.PrivacyUnit()
QUERY = gd.query(DOMAIN, "REGION; DISTRICT; TRACT*SEX")
WANTED = {"REGION": 100, "DISTRICT": 4}


@pytest.mark.parametrize("requested", [{"epsilon": 1}, {"epsilon": 1, "delta": 1e-9}, {"rho": 0.1}])
def test_an_important_term_errs_less_at_the_same_price(requested) -> None:
    alike, expected = gd.plan(QUERY, UNIT, **requested), gd.plan(QUERY.with_importance(WANTED), UNIT, **requested)
    assert expected.mechanism.variances[0] < alike.mechanism.variances[0]
    assert expected.mechanism.variances[-1] > alike.mechanism.variances[-1]
    assert expected.mechanism.is_valid_for(QUERY.sensitivity(UNIT))
    times = np.repeat([100, 4, 1], [3, 6, 48])
    assert times @ expected.mechanism.variances < times @ alike.mechanism.variances
    assert "importance" in expected.unit_of_error
    assert "importance" not in alike.unit_of_error


def test_errors_are_those_of_the_weighted_squares() -> None:
    plan = gd.plan(QUERY.with_importance(WANTED), UNIT, rho=0.1)
    draws = plan.mechanism.draw(4000, gd.research_rng(1)) * np.sqrt(np.repeat([100, 4, 1], [3, 6, 48]))
    assert plan.error == pytest.approx(np.linalg.norm(draws, axis=1).mean(), rel=0.02)


def test_a_plan_with_importance_answers_the_question_without() -> None:
    weighed = QUERY.with_importance(WANTED)
    assert weighed.digest() == QUERY.digest()
    ledger = gd.Ledger.in_memory(gd.PureDP(1))
    plan = gd.plan(weighed, UNIT, epsilon=1)
    answer = gd.release(QUERY, Stand(DOMAIN), ledger=ledger, planned=plan)
    assert (
        answer.processed("consistent", query=QUERY).values == answer.processed("consistent", query=weighed).values
    ).all()


def test_it_stays_when_questions_are_stacked() -> None:
    whole = gd.stack(gd.query(DOMAIN, "REGION").with_importance({"REGION": 9}), gd.query(DOMAIN, "TRACT"))
    assert whole.errors.weights == pytest.approx(np.repeat([1 / 3, 1], [3, 24]))


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(UnknownName, match="REGIONS"):
        QUERY.with_importance({"REGIONS": 2})
    for times in (0, -1, float("nan"), float("inf")):
        with pytest.raises(InvalidRequest, match="importance"):
            QUERY.with_importance({"REGION": times})
    with pytest.raises(InvalidRequest, match="linear queries"):
        gd.query(DOMAIN, "median(PAY)").with_importance({"median(PAY)": 2})
