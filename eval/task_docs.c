/*
 * A task's documents and examples.
 */
#include "eval/task_docs.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "eval/data_columns.h"
#include "eval/prompt_node.h"
#include "eval/python_random.h"

#define MAX_FILES_OF_SPLIT 1000

static bool no_memory(struct rml_error *err)
{
    return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for the documents");
}

/* ---- Files of a split --------------------------------------------------------------------------- */

/* From the working folder, as `datasets` has it; when it is not there, beside the task file. */
static char *find_file(const char *name, const char *task_file)
{
    const char *slash = strrchr(task_file, '/');
    char *path = NULL;
    if (name[0] == '/' || !slash || access(name, F_OK) == 0)
        return strdup(name);
    return asprintf(&path, "%.*s/%s", (int)(slash - task_file), task_file, name) < 0 ? NULL : path;
}

static bool read_files(const struct yaml_tree_node *node, struct data_records *records,
                       struct rml_error *err)
{
    const struct yaml_tree_node *items = node->kind == YAML_LIST ? node->items : node;
    size_t n = node->kind == YAML_LIST ? node->n : 1, n_files = 0;
    if (n == 0 || n > MAX_FILES_OF_SPLIT)
        return yaml_fail(node, err, "%zu files found, expected 1 to %d", n, MAX_FILES_OF_SPLIT);
    char **files = calloc(n, sizeof *files);
    bool ok = files || no_memory(err);
    for (; ok && n_files < n; n_files++) {
        const char *name = NULL;
        ok = task_text(&items[n_files], "the name of a file", &name, err);
        if (ok && (strstr(name, "://") || strpbrk(name, "*?[")))
            ok = yaml_fail(&items[n_files], err,
                           "'%.200s' found, expected the name of a local file", name);
        files[n_files] = ok ? find_file(name, node->file) : NULL;
        ok = ok && (files[n_files] || no_memory(err));
    }
    ok = ok && data_records_read(records, (const char *const *)files, n, err);
    for (size_t i = 0; files && i < n_files; i++)
        free(files[i]);
    free(files);
    return ok;
}

static bool read_split(const struct task_config *config, const char *split,
                       struct data_records *records, struct rml_error *err)
{
    const struct yaml_tree_node *node = config->data_files;
    char buffer[64];
    if (node->kind == YAML_MAP) {
        const struct yaml_tree_node *files = yaml_tree_get(node, split);
        return files ? read_files(files, records, err)
                     : yaml_fail(node, err, "no split '%.60s' in data_files found, expected it",
                                 split);
    }
    if (node->kind != YAML_STRING && node->kind != YAML_LIST)
        return yaml_fail(node, err, "%s as data_files found, expected names of files",
                         yaml_describe(node, buffer));
    if (strcmp(split, "train") != 0)
        return yaml_fail(node, err,
                         "files without a split found, which are those of train, expected "
                         "data_files: {%.60s: ...}",
                         split);
    return read_files(node, records, err);
}

/* ---- Examples -------------------------------------------------------------------------------------- */

static bool is_same(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

/* The split that examples are from; NULL: they are config->samples. */
static const char *examples_split(const struct task_config *config)
{
    if (config->fewshot_split)
        return config->fewshot_split;
    if (config->samples)
        return NULL;
    return config->training_split     ? config->training_split
           : config->validation_split ? config->validation_split
                                      : config->test_split;
}

static bool read_examples(struct task_docs *d, const struct task_config *config,
                          const char *docs_split, struct rml_error *err)
{
    const char *split = examples_split(config);
    if (split && strcmp(split, docs_split) == 0) {
        d->examples = &d->docs;
        return true;
    }
    d->examples = &d->others;
    if (split)
        return read_split(config, split, &d->others, err);
    const struct yaml_tree_node *node = config->samples_node;
    return data_records_from_array(&d->others, config->samples, node->file, node->line, err);
}

/* The split that data_files names first; files without a split are those of train. */
static const char *first_split(const struct task_config *config)
{
    const struct yaml_tree_node *node = config->data_files;
    return node->kind == YAML_MAP && node->n > 0 ? node->items[0].text : "train";
}

/* It decides the types of columns even where nothing else of it is needed. */
static bool unify(struct task_docs *d, const struct task_config *config, const char *docs_split,
                  struct rml_error *err)
{
    struct data_records *all[] = {&d->docs, &d->others};
    struct data_records unused = {0};
    const struct data_records *first = &d->docs;
    bool of_files = d->examples == &d->others && examples_split(config), ok = true;
    const char *first_name = first_split(config);
    if (of_files && strcmp(first_name, examples_split(config)) == 0) {
        first = &d->others;
    } else if (strcmp(first_name, docs_split) != 0) {
        ok = read_split(config, first_name, &unused, err);
        first = &unused;
    }
    ok = ok && data_columns_unify(first, all, of_files ? 2 : 1, err);
    data_records_release(&unused);
    return ok;
}

static bool equals(const struct task_docs *d, size_t example, size_t doc)
{
    return prompt_equal(d->examples->records[example].object, d->docs.records[doc].object);
}

/* The first n_shots that are not the document. */
static bool take_first(struct task_docs *d, size_t doc, bool excludes, size_t *out,
                       struct rml_error *err)
{
    size_t n = 0;
    for (size_t i = 0; i < d->examples->n && n < d->n_shots; i++)
        if (!excludes || !equals(d, i, doc))
            out[n++] = i;
    return n == d->n_shots ||
           data_fail(&d->docs, doc, err, "%zu examples for it found, expected %zu", n, d->n_shots);
}

/* Draws n of the numbers in `from` [n_from], or of 0 to n_from - 1 when it is NULL. */
static bool draw(struct task_docs *d, size_t doc, struct python_random *random, const size_t *from,
                 size_t n_from, size_t n, size_t *out, struct rml_error *err)
{
    if (n > n_from)
        return data_fail(&d->docs, doc, err,
                         "%zu examples to draw from found, expected %zu at least", n_from, n);
    if (!python_random_sample(random, n_from, n, out))
        return no_memory(err);
    for (size_t i = 0; from && i < n; i++)
        out[i] = from[out[i]];
    return true;
}

/* One more is drawn where the document is left out; were several equal to it, all are drawn again
 * from those that are not. room [n_shots + 1 + examples->n]. */
static bool draw_without(struct task_docs *d, size_t doc, struct python_random *random,
                         size_t *room, size_t *out, struct rml_error *err)
{
    size_t n = 0;
    if (!draw(d, doc, random, NULL, d->examples->n, d->n_shots + 1, room, err))
        return false;
    for (size_t i = 0; i <= d->n_shots && n < d->n_shots; i++)
        if (!equals(d, room[i], doc))
            out[n++] = room[i];
    if (n == d->n_shots)
        return true;
    size_t n_pool = 0, *pool = room + d->n_shots + 1;
    for (size_t i = 0; i < d->examples->n; i++)
        if (!equals(d, i, doc))
            pool[n_pool++] = i;
    return draw(d, doc, random, pool, n_pool, d->n_shots, out, err);
}

static bool draw_all(struct task_docs *d, const struct task_config *config, struct rml_error *err)
{
    bool excludes = is_same(config->fewshot_split, config->test_split), ok;
    size_t *room = malloc((d->n_shots + 1 + d->examples->n) * sizeof *room);
    struct python_random random;
    python_random_init(&random, TASK_FEWSHOT_SEED);
    d->draws = malloc(d->docs.n * d->n_shots * sizeof *d->draws);
    ok = (room && d->draws) || no_memory(err);
    for (size_t i = 0; ok && i < d->docs.n; i++) {
        size_t *out = d->draws + i * d->n_shots;
        ok = config->first_n ? take_first(d, i, excludes, out, err)
             : excludes      ? draw_without(d, i, &random, room, out, err)
                             : draw(d, i, &random, NULL, d->examples->n, d->n_shots, out, err);
    }
    free(room);
    return ok;
}

bool task_docs_init(struct task_docs *docs, const struct task_config *config, size_t n_shots,
                    struct rml_error *err)
{
    *docs = (struct task_docs){.n_shots = n_shots};
    const char *split = config->test_split ? config->test_split : config->validation_split;
    bool ok = read_split(config, split, &docs->docs, err);
    ok = ok && (n_shots == 0 || read_examples(docs, config, split, err)) &&
         unify(docs, config, split, err) && (n_shots == 0 || draw_all(docs, config, err));
    if (!ok)
        task_docs_release(docs);
    return ok;
}

void task_docs_release(struct task_docs *docs)
{
    data_records_release(&docs->docs);
    data_records_release(&docs->others);
    free(docs->draws);
    *docs = (struct task_docs){0};
}
