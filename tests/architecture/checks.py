"""The checkers of the house rules. Each takes source text and returns its violations as sentences.

A place is a path below src/gaugedp, such as "bodies/lp.py". The tests beside this file run every checker on
the library, and on planted violations that it must find.
"""

import ast
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import PurePosixPath
from statistics import median

ORDER = (
    "errors", "_internal", "entropy", "domain", "bodies", "accountant", "guarantees", "samplers", "tables",
    "mechanisms", "statistics", "queries", "optimization", "ledger", "bounds", "releases", "synthesis", "estimators",
    "audit", "report", "cli", "__main__", "__init__",
)  # fmt: skip
MUST_NOT_KNOW = {
    "accountant": {"bodies", "domain", "entropy"},
    "guarantees": {"mechanisms", "bodies", "tables", "queries", "samplers"},
    "ledger": {"mechanisms", "bodies", "tables", "queries", "samplers"},
    "tables": {"queries", "mechanisms", "ledger"},
    "bodies": {"guarantees", "entropy", "tables"},
    "mechanisms": {"tables", "queries", "ledger"},
    "statistics": {"tables", "bodies", "samplers"},
}
HOMES = {  # the only place that may import a part
    **dict.fromkeys(("duckdb", "sqlglot", "polars", "pandas", "pyarrow", "pyspark"), "tables/"),
    "openpyxl": "releases/tidy/spreadsheet.py",
    "sqlite3": "ledger/",
    "psycopg": "_internal/postgres.py",
    **dict.fromkeys(("click", "rich"), "cli/"),
    "matplotlib": "report/plots.py",
    "sklearn": "estimators/",
    "cryptography": "entropy.py",
}
SYSTEM_RANDOMNESS = ("entropy.py", "ledger/")  # the ledger names accounts and reservations with it; no noise
DESCRIPTIONS = ("_internal/trial_stream.py",)  # of noise, by draws that are never released
_EXECUTED = ("tables/", "releases/executing.py")
CALLERS = {  # who may charge a ledger, and read the rows of a table
    "reserve": ("ledger/", "releases/executing.py"),
    # Estimators read arrays, a stream that is opened reads nothing, and the doctor has a ledger and no table.
    "reserved": ("releases/executing.py", "estimators/base.py", "releases/streams/stream.py", "cli/doctor.py"),
    "PaidRows": ("releases/executing.py",),
    "evaluate": ("releases/executing.py", "releases/verification/check.py"),  # the check, on rows that it makes up
    "totals": ("tables/", "queries/"),  # in `evaluate`
    **dict.fromkeys(("rows", "vector_sum", "moments", "count_keys"), _EXECUTED),
}
PUBLIC = (  # computes from what was released or is public, and cannot break privacy
    "statistics/", "bounds/", "report/", "releases/processing/", "releases/deriving/", "releases/tidy/",
    "releases/publication/", "releases/answer.py", "releases/comparison.py", "releases/described.py",
    "releases/metadata.py", "releases/remarks.py",
)  # fmt: skip
DRAWS = ("prepare", "pool", "releasable")  # of noise that may be released
EXACT_SAMPLERS = ("discrete", "half_gaussian", "integer_exp", "inverse")  # files in samplers/ without floats
FLOAT_FUNCTIONS = {
    "exp", "expm1", "exp2", "log", "log1p", "log2", "log10", "sqrt", "pow", "power", "erf", "erfc", "gamma",
}  # fmt: skip
FLOAT_MODULES = {"math", "np", "numpy"}


# -- what a file imports ---------------------------------------------------------------------------


@cache
def _tree(source: str) -> ast.Module:
    return ast.parse(source)


@cache
def imports(place: str, source: str) -> list[tuple[str, bool, int]]:
    """Return (dotted name, at module level, line) for every import; `from a import b` gives "a.b"."""
    tree = _tree(source)
    lazy = {id(node) for function in _functions(tree) for node in ast.walk(function)}
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    return [(name, id(node) not in lazy, node.lineno) for node in nodes for name in _names(place, node)]


def _names(place: str, node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        package = ("gaugedp", *PurePosixPath(place).parts)[: -node.level] if node.level else ()
        stem = ".".join([*package, node.module or ""]).strip(".")
        return [f"{stem}.{alias.name}" for alias in node.names]
    return []


def floor(place: str) -> str:
    """Return the entry of ORDER a file belongs to: its folder, or its own name."""
    first = PurePosixPath(place).parts[0]
    return first.removesuffix(".py")


def _target(name: str) -> str | None:
    """The entry of ORDER that an imported name belongs to; None for other packages."""
    package, *rest = name.split(".")
    if package != "gaugedp":
        return None
    return rest[0] if rest and rest[0] in ORDER else "__init__"


def upward_imports(place: str, source: str) -> list[str]:
    """A file imports only what stands before it in the house, and never what it must not know."""
    here = floor(place)
    if here not in ORDER:
        return [f"{place}: {here} has no place in the house; add it to ORDER."]
    results = []
    for name, _, line in imports(place, source):
        there = _target(name)
        if there is None or there == here:
            continue
        if ORDER.index(there) > ORDER.index(here) or there in MUST_NOT_KNOW.get(here, ()):
            results.append(f"{place}:{line}: {here} imports {there}.")
    return results


def import_circles(files: dict[str, str]) -> list[str]:
    """No file leads back to itself by imports: at the top, inside functions, or for types alone."""
    modules = {_module(place): place for place in files}
    graph = {place: set(_imported(place, source, modules)) for place, source in files.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return [f"A circle: {' imports '.join(reversed(error.args[1]))}."]
    return []


def _imported(place: str, source: str, modules: dict[str, str]) -> Iterator[str]:
    """Yield the files that a file imports but the package's own: that of `import gaugedp` leads everywhere."""
    for name, _, _ in imports(place, source):
        there = modules.get(name) or modules.get(name.rpartition(".")[0])
        if there not in (None, "__init__.py", place):
            yield str(there)


def _module(place: str) -> str:
    return ".".join(("gaugedp", *PurePosixPath(place).with_suffix("").parts)).removesuffix(".__init__")


def parts_at_home(place: str, source: str) -> list[str]:
    """Engines, storage, plots and the command line's parts are imported in one place each."""
    return [
        f"{place}:{line}: {name.split('.')[0]} belongs to {home} only."
        for name, _, line in imports(place, source)
        if (home := HOMES.get(name.split(".")[0])) and not _lives_in(place, home)
    ]


def _lives_in(place: str, home: str) -> bool:
    return place == home or (home.endswith("/") and place.startswith(home))


# -- what a file does ------------------------------------------------------------------------------


def one_path(place: str, source: str) -> list[str]:
    """A ledger is charged and rows are read in releases/executing.py alone, and by who implements it: see CALLERS."""
    tree = _tree(source)
    calls = [(name, node) for node in ast.walk(tree) if isinstance(node, ast.Call) for name in [_called(node)]]
    results = [
        f"{place}:{node.lineno}: calls {name}(); only {' and '.join(CALLERS[name])} may."
        for name, node in calls
        if name in CALLERS and not any(_lives_in(place, home) for home in CALLERS[name])
    ]
    private = {node.attr: node.lineno for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    return results + [
        f"{place}:{line}: {name} is where tables keep their rows."
        for name, line in private.items()
        if name in ("_engine", "_buckets") and not _lives_in(place, "tables/")
    ]


def _called(node: ast.Call) -> str:
    """Return the name of what is called; `rows` of a table alone has attributes, columns and a key."""
    if isinstance(node.func, ast.Name):
        return node.func.id if node.func.id in ("PaidRows", "count_keys") else ""
    name = _attribute(node.func) or ""
    is_listing = len(node.args) > 2 or any(isinstance(argument, ast.Starred) for argument in node.args)
    return "" if name == "rows" and not is_listing else name


def draws_no_released_noise(place: str, source: str) -> list[str]:
    """What computes from released numbers draws no noise that may be released; the rows it cannot read."""
    if not any(_lives_in(place, home) for home in PUBLIC):
        return []
    calls = [node for node in ast.walk(_tree(source)) if isinstance(node, ast.Call)]
    return [f"{place}:{node.lineno}: {_called(node)}() draws noise." for node in calls if _called(node) in DRAWS]


def one_source_of_randomness(place: str, source: str) -> list[str]:
    """All randomness comes from entropy.py, but for draws that describe noise."""
    if place in DESCRIPTIONS:
        return []
    forbidden = {"random", "secrets", "numpy.random", "np.random"}
    tree = _tree(source)
    named = [(name, line) for name, _, line in imports(place, source)]
    named += [(ast.unparse(node), node.lineno) for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    results = [
        f"{place}:{line}: {name} is not our source of randomness."
        for name, line in named
        if any(name == word or name.startswith(f"{word}.") for word in forbidden)
        or (name == "os.urandom" and not any(_lives_in(place, home) for home in SYSTEM_RANDOMNESS))
    ]
    return results + [
        f"{place}:{node.lineno}: .rvs() draws from NumPy's generator."
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and _attribute(node.func) == "rvs"
    ]


def exact_samplers(place: str, source: str) -> list[str]:
    """Exact samplers use integers and fractions: no float function, no float()."""
    path = PurePosixPath(place)
    if path.parts[0] != "samplers" or not path.stem.startswith(EXACT_SAMPLERS):
        return []
    tree = _tree(source)
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    results = [(node, "float()") for node in calls if ast.unparse(node.func) == "float"]
    results += [(node, ast.unparse(node)) for node in ast.walk(tree) if _is_float_function(node)]
    expected = {f"{module}.{name}" for module in ("math", "numpy") for name in FLOAT_FUNCTIONS}
    lines = [f"{place}:{node.lineno}: {what} in an exact sampler." for node, what in results]
    return lines + [
        f"{place}:{at}: {name} in an exact sampler." for name, _, at in imports(place, source) if name in expected
    ]


def _is_float_function(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Attribute)
        and node.attr in FLOAT_FUNCTIONS
        and isinstance(node.value, ast.Name)
        and node.value.id in FLOAT_MODULES
    )


def narrow_handlers(place: str, source: str) -> list[str]:
    """No handler catches everything; `except BaseException` is allowed where it ends by raising again."""
    results = []
    for node in ast.walk(_tree(source)):
        if isinstance(node, ast.ExceptHandler) and _catches_all(node):
            results.append(f"{place}:{node.lineno}: catches everything.")
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("suppress") and _broad(node.args):
            results.append(f"{place}:{node.lineno}: suppresses everything.")
    return results


def _catches_all(handler: ast.ExceptHandler) -> bool:
    if handler.type is None:
        return True
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    last = handler.body[-1]
    raises_again = isinstance(last, ast.Raise) and last.exc is None
    return _broad(kinds) and not ([ast.unparse(kind) for kind in kinds] == ["BaseException"] and raises_again)


def _broad(kinds: list[ast.expr]) -> bool:
    return any(ast.unparse(kind) in ("Exception", "BaseException") for kind in kinds)


def _attribute(node: ast.expr) -> str | None:
    return node.attr if isinstance(node, ast.Attribute) else None


# -- sizes -----------------------------------------------------------------------------------------


def file_sizes(files: dict[str, str]) -> list[str]:
    """No file has more than 400 lines, and at most a tenth (or one file) more than 300."""
    sizes = {place: len(source.splitlines()) for place, source in files.items()}
    long = [
        f"{place}: {size} lines; at most a tenth of the files may pass 300."
        for place, size in sizes.items()
        if size > 300
    ]
    return [f"{place}: {size} lines, the most is 400." for place, size in sizes.items() if size > 400] + (
        long if len(long) > max(1, len(sizes) // 10) else []
    )


def function_sizes(files: dict[str, str]) -> list[str]:
    """Code lines in a body, docstring left out: median at most 8, nine in ten at most 25, none above 60."""
    sizes = {
        f"{place}:{function.lineno} {function.name}": body_lines(function, source)
        for place, source in files.items()
        for function in _functions(_tree(source))
    }
    if not sizes:
        return []
    results = [f"{name}: {size} lines, the most is 60." for name, size in sizes.items() if size > 60]
    if median(sizes.values()) > 8:
        results.append(f"The median function has {median(sizes.values())} lines, the most is 8.")
    long = [f"{name}: {size} lines; at most a tenth may pass 25." for name, size in sizes.items() if size > 25]
    return results + (long if len(long) > max(1, len(sizes) // 10) else [])


def argument_counts(files: dict[str, str]) -> list[str]:
    """Nine functions in ten have at most four arguments, keyword-only ones counted, self and cls not."""
    counts = {
        f"{place}:{function.lineno} {function.name}": len(argument_names(function))
        for place, source in files.items()
        for function in _functions(_tree(source))
    }
    many = [
        f"{name}: {count} arguments; at most a tenth may have more than 4."
        for name, count in counts.items()
        if count > 4
    ]
    return many if len(many) > max(1, len(counts) // 10) else []


def body_lines(function: ast.FunctionDef | ast.AsyncFunctionDef, source: str) -> int:
    """Return the number of code lines of a function's body."""
    body = function.body[1:] if ast.get_docstring(function, clean=False) is not None else function.body
    if not body:
        return 0
    lines = source.splitlines()[body[0].lineno - 1 : body[-1].end_lineno]
    return sum(1 for line in lines if line.strip() and not line.strip().startswith("#"))


def argument_names(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    """Return the named arguments without self and cls."""
    given = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    return [argument.arg for argument in given if argument.arg not in ("self", "cls")]


def _functions(tree: ast.AST) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


# -- pages -----------------------------------------------------------------------------------------


def mechanisms_without_page(files: dict[str, str], pages: set[str]) -> list[str]:
    """Every public, non-abstract mechanism has a page docs/theory/<module>.md; helpers need none."""
    classes = [
        (PurePosixPath(place).stem, node)
        for place, source in files.items()
        if place.startswith("mechanisms/")
        for node in _tree(source).body
        if isinstance(node, ast.ClassDef)
    ]
    kin = {"Mechanism"}
    for _ in classes:
        kin |= {node.name for _, node in classes if _bases(node) & kin}
    return [
        f"mechanisms/{module}.py: {node.name} has no page docs/theory/{module}.md."
        for module, node in classes
        if node.name in kin and module not in pages and not (node.name.startswith("_") or _is_abstract(node))
    ]


def _bases(node: ast.ClassDef) -> set[str]:
    return {ast.unparse(base).split(".")[-1].split("[")[0] for base in node.bases}


def _is_abstract(node: ast.ClassDef) -> bool:
    marks = [ast.unparse(mark) for method in _functions(node) for mark in method.decorator_list]
    return bool(_bases(node) & {"ABC", "Protocol"}) or any(mark.endswith("abstractmethod") for mark in marks)


# -- texts -----------------------------------------------------------------------------------------

MACHINE_PATHS = tuple("/" + path for path in ("root/", "tmp/venv", "work/"))


def machine_paths(place: str, text: str) -> list[str]:
    """No file names a path of the machine it was written on."""
    return [f"{place}: contains {path}" for path in MACHINE_PATHS if path in text]


def addresses(place: str, text: str) -> list[str]:
    """A lock file records versions and hashes, never where a file came from."""
    return [f"{place}:{n}: {line.strip()}" for n, line in enumerate(text.splitlines(), 1) if "://" in line]
