# Portolan: `make demo` charts this machine, `make test` says whether all is well.

PYTHON ?= python3
TARGETS ?=
IMAGES ?=
BENCH ?=
FRAMEWORKS := jax tensorflow torch
# What compose.yaml serves unless a profile is chosen.
CONTAINERS := jax/cpu tensorflow/cpu tensorflow/xla torch/cpu torch/xla
# A target's service has its name; Compose adds what it depends on.
comma := ,
SERVICES = $(subst /,-,$(subst $(comma), ,$(TARGETS)))

OTHER_TESTS := test-browser $(FRAMEWORKS:%=test-%) test-toy

MATRIX := tests/faults/matrix/test_fault_matrix.py

BIN := .venv/bin
# Whenever the lock changes, so does the stamp's name, and .venv is brought up to date.
STAMP := .venv/set-up-$(shell cat coordinator/lock.txt pyproject.toml | cksum | cut -d ' ' -f 1)

.PHONY: help setup demo images demo-docker lock test test-processes test-coordinator $(OTHER_TESTS) test-containers test-faults lint bench screenshots clean
.DEFAULT_GOAL := help

help:
	@echo 'make setup                     .venv with the command line and the development tools'
	@echo 'make demo [TARGETS=torch/cpu]  set up, start, chart this machine, show the matrix'
	@echo 'make images [IMAGES=jax-cpu]   build the images of the containers (docker/bake.hcl)'
	@echo 'make demo-docker [TARGETS=…]   the same chart from containers: PostgreSQL, coordinator, runners'
	@echo 'make test                      all set-up and all tests'
	@echo 'make test-torch                one part of them: coordinator, browser, jax, tensorflow, torch, toy, containers, faults'
	@echo 'make lint                      ruff, mypy and the directions of imports'
	@echo 'make lock [UPGRADE=1]          pin the packages of every environment, with their hashes'
	@echo 'make bench [BENCH=name]        measure; each figure is one line of JSON'
	@echo 'make screenshots               pictures of the main pages, docs/images/, with Chromium'
	@echo 'make clean                     remove .venv and caches; data and frameworks stay'

$(STAMP):
	@$(PYTHON) scripts/setup.py $@

setup: $(STAMP)

demo: $(STAMP)
	@$(BIN)/portolan demo $(if $(TARGETS),--targets "$(TARGETS)")

images: $(STAMP)
	@$(BIN)/python scripts/images.py $(IMAGES)

# The containers go on afterwards; `docker compose down` ends them and keeps the data.
demo-docker: $(STAMP)
	@$(BIN)/python scripts/images.py $(or $(IMAGES),$(if $(SERVICES),--for $(SERVICES)))
	docker compose up --detach --wait $(SERVICES)
	@$(BIN)/portolan demo --url "http://127.0.0.1:$${PORTOLAN_PORT:-8642}" --targets "$(or $(TARGETS),$(CONTAINERS))"

lock: $(STAMP)
	@$(BIN)/python scripts/lock.py $(if $(UPGRADE),--upgrade)

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# The tests of containers mostly wait, so they run beside the others, and are shown when they have ended.
test: lint
	set -e; for framework in $(FRAMEWORKS); do $(BIN)/portolan-runner setup "$$framework"; done
	@$(MAKE) --no-print-directory --jobs 2 --output-sync=target test-processes test-containers
	@$(MAKE) --no-print-directory test-faults

# The coordinator's are shown as they run; the others go two at a time, each shown when it has ended. What fails keeps
# none of the rest from being run.
test-processes:
	@failed=0; \
	$(MAKE) --no-print-directory --jobs 1 --output-sync=none test-coordinator || failed=1; \
	$(MAKE) --no-print-directory --jobs 2 --output-sync=target --keep-going $(OTHER_TESTS) || failed=1; \
	exit $$failed

test-coordinator $(OTHER_TESTS) test-containers test-faults: $(STAMP)

# The files that take minutes come first, and those that take none fill up what is left: the other way round, one process
# goes on for minutes when the others have ended.
test-coordinator:
	$(BIN)/python -m pytest --numprocesses 3 --dist loadfile --no-loadscope-reorder --ignore $(MATRIX) \
		tests/acceptance tests/faults tests/integration tests/unit

# It promises when campaigns end, so nothing else is at work beside it.
test-faults:
	$(BIN)/python -m pytest $(MATRIX)

test-browser:
	$(BIN)/python -m pytest tests/browser

# A framework's own tests run where it is installed, the others beside the coordinator.
$(FRAMEWORKS:%=test-%): test-%:
	environment="$$($(BIN)/portolan-runner setup $*)" && \
	PYTHONPATH="$(CURDIR)" "$$environment/bin/python" -m pytest -c tests/frameworks/$*/pytest.ini tests/frameworks/$*

test-toy:
	toy="$$($(BIN)/portolan-runner setup torch --with ./examples/accelerator)" && \
	PYTHONPATH="$(CURDIR)" "$$toy/bin/python" -m pytest -c tests/frameworks/toy/pytest.ini tests/frameworks/toy

test-containers:
	$(BIN)/python -m pytest tests/containers

bench: $(STAMP)
	$(BIN)/python -m bench $(BENCH)

screenshots: $(STAMP)
	@$(BIN)/python -m scripts.screenshots $(if $(TARGETS),--targets "$(TARGETS)")

clean:
	rm -rf .venv build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
