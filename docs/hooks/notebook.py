"""The notebook docs/tutorials/notebook.ipynb, written from the page beside it: `python docs/hooks/notebook.py`."""

import json
import re
from pathlib import Path
from typing import Any

PAGE = Path(__file__).resolve().parents[1] / "tutorials" / "notebook.md"
NOTEBOOK = PAGE.with_suffix(".ipynb")
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}


def cells(page: str) -> list[dict[str, Any]]:
    """Return the page as cells: its words as Markdown, its blocks of Python as code that has not run."""
    texts = [text.strip() for text in BLOCK.split(page)]  # words and code in turn
    return [_cell(number, text) for number, text in enumerate(texts) if text]


def _cell(number: int, text: str) -> dict[str, Any]:
    common = {"id": f"cell-{number}", "metadata": {}, "source": text.splitlines(keepends=True)}
    if number % 2 == 0:
        return {"cell_type": "markdown", **common}
    return {"cell_type": "code", "execution_count": None, "outputs": [], **common}


def notebook() -> str:
    """Return the notebook's text, in the format 4.5."""
    facts = {
        "cells": cells(PAGE.read_text("utf-8")),
        "metadata": {"kernelspec": KERNEL, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(facts, ensure_ascii=False, indent=1) + "\n"


if __name__ == "__main__":
    NOTEBOOK.write_text(notebook(), encoding="utf-8")
