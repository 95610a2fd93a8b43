# Development commands of CompanyOS. Requires Python 3.11 or newer, git and make. `make` lists the targets.

.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

# The first suitable Python on the path; PYTHON=/path/to/python3 overrides it.
PYTHON ?= $(shell for python in python3 python3.13 python3.12 python3.11 python3.14 python; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$python && break; done; true)

VENV := .venv
TOOLS := .venv-tools
BIN := $(VENV)/bin
UV_VERSION := 0.13.8
UV := $(TOOLS)/bin/uv
STAMP := $(VENV)/.synced
RAY := .venv-ray
RAY_STAMP := $(RAY)/.synced
MEMBERS := shared gateway client players verification integrations/openenv-companyos $(wildcard services/*)

# uv uses the certificates and the package index that are configured for pip.
export UV_SYSTEM_CERTS ?= true
export UV_PROJECT_ENVIRONMENT := $(CURDIR)/$(VENV)
export UV_PYTHON_DOWNLOADS := never
ifneq ($(PIP_CERT),)
export SSL_CERT_FILE ?= $(PIP_CERT)
endif
ifneq ($(PIP_INDEX_URL),)
export UV_DEFAULT_INDEX ?= $(PIP_INDEX_URL)
endif
unexport VIRTUAL_ENV PYTHONPATH PYTHONHOME
# Compiled modules are kept for the many processes of tests, also where Python is told to write no bytecode.
unexport PYTHONDONTWRITEBYTECODE

# Training uses a separate environment because PyTorch is large. Local wheels are preferred; otherwise uv installs the
# PyTorch build for this machine's GPU, or the CPU build. TORCH_BACKEND= (empty) uses the package index's default.
TRAIN := .venv-train
TRAIN_STAMP := $(TRAIN)/.synced
TORCH_BACKEND ?= $(if $(PIP_FIND_LINKS),,auto)
FOR_TORCH := $(if $(PIP_FIND_LINKS),--find-links $(PIP_FIND_LINKS)) $(if $(TORCH_BACKEND),--torch-backend $(TORCH_BACKEND))

ARGS ?=

# The full proof takes hours. Finished work is stored, and the next run continues from it unless code has changed.
PROOF_FILES := $(if $(filter full,$(PROOF)),--out results/proof-full.md --worklog runs/proof-full.jsonl,--out results/proof.md)

TEST_ALL := not e2e and not slow and not load and not browser and not ray and not train

# Parallel test workers, at most four. The tests of `make test` use a core each; the others often wait for processes.
WORKERS ?= $(shell $(PYTHON) -c 'import os; print(min(4, (os.cpu_count() or 1) + (0 if "$@" == "test" else 1)))')

.PHONY: help setup demo up test test-all e2e check format bench bench-peers faults browser load fuzz simulate nightly proof clients ray-setup ray ray-bench harnesses train-setup train-test learn baselines shifts leaderboard validate space tasks docs regenerate submissions fresh-clone-check wheels release-check clean damage recorded-episodes

help: ## List the targets
	@echo "CompanyOS. Targets:"
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  %-18s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

setup: $(STAMP) ## Create .venv with all dependencies (other targets do this automatically)

demo: $(STAMP) ## Play one vendor onboarding step by step and compare three policies
	@$(BIN)/companyos demo $(ARGS)

up: $(STAMP) ## Start the gateway and its services without Docker; Ctrl-C stops them (ARGS="--port 8000")
	@$(BIN)/companyos up $(ARGS)

test: $(STAMP) ## Run the tests that start no processes (ARGS="tests/gateway -k reset")
	@$(BIN)/pytest -n $(WORKERS) --dist loadfile $(ARGS)

test-all: $(STAMP) ## Run all tests except container, browser, Ray, training and load tests
	@$(BIN)/pytest -n $(WORKERS) --dist loadfile -m "$(TEST_ALL)" $(ARGS)

e2e: $(STAMP) ## Run the container tests; requires a Docker Engine with Compose
	@TESTCONTAINERS_RYUK_DISABLED=true $(BIN)/pytest -m e2e tests/e2e $(ARGS)

check: $(STAMP) ## Check formatting, lint rules, types and import rules
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

format: $(STAMP) ## Format the code and apply ruff's automatic fixes
	@$(BIN)/ruff check --fix-only --quiet .
	@$(BIN)/ruff format .

harnesses: $(STAMP) ## Run third-party training and evaluation harnesses, each in its own environment (ARGS="--only inspect")
	@$(BIN)/python -m verification.clients.harnesses $(ARGS)

bench: $(STAMP) ## Benchmark steps, resets, memory and tokens, relative to an echo server
	@$(BIN)/python -m verification.benchmarks $(ARGS)

bench-peers: $(STAMP) ## Measure reset and step of CompanyOS and of other environments in one run (ARGS="--only echo")
	@$(BIN)/python -m verification.benchmarks.peers $(ARGS)

faults: $(STAMP) ## Run fault injection on real processes and check durability (FAULTS=full for a release)
	@$(BIN)/python -m verification.faults $(ARGS)

ray-setup: $(RAY_STAMP) ## Create .venv-ray with Ray and PyArrow (about 1 GB on disk)

ray: $(RAY_STAMP) ## Test a local Ray cluster of two nodes with a node failure (ROLLOUTS=500)
	@RAY_worker_niceness=0 $(RAY)/bin/pytest -n0 -s -m ray tests/cluster $(ARGS)

ray-bench: $(RAY_STAMP) ## Time one and two workers of a local Ray cluster
	@RAY_worker_niceness=0 $(RAY)/bin/python -m verification.benchmarks.cluster

browser: $(STAMP) ## Test every page in Chromium, which must be on the path (SCREENSHOTS=folder writes pictures)
	@$(UV) sync --frozen --quiet --inexact --group browser --python "$(PYTHON)"
	@$(BIN)/pytest -n 2 --dist loadfile -m browser tests/browser $(ARGS)

load: $(STAMP) ## Run load tests: 1,000 concurrent episodes, 10,000 abandoned ones, thousands of API requests
	@$(BIN)/pytest -n0 -m load tests/promises $(ARGS)

fuzz: $(STAMP) ## Send growing inputs to every route and parser and print the worst time per kilobyte
	@$(BIN)/pytest -n0 -m "load or not load" tests/complexity $(ARGS)

damage: $(STAMP) ## Corrupt, truncate and delete data files 1,000 times and check the restart (TRIALS=100)
	@$(BIN)/python -m tests.promises.damage --trials $(or $(TRIALS),1000) $(ARGS)

simulate: $(STAMP) ## Simulate crashes, stalls and restarts deterministically (SEEDS=0-1999, ARGS="--seed 7")
	@$(BIN)/python -m verification.simulation $(if $(findstring --seed,$(ARGS)),,$(or $(SEEDS),0-1999)) $(ARGS)

recorded-episodes: $(STAMP) ## Play 800 episodes and compare their observations with results/recorded-episodes.csv (ARGS=--write)
	@$(BIN)/python -m verification.recorded_episodes $(ARGS)

nightly: $(STAMP) ## Simulate 20,000 histories and solve every published task
	@$(BIN)/python -m verification.simulation 0-19999
	@$(BIN)/pytest -n $(WORKERS) --dist load -m slow tests/scenarios/test_published_tasks.py

proof: $(STAMP) ## Verify every guarantee and write results/proof.md (PROOF=full for a release, ARGS="--row A")
	@$(BIN)/python -m verification.proof $(if $(ARGS),$(ARGS),$(PROOF_FILES))

clients: $(STAMP) ## Test third-party clients, each in its own environment (ARGS="--only fastmcp")
	@$(BIN)/python -m verification.clients $(ARGS)

train-setup: $(TRAIN_STAMP) ## Create .venv-train with PyTorch and TRL (about 1 GB on disk)

train-test: $(TRAIN_STAMP) ## Run the tests that need PyTorch, including two training steps through a live gateway
	@$(TRAIN)/bin/pytest -n0 -m train tests/train $(ARGS)

learn: $(TRAIN_STAMP) ## Train a tiny model on the CPU with three seeds and write results/learning.md
	@$(TRAIN)/bin/python -m verification.benchmarks.learning $(ARGS)

shifts: $(STAMP) ## Play scripted policies in shifts and write results/shifts.md (ARGS="--help")
	@$(BIN)/python -m verification.benchmarks.shifts $(ARGS)

baselines: $(STAMP) ## Play the scripted policies on the test split and write results/baselines.md and .png
	@$(BIN)/companyos eval $(addprefix --policy ,oracle worker3 worker2 worker1 random noop) --split test -n 200 --trials 2 \
		--out runs/baselines --resume --plot results/baselines.png $(ARGS)
	@$(BIN)/companyos report runs/baselines --out results/baselines.md

leaderboard: $(STAMP) ## Write results/leaderboard.html and .md from the submissions in results/leaderboard
	@$(BIN)/companyos leaderboard results/leaderboard --out results/leaderboard.html --out results/leaderboard.md

submissions: $(STAMP) ## Play the scripted policies again and replace their submissions (ARGS="single/oracle")
	@$(BIN)/python -m verification.benchmarks.leaderboard $(ARGS)

validate: $(STAMP) ## Validate the environment with OpenEnv's validator and additional graders (ARGS="static url graders")
	@$(BIN)/python -m verification.openenv $(ARGS)

space: $(STAMP) ## Write build/space, the folder for `openenv validate`, `openenv build` and `openenv push`
	@$(BIN)/python -m verification.openenv --package build/space

tasks: $(STAMP) ## Print statistics of the task set and search for duplicate instances (ARGS="--instances 100000" for a release)
	@$(BIN)/python -m companyos_gateway.tasks $(ARGS)

regenerate: docs ## Write docs, OpenEnv's files and recorded episodes from tools and tasks (ARGS="--scenario NAME" if only one has changed)
	@$(BIN)/python -m verification.openenv.record
	@$(BIN)/python -m verification.recorded_episodes --write $(ARGS)

docs: $(STAMP) ## Generate docs/scenarios.md and docs/tools.md from the code
	@$(BIN)/python -m verification.reference docs

fresh-clone-check: ## Time `make demo` and `make test` in a fresh clone of the last commit
	@./.ci/fresh-clone-check

wheels: $(STAMP) ## Build wheels of all packages, an SBOM and checksums in dist
	@$(BIN)/python -m verification.release wheels $(ARGS)

release-check: $(STAMP) ## Build the wheels and use them in clean environments without the clone (ARGS="--python 3.12")
	@$(BIN)/python -m verification.release check $(if $(ARGS),$(ARGS),--out results/release.md)

clean: ## Remove all environments, caches and run folders
	rm -rf $(VENV) $(RAY) $(TOOLS) $(TRAIN) .venv-clients build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis runs .run
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(STAMP): uv.lock pyproject.toml $(addsuffix /pyproject.toml,$(MEMBERS)) | $(UV)
	@$(UV) sync --frozen --quiet --compile-bytecode --python "$(PYTHON)"
	@$(BIN)/python -m compileall -q shared/src services gateway/src client/src players/src
	@touch $@

# Locked versions of the training libraries without the CUDA libraries, which the PyTorch build selects.
$(TRAIN_STAMP): uv.lock pyproject.toml $(addsuffix /pyproject.toml,$(MEMBERS)) | $(UV)
	@echo "Setting up $(TRAIN) ..."
	@UV_PROJECT_ENVIRONMENT=$(CURDIR)/$(TRAIN) $(UV) sync --frozen --quiet --inexact --python "$(PYTHON)"
	@$(UV) export --frozen --quiet --no-hashes --package companyos --extra trl --no-emit-workspace \
		| sed -E '/^(nvidia|cuda|triton)/d' > $(TRAIN)/requirements.txt
	@$(UV) pip install --quiet --python $(TRAIN)/bin/python $(FOR_TORCH) -r $(TRAIN)/requirements.txt
	@touch $@

$(RAY_STAMP): uv.lock pyproject.toml $(addsuffix /pyproject.toml,$(MEMBERS)) | $(UV)
	@echo "Setting up $(RAY) ..."
	@UV_PROJECT_ENVIRONMENT=$(CURDIR)/$(RAY) $(UV) sync --frozen --quiet --inexact --python "$(PYTHON)"
	@$(UV) export --frozen --quiet --no-hashes --package companyos --extra ray --no-emit-workspace \
		| $(UV) pip install --quiet --python $(RAY)/bin/python -r -
	@touch $@

$(UV):
	@test -n "$(PYTHON)" || { echo "CompanyOS requires Python 3.11 or newer, but none is on the path." \
		"Set PYTHON=/path/to/python3." >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "CompanyOS requires Python 3.11" \
		"or newer; $(PYTHON) is $$("$(PYTHON)" -V 2>&1)." >&2; exit 1; }
	@echo "Setting up $(VENV) ..."
	@"$(PYTHON)" -m venv $(TOOLS)
	@$(TOOLS)/bin/python -m pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)
