"""Law 10, nothing but noise: under enormous noise nothing that is published depends on the rows.

Two tables with nothing in common, but their number of rows where that is public, are released or fitted with one seed
and the smallest epsilon that is allowed. Then everything that is published is compared: every attribute of a fit and
its pickle, all numbers and facts of a release, its JSON, its page, and the ledger's lines. What is no number must be
equal. A number may move by a small part, `SPARE`, of what it moves by with another seed, as the rows are that small
beside the noise; one that does not depend on the seed must be equal. What noise does not cover, such as a count, an
extreme, the classes that occur, or an iteration that stopped early, differs between the tables, and alarms.

Two exceptions, as one seed gives other draws there, of laws that are nearly the same. The pure fits of `BY_REJECTION`
draw a vector by rejection: they are fitted with the solver that adds noise. A search draws for each row whether it is
held out: it gets two tables of one length. Worlds whose noise would not fit 64 bits are left out, some 2 in 100.
"""

import hashlib
import json
import pickle
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import gaugedp as gd
from gaugedp.errors import InvalidRequest
from gaugedp.statistics import p_value
from tests.laws import fits
from tests.laws.kit import batches, generator
from tests.laws.worlds import FIGURES, WORDS, World, figure, world

COVERS = {
    "terms": set(WORDS),
    "statistics": {*FIGURES},
    "estimators": set(fits.NAMES),
}
SEEDS = (1, 2, 3)
SPARE = 0.05
TINY_RELEASE, TINY_FIT = 1e-9, 1e-5  # epsilon of a release, and of a fit, which takes at least 1e-6 for each part
BY_REJECTION = ("PCA", "LowRankCovariance", "TopEigenvector")
DRAWS_FOR_EACH_ROW = "PrivateSearchCV"
_ADDITIVE = {"solver": "gaussian", "delta": 1e-10}
_NUMBER = re.compile(r"[-+\u2212]?\d[\d,\u202f\u2009]*(?:\.\d+)?(?:e[-+]?\d+)?")
_PICTURE_OR_NAME = re.compile(r"<svg.*?</svg>|[0-9a-f]{32,}", re.DOTALL)  # and the names of entries in the ledger


def flat(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield everything inside a published value, with its place: arrays and numbers as arrays, all else as text."""
    if isinstance(value, Mapping):
        yield f"{path}.keys", repr(sorted(map(str, value)))
        for key in sorted(value, key=str):
            yield from flat(value[key], f"{path}.{key}")
    elif isinstance(value, list | tuple) and not _is_numeric(value):
        yield f"{path}.length", str(len(value))
        for place, part in enumerate(value):
            yield from flat(part, f"{path}[{place}]")
    elif _is_numeric(value):
        yield path, np.asarray(value, dtype=float)
    elif isinstance(value, np.ndarray | str | bytes | bool | type(None)):
        yield path, repr(value.tolist() if isinstance(value, np.ndarray) else value)
    elif hasattr(value, "__dict__") and type(value).__module__.startswith("gaugedp"):
        yield f"{path}.type", type(value).__name__
        yield from flat(vars(value), path)
    else:
        yield path, repr(value)


def _is_numeric(value: Any) -> bool:
    if isinstance(value, str | bytes | bool | Mapping) or value is None:
        return False
    kind = np.asarray(value, dtype=object if isinstance(value, list | tuple) and _is_ragged(value) else None).dtype.kind
    return kind in "iuf"


def _is_ragged(value: Any) -> bool:
    return len(
        {np.shape(part) if isinstance(part, int | float | np.generic) else "other" for part in value}
    ) != 1 or not all(isinstance(part, int | float | np.generic) and not isinstance(part, bool) for part in value)


def differences(one: dict[str, Any], other: dict[str, Any], again: list[dict[str, Any]]) -> list[str]:
    """Return what two publications with one seed differ in by more than noise explains; `again` has other seeds."""
    if one.keys() != other.keys():
        return [f"names {sorted(one.keys() ^ other.keys())}"]
    found = []
    for name, value in one.items():
        if isinstance(value, str) or isinstance(other[name], str):
            found += [f"{name}: {value!s:.80} and {other[name]!s:.80}"] if value != other[name] else []
        elif value.shape != other[name].shape:
            found.append(f"{name}: shapes {value.shape} and {other[name].shape}")
        else:
            far = _is_far(value, other[name], [more[name] for more in again if np.shape(more.get(name)) == value.shape])
            found += [f"{name}: {value[far].ravel()[:4]} and {other[name][far].ravel()[:4]}"] if far.any() else []
    return found


def _is_far(value: np.ndarray, other: np.ndarray, again: list[np.ndarray]) -> np.ndarray:
    with np.errstate(invalid="ignore"):
        spread = np.max([np.abs(value - more) for more in [value, *again]], axis=0)
        near = np.abs(value - other) <= SPARE * spread
    return np.asarray(~(near | (value == other) | (np.isnan(value) & np.isnan(other))))


# -- fits ------------------------------------------------------------------------------------------------


def published_fit(fit: fits.Fit, seed: int, rows: np.ndarray, target: np.ndarray) -> dict[str, Any]:
    """Return all that a fit publishes: its attributes, its release and that as JSON, and what a pickle holds."""
    ledger = gd.Ledger.in_memory(gd.ApproxDP(1.0, 0.5))
    model = fit.fitted(seed, rows, target, ledger=ledger)
    kept = {name: value for name, value in vars(pickle.loads(pickle.dumps(model))).items() if name != "ledger"}
    lines = [(entry.kind, repr(entry.guarantee), repr(entry.charge), entry.request) for entry in ledger.entries()[1:]]
    parts = {"model": kept, "json": json.loads(model.release_.to_json()), "ledger": lines, "repr": type(model).__name__}
    return dict(flat(parts))


def another(fit: fits.Fit) -> fits.Fit:
    """Return a fit to other rows with as many columns: as many rows, where their number is public."""
    is_as_long = fit.parameters["neighbours"] == "replace" or fit.name == DRAWS_FOR_EACH_ROW
    n_rows = len(fit.rows) if is_as_long else None
    made = (fits.fit_of(fit.rng, fit.name, n_rows=n_rows) for _ in range(100))
    return next(other for other in made if other.rows.shape[1] == fit.rows.shape[1])


@pytest.mark.filterwarnings("ignore::gaugedp.estimators.TooFewRows")
@pytest.mark.parametrize("name", fits.NAMES)
def test_fits_publish_nothing_but_noise(name: str) -> None:
    for case in range(max(1, len([case for cases in batches("nothing_but_noise") for case in cases]) // 30)):
        budget = {"epsilon": TINY_FIT, "delta": 0.0} | (_ADDITIVE if name in BY_REJECTION else {})
        fit = fits.fit_of(generator(f"nothing_but_noise {name}", case), name, **budget)
        other = another(fit)
        one, two = (published_fit(fit, SEEDS[0], made.rows, made.target) for made in (fit, other))
        again = [published_fit(fit, seed, fit.rows, fit.target) for seed in SEEDS[1:]]
        assert not (found := differences(one, two, again)), f"case {case} of {name}: {fit.parameters}: {found}"


# -- releases --------------------------------------------------------------------------------------------


def tiny(made: World) -> dict[str, float]:
    """Return a budget of the kind of the world's, with enormous noise."""
    small = {"epsilon": TINY_RELEASE, "delta": 1e-12, "rho": TINY_RELEASE**2, "mu": TINY_RELEASE}
    return {name: small[name] for name in made.budget}


def _ledger(budget: Mapping[str, float]) -> gd.Ledger:
    return gd.Ledger.in_memory(
        gd.ZCDP(1) if "rho" in budget else gd.GaussianDP(1) if "mu" in budget else gd.ApproxDP(1, 0.5)
    )


def published(answer: gd.Release, ledger: gd.Ledger, folder: Path | None) -> dict[str, Any]:
    """Return all that a release publishes: numbers, facts, the ledger's lines, and its page where there is a folder."""
    facts = {key: value for key, value in json.loads(answer.to_json()).items() if key not in ("account", "numbers")}
    lines = [(entry.kind, repr(entry.guarantee), repr(entry.charge), entry.request) for entry in ledger.entries()[1:]]
    page = "" if folder is None else _page(answer, folder / "answer.html")
    shown = {"values": answer.values, "numbers": np.asarray(answer.numbers, float), "columns": answer.number_columns()}
    return dict(flat({"facts": facts, "ledger": lines, "shown": shown, "said": repr(answer), "page": page}))


def _page(answer: gd.Release, path: Path) -> str:
    answer.save_html(path)
    return _NUMBER.sub("#", _PICTURE_OR_NAME.sub("#", path.read_text("utf-8")))


def check(make: Any, made: World, other: World, words: str) -> None:
    """Insist that what `make` publishes of two worlds differs by what noise explains."""
    one, two = make(made, SEEDS[0]), make(other, SEEDS[0])
    assert not (found := differences(one, two, [make(made, SEEDS[1])])), f"{words}: {found}"


@pytest.mark.parametrize("cases", batches("nothing_but_noise", 5), ids=str)
def test_releases_publish_nothing_but_noise(cases: range, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The numbers seed the simulation of p-values: with one seed for all, its own error is the same.
    monkeypatch.setattr(p_value, "sha256", lambda _: hashlib.sha256(b"one seed"))

    def make(made: World, seed: int) -> dict[str, Any]:
        ledger, rng = _ledger(made.budget), gd.research_rng(seed)
        answer = gd.release(plan.query, made.table("csv", tmp_path), ledger=ledger, rng=rng, planned=plan)
        return published(answer, ledger, tmp_path if case % 2 and seed == SEEDS[0] else None)

    for case in cases:
        n_terms = 1 + (case % 3 == 0)
        made = world(generator("nothing_but_noise", case), n_terms=n_terms, most_cells=8, quick=True)
        try:
            plan = gd.plan(made.query, made.unit, **tiny(made))
        except InvalidRequest:  # noise beyond 64 bits
            continue
        check(make, made, with_other_rows(made), f"case {case}: {made}")


def with_other_rows(made: World) -> World:
    """Return the world with rows that have nothing in common with its own: as many, where their number is public."""
    n_rows = len(made.rows) if made.unit.neighbours == "replace" else len(made.rows) // 3
    return made.with_rows([dict.fromkeys(made.types) for _ in range(n_rows)])


@pytest.mark.slow
@pytest.mark.parametrize("kind", FIGURES)
def test_figures_publish_nothing_but_noise(kind: str, tmp_path: Path) -> None:
    """They follow from a release: no table is there."""
    domain, question, text = figure(generator("nothing_but_noise figures", 0), kind)
    sizes = {"A": [float(domain.attributes["A"].low)] * 30, "B": ["x"] * 30, "V": [1.0] * 30}

    def make(cells: dict[str, list[Any]], seed: int) -> dict[str, Any]:
        table, ledger = gd.Table.scan(pd.DataFrame(cells), domain=domain), gd.Ledger.in_memory(gd.PureDP(1))
        query, rng = gd.query(domain, question), gd.research_rng(seed)
        answer = gd.release(query, table, ledger=ledger, epsilon=TINY_RELEASE, rng=rng)
        return published(gd.derive(answer, text, domain=domain), ledger, tmp_path if seed == SEEDS[0] else None)

    other = sizes | {"A": [float(domain.attributes["A"].high)] * 30, "V": [float(domain.columns["V"].high)] * 30}
    check(make, sizes, other, f"{question}, {text}")


def streamed(folder: Path, values: list[str], seed: int) -> dict[str, Any]:
    """Return what a stream of three periods publishes."""
    domain, ledger = gd.Domain.of(A=["x", "y"]), gd.Ledger.in_memory(gd.ApproxDP(1, 1e-6))
    path = folder / f"{values[0]}{seed}.stream"
    given = {"ledger": ledger, "periods": 3, "epsilon": 1e-6, "delta": 1e-12}
    stream = gd.Stream.open(path, gd.query(domain, "A"), gd.PrivacyUnit(), **given)
    table = gd.Table.scan(pd.DataFrame({"A": values}), domain=domain)
    answers = [stream.next(table, rng=gd.research_rng(seed)) for _ in range(3)]
    return dict(flat({"values": [answer.values for answer in answers], "said": repr(answers[0])}))


def adaptive(values: list[str], seed: int) -> dict[str, Any]:
    """Return the tables that are released adaptively, and the rows that are drawn from them."""
    domain = gd.Domain.of(A=["x", "y"], B=["x", "y"])
    table = gd.Table.scan(pd.DataFrame({"A": values, "B": values}), domain=domain)
    given = {"ledger": gd.Ledger.in_memory(gd.ZCDP(1)), "rho": 1e-12, "rng": gd.research_rng(seed)}
    answer = gd.release_adaptively(gd.query(domain, "A*B"), table, **given)
    return dict(flat({"values": answer.values, "said": repr(answer), "facts": answer.facts["query"]}))


def shown_keys(values: list[str], seed: int) -> dict[str, Any]:
    """Return the keys of an attribute that nobody knows."""
    domain = gd.Domain.of(A=gd.unknown_keys(10))
    table = gd.Table.scan(pd.DataFrame({"A": values}), domain=domain)
    given = {"ledger": gd.Ledger.in_memory(gd.ApproxDP(1, 1e-6)), "rng": gd.research_rng(seed)}
    release = gd.release_keys(table, "A", gd.ApproxDP(1e-3, 1e-9), **given)
    return dict(flat({"keys": list(release.keys), "said": repr(release)}))


@pytest.mark.slow
def test_streams_keys_and_adaptive_tables_publish_nothing_but_noise(tmp_path: Path) -> None:
    ones, others = ["x"] * 40, ["y"] * 40
    for make in (lambda values, seed: streamed(tmp_path, values, seed), adaptive, shown_keys):
        one, two = make(ones, 1), make(others, 1)
        again = [make(ones, seed) for seed in SEEDS[1:]]
        assert not (found := differences(one, two, again)), found
