# make demo, make check and make test need nothing but Python 3.10 or newer and make.
PYTHON ?= python3
VENV := .venv
CHECK_VENV := .venv-check
TORCH_VENV := .venv-torch
BIN := $(VENV)/bin
BIOME := $(BIN)/biome
CHECK_BIN := $(CHECK_VENV)/bin
TORCH_BIN := $(TORCH_VENV)/bin
BERTSCORE_VENV := .venv-bertscore
BERTSCORE_BIN := $(BERTSCORE_VENV)/bin
DOCS_VENV := .venv-docs
DOCS_BIN := $(DOCS_VENV)/bin
PIP_INSTALL := -m pip install --quiet --disable-pip-version-check -c constraints.txt
# A new environment may have a pip from before 25.1, which does not know --group.
PIP_WITH_GROUPS := $(PIP_INSTALL) 'pip>=25.1'

# Each test is in one lane (docs/testing.md).
FIRST := not (data or slow or torch or browser or long)
MORE := (data or slow or browser) and not (torch or long)
TORCH := torch and not long
LONG := long
# The part of FIRST that make check runs. Tests that load a model or need an extra skip themselves (conftest.py).
CHECK := $(FIRST) and not (heavy or model)
CHECK_IGNORED := $(addprefix --ignore=,tests/docs tests/frozen tests/parity tests/apps/cluster tests/apps/service examples) \
	--ignore-glob='tests/test_*'

# So many processes share the tests of a lane; with WORKERS=0 they run in this one, one after the other.
WORKERS ?= 2
SHARED := -n $(WORKERS) --dist worksteal
# Threads of a worker that wait for each other leave the processor to the other worker.
check test test-more test-torch: export OPENBLAS_THREAD_TIMEOUT ?= 4
check test test-more test-torch: export OMP_WAIT_POLICY ?= passive

# Human judgements for tests and studies; code and tests know only this variable, and make test does without.
ifneq ($(wildcard ../shared/data),)
test-more test-torch test-long bench-cluster bench-documents bench-matrix bench-meta bench-service bench-stopping: export NLGAUGE_DATA ?= $(abspath ../shared/data)
endif

.DEFAULT_GOAL := help
.PHONY: help demo environments check test test-more test-torch test-pythons test-all test-long test-isa lint count coverage docs docs-tools
.PHONY: browser-tools network-tools js-tools lint-js latex-tools screenshot
.PHONY: bench bench-costs bench-documents bench-matrix bench-memory bench-meta bench-compare bench-stopping bench-isa bench-start bench-service bench-cluster clean

help:
	@echo "make demo          install, download the default model and score examples/"
	@echo "make check         unit tests and ruff in a minute; no model, no network"
	@echo "make test          core test suite with real models, about five minutes"
	@echo "                   (WORKERS=N sets the number of test processes, default: 2)"
	@echo "make test-more     slow tests, tests on real data (NLGAUGE_DATA) and in a browser"
	@echo "make test-torch    torch engine, parity with bert-score and other packages"
	@echo "make test-pythons  14 recipes on the oldest and newest supported Python installed here"
	@echo "make test-all      test, test-more, test-torch and test-pythons, as in CI"
	@echo "make test-long     soak tests, full fuzzing, scaling, training at full size"
	@echo "make test-isa      part of make test with lower CPU instruction sets"
	@echo "make browser-tools tools for tests in a browser, including chromium-headless-shell"
	@echo "make js-tools      Node.js and Biome, for tests and linter of the JavaScript"
	@echo "make lint-js       Biome on the JavaScript of page and report"
	@echo "make latex-tools   pdflatex, for tests of tables for papers"
	@echo "make network-tools strace, for tests that trace what commands send and write"
	@echo "make screenshot    picture of the service's page, docs/images/page.png"
	@echo "make lint          ruff and mypy"
	@echo "make count         files, lines, imports, names and flags of the source"
	@echo "make docs          documentation site, build/site/index.html; broken links are errors"
	@echo "make coverage      line and branch coverage of make test, htmlcov/index.html"
	@echo "make bench         speed compared with bert-score"
	@echo "make bench-memory  peak memory of 100,000 pairs"
	@echo "make bench-costs   running time by length, systems and layers"
	@echo "make bench-documents all variants of DiscoScore on 1,600 summaries"
	@echo "make bench-matrix  all pairs of 500 x 500 texts compared with scoring pair by pair"
	@echo "make bench-meta    time to correlate ten metrics with human judgements"
	@echo "make bench-compare time to compare 20 and 50 systems"
	@echo "make bench-stopping early stopping compared with the full gate and sacrebleu --paired-bs"
	@echo "make bench-start   CPU time of the command line for one pair and for --help"
	@echo "make bench-service service under load compared with the library"
	@echo "make bench-cluster shards compared with one call, and a simulated cluster of 1,000 workers"
	@echo "make bench-isa     effect of CPU instruction sets on the last bits of scores"

$(VENV)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python $(PIP_INSTALL) -e .
	touch $@

# A separate environment: make check always runs without extras, and installs in half a minute.
$(CHECK_VENV)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(CHECK_VENV)
	$(CHECK_BIN)/python $(PIP_WITH_GROUPS)
	$(CHECK_BIN)/python $(PIP_INSTALL) -e . --group check
	touch $@

# In one step, not after .installed, which would resolve and build twice.
$(VENV)/.test-tools: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python $(PIP_WITH_GROUPS)
	$(BIN)/python $(PIP_INSTALL) -e . --group test --group lint
	touch $(VENV)/.installed $@

$(VENV)/.browser-tools: $(VENV)/.test-tools
	$(BIN)/python $(PIP_INSTALL) -e '.[cluster]' --group browser
	touch $@

$(TORCH_VENV)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(TORCH_VENV)
	$(TORCH_BIN)/python $(PIP_WITH_GROUPS)
	$(TORCH_BIN)/python $(PIP_INSTALL) torch==2.13.0
	$(TORCH_BIN)/python $(PIP_INSTALL) -e '.[torch,cluster]' --group test --group parity
	touch $@

# bert-score with the transformers that its authors used: tokenizers of RoBERTa still put a space before a text there.
# Without constraints.txt, which has the versions of today.
$(BERTSCORE_VENV)/.installed: tests/parity/bertscore-requirements.txt
	$(PYTHON) -m venv $(BERTSCORE_VENV)
	$(BERTSCORE_BIN)/python -m pip install --quiet --disable-pip-version-check -r tests/parity/bertscore-requirements.txt
	touch $@

# The two environments of the lanes; with -j2 at once, as in CI.
environments: $(VENV)/.test-tools $(TORCH_VENV)/.installed

demo: $(VENV)/.installed
	$(BIN)/nlgauge models pull minilm
	$(BIN)/nlgauge score examples/system-a.txt examples/system-b.txt --refs examples/reference.txt --confidence

check: $(CHECK_VENV)/.installed
	$(CHECK_BIN)/ruff check --quiet .
	$(CHECK_BIN)/ruff format --check --quiet .
	$(CHECK_BIN)/python -m pytest -q -rfE --tb=short --isolated -m "$(CHECK)" $(CHECK_IGNORED) $(SHARED)

test: $(VENV)/.test-tools
	$(BIN)/nlgauge models pull minilm mpnet spacy-en wordnet
	$(BIN)/python -m pytest -m "$(FIRST)" $(SHARED)

# Without a browser on the machine, tests of pages are skipped and say so. They come one after the other, as those on
# Ray do: browser, service and test are busy processes already, and a page has bounds of time.
test-more: $(VENV)/.browser-tools
	$(BIN)/nlgauge models pull minilm mpnet spacy-en wordnet
	$(BIN)/python -m pytest -m "$(MORE) and not (browser or alone)" $(SHARED)
	$(BIN)/python -m pytest -m "$(MORE) and (browser or alone)"

browser-tools: $(VENV)/.browser-tools
	command -v chromium-headless-shell >/dev/null || \
		{ apt-get update -q && apt-get install -y -q --no-install-recommends chromium-headless-shell; }

js-tools: $(BIOME)
	command -v node >/dev/null || { apt-get update -q && apt-get install -y -q --no-install-recommends nodejs; }

$(BIOME): docs/fetch_biome.py
	mkdir -p $(dir $@)
	$(PYTHON) docs/fetch_biome.py $@

# All scripts in one file, each page in a block of its own: so Biome sees names that are never declared or never used.
lint-js: $(BIOME)
	mkdir -p build/scripts
	{ cat src/nlgauge/report/components/*.js; for page in report apps/service; do \
		echo '{'; cat src/nlgauge/$$page/page/*.js; echo '}'; done; } > build/scripts/all.js
	$(BIOME) ci --error-on-warnings

network-tools:
	command -v strace >/dev/null || { apt-get update -q && apt-get install -y -q --no-install-recommends strace; }

latex-tools:
	command -v pdflatex >/dev/null || { apt-get update -q && apt-get install -y -q --no-install-recommends \
		texlive-latex-base texlive-latex-recommended lmodern; }

screenshot: browser-tools
	$(BIN)/nlgauge models pull minilm
	$(BIN)/python -m docs.make_screenshot

test-torch: $(TORCH_VENV)/.installed
	$(TORCH_BIN)/nlgauge models pull minilm mpnet smollm2
	$(TORCH_BIN)/python -m pytest -m "$(TORCH)" $(SHARED)

# Each has an environment of its own, .venv-3.X; the model is shared.
test-pythons: $(VENV)/.test-tools
	$(BIN)/nlgauge models pull minilm
	$(BIN)/python -m tests.pythons

test-all: test test-more test-torch test-pythons

# Status 5 of pytest: no test was selected.
test-long: $(TORCH_VENV)/.installed $(BERTSCORE_VENV)/.installed
	$(TORCH_BIN)/nlgauge models pull minilm mpnet smollm2
	$(TORCH_BIN)/python -m pytest -m "$(LONG)" || [ $$? -eq 5 ]

# Under each variable that moves a bit on this processor, which is tried first.
test-isa: $(VENV)/.test-tools $(TORCH_VENV)/.installed
	$(BIN)/nlgauge models pull minilm mpnet spacy-en wordnet
	$(BIN)/python -m benchmarks.isa test onnx -q -m "$(FIRST)" tests/metrics tests/vectors tests/stats \
		tests/studies/meta tests/studies/sensitivity tests/test_readme.py src
	$(TORCH_BIN)/python -m benchmarks.isa test torch -q -m "$(TORCH)" tests/encoders/engines tests/parity

lint: $(VENV)/.test-tools
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

count: $(VENV)/.installed
	$(BIN)/python -m docs.count_source

coverage: $(VENV)/.test-tools
	$(BIN)/python $(PIP_INSTALL) --group coverage
	$(BIN)/nlgauge models pull minilm mpnet spacy-en wordnet
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest -q -m "$(FIRST)" $(SHARED)
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage html --quiet
	$(BIN)/coverage report

# An environment of its own, so that the site never needs more than nlgauge without extras.
$(DOCS_VENV)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(DOCS_VENV)
	$(DOCS_BIN)/python $(PIP_WITH_GROUPS)
	$(DOCS_BIN)/python $(PIP_INSTALL) -e . --group docs
	touch $@

docs-tools: $(DOCS_VENV)/.installed

docs: $(DOCS_VENV)/.installed
	$(DOCS_BIN)/python -m sphinx -q -W --keep-going -b html docs build/site

bench: $(TORCH_VENV)/.installed
	$(TORCH_BIN)/nlgauge models pull minilm mpnet
	$(TORCH_BIN)/python -m benchmarks.speed
	$(TORCH_BIN)/python -m benchmarks.family

bench-memory: $(VENV)/.installed
	$(BIN)/nlgauge models pull minilm
	$(BIN)/python -m benchmarks.memory

bench-documents: $(VENV)/.test-tools
	$(BIN)/nlgauge models pull minilm spacy-en
	$(BIN)/python -m benchmarks.documents

bench-matrix: $(VENV)/.installed
	$(BIN)/nlgauge models pull minilm
	$(BIN)/python -m benchmarks.matrix

bench-meta: $(VENV)/.installed
	$(BIN)/python -m benchmarks.meta

bench-compare: $(VENV)/.installed
	$(BIN)/python -m benchmarks.compare

bench-stopping: $(VENV)/.installed
	$(BIN)/nlgauge models pull minilm
	$(BIN)/python -m benchmarks.early_stopping

bench-start: $(VENV)/.installed
	$(BIN)/nlgauge models pull minilm
	$(BIN)/python -m benchmarks.start

bench-service: $(VENV)/.test-tools
	$(BIN)/nlgauge models pull minilm
	$(BIN)/python -m benchmarks.service

bench-cluster: $(VENV)/.browser-tools
	$(BIN)/nlgauge models pull minilm
	$(BIN)/python -m benchmarks.cluster
	$(BIN)/python -m benchmarks.cluster_simulation

bench-costs: $(VENV)/.test-tools
	$(BIN)/nlgauge models pull minilm
	$(BIN)/python -m benchmarks.costs

bench-isa: $(VENV)/.test-tools
	$(BIN)/nlgauge models pull minilm mpnet
	$(BIN)/python -m benchmarks.isa switches

clean:
	rm -rf $(VENV) $(CHECK_VENV) $(TORCH_VENV) $(DOCS_VENV) $(BERTSCORE_VENV) .venv-3.* .pytest_cache .mypy_cache .ruff_cache
