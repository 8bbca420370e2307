"""Text of other people, made safe to show on a page or a terminal."""

import unicodedata

_KEPT = "\u200c\u200d\u00a0\u202f"  # joiners are part of some scripts; no-break spaces


def visible(text: str) -> str:
    """Return one printable line.

    White space becomes a space; characters that are invisible or reorder text become U+FFFD.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(_visible(letter) for letter in text)


def _visible(letter: str) -> str:
    if letter in _KEPT:
        return letter
    if letter.isspace():
        return " "
    return "\N{REPLACEMENT CHARACTER}" if unicodedata.category(letter).startswith("C") else letter
