"""The pictures of the report and of the explorer that the README and the docs show.

    python examples/pictures.py [--only report] [--out docs/images] [--seconds 20]

The report is the page that `make demo` writes: its command is read from the Makefile. The explorer is what
`gaugedp explore` writes. The top of each is taken with chromium-headless-shell, in about a minute.
Noise is new each time, and so is the picture. It carries what it shows as a comment: the command, and the headings.
"""

import argparse
import contextlib
import io
import re
import shlex
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Callable
from pathlib import Path

from gaugedp.cli.main import run

ROOT = Path(__file__).resolve().parents[1]
EXPLORED = "SEX; AGEP; SEX*AGEP"
SIZES = {"report": (1200, 1400), "explorer": (1160, 1080)}
BROWSER = "chromium-headless-shell"
_SIGNATURE = 8 + 25  # bytes of a PNG before its second chunk
_KIND, _KEY = b"iTXt", b"Comment" + bytes(5)  # UTF-8, neither compressed nor translated


def demo_command() -> list[str]:
    """Return the words of the command that `make demo` runs, after `gaugedp`."""
    text = (ROOT / "Makefile").read_text(encoding="utf-8").replace("\\\n", " ")
    query = re.findall(r"^DEMO_QUERY := (.*)$", text, re.M)[0]
    line = re.findall(r"^\t\$\(VENV\)/bin/gaugedp (release .*)$", text, re.M)[0]
    return shlex.split(line.replace("$(DEMO_QUERY)", query))


def write_report(folder: Path) -> list[str]:
    """Write the page of `make demo` into a folder as report.html, and return its command."""
    words = demo_command()
    (folder / "demo-out").mkdir()
    _gaugedp(folder, words)
    return words


def write_explorer(folder: Path, seconds: float) -> list[str]:
    """Write the explorer into a folder as explorer.html, and return its command."""
    words = ["explore", "--domain", "examples/acs/domain.toml", "--query", EXPLORED, "--out", "explorer.html"]
    _gaugedp(folder, [*words, "--seconds", str(seconds)])
    return words


def outline(page: str) -> list[str]:
    """Return the headings of a page."""
    return [re.sub("<.*?>", "", text) for text in re.findall(r"<h[1-3]\b[^>]*>(.*?)</h[1-3]>", page)]


def take(page: Path, size: tuple[int, int], picture: Path) -> None:
    """Take a picture of the top of a page."""
    options = ["--no-sandbox", "--disable-dev-shm-usage", "--hide-scrollbars", "--virtual-time-budget=5000"]
    window = [f"--window-size={size[0]},{size[1]}", f"--screenshot={picture}"]
    subprocess.run([BROWSER, *options, *window, page.as_uri()], check=True, capture_output=True, timeout=120)


def with_comment(png: bytes, comment: str) -> bytes:
    """Return a picture that carries a comment."""
    body = _KIND + _KEY + comment.encode()
    chunk = struct.pack(">I", len(body) - 4) + body + struct.pack(">I", zlib.crc32(body))
    return png[:_SIGNATURE] + chunk + png[_SIGNATURE:]


def comment_of(png: bytes) -> str:
    """Return the comment that `with_comment` wrote."""
    length = struct.unpack(">I", png[_SIGNATURE : _SIGNATURE + 4])[0]
    kind, text = png[_SIGNATURE + 4 : _SIGNATURE + 8], png[_SIGNATURE + 8 : _SIGNATURE + 8 + length]
    return text.removeprefix(_KEY).decode() if kind == _KIND else ""


def described(words: list[str], page: str) -> str:
    """Return the comment of a picture: the command and the headings of its page, a line each."""
    return "\n".join([shlex.join(["gaugedp", *words]), *outline(page)])


def _gaugedp(folder: Path, words: list[str]) -> None:
    """Run a command whose outputs are in `folder`."""
    here = [str(ROOT / word) if word.startswith("examples/") else word for word in words]
    with contextlib.chdir(folder), contextlib.redirect_stdout(io.StringIO()):
        if run(here) != 0:
            sys.exit("The page was not written.")


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=SIZES)
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "images")
    parser.add_argument("--seconds", type=float, default=20)
    options = parser.parse_args(arguments)
    if shutil.which(BROWSER) is None:
        sys.exit(f"There is no {BROWSER} on this machine.")
    writers: dict[str, Callable[[Path], list[str]]] = {
        "report": write_report,
        "explorer": lambda folder: write_explorer(folder, options.seconds),
    }
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for each in [options.only] if options.only else SIZES:
            words, page, picture = writers[each](folder), folder / f"{each}.html", folder / f"{each}.png"
            take(page, SIZES[each], picture)
            comment = described(words, page.read_text(encoding="utf-8"))
            (options.out / f"{each}.png").write_bytes(with_comment(picture.read_bytes(), comment))


if __name__ == "__main__":
    main()
