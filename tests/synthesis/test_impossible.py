"""Combinations of cells that no row can have: synthetic rows keep them, and nothing else changes."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import gaugedp as gd
from gaugedp.errors import InvalidRequest, UnknownName
from gaugedp.synthesis import measurements as released_module
from gaugedp.synthesis.junction_tree import JunctionTree, spread, summed
from tests.synthesis.kit import DOMAIN, Counted, people

HUGE = gd.ZCDP(1e9)
SIZES = (3, 2, 4, 2)
AREAS = {"REGION": list("nnss"), "AREA": list("1234")}


def released(domain: gd.Domain, frame: pd.DataFrame, text: str, rho: float = 0.05) -> gd.Release:
    table = gd.Table.scan(frame, domain=domain, name="people")
    answer = gd.release(gd.query(domain, text), table, ledger=gd.Ledger.in_memory(HUGE), rho=rho)
    return gd.Release.from_json(answer.to_json())


def counted(domain: gd.Domain) -> Counted:
    table = Counted(people(300))
    table.domain = domain
    return table


def test_the_law_is_that_of_the_possible_cells() -> None:
    """By brute force over all cells, where whole cells of a separator are impossible too."""
    random = np.random.default_rng(1)
    masks = {(0, 1): np.array([[1, 0], [0, 0], [1, 1]], dtype=bool), (1, 2, 3): random.random((2, 4, 2)) < 0.4}
    tree = JunctionTree.of(SIZES, [(0, 1), (1, 2)], masks)
    potentials = [random.normal(size=[SIZES[name] for name in clique]) for clique in tree.cliques]
    pairs = zip(potentials, tree.cliques, strict=True)
    law = np.exp(sum((spread(part, clique, (0, 1, 2, 3)) for part, clique in pairs), np.zeros(SIZES)))
    for scope, cells in masks.items():
        law = law * ~spread(cells, scope, (0, 1, 2, 3))
    tables, log_sum = tree.tables(potentials)
    assert log_sum == pytest.approx(np.log(law.sum()))
    for clique, table in zip(tree.cliques, tables, strict=True):
        np.testing.assert_allclose(table, summed(law, (0, 1, 2, 3), clique) / law.sum(), rtol=1e-9, atol=1e-300)


def test_no_row_is_impossible_whatever_the_noise_says() -> None:
    """Levels of a tree are named like other attributes; the control, without the fact, has such rows."""
    free = gd.Domain.of(AREA=gd.tree(AREAS), SEX=["m", "f"], AGE=gd.bins(0, 90, 30), EDU=["none", "some", "much"])
    random = np.random.default_rng(2)
    columns = {"AREA": list("1234"), "SEX": ["m", "f"], "AGE": [5, 40, 70], "EDU": ["none", "some", "much"]}
    frame = pd.DataFrame({name: random.choice(values, 400) for name, values in columns.items()})
    combinations: tuple[Mapping[str, str | list[str]], ...] = (
        {"AGE": "[0,30)", "EDU": ["some", "much"]},
        {"REGION": "n", "SEX": "m", "AGE": ["[60,90]"]},
        {"REGION": "s", "AREA": ["1", "3"]},
    )
    for domain, is_kept in ((free.with_impossible(*combinations), True), (free, False)):
        rows = gd.synthesize(released(domain, frame, "AREA*SEX; REGION; AGE; EDU*SEX"), rng=gd.research_rng(3))
        child = (rows["AGE"] < 30) & rows["EDU"].isin(["some", "much"])
        old = (rows["REGION"] == "n") & (rows["SEX"] == "m") & (rows["AGE"] >= 60)
        third = rows["AREA"] == "3"
        assert [bool(part.any()) for part in (child, old, third)] == [not is_kept] * 3
        assert abs((rows["SEX"] == "m").mean() - (frame["SEX"] == "m").mean()) < 0.12


def test_a_combination_of_attributes_that_the_releases_do_not_have_is_left_aside() -> None:
    domain = DOMAIN.with_impossible({"A": "0", "D": "1"})
    frame = pd.DataFrame(people(300), columns=list("ABCD")).astype(str)
    rows = gd.synthesize(released(domain, frame, "A*B"), rng=gd.research_rng(1))
    assert set(rows["A"]) == {"0", "1", "2"}


def test_a_model_of_an_adaptive_release_knows_what_is_impossible() -> None:
    domain = DOMAIN.with_impossible({"A": ["1", "2"], "B": "0"}, {"A": "0", "B": "1"})
    question, ledger = gd.query(domain, "A*B; C*D"), gd.Ledger.in_memory(HUGE)
    answer = gd.release_adaptively(question, counted(domain), ledger=ledger, rho=0.05, rng=gd.research_rng(5))
    rows = gd.synthesize(answer, rng=gd.research_rng(1))
    assert (rows["B"] == np.where(rows["A"] == "0", "0", "1")).all()


def test_where_no_row_is_possible_nothing_is_paid() -> None:
    every = [{"A": "0", "B": ["0", "1"]}, {"A": ["1", "2"], "C": ["0", "1"]}]
    domain = DOMAIN.with_impossible(*every)
    ledger = gd.Ledger.in_memory(HUGE)
    with pytest.raises(InvalidRequest, match="The structural zeros exclude every possible"):
        gd.release_adaptively(gd.query(domain, "A*B; C"), counted(domain), ledger=ledger, rho=0.05)
    assert ledger.spent == gd.ZCDP(0)
    frame = pd.DataFrame(people(30), columns=list("ABCD")).astype(str)
    with pytest.raises(InvalidRequest, match="The structural zeros exclude every possible"):
        gd.synthesize(released(domain, frame, "A; B; C"))


def test_a_combination_that_is_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pd.DataFrame(people(30), columns=list("ABCD")).astype(str)
    answer = released(DOMAIN.with_impossible({"A": "0", "D": "1"}), frame, "A; D")
    monkeypatch.setattr(released_module, "MOST_CELLS", 11)
    with pytest.raises(InvalidRequest, match="12 cells"):
        gd.synthesize(answer)


@pytest.mark.parametrize(
    ("combination", "words"),
    [
        ({"A": "0"}, "at least two attributes"),
        ("A", "at least two attributes"),
        ({"A": "0", "X": "1"}, "no attribute 'X'"),
        ({"A": "0", "B": "7"}, "no cell of B '7'"),
        ({"A": "0", "B": []}, "A structural zero describes B by"),
        ({"A": "0", "B": [1]}, "A structural zero describes B by"),
        ({"A": "0", "K": "x"}, "not known yet"),
    ],
)
def test_what_is_no_combination_is_refused(combination: object, words: str) -> None:
    domain = gd.Domain.of(A=["0", "1"], B=["0", "1"], K=gd.unknown_keys(10))
    with pytest.raises((InvalidRequest, UnknownName)) as refused:
        domain.with_impossible(combination)
    assert words in str(refused.value)


def test_a_domain_file_says_what_is_impossible(tmp_path: Path) -> None:
    path = tmp_path / "domain.toml"
    text = '[attributes]\nAGE = { low = 0, high = 90, width = 30 }\nEDU = ["none", "some"]\n'
    path.write_text(text + '[[impossible]]\nAGE = "[0,30)"\nEDU = ["some"]\n', "utf-8")
    domain = gd.Domain.load(path)
    assert [each.to_dict() for each in domain.impossible] == [{"AGE": ["[0,30)"], "EDU": ["some"]}]
    path.write_text(f'impossible = "AGE"\n{text}', "utf-8")
    with pytest.raises(InvalidRequest, match="`impossible` in the domain file"):
        gd.Domain.load(path)


def test_persons_have_impossible_combinations_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "domain.toml"
    path.write_text(
        '[unit]\ncolumn = "pid"\n[attributes]\nILL = ["yes", "no"]\nSEX = ["m", "f"]\n'
        '[person]\never = { any = "ILL", is = "yes" }\nsex = { max = "SEX" }\n'
        '[[impossible]]\never = "yes"\nsex = "m"\n',
        "utf-8",
    )
    assert [each.to_dict() for each in gd.Domain.load(path).impossible] == [{"ever": ["yes"], "sex": ["m"]}]
