"""CHANGELOG.md is joined from fragments: by area, once each, and the sections of older versions stay."""

from pathlib import Path

from docs.hooks.changelog import CHANGELOG, KINDS, ROOT, joined

FRAGMENTS = {
    "2.noise.md": "New,\nreally.\n",
    "1.noise.md": "- See [it](../docs/it.md).\n- So.\n",
    "3.speed.md": "Less.\n",
}


def write(folder: Path) -> Path:
    for name, text in FRAGMENTS.items():
        (folder / name).write_text(text, "utf-8")
    return folder


def test_fragments_are_joined_by_area_and_older_versions_stay(tmp_path: Path) -> None:
    old = "# Changelog\n\n## 0.9\n\nstale\n\n## 0.8\n\nolder\n"
    text = joined(old, write(tmp_path), "0.9")
    assert text == (
        "# Changelog\n\n## 0.9\n\n### Noise\n\n- See [it](docs/it.md).\n- So.\n- New,\n  really.\n\n"
        "### Speed\n\n- Less.\n\n## 0.8\n\nolder\n"
    )
    assert joined(text, tmp_path, "0.9") == text
    (tmp_path / "empty").mkdir()
    assert joined(text, tmp_path / "empty", "1.0") == text, "what was joined stays when its fragments are gone"


def test_every_fragment_has_an_area_that_is_joined() -> None:
    names = {path.name for path in (ROOT / "changelog.d").glob("*.md")} - {"README.md"}
    assert {name.split(".")[-2] for name in names} <= set(KINDS)
    assert CHANGELOG.read_text("utf-8").count("\n- ") >= len(names), "run make changelog"
