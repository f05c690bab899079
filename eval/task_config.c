/*
 * A task file.
 */
#include "eval/task_config.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static const char *const output_names[] = {"multiple_choice", "loglikelihood",
                                           "loglikelihood_rolling", "generate_until"};

const char *task_output_name(enum task_output output)
{
    return output_names[output];
}

/* ---- Values ------------------------------------------------------------------------------------ */

bool task_text(const struct yaml_tree_node *node, const char *what, const char **text,
               struct rml_error *err)
{
    char buffer[64];
    if (node->kind != YAML_STRING)
        return yaml_fail(node, err, "%s found, expected %s (in quotes)",
                         yaml_describe(node, buffer), what);
    if (strlen(node->text) != node->nbytes)
        return yaml_fail(node, err, "a NUL found, expected %s", what);
    *text = node->text;
    return true;
}

bool task_count(const struct yaml_tree_node *node, const char *what, size_t least, size_t most,
                size_t *count, struct rml_error *err)
{
    char buffer[64];
    if (node->kind != YAML_INT || node->integer < (int64_t)least || (uint64_t)node->integer > most)
        return yaml_fail(node, err, "%s found, expected %s from %zu to %zu",
                         yaml_describe(node, buffer), what, least, most);
    *count = (size_t)node->integer;
    return true;
}

bool task_bool(const struct yaml_tree_node *node, const char *what, bool *value,
               struct rml_error *err)
{
    char buffer[64];
    if (node->kind != YAML_BOOL)
        return yaml_fail(node, err, "%s found, expected %s", yaml_describe(node, buffer), what);
    *value = node->integer;
    return true;
}

/* Texts of a list or of a mapping's values. */
static bool read_texts(const struct yaml_tree_node *node, struct task_part *part,
                       struct rml_error *err)
{
    bool is_map = node->kind == YAML_MAP;
    part->value = json_array();
    for (size_t i = 0; i < node->n; i++) {
        const struct yaml_tree_node *item = &node->items[is_map ? 2 * i + 1 : i];
        const char *text = NULL;
        if (!task_text(item, "a choice", &text, err))
            return false;
        if (json_array_append_new(part->value, json_string(text)) != 0)
            return rmli_fail(err, RML_NO_MEMORY, node->file, -1, "no memory for its choices");
    }
    return true;
}

/* Text, a whole number where it may be the index of a choice, a list where choices are meant. */
static bool read_part(const struct yaml_tree_node *node, const char *what, bool may_be_number,
                      bool may_be_list, struct task_part *part, struct rml_error *err)
{
    char buffer[64];
    part->node = node;
    if (may_be_number && node->kind == YAML_INT)
        part->value = json_integer(node->integer);
    else if (may_be_list && (node->kind == YAML_LIST || node->kind == YAML_MAP))
        return read_texts(node, part, err);
    else if (node->kind != YAML_STRING)
        return yaml_fail(node, err, "%s as %s found, expected text (in quotes)",
                         yaml_describe(node, buffer), what);
    if (part->value)
        return true;
    struct rml_error why = RML_ERROR_INIT;
    part->template = prompt_template_create(node->text, node->nbytes, &why);
    return part->template || yaml_fail(node, err, "%s", why.message);
}

static void release_part(struct task_part *part)
{
    prompt_template_destroy(part->template);
    json_decref(part->value);
}

/* ---- Includes ---------------------------------------------------------------------------------- */

/* All keys of a file and of what it includes: pairs of nodes. */
struct keys {
    const struct yaml_tree_node **keys; /* [n] each with its value behind it */
    size_t n;
};

static bool set_key(struct keys *keys, const struct yaml_tree_node *key, struct rml_error *err)
{
    for (size_t i = 0; i < keys->n; i++)
        if (strcmp(keys->keys[i]->text, key->text) == 0) {
            keys->keys[i] = key;
            return true;
        }
    const struct yaml_tree_node **grown =
        realloc((void *)keys->keys, (keys->n + 1) * sizeof(struct yaml_tree_node *));
    if (!grown)
        return rmli_fail(err, RML_NO_MEMORY, key->file, -1, "no memory for its keys");
    keys->keys = grown;
    grown[keys->n++] = key;
    return true;
}

/* A path beside the file that names it. */
static char *beside(const char *file, const char *name)
{
    const char *slash = strrchr(file, '/');
    char *path = NULL;
    if (name[0] == '/' || !slash)
        return strdup(name);
    return asprintf(&path, "%.*s/%s", (int)(slash - file), file, name) < 0 ? NULL : path;
}

static bool add_file(struct task_config *config, char *name, const struct yaml_tree_node *from,
                     struct keys *keys, struct rml_error *err);

static bool add_included(struct task_config *config, const struct yaml_tree_node *node,
                         struct keys *keys, struct rml_error *err)
{
    const struct yaml_tree_node *items = node->kind == YAML_LIST ? node->items : node;
    size_t n = node->kind == YAML_LIST ? node->n : 1;
    for (size_t i = 0; i < n; i++) {
        const char *name = NULL;
        if (!task_text(&items[i], "the name of a file", &name, err) ||
            !add_file(config, beside(node->file, name), &items[i], keys, err))
            return false;
    }
    return true;
}

/* Takes over `name`. What is included comes first, so that the file's own keys win. */
static bool add_file(struct task_config *config, char *name, const struct yaml_tree_node *from,
                     struct keys *keys, struct rml_error *err)
{
    if (!name)
        return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for the name of a file");
    bool again = false;
    for (size_t i = 0; i < config->n_trees; i++)
        again |= strcmp(config->names[i], name) == 0;
    if (again || config->n_trees == TASK_MAX_FILES) {
        yaml_fail(from, err,
                  again ? "'%.200s' is included twice or by itself, expected once"
                        : "'%.200s' is one file too many, expected at most 16",
                  name);
        free(name);
        return false;
    }
    struct yaml_tree_node *tree = &config->trees[config->n_trees];
    config->names[config->n_trees++] = name;
    if (!yaml_tree_read(tree, name, err))
        return false;
    if (tree->kind != YAML_MAP)
        return yaml_fail(tree, err, "no mapping found, expected the keys of a task");
    const struct yaml_tree_node *include = yaml_tree_get(tree, "include");
    if (include && !add_included(config, include, keys, err))
        return false;
    for (size_t i = 0; i < tree->n; i++) {
        const struct yaml_tree_node *key = &tree->items[2 * i];
        if (strcmp(key->text, "include") != 0 && !set_key(keys, key, err))
            return false;
    }
    return true;
}

/* ---- Keys ------------------------------------------------------------------------------------------ */

/* Keys without effect on a number; those that only say null; those that are read by name. */
static const char *const inert[] = {
    "tag", "task_alias", "metadata", "should_decontaminate", "doc_to_decontamination_query", NULL};
static const char *const read_keys[] = {"task",
                                        "dataset_path",
                                        "dataset_kwargs",
                                        "training_split",
                                        "validation_split",
                                        "test_split",
                                        "fewshot_split",
                                        "output_type",
                                        "doc_to_text",
                                        "doc_to_target",
                                        "doc_to_choice",
                                        "description",
                                        "target_delimiter",
                                        "num_fewshot",
                                        "fewshot_config",
                                        "metric_list",
                                        "generation_kwargs",
                                        "filter_list",
                                        "repeats",
                                        "fewshot_delimiter",
                                        NULL};
static const char *const fewshot_keys[] = {"sampler",          "samples",           "split",
                                           "doc_to_text",      "doc_to_target",     "doc_to_choice",
                                           "target_delimiter", "fewshot_delimiter", NULL};

static bool is_among(const char *const *names, const char *name)
{
    while (*names && strcmp(*names, name) != 0)
        names++;
    return *names != NULL;
}

static bool check_keys(const struct keys *keys, struct rml_error *err)
{
    for (size_t i = 0; i < keys->n; i++) {
        const struct yaml_tree_node *key = keys->keys[i];
        if (key[1].kind != YAML_NULL && !is_among(inert, key->text) &&
            !is_among(read_keys, key->text))
            return yaml_fail(key, err,
                             "key '%.60s' found, expected one that needs no Python and that "
                             "rml-eval task --help names",
                             key->text);
    }
    return true;
}

/* The value of a key; NULL when there is none or it is null. */
static const struct yaml_tree_node *value_of(const struct keys *keys, const char *name)
{
    for (size_t i = 0; i < keys->n; i++)
        if (strcmp(keys->keys[i]->text, name) == 0)
            return keys->keys[i][1].kind == YAML_NULL ? NULL : &keys->keys[i][1];
    return NULL;
}

static const struct yaml_tree_node *map_value(const struct yaml_tree_node *map, const char *name)
{
    const struct yaml_tree_node *node = map ? yaml_tree_get(map, name) : NULL;
    return node && node->kind != YAML_NULL ? node : NULL;
}

static bool optional_text(const struct yaml_tree_node *node, const char *what, const char **text,
                          struct rml_error *err)
{
    return !node || task_text(node, what, text, err);
}

static bool read_data(struct task_config *config, const struct keys *keys, struct rml_error *err)
{
    const struct yaml_tree_node *path = value_of(keys, "dataset_path");
    const struct yaml_tree_node *kwargs = value_of(keys, "dataset_kwargs");
    const char *builder = "";
    if (!path)
        return rmli_fail(err, RML_FORMAT, config->file, -1,
                         "no 'dataset_path' found, expected dataset_path: json");
    if (!task_text(path, "dataset_path: json", &builder, err))
        return false;
    if (strcmp(builder, "json") != 0)
        return yaml_fail(path, err,
                         "dataset_path '%.80s' found, expected json: local files, named by "
                         "dataset_kwargs",
                         builder);
    for (size_t i = 0; kwargs && kwargs->kind == YAML_MAP && i < kwargs->n; i++)
        if (strcmp(kwargs->items[2 * i].text, "data_files") != 0)
            return yaml_fail(&kwargs->items[2 * i], err,
                             "'%.60s' in dataset_kwargs found, expected data_files alone",
                             kwargs->items[2 * i].text);
    config->data_files = map_value(kwargs, "data_files");
    return config->data_files ||
           yaml_fail(kwargs ? kwargs : path, err,
                     "no data_files found, expected dataset_kwargs: {data_files: ...}");
}

static bool read_splits(struct task_config *config, const struct keys *keys, struct rml_error *err)
{
    const char *what = "the name of a split";
    return optional_text(value_of(keys, "training_split"), what, &config->training_split, err) &&
           optional_text(value_of(keys, "validation_split"), what, &config->validation_split,
                         err) &&
           optional_text(value_of(keys, "test_split"), what, &config->test_split, err) &&
           optional_text(value_of(keys, "fewshot_split"), what, &config->fewshot_split, err) &&
           (config->validation_split || config->test_split ||
            rmli_fail(err, RML_FORMAT, config->file, -1,
                      "neither 'test_split' nor 'validation_split' found, expected one"));
}

static bool read_output(struct task_config *config, const struct keys *keys, struct rml_error *err)
{
    const struct yaml_tree_node *node = value_of(keys, "output_type");
    const char *name = "generate_until";
    if (!optional_text(node, "a type of output", &name, err))
        return false;
    for (size_t i = 0; i < sizeof output_names / sizeof output_names[0]; i++)
        if (strcmp(name, output_names[i]) == 0) {
            config->output = (enum task_output)i;
            return true;
        }
    return yaml_fail(node, err,
                     "output_type '%.60s' found, expected multiple_choice, loglikelihood, "
                     "loglikelihood_rolling or generate_until",
                     name);
}

static bool need_part(const struct task_config *config, const struct task_part *part,
                      const char *key, struct rml_error *err)
{
    return part->node ||
           rmli_fail(err, RML_FORMAT, config->file, -1, "no '%s' found, expected it", key);
}

static bool read_parts(struct task_config *config, const struct keys *keys, struct rml_error *err)
{
    const struct yaml_tree_node *text = value_of(keys, "doc_to_text");
    const struct yaml_tree_node *target = value_of(keys, "doc_to_target");
    const struct yaml_tree_node *choice = value_of(keys, "doc_to_choice");
    const struct yaml_tree_node *description = value_of(keys, "description");
    return (!text || read_part(text, "doc_to_text", false, false, &config->text, err)) &&
           (!target || read_part(target, "doc_to_target", true, false, &config->target, err)) &&
           (!choice || read_part(choice, "doc_to_choice", false, true, &config->choice, err)) &&
           (!description ||
            read_part(description, "description", false, false, &config->description, err)) &&
           need_part(config, &config->target, "doc_to_target", err) &&
           (config->output == TASK_ROLLING ||
            need_part(config, &config->text, "doc_to_text", err)) &&
           (config->output != TASK_MULTIPLE_CHOICE ||
            need_part(config, &config->choice, "doc_to_choice", err));
}

/* ---- Few-shot examples -------------------------------------------------------------------------------- */

static bool read_samples(struct task_config *config, const struct yaml_tree_node *node,
                         struct rml_error *err)
{
    config->samples_node = node;
    if (node->kind != YAML_LIST || node->n == 0)
        return yaml_fail(node, err, "samples is no list, expected one of mappings");
    for (size_t i = 0; i < node->n; i++)
        if (node->items[i].kind != YAML_MAP)
            return yaml_fail(&node->items[i], err, "a sample that is no mapping found");
    config->samples = yaml_to_json(node, err);
    return config->samples;
}

static bool read_fewshot_config(struct task_config *config, const struct yaml_tree_node *map,
                                struct rml_error *err)
{
    const char *sampler = "default";
    if (map->kind != YAML_MAP)
        return yaml_fail(map, err, "fewshot_config is no mapping, expected one");
    for (size_t i = 0; i < map->n; i++)
        if (map->items[2 * i + 1].kind != YAML_NULL &&
            !is_among(fewshot_keys, map->items[2 * i].text))
            return yaml_fail(&map->items[2 * i], err,
                             "'%.60s' in fewshot_config found, expected sampler, samples, split, "
                             "doc_to_text, doc_to_target, doc_to_choice, target_delimiter or "
                             "fewshot_delimiter",
                             map->items[2 * i].text);
    const struct yaml_tree_node *node = map_value(map, "sampler"), *part;
    if (!optional_text(node, "a sampler", &sampler, err))
        return false;
    config->first_n = strcmp(sampler, "first_n") == 0;
    if (!config->first_n && strcmp(sampler, "default") != 0)
        return yaml_fail(node, err, "sampler '%.60s' found, expected default or first_n", sampler);
    if (yaml_tree_get(map, "split")) /* also null over the task's */
        config->fewshot_split = NULL;
    if (!optional_text(map_value(map, "split"), "the name of a split", &config->fewshot_split,
                       err) ||
        !optional_text(map_value(map, "target_delimiter"), "text",
                       &config->fewshot_target_delimiter, err) ||
        !optional_text(map_value(map, "fewshot_delimiter"), "text", &config->example_delimiter,
                       err))
        return false;
    part = map_value(map, "doc_to_text");
    if (part && !read_part(part, "doc_to_text", false, false, &config->fewshot_text, err))
        return false;
    part = map_value(map, "doc_to_target");
    if (part && !read_part(part, "doc_to_target", true, false, &config->fewshot_target, err))
        return false;
    part = map_value(map, "doc_to_choice");
    if (part && !read_part(part, "doc_to_choice", false, true, &config->fewshot_choice, err))
        return false;
    part = map_value(map, "samples");
    return !part || read_samples(config, part, err);
}

static bool read_fewshot(struct task_config *config, const struct keys *keys, struct rml_error *err)
{
    const struct yaml_tree_node *shots = value_of(keys, "num_fewshot");
    const struct yaml_tree_node *map = value_of(keys, "fewshot_config");
    config->target_delimiter = " ";
    config->fewshot_delimiter = "\n\n";
    if (!optional_text(value_of(keys, "target_delimiter"), "text", &config->target_delimiter,
                       err) ||
        !optional_text(value_of(keys, "fewshot_delimiter"), "text", &config->fewshot_delimiter,
                       err))
        return false;
    config->fewshot_target_delimiter = config->target_delimiter;
    config->example_delimiter = config->fewshot_delimiter;
    config->has_num_fewshot = shots;
    if (shots && !task_count(shots, "a number of examples", 0, 1000, &config->num_fewshot, err))
        return false;
    if (shots && config->output == TASK_ROLLING && config->num_fewshot > 0)
        return yaml_fail(shots, err, "examples of loglikelihood_rolling found, expected none");
    return !map || read_fewshot_config(config, map, err);
}

/* ---- All of it --------------------------------------------------------------------------------------------- */

static bool read_config(struct task_config *config, const struct keys *keys, struct rml_error *err)
{
    const struct yaml_tree_node *name = value_of(keys, "task");
    const struct yaml_tree_node *repeats = value_of(keys, "repeats");
    size_t once;
    if (!name)
        return rmli_fail(err, RML_FORMAT, config->file, -1,
                         "no 'task' found, expected the name of the task");
    config->metric_list = value_of(keys, "metric_list");
    config->filter_list = value_of(keys, "filter_list");
    return check_keys(keys, err) && task_text(name, "the name of one task", &config->name, err) &&
           (!repeats || task_count(repeats, "repeats: 1:", 1, 1, &once, err)) &&
           read_output(config, keys, err) && read_data(config, keys, err) &&
           read_splits(config, keys, err) && read_parts(config, keys, err) &&
           read_fewshot(config, keys, err) && task_read_metrics(config, config->metric_list, err) &&
           task_read_filters(config, config->filter_list, err) &&
           task_read_generation(config, value_of(keys, "generation_kwargs"), err);
}

bool task_config_read(struct task_config *config, const char *file, struct rml_error *err)
{
    *config = (struct task_config){.file = file};
    struct keys keys = {0};
    bool ok = add_file(config, strdup(file), NULL, &keys, err) && read_config(config, &keys, err);
    free((void *)keys.keys);
    if (!ok)
        task_config_release(config);
    return ok;
}

void task_config_release(struct task_config *config)
{
    struct task_part *parts[] = {&config->text,          &config->target,
                                 &config->choice,        &config->description,
                                 &config->fewshot_text,  &config->fewshot_target,
                                 &config->fewshot_choice};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        release_part(parts[i]);
    json_decref(config->samples);
    answer_judge_release(&config->judge);
    for (size_t i = 0; i < config->n_trees; i++) {
        yaml_tree_release(&config->trees[i]);
        free(config->names[i]);
    }
    *config = (struct task_config){0};
}
