/*
 * "truncation" and "padding" of tokenizer.json.
 *
 *     {"direction": "Right", "max_length": 512, "strategy": "LongestFirst", "stride": 0}
 *     {"strategy": "BatchLongest", "direction": "Right", "pad_to_multiple_of": null,
 *      "pad_id": 0, "pad_type_id": 0, "pad_token": "[PAD]"}
 *
 * What is accepted is what the tokenizers package (0.23.3) accepts: each member once and of its
 * type, all but "direction" of a truncation and "pad_to_multiple_of" there, others passed over.
 */
#include "text/json_batching.h"

#include <string.h>

enum member_kind { COUNT, COUNT_32, COUNT_OR_NULL, TEXT, NAME, LENGTH };

struct member {
    const char *key;
    enum member_kind kind;
    const char *names[4]; /* of NAME, and of LENGTH the one that is a text; NULL after the last */
    bool optional;
    uint64_t *out; /* the count, if somebody wants it */
};

static bool is_text(const struct rmli_json_string *text, const char *want)
{
    return text->nbytes == strlen(want) && memcmp(text->data, want, text->nbytes) == 0;
}

static bool read_count(struct rmli_json_cursor *c, const char *what, const struct member *m,
                       uint64_t most)
{
    uint64_t count;
    size_t offset = rmli_json_value_offset(c);
    int byte = rmli_json_peek(c);
    if (byte < '0' || byte > '9')
        return rmli_json_fail(c, offset, "%s has a '%s' that is no count", what, m->key);
    if (!rmli_json_read_u64(c, &count))
        return false;
    if (count > most)
        return rmli_json_fail(c, offset, "%s has the '%s' %llu, expected at most %llu", what,
                              m->key, (unsigned long long)count, (unsigned long long)most);
    if (m->out)
        *m->out = count;
    return true;
}

static bool read_name(struct rmli_json_cursor *c, const char *what, const struct member *m)
{
    struct rmli_json_string text;
    size_t offset = rmli_json_value_offset(c);
    if (rmli_json_peek(c) != '"')
        return rmli_json_fail(c, offset, "%s has a '%s' that is no name", what, m->key);
    if (!rmli_json_read_string(c, &text))
        return false;
    for (size_t i = 0; m->names[i]; i++)
        if (is_text(&text, m->names[i]))
            return true;
    return rmli_json_fail(c, offset, "%s has the '%s' '%.*s', which is not known", what, m->key,
                          text.nbytes < 60 ? (int)text.nbytes : 60, text.data);
}

/* "BatchLongest" or {"Fixed": 512} */
static bool read_length(struct rmli_json_cursor *c, const char *what, const struct member *m)
{
    static const char key_of_length[] = "Fixed";
    struct rmli_json_string key;
    struct member fixed = *m;
    if (rmli_json_peek(c) != '{')
        return read_name(c, what, m);
    size_t offset = rmli_json_value_offset(c);
    rmli_json_enter(c, '{');
    if (!rmli_json_next_key(c, &key) || !is_text(&key, key_of_length))
        return !c->failed &&
               rmli_json_fail(c, offset, "%s has a '%s' that is not known", what, m->key);
    fixed.key = key_of_length;
    if (!read_count(c, what, &fixed, UINT64_MAX))
        return false;
    if (rmli_json_next_key(c, &key))
        return rmli_json_fail(c, key.offset, "%s has more than one '%s'", what, m->key);
    return !c->failed;
}

static bool read_member(struct rmli_json_cursor *c, const char *what, const struct member *m)
{
    struct rmli_json_string text;
    switch (m->kind) {
    case COUNT:
        return read_count(c, what, m, UINT64_MAX);
    case COUNT_32:
        return read_count(c, what, m, UINT32_MAX);
    case COUNT_OR_NULL:
        return rmli_json_peek(c) == 'n' ? rmli_json_skip(c) : read_count(c, what, m, UINT64_MAX);
    case TEXT:
        return rmli_json_read_string(c, &text);
    case NAME:
        return read_name(c, what, m);
    case LENGTH:
        return read_length(c, what, m);
    }
    return false;
}

/* An object of n members, at most 32. */
static bool read_members(struct rmli_json_cursor *c, const char *what, const struct member *members,
                         size_t n)
{
    uint32_t seen = 0;
    struct rmli_json_string key;
    size_t offset = rmli_json_value_offset(c);
    if (rmli_json_peek(c) != '{')
        return rmli_json_fail(c, offset, "%s is no object", what);
    rmli_json_enter(c, '{');
    while (rmli_json_next_key(c, &key)) {
        size_t i = 0;
        while (i < n && !is_text(&key, members[i].key))
            i++;
        if (i == n) {
            if (!rmli_json_skip(c))
                return false;
            continue;
        }
        if (seen >> i & 1)
            return rmli_json_fail(c, key.offset, "%s has '%s' twice", what, members[i].key);
        seen |= (uint32_t)1 << i;
        if (!read_member(c, what, &members[i]))
            return false;
    }
    for (size_t i = 0; !c->failed && i < n; i++)
        if (!(seen >> i & 1) && !members[i].optional)
            return rmli_json_fail(c, offset, "%s has no '%s'", what, members[i].key);
    return !c->failed;
}

bool rmli_json_read_truncation(struct rmli_json_cursor *c, struct rml_tokenizer_batching *out)
{
    const struct member members[] = {
        {"direction", NAME, {"Left", "Right"}, true, NULL},
        {"max_length", COUNT, {0}, false, &out->max_length},
        {"strategy", NAME, {"LongestFirst", "OnlyFirst", "OnlySecond"}, false, NULL},
        {"stride", COUNT, {0}, false, NULL},
    };
    out->truncates = rmli_json_peek(c) != 'n';
    out->max_length = 0;
    return out->truncates ? read_members(c, "truncation", members, 4) : rmli_json_skip(c);
}

bool rmli_json_read_padding(struct rmli_json_cursor *c, struct rml_tokenizer_batching *out)
{
    const struct member members[] = {
        {"strategy", LENGTH, {"BatchLongest"}, false, &out->fixed_length},
        {"direction", NAME, {"Left", "Right"}, false, NULL},
        {"pad_to_multiple_of", COUNT_OR_NULL, {0}, true, NULL},
        {"pad_id", COUNT_32, {0}, false, NULL},
        {"pad_type_id", COUNT_32, {0}, false, NULL},
        {"pad_token", TEXT, {0}, false, NULL},
    };
    out->pads = rmli_json_peek(c) != 'n';
    out->fixed_length = 0;
    return out->pads ? read_members(c, "padding", members, 6) : rmli_json_skip(c);
}
