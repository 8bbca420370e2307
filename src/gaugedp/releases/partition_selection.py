"""Partition selection: keys of an attribute that enough people share."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gaugedp._internal.displays import drawing, drawn_by
from gaugedp._internal.files import check_ending
from gaugedp._internal.names import written
from gaugedp._internal.progress import Progress, silent
from gaugedp._internal.version import __version__
from gaugedp.domain.attributes import OTHER, UnknownKeys, categories
from gaugedp.domain.domain import Domain
from gaugedp.domain.toml import with_keys
from gaugedp.entropy import Entropy
from gaugedp.errors import STAYS_SPENT, InvalidRequest
from gaugedp.guarantees import Guarantee, from_dict
from gaugedp.ledger.base import Ledger
from gaugedp.mechanisms.partition_selection import PartitionSelection
from gaugedp.releases.executing import Charge, PaidRows, check_kinds, execute
from gaugedp.tables.aggregate import Rows
from gaugedp.tables.keys import LONGEST_KEY, check_source
from gaugedp.tables.table import Table

FORMAT = "gaugedp-keys-1"
CHANCES = (0.01, 0.5, 0.99)  # probabilities for which a release states the count
_RULES = (
    f"A key is a text of 1 to {LONGEST_KEY} letters without control characters, or an integer; a person has each once.",
    "Keys that are not shown, missing values and all other values count as other.",
)


@dataclass(frozen=True, eq=False, repr=False)
class KeyRelease:
    """Categories that enough people share, from `gd.release_keys`.

    `keys` lists these categories in order, and they are public from now on. `counts`, of shape (n,), holds the noisy
    number of people in each. A category is published only if its noisy number is large, so these numbers are too large
    on average. If you need counts with confidence intervals, release a query about the attribute, in the domain that
    `added_to` returns.
    """

    attribute: str
    keys: tuple[str, ...]
    counts: np.ndarray
    guarantee: Guarantee
    exactness: str
    facts: Mapping[str, Any]

    _repr_html_ = drawn_by("key_release")

    def added_to(self, domain: Domain) -> Domain:
        """Return the domain with the selected keys as categories.

        Use it to build queries about the attribute. All values that were not selected become "other". An empty release,
        and an attribute that already has categories, are refused.
        """
        self._check_some()
        unknown(domain, self.attribute)
        return domain.with_attribute(self.attribute, categories(self.keys, OTHER))

    def save_domain(self, domain_path: str | Path, path: str | Path) -> None:
        """Write a domain file with the keys instead of "unknown"."""
        self._check_some()
        check_ending(path, ".toml")
        Path(path).write_bytes(with_keys(domain_path, self.attribute, self.keys).encode())

    def save_html(self, path: str | Path) -> None:
        """Write the report as one self-contained HTML page."""
        check_ending(path, ".html")
        Path(path).write_text(drawing("keys_page")(self), encoding="utf-8")

    def remarks(self) -> list[str]:
        """Return remarks on the selection, in sentences."""
        shown = chances_in_words(self.facts["shown"])
        passed, most = self.facts["passed"], self.facts["most"]
        cut = [f"{passed:,} keys passed: the {most:,} with the largest noisy counts are shown."] * (passed > most)
        counts = "Counts carry noise, and small ones are too large on average: release a query for intervals."
        return [shown, *cut, *([counts] if self.keys else [_nothing(self.attribute)])]

    def to_json(self) -> str:
        """Return the release as JSON; `KeyRelease.from_json` reads it."""
        parts = {
            "format": FORMAT,
            "attribute": self.attribute,
            "keys": self.keys,
            "counts": self.counts.tolist(),
            "guarantee": self.guarantee.to_dict(),
            "exactness": self.exactness,
            "facts": dict(self.facts),
        }
        return json.dumps(parts, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> "KeyRelease":
        """Return the release that `to_json` wrote."""
        try:
            parts = json.loads(text)
            if parts["format"] != FORMAT:
                raise KeyError("format")
            keys, counts = tuple(map(str, parts["keys"])), np.array(parts["counts"], dtype=np.int64)
            said = str(parts["exactness"]), dict(parts["facts"])
            return cls(str(parts["attribute"]), keys, counts, from_dict(parts["guarantee"]), *said)
        except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError):
            raise InvalidRequest("The text is not a release of keys.", "Pass the text that `to_json` wrote.") from None

    def _check_some(self) -> None:
        if not self.keys:
            raise InvalidRequest(_nothing(self.attribute), "Use a larger epsilon or delta.", STAYS_SPENT)

    def __repr__(self) -> str:
        seeded = "" if self.facts.get("research_seed") is None else ", seeded: NOT PRIVATE"
        return f"KeyRelease({self.attribute}: {len(self.keys):,} keys, {self.guarantee!r}, {self.exactness}{seeded})"


def release_keys(  # noqa: PLR0913 - a public entry point
    table: Table,
    attribute: str,
    guarantee: Guarantee,
    *,
    ledger: Ledger,
    key: str | None = None,
    rng: Entropy | None = None,
    on_stage: Callable[[str], object] = str,
    on_progress: Progress = silent,
) -> KeyRelease:
    """Publish the categories of an attribute that enough people share.

    Use it if the categories are not known in advance, such as cities or products, because a rare category could
    identify a person. A category is published if its noisy number of people reaches a threshold, so that rare ones stay
    hidden. The method is known as partition selection.

    Parameters
    ----------
    table : Table
        The rows, which are read only after the charge.
    attribute : str
        The attribute, which `gd.unknown_keys` describes in the domain.
    guarantee : ApproxDP
        The guarantee (ε, δ) that the release satisfies, with δ above 0.
    ledger : Ledger
        The ledger to charge.
    key : str, optional
        A name for this request. If you repeat the request with its key, you get the stored result at no cost.
    rng : Entropy, optional
        Reproducible noise, for research only, because noise that others can reproduce protects nobody.
    on_stage, on_progress : callable, optional
        Functions that are called with the name of each stage ("plan", "pay", "look", "store") as it begins, and with
        the completed share.

    Returns
    -------
    KeyRelease
        The published categories, of which there are at most as many as `gd.unknown_keys` allows.

    Raises
    ------
    InvalidRequest, LedgerRefused
        If δ is 0, the attribute has categories, or the ledger refuses the charge. Nothing is read or spent then.

    Examples
    --------
    If 500 people live in city a and one person lives in city b, only city a is published:

    >>> import gaugedp as gd
    >>> import pandas as pd
    >>> rows = pd.DataFrame({"city": ["a"] * 500 + ["b"]})
    >>> table = gd.Table.scan(rows, domain=gd.Domain.of(city=gd.unknown_keys(10)), name="people")
    >>> ledger = gd.Ledger.in_memory(gd.ApproxDP(2, 1e-6))
    >>> gd.release_keys(table, "city", gd.ApproxDP(1, 1e-9), ledger=ledger).keys
    ('a',)
    """
    on_stage("plan")
    check_kinds(table, ledger, kind=Table)
    measurement = KeyMeasurement(attribute, selection(table, attribute, guarantee))
    return execute(measurement, ledger, table.reporting(on_progress), key, rng, on_stage)


@dataclass(frozen=True)
class KeyMeasurement:
    """Measurement of the keys that a mechanism selects."""

    attribute: str
    mechanism: PartitionSelection

    encode, decode = staticmethod(KeyRelease.to_json), staticmethod(KeyRelease.from_json)

    def prepare(self, table: Rows, rng: Entropy) -> tuple[Charge, Callable[[PaidRows], KeyRelease]]:
        """Return the charge and the evaluation; see `Measurement`.

        The noise is drawn in the evaluation, for the keys that occur.
        """
        row_key, facts = rng.bytes(16), _facts(self.mechanism, table, self.attribute, rng.seed)
        guarantee = self.mechanism.guarantee
        request = {"keys": self.attribute, "most": facts["most"], "asked": guarantee.to_dict()}

        def evaluate(rows: PaidRows) -> KeyRelease:
            keys, counts = rows.key_counts(self.attribute, row_key)
            noisy = self.mechanism.draw(counts, 1, rng)[0]
            return _shown(self.attribute, keys, noisy, self.mechanism, facts | {"account": rows.account})

        return Charge([guarantee], table.name, table.unit, {**request, "research_seed": rng.seed}), evaluate


def selection(table: Table, attribute: str, guarantee: Guarantee) -> PartitionSelection:
    """Return the mechanism that will select the keys, without reading data.

    Its method `least_count(p)` is the least number of people with which a key is published with probability p. Between
    neighbouring tables a person changes at most `max_rows` keys, and twice as many if rows are replaced.
    """
    unknown(table.domain, attribute)
    check_source(table)
    return PartitionSelection.calibrate(table.unit.most_changes, guarantee)


def least_counts(mechanism: PartitionSelection) -> list[tuple[float, int]]:
    """Return (probability, least count shown with it) pairs."""
    return [(chance, mechanism.least_count(chance)) for chance in CHANCES]


def chances_in_words(shown: Iterable[tuple[float, int]]) -> str:
    """Describe how the chance of a key depends on its count."""
    said = ", ".join(f"{100 * chance:g} % for {count:,}" for chance, count in shown)
    return f"The probability that a key is shown grows with the number of people who have it: {said}."


def unknown(domain: Domain, attribute: str) -> UnknownKeys:
    """Return the description of an attribute with unknown keys. An attribute with categories is refused."""
    described = domain.described(attribute)
    if not isinstance(described, UnknownKeys):
        raise InvalidRequest(
            f"The categories of {attribute} are listed in the domain, so its keys do not have to be released.",
            f'Use it in a query; for unknown ones write {written(attribute)} = {{ keys = "unknown", most = 1000 }}.',
        )
    return described


def _shown(
    attribute: str, keys: list[str], noisy: np.ndarray, mechanism: PartitionSelection, facts: dict[str, Any]
) -> KeyRelease:
    passed = np.flatnonzero(noisy)
    facts["passed"] = len(passed)
    largest = passed[np.argsort(-noisy[passed], kind="stable")][: facts["most"]]
    places = np.sort(largest)
    counts = np.maximum(1, noisy[places] - mechanism.noise.shift)
    return KeyRelease(
        attribute, tuple(keys[place] for place in places), counts, mechanism.guarantee, mechanism.exactness, facts
    )


def _facts(mechanism: PartitionSelection, table: Rows, attribute: str, seed: int | None) -> dict[str, Any]:
    return {
        "version": __version__,
        "table": table.name,
        "unit": table.unit.to_dict(),
        "protects": str(table.unit),
        "rules": [*_of_unit(table), *table.rules, *_RULES],
        "most": unknown(table.domain, attribute).most,
        "mechanism": {"name": mechanism.name, "noise": mechanism.describe(), "exactness": mechanism.exactness},
        "shown": least_counts(mechanism),
        "research_seed": seed,
    }


def _of_unit(table: Rows) -> list[str]:
    unit = table.unit
    if unit.column is None:
        return []
    keys = "Only one key" if unit.max_rows == 1 else f"At most {unit.max_rows} keys"
    verb = "counts" if unit.max_rows == 1 else "count"
    return [f"{keys} of each {unit.column} {verb}, drawn at random; rows whose {unit.column} is missing are left out."]


def _nothing(attribute: str) -> str:
    return f"No key of {attribute} is shown: none passed the threshold, and nothing else can be stated about them."
