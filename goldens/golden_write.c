/*
 * Writing a golden file: one line for each position and fingerprint, so that a
 * diff shows where a model changed.
 *
 * Numbers read back exactly: nine significant digits give back any f32, and a
 * double gets as many as it needs, at most 17.
 */
#include "goldens/golden_file.h"

#include <jansson.h>
#include <stdlib.h>

#include "tools/cli/build_info.h"

static void write_string(FILE *stream, const char *text)
{
    json_t *string = json_string(text);
    /* Names come from a command line and may be in any encoding. */
    char *quoted = string ? json_dumps(string, JSON_ENCODE_ANY) : NULL;
    fputs(quoted ? quoted : "\"unnamed\"", stream);
    free(quoted);
    json_decref(string);
}

static void write_member(FILE *stream, const char *key, const char *text, const char *after)
{
    fprintf(stream, "\"%s\": ", key);
    write_string(stream, text);
    fputs(after, stream);
}

static void write_double(FILE *stream, double value)
{
    char text[40];
    for (int digits = 9; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    fputs(text, stream);
}

static void write_ids(FILE *stream, const char *key, const int32_t *ids, size_t n,
                      const char *after)
{
    fprintf(stream, "      \"%s\": [", key);
    for (size_t i = 0; i < n; i++)
        fprintf(stream, "%s%d", i > 0 ? "," : "", (int)ids[i]);
    fprintf(stream, "]%s", after);
}

static void write_position(FILE *stream, const struct golden_position *p)
{
    fprintf(stream, "        {\"position\":%zu,\"logsumexp\":", p->position);
    write_double(stream, p->logsumexp);
    fprintf(stream, ",\"%s\":[", p->ids ? "top" : "logits");
    for (size_t i = 0; i < p->n; i++) {
        fputs(i > 0 ? "," : "", stream);
        if (p->ids)
            fprintf(stream, "[%d,%.9g]", (int)p->ids[i], p->logits[i]);
        else
            fprintf(stream, "%.9g", p->logits[i]);
    }
    fputs("]}", stream);
}

static void write_residual(FILE *stream, const struct golden_residual *x)
{
    fprintf(stream,
            "        {\"layer\":%d,\"branch\":\"%s\",\"position\":%zu,\"norm\":%.9g,"
            "\"projections\":[",
            x->layer, rml_branch_name(x->branch), x->position, (double)x->norm);
    for (int k = 0; k < GOLDEN_N_PROJECTIONS; k++)
        fprintf(stream, "%s%.9g", k > 0 ? "," : "", (double)x->projections[k]);
    fputs("]}", stream);
}

/* Both texts are known to be UTF-8. */
static void write_json(FILE *stream, const char *key, const json_t *value)
{
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_PRESERVE_ORDER);
    fprintf(stream, "      \"%s\": %s,\n", key, text ? text : "null");
    free(text);
}

static void write_source(FILE *stream, const struct golden_source *source)
{
    if (source->text) {
        json_t *text = json_stringn(source->text, source->text_nbytes);
        write_json(stream, "text", text);
        json_decref(text);
        if (!source->add_special)
            fputs("      \"add_special\": false,\n", stream);
    }
    if (source->conversation.n > 0)
        write_json(stream, "messages", source->conversation.json);
    if (source->chat_format) {
        fputs("      ", stream);
        write_member(stream, "chat_format", source->chat_format, ",\n");
    }
}

static void write_case(FILE *stream, const struct golden_case *c)
{
    fputs("    {\n      ", stream);
    write_member(stream, "name", c->name, ",\n");
    write_source(stream, &c->source);
    write_ids(stream, "tokens", c->tokens, c->n_tokens, ",\n");
    fputs("      \"positions\": [", stream);
    for (size_t i = 0; i < c->n_positions; i++) {
        fputs(i > 0 ? ",\n" : "\n", stream);
        write_position(stream, &c->positions[i]);
    }
    fputs("]", stream);
    if (c->greedy) {
        fputs(",\n", stream);
        write_ids(stream, "greedy", c->greedy, c->n_greedy, "");
        if (c->greedy_margin >= 0)
            fprintf(stream, ",\n      \"greedy_margin\": %.9g", c->greedy_margin);
    }
    if (c->n_residual > 0) {
        fputs(",\n      \"residual\": [", stream);
        for (size_t i = 0; i < c->n_residual; i++) {
            fputs(i > 0 ? ",\n" : "\n", stream);
            write_residual(stream, &c->residual[i]);
        }
        fputs("]", stream);
    }
    fputs("\n    }", stream);
}

void golden_write(const struct golden *golden, const char *isa, FILE *stream)
{
    fputs("{\n  \"format\": \"rml-golden\",\n  \"version\": 1,\n  ", stream);
    write_member(stream, "name", golden->name, ",\n  \"source\": {");
    write_member(stream, "engine", golden->source_engine, ", ");
    write_member(stream, "version", golden->source_version, ", ");
    write_member(stream, "dtype", golden->source_dtype, ", ");
    write_member(stream, "git_commit", build_info.git_commit, ", ");
    write_member(stream, "isa", isa, "},\n");
    if (golden->model_sha256[0]) {
        fputs("  \"model\": {", stream);
        write_member(stream, "content_sha256", golden->model_sha256, ", ");
        write_member(stream, "arch", golden->model_arch, "},\n");
    }
    fprintf(stream, "  \"arithmetic\": \"%s\",\n  \"kv\": \"%s",
            rml_arithmetic_name(golden->arithmetic), rml_kv_dtype_name(golden->k_dtype));
    if (golden->v_dtype != golden->k_dtype)
        fprintf(stream, ":%s", rml_kv_dtype_name(golden->v_dtype));
    fputs("\",\n  \"tolerance\": {\"logit_abs\": ", stream);
    write_double(stream, golden->logit_abs);
    fputs(", \"logsumexp_abs\": ", stream);
    write_double(stream, golden->logsumexp_abs);
    fputs(", \"residual_rel\": ", stream);
    write_double(stream, golden->residual_rel);
    fputs("},\n  \"cases\": [\n", stream);
    for (size_t i = 0; i < golden->n_cases; i++) {
        fputs(i > 0 ? ",\n" : "", stream);
        write_case(stream, &golden->cases[i]);
    }
    fputs("\n  ]\n}\n", stream);
}
