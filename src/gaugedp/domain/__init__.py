"""Public facts about the rows, and the file that describes them."""

from gaugedp.domain.domain import Domain, PrivacyUnit

__all__ = ["Domain", "PrivacyUnit"]
