"""What `gaugedp audit` and `gaugedp plan` say about candidates, and the columns of the audit's table."""

from pathlib import Path

import pytest

from gaugedp.cli.main import run

DOMAIN = '[attributes]\nSEX = ["1", "2"]\nAGE = { from = 1, to = 5 }\n'


@pytest.fixture
def asked(tmp_path: Path) -> list[str]:
    (tmp_path / "domain.toml").write_text(DOMAIN, "utf-8")
    return ["--domain", str(tmp_path / "domain.toml"), "--query", "AGE", "--epsilon", "1"]


def test_a_mechanism_that_was_left_out_is_refused_with_the_reason(asked: list[str], capsys) -> None:
    assert run(["audit", *asked, "--mechanism", "KNorm"]) == 2
    assert "KNorm is no candidate: here noise on the cells, as Identity or Laplace." in capsys.readouterr().err
    assert run(["audit", *asked, "--mechanism", "Nothing"]) == 2
    assert "No candidate is called 'Nothing'" in capsys.readouterr().err


def test_a_plan_says_what_was_left_out(asked: list[str], capsys) -> None:
    assert run(["plan", *asked, "--details"]) == 0
    assert "Left out: Identity (here the same as Laplace); KNorm (" in capsys.readouterr().out.replace("\n", " ")


def test_the_table_of_an_audit_has_the_delta_of_each_bound(asked: list[str], capsys) -> None:
    assert run(["audit", *asked, "--delta", "1e-6", "--mechanism", "Gaussian", "--runs", "300"]) in (0, 1)
    heads = [line for line in capsys.readouterr().out.splitlines() if "claimed" in line and "p-value" in line]
    assert len(heads) == 1
    assert "at δ" in heads[0]
