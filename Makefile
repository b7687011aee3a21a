# The front door. `make run` and `make test` do everything from a fresh checkout; meson does the work.
PROMPT ?= What is in this repository? Look around and tell me in a few sentences.

.PHONY: all run test bench fuzz check-corpus format tidy install clean deps-build deps-test deps-bench

all: build/build.ninja
	ninja -C build

build/build.ninja: | deps-build
	meson setup build --buildtype=release >/dev/null

build-test/build.ninja: | deps-test
	meson setup build-test -Dtests=true -Dcrash_points=true -Db_sanitize=address,undefined --buildtype=debugoptimized >/dev/null

build-clang/build.ninja: | deps-test
	CC=clang meson setup build-clang -Dtests=true -Db_lundef=false >/dev/null

build-bench/build.ninja: | deps-bench
	meson setup build-bench -Dbench=true --buildtype=release >/dev/null

deps-build deps-test deps-bench:
	@scripts/deps.sh $(@:deps-%=%)

# Without a key the embedded scripted model plays a demonstration; the program itself never falls back to it.
run: all
	@if [ -n "$$ANTHROPIC_API_KEY$$ANTHROPIC_AUTH_TOKEN" ]; then build/cadre -p "$(PROMPT)"; \
	else echo "No API key is set: this is the embedded scripted model (--provider scripted)."; \
	scripts/demo.sh build/cadre; fi
	@echo; echo "The agents it knows here (cadre agents):"; build/cadre agents

test: all build-test/build.ninja build-clang/build.ninja
	@ninja -C build-test
	@ninja -C build-clang
	@tests/run

bench: all build-bench/build.ninja
	@ninja -C build-bench
	@bench/run

# FUZZ=json SECONDS=60: searches with libFuzzer; without FUZZ each target for the time given.
SECONDS ?= 30
fuzz: deps-test
	@[ -d build-fuzz ] || CC=clang meson setup build-fuzz -Dtests=true -Dfuzzing=true -Db_lundef=false -Db_sanitize=address,undefined >/dev/null
	@ninja -C build-fuzz $(if $(FUZZ),fuzz/fuzz_$(FUZZ),)
	@fuzz/run $(SECONDS) $(FUZZ)

# CORPUS=DIR: compares what `cadre agents check` says with a folder of agent files and their meanings.
check-corpus: all
	@[ -n "$(CORPUS)" ] || { echo "usage: make check-corpus CORPUS=DIR" >&2; exit 2; }
	@scripts/check_corpus.py build/cadre $(CORPUS)

format:
	@git ls-files '*.c' '*.h' | xargs clang-format -i

tidy: build-clang/build.ninja
	@git ls-files 'src/*.c' 'modeld/*.c' | xargs clang-tidy -quiet -p build-clang

install: all
	meson install -C build

clean:
	rm -rf build build-test build-clang build-bench build-fuzz
