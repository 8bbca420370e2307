"""`gaugedp doctor`: check the installation and a folder for ledgers."""

import importlib.util
import json
import platform
import shutil
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import click

from gaugedp.cli.shared import show_table
from gaugedp.domain import Domain, PrivacyUnit
from gaugedp.entropy import research_rng, system_rng
from gaugedp.errors import GaugedpError, InvalidRequest, NotDurable
from gaugedp.guarantees import PureDP
from gaugedp.ledger import Ledger
from gaugedp.queries import count
from gaugedp.releases.executing import Charge
from gaugedp.releases.releasing import release
from gaugedp.tables.table import Table

_PARTS = ("numpy", "scipy", "duckdb", "sqlglot", "cryptography", "click", "rich")
_EXTRAS = {
    "learn": ("scikit-learn", "sklearn"),
    "report": ("matplotlib", "matplotlib"),
    "fast": ("numba", "numba"),
    "spark": ("pyspark", "pyspark"),
    "postgres": ("psycopg", "psycopg"),
    "events": ("dp-accounting", "dp_accounting"),
}
_STREAM = "c5d30a7ce1ec1193"  # the first bytes of the key stream of seed 1
_TRIALS = "fit for trials only: this folder is in memory and is lost at a restart"

Line = dict[str, str]


@click.command()
@click.argument("place", metavar="[FOLDER]", required=False)
@click.option("--folder", metavar="FOLDER", help="Folder to test, instead of the argument FOLDER.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def doctor(place: str | None, folder: str | None, as_json: bool) -> int:
    """Check the installation and engines, and test a ledger in FOLDER.

    Use it after the installation, or if a ledger does not work. FOLDER is the current folder by default. The exit code
    is 0 if everything except optional extras works, otherwise 1.
    """
    if place is not None and folder is not None:
        raise InvalidRequest("You named the folder twice, as FOLDER and with --folder.", "Use only one of the two.")
    lines = [
        *_installed(),
        *_engines(),
        _tried("entropy", _entropy_answers),
        _ledger(Path(place or folder or ".")),
        *_extras(),
    ]
    if as_json:
        click.echo(json.dumps(lines))
    else:
        show_table(lines, f"gaugedp {version('gaugedp')}")
    return 1 if any(line["state"] == "wrong" for line in lines) else 0


def _line(part: str, state: str, words: str) -> Line:
    return {"part": part, "state": state, "words": words}


def _version_of(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _installed() -> Iterator[Line]:
    is_new = sys.version_info >= (3, 11)
    yield _line("Python", "ok" if is_new else "wrong", f"{platform.python_version()}, {platform.system()}")
    for name in _PARTS:
        installed = _version_of(name)
        yield _line(name, "ok" if installed else "wrong", installed or "missing: install gaugedp again")


def _engines() -> Iterator[Line]:
    yield _tried("engine DuckDB", _duckdb_answers)
    if importlib.util.find_spec("pyspark") is not None:
        java = shutil.which("java")
        yield _line("engine Spark", "ok" if java else "absent", java or "java is not on the PATH")


def _duckdb_answers() -> str:
    domain = Domain.of(letter=["a", "b"])
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "try.csv"
        path.write_text("letter\na\nb\na\n", "utf-8")
        table = Table.scan(str(path), domain=domain, unit=PrivacyUnit())
        counted = release(count(domain), table, ledger=Ledger.in_memory(PureDP(2000.0)), epsilon=1000.0)
    if round(float(counted.values[0])) != 3:
        raise OSError("a test query returned a wrong count")
    return "answers"


def _entropy_answers() -> str:
    if research_rng(1).bytes(8).hex() != _STREAM or system_rng().bytes(32) == system_rng().bytes(32):
        raise OSError("the random number generator returned unexpected bytes")
    return "the operating system's, expanded by ChaCha20"


def _ledger(folder: Path) -> Line:

    def tried() -> str:
        with _made_in(folder) as place, warnings.catch_warnings():
            warnings.simplefilter("ignore", NotDurable)  # reported in the line
            ledger = Ledger.open(Path(place) / "try.ledger", PureDP(100.0))
            start = time.perf_counter()
            for number in range(5):
                Charge([PureDP(1.0)], "try", PrivacyUnit(), {"try": number}).reserved(ledger)
            seconds, is_fit = (time.perf_counter() - start) / 5, ledger.durable
        return f"{'fit' if is_fit else _TRIALS}; a reservation takes {1e3 * seconds:.1f} ms"

    line = _tried(f"ledger in {folder}", tried)
    return {**line, "state": "trials"} if line["words"].startswith(_TRIALS) else line


def _made_in(folder: Path) -> "tempfile.TemporaryDirectory[str]":
    if not folder.exists():
        raise OSError(f"There is no folder {str(folder)!r}. Create it first.")
    if not folder.is_dir():
        raise OSError(f"{str(folder)!r} is a file, not a folder. Pass a folder.")
    try:
        return tempfile.TemporaryDirectory(prefix=".gaugedp-doctor-", dir=folder)
    except OSError as error:
        raise OSError(f"Nothing can be written in {str(folder)!r} ({error.strerror}).") from None


def _extras() -> Iterator[Line]:
    for extra, (package, module) in _EXTRAS.items():
        installed = _version_of(package) if importlib.util.find_spec(module) is not None else None
        words = f"{package} {installed}" if installed else f"pip install 'gaugedp[{extra}]'"
        yield _line(f"extra [{extra}]", "ok" if installed else "absent", words)


def _tried(part: str, work: Callable[[], str]) -> Line:
    try:
        return _line(part, "ok", work())
    except (OSError, GaugedpError, RuntimeError) as error:
        return _line(part, "wrong", str(error))
