# SPDX-License-Identifier: Apache-2.0
# The front door: `make help` lists what it can do. Meson does the work behind it.
SHELL := /bin/sh
# Where two mesons are, the distribution's: it belongs to the compilers and libraries beside it.
MESON = $(shell test -x /usr/bin/meson && echo /usr/bin/meson || echo meson)
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
BUILD ?= build
PREFIX ?= /usr/local
DESTDIR ?=
# Warnings stop the build where the project is checked, not where it is installed.
WERROR ?= $(if $(CI),true,false)
TARGET ?=
SECONDS ?= 600
RUNS ?= 20000
export JOBS MESON

C_FOLDERS = src sim tests bench
SANITIZE = -Db_sanitize=address,undefined
DEPS = tools/install-deps --for
# $(call configured,FOLDER,OPTIONS,ENVIRONMENT): sets a build folder up unless it is
configured = test -f $(1)/build.ninja || $(3) $(MESON) setup $(1) $(2) -Dwerror=$(WERROR) >$(1).log 2>&1 || \
	{ cat $(1).log; rm -rf $(1); exit 1; }; rm -f $(1).log

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help
help: ## list these targets
	@echo "wattgate: make TARGET [VARIABLE=VALUE...]"
	@sed -n 's/^\([a-z][a-z-]*\):.*## \(.*\)/\1|\2/p' $(MAKEFILE_LIST) | \
		awk -F'|' '{ printf "  %-17s %s\n", $$1, $$2 }'


.PHONY: build
build: deps-build ## the program, at build/wattgate (installs what it needs to be built)
	@$(call configured,$(BUILD),--prefix=$(abspath $(PREFIX)))
	@ninja -C $(BUILD) -j $(JOBS)

.PHONY: demo
demo: build ## see it work: a recorded trace, then a simulated hang on eight GPUs
	@BUILD=$(BUILD) tools/demo

.PHONY: install
install: build ## install program, man pages, completion (PREFIX, DESTDIR)
	@$(MESON) configure $(BUILD) --prefix=$(abspath $(PREFIX))
	@DESTDIR="$(DESTDIR)" $(MESON) install -C $(BUILD)

.PHONY: uninstall
uninstall: ## remove what the last make install put there
	@DESTDIR="$(DESTDIR)" ninja -C $(BUILD) uninstall

.PHONY: man
man: build ## the man pages, in build/docs
	@ls $(BUILD)/docs/*.[1-8] 2>/dev/null || { echo "make man: scdoc is not installed" >&2; exit 4; }

.PHONY: clean
clean: ## remove everything that was built
	rm -rf build build-asan build-clang build-clang-asan build-fuzz


.PHONY: check
check: deps-check build ## the fast suite: unit, replay, fault and end-to-end tests
	@tools/run-tests --build $(BUILD) --jobs $(JOBS)

.PHONY: check-all
check-all: deps-all ## everything: check, clang, sanitizers, analysis, gates, fuzz smoke, oracle
	@tools/check-all

.PHONY: check-clang
check-clang: deps-all ## the suite, built with clang
	@$(call configured,build-clang,,CC=clang)
	@ninja -C build-clang -j $(JOBS)
	@tools/run-tests --build build-clang --jobs $(JOBS)

.PHONY: check-asan
check-asan: deps-check ## the suite under gcc's address, leak and undefined behaviour sanitizers
	@$(call configured,build-asan,$(SANITIZE),CC=gcc)
	@ninja -C build-asan -j $(JOBS)
	@tools/sanitized tools/run-tests --build build-asan --jobs $(JOBS)

.PHONY: check-clang-asan
check-clang-asan: deps-all ## the same under clang's
	@$(call configured,build-clang-asan,$(SANITIZE),CC=clang)
	@ninja -C build-clang-asan -j $(JOBS)
	@tools/sanitized tools/run-tests --build build-clang-asan --jobs $(JOBS)

.PHONY: tidy
tidy: deps-all ## clang-tidy, one file a process
	@$(call configured,build-clang,,CC=clang)
	@ninja -C build-clang -j $(JOBS) >/dev/null
	@tools/check-tidy build-clang

.PHONY: cppcheck
cppcheck: deps-all ## cppcheck
	@tools/check-cppcheck

.PHONY: shellcheck
shellcheck: deps-all ## shellcheck on every shell script
	@tools/check-shell

.PHONY: format
format: deps-all ## rewrite the C files in the house format
	@find $(C_FOLDERS) -name '*.[ch]' | xargs clang-format -i

.PHONY: format-check
format-check: deps-all ## which C files are not in the house format
	@tools/check-format $(C_FOLDERS)

.PHONY: layers
layers: ## who includes whom, and that each header stands alone
	@tools/check-layers

.PHONY: pure
pure: build ## that core opens nothing, waits for nothing, asks no time, keeps no state
	@tools/check-pure $(BUILD)

.PHONY: help-check
help-check: build ## --help, man page and completion say the same
	@tools/check-help $(BUILD)/wattgate

.PHONY: data-check
data-check: build ## every value in data/ says where it comes from
	@tools/check-data $(BUILD)

.PHONY: schema-check
schema-check: deps-all build ## that what is printed as JSON is what data/schema promises
	@tools/check-schema $(BUILD)

.PHONY: size
size: ## functions above 60 lines, files above 600
	@tools/check-size

.PHONY: commit-check
commit-check: ## the form of the last commit message
	@tools/check-commit

.PHONY: fuzz-smoke
fuzz-smoke: build-fuzz ## every fuzz target for a fixed number of runs (RUNS) from a fixed seed
	@tools/fuzz smoke $(RUNS)

.PHONY: fuzz
fuzz: build-fuzz ## one fuzz target (TARGET) for so long (SECONDS)
	@tools/fuzz run "$(TARGET)" "$(SECONDS)"

.PHONY: fuzz-keep
fuzz-keep: build-fuzz ## add what a fuzz run (TARGET) found new to tests/fuzz/corpus
	@tools/fuzz keep "$(TARGET)"

.PHONY: build-fuzz
build-fuzz: deps-all
	@$(call configured,build-fuzz,$(SANITIZE) -Dfuzz=true,CC=clang)
	@tools/fuzz build

.PHONY: oracle
oracle: build ## compare with the real Python packages (skips where there is no network)
	@tools/check-oracle $(BUILD)

.PHONY: bench
bench: build ## measure speed and memory, beside the peers where they can be installed
	@tools/bench $(BUILD)

.PHONY: man-options
man-options: build ## rewrite the option tables of the man pages from --help
	@tools/man-options --update $(BUILD)/wattgate

.PHONY: deps-build deps-check deps-all
deps-build:
	@$(DEPS) build
deps-check:
	@$(DEPS) check
deps-all:
	@$(DEPS) all
