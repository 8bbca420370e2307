# The first `make demo` or `make test` creates .venv from the hashed lock; nothing outside the lock is installed.
.DEFAULT_GOAL := help
SHELL := /bin/sh
MAKEFLAGS += --no-print-directory
# Tests start many processes: compiled files are kept, even where the environment says not to write them.
export PYTHONDONTWRITEBYTECODE :=

VENV   := .venv
RUN    := $(VENV)/bin/python
UV     := $(shell uv --version >/dev/null 2>&1 && command -v uv)

# The first interpreter that starts and is new enough. `make test PYTHON=/path/to/python` overrides it.
# Without uv the interpreter must be able to make an environment, so ensurepip is asked for too.
NEEDS  := sys$(if $(UV),,; import ensurepip)
PYTHON ?= $(shell for python in python3.13 python3.12 python3.11 python3; do \
	$$python -c 'import $(NEEDS); sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && echo $$python && break; done)

LOCK_OPTIONS := --quiet --universal --python-version 3.11 --fork-strategy fewest --generate-hashes \
	--no-emit-index-url --no-emit-find-links --no-annotate --no-header

# Without the theme's notice about its successor. Never --quiet: it hides warnings from --strict.
SITE := NO_MKDOCS_2_WARNING=1 $(RUN) -m mkdocs

# The oldest versions that pyproject.toml allows, on the oldest Python. Left out: what old pandas and polars cannot hold.
OLDEST     := $(VENV)-oldest
OLD_PYTHON := $(shell python3.11 -c 'import ensurepip' >/dev/null 2>&1 && command -v python3.11)
# Its OpenBLAS takes processors that it does not know for one of 2004, where scikit-learn's checks pickle no fit.
OLD_CORE   := $(shell grep -qw avx2 /proc/cpuinfo 2>/dev/null && echo OPENBLAS_CORETYPE=Haswell)
LEANING    := tests/cli tests/estimators tests/release tests/samplers tests/tables/test_duckdb.py \
	tests/ledger/test_ledger_open.py tests/ledger/test_ledger_reserve.py

BENCH  := $(VENV)-bench
# Two workers, each with one thread of OpenBLAS: more would wait for each other at full load.
PYTEST := OPENBLAS_NUM_THREADS=1 $(RUN) -m pytest -n 2 --dist loadgroup -rs

# How age, schooling and income differ between women and men.
DEMO_QUERY := AGEP*SEX; SEX*EDU; mean(PINCP) by SEX; AGEP; SEX

WORLDS       ?= 10000
COMPOSITIONS ?= 20000
ifndef SEED
SEED := $(shell date +%s)
endif

.PHONY: help demo test thorough long laws wheel newer mutants oldest bench docs changelog lock lint format pictures browser spark clean

help: ## show this list
	@sed -n 's/^\([a-z]*\):[^#]*## \(.*\)/  make \1|\2/p' Makefile | column -t -s '|' 2>/dev/null \
		|| sed -n 's/^\([a-z]*\):[^#]*## /  make \1: /p' Makefile

demo: $(VENV)/runtime ## release tables from a public survey excerpt and write report.html
	@echo "The demo starts with a new ledger each time: demo-out/ is removed first. Never remove a real ledger."
	@rm -rf demo-out report.html && mkdir demo-out
	$(VENV)/bin/gaugedp release examples/acs/acs_ma2018.csv --domain examples/acs/domain.toml \
		--query "$(DEMO_QUERY)" --epsilon 1 --ledger demo-out/demo.ledger --budget 2 \
		--out demo-out/answers.csv --report report.html
	@echo "Open report.html in a browser. The same answers are in demo-out/answers.csv."

test: lint ## style, types and the tests that take minutes; the reasons for skipped tests come last
	$(PYTEST) --dist loadfile -m "not thorough"

thorough: $(VENV)/project ## the long tests, the servers, the browser, the oldest versions, newer Pythons, the wheel
	@if command -v java >/dev/null; then \
		$(MAKE) spark || echo "pyspark could not be installed: the tests of Spark will be skipped."; fi
	@status=0; for part in long wheel oldest newer; do $(MAKE) $$part || status=1; done; exit $$status

long: $(VENV)/project ## the tests that make test leaves out
	$(PYTEST) -m thorough

laws: $(VENV)/project ## general laws on random inputs; WORLDS=10000 COMPOSITIONS=20000 SEED=7 say how many, and which
	@echo "Seed $(SEED): $(COMPOSITIONS) compositions, $(WORLDS) worlds."
	GAUGEDP_LAWS_SEED=$(SEED) GAUGEDP_LAWS_COMPOSITIONS=$(COMPOSITIONS) GAUGEDP_LAWS_WORLDS=$(WORLDS) \
		$(PYTEST) tests/laws

wheel: $(VENV)/project ## build the sdist and the wheel, and release with the wheel in an empty environment
	@rm -rf dist $(VENV)-wheel && $(RUN) -m hatchling build && $(NEW) $(VENV)-wheel
	@$(subst $(RUN),$(VENV)-wheel/bin/python,$(INSTALL)) --require-hashes -r requirements-demo.lock
	@$(subst $(RUN),$(VENV)-wheel/bin/python,$(INSTALL)) --no-deps dist/*.whl
	@cd $(VENV)-wheel && bin/gaugedp release ../examples/acs/acs_ma2018.csv --domain ../examples/acs/domain.toml \
		--query "SEX" --epsilon 1 --ledger wheel.ledger --budget 1

newer: ## make test on every newer Python that is installed
	@status=0; for version in 3.12 3.13 3.14; do \
		if python$$version -c 'import ensurepip' >/dev/null 2>&1 && [ "$(PYTHON)" != python$$version ]; then \
		$(MAKE) VENV=$(VENV)-$$version PYTHON=python$$version test || status=1; \
		else echo "No other python$$version with ensurepip: skipped."; fi; done; exit $$status

mutants: $(VENV)/project ## plant faults one at a time and say which the tests catch; ROOM=ledger or ONLY=word plants some, QUICK=1 runs the tests of make test
	@$(RUN) -m tests.mutants.run $(if $(ROOM),--room $(ROOM)) $(if $(ONLY),--only $(ONLY)) $(if $(QUICK),--quick)

oldest: ## tests of the parts that lean on other libraries, with the oldest versions that are allowed
	@if [ -z "$(OLD_PYTHON)" ]; then echo "make oldest needs Python 3.11: skipped."; else \
		$(MAKE) $(OLDEST)/project && $(OLD_CORE) $(OLDEST)/bin/python -m pytest -n 2 --dist loadgroup \
		-W ignore::DeprecationWarning --ignore tests/estimators/test_ids.py --ignore tests/cli/test_audit.py \
		--deselect tests/tables/test_duckdb.py::test_names_that_look_like_patterns \
		-m "not statistical and not slow" $(LEANING); fi

lint: $(VENV)/project ## style and types only
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .
	$(RUN) -m mypy

format: $(VENV)/project ## rewrite the files in the house style
	$(RUN) -m ruff check --fix .
	$(RUN) -m ruff format .

bench: $(BENCH)/project ## measure against peers and write docs/benchmarks/summary.md; DATA=folder of adult.csv and the like
	$(BENCH)/bin/python benchmarks/summary.py measure $(DATA)

docs: $(VENV)/docs ## build the site with tutorials, proofs and reference into site/; open site/index.html
	$(SITE) build --strict --site-dir site
	@echo "Open site/index.html in a browser. It needs no server and no network."

changelog: ## join the fragments of changelog.d into CHANGELOG.md
	@$(PYTHON) -m docs.hooks.changelog

pictures: $(VENV)/project ## take the pictures of the docs again (the browser comes from the system)
	$(RUN) -m examples.pictures

browser: $(VENV)/browser ## add the package that the browser test needs (the browser itself comes from the system)

spark: $(VENV)/spark ## add the package that the tests of Spark need (Java comes from the system)

lock: ## write the lock files again from pyproject.toml (needs uv; UPGRADE=1 takes newer versions)
	@[ -n "$(UV)" ] || { echo "make lock needs uv on the PATH."; exit 2; }
	uv pip compile $(LOCK_OPTIONS) $(if $(UPGRADE),--upgrade) pyproject.toml --extra report \
		--group build --group test -o requirements.lock
	uv pip compile $(LOCK_OPTIONS) $(if $(UPGRADE),--upgrade) -c requirements.lock pyproject.toml --extra report \
		--group build -o requirements-demo.lock
	uv pip compile $(LOCK_OPTIONS) $(if $(UPGRADE),--upgrade) pyproject.toml --extra learn --extra report \
		--group build --group bench -o requirements-bench.lock
	uv pip compile $(LOCK_OPTIONS) $(if $(UPGRADE),--upgrade) -c requirements.lock --group browser -o requirements-browser.lock
	uv pip compile $(LOCK_OPTIONS) $(if $(UPGRADE),--upgrade) -c requirements.lock --group spark -o requirements-spark.lock
	uv pip compile $(LOCK_OPTIONS) $(if $(UPGRADE),--upgrade) -c requirements.lock --group docs -o requirements-docs.lock
	uv pip compile $(filter-out --universal --fork-strategy fewest,$(LOCK_OPTIONS)) --resolution lowest-direct pyproject.toml \
		--extra learn --extra report --group build --group test -o requirements-oldest.lock

clean: ## remove .venv and its neighbours, caches, the site and what the demo wrote
	rm -rf $(VENV) $(VENV)-* demo-out report.html site .pytest_cache .ruff_cache .mypy_cache .hypothesis dist build
	find src tests benchmarks examples docs -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

# Stamps: the environment is made again when the lock changes, the project is linked again when pyproject.toml does.
ifneq ($(UV),)
INSTALL := $(UV) pip install --quiet --python $(RUN)
NEW     := $(UV) venv --quiet --clear --python "$(or $(PYTHON),>=3.11)"
else
INSTALL := $(RUN) -m pip install --quiet --disable-pip-version-check --no-compile
NEW     := "$(PYTHON)" -m venv --clear
endif

$(VENV)/lock: requirements-demo.lock
	@[ -n "$(PYTHON)$(UV)" ] || { \
		echo "gaugedp needs Python 3.11 or newer with the venv module, and found none."; \
		echo "Install one (on Debian and Ubuntu: python3 and python3-venv), or name one: make PYTHON=/path/to/python3"; \
		exit 2; }
	@echo "Creating $(VENV) from requirements-demo.lock, once ..."
	@$(NEW) $(VENV)
	@$(INSTALL) --require-hashes -r requirements-demo.lock
	@touch $@

$(VENV)/runtime: $(VENV)/lock pyproject.toml
	@$(INSTALL) --no-index --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/project: $(VENV)/runtime requirements.lock
	@echo "Adding the tools of requirements.lock to $(VENV), once ..."
	@$(INSTALL) --require-hashes -r requirements.lock
	@touch $@

$(BENCH)/project: $(VENV)/project requirements-bench.lock pyproject.toml
	@echo "Creating $(BENCH) from requirements-bench.lock, once ..."
	@$(NEW) $(BENCH)
	@$(subst $(RUN),$(BENCH)/bin/python,$(INSTALL)) --require-hashes -r requirements-bench.lock
	@$(subst $(RUN),$(BENCH)/bin/python,$(INSTALL)) --no-index --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/browser: $(VENV)/project requirements-browser.lock
	@$(INSTALL) --require-hashes -r requirements-browser.lock
	@touch $@

$(VENV)/spark: $(VENV)/project requirements-spark.lock
	@echo "Adding pyspark to $(VENV), once (some 400 MB) ..."
	@$(INSTALL) --require-hashes -r requirements-spark.lock
	@touch $@

$(VENV)/docs: $(VENV)/project requirements-docs.lock
	@$(INSTALL) --require-hashes -r requirements-docs.lock
	@touch $@

$(OLDEST)/project: requirements-oldest.lock pyproject.toml
	@echo "Creating $(OLDEST) from requirements-oldest.lock, once ..."
	@$(OLD_PYTHON) -m venv --clear $(OLDEST)
	@$(subst $(RUN),$(OLDEST)/bin/python,$(INSTALL)) --require-hashes -r requirements-oldest.lock
	@$(subst $(RUN),$(OLDEST)/bin/python,$(INSTALL)) --no-index --no-deps --no-build-isolation --editable .
	@touch $@
