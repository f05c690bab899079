#include "bench/message.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "tools/cli/json_out.h"
#include "tools/cli/options.h"

/* ---- Lines ---------------------------------------------------------------------------------- */

bool bench_message_write(int fd, json_t *message, struct rml_error *err)
{
    char *text = message ? json_dumps(message, JSON_COMPACT) : NULL;
    json_decref(message);
    if (!text)
        return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for a message");
    size_t n = strlen(text), at = 0;
    text[n++] = '\n'; /* in place of the NUL */
    while (at < n) {
        ssize_t written = write(fd, text + at, n - at);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            break;
        at += (size_t)written;
    }
    free(text);
    return at == n ||
           rmli_fail(err, RML_IO, NULL, -1, "the other process is gone: %s", strerror(errno));
}

static enum bench_read failed(enum rml_code code, const char *what, struct rml_error *err)
{
    rmli_fail(err, code, NULL, -1, "%s", what);
    return BENCH_READ_FAILED;
}

/* Cuts the first whole line out, if there is one. */
static bool cut_line(struct bench_line *line, json_t **message)
{
    char *end = line->n > 0 ? memchr(line->text, '\n', line->n) : NULL;
    if (!end)
        return false;
    size_t n = (size_t)(end - line->text);
    *message = json_loadb(line->text, n, 0, NULL);
    line->n -= n + 1;
    memmove(line->text, end + 1, line->n);
    return true;
}

/* Waits for input in slices: a signal that comes just before poll does not wake it. */
static bool wait_for_input(int fd, const struct bench_line *line, int64_t deadline_ns,
                           struct rml_error *err)
{
    enum { SLICE_MS = 100 };
    for (;;) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        int64_t left_ns = deadline_ns < 0 ? INT64_MAX : deadline_ns - rmli_clock_ns();
        if (left_ns <= 0)
            return rmli_fail(err, RML_OUT_OF_RANGE, NULL, -1, "the time is over");
        int64_t left_ms = left_ns / 1000000 + 1;
        if (poll(&p, 1, left_ms < SLICE_MS ? (int)left_ms : SLICE_MS) > 0)
            return true;
        if (line->tick)
            line->tick(line->user);
        if (cli_interrupted())
            return rmli_fail(err, RML_CANCELLED, NULL, -1, "interrupted");
    }
}

enum bench_read bench_message_read(int fd, struct bench_line *line, int64_t deadline_ns,
                                   json_t **message, struct rml_error *err)
{
    for (;;) {
        if (cut_line(line, message))
            return *message ? BENCH_READ_MESSAGE
                            : failed(RML_FORMAT, "a line that is no JSON", err);
        if (line->n == line->room) {
            size_t room = 2 * line->room + 4096;
            char *text = realloc(line->text, room);
            if (!text)
                return failed(RML_NO_MEMORY, "no memory for a message", err);
            line->text = text;
            line->room = room;
        }
        if (!wait_for_input(fd, line, deadline_ns, err))
            return BENCH_READ_FAILED;
        ssize_t n = read(fd, line->text + line->n, line->room - line->n);
        if (n < 0 && errno != EINTR)
            return failed(RML_IO, strerror(errno), err);
        if (n == 0)
            return BENCH_READ_END;
        if (n > 0)
            line->n += (size_t)n;
    }
}

/* ---- Errors --------------------------------------------------------------------------------- */

json_t *bench_error_to_json(const struct rml_error *err)
{
    return json_pack("{s{si ss ss sI}}", "error", "code", (int)err->code, "message", err->message,
                     "file", err->file, "offset", (json_int_t)err->offset);
}

bool bench_error_from_json(const json_t *error, struct rml_error *err)
{
    int code = (int)json_integer_value(json_object_get(error, "code"));
    const char *message = json_string_value(json_object_get(error, "message"));
    bool known = code > RML_OK && code <= RML_INTERNAL && code != RML_CANCELLED;
    return rmli_fail(err, known ? (enum rml_code)code : RML_INTERNAL,
                     json_string_value(json_object_get(error, "file")),
                     json_integer_value(json_object_get(error, "offset")), "%s",
                     message ? message : "an error without a message");
}

/* ---- Facts ---------------------------------------------------------------------------------- */

json_t *bench_facts_to_json(const struct bench_facts *f)
{
    return json_pack("{so si so sf sf sI}", "isa", cli_json_text(f->isa), "work_version",
                     f->work_version, "items_per_iter", cli_json_real(f->items_per_iter),
                     "bytes_per_iter", f->bytes_per_iter, "flops_per_iter", f->flops_per_iter,
                     "kv_nbytes", (json_int_t)f->kv_nbytes);
}

bool bench_facts_from_json(const json_t *document, struct bench_facts *f, struct rml_error *err)
{
    const json_t *isa = json_object_get(document, "isa");
    const json_t *items = json_object_get(document, "items_per_iter");
    const json_t *bytes = json_object_get(document, "bytes_per_iter");
    const json_t *flops = json_object_get(document, "flops_per_iter");
    const json_t *version = json_object_get(document, "work_version");
    if (!json_is_number(bytes) || !json_is_number(flops) || !json_is_integer(version))
        return rmli_fail(err, RML_FORMAT, NULL, -1, "facts of a case without their numbers");
    enum rml_isa known;
    const char *name = json_string_value(isa);
    *f = (struct bench_facts){
        .isa = name && rml_isa_parse(name, &known) ? rml_isa_name(known) : NULL,
        .work_version = (int)json_integer_value(version),
        .items_per_iter = json_is_number(items) ? json_number_value(items) : NAN,
        .bytes_per_iter = json_number_value(bytes),
        .flops_per_iter = json_number_value(flops),
        .kv_nbytes = json_integer_value(json_object_get(document, "kv_nbytes")),
    };
    return true;
}

/* ---- Samples -------------------------------------------------------------------------------- */

/* The members of a sample in the order in which they stand in its array. */
enum { N_SAMPLE_MEMBERS = 9 };

static void sample_members(struct store_sample *s, int64_t *members[N_SAMPLE_MEMBERS])
{
    int64_t *const list[N_SAMPLE_MEMBERS] = {&s->t_mono_ns, &s->iters,       &s->wall_ns,
                                             &s->cpu_ns,    &s->steal_ticks, &s->nvcsw,
                                             &s->nivcsw,    &s->minflt,      &s->majflt};
    memcpy(members, list, sizeof list);
}

json_t *bench_samples_to_json(const struct bench_samples *s)
{
    json_t *samples = json_array(), *times = json_array();
    for (size_t i = 0; i < s->n_samples; i++) {
        struct store_sample sample = s->samples[i];
        int64_t *members[N_SAMPLE_MEMBERS];
        sample_members(&sample, members);
        json_t *row = json_array();
        json_array_append_new(row, json_integer(sample.is_warmup));
        for (int m = 0; m < N_SAMPLE_MEMBERS; m++)
            json_array_append_new(row, json_integer(*members[m]));
        json_array_append_new(samples, row);
    }
    for (size_t i = 0; i < s->n_token_times; i++) {
        const struct store_token_time *t = &s->token_times[i];
        json_array_append_new(times,
                              json_pack("[i i I]", t->rep, t->idx, (json_int_t)t->t_mono_ns));
    }
    return json_pack("{so so sI sI sb}", "samples", samples, "token_times", times, "iters_per_rep",
                     (json_int_t)s->iters_per_rep, "warmup_iters", (json_int_t)s->warmup_iters,
                     "steady", s->steady);
}

static bool read_samples(const json_t *samples, struct bench_samples *s)
{
    for (size_t i = 0; i < s->n_samples; i++) {
        const json_t *row = json_array_get(samples, i);
        struct store_sample *sample = &s->samples[i];
        int64_t *members[N_SAMPLE_MEMBERS];
        sample_members(sample, members);
        if (json_array_size(row) <= N_SAMPLE_MEMBERS)
            return false;
        sample->rep = sample->order_idx = (int)i;
        sample->is_warmup = json_integer_value(json_array_get(row, 0)) != 0;
        for (int m = 0; m < N_SAMPLE_MEMBERS; m++) {
            const json_t *member = json_array_get(row, 1 + (size_t)m);
            if (!json_is_integer(member))
                return false;
            *members[m] = json_integer_value(member);
        }
        if (sample->iters < 1 || sample->wall_ns < 0)
            return false;
    }
    return true;
}

static bool read_token_times(const json_t *times, struct bench_samples *s)
{
    for (size_t i = 0; i < s->n_token_times; i++) {
        const json_t *row = json_array_get(times, i);
        json_int_t rep = json_integer_value(json_array_get(row, 0));
        json_int_t idx = json_integer_value(json_array_get(row, 1));
        if (rep < 0 || (size_t)rep >= s->n_samples || idx < 0 || idx > INT32_MAX ||
            (idx > 0 && i == 0))
            return false;
        s->token_times[i] =
            (struct store_token_time){.rep = (int)rep,
                                      .idx = (int)idx,
                                      .t_mono_ns = json_integer_value(json_array_get(row, 2))};
    }
    return true;
}

bool bench_samples_from_json(const json_t *document, struct bench_samples *s, struct rml_error *err)
{
    const json_t *samples = json_object_get(document, "samples");
    const json_t *times = json_object_get(document, "token_times");
    *s = (struct bench_samples){
        .n_samples = json_array_size(samples),
        .n_token_times = json_array_size(times),
        .iters_per_rep = json_integer_value(json_object_get(document, "iters_per_rep")),
        .warmup_iters = json_integer_value(json_object_get(document, "warmup_iters")),
        .steady = json_is_true(json_object_get(document, "steady")),
    };
    s->samples = calloc(s->n_samples + 1, sizeof *s->samples);
    s->token_times = calloc(s->n_token_times + 1, sizeof *s->token_times);
    if (s->samples && s->token_times && read_samples(samples, s) && read_token_times(times, s) &&
        s->iters_per_rep > 0)
        return true;
    bench_samples_release(s);
    return rmli_fail(err, RML_FORMAT, NULL, -1, "samples that are malformed");
}
