"""No noise, no difference: with an enormous budget estimators equal scikit-learn, and queries equal pandas."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import gaugedp as gd
from gaugedp.entropy import research_rng
from tests.laws import oracle
from tests.laws.kit import batches, generator
from tests.laws.model_data import DATA
from tests.laws.models import HOLDS, KNOWN, MODELS, Model
from tests.laws.worlds import PERSON, WORDS, World, world

LAW = "no_noise"
COVERS = {"terms": set(WORDS), "estimators": {model.name for model in MODELS}}


def gap(model: Model, kind: str, rng: np.random.Generator, **requested: object) -> float:
    """Return how far a fit is from its counterpart, over a thousandth of the spread and a step of rounded rows."""
    data = DATA[kind](rng)
    shown, wanted = model.shown(model.fitted(data, **requested), data), model.counterpart(data)
    assert shown.shape == wanted.shape
    return float(np.abs(shown - wanted).max() / (1e-3 * data.spread + data.step))


@pytest.mark.parametrize("cases", batches(LAW), ids=str)
def test_estimators_without_noise_are_those_of_scikit_learn(cases: range) -> None:
    """Two entries of the registry a case, one after the other, so that a quick run sees all; epsilon is 1e6 to 1e8."""
    for case in cases:
        for place in (2 * case, 2 * case + 1):
            model, kind = HOLDS[place % len(HOLDS)]
            rng = generator(LAW, place)
            requested = {
                "epsilon": 10 ** rng.uniform(6, 8),
                "delta": float(rng.choice([0.0, 1e-6])),
                "neighbours": str(rng.choice(["replace", "add_remove"])),
                "random_state": place,
            }
            assert gap(model, kind, rng, **requested) <= model.slack, (
                f"case {case}: {model} on {kind} rows, {requested}"
            )


@pytest.mark.many
@pytest.mark.parametrize(
    ("model", "kind", "case"),
    [
        pytest.param(model, kind, case, marks=pytest.mark.xfail(reason=reason, strict=True))
        for model in MODELS
        for kind in model.kinds
        if (str(model), kind) in KNOWN
        for case, reason in [KNOWN[str(model), kind]]
    ],
    ids=str,
)  # fmt: skip
def test_known_differences(model: Model, kind: str, case: int) -> None:
    """Fixed cases, at epsilon 1e6: who mends one removes its line of `KNOWN`."""
    requested = {"epsilon": 1e6, "delta": 1e-6, "neighbours": "replace", "random_state": case}
    assert gap(model, kind, np.random.default_rng([case, 45]), **requested) <= 1


def determined(world: World) -> World:
    """Return a world without the rows of a person beyond the first `max_rows`, so that no rows are drawn."""
    seen: Counter[object] = Counter()
    kept = []
    for row in world.rows:
        person = row.get(PERSON)
        seen[person] += 1
        if person is None or seen[person] <= world.unit.max_rows:
            kept.append(row)
    return world.with_rows(kept)


def rows_of(made: World, term: str) -> pd.DataFrame:
    """Return the rows that a term speaks of: quantiles are a part of their own, and all other terms one together."""
    others = tuple(other for other in made.terms if not other.startswith(oracle.QUANTILES))
    return oracle.frame(replace(made, terms=(term,) if term.startswith(oracle.QUANTILES) else others))


def in_order(terms: tuple[str, ...]) -> list[str]:
    """Return terms in the order of their answers: those that share noise stay together, where the first of them is."""
    others = [term for term in terms if not term.startswith(oracle.QUANTILES)]
    ordered = [[term] if term.startswith(oracle.QUANTILES) else others * (term == others[0]) for term in terms]
    return [term for together in ordered for term in together]


def faults(made: World, values: np.ndarray) -> Iterator[str]:
    """Yield the answers that are not those of pandas: to 1e-3, or for standard deviations a thousandth of the range."""
    start = 0
    for term in in_order(made.terms):
        is_quantile = term.startswith(oracle.QUANTILES)
        count = gd.query(made.domain, term).n_answers
        table = rows_of(made, term)
        answers, start = values[start : start + count], start + count
        if is_quantile:
            yield from oracle.quantile_faults(made, table, term, answers)
            continue
        wanted = oracle.exact(made, table, term)
        gaps = np.where(np.isnan(wanted), 0.0, np.abs(answers - wanted))
        if wanted.shape != answers.shape or gaps.max(initial=0) > oracle.tolerance(made, term):
            yield f"{term}: {answers} instead of {wanted}"
    assert start == len(values)


@pytest.mark.slow
@pytest.mark.parametrize("cases", batches(LAW), ids=str)
def test_queries_without_noise_are_those_of_pandas(cases: range) -> None:
    """Every third case: a kind of term, the kinds taking turns, beside others, over rows with awkward values."""
    for case in cases[::3]:
        rng = generator(f"{LAW} of queries", case)
        words = [WORDS[case // 3 % len(WORDS)], *(str(word) for word in rng.choice(WORDS, 2))]
        made = determined(world(rng, words=words, n_terms=int(rng.integers(1, 4))))
        ledger = gd.Ledger.in_memory(gd.PureDP(1e9))
        answer = gd.release(made.query, made.table(), ledger=ledger, epsilon=1e8, rng=research_rng(case))
        found = list(faults(made, answer.values))
        assert not found, f"case {case}: {made.query_text}: {found}"


def test_every_known_difference_is_one_of_the_registry() -> None:
    assert set(KNOWN) <= {(str(model), kind) for model in MODELS for kind in model.kinds}
