"""Nested attributes: what a tree's levels are, which files are read, and what is refused in which words."""

from pathlib import Path

import pytest

import gaugedp as gd
from gaugedp.domain.attributes import OTHER
from gaugedp.errors import InvalidRequest, UnknownName

AREAS = "REGION,DISTRICT,TRACT\nN,n1,1\nS,s1,4\nN,n2,3\nN,n1,2\nS,s1,5\n"
FILE = '[attributes]\nSEX = ["m", "f"]\nTRACT = { tree = "areas.csv" }\n'
COLUMNS = {"REGION": ["N", "N", "S"], "TRACT": ["1", "2", "3"]}


def load(folder: Path, areas: str, text: str = FILE) -> gd.Domain:
    (folder / "areas.csv").write_text(areas, encoding="utf-8")
    (folder / "domain.toml").write_text(text, encoding="utf-8")
    return gd.Domain.load(folder / "domain.toml")


def test_a_file_of_areas_makes_an_attribute_of_each_column(tmp_path) -> None:
    domain = load(tmp_path, AREAS)
    assert list(domain.attributes) == ["SEX", "REGION", "DISTRICT", "TRACT"]
    assert domain.attribute("REGION").labels == ("N", "S")
    assert domain.attribute("DISTRICT").labels == ("n1", "n2", "s1")
    assert domain.attribute("TRACT").labels == ("1", "2", "3", "4", "5")  # those of an area stand together
    assert {domain.source(name) for name in ("REGION", "DISTRICT", "TRACT")} == {"TRACT"}
    assert domain.levels("DISTRICT") == ["REGION", "DISTRICT"]
    assert domain.finest(("REGION", "SEX", "DISTRICT")) == ("SEX", "DISTRICT")
    assert domain.n_cells() == 2 * 5


def test_lines_that_hang_together_keep_their_order_in_python_too(tmp_path) -> None:
    columns = {"REGION": ["N", "S", "N", "N", "S"], "DISTRICT": ["n1", "s1", "n2", "n1", "s1"]}
    made = gd.Domain.of(SEX=["m", "f"], TRACT=gd.tree({**columns, "TRACT": ["1", "4", "3", "2", "5"]}))
    assert made.attributes == load(tmp_path, AREAS).attributes


def test_every_level_has_the_other_cell(tmp_path) -> None:
    text = '[attributes]\nTRACT = { tree = "areas.csv", outside = "other", label = "tract" }\n'
    domain = load(tmp_path, AREAS, text)
    assert [fact.labels[-1] for fact in domain.attributes.values()] == [OTHER] * 3
    assert domain.captions.name("TRACT") == "tract"


def test_a_byte_order_mark_and_empty_lines_change_nothing(tmp_path) -> None:
    assert load(tmp_path, "\ufeff" + AREAS.replace("\n", "\n\n")).attributes == load(tmp_path, AREAS).attributes


@pytest.mark.parametrize(
    ("areas", "words"),
    [
        ("", "columns of 'areas.csv'"),
        ("REGION,DISTRICT\nN,n1\n", "finest, which is TRACT"),
        ("REGION,REGION,TRACT\nN,n1,1\n", "Name each level once"),
        ("TRACT\n1\n", "at least two levels"),
        ("REGION,TRACT\n", "no categories"),
        ("REGION,TRACT\nN,1\nS\n", "Area 2"),
        ("REGION,TRACT\nN,1\n,2\n", "Area 2"),
        ("REGION,TRACT\nN,1\nN,1\n", "twice"),
        ("REGION,DISTRICT,TRACT\nN,d,1\nS,d,2\n", "DISTRICT 'd' lies both in REGION 'N' and in 'S'"),
        ("SEX,TRACT\nN,1\n", "SEX is described twice"),
    ],
)
def test_a_file_that_is_no_tree_is_refused(areas, words, tmp_path) -> None:
    with pytest.raises(InvalidRequest, match=words) as refused:
        load(tmp_path, areas)
    assert str(refused.value).endswith("Nothing was read and nothing was spent.")


@pytest.mark.parametrize(
    ("described", "words"),
    [
        ('{ tree = "none.csv" }', "cannot be read"),
        ("{ tree = 3 }", ": `tree` must name a CSV file"),
        ('{ tree = "areas.csv", values = ["1"] }', "no key 'values'"),
        ('{ tree = "areas.csv", outside = "keep" }', "outside"),
    ],
)
def test_a_wrong_description_is_refused(described, words, tmp_path) -> None:
    with pytest.raises((InvalidRequest, UnknownName), match=words):
        load(tmp_path, AREAS, f"[attributes]\nTRACT = {described}\n")


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"TRACT": ["1"]}, "at least two levels"),
        ({**COLUMNS, "REGION": ["N"]}, "same number of entries"),
        ({**COLUMNS, "REGION": "NNS"}, "REGION is not a list of texts"),
        ({**COLUMNS, "REGION": ["N", "N", 3]}, "not all text"),
    ],
)
def test_columns_that_are_no_tree_are_refused(columns, words) -> None:
    with pytest.raises(InvalidRequest, match=words):
        gd.tree(columns)


def test_the_finest_level_has_the_name_of_the_attribute() -> None:
    with pytest.raises(InvalidRequest, match="is the column TRACT"):
        gd.Domain.of(AREA=gd.tree(COLUMNS))


def test_levels_of_two_trees_make_no_domain() -> None:
    first, second = gd.tree(COLUMNS), gd.tree({**COLUMNS, "REGION": ["N", "S", "S"]})
    with pytest.raises(InvalidRequest, match="not levels of one tree"):
        gd.Domain({**first.levels, "DISTRICT": second.levels["REGION"]})
    with pytest.raises(InvalidRequest, match="not levels of one tree"):
        gd.Domain({"REGION": first.levels["REGION"], "TRACT": gd.categories(["1", "2", "3"])})


def test_a_level_that_nobody_asked_for_changes_no_digest() -> None:
    domain = gd.Domain.of(SEX=["m", "f"], TRACT=gd.tree(COLUMNS))
    assert gd.query(domain, "SEX").digest() == gd.query(gd.Domain.of(SEX=["m", "f"]), "SEX").digest()
    moved = gd.Domain.of(TRACT=gd.tree({**COLUMNS, "REGION": ["N", "S", "S"]}))
    assert gd.query(domain, "REGION").digest() != gd.query(moved, "REGION").digest()
