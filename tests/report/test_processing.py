"""A report of processed answers says what was done to them, and that its bars are those of the raw ones."""

import re

import numpy as np
import pytest

import gaugedp as gd
from gaugedp.report import render
from tests.report.test_html import DOMAIN, made, text

pytest.importorskip("matplotlib", reason="matplotlib is not installed: the extra gaugedp[report]")

QUESTION = "SEX; AGEP; SEX*AGEP; count"


def page_of(*steps: str) -> str:
    query = gd.query(DOMAIN, QUESTION)
    laplace = gd.Laplace.calibrate(query.sensitivity(gd.PrivacyUnit()), gd.PureDP(0.5))
    return render(made(query, mechanism=laplace).processed(*steps, query=query))


def test_raw_answers_need_no_words() -> None:
    page = page_of()
    assert "processed" not in page
    assert "before adjustment" not in page
    assert "counts can be negative" in page


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        (("consistent",), ["After the noise was added, the estimates were adjusted by least squares"]),
        (("non_negative", "rounded"), ["counts below 0 were set to 0, and then counts were rounded to integers"]),
    ],
    ids=str,
)
def test_what_was_done_is_told_in_words(steps: tuple[str, ...], words: list[str]) -> None:
    page = page_of(*steps)
    shown = text(page)
    for sentence in (*words, "calculated before adjustment, so", "may lie outside its interval"):
        assert sentence in shown
    assert "counts can be negative" not in shown
    assert (
        page.count("error bars (calculated before adjustment)") == 2 * 3
    )  # the label and the description of each chart
    assert "95% confidence interval (calculated before adjustment): " in shown
    assert f"processing={steps!r}" in shown.replace("&#x27;", "'")


def test_no_card_leaves_its_half_empty() -> None:
    """A card is as wide as the page, with its table next to its chart; many small cards come before the note."""
    assert 'class="card"' not in page_of()
    names = ["SEX", "AGEP", "EDU"]
    terms = [form.format(name) for form in ("{}", "share({})", "mean(INC) by {}", "prefix({})") for name in names]
    page = render(made("; ".join(["count", *terms])))
    assert page.rindex('class="card') < page.index('class="note"')


def test_the_command_has_the_flags() -> None:
    query = gd.query(DOMAIN, "SEX; AGEP")
    answer = made(query, epsilon=0.5).processed("rounded", "non_negative", "consistent", query=query)
    shown = text(render(answer))
    assert re.search(r"--ledger LEDGER --consistent --non-negative --round\b", shown)


def test_a_dot_outside_its_bar_stays_in_the_chart() -> None:
    from dataclasses import replace

    from gaugedp.report.term_charts import _range
    from gaugedp.report.terms import read_terms

    term = read_terms(made("AGEP"))[0]
    far = replace(term, estimate=term.estimate + 10 * (term.upper - term.lower))
    assert _range(far)[1] > far.estimate.max() > term.upper.max()


@pytest.mark.parametrize("value", [0.0, 5.0, -5.0, 1e17])
def test_the_axis_of_equal_answers_has_a_length(value: float) -> None:
    """Answers that are all alike, with intervals of no length: the axis was a point, which draws a warning."""
    from dataclasses import replace

    from gaugedp.report.term_charts import _range
    from gaugedp.report.terms import read_terms

    term = read_terms(made("AGEP"))[0]
    alike = dict.fromkeys(("estimate", "lower", "upper"), np.full(len(term.estimate), value))
    low, high = _range(replace(term, **alike))
    assert low < high
    assert low <= value <= high
