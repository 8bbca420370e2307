"""Private estimators with the habits of scikit-learn."""

import importlib.util

from gaugedp.errors import MissingExtra

if importlib.util.find_spec("sklearn") is None:
    raise MissingExtra.needed_for("An estimator", "learn")

from gaugedp.estimators.column_transformers import SimpleImputer, StandardScaler
from gaugedp.estimators.descent_regressor import HuberRegressor, PoissonRegressor
from gaugedp.estimators.k_means import KMeans
from gaugedp.estimators.lasso import Lasso
from gaugedp.estimators.logistic import LogisticRegression
from gaugedp.estimators.matrix_completion import MatrixCompletion
from gaugedp.estimators.mean import Mean
from gaugedp.estimators.model_scores import score_report
from gaugedp.estimators.moment_regressor import ElasticNet, Ridge
from gaugedp.estimators.naive_bayes import GaussianNB
from gaugedp.estimators.pca import PCA, LowRankCovariance, TopEigenvector
from gaugedp.estimators.private_search import PrivateSearchCV
from gaugedp.estimators.regression import LinearRegression
from gaugedp.estimators.sparse_mean import SparseMean, TooFewRows, sub_gaussian_bounds
from gaugedp.estimators.sparse_regression import SparseRegression
from gaugedp.estimators.svc import LinearSVC
from gaugedp.estimators.trace_regression import TraceRegression

__all__ = [
    "PCA",
    "ElasticNet",
    "GaussianNB",
    "HuberRegressor",
    "KMeans",
    "Lasso",
    "LinearRegression",
    "LinearSVC",
    "LogisticRegression",
    "LowRankCovariance",
    "MatrixCompletion",
    "Mean",
    "PoissonRegressor",
    "PrivateSearchCV",
    "Ridge",
    "SimpleImputer",
    "SparseMean",
    "SparseRegression",
    "StandardScaler",
    "TooFewRows",
    "TopEigenvector",
    "TraceRegression",
    "score_report",
    "sub_gaussian_bounds",
]
