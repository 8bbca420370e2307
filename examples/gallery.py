"""The gallery of the docs: publications from public data, each made by one command.

    python -m examples.gallery [--only pay] [--out docs/gallery]

Each is what `gaugedp publish examples/publications/NAME.toml --ledger L --budget 1 --out FOLDER` writes, with a new
ledger. Noise is new each time, and so are the files. Writes the page of the gallery, too, and the report of
`make demo`, which the first page of the docs shows.
"""

import argparse
import re
import shutil
import tempfile
import tomllib
from pathlib import Path

from examples.pictures import demo_command
from gaugedp.cli.main import run

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ROOT / "examples" / "publications"
GALLERY = {
    "survey": "counts crossed two ways, with margins that share their noise",
    "weights": "estimates for a population from a survey with weights, whose intervals include the sampling error",
    "series": "a monthly series, total and by area, and a tile map of the areas",
    "incomes": "a histogram with bars of true width, quartiles and means in one release",
    "housing": "counts, and the shares that follow from them",
    "difficulties": "shares within groups of different sizes",
    "pay": "means by two attributes, and medians with released intervals",
    "families": "a last cell for all other values",
    "reasons": "shares in each month",
    "race": "many small cells, some below the noise",
    "changes": "index numbers and changes in percent",
    "wohnen": "words, numbers and titles in German",
}


def main() -> None:
    """Make the folders and the page."""
    parser = argparse.ArgumentParser(description="Make the gallery of the docs.")
    parser.add_argument("--only", choices=GALLERY, help="make one of them")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "gallery", help="the folder")
    chosen = parser.parse_args()
    for name in [chosen.only] if chosen.only else GALLERY:
        publish(name, chosen.out / name)
    if not chosen.only:
        demo(chosen.out / "demo.html")
    for name in GALLERY:
        picture(chosen.out / name / "press.html", chosen.out / "pictures" / f"{name}.svg")
    (chosen.out / "index.md").write_text(page(), "utf-8")


def publish(name: str, folder: Path) -> None:
    """Publish one of them with a ledger of its own, in place of what was there."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(folder, ignore_errors=True)
    with tempfile.TemporaryDirectory() as desk:
        words = ["--ledger", str(Path(desk, "a.ledger")), "--budget", "1", "--out", str(folder)]
        if run(["publish", str(SOURCES / f"{name}.toml"), *words]):
            raise SystemExit(f"{name} could not be published.")


def picture(page: Path, file: Path) -> None:
    """Write the picture of a page for the press to a file of its own: as on a narrow screen, by day."""
    text = page.read_text("utf-8")
    chart = re.findall(r"<svg viewBox=.*?</svg>", text, re.DOTALL)[0]
    chart = chart.replace('"0 0 760 240"', '"0 0 760 380"')  # a drawing for narrow screens is half as high as wide
    style = re.sub(r"@media \(prefers-color-scheme:dark\)\{:root\{.*?\}\}", "", text, flags=re.DOTALL)
    style = re.findall(r"<style>.*?</style>", style, re.DOTALL)[0]
    file.parent.mkdir(exist_ok=True)
    start, _, rest = chart.partition(">")
    file.write_text(f'{start} xmlns="http://www.w3.org/2000/svg">{style}{rest}', "utf-8")


def demo(report: Path) -> None:
    """Write the report of `make demo`."""
    with tempfile.TemporaryDirectory() as desk:
        places = {"--ledger": Path(desk, "a.ledger"), "--out": Path(desk, "a.csv"), "--report": report}
        words = demo_command()
        for option, place in places.items():
            words[words.index(option) + 1] = str(place)
        if run([str(ROOT / word) if word.startswith("examples/") else word for word in words]):
            raise SystemExit("The demo failed.")


def page() -> str:
    """Return the page of the gallery."""
    head = (
        "# Gallery\n\n"
        "Publications from public data, each written by one command: a report, a page for the press, one file per\n"
        "table, the release and a manifest. The data is public; it is protected to show what a reader gets. Each\n"
        "publication spent ε = 1.\n\n"
        '<div class="gallery" markdown="0">\n'
    )
    cards = "\n".join(card(name) for name in GALLERY)
    foot = (
        "\n</div>\n\nWrite one of them with\n\n"
        "    gaugedp publish examples/publications/survey.toml --ledger new.ledger --budget 1 --out survey\n\n"
        "and all of them with `python -m examples.gallery`. [How to publish several tables\n"
        "together](../how-to/publish.md) explains the file. The sources of the data are described next to the files\n"
        "in `examples`.\n"
    )
    return head + cards + foot


def card(name: str) -> str:
    """Return the card of one publication: its title, what it shows, and its files."""
    facts = tomllib.loads((SOURCES / f"{name}.toml").read_text("utf-8"))
    tables = "; ".join(table["title"] for table in facts["tables"])
    files = " · ".join(f'<a href="{name}/{file}">{word}</a>' for file, word in FILES.items())
    return (
        f'<article><a href="{name}/index.html"><img src="pictures/{name}.svg" alt="" loading="lazy"></a>\n'
        f'<h2><a href="{name}/index.html">{facts["title"]}</a></h2>\n<p>Shows {GALLERY[name]}.</p>\n'
        f'<p class="fine">{tables}.</p>\n<p class="fine">{files}</p></article>'
    )


FILES = {"index.html": "report", "press.html": "for the press", "release.json": "release", "manifest.json": "manifest"}


if __name__ == "__main__":
    main()
