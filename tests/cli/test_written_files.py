"""A file that cannot be written, or may not be, is refused first: by every option of every command that writes one."""

import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from gaugedp.cli.commands import COMMANDS, Commands
from tests.cli.kit import Desk

WRITES = re.compile(r"Write|Where to (write|draw)|Folder to write")
QUERY = ["--query", "SEX", "--epsilon", "0.5"]
PAID = ["--domain", "domain.toml", "--ledger", "people.ledger"]
FIT = ["--model", "logistic", "--target", "SEX", "--features", "AGE", "--epsilon", "0.5"]
WORDS = {  # of each command that writes, with files that stand on the desk
    "domain": ["people.csv"],
    "explore": ["--domain", "domain.toml", "--query", "SEX", "--seconds", "0"],
    "geometry": ["--domain", "domain.toml", "--query", "SEX"],
    "guarantee": ["--epsilon", "1"],
    "release": ["people.csv", *PAID, *QUERY],
    "keys": ["people.csv", *PAID, "--attribute", "SEX", "--epsilon", "0.5", "--delta", "1e-6"],
    "sql": ["SELECT SEX, COUNT(*) FROM people GROUP BY SEX", "people.csv", *PAID, "--epsilon", "0.5"],
    "derive": ["answer.json", "--query", "share(SEX)", "--domain", "domain.toml"],
    "publish": ["publication.toml", "--ledger", "people.ledger"],
    "rows": ["people.ledger", "--key", "first"],
    "stream next": ["people.stream", "people.csv"],
    "fit": ["people.csv", *PAID, *FIT],
    "predict": ["people.csv", "--model", "model.json", "--domain", "domain.toml"],
    "recommend": ["people.csv", "--model", "model.json", "--domain", "domain.toml"],
    "ledger report": ["people.ledger"],
    "audit": ["--domain", "domain.toml", *QUERY, "--runs", "100"],
}
PUBLICATION = """
title = "T"
domain = "domain.toml"
data = "people.csv"
key = "k"
epsilon = 0.5
[[table]]
title = "t"
query = "SEX"
"""


def written() -> Iterator[tuple[str, str]]:
    """Yield every option that writes a file, with the words of its command."""
    for name in COMMANDS:
        command = Commands().get_command(click.Context(click.Command("gaugedp")), name)
        parts = command.commands.items() if isinstance(command, click.Group) else [("", command)]
        for part, each in parts:
            for option in each.params:
                if isinstance(option, click.Option) and WRITES.match(option.help or "") and not option.is_flag:
                    yield f"{name} {part}".strip(), option.opts[0]


WRITTEN = list(written())


def test_every_command_that_writes_is_tried() -> None:
    assert {name for name, _ in WRITTEN} == set(WORDS)
    assert len(WRITTEN) >= 22


@pytest.fixture
def full(desk: Desk) -> Desk:
    """The desk with a file of every kind that a command reads."""
    for name in ("answer.json", "model.json"):
        (desk.folder / name).write_text("{}\n")
    (desk.folder / "publication.toml").write_text(PUBLICATION)
    opened = ["--domain", "domain.toml", "--query", "SEX", "--delta", "1e-6", "--epsilon", "0.5", "--periods", "2"]
    assert (
        desk.gaugedp("stream", "open", "people.stream", *opened, "--ledger", "s.ledger", "--budget", "1,1e-6").code == 0
    )
    (desk.folder / "folder").mkdir()
    return desk


@pytest.mark.many
@pytest.mark.parametrize(("command", "option"), WRITTEN, ids=[" ".join(pair) for pair in WRITTEN])
def test_a_place_that_is_wrong_is_refused_before_anything_is_read(full: Desk, command: str, option: str) -> None:
    words, before = [*command.split(), *WORDS[command]], full.files()
    inputs = [word for word in WORDS[command] if (full.folder / word).is_file()]
    needed = ["--out", "rows.csv"] if command == "rows" and option != "--out" else []
    places = ["folder", "no/such/file", "people.csv/file", "x" * 300, *inputs]
    endings = [] if command == "publish" else ["x.sas7bdat", "x.rds", "x.yaml", "folder/x.docx"]
    for place in (*places, *endings):
        done = full.gaugedp(*words, *needed, option, place)
        assert (done.code, done.out) == (2, ""), (place, done)
        assert "Traceback" not in done.err
        assert "Nothing was" in done.err
        assert full.files() == before, place


def test_a_pipe_and_a_device_get_what_is_written(desk: Desk) -> None:
    assert desk.gaugedp("domain", "people.csv", "--out", "/dev/null").code == 0
    os.mkfifo(desk.folder / "pipe")
    got = list[str]()
    reader = threading.Thread(target=lambda: got.append((desk.folder / "pipe").read_text()), daemon=True)
    reader.start()
    assert desk.gaugedp("domain", "people.csv", "--out", "pipe").code == 0
    reader.join(10)
    assert got == [desk.gaugedp("domain", "people.csv").out]


@pytest.mark.slow
def test_standard_output_by_its_name_holds_the_file_once(desk: Desk) -> None:
    """In processes of their own, whose standard streams are a pipe and a file."""
    words = [str(Path(sys.executable).with_name("gaugedp"))]
    done = subprocess.run(
        [*words, "domain", "people.csv", "--out", "/dev/stderr"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0
    assert "# SEX = " in done.stderr
    for path in ("/dev/stdout", "/dev/fd/1"):
        with (desk.folder / "o.toml").open("w") as shown:
            done = subprocess.run([*words, "domain", "people.csv", "--out", path], stdout=shown, check=False)
        assert done.returncode == 0
        assert (desk.folder / "o.toml").read_text() == desk.gaugedp("domain", "people.csv").out
    with (desk.folder / "shown").open("w") as shown:
        done = subprocess.run(
            [*words, "guarantee", "--epsilon", "1", "--svg", "/dev/stdout"], stdout=shown, check=False
        )
    assert done.returncode == 0
    text = (desk.folder / "shown").read_text()
    assert text.count("<svg") == text.count("</svg>") == 1
    assert "posterior" in text.lower()
