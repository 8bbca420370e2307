"""Durable account of one table and one privacy unit."""

from gaugedp.ledger.base import Ledger
from gaugedp.ledger.entries import Entry, Reservation, Stored
from gaugedp.ledger.header import LedgerHeader
from gaugedp.ledger.verify import Report

__all__ = ["Entry", "Ledger", "LedgerHeader", "Report", "Reservation", "Stored"]
