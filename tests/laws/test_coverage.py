"""Everything that is public takes part in a law: what the library exports is compared with the COVERS of the laws."""

import importlib
import inspect
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from gaugedp import guarantees
from gaugedp.cli.commands import COMMANDS, Commands
from gaugedp.queries import text
from gaugedp.report import terms
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


PUBLIC = {
    "terms": {worlds.CELLS, worlds.PRODUCT, *text.WORDS},
    "statistics": set(terms._MEASURES),
    "estimators": set(fits.NAMES),
    "commands": set(commands()),
    "guarantees": set(exported_guarantees()),
}


def uncovered(public: dict[str, set[str]], covers: list[dict[str, set[str]]]) -> dict[str, set[str]]:
    """Return what is public and in no law, by kind."""
    left = {kind: names.difference(*(cover.get(kind, ()) for cover in covers)) for kind, names in public.items()}
    return {kind: names for kind, names in left.items() if names}


def unknown(public: dict[str, set[str]], cover: dict[str, set[str]]) -> dict[str, set[str]]:
    """Return what a law says that it covers and is not public, by kind."""
    left = {kind: set(names) - public.get(kind, set()) for kind, names in cover.items()}
    return {kind: names for kind, names in left.items() if names}


def test_everything_public_takes_part_in_a_law() -> None:
    covers = [importlib.import_module(f"tests.laws.{law}").COVERS for law in LAWS]
    assert not uncovered(PUBLIC, covers), "Add it to a law, and to the COVERS of that law (see kit.py)."


@pytest.mark.parametrize("law", LAWS)
def test_a_law_names_what_exists(law: str) -> None:
    assert not unknown(PUBLIC, importlib.import_module(f"tests.laws.{law}").COVERS)


def test_what_no_law_covers_is_found() -> None:
    public = {"terms": {"mean", "mode"}, "commands": {"plan"}}
    assert uncovered(public, [{"terms": {"mean"}}, {"commands": {"plan"}}]) == {"terms": {"mode"}}
    assert uncovered(public, [{"terms": {"mean", "mode"}}]) == {"commands": {"plan"}}
    assert unknown(public, {"terms": {"mean"}, "commands": {"plam"}}) == {"commands": {"plam"}}


def test_shares_add_up_and_every_law_has_one() -> None:
    assert sum(SHARES.values()) == pytest.approx(1)
    assert {f"test_{law}" for law in (*SHARES, "composition")} == set(LAWS)
