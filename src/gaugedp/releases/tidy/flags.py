"""Quality flags: marks of answers with much noise, by public rules."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from gaugedp._internal.language import say, translated
from gaugedp.domain.toml import only_keys
from gaugedp.errors import InvalidRequest

_RULE = re.compile(r"\s*(?:(relative half-width|half-width|estimate)\s*([<>])|interval excludes)\s*(\d+(?:\.\d+)?)\s*")
_SHORT = "A mark has 1 to 8 characters that are not all spaces."
_EXAMPLE = 'Write it as { when = "relative half-width > 0.2", mark = "u", text = "use with caution" }.'


@dataclass(frozen=True)
class Flag:
    """Rule that marks answers, from released numbers only.

    `when` compares the half-width of the 95 % interval ("half-width"), its quotient by the absolute estimate ("relative
    half-width") or the "estimate" with a number, by > or <; or it is "interval excludes" and a number. Marked answers
    have the `mark`, whose meaning is `text`; with `suppress`, their numbers are not shown. If the rule is about some
    `terms` only, these are their texts.
    """

    when: str
    mark: str
    text: str = ""
    suppress: bool = False
    terms: tuple[str, ...] = ()

    @classmethod
    def of(cls, facts: Any, place: str = "the publication") -> "Flag":
        """Return the flag that a table of a TOML file describes."""
        only_keys(f"flags of {place}", facts, ("when", "mark", "text", "suppress"))
        when, mark, text = (facts.get(key, "") for key in ("when", "mark", "text"))
        if not isinstance(when, str) or not _RULE.fullmatch(when):
            raise InvalidRequest(f"In flags of {place}: `when` is {when!r}, which is not a rule.", _EXAMPLE)
        if not isinstance(mark, str) or not mark.strip() or len(mark) > 8 or not isinstance(text, str):
            what = f"In flags of {place}: `mark` ({mark!r}) or `text` ({text!r}) is not a suitable text."
            raise InvalidRequest(what, f"{_SHORT} {_EXAMPLE}")
        if not isinstance(suppress := facts.get("suppress", False), bool):
            raise InvalidRequest(
                f"In flags of {place}: `suppress` is {suppress!r}, which is neither true nor false.",
                "Write true or false.",
            )
        return cls(when, mark, text, suppress)

    @classmethod
    def stored(cls, facts: Mapping[str, Any]) -> "Flag":
        """Return the flag of `to_dict`."""
        rule = {name: fact for name, fact in facts.items() if name != "terms"}
        return replace(cls.of(rule, "the release"), terms=tuple(facts.get("terms", ())))

    def to_dict(self) -> dict[str, Any]:
        """Return the rule as JSON-compatible data."""
        return {name: fact for name, fact in asdict(self).items() if name != "terms" or fact}

    def is_about(self, terms: Iterable[str]) -> bool:
        """Return True if the rule applies to one of the terms."""
        return not self.terms or not set(self.terms).isdisjoint(terms)

    def applies(self, estimate: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
        """Return which answers the rule marks, shape (n_answers,), bool."""
        parts = _RULE.fullmatch(self.when)
        assert parts is not None
        if parts[1] is None:
            return (lower > float(parts[3])) | (upper < float(parts[3]))
        half = (upper - lower) / 2
        with np.errstate(divide="ignore", invalid="ignore"):
            relative = np.where(half > 0, half / np.abs(estimate), 0.0)
        number = {"half-width": half, "relative half-width": relative, "estimate": estimate}[parts[1]]
        return number > float(parts[3]) if parts[2] == ">" else number < float(parts[3])

    @property
    def legend(self) -> str:
        """The mark with its meaning."""
        key = "flags.hidden" if self.suppress else "flags.shown"
        return say(key, mark=self.mark, text=self.text or translated(self.when))


def check_marks(flags: Iterable[Flag]) -> None:
    """Refuse rules with one mark that have different texts."""
    texts: dict[str, str] = {}
    for flag in flags:
        text = flag.text or flag.when
        if texts.setdefault(flag.mark.strip(), text) != text:
            raise InvalidRequest(
                f"The mark {flag.mark!r} of flags has two meanings: {texts[flag.mark.strip()]!r} and {text!r}.",
                "Give each meaning its own mark, or both rules the same text.",
            )


def legends(flags: Iterable[Flag], terms: Iterable[str]) -> list[str]:
    """Return the legends of the flags of some terms, each once."""
    wanted = set(terms)
    return list(dict.fromkeys(flag.legend for flag in flags if flag.is_about(wanted)))


def marked(
    flags: Sequence[Flag], numbers: Mapping[str, np.ndarray], terms: Sequence[tuple[str, int]]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the marks of each answer, and which answers are suppressed; both have shape (n_answers,).

    `terms` are the texts of the terms with their numbers of answers.
    """
    estimate, lower, upper = (numbers[name].astype(float) for name in ("estimate", "lower", "upper"))
    sizes = [size for _, size in terms]
    masks = [
        flag.applies(estimate, lower, upper) & np.repeat([flag.is_about([text]) for text, _ in terms], sizes)
        for flag in flags
    ]
    hidden = np.zeros(len(estimate), dtype=bool)
    for flag, mask in zip(flags, masks, strict=True):
        hidden |= mask & flag.suppress
    marks = np.full(len(estimate), "", dtype=object)
    for flag, mask in zip(flags, masks, strict=True):
        on = mask & (~hidden | flag.suppress)
        marks[on] = [f"{mark} {flag.mark}".strip() for mark in marks[on]]
    return marks, hidden
