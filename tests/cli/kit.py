"""What the tests of the command line share: a table in which every row has secrets, and what a refusal must keep."""

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path

from gaugedp.cli.main import run
from gaugedp.cli.stage import _WORDS
from gaugedp.errors import UNTOUCHED
from gaugedp.guarantees import PureDP
from gaugedp.ledger import Ledger
from tests.forking import Done
from tests.ledger.kit import folder_bytes

NOTE, CENTS = "SECRET-7731", "39062518"  # parts of every row that no answer, hash or sentence has by chance
PROGRESS = [f"{text} ..." for stage, text in _WORDS.items() if stage != "process"]
WITH_PROCESSING = [f"{text} ..." for text in _WORDS.values()]
NEW_LEDGER = "Opened a new ledger '"
HEADER = ["SEX", "AGE", "PAY", "PID", "NOTE"]
ROWS = [[str(1 + i % 2), str(i % 97), f"{i % 900}.{CENTS}", f"{NOTE}-p{i // 2}", f"{NOTE}-n{i}"] for i in range(60)]
DOMAIN = """
name = "people"
[attributes]
SEX = ["1", "2"]
AGE = { low = 0, high = 100, width = 10 }
[columns]
PAY = { low = 0, high = 1000, step = 1, missing = "drop" }
"""
QUESTION = "SEX; SEX*AGE; prefix(AGE); sum(PAY); mean(PAY) by SEX"


def furnish(folder: Path) -> None:
    """Put the table, the domain and a ledger (ε = 2, of which 0.5 is spent) into the folder."""
    (folder / "domain.toml").write_text(DOMAIN, "utf-8")
    (folder / "answers.csv").write_text("from an earlier run\n", "utf-8")
    with (folder / "people.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([HEADER, *ROWS])
    ledger = Ledger.open(folder / "people.ledger", PureDP(2))
    ledger.settle(_reserved(ledger), NOTE.encode())


def _reserved(ledger: Ledger):
    from gaugedp.domain.unit import PrivacyUnit

    return ledger.reserve([PureDP(0.5)], table="people", unit=PrivacyUnit(), request={"query": "SEX"}, key="first")


def options(**chosen: str | None) -> list[str]:
    """Return the options of a release, by default --query SEX --epsilon 0.5 --ledger people.ledger; None leaves out."""
    usual = {"domain": "domain.toml", "query": "SEX", "epsilon": "0.5", "ledger": "people.ledger"}
    return [word for name, text in {**usual, **chosen}.items() if text is not None for word in (f"--{name}", text)]


class Desk:
    """A folder with the table, and the command line beside it."""

    def __init__(self, folder: Path, said: Callable[[], tuple[str, str]]) -> None:
        self.folder, self._said = folder, said

    def gaugedp(self, *words: str) -> Done:
        """Run the command line in this process."""
        self._said()
        code = run(list(words))
        return Done(code, *self._said())

    def release(self, table: str = "people.csv", *flags: str, **chosen: str | None) -> Done:
        """Run `gaugedp release` with `options`."""
        return self.gaugedp("release", table, *options(**chosen), *flags)

    def released(self, table: str = "people.csv", **chosen: str | None) -> dict[str, object]:
        """Release with --json, and return the facts."""
        done = self.release(table, "--json", **chosen)
        assert done.code == 0, done.err
        return json.loads(done.out)

    def ledger(self, name: str = "people.ledger") -> Ledger:
        """The ledger's file, opened."""
        return Ledger.open(self.folder / name)

    def files(self) -> dict[str, bytes]:
        """Every file of the folder with its bytes."""
        return folder_bytes(self.folder / "any")


def check_sentence(done: Done, code: int, *words: str) -> None:
    """Insist on one message that says all `words` and what was not done, below nothing but progress."""
    assert done.code == code, (done.out, done.err)
    assert done.out == ""
    *progress, message = done.err.splitlines()
    assert {line for line in progress if not line.startswith(NEW_LEDGER)} <= set(WITH_PROCESSING)
    what, _, undone = message.partition(UNTOUCHED)
    assert message.endswith(UNTOUCHED)
    assert undone == ""
    assert re.fullmatch(r"\S.*[.?!] \S.*[.?!] ", what), "what is wrong, and what to do"
    assert all(word in what for word in words), what
    check_silence(done)


def check_silence(done: Done) -> None:
    """Insist that nothing of the rows, of the engine or of the program's insides is shown."""
    said = (done.out + done.err).lower()
    for word in (NOTE, CENTS, "Traceback", "duckdb", "sqlite", "Error:", "Warning", "site-packages"):
        assert word.lower() not in said, done.err
