"""Every Python block, domain file and `gaugedp` command in README.md and docs/ runs as it is printed.

Each page runs in a folder of its own that holds the example: acs.csv and domain.toml. Right before a block,
`<!-- not run: reason -->` leaves it out, and `<!-- exit: 3 -->` says which exit code its commands must have.
"""

import re
import shutil
from pathlib import Path

import pytest

from gaugedp.errors import InvalidRequest
from tests.docs.markdown import blocks, run_page

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
ALL_PAGES = [*PAGES, *ROOT.glob("[CS]*.md"), *(ROOT / "changelog.d").glob("*.md")]
LINK = re.compile(r"\]\((?!https?:|mailto:|#)([^)#\s]+)")


def name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the example's data, which is also the working directory."""
    shutil.copyfile(ROOT / "examples" / "acs" / "acs_ma2018.csv", tmp_path / "acs.csv")
    shutil.copyfile(ROOT / "examples" / "acs" / "domain.toml", tmp_path / "domain.toml")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page.read_text("utf-8"))], ids=name)
def test_the_page_runs(page: Path, folder: Path) -> None:
    run_page(page, folder)


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
$ ls
```
"""


def test_blocks_are_found_and_the_marker_is_obeyed() -> None:
    first, second, third = blocks(PLANTED_PAGE)
    assert (first.code, first.line, first.exit_code) == ("x = 1\n", 3, 0)
    assert second.code == "y = x + 1\n"
    assert [" ".join(command.split()) for command in third.commands] == ["gaugedp release nothing.csv --epsilon 1"]
    assert third.exit_code == 2


def test_blocks_share_their_names_and_a_wrong_one_fails(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```python\nx = 1\n```\n\n```python\nassert x == 1\n```\n", "utf-8")
    assert run_page(page, tmp_path) == 2
    page.write_text("```python\nassert 1 == 2\n```\n", "utf-8")
    with pytest.raises(AssertionError):
        run_page(page, tmp_path)


def test_a_wrong_domain_file_fails(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text('```toml\n[attributes]\nSEX = "1"\n```\n', "utf-8")
    with pytest.raises(InvalidRequest):
        run_page(page, tmp_path)


def test_a_wrong_command_fails(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```bash\ngaugedp no-such-command\n```\n", "utf-8")
    with pytest.raises(AssertionError):
        run_page(page, tmp_path)
