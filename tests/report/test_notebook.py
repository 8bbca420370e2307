"""What a notebook shows: small tables of what is public or released, whose texts stay texts."""

import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gaugedp as gd
from gaugedp import audit
from gaugedp._internal.displays import drawn_by
from gaugedp.releases.streams import StreamAnswer
from gaugedp.report import notebook
from tests.ledger.kit import SECRET, UNIT, paid
from tests.report.test_html import DOMAIN, ODD, Reader, made, text

ODD_DOMAIN = gd.Domain.of(**{"N<b>&": ODD, "INC": gd.bounded(0, 1000)})


def stream_answer(folder: Path) -> StreamAnswer:
    file = folder / "people.csv"
    file.write_text("SEX,AGEP,EDU,INC\n" + "1,31,4,100\n2,45,5,300\n" * 40, "utf-8")
    ledger = gd.Ledger.in_memory(gd.ZCDP(1))
    query = gd.query(DOMAIN, "SEX*AGEP; EDU")
    opened = gd.Stream.open(folder / "year.stream", query, UNIT, ledger=ledger, periods=4, rho=0.1)
    return opened.next(gd.Table.scan(str(file), domain=DOMAIN, unit=UNIT))


@cache
def fitted() -> Any:
    from gaugedp.estimators import LinearRegression

    rows = np.random.default_rng(5).uniform(-1, 1, (300, 3))
    model = LinearRegression(epsilon=5.0, row_norm=2.0, target_bounds=(-6, 6), random_state=1)
    return model.fit(rows, rows @ [1, 2, 3])


def unfitted() -> Any:
    from gaugedp.estimators import LinearRegression

    return LinearRegression(epsilon=5.0, ledger=gd.Ledger.in_memory(gd.PureDP(9)))


def full_ledger() -> gd.Ledger:
    ledger = gd.Ledger.in_memory(gd.PureDP(9))
    for number in range(25):
        signed = ledger.signed(by=f"<i>{number}", purpose="Yearbook & more")
        ledger.settle(paid(signed, 0.1, f"k{number}"), SECRET)
    return ledger


def laplace() -> gd.Laplace:
    return gd.Laplace.calibrate(gd.query(DOMAIN, "SEX").sensitivity(UNIT), gd.PureDP(1.0))


SHOWN: dict[str, Any] = {
    "domain": lambda _: DOMAIN,
    "odd domain": lambda _: ODD_DOMAIN,
    "wide domain": lambda _: gd.Domain.of(**{f"A{i}": gd.integers(1, 10**6) for i in range(30)}),
    "plan": lambda _: gd.plan(gd.query(DOMAIN, "SEX*AGEP; mean(INC) by SEX; prefix(AGEP)"), UNIT, epsilon=1.0),
    "plan of quantiles": lambda _: gd.plan(gd.query(DOMAIN, "median(INC) by SEX"), UNIT, epsilon=1.0),
    "release": lambda _: made("SEX; AGEP; SEX*AGEP; mean(INC) by SEX"),
    "processed": lambda _: made("SEX; AGEP").processed("non_negative"),
    "odd release": lambda _: made(gd.query(ODD_DOMAIN, '"N<b>&"'), ODD_DOMAIN),
    "ledger": lambda _: full_ledger(),
    "new ledger": lambda _: gd.Ledger.in_memory(gd.guarantees.RenyiBudget(2, 1e-6)),
    "comparison": lambda _: gd.compare(gd.query(DOMAIN, "AGEP"), UNIT, np.linspace(0.1, 3, 25)),
    "audit": lambda _: audit.audit(laplace(), [0, 0], [1, 0], runs=500, rng=gd.research_rng(3)),
    "tracing": lambda _: audit.Tracing("correlation", 0.4, 0.01, 1.0, 0.5, 100, 200, gd.PureDP(1)),
    "one run": lambda _: audit.OneRun(1000, 100, 70, 0.99, 0.0),
    "stream": stream_answer,
    "model": lambda _: fitted(),
    "unfitted": lambda _: unfitted(),
    "fit": lambda _: fitted().release_,
}


@pytest.mark.many
@pytest.mark.parametrize("name", SHOWN)
def test_it_is_a_small_table_that_needs_nothing(tmp_path: Path, name: str) -> None:
    shown = SHOWN[name](tmp_path)
    drawn = shown._repr_html_()
    reader = Reader(drawn)
    assert not {"script", "link", "img", "iframe", "object"} & set(reader.tags)
    assert "http" not in drawn
    assert "url(" not in drawn
    assert re.search(r"(?<!-)color:(?!inherit)|background:(?!none)", drawn) is None  # day and night are the notebook's
    assert drawn.count("<caption>") == drawn.count("<table")
    assert drawn.count("<th>") == 0
    for body in re.findall("<tbody>(.*?)</tbody>", drawn):
        assert 1 <= body.count("<tr>") <= notebook.MOST_ROWS
    assert drawn == shown._repr_html_()
    assert len(drawn) < 12_000


@pytest.mark.parametrize("name", ["odd domain", "odd release"])
def test_texts_stay_texts(tmp_path: Path, name: str) -> None:
    shown = SHOWN[name](tmp_path)
    drawn = shown._repr_html_()
    assert "N<b>&" in text(drawn)
    assert "<script>alert(1)</script>" in text(drawn)
    assert "<b>" not in drawn
    assert "\u202e" not in drawn


def test_a_ledger_shows_its_last_payments() -> None:
    ledger = full_ledger()
    shown = text(ledger._repr_html_())
    for said in ("Ledger of people", "Spent ε = 2.5 of ε = 9; left ε = 6.5.", "20 of 25", "<i>24", "Yearbook & more"):
        assert said in shown
    assert "<i>4 " not in shown
    assert SECRET.decode() not in shown


def test_a_ledger_that_is_gone_says_so(tmp_path: Path) -> None:
    ledger = gd.Ledger.open(tmp_path / "people.ledger", gd.PureDP(1))
    for file in tmp_path.iterdir():
        file.unlink()
    assert "no longer exists" in text(ledger._repr_html_())


@pytest.mark.parametrize("steps", [(), ("rounded",)])
def test_a_release_shows_what_its_json_holds_and_nothing_else(steps: tuple[str, ...]) -> None:
    answer = made("SEX; AGEP; mean(INC) by SEX").processed(*steps)
    drawn = answer._repr_html_()
    assert gd.Release.from_json(answer.to_json())._repr_html_() == drawn
    for cell, estimate in zip(answer.columns()["cell"][:2], answer.columns()["estimate"][:2], strict=True):
        assert f"<td>{cell}</td><td>{f'{estimate:,}'.replace('-', '−')}</td>" in drawn
    assert ("Processed: rounded; the intervals are those of the raw answers." in text(drawn)) == bool(steps)
    assert "Seeded: the noise is reproducible. This protects nobody." in text(drawn)


def test_a_stream_shows_what_its_json_holds_and_nothing_else(tmp_path: Path) -> None:
    answer = stream_answer(tmp_path)
    assert StreamAnswer.from_json(answer.to_json())._repr_html_() == answer._repr_html_()
    assert "Period 1 of 4: SEX*AGEP; EDU" in text(answer._repr_html_())


def test_a_model_shows_its_release_or_its_parameters() -> None:
    model = fitted()
    assert model._repr_html_() == model.release_._repr_html_()
    assert type(model.release_).from_json(model.release_.to_json())._repr_html_() == model._repr_html_()
    shown = text(model._repr_html_())
    assert "LinearRegression, fitted" in shown
    assert re.search(rf"coef\[2\] {model.coef_[2]:.4g}", re.sub(r"\s+", " ", shown))
    bundle = unfitted()._repr_mimebundle_(include=None)
    assert bundle == {"text/plain": repr(unfitted()), "text/html": unfitted()._repr_html_()}
    assert "LinearRegression, not fitted" in text(bundle["text/html"])


def test_an_audit_says_its_verdict() -> None:
    actual = SHOWN["audit"](None)
    shown = text(actual._repr_html_())
    assert actual.verdict in shown
    assert "may alarm" in shown


@pytest.mark.slow
def test_plans_and_comparisons_name_what_is_chosen() -> None:
    planned = SHOWN["plan"](None)
    assert f"{planned.mechanism.name} (chosen)" in text(planned._repr_html_())
    assert "20 of 25" in text(SHOWN["comparison"](None)._repr_html_())


def test_every_drawing_has_a_class_that_shows_it() -> None:
    drawings = {name for name, value in vars(notebook).items() if callable(value) and name.islower() and name[0] != "_"}
    of_module = {name for name in drawings if getattr(notebook, name).__module__ == notebook.__name__}
    source = Path(gd.__file__).parent
    used = {
        name for file in source.rglob("*.py") for name in re.findall(r'drawn_by\("(\w+)"\)', file.read_text("utf-8"))
    }
    assert of_module == used


def test_nothing_that_draws_is_loaded_before_a_notebook_asks() -> None:
    program = (
        "import sys, gaugedp as gd; domain = gd.Domain.of(A=['1']); before = 'gaugedp.report' in sys.modules; "
        "domain._repr_html_(); sys.exit(before or 'matplotlib' in sys.modules or 'sklearn' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False, capture_output=True).returncode == 0


def test_the_drawing_is_found_by_its_name() -> None:
    assert drawn_by("domain")(DOMAIN) == notebook.domain(DOMAIN)


def test_progress_is_one_line_that_is_written_over(capsys: pytest.CaptureFixture[str]) -> None:
    line = gd.ProgressLine("Counting")
    for share in (0.0, 0.001, 0.25, 0.2501, 1.0, 1.0, 0.5, 7.0, -1.0):
        line(share)
    said = ["Counting:   0 %", "Counting:  25 %", "Counting: 100 %\n", "Counting:  50 %", "Counting: 100 %\n"]
    assert capsys.readouterr().err == "".join(f"\r{one}" for one in [*said, "Counting:   0 %"])


def test_a_release_tells_its_progress(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "people.csv"
    file.write_text("SEX,AGEP,EDU,INC,PID\n" + "1,31,4,100,7\n" * 40, "utf-8")
    table = gd.Table.scan(str(file), domain=DOMAIN, unit=gd.PrivacyUnit("PID")).in_buckets(4)
    ledger = gd.Ledger.in_memory(gd.PureDP(1))
    gd.release(gd.query(DOMAIN, "SEX"), table, ledger=ledger, epsilon=1.0, on_progress=gd.ProgressLine())
    assert capsys.readouterr().err.endswith("\rDone: 100 %\n")
