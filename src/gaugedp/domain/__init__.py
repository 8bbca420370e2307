"""Public facts about the rows, and the file that describes them."""

from gaugedp.domain.domain import Domain
from gaugedp.domain.unit import PrivacyUnit

__all__ = ["Domain", "PrivacyUnit"]
