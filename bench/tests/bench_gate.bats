#!/usr/bin/env bats
# ci/bench-gate: builds two commits apart, passes on what the head's gate says, keeps reports. The
# repository here is a small one, whose rml-bench says what the test wants to hear.

setup() {
    script=$RML_SOURCE_DIR/ci/bench-gate
    export HOME=$BATS_TEST_TMPDIR GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=t GIT_AUTHOR_EMAIL=t@example.org
    export GIT_COMMITTER_NAME=t GIT_COMMITTER_EMAIL=t@example.org
    unset GITHUB_STEP_SUMMARY CC
    mkdir "$BATS_TEST_TMPDIR/repo" "$BATS_TEST_TMPDIR/bin" && cd "$BATS_TEST_TMPDIR/repo" || return
    # a valgrind is there, whatever it is
    printf '#!/bin/sh\n' >../bin/valgrind && chmod +x ../bin/valgrind
    PATH=$BATS_TEST_TMPDIR/bin:$PATH
    git init -q -b main
    cat >Makefile <<'END'
programs:
	@test ! -e broken
	@mkdir -p build/bin
	@echo built >> ../builds
	@cp rml-bench build/bin/rml-bench
	@chmod +x build/bin/rml-bench
END
    cat >rml-bench <<'END'
#!/bin/bash
# gate and icount as head sees them: codes come from files of the test
here=$(cd "$(dirname "$0")" && pwd)
case $1 in
gate)
    shift
    while [ $# -gt 0 ]; do
        case $1 in
        --db) echo db >"$2"; shift ;;
        --junit) echo '<testsuite/>' >"$2"; shift ;;
        --markdown) echo '### table' >"$2"; shift ;;
        *) rest+=("$1") ;;
        esac
        shift
    done
    printf 'arg: %s\n' "${rest[@]}"
    echo "base says $("${rest[0]}" who), head says $("${rest[1]}" who)"
    exit "$(cat "$HOME/gate_code")" ;;
icount) echo "counted"; exit "$(cat "$HOME/icount_code")" ;;
who) echo "$WHO" ;;
esac
END
    sed -i 's/\$WHO/one/' rml-bench
    git add -A && git commit -qm one
    sed -i 's/echo "one"/echo "two"/' rml-bench
    git commit -qam two
    echo 0 >"$HOME/gate_code"
    echo 0 >"$HOME/icount_code"
}

# try COMMAND...: $status, $output and $stderr of a command that may fail
try() {
    status=0
    "$@" >../stdout.txt 2>../stderr.txt || status=$?
    output=$(<../stdout.txt) stderr=$(<../stderr.txt)
}

@test "builds base and head apart, hands on options and cases, leaves reports" {
    try "$script" HEAD~1 -o out -- --gate 3 'attention --kv i8'
    echo "$output$stderr"
    [ "$status" -eq 0 ]
    [[ $output == *'base says one, head says two'* ]]
    [[ $output == *$'arg: --gate\narg: 3\narg: attention --kv i8'* ]]
    grep -q 'base says one' out/gate.txt
    grep -q '### table' out/gate.md && grep -q counted out/gate.md && grep -q counted out/icount.txt
    [ -s out/junit.xml ] && [ -s out/gate.db ]
    [ -z "$(git status --porcelain --untracked-files=no)" ]
}

@test "a commit that is built already is not built again, another is" {
    "$script" HEAD~1 -o out
    [ "$(wc -l <out/builds)" -eq 2 ]
    "$script" HEAD~1 HEAD -o out
    [ "$(wc -l <out/builds)" -eq 2 ]
    git commit -q --allow-empty -m three
    "$script" HEAD~2 HEAD -o out
    [ "$(wc -l <out/builds)" -eq 3 ]
}

@test "the exit code: the gate's, and 3 for instructions though the clock was too noisy" {
    while read -r gate icount expected; do
        echo "$gate" >"$HOME/gate_code"
        echo "$icount" >"$HOME/icount_code"
        try "$script" HEAD~1 -o out
        echo "gate $gate, icount $icount: $status, expected $expected"
        [ "$status" -eq "$expected" ]
    done <<'END'
0 0 0
0 3 3
3 0 3
5 0 5
5 3 3
6 3 6
1 3 1
0 1 1
0 6 0
2 3 2
END
}

@test "a base that is not there or does not build is 6, such a head 1" {
    try "$script" nosuch -o out
    [ "$status" -eq 6 ] && [[ $stderr == *"no commit 'nosuch'"* ]]
    try "$script" HEAD~1 nosuch -o out
    [ "$status" -eq 1 ]
    touch broken && git add broken && git commit -qm broken
    try "$script" HEAD~1 HEAD -o out
    [ "$status" -eq 1 ] && [[ $stderr == *'head does not build'* ]]
    git rm -q broken && git commit -qm mended
    try "$script" HEAD~1 HEAD -o out
    [ "$status" -eq 6 ] && [[ $stderr == *'base does not build'* ]]
}

@test "bad usage exits 2; --help tells the codes" {
    for args in '' 'a b c' '--nosuch a' 'a -o'; do
        # shellcheck disable=SC2086 # words
        try "$script" $args
        [ "$status" -eq 2 ] && [ -z "$output" ]
    done
    "$script" --help | grep -q '6 the base is missing'
}

@test "the job's summary gets the table" {
    GITHUB_STEP_SUMMARY=$HOME/summary.md try "$script" HEAD~1 -o out
    grep -q '### table' "$HOME/summary.md"
}
