"""HTML built from parts; text is escaped unless it is Html."""

import html
from collections.abc import Iterable

from gaugedp._internal.language import say, template
from gaugedp._internal.visible import visible


class Html(str):
    """Text that is already HTML."""

    __slots__ = ()


def tag(name: str, *children: str, **attributes: str) -> Html:
    """Return <name …>children</name>. `class_` means class, and `_` in other names means `-`."""
    written = "".join(f' {key.rstrip("_").replace("_", "-")}="{escape(value)}"' for key, value in attributes.items())
    return Html(f"<{name}{written}>{join(children)}</{name}>")


def join(parts: Iterable[str], between: str = "") -> Html:
    """Return the parts in sequence, escaping plain text."""
    return Html(between.join(part if isinstance(part, Html) else escape(part) for part in parts))


def escape(text: str) -> Html:
    """Escape text for an element or a quoted attribute."""
    return Html(html.escape(visible(text), quote=True))


def listing(items: Iterable[str]) -> Html:
    """Return a bulleted list."""
    return tag("ul", *(tag("li", item) for item in items))


def table(
    caption: str, heads: Iterable[str], rows: Iterable[Iterable[str]], class_: str = "numbers", about: str = ""
) -> Html:
    """Return a scrollable table whose first column names the rows.

    Screen readers read `about` before the caption; it is not shown, because the heading shows it.
    """
    unseen = [tag("span", say("page.colon", name=about), class_="unseen")] if about else []
    head = tag("thead", tag("tr", *(tag("th", text, scope="col") for text in heads)))
    lines = [_row(cells) for cells in rows]
    body = tag("table", tag("caption", *unseen, caption), head, tag("tbody", *lines), class_=class_)
    return tag(
        "div",
        body,
        class_="scroll",
        tabindex="0",
        role="region",
        aria_label=say("page.colon", name=about) + caption if about else str(caption),
    )


def _row(cells: Iterable[str]) -> Html:
    first, *others = cells
    return tag("tr", tag("th", first, scope="row"), *(tag("td", cell) for cell in others))


def titled(title: str, *parts: str, **attributes: str) -> Html:
    """Return a section of a page with its title."""
    return tag("section", tag("h2", title), *parts, **attributes)


def heading(kicker: str, title: str, *below: str) -> Html:
    """Return the head of a page."""
    return tag("header", tag("p", kicker, class_="kicker"), tag("h1", title), *below)


def of_table(name: str) -> Html:
    """Return the name of the table of a page."""
    return Html(escape(template("page.table")).format(name=tag("b", name)))


def fact(title: str, value: str, *body: str) -> Html:
    """Return a box with a title, a large value and text."""
    return tag("div", tag("h3", title), tag("p", value, class_="value"), *body, class_="fact")
