# Needs python3 (3.11 or newer), pip and make; everything else goes into .venv.
#   make demo    the examples on real data, in-process and on two worker processes
#   make test    lint, types, tests, documentation examples
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet --no-input
PYTEST_ARGS ?=

# The lowest Dask that pyproject.toml allows, read from there.
LOWEST_DASK = $(shell sed -n 's/^ *"dask>=\([0-9.]*\)".*/\1/p' pyproject.toml)
SOURCES = $(shell find lineal planner kernels engine -name '*.py') pyproject.toml

.PHONY: demo test lint types check docs bench test-wheel test-lowest-dask dist clean

demo: $(VENV)/.demo
	$(BIN)/lineal demo

test: lint types check

check: $(VENV)/.test
	$(BIN)/python -m pytest $(PYTEST_ARGS)

lint: $(VENV)/.test build/types/.stamp
	$(BIN)/ruff check .
	cd build/types && PYTHONPATH=. ../../$(BIN)/lint-imports --config ../../pyproject.toml --no-cache

types: $(VENV)/.test build/types/.stamp
	cd build/types && ../../$(BIN)/python -m mypy --config-file ../../pyproject.toml

docs: $(VENV)/.test
	$(BIN)/python -m pytest tests/test_docs.py

bench: $(VENV)/.test
	$(BIN)/python -m bench

# The packages as users get them: wheel built from the sdist, installed elsewhere, tests taken from
# the sdist and run in a folder where no source lies.
test-wheel: dist
	rm -rf build/outside
	mkdir -p build/outside/sdist build/outside/run
	tar -xzf dist/lineal-*.tar.gz --strip-components=1 -C build/outside/sdist
	cp -r build/outside/sdist/tests build/outside/sdist/examples build/outside/sdist/pyproject.toml build/outside/run
	$(call make_venv,build/outside/venv)
	build/outside/venv/bin/python -m pip --disable-pip-version-check --quiet --no-input install \
	    "$$(ls dist/lineal-*.whl)[demo,io]" pytest pytest-timeout hypothesis
	cd build/outside/run && ../venv/bin/python -c 'import lineal, pathlib; assert "site-packages" in lineal.__file__, lineal.__file__'
	cd build/outside/run && ../venv/bin/python -m pytest -m 'not checkout and not slow' $(PYTEST_ARGS)

test-lowest-dask: .venv-lowest/.stamp
	.venv-lowest/bin/python -m pytest -m dask_versions $(PYTEST_ARGS)

dist: $(VENV)/.test
	rm -rf dist
	$(BIN)/python -m build --no-isolation --outdir dist . >build/dist.log 2>&1 || { cat build/dist.log; exit 1; }
	ls dist

clean:
	rm -rf $(VENV) .venv-lowest build dist lineal.egg-info

# Where Python lacks ensurepip, the pip that is there installs one.
define make_venv
	$(PYTHON) -m venv $(1) 2>/dev/null || { \
	    rm -rf $(1); $(PYTHON) -m venv --without-pip $(1) \
	    && $(PYTHON) -m pip --python $(1)/bin/python --quiet install pip; }
endef

$(VENV)/.base: pyproject.toml lineal/_version.py
	$(call make_venv,$(VENV))
	$(PIP) install -e .
	touch $@

$(VENV)/.demo: $(VENV)/.base
	$(PIP) install -e '.[demo]'
	touch $@

$(VENV)/.test: $(VENV)/.base
	$(PIP) install -e '.[test,io]'
	@mkdir -p build
	touch $@

.venv-lowest/.stamp: pyproject.toml lineal/_version.py
	$(call make_venv,.venv-lowest)
	.venv-lowest/bin/python -m pip --disable-pip-version-check --quiet --no-input install -e '.[demo,io]' \
	    dask==$(LOWEST_DASK) distributed==$(LOWEST_DASK) 'pandas<3' \
	    pytest pytest-timeout hypothesis
	touch $@

build/types/.stamp: $(SOURCES) $(VENV)/.test
	rm -rf build/types
	$(PIP) install --no-deps --no-build-isolation --target build/types .
	touch $@
