/*
 * What a task measures: metric_list, filter_list and generation_kwargs of its file.
 */
#include <string.h>

#include "eval/task_config.h"

/* ---- metric_list ------------------------------------------------------------------------------ */

#define OF(output) (1U << (output))

static const struct {
    const char *name, *aggregation;
    bool higher_is_better;
    unsigned outputs, by_default; /* output types that have it; that have it without a list */
} known[N_TASK_METRICS] = {
    [TASK_ACC] = {"acc", "mean", true, OF(TASK_MULTIPLE_CHOICE) | OF(TASK_LOGLIKELIHOOD),
                  OF(TASK_MULTIPLE_CHOICE) | OF(TASK_LOGLIKELIHOOD)},
    [TASK_ACC_NORM] = {"acc_norm", "mean", true, OF(TASK_MULTIPLE_CHOICE),
                       OF(TASK_MULTIPLE_CHOICE)},
    [TASK_ACC_BYTES] = {"acc_bytes", "mean", true, OF(TASK_MULTIPLE_CHOICE), 0},
    [TASK_ACC_MUTUAL_INFO] = {"acc_mutual_info", "mean", true, OF(TASK_MULTIPLE_CHOICE), 0},
    [TASK_EXACT_MATCH] = {"exact_match", "mean", true, OF(TASK_GENERATE), OF(TASK_GENERATE)},
    [TASK_PERPLEXITY] = {"perplexity", "perplexity", false, OF(TASK_LOGLIKELIHOOD),
                         OF(TASK_LOGLIKELIHOOD)},
    [TASK_WORD_PERPLEXITY] = {"word_perplexity", "weighted_perplexity", false, OF(TASK_ROLLING),
                              OF(TASK_ROLLING)},
    [TASK_BYTE_PERPLEXITY] = {"byte_perplexity", "weighted_perplexity", false, OF(TASK_ROLLING),
                              OF(TASK_ROLLING)},
    [TASK_BITS_PER_BYTE] = {"bits_per_byte", "bits_per_byte", false, OF(TASK_ROLLING),
                            OF(TASK_ROLLING)},
};

const char *task_metric_name(enum task_metric metric)
{
    return known[metric].name;
}

/* Patterns of regexes_to_ignore: text or a list. */
static bool read_ignored(const struct yaml_tree_node *node, struct answer_rules *rules,
                         struct rml_error *err)
{
    if (node->kind != YAML_LIST)
        return yaml_fail(node, err, "regexes_to_ignore is no list, expected one of patterns");
    if (node->n > ANSWER_MAX_IGNORED)
        return yaml_fail(node, err, "%zu patterns found, expected at most %d", node->n,
                         ANSWER_MAX_IGNORED);
    for (size_t i = 0; i < node->n; i++) {
        const char **pattern = &rules->ignore_regexes[rules->n_ignore_regexes++];
        struct rml_error why = RML_ERROR_INIT;
        if (!task_text(&node->items[i], "a pattern", pattern, err))
            return false;
        if (!answer_pattern_check(*pattern, &why))
            return yaml_fail(&node->items[i], err, "%s", why.message);
    }
    return true;
}

/* A key of an entry that is an option of the metric. */
static bool read_option(enum task_metric metric, const struct yaml_tree_node *key,
                        const struct yaml_tree_node *value, struct answer_rules *rules,
                        struct rml_error *err)
{
    if (strcmp(key->text, "weight_by_size") == 0)
        return true;
    if (metric == TASK_EXACT_MATCH) {
        if (strcmp(key->text, "ignore_case") == 0)
            return task_bool(value, "true or false", &rules->ignore_case, err);
        if (strcmp(key->text, "ignore_punctuation") == 0)
            return task_bool(value, "true or false", &rules->ignore_punctuation, err);
        if (strcmp(key->text, "ignore_numbers") == 0)
            return task_bool(value, "true or false", &rules->ignore_numbers, err);
        if (strcmp(key->text, "regexes_to_ignore") == 0)
            return value->kind == YAML_NULL || read_ignored(value, rules, err);
    }
    return yaml_fail(
        key, err, "option '%.60s' of metric %s found, expected %s", key->text, known[metric].name,
        metric == TASK_EXACT_MATCH ? "ignore_case, ignore_punctuation, ignore_numbers, "
                                     "regexes_to_ignore, aggregation or "
                                     "higher_is_better"
                                   : "aggregation or higher_is_better");
}

static bool read_metric(struct task_config *config, const struct yaml_tree_node *entry,
                        struct answer_rules *rules, struct rml_error *err)
{
    const struct yaml_tree_node *name = yaml_tree_get(entry, "metric");
    const char *text = "";
    size_t metric = 0;
    if (!name)
        return yaml_fail(entry, err, "no 'metric' found, expected the name of one");
    if (!task_text(name, "the name of a metric", &text, err))
        return false;
    while (metric < N_TASK_METRICS && strcmp(known[metric].name, text) != 0)
        metric++;
    if (metric == N_TASK_METRICS || !(known[metric].outputs & OF(config->output)))
        return yaml_fail(name, err,
                         "metric '%.60s' found, expected one of acc, acc_norm, acc_bytes and "
                         "acc_mutual_info (multiple_choice), acc and perplexity (loglikelihood), "
                         "word_perplexity, byte_perplexity and bits_per_byte "
                         "(loglikelihood_rolling), exact_match (generate_until)",
                         text);
    if (config->metrics[metric])
        return yaml_fail(name, err, "metric '%.60s' found twice, expected it once", text);
    config->metrics[metric] = true;
    for (size_t i = 0; i < entry->n; i++) {
        const struct yaml_tree_node *key = &entry->items[2 * i], *value = key + 1;
        bool flag;
        if (strcmp(key->text, "metric") == 0)
            continue;
        if (strcmp(key->text, "aggregation") == 0) {
            if (!task_text(value, "the name of an aggregation", &text, err))
                return false;
            if (strcmp(text, known[metric].aggregation) != 0)
                return yaml_fail(value, err, "aggregation '%.60s' of %s found, expected %s", text,
                                 known[metric].name, known[metric].aggregation);
        } else if (strcmp(key->text, "higher_is_better") == 0) {
            if (!task_bool(value, "true or false", &flag, err))
                return false;
            if (flag != known[metric].higher_is_better)
                return yaml_fail(value, err, "higher_is_better of %s is %s, expected the other",
                                 known[metric].name, flag ? "true" : "false");
        } else if (!read_option((enum task_metric)metric, key, value, rules, err)) {
            return false;
        }
    }
    return true;
}

bool task_read_metrics(struct task_config *config, const struct yaml_tree_node *list,
                       struct rml_error *err)
{
    struct answer_rules rules = {.fallback = ""};
    if (list && list->kind != YAML_LIST)
        return yaml_fail(list, err, "metric_list is no list, expected one of metrics");
    for (size_t i = 0; list && i < list->n; i++)
        if (list->items[i].kind != YAML_MAP)
            return yaml_fail(&list->items[i], err, "no mapping found, expected 'metric: NAME'");
        else if (!read_metric(config, &list->items[i], &rules, err))
            return false;
    if (list && list->n == 0)
        return yaml_fail(list, err, "metric_list is empty, expected a metric");
    for (size_t m = 0; !list && m < N_TASK_METRICS; m++)
        config->metrics[m] = known[m].by_default & OF(config->output);
    if (config->output == TASK_GENERATE) {
        config->judge.exact_match = answer_matcher_create(&rules, err);
        return config->judge.exact_match;
    }
    return true;
}

/* ---- filter_list --------------------------------------------------------------------------------- */

/* The defaults of lm-eval's filter "regex". */
#define REGEX_DEFAULT "#### (\\-?[0-9\\.\\,]+)"

static bool read_regex(const struct yaml_tree_node *entry, struct answer_step *step,
                       struct rml_error *err)
{
    struct answer_rules rules = {.pattern = REGEX_DEFAULT, .fallback = "[invalid]"};
    for (size_t i = 0; i < entry->n; i++) {
        const struct yaml_tree_node *key = &entry->items[2 * i], *value = key + 1;
        if (strcmp(key->text, "function") == 0)
            continue;
        if (strcmp(key->text, "regex_pattern") == 0) {
            if (!task_text(value, "a pattern", &rules.pattern, err))
                return false;
        } else if (strcmp(key->text, "fallback") == 0) {
            if (!task_text(value, "text", &rules.fallback, err))
                return false;
        } else if (strcmp(key->text, "group_select") == 0) {
            if (value->kind != YAML_INT)
                return yaml_fail(value, err, "group_select is no whole number, expected one");
            rules.group_select = value->integer;
        } else {
            return yaml_fail(key, err,
                             "option '%.60s' of filter regex found, expected regex_pattern, "
                             "group_select or fallback",
                             key->text);
        }
    }
    struct rml_error why = RML_ERROR_INIT;
    step->kind = STEP_REGEX;
    step->matcher = answer_matcher_create(&rules, &why);
    return step->matcher || yaml_fail(entry, err, "%s", why.message);
}

/* One function of a pipeline; *ends: it takes the one reply out of its list. */
static bool read_step(struct answer_pipeline *pipeline, const struct yaml_tree_node *entry,
                      bool *ends, struct rml_error *err)
{
    static const struct {
        const char *name;
        enum answer_step_kind kind;
    } steps[] = {
        {"remove_whitespace", STEP_STRIP}, {"lowercase", STEP_LOWER}, {"uppercase", STEP_UPPER}};
    const struct yaml_tree_node *function = yaml_tree_get(entry, "function");
    const char *name = "";
    if (!function)
        return yaml_fail(entry, err, "no 'function' found, expected that of a filter");
    if (!task_text(function, "the name of a filter", &name, err))
        return false;
    if (*ends)
        return yaml_fail(function, err,
                         "filter '%.60s' behind take_first found, expected it before", name);
    *ends = strcmp(name, "take_first") == 0;
    if (!*ends && pipeline->n_steps == ANSWER_MAX_STEPS)
        return yaml_fail(function, err, "more than %d filters found", ANSWER_MAX_STEPS);
    struct answer_step *step = &pipeline->steps[pipeline->n_steps];
    if (strcmp(name, "regex") == 0) {
        pipeline->n_steps++;
        return read_regex(entry, step, err);
    }
    size_t i = 0;
    while (i < sizeof steps / sizeof steps[0] && strcmp(name, steps[i].name) != 0)
        i++;
    if (!*ends && i == sizeof steps / sizeof steps[0])
        return yaml_fail(function, err,
                         "filter '%.60s' found, expected one of regex, remove_whitespace, "
                         "lowercase, uppercase and take_first",
                         name);
    if (entry->n > 1)
        return yaml_fail(entry, err, "options of filter '%.60s' found, expected none", name);
    if (!*ends) {
        step->kind = steps[i].kind;
        pipeline->n_steps++;
    }
    return true;
}

static bool read_pipeline(struct task_config *config, const struct yaml_tree_node *entry,
                          struct rml_error *err)
{
    const struct yaml_tree_node *name = yaml_tree_get(entry, "name");
    const struct yaml_tree_node *steps = yaml_tree_get(entry, "filter");
    struct answer_pipeline *pipeline = &config->judge.pipelines[config->judge.n];
    bool ends = false;
    if (!name || !steps || entry->n != 2 || steps->kind != YAML_LIST)
        return yaml_fail(entry, err, "no filter found, expected 'name' and a list 'filter' alone");
    if (config->judge.n == ANSWER_MAX_PIPELINES)
        return yaml_fail(entry, err, "more than %d filters found", ANSWER_MAX_PIPELINES);
    if (!task_text(name, "a name", &pipeline->name, err))
        return false;
    if (strlen(pipeline->name) > ANSWER_MAX_NAME)
        return yaml_fail(name, err, "a name of %zu bytes found, expected at most %d",
                         strlen(pipeline->name), ANSWER_MAX_NAME);
    for (size_t i = 0; i < config->judge.n; i++)
        if (strcmp(config->judge.pipelines[i].name, pipeline->name) == 0)
            return yaml_fail(name, err, "filter '%.60s' found twice, expected names of their own",
                             pipeline->name);
    config->judge.n++;
    for (size_t i = 0; i < steps->n; i++)
        if (!read_step(pipeline, &steps->items[i], &ends, err))
            return false;
    return ends || yaml_fail(entry, err,
                             "a filter without take_first found, expected it at the "
                             "end: a reply, not a list, is compared");
}

bool task_read_filters(struct task_config *config, const struct yaml_tree_node *list,
                       struct rml_error *err)
{
    if (!list) {
        config->judge.pipelines[0].name = "none";
        config->judge.n = 1;
        return true;
    }
    if (list->kind != YAML_LIST || list->n == 0)
        return yaml_fail(list, err, "filter_list is no list of filters, expected one");
    for (size_t i = 0; i < list->n; i++)
        if (!read_pipeline(config, &list->items[i], err))
            return false;
    if (config->output == TASK_GENERATE)
        return true;
    bool plain = config->judge.n == 1 && config->judge.pipelines[0].n_steps == 0;
    return plain || yaml_fail(list, err, "filters of %s found, expected take_first alone",
                              task_output_name(config->output));
}

/* ---- generation_kwargs ------------------------------------------------------------------------------ */

static bool read_until(struct task_config *config, const struct yaml_tree_node *node,
                       struct rml_error *err)
{
    const struct yaml_tree_node *items = node->kind == YAML_LIST ? node->items : node;
    size_t n = node->kind == YAML_LIST ? node->n : 1;
    if (n > TASK_MAX_UNTIL)
        return yaml_fail(node, err, "%zu texts found, expected at most %d", n, TASK_MAX_UNTIL);
    config->n_until = 0;
    for (size_t i = 0; i < n; i++) {
        if (!task_text(&items[i], "text at which a reply ends", &config->until[i], err))
            return false;
        if (config->until[i][0] == 0)
            return yaml_fail(&items[i], err, "an empty text found, expected one that can occur");
        config->n_until++;
    }
    return true;
}

static bool read_generation_key(struct task_config *config, const struct yaml_tree_node *map,
                                const struct yaml_tree_node *key, struct rml_error *err)
{
    const struct yaml_tree_node *value = key + 1, *flag = yaml_tree_get(map, "do_sample");
    bool greedy = flag && flag->kind == YAML_BOOL && !flag->integer;
    if (strcmp(key->text, "until") == 0)
        return read_until(config, value, err);
    if (strcmp(key->text, "max_gen_toks") == 0)
        return task_count(value, "a number of tokens", 1, 1 << 20, &config->max_gen_toks, err);
    if (strcmp(key->text, "max_new_tokens") == 0)
        return yaml_tree_get(map, "max_gen_toks") ||
               task_count(value, "a number of tokens", 1, 1 << 20, &config->max_gen_toks, err);
    if (strcmp(key->text, "do_sample") == 0)
        return greedy || yaml_fail(value, err, "do_sample is not false, expected greedy replies");
    if (strcmp(key->text, "temperature") == 0)
        return greedy || ((value->kind == YAML_INT || value->kind == YAML_REAL) && value->real == 0)
                   ? true
                   : yaml_fail(value, err,
                               "a temperature that is not 0 found, expected greedy "
                               "replies");
    /* Without effect on greedy replies. */
    if (greedy && (strcmp(key->text, "top_p") == 0 || strcmp(key->text, "top_k") == 0))
        return true;
    if (strcmp(key->text, "num_beams") == 0 && value->kind == YAML_INT && value->integer == 1)
        return true;
    return yaml_fail(key, err,
                     "'%.60s' in generation_kwargs found, expected until, max_gen_toks, "
                     "do_sample: false, temperature: 0",
                     key->text);
}

bool task_read_generation(struct task_config *config, const struct yaml_tree_node *map,
                          struct rml_error *err)
{
    config->max_gen_toks = 256;
    config->until[0] = config->fewshot_delimiter;
    config->n_until = *config->fewshot_delimiter != 0;
    if (!map)
        return true;
    if (map->kind != YAML_MAP)
        return yaml_fail(map, err, "generation_kwargs is no mapping, expected one");
    for (size_t i = 0; i < map->n; i++)
        if (!read_generation_key(config, map, &map->items[2 * i], err))
            return false;
    return true;
}
