"""Every block of Python, every domain file and every command in README.md and docs/ runs as it is printed.

Each page runs in a folder of its own that holds the example (acs.csv and domain.toml), examples/, and a made-up
people.parquet. Right before a block, `<!-- not run: reason -->` would leave it out, and no page has it;
`<!-- needs: spark -->` runs it where Spark is, and `<!-- exit: 3 -->` says which exit code its commands must have.
"""

import os
import re
import shutil
from pathlib import Path

import pytest

from gaugedp.errors import InvalidRequest
from tests.docs.markdown import all_blocks, blocks, run_page
from tests.docs.tools import TOOLS, write_people

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
ALL_PAGES = [*PAGES, *ROOT.glob("[CS]*.md"), *(ROOT / "changelog.d").glob("*.md")]
LINK = re.compile(r"\]\((?!https?:|mailto:|#)([^)#\s]+)")


def name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def remarks(page: Path) -> set[tuple[str, str]]:
    return {(block.kind, block.said) for block in all_blocks(page.read_text("utf-8"))}


def needing(tool: str) -> list[Path]:
    return [page for page in PAGES if ("needs", tool) in remarks(page)]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the example's data, which is also the working directory."""
    shutil.copyfile(ROOT / "examples" / "acs" / "acs_ma2018.csv", tmp_path / "acs.csv")
    shutil.copyfile(ROOT / "examples" / "acs" / "domain.toml", tmp_path / "domain.toml")
    os.symlink(ROOT / "examples", tmp_path / "examples")
    write_people(tmp_path / "people.parquet")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def waiting(page: Path) -> object:
    """Return the README as it is, any other page as one that waits for `make thorough`."""
    return page if page == PAGES[0] else pytest.param(page, marks=pytest.mark.slow)


@pytest.mark.parametrize("page", [waiting(page) for page in PAGES if blocks(page.read_text("utf-8"))], ids=name)
def test_the_page_runs(page: Path, folder: Path) -> None:
    run_page(page, folder)


@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas")
@pytest.mark.parametrize(
    ("engine", "page"),
    [(tool, page) for tool in TOOLS for page in needing(tool)],
    ids=lambda value: value if isinstance(value, str) else name(value),
)
def test_the_page_runs_where_its_tool_is(engine: str, page: Path, folder: Path) -> None:
    edit = TOOLS[engine](folder)
    assert run_page(page, folder, engine, edit) > len(blocks(page.read_text("utf-8")))


def test_every_tool_is_needed_and_every_need_is_a_tool() -> None:
    assert {said for page in PAGES for kind, said in remarks(page) if kind == "needs"} == set(TOOLS)


def test_every_block_is_run() -> None:
    assert not [(name(page), said) for page in PAGES for kind, said in remarks(page) if kind == "not run"]


@pytest.mark.many
@pytest.mark.parametrize("page", ALL_PAGES, ids=name)
def test_links_to_files_lead_somewhere(page: Path) -> None:
    lost = [link for link in LINK.findall(page.read_text("utf-8")) if not (page.parent / link).exists()]
    assert not lost


PLANTED_PAGE = """
```python
x = 1
```

<!-- not run: it would
take an hour -->
```python
x = 2
```

- a list
  ```python
  y = x + 1
  ```

<!-- exit: 2 -->
```console
$ gaugedp release nothing.csv \\
    --epsilon 1
error: made up
```

<!-- needs: spark -->
```python
x = 3
```
"""


def test_blocks_are_found_and_the_marker_is_obeyed() -> None:
    first, second, third = blocks(PLANTED_PAGE)
    assert [block.code for block in blocks(PLANTED_PAGE, "spark")] == [first.code, second.code, third.code, "x = 3\n"]
    assert [block.said for block in all_blocks(PLANTED_PAGE)] == ["", "it would take an hour", "", "2", "spark"]
    assert (first.code, first.line, first.exit_code) == ("x = 1\n", 3, 0)
    assert second.code == "y = x + 1\n"
    assert [" ".join(command.split()) for command in third.commands] == ["gaugedp release nothing.csv --epsilon 1"]
    assert third.exit_code == 2


def test_blocks_share_their_names(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```python\nx = 1\n```\n\n```python\nassert x == 1\n```\n", "utf-8")
    assert run_page(page, tmp_path) == 2


@pytest.mark.parametrize(
    ("language", "code", "error"),
    [
        ("python", "assert 1 == 2", AssertionError),
        ("toml", '[attributes]\nSEX = "1"', InvalidRequest),
        ("bash", "gaugedp no-such-command", AssertionError),
        ("bash", "ls", AssertionError),
    ],
)
def test_a_wrong_block_fails(tmp_path: Path, language: str, code: str, error: type[Exception]) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"```{language}\n{code}\n```\n", "utf-8")
    with pytest.raises(error):
        run_page(page, tmp_path)
