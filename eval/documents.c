/*
 * Texts to be scored.
 */
#include "eval/documents.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "eval/request_key.h"

bool document_kind_parse(const char *name, enum document_kind *kind)
{
    static const char *const names[] = {"file", "lines", "jsonl"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(name, names[i]) == 0) {
            *kind = (enum document_kind)i;
            return true;
        }
    return false;
}

/* Takes over `object`, also on failure. */
static bool add(struct documents *d, size_t *capacity, char *id, const char *text, size_t nbytes,
                json_t *object, struct rml_error *err)
{
    if (id && d->n == *capacity) {
        size_t grown = 2 * *capacity + 16;
        struct document *docs = realloc(d->docs, grown * sizeof *docs);
        if (docs)
            d->docs = docs;
        json_t **objects = docs ? realloc(d->objects, grown * sizeof(json_t *)) : NULL;
        if (objects) {
            d->objects = objects;
            *capacity = grown;
        }
    }
    if (!id || d->n == *capacity) {
        free(id);
        json_decref(object);
        return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for the documents");
    }
    d->docs[d->n] = (struct document){.id = id, .text = text, .nbytes = nbytes};
    d->objects[d->n++] = object;
    return true;
}

static char *line_id(const struct text_file *file, size_t line)
{
    char *id = NULL;
    return asprintf(&id, "%s:%zu", file->name, line) < 0 ? NULL : id;
}

static bool add_lines(struct documents *d, size_t *capacity, const struct text_file *file,
                      const char *field, struct rml_error *err)
{
    struct text_line line = {0};
    while (text_next_line(file, &line)) {
        const char *text = line.data;
        size_t nbytes = line.nbytes;
        json_t *object = NULL;
        if (field && nbytes > 0) {
            object = text_json_line(file, &line, err);
            if (!object || !text_json_string(file, &line, object, field, &text, &nbytes, err)) {
                json_decref(object);
                return false;
            }
        }
        if (nbytes == 0) {
            d->n_empty++;
            json_decref(object);
        } else if (!add(d, capacity, line_id(file, line.number), text, nbytes, object, err)) {
            return false;
        }
    }
    return true;
}

static bool read_all(struct documents *d, char *const *names, size_t n_names,
                     enum document_kind kind, const char *field, struct rml_error *err)
{
    size_t capacity = 0;
    d->files = calloc(n_names + 1, sizeof *d->files);
    if (!d->files)
        return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for the documents");
    for (size_t i = 0; i < n_names; i++) {
        for (size_t j = 0; j < i; j++)
            if (strcmp(names[i], names[j]) == 0)
                return rmli_fail(err, RML_INVALID_ARGUMENT, names[i], -1,
                                 "given twice, expected each file once");
        struct text_file *file = &d->files[d->n_files++];
        if (!text_file_read(file, names[i], kind != DOCUMENT_FILE, err))
            return false;
        bool ok = kind == DOCUMENT_FILE
                      ? add(d, &capacity, strdup(file->name), file->data, file->nbytes, NULL, err)
                      : add_lines(d, &capacity, file, kind == DOCUMENT_JSONL ? field : NULL, err);
        if (!ok)
            return false;
    }
    return d->n > 0 || rmli_fail(err, RML_FORMAT, names[0], -1,
                                 "no document found, expected lines that are not empty");
}

bool documents_read(struct documents *documents, char *const *names, size_t n_names,
                    enum document_kind kind, const char *field, struct rml_error *err)
{
    *documents = (struct documents){0};
    if (read_all(documents, names, n_names, kind, field, err))
        return true;
    documents_release(documents);
    return false;
}

void documents_release(struct documents *documents)
{
    for (size_t i = 0; i < documents->n; i++) {
        free(documents->docs[i].id);
        json_decref(documents->objects[i]);
    }
    for (size_t i = 0; i < documents->n_files; i++)
        text_file_release(&documents->files[i]);
    free(documents->docs);
    free(documents->objects);
    free(documents->files);
    *documents = (struct documents){0};
}

static int by_text(const void *a, const void *b)
{
    return strcmp(a, b);
}

bool documents_sha256(const struct documents *documents, char hex[65], struct rml_error *err)
{
    char(*hashes)[65] = calloc(documents->n + 1, sizeof *hashes);
    bool ok = hashes || rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for the documents");
    for (size_t i = 0; ok && i < documents->n; i++)
        ok = eval_sha256(documents->docs[i].text, documents->docs[i].nbytes, hashes[i], err);
    if (ok)
        qsort(hashes, documents->n, sizeof *hashes, by_text);
    ok = ok && eval_sha256(hashes, documents->n * sizeof *hashes, hex, err);
    free(hashes);
    return ok;
}
