"""Questions for quantiles: texts, labels, the body of the histogram, and what is refused."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gaugedp as gd
from gaugedp.errors import UNTOUCHED, GaugedpError, InvalidRequest, UnknownName
from gaugedp.queries import Quantiles
from gaugedp.queries.rules import query_rules
from gaugedp.tables.aggregate import Aggregate

DOMAIN = gd.Domain.of(
    SEX=["1", "2"],
    AGE=gd.bins(0, 100, 50, outside="other"),
    PAY=gd.bounded(-2, 3),
    TAX=gd.bounded(0, 10**9, missing=0),
    HOURS=gd.bounded(0, 1, 0.25, missing=0.5),
)
AGES = ("[0,50)", "[50,100]", "other")


@pytest.mark.parametrize(
    ("text", "written", "cells"),
    [
        ("median(PAY)", "median(PAY)", ["all"]),
        ("  median( PAY )  by SEX", "median(PAY) by SEX", ["SEX=1", "SEX=2"]),
        ("quantiles(PAY, 0.5)", "median(PAY)", ["all"]),
        (
            "quantiles(PAY, .9,1/3, 1e-1)",
            "quantiles(PAY, 0.1, 1/3, 0.9)",
            [f"quantile={q}" for q in ("0.1", "1/3", "0.9")],
        ),
        ("quantiles(PAY, 0.00001)", "quantiles(PAY, 1/100000)", ["quantile=1/100000"]),
        (
            "quantiles(HOURS, 0.25, 0.75, level=0.99) by SEX*AGE",
            "quantiles(HOURS, 0.25, 0.75, level=0.99) by SEX*AGE",
            [f"SEX={s}, AGE={a}, quantile={q}" for s in "12" for a in AGES for q in (0.25, 0.75)],
        ),
        ("median(PAY, level=0.999)", "median(PAY, level=0.999)", ["all"]),
    ],
)
def test_texts_and_labels(text, written, cells) -> None:
    query = gd.query(DOMAIN, text)
    assert isinstance(query, Quantiles)
    assert query.text == written
    assert query.labels == [(written, cell) for cell in cells]
    assert gd.query(DOMAIN, query.text).digest() == query.digest()
    assert (query.n_answers, len(query.steps), len(query.steps)) == (len(cells), 5 * len(cells), 5 * len(cells))


@given(st.sets(st.fractions(Fraction(1, 10**4), Fraction(9999, 10**4), max_denominator=10**4), min_size=1, max_size=9))
def test_what_is_written_is_read_back(shares) -> None:
    query = gd.quantiles(DOMAIN, "PAY", *shares, by=("AGE",))
    assert gd.query(DOMAIN, query.text).quantiles == query.quantiles == tuple(sorted(shares))


def test_a_float_is_the_decimal_that_was_typed() -> None:
    assert gd.quantiles(DOMAIN, "PAY", np.float64(0.1), 0.3).quantiles == (Fraction(1, 10), Fraction(3, 10))


def test_digests_tell_questions_apart() -> None:
    texts = ["median(PAY)", "median(PAY) by SEX", "quantiles(PAY, 0.4)", "median(PAY, level=0.99)", "median(HOURS)"]
    wider = gd.Domain.of(PAY=gd.bounded(-2, 4))
    digests = {gd.query(DOMAIN, text).digest() for text in texts} | {gd.query(wider, "median(PAY)").digest()}
    assert len(digests) == 6


def test_the_rules_are_those_of_sums() -> None:
    assert query_rules(gd.query(DOMAIN, "median(PAY) by AGE")) == query_rules(gd.query(DOMAIN, "sum(PAY) by AGE"))
    assert query_rules(gd.query(DOMAIN, "median(HOURS) by SEX")) == query_rules(gd.query(DOMAIN, "sum(HOURS) by SEX"))


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("median(PAY) without interval", "median(PAY) without interval"),
        ("median(PAY)  by SEX  without intervals", "median(PAY) by SEX without interval"),
        ("median(PAY) without interval by SEX*AGE", "median(PAY) by SEX*AGE without interval"),
        ("quantile(PAY, 0.9) without interval", "quantiles(PAY, 0.9) without interval"),
        ("quantiles(PAY, 0.1, 0.9) by SEX without interval", "quantiles(PAY, 0.1, 0.9) by SEX without interval"),
    ],
)
def test_quantiles_without_intervals(text, written) -> None:
    """One released number per answer, the same in text and in Python, and another digest than with an interval."""
    query = gd.query(DOMAIN, text)
    assert isinstance(query, Quantiles)
    assert (query.text, query.interval) == (written, False)
    assert len(query.steps) == query.n_answers
    assert gd.query(DOMAIN, query.text).digest() == query.digest()
    same = gd.quantiles(DOMAIN, "PAY", *query.quantiles, by=query.by, interval=False)
    assert same.digest() == query.digest()
    assert gd.quantiles(DOMAIN, "PAY", *query.quantiles, by=query.by).digest() != query.digest()


REFUSED = [
    ("mean(PAY) without interval", InvalidRequest, "always has an interval, at no further cost"),
    ("median(PAY, level=0.99) without interval", InvalidRequest, "`level` is given, but no interval"),
    ("median(PAY) by SEX without interval by AGE", UnknownName, "There is no attribute"),
    ("SEX without interval", UnknownName, "There is no attribute"),
    ("median(SEX)", InvalidRequest, "SEX is an attribute"),
    ("median(PA)", UnknownName, "Did you mean 'PAY'?"),
    ("median()", UnknownName, "There is no bounded column ''"),
    ("median(PAY) by SX", UnknownName, "Did you mean 'SEX'?"),
    ("median(PAY) by SEX*SEX", InvalidRequest, "names an attribute twice"),
    ("median(PAY, 0.3)", InvalidRequest, "Write quantiles(PAY, 0.3)."),
    ("quantiles(PAY)", InvalidRequest, "No quantiles of PAY"),
    ("quantiles(PAY, 0)", InvalidRequest, "not between 0 and 1"),
    ("quantiles(PAY, 0.2, 1)", InvalidRequest, "not between 0 and 1"),
    ("quantiles(PAY, -0.1)", InvalidRequest, "not between 0 and 1"),
    ("quantiles(PAY, nan)", InvalidRequest, "not a number"),
    ("quantiles(PAY, 1e999999999)", InvalidRequest, "not a number"),
    ("quantiles(PAY, 1/0)", InvalidRequest, "not a number"),
    ("quantiles(PAY, half)", InvalidRequest, "not a number"),
    ("quantiles(PAY, 0.5, 0.50)", InvalidRequest, "is requested twice"),
    ("quantiles(PAY, 0.1234567)", InvalidRequest, "exceeds 6 decimals"),
    ("quantiles(PAY, 0.5, level=0.5)", InvalidRequest, "from 0.95 to 0.999"),
    ("quantiles(PAY, 0.5, level=x)", InvalidRequest, "not a number"),
    ("median(TAX)", InvalidRequest, "coarser step"),
    ("mean(NOPE); median(PAY)", UnknownName, "There is no bounded column 'NOPE'"),
    ("median(PAY); SEX; median(PAY)", InvalidRequest, "A term occurs twice in"),
    ("ranges(PAY)", UnknownName, "There is no attribute 'PAY'"),
    ("medain(PAY)", UnknownName, "Did you mean 'median'?"),
]


@pytest.mark.parametrize(("text", "kind", "words"), REFUSED, ids=[text for text, _, _ in REFUSED])
def test_bad_questions_are_refused_in_a_sentence(text, kind, words) -> None:
    with pytest.raises(kind) as caught:
        gd.query(DOMAIN, text)
    assert words in str(caught.value)
    assert str(caught.value).endswith(UNTOUCHED)
    assert "Fraction" not in str(caught.value)


@pytest.mark.parametrize("share", ["0.5", None, True, complex(0, 1), float("nan"), 2])
def test_shares_must_be_numbers_between_0_and_1(share) -> None:
    with pytest.raises(GaugedpError):
        gd.quantiles(DOMAIN, "PAY", share)


def test_too_many_quantiles_are_refused() -> None:
    gd.quantiles(DOMAIN, "PAY", *(i / 1000 for i in range(1, 101)))
    with pytest.raises(InvalidRequest, match="takes from 1 to 100"):
        gd.quantiles(DOMAIN, "PAY", *(i / 1000 for i in range(1, 102)))


@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
@pytest.mark.parametrize("text", ["median(PAY)", "median(PAY) by AGE"])
def test_the_body_holds_what_a_unit_does_to_the_histogram(text, neighbours) -> None:
    """Every histogram of two rows against those of two others, or none: inside, and some of them on the boundary."""
    query = gd.query(DOMAIN, text)
    body = query.sensitivity(gd.PrivacyUnit("pid", neighbours, 2))
    rows = np.vstack([np.eye(body.ambient_dim), np.zeros(body.ambient_dim)])
    units = (rows[:, None] + rows[None]).reshape(-1, body.ambient_dim)[:: 5 if body.ambient_dim > 6 else 1]
    others = units if neighbours == "replace" else np.zeros_like(units[:1])
    apart = np.unique((units[:, None] - others[None]).reshape(-1, body.ambient_dim), axis=0)
    gauges = body.gauge(apart)
    assert gauges.max() == pytest.approx(1)


def test_an_attribute_of_the_same_name_is_no_hindrance() -> None:
    domain = gd.Domain({"AGE": gd.integers(0, 3)}, {"AGE": gd.bounded(0, 9)})
    body = gd.quantiles(domain, "AGE", 0.5, by="AGE").sensitivity(gd.PrivacyUnit())
    assert body.generators.structure.shape == (4, 10)


def test_one_look_for_one_total() -> None:
    class Spy:
        def totals(self, totals, row_key):
            assert row_key == b"k"
            self.requested = totals
            return [np.arange(12)]

    spy = Spy()
    assert gd.query(DOMAIN, "median(PAY) by SEX").evaluate(spy, b"k").tolist() == list(range(12))
    assert spy.requested == [Aggregate(("SEX",), "PAY", each=True)]
