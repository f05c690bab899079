/*
 * Texts to be scored: each file is a document, or each line of it, or a field of each line of
 * JSON. Documents are tokenised and scored alone, never joined.
 */
#ifndef EVAL_DOCUMENTS_H
#define EVAL_DOCUMENTS_H

#include "eval/text_input.h"

enum document_kind { DOCUMENT_FILE, DOCUMENT_LINES, DOCUMENT_JSONL };

struct document {
    char *id; /* the file's name; with lines "NAME:LINE" */
    const char *text;
    size_t nbytes;
};

struct documents {
    struct document *docs; /* [n] */
    size_t n;
    size_t n_empty;          /* lines that hold nothing and are left out */
    struct text_file *files; /* [n_files] their memory */
    size_t n_files;
    struct json_t **objects; /* [n] of JSON lines, else NULL */
};

bool document_kind_parse(const char *name, enum document_kind *kind); /* "file" "lines" "jsonl" */

/* field: of JSON lines. A file given twice, or no document at all, is an error. */
bool documents_read(struct documents *documents, char *const *names, size_t n_names,
                    enum document_kind kind, const char *field, struct rml_error *err);
void documents_release(struct documents *documents);

/* SHA-256 in hex of what is in them, neither their names nor their order: of the documents' own
 * in hex, sorted, a NUL behind each. */
bool documents_sha256(const struct documents *documents, char hex[65], struct rml_error *err);

#endif
