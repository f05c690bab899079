#!/usr/bin/env bats
# rml-results plot. The database is made of chart_fixture.sql; what the data files say is held
# against queries of the tables by sqlite3, and what the charts show was looked at.

setup_file() {
    export ROOT=$BATS_FILE_TMPDIR
    export DB=$ROOT/charts.db
    export KINDS='throughput-by-kv throughput-by-depth throughput-by-threads throughput-by-weights memory-speed latency roofline history samples ab peers quality'
    unset RML_DB RML_PLOTS_DIR
    rml-bench attention --kv f32 --depth 8 --db "$DB" >/dev/null 2>&1
    sqlite3 "$DB" <"$BATS_TEST_DIRNAME/chart_fixture.sql"
}
setup() {
    export HOME
    HOME=$(mktemp -d) && cd "$HOME" || return
}
teardown() { rm -rf "$HOME"; }

# try COMMAND...: $status, $output and $stderr of a command that may fail
try() {
    status=0
    "$@" >stdout.txt 2>stderr.txt || status=$?
    output=$(<stdout.txt) stderr=$(<stderr.txt)
}
plot() { rml-results plot --db "$DB" "$@" 2>stderr.txt; }
points() { sed -n '/^# panel/,$p' "$1" | grep -v '^#\|^$'; } # of a data file
copy() { sqlite3 "$DB" "VACUUM INTO '$1'" && sqlite3 "$1" "$2"; }

@test "a bad command line exits 2 and prints nothing on stdout" {
    for args in '' 'nosuch -o x.svg' 'throughput-by-kv -o x.pdf' 'throughput-by-kv -o svg' \
        'throughput-by-kv -o=' 'throughput-by-kv -o x.svg --data=' 'throughput-by-kv extra' '-o x.svg' \
        'peers --run=' 'peers --run=a,,b' 'peers --host=' 'peers --suite=' 'peers --case=' 'peers --engine=' \
        'peers --model=' 'peers --since x' 'peers --since 2026-02-30' 'peers --since 2026-13-01' \
        'peers --since 2026-01-01T25:00:00' 'peers --since 20260101'; do
        # shellcheck disable=SC2086 # words
        try rml-results plot --db "$DB" $args
        echo "args: $args: status $status: $stderr"
        [ "$status" -eq 2 ] && [ -z "$output" ] && [ -n "$stderr" ]
    done
}

@test "every kind as SVG, PNG and text: the same bytes for the same database in any locale" {
    for kind in $KINDS; do
        plot "$kind" -o 1.svg --data 1.dat
        plot "$kind" -o 1.txt
        env -u LANG LC_ALL=C rml-results plot "$kind" --db "$DB" -o 2.svg --data 2.dat 2>/dev/null
        cmp 1.svg 2.svg && cmp 1.dat 2.dat
        grep -q '<svg' 1.svg && grep -q '</svg>' 1.svg
        for text in 'Example CPU 8370C' ' = '; do
            grep -q -- "$text" 1.svg
            grep -q -- "$text" 1.txt
        done
        ! grep -q '<script' 1.svg || false
        # by hand
        script=$(tr -d '\n' <"$BATS_TEST_DIRNAME/../plot_kinds.c" | sed "s/.*{\"$kind\", *\"[^\"]*\", *\"\([a-z]*\)\".*/\1/")
        gnuplot -c "$BATS_TEST_DIRNAME/../plots/$script.gnuplot" 1.dat 3.svg
        cmp 1.svg 3.svg
    done
    plot peers -o 1.txt && plot peers -o - | cmp - 1.txt && plot peers | cmp - 1.txt
    plot peers -o 1.png && plot peers -o 2.png && cmp 1.png 2.png
    head -c 8 1.png | od -An -c | grep -q 'P   N   G'
    [ "$(find . -name '*tmp*' | wc -l)" -eq 0 ]
}

@test "the data file has a header, and every number is the database's" {
    plot throughput-by-kv --run "$(sqlite3 "$DB" 'SELECT uuid FROM run WHERE id = 1')" -o x.svg --data x.dat
    [ "$(sed -n 2p x.dat)" = "# runs: $(sqlite3 "$DB" 'SELECT uuid FROM run WHERE id = 1')" ]
    grep -q '^# sql: WITH wanted AS (SELECT' x.dat
    grep -q '^# rows: 32 in 4 panels' x.dat
    [ "$(points x.dat | wc -l)" -eq 32 ]
    # medians by counting, not by the view: the 11th of 21, its interval the 6th to the 16th
    sqlite3 "$DB" "SELECT printf('%.6g', 1e9 / (SELECT 1.0 * wall_ns / iters FROM sample AS s WHERE s.result_id = r.id
            AND NOT is_warmup ORDER BY 1 LIMIT 1 OFFSET 10)) || ' ' ||
        printf('%.6g', 1e9 / (SELECT 1.0 * wall_ns / iters FROM sample AS s WHERE s.result_id = r.id
            AND NOT is_warmup ORDER BY 1 LIMIT 1 OFFSET 15))
        FROM result AS r WHERE run_id = 1 AND status IN ('ok', 'unstable')" | sort >want
    points x.dat | sed 's/"[^"]*"/-/g' | awk '{ printf "%.6g %.6g\n", $6, $7 }' | sort >got
    diff want got
    [ "$(points x.dat | grep -c '\*"')" -eq 2 ] # the two unsteady ones
}

@test "selection: newest complete run's host and build; --run takes what it names" {
    sqlite3 "$DB" 'SELECT uuid FROM run WHERE id IN (20, 21) ORDER BY id' >uuids
    plot throughput-by-kv -o x.svg --data x.dat
    # run 6, the newest, did not end
    ! grep -q "$(sqlite3 "$DB" 'SELECT uuid FROM run WHERE id = 6')" x.dat || false
    plot throughput-by-kv --run "$(sqlite3 "$DB" 'SELECT substr(uuid, 1, 8) FROM run WHERE id = 6')" -o x.svg --data x.dat
    grep -q '^# rows: 1 in 1 panels' x.dat
    # two builds are told apart when both are named
    plot throughput-by-kv --run "$(sqlite3 "$DB" "SELECT group_concat(uuid) FROM run WHERE id IN (20, 24)")" -o x.svg --data x.dat
    grep -q 'rml 0.1.0 111111111' x.dat && grep -q 'rml 0.1.0 333333333 + changes' x.dat
    # another host
    plot throughput-by-kv --host bbbb2222 -o x.svg --data x.dat
    [ "$(points x.dat | wc -l)" -gt 0 ] && ! grep -q 'Example CPU' x.dat
    for args in '--suite nosuch' '--case nosuch' '--engine nosuch' '--model nosuch' '--host nosuch' '--since 2050-01-01'; do
        # shellcheck disable=SC2086 # words
        try rml-results plot throughput-by-kv --db "$DB" $args -o none.svg
        [ "$status" -eq 1 ] && [[ $stderr == *'charts.db: no selected measured case with a cache type'*'nothing to draw'* ]]
        [ ! -e none.svg ]
    done
    plot throughput-by-depth --suite attention --since 2026-10-01T00:00:00 --case 'llama*' --engine rml -o x.svg --data x.dat
    [ "$(points x.dat | wc -l)" -eq 32 ]
    try rml-results plot throughput-by-kv --db "$DB" --run zzz -o x.svg
    [ "$status" -eq 1 ] && [[ $stderr == *"no run 'zzz' found, expected an id, a uuid or at least 4 of its first characters, a label, or last"* ]]
    [ ! -e x.svg ] || rm x.svg
    # named as for show: an id, and a label, which means all runs that have it
    sqlite3 "$DB" ".backup labels.db"
    sqlite3 labels.db "UPDATE run SET label = 'both' WHERE id IN (20, 24)"
    rml-results plot throughput-by-kv --db labels.db --run both -o x.svg --data x.dat
    grep -q 'rml 0.1.0 111111111' x.dat && grep -q 'rml 0.1.0 333333333 + changes' x.dat
    rml-results plot throughput-by-kv --db labels.db --run 6 -o x.svg --data x.dat
    grep -q '^# rows: 1 in 1 panels' x.dat
    sqlite3 labels.db "UPDATE run SET uuid = 'abcd' || substr(uuid, 5) WHERE id IN (20, 24)"
    try rml-results plot throughput-by-kv --db labels.db --run abcd -o x.svg
    [ "$status" -eq 1 ] && [[ $stderr == *"'abcd' starts the uuid of 2 runs, expected that of one"* ]]
}

@test "peers: wrong rows are marked and in no ratio" {
    plot peers -o x.svg --data x.dat
    [ "$(points x.dat | grep -c 'wrong"')" -eq 1 ]
    points x.dat | grep 'wrong"' | grep -q 'ik_llama' && ! points x.dat | grep 'wrong"' | grep -q 'x"'
    # llama.cpp takes 1.3 times as long as our best
    [ "$(points x.dat | grep -c 'llama.cpp 0.3.36.*n0.77x"')" -eq 6 ]
    grep -q 'wrong: logits out of bounds' x.svg
    copy one.db "DELETE FROM result WHERE bench_case_id IN (SELECT id FROM bench_case WHERE engine <> 'rml')"
    try rml-results plot peers --db one.db -o y.svg
    [ "$status" -eq 1 ] && [[ $stderr == *'no run with more than one engine'* ]]
}

@test "latency: percentiles of the gaps between tokens" {
    id=$(sqlite3 "$DB" "SELECT r.id FROM result AS r JOIN bench_case AS c ON c.id = bench_case_id
        WHERE run_id = 2 AND model_id = 3 AND threads = 1 AND n_gen > 0")
    plot latency --run "$(sqlite3 "$DB" 'SELECT uuid FROM run WHERE id = 2')" --model '*Q4_1*' -o x.svg --data x.dat
    sqlite3 "$DB" "SELECT t.t_mono_ns - coalesce((SELECT b.t_mono_ns FROM token_time AS b WHERE b.result_id = t.result_id
        AND b.rep = t.rep AND b.idx = t.idx - 1), s.t_mono_ns) FROM token_time AS t JOIN sample AS s USING (result_id, rep)
        WHERE t.result_id = $id AND is_warmup = 0" | sort -n >gaps
    [ "$(wc -l <gaps)" -eq 336 ]
    # numpy.quantile's linear rule by hand: 0.5 x 335 = 167.5, 0.99 x 335 = 331.65
    awk '{ g[NR - 1] = $1 / 1e6 } END { printf "%.5f\n%.5f\n%.5f\n", (g[167] + g[168]) / 2,
        g[331] + 0.65 * (g[332] - g[331]), g[335] }' gaps >want
    points x.dat | grep '1 thread' | awk '/"p50"|"p99"|"max"/' | sed 's/"[^"]*"/-/g' | awk '{ printf "%.5f\n", $6 }' >got
    diff want got
}

@test "history: hosts apart, sources that were changed hollow, steps named once" {
    plot history -o x.svg --data x.dat
    [ "$(points x.dat | wc -l)" -eq 40 ] && ! grep -q 'Other' x.dat
    [ "$(points x.dat | sed 's/"[^"]*"/-/g' | awk '$9 == 4' | wc -l)" -eq 6 ] # runs 24, 31, 38 of two cases
    [ "$(grep -c 'faster kernels' x.dat)" -eq 1 ]
    plot history --host '*' -o x.svg --data x.dat
    grep -q '^# rows: 52 in 4 panels' x.dat # and no panel has both
    [ "$(points x.dat | grep -c '^"[^"]*ci-runner-1')" -eq 40 ]
}

@test "history: runs that are seconds, minutes or no time apart" {
    for apart in 0 1 3 6 60 5000; do
        copy near$apart.db "PRAGMA foreign_keys = ON; DELETE FROM run WHERE id NOT IN (SELECT id FROM run WHERE id >= 20 LIMIT 3);
            UPDATE run SET start_ns = 1796017000000000000 + $apart * 1000000000 * id, end_ns = 1796017000000000000 + $apart * 1000000000 * id"
        plot history --db near$apart.db -o near.svg
        # 1796017000 is 2026-11-30 05:36:40 UTC; the first run's number is 20
        if [ "$apart" -le 60 ]; then
            grep -q "$(TZ=UTC date -d @$((1796017000 + 20 * apart)) +'%m-%d %H:%M:%S')" near.svg
        else
            # ticks stand at whole minutes
            grep -q "$(TZ=UTC date -d @$(((1796017000 + 20 * apart + 59) / 60 * 60)) +'%m-%d %H:%M')<" near.svg
        fi
    done
    rml-results report --db near1.db -o near.html 2>/dev/null
}

@test "names: long ones are cut where they are the same, and a type that the file does not name is said to be of most" {
    # sixteen characters alike, then what tells them apart, then more alike
    copy long.db "UPDATE bench_case SET name = 'a-rather-long-name-of-a-shape-number-' || printf('%02d', id % 2 + 1) || '-of-a-family-of-models-with-long-names'
        WHERE suite = 'attention'"
    plot throughput-by-kv --db long.db --suite attention -o long.svg --data long.dat
    grep -q 'number-01\|r-01-of' long.dat && grep -q 'number-02\|r-02-of' long.dat
    copy named.db "UPDATE model SET file_name = 'some-q4_k_m.gguf', weight_dtype = 'Q8_0';
        UPDATE bench_case SET weight_dtype = 'Q8_0' WHERE model_id IS NOT NULL"
    plot peers --db named.db -o named.svg --data named.dat
    grep -q 'mostly Q8_0' named.svg
    sqlite3 named.db "UPDATE model SET file_name = 'some-Q8_0.gguf'"
    plot peers --db named.db -o named.svg --data named.dat
    grep -q 'Q8_0' named.svg && ! grep -q mostly named.svg
}

@test "history, latency: a unit in which the least time is at least a tenth" {
    while read -r ns unit y; do
        copy "$ns.db" "UPDATE sample SET wall_ns = $ns * iters"
        plot history --db "$ns.db" -o unit.svg --data unit.dat
        grep -q ">$unit an iteration<" unit.svg
        [ "$(points unit.dat | sed 's/"[^"]*"/-/g' | awk '{ print $6 }' | sort -u)" = "$y" ]
    done <<'END'
50 ns 50
100 us 0.1
99999 us 99.999
100000 ms 0.1
200000000 s 0.2
END
    plot latency -o unit.svg
    grep -q '>ms<' unit.svg
}

@test "ab: ratios, interval and gate as stored" {
    plot ab -o x.svg --data x.dat
    [ "$(points x.dat | wc -l)" -eq 5 ]
    points x.dat | grep 'shape-5' | grep -q ' 10 "attention shape-5" 5 8.8 11.5 0 "regression"'
    points x.dat | grep 'shape-0' | grep -q ' 0 "attention shape-0" 5 -1.2 1.5 0 "pass"'
}

@test "ab: a canary holds or fails, and what its base had different is named" {
    # A gate of 5 %: above it and the interval above 0; the same with the interval around 0; 4 % faster, which is
    # 4.17 % slower turned round; 4.8 % faster, which is 5.04 % slower; 20 % slower
    copy canary.db "UPDATE verdict SET verdict = 'inconclusive', gate_pct = 5, ci_lo = 0.9, ci_hi = 0.99;
        UPDATE result SET arm = 'canary' WHERE arm = 'head'"
    n=0
    for row in '1.052 1.01 1.1 fails' '1.052 0.99 1.1 holds' '0.96 0.9 0.99 holds' '0.952 0.9 0.99 fails' '1.2 1.1 1.3 fails'; do
        read -r ratio lo hi _ <<<"$row"
        sqlite3 canary.db "UPDATE verdict SET ratio = $ratio, ci_lo = $lo, ci_hi = $hi
            WHERE id = (SELECT id FROM verdict ORDER BY id LIMIT 1 OFFSET $n)"
        n=$((n + 1))
    done
    plot ab --db canary.db -o x.svg --data x.dat
    grep -q 'canary: base against base' x.dat
    [ "$(points x.dat | grep -c '"fails"')" -eq 3 ]
    [ "$(points x.dat | grep -c '"holds"')" -eq 2 ]
    rml-results report --db canary.db -o x.html 2>/dev/null
    [ "$(grep -c '<td class="bad">fails</td>' x.html)" -eq 3 ]
    [ "$(grep -c '<td class="good">holds</td><td>attention shape-.</td><td>canary: base against base</td>' x.html)" -eq 2 ]

    copy other.db "INSERT INTO bench_case(case_key, suite, name, work_version, engine, arithmetic, isa, k_dtype, v_dtype, threads,
            n_batch, n_gen, n_depth, params_json) SELECT c.case_key || 'x', suite, name, work_version, engine, arithmetic, isa, 'f16', 'f16',
            7, n_batch, n_gen, n_depth, params_json FROM verdict AS d JOIN result AS r ON r.id = d.base_result_id JOIN bench_case AS c
            ON c.id = r.bench_case_id ORDER BY d.id LIMIT 1;
        UPDATE result SET bench_case_id = (SELECT max(id) FROM bench_case) WHERE id = (SELECT base_result_id FROM verdict ORDER BY id LIMIT 1);
        UPDATE bench_case SET k_dtype = 'i8', v_dtype = 'i8', threads = 2 WHERE id = (SELECT r.bench_case_id FROM verdict AS d
            JOIN result AS r ON r.id = d.candidate_result_id ORDER BY d.id LIMIT 1)"
    plot ab --db other.db -o x.svg --data x.dat
    [ "$(points x.dat | grep -c 'kv f16 -> i8, .*7 threads -> 2 threads')" -eq 1 ]
    [ "$(points x.dat | wc -l)" -eq 5 ]
    rml-results report --db other.db -o x.html 2>/dev/null
    [ "$(grep -c '<td>kv f16 -&gt; i8, threads 7 -&gt; 2</td>' x.html)" -eq 1 ]
    [ "$(grep -c '<td>the program</td>' x.html)" -eq 4 ]
}

@test "samples: the axis ends before the farthest, cases are named by what differs" {
    id=$(sqlite3 "$DB" "SELECT r.id FROM result AS r JOIN run AS u ON u.id = r.run_id JOIN bench_case AS c ON c.id = r.bench_case_id
        WHERE suite = 'attention' AND arm IS NULL AND u.state = 'complete' AND r.status = 'ok' ORDER BY u.start_ns DESC LIMIT 1")
    # the newest run: two cases that differ in a parameter only, and one time that is a hundred others
    copy far.db "PRAGMA foreign_keys = ON; DELETE FROM result WHERE id <> $id;
        UPDATE bench_case SET params_json = '{\"seed\":3,\"n\":1}' WHERE id = (SELECT bench_case_id FROM result);
        INSERT INTO bench_case(case_key, suite, name, work_version, engine, arithmetic, isa, k_dtype, v_dtype, threads, n_batch, n_prompt, n_gen,
            n_depth, params_json) SELECT case_key || 'x', suite, name, work_version, engine, arithmetic, isa, k_dtype, v_dtype, threads, n_batch,
            n_prompt, n_gen, n_depth, '{\"seed\":4,\"n\":1}' FROM bench_case WHERE id = (SELECT bench_case_id FROM result);
        INSERT INTO result(id, run_id, bench_case_id, status, warmup_iters, iters_per_rep) SELECT 99999, run_id,
            (SELECT max(id) FROM bench_case), status, warmup_iters, iters_per_rep FROM result;
        INSERT INTO sample(result_id, rep, order_idx, is_warmup, t_mono_ns, iters, wall_ns) SELECT 99999, rep, order_idx, is_warmup,
            t_mono_ns, iters, wall_ns FROM sample WHERE result_id = $id;
        UPDATE sample SET wall_ns = 100 * (SELECT max(wall_ns) FROM sample) WHERE result_id = 99999 AND rep = (SELECT max(rep) FROM sample)"
    plot samples --db far.db -o x.svg --data x.dat
    [ "$(points x.dat | cut -d'"' -f6 | sort -u | tr '\n' ' ')" = 'seed 3 seed 4 ' ]
    grep -q '1 sample beyond the axis' x.svg
    # x and the end of the axis: one farther than 9000 %, and the axis shorter than 100 %
    points x.dat | sed 's/"[^"]*"/-/g' | awk '{ far += $4 > 9000; beyond += $4 > $17; long += $17 > 100 } END { exit far != 1 || beyond != 1 || long > 0 }'
    sqlite3 far.db "DELETE FROM sample WHERE rep = (SELECT max(rep) FROM sample)"
    plot samples --db far.db -o x.svg --data x.dat
    ! grep -q 'beyond' x.svg || false
}

@test "roofline: roofs of the threads that the work ran with; without any an error" {
    plot roofline -o x.svg --data x.dat
    # 2 threads: 110 MB x 1.5 in 10 ms, a little less for the noise
    points x.dat | grep '"2 threads"' | grep -q 'read_bandwidth 16.[0-9] GB/s'
    for threads in '1 thread' '2 threads' '4 threads'; do
        [ "$(points x.dat | grep "\"$threads\"" | grep -c ' 16 ".*G.*/s"')" -eq 3 ]
    done
    # work is numbered, and below each panel every number has a name: attention of 4 caches and 3 depths with 1 and 2
    # threads, 4 checkpoints that prefill and decode with 1, 2 and 4
    [ "$(grep -c '>[0-9]*  attention ' x.svg)" -eq $((2 * 12)) ]
    [ "$(grep -c '>[0-9]*  decoder ' x.svg)" -eq $((3 * 4 * 2)) ]
    for n in 1 12 20; do
        [ "$(grep -c ">$n  " x.svg)" -eq $((n > 8 ? 2 : 3)) ]
    done
    copy one.db "DELETE FROM result WHERE bench_case_id IN (SELECT id FROM bench_case WHERE suite = 'roof')"
    try rml-results plot roofline --db one.db -o y.svg
    [ "$status" -eq 1 ] && [[ $stderr == *'no measured roof of the threads that cases ran with (rml-bench roof makes them)'* ]]
}

@test "quality: metrics against the size of the file" {
    plot quality -o x.svg --data x.dat
    [ "$(points x.dat | wc -l)" -eq 9 ] # 5 ppl and 4 kld; no decoding was in the setting of these
    points x.dat | grep '"ppl of wiki' | grep -q ' 98.4 .* 21.0' # 18 + 6e8 / 1.984e8
    points x.dat | grep '"kld_mean of wiki' | grep -q ' 270.888 .* 4e-05 '
}

# The settings of the evaluations, as rml-eval stores them
settings="INSERT INTO eval(run_id, task, protocol, model_id, arithmetic, k_dtype, v_dtype, isa, threads, settings_json)
    SELECT DISTINCT run_id, task, 'llama.cpp', model_id, arithmetic, k_dtype, v_dtype, 'avx512', 2, '{\"n_ctx\":512}' FROM eval_metric"

@test "quality: a decoding speed is that of the same setting, threads, instructions and host" {
    # Checkpoints 2 .. 4 decoded with i8 arithmetic and an f16 cache, 1 with f32 arithmetic; threads 1, 2 and 4.
    copy same.db "UPDATE eval_metric SET k_dtype = 'f16', v_dtype = 'f16'; $settings;
        UPDATE eval_metric SET arithmetic = 'i8' WHERE model_id = 2; UPDATE eval SET arithmetic = 'i8' WHERE model_id = 2"
    plot quality --db same.db -o x.svg --data x.dat
    points x.dat | grep 'over decoded' | sed 's/"[^"]*"/-/g' | awk '{ printf "%.6g\n", $4 }' | sort -u >got
    # 61 or so repetitions: the median that v_stat has, of two threads and of the depth nearest to 0
    sqlite3 same.db "SELECT printf('%.6g', 1e9 / s.median_ns) FROM result AS r JOIN bench_case AS c ON c.id = r.bench_case_id
        JOIN v_stat AS s ON s.result_id = r.id WHERE c.suite = 'decoder' AND c.engine = 'rml' AND c.threads = 2
        AND c.n_gen > 0 AND r.run_id = 2 AND model_id IN (1, 2)" | sort -u >want
    [ "$(wc -l <want)" -eq 2 ] && diff want got
    for change in "UPDATE eval SET threads = 3" "UPDATE eval SET isa = 'avx2'" "UPDATE run SET host_id = 2 WHERE id IN (7, 10)" \
        "UPDATE eval_metric SET v_dtype = 'i8'" "UPDATE run SET state = 'aborted' WHERE id = 2" \
        "UPDATE result SET status = 'error' WHERE run_id = 2"; do
        sqlite3 same.db "VACUUM INTO 'other.db'" && sqlite3 other.db "$change"
        plot quality --db other.db -o x.svg --data x.dat
        echo "$change"
        [ "$(points x.dat | grep -c 'over decoded')" -eq 0 ] && [ "$(points x.dat | wc -l)" -eq 9 ]
        rm other.db
    done
}

@test "quality: contexts, protocols, texts and bases are panels apart, and are named" {
    copy apart.db "$settings; INSERT INTO eval_item(run_id, task, doc_id, choice_idx, request_sha256)
        SELECT run_id, task, 'a.txt', 0, 'x' FROM eval"
    plot quality --db apart.db -o x.svg --data x.dat
    panels=$(grep -c '^# panel' x.dat)
    grep -q 'llama.cpp protocol, context 512, a.txt' x.svg # once, for all
    i=0
    for change in "UPDATE eval SET settings_json = '{\"n_ctx\":128}'|context 128" \
        "UPDATE eval SET settings_json = '{\"n_ctx\":512,\"stride\":64}'|context 512 stride 64" \
        "UPDATE eval SET protocol = 'lm-eval'|lm-eval protocol" "UPDATE eval_item SET doc_id = 'b.txt'|b.txt" \
        "UPDATE eval SET base_model_id = 2, base_arithmetic = 'i8'|base SmolLM2-135.*Q8_0.gguf i8"; do
        i=$((i + 1))
        sqlite3 apart.db "VACUUM INTO '$i.db'" && sqlite3 $i.db "${change%|*} WHERE run_id IN (10, 12)"
        plot quality --db $i.db -o x.svg --data x.dat
        echo "$change"
        [ "$(grep -c '^# panel' x.dat)" -eq $((2 * panels)) ]
        points x.dat | tr '\n' ' ' | grep -q "${change#*|}"
    done
    # and the newest value of a checkpoint is the newest of each
    sqlite3 1.db "UPDATE eval_metric SET model_id = 3, value = 77 WHERE run_id = 10 AND metric = 'ppl'"
    plot quality --db 1.db -o x.svg --data x.dat
    points x.dat | grep 'context 128' | grep -q ' 77 ' && points x.dat | grep 'context 512' | grep -q ' 98.4 '
}

@test "quality: a text is its content, not its name, and windows are those that were scored" {
    # what the stored evaluations of two runs know of their texts: of runs 10 and 12 $2, of the others $1
    texts() {
        copy text.db "$settings; INSERT INTO eval_item(run_id, task, doc_id, choice_idx, request_sha256)
            SELECT run_id, task, 'a.txt', 0, 'x' FROM eval;
            UPDATE eval SET settings_json = json_patch(settings_json, iif(run_id IN (10, 12), '$2', '$1'))"
        plot quality --db text.db -o x.svg --data x.dat
        rm text.db
        n=$(grep -c '^# panel' x.dat)
    }
    texts '{}' '{}'
    one=$n
    texts '{"texts_sha256":"0123456789abcdef"}' '{"texts_sha256":"0123456789abcdef"}'
    [ "$n" -eq "$one" ] && ! grep -q '(\.\.\.' x.dat
    texts '{"texts_sha256":"0123456789abcdef"}' '{"texts_sha256":"0123456789fedcba"}'
    [ "$n" -eq $((2 * one)) ] && grep -q 'a.txt (...abcdef)' x.dat && grep -q 'a.txt (...fedcba)' x.dat
    texts '{"texts_sha256":"0123456789abcdef"}' '{}'
    [ "$n" -eq $((2 * one)) ] && grep -q 'a.txt (...abcdef)' x.dat && grep -q 'a.txt (content not known)' x.dat
    texts '{}' '{"limit":8,"sample":"seeded","seed":3,"shard":"1/2"}'
    [ "$n" -eq $((2 * one)) ] && grep -q 'context 512, 8 w.*seed 3, shard 1/2' x.dat
    texts '{"limit":8,"sample":"head","seed":3}' '{"limit":8,"sample":"head","seed":4}'
    [ "$n" -eq "$one" ] && grep -q 'context 512, 8 first windows' x.dat
}

@test "quality: a label stands nearer to its own point than to another" {
    # Two points one above the other, 0.03 of 3.1 in 380 pixels apart: the labels can only go up and down.
    copy near.db "UPDATE model SET file_bytes = 100000000 WHERE id IN (3, 4); UPDATE eval_metric SET value = 21 WHERE model_id = 3
        AND metric = 'ppl'; UPDATE eval_metric SET value = 21.03 WHERE model_id = 4 AND metric = 'ppl'"
    plot quality --db near.db -o x.svg --data x.dat
    # label, y and the label's y of both
    points x.dat | grep '"ppl of' | sed 's/^"[^"]*" [0-9]* "[^"]*"/-/; s/, /,/g; s/ 135M/-135M/' | awk '$2 == 100 { print $8, $4, $10 }' >got
    cat got
    [ "$(wc -l <got)" -eq 2 ]
    grep -q 'Q4_0"' got && grep -q 'Q4_1"' got
    awk '$2 == 21.03 && $3 > 21.03 { up++ } $2 == 21 && $3 < 21 { down++ } END { exit up != 1 || down != 1 }' got
}

# 17 arithmetics that do not exist, with two metrics, so that there is a key
many="INSERT INTO eval_metric(run_id, task, metric, value, stderr, n, model_id, arithmetic, k_dtype, v_dtype)
    SELECT u.id, 'wiki2', m.value, 20 + u.id, 0.2, 1000, 3, 'a' || u.id, 'f32', 'f32' FROM (SELECT id FROM run
    WHERE state = 'complete' ORDER BY id LIMIT 17) AS u JOIN json_each('[\"ppl\", \"word_perplexity\"]') AS m"

@test "quality: 17 series look different, and their key has its own room" {
    copy many.db "$many"
    plot quality --db many.db -o x.svg --data x.dat
    n=$(points x.dat | awk -F'" ' '{ print $2 }' | awk '{ print $1 }' | sort -u | wc -l)
    [ "$n" -ge 17 ]
    # as many pairs of shape and colour as series
    [ "$(sed -n "s/.*href='#gpPt\([0-9]*\)'.*color='\([^']*\)'.*/\1 \2/p" x.svg | grep -v FFFFFF | sort -u | wc -l)" -eq "$n" ]
    # y of the titles and of the names in the keys, from the top
    sed -n 's/.*translate([0-9.]*,\([0-9.]*\)).*/\1/p; s/.*<text>.*\(of wiki\|a[0-9]* arithmetic\).*/\1/p' x.svg |
        awk '/^[0-9.]*$/ { y = $1; next } { print y, $1 }' >places
    for title in $(awk '$2 == "of" { print $1 }' places); do
        awk -v title="$title" '$2 != "of" && $1 > title - 12 && $1 < title + 12 { exit 1 }' places
    done
    [ "$(grep -c ' a' places)" -eq 34 ] # none is lost
    [ "$(awk '$2 != "of" && NF' places | wc -l)" -ge 34 ]
}

@test "quality: a panel of one point is drawn when there is no other" {
    copy lone.db "INSERT INTO eval_metric(run_id, task, metric, value, stderr, n, model_id, arithmetic, k_dtype, v_dtype)
        VALUES (7, 'lone', 'ppl', 20, 0.2, 1000, 3, 'f32', 'f32', 'f32')"
    plot quality --db lone.db -o x.svg --data x.dat
    [ "$(grep -c '^# panel' x.dat)" -eq 2 ] && ! grep -q 'ppl of lone' x.dat
    grep -q '2 of 3 panels drawn; with nothing to compare: 1, more than fit into one chart: 0' stderr.txt
    sqlite3 lone.db "DELETE FROM eval_metric WHERE task <> 'lone'"
    plot quality --db lone.db -o x.svg --data x.dat
    [ "$(grep -c '^# panel' x.dat)" -eq 1 ]
}

@test "titles of three lines stand below the lines of the chart and above their panels" {
    copy long.db "UPDATE bench_case SET name = 'a-long-name-of-a-case-' || n_depth WHERE suite = 'attention';
        UPDATE bench_case SET arithmetic = 'a-long-arithmetic-' || n_depth, isa = 'another-instruction-set-' || n_depth"
    plot throughput-by-kv --db long.db --suite attention -o x.svg --data x.dat
    grep -q 'case-512,.na-long-arithmetic-512 arithmetic, depth 512,.nanother-instruction-set-512"' x.dat
    # y of the lines: 3 under the chart's title, then the first line of the first panel at least as far below as these are apart
    sed -n 's/.*translate([0-9.]*,\([0-9.]*\)).*/\1/p; s/.*<text[^>]*>.*\(n = 21\|a-long-name\|another-instruction-set-0\|>60[0-9][0-9]<\).*/\1/p' x.svg |
        awk '/^[0-9.]*$/ { y = $1; next } /n = 21/ { header = y } /a-long-name/ { if (!first || y < first) first = y }
            END { print header, first; exit !(header > 0 && first - header >= 12) }'
}

@test "memory-speed: points that coincide are named in a key" {
    copy same.db "UPDATE result SET rss_bytes = 5e8; UPDATE sample SET wall_ns = 1000000 * iters"
    plot memory-speed --db same.db -o y.svg --data y.dat
    # a point of each series, none with a label; its name is in the key of each of its panels
    points y.dat | cut -d'"' -f4 | sort >want
    [ "$(wc -l <want)" -gt 20 ]
    sed -n 's/.*<text[^>]*>\([^<]*\)<.*/\1/p' y.svg | grep -xFf want | sort | diff want -
}

@test "a panel whose labels found no place is drawn without them" {
    for kind in quality memory-speed roofline; do
        plot $kind -o x.svg --data x.dat
        # the label and its place, of every point
        sed 's/^\("[^"]*" [0-9]* "[^"]*" [^ ]* "[^"]*" [^ ]* [^ ]* [^ ]* [0-9]*\) "[^"]*" [^ ]* [^ ]*/\1 "" NaN NaN/' x.dat >none.dat
        script=$(tr -d '\n' <"$BATS_TEST_DIRNAME/../plot_kinds.c" | sed "s/.*{\"$kind\", *\"[^\"]*\", *\"\([a-z]*\)\".*/\1/")
        gnuplot -c "$BATS_TEST_DIRNAME/../plots/$script.gnuplot" none.dat none.svg 2>said
        cat said
        [ ! -s said ] && grep -q '</svg>' none.svg
        [ "$(grep -c "<text>[^<]" none.svg)" -lt "$(grep -c "<text>[^<]" x.svg)" ]
    done
}

@test "what gnuplot says beside a whole chart is a warning" {
    cp -r "$BATS_TEST_DIRNAME/../plots" plots
    sed -i 's/^set output output/&\nset print; print "my own remark"/' plots/style.gnuplot
    RML_PLOTS_DIR=plots try rml-results plot peers --db "$DB" -o x.svg
    [ "$status" -eq 0 ] && [[ $stderr == *'warning: plots/bars.gnuplot: gnuplot: my own remark'* ]]
    grep -q '</svg>' x.svg
}

@test "a lone row, and rows of which little is known" {
    copy one.db "PRAGMA foreign_keys = ON; DELETE FROM result WHERE run_id <> 20 OR id % 2 = 0"
    for kind in throughput-by-kv history samples; do
        plot "$kind" --db one.db -o x.svg --data x.dat
    done
    copy nulls.db "UPDATE bench_case SET arithmetic = NULL, isa = NULL, threads = NULL, weight_dtype = NULL WHERE id % 2 = 0;
        UPDATE result SET bytes_per_iter = NULL, rss_bytes = NULL WHERE id % 3 = 0;
        UPDATE host SET hostname = NULL, cpu_model = NULL; UPDATE build SET git_commit = NULL, git_dirty = NULL;
        UPDATE model SET arch = NULL, n_params = NULL, file_name = NULL WHERE id % 2 = 0;
        UPDATE verdict SET ci_lo = NULL, confidence = NULL, gate_pct = NULL WHERE id % 2 = 0"
    for kind in memory-speed roofline ab peers quality; do
        plot "$kind" --db nulls.db -o "$kind.svg"
        [ -s "$kind.svg" ]
    done
}

@test "a program finds its scripts wherever its build folder is" {
    mkdir -p far/away/build/bin
    cp "$(command -v rml-results)" far/away/build/bin/
    far/away/build/bin/rml-results plot peers --db "$DB" -o x.svg
    grep -q '<svg' x.svg
    # Scripts of an installation come before those of the tree it was built from
    mkdir -p far/away/build/share/rml/plots
    echo 'set nonsense' >far/away/build/share/rml/plots/bars.gnuplot
    try far/away/build/bin/rml-results plot peers --db "$DB" -o y.svg
    [ "$status" -eq 1 ] && [[ $stderr == *'share/rml/plots/bars.gnuplot: gnuplot failed'* ]]
    # and a user's own before both
    cp -r "$BATS_TEST_DIRNAME/../plots" own
    sed -i 's/label 1 chart_title/label 1 "my own title"/' own/style.gnuplot
    RML_PLOTS_DIR=own far/away/build/bin/rml-results plot peers --db "$DB" -o y.svg
    grep -q 'my own title' y.svg
}

@test "what goes wrong is an error, and no half chart is left" {
    try rml-results plot throughput-by-kv --db missing.db -o x.svg
    [ "$status" -eq 1 ] && [[ $stderr == 'rml-results: missing.db: no results database there'* ]]
    copy empty.db 'PRAGMA foreign_keys = ON; DELETE FROM run'
    for kind in $KINDS; do
        try rml-results plot "$kind" --db empty.db -o x.svg
        echo "$kind: $stderr"
        [ "$status" -eq 1 ] && [ "$(wc -l <stderr.txt)" -eq 1 ] && [ ! -e x.svg ]
        [[ $stderr == *'empty.db: no '*'make'*', nothing to draw' ]]
    done
    try rml-results plot peers --db "$DB" -o no/such/x.svg
    [ "$status" -eq 1 ] && [[ $stderr == *'no/such/x.svg'* ]]

    mkdir plots
    RML_PLOTS_DIR=plots try rml-results plot peers --db "$DB" -o x.svg
    [ "$status" -eq 1 ] && [[ $stderr == *'plots/bars.gnuplot: plot script cannot be read'* ]]
    echo 'set nonsense' >plots/bars.gnuplot
    RML_PLOTS_DIR=plots try rml-results plot peers --db "$DB" -o x.svg
    [ "$status" -eq 1 ] && [[ $stderr == *'gnuplot failed'* ]] && [ ! -e x.svg ]
    echo 'x = 1' >plots/bars.gnuplot # draws nothing
    RML_PLOTS_DIR=plots try rml-results plot peers --db "$DB" -o x.svg
    [ "$status" -eq 1 ] && [[ $stderr == *'gnuplot wrote no chart'* ]] && [ ! -e x.svg ]

    program=$(command -v rml-results)
    PATH=/nowhere try "$program" plot peers --db "$DB" -o x.svg
    [ "$status" -eq 1 ] && [[ $stderr == *"gnuplot: not found in PATH; Debian's package is gnuplot-nox"* ]] && [ ! -e x.svg ]
}

@test "a database in a folder that is read-only is read" {
    [ "$(id -u)" -eq 0 ] && skip 'root may write everywhere'
    mkdir ro && copy ro/a.db ''
    chmod -R a-w ro
    rml-results plot peers --db ro/a.db -o x.svg
    chmod -R u+w ro
    [ -s x.svg ]
}

@test "history: the times below the axis stand apart, whatever span the runs are from" {
    for seconds in 6 59 690 2000 90000 250000 4000000; do
        rm -f span.db
        copy span.db "UPDATE run SET start_ns = 1790000123000000000 + $seconds * 1000000000 *
            (id - (SELECT min(id) FROM run)) / (SELECT max(id) - min(id) FROM run)"
        rml-results plot history --db span.db -o span.svg 2>/dev/null
        # of each text that is a time: its place; on one line they are at least 85 of 800 pixels apart
        sed -n 's/.*translate(\([0-9.]*\),\([0-9.]*\)).*/\1 \2/p; s/.*<text>\([0-9-]*-[0-9][0-9][0-9 :]*\)<.*/text \1/p' span.svg |
            awk '$1 != "text" { x = $1; y = $2 }
                $1 == "text" { n++; if (y == last_y && (x - last_x < 85 || $0 == last)) bad = 1; last_x = x; last_y = y; last = $0 }
                END { exit bad || n < 2 }'
    done
}
