#!/usr/bin/env bats
# rml-bench icount: counts that repeat, what fails and what is skipped. Needs valgrind.

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    bench=$(command -v rml-bench)
}

needs_valgrind() { command -v valgrind >/dev/null || skip "no valgrind"; }

# try COMMAND...: $status, $output and $stderr of a command that may fail
try() {
    status=0
    "$@" >stdout.txt 2>stderr.txt || status=$?
    output=$(<stdout.txt) stderr=$(<stderr.txt)
}

@test "counts repeat to the last instruction, whatever the environment; more of them fail" {
    needs_valgrind
    rml-bench icount --record a.json
    MORE=$(head -c 3000 /dev/zero | tr '\0' x) RML_THREADS=2 RML_CPU=ref rml-bench icount --record b.json
    cmp a.json b.json
    [ "$(sed -n '/"counts"/,/}/p' a.json | grep -c '[0-9],*$')" -ge 10 ]
    # 1 % fewer in the file: this build executes 1 % more
    awk '/"rms_norm"/ { n = $2; sub(/,/, "", n); sub($2, int(n / 1.01) ","); } { print }' a.json >fewer.json
    try rml-bench icount --baseline fewer.json
    [ "$status" -eq 3 ]
    grep -q '^rms_norm .*more$' stdout.txt
    # 1 % more in the file is no failure
    awk '/"rms_norm"/ { n = $2; sub(/,/, "", n); sub($2, int(n * 1.01) ","); } { print }' a.json >more.json
    rml-bench icount --baseline more.json
}

@test "counts of another compiler or C library: one line says skipped" {
    needs_valgrind
    rml-bench icount --record a.json
    for key in compiler cflags libc isa; do
        sed "s/\"$key\": \"/&x/" a.json >other.json
        try rml-bench icount --baseline other.json
        [ "$status" -eq 0 ] && [ "$(wc -l <stdout.txt)" -eq 1 ] && [[ $output == skipped:* ]]
    done
}

@test "no base is exit 6, a bad command line 2" {
    try rml-bench icount --baseline nosuch.json
    [ "$status" -eq 6 ]
    [ "$stderr" = 'rml-bench: nosuch.json: No such file or directory' ]
    echo '{' >broken.json
    try rml-bench icount --baseline broken.json
    [ "$status" -eq 1 ]
    for args in one 'a b c' '--record x --baseline y' '--record x a b' '--baseline x a b'; do
        # shellcheck disable=SC2086 # words
        try rml-bench icount $args
        [ "$status" -eq 2 ]
    done
    needs_valgrind
    try rml-bench icount ./nosuch "$bench"
    [ "$status" -eq 6 ]
    try rml-bench icount /bin/true "$bench"
    [ "$status" -eq 6 ]
}

@test "without valgrind it says so" {
    mkdir empty
    try env PATH="$PWD/empty" "$bench" icount
    [ "$status" -eq 1 ]
    [[ $stderr == 'rml-bench: valgrind not found'* ]]
}
