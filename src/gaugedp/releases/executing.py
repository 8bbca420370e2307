"""The only path that charges a ledger and reads rows. Its steps are: draw noise, charge, evaluate, store."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

import numpy as np

from gaugedp.domain.unit import PrivacyUnit
from gaugedp.entropy import Entropy, system_rng
from gaugedp.errors import InvalidRequest
from gaugedp.guarantees import Guarantee
from gaugedp.ledger import Ledger, Reservation, Stored
from gaugedp.queries.base import Query
from gaugedp.tables.aggregate import Rows
from gaugedp.tables.table import RowSum, Table, is_elsewhere

if TYPE_CHECKING:
    from gaugedp.tables.moments import Moments

T = TypeVar("T")


@dataclass(frozen=True)
class Charge:
    """Charge to be made to a ledger for one unit of one table.

    The ledger charges the first of the `guarantees` that it can express. `request` describes the query, never the data.
    With `resume`, a charge that was never settled is found again.
    """

    guarantees: Sequence[Guarantee]
    table: str
    unit: PrivacyUnit
    request: Mapping[str, Any]
    resume: bool = False

    def reserved(self, ledger: Ledger, key: str | None = None) -> Reservation | Stored:
        """Charge the ledger durably, or return the stored result."""
        return ledger.reserve(
            self.guarantees, table=self.table, unit=self.unit, request=self.request, key=key, resume=self.resume
        )


@dataclass(frozen=True, repr=False)
class PaidRows:
    """Rows of a table after the charge, the only way to read.

    charged, account : the guarantee that the ledger charged, and its entry as releases show it; empty without a ledger.
    """

    _table: Table
    charged: Guarantee | None
    account: Mapping[str, Any]

    @property
    def are_elsewhere(self) -> bool:
        """True if the rows are outside DuckDB in this process."""
        return is_elsewhere(self._table)

    def answers(self, query: Query, row_key: bytes) -> np.ndarray:
        """Return the exact integer answers. All parts select the same rows of a person."""
        return np.concatenate([part.evaluate(self._table, row_key) for part in query.parts])

    def key_counts(self, attribute: str, row_key: bytes) -> tuple[list[str], np.ndarray]:
        """Return an attribute's keys and their numbers of people."""
        from gaugedp.tables.keys import count_keys

        return count_keys(self._table, attribute, row_key)

    def lines(self, names: tuple[Sequence[str], Sequence[str]], row_key: bytes) -> tuple[np.ndarray, np.ndarray]:
        """Return cells and steps of rows, as `Table.rows`."""
        return self._table.rows(*names, row_key)

    def line_sum(self, names: tuple[Sequence[str], Sequence[str]], of: RowSum, row_key: bytes) -> np.ndarray:
        """Return a sum over rows, as `Table.vector_sum`."""
        return self._table.vector_sum(names, of, row_key)

    def column_sums(self, columns: Sequence[str], row_key: bytes, bits: int) -> "Moments":
        """Return column sums and the row count, as `Table.moments`."""
        return self._table.moments(columns, row_key, bits=bits, products=False)


class Measurement(Protocol[T]):
    """Release in two steps: noise and cost, then the value."""

    def prepare(self, table: Rows, rng: Entropy) -> tuple[Charge, Callable[[PaidRows], T]]:
        """Draw the noise and return the charge and the evaluation.

        No row is read; the returned function evaluates the rows once.
        """
        ...

    def encode(self, result: T, /) -> str:
        """Return the text that the ledger stores."""
        ...

    def decode(self, text: str, /) -> T:
        """Return the result that `encode` wrote."""
        ...


def execute(
    measurement: Measurement[T],
    ledger: Ledger | None,
    table: Rows,
    key: str | None = None,
    rng: Entropy | None = None,
    on_stage: Callable[[str], object] = str,
) -> T:
    """Draw noise, charge, evaluate the rows and store the result.

    A crash after the charge costs budget and shows nothing. The same `key` with the same request returns the stored
    result at no cost, and reads nothing. Without a ledger nothing is charged, and the caller accounts for the
    guarantee.
    """
    charge, evaluate = measurement.prepare(table, system_rng() if rng is None else rng)
    rows = cast(Table, table)  # custom rows have only answers
    if ledger is None:
        return evaluate(PaidRows(rows, None, {}))
    on_stage("pay")
    reservation = charge.reserved(ledger, key)
    if isinstance(reservation, Stored):
        return measurement.decode(reservation.released.decode())
    on_stage("look")
    account = ledger.account(reservation) | {"key": reservation.key}
    result = evaluate(PaidRows(rows, reservation.guarantee, account))
    on_stage("store")
    ledger.settle(reservation, measurement.encode(result).encode())
    return result


def check_kinds(table: object, ledger: object, *queries: object, kind: type = Rows) -> None:
    """Refuse arguments that are not a table, ledger or query."""
    for name, value, needed, how in (
        *(("query", query, Query, "gd.query(domain, text)") for query in queries),
        ("table", table, kind, "gd.Table.scan(file or data frame, domain=domain)"),
        ("ledger", ledger, Ledger, "gd.Ledger.open(file, budget=...)"),
    ):
        if not isinstance(value, needed):
            raise InvalidRequest(f"`{name}` is of type {type(value).__name__}, which is not supported.", f"Pass {how}.")
