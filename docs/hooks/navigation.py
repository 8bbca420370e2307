"""Proof pages that mkdocs.yml does not name are added below Proofs: a new mechanism's page needs no line."""

import re
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parents[1]


def on_config(config: Any) -> Any:
    """Add the pages of docs/theory that the navigation lacks, at the end of Proofs."""
    section = next(entry["Proofs"] for entry in config["nav"] if "Proofs" in entry)
    section += unnamed((DOCS.parent / "mkdocs.yml").read_text("utf-8"))
    return config


def unnamed(settings: str) -> list[str]:
    """Return the pages of docs/theory that the settings do not name."""
    named = set(re.findall(r"theory/[\w-]+\.md", settings))
    return sorted({path.relative_to(DOCS).as_posix() for path in (DOCS / "theory").glob("*.md")} - named)
