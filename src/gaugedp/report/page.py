"""A page: one file of HTML that needs nothing else."""

import sys
from collections.abc import Iterable

from gaugedp.report.markup import Html, tag
from gaugedp.report.style import CSS

_CHARSET = Html('<meta charset="utf-8">')
_METAS = Html(
    '<meta name="viewport" content="width=device-width, initial-scale=1">'
    '<meta name="color-scheme" content="light dark">'
)


def document(title: str, parts: Iterable[str], source: str, policy: str = "", style: str = "") -> str:
    """Return the page with its `parts` and a footer: the version of the library, and what the page was made from."""
    version = getattr(sys.modules["gaugedp"], "__version__", "(unknown version)")
    footer = tag("footer", tag("p", f"Written by gaugedp {version}. {source}"))
    head = tag("head", _CHARSET, policy, _METAS, tag("title", title), Html(f"<style>{CSS}</style>"), style)
    return f"<!DOCTYPE html>\n{tag('html', head, tag('body', *parts, footer), lang='en')}\n"
