"""The house rules, checked on every file of the library; beside each rule, violations that it must find."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gaugedp.queries.base import Query
from tests.architecture import checks

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "gaugedp"
FILES = {path.relative_to(SOURCE).as_posix(): path.read_text("utf-8") for path in sorted(SOURCE.rglob("*.py"))}
LOCKS = sorted(ROOT.glob("requirements*.lock"))
NOT_AT_IMPORT = (
    "duckdb", "sqlglot", "matplotlib", "click", "rich", "cryptography", "pandas", "polars", "pyarrow",
    "sqlite3", "scipy.special", "scipy.sparse",
)  # fmt: skip
SHIPPED = (".ci", "benchmarks", "changelog.d", "docs", "examples", "src", "tests")

FILE_CHECKS = [
    checks.upward_imports,
    checks.parts_at_home,
    checks.one_path,
    checks.draws_no_released_noise,
    checks.one_source_of_randomness,
    checks.exact_samplers,
    checks.narrow_handlers,
]
LIBRARY_CHECKS = [checks.import_circles, checks.file_sizes, checks.function_sizes, checks.argument_counts]


@pytest.mark.parametrize("check", FILE_CHECKS, ids=lambda check: check.__name__)
def test_every_file_keeps_the_rule(check: Callable[[str, str], list[str]]) -> None:
    results = [line for place, source in FILES.items() for line in check(place, source)]
    assert not results, "\n".join(["", check.__doc__ or "", *results])


@pytest.mark.parametrize("check", LIBRARY_CHECKS, ids=lambda check: check.__name__)
def test_the_library_keeps_the_rule(check: Callable[[dict[str, str]], list[str]]) -> None:
    actual = check(FILES)
    assert not actual, "\n".join(["", check.__doc__ or "", *actual])


PLANTED = [
    (checks.upward_imports, "domain/domain.py", "import gaugedp.cli.main"),
    (checks.upward_imports, "releases/answer.py", "def save_html(self):\n    from gaugedp.report import html"),
    (checks.upward_imports, "domain/domain.py", "from gaugedp import release"),
    (checks.upward_imports, "domain/domain.py", "from gaugedp import Release"),
    (checks.upward_imports, "bodies/lp.py", "from ..queries.base import Query"),
    (checks.upward_imports, "bodies/lp.py", "def f():\n    from gaugedp.mechanisms import Laplace"),
    (checks.upward_imports, "bodies/lp.py", "import gaugedp as gd"),
    (checks.upward_imports, "bodies/lp.py", "from gaugedp.entropy import Entropy"),
    (checks.upward_imports, "guarantees/pure.py", "from gaugedp.bodies import LpBall"),
    (checks.upward_imports, "accountant/tight.py", "from gaugedp.guarantees.losses.laplace import LaplacePrivacyLoss"),
    (checks.upward_imports, "ledger/sqlite.py", "from gaugedp.tables import Table"),
    (checks.upward_imports, "mechanisms/laplace.py", "from gaugedp.tables.table import Table"),
    (checks.upward_imports, "queries/linear.py", "from gaugedp.releases.planning import plan"),
    (checks.upward_imports, "releases/releasing.py", "from gaugedp.report import html"),
    (checks.upward_imports, "helpers.py", ""),
    (checks.parts_at_home, "releases/releasing.py", "def f():\n    import pandas as pd"),
    (checks.parts_at_home, "queries/linear.py", "from sqlglot import exp"),
    (checks.parts_at_home, "tables/duckdb/engine.py", "import sqlite3"),
    (checks.parts_at_home, "report/html.py", "from matplotlib import pyplot"),
    (checks.parts_at_home, "ledger/sqlite.py", "from cryptography.hazmat import primitives"),
    (checks.parts_at_home, "releases/releasing.py", "import rich.table"),
    (checks.one_path, "releases/releasing.py", "answer = query.evaluate(table)"),
    (checks.one_path, "estimators/mean.py", "ledger.reserve([guarantee], table=table.name, unit=unit, request={})"),
    (checks.one_path, "releases/releasing.py", "reservation = charge.reserved(ledger, key)"),
    (checks.one_path, "releases/releasing.py", "rows = PaidRows(table, None, {})"),
    (checks.one_path, "releases/executing.py", "sums = table.totals(needed, key)"),
    (checks.one_path, "estimators/table_rows.py", "cells, steps = table.rows(attributes, columns, key)"),
    (checks.one_path, "estimators/table_rows.py", "cells, steps = table.rows(*names, key)"),
    (checks.one_path, "estimators/regression.py", "total = self.table.vector_sum(names, of, key)"),
    (checks.one_path, "estimators/mean.py", "total = table.moments(columns, key).first"),
    (checks.one_path, "releases/partition_selection.py", "keys, counts = count_keys(table, name, key)"),
    (checks.one_path, "cli/fit.py", "lines = table._engine.run(statement)"),
    (checks.one_source_of_randomness, "releases/releasing.py", "import random"),
    (checks.one_source_of_randomness, "releases/releasing.py", "from secrets import token_bytes"),
    (checks.one_source_of_randomness, "entropy.py", "from numpy import random"),
    (
        checks.one_source_of_randomness,
        "samplers/direct.py",
        "import numpy as np\nx = np.random.default_rng(1)",
    ),
    (checks.one_source_of_randomness, "samplers/direct.py", "import os\nx = os.urandom(8)"),
    (checks.one_source_of_randomness, "samplers/direct.py", "x = norm.rvs(3)"),
    (checks.exact_samplers, "samplers/discrete.py", "import math\nx = math.exp(-1)"),
    (checks.exact_samplers, "samplers/discrete_gaussian.py", "from math import log"),
    (checks.exact_samplers, "samplers/discrete.py", "x = np.log(y)"),
    (checks.exact_samplers, "samplers/discrete.py", "x = float(y)"),
    (checks.draws_no_released_noise, "statistics/mean.py", "noise = mechanism.prepare(rng)"),
    (checks.draws_no_released_noise, "releases/processing/rounding.py", "noises = mechanism.pool(2, rng)"),
    (checks.narrow_handlers, "releases/releasing.py", "try:\n    f()\nexcept:\n    pass"),
    (checks.narrow_handlers, "releases/releasing.py", "try:\n    f()\nexcept (KeyError, Exception):\n    raise"),
    (checks.narrow_handlers, "releases/releasing.py", "try:\n    f()\nexcept BaseException:\n    pass"),
    (checks.narrow_handlers, "releases/releasing.py", "with contextlib.suppress(Exception):\n    f()"),
    (checks.machine_paths, "docs/x.md", "see " + checks.MACHINE_PATHS[0] + "x"),
    (checks.addresses, "requirements.lock", "numpy @ https://example.org/numpy.whl"),
]


@pytest.mark.parametrize(("check", "place", "source"), PLANTED)
def test_a_planted_violation_is_found(check: Callable[[str, str], list[str]], place: str, source: str) -> None:
    assert check(place, source)


ALLOWED = [
    (
        checks.upward_imports,
        "bodies/lp.py",
        "from .base import Body\nfrom gaugedp.errors import InvalidRequest\nimport numpy",
    ),
    (checks.upward_imports, "releases/releasing.py", "from gaugedp.releases.planning import plan"),
    (checks.parts_at_home, "tables/duckdb/engine.py", "import duckdb"),
    (checks.parts_at_home, "report/plots.py", "import matplotlib"),
    (
        checks.one_path,
        "releases/executing.py",
        "query.evaluate(table), table.rows(*names, key), ledger.reserve([guarantee])",
    ),
    (checks.one_path, "ledger/verify.py", "lines = transaction.rows()"),
    (checks.one_path, "queries/linear.py", "sums = table.totals(needed, key)"),
    (checks.one_source_of_randomness, "entropy.py", "import os\nx = os.urandom(32)"),
    (checks.one_source_of_randomness, "samplers/direct.py", "x = rng.random.bits"),
    (checks.exact_samplers, "samplers/direct.py", "import math\nx = math.exp(1)"),
    (checks.exact_samplers, "samplers/discrete.py", "import math\nx = math.isqrt(4)"),
    (
        checks.narrow_handlers,
        "ledger/sqlite.py",
        "try:\n    f()\nexcept BaseException:\n    undo()\n    raise",
    ),
]


@pytest.mark.parametrize(("check", "place", "source"), ALLOWED)
def test_what_is_allowed_passes(check: Callable[[str, str], list[str]], place: str, source: str) -> None:
    assert not check(place, source)


def _function(n_lines: int, arguments: str = "") -> str:
    return f"def f({arguments}):\n" + '    """Text."""\n' + "    # a remark\n\n    x = 1\n" * n_lines


@pytest.mark.parametrize(
    ("check", "files"),
    [
        (checks.import_circles, {"bodies/a.py": "from .b import x", "bodies/b.py": "from gaugedp.bodies import a"}),
        (checks.import_circles, {"bodies/a.py": "def f():\n    from .b import x", "bodies/b.py": "from .a import f"}),
        (checks.import_circles, {"bodies/a.py": "import gaugedp.audit.b", "audit/b.py": "import gaugedp.bodies.a"}),
        (
            checks.import_circles,
            {"a.py": "from gaugedp.b import x", "b.py": "if TYPE_CHECKING:\n    from gaugedp.a import y"},
        ),
        (checks.import_circles, {"bodies/__init__.py": "import gaugedp.bodies.a", "bodies/a.py": "from . import x"}),
        (checks.file_sizes, {"releases/releasing.py": "x = 1\n" * 401}),
        (checks.file_sizes, {"releases/releasing.py": "x = 1\n" * 301, "releases/planning.py": "x = 1\n" * 301}),
        (checks.function_sizes, {"releases/releasing.py": _function(61)}),
        (checks.function_sizes, {"releases/releasing.py": _function(9)}),
        (checks.function_sizes, {"releases/releasing.py": _function(26) * 2 + _function(1) * 3}),
        (checks.argument_counts, {"releases/releasing.py": _function(1, "a, b, c, d, *, e") * 2}),
    ],
)
def test_a_planted_violation_of_the_library_is_found(
    check: Callable[[dict[str, str]], list[str]], files: dict[str, str]
) -> None:
    assert check(files)


def test_sizes_leave_out_docstrings_remarks_and_self() -> None:
    files = {"releases/releasing.py": _function(8, "self, a, b, *, c, d")}
    assert not [line for check in LIBRARY_CHECKS for line in check(files)]


def _public(kind: type) -> set[str]:
    declared = {"domain", "text"}  # fields of some, computed by others
    return declared | {name for name in dir(kind) if not name.startswith("_")}


def test_a_query_has_at_most_16_public_members() -> None:
    assert {"sensitivity", "evaluate"} <= _public(Query)
    assert len(_public(Query)) <= 16


def _pages() -> set[str]:
    return {path.stem for path in (ROOT / "docs" / "theory").glob("*.md")}


def test_every_mechanism_has_a_page() -> None:
    assert not checks.mechanisms_without_page(FILES, _pages())


def test_a_mechanism_without_page_is_found() -> None:
    planted = {"mechanisms/new.py": "class New(Mechanism): ..."}
    assert checks.mechanisms_without_page(planted, {"laplace"})
    indirect = {
        "mechanisms/a.py": "class New(Half): ...",
        "mechanisms/b.py": "class Half(base.Mechanism, ABC): ...",
    }
    assert len(checks.mechanisms_without_page(indirect, set())) == 1
    abstract = "class Half(Mechanism):\n    @abstractmethod\n    def draw(self): ..."
    others = f"class Mechanism(ABC): ...\nclass _Hidden(Mechanism): ...\nclass Helper: ...\n{abstract}"
    assert not checks.mechanisms_without_page({"mechanisms/base.py": others}, set())


def test_lock_files_hold_no_addresses() -> None:
    assert LOCKS
    assert not [line for lock in LOCKS for line in checks.addresses(lock.name, lock.read_text("utf-8"))]


def test_every_locked_version_has_hashes() -> None:
    for lock in LOCKS:
        text = lock.read_text("utf-8").replace("\\\n", " ")
        bare = [line for line in text.splitlines() if line and "--hash=sha256:" not in line]
        assert not bare, lock.name


def shipped_files() -> list[Path]:
    """What git tracks or would track; without git, what lies in the project's folders."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True).stdout
        paths = [ROOT / name for name in listed.split("\0") if name]
    except (OSError, subprocess.CalledProcessError):
        inside = [path for folder in SHIPPED for path in (ROOT / folder).rglob("*") if "__pycache__" not in path.parts]
        paths = [*ROOT.glob("*.*"), *inside]
    return [path for path in paths if path.is_file() and path.suffix not in (".pyc", ".png")]


def test_no_file_names_the_machine_it_was_written_on() -> None:
    texts = {path.relative_to(ROOT).as_posix(): path.read_text("utf-8", errors="replace") for path in shipped_files()}
    assert "pyproject.toml" in texts
    assert not [line for place, text in texts.items() for line in checks.machine_paths(place, text)]


def _loaded_by(statement: str) -> set[str]:
    code = f"{statement}\nimport sys\nprint(*[name for name in {NOT_AT_IMPORT!r} if name in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    return set(run.stdout.split())


def test_importing_the_library_loads_no_heavy_part() -> None:
    assert _loaded_by("import gaugedp") == set()


def test_a_heavy_part_would_be_seen() -> None:
    assert _loaded_by("import sqlite3") == {"sqlite3"}
