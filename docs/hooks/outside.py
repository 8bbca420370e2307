"""Links that leave docs/ work in the site too: what they lead to becomes a page of its own.

In the repository a link such as ../../examples/table3.py is a file. In the site it is a page below repository/, which
shows that file. Such pages are made while the site is built, and followed in their turn where they are Markdown.
"""

import posixpath
import re
from pathlib import Path, PurePosixPath
from typing import Any

from mkdocs.structure.files import File, InclusionLevel

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r"(?<=\]\()(?!https?:|mailto:|#)(?P<path>[^)#\s]+)")
LANGUAGES = {".py": "python", ".toml": "toml", ".yml": "yaml"}


def on_files(files: Any, config: Any) -> Any:
    """Add a page for every file outside docs/ that a page links to."""
    waiting = [f"docs/{file.src_uri}" for file in files.documentation_pages()]
    while waiting:
        for place in _leaving(waiting.pop()):
            if files.get_file_from_path(site_uri(place)) is None:
                page = File.generated(
                    config, site_uri(place), content=shown(place), inclusion=InclusionLevel.NOT_IN_NAV
                )
                files.append(page)
                waiting += [place] if place.endswith(".md") else []
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Lead links to where their files are in the site."""
    here = page.file.src_uri
    return LINK.sub(lambda found: _from(here, found["path"]), markdown)


def _leaving(place: str) -> list[str]:
    """The files outside docs/ that a page links to, as paths from the root; a lost link is left to mkdocs to find."""
    linked = [resolved(place, found["path"]) for found in LINK.finditer((ROOT / place).read_text("utf-8"))]
    return [one for one in linked if not one.startswith(("docs/", "../")) and (ROOT / one).is_file()]


def resolved(place: str, link: str) -> str:
    """The path from the root that a link of the file `place` leads to."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(place), link))


def site_uri(place: str) -> str:
    """Where in the site a file of the repository is: pages of docs/ at their own place."""
    if place.startswith("docs/"):
        return place.removeprefix("docs/")
    return f"repository/{place}" + ("" if place.endswith(".md") else ".md")


def source(uri: str) -> str:
    """The file of the repository that a page of the site was made of."""
    if not uri.startswith("repository/"):
        return f"docs/{uri}"
    place = uri.removeprefix("repository/")
    return place if (ROOT / place).is_file() else place.removesuffix(".md")


def _from(here: str, link: str) -> str:
    place = resolved(source(here), link)
    if not (ROOT / place).is_file():
        return link
    return posixpath.relpath(site_uri(place), posixpath.dirname(here) or ".")


def shown(place: str) -> str:
    """The text of the page that shows a file."""
    text = (ROOT / place).read_text("utf-8")
    if place.endswith(".md"):
        return text
    path = PurePosixPath(place)
    return f"# {place}\n\n````{LANGUAGES.get(path.suffix, 'text')}\n{text}\n````\n"
