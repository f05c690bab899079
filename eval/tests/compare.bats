#!/usr/bin/env bats
# rml-eval compare and gate as users and scripts see them. The figures of items are set by hand in
# the database, so that what is expected can be worked out on paper.

setup_file() {
    export RML_DB=$BATS_FILE_TMPDIR/eval.db XDG_CACHE_HOME=$BATS_FILE_TMPDIR/cache
    local toy=$RML_SOURCE_DIR/goldens/fixtures/llama-text/hf-text
    local expected=$RML_SOURCE_DIR/eval/tests/expected
    cd "$BATS_FILE_TMPDIR" || return
    head -n 60 "$expected/questions.jsonl" >q.jsonl
    head -n 59 "$expected/questions.jsonl" >fewer.jsonl
    rml-eval choices "$toy" q.jsonl -q                           # run 1
    rml-eval choices "$toy" q.jsonl --kv i8 -q                   # run 2
    rml-eval choices "$toy" fewer.jsonl -q                       # run 3
    rml-eval choices "$toy" q.jsonl --delimiter '  ' -q          # run 4
    rml-eval perplexity "$toy" "$expected/text.txt" --ctx 64 -q  # run 5
    rml-eval perplexity "$toy" "$expected/text.txt" --ctx 64 --kv i8 -q
    rml-eval perplexity "$toy" "$expected/text.txt" --ctx 96 -q  # run 7
    # Runs 1 and 2: of 60 items a has 33 right and b 26; a alone 10, b alone 3.
    sqlite3 "$RML_DB" "UPDATE eval_doc_metric SET value = doc_id + 0 <= 33
        WHERE run_id = 1 AND metric = 'acc';
      UPDATE eval_doc_metric SET value = doc_id + 0 BETWEEN 11 AND 36
        WHERE run_id = 2 AND metric = 'acc'"
}

setup() { cd "$BATS_TEST_TMPDIR" || return; }

# try COMMAND...: $status, $output and $stderr of a command that may fail
try() {
    status=0
    "$@" >stdout.txt 2>stderr.txt || status=$?
    output=$(<stdout.txt) stderr=$(<stderr.txt)
}

# sql EXPRESSION: over the document `a` (file a.json)
sql() { sqlite3 :memory: "WITH f AS (SELECT json(CAST(readfile('a.json') AS TEXT)) AS a) SELECT $1 FROM f"; }

@test "paired statistics of questions are those worked out by hand" {
    rml-eval compare 1 2 --json >a.json
    # d: ten times 1, three times -1: mean 7/60, s^2 = (13 - 49/60) / 59
    [ "$(sql "a->>'n' = 60 AND a->>'metric' = 'acc' AND abs(a->>'a' - 33/60.0) < 1e-12
      AND abs(a->>'b' - 26/60.0) < 1e-12 AND abs(a->>'difference' - 7/60.0) < 1e-12")" = 1 ]
    [ "$(sql "abs(a->>'stderr' - sqrt((13 - 49/60.0) / 59 / 60)) < 1e-12")" = 1 ]
    # t with 59 degrees of freedom: 2.0009953780882688 (scipy.stats.t.ppf(0.975, 59))
    [ "$(sql "abs(a->>'ci_lo' - (7/60.0 - 2.0009953780882688 * (a->>'stderr'))) < 1e-9
      AND abs(a->>'ci_hi' - (7/60.0 + 2.0009953780882688 * (a->>'stderr'))) < 1e-9")" = 1 ]
    # 2 (1 + 13 + 78 + 286) / 2^13
    [ "$(sql "a->'mcnemar'->>'n10' = 10 AND a->'mcnemar'->>'n01' = 3
      AND abs(a->'mcnemar'->>'p_value' - 756/8192.0) < 1e-12
      AND abs(a->>'p_holm' - 756/8192.0) < 1e-12")" = 1 ]
    # 1.959964 + 0.841621
    [ "$(sql "abs((a->>'mde') / (a->>'stderr') - 2.8015852182) < 1e-8")" = 1 ]
    [ "$(sql "a->>'flipped'")" = '["1","2","3","4","5","6","7","8","9","10","34","35","36"]' ]
}

@test "comparing two models with an unpaired test on paired data" {
    # b loses 7 of a's 33 and gains none. McNemar: 2 / 2^7; two independent samples would have
    # z = (7/60) / sqrt((33 27 + 26 34) / 60^3) = 1.29 and see nothing.
    sqlite3 "$RML_DB" ".backup copy.db"
    sqlite3 copy.db "UPDATE eval_doc_metric SET value = doc_id + 0 <= 26 WHERE run_id = 2 AND metric = 'acc'"
    rml-eval compare 1 2 --db copy.db --json >a.json
    [ "$(sql "a->>'p_value' < 0.01 AND abs(a->'mcnemar'->>'p_value' - 0.015625) < 1e-12 AND a->>'ci_lo' > 0
      AND abs(a->>'stderr' - sqrt((7 - 49/60.0) / 59 / 60)) < 1e-12")" = 1 ]
    [ "$(sql "a->>'stderr' < 0.5 * sqrt((33 * 27 + 26 * 34) / 216000.0)")" = 1 ]
    try rml-eval gate 1 2 --margin 0.04 --db copy.db # nothing seen would not do; worse is seen
    [ "$status" -eq 4 ]
}

@test "flipped items are listed with their text, and no difference with what could be seen" {
    rml-eval compare 1 2 >table.txt
    grep -q 'no difference seen; detectable: 0.16' table.txt
    [ "$(grep -c '^choices  *[0-9]*  *[ab]  ' table.txt)" -eq 13 ]
    grep -q 'in law with whom she had wrought, and' table.txt
    rml-eval compare 1 2 --markdown m.md --junit j.xml >/dev/null
    grep -q '^| choices ' m.md
    grep -q 'in law with whom' m.md
    grep -q '<testsuite name="rml-eval compare" tests="1" failures="0"' j.xml
}

@test "an interval without 0 beside no difference: the test that decides is named" {
    # b has 8 to 34 right: a alone 7, b alone 1. McNemar: 2 (1 + 8) / 2^8 = 0.0703; by t the interval is
    # 0.1 -+ 2.001 sqrt((8 - 36/60) / 59 / 60), 0.0085 to 0.1915
    sqlite3 "$RML_DB" ".backup copy.db"
    sqlite3 copy.db "UPDATE eval_doc_metric SET value = doc_id + 0 BETWEEN 8 AND 34 WHERE run_id = 2 AND metric = 'acc'"
    rml-eval compare 1 2 --db copy.db >table.txt
    grep -q '+0.008[0-9]* to +0.19[0-9]*  McNemar  0.0703.*no difference seen by McNemar.s test, which decides; detectable' table.txt
    rml-eval compare 1 2 --db copy.db --json >a.json
    [ "$(sql "a->>'test'")" = mcnemar ]
    rml-eval compare 5 6 --db copy.db --json >a.json
    [ "$(sql "a->>'test'")" = paired-t ]
    # 6 against 0: 2 / 2^6 = 0.03125, and both tests see it
    sqlite3 copy.db "UPDATE eval_doc_metric SET value = doc_id + 0 BETWEEN 7 AND 33 WHERE run_id = 2 AND metric = 'acc'"
    rml-eval compare 1 2 --db copy.db >table.txt
    grep -q '0.03125 .*a is better' table.txt
}

@test "perplexities are compared window by window of the same tokens" {
    rml-eval compare 5 6 --json >a.json
    sqlite3 "$RML_DB" "WITH p AS (SELECT b.loglik - a.loglik AS d, a.n_tokens AS n FROM eval_item AS a
        JOIN eval_item AS b USING (doc_id, choice_idx) WHERE a.run_id = 5 AND b.run_id = 6),
      m AS (SELECT sum(d) / sum(n) AS r, sum(n) AS n, count(*) AS g FROM p)
      SELECT m.r, sqrt(m.g / (m.g - 1.0) * sum((d - m.r * p.n) * (d - m.r * p.n))) / m.n
      FROM p, m" | {
        IFS='|' read -r difference stderr
        [ "$(sql "abs(a->>'difference' - ($difference)) < 1e-12
          AND abs((a->>'stderr') / $stderr - 1) < 1e-9")" = 1 ]
    }
    [ "$(sql "abs(a->>'ratio' - (a->>'a') / (a->>'b')) < 1e-12 AND a->>'metric' = 'ppl'
      AND a->>'mcnemar' IS NULL AND a->>'n' = 53")" = 1 ]
}

@test "runs of other items, settings or tasks are refused by the name of the field" {
    while IFS='|' read -r a b field; do
        try rml-eval compare "$a" "$b" --json
        [ "$status" -eq 6 ]
        [[ $stderr == *"$field"* ]]
        [[ $output == *'"error"'* ]]
        try rml-eval gate "$a" "$b" --margin 0.1
        [ "$status" -eq 6 ]
    done <<'END'
1|3|items differ: 60 in a, 59 in b
1|4|delimiter differs
1|5|task: 'choices' and 'perplexity'
5|7|n_ctx differs
1|nowhere|no run 'nowhere'
END
    # replies: how long they may be and how they are judged
    local toy=$RML_SOURCE_DIR/goldens/fixtures/llama-text/hf-text db=replies.db
    printf '{"id": %d, "context": "The toy", "gold": "x"}\n' 1 2 3 >g.jsonl
    printf 'task: t\ndataset_path: json\ndataset_kwargs: {data_files: {test: g.jsonl}}\ntest_split: test
doc_to_text: context\ndoc_to_target: gold\ngeneration_kwargs: {max_gen_toks: 4, do_sample: false}\n' >t.yaml
    { cat t.yaml && echo 'filter_list: [{name: none, filter: [{function: lowercase}, {function: take_first}]}]'; } >f.yaml
    reply() { rml-eval generate "$toy" g.jsonl --db $db -q --label "$1" --max-tokens "${@:2}"; }
    reply one 4 && reply same 4 --kv f16 --temp 1 && reply longer 5 && reply pattern 4 --regex '(x)' && reply case 4 --ignore-case
    rml-eval task "$toy" t.yaml --db $db -q --label plain
    rml-eval task "$toy" f.yaml --db $db -q --label filtered
    rml-eval compare one same --db $db
    while read -r a b field; do
        try rml-eval compare "$a" "$b" --db $db
        echo "$a $b: $stderr"
        [ "$status" -eq 6 ]
        [[ $stderr == *": $field differs: "* ]]
    done <<'END'
one longer max_tokens
one pattern regex
one case ignore_case
plain filtered filter_list
END
    # what has no figures of items cannot be compared; a figure that there is not is a mistake
    rml-eval kld "$toy" --kv i8 --against-kv f32 "$RML_SOURCE_DIR/eval/tests/expected/text.txt" --ctx 64 \
        --head --limit 2 --db $db -q --label divergence >/dev/null
    try rml-eval compare divergence divergence --db $db
    [ "$status" -eq 6 ]
    [[ $stderr == *"task 'kld': no figures of items found in a, expected questions, replies or texts"* ]]
    try rml-eval gate one same --margin 0.1 --metric acc --db $db
    [ "$status" -eq 1 ]
    [[ $stderr == *"no figure 'acc' of items found in either run, expected one that both have: exact_match" ]]
    sqlite3 "$RML_DB" ".backup copy.db"
    sqlite3 copy.db "UPDATE eval_doc SET gold_json = '7' WHERE run_id = 2 AND doc_id = '9'"
    try rml-eval compare 1 2 --db copy.db
    [ "$status" -eq 6 ]
    [[ $stderr == *"item '9': gold differs"* ]]
    sqlite3 copy.db "UPDATE eval_item SET token_ids = zeroblob(length(token_ids))
      WHERE run_id = 6 AND choice_idx = 4"
    try rml-eval compare 5 6 --db copy.db
    [ "$status" -eq 6 ]
    [[ $stderr == *"token ids differ"* ]]
}

@test "what is stored beside the figures of quality is not judged, and an error names those there are" {
    local of_texts='ppl, bits_per_byte'
    while read -r a b metric what expected; do
        for command in compare 'gate --margin 0.1'; do
            # shellcheck disable=SC2086 # words
            try rml-eval $command "$a" "$b" --metric "$metric" --json
            echo "$metric: $stderr"
            [ "$status" -eq 1 ]
            [[ $stderr == *": '$metric' is no figure of quality, expected one that both have: $expected" ]]
        done
    done <<END
1 2 pick is acc, acc_bytes, acc_norm, acc_token
1 2 pick_norm is acc, acc_bytes, acc_norm, acc_token
5 6 nll_sum is $of_texts
5 6 n_words is $of_texts
5 6 n_scored is $of_texts
5 6 n_bytes is $of_texts
END
    try rml-eval compare 5 6 --metric perplexity
    [ "$status" -eq 1 ]
    [[ $stderr == *": no figure 'perplexity' of items found in either run, expected one that both have: $of_texts" ]]
    for metric in ppl bits_per_byte; do
        rml-eval compare 5 6 --metric "$metric" --json >a.json
        [ "$(sql "a->>'metric'")" = "$metric" ]
    done
    # of replies judged by several rules none is called exact_match alone
    sqlite3 "$RML_DB" ".backup rules.db"
    sqlite3 rules.db "UPDATE eval_doc_metric SET metric = iif(metric = 'acc', 'exact_match,last', 'exact_match,strict')
        WHERE run_id IN (1, 2) AND metric IN ('acc', 'acc_norm');
      DELETE FROM eval_doc_metric WHERE run_id IN (1, 2) AND metric NOT LIKE 'exact_match,%'"
    rml-eval compare 1 2 --db rules.db --json >a.json
    [ "$(sql "a->>'metric' = 'exact_match,last' AND a->'mcnemar'->>'n10' = 10")" = 1 ]
}

@test "a database that is not there is a missing baseline, to compare and to gate" {
    for command in 'rml-eval compare' 'rml-eval gate --margin 0.1' 'rml-results compare'; do
        try $command 1 2 --db nope.db --json
        [ "$status" -eq 6 ]
        [[ $stderr == *"nope.db: no results database there"* ]]
        [[ $output == *'"error"'* ]]
        [ ! -e nope.db ]
    done
}

@test "a gate passes only within its margin, and tells worse from inconclusive" {
    # loss 0.1167, standard error 0.0587, t(59) at one-sided 95 %: 1.671: 0.0186 to 0.2147
    try rml-eval gate 1 2 --margin 0.22 --json
    [ "$status" -eq 0 ]
    [[ $output == *'"verdict": "within"'* ]]
    try rml-eval gate 1 2 --margin 0.21 --junit j.xml --markdown m.md
    [ "$status" -eq 5 ]
    grep -q 'failures="1"' j.xml
    grep -q 'failure type="inconclusive"' j.xml
    grep -q '### rml-eval gate: inconclusive (margin 0.21)' m.md
    # what stands below the table is about bounds, at the confidence that was asked for
    grep -q 'The bounds of the loss decide: .* with a confidence of 0.95' m.md
    ! grep -q Detectable m.md || false
    try rml-eval gate 1 2 --margin 0.018
    [ "$status" -eq 4 ]
    try rml-eval gate 2 1 --margin 0.018 # the other way round b is better
    [ "$status" -eq 0 ]
    try rml-eval gate 5 6 --margin 0.01
    [ "$status" -eq 0 ]
    try rml-eval gate 1 2
    [ "$status" -eq 2 ]
    try rml-eval gate 1 2 --margin 0.1 --markdown - --junit -
    [ "$status" -eq 2 ]
}

@test "a run against itself has no variance: null, and a gate knows what 60 items can tell" {
    rml-eval compare 1 1 --json >a.json
    [ "$(sql "a->>'difference' = 0 AND a->>'stderr' = 0 AND a->>'ci_lo' IS NULL
      AND a->>'p_value' IS NULL AND a->>'mde' IS NULL AND json_array_length(a->'flipped') = 0")" = 1 ]
    # 1 - 0.05^(1/60) = 0.0487
    try rml-eval gate 1 1 --margin 0.049
    [ "$status" -eq 0 ]
    try rml-eval gate 1 1 --margin 0.048
    [ "$status" -eq 5 ]
    try rml-eval gate 5 5 --margin 0.0001
    [ "$status" -eq 0 ]
}

@test "verdicts are kept with the candidate's run, shown and reported; the same comparison once" {
    sqlite3 "$RML_DB" ".backup kept.db"
    export RML_DB=$PWD/kept.db
    sqlite3 "$RML_DB" "DELETE FROM eval_verdict"
    for i in 1 2; do
        rml-eval compare 1 2 >/dev/null
        try rml-eval gate 1 2 --margin 0.01
    done
    rml-eval compare 5 6 >/dev/null
    # 7 / 60 in favour of the base, 10 against 3, p of McNemar 756 / 2^13, 13 flipped
    [ "$(sqlite3 "$RML_DB" "SELECT run_id, base_run_id, task, metric, n, n10, n01, json_array_length(flipped_json),
        abs(difference - 7/60.0) < 1e-12, abs(p_mcnemar - 756/8192.0) < 1e-12, abs(mde / stderr - 2.8015852182) < 1e-8,
        verdict FROM eval_verdict WHERE method = 'paired' AND run_id = 2")" = '2|1|choices|acc|60|10|3|13|1|1|1|no difference seen' ]
    [ "$(sqlite3 "$RML_DB" "SELECT count(*), margin, abs(loss - 7/60.0) < 1e-12, loss_lo < loss AND loss < loss_hi FROM eval_verdict WHERE method = 'non-inferiority'")" = '1|0.01|1|1' ]
    [ "$(sqlite3 "$RML_DB" "SELECT count(*), sum(p_mcnemar IS NULL AND n10 IS NULL) FROM eval_verdict WHERE metric = 'ppl'")" = '1|1' ]
    # show: with either run, also as JSON
    rml-results show 2 >show.txt
    grep -q 'choices  *acc  .* 60  *0.55  *0.4333  *0.1167 .* 0.09229 .* 13  *-  *no difference seen' show.txt
    grep -q 'right in the base only: .*in law with whom she had wrought, and' show.txt
    # compared and judged: what flipped is told once
    [ "$(grep -c '^items of choices that flipped in acc$' show.txt)" -eq 1 ]
    [ "$(grep -c 'right in the .* only' show.txt)" -eq 13 ]
    rml-results show 1 --json >a.json
    [ "$(sql "json_array_length(a, '\$.eval_verdicts') = 2 AND json_array_length(a, '\$.eval_verdicts[0].flipped') = 13
        AND json_extract(a, '\$.evals[0].protocol') IS NOT NULL AND json_extract(a, '\$.evals[0].settings.delimiter') = ' '")" = 1 ]
    # the report: the same bytes again, and the texts of what flipped
    rml-results report -o one.html
    rml-results report -o two.html
    cmp one.html two.html
    rows() { sed -n "/<section id=\"$1\">/,/<\/section>/p" one.html; }
    [ "$(rows eval-verdicts | grep -c '^<tr><td')" -eq 3 ]
    rows eval-verdicts | grep -q '<td>no difference seen</td><td>choices</td><td>acc</td>.*>0.1167<'
    [ "$(rows flipped | grep -c '^<tr><td')" -eq 13 ]
    rows flipped | grep -q 'in law with whom she had wrought, and'
    # a database that cannot be written can be asked, and says that nothing is kept
    if [ "$(id -u)" -ne 0 ]; then
        chmod a-w kept.db
        try rml-eval compare 1 2
        [ "$status" -eq 0 ] && [[ $stderr == *"not kept"* ]]
    fi
    # merged: with the runs that it is about, once
    rml-results merge "$RML_DB" --db merged.db -q >/dev/null
    rml-results merge "$RML_DB" --db merged.db -q >/dev/null
    [ "$(sqlite3 merged.db "SELECT count(*), sum(v.run_id = r.id AND v.base_run_id = a.id) FROM eval_verdict v JOIN run r ON r.id = v.run_id JOIN run a ON a.id = v.base_run_id")" = '3|3' ]
}

# The two forms of one model: the tokenizers are stored otherwise, but say the same of this text.
@test "a folder and a GGUF of one model are compared, tokenizers that cut otherwise are not" {
    local tiny=$RML_SOURCE_DIR/goldens/models/rml-tiny text=$RML_SOURCE_DIR/eval/tests/expected/text.txt
    rml-eval perplexity "$tiny" "$text" --ctx 64 --head --limit 8 -q --label folder >folder.txt
    rml-eval perplexity "$tiny/rml-tiny.gguf" "$text" --ctx 64 --head --limit 8 -q --label gguf >gguf.txt
    rml-eval compare folder gguf --json >a.json
    [ "$(sql "abs(a->>'difference') < 1e-6")" = 1 ] # their rows stand in another order for RoPE
    try rml-eval compare 5 gguf
    [ "$status" -eq 6 ]
}
