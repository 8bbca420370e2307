"""Labels, order, rules and digests."""

from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gaugedp as gd
from gaugedp.errors import InvalidRequest, UnknownName
from gaugedp.queries.rules import query_rules
from tests.queries.strategies import domains, examples, stacks, subsets
from tests.queries.stub import StubTable

QUICK = examples(40)


@QUICK
@given(domains(), st.data())
def test_a_row_is_counted_in_the_cell_with_its_labels(domain, data) -> None:
    names = data.draw(st.permutations(data.draw(st.sampled_from(subsets(domain)))))
    cells = {name: data.draw(st.integers(0, domain.attribute(name).n_inside - 1)) for name in names}
    query = gd.marginals(domain, tuple(names))
    answer = query.evaluate(StubTable(domain, [cells]), bytes(16))
    written = ", ".join(f"{name}={domain.attribute(name).labels[cells[name]]}" for name in names) or "all"
    assert [cell for (_, cell), count in zip(query.labels, answer, strict=True) if count] == [written]
    assert len(set(query.labels)) == len(query.labels) == query.n_answers


def test_cells_run_in_product_order_the_last_fastest() -> None:
    domain = gd.Domain.of(a=["x", "y"], b=gd.integers(1, 3, "other"))
    cells = [cell for _, cell in gd.marginals(domain, ("b", "a")).labels]
    assert cells == [f"b={b}, a={a}" for b, a in product(("1", "2", "3", "other"), "xy")]


def test_the_labels_of_every_kind_of_term() -> None:
    domain = gd.Domain.of(a=gd.integers(1, 3), s=["u", "w"], v=gd.bounded(0, 9))
    labels = gd.query(domain, "count; prefix(a); ranges(a); sum(v); mean(v) by s").labels
    assert labels[0] == ("count", "all")
    assert [cell for term, cell in labels if term == "prefix(a)"] == ["..a=1", "..a=2", "..a=3"]
    assert [cell for term, cell in labels if term == "ranges(a)"] == [
        f"a={i}..a={j}" for i in (1, 2, 3) for j in range(i, 4)
    ]
    assert [cell for term, cell in labels if term == "sum(v)"] == ["all"]
    assert [cell for term, cell in labels if term == "mean(v) by s"] == ["s=u", "s=w"]
    matrix = gd.workload(np.ones((2, 6)), domain)
    assert matrix.labels == [("matrix(a*s)", "row 0"), ("matrix(a*s)", "row 1")]


@QUICK
@given(stacks())
def test_there_is_a_label_a_step_and_a_reach_for_everything(query) -> None:
    assert len(query.labels) == query.n_answers == sum(estimate.n_answers for estimate in query.estimates)
    assert (
        len(query.steps)
        == len(query.errors.reach)
        == len(query.steps)
        == sum(estimate.n_released for estimate in query.estimates)
    )
    assert (query.errors.reach > 0).all()
    assert query.text == "; ".join(dict.fromkeys(term for term, _ in query.labels))


def test_the_rules_say_what_happens_to_other_values() -> None:
    domain = gd.Domain.of(
        a=["x"], b=gd.categories(["x"], "other"), v=gd.bounded(0, 2.5, 0.5), w=gd.bounded(-1, 1, missing=0), c=["x"]
    )
    spelling = "Categories must match the table exactly, including case and spaces; others count 0."
    text = "text that is not a plain number (such as 1,250 or €5) counts as missing"
    left_out = "Rows where v is missing are left out of the terms about it."
    assert query_rules(gd.query(domain, "b; a*b; sum(v); mean(w)")) == [
        "Rows whose a is missing or out of domain are left out of the whole query.",
        "Rows whose b is missing or out of domain are counted in its cell 'other'.",
        spelling,
        f"v is clipped to [0, 2.5] in steps of 0.5; {text}. {left_out}",
        f"w is clipped to [-1, 1] in steps of 1; {text}. Where w is missing it counts as 0.",
    ]
    assert spelling not in query_rules(gd.query(gd.Domain.of(age=gd.bins(0, 9, 3)), "age"))


# -- digests -----------------------------------------------------------------------------------------

BASE = {"a": gd.integers(1, 4), "b": ["x", "y"], "v": gd.bounded(0, 10), "w": gd.bounded(0, 10)}


def domain_with(**changed):
    return gd.Domain.of(**{**BASE, **changed})


DIFFERENT = [
    lambda: gd.query(domain_with(), "a"),
    lambda: gd.query(domain_with(), "b"),
    lambda: gd.query(domain_with(), "a*b"),
    lambda: gd.query(domain_with(), "b*a"),
    lambda: gd.query(domain_with(), "a; b"),
    lambda: gd.query(domain_with(), "b; a"),
    lambda: gd.query(domain_with(), "count"),
    lambda: gd.query(domain_with(), "prefix(a)"),
    lambda: gd.query(domain_with(), "ranges(a)"),
    lambda: gd.query(domain_with(), "sum(v)"),
    lambda: gd.query(domain_with(), "sum(w)"),
    lambda: gd.query(domain_with(), "mean(v)"),
    lambda: gd.query(domain_with(), "sum(v) by a"),
    lambda: gd.query(domain_with(), "sum(v) by a*b"),
    lambda: gd.query(domain_with(), "sum(v) by b*a"),
    lambda: gd.query(domain_with(a=gd.integers(1, 5)), "a"),
    lambda: gd.query(domain_with(a=gd.integers(2, 5)), "a"),
    lambda: gd.query(domain_with(a=gd.integers(1, 4, "other")), "a"),
    lambda: gd.query(domain_with(a=["1", "2", "3", "4"]), "a"),
    lambda: gd.query(domain_with(a=["1", "2", "4", "3"]), "a"),
    lambda: gd.query(domain_with(a=gd.bins(1, 5, 1)), "a"),
    lambda: gd.query(domain_with(a=gd.bins(edges=[1, 2, 3, 4, 5])), "a"),
    lambda: gd.query(domain_with(v=gd.bounded(0, 11)), "sum(v)"),
    lambda: gd.query(domain_with(v=gd.bounded(-1, 10)), "sum(v)"),
    lambda: gd.query(domain_with(v=gd.bounded(0, 10, 2)), "sum(v)"),
    lambda: gd.query(domain_with(v=gd.bounded(0, 10, missing=0)), "sum(v)"),
    lambda: gd.query(domain_with(v=gd.bounded(0, 10, missing=1)), "sum(v)"),
    lambda: gd.workload(np.eye(8), domain_with()),
    lambda: gd.workload(np.eye(8)[:4], domain_with()),
    lambda: gd.workload(2 * np.eye(8), domain_with()),
    lambda: gd.workload(np.eye(8)[:, ::-1], domain_with()),
    lambda: gd.workload(np.eye(8) / 4, domain_with()),
    lambda: gd.workload(np.eye(8) / 8, domain_with()),
]


def test_digests_differ_when_anything_differs() -> None:
    digests = [make().digest() for make in DIFFERENT]
    assert len(set(digests)) == len(digests)
    assert digests == [make().digest() for make in DIFFERENT]


def test_digests_ignore_what_does_not_matter() -> None:
    digest = gd.query(domain_with(), "a; sum(v)").digest()
    assert gd.query(domain_with(b=["z"], w=gd.bounded(0, 3)), " a ;sum( v );").digest() == digest
    renamed = gd.Domain(domain_with().attributes, domain_with().columns, "another name")
    assert gd.query(renamed, "a; sum(v)").digest() == digest


# -- text --------------------------------------------------------------------------------------------

DOMAIN = gd.Domain.of(SEX=["1", "2"], AGEP=gd.bins(0, 100, 10), EDU=gd.integers(1, 12), PINCP=gd.bounded(0, 100))
SAME = {
    "SEX": gd.marginals(DOMAIN, "SEX"),
    "SEX*AGEP": gd.marginals(DOMAIN, ("SEX", "AGEP")),
    " AGEP * SEX ": gd.marginals(DOMAIN, ("AGEP", "SEX")),
    "SEX; AGEP ;SEX*AGEP;": gd.marginals(DOMAIN, "SEX", "AGEP", ("SEX", "AGEP")),
    "count": gd.count(DOMAIN),
    "count; SEX": gd.marginals(DOMAIN, (), "SEX"),
    "prefix(AGEP)": gd.prefix_sums(DOMAIN, "AGEP"),
    "prefix ( AGEP )": gd.prefix_sums(DOMAIN, "AGEP"),
    "ranges(EDU)": gd.ranges(DOMAIN, "EDU"),
    "sum(PINCP)": gd.bounded_sums(DOMAIN, "PINCP"),
    "mean(PINCP)": gd.bounded_means(DOMAIN, "PINCP"),
    "sum(PINCP) by SEX": gd.bounded_sums(DOMAIN, "PINCP", by="SEX"),
    "mean(PINCP)  by  SEX * EDU": gd.bounded_means(DOMAIN, "PINCP", by=["SEX", "EDU"]),
    "SEX; prefix(EDU); sum(PINCP)": gd.stack(
        gd.marginals(DOMAIN, "SEX"), gd.prefix_sums(DOMAIN, "EDU"), gd.bounded_sums(DOMAIN, "PINCP")
    ),
}


@pytest.mark.parametrize("text", SAME)
def test_text_asks_what_the_builders_ask(text: str) -> None:
    parsed = gd.query(DOMAIN, text)
    assert parsed.digest() == SAME[text].digest()
    assert parsed.labels == SAME[text].labels
    assert gd.query(DOMAIN, parsed.text).digest() == parsed.digest()


BAD_TEXT = [
    ("", InvalidRequest, "The query is empty."),
    (" ; ;", InvalidRequest, "The query is empty."),
    ("SXE", UnknownName, "There is no attribute 'SXE'. Did you mean 'SEX'?"),
    ("SEX*", InvalidRequest, "A name is missing in 'SEX*'. Cross attributes by *"),
    ("*", InvalidRequest, "A name is missing in '*'."),
    ("sum(PINCP) where SEX = 1", InvalidRequest, "queries do not filter rows. Request all cells"),
    ("mean(PINCP) - mean(PINCP)", InvalidRequest, "Request the parts, separated by semicolons:"),
    ("sum(PINCP)/count", InvalidRequest, "Request the parts, separated by semicolons:"),
    ("percent(SEX)", UnknownName, "There is no query 'percent'. Write share."),
    ("rate(SEX)", UnknownName, "Write share(A) by B for shares of cells"),
    ("min(PINCP)", UnknownName, "It depends on a single row"),
    ("count(SEX)", InvalidRequest, "Write count for the number of rows, or SEX for those of each cell."),
    ("count by SEX", InvalidRequest, "For counts write SEX."),
    ("count by SEX, AGEP", InvalidRequest, "For counts write SEX*AGEP."),
    ("COUNT", UnknownName, "There is no query 'COUNT'. Write count."),
    ("SEX*SEX", InvalidRequest, "SEX*SEX names an attribute twice. Name each attribute once."),
    ("SEX; SEX", InvalidRequest, "Request each term once"),
    ("SEX; AGEP; SEX", InvalidRequest, "Request each term once"),
    ("sum(PINCP); sum( PINCP )", InvalidRequest, "Request each term once"),
    ("PINCP", UnknownName, "but a bounded column has this name. Use sum(PINCP) or mean(PINCP)"),
    ("sum(SEX)", UnknownName, "but an attribute has this name. Request its counts"),
    ("sum(PINCE)", UnknownName, "There is no bounded column 'PINCE'. Did you mean 'PINCP'?"),
    ("SEX, AGEP", InvalidRequest, "Separate terms by semicolons and cross attributes by *"),
    ("SEX by AGEP", InvalidRequest, "For counts write SEX*AGEP."),
    ("SEX; SEX,AGEP", InvalidRequest, "`by` applies only to sums, means, sd, share and quantiles"),
    ("mean(PINCP), SEX", InvalidRequest, "Separate terms by semicolons and cross"),
    ("mean(PINCP) by SEX, EDU", InvalidRequest, "Cross attributes by *, as in by SEX*EDU."),
    ("median(PINCP) by SEX,AGE", InvalidRequest, "The attributes after `by` are separated by a"),
    ("sum()", UnknownName, "There is no bounded column ''."),
    ("prefix(AGE)", UnknownName, "Did you mean 'AGEP'?"),
    ("prefix(SEX*EDU)", UnknownName, "There is no attribute 'SEX*EDU'."),
    ("prefix(EDU) by EDU", InvalidRequest, "EDU*EDU names an attribute twice."),
    (
        "share(SEX, level=0.99) by EDU",
        InvalidRequest,
        "share does not take a confidence level; only median and quantiles do.",
    ),
    ("mean(PINCP, level=0.99)", InvalidRequest, "use answer.interval(0.99) afterwards."),
    ("sums(PINCP)", UnknownName, "There is no query 'sums'. Did you mean 'sum'?"),
    ("mode(PINCP)", UnknownName, "There is no query 'mode'."),
    ("sum(PINCP) by AGE", UnknownName, "Did you mean 'AGEP'?"),
    ("sum(PINCP) by", UnknownName, "There is no attribute"),
    ("sum(PINCP) bySEX", UnknownName, "There is no attribute"),
    ("sum(PINCP", InvalidRequest, "lacks a closing parenthesis. Write sum(PINCP)."),
    ("mean( PINCP  by SEX", InvalidRequest, "lacks a closing parenthesis. Write mean( PINCP) by SEX."),
    ("quantiles(PINCP, 0.1, 0.9 by SEX*EDU", InvalidRequest, "Write quantiles(PINCP, 0.1, 0.9) by SEX*EDU."),
    ("prefix(AGEP)*ranges(EDU", InvalidRequest, "lacks a closing parenthesis. Write ranges(EDU)."),
    ("SEX*(", UnknownName, "There is no attribute '('"),
    ("sex", UnknownName, "There is no attribute 'sex'."),
    ("SEX\x00", UnknownName, "There is no attribute"),
]


@pytest.mark.parametrize(("text", "kind", "words"), BAD_TEXT)
def test_bad_text_is_refused_with_a_hint(text: str, kind: type, words: str) -> None:
    with pytest.raises(kind) as caught:
        gd.query(DOMAIN, text)
    assert words in str(caught.value)


def test_a_name_in_both_sections_is_used_both_ways() -> None:
    domain = gd.Domain({"AGE": gd.bins(0, 100, width=50)}, {"AGE": gd.bounded(0, 100)})
    table = gd.Table.scan(pa.table({"AGE": [10] * 300 + [90] * 100}), domain=domain)
    ledger = gd.Ledger.in_memory(gd.PureDP(1000))
    answer = gd.release(gd.query(domain, "AGE; mean(AGE)"), table, ledger=ledger, epsilon=900)
    assert [round(value) for value in answer.values] == [300, 100, 30]


def test_names_may_hold_commas_and_words() -> None:
    domain = gd.Domain.of(**{"born by law, or not": ["0", "1"], "x": ["0", "1"]})
    assert len(gd.query(domain, "born by law, or not; x*born by law, or not").labels) == 6


# -- names in quotes ---------------------------------------------------------------------------------

NAMES = ["Region (NUTS)", "Sex*Age", "a;b", 'the "old" one', " edge ", "sum(x)", "by law, or not"]
ODD = gd.Domain.of(**{name: ["0", "1", "2"] for name in NAMES}, plain=["0", "1"])
NUMBERS = gd.Domain(ODD.attributes, {name: gd.bounded(0, 10) for name in NAMES})


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "make",
    [
        lambda name: gd.marginals(NUMBERS, name),
        lambda name: gd.marginals(NUMBERS, ("plain", name)),
        lambda name: gd.prefix_sums(NUMBERS, name),
        lambda name: gd.ranges(NUMBERS, name),
        lambda name: gd.bounded_sums(NUMBERS, name, by=name),
        lambda name: gd.stack(gd.bounded_means(NUMBERS, name, by=("plain", name)), gd.marginals(NUMBERS, name)),
        lambda name: gd.quantiles(NUMBERS, name, 0.5, 0.9, by=("plain", name)),
    ],
)
def test_every_name_can_be_asked_for_as_it_is_written(name: str, make) -> None:
    requested = make(name)
    read = gd.query(NUMBERS, requested.text)
    assert (read.text, read.labels, read.digest()) == (requested.text, requested.labels, requested.digest())


def test_quotes_stand_where_a_name_needs_them_and_may_stand_elsewhere() -> None:
    requested = gd.query(
        NUMBERS, 'mean( "Region (NUTS)" )  by "plain" * "Sex*Age"; "the ""old"" one"; "by law, or not"'
    )
    assert requested.text == 'mean("Region (NUTS)") by plain*"Sex*Age"; "the ""old"" one"; by law, or not'


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("Region (NUTS)", '"Region (NUTS)"'),
        ("mean(Region (NUTS)) by plain", 'mean("Region (NUTS)") by plain'),
        ("quantiles(Region (NUTS), 0.5)", 'quantiles("Region (NUTS)", 0.5)'),
        ('"Region (NUTS)"; Sex*Age', '"Region (NUTS)"; "Sex*Age"'),
        ("plain; a;b", 'plain; "a;b"'),
    ],
)
def test_a_name_that_needs_quotes_is_told(text: str, meant: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        gd.query(NUMBERS, text)
    assert f"Write the name in double quotes: {meant}." in str(caught.value)


def test_a_mark_in_a_name_changes_nothing_for_the_others() -> None:
    domain = gd.Domain.of(**{"Sex": ["1", "2"], "Age": ["1"], "Sex*Age": ["x"]})
    assert gd.query(domain, "Sex*Age").labels == gd.marginals(domain, ("Sex", "Age")).labels
    assert gd.query(domain, '"Sex*Age"').labels == gd.marginals(domain, "Sex*Age").labels
    with pytest.raises(UnknownName, match="There is no attribute 'Sexe'"):
        gd.query(domain, '"Sexe"')


@pytest.mark.parametrize("text", ["sum(PINCP) by SEX*SEX", "mean(PINCP) by SEX*AGEP*SEX"])
def test_an_attribute_twice_in_by_is_refused(text: str) -> None:
    with pytest.raises(InvalidRequest, match="Name each attribute once"):
        gd.query(DOMAIN, text)


def test_the_hint_never_repeats_the_question() -> None:
    with pytest.raises(InvalidRequest, match=r"does not take the name of a column\. Write count"):
        gd.query(DOMAIN, "count()")


@examples(200)
@given(
    st.lists(
        st.sampled_from([*'SEX;*() "', "SEX", "AGEP", "PINCP", "sum(", "mean(", "prefix(", ")", " by ", "count", "é"])
    )
)
def test_whatever_the_text_says_only_a_refusal_comes_out(words) -> None:
    try:
        query = gd.query(DOMAIN, "".join(words))
    except (InvalidRequest, UnknownName):
        return
    assert query.n_answers == len(query.labels)


def test_questions_of_two_domains_are_not_stacked() -> None:
    other = gd.Domain.of(SEX=["1", "2"])
    with pytest.raises(InvalidRequest, match="Build all of them from the same domain"):
        gd.stack(gd.marginals(DOMAIN, "SEX"), gd.marginals(other, "SEX"))


@pytest.mark.parametrize("ask", [gd.stack, lambda: gd.marginals(DOMAIN)])
def test_nothing_is_no_question(ask) -> None:
    with pytest.raises(InvalidRequest):
        ask()
