/*
 * Questions, from a file.
 */
#include "eval/choice_items.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "eval/request_key.h"

static const char *const layout_names[] = {"jsonl", "hellaswag", "winogrande", "arc", "mmlu"};

bool choice_layout_parse(const char *name, enum choice_layout *layout)
{
    for (size_t i = 0; i < sizeof layout_names / sizeof layout_names[0]; i++)
        if (strcmp(name, layout_names[i]) == 0) {
            *layout = (enum choice_layout)i;
            return true;
        }
    return false;
}

const char *choice_layout_name(enum choice_layout layout)
{
    return layout == LAYOUT_PAIRS     ? "pairs"
           : layout == LAYOUT_ANSWERS ? "answers"
                                      : layout_names[layout];
}

/* ---- Building an item ------------------------------------------------------------------------ */

static bool no_memory(struct rml_error *err)
{
    return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for the items");
}

struct choice_item *choice_items_add(struct choice_items *items, size_t line, struct rml_error *err)
{
    if (items->n == items->capacity) {
        size_t capacity = 2 * items->capacity + 64;
        struct choice_item *grown = realloc(items->items, capacity * sizeof *grown);
        if (!grown) {
            no_memory(err);
            return NULL;
        }
        items->items = grown;
        items->capacity = capacity;
    }
    struct choice_item *item = &items->items[items->n++];
    *item = (struct choice_item){.line = line};
    return item;
}

static bool append(struct choice_text **texts, size_t *n, const char *text, size_t nbytes,
                   struct rml_error *err)
{
    struct choice_text *grown = realloc(*texts, (*n + 1) * sizeof *grown);
    if (!grown)
        return no_memory(err);
    *texts = grown;
    char *copy = malloc(nbytes + 1);
    if (!copy)
        return no_memory(err);
    memcpy(copy, text, nbytes);
    copy[nbytes] = 0;
    grown[(*n)++] = (struct choice_text){.data = copy, .nbytes = nbytes};
    return true;
}

bool choice_add_context(struct choice_item *item, const char *text, size_t nbytes,
                        struct rml_error *err)
{
    return append(&item->contexts, &item->n_contexts, text, nbytes, err);
}

bool choice_add_choice(struct choice_item *item, const char *text, size_t nbytes,
                       struct rml_error *err)
{
    return append(&item->choices, &item->n_choices, text, nbytes, err);
}

static bool add_gold(struct choice_item *item, size_t gold, struct rml_error *err)
{
    size_t *grown = realloc(item->golds, (item->n_golds + 1) * sizeof *grown);
    if (!grown)
        return no_memory(err);
    item->golds = grown;
    grown[item->n_golds++] = gold;
    return true;
}

bool choice_set_gold(struct choice_item *item, size_t gold, struct rml_error *err)
{
    item->gold = json_integer((json_int_t)gold);
    return item->gold ? add_gold(item, gold, err) : no_memory(err);
}

bool choice_read_strings(const struct text_file *file, const struct text_line *line,
                         const json_t *array, const char *field, struct choice_item *item,
                         struct rml_error *err)
{
    if (!array)
        return text_fail(file, line->number, err,
                         "no field \"%s\" found, expected an array of strings", field);
    if (!json_is_array(array) || json_array_size(array) == 0)
        return text_fail(file, line->number, err,
                         "field \"%s\" is %s, expected an array of at least one string", field,
                         json_is_array(array) ? "empty" : "no array");
    for (size_t i = 0; i < json_array_size(array); i++) {
        const json_t *text = json_array_get(array, i);
        if (!json_is_string(text) || json_string_length(text) == 0)
            return text_fail(file, line->number, err,
                             "element %zu of \"%s\" is %s, expected a string that is not empty", i,
                             field, json_is_string(text) ? "empty" : "no string");
        if (!choice_add_choice(item, json_string_value(text), json_string_length(text), err))
            return false;
    }
    return true;
}

/* ---- The plain layouts ------------------------------------------------------------------------- */

/* One gold: an index, or the text of a choice. */
static bool read_gold(const struct text_file *file, const struct text_line *line, const char *field,
                      const json_t *gold, struct choice_item *item, struct rml_error *err)
{
    if (json_is_integer(gold)) {
        json_int_t index = json_integer_value(gold);
        if (index < 0 || (uint64_t)index >= item->n_choices)
            return text_fail(file, line->number, err,
                             "%" JSON_INTEGER_FORMAT " found in \"%s\", expected 0 to %zu", index,
                             field, item->n_choices - 1);
        return add_gold(item, (size_t)index, err);
    }
    if (!json_is_string(gold))
        return text_fail(
            file, line->number, err,
            "field \"%s\" is neither a number, a choice nor an array of them, expected one", field);
    for (size_t i = 0; i < item->n_choices; i++)
        if (item->choices[i].nbytes == json_string_length(gold) &&
            memcmp(item->choices[i].data, json_string_value(gold), item->choices[i].nbytes) == 0)
            return add_gold(item, i, err);
    return text_fail(file, line->number, err,
                     "'%.80s' found in \"%s\", expected one of the choices",
                     json_string_value(gold), field);
}

static bool read_golds(const struct text_file *file, const struct text_line *line,
                       const char *field, const json_t *gold, struct choice_item *item,
                       struct rml_error *err)
{
    if (!gold)
        return text_fail(file, line->number, err,
                         "no field \"%s\" found, expected the index of a choice", field);
    if (!json_is_array(gold)) {
        if (!read_gold(file, line, field, gold, item, err))
            return false;
        item->gold = json_integer((json_int_t)item->golds[0]);
        return item->gold || no_memory(err);
    }
    if (json_array_size(gold) == 0)
        return text_fail(file, line->number, err,
                         "field \"%s\" is empty, expected a choice at least", field);
    item->gold = json_array();
    for (size_t i = 0; i < json_array_size(gold); i++)
        if (!read_gold(file, line, field, json_array_get(gold, i), item, err) ||
            json_array_append_new(item->gold, json_integer((json_int_t)item->golds[i])) != 0)
            return no_memory(err);
    return true;
}

static bool read_jsonl(const struct text_file *file, const struct text_line *line,
                       const json_t *object, const struct choice_fields *fields,
                       struct choice_item *item, struct rml_error *err)
{
    const char *text;
    size_t nbytes;
    return text_json_string(file, line, object, fields->context, &text, &nbytes, err) &&
           choice_add_context(item, text, nbytes, err) &&
           choice_read_strings(file, line, json_object_get(object, fields->choices),
                               fields->choices, item, err) &&
           read_golds(file, line, fields->gold, json_object_get(object, fields->gold), item, err);
}

static bool read_pair(const struct text_file *file, const struct text_line *line,
                      const json_t *object, const struct choice_fields *fields,
                      struct choice_item *item, struct rml_error *err)
{
    const char *text;
    size_t nbytes;
    if (!text_json_string(file, line, object, fields->context, &text, &nbytes, err) ||
        !choice_add_context(item, text, nbytes, err) ||
        !text_json_string(file, line, object, fields->continuation, &text, &nbytes, err))
        return false;
    if (nbytes == 0)
        return text_fail(file, line->number, err, "field \"%s\" is empty, expected a text to score",
                         fields->continuation);
    return choice_add_choice(item, text, nbytes, err);
}

static bool read_answers(const struct text_file *file, const struct text_line *line,
                         const json_t *object, const struct choice_fields *fields,
                         struct choice_item *item, struct rml_error *err)
{
    const char *text;
    size_t nbytes;
    const json_t *gold = json_object_get(object, fields->gold);
    if (!text_json_string(file, line, object, fields->context, &text, &nbytes, err) ||
        !choice_add_context(item, text, nbytes, err))
        return false;
    if (!gold || json_is_null(gold))
        return true;
    item->gold = json_incref((json_t *)gold);
    if (json_is_string(gold))
        return choice_add_choice(item, json_string_value(gold), json_string_length(gold), err);
    if (!json_is_array(gold))
        return text_fail(file, line->number, err,
                         "field \"%s\" is neither a string nor an array of strings, expected one",
                         fields->gold);
    return choice_read_strings(file, line, gold, fields->gold, item, err);
}

/* ---- Ids and groups ------------------------------------------------------------------------------ */

static bool set_id(const struct text_file *file, struct choice_item *item, json_t *id,
                   struct rml_error *err)
{
    bool number = !id || json_is_integer(id);
    if (json_is_string(id) && strlen(json_string_value(id)) < json_string_length(id)) {
        json_decref(id);
        return text_fail(file, item->line, err, "an id with NUL found, expected text");
    }
    if (id && !number && !(json_is_string(id) && json_string_length(id) > 0)) {
        json_decref(id);
        return text_fail(file, item->line, err,
                         "the id is neither a string nor a number, expected one");
    }
    item->id = id ? id : json_integer((json_int_t)item->line);
    if (!number)
        item->doc_id = strdup(json_string_value(item->id));
    else if (asprintf(&item->doc_id, "%" JSON_INTEGER_FORMAT, json_integer_value(item->id)) < 0)
        item->doc_id = NULL;
    return (item->id && item->doc_id) || no_memory(err);
}

/* Items are told apart by their ids in the database and when runs are compared. */
static bool check_ids(const struct text_file *file, const struct choice_items *items,
                      struct rml_error *err)
{
    json_t *seen = json_object();
    bool ok = seen || no_memory(err);
    for (size_t i = 0; ok && i < items->n; i++) {
        const struct choice_item *item = &items->items[i];
        const json_t *before = json_object_get(seen, item->doc_id);
        if (before)
            ok = text_fail(file, item->line, err,
                           "the id '%.100s' found, which line %" JSON_INTEGER_FORMAT
                           " has, expected another",
                           item->doc_id, json_integer_value(before));
        else
            json_object_set_new_nocheck(seen, item->doc_id, json_integer((json_int_t)item->line));
    }
    json_decref(seen);
    return ok;
}

static bool set_group(const struct text_file *file, struct choice_item *item, const json_t *group,
                      struct rml_error *err)
{
    if (!group || json_is_null(group))
        return true;
    if (json_is_integer(group)) {
        if (asprintf(&item->group, "%" JSON_INTEGER_FORMAT, json_integer_value(group)) < 0)
            item->group = NULL;
        return item->group || no_memory(err);
    }
    if (!json_is_string(group))
        return text_fail(file, item->line, err,
                         "the group is neither a string nor a number, expected one");
    if (strlen(json_string_value(group)) < json_string_length(group))
        return text_fail(file, item->line, err, "a group with NUL found, expected text");
    item->group = strdup(json_string_value(group));
    return item->group || no_memory(err);
}

/* ---- Files -------------------------------------------------------------------------------------- */

static bool read_object(const struct text_file *file, const struct text_line *line,
                        const json_t *object, enum choice_layout layout,
                        const struct choice_fields *fields, struct choice_item *item,
                        struct rml_error *err)
{
    bool mmlu = layout == LAYOUT_MMLU;
    json_t *id = json_object_get(object, fields->id);
    if (!set_id(file, item, json_incref(id), err) ||
        !set_group(file, item, json_object_get(object, mmlu ? "subject" : fields->group), err))
        return false;
    switch (layout) {
    case LAYOUT_ARC:
        return choice_read_arc(file, line, object, item, err);
    case LAYOUT_MMLU:
        return choice_read_mmlu(file, line, object, item, err);
    case LAYOUT_PAIRS:
        return read_pair(file, line, object, fields, item, err);
    case LAYOUT_ANSWERS:
        return read_answers(file, line, object, fields, item, err);
    default:
        return read_jsonl(file, line, object, fields, item, err);
    }
}

static bool read_objects(const struct text_file *file, struct choice_items *items,
                         enum choice_layout layout, const struct choice_fields *fields,
                         struct rml_error *err)
{
    struct text_line line = {0};
    bool ok = true;
    while (ok && text_next_line(file, &line)) {
        if (line.nbytes == 0)
            continue;
        json_t *object = text_json_line(file, &line, err);
        struct choice_item *item = object ? choice_items_add(items, line.number, err) : NULL;
        ok = item && read_object(file, &line, object, layout, fields, item, err);
        json_decref(object);
    }
    return ok;
}

static bool read_lines(const struct text_file *file, struct choice_items *items,
                       enum choice_layout layout, struct rml_error *err)
{
    bool ok = layout == LAYOUT_HELLASWAG ? choice_read_hellaswag(file, items, err)
                                         : choice_read_winogrande(file, items, err);
    for (size_t i = 0; ok && i < items->n; i++)
        ok = set_id(file, &items->items[i], NULL, err);
    return ok;
}

bool choice_items_read(struct choice_items *items, const char *name, enum choice_layout layout,
                       const struct choice_fields *fields, struct rml_error *err)
{
    *items = (struct choice_items){0};
    struct text_file file;
    if (!text_file_read(&file, name, true, err))
        return false;
    bool by_lines = layout == LAYOUT_HELLASWAG || layout == LAYOUT_WINOGRANDE;
    bool ok = by_lines ? read_lines(&file, items, layout, err)
                       : read_objects(&file, items, layout, fields, err);
    ok = ok && check_ids(&file, items, err);
    if (ok && items->n == 0)
        ok = rmli_fail(err, RML_FORMAT, name, -1, "no item found, expected one a line");
    items->text_sha256 = ok ? calloc(1, 65) : NULL;
    if (ok)
        ok = items->text_sha256 ? eval_sha256(file.data, file.nbytes, items->text_sha256, err)
                                : no_memory(err);
    text_file_release(&file);
    if (!ok)
        choice_items_release(items);
    return ok;
}

static void release_texts(struct choice_text *texts, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(texts[i].data);
    free(texts);
}

void choice_items_release(struct choice_items *items)
{
    for (size_t i = 0; i < items->n; i++) {
        struct choice_item *item = &items->items[i];
        json_decref(item->id);
        json_decref(item->gold);
        free(item->doc_id);
        free(item->group);
        free(item->golds);
        for (size_t c = 0; item->conversations && c < item->n_contexts; c++)
            rml_conversation_release(&item->conversations[c]);
        free(item->conversations);
        release_texts(item->contexts, item->n_contexts);
        release_texts(item->choices, item->n_choices);
    }
    free(items->items);
    free(items->text_sha256);
    *items = (struct choice_items){0};
}
