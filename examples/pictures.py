"""The pictures of the report and of the explorer that the README and the docs show.

    python examples/pictures.py [--out docs/images] [--seconds 40]

Answers a question on the survey excerpt, writes the pages that `gaugedp release --report` and
`gaugedp explore` write, and takes a picture of the top of each. Needs what `make browser` adds, and
chromium-headless-shell; about a minute, most of it the explorer's. Noise is new each time, and so is the picture.
"""

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

import gaugedp as gd
from gaugedp.report.explorer import save_explorer

DATA = Path(__file__).parent / "acs"
ASKED, EXPLORED = "SEX; AGEP; SEX*AGEP; mean(PINCP) by SEX", "SEX; AGEP; SEX*AGEP"
SIZES = {"report": (1200, 1400), "explorer": (1160, 1080)}
BROWSER = "chromium-headless-shell"


def pages(folder: Path, seconds: float) -> dict[str, Path]:
    """Write both pages."""
    domain = gd.Domain.load(DATA / "domain.toml")
    table = gd.Table.scan(str(DATA / "acs_ma2018.csv"), domain=domain)
    ledger = gd.Ledger.open(folder / "demo.ledger", gd.PureDP(2), unit=table.unit, table=table.name)
    found = {name: folder / f"{name}.html" for name in SIZES}
    gd.release(gd.query(domain, ASKED), table, ledger=ledger, epsilon=1.0).save_html(found["report"])
    save_explorer(gd.query(domain, EXPLORED), table.unit, found["explorer"], start=(1.0, 0.0), seconds=seconds)
    return found


def take(found: dict[str, Path], out: Path) -> None:
    """Take a picture of the top of each page."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=shutil.which(BROWSER), args=["--disable-dev-shm-usage"])
        for name, page in found.items():
            width, height = SIZES[name]
            opened = browser.new_context(offline=True, viewport={"width": width, "height": height}).new_page()
            opened.goto(page.as_uri())
            opened.screenshot(path=out / f"{name}.png")
        browser.close()


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("docs/images"))
    parser.add_argument("--seconds", type=float, default=40)
    options = parser.parse_args(arguments)
    if shutil.which(BROWSER) is None:
        sys.exit(f"There is no {BROWSER} on this machine.")
    with tempfile.TemporaryDirectory() as folder:
        take(pages(Path(folder), options.seconds), options.out)


if __name__ == "__main__":
    main()
