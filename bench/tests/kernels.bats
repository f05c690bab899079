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

@test "a bad command line exits 2" {
    for args in '--op nosuch' '--op add,add' '--isa x86' '--isa ref,ref' '--vectors 0' '--threads 2' extra; do
        # shellcheck disable=SC2086 # words
        run rml-bench kernels $args --no-db
        [ "$status" -eq 2 ]
    done
}
