/*
 * Layouts of well-known question files.
 *
 * ARC and MMLU are read as the datasets' own JSON, asked as lm-eval asks them without examples
 * and description; HellaSwag and Winogrande are the files that llama.cpp's perplexity tool takes.
 */
#include <jansson.h>
#include <string.h>

#include "eval/choice_items.h"
#include "eval/python_text.h"
#include "tools/cli/byte_input.h"

static bool append(struct rml_bytes *out, const char *text, struct rml_error *err)
{
    return cli_bytes_append(out, text, strlen(text), err);
}

/* Of a JSON string, which may hold NUL. */
static bool append_json(struct rml_bytes *out, const json_t *text, struct rml_error *err)
{
    return cli_bytes_append(out, json_string_value(text), json_string_length(text), err);
}

/* ---- ARC -------------------------------------------------------------------------------------- */

/* "Question: ...\nAnswer:" and the texts of the choices; answerKey is one of the labels. */
bool choice_read_arc(const struct text_file *file, const struct text_line *line,
                     const json_t *object, struct choice_item *item, struct rml_error *err)
{
    const char *question;
    size_t nbytes;
    const json_t *choices = json_object_get(object, "choices");
    const json_t *labels = json_object_get(choices, "label");
    const json_t *key = json_object_get(object, "answerKey");
    if (!text_json_string(file, line, object, "question", &question, &nbytes, err) ||
        !choice_read_strings(file, line, json_object_get(choices, "text"), "choices.text", item,
                             err))
        return false;
    if (!json_is_array(labels) || json_array_size(labels) != item->n_choices)
        return text_fail(file, line->number, err,
                         "\"choices.label\" is no array of %zu labels, one a choice",
                         item->n_choices);
    if (!json_is_string(key))
        return text_fail(file, line->number, err,
                         "no string \"answerKey\" found, expected the label of a choice");
    struct rml_bytes context = {0};
    bool ok = append(&context, "Question: ", err) &&
              cli_bytes_append(&context, question, nbytes, err) &&
              append(&context, "\nAnswer:", err) &&
              choice_add_context(item, context.data, context.n, err);
    rml_bytes_release(&context);
    for (size_t i = 0; ok && i < item->n_choices; i++)
        if (json_equal(json_array_get(labels, i), key))
            return choice_set_gold(item, i, err);
    return ok && text_fail(file, line->number, err,
                           "'%.20s' found in \"answerKey\", expected one of the labels",
                           json_string_value(key));
}

/* ---- MMLU ------------------------------------------------------------------------------------- */

#define MAX_LETTERS 26

/* The question, its choices behind letters, and the letters as what is scored. `answer` is an
 * index or a letter. */
bool choice_read_mmlu(const struct text_file *file, const struct text_line *line,
                      const json_t *object, struct choice_item *item, struct rml_error *err)
{
    const char *question;
    size_t nbytes;
    const json_t *choices = json_object_get(object, "choices");
    const json_t *answer = json_object_get(object, "answer");
    if (!text_json_string(file, line, object, "question", &question, &nbytes, err))
        return false;
    size_t n = json_array_size(choices);
    if (n == 0 || n > MAX_LETTERS)
        return text_fail(file, line->number, err,
                         "%zu elements of \"choices\" found, expected an array of 1 to %d strings",
                         n, MAX_LETTERS);
    size_t skipped = python_leading_space_nbytes(question, nbytes);
    size_t end = python_rstrip_nbytes(question, nbytes);
    struct rml_bytes context = {0};
    bool ok = cli_bytes_append(&context, question + (skipped < end ? skipped : end),
                               skipped < end ? end - skipped : 0, err);
    for (size_t i = 0; ok && i < n; i++) {
        const json_t *choice = json_array_get(choices, i);
        const char lead[] = {'\n', (char)('A' + i), '.', ' '};
        ok = (json_is_string(choice) ||
              text_fail(file, line->number, err,
                        "element %zu of \"choices\" is no string, expected one", i)) &&
             cli_bytes_append(&context, lead, sizeof lead, err) &&
             append_json(&context, choice, err) && choice_add_choice(item, lead + 1, 1, err);
    }
    ok = ok && append(&context, "\nAnswer:", err) &&
         choice_add_context(item, context.data, context.n, err);
    rml_bytes_release(&context);
    if (!ok)
        return false;

    json_int_t index = json_is_integer(answer) ? json_integer_value(answer) : -1;
    if (json_is_string(answer) && json_string_length(answer) == 1)
        index = json_string_value(answer)[0] - 'A';
    if (index < 0 || (uint64_t)index >= n)
        return text_fail(
            file, line->number, err,
            "\"answer\" is neither an index below %zu nor one of the first %zu letters", n, n);
    return choice_set_gold(item, (size_t)index, err);
}

/* ---- HellaSwag ---------------------------------------------------------------------------------- */

/* Six lines an item: context, index of the right ending, four endings. */
bool choice_read_hellaswag(const struct text_file *file, struct choice_items *items,
                           struct rml_error *err)
{
    struct text_line line = {0};
    while (text_next_line(file, &line)) {
        struct choice_item *item = choice_items_add(items, line.number, err);
        if (!item || !choice_add_context(item, line.data, line.nbytes, err))
            return false;
        if (!text_next_line(file, &line))
            return text_fail(file, line.number, err,
                             "the file ends after a context, expected six lines an item");
        if (line.nbytes != 1 || line.data[0] < '0' || line.data[0] > '3')
            return text_fail(file, line.number, err,
                             "'%.*s' found, expected the index of the right ending, 0 to 3",
                             (int)(line.nbytes < 40 ? line.nbytes : 40), line.data);
        size_t gold = (size_t)(line.data[0] - '0');
        for (int i = 0; i < 4; i++) {
            if (!text_next_line(file, &line))
                return text_fail(file, line.number, err,
                                 "the file ends after %d endings, expected four", i);
            if (line.nbytes == 0)
                return text_fail(file, line.number, err, "an empty ending found, expected text");
            if (!choice_add_choice(item, line.data, line.nbytes, err))
                return false;
        }
        if (!choice_set_gold(item, gold, err))
            return false;
    }
    return true;
}

/* ---- Winogrande --------------------------------------------------------------------------------- */

struct csv_field {
    const char *data;
    size_t nbytes;
};

/* Five fields; one may stand in quotes and then holds commas (RFC 4180 without doubled quotes,
 * as llama.cpp reads it). */
static bool split_csv(const struct text_line *line, struct csv_field fields[5])
{
    size_t n = 0, begin = 0;
    bool quoted = false;
    for (size_t i = 0; i <= line->nbytes; i++) {
        if (i < line->nbytes && line->data[i] == '"')
            quoted = !quoted;
        if (i < line->nbytes && (quoted || line->data[i] != ',' || n == 4))
            continue;
        if (n == 5)
            return false;
        fields[n++] = (struct csv_field){line->data + begin, i - begin};
        begin = i + 1;
    }
    for (size_t i = 0; i < n; i++)
        if (fields[i].nbytes >= 2 && fields[i].data[0] == '"' &&
            fields[i].data[fields[i].nbytes - 1] == '"') {
            fields[i].data++;
            fields[i].nbytes -= 2;
        }
    return n == 5 && !quoted;
}

/* Contexts: the sentence up to "_" with either word in its place; continuation: the rest, without
 * white space around it. */
static bool read_winogrande_line(const struct text_file *file, const struct text_line *line,
                                 struct choice_item *item, struct rml_error *err)
{
    struct csv_field f[5];
    if (!split_csv(line, f))
        return text_fail(file, line->number, err,
                         "no five fields found, expected index,sentence,choice,choice,answer");
    const char *gap = memchr(f[1].data, '_', f[1].nbytes);
    if (!gap)
        return text_fail(file, line->number, err, "no '_' found in the sentence, expected one");
    if (f[4].nbytes != 1 || (f[4].data[0] != '1' && f[4].data[0] != '2'))
        return text_fail(file, line->number, err, "'%.*s' found, expected the answer 1 or 2",
                         (int)(f[4].nbytes < 40 ? f[4].nbytes : 40), f[4].data);
    size_t n_before = (size_t)(gap - f[1].data);
    const char *rest = gap + 1;
    size_t n_rest = f[1].nbytes - n_before - 1;
    size_t leading = python_leading_space_nbytes(rest, n_rest);
    rest += leading;
    n_rest = python_rstrip_nbytes(rest, n_rest - leading);
    if (n_rest == 0)
        return text_fail(file, line->number, err, "nothing found behind the '_', expected text");
    item->one_continuation = true;
    for (int i = 2; i < 4; i++) {
        json_t *context =
            json_sprintf("%.*s%.*s", (int)n_before, f[1].data, (int)f[i].nbytes, f[i].data);
        bool ok = context && choice_add_context(item, json_string_value(context),
                                                json_string_length(context), err);
        json_decref(context);
        if (!ok)
            return rmli_fail(err, RML_NO_MEMORY, file->name, -1, "no memory for the items");
        if (!choice_add_choice(item, rest, n_rest, err))
            return false;
    }
    return choice_set_gold(item, (size_t)(f[4].data[0] - '1'), err);
}

bool choice_read_winogrande(const struct text_file *file, struct choice_items *items,
                            struct rml_error *err)
{
    struct text_line line = {0};
    while (text_next_line(file, &line)) {
        struct choice_item *item = choice_items_add(items, line.number, err);
        if (!item || !read_winogrande_line(file, &line, item, err))
            return false;
    }
    return true;
}
