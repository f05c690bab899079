#!/usr/bin/env bats
# The scripts of the repository: --help tells what one is for and does nothing else, and what is no option is
# refused, before anything is done.

setup() {
    cd "$RML_SOURCE_DIR" || return
    # What a script would fetch, build or leave goes here, where it is seen.
    export HOME=$BATS_TEST_TMPDIR/home XDG_CACHE_HOME=$BATS_TEST_TMPDIR/home/cache TMPDIR=$BATS_TEST_TMPDIR/home/tmp
    mkdir -p "$TMPDIR"
    unset RML_MODELS_DIR RML_PEERS_DIR RML_DB
    find "$HOME" >"$BATS_TEST_TMPDIR/before"
}

helps() { # SCRIPT [COMMAND...]: --help of it
    local script=$1
    shift
    echo "$script:"
    run "$@" "$script" --help
    [ "$status" -eq 0 ] && [ "${#lines[@]}" -ge 1 ] && [[ $output != *Traceback* ]]
    [[ $output == *' '*' '*' '* ]]
}
refuses() { # SCRIPT [COMMAND...]
    local script=$1
    shift
    for words in '--no-such-option' '-Z'; do
        run "$@" "$script" "$words"
        echo "$script $words: $status: $output"
        [ "$status" -eq 2 ] && [[ $output == *"$words"* || $output == *'arguments are required'* ]]
    done
}
nothing_done() {
    run diff "$BATS_TEST_TMPDIR/before" <(find "$HOME")
    [ "$status" -eq 0 ]
}

@test "scripts of bash" {
    local n=0
    for script in .ci/run ci/* bench/peers/setup bench/tests/kill_and_resume eval/tests/kill_and_resume_* \
        results/tests/check-report-in-browser; do
        [ "$script" != ci/build-info ] || continue # a part of the Makefile: it has no arguments
        [ -x "$script" ] && [ -f "$script" ] && head -n 1 "$script" | grep -q 'sh$' || continue
        helps "$script"
        refuses "$script"
        n=$((n + 1))
    done
    [ "$n" -ge 20 ]
    nothing_done
    run ci/fetch-models smollm2
    [ "$status" -eq 2 ] && [ "$output" = 'fetch-models: 1 argument found, expected none; see --help' ]
    run ci/check-format --fix --fix
    [ "$status" -eq 2 ] && [ "$output" = 'check-format: 2 arguments found, expected at most 1; see --help' ]
    nothing_done
}

# Without site packages: what a script is for must be told where its needs are not installed.
@test "scripts of Python" {
    command -v python3 >/dev/null || skip 'no python3 here'
    local n=0
    for script in ci/* bench/peers/*; do
        [ -f "$script" ] && head -n 1 "$script" | grep -q python || continue
        helps "$script" python3 -S -B
        refuses "$script" python3 -S -B
        n=$((n + 1))
    done
    [ "$n" -ge 7 ]
    nothing_done
}

@test "makers of goldens" {
    python3 -B -c 'import numpy' 2>/dev/null || skip 'no numpy here'
    # what of goldens/ was written to last, and when
    written_last() { find goldens -type f ! -path '*/__pycache__/*' -printf '%T@ %p\n' | sort -n | tail -n 1; }
    local before
    before=$(written_last)
    for script in goldens/make/{fixtures,forward,manifest,sensitivity}.py goldens/make/rml_tiny/{corpus,expected,finish}.py \
        goldens/tests/make_*.py; do
        helps "$script" python3 -B
        refuses "$script" python3 -B
    done
    [ "$(written_last)" = "$before" ]
}

# bats stops at the first command that fails, but bash takes no `! COMMAND` for one: unless it ends the test,
# it needs `|| false` behind it to count.
@test "no test holds a negation that cannot fail" {
    run awk '
        FNR == 1 { held = "" }
        held != "" && $0 !~ /^}/ { print held; n++ }
        { held = $0 ~ /^ +! / && $0 !~ /\|\| (false|return)/ ? FILENAME ":" FNR ": " $0 : "" }
        END { exit n > 0 }' $(find bench eval goldens lib results tools ci -name '*.bats')
    echo "$output"
    [ "$status" -eq 0 ]
}
