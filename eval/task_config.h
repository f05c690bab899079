/*
 * A task file: the part of lm-eval's that needs no Python, read whole and checked before anything
 * runs. Every key, filter, metric and option that is not here is refused by name, with its line.
 *
 *     task, include, dataset_path: json, dataset_kwargs: {data_files}, training_split,
 *     validation_split, test_split, fewshot_split, output_type, doc_to_text, doc_to_target,
 *     doc_to_choice, description, target_delimiter, fewshot_delimiter, num_fewshot,
 *     fewshot_config: {sampler: default | first_n, samples, split, doc_to_text, doc_to_target,
 *     doc_to_choice, target_delimiter, fewshot_delimiter}, metric_list, generation_kwargs,
 *     filter_list, repeats: 1
 *
 * Without effect on any number, and accepted: tag, task_alias, metadata, should_decontaminate,
 * doc_to_decontamination_query, weight_by_size of a metric. A key whose value is null is as not
 * there. `include` is merged as lm-eval does: keys of the file itself win over those of what it
 * includes, a later included file over an earlier one, whole values at a time.
 */
#ifndef EVAL_TASK_CONFIG_H
#define EVAL_TASK_CONFIG_H

#include "eval/answer_pipeline.h"
#include "eval/prompt_template.h"
#include "eval/yaml_tree.h"

enum task_output { TASK_MULTIPLE_CHOICE, TASK_LOGLIKELIHOOD, TASK_ROLLING, TASK_GENERATE };
const char *task_output_name(enum task_output output);

/* doc_to_text and the like: a field or a template, or a value of its own. */
struct task_part {
    const struct yaml_tree_node *node; /* NULL: not there */
    struct prompt_template *template;  /* of text */
    struct json_t *value;              /* of a whole number, or of a list or mapping: its texts */
};

enum task_metric {
    TASK_ACC,
    TASK_ACC_NORM,
    TASK_ACC_BYTES,
    TASK_ACC_MUTUAL_INFO,
    TASK_EXACT_MATCH,
    TASK_PERPLEXITY,
    TASK_WORD_PERPLEXITY,
    TASK_BYTE_PERPLEXITY,
    TASK_BITS_PER_BYTE,
    N_TASK_METRICS
};
const char *task_metric_name(enum task_metric metric);

#define TASK_MAX_UNTIL 32
#define TASK_MAX_FILES 16

struct task_config {
    const char *file; /* as the user gave it; borrowed */
    const char *name;
    enum task_output output;
    const struct yaml_tree_node *data_files; /* text, a list, or a mapping of splits to those */
    const char *training_split, *validation_split, *test_split; /* NULL: not given */
    const char *fewshot_split;                                  /* also that of fewshot_config */
    struct task_part text, target, choice, description;

    size_t num_fewshot;
    bool has_num_fewshot;
    bool first_n;           /* sampler: first_n */
    struct json_t *samples; /* of fewshot_config, [] of objects; NULL: none */
    const struct yaml_tree_node *samples_node;
    struct task_part fewshot_text, fewshot_target, fewshot_choice; /* node NULL: as above */
    const char *target_delimiter, *fewshot_delimiter;
    const char *fewshot_target_delimiter; /* between an example's text and its target */
    const char *example_delimiter;        /* behind an example */

    bool metrics[N_TASK_METRICS];
    struct answer_judge judge; /* of generate_until */
    /* What the file says of metrics and filters, for the settings of a run; NULL: nothing. */
    const struct yaml_tree_node *metric_list, *filter_list;
    const char *until[TASK_MAX_UNTIL];
    size_t n_until, max_gen_toks;

    /* What it was read from: files and their names, released with it. */
    struct yaml_tree_node trees[TASK_MAX_FILES];
    char *names[TASK_MAX_FILES];
    size_t n_trees;
};

bool task_config_read(struct task_config *config, const char *file, struct rml_error *err);
void task_config_release(struct task_config *config); /* safe on a zero struct */

/* ---- Of one key each (task_metrics.c), for task_config.c ------------------------------------------ */

bool task_read_metrics(struct task_config *config, const struct yaml_tree_node *list,
                       struct rml_error *err); /* list NULL: lm-eval's defaults of the output */
bool task_read_filters(struct task_config *config, const struct yaml_tree_node *list,
                       struct rml_error *err);
bool task_read_generation(struct task_config *config, const struct yaml_tree_node *map,
                          struct rml_error *err);

/* Values of a node, refused with `what` expected otherwise. */
bool task_text(const struct yaml_tree_node *node, const char *what, const char **text,
               struct rml_error *err);
bool task_count(const struct yaml_tree_node *node, const char *what, size_t least, size_t most,
                size_t *count, struct rml_error *err);
bool task_bool(const struct yaml_tree_node *node, const char *what, bool *value,
               struct rml_error *err);

#endif
