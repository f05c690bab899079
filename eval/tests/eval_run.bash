# shellcheck shell=bash
# What the tests of rml-eval have in common.

setup() {
    E=$RML_SOURCE_DIR/eval/tests/expected
    TOYS=$RML_SOURCE_DIR/goldens/fixtures
    TOY=$TOYS/llama-text/hf-text
    FOLDER=$(mktemp -d)
    cd "$FOLDER" || return
    export XDG_CACHE_HOME=$FOLDER/cache RML_DB=$FOLDER/eval.db
    unset RML_CPU RML_THREADS
    echo null | tee a.json >b.json
}

teardown() { rm -rf "$FOLDER"; }

# try COMMAND...: $status, $output and $stderr of a command that may fail
try() {
    status=0
    "$@" >stdout.txt 2>stderr.txt || status=$?
    output=$(<stdout.txt) stderr=$(<stderr.txt)
}

# sql EXPRESSION: over the documents `a` and `b` (files a.json, b.json)
sql() {
    sqlite3 :memory: "CREATE TABLE f AS SELECT json(CAST(readfile('a.json') AS TEXT)) AS a,
      json(CAST(readfile('b.json') AS TEXT)) AS b; SELECT $1 FROM f"
}
query() { sqlite3 -cmd '.timeout 10000' "$RML_DB" "$1"; }
# lines FILE: an array of the lines of JSON in it
lines() { printf '['; paste -sd, "$1"; printf ']'; }

questions() { head -n "$1" "$E/questions.jsonl"; }

# rolling_documents: docs.jsonl, as make/lm_eval_expectations.py joins documents from questions
rolling_documents() {
    sqlite3 :memory: "CREATE TABLE line AS SELECT key AS n, value AS item FROM json_each(
        (SELECT '[' || replace(trim(CAST(readfile('$E/questions.jsonl') AS TEXT), char(10)),
            char(10), ',') || ']'));
      SELECT json_object('text', group_concat(item->>'context' || ' ' ||
        (item->'choices'->>(item->>'gold')) || char(10), ''))
      FROM (SELECT * FROM line WHERE n < 40 ORDER BY n) GROUP BY n / 10" >docs.jsonl
}
