"""CHANGELOG.md, joined from the fragments in changelog.d: `make changelog`."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CHANGELOG = ROOT / "CHANGELOG.md"
KINDS = (
    "security", "removed", "queries", "releases", "noise", "accounting",
    "ledger", "models", "audits", "engines", "interface", "speed",
)  # fmt: skip
TITLE = "# Changelog\n"


def section(folder: Path, version: str) -> str:
    """Return the changes of a version by area, in the order of the fragments; empty if there are none."""
    parts = [f"## {version}\n"]
    for kind in KINDS:
        items = [_item(path.read_text("utf-8")) for path in sorted(folder.glob(f"*.{kind}.md"))]
        parts += [f"### {kind.capitalize()}\n", "\n".join(items) + "\n"] if items else []
    return "\n".join(parts) if len(parts) > 1 else ""


def joined(text: str, folder: Path, version: str) -> str:
    """Return the changelog `text` with the section of `version` made anew; those of other versions stay."""
    older = [part for part in re.split(r"(?m)^(?=## )", text)[1:] if part.splitlines()[0] != f"## {version}"]
    return "\n".join(part.strip() + "\n" for part in [TITLE, section(folder, version), *older] if part)


def current() -> str:
    """Return CHANGELOG.md as the fragments of now make it."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    return joined(CHANGELOG.read_text("utf-8") if CHANGELOG.exists() else TITLE, ROOT / "changelog.d", version)


def _item(fragment: str) -> str:
    """Return a fragment as items of a list, its links as seen from the root."""
    text = fragment.strip().replace("](../", "](")
    return text if text.startswith("- ") else "- " + text.replace("\n", "\n  ")


if __name__ == "__main__":
    CHANGELOG.write_text(current(), "utf-8")
