"""Checks that a first line holds column names."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence

from gaugedp.errors import UnreadableTable

_UNITS = (
    "kg|mg|[µμu]g|ng|lbs?|oz|cm|mm|km|ft|ml|dl|cl|mmhg|bpm|kcal|kj|yrs|years|months|hrs|mins|°[cf]?|usd|eur|gbp|chf"
)
_DAY = r"\d{1,4}([-./])\d{1,2}\1\d{1,4}\b.*|\d{1,2}:\d{2}(:\d{2})?.*|\d{4}-\d{2}"
_MONTHS = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
_VALUES = {  # patterns of a whole field, case-insensitive; the first match counts
    "a date or time": rf"{_DAY}|\d{{1,2}}[-./]?({_MONTHS})[a-z]*[-./]?(\d{{2}}){{1,2}}",
    "a number": r"[+\-−]?((?=[.,]*\d)[\d.,]+e[+\-−]?\d+|inf|infinity|nan)|(usd|eur|gbp|chf)\s\d[\d.,]*",
    "a number with a unit": rf"\W*((\d[\d.,]*\s*({_UNITS})(/\w+)?\W*)+|\d+[.,]\d+[a-z])",
    "a number before a word": r"\W*\d[\d.,]*\s.*[^\W\d_].*",
    "a truth value": "true|false|yes|null|#?n/a",
    "an address": r"[^@\s]+@[^@\s.]+(\.[^@\s.]+)+|[a-z]+://.*",
    "an identifier": r"\W*[0-9a-f]{8}(-?[0-9a-f]{4}){3}-?[0-9a-f]{12}\W*|([0-9a-f]{2,4}:){3}[0-9a-f:]+|\D*\d{10}.*",
}
_SEPARATORS = re.compile(r"[;,|\t]")
_TEXTS = ("Save it as CSV UTF-8: one line of names, then one line for each row.", "Write the rows as CSV UTF-8.")
_KINDS = {  # by the first bytes
    rb"PK\x03\x04": ("a workbook, such as .xlsx, or another archive", _TEXTS[0]),
    rb"\xd0\xcf\x11\xe0": ("an old workbook (.xls)", _TEXTS[0]),
    rb"\s*<[a-zA-Z!?]": ("a web page or XML", _TEXTS[0]),
    rb'\s*(\{\s*["}]|\[\s*[\[{"\d\]])': ("JSON", _TEXTS[1]),
    rb"\xff\xfe|\xfe\xff": ("text in UTF-16", "Save it in UTF-8."),
    rb"\x1f\x8b": ("packed by gzip", "Give it a name that ends in .gz."),
    rb"\x28\xb5\x2f\xfd": ("packed by zstd", "Give it a name that ends in .zst."),
    rb"PAR1[^ -~]": ("a Parquet file", "Give it a name that ends in .parquet."),
    rb"SQLite format 3\x00|ARROW1\x00|\$FL[23]@|<stata_dta>": ("a database or a table of another program", _TEXTS[1]),
    rb"%PDF-|\{\\rtf|BZh[1-9]1AY|\xfd7zXZ": ("a document or an archive", _TEXTS[1]),
}


def check_is_text(start: bytes, name: str) -> None:
    """Refuse a file whose `start` is not delimited text."""
    for beginning, (what, do) in _KINDS.items():
        if re.match(beginning, start):
            raise UnreadableTable(f"{name!r} is {what}, which its name does not indicate.", do)


def doubts(names: Sequence[str]) -> list[str]:
    """Return why names may be values, without repeating a name."""
    counts = Counter(name.strip().casefold() for name in names)
    found = [(doubt, place) for place, name in enumerate(names, 1) for doubt in _doubts(name.strip(), counts)]
    firsts, numbers = dict(reversed(found)), Counter(doubt for doubt, _ in found)
    more = {doubt: f" and {number - 1} more" if number > 1 else "" for doubt, number in numbers.items()}
    return [f"{doubt} (field {firsts[doubt]}{rest})" for doubt, rest in more.items()]


def _doubts(name: str, counts: Counter[str]) -> Iterator[str]:
    if not name:
        yield "no name"
    elif counts[name.casefold()] > 1:
        yield "a repeated name"
    if value := next((kind for kind, form in _VALUES.items() if re.fullmatch(form, name, re.IGNORECASE)), ""):
        yield value
    elif not name.isidentifier() and any(map(str.isdigit, name)) and not any(map(str.isalpha, name)):
        yield "a number"  # also a telephone number
    if _SEPARATORS.search(name):
        yield "a separator in a name"
    if any(unicodedata.category(letter)[0] == "C" or letter in "\u2028\u2029" for letter in name):
        yield "a control character"
