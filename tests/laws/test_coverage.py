"""Everything that is public takes part in a law: what the library exports is compared with the COVERS of the laws."""

import importlib
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import click
import pytest

from gaugedp import estimators, guarantees
from gaugedp.cli.commands import COMMANDS, Commands
from gaugedp.estimators.base import PrivateEstimator
from gaugedp.queries import text
from gaugedp.statistics import KINDS
from tests.laws import fits, worlds
from tests.laws.kit import SHARES

LAWS = sorted(
    path.stem for path in Path(__file__).parent.glob("test_*.py") if path.stem not in ("test_coverage", "test_worlds")
)


def commands() -> Iterator[str]:
    """Yield every command as it is written: "plan", "ledger open"."""
    for name in COMMANDS:
        command = Commands().get_command(click.Context(click.Command("gaugedp")), name)
        yield from [f"{name} {part}" for part in command.commands] if isinstance(command, click.Group) else [name]


def exported_guarantees() -> Iterator[str]:
    """Yield the name of every guarantee, and of every function that returns one."""
    for name in guarantees.__all__:
        value = getattr(guarantees, name)
        if inspect.isclass(value) and issubclass(value, guarantees.Guarantee) and value is not guarantees.Guarantee:
            yield name


def public() -> dict[str, set[str]]:
    """Return what the library exports today, by kind."""
    return {
        "terms": {worlds.CELLS, worlds.PRODUCT, *text.WORDS} - {*worlds.WEIGHTED},
        "statistics": set(KINDS),
        "estimators": set(fits.names()),
        "commands": set(commands()),
        "guarantees": set(exported_guarantees()),
    }


def uncovered(exported: dict[str, set[str]], covers: list[dict[str, set[str]]]) -> dict[str, set[str]]:
    """Return what is public and in no law, by kind."""
    left = {kind: names.difference(*(cover.get(kind, ()) for cover in covers)) for kind, names in exported.items()}
    return {kind: names for kind, names in left.items() if names}


def unknown(exported: dict[str, set[str]], cover: dict[str, set[str]]) -> dict[str, set[str]]:
    """Return what a law says that it covers and is not public, by kind."""
    left = {kind: set(names) - exported.get(kind, set()) for kind, names in cover.items()}
    return {kind: names for kind, names in left.items() if names}


def covers() -> list[dict[str, set[str]]]:
    """Return what each law says that it covers."""
    return [importlib.import_module(f"tests.laws.{law}").COVERS for law in LAWS]


def test_everything_public_takes_part_in_a_law() -> None:
    assert not uncovered(public(), covers()), "Add it to a law, and to the COVERS of that law (see kit.py)."


@pytest.mark.parametrize("law", LAWS)
def test_a_law_names_what_exists(law: str) -> None:
    assert not unknown(public(), importlib.import_module(f"tests.laws.{law}").COVERS)


def test_what_no_law_covers_is_found() -> None:
    exported = {"terms": {"mean", "mode"}, "commands": {"plan"}}
    assert uncovered(exported, [{"terms": {"mean"}}, {"commands": {"plan"}}]) == {"terms": {"mode"}}
    assert uncovered(exported, [{"terms": {"mean", "mode"}}]) == {"commands": {"plan"}}
    assert unknown(exported, {"terms": {"mean"}, "commands": {"plam"}}) == {"commands": {"plam"}}


def test_a_new_one_in_a_registry_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """After the laws were imported, as theirs are made from the registries, too."""
    known = covers()
    estimator, guarantee = (type("Planted", (kind,), {}) for kind in (PrivateEstimator, guarantees.Guarantee))
    for package, value in ((estimators, estimator), (guarantees, guarantee)):
        monkeypatch.setattr(package, "Planted", value, raising=False)
        monkeypatch.setattr(package, "__all__", [*package.__all__, "Planted"])
    monkeypatch.setattr(text, "WORDS", (*text.WORDS, "planted"))
    monkeypatch.setitem(KINDS, "planted", next(iter(KINDS.values())))
    monkeypatch.setitem(COMMANDS, "planted", "Plant a command.")
    monkeypatch.setitem(sys.modules, "gaugedp.cli.planted", SimpleNamespace(planted=click.Command("planted")))
    planted = {kind: {"Planted" if kind in ("estimators", "guarantees") else "planted"} for kind in public()}
    assert uncovered(public(), known) == planted


def test_shares_add_up_and_every_law_has_one() -> None:
    assert sum(SHARES.values()) == pytest.approx(1)
    assert {f"test_{law}" for law in (*SHARES, "composition")} == set(LAWS)
