"""Counts, sums and means beside quantiles: one question, one price, one release."""

import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import gaugedp as gd
from gaugedp.bodies import Product
from gaugedp.errors import UNTOUCHED, InvalidRequest
from gaugedp.ledger import Ledger
from gaugedp.mechanisms.product_mechanism import ProductMechanism
from gaugedp.queries.linear import as_workload
from gaugedp.queries.quantiles import Quantiles
from gaugedp.queries.rules import query_rules
from gaugedp.queries.stacked import Stacked
from gaugedp.releases.answer import Release
from gaugedp.report.explorer import save_explorer
from gaugedp.tables.table import Table

DOMAIN = gd.Domain.of(SEX=["f", "m"], PAY=gd.bounded(0, 1000, step=10), HOURS=gd.bounded(0, 80))
TEXT = "quantiles(PAY, 0.25, 0.75); count; median(HOURS) by SEX; mean(HOURS) by SEX; SEX"
QUERY = gd.query(DOMAIN, TEXT)
N_ROWS = 4000
RNG = np.random.default_rng(7)
FRAME = pd.DataFrame(
    {
        "SEX": RNG.choice(["f", "m"], N_ROWS),
        "PAY": RNG.integers(0, 101, N_ROWS) * 10,
        "HOURS": RNG.integers(0, 81, N_ROWS),
        "pid": np.arange(N_ROWS) // 2,
    }
)
GUARANTEES = [{"epsilon": 1.0}, {"epsilon": 1.0, "delta": 1e-6}, {"rho": 0.2}, {"mu": 0.7}]
UNITS = [gd.PrivacyUnit(), gd.PrivacyUnit("pid", "replace", 2)]


def table(unit: gd.PrivacyUnit = UNITS[0]) -> Table:
    return Table.scan(FRAME, domain=DOMAIN, unit=unit, name="people")


def truth() -> list[float]:
    """What the question asks for, by pandas, in its order: the linear terms stand where the first of them was asked."""
    by_sex = FRAME.groupby("SEX")
    return [
        *FRAME["PAY"].quantile([0.25, 0.75], interpolation="lower"),
        N_ROWS,
        *by_sex["HOURS"].mean(),
        *by_sex.size(),
        *by_sex["HOURS"].quantile(0.5, interpolation="lower"),
    ]


def test_linear_terms_are_joined_at_the_place_of_the_first() -> None:
    assert isinstance(QUERY, Stacked)
    assert [part.text for part in QUERY.parts] == [
        "quantiles(PAY, 0.25, 0.75)",
        "count; mean(HOURS) by SEX; SEX",
        "median(HOURS) by SEX",
    ]
    assert gd.query(DOMAIN, QUERY.text).digest() == QUERY.digest()
    assert len(QUERY.labels) == QUERY.n_answers == 9
    assert QUERY.labels[2] == ("count", "all")


def test_stacks_of_stacks_are_one_stack() -> None:
    nested = gd.stack(gd.quantiles(DOMAIN, "PAY", 0.25, 0.75), gd.count(DOMAIN))
    nested = gd.stack(nested, gd.quantiles(DOMAIN, "HOURS", 0.5, by="SEX"), gd.bounded_means(DOMAIN, "HOURS", by="SEX"))
    assert gd.stack(nested, gd.marginals(DOMAIN, "SEX")).digest() == QUERY.digest()


def test_without_quantiles_a_stack_is_one_workload_and_alone_a_question_is_itself() -> None:
    assert as_workload(gd.stack(gd.count(DOMAIN), gd.marginals(DOMAIN, "SEX"))) is not None
    median = gd.quantiles(DOMAIN, "PAY", 0.5)
    assert gd.stack(median) is median


@pytest.mark.parametrize("unit", UNITS, ids=str)
@pytest.mark.parametrize("guarantee", GUARANTEES, ids=str)
def test_all_parts_together_keep_what_is_asked(guarantee: dict, unit: gd.PrivacyUnit) -> None:
    """The composition of the parts, as the accountant has it, and none of them is idle."""
    made = gd.plan(QUERY, unit, **guarantee)
    delta = guarantee.get("delta", 1e-6)
    assert made.mechanism.guarantee.epsilon(delta) <= made.requested.epsilon(delta) * (1 + 1e-9)
    if guarantee == {"epsilon": 1.0}:
        assert made.mechanism.guarantee.epsilon(0) <= 1
    assert all(part.guarantee.epsilon(delta) > 0.05 for part in made.mechanism.parts)
    assert made.mechanism.is_valid_for(QUERY.sensitivity(unit))
    assert not made.mechanism.is_valid_for(QUERY.sensitivity(gd.PrivacyUnit("pid", "replace", 3)))


def test_the_guarantee_is_the_composition_of_the_parts() -> None:
    """What the ledger is charged: a sum, and not the share of one."""
    made = gd.plan(QUERY, UNITS[0], epsilon=0.9)
    account = Ledger.in_memory(gd.PureDP(1))
    gd.release(QUERY, table(), ledger=account, planned=made)
    assert account.spent.epsilon(0) == pytest.approx(0.9)
    parts = [part.guarantee.epsilon(0) for part in made.mechanism.parts]
    assert made.mechanism.guarantee.epsilon(0) == pytest.approx(sum(parts))


def test_every_part_must_be_valid_for_its_body() -> None:
    mechanism = gd.plan(QUERY, UNITS[0], epsilon=0.9).mechanism
    first, second = (QUERY.sensitivity(unit).parts for unit in (UNITS[0], UNITS[1]))
    assert mechanism.is_valid_for(Product(first))
    for place in range(3):
        assert not mechanism.is_valid_for(Product((*first[:place], second[place], *first[place + 1 :])))
    assert not mechanism.is_valid_for(first[0])


@pytest.mark.slow
@pytest.mark.parametrize("guarantee", [{"epsilon": 3000.0}, {"epsilon": 3000.0, "delta": 1e-6}], ids=str)
def test_without_noise_the_answers_are_the_true_ones(guarantee: dict) -> None:
    answer = gd.release(QUERY, table(), ledger=Ledger.in_memory(gd.ApproxDP(4000, 1e-3)), **guarantee)
    np.testing.assert_allclose(answer.values, truth(), rtol=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("unit", UNITS, ids=str)
def test_a_release_has_intervals_for_everything_and_is_read_again(unit: gd.PrivacyUnit, tmp_path: Path) -> None:
    account = Ledger.in_memory(gd.PureDP(20))
    answer = gd.release(QUERY, table(unit), ledger=account, epsilon=18.0, rng=gd.research_rng(3), key="all")
    for simultaneous in (False, True):
        lower, upper = answer.interval(0.95, simultaneous)
        assert ((lower <= answer.values) & (answer.values <= upper)).all()
    if unit.max_rows == 1:
        assert ((lower <= truth()) & (truth() <= upper)).all()
    again = Release.from_json(answer.to_json())
    assert (again.values == answer.values).all()
    assert np.array_equal(again.interval(), answer.interval())
    same = gd.release(QUERY, table(unit), ledger=account, epsilon=18.0, rng=gd.research_rng(3), key="all")
    assert same.to_json() == answer.to_json()
    answer.save_html(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text("utf-8")
    assert "contains the exact value, calculated without noise, with a probability of at least 95%" in page
    assert "the error is the number of ranks" in page
    assert len(answer.to_frame()) == 9
    json.dumps(gd.plan(QUERY, unit, epsilon=1.0).to_dict())


def test_all_intervals_hold_at_once_with_the_probability_that_is_asked() -> None:
    """Quantiles have two fifths of the misses, noise that is added at most three."""
    made = gd.plan(QUERY, UNITS[0], epsilon=1.0)
    quantiles = [part for part in QUERY.parts if isinstance(part, Quantiles)]
    misses = sum(1 - part.confidence for part in quantiles)
    assert misses == pytest.approx(0.4 * 0.05)
    for part, mechanism in zip(QUERY.parts, made.mechanism.parts, strict=True):
        assert not isinstance(part, Quantiles) or mechanism.ranks.level == part.confidence
        assert not isinstance(part, Quantiles) or mechanism.alone == 0.95
    widths = made.mechanism.half_widths(0.97, simultaneous=True)
    linear = made.mechanism.parts[1]
    assert (widths[2 : 2 + linear.n_answers] == linear.half_widths(1 - 0.03 / 3, simultaneous=True)).all()


def test_each_part_gets_the_mechanism_that_is_best_for_it() -> None:
    made = gd.plan(QUERY, UNITS[0], epsilon=0.9)
    alone = gd.plan(QUERY.parts[1], UNITS[0], epsilon=0.3)
    assert made.mechanism.parts[1].name == alone.mechanism.name
    assert made.mechanism.name == f"RankTree + {alone.mechanism.name} + RankTree"
    assert {offer.mechanism.parts[1].name for offer in made.candidates} == {
        offer.mechanism.name for offer in alone.candidates
    }
    assert "the distance of its rank" in made.unit_of_error
    squares = [part.mean_square(weights) for part, weights in zip(made.mechanism.parts, _weights(), strict=True)]
    assert made.error == pytest.approx(math.sqrt(sum(squares)))


def _weights() -> list[np.ndarray]:
    return [part.errors.reach[: sum(term.n_widths for term in part.estimates)] for part in QUERY.parts]


def test_the_share_of_no_part_is_spent_twice() -> None:
    """One of three questions gets a third of what a question alone gets."""
    made = gd.plan(QUERY, UNITS[0], epsilon=0.9)
    assert made.mechanism.parts[1].guarantee.epsilon(0) <= 0.3
    again = made.mechanism.recalibrated(gd.PureDP(1.8))
    assert isinstance(again, ProductMechanism)
    assert again.guarantee.epsilon(0) <= 1.8
    assert again.parts[1].guarantee.epsilon(0) == pytest.approx(0.6)
    assert made.mechanism.recalibrated(made.mechanism.guarantee) is made.mechanism


def test_a_mechanism_of_another_stack_is_refused_and_nothing_is_spent() -> None:
    other = gd.query(DOMAIN, "quantiles(PAY, 0.25, 0.75); count; median(HOURS)")
    account = Ledger.in_memory(gd.PureDP(2))
    for question in (other, gd.count(DOMAIN)):
        mechanism = gd.plan(question, UNITS[0], epsilon=1.0).mechanism
        with pytest.raises(InvalidRequest, match="a different query or unit") as caught:
            gd.release(QUERY, table(), ledger=account, mechanism=mechanism)
        assert str(caught.value).endswith(UNTOUCHED)
    assert account.spent == gd.PureDP(0)


def test_a_mechanism_for_other_quantiles_is_refused_though_its_body_is_the_same() -> None:
    other = gd.query(DOMAIN, TEXT.replace("0.25, 0.75", "0.2, 0.8"))
    mechanism = gd.plan(other, UNITS[0], epsilon=1.0).mechanism
    assert mechanism.is_valid_for(QUERY.sensitivity(UNITS[0]))
    with pytest.raises(InvalidRequest, match="a different query or unit"):
        gd.release(QUERY, table(), ledger=Ledger.in_memory(gd.PureDP(2)), mechanism=mechanism)


def test_what_a_stack_cannot_do_is_refused_in_words() -> None:
    account = Ledger.in_memory(gd.ApproxDP(2, 1e-5))
    with pytest.raises(InvalidRequest, match="Only queries"):
        gd.stack(gd.count(DOMAIN), "SEX")
    with pytest.raises(InvalidRequest, match="different domains"):
        gd.stack(gd.count(DOMAIN), gd.quantiles(gd.Domain.of(PAY=gd.bounded(0, 1)), "PAY", 0.5))
    with pytest.raises(InvalidRequest, match="A stream answers counts and sums, but the"):
        gd.Stream.open("nowhere", QUERY, UNITS[0], ledger=account, periods=3, epsilon=1.0, delta=1e-6)
    assert account.spent.epsilon_value == 0


def test_counts_of_a_stack_are_made_non_negative() -> None:
    account = Ledger.in_memory(gd.PureDP(1))
    empty = Table.scan(FRAME.iloc[:0], domain=DOMAIN, unit=UNITS[0], name="people")
    answer = gd.release(QUERY, empty, ledger=account, epsilon=0.1, processing="non_negative", rng=gd.research_rng(12))
    counts = [i for i, (text, _) in enumerate(answer.labels) if text in ("count", "SEX")]
    assert (answer.values[counts] >= 0).all()
    assert (answer.raw[counts] < 0).any()


@pytest.mark.slow
def test_a_look_in_parts_gives_the_same(tmp_path: Path) -> None:
    """Also with a folder for unfinished looks, where a killed one goes on: each part's is kept apart."""
    FRAME.to_csv(tmp_path / "people.csv", index=False)
    source = Table.scan(tmp_path / "people.csv", domain=DOMAIN, unit=UNITS[1], name="people")
    for rows in (source, source.in_buckets(3), source.in_buckets(3, folder=tmp_path)):
        answer = gd.release(QUERY, rows, ledger=Ledger.in_memory(gd.PureDP(4000)), epsilon=3000.0, key="parts")
        np.testing.assert_allclose(answer.values, truth(), rtol=1e-3)


@pytest.mark.slow
def test_the_explorer_says_what_errors_of_a_stack_are(tmp_path: Path) -> None:
    stack = gd.query(DOMAIN, "median(HOURS); SEX")
    for question, said in ((stack, True), (gd.marginals(DOMAIN, "SEX"), False)):
        save_explorer(question, UNITS[0], tmp_path / "page.html", seconds=0)
        assert ("the error is the number of ranks" in (tmp_path / "page.html").read_text("utf-8")) is said


def test_a_stack_says_of_which_of_its_parts_a_row_is_left_out() -> None:
    """Each part reads the rows by itself: a row without a Y is counted in X, and the rules must say so."""
    domain = gd.Domain.of(X=["1", "2"], Y=["a"], PAY=gd.bounded(0, 10))
    query = gd.query(domain, "X; median(PAY) by Y")
    frame = pd.DataFrame({"X": ["1", "1", "2"], "Y": ["a", "b", "a"], "PAY": [1, 2, 3]})
    table = gd.Table.scan(frame, domain=domain, unit=gd.PrivacyUnit())
    assert not any("the whole query" in rule for rule in query_rules(query))
    assert "Rows whose Y is missing or out of domain are left out of median(PAY) by Y." in query_rules(query)
    assert gd.plan(query, gd.PrivacyUnit(), epsilon=1).remarks()[-2].startswith("X: Left out: rows whose X")
    answer = gd.release(query, table, ledger=gd.Ledger.open(":memory:", budget=gd.PureDP(1e9)), epsilon=1e6)
    assert answer.values[:2].tolist() == [2, 1]
