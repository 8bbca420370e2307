"""`gaugedp keys`: the keys that many people have, a domain file with them, and nothing of the others."""

import json
from pathlib import Path

import gaugedp as gd
from tests.cli.kit import NEW_LEDGER, Desk

RARE = "SECRET-4471"
WORDS = ["--attribute", "CITY", "--epsilon", "1", "--delta", "1e-6", "--ledger", "towns.ledger"]
BUDGET = ["--budget", "3,1e-5"]


def furnish(folder: Path, most: int = 1000) -> None:
    cities = ["Bern", "Basel"] * 90 + [RARE]
    lines = "\n".join(f"{city},{1 + i % 2}" for i, city in enumerate(cities))
    (folder / "towns.csv").write_text(f"CITY,SEX\n{lines}\n", "utf-8")
    described = f'[attributes]\nCITY = {{ keys = "unknown", most = {most} }}\nSEX = ["1", "2"]\n'
    (folder / "towns.toml").write_text(described, "utf-8")


def keys(desk: Desk, *more: str, words: list[str] = WORDS):
    return desk.gaugedp("keys", "towns.csv", "--domain", "towns.toml", *words, *more)


def test_keys_are_shown_and_the_domain_file_is_asked(desk: Desk) -> None:
    furnish(desk.folder)
    done = keys(desk, *BUDGET, "--out", "with-keys.toml", "--key", "cities", "--report", "keys.html")
    assert done.code == 0, done.err
    assert "2 keys of CITY (ApproxDP(1, 1e-06), exact)" in done.out
    assert (
        "The probability that a key is shown grows with the number of people who have it: 1 % for 10, 50 % for 14"
        in done.err
    )
    assert NEW_LEDGER in done.err
    assert "2 keys are shown" in (desk.folder / "keys.html").read_text("utf-8")
    assert RARE not in done.out + done.err + (desk.folder / "keys.html").read_text("utf-8")
    requested = desk.gaugedp(
        "release", "towns.csv", "--domain", "with-keys.toml", "--query", "CITY", "--epsilon", "1",
        "--ledger", "towns.ledger",
    )  # fmt: skip
    assert requested.code == 0, requested.err
    assert "CITY=Bern" in requested.out
    assert "CITY=other" in requested.out
    again = keys(desk, "--key", "cities", "--json")
    assert json.loads(again.out)["keys"] == ["Basel", "Bern"]
    assert desk.ledger("towns.ledger").spent == gd.ApproxDP(2.0, 1e-6)
    listed = desk.gaugedp("ledger", "show", "towns.ledger")
    assert "keys of CITY" in listed.out


def test_no_key_writes_no_domain_and_says_so(desk: Desk) -> None:
    furnish(desk.folder)
    strict = [word.replace("1e-6", "1e-9") if word != "1" else "0.01" for word in WORDS]
    done = keys(desk, *BUDGET, "--out", "with-keys.toml", words=strict)
    assert done.code == 0, done.err
    assert "No key of CITY is shown" in done.out
    assert "Nothing was written to with-keys.toml." in done.err
    assert not (desk.folder / "with-keys.toml").exists()
    assert "Spent" in done.out


def test_what_is_refused_opens_no_ledger(desk: Desk) -> None:
    furnish(desk.folder)
    without_delta = [word for word in WORDS if word not in {"--delta", "1e-6"}]
    for words, said in (
        (without_delta, "With `delta` = 0 no key may be shown,"),
        (["--attribute", "SEX", *WORDS[2:]], "The categories of SEX are listed in the domain"),
        ([*WORDS, "--out", "with-keys.csv"], "ends in .toml"),
        ([*WORDS, "--out", "towns.toml"], "is also the domain file"),
    ):
        done = keys(desk, *BUDGET, words=words)
        assert done.code == 2, done.err
        assert said in done.err
        assert "Nothing was read and nothing was spent." in done.err
        assert not (desk.folder / "towns.ledger").exists()
    requested = desk.gaugedp("release", "towns.csv", "--domain", "towns.toml", "--query", "CITY", "--epsilon", "1",
                         "--ledger", "towns.ledger", *BUDGET)  # fmt: skip
    assert requested.code == 2
    assert "Release them first, with gaugedp keys --attribute CITY" in requested.err


def test_keys_beyond_most_are_told(desk: Desk) -> None:
    furnish(desk.folder, most=1)
    done = keys(desk, *BUDGET)
    assert "2 keys passed: the 1 with the largest noisy counts are shown." in done.out
