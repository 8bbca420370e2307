"""The page for the press: short sentences, one picture, and what the noise means; nothing else is on it."""

import re

import numpy as np
import pyarrow as pa
import pytest

import gaugedp as gd
from gaugedp.report.findings import finding
from gaugedp.report.press import press
from gaugedp.report.terms import read_terms
from tests.report.test_html import DOMAIN, Reader, made, text

pytest.importorskip("matplotlib", reason="matplotlib is not installed: the extra gaugedp[report]")
AREAS = {"1": "M0 0L500 0L500 500L0 500Z", "2": "M500 0L1000 0L1000 500Z"}


def test_findings_one_picture_and_what_the_noise_means() -> None:
    captions = gd.Captions(title="Persons", source="The register.", terms={"SEX": "By sex"})
    page = press(made("count; SEX; AGEP", DOMAIN.with_captions(captions)))
    shown = re.sub(r"\s+", " ", text(page))
    assert "For the press Persons" in shown
    assert re.search(
        r"Number of rows overall The estimate is −?\d+ \(95% confidence interval: −?\d+ to −?\d+\)\.", shown
    )
    assert "By sex " in shown
    assert page.count("<svg") == 1
    assert "includes random noise" in shown
    assert "are 95% confidence intervals. Each interval contains the exact value" in shown
    assert "Source: The register. " in shown
    assert "Laplace" not in shown
    assert Reader(page).open == []


def test_a_map_is_the_picture_where_there_is_one() -> None:
    captions = gd.Captions(columns={"SEX": gd.Caption(areas=AREAS)})
    page = press(made("AGEP; SEX", DOMAIN.with_captions(captions)))
    assert page.count("<svg") == 1
    assert page.count('class="area') == 2


def test_a_release_that_protects_nobody_says_so_here_too() -> None:
    assert "protects nobody" in text(press(made("SEX", rng=gd.research_rng(1), epsilon=0.5)))


def test_medians_are_said_of_a_few_groups() -> None:
    domain = gd.Domain.of(SEX=["1", "2"], PAY=gd.bounded(0, 100))
    table = gd.Table.scan(pa.table({"SEX": ["1", "2"] * 300, "PAY": [5, 70] * 300}), domain=domain)
    ledger = gd.Ledger.in_memory(gd.PureDP(9))
    answer = gd.release(gd.query(domain, "quantiles(PAY, 0.25, 0.5) by SEX"), table, ledger=ledger, epsilon=9)
    (term,) = read_terms(answer)
    said = re.findall(r"([\d.]+) \([^()]*\) for SEX ([12])", finding(term))
    assert [cell for _, cell in said] == ["1", "2"]
    assert np.allclose([float(number) for number, _ in said], term.estimate[1::2], atol=0.51)


def test_the_strongest_finding_comes_first_and_is_about_groups() -> None:
    captions = gd.Captions(rows="stops", terms={"SEX": "Counts", "share(SEX) by EDU": "Shares"})
    page = press(made("SEX; share(SEX) by EDU", DOMAIN.with_captions(captions), epsilon=1))
    shown = text(page)
    assert shown.index("Shares") < shown.index("Counts")
    assert re.search(r"The percentage of stops whose SEX is “1” was highest for EDU \d+, at [\d.]+% \(95%", shown)
