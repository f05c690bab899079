/*
 * What a task's file makes of a document.
 */
#include "eval/task_parts.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "eval/prompt_node.h"
#include "eval/python_text.h"
#include "tools/cli/byte_input.h"

/* ---- Parts ------------------------------------------------------------------------------------ */

/* The part of an example, which may have its own. */
static const struct task_part *choose(const struct task_part *own, const struct task_part *example,
                                      bool is_example)
{
    return is_example && example->node ? example : own;
}

static bool is_word(const char *text)
{
    size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    return n > 0 && text[n] == 0 && (text[0] < '0' || text[0] > '9');
}

static bool is_field(const struct task_source *source, const struct task_part *part)
{
    return part->template && data_has_field(&source->docs->docs, part->node->text);
}

bool task_parts_check(const struct task_source *source, struct rml_error *err)
{
    const struct task_config *c = source->config;
    const struct task_part *parts[] = {&c->text,         &c->target,         &c->choice,
                                       &c->fewshot_text, &c->fewshot_target, &c->fewshot_choice};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (parts[i]->template && is_word(parts[i]->node->text) && !is_field(source, parts[i]))
            return yaml_fail(
                parts[i]->node, err,
                "'%.60s' found, which no document has, expected the name of a field, or "
                "text as {{'text'}}",
                parts[i]->node->text);
    return true;
}

/* *err at a record's place, keeping whose fault it is. */
static json_t *fail_at(const struct data_records *records, size_t i, const struct task_part *part,
                       const struct rml_error *why, struct rml_error *err)
{
    data_fail(records, i, err, "%s (in the template of %.200s, line %zu)", why->message,
              part->node->file, part->node->line);
    return NULL;
}

/* The raw value of a part: of its own, of a field, or the text of its template. */
static json_t *value_of(const struct task_source *source, const struct task_part *part,
                        const struct data_records *records, size_t i, bool is_literal,
                        struct rml_error *err)
{
    const json_t *object = records->records[i].object;
    if (part->value)
        return json_incref(part->value);
    if (is_field(source, part)) {
        json_t *field = json_object_get(object, part->node->text);
        if (!field)
            data_fail(records, i, err, "no field \"%s\" found, expected it", part->node->text);
        return json_incref(field);
    }
    struct rml_error why = RML_ERROR_INIT;
    json_t *value = is_literal ? prompt_template_literal(part->template, object, &why)
                               : prompt_template_render(part->template, object, &why);
    return value ? value : fail_at(records, i, part, &why, err);
}

/* str.isdigit of ASCII digits; a zero before others is no number of Python's. */
static json_t *digits(const json_t *text)
{
    const char *s = json_string_value(text);
    size_t n = json_string_length(text);
    if (n == 0 || n > 18 || strspn(s, "0123456789") != n || (n > 1 && s[0] == '0'))
        return NULL;
    return json_integer(atoll(s));
}

/* true and false are 1 and 0, as in Python. */
static json_t *as_number(json_t *value)
{
    if (!json_is_boolean(value))
        return value;
    json_t *number = json_integer(json_is_true(value));
    json_decref(value);
    return number;
}

json_t *task_text_of(const struct task_source *source, const struct data_records *records, size_t i,
                     bool is_example, struct rml_error *err)
{
    const struct task_config *c = source->config;
    const struct task_part *part = choose(&c->text, &c->fewshot_text, is_example);
    json_t *value = value_of(source, part, records, i, false, err);
    json_t *number =
        c->choice.node && json_is_string(value) && !is_field(source, part) ? digits(value) : NULL;
    if (number) {
        json_decref(value);
        value = number;
    }
    value = value ? as_number(value) : NULL;
    if (!value || json_is_string(value) || (json_is_integer(value) && c->choice.node))
        return value;
    json_decref(value);
    data_fail(records, i, err, "doc_to_text is no text, expected text");
    return NULL;
}

json_t *task_choices_of(const struct task_source *source, const struct data_records *records,
                        size_t i, bool is_example, struct rml_error *err)
{
    const struct task_config *c = source->config;
    const struct task_part *part = choose(&c->choice, &c->fewshot_choice, is_example);
    json_t *value = value_of(source, part, records, i, true, err);
    bool ok = json_array_size(value) > 0;
    for (size_t k = 0; ok && k < json_array_size(value); k++) {
        const json_t *choice = json_array_get(value, k);
        ok = json_is_string(choice) && json_string_length(choice) > 0;
    }
    if (ok || !value)
        return value;
    json_decref(value);
    data_fail(records, i, err,
              "doc_to_choice is no list of texts, expected one of at least one text, none empty");
    return NULL;
}

json_t *task_target_of(const struct task_source *source, const struct data_records *records,
                       size_t i, bool is_example, struct rml_error *err)
{
    const struct task_config *c = source->config;
    const struct task_part *part = choose(&c->target, &c->fewshot_target, is_example);
    json_t *value = value_of(source, part, records, i, false, err), *other = NULL;
    if (json_is_string(value) && !is_field(source, part)) {
        const char *text = json_string_value(value);
        size_t n = json_string_length(value);
        other = c->choice.node ? digits(value) : NULL;
        if (!other && n >= 2 && text[0] == '[' && text[n - 1] == ']')
            other = python_literal(text, n, NULL); /* else it is text in brackets */
    }
    if (other) {
        json_decref(value);
        value = other;
    }
    return value ? as_number(value) : NULL;
}

/* ---- Turns -------------------------------------------------------------------------------------------- */

struct turn {
    const char *role;
    json_t *content;       /* a reference of its own */
    const char *delimiter; /* behind it in plain text */
};

struct turns {
    struct turn *turns;
    size_t n;
};

/* Takes over `content`. */
static void add(struct turns *t, const char *role, json_t *content, const char *delimiter)
{
    t->turns[t->n++] = (struct turn){.role = role, .content = content, .delimiter = delimiter};
}

static void release_turns(struct turns *t)
{
    for (size_t i = 0; i < t->n; i++)
        json_decref(t->turns[i].content);
    free(t->turns);
}

/* `prefix` and `suffix` with text between unless either has white space there; a missing one is
 * nothing. */
static json_t *maybe_delimit(const char *prefix, const json_t *suffix, const char *delimiter,
                             struct rml_error *err)
{
    const char *text = suffix ? json_string_value(suffix) : "";
    size_t n_prefix = prefix ? strlen(prefix) : 0, n = suffix ? json_string_length(suffix) : 0;
    bool space = n_prefix == 0 || n == 0 || python_rstrip_nbytes(prefix, n_prefix) < n_prefix ||
                 python_leading_space_nbytes(text, n) > 0;
    struct rml_bytes out = {0};
    bool ok = cli_bytes_append(&out, prefix, n_prefix, err) &&
              cli_bytes_append(&out, delimiter, space ? 0 : strlen(delimiter), err) &&
              cli_bytes_append(&out, text, n, err);
    return prompt_text_of_bytes(ok, &out, err);
}

/* The description of a document, behind the system message, opens the prompt. */
static bool add_system(const struct task_source *source, size_t doc, struct turns *t,
                       struct rml_error *err)
{
    const struct task_config *c = source->config;
    json_t *description = NULL;
    if (c->description.node) {
        const json_t *object = source->docs->docs.records[doc].object;
        const json_t *field = json_object_get(object, c->description.node->text);
        struct rml_error why = RML_ERROR_INIT;
        description = field ? json_incref((json_t *)(uintptr_t)field)
                            : prompt_template_render(c->description.template, object, &why);
        if (!description)
            return fail_at(&source->docs->docs, doc, &c->description, &why, err);
        if (!json_is_string(description)) {
            json_decref(description);
            return data_fail(&source->docs->docs, doc, err, "the description is no text");
        }
    }
    json_t *system = maybe_delimit(source->chat->system, description, c->fewshot_delimiter, err);
    json_decref(description);
    if (!system)
        return false;
    if (json_string_length(system) > 0)
        add(t, "system", system, "");
    else
        json_decref(system);
    return true;
}

/* The text of an example's answer: of a number the choice, of a list the first. Takes over
 * `target`; borrows `choices`. */
static json_t *answer_text(const struct data_records *records, size_t i, json_t *target,
                           const json_t *choices, struct rml_error *err)
{
    json_t *text = json_is_integer(target) && choices
                       ? json_array_get(choices, (size_t)json_integer_value(target))
                   : json_is_array(target) ? json_array_get(target, 0)
                                           : target;
    bool out = json_is_integer(target) && choices && !text;
    json_t *answer = json_is_string(text) ? json_incref(text) : NULL;
    if (!answer)
        data_fail(records, i, err,
                  out ? "the target of an example is none of its choices"
                      : "the target of an example is no text, expected text");
    json_decref(target);
    return answer;
}

static bool add_example(const struct task_source *source, size_t i, bool multiple_input,
                        struct turns *t, struct rml_error *err)
{
    const struct task_config *c = source->config;
    const struct data_records *records = source->docs->examples;
    bool has_choices = c->choice.node || c->fewshot_choice.node;
    json_t *text = task_text_of(source, records, i, true, err), *answer = NULL;
    json_t *choices = text && has_choices ? task_choices_of(source, records, i, true, err) : NULL;
    json_t *target =
        text && (choices || !has_choices) ? task_target_of(source, records, i, true, err) : NULL;
    bool ok = target;
    if (ok && json_is_integer(text)) { /* the contexts are the choices */
        json_t *context = json_array_get(choices, (size_t)json_integer_value(text));
        json_decref(text);
        text = json_incref(context);
        ok = text || data_fail(records, i, err, "doc_to_text is the number of no choice");
    } else if (ok && multiple_input) {
        ok = data_fail(records, i, err, "doc_to_text is no number, as that of others is");
    }
    /* An empty target makes an example without answer, and without a delimiter. */
    if (ok && json_is_string(target) && json_string_length(target) == 0) {
        add(t, "user", json_incref(text), "");
    } else if (ok) {
        answer = answer_text(records, i, json_incref(target), multiple_input ? NULL : choices, err);
        ok = answer;
        if (ok) {
            add(t, "user", json_incref(text), c->fewshot_target_delimiter);
            add(t, "assistant", answer, c->example_delimiter);
        }
    }
    json_decref(text);
    json_decref(choices);
    json_decref(target);
    return ok;
}

/* ---- Prompts ---------------------------------------------------------------------------------------------- */

/* Contents and delimiters of the turns from `begin` on; behind the last there is none. */
static json_t *join(const struct turns *t, size_t begin, struct rml_error *err)
{
    struct rml_bytes out = {0};
    bool ok = true;
    for (size_t i = begin; ok && i < t->n; i++) {
        const struct turn *turn = &t->turns[i];
        ok = cli_bytes_append(&out, json_string_value(turn->content),
                              json_string_length(turn->content), err) &&
             (i + 1 == t->n ||
              cli_bytes_append(&out, turn->delimiter, strlen(turn->delimiter), err));
    }
    return prompt_text_of_bytes(ok, &out, err);
}

static bool add_message(json_t *messages, const char *role, json_t *content)
{
    return content && json_array_append_new(
                          messages, json_pack("{ss sO}", "role", role, "content", content)) == 0;
}

/* Each turn a message, or all but the system message joined into one of the user's. */
static json_t *make_messages(const struct turns *t, bool as_turns, struct rml_error *err)
{
    json_t *messages = json_array();
    bool has_system = strcmp(t->turns[0].role, "system") == 0, ok = messages;
    for (size_t i = 0; ok && i < t->n; i++)
        if (as_turns || (i == 0 && has_system))
            ok = add_message(messages, t->turns[i].role, t->turns[i].content);
    if (ok && !as_turns) {
        json_t *user = join(t, has_system, err);
        ok = add_message(messages, "user", user);
        json_decref(user);
    }
    if (ok)
        return messages;
    json_decref(messages);
    rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for a prompt");
    return NULL;
}

json_t *task_prompt_of(const struct task_source *source, size_t doc, const json_t *question,
                       bool multiple_input, json_t **messages, struct rml_error *err)
{
    const struct task_docs *d = source->docs;
    struct turns t = {.turns = calloc(2 * d->n_shots + 2, sizeof *t.turns)};
    json_t *text = NULL;
    *messages = NULL;
    bool ok = t.turns || rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for a prompt");
    ok = ok && add_system(source, doc, &t, err);
    for (size_t i = 0; ok && i < d->n_shots; i++)
        ok = add_example(source, d->draws[doc * d->n_shots + i], multiple_input, &t, err);
    if (ok) {
        add(&t, "user", json_incref((json_t *)(uintptr_t)question), "");
        text = join(&t, 0, err);
        if (text && source->chat->is_chat) {
            *messages = make_messages(&t, source->chat->as_turns, err);
            if (!*messages) {
                json_decref(text);
                text = NULL;
            }
        }
    }
    release_turns(&t);
    return text;
}
