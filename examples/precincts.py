"""A tile map of the five precincts of the police of Minneapolis: one square each, about where it lies in the city.

    python -m examples.precincts

The squares are equal and touch; they are no borders. The first precinct is downtown, the second in the north-east, the
third in the south-east, the fourth in the north-west and the fifth in the south-west, as the city describes them.
Writes examples/publications/precincts.geojson.
"""

import json
from pathlib import Path

FILE = Path(__file__).parent / "publications" / "precincts.geojson"
TILES = {"1": (0.5, 1.0), "2": (1.0, 2.0), "3": (1.0, 0.0), "4": (0.0, 2.0), "5": (0.0, 0.0)}  # west and south sides


def main() -> None:
    """Write the file."""
    tiles = {"type": "FeatureCollection", "features": [feature(*tile) for tile in TILES.items()]}
    FILE.write_text(json.dumps(tiles, indent=1) + "\n", "utf-8")


def feature(precinct: str, corner: tuple[float, float]) -> dict[str, object]:
    """Return a square whose sides are a degree, by the equator, where a degree is as long either way."""
    (west, south), corners = corner, [(0, 0), (1, 0), (1, 1), (0, 1), (0, 0)]
    ring = [[west + x, south + y - 1.5] for x, y in corners]
    return {"type": "Feature", "id": precinct, "geometry": {"type": "Polygon", "coordinates": [ring]}}


if __name__ == "__main__":
    main()
