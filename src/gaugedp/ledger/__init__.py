"""The durable account of one table and one privacy unit: what is spent, and what is left."""

from gaugedp.ledger.account import Account
from gaugedp.ledger.base import Ledger
from gaugedp.ledger.entries import Entry, Reservation, Stored
from gaugedp.ledger.verify import Report

__all__ = ["Account", "Entry", "Ledger", "Report", "Reservation", "Stored"]
