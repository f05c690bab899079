/*
 * The protocol between rml-bench and the children that measure for it: JSON documents, one a
 * line, over a pipe each way (the child's standard input and output).
 *
 *     child                                parent
 *     {"rml_bench_worker": 1}         ->          version of the protocol
 *                                     <-   {"do": "open", "spec": {...}}
 *     {"facts": {...}}                ->
 *                                     <-   {"do": "measure", "reps": 21, "profile": false}
 *     {"samples": ..., "outcome": ..} ->
 *                                     <-   {"do": "settle"}        warm-up alone
 *     {"iters": 40, "steady": true}   ->
 *                                     <-   {"do": "block", "iters": 40}
 *     {"wall_ns": 2100345, "cpu_ns": ..., "output": "90ab..."}  ->
 *                                     <-   {"do": "build"}         what the program is
 *     {"build": {...}}                ->
 *
 * A request that fails is answered by {"error": {"code", "message"}} and the child goes on;
 * `open` closes the case that was open. The end of its input ends a child.
 *
 * The two ends may be different builds (ab BASE HEAD), so what a version means stays: members may
 * be added, and a reader passes over those that it does not know.
 */
#ifndef BENCH_MESSAGE_H
#define BENCH_MESSAGE_H

#include <jansson.h>

#include "bench/measure.h"
#include "bench/suite.h"

#define BENCH_PROTOCOL 1

/* Writes a document and a newline; false with RML_IO when the other end is gone. Takes over the
 * reference (NULL: RML_NO_MEMORY). */
bool bench_message_write(int fd, json_t *message, struct rml_error *err);

/* What has been read and is no whole line yet. */
struct bench_line {
    char *text;
    size_t n, room;
    void (*tick)(void *user); /* NULL, or called ten times a second while nothing comes */
    void *user;
};
enum bench_read { BENCH_READ_MESSAGE, BENCH_READ_END, BENCH_READ_FAILED };
/* The next document, waiting until deadline_ns (rmli_clock_ns; negative: for ever). FAILED with
 * RML_OUT_OF_RANGE: the time is over; RML_CANCELLED: cli_interrupted; RML_FORMAT: no JSON. */
enum bench_read bench_message_read(int fd, struct bench_line *line, int64_t deadline_ns,
                                   json_t **message, struct rml_error *err);

json_t *bench_error_to_json(const struct rml_error *err);
/* Records the error of a message, and returns false. */
bool bench_error_from_json(const json_t *error, struct rml_error *err);

json_t *bench_facts_to_json(const struct bench_facts *facts);
bool bench_facts_from_json(const json_t *document, struct bench_facts *facts,
                           struct rml_error *err);
json_t *bench_samples_to_json(const struct bench_samples *samples);
/* On success *samples is to be released. */
bool bench_samples_from_json(const json_t *document, struct bench_samples *samples,
                             struct rml_error *err);

#endif
