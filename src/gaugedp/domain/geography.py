"""Outlines of areas from GeoJSON: public facts about cells."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from gaugedp.domain.attributes import OTHER
from gaugedp.errors import InvalidRequest

SIDE = 1000  # length of a map's longer side; coordinates are integers
_DO = "Pass a FeatureCollection of Polygons and MultiPolygons, in degrees of longitude and latitude."

Ring = list[tuple[float, float]]


def read_areas(path: Path, name: str, cells: Sequence[str]) -> dict[str, str]:
    """Return the outline of each cell as an SVG path. All lie on one map of at most SIDE × SIDE."""
    features = {key: list(_rings(feature)) for feature in _features(path) for key in _keys(feature, name)}
    codes = [cell for cell in cells if cell != OTHER]
    for cell in codes:
        if not features.get(cell):
            raise InvalidRequest(
                f"{path.name} has no area for the cell {cell!r}.",
                f"Give each area the name of its cell, as its `id` or as the property {name!r}.",
            )
    outlines = _drawn({cell: features[cell] for cell in codes})
    if sum(map(len, outlines.values())) > 300_000:  # characters of all outlines, which each release stores
        raise InvalidRequest(
            f"The areas in {path.name} have more corners than a map in a report can show.", "Simplify the polygons."
        )
    return outlines


def _features(path: Path) -> list[Mapping[str, Any]]:
    try:
        features = json.loads(path.read_text("utf-8"))["features"]
    except OSError as error:
        raise InvalidRequest(f"{str(path)!r} cannot be read ({error.strerror}).", "Check the path.") from None
    except (ValueError, KeyError, TypeError, RecursionError):
        raise InvalidRequest(f"{path.name} is not a GeoJSON file of areas.", _DO) from None
    if not isinstance(features, list) or not all(isinstance(feature, Mapping) for feature in features):
        raise InvalidRequest(f"{path.name} is not a GeoJSON file of areas.", _DO)
    return features


def _keys(feature: Mapping[str, Any], name: str) -> Iterator[str]:
    properties = feature.get("properties")
    of_name = properties.get(name) if isinstance(properties, Mapping) else None
    yield from (str(key) for key in (feature.get("id"), of_name) if key is not None)


def _rings(feature: Mapping[str, Any]) -> Iterator[Ring]:
    try:
        geometry = feature["geometry"]
        polygons = {"Polygon": [geometry["coordinates"]], "MultiPolygon": geometry["coordinates"]}[geometry["type"]]
        for ring in (ring for polygon in polygons for ring in polygon):
            places = [(float(place[0]), float(place[1])) for place in ring]
            if not all(abs(x) <= 360 and abs(y) <= 90 for x, y in places):
                raise ValueError
            yield places
    except (KeyError, TypeError, ValueError, IndexError):
        raise InvalidRequest("An area is not a polygon in degrees of longitude and latitude.", _DO) from None


def _drawn(areas: Mapping[str, list[Ring]]) -> dict[str, str]:
    places = [place for rings in areas.values() for ring in rings for place in ring]
    if not places:
        return {}
    (west, east), (south, north) = ((min(side), max(side)) for side in zip(*places, strict=True))
    narrower = math.cos(math.radians((south + north) / 2))
    scale = SIDE / (max((east - west) * narrower, north - south) or 1.0)

    def at(place: tuple[float, float]) -> str:
        x, y = place
        return f"{round((x - west) * narrower * scale)} {round((north - y) * scale)}"

    def edge(ring: Ring) -> str:
        return f"M{'L'.join(text for text, _ in groupby(map(at, ring)))}Z"  # without repeats

    return {cell: "".join(map(edge, rings)) for cell, rings in areas.items()}
