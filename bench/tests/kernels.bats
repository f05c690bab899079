#!/usr/bin/env bats
# rml-bench kernels: rows for the entries that are asked for, judged against the reference.

setup() { cd "$BATS_TEST_TMPDIR" || return; unset RML_CPU RML_THREADS RML_DB; }

json() { sqlite3 :memory: "SELECT $2 FROM (SELECT CAST(readfile('$1') AS TEXT) AS doc)"; }

@test "the same entry on every instruction set has the same output" {
    rml-bench kernels --op rms_norm,attention_values --json --no-db >out.json
    n_isas=$(json out.json "(SELECT count(DISTINCT json_extract(value, '\$.isa')) FROM json_each(doc, '\$.rows'))")
    [ "$(json out.json "json_array_length(doc, '\$.rows')")" -eq $((4 * n_isas)) ] # f32, f16, i8
    [ "$(json out.json "(SELECT count(DISTINCT json_extract(value, '\$.output_sha256')) FROM json_each(doc, '\$.rows'))")" -eq 4 ]
    [ "$(json out.json "(SELECT count(*) FROM json_each(doc, '\$.rows') WHERE json_extract(value, '\$.status') IN ('ok', 'unstable')
        AND json_extract(value, '\$.threads') = 1 AND json_extract(value, '\$.bytes_per_second') > 0)")" -eq $((4 * n_isas)) ]
}

@test "--roof measures the limits of each instruction set first, and rows are held to them" {
    run rml-bench kernels --op rms_norm --roof --no-db
    [ "$status" -eq 2 ] && [[ $output == *'--roof needs a database'* ]]
    rml-bench kernels --op rms_norm,attention_scores --roof --json --db r.db >out.json
    isas=$(sqlite3 r.db "SELECT count(DISTINCT isa) FROM v_chart WHERE suite = 'kernels'")
    [ "$(json out.json "(SELECT count(*) FROM json_each(doc, '\$.rows') WHERE json_extract(value, '\$.suite') = 'roof'
        AND json_extract(value, '\$.threads') = 1)")" -eq $((3 * isas)) ]
    [ "$(json out.json "(SELECT count(*) FROM json_each(doc, '\$.rows') WHERE json_extract(value, '\$.suite') = 'kernels'
        AND json_extract(value, '\$.roof_fraction') IS NULL)")" -eq 0 ]
    # by hand: the larger of the shares of the two limits
    [ "$(sqlite3 r.db "WITH got AS (SELECT json_extract(value, '\$.case_key') AS key,
            json_extract(value, '\$.roof_fraction') AS fraction FROM json_each(CAST(readfile('out.json') AS TEXT), '\$.rows')),
        roof AS (SELECT isa, max(bytes_per_second) AS bytes, max(CASE name WHEN 'fma_f32' THEN flops_per_second END) AS flops
            FROM v_chart WHERE suite = 'roof' GROUP BY isa)
        SELECT count(*) > 0 AND max(abs(fraction / max(c.bytes_per_second / roof.bytes,
            coalesce(c.flops_per_second / roof.flops, 0)) - 1)) < 1e-6
        FROM v_chart AS c JOIN roof ON roof.isa = c.isa JOIN got ON key = case_key WHERE suite = 'kernels'")" -eq 1 ]
}

@test "the table and the plan tell instruction sets apart" {
    rml-bench kernels --op add --isa ref,avx512,neon --plan >plan
    for isa in ref avx512 neon; do
        [ "$(grep -c "^kernels/add .*, $isa " plan)" -eq 1 ]
    done
    rml-bench kernels --op add --isa ref,neon --no-db >table 2>/dev/null
    # the columns of case and isa, which stand to the left
    isa=$(head -n 1 table | grep -bo isa | cut -d: -f1)
    [ "$(cut -c $((isa + 1))-$((isa + 4)) table | tr -d ' ' | tr '\n' ' ')" = 'isa ref neon ' ]
}

@test "a bad command line exits 2" {
    for args in '--op nosuch' '--op add,add' '--isa x86' '--isa ref,ref' '--vectors 0' '--threads 2' extra; do
        # shellcheck disable=SC2086 # words
        run rml-bench kernels $args --no-db
        [ "$status" -eq 2 ]
    done
}
