# SPDX-License-Identifier: MIT
#
# A thin front end for meson. Each target first runs scripts/bootstrap, which installs or names the missing
# Debian packages; if all are installed this takes no time.

# Debian's own: another meson or python3 may come first in PATH.
MESON := $(firstword $(wildcard /usr/bin/meson) meson)
NINJA := $(firstword $(wildcard /usr/bin/ninja) ninja)
BUILD ?= build
PREFIX ?= /usr/local

.PHONY: all demo doc check check-builds bench conformance soak deb dist install clean

all: $(BUILD)/build.ninja
	@$(NINJA) -C $(BUILD) --quiet

$(BUILD)/build.ninja:
	@scripts/bootstrap build
	@$(MESON) setup --prefix=$(PREFIX) $(BUILD) >$(BUILD).log 2>&1 || { cat $(BUILD).log; exit 1; }
	@rm -f $(BUILD).log

demo:
	@scripts/demo

# One build, and the tests and checks that need only one. T=events/hist runs only the tests whose names
# begin so, up to a - or / (events/hist-keys, events/hist-text ...), and builds what they need.
check:
	@scripts/check $(T)

# clang, the sanitizers, the fuzzers, programs built by every flag and language, the kernel's own test suite.
check-builds:
	@scripts/check --builds

bench:
	@scripts/bench

conformance:
	@scripts/conformance

# Takes hours: SOAK_SECONDS (600) for each fuzzer; stress tests run STRESS (20) times as long.
soak:
	@scripts/soak

# Debian packages, a tarball: in build-package/
deb dist:
	@scripts/package $@

# The manual as HTML: build-doc/index.html
doc:
	@scripts/bootstrap doc
	@scripts/doc build-doc

# meson uses DESTDIR.
install: all
	@$(MESON) install -C $(BUILD) --no-rebuild --quiet

clean:
	rm -rf $(BUILD) build-*
