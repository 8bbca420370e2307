"""Public facts: what is accepted, what is refused, and in which words."""

import math
import pickle
from fractions import Fraction
from itertools import product
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gaugedp as gd
from gaugedp.domain.attributes import MAX_STEPS, OTHER, BoundedColumn, EdgeBins
from gaugedp.errors import UNTOUCHED, GaugedpError, InvalidRequest, UnknownName
from gaugedp.queries.rules import query_rules
from gaugedp.tables.aggregate import Aggregate

NAN, INFINITY = math.nan, math.inf


# -- attributes --------------------------------------------------------------------------------------


def test_a_list_is_categories_in_the_order_given() -> None:
    domain = gd.Domain.of(sex=["2", "1"], age=gd.bins(0, 100, width=10))
    assert domain.attribute("sex") == gd.categories(("2", "1"))
    assert domain.attribute("sex").labels == ("2", "1")
    assert domain.shape(("age", "sex")) == (10, 2)
    assert domain.n_cells() == 20
    assert domain.n_cells(()) == 1


def test_bins_are_half_open_and_the_last_is_closed() -> None:
    assert gd.bins(0, 30, width=10).labels == ("[0,10)", "[10,20)", "[20,30]")
    assert gd.bins(edges=[18, 65, 100], outside="other").labels == ("[18,65)", "[65,100]", "other")
    assert gd.bins(0, 0.3, 0.1).labels == ("[0,0.1)", "[0.1,0.2)", "[0.2,0.3]")


def test_decimals_mean_what_is_written() -> None:
    assert gd.bins(0, 0.3, 0.1).n_cells == 3  # 0.3/0.1 is below 3 in floats
    assert gd.bins(-0.7, 0.7, 0.1).width == Fraction(1, 10)
    column = gd.bounded(-1.5, 2.5, step=0.1)
    assert (column.low_steps, column.high_steps) == (-15, 25)


def test_integers_have_a_cell_each() -> None:
    assert gd.integers(-1, 2).labels == ("-1", "0", "1", "2")
    assert gd.integers(5, 5).n_cells == 1


@pytest.mark.parametrize("outside", ["drop", "other"])
@pytest.mark.parametrize(
    "make",
    [
        lambda outside: gd.categories(["a", "b", "c"], outside),
        lambda outside: gd.integers(3, 5, outside),
        lambda outside: gd.bins(0, 3, 1, outside=outside),
        lambda outside: gd.bins(edges=[0, 1, 5, 6], outside=outside),
    ],
)
def test_other_is_one_more_cell_the_last(make, outside: str) -> None:
    attribute = make(outside)
    assert attribute.n_inside == 3
    assert attribute.n_cells == 3 + (outside == "other")
    assert len(set(attribute.labels)) == attribute.n_cells
    assert (attribute.labels[-1] == OTHER) == (outside == "other")


def test_a_bounded_column_is_not_an_attribute() -> None:
    domain = gd.Domain.of(income=gd.bounded(0, 200_000, missing=0), sex=["1", "2"])
    assert tuple(domain.attributes) == ("sex",)
    assert domain.column("income") == BoundedColumn(Fraction(0), Fraction(200_000), Fraction(1), Fraction(0))
    with pytest.raises(UnknownName, match="attribute 'income'"):
        domain.attribute("income")
    with pytest.raises(UnknownName, match="bounded column 'sex'"):
        domain.column("sex")


def test_bounds_may_reach_the_most_steps_and_no_further() -> None:
    assert gd.bounded(-(2**40), 2**40).high_steps == MAX_STEPS
    with pytest.raises(InvalidRequest, match=r"more than 2\^40 steps"):
        gd.bounded(0, 2**40 + 1)


def test_large_whole_bounds_are_taken_as_written() -> None:
    assert gd.bounded(0, 2**60, step=2**20).high_steps == MAX_STEPS


@pytest.mark.parametrize(
    "make",
    [
        lambda: gd.integers(1, 10**12),
        lambda: gd.bins(0, 10**12, 1),
        lambda: gd.bins(0, 1e300, 1e-300),
        lambda: gd.integers(1, 10**300),
    ],
)
def test_enormous_attributes_are_never_listed(make) -> None:
    domain = gd.Domain.of(x=make(), y=["1", "2"])
    assert domain.n_cells() >= 2 * 10**12
    assert repr(domain)
    for ask in (lambda: gd.marginals(domain, "x"), lambda: gd.prefix_sums(domain, "x"), lambda: gd.ranges(domain, "x")):
        with pytest.raises(InvalidRequest, match="cells"):
            ask()


# -- refusals ----------------------------------------------------------------------------------------

REFUSED = [
    (lambda: gd.bins(10, 0, 1), "Choose low < high."),
    (lambda: gd.bins(5, 5, 1), "Choose low < high."),
    (lambda: gd.bins(NAN, 1, 1), "Pass a finite number."),
    (lambda: gd.bins(0, INFINITY, 1), "Pass a finite number."),
    (lambda: gd.bins(0, 1, NAN), "Pass a finite number."),
    (lambda: gd.bins(0, 1, 0), "Pass a positive number."),
    (lambda: gd.bins(0, 1, -1), "Pass a positive number."),
    (lambda: gd.bins(0, 10, 3), "Choose a `width` that divides high - low."),
    (lambda: gd.bins(0, 10, 20), "Choose a `width` that divides high - low."),
    (lambda: gd.bins("0", 10, 1), "Pass a finite number."),
    (lambda: gd.bins(True, 10, 1), "Pass a finite number."),
    (lambda: gd.bins(0, 10), "Pass `low`, `high` and `width`,"),
    (gd.bins, "Pass `low`, `high` and `width`,"),
    (lambda: gd.bins(0, 10, 1, outside="keep"), "Choose one of: 'drop', 'other'."),
    (lambda: gd.bins(edges=[]), "Pass two or more in order."),
    (lambda: gd.bins(edges=[1]), "Pass two or more in order."),
    (lambda: gd.bins(edges=[1, 1]), "Pass two or more in order."),
    (lambda: gd.bins(edges=[2, 1]), "Pass two or more in order."),
    (lambda: gd.bins(edges=[0, NAN]), "Pass a finite number."),
    (lambda: gd.bins(edges=[0, INFINITY]), "Pass a finite number."),
    (lambda: gd.bins(edges="12"), "Pass a finite number."),
    (lambda: gd.integers(2, 1), "Choose from <= to."),
    (lambda: gd.integers(1.5, 2), "or a larger integer"),
    (lambda: gd.integers(1, NAN), "or a larger integer"),
    (lambda: gd.integers(1, True), "or a larger integer"),
    (lambda: gd.integers(1, 2, "no"), "Choose one of: 'drop', 'other'."),
    (lambda: gd.categories([]), "List at least one category."),
    (lambda: gd.categories(["a", "a"]), "List each category once."),
    (lambda: gd.categories([1, 2]), 'Use text, such as "1".'),
    (lambda: gd.categories([["a"], ["b"]]), 'Use text, such as "1".'),
    (lambda: gd.categories([None]), 'Use text, such as "1".'),
    (lambda: gd.categories(["a", "other"], "other"), "Rename it, or use outside ="),
    (lambda: gd.categories(["a"], "maybe"), "Choose one of: 'drop', 'other'."),
    (lambda: gd.bounded(1, 0), "Choose low < high."),
    (lambda: gd.bounded(0, 0), "Choose low < high."),
    (lambda: gd.bounded(NAN, 1), "Pass a finite number."),
    (lambda: gd.bounded(0, INFINITY), "Pass a finite number."),
    (lambda: gd.bounded(0, 1, 0), "Pass a positive number."),
    (lambda: gd.bounded(0, 1, 0.3), "Round them, or choose a finer `step`."),
    (lambda: gd.bounded(0.5, 2), "Round them, or choose a finer `step`."),
    (lambda: gd.bounded(0, 2**50), "Choose a coarser `step`."),
    (lambda: gd.bounded(0, 10, missing="zero"), "Pass one of these"),
    (lambda: gd.bounded(0, 10, missing=11), "Pass one of these"),
    (lambda: gd.bounded(0, 10, missing=0.5), "Pass one of these"),
    (lambda: gd.bounded(0, 10, missing=NAN), "Pass one of these"),
    (lambda: gd.Domain.of(x="ab"), "Use a list of categories, gd.bins, gd.integers or gd.bounded."),
    (lambda: gd.Domain.of(x=3), "Use a list of categories, gd.bins, gd.integers or gd.bounded."),
    (lambda: gd.Domain.of(x={"a", "b"}), "Use a list of categories, gd.bins, gd.integers or gd.bounded."),
    (lambda: gd.Domain.of(x=[]), "List at least one category."),
    (lambda: gd.PrivacyUnit(neighbours="swap"), "Choose one of: 'add_remove', 'replace'."),
    (lambda: gd.PrivacyUnit("pid", max_rows=0), "Pass 1 or a larger integer."),
    (lambda: gd.PrivacyUnit("pid", max_rows=1.5), "Pass 1 or a larger integer."),
    (lambda: gd.PrivacyUnit(max_rows=2), "Pass the name of this column as `column`"),
]


@pytest.mark.parametrize(("ask", "advice"), REFUSED)
def test_a_bad_fact_is_refused_with_advice(ask, advice: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        ask()
    assert advice in caught.value.do
    assert str(caught.value) == f"{caught.value.what} {caught.value.do} {UNTOUCHED}"
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


@pytest.mark.parametrize(
    "ask",
    [
        lambda: gd.categories("abc"),
        lambda: gd.categories(5),
        lambda: gd.bins(edges=5),
        lambda: gd.bins(0, 10**400, 1),
        lambda: gd.bounded(0, 10**400),
        lambda: gd.PrivacyUnit(column=5),
        lambda: gd.PrivacyUnit(column=""),
    ],
)
def test_a_wrong_type_is_refused(ask) -> None:
    with pytest.raises(InvalidRequest):
        ask()


def test_a_misspelt_name_gets_a_hint() -> None:
    domain = gd.Domain.of(sex=["1", "2"], age=gd.integers(0, 9))
    with pytest.raises(UnknownName, match=r"There is no attribute 'sxe'\. Did you mean 'sex'\?"):
        domain.attribute("sxe")
    with pytest.raises(UnknownName, match=r"Choose one of: sex, age\."):
        domain.shape(["income"])
    with pytest.raises(UnknownName, match=r"the domain has none\. In a domain file, fill in a line of \[columns\]"):
        domain.column("income")


# -- the privacy unit --------------------------------------------------------------------------------


def test_a_unit_says_whom_it_protects() -> None:
    assert str(gd.PrivacyUnit()) == "one row, added or removed"
    person = gd.PrivacyUnit("pid", "replace", 3)
    assert str(person) == "the rows of one pid (at most 3), replaced by others"
    assert gd.PrivacyUnit.of(person.to_dict()) == person


@pytest.mark.parametrize(
    ("facts", "kind", "words"),
    [
        ({"colum": "pid"}, UnknownName, "Did you mean 'column'?"),
        ({"neighbours": ["replace"]}, InvalidRequest, "Choose one of"),
        ({"max_rows": "3", "column": "pid"}, InvalidRequest, "an integer of"),
        ([], InvalidRequest, "Write the keys column, neighbours, max_rows."),
        ("row", InvalidRequest, "Write the keys"),
    ],
)
def test_a_bad_unit_section_is_refused(facts, kind: type[GaugedpError], words: str) -> None:
    with pytest.raises(kind) as caught:
        gd.PrivacyUnit.of(facts)
    assert words in str(caught.value)


# -- files -------------------------------------------------------------------------------------------

GOOD = """
name = "people"
[unit]
column = "pid"
max_rows = 3
[attributes]
SEX = ["1", "2"]
AGEP = { low = 0, high = 100, width = 10, outside = "other" }
EDU = { from = 1, to = 12 }
INC = { edges = [0, 10.5, 20] }
RAC = { values = ["a", "b"], outside = "other" }
[columns]
PINCP = { low = 0, high = 200000, step = 1, missing = "drop" }
WAGE = { low = -1.5, high = 2, step = 0.5, missing = 0 }
HOURS = { low = 0, high = 98, unknown = [99, -1] }
"""


def test_a_file_says_the_same_as_python(tmp_path) -> None:
    path = tmp_path / "domain.toml"
    path.write_text(GOOD)
    expected = gd.Domain.of(
        SEX=["1", "2"],
        AGEP=gd.bins(0, 100, 10, outside="other"),
        EDU=gd.integers(1, 12),
        INC=gd.bins(edges=[0, 10.5, 20]),
        RAC=gd.categories(["a", "b"], "other"),
        PINCP=gd.bounded(0, 200_000),
        WAGE=gd.bounded(-1.5, 2, 0.5, 0),
        HOURS=gd.bounded(0, 98, unknown=[-1, 99, 99.0]),
    )
    domain = gd.Domain.load(path)
    assert domain == gd.Domain(expected.attributes, expected.columns, "people")
    assert isinstance(domain.attribute("INC"), EdgeBins)
    assert gd.PrivacyUnit.load(str(path)) == gd.PrivacyUnit("pid", max_rows=3)


def test_codes_for_unknown_numbers_tell_questions_apart() -> None:
    """A stored answer of before there were codes is still found; one with other codes is another question."""
    plain, coded = gd.bounded(0, 98), gd.bounded(0, 98, unknown=[99])
    step = "Fraction(1, 1), missing=None)"
    assert repr(plain) == f"BoundedColumn(low=Fraction(0, 1), high=Fraction(98, 1), step={step}"
    questions = [gd.query(gd.Domain.of(HOURS=one), "mean(HOURS)") for one in (plain, coded)]
    assert questions[0].digest() != questions[1].digest()
    assert "HOURS = 99 counts as missing." in query_rules(questions[1])[0]


def test_codes_of_many_digits_are_exact() -> None:
    code = 2**62 + 1
    domain = gd.Domain.of(x=gd.bounded(0, 10, unknown=[code]))
    rows = pa.table({"x": pa.array([code, code - 1, code + 1, 5])})
    (known,) = gd.Table.scan(rows, domain=domain).totals([Aggregate((), "x", present=True)], b"key")
    assert known.tolist() == [3]


def test_a_short_file_has_defaults(tmp_path) -> None:
    path = tmp_path / "survey.toml"
    path.write_text('attributes.A = ["x"]')
    assert gd.Domain.load(path).name == "survey"
    assert gd.PrivacyUnit.load(path) == gd.PrivacyUnit()


@pytest.mark.parametrize("start", [b"\xef\xbb\xbf", b""])
def test_a_byte_order_mark_and_windows_lines_are_read(tmp_path, start: bytes) -> None:
    (tmp_path / "survey.toml").write_bytes(start + 'name = "é"\r\nattributes.A = ["x"]\r\n'.encode())
    assert gd.Domain.load(tmp_path / "survey.toml").name == "é"


@pytest.mark.parametrize("coding", ["latin-1", "utf-16"])
def test_another_coding_is_told(tmp_path, coding: str) -> None:
    (tmp_path / "survey.toml").write_bytes('name = "é"'.encode(coding))
    with pytest.raises(InvalidRequest, match=r"is not UTF-8\. Save it as UTF-8\."):
        gd.Domain.load(tmp_path / "survey.toml")


BROKEN = [
    ("name = ", "is not TOML"),
    ("a = 1\na = 2", "is not TOML"),
    ("[attributes]\nA = {outsid = 0}", "In attribute A: there is no key 'outsid'. Did you mean 'outside'?"),
    ("[attributes]\nA = {from = 1, to = 2, title = 'a'}", "tree, keys, look_up, label, labels, phrase, unit"),
    ("[attributes]\nA = {from = 1, to = 2, units = 'a'}", "Did you mean 'unit'?"),
    ("[columns]\nA = {low = 0, high = 1, name = 'a'}", "step, missing, unknown, label, labels, phrase, unit"),
    ("name = 3", "Write it in quotes."),
    ("attribute = {}", "Did you mean 'attributes'?"),
    ("attributes = 3", "Write it as a [attributes] section."),
    ("columns = []", "Write it as a [columns] section."),
    ("[attributes]\nA = 3", "Write the keys"),
    ("[attributes]\nA = {}", "low = 0, high = 100, width = 10"),
    ("[attributes]\nA = {low = 0}", "low = 0, high = 100, width = 10"),
    ("[attributes]\nA = {low = 0, high = 1, width = 1, from = 2}", "do not form any of the descriptions"),
    ("[attributes]\nA = {hihg = 0}", "Did you mean 'high'?"),
    ("[attributes]\nA = {from = 1, to = 2.5}", "an integer of"),
    ("[attributes]\nA = {from = 1, to = 2, outside = 3}", "Choose one of"),
    ("[attributes]\nA = []", "List at least one category."),
    ("[attributes]\nA = [1, 2]", "Use text, such as"),
    ("[attributes]\nA = {low = nan, high = 1, width = 1}", "finite"),
    ("[attributes]\nA = {low = 0, high = inf, width = 1}", "finite"),
    ("[attributes]\nA = {low = 1979-05-27, high = 1, width = 1}", "In attribute A: `low` is a date, but"),
    ("[attributes]\nA = {edges = [1, 1979-05-27]}", "In attribute A: `edges` is a date"),
    ("[attributes]\nA = {from = 1, to = 2020-01-01T07:00:00}", "In attribute A: `to` is a date"),
    ("[columns]\nA = {low = '1979-05-27', high = 1}", "In column A: `low` is a date"),
    ("[columns]\nA = {low = 0, high = '31.12.2024'}", "In column A: `high` is a date"),
    ("[attributes]\nA = {min = 0, max = 1, width = 1}", "In attribute A: there is no key 'min'. Use 'low'."),
    ("[columns]\nA = {low = 0, max = 1}", "In column A: there is no key 'max'. Use 'high'."),
    ("[attributes]\nA = {low = 0, high = 10, width = 3}", "In attribute A: Bins of width 3 do not fill"),
    ("[attributes]\nA = {values = ['1', '1']}", "In attribute A: A category appears twice"),
    ("[columns]\nA = {low = 1, high = 0}", "In column A: `low` is 1"),
    ("[columns]\nA = 3", "Write the keys"),
    ("[columns]\nA = {low = 0}", "Specify low and high from public knowledge, never from the data."),
    ("[columns]\nA = {low = 0, high = 1, width = 3}", "In column A: there is no key 'width'."),
    ("[columns]\nA = {low = 0, high = 1, missing = true}", "missing"),
    ("[columns]\nA = {low = 0, high = 1, unknown = 99}", "In column A: `unknown` is 99, not a list of codes"),
    ("[columns]\nA = {low = 0, high = 1, unknown = ['99']}", "Pass a list"),
    ("[columns]\nA = {low = 0, high = 1, unknown = [nan]}", "Pass a list"),
    ("[columns]\nA = {low = 0, high = 1, unknwon = [9]}", "Did you mean 'unknown'?"),
]


@pytest.mark.parametrize(("text", "words"), BROKEN)
def test_a_broken_file_is_refused(tmp_path, text: str, words: str) -> None:
    path = tmp_path / "domain.toml"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(GaugedpError) as caught:
        gd.Domain.load(path)
    assert words in str(caught.value)
    assert UNTOUCHED in str(caught.value)


def test_a_missing_file_is_named(tmp_path) -> None:
    for path in (tmp_path / "no.toml", str(tmp_path / "none" / "no.toml")):
        for load in (gd.Domain.load, gd.PrivacyUnit.load):
            with pytest.raises(InvalidRequest, match=r"There is no domain file .*no\.toml.*Check the path\."):
                load(path)


def test_a_folder_is_no_domain_file(tmp_path) -> None:
    with pytest.raises(InvalidRequest, match=r"cannot be read .* Check the path\."):
        gd.Domain.load(tmp_path)


# -- made-up files -----------------------------------------------------------------------------------

WORDS = st.sampled_from(
    ["values", "low", "high", "width", "edges", "from", "to", "outside", "step", "missing", "other"]
)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 20),
    st.integers(-(10**400), 10**400),
    st.floats(),
    st.text(max_size=3),
    st.sampled_from(["drop", "other", "a", "1", "nan"]),
    st.dates(),
)
LISTS = st.lists(st.one_of(SCALARS, st.lists(SCALARS, max_size=2)), max_size=4)
FACTS = st.one_of(SCALARS, LISTS, st.dictionaries(st.one_of(WORDS, st.text(max_size=2)), SCALARS | LISTS, max_size=5))
SECTION = st.one_of(SCALARS, LISTS, st.dictionaries(st.text(max_size=3), FACTS, max_size=3))
TOP = st.sampled_from(["name", "unit", "attributes", "columns", "extra"])
UNIT = st.dictionaries(st.sampled_from(["column", "neighbours", "max_rows", "x"]), SCALARS | LISTS, max_size=3)


def only_a_refusal(make) -> object:
    try:
        return make()
    except GaugedpError:
        return None


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(st.dictionaries(TOP, st.one_of(SECTION, UNIT), max_size=4))
def test_whatever_the_file_says_only_a_refusal_comes_out(facts) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gaugedp.domain.toml.read_toml", lambda _: facts)
        domain = only_a_refusal(lambda: gd.Domain.load("domain.toml"))
        only_a_refusal(lambda: gd.PrivacyUnit.load("domain.toml"))
    assert domain is None or domain.n_cells() >= 1


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(WORDS, SCALARS | LISTS, min_size=1, max_size=4))
def test_whatever_an_attribute_says_only_a_refusal_comes_out(facts) -> None:
    from gaugedp.domain.toml import _attribute, _column

    attribute = only_a_refusal(lambda: _attribute("A", facts))
    column = only_a_refusal(lambda: _column("A", facts, Path()))
    assert attribute is None or attribute.n_cells >= 1
    assert column is None or column.low < column.high


@settings(max_examples=100, deadline=None)
@given(st.integers(-50, 50), st.integers(1, 12), st.integers(1, 40))
def test_bins_cover_what_they_say(low: int, count: int, width_tenths: int) -> None:
    width = width_tenths / 10
    attribute = gd.bins(low, float(low + Fraction(count * width_tenths, 10)), width)
    assert attribute.n_cells == count
    assert attribute.high == low + Fraction(count * width_tenths, 10)


def test_cells_run_in_product_order() -> None:
    domain = gd.Domain.of(a=["x", "y"], b=gd.integers(1, 3), c=gd.categories(["u"], "other"))
    cells = [cell for _, cell in gd.marginals(domain, ("c", "a", "b")).labels]
    labels = [[f"{name}={label}" for label in domain.attribute(name).labels] for name in ("c", "a", "b")]
    assert cells == [", ".join(cell) for cell in product(*labels)]


def test_the_table_protects_whom_the_domain_file_names(tmp_path: Path) -> None:
    (tmp_path / "visits.csv").write_text("pid,kind\n1,a\n1,b\n2,a\n")
    (tmp_path / "visits.toml").write_text('[unit]\ncolumn = "pid"\nmax_rows = 3\n[attributes]\nkind = ["a", "b"]\n')
    domain = gd.Domain.load(tmp_path / "visits.toml")
    assert gd.Table.scan(tmp_path / "visits.csv", domain=domain).unit == gd.PrivacyUnit("pid", max_rows=3)
    requested = gd.PrivacyUnit("pid", "replace", 2)
    assert gd.Table.scan(tmp_path / "visits.csv", domain=domain, unit=requested).unit == requested
    with pytest.raises(InvalidRequest, match=r"protects the rows of one pid.*Omit `unit`"):
        gd.Table.scan(tmp_path / "visits.csv", domain=domain, unit=gd.PrivacyUnit())


def test_a_unit_of_many_rows_has_a_rule() -> None:
    assert gd.PrivacyUnit().rules == []
    assert "Only one row of each pid counts" in gd.PrivacyUnit("pid").rules[0]
    assert "At most 3 rows of each pid count," in gd.PrivacyUnit("pid", max_rows=3).rules[0]
    assert gd.PrivacyUnit("pid").rules[1] == "Rows whose pid is missing are left out of every query."


@pytest.mark.parametrize("facts", [({"a": ["x"]},), (["a", "b"],), ({}, {"v": (0, 1)}), ({"v": gd.bounded(0, 1)},)])
def test_a_domain_by_its_parts_takes_facts_alone(facts: tuple) -> None:
    with pytest.raises(InvalidRequest, match=r"Use gd\.Domain\.of"):
        gd.Domain(*facts)


def test_categories_that_no_engine_can_hold_are_refused_before_anything_is_paid() -> None:
    with pytest.raises(InvalidRequest, match="half of a surrogate pair"):
        gd.categories(["a", "\ud800"])
    assert gd.categories(["a", "\U0001f600"]).values[1] == "\U0001f600"


def test_only_a_person_with_one_row_is_made_one() -> None:
    rows, made = gd.Domain.of(kind=["a", "b"]), {"n": gd.PerPerson.count(gd.integers(0, 3))}
    for unit in (gd.PrivacyUnit(), gd.PrivacyUnit("pid", max_rows=2)):
        with pytest.raises(InvalidRequest, match="Name the column that identifies persons"):
            rows.by_person(unit, made)
    people = rows.by_person(gd.PrivacyUnit("pid", "replace"), made)
    assert str(people.unit) == "the rows of one pid (aggregated into one row), replaced by others"
    assert people.unit.rules[0] == "All rows of each pid are aggregated into one row: each pid counts once."
    assert gd.PrivacyUnit.of(people.unit.to_dict()) == people.unit
    assert people.protected(gd.PrivacyUnit("pid")).as_one
    assert not rows.protected(people.unit).as_one
    with pytest.raises(InvalidRequest, match="does not specify how a person's rows are aggregated"):
        people.by_person(people.unit, made)
    with pytest.raises(InvalidRequest, match="does not specify how a person's rows are aggregated"):
        rows.by_person(gd.PrivacyUnit("pid"), {})
    with pytest.raises(UnknownName, match="kind is a column of rows, but this domain aggregates all rows of a person"):
        people.attribute("kind")


@pytest.mark.parametrize("person", ["pid", "id"])
def test_persons_are_those_of_the_unit(person: str) -> None:
    table = pa.table({"pid": [1, 1, 2], "id": [1, 2, 2], "kind": ["a", "b", "a"]})
    rows = gd.Table.scan(table, domain=gd.Domain.of(kind=["a", "b"]), unit=gd.PrivacyUnit("pid"))
    if person == "pid":
        assert gd.by_person(rows, person, kind=gd.PerPerson.max("kind")).unit.as_one
        return
    with pytest.raises(InvalidRequest, match=r"Scan it with unit=gd.PrivacyUnit\('id'\)"):
        gd.by_person(rows, person, kind=gd.PerPerson.max("kind"))
