# `make demo` and `make test` need python3 (3.10 or newer). They set up everything else, once.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
HERONPY := 0.20.5
FRAMEWORKS := heronpy==$(HERONPY) streamparse==5.0.1 pystorm==3.1.4 petrel==1.0.3.0.3.post1
COMPONENTS ?= .demo/components
FETCH := -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all:

STORM := 2.8.3

# The tests start hundreds of interpreters: without bytecode files each would compile the package again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test test-all docs bench clean frameworks

help:
	@echo "make demo   lint our fixtures, then the bolts inside the published heronpy wheel"
	@echo "make test   format, lint, types, import contracts, tests"
	@echo "make test-all  the same, the tests that take minutes, and the documentation"
	@echo "make docs   build the documentation into .docs/html"
	@echo "make bench  measure the speed; COMPONENTS=folder of your own bolts (see benchmarks/)"
	@echo "make clean  remove all set-up"

demo: $(VENV)/.runtime .demo/heronpy/.unpacked
	@echo; echo "== our fixtures"
	@$(BIN)/ackdoctor lint --isolated --exit-zero fixtures/topologies
	@echo; echo "== the published heronpy $(HERONPY)"
	@cd .demo/heronpy && ../../$(BIN)/ackdoctor lint --isolated --exit-zero .

test: $(VENV)/.dev .frameworks/.unpacked
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pytest -n 2 --dist worksteal

test-all: test docs
	$(BIN)/pytest -m minutes -n 2 --dist loadgroup

docs: $(VENV)/.docs
	$(BIN)/python docs/generate.py .docs/source
	$(BIN)/sphinx-build -q -W -b dirhtml .docs/source .docs/html

bench: $(VENV)/.bench .demo/components/.unpacked
	$(BIN)/python benchmarks/speed.py $(COMPONENTS) $(VENV)/lib/python3*/site-packages

frameworks: .frameworks/.unpacked

clean:
	rm -rf $(VENV) .docs .demo .frameworks .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "ackdoctor needs Python 3.10 or newer: make PYTHON=python3.x")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.runtime: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable .
	@touch $@

$(VENV)/.dev: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	@touch $(VENV)/.runtime $@

$(VENV)/.docs: $(VENV)/.runtime
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[docs]'
	@touch $@

.demo/heronpy/.unpacked: | $(VENV)/.runtime
	@mkdir -p .demo
	$(BIN)/python $(FETCH) --dest .demo heronpy==$(HERONPY)
	$(BIN)/python -m zipfile -e .demo/heronpy-$(HERONPY)-*.whl .demo/heronpy
	@touch $@

$(VENV)/.bench: $(VENV)/.dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt fixit
	@touch $@

.demo/components/.unpacked: | $(VENV)/.runtime
	@mkdir -p .demo/components
	$(BIN)/python $(FETCH) --dest .demo/components $(FRAMEWORKS)
	@touch .demo/components/pyproject.toml # a project of its own: otherwise Fixit applies our .gitignore
	@cd .demo/components && for wheel in *.whl; do ../../$(BIN)/python -m zipfile -e $$wheel .; done
	@touch $@

# Frameworks whose components the tests run. pyleus's setup.py needs an old setuptools, hence the constraint. storm.py
# is published to Maven's repositories only.
.frameworks/.unpacked: tests/frameworks.txt | $(VENV)/.dev
	@rm -rf .frameworks
	PIP_CONSTRAINT=$< $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --target .frameworks --requirement $<
	@if command -v mvn >/dev/null; then \
	  mvn --quiet --batch-mode dependency:copy -Dartifact=org.apache.storm:multilang-python:$(STORM) -DoutputDirectory=.frameworks \
	  && $(BIN)/python -m zipfile -e .frameworks/multilang-python-$(STORM).jar .frameworks/storm \
	  || echo "Maven cannot fetch it: the tests of Storm's storm.py are skipped"; \
	else echo "no Maven here: the tests of Storm's storm.py are skipped"; fi
	@touch $@
