"""What `gaugedp audit` and `gaugedp plan` say about candidates, and the columns of the audit's table."""

from pathlib import Path

import pytest

import gaugedp as gd
from gaugedp.cli import audit as command
from gaugedp.cli.main import run
from gaugedp.errors import UNTOUCHED

DOMAIN = '[attributes]\nSEX = ["1", "2"]\nAGE = { from = 1, to = 5 }\n'


@pytest.fixture
def requested(tmp_path: Path) -> list[str]:
    (tmp_path / "domain.toml").write_text(DOMAIN, "utf-8")
    return ["--domain", str(tmp_path / "domain.toml"), "--query", "AGE", "--epsilon", "1"]


def test_a_mechanism_that_was_left_out_is_refused_with_the_reason(requested: list[str], capsys) -> None:
    assert run(["audit", *requested, "--mechanism", "KNorm"]) == 2
    assert (
        "KNorm cannot be audited for this query: identical to Identity or Laplace for this query."
        in capsys.readouterr().err
    )
    assert run(["audit", *requested, "--mechanism", "Nothing"]) == 2
    assert "There is no mechanism 'Nothing'" in capsys.readouterr().err


def test_a_plan_says_what_was_left_out(requested: list[str], capsys) -> None:
    assert run(["plan", *requested, "--details"]) == 0
    assert "Not applicable: Identity (identical to Laplace for this query); KNorm (" in capsys.readouterr().out.replace(
        "\n", " "
    )


def test_the_table_of_an_audit_has_the_delta_of_each_bound(requested: list[str], capsys) -> None:
    assert run(["audit", *requested, "--delta", "1e-6", "--mechanism", "Gaussian", "--runs", "300"]) in (0, 1)
    heads = [line for line in capsys.readouterr().out.splitlines() if "claimed" in line and "p-value" in line]
    assert len(heads) == 1
    assert "at δ" in heads[0]


def test_a_long_audit_speaks(requested: list[str], capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(*answers, on_progress, **options):
        for share in (0.1, 0.3, 0.6, 0.9, 1.0):
            on_progress(share)
        return gd.audit.audit(*answers, **options)

    monkeypatch.setattr(command, "run_audit", slow)
    assert run(["audit", *requested, "--runs", "300"]) in (0, 1)
    assert capsys.readouterr().err.splitlines()[1:] == ["Auditing: 30%", "Auditing: 60%", "Auditing: 90%"]


def test_an_audit_that_is_interrupted_has_spent_nothing(requested: list[str], capsys, monkeypatch) -> None:
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "run_audit", interrupted)
    assert run(["audit", *requested]) != 0
    assert capsys.readouterr().err.strip().endswith(UNTOUCHED)
