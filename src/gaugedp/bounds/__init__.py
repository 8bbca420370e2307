"""How near to the best possible an error is: lower bounds for every pure mechanism."""

from typing import TYPE_CHECKING

from gaugedp._late import late
from gaugedp.bounds.counts import counts_lower_bound
from gaugedp.bounds.estimate import estimated_volume
from gaugedp.bounds.isotropy import is_approximately_isotropic, isotropic_constant, volume_quantity
from gaugedp.bounds.log_sobolev import LogSobolev
from gaugedp.bounds.minimax import Rate, dense_mean, sparse_mean
from gaugedp.bounds.projected import lower_bound, projected_lower_bound
from gaugedp.bounds.volume import VolumeBound, bound_from_volume, staircase_lower_bound, volume_lower_bound

if TYPE_CHECKING:
    from gaugedp.bounds.convex import ConvexRisk, convex_risk
    from gaugedp.bounds.nuclear import NuclearRisk, conjectured_rate, nuclear_risk, oja_privacy

_CONVEX = dict.fromkeys(("ConvexRisk", "convex_risk"), "gaugedp.bounds.convex")
_NUCLEAR = ("NuclearRisk", "conjectured_rate", "nuclear_risk", "oja_privacy")
__getattr__ = late(__name__, _CONVEX | dict.fromkeys(_NUCLEAR, "gaugedp.bounds.nuclear"))

__all__ = [
    "ConvexRisk",
    "LogSobolev",
    "NuclearRisk",
    "Rate",
    "VolumeBound",
    "bound_from_volume",
    "conjectured_rate",
    "convex_risk",
    "counts_lower_bound",
    "dense_mean",
    "estimated_volume",
    "is_approximately_isotropic",
    "isotropic_constant",
    "lower_bound",
    "nuclear_risk",
    "oja_privacy",
    "projected_lower_bound",
    "sparse_mean",
    "staircase_lower_bound",
    "volume_lower_bound",
    "volume_quantity",
]
