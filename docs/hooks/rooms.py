"""The picture of the rooms, docs/images/rooms.svg, drawn from the imports: `python docs/hooks/rooms.py`."""

import ast
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[2]
SOURCE, PICTURE = ROOT / "src" / "gaugedp", ROOT / "docs" / "images" / "rooms.svg"
FLOORS = (  # from the top; a folder imports only what stands below it
    ("cli", "report"),
    ("audit", "estimators", "synthesis"),
    ("releases",),
    ("bounds", "optimization", "ledger"),
    ("queries",),
    ("statistics",),
    ("mechanisms",),
    ("tables", "samplers", "guarantees"),
    ("domain", "bodies", "accountant"),
    ("entropy", "_internal", "errors"),
)
WIDTH, HEIGHT, GAP = 250, 58, 46


def imports(path: Path) -> set[str]:
    """Return the rooms that a file imports."""
    tree = ast.parse(path.read_text("utf-8"))
    names = [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module]
    return {name.split(".")[1] for name in names if name.startswith("gaugedp.")}


def arrows() -> list[tuple[str, str]]:
    """Return which room imports which."""
    pairs = set()
    for path in SOURCE.rglob("*.py"):
        room = PurePosixPath(path.relative_to(SOURCE)).parts[0].removesuffix(".py")
        pairs |= {(room, other) for other in imports(path) if other != room}
    return sorted(pairs)


def shortest(pairs: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the arrows without those that follow from two or more others."""
    below: dict[str, set[str]] = {}
    rooms = [room for floor in reversed(FLOORS) for room in floor]
    for room in rooms:
        direct = {b for a, b in pairs if a == room and b in rooms}
        below[room] = direct.union(*(below.get(other, set()) for other in direct))
    implied = {(a, c) for a, b in pairs for c in below.get(b, ())}
    return [pair for pair in pairs if pair not in implied]


def picture() -> str:
    """Return the picture as SVG."""
    places = {
        room: (20 + column * (WIDTH + GAP), 20 + row * (HEIGHT + GAP))
        for row, floor in enumerate(FLOORS)
        for column, room in enumerate(floor)
    }
    width, height = 3 * WIDTH + 2 * GAP + 40, len(FLOORS) * (HEIGHT + GAP) - GAP + 40
    parts = [_arrow(places[a], places[b]) for a, b in shortest(arrows()) if {a, b} <= places.keys()]
    parts += [_room(room, place) for room, place in places.items()]
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif">'
    return "\n".join([head, f'<rect width="{width}" height="{height}" fill="#fff"/>', *parts, "</svg>\n"])


def _arrow(start: tuple[int, int], end: tuple[int, int]) -> str:
    (x1, y1), (x2, y2) = start, end
    low = y1 + HEIGHT if y2 > y1 else y1 + HEIGHT / 2
    high = y2 if y2 > y1 else y2 + HEIGHT / 2
    line = f"M{x1 + WIDTH / 2} {low} L{x2 + WIDTH / 2} {high}"
    return f'<path d="{line}" stroke="#7a89b8" stroke-opacity="0.45" fill="none"/>'


def _room(name: str, place: tuple[int, int]) -> str:
    x, y = place
    return (
        f'<rect x="{x}" y="{y}" width="{WIDTH}" height="{HEIGHT}" rx="8" fill="#eef1fb" stroke="#3f51b5"/>'
        f'<text x="{x + WIDTH / 2}" y="{y + 36}" text-anchor="middle" font-size="19" fill="#1a237e">{name}</text>'
    )


if __name__ == "__main__":
    PICTURE.write_text(picture(), "utf-8")
