"""Descriptions of tables from public knowledge, and their files."""

from gaugedp.domain.domain import Domain
from gaugedp.domain.unit import PrivacyUnit

__all__ = ["Domain", "PrivacyUnit"]
