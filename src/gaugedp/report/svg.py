"""Drawn SVG prepared for embedding in a page."""

import re
from xml.etree import ElementTree

from gaugedp.report.markup import Html
from gaugedp.report.palette import NAMES

_NUMBER = re.compile(r"-?\d+\.\d+")
_FONT = re.compile(r"font: (?:[a-z]+ |[0-9]+ )*([\d.]+)px [^;]*")
_LINK = re.compile(r"url\(#([^)]+)\)")
_COLOUR = re.compile(r"#[0-9a-f]{6}")
_GEOMETRY = ("d", "x", "y", "transform", "viewBox")


def inline(drawing: str, name: str, title: str, class_: str, narrow: str = "") -> Html:
    """Return the drawing for embedding in a page, with another one for narrow screens, if given."""
    root = _read(drawing, name)
    if narrow:
        _put_together(root, _read(narrow, f"{name}-narrow"))
    root.attrib = {"viewBox": root.get("viewBox", ""), "class": class_, "role": "img", "aria-label": title}
    root.attrib |= {"preserveAspectRatio": "xMinYMin"} if narrow else {}
    words = ElementTree.Element("title")
    words.text = title
    root.insert(0, words)
    return Html(ElementTree.tostring(root, encoding="unicode"))


def _read(drawing: str, name: str) -> ElementTree.Element:
    """Return a drawing with unique ids, and without what a page does not need."""
    root = ElementTree.fromstring(drawing)
    _bare(root)
    linked = {link for element in root.iter() for link in _links(element)}
    for element in root.iter():
        attributes = [(key, value) for key, value in element.attrib.items() if key != "id" or value in linked]
        element.attrib = {key: _rewritten(key, value, name) for key, value in attributes}
    return root


def _put_together(root: ElementTree.Element, narrow: ElementTree.Element) -> None:
    """Put both drawings into the first; the style sheet of the page shows one of them."""
    width, other = (float(drawing.get("viewBox", "").split()[2]) for drawing in (root, narrow))
    groups = []
    for drawing, facts in ((root, {"class": "if-wide"}), (narrow, {"class": "if-narrow"})):
        group = ElementTree.Element("g", facts)
        group.extend(list(drawing))
        groups.append(group)
    groups[1].set("transform", f"scale({width / other:.4f})")
    root[:] = groups


def _bare(root: ElementTree.Element) -> None:
    """Remove namespaces, metadata, style sheets and line breaks."""
    for element in root.iter():
        element.tag = element.tag.partition("}")[2] or element.tag
        element.attrib = {key.rpartition("}")[2]: value for key, value in element.attrib.items()}
        element.tail = None
        if element.tag != "text":
            element.text = None
    for parent in list(root.iter()):
        for child in [child for child in parent if child.tag in ("metadata", "style")]:
            parent.remove(child)


def _links(element: ElementTree.Element) -> list[str]:
    href = element.get("href", "")
    return [href[1:]] * bool(href) + [link for value in element.attrib.values() for link in _LINK.findall(value)]


def _rewritten(key: str, value: str, name: str) -> str:
    if key == "id":
        return f"{name}-{value}"
    if key == "href":
        return f"#{name}-{value[1:]}"
    if key in _GEOMETRY:
        return _NUMBER.sub(_rounded, value).replace("\n", " ").strip()
    linked = _LINK.sub(rf"url(#{name}-\1)", _FONT.sub(r"font-size: \1px", value)).strip()
    return _COLOUR.sub(lambda colour: NAMES.get(colour[0], colour[0]), linked) if key == "style" else linked


def _rounded(number: re.Match[str]) -> str:
    return f"{float(number[0]):.2f}".rstrip("0").rstrip(".")
