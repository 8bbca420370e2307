"""Figures of the README stand in a page that a script wrote, and every page of figures names its script."""

import re
from pathlib import Path

import pytest

from benchmarks import pages, summary

ROOT = Path(__file__).resolve().parents[2]
PAGES = {path.stem: path.read_text(encoding="utf-8") for path in sorted((ROOT / "docs" / "benchmarks").glob("*.md"))}
LISTS = {"index"}  # pages without figures


def claims() -> list[str]:
    """The rows of the README's table of figures, without the names of what was measured."""
    text = (ROOT / "README.md").read_text(encoding="utf-8").split("## Measurements")[1].split("\nTables with")[0]
    return [line for line in text.splitlines() if line.startswith("| ") and not line.startswith("| | ")]


def figures(line: str) -> list[str]:
    """The numbers that were measured: those of the second and the third column, with or without separators."""
    return re.findall(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?", "|".join(line.split("|")[2:]))


def in_a_page(figure: str, page: str) -> bool:
    number = float(figure.replace(",", ""))
    results = [
        float(one.replace(",", "")) for one in re.findall(r"\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?", page) if one[-1] != ","
    ]
    near = 10.0 ** -len(figure.split(".")[1]) / 2 if "." in figure and "e" not in figure else 0.04 * number
    return any(abs(one - number) <= near + 1e-12 or abs(one / 1000 - number) <= near + 1e-12 for one in results)


def test_the_readme_has_figures() -> None:
    assert len(claims()) == 3
    assert sum(len(figures(line)) for line in claims()) >= 6


@pytest.mark.parametrize("line", claims(), ids=lambda line: line.split("|")[1].strip()[:40])
def test_each_figure_of_the_readme_stands_in_a_page(line: str) -> None:
    assert figures(line)
    assert any(all(in_a_page(figure, page) for figure in figures(line)) for page in PAGES.values()), figures(line)


def test_a_figure_of_no_page_is_found_out() -> None:
    page = "| rows | error |\n|---|---|\n| 8,000 | **0.0573** |"
    assert in_a_page("0.057", page)
    assert in_a_page("8,000", page)
    assert not in_a_page("0.0588", page)
    assert not in_a_page("7,500", page)


@pytest.mark.parametrize("name", sorted(set(PAGES) - LISTS))
def test_each_page_names_the_script_that_wrote_it(name: str) -> None:
    named = re.findall(r"benchmarks[./](\w+)", PAGES[name])
    assert named, name
    assert any((ROOT / "benchmarks" / f"{one}.py").exists() for one in named)


def test_the_figures_of_the_readme_are_those_of_their_pages() -> None:
    assert claims() == summary.figures()


def test_the_page_of_peers_is_what_its_script_writes() -> None:
    assert PAGES["summary"] == summary.page()


def test_each_block_of_a_page_is_written_by_one_script() -> None:
    scripts = (path.read_text(encoding="utf-8") for path in sorted((ROOT / "benchmarks").glob("*.py")))
    written = [pair for text in scripts for pair in re.findall(r'put\(\s*"(\w+)",\s*"([^"]+)"', text)]
    # in one loop
    written += [("accountant", name) for name in ("different", "sgd", "published", "small")]
    blocks = {(page, name) for page, text in PAGES.items() for name in pages.names(text)}
    assert blocks == set(written) | {("summary", "peers")}


def test_only_the_block_with_the_name_is_replaced() -> None:
    text = "a\n\n<!--begin:one-->\n\nold\n\n<!--end:one-->\n\nb\n\n<!--begin:two-->\n\nold\n\n<!--end:two-->\n"
    result = pages.replaced(text, "two", ["| new |", "|---|"])
    assert result == text.replace("<!--begin:two-->\n\nold", "<!--begin:two-->\n\n| new |\n|---|")
    assert pages.names(result) == ["one", "two"]
    with pytest.raises(ValueError, match="0 blocks named 'three'"):
        pages.replaced(text, "three", [])
