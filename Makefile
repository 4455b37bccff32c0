# `make demo` shows wavescope at work, `make test` checks it. Both set up what they need.
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PYTHON ?= python3
TORCH ?= torch==2.13.0
RUNTIMES ?= 6.1 6.4

# Where it is set, every process of the tests would compile its modules again.
unexport PYTHONDONTWRITEBYTECODE
# Some tests wait for a time limit of what they run: one worker more keeps the processors busy.
WORKERS := $(shell expr $$(nproc) + 1)
export PYTEST_XDIST_AUTO_NUM_WORKERS ?= $(WORKERS)

.PHONY: help demo test test-all explore test-torch test-gpu test-runtimes test-wheels wheels lint native-test native-test-threads bench docs picture clean setup
help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 22

setup: $(STAMP) ## create the virtual environment and build the package into it

$(STAMP): pyproject.toml tools/setup tools/newest_tested.txt $(VENV)/.modules $(shell find native -type f)
	PYTHON=$(PYTHON) tools/setup $(VENV)
	touch $@

# An editable install knows its modules by name: it is made again when there are others.
$(VENV)/.modules: FORCE
	@mkdir -p $(VENV); find src -name '*.py' | sort >$@.new
	@if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

FORCE:

demo: setup ## record a program on the software GPU and show its summary
	$(BIN)/wavescope demo -o demo-output

test: setup lint native-test native-test-threads ## everything CI checks
	$(BIN)/pytest -n auto --dist worksteal -m "not slow and not gpu and not torch and not runtimes and not wheels"

test-all: setup lint native-test native-test-threads ## also the slow tests
	$(BIN)/pytest -n auto --dist worksteal -m "not gpu and not torch and not runtimes and not wheels"

explore: setup ## the property tests with examples that no run had before
	WAVESCOPE_TEST_EXAMPLES=untimed $(BIN)/pytest -n auto --dist worksteal -m "not gpu and not torch and not runtimes and not wheels" tests/unit tests/formats tests/integration/test_hotspots_hostile.py

test-torch: setup ## the tests with PyTorch, which is installed first
	$(BIN)/pip install --quiet $(TORCH)
	$(BIN)/pytest -m torch

test-gpu: setup ## the tests on a real NVIDIA GPU; TORCH_PYTHON names an interpreter with PyTorch
	$(BIN)/pytest -m gpu tests/gpu

test-runtimes: setup ## the tests of recording on each of RUNTIMES, which are fetched first
	tools/test_runtimes $(BIN) $(RUNTIMES)

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
$(CUPTI_HEADERS)/.fetched: tools/fetch_cupti_headers | setup
	tools/fetch_cupti_headers $(BIN) $(CUPTI_HEADERS)
	touch $@

native-test: setup $(CUPTI_HEADERS)/.fetched ## the native tests under AddressSanitizer and UndefinedBehaviorSanitizer
	cmake -S native -B build/native-test -G Ninja -DWAVESCOPE_NATIVE_TESTS=ON -DWAVESCOPE_WARNINGS_AS_ERRORS=ON -DWAVESCOPE_SANITIZE=ON "-DWAVESCOPE_CUPTI_INCLUDES=$(CUPTI_HEADERS)/12;$(CUPTI_HEADERS)/13" >/dev/null
	cmake --build build/native-test
	ctest --test-dir build/native-test --output-on-failure --timeout 180 --parallel $(WORKERS)

# What threads share: ring buffers, chunk writers, string tables, the collector's queues.
native-test-threads: setup ## the collector's parts under ThreadSanitizer
	cmake -S native -B build/native-test-threads -G Ninja -DWAVESCOPE_NATIVE_TESTS=ON -DWAVESCOPE_WARNINGS_AS_ERRORS=ON -DWAVESCOPE_SANITIZE_THREADS=ON >/dev/null
	cmake --build build/native-test-threads --target thread_tests
	ctest --test-dir build/native-test-threads --output-on-failure --timeout 180 --parallel $(WORKERS) -L threads

bench: setup ## throughput benchmarks: CPU seconds, memory, ratios
	$(BIN)/python benchmarks/throughput/run.py

docs: setup ## write the generated reference pages
	$(BIN)/python tools/generate_docs.py

picture: setup ## draw the README's picture again
	$(BIN)/python tools/make_picture.py

clean: ## remove everything that was built
	rm -rf $(VENV) build dist
