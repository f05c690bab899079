# Databases with rows made up for a test, so that every figure that a command prints can be
# worked out by hand. Sourced by the .bats files beside it.

# made_db_template: call it in setup_file; an empty database with host 1 and build 1
made_db_template() {
    local db=$BATS_FILE_TMPDIR/template.db
    rml-bench attention --kv f32 --depth 8 --threads 1 --db "$db" >/dev/null 2>&1
    sqlite3 "$db" "PRAGMA foreign_keys = ON; DELETE FROM run; DELETE FROM bench_case;
        PRAGMA wal_checkpoint(TRUNCATE)" >/dev/null
}

# new_db FILE
new_db() { sqlite3 "$BATS_FILE_TMPDIR/template.db" "VACUUM INTO '$1'"; }

# add_run FILE UUID START_S [COLUMN=VALUE...]: a finished run of one second; text in quotes
add_run() {
    local db=$1 uuid=$2 start=$3
    shift 3
    sqlite3 "$db" "INSERT INTO run(uuid, kind, state, exit_code, host_id, build_id, start_ns,
        end_ns, heartbeat_ns, argv_json, env_json)
        VALUES ('$uuid', 'bench', 'complete', 0, 1, 1, ${start}000000000,
        ${start}000000000 + 1000000000, ${start}000000000, '[\"rml-bench\"]', '{}')"
    local set
    for set in "$@"; do
        sqlite3 "$db" "UPDATE run SET $set WHERE uuid = '$uuid'"
    done
}

# add_result FILE UUID NAME 'NS NS ...' [COLUMN=VALUE...]: a result of the case made/NAME, one
# sample of 2 iterations for each number, which is ns an iteration, and a warm-up; COLUMN is one
# of the result's, or of the case's as c.COLUMN
add_result() {
    local db=$1 uuid=$2 name=$3 samples=$4 rep=1 sql set extra=
    shift 4
    for set in "$@"; do
        [[ $set == c.* ]] && extra+=" ${set#c.}"
    done
    sql="INSERT OR IGNORE INTO bench_case(case_key, suite, name, work_version, engine, threads,
            params_json)
        VALUES ('made/$name engine=rml threads=1 work=1${extra//\'/}', 'made', '$name', 1, 'rml', 1,
            '{}');
        INSERT INTO result(run_id, bench_case_id, status, warmup_iters, iters_per_rep,
            items_per_iter, bytes_per_iter, engine_version)
        SELECT u.id, c.id, 'ok', 2, 2, 1, 4096, '0.1.0' FROM run AS u, bench_case AS c
        WHERE u.uuid = '$uuid'
            AND c.case_key = 'made/$name engine=rml threads=1 work=1${extra//\'/}';
        INSERT INTO sample(result_id, rep, order_idx, is_warmup, t_mono_ns, iters, wall_ns)
        SELECT max(id), 0, 0, 1, 1000, 2, 999999 FROM result;"
    for ns in $samples; do
        sql+="INSERT INTO sample(result_id, rep, order_idx, is_warmup, t_mono_ns, iters, wall_ns)
            SELECT max(id), $rep, $rep, 0, 1000 + $rep, 2, 2 * $ns FROM result;"
        rep=$((rep + 1))
    done
    for set in "$@"; do
        if [[ $set == c.* ]]; then
            sql+="UPDATE bench_case SET ${set#c.} WHERE id = (SELECT bench_case_id FROM result
                ORDER BY id DESC LIMIT 1);"
        else
            sql+="UPDATE result SET $set WHERE id = (SELECT max(id) FROM result);"
        fi
    done
    sqlite3 "$db" "BEGIN; $sql COMMIT"
}

# try COMMAND...: $status, $output and $stderr of a command that may fail
try() {
    status=0
    "$@" >stdout.txt 2>stderr.txt || status=$?
    # shellcheck disable=SC2034 # for the tests
    output=$(<stdout.txt) stderr=$(<stderr.txt)
}

# json FILE EXPRESSION: an SQL expression over the JSON document `d`
json() { sqlite3 :memory: "SELECT $2 FROM (SELECT CAST(readfile('$1') AS TEXT) AS d)"; }

# counts FILE: number of rows of every table, a line each
counts() {
    local table
    for table in $(sqlite3 "$1" "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY 1"); do
        echo "$table $(sqlite3 "$1" "SELECT count(*) FROM $table")"
    done
}
