"""Docstrings as they are written here, made Markdown: parameters become a list, proof pages become links."""

import re
from typing import Any

import griffe

PARAMETER = re.compile(r"^(?P<names>`?[a-z]\w*`?(?:(?:, | and )`?[a-z]\w*`?)*) : ", re.MULTILINE)
PROOF = re.compile(r"\bdocs/(?P<page>(?:theory|how-to|sharp-edges|benchmarks)/[\w-]+)\.md(?P<anchor>(?:#[\w-]+)?)")
SECTION = re.compile(
    r"^(Parameters|Attributes|Returns|Raises|Warns|Notes|Examples)\n-+\n(.*?)(?=^\w+\n-+\n|\Z)",
    re.MULTILINE | re.DOTALL,
)


class Docstrings(griffe.Extension):
    """Rewrite every docstring before it is rendered."""

    def on_object(self, *, obj: Any, **_: Any) -> None:
        """Rewrite one; griffe calls this for each object that it has read."""
        if not obj.is_alias and obj.docstring is not None:
            obj.docstring.value = as_markdown(obj.docstring.value)


def as_markdown(text: str) -> str:
    """Return a docstring as Markdown for a page of docs/reference."""
    text = SECTION.sub(_section, text)
    blocks = [_listed(block) if PARAMETER.search(block) else block for block in text.split("\n\n")]
    return PROOF.sub(r"[\g<page>](../\g<page>.md\g<anchor>)", "\n\n".join(blocks))


def _section(found: re.Match[str]) -> str:
    """Return a section of numpydoc: its name in bold, and an entry for each name, or code."""
    name, body = found[1], found[2].strip()
    if name == "Examples":
        shown = re.sub(r"(?ms)^>>> .*?(?=\n\n|\Z)", r"```python\n\g<0>\n```", body)
    else:
        shown = re.sub(r"(?m)^(\S.*)\n    ", r"- **\1**: ", body)
    return f"**{name}**\n\n{shown}\n\n"


def _listed(block: str) -> str:
    """Return lines 'name : text', and what continues them, as a list; what stands before them stays a paragraph."""
    text = "\n".join(_item(line) for line in block.splitlines())
    return text if text.startswith("- ") else text.replace("\n- ", "\n\n- ", 1)


def _item(line: str) -> str:
    found = PARAMETER.match(line)
    if found is None:
        return line
    return f"- **{found['names'].replace('`', '')}**: {line[found.end() :]}"
