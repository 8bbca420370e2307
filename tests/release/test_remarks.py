"""The remarks below a release: from released numbers, their intervals and the domain alone."""

from pathlib import Path

import pyarrow as pa
import pytest

import gaugedp as gd
from gaugedp.errors import InvalidRequest
from gaugedp.releases.releasing import Release

COMPARE = "Categories must match the data exactly (case and spaces): check them against the codebook."
UNITS = "most values may be clipped to it. Check the units of the bounds."
DOMAIN = gd.Domain.of(
    SEX=["m", "f"],
    Region=gd.categories(["North", "south", "West", "East"], "other"),
    AGE=gd.bins(0, 100, 10),
    PAY=gd.bounded(0, 1000),
)
ROWS = {"SEX": ["m", "f"], "Region": ["North", "South", "West", "East"], "AGE": [5, 15], "PAY": [400, 600]}


def released(text: str, epsilon: float = 1, n: int = 4000, **columns: list[object]) -> tuple[Release, list[str]]:
    """A release from n rows whose columns repeat what is listed, and its remarks."""
    listed = {**ROWS, **columns}
    rows = pa.table({name: [values[(row // 2) % len(values)] for row in range(n)] for name, values in listed.items()})
    question = gd.query(DOMAIN, text)
    table, ledger = gd.Table.scan(rows, domain=DOMAIN), gd.Ledger.in_memory(gd.PureDP(1000))
    answer = gd.release(question, table, ledger=ledger, epsilon=epsilon, rng=gd.research_rng(2))
    return answer, answer.remarks(question)


@pytest.mark.parametrize("text", ["mean(PAY) by SEX", "median(PAY) by SEX"])
def test_where_some_intervals_say_nothing_their_number_is_told(text: str) -> None:
    assert released(text, SEX=["m"])[1] == [
        f"The interval of {text} is the whole range in 1 of 2 cells: no information there."
    ]


@pytest.mark.parametrize("epsilon", [0.003, 0.01, 0.02, 0.03])
def test_as_many_means_say_nothing_as_the_table_shows(epsilon: float) -> None:
    answer, said = released("mean(PAY) by Region", epsilon=epsilon)
    shown = answer.columns()
    whole = sum(pair == (0, 1000) for pair in zip(shown["lower"], shown["upper"], strict=True))
    told = [f"is the whole range in {whole} of 5 cells"] if whole < 5 else ["is the whole range: this"]
    assert all(words in line for words, line in zip(told, said, strict=whole > 0))


@pytest.mark.parametrize("text", ["median(PAY)", "quantiles(PAY, 0.25, 0.75)", "median(PAY) by SEX"])
def test_quantiles_that_say_nothing_are_named(text: str) -> None:
    assert released(text, epsilon=1e-4)[1][0].startswith(
        f"The interval of {text} is the whole range: this answer carries no information."
    )
    assert released(text)[1] == []


@pytest.mark.slow
@pytest.mark.parametrize(("pay", "side"), [(40_000, "upper"), (-3, "lower"), (1, "lower")])
@pytest.mark.parametrize("text", ["mean(PAY)", "median(PAY)"])
def test_answers_at_a_bound_are_remarked_on(text: str, pay: int, side: str) -> None:
    assert released(text, PAY=[pay])[1] == [f"{text} lies at the {side} bound of 'PAY': {UNITS}"]
    assert released(text, PAY=[900])[1] == []


def test_of_cells_and_quantiles_the_medians_at_a_bound_are_counted() -> None:
    pay, sex = [5000, 5000, 500, 500], ["m", "m", "f", "f"]
    assert released("mean(PAY) by SEX", SEX=sex, PAY=pay)[1] == [
        f"mean(PAY) by SEX lies at the upper bound of 'PAY' in 1 of 2 cells: {UNITS}"
    ]
    text = "quantiles(PAY, 0.25, 0.5, 0.75) by SEX"
    assert released(text, SEX=sex, PAY=pay)[1] == [
        f"The median in {text} lies at the upper bound of 'PAY' in 1 of 2 cells: {UNITS}"
    ]
    assert released("quantiles(PAY, 0.1, 0.9)", PAY=[0, 5000])[1] == []


@pytest.mark.slow
@pytest.mark.parametrize("text", ["Region", "Region*SEX", "Region; SEX*Region; SEX"])
def test_a_category_without_rows_is_named_once(text: str) -> None:
    region, sex = ["North", "South", "West", "East"] * 2, ["m"] * 4 + ["f"] * 4
    said = released(text, Region=region, SEX=sex)[1]
    assert said == [f"All counts of Region = south may be 0, by simultaneous intervals. {COMPARE}"]
    region = [name.replace("South", "south") for name in region]
    assert released(text, Region=region, SEX=sex)[1] == []


def test_categories_are_named_only_where_the_others_surely_have_rows() -> None:
    assert released("Region", Region=["North", "West"])[1] == [
        f"All counts of Region = south, East may be 0, by simultaneous intervals. {COMPARE}"
    ]
    assert released("Region", Region=["North"])[1] == []
    assert released("Region", epsilon=1e-4)[1] == [
        f"All counts of Region may be 0, by simultaneous intervals. {COMPARE}"
    ]


@pytest.mark.slow
@pytest.mark.parametrize("text", ["Region", "Region*SEX", "SEX; Region*SEX"])
def test_where_only_the_misfits_surely_have_rows_all_categories_are_doubted(text: str) -> None:
    doubt = f"All counts of Region except other may be 0, by simultaneous intervals. {COMPARE}"
    assert released(text, Region=["NORTH", "SOUTH"])[1] == [doubt]
    assert released(text, Region=["NORTH", "North", "south", "West", "East"])[1] == []
    assert doubt not in released(text, Region=["NORTH"], epsilon=1e-4)[1]


def test_bins_that_hold_no_row_are_doubted_too() -> None:
    domain = gd.Domain.of(AGE=gd.bins(0, 1, 0.5, outside="other"))
    table = gd.Table.scan(pa.table({"AGE": [50] * 1000}), domain=domain)
    query, ledger = gd.query(domain, "AGE"), gd.Ledger.in_memory(gd.PureDP(1))
    answer = gd.release(query, table, ledger=ledger, epsilon=1, rng=gd.research_rng(2))
    (said,) = answer.remarks(query)
    assert said.startswith("All counts of AGE except other may be 0")
    assert said.endswith("Check their units, and that all are numbers.")


def test_neither_bins_nor_running_counts_name_a_category() -> None:
    assert released("AGE")[1] == []
    assert released("prefix(Region)", Region=["West"])[1] == []


def test_a_category_is_named_where_quantiles_are_asked_too() -> None:
    said = released("median(PAY); SEX", SEX=["m"])[1]
    assert said == [f"All counts of SEX = f may be 0, by simultaneous intervals. {COMPARE}"]


def test_processing_and_storing_leave_the_remarks_as_they_are() -> None:
    answer, said = released("SEX", SEX=["m"])
    question = gd.query(DOMAIN, "SEX")
    assert said == [f"All counts of SEX = f may be 0, by simultaneous intervals. {COMPARE}"]
    assert answer.processed("non_negative").remarks(question) == said
    assert Release.from_json(answer.to_json()).remarks(question) == said


@pytest.mark.parametrize("question", [gd.query(DOMAIN, "Region"), "SEX"])
def test_another_question_is_refused(question: object) -> None:
    with pytest.raises(InvalidRequest, match="query differs"):
        released("SEX")[0].remarks(question)  # type: ignore[arg-type]


def test_the_report_begins_its_note_with_the_remarks(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed: the extra gaugedp[report]")
    answer, said = released("SEX", SEX=["m"])
    answer.save_html(tmp_path / "with.html", gd.query(DOMAIN, "SEX"))
    answer.save_html(tmp_path / "without.html")
    assert f'class="note"><p>{said[0]}</p>' in (tmp_path / "with.html").read_text("utf-8")
    assert said[0] not in (tmp_path / "without.html").read_text("utf-8")
