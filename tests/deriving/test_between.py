"""Two releases compared: intervals that cover, marks that seldom err, and what is refused."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import gaugedp as gd
from gaugedp.cli.main import run
from gaugedp.cli.release import show_answers
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees import from_dict

DOMAIN = gd.Domain.of(A=["1", "2", "3"], B=["x", "y"], PAY=gd.bounded(0, 100, step=1))
COUNTS = {"old": (40, 90, 60), "new": (60, 90, 45)}


def people(year: str) -> pd.DataFrame:
    a = np.repeat(["1", "2", "3"], COUNTS[year])
    pay = (np.arange(len(a)) * 7 % 80 + (10 if year == "new" else 0)).astype(float)
    return pd.DataFrame({"A": a, "B": np.where(np.arange(len(a)) % 2, "x", "y"), "PAY": pay})


TABLES = {year: gd.Table.scan(people(year), domain=DOMAIN, name=year) for year in COUNTS}


def released(year: str, text: str, seed: int, epsilon: float = 1.0) -> gd.Release:
    ledger = gd.Ledger.in_memory(gd.PureDP(1e6))
    return gd.release(gd.query(DOMAIN, text), TABLES[year], ledger=ledger, epsilon=epsilon, rng=gd.research_rng(seed))


NEW, OLD = (np.array(COUNTS[year], dtype=float) for year in ("new", "old"))
TRUE = {
    "difference(A)": NEW - OLD,
    "ratio(A)": NEW / OLD,
    "index(A)": 100 * NEW / OLD,
    "change(A)": 100 * (NEW / OLD - 1),
    "difference(count)": np.array([NEW.sum() - OLD.sum()]),
}


@pytest.mark.parametrize("text", TRUE)
def test_intervals_cover_and_are_not_too_long(text: str) -> None:
    query, n_draws = "A; count", 60
    inside, lengths = [], []
    for seed in range(n_draws):
        answer = gd.compare_releases(released("new", query, 2 * seed), released("old", query, 2 * seed + 1), text)
        low, high = answer.interval(0.95)
        inside.append((low <= TRUE[text]) & (TRUE[text] <= high))
        lengths.append(high - low)
    coverage = np.mean(inside)
    assert 0.90 <= coverage <= 0.995, "over 60 draws or more of intervals of .95"


def test_without_noise_comparisons_are_exact() -> None:
    releases = [
        released(year, "A*B; mean(PAY) by A; sum(PAY) by A", seed, 1e6) for seed, year in enumerate(("new", "old"))
    ]
    for text, truth in TRUE.items():
        if text != "difference(count)":
            assert gd.compare_releases(*releases, text, domain=DOMAIN).values == pytest.approx(truth, abs=1e-3)
    means = {year: people(year).groupby("A")["PAY"].agg(["mean", "sum"]) for year in COUNTS}
    for name, column in (("mean", "mean"), ("sum", "sum")):
        ratios = means["new"][column] / means["old"][column]
        answer = gd.compare_releases(*releases, f"ratio({name}(PAY) by A)", domain=DOMAIN)
        assert answer.values == pytest.approx(ratios.to_numpy(), rel=1e-3)
        apart = means["new"][column] - means["old"][column]
        answer = gd.compare_releases(*releases, f"difference({name}(PAY) by A)", domain=DOMAIN)
        assert answer.values == pytest.approx(apart.to_numpy(), rel=1e-3, abs=0.01)


def test_differences_that_exceed_the_noise_are_marked() -> None:
    answer = gd.compare_releases(released("new", "A", 1), released("old", "A", 2), "difference(A)")
    assert answer.columns()["flag"] == ["*", "", "*"]
    again = gd.Release.from_json(answer.to_json())
    assert again.columns() == answer.columns()


def test_equal_tables_are_seldom_marked() -> None:
    marks = [
        gd.compare_releases(
            released("old", "A", 2 * seed, 0.3), released("old", "A", 2 * seed + 1, 0.3), "change(A)"
        ).marks()[0]
        for seed in range(40)
    ]
    assert np.mean(np.array(marks) == "*") <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 120)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("A", "compares no counts"),
        ("change(median(PAY))", "compares no counts"),
        ("change(sd(PAY))", "is neither a count, a sum nor a mean, so it"),
        ("index(A); difference(A)", "separately"),
        ("change(B)", "does not follow"),
        ("", "names no comparison"),
    ],
)
def test_other_terms_are_refused(text: str, says: str) -> None:
    with pytest.raises(InvalidRequest, match=says):
        gd.compare_releases(released("new", "A; sd(PAY)", 1), released("old", "A; sd(PAY)", 2), text, domain=DOMAIN)


def test_one_release_is_not_compared_with_itself() -> None:
    answer = released("new", "A", 1)
    with pytest.raises(InvalidRequest, match="the same"):
        gd.compare_releases(answer, gd.Release.from_json(answer.to_json()), "change(A)")


def test_other_cells_are_refused() -> None:
    other = gd.Domain.of(A=["1", "2"])
    table = gd.Table.scan(people("old"), domain=other, name="old")
    ledger = gd.Ledger.in_memory(gd.PureDP(5))
    earlier = gd.release(gd.query(other, "A"), table, ledger=ledger, epsilon=1.0)
    with pytest.raises(InvalidRequest, match="different cells"):
        gd.compare_releases(released("new", "A", 1), earlier, "change(A)")


def test_other_bounds_are_refused_and_other_queries_told() -> None:
    """A mean clipped elsewhere, and a margin of a table that leaves other rows out, change without any change."""
    wider = gd.Domain.of(A=["1", "2", "3"], B=["x", "y"], PAY=gd.bounded(0, 200, step=1))
    table, ledger = gd.Table.scan(people("old"), domain=wider, name="old"), gd.Ledger.in_memory(gd.PureDP(5))
    earlier = gd.release(gd.query(wider, "mean(PAY) by A"), table, ledger=ledger, epsilon=1.0)
    plans = (None, gd.plan(gd.query(wider, "mean(PAY) by A"), table.unit, epsilon=1.0))
    with pytest.raises(InvalidRequest, match="bounds of PAY differ"):
        gd.compare_releases(
            released("new", "mean(PAY) by A", 1), earlier, "difference(mean(PAY) by A)", domain=DOMAIN, planned=plans
        )
    answer = gd.compare_releases(released("new", "A*B", 1), released("old", "A", 2), "change(A)")
    assert any("different queries" in rule for rule in answer.facts["rules"])


def test_a_release_is_not_compared_with_itself() -> None:
    """Nor with a processed or translated copy, whose noise is the same."""
    release = released("new", "A", 1)
    for copy in (release, release.processed("rounded"), release.in_language("de")):
        with pytest.raises(InvalidRequest, match="Both releases are the same"):
            gd.compare_releases(release, copy, "change(A)")


def test_other_readings_of_missing_values_are_told() -> None:
    plans = []
    for missing in ("drop", 50):
        domain = gd.Domain.of(A=["1", "2", "3"], PAY=gd.bounded(0, 100, missing=missing))
        plans.append((domain, gd.plan(gd.query(domain, "mean(PAY)"), gd.PrivacyUnit(), epsilon=1.0)))
    releases = [
        gd.release(
            plan.query,
            gd.Table.scan(people("old"), domain=domain, name="old"),
            ledger=gd.Ledger.in_memory(gd.PureDP(5)),
            planned=plan,
        )
        for domain, plan in plans
    ]
    answer = gd.compare_releases(*releases, "difference(mean(PAY))", planned=(plans[0][1], plans[1][1]))
    assert any("different queries" in rule for rule in answer.facts["rules"])


def test_a_comparison_has_the_guarantee_of_both_releases() -> None:
    answer = gd.compare_releases(released("new", "A", 1, 1.0), released("old", "A", 2, 5.0), "change(A)")
    again = gd.Release.from_json(answer.to_json())
    assert answer.guarantee.epsilon(0) == again.guarantee.epsilon(0) == pytest.approx(6)
    assert from_dict(again.facts["asked"]).epsilon(0) == pytest.approx(6)
    assert "account" not in answer.facts
    assert not answer.facts["candidates"]


def test_suppressed_numbers_are_not_shown_on_a_screen(capsys: pytest.CaptureFixture[str]) -> None:
    answer = released("new", "A", 1)
    rule = {"when": "estimate > 80", "mark": "x", "text": "", "suppress": True}
    answer = replace(answer, facts={**answer.facts, "flags": [rule]})
    show_answers(answer)
    for shown in (capsys.readouterr().out, answer._repr_html_()):
        hidden = f"{answer.values[1]:.0f}"
        assert hidden not in shown
        assert f"{answer.values[0]:.0f}" in shown


def test_the_command_compares_two_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for seed, year in enumerate(COUNTS):
        released(year, "A", seed).save_json(tmp_path / f"{year}.json")
    arguments = [str(tmp_path / "new.json"), "--against", str(tmp_path / "old.json"), "--query", "change(A)"]
    assert run(["derive", *arguments, "--save", str(tmp_path / "change.json")]) == 0
    assert "change(A)" in capsys.readouterr().out
    facts = json.loads((tmp_path / "change.json").read_text("utf-8"))
    assert any("Compared with" in rule for rule in facts["rules"])


def test_equal_numbers_of_two_releases_are_compared() -> None:
    """Two counts may be equal by chance: only one and the same release is refused."""
    answers = [released("new", "count", seed, 1e6) for seed in (1, 2)]
    assert np.array_equal(answers[0].numbers, answers[1].numbers)
    assert gd.compare_releases(*answers, "difference(count)").values == pytest.approx([0.0])
