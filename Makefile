# Everything sets itself up: `make demo` or `make test` in a fresh clone is enough.
# Needed on the machine: Python 3.11 or newer, make and a C++20 compiler.

# The first Python on the path that is new enough; if there is none, prepare.py says so.
PYTHON3 ?= $(shell for name in python3 python3.13 python3.12 python3.11; do \
  $$name -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$name && exit; \
  done; echo python3)
JOBS ?= $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
WERROR ?= OFF
PYTEST ?=
CALLS ?= 100000
SEED ?=
SANITIZE_TESTS ?= tests/ops tests/batching tests/autograd tests/func tests/tracing tests/utils \
  tests/compiling tests/test_views_inplace.py tests/test_vmap.py
BENCH ?=
DEMO ?=
NEWCOMER ?=
PYTHONS ?= python3.11 python3.12 python3.13
MUTATE ?=

PYTHON := .venv/bin/python
ORACLE_PYTHON := .venv-oracle/bin/python
export PATH := $(CURDIR)/.venv/bin:$(PATH)
export NINJA_STATUS := [%f/%t, %e s] 

.DEFAULT_GOAL := build
.DELETE_ON_ERROR:
.PHONY: build viewer demo test wheel sdist try-wheel wheels newcomer release-check oracle bench \
  dynet sanitize sanitize-build sanitize-threads fuzz mutate lint format types stub docs tour clean \
  help always

# ---- Environments: one stamp a group of packages -------------------------------------------------

.venv/.prepared-%: pyproject.toml scripts/prepare.py
	@$(PYTHON3) scripts/prepare.py build $(filter-out build,$*)
	@touch $@

# ---- The module, built into src/weft, which .venv imports from -------------------------------------

configure = cmake -G Ninja -DPython_EXECUTABLE=$(CURDIR)/$(PYTHON)
release_configuration = $(configure) -DWEFT_IN_PLACE=ON -DWEFT_WERROR=$(WERROR)
sanitize_configuration = $(configure) -DWEFT_SANITIZE=address,undefined
threads_configuration = $(configure) -DWEFT_SANITIZE=thread

# A configuration file changes only when its text does, which then configures from the beginning.
define configuration_rule
$(1)/configuration: always
	@mkdir -p $(1)
	@echo '$$($(2)) $(CXX_TEXT)' | cmp -s - $$@ || \
	  { rm -f $(1)/CMakeCache.txt; echo '$$($(2)) $(CXX_TEXT)' > $$@; }

$(1)/build.ninja: $(1)/configuration CMakeLists.txt .venv/.prepared-build
	@$$($(2)) -S . -B $(1) > $(1)/configure.log 2>&1 || { cat $(1)/configure.log; exit 1; }
	@touch $$@
endef
CXX_TEXT := $(if $(filter environment% command%,$(origin CXX)),$(CXX))
$(eval $(call configuration_rule,build,release_configuration))
$(eval $(call configuration_rule,build-sanitize,sanitize_configuration))
$(eval $(call configuration_rule,build-threads,threads_configuration))

build: build/build.ninja ## build the extension module and the viewer's page (the default)
	@ninja -C build -j $(JOBS)
	@$(MAKE) --no-print-directory viewer || \
	  echo "*** Without the viewer's page graphs cannot be shown as HTML; everything else works."

# ---- The viewer's page: one HTML file, built with npm and Vite -------------------------------------

viewer_sources = $(shell find viewer -name node_modules -prune -o -type f -print)

src/weft/viewer/page.html: $(viewer_sources) scripts/build_viewer.py .venv/.prepared-build
	@$(PYTHON) scripts/build_viewer.py

viewer: src/weft/viewer/page.html ## build the viewer's page alone

demo: build ## build, show two graphs, train on ListOps, write build/demo/index.html (DEMO="..." for options)
	@$(PYTHON) examples/demo.py
	@$(PYTHON) examples/listops.py $(DEMO)

test: build .venv/.prepared-test ## build, then run every test that needs no PyTorch
	@$(PYTHON) -m pytest -q $(PYTEST) --doctest-modules tests src/weft

# ---- What is installed elsewhere -------------------------------------------------------------------

wheel: build viewer .venv/.prepared-release ## build a wheel for other machines into dist/
	@$(PYTHON) scripts/package.py wheel

sdist: .venv/.prepared-build viewer ## build an sdist, the viewer's page in it, into dist/
	@$(PYTHON) scripts/package.py sdist

try-wheel: wheel ## install the wheel into an empty environment and use it there
	@$(PYTHON) scripts/try_install.py dist/weft-*.whl

wheels: sdist .venv/.prepared-release ## build wheels from the sdist for all Pythons there are, and use them
	@$(PYTHON) scripts/package.py wheels --python $(PYTHONS)
	@$(PYTHON) scripts/try_install.py dist/weft-*.whl --python $(PYTHONS)

newcomer: wheel ## do what README.md says in empty environments; print how long each step took
	@$(PYTHON) scripts/newcomer.py $(NEWCOMER)

release-check: wheel sdist ## is this a release: one version everywhere, whole packages, a clean tree
	@$(PYTHON) scripts/release_check.py
	@$(PYTHON) scripts/try_install.py dist/weft-*.whl

# ---- Against PyTorch -----------------------------------------------------------------------------

oracle: build .venv/.prepared-test .venv/.prepared-oracle ## compare the op table with PyTorch
	@$(ORACLE_PYTHON) -m pytest -q $(PYTEST) tests/oracle
	@$(ORACLE_PYTHON) -m tests.oracle.op_scores --samples 4

bench: build .venv/.prepared-oracle ## time Weft and PyTorch side by side (BENCH="..." for options)
	@$(ORACLE_PYTHON) -m benchmarks $(BENCH)

dynet: .venv/.prepared-build ## make the environment in which the tree benchmark times DyNet
	@$(PYTHON) -m benchmarks.models.dynet_environment

# ---- Under sanitizers ------------------------------------------------------------------------------

# A copy of the package beside the sanitized module; it comes before src on the path.
sanitize-build: build-sanitize/build.ninja
	@ninja -C build-sanitize -j $(JOBS)
	@rm -rf build-sanitize/package && mkdir -p build-sanitize/package
	@cp -R src/weft build-sanitize/package/weft
	@rm -f build-sanitize/package/weft/_core*.so
	@cp build-sanitize/_core*.so build-sanitize/package/weft/

# Python itself is not sanitized, so the run-time library is loaded first by hand, and libstdc++ with
# it, or the first exception thrown would not be found. Python's own leaks are not ours to report.
compiler = $$(sed -n 's/^CMAKE_CXX_COMPILER:[A-Z]*=//p' build-sanitize/CMakeCache.txt)
sanitized = compiler=$(compiler); PYTHONPATH=$(CURDIR)/build-sanitize/package PYTHONMALLOC=malloc \
  LD_PRELOAD="$$($$compiler -print-file-name=libasan.so) $$($$compiler -print-file-name=libstdc++.so)" \
  ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:abort_on_error=1 \
  UBSAN_OPTIONS=print_stacktrace=1

# As many processes as JOBS, each with its part of the tests.
sanitize: sanitize-build .venv/.prepared-test ## run tests under ASan and UBSan (SANITIZE_TESTS="...")
	@for part in $$(seq $(JOBS)); do \
	  ($(sanitized) $(PYTHON) -m pytest -q -p no:cacheprovider --part $$part/$(JOBS) $(PYTEST) \
	    $(SANITIZE_TESTS)) & parts="$$parts $$!"; \
	done; \
	for part in $$parts; do wait $$part || failed=1; done; exit $${failed:-0}

# A child that forked starts threads of its own, which this sanitizer allows when it is told to.
sanitize-threads: build-threads/build.ninja .venv/.prepared-test ## test the thread pool under TSan
	@ninja -C build-threads -j $(JOBS) weft_thread_tests
	@TSAN_OPTIONS=die_after_fork=0 build-threads/weft_thread_tests

fuzz: sanitize-build .venv/.prepared-test ## hostile calls in ASan children (CALLS=..., SEED=...)
	@$(sanitized) $(PYTHON) -m tests.fuzz --calls $(CALLS) $(if $(SEED),--seed $(SEED))

# ---- What the tests notice -------------------------------------------------------------------------

mutate: build .venv/.prepared-test .venv/.prepared-dev ## change small things in a copy; tests should notice (MUTATE=...)
	@$(PYTHON) -m tests.mutants $(MUTATE)

# ---- Text ------------------------------------------------------------------------------------------

# Not the op table: clang-format takes its declarations for something else.
cpp_files = $(shell find cpp -path cpp/weft/ops -prune -o -name '*.h' -print -o -name '*.cpp' -print)
python_files = src tests scripts examples benchmarks

lint: .venv/.prepared-dev ## check formatting and the linter's rules
	@ruff check $(python_files)
	@ruff format --check $(python_files)
	@clang-format --dry-run --Werror $(cpp_files)

format: .venv/.prepared-dev ## format all sources in place
	@ruff check --fix --quiet --exit-zero $(python_files)
	@ruff format $(python_files)
	@clang-format -i $(cpp_files)

types: .venv/.prepared-dev ## check types, strictly in src/weft
	@pyright

stub: build ## write src/weft/_core.pyi from the op table
	@$(PYTHON) scripts/generate_stub.py

docs: build ## write the reference pages from the op table
	@$(PYTHON) scripts/generate_docs.py
	@$(PYTHON) -m scripts.generate_nn_coverage
	@$(PYTHON) -m scripts.generate_compile_coverage
	@$(PYTHON) -m scripts.generate_coming_from_pytorch

tour: build .venv/.prepared-test ## run the pages of docs/tour; write their outputs and pictures
	@$(PYTHON) -m scripts.run_tour --write

clean: ## remove what was built; the environments stay
	rm -rf build build-sanitize build-threads dist src/weft/_core*.so src/weft/viewer/page.html \
	  viewer/node_modules

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18
