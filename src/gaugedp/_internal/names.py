"""Names in a query: double quotes enclose a name with a mark of the language, and "" is a quote in it."""

import json
import re
from collections.abc import Iterable

_MARKS = '*;()"'
_QUOTED = r'"[^"]*"'


def written(name: str, marks: str = _MARKS) -> str:
    """Return a name as in a query, quoted if necessary."""
    is_plain = name == name.strip() != "" and not any(mark in name for mark in marks)
    return name if is_plain else '"' + name.replace('"', '""') + '"'


def written_in_list(name: str) -> str:
    """Return a name as in a comma-separated list."""
    return written(name, f"{_MARKS},")


def plain(text: str) -> str:
    """Return the name that a text denotes."""
    text = text.strip()
    return text[1:-1].replace('""', '"') if re.fullmatch(r'"(?:[^"]|"")*"', text) else text


def parts(text: str, mark: str) -> list[str]:
    cuts = [match.start() for match in re.finditer(f"{_QUOTED}|{re.escape(mark)}", text) if match[0] == mark]
    return [text[start:end].strip() for start, end in zip([0, *(cut + 1 for cut in cuts)], [*cuts, None], strict=True)]


def without_quoted(text: str) -> str:
    """Replace each quoted part of a text by x."""
    return re.sub(_QUOTED, "x", text)


def quoted(text: str, names: Iterable[str]) -> str:
    """Quote the names in a text that need it."""
    bare = sorted((name for name in names if name.strip() and written(name) != name), key=len, reverse=True)
    pattern = "|".join([f"({_QUOTED})", *map(re.escape, bare)])
    return re.sub(pattern, lambda match: match[1] or written(match[0]), text)


def in_quotes(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
