"""Areas of a GeoJSON file: each cell's outline on one map, and refusals in words."""

import json
from pathlib import Path
from typing import Any

import pytest

import gaugedp as gd
from gaugedp.domain.geography import SIDE, read_areas
from gaugedp.errors import InvalidRequest


def square(x: float, y: float, side: float = 1.0) -> list[list[float]]:
    return [[x, y], [x + side, y], [x + side, y + side], [x, y + side], [x, y]]


def feature(cell: str, *rings: list[list[float]], kind: str = "Polygon") -> dict[str, Any]:
    places = list(rings) if kind == "Polygon" else [[ring] for ring in rings]
    return {"type": "Feature", "properties": {"W": cell}, "geometry": {"type": kind, "coordinates": places}}


def written(folder: Path, *features: Any) -> Path:
    path = folder / "areas.geojson"
    path.write_text(json.dumps({"type": "FeatureCollection", "features": features}), "utf-8")
    return path


def test_outlines_share_one_map_with_north_above(tmp_path: Path) -> None:
    path = written(tmp_path, feature("a", square(0, 0)), feature("b", square(0, 1)), feature("c", square(9, 9)))
    areas = read_areas(path, "W", ["a", "b", "other"])
    assert list(areas) == ["a", "b"], "others are left out, and 'other' has no place"
    assert areas["b"] == f"M0 {SIDE // 2}L500 {SIDE // 2}L500 0L0 0L0 {SIDE // 2}Z"
    assert areas["a"].startswith(f"M0 {SIDE}L500 {SIDE}L500 500")


def test_a_degree_of_longitude_is_narrower_in_the_north(tmp_path: Path) -> None:
    areas = read_areas(written(tmp_path, feature("a", square(0, 59.5))), "W", ["a"])
    assert areas["a"].startswith("M0 1000L500 1000"), "cos 60° is a half"


def test_areas_of_many_parts_and_ids_are_read(tmp_path: Path) -> None:
    by_id = {**feature("", square(0, 0), square(2, 0), kind="MultiPolygon"), "id": 7, "properties": None}
    assert read_areas(written(tmp_path, by_id), "W", ["7"])["7"].count("M") == 2


WRONG: list[tuple[Any, str]] = [
    (
        [feature("b", square(0, 0))],
        r"no area for the cell 'a'\. Give each area the name of its cell, as its `id` or as the property 'W'",
    ),
    ([{**feature("a"), "geometry": {"type": "Point", "coordinates": [0, 0]}}], "not a polygon in degrees"),
    ([feature("a", square(500_000, 4_000_000))], "not a polygon in degrees"),
    ([feature("a", [["x", 0]])], "not a polygon in degrees"),
    ([feature("a", [[i * 0.001, (i % 2) * 0.9] for i in range(60_000)])], "The areas in"),
    (["a"], "not a GeoJSON file of areas"),
]


@pytest.mark.parametrize(("features", "said"), WRONG, ids=range(len(WRONG)))
def test_what_is_no_map_of_the_cells_is_refused(tmp_path: Path, features: list[Any], said: str) -> None:
    with pytest.raises(InvalidRequest, match=said):
        read_areas(written(tmp_path, *features), "W", ["a"])


def domain_file(folder: Path, geography: str) -> Path:
    path = folder / "domain.toml"
    path.write_text(f'rows = "visits"\n[attributes]\nW = {{ values = ["a", "b"], geography = {geography} }}\n', "utf-8")
    return path


def test_a_domain_file_names_the_file_beside_it_and_the_question_stays_the_same(tmp_path: Path) -> None:
    written(tmp_path, feature("a", square(0, 0)), feature("b", square(0, 1)))
    domain = gd.Domain.load(domain_file(tmp_path, '"areas.geojson"'))
    assert list(domain.captions.areas("W")) == ["a", "b"]
    assert domain.captions.rows == "visits"
    plain = gd.Domain.of(W=["a", "b"])
    assert gd.query(domain, "W").digest() == gd.query(plain, "W").digest()


@pytest.mark.parametrize(("geography", "said"), [('"none.geojson"', "cannot be read"), ("3", "Write, for example,")])
def test_a_file_that_is_not_there_is_refused(tmp_path: Path, geography: str, said: str) -> None:
    with pytest.raises(InvalidRequest, match=f"In attribute W: .*{said}"):
        gd.Domain.load(domain_file(tmp_path, geography))
