/*
 * A YAML file as a tree.
 */
#include "eval/yaml_tree.h"

#include <errno.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

/* ---- Messages --------------------------------------------------------------------------- */

bool yaml_fail(const struct yaml_tree_node *node, struct rml_error *err, const char *format, ...)
{
    char message[900];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    return rmli_fail(err, RML_FORMAT, node->file, -1, "line %zu: %s", node->line, message);
}

const char *yaml_describe(const struct yaml_tree_node *node, char buffer[64])
{
    switch (node->kind) {
    case YAML_NULL:
        return "nothing";
    case YAML_LIST:
        return "a list";
    case YAML_MAP:
        return "a mapping";
    case YAML_STRING:
        snprintf(buffer, 64, "'%.48s'", node->text);
        return buffer;
    default:
        snprintf(buffer, 64, "%.48s", node->text);
        return buffer;
    }
}

static bool no_memory(const char *file, struct rml_error *err)
{
    return rmli_fail(err, RML_NO_MEMORY, file, -1, "no memory for its values");
}

/* ---- Types of plain scalars --------------------------------------------------------------- */

static bool is_one_of(const char *text, const char *const *words)
{
    for (; *words; words++)
        if (strcmp(text, *words) == 0)
            return true;
    return false;
}

static size_t skip(const char *text, size_t i, const char *set)
{
    return i + strspn(text + i, set);
}

/* -?(0|[1-9][0-9]*) or with a + before it: the decimal numbers of YAML 1.1 without "_". */
static bool is_decimal(const char *text)
{
    size_t i = *text == '-' || *text == '+';
    size_t end = skip(text, i, "0123456789");
    return end > i && text[end] == 0 && (text[i] != '0' || end == i + 1);
}

/* [-+]?[0-9]+\.[0-9]*([eE][-+][0-9]+)? or \.[0-9]+ of the same kind */
static bool is_fraction(const char *text)
{
    size_t begin = *text == '-' || *text == '+', i = skip(text, begin, "0123456789");
    if (text[i] != '.')
        return false;
    size_t end = skip(text, i + 1, "0123456789");
    if (end - begin < 2)
        return false;
    if (text[end] == 'e' || text[end] == 'E') {
        size_t exponent = end + 1;
        if (text[exponent] != '-' && text[exponent] != '+')
            return false;
        end = skip(text, exponent + 1, "0123456789");
        if (end == exponent + 1)
            return false;
    }
    return text[end] == 0;
}

/* What YAML 1.1 reads as other numbers and as dates: in other bases, with "_" between digits, of
 * base 60, infinities. A little more than those may be meant, which then has to stand in quotes. */
static bool is_other(const char *text)
{
    static const char *const words[] = {"=",     ".inf",  ".Inf",  ".INF",  "+.inf",
                                        "+.Inf", "+.INF", "-.inf", "-.Inf", "-.INF",
                                        ".nan",  ".NaN",  ".NAN",  NULL};
    size_t i = *text == '-' || *text == '+';
    if (is_one_of(text, words))
        return true;
    if (text[i] < '0' || text[i] > '9')
        return false;
    if (text[i] == '0' && (text[i + 1] == 'x' || text[i + 1] == 'b'))
        return text[i + 2] && text[skip(text, i + 2, "0123456789abcdefABCDEF_")] == 0;
    if (text[i] == '0' && text[i + 1] && text[skip(text, i, "01234567_")] == 0)
        return true;
    size_t end = skip(text, i, "0123456789_");
    if (text[end] == 0 && text[i] != '0')
        return true;
    if (text[end] == '.' && text[skip(text, end + 1, "0123456789_")] == 0)
        return true;
    if (text[end] == ':' && text[end + 1] && text[skip(text, i, "0123456789_:.")] == 0)
        return true;
    size_t year = skip(text, i, "0123456789");
    return i == 0 && year == 4 && text[year] == '-' &&
           text[skip(text, 0, "0123456789-:.tTzZ+ ")] == 0;
}

static void resolve(struct yaml_tree_node *node)
{
    static const char *const nulls[] = {"", "~", "null", "Null", "NULL", NULL};
    static const char *const yes[] = {"yes",  "Yes", "YES", "true", "True",
                                      "TRUE", "on",  "On",  "ON",   NULL};
    static const char *const no[] = {"no",    "No",  "NO",  "false", "False",
                                     "FALSE", "off", "Off", "OFF",   NULL};
    if (strlen(node->text) != node->nbytes)
        return;
    if (is_one_of(node->text, nulls)) {
        node->kind = YAML_NULL;
    } else if (is_one_of(node->text, yes) || is_one_of(node->text, no)) {
        node->kind = YAML_BOOL;
        node->integer = is_one_of(node->text, yes);
    } else if (is_decimal(node->text)) {
        errno = 0;
        node->integer = strtoll(node->text, NULL, 10);
        node->kind = errno ? YAML_OTHER : YAML_INT;
        node->real = (double)node->integer;
    } else if (is_fraction(node->text)) {
        node->kind = YAML_REAL;
        node->real = strtod(node->text, NULL);
    } else if (is_other(node->text)) {
        node->kind = YAML_OTHER;
    }
}

/* ---- From libyaml's document ------------------------------------------------------------------ */

struct copying {
    yaml_document_t *document;
    const char *file;
    size_t n_nodes, depth;
    struct rml_error *err;
};

static bool copy_node(struct copying *c, int index, struct yaml_tree_node *node);

static bool copy_scalar(struct copying *c, const yaml_node_t *from, struct yaml_tree_node *node)
{
    node->kind = YAML_STRING;
    node->nbytes = from->data.scalar.length;
    node->text = malloc(node->nbytes + 1);
    if (!node->text)
        return no_memory(c->file, c->err);
    memcpy(node->text, from->data.scalar.value, node->nbytes);
    node->text[node->nbytes] = 0;
    const char *tag = (const char *)from->tag;
    if (strcmp(tag, YAML_STR_TAG) != 0)
        return yaml_fail(node, c->err, "'%.40s %.80s' found, expected a value without a tag%s", tag,
                         node->text, tag[0] == '!' ? ": a task that needs no Python" : "");
    if (from->data.scalar.style == YAML_PLAIN_SCALAR_STYLE)
        resolve(node);
    return true;
}

static bool check_tag(struct copying *c, const yaml_node_t *from, const struct yaml_tree_node *node)
{
    const char *expected = node->kind == YAML_LIST ? YAML_SEQ_TAG : YAML_MAP_TAG;
    return strcmp((const char *)from->tag, expected) == 0 ||
           yaml_fail(node, c->err, "the tag '%.80s' found, expected a value without one",
                     (const char *)from->tag);
}

static bool copy_list(struct copying *c, const yaml_node_t *from, struct yaml_tree_node *node)
{
    const yaml_node_item_t *items = from->data.sequence.items.start;
    size_t n = (size_t)(from->data.sequence.items.top - items);
    node->kind = YAML_LIST;
    node->items = calloc(n + 1, sizeof *node->items);
    if (!node->items)
        return no_memory(c->file, c->err);
    if (!check_tag(c, from, node))
        return false;
    for (; node->n < n; node->n++)
        if (!copy_node(c, items[node->n], &node->items[node->n])) {
            node->n++; /* what is there is released with the rest */
            return false;
        }
    return true;
}

static bool check_key(struct copying *c, const struct yaml_tree_node *node, size_t which)
{
    const struct yaml_tree_node *key = &node->items[2 * which];
    if (key->kind == YAML_LIST || key->kind == YAML_MAP)
        return yaml_fail(key, c->err, "a list or mapping as a key found, expected text");
    if (strlen(key->text) != key->nbytes)
        return yaml_fail(key, c->err, "a NUL in a key found, expected text");
    if (strcmp(key->text, "<<") == 0)
        return yaml_fail(key, c->err, "the merge key '<<' found, expected keys of their own");
    for (size_t i = 0; i < which; i++) {
        const struct yaml_tree_node *before = &node->items[2 * i];
        if (strcmp(before->text, key->text) == 0)
            return yaml_fail(key, c->err, "key '%.80s' found, which line %zu has, expected it once",
                             key->text, before->line);
    }
    return true;
}

static bool copy_map(struct copying *c, const yaml_node_t *from, struct yaml_tree_node *node)
{
    const yaml_node_pair_t *pairs = from->data.mapping.pairs.start;
    size_t n = (size_t)(from->data.mapping.pairs.top - pairs);
    node->kind = YAML_MAP;
    node->items = calloc(2 * n + 1, sizeof *node->items);
    if (!node->items)
        return no_memory(c->file, c->err);
    if (!check_tag(c, from, node))
        return false;
    for (; node->n < n; node->n++) {
        struct yaml_tree_node *pair = &node->items[2 * node->n];
        if (!copy_node(c, pairs[node->n].key, pair) || !check_key(c, node, node->n) ||
            !copy_node(c, pairs[node->n].value, pair + 1)) {
            node->n++;
            return false;
        }
    }
    return true;
}

static bool copy_node(struct copying *c, int index, struct yaml_tree_node *node)
{
    const yaml_node_t *from = yaml_document_get_node(c->document, index);
    *node = (struct yaml_tree_node){.file = c->file, .line = from->start_mark.line + 1};
    if (++c->n_nodes > YAML_MAX_NODES)
        return yaml_fail(node, c->err, "more than %d values found, aliases copied out",
                         YAML_MAX_NODES);
    if (c->depth == YAML_MAX_DEPTH)
        return yaml_fail(node, c->err, "values nested deeper than %d found", YAML_MAX_DEPTH);
    c->depth++;
    bool ok = from->type == YAML_SCALAR_NODE     ? copy_scalar(c, from, node)
              : from->type == YAML_SEQUENCE_NODE ? copy_list(c, from, node)
                                                 : copy_map(c, from, node);
    c->depth--;
    return ok;
}

/* ---- Reading ------------------------------------------------------------------------------------ */

static bool explain(const yaml_parser_t *parser, const struct text_file *file,
                    struct rml_error *err)
{
    if (parser->error == YAML_MEMORY_ERROR)
        return no_memory(file->name, err);
    return text_fail(file, parser->problem_mark.line + 1, err, "%s%s%s, expected YAML",
                     parser->context ? parser->context : "", parser->context ? ": " : "",
                     parser->problem ? parser->problem : "something that is none");
}

/* The first document into *root; a second one is refused. */
static bool load(yaml_parser_t *parser, const struct text_file *file, struct yaml_tree_node *root,
                 struct rml_error *err)
{
    yaml_document_t document, second;
    if (!yaml_parser_load(parser, &document))
        return explain(parser, file, err);
    struct copying c = {.document = &document, .file = file->name, .err = err};
    bool ok = yaml_document_get_root_node(&document)
                  ? copy_node(&c, 1, root)
                  : rmli_fail(err, RML_FORMAT, file->name, -1, "nothing found, expected YAML");
    yaml_document_delete(&document);
    if (!ok)
        return false;
    if (!yaml_parser_load(parser, &second))
        return explain(parser, file, err);
    const yaml_node_t *node = yaml_document_get_root_node(&second);
    ok = !node || text_fail(file, node->start_mark.line + 1, err,
                            "a second document found, expected one a file");
    yaml_document_delete(&second);
    return ok;
}

bool yaml_tree_read(struct yaml_tree_node *root, const char *name, struct rml_error *err)
{
    *root = (struct yaml_tree_node){0};
    struct text_file file;
    yaml_parser_t parser;
    if (!text_file_read(&file, name, true, err))
        return false;
    bool ok = file.nbytes <= YAML_MAX_NBYTES ||
              rmli_fail(err, RML_FORMAT, name, -1, "%zu bytes found, expected at most %zu",
                        file.nbytes, YAML_MAX_NBYTES);
    if (ok && !yaml_parser_initialize(&parser))
        ok = no_memory(name, err);
    else if (ok) {
        yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
        yaml_parser_set_input_string(&parser, (const unsigned char *)file.data, file.nbytes);
        ok = load(&parser, &file, root, err);
        yaml_parser_delete(&parser);
    }
    text_file_release(&file);
    if (!ok)
        yaml_tree_release(root);
    return ok;
}

void yaml_tree_release(struct yaml_tree_node *root)
{
    size_t n = root->kind == YAML_MAP ? 2 * root->n : root->n;
    for (size_t i = 0; i < n; i++)
        yaml_tree_release(&root->items[i]);
    free(root->items);
    free(root->text);
    *root = (struct yaml_tree_node){0};
}

/* ---- Questions ------------------------------------------------------------------------------------ */

const struct yaml_tree_node *yaml_tree_get(const struct yaml_tree_node *map, const char *key)
{
    for (size_t i = 0; map->kind == YAML_MAP && i < map->n; i++)
        if (strcmp(map->items[2 * i].text, key) == 0)
            return &map->items[2 * i + 1];
    return NULL;
}

static json_t *list_to_json(const struct yaml_tree_node *node, struct rml_error *err)
{
    json_t *array = json_array();
    for (size_t i = 0; i < node->n; i++) {
        json_t *value = yaml_to_json(&node->items[i], err);
        if (!value || json_array_append_new(array, value) != 0) {
            json_decref(array);
            return NULL;
        }
    }
    return array;
}

static json_t *map_to_json(const struct yaml_tree_node *node, struct rml_error *err)
{
    json_t *object = json_object();
    for (size_t i = 0; i < node->n; i++) {
        json_t *value = yaml_to_json(&node->items[2 * i + 1], err);
        if (!value || json_object_set_new(object, node->items[2 * i].text, value) != 0) {
            json_decref(object);
            return NULL;
        }
    }
    return object;
}

json_t *yaml_to_json(const struct yaml_tree_node *node, struct rml_error *err)
{
    json_t *json = NULL;
    char buffer[64];
    switch (node->kind) {
    case YAML_NULL:
        return json_null();
    case YAML_BOOL:
        return json_boolean(node->integer);
    case YAML_INT:
        json = json_integer(node->integer);
        break;
    case YAML_REAL:
        json = json_real(node->real);
        break;
    case YAML_STRING:
        json = json_stringn(node->text, node->nbytes);
        break;
    case YAML_OTHER:
        yaml_fail(node, err, "%s found, expected it in quotes, or another value",
                  yaml_describe(node, buffer));
        return NULL;
    case YAML_LIST:
        return list_to_json(node, err);
    case YAML_MAP:
        return map_to_json(node, err);
    }
    if (!json)
        no_memory(node->file, err);
    return json;
}
