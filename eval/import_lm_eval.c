/*
 * Which of lm-eval's files one is, and the memory of what is read.
 */
#include "eval/import_lm_eval.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ---- Memory -------------------------------------------------------------------------------- */

static void *no_memory(struct rml_error *err)
{
    rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory to import");
    return NULL;
}

void *lm_eval_import_grow(void **array, size_t *n, size_t size, struct rml_error *err)
{
    /* Room doubles: at 0 and at powers of two there is none left. */
    if ((*n & (*n - 1)) == 0) {
        void *grown = realloc(*array, (*n ? 2 * *n : 1) * size);
        if (!grown)
            return no_memory(err);
        *array = grown;
    }
    char *element = (char *)*array + (*n)++ * size;
    memset(element, 0, size);
    return element;
}

char *lm_eval_import_keep(struct lm_eval_import *import, char *text, struct rml_error *err)
{
    char **slot = text ? lm_eval_import_grow((void **)&import->texts, &import->n_texts,
                                             sizeof *import->texts, err)
                       : NULL;
    if (slot)
        return *slot = text;
    free(text);
    return no_memory(err);
}

char *lm_eval_import_text(struct lm_eval_import *import, struct rml_error *err, const char *format,
                          ...)
{
    char *text = NULL;
    va_list args;
    va_start(args, format);
    if (vasprintf(&text, format, args) < 0)
        text = NULL;
    va_end(args);
    return lm_eval_import_keep(import, text, err);
}

void lm_eval_import_release(struct lm_eval_import *import)
{
    for (size_t i = 0; i < import->n_texts; i++)
        free(import->texts[i]);
    for (size_t i = 0; i < import->n_docs; i++) {
        free(import->figures[i].names);
        free(import->figures[i].values);
    }
    free(import->texts);
    free(import->figures);
    free(import->evals);
    free(import->docs);
    free(import->items);
    free(import->metrics);
    json_decref(import->documents);
    *import = (struct lm_eval_import){0};
}

/* ---- Kinds of files ------------------------------------------------------------------------ */

/* "samples_TASK_2026-11-30T06-50-12.123456.jsonl" -> TASK; NULL when it has another form. */
static char *task_of_name(struct lm_eval_import *import, const char *name, struct rml_error *err)
{
    const char *base = strrchr(name, '/'), *date;
    base = base ? base + 1 : name;
    if (strncmp(base, "samples_", 8) != 0)
        return NULL;
    base += 8;
    date = strrchr(base, '_');
    if (!date || date == base)
        return NULL;
    return lm_eval_import_text(import, err, "%.*s", (int)(date - base), base);
}

/* Samples have an object on each line; a results file is one object, indented or not. */
static bool begins_with_a_sample(const struct text_file *file)
{
    struct text_line line = {0};
    while (text_next_line(file, &line) && line.nbytes == 0)
        ;
    json_t *first = json_loadb(line.data, line.nbytes, JSON_ALLOW_NUL, NULL);
    bool begins = first && !json_object_get(first, "results");
    json_decref(first);
    return begins;
}

static bool read_results(struct lm_eval_import *import, const struct text_file *file,
                         const char *task, struct rml_error *err)
{
    json_error_t why;
    json_t *document = json_loadb(file->data, file->nbytes, JSON_REJECT_DUPLICATES, &why);
    if (!document)
        return text_fail(file, (size_t)(why.line > 0 ? why.line : 1), err,
                         "%s, expected lines of samples or an object of results", why.text);
    if (json_array_append_new(import->documents, document) != 0)
        return no_memory(err) != NULL;
    if (task)
        return rmli_fail(err, RML_INVALID_ARGUMENT, file->name, -1,
                         "a results file found, which names its tasks; expected samples with "
                         "--task");
    return lm_eval_read_results(import, file, document, err);
}

static bool read_samples(struct lm_eval_import *import, const struct text_file *file,
                         const char *task, struct rml_error *err)
{
    const char *name = task ? task : task_of_name(import, file->name, err);
    return name ? lm_eval_read_samples(import, file, name, err)
                : rmli_fail(err, RML_INVALID_ARGUMENT, file->name, -1,
                            "the name found does not tell the task, expected "
                            "samples_TASK_DATE.jsonl or --task");
}

bool lm_eval_import_read(struct lm_eval_import *import, const struct text_file *file,
                         const char *task, struct rml_error *err)
{
    *import = (struct lm_eval_import){.measured_ns = -1, .documents = json_array()};
    bool ok = import->documents || no_memory(err);
    if (ok && file->nbytes == 0)
        ok = rmli_fail(err, RML_FORMAT, file->name, -1,
                       "an empty file found, expected samples or results");
    ok = ok && (begins_with_a_sample(file) ? read_samples(import, file, task, err)
                                           : read_results(import, file, task, err));
    if (!ok)
        lm_eval_import_release(import);
    return ok;
}
