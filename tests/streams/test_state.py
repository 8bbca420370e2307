"""The state of a stream on disk: secret, whole or refused, and one for all processes."""

import json
import os
import shutil
from pathlib import Path

import pytest

import gaugedp as gd
from gaugedp.errors import InvalidRequest, LedgerRefused
from gaugedp.releases.executing import PaidRows
from gaugedp.releases.streams.state import State, StateFile
from tests.streams.kit import BUDGET, opened, table


@pytest.fixture
def stream(tmp_path: Path) -> gd.Stream:
    return opened(tmp_path, gd.Ledger.in_memory(BUDGET))


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX's")
def test_others_cannot_read_it(tmp_path: Path, stream: gd.Stream) -> None:
    old = os.umask(0)
    try:
        stream.next(table(3))
    finally:
        os.umask(old)
    path = tmp_path / "a.stream"
    assert path.stat().st_mode & 0o777 == 0o600
    path.chmod(0o640)
    with pytest.raises(InvalidRequest, match="Other users may read"):
        stream.next(table(3))


@pytest.mark.slow
def test_it_holds_the_noise_and_no_true_value(tmp_path: Path) -> None:
    """The same noise over tables of unlike sizes: only the released totals differ."""
    copies = []
    for size in (0, 987654):
        folder = tmp_path / str(size)
        folder.mkdir()
        other = opened(folder, gd.Ledger.in_memory(BUDGET))
        other.next(table(size), rng=gd.research_rng(4))
        copies.append(json.loads((folder / "a.stream").read_text())["state"])
    for copy in copies:
        copy.pop("key"), copy["draws"][0].pop("name")
    assert copies[0].pop("totals") != copies[1].pop("totals")
    assert copies[0] == copies[1]


def test_its_noise_is_not_printed(tmp_path: Path, stream: gd.Stream) -> None:
    stream.next(table(3))
    state = StateFile.at(tmp_path / "a.stream").existing()
    shown = f"{state!r} {state.draws[0]!r} {stream!r}"
    assert not any(str(number) in shown for number in state.draws[0].question)
    assert str(list(state.draws[0].noise)) not in shown.replace("(", "[").replace(")", "]")


@pytest.mark.parametrize("edit", ["[", '{"format": 1}', "half", "digest"])
def test_a_damaged_file_is_refused(tmp_path: Path, stream: gd.Stream, edit: str) -> None:
    path = tmp_path / "a.stream"
    text = path.read_text()
    path.write_text(
        {"half": text[: len(text) // 2], "digest": text.replace('"answered": 0', '"answered": 1')}.get(edit, edit)
    )
    with pytest.raises(InvalidRequest, match="damaged"):
        stream.next(table(3))


def test_one_process_at_a_time(tmp_path: Path, stream: gd.Stream) -> None:
    with StateFile.at(tmp_path / "a.stream").locked(), pytest.raises(InvalidRequest, match="Another process"):
        stream.next(table(3))
    assert stream.next(table(3)).period == 1


def test_an_older_copy_answers_nothing(tmp_path: Path, stream: gd.Stream) -> None:
    path = tmp_path / "a.stream"
    stream.next(table(3))
    shutil.copy(path, tmp_path / "copy")
    second = stream.next(table(3))
    shutil.move(tmp_path / "copy", path)
    with pytest.raises(LedgerRefused, match="answered with another copy"):
        stream.next(table(30))
    assert second.period == 2


def test_copies_of_a_begun_period_are_answered_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two copies of the state after a kill: the one that answers first wins, and each would have noise of its own."""
    stream = opened(tmp_path, gd.Ledger.in_memory(BUDGET))
    path = tmp_path / "a.stream"
    with monkeypatch.context() as patch:
        patch.setattr(PaidRows, "answers", interrupted)
        with pytest.raises(KeyboardInterrupt):
            stream.next(table(3))
    shutil.copy(path, tmp_path / "copy")
    killed = StateFile.at(path).existing().draws[0]
    stream.next(table(3))
    answered = StateFile.at(path).existing().draws[0]
    assert (killed.name, killed.noise) != (answered.name, answered.noise)
    shutil.move(tmp_path / "copy", path)
    with pytest.raises(LedgerRefused, match="answered with another copy"):
        stream.next(table(30))


def interrupted(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.skipif(os.name != "posix", reason="links are POSIX's")
def test_a_link_and_its_file_are_one_stream(tmp_path: Path, stream: gd.Stream) -> None:
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "elsewhere" / "a.stream"
    link.symlink_to(tmp_path / "a.stream")
    assert StateFile.at(link) == StateFile.at(tmp_path / "a.stream")
    opened(tmp_path / "elsewhere", stream._ledger).next(table(3))
    assert link.is_symlink()
    assert stream.next(table(3)).period == 2


def test_a_file_is_replaced_in_one_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that fills while the state is written leaves the state of before."""
    file = StateFile.at(tmp_path / "a.stream")
    file.save(State("k", {}))

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InvalidRequest, match="cannot be written"):
        file.save(State("k", {}, is_paid=True))
    monkeypatch.undo()
    assert not file.existing().is_paid
    file.save(State("k", {}, is_paid=True))
    assert file.existing().is_paid
