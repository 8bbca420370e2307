"""The example's data is the published file, and its domain file describes it."""

import csv
import hashlib
from pathlib import Path

from gaugedp.domain import Domain, PrivacyUnit
from gaugedp.domain.attributes import Categories

ACS = Path(__file__).resolve().parents[2] / "examples" / "acs"
DATA = ACS / "acs_ma2018.csv"


def rows() -> list[dict[str, str]]:
    with DATA.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_the_file_is_the_one_the_provenance_names() -> None:
    assert hashlib.sha256(DATA.read_bytes()).hexdigest() in (ACS / "PROVENANCE.md").read_text("utf-8")
    assert (len(rows()), len(rows()[0])) == (7244, 24)


def test_the_domain_knows_every_code_in_the_file() -> None:
    domain = Domain.load(ACS / "domain.toml")
    assert {*domain.attributes, *domain.columns} == set(rows()[0]) - {"DENSITY", "INDP"}
    for name, attribute in domain.attributes.items():
        if isinstance(attribute, Categories):
            assert {row[name] for row in rows()} <= set(attribute.values), name
    assert PrivacyUnit.load(ACS / "domain.toml") == PrivacyUnit(neighbours="add_remove")
