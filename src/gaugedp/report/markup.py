"""HTML that is built from parts: every text is escaped unless it is already HTML."""

import html
import unicodedata
from collections.abc import Iterable

_KEPT = "\u200c\u200d\u00a0"  # joiners belong to the spelling of some languages; a blank that does not break


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


def tag(name: str, *children: str, **attributes: str) -> Html:
    """Return <name …>children</name>. `class_` stands for class, and `_` in other names for `-`."""
    written = "".join(f' {key.rstrip("_").replace("_", "-")}="{escape(value)}"' for key, value in attributes.items())
    return Html(f"<{name}{written}>{join(children)}</{name}>")


def join(parts: Iterable[str], between: str = "") -> Html:
    """Return the parts in a row, those that are plain text escaped."""
    return Html(between.join(part if isinstance(part, Html) else escape(part) for part in parts))


def escape(text: str) -> Html:
    """Return the text as HTML that shows it, inside an element or a quoted attribute."""
    return Html(html.escape(visible(text), quote=True))


def visible(text: str) -> str:
    """Return one line: white space becomes a blank, what cannot be shown or reorders text becomes U+FFFD."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_visible(letter) for letter in text)


def _visible(letter: str) -> str:
    if letter in _KEPT:
        return letter
    if letter.isspace():
        return " "
    return "\N{REPLACEMENT CHARACTER}" if unicodedata.category(letter).startswith("C") else letter


def listing(items: Iterable[str]) -> Html:
    """Return a bulleted list."""
    return tag("ul", *(tag("li", item) for item in items))


def table(
    caption: str, heads: Iterable[str], rows: Iterable[Iterable[str]], class_: str = "numbers", about: str = ""
) -> Html:
    """Return a table whose first column names the rows, in a box that scrolls by itself on a narrow screen.

    What it is about is read aloud before the caption, and not shown: the heading above shows it.
    """
    unseen = [tag("span", f"{about}: ", class_="unseen")] if about else []
    head = tag("thead", tag("tr", *(tag("th", text, scope="col") for text in heads)))
    lines = [_row(cells) for cells in rows]
    body = tag("table", tag("caption", *unseen, caption), head, tag("tbody", *lines), class_=class_)
    return tag(
        "div",
        body,
        class_="scroll",
        tabindex="0",
        role="region",
        aria_label=f"{about}: {caption}" if about else str(caption),
    )


def _row(cells: Iterable[str]) -> Html:
    first, *others = cells
    return tag("tr", tag("th", first, scope="row"), *(tag("td", cell) for cell in others))


def titled(title: str, *parts: str, **attributes: str) -> Html:
    """Return a section of a page, below its title."""
    return tag("section", tag("h2", title), *parts, **attributes)


def heading(kicker: str, title: str, *below: str) -> Html:
    """Return the head of a page: what it is, its title, and what stands below."""
    return tag("header", tag("p", kicker, class_="kicker"), tag("h1", title), *below)


def of_table(name: str) -> Html:
    """Return which table a page is about."""
    return join(["Table ", tag("b", name)])


def fact(title: str, value: str, *body: str) -> Html:
    """Return a box with a title, a value in large letters, and what explains it."""
    return tag("div", tag("h3", title), tag("p", value, class_="value"), *body, class_="fact")
