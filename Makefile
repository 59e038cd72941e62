# Portolan: `make demo` charts this machine, `make test` says whether all is well.

PYTHON ?= python3
TARGETS ?=
IMAGES ?=
BENCH ?=
MUTANTS ?=
SEED ?=
FRAMEWORKS := jax tensorflow torch
# What compose.yaml serves unless a profile is chosen.
CONTAINERS := jax/cpu tensorflow/cpu tensorflow/xla torch/cpu torch/xla
# A target's service has its name; Compose adds what it depends on.
comma := ,
SERVICES = $(subst /,-,$(subst $(comma), ,$(TARGETS)))

# tests/parts/plan.py says what they are.
PARTS := unit coordinator browser containers faults $(FRAMEWORKS) toy

BIN := .venv/bin
# Beside the environments that portolan-runner keeps: a fresh clone need not check all types again.
CACHE := $(or $(PORTOLAN_CACHE),$(XDG_CACHE_HOME),$(HOME)/.cache)/portolan
# Whenever the lock changes, so does the stamp's name, and .venv is brought up to date.
STAMP := .venv/set-up-$(shell cat coordinator/lock.txt pyproject.toml | cksum | cut -d ' ' -f 1)

.PHONY: help setup demo images demo-docker lock frameworks test test-whole $(PARTS:%=test-%) test-cost test-sizes lint docs bench check-stubs test-mutants screenshots clean
.DEFAULT_GOAL := help

help:
	@echo 'make setup                     .venv with the command line and the development tools'
	@echo 'make demo [TARGETS=torch/cpu]  set up, start, chart this machine, show the matrix'
	@echo 'make images [IMAGES=jax-cpu]   build the images of the containers (docker/bake.hcl)'
	@echo 'make demo-docker [TARGETS=…]   the same chart from containers: PostgreSQL, coordinator, runners'
	@echo 'make test                      all set-up and the tests of level 1: every claim, long lists by a draw'
	@echo 'make test-whole                the tests of level 2: every member of every list'
	@echo 'make test-torch                one part of them: unit, coordinator, browser, jax, tensorflow, torch, toy, containers, faults'
	@echo 'make test-cost                 what the last run of them cost, by part and file'
	@echo 'make test-sizes                keep how many tests the last run had, and how long they took'
	@echo 'make lint                      ruff, mypy and the directions of imports'
	@echo 'make lock [UPGRADE=1]          pin the packages of every environment, with their hashes'
	@echo 'make docs                      write the tables of the documentation that come from the code'
	@echo 'make bench [BENCH=name]        measure; each figure is one line of JSON'
	@echo 'make check-stubs               torch without CUDA against torch with it, every case, for hours'
	@echo 'make test-mutants [MUTANTS=30] make mistakes in a copy of the product; the tests must notice each'
	@echo 'make screenshots               pictures for the README, docs/images/, with Chromium'
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

docs: $(STAMP)
	@$(BIN)/python -m scripts.docs

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --cache-dir "$(CACHE)/mypy"
	$(BIN)/lint-imports

# All parts from one queue; `make test-whole` is for a release, `make test` for a change (tests/levels.py).
test: frameworks
	@$(BIN)/python -m tests.parts

test-whole: frameworks
	@PORTOLAN_TEST_LEVEL=2 $(BIN)/python -m tests.parts

frameworks: $(STAMP)
	@for framework in $(FRAMEWORKS); do $(BIN)/portolan-runner setup "$$framework" || exit; done

$(PARTS:%=test-%): test-%: $(STAMP)
	@$(BIN)/python -m tests.parts $*

test-cost test-sizes: test-%: $(STAMP)
	@$(BIN)/python -m tests.parts --$*

# torch without CUDA's packages against torch with them: hours, for a new version of torch.
check-stubs: $(STAMP)
	@$(BIN)/python scripts/check_stubs.py $(ARGS)

bench: $(STAMP)
	$(BIN)/python -m bench $(BENCH)

test-mutants: $(STAMP)
	$(BIN)/python -m tests.mutation $(if $(MUTANTS),--mutants $(MUTANTS)) $(if $(SEED),--seed $(SEED))

screenshots: $(STAMP)
	@$(BIN)/python -m scripts.screenshots $(if $(TARGETS),--targets "$(TARGETS)")

clean:
	rm -rf .venv build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
