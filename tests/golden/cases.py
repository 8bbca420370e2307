"""Releases under a fixed seed, and what is pinned of each: numbers, widths, mechanism, guarantee and charges."""

import hashlib
import json
import warnings
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import gaugedp as gd
from gaugedp.releases.publication.folder import write_folder
from gaugedp.releases.publication.publication import Publication, PublishedTable
from tests.golden.tables import APPROX, DOMAIN, KEYS, MADE, MU, PERSON, PURE, QUESTIONS, SEED, WIDE, ZCDP, ledger, table

Facts = dict[str, Any]
Release = Callable[[], Facts]
DIGEST = "digest"
REPLACED = gd.PrivacyUnit(neighbours="replace")
SHOWN, DIGITS = 6, 6  # numbers of each kind that are readable, and digits of those that are floating-point
_OTHERS: list[tuple[str, dict[str, float], gd.Domain, gd.PrivacyUnit | None]] = [
    ("B; B*C", PURE, WIDE, None),
    ("A*B; B*C; A*C", ZCDP, WIDE, None),
    ("mean(PAY)", PURE, WIDE, None),
    ("sum(PAY)", PURE, WIDE, None),
    ("sum(PAY); sum(AGE)", PURE, WIDE, None),
    ("B; ranges(E)", PURE, WIDE, None),
    ("G*C", PURE, WIDE, None),
    ("prefix(C)", PURE, WIDE, None),
    ("quantiles(AGE, 0.5)", APPROX, WIDE, None),
    ("ranges(E); prefix(A)", ZCDP, WIDE, None),
    ("prefix(AGE)*B", PURE, DOMAIN, REPLACED),
    ("mean(X) by B", {"epsilon": 2.0}, DOMAIN, REPLACED),
    ("A; median(Y)", MU, DOMAIN, REPLACED),
    ("A*B; sum(X)", {"rho": 0.2}, DOMAIN, PERSON),
    ("share(B); mean(Y)", APPROX, DOMAIN, PERSON),
    ("n; sum(all)", PURE, MADE, None),
]
_PROCESSED = {  # and the steps that their answers are processed by, too
    "share(A) by B": ["non_negative"],
    "A*B; sum(X)": ["non_negative", "rounded"],
    "A; B; AGE": ["consistent"],
    "A*B; A*AGE": ["consistent", "non_negative", "rounded"],
}
_BOX, _TARGET = {"bounds": (-1, 1)}, {"target_bounds": (-1, 1)}
_CLASSES = {"row_norm": 1.5, "classes": [0, 1]}
_MODELS: dict[str, tuple[str, Facts]] = {  # fitted to 200 rows, and what each is
    "AdditiveClassifier": ("classes", {**_BOX, "classes": [0, 1], "delta": 1e-6}),
    "AdditiveRegressor": ("numbers", {**_BOX, **_TARGET, "delta": 1e-6}),
    "PCA": ("unit", {"row_norm": 1.5}),
    "TopEigenvector": ("unit", {"row_norm": 1.5}),
    "LowRankCovariance": ("unit", {"row_norm": 1.5, "delta": 1e-6}),
    "ElasticNet": ("numbers", {**_BOX, **_TARGET}),
    "Ridge": ("numbers", {"bounds": "private", "target_bounds": "private", "epsilon": 40.0}),
    "Lasso": ("numbers", {**_BOX, **_TARGET}),
    "HuberRegressor": ("numbers", {**_BOX, **_TARGET, "delta": 1e-6}),
    "PoissonRegressor": ("numbers", {**_BOX, "target_bounds": (0, 1)}),
    "LinearRegression": ("numbers", {"row_norm": 1.5, **_TARGET, "neighbours": "add_remove"}),
    "SparseRegression": ("numbers", {**_BOX, **_TARGET, "sparsity": 1, "delta": 1e-6}),
    "TraceRegression": ("numbers", {"row_norm": 1.5, **_TARGET, "delta": 1e-6}),
    "LogisticRegression": ("classes", _CLASSES),
    "LinearSVC": ("classes", {**_CLASSES, "delta": 1e-6}),
    "GaussianNB": ("classes", {**_BOX, "classes": [0, 1], "neighbours": "add_remove"}),
    "KMeans": ("unit", {**_BOX, "n_clusters": 2}),
    "Mean": ("unit", {"row_norm": 1.0, "neighbours": "add_remove"}),
    "SparseMean": ("unit", {**_BOX, "sparsity": 1}),
    "SimpleImputer": ("unit", _BOX),
    "StandardScaler": ("unit", {**_BOX, "delta": 1e-6}),
    "MatrixCompletion": ("ratings", {"rating_bounds": (0, 1), "users": 3, "items": 4}),
}


def cases() -> Iterator[tuple[str, Release]]:
    """Yield the name of each case, and what makes its release."""
    for text, requested in QUESTIONS:
        yield f"{text} at {_spelt(requested)}", partial(query_release, text, requested, DOMAIN)
    for text, requested, domain, unit in _OTHERS:
        whose = {REPLACED: ", rows replaced", PERSON: ", three rows a person"}.get(unit, "")
        yield f"{text} at {_spelt(requested)}{whose}", partial(query_release, text, requested, domain, unit)
    for name, (kind, parameters) in _MODELS.items():
        yield name, partial(model_release, name, {"epsilon": 5.0, **parameters}, *_rows(kind))
    search = {"param_grid": {"radius": [1.0, 10.0]}, "draws": 2, "epsilon": 5.0, "delta": 1e-6}
    yield "PrivateSearchCV", partial(_search, search, *_rows("classes"))
    yield from {"a stream": _stream, "keys": _keys, "a publication": _publication, "rows": _adaptive_rows}.items()


def _spelt(requested: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:g}" for name, value in requested.items())


def _rows(kind: str) -> tuple[np.ndarray, np.ndarray | None]:
    """Return rows (200, 2) and their targets, whose values follow from the numbers of the rows."""
    i = np.arange(200)
    rows = np.stack([i * 37 % 61 / 30 - 1, i * i % 53 / 26 - 1], axis=1)
    signal = rows @ [0.6, 0.3]
    targets = {"unit": None, "numbers": signal + (i % 7 - 3) / 50, "classes": (signal > 0.1).astype(int)}
    return (rows, targets[kind]) if kind in targets else (np.stack([i % 3, i // 3 % 4], axis=1), i * i % 5 / 4)


def _rounded(values: Any) -> Any:
    """Return integers as they are, and other numbers to `DIGITS` digits: the last ones depend on the processor."""
    flat = np.asarray(values)
    if flat.dtype.kind in "iuOU":
        return flat.tolist()
    return np.array([float(f"{value:.{DIGITS}g}") for value in flat.ravel()]).reshape(flat.shape).tolist()


def _facts(numbers: Mapping[str, Any], account: gd.Ledger, **public: Any) -> Facts:
    """Return what is pinned: public facts, charges, the first numbers of each kind, and a digest of all of them."""
    kept = {name: _rounded(values) for name, values in numbers.items()}
    whole = json.dumps([kept, public, _charges(account)], sort_keys=True)
    shown = {name: np.ravel(np.array(values, dtype=object))[:SHOWN].tolist() for name, values in kept.items()}
    digest = hashlib.sha256(whole.encode()).hexdigest()[:16]
    return {**public, "spent": repr(account.spent), **shown, DIGEST: digest}


def _charges(account: gd.Ledger) -> list[Any]:
    """Return what the ledger keeps of each entry that does not differ from run to run, as the key of a stream does."""
    entries = [entry for entry in account.entries() if entry.kind != "open"]
    requests = [{name: fact for name, fact in (entry.request or {}).items() if name != "stream"} for entry in entries]
    return [[entry.kind, repr(entry.guarantee), facts] for entry, facts in zip(entries, requests, strict=True)]


def of_release(answer: gd.Release, account: gd.Ledger, **more: Any) -> Facts:
    """Return what is pinned of a release."""
    low, high = answer.interval(0.95)
    low_of_all, high_of_all = answer.interval(0.95, simultaneous=True)
    numbers = {"numbers": answer.numbers, "values": answer.values, "low": low, "high": high}
    mechanism, charged = answer.facts["mechanism"], answer.facts["account"]["charged"]
    public = {"mechanism": mechanism["name"], "noise": mechanism["noise"], "exactness": answer.exactness}
    return _facts(
        {**numbers, "low_of_all": low_of_all, "high_of_all": high_of_all, **more},
        account,
        **public,
        guarantee=repr(answer.guarantee),
        charged=charged,
    )


def query_release(
    text: str, requested: dict[str, float], domain: gd.Domain, unit: gd.PrivacyUnit | None = None, seed: int = SEED
) -> Facts:
    """Return what is pinned of the answer to a question, and of its processed values."""
    account, rows = ledger(requested), table(domain, unit)
    query = gd.query(domain, text)
    answer = gd.release(query, rows, ledger=account, rng=gd.research_rng(seed), key="golden", **requested)
    processed = answer.processed(*_PROCESSED[text], query=query).values if text in _PROCESSED else []
    return of_release(answer, account, processed=processed)


def model_release(name: str, parameters: Facts, rows: Any, target: Any = None) -> Facts:
    """Return what is pinned of a fit: all its released numbers."""
    from gaugedp import estimators

    account = gd.Ledger.in_memory(gd.ApproxDP(99.0, 0.1))
    made = getattr(estimators, name)(random_state=SEED, ledger=account, **parameters)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", estimators.TooFewRows)
        fit = made.fit(rows, target).release_
    return _facts(fit.values, account, mechanism=name, guarantee=repr(fit.guarantee), exactness=fit.exactness)


def _search(parameters: Facts, rows: np.ndarray, target: np.ndarray) -> Facts:
    from gaugedp.estimators import LogisticRegression

    return model_release("PrivateSearchCV", {"estimator": LogisticRegression(**_CLASSES), **parameters}, rows, target)


def _stream() -> Facts:
    """Answer three periods, the last one twice."""
    account = ledger(APPROX)
    with TemporaryDirectory() as folder:
        query, unit = gd.query(DOMAIN, "B; A"), gd.PrivacyUnit()
        stream = gd.Stream.open(Path(folder) / "a.stream", query, unit, ledger=account, periods=3, **APPROX)
        answers = [stream.next(table(), period=i, rng=gd.research_rng(SEED + i)) for i in (1, 2, 3, 3)]
    numbers = {f"numbers_{answer.period}": answer.numbers for answer in answers}
    low, high = answers[-1].interval(0.95)
    numbers |= {"totals": answers[-1].totals, "low": low, "high": high}
    mechanism = answers[-1].facts["mechanism"]
    return _facts(numbers, account, **mechanism, guarantee=repr(stream.guarantee))


def _keys() -> Facts:
    account = ledger(APPROX)
    requested = gd.ApproxDP(0.5, 1e-6)
    rows = table(KEYS, PERSON)
    shown = gd.release_keys(rows, "CITY", requested, ledger=account, key="golden", rng=gd.research_rng(SEED))
    public = {"mechanism": shown.facts["mechanism"]["name"], "noise": shown.facts["mechanism"]["noise"]}
    return _facts({"numbers": shown.counts}, account, **public, guarantee=repr(shown.guarantee), keys=list(shown.keys))


def _publication() -> Facts:
    """Release three tables at once, two with weights and one with an accuracy, and write them."""
    tables = (
        PublishedTable("First", "A*B", Fraction(1)),
        PublishedTable("Second", "mean(X) by B; count", Fraction(2)),
        PublishedTable("Third", "AGE", None, 30.0),
    )
    publication = Publication("Golden", tables, DOMAIN, gd.PureDP(1.0), key="golden")
    account, rng, planned = ledger(PURE), gd.research_rng(SEED), publication.plan()
    answer = gd.release(planned.query, table(), ledger=account, planned=planned, key="golden", rng=rng)
    with TemporaryDirectory() as folder:
        write_folder(publication, answer, Path(folder) / "out")
        files = [path.read_text("utf-8") for path in sorted(Path(folder).rglob("*.csv"))]
    shares = [str(share) for share in publication.shares()]
    return of_release(answer, account, shares=shares, files=files, processed=[])


def _adaptive_rows() -> Facts:
    """Choose tables as the release goes, and draw rows from it."""
    account, rng = ledger(APPROX), gd.research_rng(SEED)
    query = gd.query(WIDE, "B*E; E*F; B")
    answer = gd.release_adaptively(query, table(WIDE), ledger=account, rng=rng, key="golden", **APPROX)
    rows = gd.synthesize(answer, 200, rng=gd.research_rng(SEED))
    return of_release(answer, account, rows=["".join(map(str, row)) for row in rows.itertuples(index=False)])
