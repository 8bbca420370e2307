"""Terms of statistics in the text of a query: what is refused, which rows they are about, and what is shown of them."""

import json

import numpy as np
import pandas as pd
import pytest

import gaugedp as gd
from gaugedp.errors import InvalidRequest, UnknownName
from gaugedp.statistics.base import all_answers
from tests.queries.stub import StubTable

DOMAIN = gd.Domain.of(
    a=["u", "w", "x"],
    b=["p", "q"],
    c=gd.bins(0, 4, width=2),
    one=["all"],
    v=gd.bounded(0, 10),
    z=gd.bounded(0, 10, missing=4),
)


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("share()", InvalidRequest, "but none is named. Pass one"),
        ("share(a) by a", InvalidRequest, "names an attribute twice"),
        ("share(v)", UnknownName, "There is no attribute 'v'."),
        ("share(a) by b, c", InvalidRequest, "by b\\*c"),
        ("shares(a)", UnknownName, "Write share."),
        ("proportion(a) by b", UnknownName, "Write share."),
        ("share(a); share(a)", InvalidRequest, "A term occurs twice in"),
        ("share(a) by b per c", UnknownName, "There is no attribute"),
        ("change(one)", InvalidRequest, "one has only one cell"),
        ("change(v)", UnknownName, "'v'"),
        ("growth(a)", UnknownName, "Write change"),
        ("rate(a)", UnknownName, "ratio"),
        ("change(a) by a", InvalidRequest, "twice"),
        ("ratio(a*b)", UnknownName, "There is no attribute 'a\\*b'"),
        ("var(v)", UnknownName, "Write sd"),
        ("stdev(v)", UnknownName, "Write sd"),
        ("sd(a)", UnknownName, "bounded"),
        ("sd()", UnknownName, "There is no"),
    ],
)
def test_what_is_no_term_is_refused(text: str, error: type, words: str) -> None:
    with pytest.raises(error, match=words):
        gd.query(DOMAIN, text)


def test_builders_refuse_no_attribute_and_another_kind() -> None:
    with pytest.raises(InvalidRequest, match="A share is that of the cells of an"):
        gd.shares(DOMAIN, ())
    with pytest.raises(UnknownName, match="difference"):
        gd.comparisons(DOMAIN, "quotient", "a")


@pytest.mark.parametrize(
    ("text", "built"),
    [
        ("sum(v) by b", gd.bounded_sums(DOMAIN, "v", by="b")),
        ("mean(v)", gd.bounded_means(DOMAIN, "v")),
        ("sd(v) by a*b", gd.bounded_deviations(DOMAIN, "v", by=["a", "b"])),
        ("share(a*c) by b", gd.shares(DOMAIN, ["a", "c"], by="b")),
        ("change(a) by b", gd.comparisons(DOMAIN, "change", "a", by=["b"])),
    ],
)
def test_text_asks_what_the_builder_asks(text: str, built) -> None:
    query = gd.query(DOMAIN, text)
    assert (query.digest(), query.labels, query.estimates) == (built.digest(), built.labels, built.estimates)


def test_what_others_are_compared_with_has_no_answer() -> None:
    query = gd.query(DOMAIN, "change(a) by b")
    assert [cell for _, cell in query.labels] == [f"a={part}, b={group}" for part in "wx" for group in "pq"]
    (outline,) = query.outlines
    assert (outline.reference, outline.shape) == ("u", (2, 2))
    assert type(outline).of(json.loads(json.dumps(outline.to_dict()))).reference == "u"
    (of_numbers,) = gd.query(DOMAIN, "change(c)").outlines
    assert (list(of_numbers.axes[0].texts), of_numbers.axes[0].borders) == (["[2,4]"], (2.0, 4.0))


def test_shares_of_crossed_attributes_add_up_to_those_of_each() -> None:
    rng = np.random.default_rng(1)
    rows = [{"a": int(a), "b": int(b)} for a, b in rng.integers([3, 2], size=(20, 2))]
    joint, single = (gd.query(DOMAIN, text) for text in ("share(a*b)", "share(a)"))
    exact = [query.evaluate(StubTable(DOMAIN, rows), bytes(16)).astype(float) for query in (joint, single)]
    both = all_answers(joint.estimates, exact[0]).reshape(3, 2).sum(axis=1)
    assert both == pytest.approx(all_answers(single.estimates, exact[1]))


def test_a_missing_value_that_counts_is_in_the_mean_and_all_terms_speak_of_the_same_rows() -> None:
    query, rows = gd.query(DOMAIN, "mean(z)"), [{"a": 0, "z": None}, {"a": None, "z": 10}]
    exact = query.evaluate(StubTable(DOMAIN, rows), bytes(16)).astype(float) * query.steps.sizes
    assert all_answers(query.estimates, exact).tolist() == [7.0]
    both = gd.query(DOMAIN, "count; a")
    assert both.evaluate(StubTable(DOMAIN, rows), bytes(16)).tolist() == [1, 1, 0, 0]  # left out of both


def test_an_interval_that_has_no_upper_end_is_said_and_read_back() -> None:
    frame = pd.DataFrame({"a": ["u"] * 3 + ["w"] * 900, "b": "p", "c": 1, "one": "all", "v": 1, "z": 1})
    table = gd.Table.scan(frame, domain=DOMAIN)
    query = gd.query(DOMAIN, "ratio(a); change(a) by b")
    release = gd.release(query, table, ledger=gd.Ledger.in_memory(gd.PureDP(1)), epsilon=0.01)
    assert np.isinf(release.interval()[1]).any()
    again = gd.Release.from_json(release.to_json())
    assert (again.interval()[1] == release.interval()[1]).all()
    assert any("no upper end" in remark for remark in release.remarks(query))
    assert not any("whole range" in remark for remark in release.remarks(query))
    assert "∞" in release._repr_html_()
