"""Form of a table's text: separators, encoding, numbers and dates."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from gaugedp._internal.validate import one_of
from gaugedp.domain.attributes import NO_NUMBER
from gaugedp.domain.toml import only_keys
from gaugedp.errors import InvalidRequest

SEPARATORS = {",": "Commas", ";": "Semicolons", "\t": "Tabs", "|": "Vertical bars"}
ENCODINGS = ("utf-8", "latin-1", "iso-8859-2", "iso-8859-15", "windows-1250", "windows-1251", "windows-1252")
_CHOICES = {
    "separator": ("", *SEPARATORS),
    "decimal": (".", ","),
    "thousands": ("", ".", ",", " ", "'", "’"),
    "encoding": ENCODINGS,
    "quote": ('"', "'", ""),
}
_TOKEN = re.compile(r"yyyy|mm?|dd?|[./ -]")


@dataclass(frozen=True)
class TextFormat:
    """Format of text files, and of numbers and dates in text.

    Parameters
    ----------
    separator : str
        Mark between fields. "" means a comma in .csv files and a tab in .tsv files.
    decimal, thousands : str
        Marks in numbers. Groups of thousands have three digits.
    encoding : str
        "utf-8" or a single-byte encoding.
    date_format : str
        Such as "dd.mm.yyyy", or "d.m.yyyy" if leading zeros may be absent. "" means ISO 8601.
    quote : str
        Mark around fields, doubled inside one.
    """

    separator: str = ""
    decimal: str = "."
    thousands: str = ""
    encoding: str = "utf-8"
    date_format: str = ""
    quote: str = '"'

    def __post_init__(self) -> None:
        for name, choices in _CHOICES.items():
            one_of(choices, **{name: getattr(self, name)})
        if self.decimal == self.thousands:
            raise InvalidRequest(
                f"`decimal` and `thousands` are both {self.decimal!r}, so numbers could not be read.",
                "Choose different characters.",
            )
        if self.decimal == self.separator and not self.quote:
            raise InvalidRequest(
                "A comma is both the decimal sign and the separator of fields, and quotes are disabled.",
                "Choose another `separator`, or a `quote`.",
            )
        if self.date_format != "" and not _is_date(self.date_format):
            raise InvalidRequest(
                f"`date_format` is {self.date_format!r}, which is not a format of days, months and years.",
                'Separate yyyy, mm and dd by ., /, - or a space, such as "dd.mm.yyyy" or "d/m/yyyy".',
            )

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> "TextFormat":
        """Return the format of a [file] section."""
        only_keys("[file]", facts, tuple(cls.__dataclass_fields__))
        return cls(**facts)

    @property
    def date_tokens(self) -> tuple[str, ...]:
        """Parts of `date_format` in order."""
        return tuple(_TOKEN.findall(self.date_format))

    @property
    def has_own_values(self) -> bool:
        """True if numbers or dates differ from the default."""
        return (self.decimal, self.thousands, self.date_format) != (".", "", "")

    @property
    def no_number(self) -> str:
        """Rule for text that is not a number."""
        if (self.decimal, self.thousands) == (".", ""):
            return NO_NUMBER
        return f"text that is not a number such as 1{self.thousands}250{self.decimal}5 counts as missing"


PLAIN = TextFormat()


def _is_date(form: object) -> bool:
    """Return True for one year, one month and at most one day. A part of variable length needs a mark after it."""
    if not isinstance(form, str):
        return False
    tokens = _TOKEN.findall(form)
    kinds = sorted(token[0] for token in tokens if token[0] in "ymd")
    return (
        "".join(tokens) == form
        and kinds in (["d", "m", "y"], ["m", "y"])
        and not any(token in ("m", "d") and after[0] in "ymd" for token, after in pairwise(tokens))
    )
