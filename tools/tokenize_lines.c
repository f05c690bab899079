/*
 * rml-tokenize --jsonl: batches of lines over threads.
 */
#include <errno.h>
#include <jansson.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tokenize.h"
#include "tools/cli/byte_input.h"
#include "tools/cli/json_out.h"
#include "tools/cli/options.h"

/* Read before work begins, as long as there is more to read at once. Large enough that the
 * threads' start costs nothing, small enough to stay in a cache. */
#define BATCH_NBYTES ((size_t)1 << 20)
#define READ_NBYTES ((size_t)1 << 16)
/* Lines that a thread takes at a time: claiming one costs more than encoding "hello". */
#define LINES_A_TASK 16

struct line {
    size_t begin, nbytes; /* in the input, the newline left out */
    size_t number;        /* from 1 */
};

/* Lines of one task, and what became of them. */
struct task {
    size_t first, n; /* in lines */
    struct rml_bytes out;
    struct rml_error err;
};

struct batch {
    const struct tokenize_job *job;
    struct rml_bytes input;
    struct line *lines;
    size_t n_lines, lines_capacity;
    struct task *tasks;
    size_t n_tasks, tasks_capacity;
    size_t n_seen;    /* lines so far */
    size_t n_scanned; /* bytes at the beginning of the input in which there is no newline */
};

/* ---- One line ------------------------------------------------------------------- */

static int append_chunk(const char *data, size_t nbytes, void *user)
{
    return cli_bytes_append(user, data, nbytes, NULL) ? 0 : -1;
}

/* The decimal digits of an id, which is not negative, from the end of `number` backwards. (Of the
 * time that a line takes, printf used to be a quarter.) */
static char *digits_before(char *end, int32_t id)
{
    do
        *--end = (char)('0' + id % 10);
    while (id /= 10);
    return end;
}

static bool write_ids(struct rml_bytes *out, const struct rml_ids *ids, struct rml_error *err)
{
    bool ok = cli_bytes_append(out, "[", 1, err);
    char number[16], *end = number + sizeof number;
    for (size_t i = 0; ok && i < ids->n; i++) {
        char *begin = digits_before(end, ids->ids[i]);
        if (i > 0) {
            *--begin = ' ';
            *--begin = ',';
        }
        ok = cli_bytes_append(out, begin, (size_t)(end - begin), err);
    }
    return ok && cli_bytes_append(out, "]\n", 2, err);
}

static bool encode_value(const struct tokenize_job *job, const json_t *value, struct rml_bytes *out,
                         struct rml_error *err)
{
    if (!json_is_string(value))
        return rmli_fail(err, RML_FORMAT, NULL, -1, "a JSON value, expected a string");
    struct rml_ids ids = {0};
    bool ok =
        tokenize_encode(job, json_string_value(value), json_string_length(value), &ids, err) &&
        write_ids(out, &ids, err);
    rml_ids_release(&ids);
    return ok;
}

static bool read_ids(const json_t *value, struct rml_ids *ids, struct rml_error *err)
{
    if (!json_is_array(value))
        return rmli_fail(err, RML_FORMAT, NULL, -1, "a JSON value, expected an array of ids");
    size_t n = json_array_size(value);
    ids->ids = malloc((n + 1) * sizeof *ids->ids);
    if (!ids->ids)
        return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for %zu ids", n);
    ids->capacity = n + 1;
    for (; ids->n < n; ids->n++) {
        const json_t *id = json_array_get(value, ids->n);
        if (!json_is_integer(id) || json_integer_value(id) < 0 ||
            json_integer_value(id) > INT32_MAX)
            return rmli_fail(err, RML_FORMAT, NULL, -1,
                             "element %zu is no id, expected a whole "
                             "number from 0 on",
                             ids->n);
        ids->ids[ids->n] = (int32_t)json_integer_value(id);
    }
    return true;
}

static bool decode_value(const struct tokenize_job *job, const json_t *value, struct rml_bytes *out,
                         struct rml_error *err)
{
    struct rml_ids ids = {0};
    struct rml_bytes text = {0};
    bool ok = read_ids(value, &ids, err) && tokenize_decode(job, &ids, &text, err);
    if (ok) {
        json_t *string = cli_json_bytes(text.data, text.n);
        ok = string && json_dump_callback(string, append_chunk, out, JSON_ENCODE_ANY) == 0 &&
             cli_bytes_append(out, "\n", 1, NULL);
        json_decref(string);
        if (!ok)
            rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for a text of %zu bytes", text.n);
    }
    rml_ids_release(&ids);
    rml_bytes_release(&text);
    return ok;
}

static bool do_line(const struct batch *batch, const struct line *line, struct rml_bytes *out,
                    struct rml_error *err)
{
    const struct tokenize_job *job = batch->job;
    struct rml_error why = RML_ERROR_INIT;
    json_error_t json_error;
    json_t *value = json_loadb(batch->input.data + line->begin, line->nbytes,
                               JSON_DECODE_ANY | JSON_ALLOW_NUL, &json_error);
    bool ok = value != NULL;
    if (!ok)
        rmli_fail(&why, RML_FORMAT, NULL, -1, "no JSON value, column %d: %s", json_error.column,
                  json_error.text);
    else
        ok =
            job->decode ? decode_value(job, value, out, &why) : encode_value(job, value, out, &why);
    json_decref(value);
    return ok ||
           rmli_fail(err, why.code, job->source, -1, "line %zu: %s", line->number, why.message);
}

static void do_task(void *arg, size_t i, unsigned worker)
{
    (void)worker;
    const struct batch *batch = arg;
    struct task *task = &batch->tasks[i];
    for (size_t k = 0; k < task->n; k++) {
        size_t before = task->out.n;
        if (!do_line(batch, &batch->lines[task->first + k], &task->out, &task->err)) {
            task->out.n = before;
            return;
        }
    }
}

/* ---- A batch of lines -------------------------------------------------------------- */

static bool add_line(struct batch *batch, size_t begin, size_t end, struct rml_error *err)
{
    if (batch->n_lines == batch->lines_capacity) {
        size_t capacity = 2 * batch->lines_capacity + 256;
        struct line *grown = realloc(batch->lines, capacity * sizeof *grown);
        if (!grown)
            return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for %zu lines", capacity);
        batch->lines = grown;
        batch->lines_capacity = capacity;
    }
    batch->lines[batch->n_lines++] =
        (struct line){.begin = begin, .nbytes = end - begin, .number = ++batch->n_seen};
    return true;
}

static bool plan_tasks(struct batch *batch, struct rml_error *err)
{
    batch->n_tasks = (batch->n_lines + LINES_A_TASK - 1) / LINES_A_TASK;
    if (batch->n_tasks > batch->tasks_capacity) {
        struct task *grown = realloc(batch->tasks, batch->n_tasks * sizeof *grown);
        if (!grown)
            return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for %zu tasks",
                             batch->n_tasks);
        memset(grown + batch->tasks_capacity, 0,
               (batch->n_tasks - batch->tasks_capacity) * sizeof *grown);
        batch->tasks = grown;
        batch->tasks_capacity = batch->n_tasks;
    }
    for (size_t i = 0; i < batch->n_tasks; i++) {
        struct task *task = &batch->tasks[i];
        task->first = i * LINES_A_TASK;
        task->n = batch->n_lines - task->first;
        if (task->n > LINES_A_TASK)
            task->n = LINES_A_TASK;
        task->out.n = 0;
        rml_error_clear(&task->err);
    }
    return true;
}

static bool write_out(const struct batch *batch, struct rml_error *err)
{
    for (size_t i = 0; i < batch->n_tasks; i++) {
        const struct task *task = &batch->tasks[i];
        if (task->out.n)
            fwrite(task->out.data, 1, task->out.n, stdout);
        if (task->err.code != RML_OK) {
            *err = task->err;
            return false;
        }
    }
    if (fflush(stdout) == 0)
        return true;
    cli_output_error_told();
    return rmli_fail(err, RML_IO, "standard output", -1, "write failed: %s", strerror(errno));
}

/* Works on the whole lines in the input, the last too when `ended`, and keeps the rest. */
static bool do_lines(struct batch *batch, struct rml_thread_pool *pool, bool ended,
                     struct rml_error *err)
{
    size_t begin = 0;
    batch->n_lines = 0;
    while (begin < batch->input.n) {
        size_t from = begin > batch->n_scanned ? begin : batch->n_scanned;
        const char *newline = memchr(batch->input.data + from, '\n', batch->input.n - from);
        if (!newline && !ended)
            break;
        size_t end = newline ? (size_t)(newline - batch->input.data) : batch->input.n;
        if (!add_line(batch, begin, end, err))
            return false;
        begin = newline ? end + 1 : end;
    }
    batch->n_scanned = batch->input.n - begin;
    if (batch->n_lines == 0)
        return true;
    if (!plan_tasks(batch, err))
        return false;
    rmli_parallel_for(pool, batch->n_tasks, do_task, batch);
    batch->input.n -= begin;
    memmove(batch->input.data, batch->input.data + begin, batch->input.n);
    return write_out(batch, err);
}

/* ---- Input ------------------------------------------------------------------------ */

static bool more_is_there(void)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    return poll(&input, 1, 0) > 0;
}

/* Reads what is there, waiting only for the first bytes. */
static bool read_some(struct batch *batch, bool *ended, struct rml_error *err)
{
    static char piece[READ_NBYTES];
    size_t n_new = 0;
    do {
        ssize_t n = read(STDIN_FILENO, piece, sizeof piece);
        if (n < 0 && errno == EINTR && !cli_interrupted())
            continue;
        if (n < 0 && errno == EINTR)
            return true;
        if (n < 0)
            return rmli_fail(err, RML_IO, "standard input", -1, "cannot read: %s", strerror(errno));
        if (n == 0) {
            *ended = true;
            return true;
        }
        if (!cli_bytes_append(&batch->input, piece, (size_t)n, err))
            return false;
        n_new += (size_t)n;
    } while (n_new < BATCH_NBYTES && more_is_there());
    return true;
}

bool tokenize_lines(const struct tokenize_job *job, struct rml_thread_pool *pool, const char *text,
                    struct rml_error *err)
{
    struct batch batch = {.job = job};
    bool ended = false, ok = true;
    if (text) {
        ended = true;
        ok = cli_bytes_append(&batch.input, text, strlen(text), err) &&
             do_lines(&batch, pool, true, err);
    }
    while (ok && !ended && !cli_interrupted())
        ok = read_some(&batch, &ended, err) && do_lines(&batch, pool, ended, err);
    for (size_t i = 0; i < batch.tasks_capacity; i++)
        rml_bytes_release(&batch.tasks[i].out);
    free(batch.tasks);
    free(batch.lines);
    rml_bytes_release(&batch.input);
    return ok;
}
