# `make demo` shows wavescope at work, `make test` checks it. Both set up what they need.
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PYTHON ?= python3
TORCH ?= torch==2.13.0
RUNTIMES ?= 6.1 6.4 7.2
# Of recorded programs in test-runtimes: own, or the usual one.
INTERCEPTION ?=

# Where it is set, every process of the tests would compile its modules again.
unexport PYTHONDONTWRITEBYTECODE
# Some tests wait for a time limit of what they run: one worker more keeps the processors busy.
WORKERS := $(shell expr $$(nproc) + 1)
export PYTEST_XDIST_AUTO_NUM_WORKERS ?= $(WORKERS)
# What any machine can run, with nothing fetched but packages.
ALL_TESTS := not gpu and not torch and not runtimes and not wheels
USUAL_TESTS := $(ALL_TESTS) and not slow

.PHONY: help demo test test-all explore test-torch test-gpu test-runtimes test-wheels wheels lint native-test native-test-threads fuzz bench docs picture site lock test-quick clean setup
help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 22

setup: $(STAMP) ## create the virtual environment and build the package into it

$(STAMP): pyproject.toml tools/setup requirements/test.txt $(VENV)/.modules $(shell find native -type f)
	PYTHON=$(PYTHON) tools/setup $(VENV)
	touch $@

# An editable install knows its modules by name: it is made again when there are others.
$(VENV)/.modules: FORCE
	@mkdir -p $(VENV); find src -name '*.py' | sort >$@.new
	@if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

FORCE:

demo: setup ## record a program on the software GPU and show its summary
	$(BIN)/wavescope demo -o demo-output

# Lint and much of the native builds keep one processor busy at a time: they run beside the other tests.
test: setup ## everything CI checks
	tools/side_by_side "$(MAKE) lint native-test native-test-threads" '$(BIN)/pytest -n auto --dist worksteal -m "$(USUAL_TESTS)"'

# The most telling for their time: the model, the arithmetic, names, files, the command line, the pages.
QUICK := tests/unit/model tests/unit/arrays tests/unit/names tests/unit/api $(wildcard tests/unit/render/test_*.py) \
  tests/unit/formats/test_sniff.py tests/unit/formats/test_trace_file.py tests/integration/test_round_trips.py \
  tests/unit/cli/test_main.py tests/unit/cli/test_dispatch.py tests/unit/cli/test_options.py tests/unit/cli/test_cli_summary.py \
  tests/unit/test_joining.py tests/unit/test_pages.py tests/unit/test_site_pages.py tests/unit/test_versions_page.py
test-quick: setup ## the tests to run while working: under a minute
	$(BIN)/pytest -n auto --dist worksteal -m "$(USUAL_TESTS)" $(QUICK)

test-all: setup ## also the slow tests
	tools/side_by_side "$(MAKE) lint native-test native-test-threads" '$(BIN)/pytest -n auto --dist worksteal -m "$(ALL_TESTS)"'

explore: setup ## the property tests with examples that no run had before
	WAVESCOPE_TEST_EXAMPLES=untimed $(BIN)/pytest -n auto --dist worksteal -m "$(ALL_TESTS)" tests/unit tests/formats tests/integration/test_hotspots_hostile.py

test-torch: setup ## the tests with PyTorch, which is installed first
	$(BIN)/pip install --quiet $(TORCH)
	$(BIN)/pytest -m torch

test-gpu: setup ## the tests on a real NVIDIA GPU; TORCH_PYTHON names an interpreter with PyTorch, CUDA_PACKAGES another CUDA
	$(BIN)/pytest -m gpu tests/gpu

test-runtimes: setup ## the tests of recording on each of RUNTIMES, which are fetched first
	WAVESCOPE_TEST_INTERCEPTION=$(INTERCEPTION) tools/test_runtimes $(BIN) $(RUNTIMES)

wheels: ## wheels for Linux and macOS and an sdist into dist/, with compilers from PyPI
	$(PYTHON) -m tools.wheels $(PLATFORMS)

test-wheels: setup ## the tests of the wheels in dist/; PYTHONS names interpreters to install them for
	$(BIN)/pytest -m wheels tests/wheels

lint: setup ## ruff, mypy, import layers, the format of native code, the types of the pages' scripts
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	PYTHONPATH=. $(BIN)/lint-imports
	@$(BIN)/clang-format --dry-run --Werror $(shell find native -name '*.h' -o -name '*.cpp')
	@if command -v tsc >/dev/null; then tsc -p src/wavescope/render/html/static; \
	else echo "tsc is not here (apt-get install node-typescript): the types of the pages' scripts are not checked"; fi

CUPTI_HEADERS := build/cupti-headers
$(CUPTI_HEADERS)/.fetched: tools/fetch_cupti_headers requirements/cupti-12.txt requirements/cupti-13.txt | setup
	tools/fetch_cupti_headers $(BIN) $(CUPTI_HEADERS)
	touch $@

native-test: setup $(CUPTI_HEADERS)/.fetched ## the native tests under AddressSanitizer and UndefinedBehaviorSanitizer
	cmake -S native -B build/native-test -G Ninja -DWAVESCOPE_NATIVE_TESTS=ON -DWAVESCOPE_WARNINGS_AS_ERRORS=ON -DWAVESCOPE_SANITIZE=ON -DWAVESCOPE_FUZZ=ON "-DWAVESCOPE_CUPTI_INCLUDES=$(CUPTI_HEADERS)/12;$(CUPTI_HEADERS)/13" >/dev/null
	cmake --build build/native-test
	ctest --test-dir build/native-test --output-on-failure --timeout 180 --parallel $(WORKERS)

# What threads share: ring buffers, chunk writers, string tables, the collector's queues.
native-test-threads: setup ## the collector's parts under ThreadSanitizer
	cmake -S native -B build/native-test-threads -G Ninja -DWAVESCOPE_NATIVE_TESTS=ON -DWAVESCOPE_WARNINGS_AS_ERRORS=ON -DWAVESCOPE_SANITIZE_THREADS=ON >/dev/null
	cmake --build build/native-test-threads --target thread_tests
	ctest --test-dir build/native-test-threads --output-on-failure --timeout 180 --parallel $(WORKERS) -L threads

# SECONDS is bash's own name for a counter: a value comes from the command line or not at all.
FUZZ_SECONDS = $(if $(filter command line,$(origin SECONDS)),$(SECONDS),180)
FUZZ_OPTIONS = $(if $(SEED),--seed $(SEED))
fuzz: setup ## damaged inputs for every reader: SECONDS=600, READER="rocprofv3 CSV" or READER=native, SEED=1
	$(if $(filter native,$(READER)),,$(BIN)/python -m fuzz --seconds $(FUZZ_SECONDS) $(if $(READER),--reader "$(READER)") $(FUZZ_OPTIONS))
	$(if $(filter-out native,$(READER)),,$(BIN)/python -m fuzz.native_run --seconds $(FUZZ_SECONDS) $(FUZZ_OPTIONS))

bench: setup ## throughput benchmarks: CPU seconds, memory, ratios
	$(BIN)/python benchmarks/throughput/run.py

docs: setup ## write the generated reference pages
	$(BIN)/python tools/generate_docs.py

picture: setup ## draw the README's picture again
	$(BIN)/python tools/make_picture.py

# The pages are checked in a browser where there is one.
site: setup build/environments/site/.installed ## build the documentation into build/site and check it
	rm -rf build/site build/site-source
	$(BIN)/python tools/site/generate.py build/site-source
	build/environments/site/bin/mkdocs --quiet build --strict --config-file build/site-source/mkdocs.yml
	$(BIN)/python tools/site/offline_search.py build/site
	WAVESCOPE_SITE=build/site $(BIN)/pytest tests/site

# Tools that would get in the way of the tests' packages have environments of their own.
build/environments/%/.installed: requirements/%.txt
	$(PYTHON) -m venv build/environments/$*
	build/environments/$*/bin/python -m pip --disable-pip-version-check install --quiet --require-hashes -r $<
	touch $@

lock: build/environments/lock/.installed ## lock what tests, builds and tools install; LOCK=--upgrade takes the newest
	build/environments/lock/bin/python tools/lock.py $(LOCK)

clean: ## remove everything that was built
	rm -rf $(VENV) build dist
