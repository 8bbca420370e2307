"""The durable account of one table and one privacy unit: what was spent, what is left, and a refusal in time."""

from gaugedp.ledger.account import Account
from gaugedp.ledger.base import Entry, Ledger, Reservation, Stored
from gaugedp.ledger.verify import Report

__all__ = ["Account", "Entry", "Ledger", "Report", "Reservation", "Stored"]
