/*
 * Added tokens and tokenizer_config.json.
 *
 * The second file tells transformers what the first leaves open: which tokens are BOS and EOS, whether
 * they are added, and tokens that were added after the first was written.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mapped_file.h"
#include "files/content_hash.h"
#include "files/json_file.h"
#include "text/json_parts.h"
#include "text/tokenizer_json.h"

enum { MAX_CONFIG_NBYTES = 64 << 20 };

/* ---- Added tokens ------------------------------------------------------------------ */

void rmli_added_tokens_release(struct rmli_added_tokens *list)
{
    rmli_free(list->tokens);
    *list = (struct rmli_added_tokens){0};
}

static bool append(struct rmli_added_tokens *list, const struct rmli_added_token *token,
                   struct rml_error *err)
{
    if (!rmli_reserve_one((void **)&list->tokens, list->n, &list->capacity, sizeof *token, err))
        return false;
    list->tokens[list->n++] = *token;
    return true;
}

static bool read_token(struct rmli_added_tokens *list, const json_t *json, int64_t id,
                       struct rmli_arena *strings, struct rml_error *err)
{
    struct rmli_added_token token = {.normalized = true};
    const char *content = NULL;
    if (!json_is_object(json))
        return rmli_fail(err, RML_FORMAT, NULL, -1, "an added token is no object");
    if (!rmli_json_get_text(json, "content", &content, &token.nbytes, err) ||
        !rmli_json_get_flag(json, "special", &token.special, err))
        return false;
    token.normalized = !token.special;
    if (!rmli_json_get_flag(json, "single_word", &token.single_word, err) ||
        !rmli_json_get_flag(json, "lstrip", &token.lstrip, err) ||
        !rmli_json_get_flag(json, "rstrip", &token.rstrip, err) ||
        !rmli_json_get_flag(json, "normalized", &token.normalized, err))
        return false;
    if (!content)
        return rmli_fail(err, RML_FORMAT, NULL, -1, "an added token has no 'content'");
    if (id < 0 || (uint64_t)id >= RMLI_MAX_VOCABULARY)
        return rmli_fail(err, RML_FORMAT, NULL, -1,
                         "added token '%.100s' has the id %lld, expected 0 to %zu", content,
                         (long long)id, RMLI_MAX_VOCABULARY - 1);
    if (token.nbytes == 0)
        return true; /* the reference leaves these out */
    token.id = (int32_t)id;
    token.content = rmli_arena_copy_string(strings, content, token.nbytes, err);
    return token.content && append(list, &token, err);
}

bool rmli_added_tokens_read(struct rmli_added_tokens *list, const json_t *json,
                            struct rmli_arena *strings, struct rml_error *err)
{
    static const char *const flags[] = {"single_word", "lstrip", "rstrip", "normalized", "special"};
    if (!json_is_array(json))
        return rmli_fail(err, RML_FORMAT, NULL, -1, "'added_tokens' is no list");
    for (size_t i = 0; i < json_array_size(json); i++) {
        const json_t *token = json_array_get(json, i), *id = json_object_get(token, "id");
        for (size_t k = 0; json_is_object(token) && k < sizeof flags / sizeof flags[0]; k++)
            if (!json_is_boolean(json_object_get(token, flags[k])))
                return rmli_fail(err, RML_FORMAT, NULL, -1, "'%s' of an added token is %s",
                                 flags[k],
                                 json_object_get(token, flags[k]) ? "no boolean" : "missing");
        if (!read_token(list, token, json_is_integer(id) ? json_integer_value(id) : -1, strings,
                        err))
            return false;
    }
    return true;
}

bool rmli_added_tokens_merge(struct rmli_added_tokens *list, const struct rmli_added_tokens *more,
                             enum rmli_known_token known_token, struct rml_error *err)
{
    if (more->n == 0)
        return true;
    size_t n = list->n;
    struct rmli_added_token **known = rmli_alloc(n, sizeof *known, err);
    uint8_t *is_new = rmli_alloc_zeroed(more->n, 1, err);
    bool ok = known && is_new;
    for (size_t i = 0; ok && i < n; i++)
        known[i] = &list->tokens[i];
    if (ok && n > 1)
        qsort(known, n, sizeof *known, rmli_added_token_compare);
    for (size_t i = 0; ok && i < more->n; i++) {
        const struct rmli_added_token *token = &more->tokens[i];
        struct rmli_added_token **found =
            n > 0 ? bsearch(&token, known, n, sizeof *known, rmli_added_token_compare) : NULL;
        is_new[i] = !found;
        if (found && known_token == RMLI_KNOWN_IS_SPECIAL) {
            (*found)->special = true;
        } else if (found && known_token == RMLI_KNOWN_IS_REPLACED) {
            int32_t id = (*found)->id;
            bool special = (*found)->special;
            const char *content = (*found)->content;
            **found = *token;
            (*found)->id = id;
            (*found)->special |= special; /* once special, always special */
            (*found)->content = content;
        }
    }
    for (size_t i = 0; ok && i < more->n; i++)
        ok = !is_new[i] || append(list, &more->tokens[i], err);
    rmli_free(known);
    rmli_free(is_new);
    return ok;
}

/* ---- tokenizer_config.json ----------------------------------------------------------- */

static bool read_flag(const json_t *json, const char *key, int *out, struct rml_error *err)
{
    bool flag = false;
    const json_t *value = json_object_get(json, key);
    if (!value || json_is_null(value))
        return true;
    if (!rmli_json_get_flag(json, key, &flag, err))
        return false;
    *out = flag;
    return true;
}

/* "<s>" or {"content": "<s>", ...} */
static bool read_special(const json_t *json, const char *key, struct rmli_arena *strings,
                         const char **out, size_t *nbytes, struct rml_error *err)
{
    const json_t *value = json_object_get(json, key);
    if (json_is_object(value))
        value = json_object_get(value, "content");
    if (!json_is_string(value))
        return true;
    *nbytes = json_string_length(value);
    *out = rmli_arena_copy_string(strings, json_string_value(value), *nbytes, err);
    return *out != NULL;
}

static int compare_ids(const void *left, const void *right)
{
    const struct rmli_added_token *a = left, *b = right;
    return (a->id > b->id) - (a->id < b->id);
}

/* "added_tokens_decoder": tokens by id, whose order is what the reference numbers new ones by. */
static bool read_decoder(struct rmli_added_tokens *list, const json_t *tokens,
                         struct rmli_arena *strings, struct rml_error *err)
{
    const char *key;
    json_t *token;
    if (tokens && !json_is_object(tokens) && !json_is_null(tokens))
        return rmli_fail(err, RML_FORMAT, NULL, -1,
                         "'added_tokens_decoder' is no object, expected tokens by id");
    /* The macro drops const; nothing is changed. */
    json_object_foreach((json_t *)tokens, key, token)
    {
        char *end;
        long id = strtol(key, &end, 10);
        if (*key == 0 || *end != 0)
            return rmli_fail(err, RML_FORMAT, NULL, -1,
                             "added_tokens_decoder has the key '%.100s', expected an id", key);
        if (!read_token(list, token, id, strings, err))
            return false;
    }
    if (list->n > 1)
        qsort(list->tokens, list->n, sizeof *list->tokens, compare_ids);
    return true;
}

/* A token given by its text alone, or by an object; `key` says whose part or list it is. */
static bool append_named(struct rmli_added_tokens *list, const char *key, const json_t *value,
                         struct rmli_arena *strings, struct rml_error *err)
{
    struct rmli_added_token token = {.special = true};
    if (!json_is_object(value) && !json_is_string(value))
        return rmli_fail(err, RML_FORMAT, NULL, -1,
                         "'%.60s' has a value that is no token, expected a text or an object", key);
    if (json_is_object(value)) {
        size_t before = list->n;
        if (!read_token(list, value, 0, strings, err))
            return false;
        if (list->n > before)
            list->tokens[before].special = true;
        return true;
    }
    token.nbytes = json_string_length(value);
    if (token.nbytes == 0)
        return true;
    token.content = rmli_arena_copy_string(strings, json_string_value(value), token.nbytes, err);
    return token.content && append(list, &token, err);
}

/* Whether a key that only some classes know gives a part to a token: others may end alike. */
static bool names_part(const char *key, const json_t *value)
{
    const size_t n = strlen(key), n_suffix = strlen("_token");
    const char *type = json_string_value(json_object_get(value, "__type"));
    return n > n_suffix && strcmp(key + n - n_suffix, "_token") == 0 &&
           (json_is_string(value) || (type && strcmp(type, "AddedToken") == 0));
}

/* Each of a list, or of an object of parts; null: none. */
static bool append_each(struct rmli_added_tokens *list, const char *key, const json_t *tokens,
                        struct rmli_arena *strings, struct rml_error *err)
{
    const char *part;
    json_t *value;
    if (tokens && !json_is_null(tokens) && !json_is_array(tokens) && !json_is_object(tokens))
        return rmli_fail(err, RML_FORMAT, NULL, -1,
                         "'%s' is no list of tokens and no object of them", key);
    for (size_t i = 0; i < json_array_size(tokens); i++)
        if (!append_named(list, key, json_array_get(tokens, i), strings, err))
            return false;
    json_object_foreach((json_t *)tokens, part, value)
    {
        if (!append_named(list, part, value, strings, err))
            return false;
    }
    return true;
}

/* Tokens that the file gives a part to, and lists of further ones: one that is nowhere else is a
 * token all the same, numbered in this order, as the reference has it. The parts that every class
 * knows come first, then those of some classes ("image_token"; extra_special_tokens as an object). The
 * older name of the list counts where the newer one has no list. */
static bool read_named(struct rmli_tokenizer_config *config, const json_t *json,
                       struct rmli_arena *strings, struct rml_error *err)
{
    static const char *const keys[] = {"bos_token", "eos_token", "unk_token", "sep_token",
                                       "pad_token", "cls_token", "mask_token"};
    static const char older[] = "additional_special_tokens", newer[] = "extra_special_tokens";
    const size_t n_keys = sizeof keys / sizeof keys[0];
    const json_t *extra = json_object_get(json, newer);
    const char *key;
    json_t *value;
    for (size_t i = 0; i < n_keys; i++) {
        value = json_object_get(json, keys[i]);
        if (value && !json_is_null(value) &&
            !append_named(&config->named, keys[i], value, strings, err))
            return false;
    }
    /* The macro drops const; nothing is changed. */
    json_object_foreach((json_t *)json, key, value)
    {
        bool known = false;
        for (size_t i = 0; !known && i < n_keys; i++)
            known = strcmp(key, keys[i]) == 0;
        if (!known && names_part(key, value) &&
            !append_named(&config->named, key, value, strings, err))
            return false;
    }
    if (json_array_size(extra) == 0 &&
        !append_each(&config->further, older, json_object_get(json, older), strings, err))
        return false;
    return append_each(json_is_object(extra) ? &config->named : &config->further, newer, extra,
                       strings, err);
}

/* A string, or several of which "default" counts: a list of {"name", "template"}, or an object. */
static bool read_chat_template(const json_t *json, char **out, struct rml_error *err)
{
    const json_t *value = json_object_get(json, "chat_template");
    const json_t *chosen = json_is_string(value) ? value : json_object_get(value, "default");
    bool ok = !value || json_is_null(value) || json_is_string(value) || json_is_array(value) ||
              json_is_object(value);
    for (size_t i = 0; ok && i < json_array_size(value); i++) {
        const json_t *item = json_array_get(value, i), *text = json_object_get(item, "template");
        const char *name = json_string_value(json_object_get(item, "name"));
        ok = name && text;
        if (ok && strcmp(name, "default") == 0)
            chosen = text;
    }
    if (!ok || (chosen && !json_is_string(chosen)))
        return rmli_fail(err, RML_FORMAT, NULL, -1,
                         "'chat_template' is no text, expected one, or a list of "
                         "{\"name\", \"template\"}");
    const char *text = json_string_value(chosen);
    if (text)
        *out = rmli_strdup(text, err);
    return !text || *out;
}

bool rmli_tokenizer_config_read(struct rmli_tokenizer_config *config, const char *path,
                                struct rmli_arena *strings, struct rml_error *err)
{
    json_t *json = rmli_json_load_file_in_reals(path, MAX_CONFIG_NBYTES, err);
    if (!json)
        return false;
    struct rml_error inner = RML_ERROR_INIT;
    bool ok = (json_is_object(json) || rmli_fail(&inner, RML_FORMAT, NULL, -1, "not an object")) &&
              read_decoder(&config->added, json_object_get(json, "added_tokens_decoder"), strings,
                           &inner) &&
              read_named(config, json, strings, &inner);
    ok = ok && read_flag(json, "add_bos_token", &config->add_bos, &inner) &&
         read_flag(json, "add_eos_token", &config->add_eos, &inner) &&
         read_special(json, "bos_token", strings, &config->bos, &config->bos_nbytes, &inner) &&
         read_special(json, "eos_token", strings, &config->eos, &config->eos_nbytes, &inner) &&
         read_chat_template(json, &config->chat_template, &inner);
    json_decref(json);
    return ok || rmli_fail(err, inner.code, path, inner.offset, "%s", inner.message);
}

/* chat_template.jinja beside the file, which newer folders have. */
bool rmli_tokenizer_read_template(struct rml_tokenizer *t, const char *path, struct rml_error *err)
{
    const char *slash = strrchr(path, '/'), *name = "chat_template.jinja";
    size_t folder_nbytes = slash ? (size_t)(slash + 1 - path) : 0;
    char *full = malloc(folder_nbytes + strlen(name) + 1);
    if (!full)
        return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for a path");
    memcpy(full, path, folder_nbytes);
    memcpy(full + folder_nbytes, name, strlen(name) + 1);
    struct rmli_mapped_file file;
    bool present = rmli_path_exists(full), ok = !present || rmli_mapped_file_init(&file, full, err);
    if (present && ok) {
        char *text = malloc(file.nbytes + 1);
        if (text) {
            if (file.nbytes > 0)
                memcpy(text, file.data, file.nbytes);
            text[file.nbytes] = 0;
            free(t->chat_template);
            t->chat_template = text;
        } else {
            ok = rmli_fail(err, RML_NO_MEMORY, full, -1, "no memory for the chat template");
        }
        rmli_mapped_file_release(&file);
    }
    free(full);
    return ok;
}

static bool find_special(const struct rml_tokenizer *t, const char *text, size_t nbytes,
                         int32_t *id)
{
    int32_t found = text ? rmli_vocabulary_find_text(&t->vocabulary, text, nbytes) : -1;
    if (found >= 0)
        *id = found;
    return found >= 0;
}

bool rmli_tokenizer_config_apply(struct rmli_tokenizer_config *config, struct rml_tokenizer *t)
{
    /* Without the second file, what the post-processor adds is all that is known. */
    if (!find_special(t, config->bos, config->bos_nbytes, &t->bos) && t->n_prefix > 0 &&
        !config->eos)
        t->bos = t->prefix[0];
    if (!find_special(t, config->eos, config->eos_nbytes, &t->eos) && t->n_suffix > 0 &&
        !config->bos)
        t->eos = t->suffix[t->n_suffix - 1];
    bool has_bos = t->n_prefix > 0 && t->prefix[0] == t->bos;
    bool has_eos = t->n_suffix > 0 && t->suffix[t->n_suffix - 1] == t->eos;
    if (config->add_bos == 1 && t->bos >= 0 && !has_bos && t->n_prefix < RMLI_MAX_AFFIX) {
        memmove(t->prefix + 1, t->prefix, t->n_prefix++ * sizeof *t->prefix);
        t->prefix[0] = t->bos;
    } else if (config->add_bos == 0 && has_bos) {
        memmove(t->prefix, t->prefix + 1, --t->n_prefix * sizeof *t->prefix);
    }
    if (config->add_eos == 1 && t->eos >= 0 && !has_eos && t->n_suffix < RMLI_MAX_AFFIX)
        t->suffix[t->n_suffix++] = t->eos;
    else if (config->add_eos == 0 && has_eos)
        t->n_suffix--;
    t->chat_template = config->chat_template;
    config->chat_template = NULL;
    return true;
}

void rmli_tokenizer_config_release(struct rmli_tokenizer_config *config)
{
    rmli_added_tokens_release(&config->added);
    rmli_added_tokens_release(&config->named);
    rmli_added_tokens_release(&config->further);
    free(config->chat_template);
}
