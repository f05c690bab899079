/*
 * Opening tokenizers: what a name stands for, and which reader takes it.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "text/tokenizer_private.h"

static struct rml_tokenizer *create(struct rml_error *err)
{
    struct rml_tokenizer *t = rmli_alloc_zeroed(1, sizeof *t, err);
    if (t)
        t->bos = t->eos = -1;
    return t;
}

static struct rml_tokenizer *keep(struct rml_tokenizer *t, bool ok)
{
    if (ok)
        return t;
    rml_tokenizer_destroy(t);
    return NULL;
}

static char *join(const char *folder, const char *name, struct rml_error *err)
{
    size_t nbytes = strlen(folder) + strlen(name) + 2;
    char *path = malloc(nbytes);
    if (path)
        snprintf(path, nbytes, "%s/%s", folder, name);
    else
        rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for a path");
    return path;
}

static struct rml_tokenizer *refuse_pre(const char *name, struct rml_error *err)
{
    rmli_fail(err, RML_INVALID_ARGUMENT, name, -1, "a pre-tokenizer can only be chosen for a GGUF");
    return NULL;
}

struct rml_tokenizer *rml_tokenizer_from_checkpoint(const struct rml_checkpoint *cp,
                                                    const char *pre, struct rml_error *err)
{
    const struct rmli_gguf *gguf = rmli_checkpoint_gguf(cp);
    struct rml_tokenizer *t = gguf ? create(err) : NULL;
    if (gguf)
        return t ? keep(t, rmli_tokenizer_read_gguf(t, gguf, pre, err)) : NULL;
    return pre ? refuse_pre(rml_checkpoint_path(cp), err)
               : rml_tokenizer_from_folder(rml_checkpoint_path(cp), err);
}

struct rml_tokenizer *rml_tokenizer_from_folder(const char *folder, struct rml_error *err)
{
    struct rml_tokenizer *t = create(err);
    if (!t)
        return NULL;
    char *path = join(folder, "tokenizer.json", err);
    char *config = join(folder, "tokenizer_config.json", err);
    bool ok = path && config;
    if (ok && !rmli_path_exists(path))
        ok = rmli_fail(err, RML_NOT_FOUND, folder, -1,
                       "the folder has no tokenizer (tokenizer.json is missing)");
    ok = ok && rmli_tokenizer_read_json(t, path, rmli_path_exists(config) ? config : NULL, err) &&
         rmli_tokenizer_read_template(t, path, err);
    free(path);
    free(config);
    return keep(t, ok);
}

struct rml_tokenizer *rml_tokenizer_from_json(const char *path, struct rml_error *err)
{
    struct rml_tokenizer *t = create(err);
    return t ? keep(t, rmli_tokenizer_read_json(t, path, NULL, err)) : NULL;
}

/* ---- By name -------------------------------------------------------------------------- */

static bool is_folder(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* A file whose name ends in .json, or whose first character that is no white space is '{': no GGUF begins
 * with it. */
static bool is_json_file(const char *path)
{
    struct stat status;
    size_t n = strlen(path);
    if (n > 5 && strcmp(path + n - 5, ".json") == 0 && !is_folder(path))
        return true;
    if (stat(path, &status) != 0 || !S_ISREG(status.st_mode))
        return false;
    FILE *file = fopen(path, "re");
    int c = file ? getc(file) : EOF;
    while (c != EOF && isspace(c))
        c = getc(file);
    if (file)
        fclose(file);
    return c == '{';
}

/* Such a folder may be without a model. */
static bool holds_tokenizer(const char *folder)
{
    char *path = join(folder, "tokenizer.json", NULL);
    bool found = path && rmli_path_exists(path);
    free(path);
    return found;
}

struct rml_tokenizer *rml_tokenizer_open(const char *name, const char *pre, struct rml_error *err)
{
    bool is_json = is_json_file(name);
    if (is_json || holds_tokenizer(name)) {
        if (pre)
            return refuse_pre(name, err);
        return is_json ? rml_tokenizer_from_json(name, err) : rml_tokenizer_from_folder(name, err);
    }
    struct rml_checkpoint *cp = rml_checkpoint_open(name, err);
    struct rml_tokenizer *t = cp ? rml_tokenizer_from_checkpoint(cp, pre, err) : NULL;
    rml_checkpoint_close(cp);
    return t;
}
