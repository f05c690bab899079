# rml: one non-recursive Makefile.
#
# Objects live in build/<hash of compiler and flags>/, so that builds with
# different flags stand side by side and none is ever mixed with another; the
# programs are then linked into build/bin, where the last build wins.
#
# Nothing is listed by hand: library sources are lib/*/*.c and lib/*/*/*.c, a
# file rml_NAME.c in a tool's folder is the program rml-NAME, every other .c
# file there is shared by all programs, and each tests/test_*.c is a test
# program of its own.

VERSION := 0.1.0
ABI     := 0

# Settings for the command line or the environment.
BUILD        ?= build
PREFIX       ?= /usr/local
CFLAGS       ?= -O3 -g
FLAVOUR      ?=#          empty, asan, tsan, coverage or fuzz
WERROR       ?=#          1: warnings are errors
FUZZ_SECONDS ?= 60
TESTS        ?=#          only tests whose path contains this

ifeq ($(origin CC),default)
CC := gcc
endif

# Parallel by default, unless -j is given or a parent make hands out the jobs.
ifeq ($(MAKELEVEL)$(filter -j%,$(MAKEFLAGS)),0)
MAKEFLAGS += -j$(shell nproc)
endif
MAKEFLAGS += --no-builtin-rules
SHELL := /bin/bash
.DELETE_ON_ERROR:
.SECONDARY:
.DEFAULT_GOAL := all

# Targets that must work before ci/setup has installed a compiler; those that
# build call make again once it has.
BARE_GOALS := help clean setup demo test check lint format sanitize coverage fuzz
ifneq ($(filter clean,$(MAKECMDGOALS)),)
.NOTPARALLEL:
endif
ifneq ($(filter-out $(BARE_GOALS),$(or $(MAKECMDGOALS),all)),)
CONFIGURED := 1
endif

##@ Main targets

.PHONY: all
all: programs ## library and programs, the latter in build/bin (default)

.PHONY: demo
demo: ## install what is missing, build, run the first measurements
	@ci/setup
	@+$(MAKE) --no-print-directory all
	@ci/demo

.PHONY: test
test: ## install what is missing, build, run every test
	@ci/setup
	@+$(MAKE) --no-print-directory run-tests

.PHONY: check
check: ## test and lint
	@+$(MAKE) --no-print-directory test
	@+$(MAKE) --no-print-directory lint

.PHONY: lint
lint: ## formatting, layers, headers, exported symbols, static analysis
	@ci/setup --ci
	@+$(MAKE) --no-print-directory librml
	@+BUILD=$(BUILD) ci/lint

.PHONY: format
format: ## rewrite the C files with clang-format
	@ci/check-format --fix

.PHONY: sanitize
sanitize: ## unit tests under ASan and UBSan, threaded code under TSan
	@ci/setup
	@+$(MAKE) --no-print-directory FLAVOUR=asan run-unit-tests
	@+$(MAKE) --no-print-directory FLAVOUR=tsan run-tsan

.PHONY: coverage
coverage: ## lines executed by the tests, for each folder and file
	@ci/setup
	@+$(MAKE) --no-print-directory FLAVOUR=coverage run-coverage

.PHONY: fuzz
fuzz: ## libFuzzer harnesses, FUZZ_SECONDS each (60)
	@ci/setup --ci
	@+$(MAKE) --no-print-directory CC=clang FLAVOUR=fuzz run-fuzz

.PHONY: setup
setup: ## only install what is missing
	@ci/setup

.PHONY: clean
clean: ## remove everything that was built
	rm -rf $(BUILD)

.PHONY: help
help: ## this text
	@awk 'BEGIN { FS = ":.*## " } \
	  /^##@/ { printf "\n%s\n", substr($$0, 5); next } \
	  /^[a-z-]+:.*## / { printf "  %-16s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))
	@printf '\nSettings: CC, CFLAGS, LDFLAGS, PREFIX, DESTDIR, BUILD (folder, build), WERROR=1,\n'
	@printf 'FLAVOUR (asan, tsan, coverage, fuzz), TESTS (part of a path), FUZZ_SECONDS.\n'

ifdef CONFIGURED

# ---------------------------------------------------------------- flags ----

LIB_PKGS  := jansson libcrypto libpcre2-8 libutf8proc
TOOL_PKGS := sqlite3 libedit yaml-0.1

pkg_error := $(shell { pkg-config --print-errors --exists $(LIB_PKGS) $(TOOL_PKGS) || echo failed; } 2>&1)
ifneq ($(pkg_error),)
$(error needed to build: gcc, pkg-config, $(LIB_PKGS) $(TOOL_PKGS). \
Run ci/setup, or install them by hand [$(pkg_error)])
endif

CC_VERSION := $(shell $(CC) --version 2>/dev/null | head -n 1)
ifeq ($(CC_VERSION),)
$(error the compiler '$(CC)' does not run. Run ci/setup, or name another with CC=)
endif
ARCH := $(firstword $(subst -, ,$(shell $(CC) -dumpmachine)))

WARNINGS := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wvla -Wmissing-prototypes \
            $(if $(WERROR),-Werror)

# Each number that the library computes has one defined order of operations:
# no contraction to fma behind our back, no fast-math, no -march=native. The
# flags come after the user's so that these hold whatever CFLAGS says.
# Objects serve the static and the shared library both, hence -fPIC; without
# interposition it costs nothing.
RML_CFLAGS := -std=c17 -ffp-contract=off -fno-fast-math -fno-math-errno \
              -fPIC -fno-semantic-interposition -pthread

SAN_UB := -fsanitize=undefined,float-cast-overflow
FLAVOUR_CFLAGS_asan     := -O1 -g -fno-omit-frame-pointer -fsanitize=address $(SAN_UB) \
                           -fno-sanitize-recover=all
FLAVOUR_CFLAGS_tsan     := -O1 -g -fno-omit-frame-pointer -fsanitize=thread
FLAVOUR_CFLAGS_coverage := -O1 -g --coverage
# (A loop that coverage counters keep clang from unrolling is no defect.)
FLAVOUR_CFLAGS_fuzz     := $(FLAVOUR_CFLAGS_asan) -fsanitize=fuzzer-no-link -Wno-pass-failed
FLAVOUR_CFLAGS          := $(FLAVOUR_CFLAGS_$(FLAVOUR))
ifneq ($(FLAVOUR),)
ifeq ($(FLAVOUR_CFLAGS),)
$(error unknown FLAVOUR '$(FLAVOUR)': asan, tsan, coverage or fuzz)
endif
endif

ALL_CFLAGS   := $(CFLAGS) $(FLAVOUR_CFLAGS) $(RML_CFLAGS) $(WARNINGS)
ALL_CPPFLAGS := -D_GNU_SOURCE -DRML_VERSION=\"$(VERSION)\" $(CPPFLAGS)
ALL_LDFLAGS  := $(LDFLAGS) $(filter -fsanitize% -fno-sanitize% --coverage,$(FLAVOUR_CFLAGS)) -pthread

LIB_LDLIBS  := $(shell pkg-config --libs $(LIB_PKGS)) -lm
TOOL_LDLIBS := $(shell pkg-config --libs $(TOOL_PKGS))
# libedit's own flag is for its imitation of readline; histedit.h is where headers are.
PKG_CFLAGS  := $(shell pkg-config --cflags $(LIB_PKGS) $(filter-out libedit,$(TOOL_PKGS)))

# One file per instruction set; which of them runs is decided when it runs.
isa_flags_avx2    := -mavx2 -mfma -mf16c
isa_flags_avx512   = $(isa_flags_avx2) -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512vnni
isa_flags_dotprod := -march=armv8.2-a+dotprod
# Fuzzing is about file parsers; clang needs many minutes to instrument unrolled kernels.
ifeq ($(FLAVOUR),fuzz)
isa_flags_avx2    += -fno-sanitize=all
endif

EVERYTHING := $(CC_VERSION)|$(ALL_CFLAGS)|$(ALL_CPPFLAGS)|$(ALL_LDFLAGS)|$(PKG_CFLAGS)
HASH := $(shell printf '%s' '$(subst ','\'',$(EVERYTHING))' | sha256sum | cut -c 1-12)
B    := $(BUILD)/$(HASH)
OBJ  := $(B)/obj

# -------------------------------------------------------------- sources ----

TOOL_DIRS := $(wildcard goldens bench eval results tools)
FOUND := $(shell find lib $(TOOL_DIRS) \( -name '*.c' -o -name '*.bats' \) | LC_ALL=C sort)

SKIP_ARCH := $(if $(filter x86_64,$(ARCH)),,lib/kernels/x86/%) \
             $(if $(filter aarch64,$(ARCH)),,lib/kernels/arm/%)
ALL_C     := $(filter-out $(SKIP_ARCH),$(filter %.c,$(FOUND)))

# A path that has the folder $1 in it, out of the list $2.
with_folder = $(foreach f,$2,$(if $(findstring /$1/,$f),$f))

TEST_C  := $(call with_folder,tests,$(ALL_C))
FUZZ_C  := $(call with_folder,fuzz,$(ALL_C))
PLAIN_C := $(filter-out $(TEST_C) $(FUZZ_C),$(ALL_C))
LIB_C   := $(filter lib/%,$(PLAIN_C))
TOOL_C  := $(filter-out lib/%,$(PLAIN_C))
PROG_C  := $(foreach f,$(TOOL_C),$(if $(filter rml_%,$(notdir $f)),$f))
CLI_C   := $(filter-out $(PROG_C),$(TOOL_C))

UNIT_C   := $(foreach f,$(TEST_C),$(if $(filter test_%,$(notdir $f)),$f))
TSAN_C   := $(foreach f,$(TEST_C),$(if $(filter tsan_%,$(notdir $f)),$f))
HELPER_C := $(filter-out $(UNIT_C) $(TSAN_C),$(TEST_C))
HARNESS_C     := $(foreach f,$(FUZZ_C),$(if $(filter fuzz_%,$(notdir $f)),$f))
FUZZ_HELPER_C := $(filter-out $(HARNESS_C),$(FUZZ_C))
BATS := $(call with_folder,tests,$(filter %.bats,$(FOUND)))
ifneq ($(TESTS),)
UNIT_C := $(foreach f,$(UNIT_C),$(if $(findstring $(TESTS),$f),$f))
BATS   := $(foreach f,$(BATS),$(if $(findstring $(TESTS),$f),$f))
endif

objects = $(patsubst %.c,$(OBJ)/%.o,$1)
# The helpers that lie beside the source $1, out of the list $2.
beside = $(foreach f,$2,$(if $(filter $(dir $1),$(dir $f)),$f))

LIB_A     := $(B)/librml.a
LIB_SO    := $(B)/librml.so.$(VERSION)
TOOLS_A   := $(B)/libtools.a
BIN_DIR   := $(B)/bin
program_name = $(subst _,-,$(basename $(notdir $1)))
PROGRAMS  := $(foreach f,$(PROG_C),$(BIN_DIR)/$(call program_name,$f))
UNIT_TESTS := $(patsubst %.c,$(B)/%,$(UNIT_C))
TSAN_TESTS := $(patsubst %.c,$(B)/%,$(TSAN_C))
FUZZERS    := $(foreach f,$(HARNESS_C),$(BUILD)/bin/fuzz/$(basename $(notdir $f)))

# ---------------------------------------------------------------- rules ----

ifneq ($(V),)
Q :=
say = @:
else
Q := @
say = @printf '  %-6s %s\n' '$1' '$(patsubst $(B)/%,%,$2)'
endif

# Recipes that call the tools see the compiler and the folder of this build.
export CC BUILD
export RML_SOURCE_DIR := $(CURDIR)

$(OBJ)/%.o: %.c Makefile
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CPPFLAGS) $(INCLUDES) $(PKG_CFLAGS) $(ALL_CFLAGS) $(ISA_CFLAGS) -MMD -MP -c $< -o $@

INCLUDES = -Ilib
$(call objects,$(TOOL_C) $(TEST_C) $(FUZZ_C)): INCLUDES = -Ilib -I.

isa_objects = $(call objects,$(foreach f,$(LIB_C),$(if $(filter %_$1.c,$f),$f)))
$(call isa_objects,avx2):    ISA_CFLAGS := $(isa_flags_avx2)
$(call isa_objects,avx512):  ISA_CFLAGS := $(isa_flags_avx512)
$(call isa_objects,dotprod): ISA_CFLAGS := $(isa_flags_dotprod)

# A list of objects is a file, so that an archive is made anew when a source
# file has gone away.
$(B)/%.list: FORCE
	@mkdir -p $(@D)
	@printf '%s\n' $(LIST) | cmp -s - $@ || printf '%s\n' $(LIST) > $@
$(B)/librml.list: LIST = $(call objects,$(LIB_C))
$(B)/libtools.list: LIST = $(call objects,$(CLI_C))

$(LIB_A): $(call objects,$(LIB_C)) $(B)/librml.list
$(TOOLS_A): $(call objects,$(CLI_C)) $(B)/libtools.list
$(LIB_A) $(TOOLS_A):
	$(call say,AR,$@)
	@rm -f $@
	$(Q)$(AR) rcsD $@ $(filter %.o,$^)

# Nothing but rml_* leaves the shared library; the internals' prefix, rmli_,
# does not match.
$(B)/librml.map: Makefile
	@mkdir -p $(@D)
	@printf '{ global: rml_*; local: *; };\n' > $@

$(LIB_SO): $(call objects,$(LIB_C)) $(B)/librml.list $(B)/librml.map
	$(call say,LD,$@)
	$(Q)$(CC) -shared $(ALL_CFLAGS) $(ALL_LDFLAGS) -Wl,-soname,librml.so.$(ABI) \
	  -Wl,--version-script=$(B)/librml.map $(filter %.o,$^) $(LIB_LDLIBS) -o $@

# What the programs say about their own build. The file changes only when its
# content does; tests do not wait for it, so that an edit relinks none of them.
BUILD_INFO := $(B)/build_info
$(BUILD_INFO).c: FORCE
	@mkdir -p $(@D)
	@VERSION='$(VERSION)' COMPILER='$(CC_VERSION)' CFLAGS='$(ALL_CFLAGS)' \
	  LDFLAGS='$(ALL_LDFLAGS)' ci/build-info > $@.new
	@if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi
$(BUILD_INFO).o: $(BUILD_INFO).c tools/cli/build_info.h
	$(Q)$(CC) $(ALL_CPPFLAGS) -I. $(ALL_CFLAGS) -c $< -o $@

define program_rule
$(BIN_DIR)/$(call program_name,$1): $(call objects,$1) $(BUILD_INFO).o $(TOOLS_A) $(LIB_A)
endef
$(foreach f,$(PROG_C),$(eval $(call program_rule,$f)))
$(PROGRAMS):
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) $^ $(TOOL_LDLIBS) $(LIB_LDLIBS) -o $@

define test_rule
$(patsubst %.c,$(B)/%,$1): $(call objects,$1 $(call beside,$1,$(HELPER_C))) $(TOOLS_A) $(LIB_A) | $(BUILD_INFO).o
endef
$(foreach f,$(UNIT_C) $(TSAN_C),$(eval $(call test_rule,$f)))
$(UNIT_TESTS): TEST_LDLIBS := -lcriterion
$(UNIT_TESTS) $(TSAN_TESTS):
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) $(filter %.o,$^) $(BUILD_INFO).o $(TOOLS_A) $(LIB_A) \
	  $(TEST_LDLIBS) $(TOOL_LDLIBS) $(LIB_LDLIBS) -o $@

define fuzz_rule
$(BUILD)/bin/fuzz/$(basename $(notdir $1)): $(call objects,$1 $(call beside,$1,$(FUZZ_HELPER_C))) $(TOOLS_A) $(LIB_A) | $(BUILD_INFO).o
endef
$(foreach f,$(HARNESS_C),$(eval $(call fuzz_rule,$f)))
$(FUZZERS):
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -fsanitize=fuzzer $(filter %.o,$^) $(BUILD_INFO).o \
	  $(TOOLS_A) $(LIB_A) $(TOOL_LDLIBS) $(LIB_LDLIBS) -o $@

.PHONY: librml
librml: $(LIB_A) $(LIB_SO)

# Hard links: an unchanged program keeps its name and its hash.
.PHONY: programs
programs: $(LIB_A) $(LIB_SO) $(PROGRAMS)
	@mkdir -p $(BUILD)/bin
	@for p in $(PROGRAMS); do \
	  t=$(BUILD)/bin/$${p##*/}; [ $$p -ef $$t ] || ln -f $$p $$t; done

##@ Parts of the above

.PHONY: build-tests
build-tests: programs $(UNIT_TESTS) ## build the tests without running them

.PHONY: run-tests
run-tests: build-tests ## run the tests without looking for missing packages
	@ci/run-tests $(B) $(UNIT_TESTS) $(BATS)

.PHONY: test-browser
test-browser: programs ## the report in Chromium, light and dark; skipped where there is none
	@results/tests/check-report-in-browser $(B)

.PHONY: run-unit-tests
run-unit-tests: $(UNIT_TESTS) ## only the unit tests; with FLAVOUR=asan under sanitizers
	@ci/run-tests $(B) $(UNIT_TESTS)

.PHONY: run-tsan
run-tsan: $(TSAN_TESTS) $(PROGRAMS)
	@ci/run-tsan $(B) $(TSAN_TESTS)

.PHONY: run-coverage
run-coverage: $(PROGRAMS) $(UNIT_TESTS)
	@find $(B) -name '*.gcda' -delete
	@status=0; TEST_TIMEOUT_S=1800 ci/run-tests $(B) $(UNIT_TESTS) $(BATS) || status=$$?; \
	ci/coverage $(B) && exit $$status

.PHONY: build-fuzz
build-fuzz: $(FUZZERS)

.PHONY: run-fuzz
run-fuzz: build-fuzz
	@ci/run-fuzz $(FUZZ_SECONDS) $(HARNESS_C)

##@ Installing

# The public headers are rml.h and all that it includes. What rml.pc requires gives its Cflags to
# every user of librml, whose headers include none of it; libutf8proc's would set a macro there
# (-DUTF8PROC_EXPORTS), so of it only the library is named.
PC_REQUIRES := $(filter-out libutf8proc,$(LIB_PKGS))
PC_LIBS     := $(shell pkg-config --libs libutf8proc) -lm -pthread

.PHONY: install
install: all ## programs, libraries, headers, charts, pkg-config file (PREFIX, DESTDIR)
	@install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/lib/pkgconfig $(DESTDIR)$(PREFIX)/include
	$(if $(PROGRAMS),install -m 755 $(PROGRAMS) $(DESTDIR)$(PREFIX)/bin)
	install -m 644 $(LIB_A) $(DESTDIR)$(PREFIX)/lib
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/rml/plots $(wildcard results/plots/*.gnuplot)
	install -m 755 $(LIB_SO) $(DESTDIR)$(PREFIX)/lib
	ln -sf $(notdir $(LIB_SO)) $(DESTDIR)$(PREFIX)/lib/librml.so.$(ABI)
	ln -sf librml.so.$(ABI) $(DESTDIR)$(PREFIX)/lib/librml.so
	@for h in $$(ci/public-headers); do \
	  install -D -m 644 lib/$$h $(DESTDIR)$(PREFIX)/include/rml/$$h && echo "install lib/$$h"; done
	@printf '%s\n' 'prefix=$(PREFIX)' 'libdir=$${prefix}/lib' 'includedir=$${prefix}/include' '' \
	  'Name: rml' 'Description: runs and judges language-model checkpoints on the CPU' \
	  'Version: $(VERSION)' 'Requires.private: $(PC_REQUIRES)' 'Libs: -L$${libdir} -lrml' \
	  'Libs.private: $(PC_LIBS)' 'Cflags: -I$${includedir}/rml' \
	  > $(DESTDIR)$(PREFIX)/lib/pkgconfig/rml.pc

# For the scripts in ci/: the value of a variable, as in `make print-B`.
print-%:
	@echo '$($*)'

-include $(patsubst %.o,%.d,$(call objects,$(ALL_C)))

endif # CONFIGURED

.PHONY: FORCE
FORCE:
