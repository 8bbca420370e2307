"""What SQLite is told about the disk, in the very connection that writes."""

from pathlib import Path

from gaugedp.guarantees import PureDP
from gaugedp.ledger import Ledger


def test_a_commit_goes_through_the_cache_of_the_disk(path: Path) -> None:
    ledger = Ledger.open(path, PureDP(1))
    assert ledger._store.run(lambda transaction: next(transaction._ask("PRAGMA fullfsync"))) == (1,)  # type: ignore[attr-defined]
