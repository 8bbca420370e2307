"""Releases that grow: one price for all periods of a fixed horizon."""

from gaugedp.streams.answer import StreamAnswer
from gaugedp.streams.stream import Stream

__all__ = ["Stream", "StreamAnswer"]
