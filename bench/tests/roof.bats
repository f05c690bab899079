#!/usr/bin/env bats
# rml-bench roof: three limits for each number of threads and instruction set.

setup() { cd "$BATS_TEST_TMPDIR" || return; unset RML_CPU RML_THREADS RML_DB; }

json() { sqlite3 :memory: "SELECT $2 FROM (SELECT CAST(readfile('$1') AS TEXT) AS doc)"; }
query() { sqlite3 -cmd '.timeout 10000' "$1" "$2"; }

@test "rows with rates, kept in the database" {
    rml-bench roof --threads 2 --isa ref --json --db r.db >out.json
    [ "$(json out.json "json_array_length(doc, '\$.rows')")" -eq 3 ]
    [ "$(query r.db "SELECT group_concat(name || threads) FROM (SELECT * FROM v_chart ORDER BY result_id)")" = \
        read_bandwidth2,fma_f322,dot_i82 ]
    # no processor reads 10 TB/s or computes 100 TFLOP/s on two threads, or does less than 10 M
    [ "$(query r.db "SELECT count(*) FROM v_chart WHERE suite = 'roof' AND isa = 'ref' AND n_samples >= 21 AND
        CASE name WHEN 'read_bandwidth' THEN bytes_per_second BETWEEN 1e7 AND 1e13 AND flops_per_second IS NULL
        ELSE flops_per_second BETWEEN 1e7 AND 1e14 AND bytes_per_second IS NULL END")" -eq 3 ]
}

@test "an instruction set that is not here is a row that says so; an unknown one is bad usage" {
    other=neon
    [ "$(uname -m)" = aarch64 ] && other=avx512
    status=0
    rml-bench roof --threads 1 --isa $other --json --no-db >out.json 2>err || status=$?
    [ "$(json out.json "json_extract(doc, '\$.rows[2].status')")" = skipped ]
    for isa in nosuch ref,ref ''; do
        run rml-bench roof --isa "$isa" --no-db
        [ "$status" -eq 2 ]
    done
}
