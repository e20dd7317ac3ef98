# The commands of everyday work. None of them asks anything; each installs what it is missing.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

python := .venv/bin/python
install_python := cmake --install build --component python >build/install-python.log
# Without files that are deleted but still in the index.
cpp_files = git ls-files --cached --others --exclude-standard -- '*.cc' '*.h' | while read -r file; do if [ -e "$$file" ]; then echo "$$file"; fi; done

.PHONY: help
help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: ## Build the library, the program and the Python package (installed into .venv)
	@tools/build.sh product

.PHONY: run
run: ## Open the microscope on a built-in model; Ctrl-C ends it
	@tools/build.sh program
	@build/attnscope view --text "The film was great and the actors were wonderful, but the ending was weak."

.PHONY: test
test: ## Run every test: C++, Python, and the page in a browser
	@tools/build.sh tests
	@tools/test.sh

.PHONY: bench
bench: ## Measure against the other contenders
	@tools/setup.sh bench
	@cmake --preset release --log-level=WARNING >/dev/null  # finds contenders that have just been installed
	@cmake --build build --target product bench/all
	@$(install_python)
	@$(python) bench/run.py --readme README.md

.PHONY: web-app
web-app: ## Build the microscope as one HTML file, dist/attnscope.html, and as a folder for a web host, dist/site
	@tools/web_app.sh

.PHONY: test-web-app
test-web-app: web-app ## Build both, and run the page's journeys against them and the module against the program
	@tools/build.sh program
	@tools/setup.sh browsers
	@tools/test_web_app.sh

.PHONY: dist
dist: ## Pack the program into an archive in dist/ that runs on a bare Debian or Ubuntu
	@tools/build.sh program
	@tools/setup.sh dist
	@tools/dist.sh

.PHONY: wheel
wheel: ## Pack the Python package into a wheel in dist/ with every library it needs
	@tools/setup.sh wheel
	@tools/wheel.sh

.PHONY: models
models: build ## Retrain the built-in models: two to three hours on two cores
	@tools/setup.sh models
	@models/train.sh

.PHONY: lint
lint: ## Check the sources of every language: a minute at first, then seconds
	@tools/setup.sh lint
	@tools/lint.sh

# A piece of it: make lint-cpp, lint-python, lint-shell, lint-page, lint-rust
.PHONY: lint-%
lint-%:
	@tools/setup.sh lint
	@tools/lint.sh $*

.PHONY: check
check: lint check-tidy check-asan check-tsan ## Run lint, clang-tidy, and the tests under ASan, UBSan and TSan

# Also the build by clang that must give no warning.
.PHONY: check-tidy
check-tidy: check-setup
	@cmake --preset tidy --log-level=WARNING >/dev/null
	@cmake --build --preset tidy

.PHONY: check-asan
check-asan: check-setup
	@cmake --preset asan --log-level=WARNING >/dev/null
	@cmake --build --preset asan
	@ctest --preset asan

.PHONY: check-tsan
check-tsan: check-setup
	@cmake --preset tsan --log-level=WARNING >/dev/null
	@cmake --build --preset tsan
	@ctest --preset tsan

.PHONY: fuzz
fuzz: check-setup ## Fuzz what reads foreign bytes, FUZZ_SECONDS (60) per target, under ASan and UBSan
	@cmake --preset fuzz --log-level=WARNING >/dev/null
	@cmake --build --preset fuzz
	@tools/fuzz.sh

.PHONY: check-setup
check-setup:
	@tools/setup.sh check

.PHONY: format
format: ## Format the sources
	@tools/setup.sh lint
	@$(cpp_files) | xargs -r .venv/bin/clang-format -i
	@.venv/bin/ruff check --quiet --fix-only . && .venv/bin/ruff format --quiet .
	@cargo=$$(tools/cargo.sh); for crate in src/text/tokenizer/crate apps/wasm/crate; do \
	  if $$cargo fmt --version >/dev/null 2>&1; then (cd $$crate && $$cargo fmt); fi; done
	@if [ -d web/node_modules ]; then cd web && PATH="$$(dirname "$$(../tools/node.sh)"):$$PATH" npm run --silent format >/dev/null; fi

.PHONY: clean
clean: ## Remove what was built; .venv stays
	@rm -rf build build-* dist
