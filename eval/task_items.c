/*
 * A task as what the other commands score.
 */
#include "eval/task_items.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eval/prompt_node.h"

struct maker {
    const struct task_source *source;
    const struct data_records *docs;
    struct task_items *out;
    bool targets_are_lists; /* of the first document, as lm-eval goes by it */
};

/* ---- Contexts ------------------------------------------------------------------------------------ */

/* The context whose question is a string, and its conversation. */
static bool add_context(struct maker *m, struct choice_item *item, size_t doc,
                        const json_t *question, struct rml_error *err)
{
    json_t *messages = NULL;
    json_t *text = task_prompt_of(m->source, doc, question, m->out->multiple_input, &messages, err);
    bool ok =
        text && choice_add_context(item, json_string_value(text), json_string_length(text), err);
    if (ok && messages) {
        size_t n = item->n_contexts;
        struct rml_conversation *grown =
            realloc(item->conversations, n * sizeof *item->conversations);
        ok = grown || rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for a prompt");
        if (grown) {
            item->conversations = grown;
            grown[n - 1] = (struct rml_conversation){0};
            ok = rml_conversation_from_json(&grown[n - 1], messages, item->file, err);
        }
    }
    json_decref(text);
    json_decref(messages);
    return ok;
}

/* ---- Golds -------------------------------------------------------------------------------------------- */

static bool add_gold(struct maker *m, struct choice_item *item, size_t doc, const json_t *choices,
                     const json_t *gold, json_t *golds, struct rml_error *err)
{
    size_t n = json_array_size(choices), index = n;
    if (json_is_integer(gold) && json_integer_value(gold) >= 0)
        index = (uint64_t)json_integer_value(gold) < n ? (size_t)json_integer_value(gold) : n;
    for (size_t i = 0; json_is_string(gold) && i < n && index == n; i++)
        if (json_equal(json_array_get(choices, i), gold))
            index = i;
    if (index == n) {
        json_t *text = prompt_text(gold, NULL);
        data_fail(m->docs, doc, err, "the target '%.60s' found, expected one of %zu choices",
                  text ? json_string_value(text) : "", n);
        json_decref(text);
        return false;
    }
    size_t *grown = realloc(item->golds, (item->n_golds + 1) * sizeof *grown);
    if (!grown)
        return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for the items");
    item->golds = grown;
    grown[item->n_golds++] = index;
    return json_array_append_new(golds, json_integer((json_int_t)index)) == 0;
}

static bool set_golds(struct maker *m, struct choice_item *item, size_t doc, const json_t *choices,
                      const json_t *gold, struct rml_error *err)
{
    json_t *golds = json_array();
    bool is_list = json_is_array(gold), ok = golds != NULL;
    if (is_list && json_array_size(gold) == 0)
        ok = data_fail(m->docs, doc, err, "an empty list of targets found, expected one at least");
    for (size_t i = 0; ok && i < (is_list ? json_array_size(gold) : 1); i++)
        ok = add_gold(m, item, doc, choices, is_list ? json_array_get(gold, i) : gold, golds, err);
    if (ok)
        item->gold = is_list ? json_incref(golds) : json_incref(json_array_get(golds, 0));
    json_decref(golds);
    return ok;
}

static bool add_choices(struct choice_item *item, const json_t *choices, struct rml_error *err)
{
    for (size_t i = 0; i < json_array_size(choices); i++) {
        const json_t *choice = json_array_get(choices, i);
        if (!choice_add_choice(item, json_string_value(choice), json_string_length(choice), err))
            return false;
    }
    return true;
}

/* ---- Items of each output type ---------------------------------------------------------------------------- */

/* Several contexts, one continuation: the text is the number of the right context. */
static bool fill_multiple_input(struct maker *m, struct choice_item *item, size_t doc,
                                const json_t *text, const json_t *choices, const json_t *target,
                                struct rml_error *err)
{
    if (!json_is_string(target) || json_string_length(target) == 0)
        return data_fail(m->docs, doc, err, "doc_to_target is no text, expected the continuation");
    item->one_continuation = true;
    bool ok = true;
    for (size_t i = 0; ok && i < json_array_size(choices); i++)
        ok = add_context(m, item, doc, json_array_get(choices, i), err) &&
             choice_add_choice(item, json_string_value(target), json_string_length(target), err);
    return ok && set_golds(m, item, doc, choices, text, err);
}

static bool fill_choices(struct maker *m, struct choice_item *item, size_t doc, const json_t *text,
                         const json_t *target, struct rml_error *err)
{
    json_t *choices = task_choices_of(m->source, m->docs, doc, false, err);
    bool ok = choices;
    if (ok && doc == 0)
        m->out->multiple_input = json_is_integer(text);
    if (ok && json_is_integer(text) != m->out->multiple_input)
        ok = data_fail(m->docs, doc, err,
                       "doc_to_text is %s number, as that of the first document "
                       "is not, expected the same of all",
                       json_is_integer(text) ? "a" : "no");
    if (ok && m->out->multiple_input)
        ok = fill_multiple_input(m, item, doc, text, choices, target, err);
    else if (ok)
        ok = add_context(m, item, doc, text, err) && add_choices(item, choices, err) &&
             set_golds(m, item, doc, choices, target, err);
    json_decref(choices);
    return ok;
}

static bool fill_pair(struct maker *m, struct choice_item *item, size_t doc, const json_t *text,
                      const json_t *target, struct rml_error *err)
{
    if (!json_is_string(target) || json_string_length(target) == 0)
        return data_fail(m->docs, doc, err,
                         "doc_to_target is no text or an empty one, expected text to score");
    return add_context(m, item, doc, text, err) &&
           choice_add_choice(item, json_string_value(target), json_string_length(target), err);
}

/* The texts that a reply may be: of the choice that a number names, of a list all. */
static json_t *accepted_of(struct maker *m, size_t doc, const json_t *target, struct rml_error *err)
{
    json_t *accepted = NULL;
    if (m->source->config->choice.node) {
        json_t *choices = task_choices_of(m->source, m->docs, doc, false, err);
        json_t *choice = json_is_integer(target) && json_integer_value(target) >= 0
                             ? json_array_get(choices, (size_t)json_integer_value(target))
                             : NULL;
        accepted = choice ? json_pack("[O]", choice) : NULL;
        if (choices && !choice)
            data_fail(m->docs, doc, err, "doc_to_target is the number of none of its choices");
        json_decref(choices);
        return accepted;
    }
    bool is_list = json_is_array(target);
    if (doc == 0)
        m->targets_are_lists = is_list;
    bool ok = is_list == m->targets_are_lists;
    if (!ok)
        data_fail(m->docs, doc, err, "doc_to_target is %s list, unlike the first document's",
                  is_list ? "a" : "no");
    accepted = ok ? json_array() : NULL;
    for (size_t i = 0; ok && i < (is_list ? json_array_size(target) : 1); i++) {
        const json_t *one = is_list ? json_array_get(target, i) : target;
        ok = !is_list || json_is_string(one)
                 ? json_array_append_new(accepted, prompt_text(one, err)) == 0
                 : data_fail(m->docs, doc, err, "a target that is no text found, expected text");
    }
    if (ok && json_array_size(accepted) > 0)
        return accepted;
    if (ok)
        data_fail(m->docs, doc, err, "an empty list of targets found, expected one at least");
    json_decref(accepted);
    return NULL;
}

static bool fill_prompt(struct maker *m, struct choice_item *item, size_t doc, const json_t *text,
                        const json_t *target, struct rml_error *err)
{
    json_t *accepted = accepted_of(m, doc, target, err);
    bool ok = accepted && add_context(m, item, doc, text, err) && add_choices(item, accepted, err);
    if (ok)
        item->gold =
            json_incref(json_array_size(accepted) == 1 ? json_array_get(accepted, 0) : accepted);
    json_decref(accepted);
    return ok;
}

static bool make_item(struct maker *m, size_t doc, struct rml_error *err)
{
    const struct data_record *record = &m->docs->records[doc];
    enum task_output output = m->source->config->output;
    struct choice_item *item = choice_items_add(&m->out->items, record->line, err);
    if (!item)
        return false;
    item->file = m->docs->files[record->file];
    item->id = json_integer((json_int_t)doc);
    if (asprintf(&item->doc_id, "%zu", doc) < 0) {
        item->doc_id = NULL;
        return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for the items");
    }
    json_t *text = task_text_of(m->source, m->docs, doc, false, err);
    json_t *target = text ? task_target_of(m->source, m->docs, doc, false, err) : NULL;
    bool ok = target;
    if (ok && output != TASK_MULTIPLE_CHOICE && !json_is_string(text))
        ok = data_fail(m->docs, doc, err, "doc_to_text is no text, expected text");
    ok = ok && (output == TASK_MULTIPLE_CHOICE ? fill_choices(m, item, doc, text, target, err)
                : output == TASK_LOGLIKELIHOOD ? fill_pair(m, item, doc, text, target, err)
                                               : fill_prompt(m, item, doc, text, target, err));
    json_decref(text);
    json_decref(target);
    return ok;
}

/* ---- Documents ----------------------------------------------------------------------------------------------- */

static bool make_document(struct maker *m, size_t doc, struct rml_error *err)
{
    struct documents *d = &m->out->documents;
    json_t *text = task_target_of(m->source, m->docs, doc, false, err);
    if (text && (!json_is_string(text) || json_string_length(text) == 0)) {
        json_decref(text);
        return data_fail(m->docs, doc, err,
                         "doc_to_target is no text or an empty one, expected text to score");
    }
    struct document *own = &d->docs[d->n];
    if (!text || asprintf(&own->id, "%zu", doc) < 0) {
        json_decref(text);
        return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for the documents");
    }
    own->text = json_string_value(text);
    own->nbytes = json_string_length(text);
    d->objects[d->n++] = text;
    return true;
}

static bool make_documents(struct maker *m, struct rml_error *err)
{
    struct documents *d = &m->out->documents;
    d->docs = calloc(m->docs->n, sizeof *d->docs);
    d->objects = calloc(m->docs->n, sizeof(json_t *));
    bool ok = (d->docs && d->objects) ||
              rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for the documents");
    for (size_t i = 0; ok && i < m->docs->n; i++)
        ok = make_document(m, i, err);
    return ok;
}

bool task_items_init(struct task_items *items, const struct task_source *source,
                     struct rml_error *err)
{
    *items = (struct task_items){0};
    struct maker m = {.source = source, .docs = &source->docs->docs, .out = items};
    bool ok = task_parts_check(source, err);
    if (ok && source->config->output == TASK_ROLLING) {
        ok = make_documents(&m, err);
    } else {
        for (size_t i = 0; ok && i < m.docs->n; i++)
            ok = make_item(&m, i, err);
    }
    const bool *metrics = source->config->metrics;
    if (ok && items->multiple_input &&
        (metrics[TASK_ACC_NORM] || metrics[TASK_ACC_BYTES] || metrics[TASK_ACC_MUTUAL_INFO]))
        ok = rmli_fail(err, RML_UNSUPPORTED, source->config->file, -1,
                       "a metric other than acc found, expected acc alone where the choices are "
                       "contexts");
    if (!ok)
        task_items_release(items);
    return ok;
}

void task_items_release(struct task_items *items)
{
    choice_items_release(&items->items);
    documents_release(&items->documents);
    *items = (struct task_items){0};
}
