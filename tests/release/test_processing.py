"""Processing at no cost: what each step does to the numbers, and what it leaves alone."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given, settings
from hypothesis import strategies as st

import gaugedp as gd
from gaugedp.errors import UNTOUCHED, InvalidRequest, UnknownName
from gaugedp.ledger import Ledger
from gaugedp.mechanisms.base import Mechanism
from gaugedp.queries.linear import Workload
from gaugedp.releases.processing import STEPS, remark, words
from gaugedp.releases.processing.consistency import MOST_CELLS, consistent
from gaugedp.releases.processing.steps import solvable, without_negatives
from gaugedp.releases.releasing import Release
from gaugedp.statistics.base import split
from gaugedp.tables.aggregate import Rows
from gaugedp.tables.table import Table

DOMAIN = gd.Domain.of(A=["1", "2"], B=gd.integers(1, 3), C=gd.integers(1, 4), PAY=gd.bounded(0, 100, step=1))
UNIT = gd.PrivacyUnit()
TEXTS = [
    "A; B; A*B",
    "count; C; C*A; B*A*C",
    "A*B; B*C; A*C",
    "A*B; B*A; A",
    "A; prefix(C); C",
    "count; ranges(C); A*C",
    "sum(PAY); sum(PAY) by A; A; count",
    "mean(PAY) by A; sum(PAY) by A*B; mean(PAY)",
]


class Stand(Rows):
    """What a release needs of a table: the totals of equal joint cells, no engine."""

    name = "people"

    def __init__(self, domain: gd.Domain = DOMAIN, each: int = 20) -> None:
        self.domain, self.unit, self.each = domain, UNIT, each

    def totals(self, wanted: Sequence[Any], _: bytes) -> list[np.ndarray]:
        sizes = [self.domain.n_cells(one.attributes) for one in wanted]
        return [np.full(size, self.each * self.domain.n_cells() // size) for size in sizes]


@pytest.fixture
def ledger() -> Ledger:
    return Ledger.in_memory(gd.PureDP(1000))


def columns(query: Workload) -> np.ndarray:
    """The map of the question in real units, written out."""
    operator = query.sensitivity(UNIT).generators
    dense = np.stack([operator.column(index) for index in range(operator.n_generators)], axis=1)
    return np.array([float(step) for step in query.steps])[:, None] * dense


def noisy(query: Workload, seed: int, size: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Draws around 0 and their deviations, one for each piece."""
    rng = np.random.default_rng(seed)
    deviations = np.concatenate([np.full(piece.cells.n_released, rng.uniform(1, 5)) for piece in query.pieces])
    return rng.standard_normal((size, len(query.steps))) * deviations, deviations


# -- least squares ---------------------------------------------------------------------------------


@pytest.mark.parametrize("text", TEXTS)
def test_it_is_the_weighted_projection_onto_what_tables_can_have(text: str) -> None:
    query = gd.query(DOMAIN, text)
    F, (values, deviations) = columns(query), noisy(query, 1)
    best = np.linalg.lstsq(F / deviations[:, None], values[0] / deviations, rcond=None)[0]
    assert consistent(query, values[0], deviations) == pytest.approx(F @ best, abs=1e-8)


@pytest.mark.parametrize("text", TEXTS)
def test_it_stays_where_it_is_and_moves_with_a_table(text: str) -> None:
    query = gd.query(DOMAIN, text)
    F, (values, deviations) = columns(query), noisy(query, 2)
    once = consistent(query, values[0], deviations)
    assert consistent(query, once, deviations) == pytest.approx(once, abs=1e-8)
    table = F @ np.random.default_rng(3).integers(0, 50, F.shape[1])
    moved = consistent(query, values[0] + table, deviations)
    assert moved == pytest.approx(once + table, abs=1e-8 * max(1, np.abs(table).max()))
    assert consistent(query, table, deviations) == pytest.approx(table, rel=1e-9, abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("text", TEXTS)
def test_the_expected_error_falls(text: str) -> None:
    """Gauss and Markov: in units of the deviations the expected square falls from d to the rank; 400 seeded draws."""
    query = gd.query(DOMAIN, text)
    values, deviations = noisy(query, 4, size=400)
    after = np.array([consistent(query, row, deviations) for row in values]) / deviations
    rank = np.linalg.matrix_rank(columns(query) / deviations[:, None])
    assert (after**2).sum(axis=1).mean() == pytest.approx(rank, rel=0.15)
    assert ((after**2).sum(axis=1) <= ((values / deviations) ** 2).sum(axis=1) + 1e-9).all()


def test_both_ways_of_solving_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    query = gd.query(DOMAIN, "count; A*B; C; C*A; B*A*C")
    values, deviations = noisy(query, 5)
    closed = consistent(query, values[0], deviations)
    monkeypatch.setattr("gaugedp.releases.processing.consistency._marginals_only", lambda _: False)
    assert consistent(query, values[0], deviations) == pytest.approx(closed, abs=1e-9)


def test_an_answer_without_noise_stays() -> None:
    query = gd.query(DOMAIN, "count; A")
    after = consistent(query, np.array([100.0, 40.0, 50.0]), np.array([0.0, 1.0, 1.0]))
    assert after == pytest.approx([100, 45, 55], abs=1e-6)
    assert consistent(query, np.array([90.0, 40.0, 50.0]), np.zeros(3)) == pytest.approx([90, 40, 50])


def test_marginals_of_a_table_that_is_never_written_out() -> None:
    """All pairs of 30 attributes: a joint table of 4^30 cells."""
    domain = gd.Domain.of(**{f"X{i}": gd.integers(1, 4) for i in range(30)})
    pairs = [(f"X{i}", f"X{j}") for i in range(30) for j in range(i)]
    query = gd.marginals(domain, *pairs)
    values, deviations = noisy(query, 6)
    after = consistent(query, 1000 + values[0], deviations).reshape(len(pairs), 4, 4)
    firsts = np.array([table.sum(axis=1) for table, names in zip(after, pairs, strict=True) if names[0] == "X7"])
    seconds = np.array([table.sum(axis=0) for table, names in zip(after, pairs, strict=True) if names[1] == "X7"])
    same = np.concatenate([firsts, seconds])
    assert len(same) == 29
    assert np.ptp(same, axis=0).max() < 1e-9


# -- without negative cells ------------------------------------------------------------------------

TABLES = [text for text in TEXTS if "prefix" not in text and "ranges" not in text]


def level_by_level(query: Workload, values: np.ndarray, deviations: np.ndarray) -> np.ndarray:
    """The same by dense least squares, level by level, what is held weighing a million times more.

    For questions that ask for the total, and for no sums.
    """
    F, expected = columns(query), consistent(query, values, deviations)
    levels = np.concatenate([np.full(piece.cells.n_released, len(piece.attributes)) for piece in query.pieces])
    for level in sorted(set(levels)):
        weights = np.where(levels == level, 1 / deviations, 1e3) * (levels <= level)
        table = scipy.optimize.nnls(F * weights[:, None], expected * weights, maxiter=10**5)[0]
        expected = np.where(levels <= level, F @ table, expected)
    return expected


@pytest.mark.slow
@pytest.mark.parametrize("text", ["count; A; B; A*B", "count; C; C*A; B*A*C", "count; A; B; C; A*B; B*C; A*C"])
@pytest.mark.parametrize("rows", [0, 3, 50])
def test_each_level_is_the_nearest_that_the_levels_before_allow(text: str, rows: int) -> None:
    query = gd.query(DOMAIN, text)
    F = columns(query)
    for seed in range(5):
        (noise,), deviations = noisy(query, seed)
        values = noise + F @ np.random.default_rng(seed).multinomial(rows, np.full(F.shape[1], 1 / F.shape[1]))
        far = without_negatives(query, values, deviations) - level_by_level(query, values, deviations)
        assert np.abs(far / deviations).max() < 0.1


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(text=st.sampled_from(TABLES), seed=st.integers(0, 10**6), scale=st.sampled_from([1e-3, 1.0, 1e6]))
def test_it_is_the_answers_of_a_table_without_negative_cells(text: str, seed: int, scale: float) -> None:
    query = gd.query(DOMAIN, text)
    values, deviations = noisy(query, seed)
    actual = without_negatives(query, scale * values[0], scale * deviations)
    assert (actual[query.are_counts] >= 0).all()
    assert consistent(query, actual, deviations) == pytest.approx(actual, rel=1e-6, abs=1e-6 * scale + 1e-8)
    for term, part in zip(query.estimates, split(query.estimates, actual), strict=True):
        if term.kind == "mean":
            sums, sizes = part[: term.n_answers], part[term.n_answers :]
            assert (np.abs(sums) <= term.half_range * sizes + 1e-6 * scale + 1e-8).all()


@pytest.mark.slow
@pytest.mark.parametrize("on_cells", [False, True])
def test_it_errs_less_than_setting_single_counts_to_0_in_every_table_and_keeps_the_total(on_cells: bool) -> None:
    """Many cells are empty, noise is on each answer or on the cells: 20 seeded draws, mean squares by table."""
    query = gd.query(gd.Domain.of(A=gd.integers(1, 20), B=gd.integers(1, 10)), "A; B; A*B; count")
    F, rng = columns(query), np.random.default_rng(12)
    true = F @ rng.poisson(0.3, F.shape[1])
    deviations = np.repeat(np.sqrt([10, 20, 1, 200]), [20, 10, 200, 1]) if on_cells else np.ones(231)
    draws = rng.laplace(scale=2, size=(20, F.shape[1] if on_cells else 231))
    errors = np.zeros((2, 4))
    for noise in draws @ F.T if on_cells else draws:
        plain = consistent(query, true + noise, deviations)
        joint = without_negatives(query, true + noise, deviations)
        assert joint[-1] == pytest.approx(max(plain[-1], 0), abs=0.1)
        for row, actual in enumerate((joint, np.maximum(plain, 0))):
            parts = np.split((actual - true) ** 2, [20, 30, 230])
            errors[row] += [part.mean() for part in parts]
    assert (errors[0, :3] < errors[1, :3]).all()
    assert errors[0, 2] < 0.5 * errors[1, 2]
    assert errors[0, 3] <= 1.01 * errors[1, 3]


def test_cells_alone_keep_the_total_that_they_add_up_to() -> None:
    query = gd.query(gd.Domain.of(A=gd.integers(1, 20), B=gd.integers(1, 10)), "A*B")
    values = 60 / 200 + np.random.default_rng(5).laplace(scale=3, size=200)
    actual = without_negatives(query, values, np.full(200, 3.0))
    assert actual.min() >= 0
    assert actual.sum() == pytest.approx(max(values.sum(), 0), abs=0.5)
    assert np.maximum(values, 0).sum() > actual.sum() + 100


def test_answers_that_need_not_move_stay() -> None:
    query = gd.query(DOMAIN, "A; B; A*B; count")
    true = columns(query) @ np.full(6, 7.0)
    assert (without_negatives(query, true, np.ones(len(true))) == consistent(query, true, np.ones(len(true)))).all()


@pytest.mark.slow
def test_tables_that_need_not_move_stay_where_others_do() -> None:
    """A total and margins of whole numbers far above 0, and cells below it: no dust of descent on what is published."""
    query = gd.query(gd.Domain.of(A=gd.integers(1, 4), B=gd.integers(1, 30)), "count; A; B; A*B")
    cells = np.random.default_rng(2).integers(-4, 40, 120)
    actual = without_negatives(query, columns(query) @ cells, np.repeat(np.sqrt([120, 30, 4, 1]), [1, 4, 30, 120]))
    assert actual[:35] == pytest.approx((columns(query) @ cells)[:35], abs=1e-7)
    assert actual[35:].min() >= 0
    assert actual[35:].reshape(4, 30).sum(axis=1) == pytest.approx(actual[1:5], abs=1e-9)


def test_a_total_without_noise_is_kept() -> None:
    query = gd.query(gd.Domain.of(A=gd.integers(1, 20), B=gd.integers(1, 10)), "A; A*B; count")
    (noise,), deviations = noisy(query, 14)
    noise[-1], deviations[-1] = 60.0, 0.0
    assert without_negatives(query, noise, deviations)[-1] == pytest.approx(60, abs=0.05)
    assert without_negatives(query, noise, np.zeros(len(deviations))).min() >= 0


def test_what_is_too_long_to_solve_is_told_beforehand() -> None:
    wide = gd.Domain.of(A=gd.integers(1, 1000), B=gd.integers(1, 101))
    assert solvable(gd.query(DOMAIN, "A; A*B; mean(PAY) by C"))
    for query in (gd.query(DOMAIN, "A; prefix(C)"), gd.query(wide, "A*B; A")):
        assert not solvable(query)


@pytest.mark.slow
def test_a_hundred_thousand_cells() -> None:
    domain = gd.Domain.of(A=gd.integers(1, 400), B=gd.integers(1, 250))
    query = gd.query(domain, "A*B; B; prefix(A)")
    values, deviations = noisy(query, 7)
    after = consistent(query, 50 + values[0], deviations)
    table = after[:100_000].reshape(400, 250)
    assert np.abs(table.sum(axis=0) - after[100_000:100_250]).max() < 1e-8
    assert np.abs(np.cumsum(table.sum(axis=1)) - after[100_250:]).max() < 1e-6


# -- a release -------------------------------------------------------------------------------------


def released(ledger: Ledger, text: str, *steps: str, each: int = 20, **more: Any) -> Release:
    """A release with independent noise, which no two tables share."""
    query, table = gd.query(DOMAIN, text), Stand(each=each)
    laplace = gd.Laplace.calibrate(query.sensitivity(UNIT), gd.PureDP(0.1), query.errors.reach)
    requested: Any = {"mechanism": laplace, "rng": gd.research_rng(11), "processing": steps, **more}
    return gd.release(query, table, ledger=ledger, **requested)  # type: ignore[arg-type]


def test_it_is_off_by_default(ledger: Ledger) -> None:
    answer = released(ledger, "A; B; A*B")
    assert answer.processing == ()
    assert "processing" not in json.loads(answer.to_json())
    assert (answer.values == answer.raw).all()
    assert list(answer.columns()) == ["A", "B", "query", "estimate", "lower", "upper", "lower_all", "upper_all", "cell"]
    assert "processed" not in repr(answer)


@pytest.mark.parametrize("steps", [("consistent",), ("non_negative",), ("rounded",), STEPS], ids=str)
def test_the_raw_numbers_and_their_intervals_stay(ledger: Ledger, steps: tuple[str, ...]) -> None:
    text = "A; B; A*B; mean(PAY) by A"
    raw, answer = released(ledger, text, each=2), released(ledger, text, *steps, each=2)
    assert answer.processing == steps
    assert (answer.raw == raw.values).all()
    assert (answer.numbers == raw.numbers).all()
    assert np.array_equal(answer.interval(0.9), raw.interval(0.9))
    assert answer.columns()["raw"] == raw.columns()["estimate"]
    assert (answer.columns()["estimate"] != raw.columns()["estimate"]) == (steps != ("rounded",))
    assert "intervals of the raw answers" in repr(answer)
    assert "of the raw answers" in json.loads(answer.to_json())["processing"]["intervals"]


def test_overlapping_marginals_agree(ledger: Ledger) -> None:
    answer = released(ledger, "A; B; A*B; count", "consistent")
    a, b, both, total = np.split(answer.values, [2, 5, 11])
    assert both.reshape(2, 3).sum(axis=1) == pytest.approx(a, abs=1e-9)
    assert both.reshape(2, 3).sum(axis=0) == pytest.approx(b, abs=1e-9)
    assert total[0] == pytest.approx(a.sum(), abs=1e-9)
    assert answer.raw[:2].sum() != answer.raw[-1]


@pytest.mark.parametrize("text", ["A; B; A*B; count", "A*C; prefix(C); C"])
def test_noise_on_cells_is_consistent_as_it_comes(ledger: Ledger, text: str) -> None:
    identity = gd.Identity.calibrate(gd.query(DOMAIN, text).sensitivity(UNIT), gd.PureDP(0.1))
    answer = released(ledger, text, "consistent", mechanism=identity)
    assert answer.values == pytest.approx(answer.raw, abs=1e-6)


def test_sums_agree_too(ledger: Ledger) -> None:
    answer = released(ledger, "sum(PAY); sum(PAY) by A", "consistent")
    assert answer.values[1:].sum() == pytest.approx(answer.values[0], rel=1e-12)


def test_counts_are_clipped_and_rounded_and_nothing_else(ledger: Ledger) -> None:
    text = "A; B; A*B; prefix(C); sum(PAY); mean(PAY) by A"
    answer = released(ledger, text, *STEPS, each=-100)
    apart = released(ledger, text, "consistent", each=-100)
    n = 2 + 3 + 6 + 4
    assert (answer.values[:n] == np.maximum(np.rint(apart.values[:n]), 0)).all()
    assert answer.values[n:] == pytest.approx(apart.values[n:])
    assert (apart.values[:n] < 0).any()
    assert not np.signbit(answer.values[:n]).any()
    assert answer.values[n] != np.rint(answer.values[n])


def test_tables_that_add_up_have_no_count_below_0(ledger: Ledger) -> None:
    answer = released(ledger, "A; B; A*B; count", "consistent", "non_negative", each=0)
    a, b, both, total = np.split(answer.values, [2, 5, 11])
    assert (answer.values >= 0).all()
    assert (answer.raw < 0).any()
    assert both.reshape(2, 3).sum(axis=1) == pytest.approx(a, abs=1e-9)
    assert both.reshape(2, 3).sum(axis=0) == pytest.approx(b, abs=1e-9)
    assert total[0] == pytest.approx(a.sum(), abs=1e-9)
    assert remark(answer.facts["processing"]) == ""
    assert "without negative cells" in words(answer.facts["processing"])


def test_only_rows_of_zeros_and_ones_count() -> None:
    domain = gd.Domain.of(A=["1", "2"])
    assert gd.workload(np.array([[1, 0], [1, -1], [2, 1], [1, 1]]), domain).are_counts.tolist() == [
        True,
        False,
        False,
        True,
    ]
    assert gd.workload(np.array([[0.5, 0.5], [1, 0]]), domain).are_counts.tolist() == [False, True]
    assert not gd.query(DOMAIN, "sum(PAY) by A; mean(PAY)").are_counts.any()


@pytest.mark.slow
@pytest.mark.parametrize("text", TEXTS)
def test_json_brings_it_back(ledger: Ledger, text: str) -> None:
    answer = released(ledger, text, *STEPS)
    again = Release.from_json(answer.to_json())
    assert again.to_json() == answer.to_json()
    assert (again.values == answer.values).all()
    assert again.processing == STEPS
    assert (again.processed().values == answer.raw).all()


@pytest.mark.parametrize(
    "damage",
    [
        *({"values": values} for values in ([1.0], None, ["x"] * 5, [], [float("nan")] * 5, [[1.0]] * 5)),
        *({"steps": steps} for steps in (3, ["consistant"], [["rounded"]])),
        *({"jointly": jointly} for jointly in (True, "yes", [])),
    ],
    ids=str,
)
def test_damaged_processing_is_no_release(ledger: Ledger, damage: dict[str, Any]) -> None:
    facts = json.loads(released(ledger, "A; B", "rounded").to_json())
    facts["processing"].update(damage)
    with pytest.raises(InvalidRequest, match="not a release"):
        Release.from_json(json.dumps(facts))


def test_an_old_release_says_that_it_cannot(ledger: Ledger) -> None:
    facts = json.loads(released(ledger, "A; B").to_json())
    del facts["deviations"]
    old = Release.from_json(json.dumps(facts))
    with pytest.raises(InvalidRequest, match="so it cannot be processed"):
        old.processed("rounded")


# -- afterwards ------------------------------------------------------------------------------------


def test_it_can_be_done_later_and_always_starts_from_the_raw_numbers(ledger: Ledger) -> None:
    query = gd.query(DOMAIN, "A; B; A*B")
    raw = released(ledger, query.text)
    at_once = released(ledger, query.text, *STEPS)
    later = Release.from_json(raw.to_json()).processed(*reversed(STEPS), query=query)
    assert (later.values == at_once.values).all()
    assert later.processing == STEPS
    twice = raw.processed("rounded").processed("consistent", query=query)
    assert (twice.values == raw.processed("consistent", query=query).values).all()
    assert (raw.processed("non_negative", "rounded").values == np.maximum(raw.values, 0)).all()
    assert raw.values is not later.values
    assert raw.processing == ()


def test_consistency_needs_the_question_of_the_release(ledger: Ledger) -> None:
    raw = released(ledger, "A; B")
    with pytest.raises(InvalidRequest, match="is not given"):
        raw.processed("consistent")
    with pytest.raises(InvalidRequest, match="differs"):
        raw.processed("consistent", query=gd.query(DOMAIN, "B; A"))


# -- the ledger ------------------------------------------------------------------------------------


def test_the_ledger_sees_nothing_of_it(ledger: Ledger) -> None:
    for steps in ((), STEPS):
        released(ledger, "A; B; A*B", *steps)
    first, second = (entry.request for entry in ledger.entries() if entry.kind == "reserve")
    assert first == second
    spent = ledger.entries()
    released(ledger, "A; B; A*B", key="k")
    held = ledger.entries()
    assert len(held) > len(spent)
    answer = released(ledger, "A; B; A*B", "consistent", key="k")
    assert answer.processing == ("consistent",)
    answer.processed("rounded")
    assert ledger.entries() == held
    assert released(ledger, "A; B; A*B", key="k").processing == ()


REFUSED = [
    ("consistant", UnknownName, "Did you mean 'consistent'"),
    (("rounded", ""), UnknownName, "There is no processing step"),
    (("consistent", "x"), UnknownName, "'x'"),
]


@pytest.mark.parametrize(("steps", "error", "words"), REFUSED)
def test_an_unknown_step_is_refused_with_nothing_read_or_spent(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch, steps: Any, error: type[Exception], words: str
) -> None:
    def never(*_: object, **__: object) -> None:
        raise AssertionError("something was done")

    for owner, name in ((Table, "totals"), (Ledger, "reserve"), (Mechanism, "prepare")):
        monkeypatch.setattr(owner, name, never)
    before = ledger.entries()
    with pytest.raises(error, match=words) as caught:
        gd.release(gd.query(DOMAIN, "A"), Stand(), ledger=ledger, epsilon=1, processing=steps)  # type: ignore[arg-type]
    assert str(caught.value).endswith(UNTOUCHED)
    assert ledger.entries() == before


def test_a_table_too_large_is_refused_before_anything_is_spent(ledger: Ledger) -> None:
    domain = gd.Domain.of(A=gd.integers(1, 1001), B=gd.integers(1, 1000))
    query = gd.query(domain, "A; B; prefix(A)")
    stand: Any = Stand(domain)
    before = ledger.entries()
    with pytest.raises(InvalidRequest, match=f"1,001,000 cells.*at most {MOST_CELLS:,}") as caught:
        gd.release(query, stand, ledger=ledger, epsilon=1, processing="consistent")
    assert str(caught.value).endswith(UNTOUCHED)
    assert ledger.entries() == before


def test_csv_and_frame_have_the_raw_answers(ledger: Ledger, tmp_path: Path) -> None:
    answer = released(ledger, "A; B; A*B", "consistent")
    answer.save_csv(tmp_path / "answers.csv")
    head, first = (tmp_path / "answers.csv").read_text().splitlines()[:2]
    assert head == "A,B,query,estimate,lower,upper,lower_all,upper_all,raw,cell"
    assert float(first.split(",")[8]) == answer.raw[0]
    assert answer.to_frame()["raw"].tolist() == answer.raw.tolist()


def test_names_of_other_formats_are_refused(ledger: Ledger, tmp_path: Path) -> None:
    answer = released(ledger, "A; B; A*B")
    for save, name, kind in ((answer.save_csv, "a.xlsx", "CSV"), (answer.save_json, "a.csv", "JSON")):
        with pytest.raises(InvalidRequest, match=f"the output has the format {kind}.*Nothing was written"):
            save(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "steps", "undone"),
    [
        ("A; A*B", ("consistent",), ""),
        ("A; prefix(C)", ("non_negative", "rounded"), ""),
        ("A; A*B", ("consistent", "non_negative"), ""),
        ("A; prefix(C)", ("consistent", "non_negative"), "each count is set to 0"),
        ("A; A*B", STEPS, ""),
        ("A; prefix(C)", STEPS, "each count is set to 0 or rounded"),
    ],
)
def test_what_steps_undo_of_one_another_is_told(ledger: Ledger, text: str, steps: Any, undone: str) -> None:
    said = remark(released(ledger, text, *steps).facts["processing"])
    assert undone in said
    assert bool(undone) == bool(said)
