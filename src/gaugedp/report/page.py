"""A page: one file of HTML that needs nothing else."""

from collections.abc import Iterable
from functools import cache
from importlib.resources import files

from gaugedp._internal.version import __version__
from gaugedp.report.markup import Html, tag
from gaugedp.report.palette import DAY_RULES, NIGHT_RULES

_CHARSET = Html('<meta charset="utf-8">')
_METAS = Html(
    '<meta name="viewport" content="width=device-width, initial-scale=1">'
    '<meta name="color-scheme" content="light dark">'
)


def document(title: str, parts: Iterable[str], source: str, policy: str = "", style: str = "") -> str:
    """Return the page with its `parts` and a footer: the version of the library, and what the page was made from."""
    footer = tag("footer", tag("p", f"Written by gaugedp {__version__}. {source}"))
    head = tag("head", _CHARSET, policy, _METAS, tag("title", title), _style(), style)
    return f"<!DOCTYPE html>\n{tag('html', head, tag('body', *parts, footer), lang='en')}\n"


@cache
def _style() -> Html:
    """Return how pages look: on a phone, on a desk, on paper, by day and by night. No font or picture is loaded."""
    rules = resource("page.css").replace("DAY", DAY_RULES).replace("NIGHT", NIGHT_RULES)
    return Html(f"<style>{rules}</style>")


def resource(name: str) -> str:
    """Return the text of a file of this folder: a style or a script."""
    return files("gaugedp.report").joinpath(name).read_text("utf-8")
