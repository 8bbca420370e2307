"""Random small worlds: a domain, a table with ordinary and awkward values, a privacy unit, a query and a budget.

A world is made from a generator alone, in some milliseconds, without Hypothesis. Its parts come from registries:
`ATTRIBUTES` describes domains, `BUDGETS` the keywords of a guarantee, and `WORDS` holds the terms that
`gaugedp.queries.text` reads, so that a new term takes part in the laws as soon as it is there.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import gaugedp as gd
from gaugedp._internal.names import in_quotes, written, written_in_list
from gaugedp.domain.attributes import Attribute, BoundedColumn
from gaugedp.errors import GaugedpError
from gaugedp.queries import text
from gaugedp.statistics import KINDS
from tests.tables import sources

Generator = np.random.Generator
Facts = dict[str, Any]  # of a domain file

CELLS, PRODUCT = "A*B", "prefix(A)*B"  # kinds of terms that have no word
WEIGHTED = ("weighted", "unweighted")  # need weights in the domain: tests/queries/test_weights.py
WORDS = (CELLS, PRODUCT, *(word for word in text.WORDS if word not in WEIGHTED))  # every other kind of term
PERSON = "pid"
NAMES = ("SEX", "AGE", "pay grade", "Bezirk (Süd)", "a;b", "x*y", 'q"r', "Größe, cm")
MOST_CELLS = 60  # of the joint table, so that a plan takes some milliseconds
_MOST_TRIES = 200
_AWKWARD_TEXTS = (None, None, "", " ", "A", "zzz", "nan", "-1", "1e400", "2024-02-30", "5.3.2017", "a ", "x" * 50)
_AWKWARD_NUMBERS = (None, None, float("nan"), float("inf"), -float("inf"), 1e308, -1e17, -0.0, 2.5, 1e-300, 99.0)
_AWKWARD_INTEGERS = (None, None, 0, -1, 99, 10**15, -(10**15))


@dataclass(frozen=True)
class World:
    """A table with its public facts, and a query with a budget for it.

    domain, unit : as the domain file describes them, whose `text` and trees `domain_file` writes.
    rows, types : the table: a dictionary a row, and the Python type of each column. None is a missing cell.
    terms, budget : those of the query, and the keywords of a guarantee, such as {"epsilon": 1.0, "delta": 1e-6}.
    rng : a generator for further choices of a law.
    """

    domain: gd.Domain
    text: str = field(repr=False)
    files: Mapping[str, str] = field(repr=False)
    rows: list[dict[str, Any]] = field(repr=False)
    types: Mapping[str, type]
    terms: tuple[str, ...]
    budget: dict[str, float]
    rng: Generator = field(repr=False)

    @property
    def unit(self) -> gd.PrivacyUnit:
        """Who is protected."""
        return self.domain.protected()

    @property
    def query_text(self) -> str:
        """The query as a user writes it."""
        return "; ".join(self.terms)

    @cached_property
    def query(self) -> Any:
        """The query."""
        return gd.query(self.domain, self.query_text)

    @cached_property
    def frame(self) -> Any:
        """The rows as a pandas frame."""
        return sources.as_pandas(self.rows, self.types)

    def source(self, kind: str, folder: Path | None = None) -> Any:
        """Return the rows as one of `sources.KINDS`; files are written into `folder`."""
        return sources.make(kind, self.rows, self.types, folder)

    def table(self, kind: str = "pandas", folder: Path | None = None) -> gd.Table:
        """Return the table, scanned from a source of that kind."""
        return gd.Table.scan(self.frame if kind == "pandas" else self.source(kind, folder), domain=self.domain)

    def ledger(self) -> gd.Ledger:
        """Return a ledger in memory that this budget can be charged to many times."""
        return gd.Ledger.in_memory(ample(self.budget))

    def with_rows(self, rows: list[dict[str, Any]]) -> "World":
        """Return this world with other rows."""
        return replace(self, rows=rows)

    def domain_file(self, folder: Path) -> Path:
        """Write the domain file, with its trees, and return its path."""
        for name, content in {**self.files, "domain.toml": self.text}.items():
            (folder / name).write_text(content, "utf-8")
        return folder / "domain.toml"


def world(
    rng: Generator,
    *,
    n_terms: int | None = None,
    words: Sequence[str] = WORDS,
    budget: str | None = None,
    awkward: float = 0.1,
    rows: int | None = None,
    most_cells: int = MOST_CELLS,
    quick: bool = False,
) -> World:
    """Return a random world; see `World`.

    Its query has `n_terms` terms (1 to 4) of the kinds `words`, its budget is of the kind `budget`, a key of `BUDGETS`,
    a share `awkward` of all cells is missing, out of domain or no value at all, and the table has so many `rows`. The
    query is about a joint table of at most `most_cells` cells. Where a query has sums, a `quick` world
    has no delta, and mostly a mu: plans for sums take seconds with a delta, and some do with a pure epsilon.
    """
    for _ in range(_MOST_TRIES):
        content, files, kinds, domain = _domain(rng)
        if terms := _terms(domain, rng, words, n_terms or int(rng.choice([1, 1, 2, 3, 4])), most_cells):
            break
    else:
        raise AssertionError(f"No domain has a term of the kinds {words}: see _texts_of.")
    n_rows = int(rng.integers(5, 200)) * (rng.random() > 0.02) if rows is None else rows
    columns = _columns(rng, domain, kinds, n_rows, awkward)
    types = {name: kind for name, (kind, _) in columns.items()}
    table = [
        dict(zip(types, cells, strict=True)) for cells in zip(*(cells for _, cells in columns.values()), strict=True)
    ]
    name = budget or str(rng.choice(list(BUDGETS)))
    made = World(domain, content, files, table, types, terms, BUDGETS[name](rng), rng)
    return replace(made, budget=_quick(rng, made.budget)) if quick and made.query.columns else made


# -- budgets ---------------------------------------------------------------------------------------------


def _between(rng: Generator, low: float, high: float) -> float:
    return float(f"{10 ** rng.uniform(low, high):.3g}")


BUDGETS: dict[str, Callable[[Generator], dict[str, float]]] = {
    "pure": lambda rng: {"epsilon": _between(rng, -3, 2)},
    "approx": lambda rng: {"epsilon": _between(rng, -3, 2), "delta": _between(rng, -12, -2)},
    "zcdp": lambda rng: {"rho": _between(rng, -5, 2)},
    "gaussian": lambda rng: {"mu": _between(rng, -3, 1.5)},
}


def _quick(rng: Generator, budget: dict[str, float]) -> dict[str, float]:
    if "epsilon" not in budget:
        return budget
    return BUDGETS["gaussian" if rng.random() < 0.75 else "pure"](rng)


def ample(budget: Mapping[str, float], times: float = 1e4) -> Any:
    """Return a guarantee of the kind of a budget that is many times as large."""
    if "rho" in budget:
        return gd.ZCDP(times * budget["rho"])
    if "mu" in budget:
        return gd.GaussianDP(times * budget["mu"])
    return gd.ApproxDP(times * budget["epsilon"], 0.9) if "delta" in budget else gd.PureDP(times * budget["epsilon"])


# -- domains ---------------------------------------------------------------------------------------------

_TEXTS = ("a", "b", "c", "0", "1", "true", "10", "ä ö", "N/A", "d,e", "yes", "Z")
_SPANS = (
    ("day", "2024-02-27", "2024-03-01"),
    ("week", "2024-W52", "2025-W02"),
    ("month", "2023-11", "2024-02"),
    ("quarter", "2023-Q4", "2024-Q2"),
    ("year", "2022", "2025"),
)


def _categories(rng: Generator) -> Facts:
    return {"values": [str(value) for value in rng.choice(_TEXTS, rng.integers(1, 5), replace=False)]}


def _bins(rng: Generator) -> Facts:
    low, width = int(rng.integers(-2, 3)) * 10, float(rng.choice([0.5, 5, 10]))
    return {"low": low, "high": low + width * int(rng.integers(1, 6)), "width": width}


def _edges(rng: Generator) -> Facts:
    return {"edges": sorted(int(edge) for edge in rng.choice(100, rng.integers(2, 6), replace=False))}


def _integers(rng: Generator) -> Facts:
    first = int(rng.integers(-3, 5))
    return {"from": first, "to": first + int(rng.integers(0, 5))}


def _dates(rng: Generator) -> Facts:
    return dict(zip(("date", "from", "to"), _SPANS[int(rng.integers(len(_SPANS)))], strict=True))


ATTRIBUTES: dict[str, Callable[[Generator], Facts]] = {
    "categories": _categories,
    "bins": _bins,
    "edges": _edges,
    "integers": _integers,
    "dates": _dates,
    "tree": lambda rng: {"tree": f"tree{rng.integers(10**6)}.csv"},
}
_OF_NUMBERS = {"bins": (float, int, str), "edges": (int, float), "integers": (int, float, str)}  # types of a column


def _domain(rng: Generator) -> tuple[str, dict[str, str], dict[str, str], gd.Domain]:
    """Return a domain file's text, the files of its trees, the kind of each column of the table, and the domain."""
    names = [str(name) for name in rng.permutation(NAMES)]
    kinds = {names.pop(): str(rng.choice(list(ATTRIBUTES))) for _ in range(rng.integers(1, 5))}
    numbers = {names.pop(): "number" for _ in range(rng.integers(0, 3))}
    files: dict[str, str] = {}
    attributes = {name: _attribute(rng, name, kind, files) for name, kind in kinds.items()}
    facts = {"unit": _unit(rng), "attributes": attributes, "columns": {name: _bounded(rng) for name in numbers}}
    lines = [f"{key} = {_toml(value)}" for key, value in _texts(rng).items()]
    for section, entries in facts.items():
        lines += [f"[{section}]", *(f"{in_quotes(name)} = {_toml(value)}" for name, value in entries.items())]
    content = "\n".join([*lines, ""])
    return content, files, {**kinds, **numbers}, _loaded(content, files)


def _loaded(content: str, files: Mapping[str, str]) -> gd.Domain:
    with TemporaryDirectory() as folder:
        for name, text in {**files, "domain.toml": content}.items():
            Path(folder, name).write_text(text, "utf-8")
        return gd.Domain.load(Path(folder, "domain.toml"))


def _attribute(rng: Generator, name: str, kind: str, files: dict[str, str]) -> Facts | list[str]:
    facts = ATTRIBUTES[kind](rng)
    if kind == "tree":
        areas = [f"{'NS'[area % 2]},d{area}" for area in range(int(rng.integers(2, 5)))]
        header = f"R{len(files)}," + '"' + name.replace('"', '""') + '"'
        files[facts["tree"]] = "\n".join([header, *areas, ""])
    outside = {"outside": "other"} if rng.random() < 0.3 else {}
    label = {"label": f"The {kind}"} if rng.random() < 0.2 else {}
    is_short = kind == "categories" and not outside and not label and rng.random() < 0.5
    return facts["values"] if is_short else facts | outside | label


def _bounded(rng: Generator) -> Facts:
    step = float(rng.choice([1, 1, 0.01, 0.5, 3, 1000]))
    low, n_steps = int(rng.integers(-4, 4)), int(rng.choice([1, 3, 10, 100, 5000]))
    end = {"low": _round(low * step), "high": _round((low + n_steps) * step), "step": step}
    missing = {"missing": _round((low + n_steps // 2) * step)} if rng.random() < 0.3 else {}
    return end | missing | ({"unknown": [99, -1]} if rng.random() < 0.1 else {})


def _round(value: float) -> float:
    return round(value, 6)


def _unit(rng: Generator) -> Facts:
    neighbours = {"neighbours": "replace"} if rng.random() < 0.35 else {}
    most = {"max_rows": int(rng.integers(1, 4))} if rng.random() < 0.7 else {}
    return neighbours | ({"column": PERSON} | most if rng.random() < 0.4 else {})


def _texts(rng: Generator) -> Facts:
    return {"name": f"world-{rng.integers(10**6)}"} | ({"title": "A small world"} if rng.random() < 0.2 else {})


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {_toml(entry)}" for key, entry in value.items()) + " }"
    return json.dumps(value, ensure_ascii=False)


# -- tables ----------------------------------------------------------------------------------------------


def _columns(
    rng: Generator, domain: gd.Domain, kinds: Mapping[str, str], n_rows: int, awkward: float
) -> dict[str, tuple[type, list[Any]]]:
    """Return the type and the cells of each column."""
    columns = {}
    for name, kind in kinds.items():
        of_type = _OF_NUMBERS.get(kind, (float, int) if kind == "number" else (str,))
        chosen = of_type[int(rng.integers(len(of_type)))]
        values = _values(rng, domain.columns[name] if kind == "number" else domain.attributes[name], n_rows)
        columns[name] = (chosen, _spoilt(rng, [chosen(value) for value in values], chosen, awkward))
    if domain.protected().column:
        people = rng.integers(0, max(1, int(n_rows * rng.uniform(0.2, 1))), n_rows)
        columns[PERSON] = (int, [None if rng.random() < awkward / 4 else int(person) for person in people])
    return columns


def _values(rng: Generator, fact: Attribute | BoundedColumn, n_rows: int) -> list[Any]:
    """Return ordinary values, some cells being more frequent than others."""
    if isinstance(fact, BoundedColumn):
        low, high = float(fact.low), float(fact.high)
        stretched = low + (high - low) * (rng.beta(*rng.uniform(0.3, 3, 2), n_rows) * 1.2 - 0.1)
        return [_round(value) for value in stretched.tolist()]
    cells = rng.choice(fact.n_inside, n_rows, p=rng.dirichlet(np.ones(fact.n_inside))).tolist()
    if fact.borders:
        return [_round(rng.uniform(fact.borders[cell], fact.borders[cell + 1])) for cell in cells]
    labels = [fact.label(cell) for cell in cells]
    return [int(label) for label in labels] if fact.values_are == "numbers" else labels


def _spoilt(rng: Generator, cells: list[Any], kind: type, awkward: float) -> list[Any]:
    """Return the cells, a share of them replaced by awkward ones of the same type."""
    others: Sequence[Any] = {str: _AWKWARD_TEXTS, float: _AWKWARD_NUMBERS, int: _AWKWARD_INTEGERS}[kind]
    return [others[int(rng.integers(len(others)))] if rng.random() < awkward else cell for cell in cells]


# -- queries ---------------------------------------------------------------------------------------------


def _terms(domain: gd.Domain, rng: Generator, words: Sequence[str], n_terms: int, most: int) -> tuple[str, ...]:
    """Return terms whose answers stand in one query; none where the domain has none of the kinds."""
    terms: list[str] = []
    for _ in range(4 * n_terms):
        term = next(
            (text for text in _texts_of(domain, rng, str(rng.choice(words))) if _is_read(domain, text, most)), None
        )
        if term is not None and term not in terms and _is_read(domain, "; ".join([*terms, term]), most):
            terms.append(term)
        if len(terms) == n_terms:
            break
    return tuple(terms)


def _is_read(domain: gd.Domain, content: str, most: int) -> bool:
    try:
        query = gd.query(domain, content)
        return max(domain.n_cells(query.attributes), query.n_answers) <= most
    except GaugedpError:
        return False


def _texts_of(domain: gd.Domain, rng: Generator, word: str) -> Iterator[str]:
    """Yield texts that may be a term of that kind: of a column, of a column with shares, of attributes."""
    names = [str(name) for name in rng.permutation(list(domain.attributes))]
    crossed = "*".join(written(name) for name in names[: int(rng.integers(1, 3))])
    by = f" by {'*'.join(written(name) for name in names[1 : int(rng.integers(2, 4))])}" if names[1:] else ""
    by = by if rng.random() < 0.5 else ""
    if word == CELLS:
        yield crossed
    elif word == PRODUCT:
        inner, outer = (
            ("prefix", "ranges")[int(rng.integers(2))],
            ("{}", "ranges({})", "prefix({})")[int(rng.integers(3))],
        )
        yield from (f"{inner}({written(a)})*{outer.format(written(b))}" for a, b in pairwise(names))
    elif word == "count":
        yield "count"
    yield from _tests(domain, rng, word, names)
    shares = sorted({f"{share:.2g}" for share in rng.uniform(0.02, 0.98, int(rng.integers(1, 5)))})
    bare = " without interval" if word in ("median", "quantiles") and shares[0][-1] in "37" else ""  # some
    for column in rng.permutation(list(domain.columns)):
        for end in (by, ""):
            yield f"{word}({written(str(column))}){end}{bare}"
            yield f"{word}({written_in_list(str(column))}, {', '.join(shares)}){end}{bare}"
    for inside in (crossed, written(names[0])):
        yield from (f"{word}({inside}){end}" for end in (by, ""))


def _tests(domain: gd.Domain, rng: Generator, word: str, names: list[str]) -> Iterator[str]:
    if word == "independence":
        yield from (f"independence({written_in_list(a)}, {written_in_list(b)})" for a, b in pairwise(names))
    elif word == "test":
        inner = [f"mean({written(column)})" for column in domain.columns] + [f"share({written(names[0])})"]
        yield from (f"test({one} by {written(names[-1])})" for one in rng.permutation(inner))


# -- what no text asks for -------------------------------------------------------------------------------


def matrix(domain: gd.Domain, rng: Generator) -> Any:
    """Return a query of one to four random linear combinations of the cells of the joint table."""
    numbers = rng.integers(-3, 4, (int(rng.integers(1, 5)), domain.n_cells()))
    numbers[0, 0] = numbers[0, 0] or 1
    return gd.workload(numbers.astype(float), domain)


def figure(rng: Generator, kind: str) -> tuple[gd.Domain, str, str]:
    """Return a domain, a query, and a figure of a kind in FIGURES that follows from its release."""
    n_cells, width = int(rng.integers(2, 5)), float(rng.choice([0.5, 10]))
    facts = {"A": gd.bins(0, n_cells * width, width), "B": gd.categories(["x", "y", "z"][: int(rng.integers(1, 4))])}
    domain = gd.Domain.of(**facts, V=gd.bounded(1, int(rng.integers(2, 200))))
    by = " by B" if rng.random() < 0.5 else ""
    if kind in FIGURES_OF_MEANS:
        crossed = "A*B" if by else "A"
        return domain, f"mean(V) by {crossed}", f"{FIGURES_OF_MEANS[kind]}(mean(V) by {crossed})"
    return domain, "B*A" if by else "A", f"{kind}(A{', 0.3, 0.8' * (kind == 'lorenz')}){by}"


FIGURES_OF_MEANS = {name: name.removesuffix(" of means") for name in KINDS if name.endswith(" of means")}
FIGURES = (*FIGURES_OF_MEANS, "gini", "lorenz")  # that a release gives, and a query does not
