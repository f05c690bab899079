/*
 * The manifest of a suite: which golden file is about which checkpoint.
 *
 *     { "format": "rml-golden-manifest", "version": 1,
 *       "entries": [
 *         {"golden": "fixtures/llama/golden.json", "checkpoint": "fixtures/llama/hf"},
 *         {"golden": "real/x.json", "model_file": "x.gguf", "sha256": "..."} ] }
 *
 * Paths count from the manifest's folder, or from the working folder when it comes from
 * standard input ("-"). A `checkpoint` is part of the tree; a
 * `model_file` is fetched, and looked up by that name in RML_MODELS_DIR, then in
 * $XDG_CACHE_HOME/rml/models (~/.cache/rml/models).
 */
#ifndef GOLDENS_GOLDEN_MANIFEST_H
#define GOLDENS_GOLDEN_MANIFEST_H

#include "rml.h"

struct golden_entry {
    char *golden;     /* path */
    char *checkpoint; /* path; NULL: a model file that is not here */
    char *model_file; /* name; NULL: a checkpoint of the tree */
    char sha256[65];  /* of the model file; "": not given */
};

struct golden_manifest {
    char *path;
    struct golden_entry *entries;
    size_t n_entries; /* at least 1 */
};

bool golden_manifest_read(struct golden_manifest *manifest, const char *path,
                          struct rml_error *err);
void golden_manifest_release(struct golden_manifest *manifest);

/* The manifest when none is named: goldens/MANIFEST.json here, or beside the running program's
 * source tree, or where it was installed. Freed by the caller; NULL with RML_NOT_FOUND. */
char *golden_manifest_find(struct rml_error *err);

#endif
