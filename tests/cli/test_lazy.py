"""Importing the package and asking for help load no more than they show."""

import subprocess
import sys
from pathlib import Path

import click
import pytest

import gaugedp as gd
from gaugedp import bounds
from gaugedp.cli.commands import COMMANDS
from gaugedp.cli.main import cli


@pytest.mark.parametrize(
    "statement", ["import gaugedp", "from gaugedp.cli.main import run; run(['--help'])"], ids=["import", "help"]
)
def test_it_loads_no_numpy(statement: str) -> None:
    program = f"import sys; {statement}; sys.exit('numpy' in sys.modules or 'duckdb' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False, capture_output=True).returncode == 0


def test_a_release_of_one_table_loads_no_scipy(tmp_path: Path) -> None:
    """Any part of scipy takes a quarter of a second: it loads all of numpy."""
    (tmp_path / "rows.csv").write_text("A\nx\ny\n")
    (tmp_path / "domain.toml").write_text('[attributes]\nA = ["x", "y"]\n')
    order = "release rows.csv --domain domain.toml --query A --epsilon 1 --ledger new.ledger --budget 1 --out a.csv"
    program = f"import sys; from gaugedp.cli.main import run; assert run({order.split()}) == 0; "
    program += "sys.exit('scipy.special' in sys.modules or 'scipy.linalg' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, cwd=tmp_path, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("package", [gd, bounds], ids=lambda package: package.__name__)
def test_every_public_name_is_there(package: object) -> None:
    assert dir(package) == package.__all__  # type: ignore[attr-defined]
    for name in package.__all__:  # type: ignore[attr-defined]
        assert getattr(package, name) is not None


def test_front_doors_are_functions() -> None:
    import gaugedp.releases.comparison
    import gaugedp.releases.planning
    import gaugedp.releases.releasing

    assert (gd.plan, gd.release, gd.compare) == (
        gaugedp.releases.planning.plan,
        gaugedp.releases.releasing.release,
        gaugedp.releases.comparison.compare,
    )


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'plann'"):
        _ = gd.plann


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_there(name: str) -> None:
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    assert command.help
