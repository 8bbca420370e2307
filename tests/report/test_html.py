"""The report is made from a release alone, needs nothing from elsewhere, and shows every text as a text."""

import dataclasses
import importlib.util
import json
import re
from collections.abc import Sequence
from html.parser import HTMLParser
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import gaugedp as gd
from gaugedp._internal.language import translated, written_in
from gaugedp.errors import MissingExtra
from gaugedp.releases.tidy.in_words import rules
from gaugedp.report import check_installed, render
from gaugedp.report.account import _percents as percents
from gaugedp.report.account import meter
from gaugedp.report.figures import answers as answers_shown
from gaugedp.report.terms import labels, read_terms
from gaugedp.report.words import in_detail, neighbours
from gaugedp.tables.aggregate import Rows

pytest.importorskip("matplotlib", reason="matplotlib is not installed: the extra gaugedp[report]")

CI = "95% confidence interval"
DOMAIN = gd.Domain.of(SEX=["1", "2"], AGEP=gd.bins(0, 100, width=10), EDU=gd.integers(1, 13), INC=gd.bounded(0, 1000))
ODD = [
    "<script>alert(1)</script>",
    "$\\frac{1$",
    'a & "b"',
    "it's",
    "two\nlines\x00\u202e",
    "a, S=b",
    "日本語",
]
VOID = ("meta",)


class Stand(Rows):
    """What a release needs of a table: made-up totals, no engine."""

    name = "people"

    def __init__(self, domain: gd.Domain, unit: gd.PrivacyUnit) -> None:
        self.domain, self.unit = domain, unit

    def totals(self, wanted: Sequence[Any], _: bytes) -> list[np.ndarray]:
        return [20 * np.arange(self.domain.n_cells(one.attributes)) for one in wanted]


def made(question: Any, domain: gd.Domain = DOMAIN, place: str | Path = ":memory:", **requested: Any) -> gd.Release:
    """A release of made-up totals; the seed is for tests."""
    query = gd.query(domain, question) if isinstance(question, str) else question
    budget = requested.pop("budget", gd.PureDP(2.0))
    unit = requested.pop("unit", gd.PrivacyUnit())
    requested = {"rng": gd.research_rng(7), **(requested or {"epsilon": 0.5})}
    ledger = gd.Ledger.open(place, budget=budget)
    return gd.release(query, Stand(domain, unit), ledger=ledger, **requested)  # type: ignore[arg-type]


class Reader(HTMLParser):
    """Collects ids, links, headings and texts, and checks that elements close in order."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.tags: list[str] = []
        self.texts: list[str] = []
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for key, value in attrs:
            self.ids += [value or ""] if key == "id" else []
            self.links += [value or ""] if key in ("href", "src") else []
            self.links += [f"#{link}" for link in re.findall(r"url\(#(.*?)\)", value or "")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def text(page: str) -> str:
    return " ".join(Reader(page).texts).replace("\u00a0", " ")


@pytest.fixture(scope="module")
def answer() -> gd.Release:
    return made("SEX; AGEP; SEX*AGEP; EDU*AGEP; prefix(AGEP); count")


@pytest.fixture(scope="module")
def page(answer: gd.Release) -> str:
    return render(answer)


@pytest.mark.slow
def test_nothing_is_fetched_and_nothing_runs(page: str) -> None:
    reader = Reader(page)
    assert "http" not in page
    assert not {"script", "link", "img", "iframe", "object"} & set(reader.tags)
    assert all(link.startswith("#") and link[1:] in reader.ids for link in reader.links)
    assert "@import" not in page
    assert re.findall(r"url\((?!#)", page) == []


@pytest.mark.slow
def test_ids_are_unique_and_headings_in_order(page: str) -> None:
    reader = Reader(page)
    assert len(reader.ids) == len(set(reader.ids))
    levels = [int(tag[1]) for tag in reader.tags if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(b - a <= 1 for a, b in pairwise(levels))
    assert page.startswith('<!DOCTYPE html>\n<html lang="en">')
    assert page.count("<svg") == page.count('role="img" aria-label=') - page.count('class="meter"') == 5


@pytest.mark.slow
def test_every_answer_and_fact_is_shown(answer: gd.Release, page: str) -> None:
    shown = text(page)
    cells = (cell for term in read_terms(answer) for cell in labels(term))
    for cell, *numbers in zip(cells, *(answer.columns()[name] for name in ("estimate", "lower", "upper")), strict=True):
        row = "".join(f"<td>{f'{number:,}'.replace('-', '−')}</td>" for number in numbers)
        estimate, low, high = (f"{number:,}".replace("-", "−") for number in numbers)
        single = f"<strong>{estimate}</strong></p><p>95% confidence interval: {low} to {high}<"
        assert (single if cell == "all" else f'<th scope="row">{cell}</th>{row}') in page
    paid = answer.facts["account"]
    for expected in (
        answer.facts["query"],
        "people",
        "ε = 0.5",
        "ε = 1.5",
        "exact",
        answer.facts["digest"],
        paid["tip"],
    ):
        assert expected in shown
    for rule in rules(answer.facts, answer.captions, answer.terms):
        assert rule in shown
    assert "probability of at least 95%" in shown


def test_the_same_release_gives_the_same_bytes(answer: gd.Release, page: str) -> None:
    again = gd.Release.from_json(answer.to_json())
    assert render(again) == render(answer) == page


def test_texts_of_the_domain_stay_texts() -> None:
    domain = gd.Domain.of(**{'N<b>&"$x$': ODD, "S": ["b", "c, S=b"]})
    names = tuple(domain.attributes)
    page = render(made(gd.marginals(domain, names[:1], names[1:], names), domain))
    assert "<script" not in page
    assert "<b>&" not in page
    assert not {"\x00", "\u202e"} & set(page)
    assert "$\\frac{1$" in text(page)
    assert 'N<b>&"$x$' in text(page)
    page.encode("utf-8")


@pytest.mark.parametrize("seeded", [True, False])
@pytest.mark.parametrize("durable", [True, False])
def test_warnings_appear_when_they_should(seeded: bool, durable: bool, tmp_path: Path) -> None:
    place = tmp_path / "a.ledger" if durable else ":memory:"
    shown = text(render(made("SEX", place=place, epsilon=0.5, rng=gd.research_rng(1) if seeded else None)))
    assert ("protects nobody" in shown) == seeded
    assert ("kept in memory only" in shown) == (not durable)


def test_without_matplotlib_it_is_refused(answer: gd.Release, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    for refused in (check_installed, lambda: render(answer)):
        with pytest.raises(MissingExtra, match=r"gaugedp\[report\]"):
            refused()


GUARANTEES = [
    (
        gd.PureDP(2),
        {"epsilon": 0.5},
        ("by a factor of at most 1.65 (e to", "62.3%", "This release used 25% of the privacy budget"),
    ),
    (
        gd.ApproxDP(2, 1e-5),
        {"epsilon": 0.5, "delta": 1e-6},
        ("shares refer to ε.", "This release used 25% of the privacy budget"),
    ),
    (gd.ZCDP(2), {"rho": 0.02}, ("concentrated", "and δ = 10⁻⁶.", "This release used 1% of the privacy budget")),
    (
        gd.GaussianDP(1),
        {"mu": 0.5},
        ("shifted by 0.5 standard deviations", "This release used 25% of the privacy budget"),
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize(("budget", "requested", "wanted"), GUARANTEES)
def test_guarantees_in_words(budget: Any, requested: dict[str, float], wanted: tuple[str, ...]) -> None:
    shown = text(render(made("EDU; AGEP; SEX; SEX*EDU; SEX*AGEP", budget=budget, **requested)))
    for words in wanted:
        assert words in re.sub(r"\s+", " ", shown)
    flag = " ".join(f"--{name} {value}" for name, value in requested.items())
    assert flag in shown


def test_units_in_words() -> None:
    unit = gd.PrivacyUnit(column="pid", neighbours="replace", max_rows=3)
    shown = text(render(made("SEX", unit=unit, epsilon=0.5)))
    assert "all records with the same pid, of which at most 3 are used" in shown
    assert "which of two possible versions of the records of a given pid is in the data" in shown
    people = gd.Domain.of(a=["1"]).by_person(gd.PrivacyUnit("pid"), {"a": gd.PerPerson.max("a")}).unit
    assert "all records with the same pid, which are aggregated into one record." in neighbours(people.to_dict())


def test_a_rule_about_the_rows_of_a_unit_stands_beside_the_bars() -> None:
    unit = gd.PrivacyUnit(column="pid", max_rows=3)
    for answer in (made("SEX", unit=unit, epsilon=0.5), made("SEX", unit=unit, epsilon=0.5).processed("rounded")):
        shown = text(render(answer))
        assert translated(unit.rules[0]) in shown
    assert "drawn at random" not in text(render(made("SEX", epsilon=0.5)))


def test_a_guarantee_without_a_formula_stands_behind_the_one_that_was_asked_for() -> None:
    answer = made("SEX", epsilon=0.5)
    composed = gd.guarantees.LaplaceLoss(4.0) + gd.PureDP(0.25)
    shown = text(render(dataclasses.replace(answer, guarantee=composed)))
    assert f"ε = 0.5 (in detail: {composed!r})" in shown
    assert "(in detail" not in text(render(answer))


SHARES = [
    ([0.25, 0.12525, 0.62475], [25, 13, 62]),
    ([0.30005, 0.125, 0.57495], [30, 12, 58]),
    ([1 / 3, 1 / 3, 1 / 3], [33, 33, 34]),
    ([0.5 / 3, 1 / 3 - 0.5 / 3, 2 / 3], [17, 17, 66]),  # two equal releases
    ([0.335, 0.665, 0.0], [34, 66, "none"]),
    ([0.0, 0.5, 0.5], ["none", 50, 50]),
    ([0.003, 0.5, 0.497], ["less than 1", 50, 50]),
    ([0.0, 1.0, 0.0], ["none", 100, "none"]),
    ([0.29, 0.57, 0.14], [29, 57, 14]),
]


@pytest.mark.parametrize(("shares", "wanted"), SHARES, ids=str)
def test_percentages_of_the_bar_add_up(shares: list[float], wanted: list[int | str]) -> None:
    assert percents(shares) == [one if one == "none" else f"{one}%" for one in wanted]


def test_the_key_stands_in_both_commands() -> None:
    page = text(render(made("SEX", epsilon=0.5, key="2018 'counts'")))
    assert """--ledger LEDGER --key '2018 '"'"'counts'"'"''""" in page
    assert """key="2018 'counts'",""" in page
    old = made("SEX", epsilon=0.5)
    del old.facts["account"]["key"]
    assert "--key" not in text(render(old))


def test_a_mechanism_of_the_caller_is_not_compared() -> None:
    mechanism = gd.plan(gd.query(DOMAIN, "SEX"), gd.PrivacyUnit(), epsilon=0.5).mechanism
    page = render(made("SEX", mechanism=mechanism))
    assert "no mechanisms were compared" in page
    assert "mechanism=mechanism" in page
    assert "gaugedp release" not in page


@pytest.mark.slow
def test_many_terms_and_many_cells_stay_small() -> None:
    names = {f"A{i}": [str(j) for j in range(12)] for i in range(6)}
    domain = gd.Domain.of(**names)
    sets = [chosen for size in (1, 2) for chosen in combinations(names, size)]
    page = render(made(gd.marginals(domain, *sets), domain))
    assert page.count("<svg") == 21
    assert len(page) < 600_000
    huge = gd.Domain.of(A=gd.integers(1, 100), B=gd.integers(1, 50))
    page = render(made("A*B; A", huge))
    assert page.count("<svg") == 1
    assert "5,000 cells are too many for a chart" in page
    assert "first 50 of 5,000 rows" in page
    assert len(page) < 100_000


def test_numbers_are_as_exact_as_their_bars() -> None:
    from gaugedp.report.figures import answer as shown
    from gaugedp.report.figures import factor_up, percent_up, short

    assert shown(7244, 7214, 7274) == ("7,244", "7,214", "7,274")
    assert shown(-3.0, -33.0, 27.0) == ("−3", "−33", "27")
    assert shown(193401755, 190406023, 196397487) == ("193,400,000", "190,400,000", "196,400,000")
    assert shown(45678.91, 45555.5, 45802.3) == ("45,679", "45,555", "45,803")
    assert shown(0.123456, 0.12, 0.1269) == ("0.12346", "0.12000", "0.12690")
    assert shown(5.0, 5.0, 5.0) == ("5", "5", "5")
    assert (factor_up(1.0), factor_up(1e-6), percent_up(0.62246)) == ("2.72", "1.0000011", "62.3%")
    assert (short(83.4339), short(12345.6), short(2.1e-7), short(0)) == ("83.43", "12,346", "2.1 × 10⁻⁷", "0")


@pytest.mark.slow
def test_names_in_quotes_are_shown_without_them() -> None:
    domain = gd.Domain.of(**{"Sex*Age": ["x", "y"], "B": ["1", "2"], "Income (EUR)": gd.bounded(0, 10)})
    text = '"Sex*Age"*B; prefix("Sex*Age"); mean("Income (EUR)") by "Sex*Age"'
    pair, runs, mean = read_terms(made(text, domain))
    assert (pair.names, mean.names) == (("Sex*Age", "B"), ("Sex*Age",))
    assert mean.meaning == "Mean Income (EUR) by Sex*Age"
    assert runs.meaning == "Number of rows up to and including each cell of Sex*Age"
    assert runs.levels == (("to x", "to y"),)


def test_cells_are_factored_only_where_that_is_certain() -> None:
    domain = gd.Domain.of(A=["1", "2"], B=["x", "y, B=x"])
    first, pair, runs, upto = read_terms(made("A; A*B; ranges(A); prefix(A)", domain))
    assert (first.names, first.levels) == (("A",), (("1", "2"),))
    assert (pair.names, pair.levels) in [((), ()), (("A", "B"), (("1", "2"), ("x", "y, B=x")))]
    assert runs.levels == (("1 to 1", "1 to 2", "2 to 2"),)
    assert upto.levels == (("to 1", "to 2"),)


def test_sums_and_means_name_their_column() -> None:
    facts = json.loads(made("SEX; sum(INC) by SEX; mean(INC) by SEX").to_json())
    shown = text(render(gd.Release.from_json(json.dumps(facts))))
    assert "Sum of INC by SEX" in shown
    assert "Mean INC by SEX" in shown


def test_the_commands_name_the_domain_file(tmp_path: Path) -> None:
    file = tmp_path / "my persons.toml"
    file.write_text('[attributes]\nSEX = ["1", "2"]\n', encoding="utf-8")
    page = text(render(made("SEX", gd.Domain.load(file))))
    assert "--domain 'my persons.toml'" in page
    assert 'gd.Domain.load("my persons.toml")' in page
    assert "domain.toml" not in page
    assert str(tmp_path) not in page


def test_who_is_protected_stands_before_the_mechanisms(page: str) -> None:
    assert page.index("Who is protected") < page.index("Mechanisms compared")


def test_what_a_median_keeps_exactly_is_folded() -> None:
    page = render(made("SEX", epsilon=0.5))
    assert "In detail" not in page
    exponential = gd.guarantees.ExponentialLoss(0.25)
    page = render(dataclasses.replace(made("SEX", epsilon=0.5), guarantee=2 * exponential))
    assert (
        '<summary>In detail</summary><p class="small">Sum of ε over the parts of the release: 2 × 0.25 ≈ 0.5<' in page
    )


@pytest.mark.parametrize(
    ("question", "said"), [("SEX", True), ("sum(PAY)", True), ("median(PAY)", False), ("mean(PAY)", False)]
)
def test_that_counts_need_not_add_up_stands_beside_counts_and_sums(question: str, said: bool) -> None:
    domain = gd.Domain.of(SEX=["1"], PAY=gd.bounded(0, 10))
    table = gd.Table.scan(pa.table({"SEX": ["1"] * 50, "PAY": [5] * 50}), domain=domain)
    ledger = gd.Ledger.in_memory(gd.PureDP(1))
    page = render(gd.release(gd.query(domain, question), table, ledger=ledger, epsilon=1))
    assert ("counts can be negative, and parts may not add up" in page) is said


def of_incomes(question: str, is_of_before: bool = False) -> str:
    """The text of the report of a question about incomes, also of before each quantile had an interval of its own."""
    domain = gd.Domain.of(SEX=["1", "2"], PAY=gd.bounded(0, 100, step=0.5))
    table = gd.Table.scan(pa.table({"SEX": ["1", "2"] * 300, "PAY": [5.5, 7.25] * 300}), domain=domain)
    ledger = gd.Ledger.in_memory(gd.PureDP(2))
    answer = gd.release(gd.query(domain, question), table, ledger=ledger, epsilon=1)
    facts = json.loads(answer.to_json())
    if is_of_before:
        n_numbers = 3 * len(answer.labels)
        facts["numbers"] = facts["numbers"][:n_numbers]
        facts["steps"] = [[n_numbers, step] for _, step in facts["steps"]]
        described = facts["estimates"][0]
        facts["estimates"][0] = {"answers": described["answers"], "ends": described.get("level", 0.95)}
    return text(render(gd.Release.from_json(json.dumps(facts))))


@pytest.mark.parametrize(
    ("question", "level"), [("quantiles(PAY, 0.25, 0.5)", "95"), ("quantiles(PAY, 0.5, level=0.99) by SEX", "99")]
)
def test_bars_of_quantiles_of_before_are_said_to_hold_at_once(question: str, level: str) -> None:
    shown = of_incomes(question, is_of_before=True)
    assert "individual" not in shown
    assert f"ranges in sentences and tables, are simultaneous {level}% confidence intervals" in shown
    assert f"Estimates with {level}% intervals (simultaneous)" in shown
    assert f"estimates with {level}% error bars (simultaneous)" in shown


@pytest.mark.parametrize("question", ["quantiles(PAY, 0.25, 0.5)", "SEX", "mean(PAY) by SEX", "SEX; median(PAY)"])
def test_a_page_has_one_kind_of_interval_and_names_it(question: str) -> None:
    shown = of_incomes(question)
    assert shown.count("ranges in sentences and tables, are 95% confidence intervals for individual estimates") == 1
    assert "are simultaneous" not in shown
    assert "(simultaneous)" not in shown


def test_a_single_bar_holds_alone() -> None:
    shown = of_incomes("median(PAY)")
    assert "95% confidence interval: " in shown
    assert "intervals (simultaneous)" not in shown


def test_what_a_chart_says_is_what_its_table_says() -> None:
    shown = of_incomes("mean(PAY) by SEX")
    smallest, at = re.findall(r"The smallest estimate is ([\d.]+) \(SEX: ([12])\)", shown)[0]
    assert re.search(rf"\s{at}\s+{re.escape(smallest)}\s", shown), "the same digits"


def test_the_account_is_rounded_to_its_sides() -> None:
    answer = made("SEX", budget=gd.ZCDP(0.1), rho=0.02)
    answer.facts["account"].update(spent="ZCDP(0.0199999999999)", remaining="ZCDP(0.0800000000001)")
    shown = re.sub(r"\s+", " ", text(render(answer)))
    assert "Spent in total ρ = 0.02 Left ρ = 0.08 Budget ρ = 0.1" in shown
    best = made("SEX", budget=gd.guarantees.RenyiBudget(4, 1e-6), epsilon=0.5)
    shown = re.sub(r"\s+", " ", text(render(best)))
    assert re.search(r"Spent in total ε = 0\.5\d+ Left ε = 3\.4\d+ Budget RenyiBudget\(4, 1e-06\)", shown)


BROKEN_DOWN = gd.Domain.of(
    when=gd.dates("2017-01", "2017-06", by="month"),
    where=["n", "s"],
    area=[str(i) for i in range(9)],
    pay=gd.bins(edges=[0, 10, 20, 40, 1000], outside="other"),
)


def chart(text: str) -> tuple[Any, Any]:
    """The term of a question, and the form of its chart."""
    from gaugedp.report.layout import arrange

    (term,) = read_terms(made(text, BROKEN_DOWN))
    return term, arrange(term, compact=False)


def test_time_is_drawn_as_lines_with_one_for_each_cell_of_another_attribute() -> None:
    assert chart("when")[1].form == "line"
    _, lines = chart("where*when")
    assert (lines.form, lines.series, lines.title) == ("line", ("n", "s"), "when")
    assert lines.at.tolist() == [*range(6)] * 2
    assert lines.of_series.tolist() == [0] * 6 + [1] * 6
    assert chart("when*area")[1].form != "line", "nine lines are too many"
    assert chart("where")[1].form == "dots"
    assert chart("change(when) by where")[1].at.max() == 4
    assert lines.joined.all()


def test_no_line_leads_to_a_cell_that_is_no_time() -> None:
    from gaugedp.report.layout import LineLayout, arrange

    when = gd.dates("2017-01", "2017-06", by="month", outside="other")
    release = made("where*when", gd.Domain.of(when=when, where=["n", "s"]))
    lines = arrange(read_terms(release)[0], compact=False)
    assert isinstance(lines, LineLayout)
    assert lines.at[~lines.joined].tolist() == [6, 6]


def test_an_axis_of_numbers_has_their_unit() -> None:
    captions = gd.Captions(columns={"pay": gd.Caption("wage", unit="euros")})
    assert "wage (euros)" in render(made("pay", BROKEN_DOWN.with_captions(captions)))


def test_counts_of_numbers_are_areas_over_their_true_widths() -> None:
    _, areas = chart("pay")
    assert areas.form == "histogram"
    assert areas.left.tolist() == [0, 10, 20, 40]
    assert areas.right.tolist() == [10, 20, 40, 60], "the last is cut: it would be fifty times as long as others"
    assert areas.cut == 1000
    assert areas.per_count.tolist() == [1, 1, 0.5, 10 / 960], "heights tell counts for each 10"
    assert "“other” is shown only in the table" in areas.remark
    left_out = "The category “other” is not included in this comparison."
    page = render(made("pay", BROKEN_DOWN))
    assert "Number of rows per 10" in page
    assert "… 1,000" in page
    assert left_out in page
    assert left_out not in render(made("area", BROKEN_DOWN))
    assert chart("pay*where")[1].form == "dots"
    assert chart("index(pay)")[1].form == "dots", "no counts"


def test_tables_of_two_attributes_stand_wide_and_every_answer_is_in_them() -> None:
    from gaugedp.report.answers import wide_table
    from gaugedp.report.findings import finding

    term, _ = chart("area*where")
    written = wide_table(term)
    assert written.count("<tr>") == 1 + 9
    assert "area, by where" in written
    for middle, low, high in answers_shown(term.estimate, term.lower, term.upper):
        assert f"{middle} <small>{low}\u00a0to {high}</small>" in written
    turned = chart("where*area")[0]
    assert "area, by where" in wide_table(turned), "nine columns would be too many"
    first = next(iter(answers_shown(turned.estimate, turned.lower, turned.upper)))[0]
    assert re.findall(r"<td>([^ <]*)", wide_table(turned))[0] == first
    assert wide_table(chart("area")[0]) == ""
    changed = dataclasses.replace(term, estimate=np.where(np.arange(18) == 7, 900.0, term.estimate))
    assert finding(changed).startswith(f"The number of rows was highest for area 3, where “s”, at 900 ({CI}: ")
    assert finding(changed).endswith(
        "It is not certain which value is the highest, because the intervals of the highest values overlap."
    )
    near = dataclasses.replace(changed, lower=np.full(18, 5.0), upper=changed.estimate + 1000)
    assert finding(near).startswith("The number of rows ranged from "), "all meet"


def test_a_sentence_is_written_as_people_write() -> None:
    """Months and answers to yes or no in words, two cells compared with each other, and no count below 0."""
    from gaugedp.report.findings import finding

    when = gd.dates("2017-01", "2017-03", by="month")
    release = made("when*ill; ill", gd.Domain.of(when=when, ill=["yes", "no"]))
    joint, pair = read_terms(release)
    said = finding(dataclasses.replace(joint, estimate=np.array([-4.0, 9, 9, 9, 9, 99]), lower=np.full(6, -8.0)))
    assert said.startswith(f"The number of rows ranged from 0 ({CI}: 0 to ")
    assert "for ill “yes” in January 2017 to 99 (0 to " in said
    estimate = np.array([100.0, 900])
    pair = dataclasses.replace(pair, estimate=estimate, lower=estimate - 9, upper=estimate + 9)
    assert finding(pair) == (
        f"The number of rows was 900 ({CI}: 891 to 909) for ill “no” and 100 (91 to 109) for ill “yes”."
    )
    near = dataclasses.replace(pair, lower=estimate - 500, upper=estimate + 500)
    assert finding(near).endswith("The two intervals overlap, so noise alone may explain the difference.")


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (
            "en",
            f"Compared with the month before, the number of rows rose most in April 2017, by 20% ({CI}: 15% to ",
        ),
        ("de", "Gegenüber dem Vormonat ist die Anzahl der Zeilen im April 2017 am stärksten gestiegen, um 20"),
    ],
)
def test_changes_rise_and_fall_with_one_precision(code: str, said: str) -> None:
    from gaugedp.report.findings import finding

    domain = gd.Domain.of(when=gd.dates("2017-01", "2017-04", by="month"))
    release = made("change(when)", domain)
    with written_in(code):
        (term,) = read_terms(release)
        estimate, half = np.array([-1.0, -30, 20]), np.array([0.02, 0.02, 5])
        changed = dataclasses.replace(term, estimate=estimate, lower=estimate - half, upper=estimate + half)
        assert finding(changed).startswith(said)
        assert re.findall(r"\d+", finding(changed))[-3:] == ["30", "29", "31"], "no sign, and the coarser precision"
        grown = dataclasses.replace(changed, estimate=estimate + 40, lower=changed.lower + 40, upper=changed.upper + 40)
        assert "Compared with" not in finding(grown), "nothing fell"


def test_parts_of_a_guarantee_are_added_up() -> None:
    loss = gd.guarantees.ExponentialLoss
    said = in_detail(2 * loss(0.25) + loss(0.125))
    assert said[0] == "Sum of ε over the parts of the release: 0.125 + 2 × 0.25 ≈ 0.625"
    assert in_detail(loss(0.25)) == [], "ε is the same at δ = 10⁻⁶"
    assert re.search("differential privacy with ε = .* and δ = 10⁻⁶", in_detail(200 * loss(0.125))[-1])


@pytest.mark.parametrize(
    ("shares", "said"),
    [
        ((0.0, 1.0), "Nothing before. It used the whole privacy budget."),
        ((0.25, 0.75), "had used 25% of the privacy budget. It used the remaining 75% of the privacy budget."),
        ((0.0, 0.0), "Nothing before. It used none of the privacy budget."),
    ],
)
def test_a_spent_budget_is_said_to_be_spent(shares: tuple[float, float], said: str) -> None:
    assert said in meter(shares, "It", "Nothing before.", is_of_epsilon=False)


def test_a_group_is_worded_by_phrases() -> None:
    """Nouns first, then phrases; a phrase without a preposition needs the noun of the rows."""
    from gaugedp.report.findings import finding

    columns = {
        "age": gd.Caption("age", labels={"o": "60 to 99"}, phrase={"*": "aged {}", "y": "below 60"}),
        "sex": gd.Caption("sex", labels={"f": "women", "m": "men"}),
        "area": gd.Caption("area", phrase={"*": "in the {}"}),
    }
    domain = gd.Domain.of(age=["y", "o"], sex=["f", "m"], area=["north", "south"])
    captions = gd.Captions(rows="persons", columns=columns)
    release = made("age*sex*area; age; area; share(age) by area", domain.with_captions(captions))
    said = []
    for term in read_terms(release):
        estimate = np.arange(len(term.cells)) * 100.0
        said.append(
            finding(dataclasses.replace(term, estimate=estimate, lower=estimate - 9, upper=estimate + 9, span=1e6))
        )
    assert said[0].startswith("The number of persons was highest for men aged 60 to 99 in the south, at 700 (95% ")
    assert ", and lowest for women below 60 in the north, at 0 (" in said[0]
    assert said[1] == (f"There were an estimated 100 persons aged 60 to 99 ({CI}: 91 to 109) and 0 below 60 (0 to 9).")
    assert said[2].startswith(f"There were an estimated 100 persons in the south ({CI}: 91 to 109) and 0 in the n")
    assert said[3].startswith(f"The percentage of persons below 60 was 100% ({CI}: 91% to 109%) in the south and ")


def test_groups_of_rows_are_compared_as_groups() -> None:
    """A phrase that is only the label is a noun for the rows; without one, the number of rows is compared."""
    from gaugedp.report.findings import finding

    def said(question: str, noun: str = "") -> str:
        sex = gd.Caption(labels={"f": "women", "m": "men"}, phrase={"*": noun})
        columns = {"sex": sex, "age": gd.Caption(phrase={"y": "below 60", "o": "over 60"})}
        domain = gd.Domain.of(sex=["f", "m"], age=["y", "o"])
        (term,) = read_terms(made(question, domain.with_captions(gd.Captions(rows="persons", columns=columns))))
        estimate = np.arange(len(term.cells)) * 100.0 + 100
        return finding(dataclasses.replace(term, estimate=estimate, lower=estimate - 9, upper=estimate + 9, span=1e6))

    assert said("sex*age", "{}") == (
        f"Men over 60 were the largest group, at 400 ({CI}: 391 to 409), and women below 60 were the smallest, at 100 "
        "(91 to 109)."
    )
    assert said("sex*age").startswith("The number of persons was highest for men over 60, at 400 (")
    assert said("sex", "{}") == f"There were an estimated 200 men ({CI}: 191 to 209) and 100 women (91 to 109)."
    assert said("sex").startswith("The number of persons was 200 (")


def test_rules_name_tables_and_labels() -> None:
    domain = gd.Domain.of(a=["1"], b=["1"], c=gd.bins(0, 9, 3, outside="other"), v=gd.bounded(0, 20_000))
    columns = {"a": gd.Caption("age"), "v": gd.Caption("wage", "euros"), "c": gd.Caption("size")}
    captions = gd.Captions(columns=columns, terms={"a*b": "First", "b*a": "Second"})
    answer = made("a*b; c; mean(v)", domain.with_captions(captions))
    said = rules(answer.facts, captions, answer.terms)
    assert said[0] == ("Records with a missing or invalid value for “age” or “b” are excluded.")
    assert any(rule.startswith("Records for which “size” is missing or outside the listed") for rule in said)
    assert any(
        rule.startswith("Values of “wage (euros)” below 0 or above 20,000 are set to the nearer") for rule in said
    )
    facts = {
        "rules": [f"Rows whose {name} is missing or out of domain are left out of {place}." for name, place in DROPPED]
    }
    assert rules(facts, captions, made("a*b; b; b*a", domain.with_captions(captions)).terms) == [
        "Records with a missing or invalid value for “age” or “b” are excluded from the tables “First” and “Second”."
    ]

    facts["rules"] += ["Rows whose c is missing or out of domain are left out of c."]
    terms = made("a*b; b; b*a; c", domain.with_captions(captions)).terms
    every = "Each table excludes records with a missing or invalid value for any of its variables."
    assert rules(facts, captions, terms) == [every]
    facts["rules"][-1] = "Rows whose c is missing or out of domain are counted in its cell 'other'."
    assert every not in rules(facts, captions, terms)
    assert every not in rules(facts, gd.Captions(), terms), "a part that is no table has terms with other attributes"


DROPPED = [("a", "a*b; b"), ("b", "a*b; b"), ("a", "b*a"), ("b", "b*a")]  # names of attributes, and parts of a query


@pytest.mark.many
@pytest.mark.parametrize("seed", range(40))
def test_a_sentence_judges_by_the_intervals_that_are_shown(seed: int) -> None:
    """Random answers, also with intervals of different lengths: what the sentence says is read off what it shows."""
    from gaugedp.report.findings import finding

    rng, (term, _) = np.random.default_rng(seed), chart("where*area")
    estimate = np.round(rng.normal(1000, 100, len(term.cells)))
    half = np.round(rng.uniform(1, 10 ** rng.uniform(0.1, 2.5), len(estimate))) + 1
    shown = dataclasses.replace(term, estimate=estimate, lower=estimate - half, upper=estimate + half)
    said, top, bottom = finding(shown), int(np.argmax(estimate)), int(np.argmin(estimate))
    overlap = estimate[top] - half[top] <= estimate[bottom] + half[bottom]
    meet = (estimate - half).max() <= (estimate + half).min()
    assert ("noise alone may explain all differences" in said) == meet
    assert ("and the lowest value overlap, but those" in said) == (overlap and not meet)
    ends = [float(end) for at in (bottom, top) for end in (estimate[at] - half[at], estimate[at] + half[at])]
    texts = re.findall(r"\((?:95% confidence interval: )?(\S+) to ([^\s)]+)\)", said)
    numbers = [float(text.replace("−", "-").replace(",", "")) for pair in texts for text in pair]
    assert sorted(numbers) == sorted(ends), "both intervals stand in the sentence"
    if not overlap:
        others = np.delete(np.arange(len(estimate)), top), np.delete(np.arange(len(estimate)), bottom)
        above = (estimate + half)[others[0]].max() >= ends[2]
        below = (estimate - half)[others[1]].min() <= ends[1]
        places = {
            (True, False): "not certain which value is the highest",
            (False, True): "not certain which value is the lowest",
            (True, True): "not certain which values are the highest and the lowest",
        }
        assert [text in said for text in places.values()] == [key == (above, below) for key in places]


def test_what_the_answers_say_stands_before_what_the_noise_is(page: str) -> None:
    places = [page.index(f"<h2>{title}") for title in ("Answers", "How privacy is protected", "Appendix")]
    assert places == sorted(places)
    assert places[-1] < page.index("<h3>The query</h3>") < page.index("<h3>Mechanisms compared</h3>")


def test_rows_have_the_name_that_people_call_them_and_ranges_are_words() -> None:
    domain = DOMAIN.with_captions(gd.Captions(rows="persons"))
    shown = text(render(made("AGEP; share(SEX)", domain)))
    assert "Number of persons by AGEP" in shown
    assert "Percentage of persons by SEX" in shown
    assert "0 to under 10" in shown
    assert "90 to 100" in shown
    assert "[0,10)" not in shown


def mapped(question: str, values: list[int]) -> str:
    """The page of a release of two areas whose estimates are these."""
    areas = {"1": "M0 0L500 0L500 500L0 500Z", "2": "M500 0L1000 0L1000 500Z"}
    captions = gd.Captions(columns={"SEX": gd.Caption(labels={"1": "North & West"}, areas=areas)})
    answer = made(question, DOMAIN.with_captions(captions))
    return render(dataclasses.replace(answer, numbers=np.array(values)))


def test_areas_are_drawn_as_circles_for_counts_whose_sizes_are_true() -> None:
    page = mapped("SEX", [900, 100])
    radii = [float(radius) for radius in re.findall(r'<circle[^>]* r="([\d.]+)"', page)]
    assert radii[0] ** 2 / radii[1] ** 2 == pytest.approx(9, rel=0.01)
    assert "<title>North &amp; West: 900, between" in page
    assert "The table shows all numbers." in page
    assert Reader(page).open == []


def test_other_figures_are_shades_with_words_for_their_ends() -> None:
    page = mapped("mean(INC) by SEX", [0, 4000, 10, 10])
    assert "<circle" not in page
    assert [*re.findall(r'class="area shade(\d)"', page)] == ["0", "4"]
    assert "darker areas have larger values" in page


def test_a_page_of_a_publication_names_the_file_that_splits_the_guarantee() -> None:
    captions = gd.Captions(terms={"SEX": "Persons by sex"})
    page = render(made("SEX", DOMAIN.with_captions(captions)))
    assert "gaugedp publish PUBLICATION.toml" in page
    assert "gaugedp release" not in page


def test_charts_have_the_colours_of_the_page_by_day_and_by_night(page: str) -> None:
    drawings = "".join(re.findall(r"<svg.*?</svg>", page))
    assert "var(--c0)" in drawings
    assert not re.search("#[0-9a-f]{6}", drawings)


def test_wide_charts_are_drawn_again_for_narrow_screens(page: str) -> None:
    assert page.count('class="if-narrow"') == page.count('class="chart wide"') > 0
    assert 'class="if-narrow"' not in "".join(re.findall(r'<svg[^>]*class="chart dots".*?</svg>', page))


def test_months_have_names_and_years_are_named_once() -> None:
    domain = gd.Domain.of(day=gd.dates("2017-11", "2018-02", by="month"))
    shown = text(render(made("day", domain)))
    assert {"November 2017", "February 2018", "Nov 2017", "Jan 2018"} <= set(re.findall(r"[A-Z]\w+ 201[78]", shown))
    assert "Dec 2017" not in shown, "the year stands at its first tick"
