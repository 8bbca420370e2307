"""Forty short snippets in the manner of scikit-learn's user guide, with the public facts added.

Each is a string that runs as it is, in a namespace with numpy as np. `test_at_least_36_snippets_work` counts them; a
snippet of its own test shows which one fails.
"""

import warnings

import numpy as np
import pytest

SNIPPETS = {
    "logistic regression on iris": """
from sklearn.datasets import load_iris
from gaugedp.estimators import LogisticRegression
X, y = load_iris(return_X_y=True)
clf = LogisticRegression(C=1.0, max_iter=1000, random_state=0, bounds=(0, 10), classes=[0, 1, 2], epsilon=5.0).fit(X, y)
result = clf.predict(X[:2, :]), clf.predict_proba(X[:2, :]), clf.score(X, y)
""",
    "logistic regression with a named solver": """
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from gaugedp.estimators import LogisticRegression
X, y = load_breast_cancer(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=42)
bounds = (np.zeros(30), np.array([40] * 4 + [1] * 6 + [10] * 3 + [600] + [1] * 6 + [50, 60, 300, 5000] + [2] * 6))
clf = LogisticRegression(penalty="l2", solver="liblinear", tol=1e-6, bounds=bounds, classes=[0, 1], epsilon=5.0)
result = clf.fit(X_train, y_train).score(X_test, y_test)
""",
    "balanced classes": """
from sklearn.datasets import make_classification
from gaugedp.estimators import LogisticRegression
X, y = make_classification(n_samples=2000, weights=[0.9, 0.1], random_state=0)
clf = LogisticRegression(class_weight="balanced", bounds=(-6, 6), classes=[0, 1], epsilon=3.0, delta=1e-6).fit(X, y)
assert clf.guarantee_.epsilon_value == 3.0
result = clf.predict(X).mean()
""",
    "class weights by hand": """
from sklearn.datasets import make_classification
from gaugedp.estimators import LinearSVC
X, y = make_classification(n_samples=1000, random_state=0)
result = LinearSVC(class_weight={0: 1, 1: 5}, bounds=(-6, 6), classes=[0, 1]).fit(X, y).decision_function(X[:3])
""",
    "a linear support vector machine in a pipeline": """
from sklearn.datasets import make_classification
from sklearn.pipeline import make_pipeline
from gaugedp.estimators import LinearSVC, StandardScaler
X, y = make_classification(n_features=4, random_state=0)
clf = make_pipeline(StandardScaler(bounds=(-5, 5)), LinearSVC(random_state=0, tol=1e-5, bounds=(-3, 3), classes=[0, 1]))
clf.fit(X, y)
result = clf.named_steps["linearsvc"].coef_, clf.predict([[0, 0, 0, 0]])
""",
    "linear support vectors, C and dual": """
from sklearn.datasets import make_blobs
from gaugedp.estimators import LinearSVC
X, y = make_blobs(n_samples=400, centers=2, random_state=0, cluster_std=0.6)
result = LinearSVC(C=0.1, dual="auto", max_iter=10_000, bounds=(-10, 10), classes=[0, 1]).fit(X, y).score(X, y)
""",
    "ordinary least squares": """
from gaugedp.estimators import LinearRegression
reg = LinearRegression(bounds=(0, 2), target_bounds=(0, 2))
reg.fit([[0, 0], [1, 1], [2, 2]], [0, 1, 2])
result = reg.coef_, reg.intercept_
""",
    "least squares on diabetes": """
from sklearn.datasets import load_diabetes
from sklearn.metrics import mean_squared_error, r2_score
from gaugedp.estimators import LinearRegression
X, y = load_diabetes(return_X_y=True)
regr = LinearRegression(n_jobs=-1, bounds=(-0.2, 0.2), target_bounds=(0, 350), epsilon=5.0, delta=1e-6)
y_pred = regr.fit(X[:-20], y[:-20]).predict(X[-20:])
result = mean_squared_error(y[-20:], y_pred), r2_score(y[-20:], y_pred)
""",
    "several outputs": """
from sklearn.datasets import make_regression
from gaugedp.estimators import LinearRegression
X, Y = make_regression(n_samples=1000, n_features=4, n_targets=3, random_state=0)
reg = LinearRegression(bounds=(-4, 4), target_bounds=(-500, 500), epsilon=3.0, delta=1e-6).fit(X, Y)
assert reg.coef_.shape == (3, 4) and reg.predict(X).shape == (1000, 3)
result = reg.score(X, Y)
""",
    "several outputs of ridge regression": """
from gaugedp.estimators import Ridge
rng = np.random.RandomState(0)
X, Y = rng.randn(500, 5), rng.randn(500, 2)
clf = Ridge(alpha=1.0, bounds=(-4, 4), target_bounds=([-4, -4], [4, 4])).fit(X, Y)
result = clf.predict(X)
""",
    "ridge regression": """
from gaugedp.estimators import Ridge
n_samples, n_features = 10, 5
rng = np.random.RandomState(0)
y, X = rng.randn(n_samples), rng.randn(n_samples, n_features)
result = Ridge(alpha=1.0, max_iter=None, tol=1e-4, bounds=(-3, 3), target_bounds=(-3, 3)).fit(X, y).coef_
""",
    "the path of ridge coefficients": """
from gaugedp.estimators import Ridge
X, y = 1.0 / (np.arange(1, 11) + np.arange(0, 10)[:, np.newaxis]), np.ones(10)
coefs = [Ridge(alpha=a, fit_intercept=False, bounds=(0, 1), target_bounds=(0, 2)).fit(X, y).coef_ for a in (1, 10, 100)]
result = np.array(coefs)
""",
    "lasso": """
from gaugedp.estimators import Lasso
reg = Lasso(alpha=0.1, bounds=(0, 1), target_bounds=(0, 1))
reg.fit([[0, 0], [1, 1]], [0, 1])
result = reg.predict([[1, 1]])
""",
    "elastic net": """
from sklearn.datasets import make_regression
from gaugedp.estimators import ElasticNet
X, y = make_regression(n_features=2, random_state=0)
regr = ElasticNet(alpha=0.1, l1_ratio=0.5, random_state=0, bounds=(-4, 4), target_bounds=(-300, 300)).fit(X, y)
result = regr.coef_, regr.intercept_, regr.predict([[0, 0]])
""",
    "huber regression": """
from sklearn.datasets import make_regression
from gaugedp.estimators import HuberRegressor, LinearRegression
X, y, coef = make_regression(n_samples=200, n_features=2, noise=4.0, coef=True, random_state=0)
public = {"bounds": (-4, 4), "target_bounds": (-300, 300)}
huber = HuberRegressor(width=0.1, alpha=0.0, **public).fit(X, y)
result = huber.score(X, y), LinearRegression(**public).fit(X, y).coef_
""",
    "poisson regression": """
from gaugedp.estimators import PoissonRegressor
clf = PoissonRegressor(alpha=1.0, max_iter=300, bounds=(0, 5), target_bounds=(0, 50))
X, y = [[1, 2], [2, 3], [3, 4], [4, 3]], [12, 17, 22, 21]
result = clf.fit(X, y).score(X, y), clf.coef_, clf.predict([[1, 1], [3, 4]])
""",
    "gaussian naive bayes": """
from sklearn.datasets import load_iris
from sklearn.model_selection import train_test_split
from gaugedp.estimators import GaussianNB
X, y = load_iris(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0)
y_pred = GaussianNB(bounds=(0, 8), classes=[0, 1, 2]).fit(X_train, y_train).predict(X_test)
result = (y_test != y_pred).sum()
""",
    "naive bayes in batches": """
from gaugedp.estimators import GaussianNB
X = np.array([[-1, -1], [-2, -1], [-3, -2], [1, 1], [2, 1], [3, 2]])
Y = np.array([1, 1, 1, 2, 2, 2])
clf = GaussianNB(bounds=(-4, 4), epsilon=5.0)
clf.partial_fit(X, Y, classes=np.unique(Y))
clf.partial_fit(X + 0.1, Y)
result = clf.predict([[-0.8, -1]]), clf.guarantee_
""",
    "naive bayes with priors": """
from gaugedp.estimators import GaussianNB
X, y = np.array([[20.0], [60.0]] * 100), np.array(["low", "high"] * 100)
clf = GaussianNB(priors=[0.3, 0.7], var_smoothing=1e-9, bounds=(0, 100), classes=["low", "high"]).fit(X, y)
result = clf.class_prior_, clf.predict_log_proba(X[:2])
""",
    "k-means": """
from gaugedp.estimators import KMeans
X = np.array([[1, 2], [1, 4], [1, 0], [10, 2], [10, 4], [10, 0]])
kmeans = KMeans(n_clusters=2, random_state=0, n_init="auto", bounds=(0, 12)).fit(X)
result = kmeans.predict([[0, 0], [12, 3]]), kmeans.cluster_centers_
""",
    "distances to the centres": """
from sklearn.datasets import make_blobs
from gaugedp.estimators import KMeans
X, _ = make_blobs(n_samples=500, centers=3, random_state=1)
km = KMeans(n_clusters=3, init="k-means++", n_init=10, max_iter=300, tol=1e-4, bounds=(-15, 15), epsilon=3.0)
distances = km.fit_transform(X)
assert distances.shape == (500, 3) and (distances.argmin(axis=1) == km.predict(X)).mean() > 0.98
result = km.score(X)
""",
    "principal components": """
from sklearn.datasets import load_iris
from gaugedp.estimators import PCA
X, y = load_iris(return_X_y=True)
pca = PCA(n_components=2, bounds=(0, 8), epsilon=5.0, delta=1e-5)
X_r = pca.fit(X).transform(X)
result = pca.explained_variance_ratio_, X_r
""",
    "components that explain 95 % of the variance": """
from sklearn.datasets import load_digits
from gaugedp.estimators import PCA
X, _ = load_digits(return_X_y=True)
pca = PCA(n_components=0.95, svd_solver="full", bounds=(0, 16), epsilon=10.0, delta=1e-5).fit(X)
assert 1 <= pca.n_components_ <= 64
result = pca.inverse_transform(pca.transform(X))
""",
    "whitened components": """
from sklearn.datasets import load_iris
from gaugedp.estimators import PCA
X, _ = load_iris(return_X_y=True)
pca = PCA(n_components=2, whiten=True, svd_solver="randomized", bounds=(0, 8), epsilon=10.0, delta=1e-5)
Z = pca.fit_transform(X)
assert np.isfinite(Z).all()
result = pca.inverse_transform(Z)
""",
    "a standard scaler": """
from gaugedp.estimators import StandardScaler
data = [[0, 0], [0, 0], [1, 1], [1, 1]]
scaler = StandardScaler(copy=True, bounds=(0, 2))
scaler.fit(data)
result = scaler.mean_, scaler.transform(data), scaler.transform([[2, 2]])
assert np.allclose(scaler.inverse_transform(scaler.transform(data)), data)
""",
    "a scaler in batches": """
from gaugedp.estimators import StandardScaler
scaler = StandardScaler(bounds=(0, 1), epsilon=1.0)
for batch in np.array_split(np.random.default_rng(0).random((1000, 2)), 4):
    scaler.partial_fit(batch)
result = scaler.mean_, scaler.guarantee_
""",
    "imputation": """
from gaugedp.estimators import SimpleImputer
imp = SimpleImputer(missing_values=np.nan, strategy="mean", bounds=(0, 10))
imp.fit([[1, 2], [np.nan, 3], [7, 6]])
result = imp.transform([[np.nan, 2], [6, np.nan], [7, 6]])
""",
    "a grid search": """
from sklearn.datasets import load_iris
from gaugedp.estimators import LogisticRegression, PrivateSearchCV
X, y = load_iris(return_X_y=True)
model = LogisticRegression(bounds=(0, 8), classes=[0, 1, 2])
search = PrivateSearchCV(model, {"C": [0.01, 1.0]}, cv=5, scoring="accuracy", n_jobs=1, epsilon=5.0, delta=1e-6)
search.fit(X, y)
result = search.best_params_, search.predict_proba(X[:3]), search.score(X, y)
""",
    "scores of a search": """
from sklearn.datasets import make_classification
from gaugedp.estimators import LinearSVC, PrivateSearchCV
X, y = make_classification(n_samples=500, random_state=0)
search = PrivateSearchCV(LinearSVC(bounds=(-6, 6), classes=[0, 1]), {"radius": [1.0, 10.0]}, refit=True, epsilon=3.0)
result = search.fit(X, y).decision_function(X[:3])
""",
    "cross-validation": """
from sklearn.datasets import load_iris
from sklearn.model_selection import cross_val_score
from gaugedp.estimators import LogisticRegression
X, y = load_iris(return_X_y=True)
scores = cross_val_score(LogisticRegression(bounds=(0, 8), classes=[0, 1, 2], epsilon=5.0), X, y, cv=5)
result = scores.mean()
""",
    "sparse text features": """
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.pipeline import make_pipeline
from gaugedp.estimators import LogisticRegression
texts, y = ["good film", "bad film", "a good one", "a bad one"] * 50, [1, 0, 1, 0] * 50
model = make_pipeline(HashingVectorizer(n_features=32), LogisticRegression(row_norm=1.0, classes=[0, 1], epsilon=3.0))
result = model.fit(texts, y).predict(["good", "bad"])
""",
    "a sparse matrix": """
from scipy.sparse import csr_matrix
from gaugedp.estimators import GaussianNB, Ridge
X, y = csr_matrix(np.eye(4)[np.arange(200) % 4]), np.arange(200) % 2
result = Ridge(bounds=(0, 1), target_bounds=(0, 1)).fit(X, y).predict(X)
dense = GaussianNB(bounds=(0, 1), classes=[0, 1], random_state=1).fit(X.toarray(), y)
assert (GaussianNB(bounds=(0, 1), classes=[0, 1], random_state=1).fit(X, y).theta_ == dense.theta_).all()
""",
    "one-hot columns beside numbers": """
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from gaugedp.estimators import LogisticRegression
df = pd.DataFrame({"city": ["Paris", "Rome"] * 100, "age": np.arange(200) % 90})
encode = ColumnTransformer([("city", OneHotEncoder(categories=[["Paris", "Rome"]]), ["city"])], remainder="passthrough")
bounds = ([0, 0, 0], [1, 1, 90])
model = make_pipeline(encode, LogisticRegression(bounds=bounds, classes=["no", "yes"], epsilon=2.0))
result = model.fit(df, np.array(["yes", "no"] * 100)).predict(df[:2])
""",
    "a random state of numpy": """
from gaugedp.estimators import LogisticRegression
X, y = np.random.RandomState(3).randn(300, 2), np.arange(300) % 2
first, second = np.random.RandomState(0), np.random.RandomState(0)
model = LogisticRegression(random_state=first, bounds=(-3, 3), classes=[0, 1]).fit(X, y)
again = LogisticRegression(random_state=second, bounds=(-3, 3), classes=[0, 1]).fit(X, y)
assert (model.coef_ == again.coef_).all() and (model.coef_ != again.fit(X, y).coef_).all()
result = LogisticRegression(random_state=np.random.default_rng(0), bounds=(-3, 3), classes=[0, 1]).fit(X, y).coef_
""",
    "calibration curves and metrics": """
from sklearn.datasets import make_classification
from sklearn.metrics import brier_score_loss, roc_auc_score
from gaugedp.estimators import LogisticRegression
X, y = make_classification(n_samples=1000, random_state=0)
probabilities = LogisticRegression(bounds=(-6, 6), classes=[0, 1], epsilon=3.0).fit(X, y).predict_proba(X)[:, 1]
result = roc_auc_score(y, probabilities), brier_score_loss(y, probabilities)
""",
    "one model for each class": """
from sklearn.datasets import load_iris
from sklearn.multiclass import OneVsRestClassifier
from gaugedp.estimators import LinearSVC
X, y = load_iris(return_X_y=True)
result = OneVsRestClassifier(LinearSVC(bounds=(0, 8), classes=[0, 1], epsilon=5.0)).fit(X, y).predict(X)
""",
    "cloning and parameters": """
from sklearn.base import clone
from gaugedp.estimators import Lasso
model = clone(Lasso(alpha=0.5, max_iter=5000, bounds=(0, 1), target_bounds=(0, 1))).set_params(alpha=0.2)
assert model.get_params()["alpha"] == 0.2 and model.get_params()["max_iter"] == 5000
result = repr(model)
""",
    "a sample weight": """
from gaugedp.estimators import LinearRegression
X, y = np.arange(100.0).reshape(-1, 1), np.arange(100.0)
reg = LinearRegression(bounds=(0, 100), target_bounds=(0, 100), epsilon=5.0, delta=1e-6)
result = reg.fit(X, y, sample_weight=np.ones(100)).predict([[50]])
""",
    "pickling": """
import pickle
from gaugedp.estimators import KMeans
X = np.random.default_rng(0).random((100, 2))
model = pickle.loads(pickle.dumps(KMeans(n_clusters=2, bounds=(0, 1)).fit(X)))
result = model.transform(X)
""",
    "feature names": """
import pandas as pd
from gaugedp.estimators import KMeans, PCA, StandardScaler
df = pd.DataFrame(np.random.default_rng(0).random((100, 2)), columns=["height", "weight"])
scaler = StandardScaler(bounds=(0, 1)).set_output(transform="pandas").fit(df)
assert list(scaler.transform(df).columns) == ["height", "weight"]
result = KMeans(n_clusters=2, bounds=(0, 1)).fit(df).get_feature_names_out()
""",
}


def run(text: str) -> object:
    """Run a snippet and return its `result`, which it must have."""
    names: dict[str, object] = {"np": np}
    exec(compile(text, "snippet", "exec"), names)
    return names["result"]


@pytest.mark.parametrize("name", SNIPPETS)
def test_a_snippet_works(name: str) -> None:
    run(SNIPPETS[name])


def test_there_are_forty_for_every_estimator() -> None:
    from gaugedp import estimators

    assert len(SNIPPETS) == 40
    # scikit-learn has none of these
    own = {"Mean", "SparseMean", "SparseRegression", "TraceRegression", "MatrixCompletion", "TopEigenvector"}
    own |= {"LowRankCovariance", "DomainFeatures", "ScoreReport", "AdditiveClassifier", "AdditiveRegressor"}
    kinds = {name for name in estimators.__all__ if isinstance(getattr(estimators, name), type)} - own
    missing = {name for name in kinds if issubclass(getattr(estimators, name), estimators.Mean.__mro__[1])}
    assert not {name for name in missing if not any(name in text for text in SNIPPETS.values())}


def test_at_least_36_snippets_work_without_any_warning() -> None:
    working = 0
    for text in SNIPPETS.values():
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.filterwarnings("ignore", "The same rows are fitted again")
            warnings.filterwarnings("ignore", "The noise of this fit")  # of small tables
            try:
                run(text)
            except Exception:
                continue
        working += 1
    assert working >= 36
