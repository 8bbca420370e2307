"""The notebook of the documentation: written from its page, and its cells run."""

import ast
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.docs.test_site import hook
from tests.report.test_html import Reader

pytest.importorskip("matplotlib", reason="matplotlib is not installed: the extra gaugedp[report]")

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "docs" / "tutorials" / "notebook.ipynb"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with what the notebook reads."""
    shutil.copyfile(ROOT / "examples" / "acs" / "acs_ma2018.csv", tmp_path / "acs.csv")
    shutil.copyfile(ROOT / "examples" / "acs" / "domain.toml", tmp_path / "domain.toml")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def code() -> list[str]:
    cells = json.loads(FILE.read_text("utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


def run_cell(source: str, names: dict[str, Any]) -> Any:
    """Run a cell, and return what its last line is, where that is an expression, as a notebook does."""
    *statements, last = ast.parse(source).body
    shows = isinstance(last, ast.Expr)
    exec(compile(ast.Module([*statements, *([] if shows else [last])], []), "cell", "exec"), names)
    return eval(compile(ast.Expression(last.value), "cell", "eval"), names) if isinstance(last, ast.Expr) else None


def test_it_is_written_from_the_page() -> None:
    assert hook("notebook").notebook() == FILE.read_text("utf-8"), "run python docs/hooks/notebook.py"


def test_it_is_a_notebook_that_has_not_run() -> None:
    facts = json.loads(FILE.read_text("utf-8"))
    assert (facts["nbformat"], facts["nbformat_minor"]) == (4, 5)
    ids = [cell["id"] for cell in facts["cells"]]
    assert len(set(ids)) == len(ids)
    assert all(cell["outputs"] == [] for cell in facts["cells"] if cell["cell_type"] == "code")
    assert [cell["cell_type"] for cell in facts["cells"]][:2] == ["markdown", "code"]


@pytest.mark.slow
def test_its_cells_run_and_show_tables(folder: Path) -> None:
    names: dict[str, Any] = {"__name__": "__main__"}
    shown = [run_cell(source, names) for source in code()]
    drawn = [one._repr_html_() for one in shown if hasattr(one, "_repr_html_")]
    assert len(drawn) == 5
    assert all("table" in Reader(one).tags for one in drawn)
    assert (folder / "account.html").exists()


def test_jupyter_runs_it(folder: Path) -> None:
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
    pytest.importorskip("ipykernel", reason="ipykernel is not installed")
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
    ran = nbclient.NotebookClient(nbformat.read(FILE, as_version=4), resources={"metadata": {"path": str(folder)}})
    outputs = [output for cell in ran.execute().cells for output in cell.get("outputs", [])]
    drawn = [output["data"]["text/html"] for output in outputs if "text/html" in output.get("data", {})]
    assert sum("<table" in one for one in drawn) == 5
