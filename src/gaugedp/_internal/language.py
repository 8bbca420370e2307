"""Sentences, numbers and dates in the language of a page.

The words of pages and notes are in one catalogue per language, `languages/CODE.toml`: a key is a whole sentence with
named slots, or a table of its plural forms. Facts of a release are stored in English; `translated` reads them by the
sentences of `languages/stored.toml`, or of the English catalogue.
"""

import re
import tomllib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from importlib.resources import files
from typing import Any

from gaugedp.errors import InvalidRequest

ENGLISH = "en"
PLURALS: dict[str, Callable[[int], str]] = {  # the form of a noun after a number, as CLDR has it
    ENGLISH: lambda n: "one" if n == 1 else "other",
    "de": lambda n: "one" if n == 1 else "other",
    "fr": lambda n: "one" if n < 2 else "other",
    "es": lambda n: "one" if n == 1 else "other",
    "sl": lambda n: {1: "one", 2: "two", 3: "few", 4: "few"}.get(n % 100, "other"),
}
LANGUAGES = tuple(PLURALS)
_FACTS, _MEASURES = "facts.", "measures."
_BOUNDS = ("low", "high", "step", "value")  # slots with numbers of a domain, which releases store without separators
_ERRORS = ("error", "least", "bound")  # slots with numbers that are rounded if they are large
_PHRASES = ("place", "why", "side", "strategy", "text", "missing_rule", "noise")  # slots that are facts
_NAMES = ("column", "name", "of")  # slots with names of columns or terms
_AS_IT_IS = ("example", "names", "person", *_NAMES)  # slots with names, and with numbers of the table
_NUMBER = re.compile(r"[-−]?\d[\d,]*(\.\d+)?(e[+-]\d+)?")
_DATE = re.compile(r"(\d{4})(?:-(?:Q(?P<quarter>\d)|W(?P<week>\d\d)|(?P<month>\d\d)(?:-(?P<day>\d\d))?))?")
_POWER = re.compile(r"(−?[\d.,]+)e([+-])0*(\d+)")
_RAISED = str.maketrans("-+0123456789", "⁻⁺⁰¹²³⁴⁵⁶⁷⁸⁹")
_SLOT = re.compile(r"\{(\w*)\}")
_BEFORE_SLOT = re.compile(r"\b([dD])e (?=\{)")
_VOWELS = tuple("aeiouyhàâéèêëîïôûAEIOUYHÀÂÉÈÊ")  # French: d'infractions
_language: ContextVar[str] = ContextVar("language", default=ENGLISH)
Entry = str | dict[str, str] | list[str]  # a sentence, its plural forms, or the names of months


def checked(language: Any) -> str:
    """Return the code of a language; one without a catalogue is refused."""
    if language not in LANGUAGES:
        raise InvalidRequest(
            f"`language` is {language!r}, which is not available.", f"Choose one of {', '.join(LANGUAGES)}."
        )
    return str(language)


def current() -> str:
    return _language.get()


@contextmanager
def written_in(language: str) -> Iterator[None]:
    token = _language.set(checked(language))
    try:
        yield
    finally:
        _language.reset(token)


def say(key: str, *numbers: int, **slots: Any) -> str:
    """Return a sentence of the catalogue; a number chooses the plural form."""
    return _filled(template(key, *numbers), **slots)


def template(key: str, *numbers: int) -> str:
    entry = catalogue(current())[key]
    if isinstance(entry, dict):
        return entry.get(PLURALS[current()](*numbers), entry["other"])
    return str(entry)


def measured(title: str, *names: str, section: str = "measures", forms: Sequence[str] = ("",), **slots: str) -> str:
    """Return the title of a statistic, which is known in English, in the words of a section; a new one stays as it is.

    The first of `forms` that the section has is used, such as "_dates"; if it has none, the title is "".
    """
    known = {text: key.removeprefix(_MEASURES) for key, text in catalogue(ENGLISH).items() if key.startswith(_MEASURES)}
    keys = (f"{section}.{known.get(title)}{form}" for form in forms)
    words = next((template(key) for key in keys if key in catalogue(current())), "" if title in known else title)
    return _filled(words, *names, **slots)


def listed(texts: Sequence[str], between: str = "and") -> str:
    return say(f"lists.{between}").join(filter(None, [", ".join(texts[:-1]), *texts[-1:]]))


def localised(number: str) -> str:
    """Return a number that is written in English."""
    return number.translate({ord(","): say("numbers.thousands"), ord("."): say("numbers.decimal")})


def typeset(text: str) -> str:
    """Typeset a number by locale: true minus sign, m × 10ᵏ."""
    signed = f"−{text[1:]}" if text.startswith("-") else text
    return localised(_POWER.sub(_raised, signed))


def dated(text: str, short: bool = False) -> str:
    """Return a cell of dates in words: months and quarters have names. Other texts stay."""
    match = _DATE.fullmatch(text)
    kind = match and match.lastgroup
    if match is None or kind is None:
        return text
    names = catalogue(current())["dates.months_short" if short else "dates.months"]
    slots = {**match.groupdict(), "year": match[1], "iso": text}
    if match["month"]:
        if not 0 < int(match["month"]) <= len(names):
            return text
        slots["month"] = list(names)[int(match["month"]) - 1]
    return say(f"dates.{kind}", **slots, of_month=int(match["day"] or 0))


def period(text: str) -> str:
    """Return the period of a cell of dates, such as "month"."""
    match = _DATE.fullmatch(text)
    return (match and match.lastgroup) or "year"


def translated(fact: str, label: Callable[[str], str] = str) -> str:
    """Return a fact of a release, which is stored in English, in the language of the page; `label` words its names."""
    key, slots = understood(fact)
    return _filled(template(key), **{name: _slot(name, text, label) for name, text in slots.items()}) if key else fact


def understood(fact: str) -> tuple[str, dict[str, str]]:
    """Return the key of a stored fact in the catalogues, and what is in its slots; "" if it is not known."""
    for key, pattern in _patterns() if len(fact) <= 1000 else ():  # patterns take long on longer ones
        if match := pattern.fullmatch(fact):
            return key, match.groupdict()
    return "", {}


@cache
def catalogue(language: str) -> dict[str, Entry]:
    text = files("gaugedp._internal").joinpath("languages", f"{language}.toml").read_text("utf-8")
    return {f"{section}.{key}": entry for section, part in tomllib.loads(text).items() for key, entry in part.items()}


def _raised(match: re.Match[str]) -> str:
    front, sign, power = match.groups()
    raised = f"{sign.removesuffix('+')}{power}".translate(_RAISED)
    return f"10{raised}" if front == "1" else f"{front} × 10{raised}"


def _filled(sentence: str, *names: str, **slots: Any) -> str:
    """Fill the slots of a sentence. In French, "de" before a slot is elided; what is in the slot is not changed."""
    if current() == "fr":
        sentence = _BEFORE_SLOT.sub(lambda match: _elided(match, names, slots), sentence)
    return sentence.format(*names, **slots)


def _elided(match: re.Match[str], names: Sequence[str], slots: dict[str, Any]) -> str:
    slot = _SLOT.match(match.string, match.end())
    place = match.string[: match.end()].count("{}")
    value = "" if slot is None else slots.get(slot[1]) if slot[1] else names[place]
    return f"{match[1]}’" if str(value).startswith(_VOWELS) else match[0]


def _slot(name: str, text: str, label: Callable[[str], str] = str) -> str:
    """Return a number by locale, a phrase of the catalogue translated, and a name as it is labelled."""
    if name in _ERRORS and re.fullmatch(r"\d{1,3}(,\d{3}){2}", text):
        return say("numbers.millions", number=localised(f"{int(text.replace(',', '')) / 1e6:.3g}"))
    if _NUMBER.fullmatch(text) and name not in _AS_IT_IS:
        return typeset(f"{int(text):,}" if name in _BOUNDS and text.lstrip("-").isdigit() else text)
    if name in _NAMES:
        return label(text)
    parts = text.split(" x ") if name == "strategy" else [text]  # a product of strategies
    return " x ".join(translated(part, label) for part in parts) if name in _PHRASES else text


@cache
def _patterns() -> list[tuple[str, re.Pattern[str]]]:
    """Return the English facts as patterns, the longest first: it leaves the least to its slots."""
    known = {**catalogue(ENGLISH), **catalogue("stored")}
    facts = [(key, str(text)) for key, text in known.items() if key.startswith(_FACTS)]
    in_order = sorted(facts, key=lambda fact: -len(_SLOT.sub("", fact[1])))
    return [(key, re.compile(_pattern(text), re.DOTALL)) for key, text in in_order]


def _pattern(text: str) -> str:
    fixed = _SLOT.split(text)  # text, slot, text, slot, …, text
    return "".join(re.escape(part) if place % 2 == 0 else f"(?P<{part}>.+?)" for place, part in enumerate(fixed))
