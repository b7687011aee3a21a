# The front door. `make run` and `make test` do everything from a fresh checkout; meson does the work.
PROMPT ?= What is in this repository? Look around and tell me in a few sentences.

.PHONY: all dev run test bench fuzz check-compat check-corpus format tidy install clean deps-build deps-test deps-bench

all: build/build.ninja
	@scripts/build.sh build

build/build.ninja: OPTIONS = --buildtype=release
# What the tests run; tests/README.md says what each option saves. A finding of UBSan is a trap, which ASan reports with its line; it
# needs nothing of libubsan. The reports need line numbers only (-g1); gcc 12 takes the null checks of UBSan for null pointers (the
# other two builds look for real ones).
build-test/build.ninja: OPTIONS = -Dtests=true -Dcrash_points=true -Db_sanitize=address,undefined -Doptimization=1 -Ddebug=true \
	-Dc_args='-g1 -Wno-nonnull -fsanitize-undefined-trap-on-error' \
	-Dc_link_args="-no-pie -fno-sanitize=undefined$(if $(shell command -v ld.gold), -fuse-ld=gold)"
# Nothing of it is linked or run: it is there for the warnings of the other compiler.
build-clang/build.ninja: OPTIONS = -Dtests=true --buildtype=plain
build-clang/build.ninja: export CC = clang
# For daily work: compiles several times as fast as build-test. TEST_BUILD=build-dev tests/run unit
build-dev/build.ninja: OPTIONS = -Dtests=true -Dcrash_points=true --buildtype=plain -Dc_args='-O0 -g1'
build-bench/build.ninja: OPTIONS = -Dbench=true --buildtype=release

build/build.ninja: | deps-build
build-test/build.ninja build-dev/build.ninja build-clang/build.ninja: | deps-test
build-bench/build.ninja: | deps-bench
build/build.ninja build-test/build.ninja build-dev/build.ninja build-clang/build.ninja build-bench/build.ninja:
	@echo "configuring $(@D)"
	@meson setup $(@D) $(OPTIONS) >/dev/null || { tail -n 20 $(@D)/meson-logs/meson-log.txt; exit 1; }

deps-build deps-test deps-bench:
	@scripts/deps.sh $(@:deps-%=%)

# Without a key the embedded scripted model plays a demonstration; the program itself never falls back to it.
run: all
	@if [ -n "$$ANTHROPIC_API_KEY$$ANTHROPIC_AUTH_TOKEN" ]; then build/cadre -p "$(PROMPT)"; \
	else echo "No API key is set: this is the embedded scripted model (--provider scripted)."; \
	scripts/demo.sh build/cadre; fi
	@echo; echo "The agents it knows here (cadre agents):"; build/cadre agents

TREES = build build-test $(if $(T),,build-clang)
# T="unit scenario/hooks": only these suites or tests, and not the build with clang.
test:
	@echo "make test: installs missing packages, builds ($(TREES)), runs $(or $(T),every test)"
	@$(MAKE) --no-print-directory all build-test/build.ninja $(if $(T),,build-clang/build.ninja)
	@scripts/build.sh build-test
	@$(if $(T),,scripts/build.sh build-clang objects)
	@TEST_PLAIN=build tests/run $(T)

dev: build-dev/build.ninja
	@scripts/build.sh build-dev

bench: all build-bench/build.ninja
	@scripts/build.sh build-bench
	@bench/run

# FUZZ=json SECONDS=60: searches with libFuzzer; without FUZZ each target for the time given.
SECONDS ?= 30
fuzz: deps-test
	@[ -d build-fuzz ] || CC=clang meson setup build-fuzz -Dtests=true -Dfuzzing=true -Db_lundef=false -Db_sanitize=address,undefined >/dev/null
	@ninja -C build-fuzz $(if $(FUZZ),fuzz/fuzz_$(FUZZ),)
	@fuzz/run $(SECONDS) $(FUZZ)

# make check-compat DIR="one two": what cadre makes of the agent files, plugins, marketplaces and settings files below these folders,
# as JSON; a summary on standard error. Folders may also follow as words: make check-compat one two.
ifneq ($(filter check-compat,$(MAKECMDGOALS)),)
WORDS = $(filter-out check-compat,$(MAKECMDGOALS))
DIR ?= $(WORDS)
$(WORDS): check-compat
	@:
endif
check-compat: all
	@[ -n "$(DIR)" ] || { echo 'usage: make check-compat DIR="FOLDER..."' >&2; exit 2; }
	@scripts/check_compat.py build/cadre $(DIR)
check-corpus:
	@$(MAKE) --no-print-directory check-compat DIR="$(CORPUS)"

format:
	@git ls-files '*.c' '*.h' | xargs clang-format -i

tidy: build-clang/build.ninja
	@git ls-files 'src/*.c' 'modeld/*.c' | xargs clang-tidy -quiet -p build-clang

install: all
	meson install -C build

clean:
	rm -rf build build-test build-dev build-clang build-bench build-fuzz
