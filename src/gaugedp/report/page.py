"""Self-contained HTML pages."""

from collections.abc import Iterable
from functools import cache
from importlib.resources import files

from gaugedp._internal.language import current, say
from gaugedp._internal.version import __version__
from gaugedp.report.markup import Html, tag
from gaugedp.report.palette import DAY_RULES, NIGHT_RULES

_CHARSET = Html('<meta charset="utf-8">')
_METAS = Html(
    '<meta name="viewport" content="width=device-width, initial-scale=1">'
    '<meta name="color-scheme" content="light dark">'
)


def document(title: str, parts: Iterable[str], source: str, policy: str = "", style: str = "") -> str:
    """Return a page with its `parts` and a footer.

    The footer names the library's version and the source of the page.
    """
    footer = tag("footer", tag("p", say("page.footer", version=__version__, source=source)))
    head = tag("head", _CHARSET, policy, _METAS, tag("title", title), _style(), style)
    return f"<!DOCTYPE html>\n{tag('html', head, tag('body', *parts, footer), lang=current())}\n"


@cache
def _style() -> Html:
    rules = resource("page.css").replace("DAY", DAY_RULES).replace("NIGHT", NIGHT_RULES)
    return Html(f"<style>{rules}</style>")


def resource(name: str) -> str:
    """Return the text of a file of this folder."""
    return files("gaugedp.report").joinpath(name).read_text("utf-8")
