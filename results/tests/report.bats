#!/usr/bin/env bats
# rml-results report. How it looks and sorts is tested in a browser: make test-browser.

setup_file() {
    export DB=$BATS_FILE_TMPDIR/report.db
    unset RML_DB RML_PLOTS_DIR
    rml-bench attention --kv f32 --depth 8 --db "$DB" >/dev/null 2>&1
    sqlite3 "$DB" <"$BATS_TEST_DIRNAME/chart_fixture.sql"
    rml-results report --db "$DB" -o "$BATS_FILE_TMPDIR/report.html" 2>/dev/null
}
setup() { cd "$BATS_TEST_TMPDIR" && page=$BATS_FILE_TMPDIR/report.html; }

try() {
    status=0
    "$@" >stdout.txt 2>stderr.txt || status=$?
    output=$(<stdout.txt) stderr=$(<stderr.txt)
}

@test "a page with every chart, all tables, and nothing from elsewhere" {
    [ "$(grep -c '<img alt="Chart: ' "$page")" -eq 12 ]
    for id in verdicts charts goldens eval-verdicts flipped metrics results runs machine-state hosts builds models; do
        grep -q "<section id=\"$id\">" "$page"
        grep -q "href=\"#$id\"" "$page"
    done
    ! grep -o '\(src\|href\)="[^"]\{0,20\}' "$page" | grep -v '="#\|="data:image/svg+xml' || false
    ! grep -q 'http://\|https://\|@import\|url(' "$page"
}

@test "rows are those of the database" {
    count() { sed -n "/<section id=\"$1\">/,/<\/section>/p" "$page" | grep -c '^<tr><td'; }
    [ "$(count verdicts)" -eq 5 ] && [ "$(count goldens)" -eq 2 ] && [ "$(count metrics)" -eq 9 ]
    [ "$(count runs)" -eq "$(sqlite3 "$DB" 'SELECT count(*) FROM run')" ]
    [ "$(count results)" -eq "$(sqlite3 "$DB" 'SELECT count(*) FROM v_chart WHERE is_latest')" ]
    [ "$(count hosts)" -eq 2 ] && [ "$(count builds)" -eq 3 ] && [ "$(count models)" -eq 5 ]
    # errors, reasons and verdicts are told
    grep -q '<td class="bad">regression</td><td>attention shape-5</td>' "$page"
    grep -q '<td class="bad">wrong</td><td>decoder prefill</td><td>ik_llama.cpp 0.1.2</td>' "$page"
    grep -q '<td>no memory for &lt;64&gt; threads &amp; &quot;more&quot;</td>' "$page"
    grep -q '<td class="bad">mismatch</td>.*position 3, id &lt;7&gt;: NaN' "$page"
    grep -q '<td>governor</td><td></td><td></td><td>no cpufreq folder</td>' "$page"
    grep -q '<td class="n" data-v="10">10</td><td class="n" data-v="8.8[0-9]*">8.8</td>' "$page"
}

@test "hostile names stay text" {
    [ "$(grep -c '<script' "$page")" -eq 1 ]
    grep -q '&lt;script&gt;alert(&quot;host&quot;)&lt;/script&gt;' "$page"
    grep -q '&lt;script&gt;alert(&quot;model&quot;)&lt;/script&gt;' "$page"
    grep -q '&lt;b&gt;label&lt;/b&gt;' "$page" && ! grep -q '<b>' "$page"
    # bytes that are no text
    sqlite3 "$DB" "VACUUM INTO 'bytes.db'"
    sqlite3 bytes.db "UPDATE run SET label = CAST(x'41ff42e28228c0af1b43eda080f4908080' AS TEXT) WHERE id = 1"
    rml-results report --db bytes.db -o bytes.html 2>/dev/null
    grep -q '<td>A.*B.*(.*C' bytes.html
    iconv -f UTF-8 -t UTF-8 bytes.html >/dev/null
    ! grep -q $'\x1b' bytes.html
}

@test "the same bytes for the same database; well-formed" {
    LC_ALL=C rml-results report --db "$DB" 2>/dev/null | cmp - "$page"
    command -v tidy >/dev/null || skip 'no tidy here'
    tidy -q -e "$page" 2>messages
    [ ! -s messages ]
}

@test "a chart that fails is a line of the page, and the rest is written" {
    cp -r "$BATS_TEST_DIRNAME/../plots" plots
    echo 'set nonsense' >plots/quality.gnuplot
    RML_PLOTS_DIR=plots try rml-results report --db "$DB" -o x.html
    [ "$status" -eq 1 ]
    [ "$(grep -c 'gnuplot failed' stderr.txt)" -eq 1 ] && [[ $stderr == *'plots/quality.gnuplot: gnuplot failed with exit status 1'* ]]
    [ "$(grep -c '<img alt="Chart: ' x.html)" -eq 11 ]
    grep -q '<p id="chart-quality" class="bad">The chart quality (.*) could not be drawn: gnuplot failed' x.html
    tail -1 x.html | grep -q '</html>'
    # all else is as ever
    grep -v 'id="chart-quality"\|^<figcaption>\|^<img\|^</figure>' x.html >got
    grep -v 'id="chart-quality"\|^<figcaption>\|^<img\|^</figure>' "$page" | diff - got
}

@test "an empty database, a missing one, a bad command line" {
    sqlite3 "$DB" "VACUUM INTO 'empty.db'"
    sqlite3 empty.db 'PRAGMA foreign_keys = ON; DELETE FROM annotation; DELETE FROM run; DELETE FROM bench_case;
        DELETE FROM host; DELETE FROM build; DELETE FROM model'
    rml-results report --db empty.db -o empty.html
    grep -q 'nothing to draw yet' empty.html && grep -q 'nothing was measured yet (rml-bench does)' empty.html
    ! grep -q '<table' empty.html || false
    try rml-results report --db missing.db -o x.html
    [ "$status" -eq 1 ] && [ ! -e x.html ] && [[ $stderr == 'rml-results: missing.db: no results database there'* ]]
    program=$(command -v rml-results)
    PATH=/nowhere try "$program" report --db "$DB" -o x.html
    [ "$status" -eq 1 ] && [ ! -e x.html ] && [[ $stderr == *"gnuplot: not found in PATH; Debian's package is gnuplot-nox"* ]]
    for args in 'extra' '-o=' '--db='; do
        # shellcheck disable=SC2086 # words
        try rml-results report $args
        [ "$status" -eq 2 ] && [ -z "$output" ]
    done
}
