"""The site of the documentation: its pages, and, where mkdocs is installed (make docs), the site as it is built."""

import importlib
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import unquote

import pytest

from tests.report.test_browser import page, remote

__all__ = ["page"]

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
SETTINGS = (ROOT / "mkdocs.yml").read_text("utf-8")
NAVIGATION = re.findall(r": (\S+\.md)$", SETTINGS.split("\nnav:\n")[1], re.MULTILINE)
PACKAGES = (
    "gaugedp", "gaugedp.queries", "gaugedp.mechanisms", "gaugedp.guarantees", "gaugedp.bodies",
    "gaugedp.samplers", "gaugedp.bounds", "gaugedp.estimators", "gaugedp.optimization", "gaugedp.ledger",
    "gaugedp.releases.processing", "gaugedp.report", "gaugedp.audit", "gaugedp.releases.streams",
)  # fmt: skip
LOADED = re.compile(r"""<(?:script|img|link|iframe|source)\b[^>]*?\b(?:src|href)=["']?([^"'\s>]+)""")
CALLED = re.compile(r"""url\(["']?(https?:[^"')]+)|@import\s+["']([^"']+)""")
LINKED = re.compile(r"""<(?:a|img)\b[^>]*?\b(?:src|href)=["']([^"']*)["']""")
ANCHOR = re.compile(r"""\b(?:id|name)=["']([^"']+)["']""")


def hook(name: str) -> ModuleType:
    """One of the programs beside the pages."""
    path = DOCS / "hooks" / f"{name}.py"
    module = ModuleType(name)
    module.__file__ = str(path)
    exec(compile(path.read_text("utf-8"), str(path), "exec"), module.__dict__)
    return module


pytestmark = pytest.mark.xdist_group("site")  # it is built once


# -- the pages -------------------------------------------------------------------------------------


def test_every_page_is_in_the_navigation_once() -> None:
    pages = sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))
    assert sorted([*NAVIGATION, *hook("navigation").unnamed(SETTINGS)]) == pages, (
        "a page of docs/ needs a line below nav: in mkdocs.yml, and a line needs a page"
    )


@pytest.mark.slow
def test_the_picture_of_the_rooms_is_drawn_from_the_code() -> None:
    rooms = hook("rooms")
    assert rooms.picture() == rooms.PICTURE.read_text("utf-8"), "run python docs/hooks/rooms.py"


def test_every_picture_is_shown() -> None:
    text = "".join(path.read_text("utf-8") for path in [ROOT / "README.md", *DOCS.rglob("*.md")])
    assert [path.name for path in (DOCS / "images").iterdir() if f"images/{path.name})" not in text] == []


LISTS = [
    ("- a\n  b\n\n  c\n- d", "- a\n    b\n\n    c\n\n- d"),
    ("1. a\n   - b\n     c\n\nd", "1. a\n    - b\n        c\n\nd"),
    ("- a\n  ```text\n  - b\n  ```\nc", "- a\n    ```text\n    - b\n    ```\nc"),
    ("```text\n- a\n  b\n```\n\n    code", "```text\n- a\n  b\n```\n\n    code"),
]


@pytest.mark.parametrize(("written", "wanted"), LISTS)
def test_what_a_list_holds_is_indented_by_four(written: str, wanted: str) -> None:
    assert hook("lists").on_page_markdown(written) == wanted


FORMULAS = [
    ("e^{−ε‖z‖_K}", "e<sup>−ε‖z‖<sub>K</sub></sup>"),
    ("x_i² ≤ σ_max and ℓ_p", "x<sub>i</sub>² ≤ σ<sub>max</sub> and ℓ<sub>p</sub>"),
    ("n_rows, coef_ and 200 ^ 2", "n_rows, coef_ and 200 ^ 2"),
    ("<code>x_i</code> <p>2^30</p>", "<code>x_i</code> <p>2<sup>30</sup></p>"),
]


@pytest.mark.parametrize(("written", "wanted"), FORMULAS)
def test_formulas_are_set_and_names_and_code_are_not(written: str, wanted: str) -> None:
    assert hook("formulas").on_page_content(written) == wanted


def test_displayed_formulas_become_mathml_and_unknown_commands_are_refused() -> None:
    pytest.importorskip("latex2mathml", reason="latex2mathml is not installed: make docs")
    page = hook("formulas").on_page_markdown(
        "Let\n\n$$\n\\begin{aligned}a_1 &\\le \\tfrac{1}{2}\\end{aligned}\n$$\n\nor ‖x‖_2."
    )
    assert page.startswith('Let\n\n<div class="formula"><math')
    assert page.count("<mtd") == 2
    assert page.endswith("</math></div>\n\nor ‖x‖\\_2.")
    with pytest.raises(ValueError, match="cannot be set"):
        hook("formulas").on_page_markdown("$$\n\\nosuchcommand\n$$")


def test_parameters_become_a_list_and_proof_pages_links() -> None:
    pytest.importorskip("griffe", reason="griffe is not installed: make docs")
    as_markdown = hook("docstrings").as_markdown
    assert as_markdown("x : low,\n    high.\na, b : two.") == "- **x**: low,\n    high.\n- **a, b**: two."
    assert as_markdown("Words.\nx : low.") == "Words.\n\n- **x**: low."
    sections = "Words.\n\nParameters\n----------\nx\n    Low,\n    high.\n\nExamples\n--------\n>>> 1\n1\n"
    assert as_markdown(sections).split("\n\n")[1:] == [
        *("**Parameters**", "- **x**: Low,\n    high."),
        *("**Examples**", "```python\n>>> 1\n1\n```", ""),
    ]
    assert as_markdown("See docs/theory/means.md#sums.") == "See [theory/means](../theory/means.md#sums)."


# -- the site --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The site, built without a warning."""
    if find_spec("mkdocs") is None or find_spec("material") is None or find_spec("mkdocstrings") is None:
        pytest.skip("mkdocs is not installed: make docs")
    folder = tmp_path_factory.mktemp("site")
    words = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    run = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    yield folder
    shutil.rmtree(folder)


@cache
def text_of(path: Path) -> str:
    return path.read_text("utf-8")


@cache
def anchors(path: Path) -> frozenset[str]:
    return frozenset(ANCHOR.findall(text_of(path)))


def elsewhere(text: str) -> list[str]:
    """The addresses on the network from which a page or a style sheet loads something."""
    loaded = [*LOADED.findall(text), *(first or second for first, second in CALLED.findall(text))]
    return [address for address in loaded if address.startswith(("http:", "https:", "//"))]


@pytest.mark.slow
def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    files = [*site.rglob("*.html"), *site.rglob("*.css")]
    assert len(files) > len(NAVIGATION)
    assert [address for path in files for address in elsewhere(text_of(path))] == []


def test_what_is_loaded_from_elsewhere_is_found() -> None:
    planted = '<script async src="https://a/x.js"></script><link rel=x href=//b/y.css><a href="https://c"></a>'
    assert elsewhere(planted) == ["https://a/x.js", "//b/y.css"]
    assert elsewhere("@import 'https://a/x.css'; p { background: url(https://b/y.png) }") == [
        "https://a/x.css",
        "https://b/y.png",
    ]


def lost(path: Path) -> list[str]:
    """The links and pictures of a page that lead nowhere."""
    return [link for link in LINKED.findall(text_of(path)) if not _leads_somewhere(path, unquote(link))]


def _leads_somewhere(path: Path, address: str) -> bool:
    if address.startswith(("https:", "http:", "mailto:", "javascript:")):
        return True
    file, _, anchor = address.partition("#")
    there = (path.parent / file).resolve() if file else path
    there = there / "index.html" if there.is_dir() else there
    return there.is_file() and (not anchor or anchor in anchors(there))


@pytest.mark.slow
def test_every_link_and_every_picture_leads_somewhere(site: Path) -> None:
    pages = [path for path in site.rglob("*.html") if path.name != "404.html"]  # whose links are from the root
    assert [(path.name, link) for path in pages for link in lost(path)] == []


def test_what_leads_nowhere_is_found(tmp_path: Path) -> None:
    planted = tmp_path / "page.html"
    planted.write_text(
        '<p id="a"><a href="#a"></a><a href="#b"></a><img src="x.png"><a href="page.html#a"></a>', "utf-8"
    )
    assert lost(planted) == ["#b", "x.png"]


@cache
def described(site: Path) -> set[str]:
    """The names of modules that have an entry in the reference; those of classes are methods, and do not count."""
    entries = [name.split(".") for path in (site / "reference").glob("*.html") for name in anchors(path)]
    return {parts[-1] for parts in entries if parts[0] == "gaugedp" and all(map(str.islower, parts[:-1]))}


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_is_in_the_reference(site: Path, package: str) -> None:
    module = importlib.import_module(package)
    names = [name for name in module.__all__ if callable(getattr(module, name))]
    assert names
    assert sorted(set(names) - described(site)) == []


def test_no_word_of_the_search_has_a_digit(site: Path) -> None:
    """The index tells its nodes apart by letters and numbers written in a row: digits among the letters mix them."""
    text = (site / "search" / "search_index.json").read_text("utf-8")
    separator = json.loads(text)["config"]["separator"]
    assert re.split(separator, "ε=0.5 budget=gd.ApproxDP(2.0, 1e-5)*3") == ["ε", "budget", "gd", "ApproxDP", "e", ""]


def test_the_site_is_read_and_searched_from_the_disk(site: Path, page: Any) -> None:
    page.goto((site / "how-to" / "audit.html").as_uri())
    field = page.locator("input.md-search__input")
    field.focus()  # loads the index, without which nothing would be found
    page.wait_for_function("!document.querySelector('.md-search-result__meta').textContent.includes('Initializing')")
    field.press_sequentially("budget year")
    page.wait_for_selector(".md-search-result__item a", timeout=20_000)
    assert "budget-a-year.html" in page.locator(".md-search-result__item a").first.get_attribute("href")
    assert page.errors == []
    assert remote(page.addresses) == []


@pytest.mark.parametrize("width", [360, 1400])
def test_pages_are_no_wider_than_the_window(site: Path, page: Any, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    for name in ("index", "tutorials/agency", "how-to/audit", "theory/knorm", "reference/estimators"):
        page.goto((site / f"{name}.html").as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name
