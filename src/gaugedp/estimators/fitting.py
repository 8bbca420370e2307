"""Private models of a table, fitted by name."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from gaugedp._internal.validate import one_of
from gaugedp.domain.domain import Domain
from gaugedp.domain.unit import PrivacyUnit
from gaugedp.errors import InvalidRequest
from gaugedp.estimators.ratings_fit import RatingsDesign, RatingsFit
from gaugedp.estimators.table_fit import TableFit
from gaugedp.estimators.table_models import MODELS, kind_of
from gaugedp.estimators.table_rows import TableDesign
from gaugedp.guarantees.base import Guarantee
from gaugedp.guarantees.parse_guarantee import guarantee_asked
from gaugedp.ledger.base import Ledger
from gaugedp.releases.executing import check_kinds, execute
from gaugedp.tables.table import Table


def fit(
    model: str,
    table: Table,
    ledger: Ledger,
    *,
    target: str,
    features: Sequence[str] | str,
    epsilon: float,
    delta: float | None = None,
    score: float | None = None,
    radius: float | None = None,
    norm: str | None = None,
    reference: str | None = None,
    key: str | None = None,
    on_stage: Callable[[str], object] = str,
) -> dict[str, Any]:
    """Fit a private model to a table, charging a ledger.

    Use it to fit a model to a table with a domain; for arrays use the classes of `gaugedp.estimators`. The ledger,
    which keeps account of the privacy budget, is charged before any row is read, and stores the model afterwards. The
    fit satisfies its guarantee for the privacy unit of the table, such as all rows of a person. Install the extra
    `learn` first.

    Parameters
    ----------
    model : str
        The kind of model: "logistic", "svc", "linear", "ridge", "elastic-net", "lasso", "huber", "poisson" or
        "ratings".
    table : Table
        The rows, with a domain that describes the target and the features.
    ledger : Ledger
        The ledger to charge.
    target : str
        What to predict. It is an attribute for "logistic" and "svc", and otherwise a bounded column.
    features : str or sequence of str
        What to predict from: attributes and bounded columns. For "ratings", pass the attributes of users and items.
    epsilon, delta : float
        The privacy budget of the fit. By default δ = 0, which is pure differential privacy.
    score : float, optional
        The ε of a score on held-out rows. Each row is used either for the fit or for the score, so the larger of the
        two values of ε is charged. By default there is no score.
    radius : float, optional
        A public bound on the norm of the coefficients (docs/how-to/fit-a-model.md states its units).
    norm : {"l2", "l1"}, optional
        The norm that `radius` bounds. "l1" is allowed for "linear" only, which then equals "lasso".
    reference : str, optional
        The reference level of each attribute, such as "SEX=2, EDU=12". The default is the first category.
    key : str, optional
        A name for the request. The same request with the same key returns the stored model at no cost.
    on_stage : callable, optional
        A function that is called with the name of each stage ("plan", "pay", "look", "store") as it begins.

    Returns
    -------
    dict
        The model as JSON-compatible data, with the keys "intercept", "coefficients", "score", "guarantee", "exactness"
        and "facts", or with the parts of users and items for "ratings". `gaugedp predict` reads it from a JSON file.

    Raises
    ------
    InvalidRequest
        If a model, target, feature or option does not fit the domain. Nothing is read or spent.
    LedgerRefused
        If the budget does not suffice, or the ledger is of another table or unit. Nothing is read or spent.

    Examples
    --------
    Predict `pay` from `age`, and spend the whole budget of a ledger that allows ε = 1:

    >>> import gaugedp as gd
    >>> import pandas as pd
    >>> rows = pd.DataFrame({"age": [20, 30, 40, 50] * 250, "pay": [1, 2, 3, 4] * 250})
    >>> domain = gd.Domain.of(age=gd.bounded(0, 100), pay=gd.bounded(0, 10))
    >>> table = gd.Table.scan(rows, domain=domain, unit=gd.PrivacyUnit(), name="people")
    >>> ledger = gd.Ledger.in_memory(gd.PureDP(1))
    >>> model = gd.fit("linear", table, ledger, target="pay", features=["age"], epsilon=1.0)
    >>> sorted(model["coefficients"]), ledger.spent
    (['age'], PureDP(1))
    """
    on_stage("plan")
    check_kinds(table, ledger, kind=Table)
    requested = guarantee_asked(epsilon, delta, None, None)
    names = model, target, _listed(features)
    _check_texts(target, *names[2], "" if reference is None else reference)
    options = {"score": score, "radius": radius, "norm": norm, "reference": reference}
    planned = plan_table_fit(table.domain, table.unit, names, requested, options)
    return execute(planned, ledger, table, key, None, on_stage)


def _listed(features: object) -> list[Any]:
    return list(features) if isinstance(features, Iterable) and not isinstance(features, str) else [features]


def _check_texts(*names: object) -> None:
    for name in names:
        if not isinstance(name, str):
            raise InvalidRequest(
                "Targets, features and references are named by strings, but one of them is of type "
                f"{type(name).__name__}.",
                'Pass names from the domain, such as target="pay", features=["age"].',
            )


def plan_table_fit(
    domain: Domain,
    unit: PrivacyUnit,
    names: tuple[str, str, Sequence[str]],
    requested: Guarantee,
    options: Mapping[str, Any],
) -> TableFit | RatingsFit:
    """Plan the fit of a model to a table.

    `names` are those of model, target and features, `options` the score, radius, norm and reference of `fit`. An
    impossible fit is refused here.
    """
    model, target, features = names
    one_of((*MODELS, "ratings"), model=model)
    if model == "ratings":
        if any(option is not None for option in options.values()):
            raise InvalidRequest("A model of ratings does not accept a score, radius, norm or reference.", "Omit them.")
        return RatingsFit.plan(RatingsDesign.of(domain, features, target), unit, requested)
    design = TableDesign.of(domain, features, target, kind_of(model, options.get("norm")).by_class)
    return TableFit.plan(design, model, unit, requested, **options)
