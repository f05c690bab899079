/*
 * Normalizers and pre-tokenizers out of tokenizer.json.
 */
#include "text/json_parts.h"

#include "text/unicode.h"

const char *rmli_json_type(const json_t *object)
{
    const char *type = json_string_value(json_object_get(object, "type"));
    return type ? type : "";
}

bool rmli_json_get_flag(const json_t *object, const char *key, bool *out, struct rml_error *err)
{
    const json_t *value = json_object_get(object, key);
    if (!value || json_is_null(value))
        return true;
    if (!json_is_boolean(value))
        return rmli_fail(err, RML_FORMAT, NULL, -1, "'%s' is no boolean", key);
    *out = json_is_true(value);
    return true;
}

bool rmli_json_get_text(const json_t *object, const char *key, const char **out, size_t *nbytes,
                        struct rml_error *err)
{
    const json_t *value = json_object_get(object, key);
    if (!value || json_is_null(value))
        return true;
    if (!json_is_string(value))
        return rmli_fail(err, RML_FORMAT, NULL, -1, "'%s' is no string", key);
    *out = json_string_value(value);
    *nbytes = json_string_length(value);
    return true;
}

static bool refuse_type(const char *what, const json_t *json, struct rml_error *err)
{
    if (!json_is_object(json))
        return rmli_fail(err, RML_FORMAT, NULL, -1, "the %s is no object", what);
    return rmli_fail(err, RML_UNSUPPORTED, NULL, -1, "%s '%s' is not supported", what,
                     rmli_json_type(json));
}

/* Flags that the reference has no default for, and refuses a component without. */
static bool require_flags(const json_t *json, const char *const *keys, size_t n,
                          struct rml_error *err)
{
    for (size_t i = 0; i < n; i++) {
        const json_t *value = json_object_get(json, keys[i]);
        if (!json_is_boolean(value))
            return rmli_fail(err, RML_FORMAT, NULL, -1, "'%s' of '%s' is %s", keys[i],
                             rmli_json_type(json), value ? "no boolean" : "missing");
    }
    return true;
}

/* ByteLevel has the same members in every place, though only the pre-tokenizer heeds them. */
static bool check_bytelevel(const json_t *json, struct rml_error *err)
{
    static const char *const keys[] = {"add_prefix_space", "trim_offsets"};
    const json_t *use_regex = json_object_get(json, "use_regex");
    if (use_regex && !json_is_boolean(use_regex))
        return rmli_fail(err, RML_FORMAT, NULL, -1, "'use_regex' of 'ByteLevel' is no boolean");
    return require_flags(json, keys, 2, err);
}

static bool is_type(const json_t *json, const char *type)
{
    return strcmp(rmli_json_type(json), type) == 0;
}

/* The place of the object's type among n names, or n. */
static size_t type_index(const json_t *json, const char *const *names, size_t n)
{
    size_t i = 0;
    while (i < n && !is_type(json, names[i]))
        i++;
    return i;
}

typedef bool read_part_fn(struct rml_tokenizer *t, const json_t *json, struct rml_error *err);

/* Each part of a Sequence in order; `key` names their list. */
static bool read_sequence(struct rml_tokenizer *t, const json_t *json, const char *key,
                          read_part_fn *read_part, struct rml_error *err)
{
    const json_t *list = json_object_get(json, key);
    if (!json_is_array(list))
        return rmli_fail(err, RML_FORMAT, NULL, -1, "a Sequence has no list '%s'", key);
    for (size_t i = 0; i < json_array_size(list); i++)
        if (json_is_null(json_array_get(list, i)))
            return rmli_fail(err, RML_FORMAT, NULL, -1, "'%s' of a Sequence has a null", key);
        else if (!read_part(t, json_array_get(list, i), err))
            return false;
    return true;
}

/* {"String": ...} or {"Regex": ...} */
static struct rmli_pattern *read_pattern(const json_t *json, struct rml_error *err)
{
    const json_t *pattern = json_object_get(json, "pattern");
    const json_t *literal = json_object_get(pattern, "String");
    const json_t *regex = json_object_get(pattern, "Regex");
    if (json_is_string(literal) == json_is_string(regex) || json_object_size(pattern) != 1) {
        rmli_fail(err, RML_FORMAT, NULL, -1, "'%s' has no pattern, expected a String or a Regex",
                  rmli_json_type(json));
        return NULL;
    }
    if (json_is_string(literal) && json_string_length(literal) > 0)
        return rmli_pattern_literal(json_string_value(literal), json_string_length(literal), err);
    if (!json_is_string(regex))
        regex = literal; /* of nothing: an expression that matches everywhere */
    return rmli_pattern_regex(json_string_value(regex), json_string_length(regex), err);
}

/* ---- Normalizers --------------------------------------------------------------------- */

/* A text that must be there, copied. `what` is the part that needs it. */
static bool read_content(const json_t *json, const char *what, const char *key, char **content,
                         size_t *nbytes, struct rml_error *err)
{
    const char *text = NULL;
    if (!rmli_json_get_text(json, key, &text, nbytes, err))
        return false;
    if (!text)
        return rmli_fail(err, RML_FORMAT, NULL, -1, "%s '%s' has no '%s'", what,
                         rmli_json_type(json), key);
    *content = rmli_copy(text, *nbytes, err);
    return *content != NULL;
}

bool rmli_json_read_normalizer(struct rml_tokenizer *t, const json_t *json, struct rml_error *err)
{
    static const char *const types[] = {[RMLI_NORMALIZE_NFC] = "NFC",
                                        [RMLI_NORMALIZE_NFD] = "NFD",
                                        [RMLI_NORMALIZE_NFKC] = "NFKC",
                                        [RMLI_NORMALIZE_NFKD] = "NFKD",
                                        [RMLI_NORMALIZE_LOWERCASE] = "Lowercase",
                                        [RMLI_NORMALIZE_REPLACE] = "Replace",
                                        [RMLI_NORMALIZE_PREPEND] = "Prepend",
                                        [RMLI_NORMALIZE_STRIP] = "Strip"};
    enum { N_TYPES = sizeof types / sizeof *types };
    if (!json || json_is_null(json))
        return true;
    if (is_type(json, "Sequence"))
        return read_sequence(t, json, "normalizers", rmli_json_read_normalizer, err);
    size_t kind = type_index(json, types, N_TYPES);
    if (kind == N_TYPES)
        return refuse_type("normalizer", json, err);
    struct rmli_normalizer *step =
        rmli_pipeline_add_normalizer(&t->pipeline, (enum rmli_normalizer_kind)kind, err);
    if (!step)
        return false;
    switch (step->kind) {
    case RMLI_NORMALIZE_REPLACE:
        step->pattern = read_pattern(json, err);
        return step->pattern && read_content(json, "normalizer", "content", &step->content,
                                             &step->content_nbytes, err);
    case RMLI_NORMALIZE_PREPEND:
        return read_content(json, "normalizer", "prepend", &step->content, &step->content_nbytes,
                            err);
    case RMLI_NORMALIZE_STRIP:
        return require_flags(json, (const char *const[]){"strip_left", "strip_right"}, 2, err) &&
               rmli_json_get_flag(json, "strip_left", &step->left, err) &&
               rmli_json_get_flag(json, "strip_right", &step->right, err);
    default:
        return true;
    }
}

/* ---- Pre-tokenizers -------------------------------------------------------------------- */

static bool read_behavior(const json_t *json, enum rmli_split_behavior *behavior,
                          struct rml_error *err)
{
    static const char *const names[] = {"Removed", "Isolated", "MergedWithPrevious",
                                        "MergedWithNext", "Contiguous"};
    const char *name = json_string_value(json_object_get(json, "behavior"));
    for (int i = 0; name && i < 5; i++)
        if (strcmp(name, names[i]) == 0) {
            *behavior = (enum rmli_split_behavior)i;
            return true;
        }
    return rmli_fail(err, RML_UNSUPPORTED, NULL, -1, "behavior '%s' is not known",
                     name ? name : "(none)");
}

static bool read_scheme(const json_t *json, enum rmli_prepend_scheme *scheme, struct rml_error *err)
{
    bool prefix = true;
    const json_t *value = json_object_get(json, "prepend_scheme");
    const json_t *split = json_object_get(json, "split");
    const char *name = json_string_value(value);
    *scheme = RMLI_PREPEND_ALWAYS;
    if (value && !name)
        return rmli_fail(err, RML_FORMAT, NULL, -1, "'prepend_scheme' of '%s' is no string",
                         rmli_json_type(json));
    if (split && !json_is_boolean(split) && !json_is_null(split))
        return rmli_fail(err, RML_FORMAT, NULL, -1, "'split' of '%s' is no boolean",
                         rmli_json_type(json));
    if (!rmli_json_get_flag(json, "add_prefix_space", &prefix, err))
        return false;
    if (!name) {
        if (!prefix) /* files from before there were schemes */
            *scheme = RMLI_PREPEND_NEVER;
        return true;
    }
    if (strcmp(name, "first") == 0)
        *scheme = RMLI_PREPEND_FIRST;
    else if (strcmp(name, "never") == 0)
        *scheme = RMLI_PREPEND_NEVER;
    else if (strcmp(name, "always") != 0)
        return rmli_fail(err, RML_UNSUPPORTED, NULL, -1, "prepend_scheme '%s' is not known", name);
    if (!prefix && *scheme != RMLI_PREPEND_NEVER)
        return rmli_fail(err, RML_FORMAT, NULL, -1,
                         "prepend_scheme '%s' of '%s' contradicts its add_prefix_space", name,
                         rmli_json_type(json));
    return true;
}

/* One character, at most 4 bytes. */
static bool read_character(const json_t *json, const char *key, char character[8], size_t *nbytes,
                           struct rml_error *err)
{
    const char *text = "";
    *nbytes = 0;
    if (!rmli_json_get_text(json, key, &text, nbytes, err))
        return false;
    if (*nbytes == 0 || *nbytes != rmli_utf8_length(text[0]))
        return rmli_fail(err, RML_FORMAT, NULL, -1, "'%s' of '%s' is not one character", key,
                         rmli_json_type(json));
    memcpy(character, text, *nbytes);
    return true;
}

static bool read_bytelevel(struct rml_tokenizer *t, const json_t *json, struct rml_error *err)
{
    bool use_regex = true, add_prefix_space = true;
    if (t->pipeline.bytelevel)
        return rmli_fail(err, RML_UNSUPPORTED, NULL, -1, "two pre-tokenizers are ByteLevel");
    t->pipeline.bytelevel = true;
    if (!check_bytelevel(json, err) || !rmli_json_get_flag(json, "use_regex", &use_regex, err) ||
        !rmli_json_get_flag(json, "add_prefix_space", &add_prefix_space, err))
        return false;
    struct rmli_pretokenizer *step =
        rmli_pipeline_add_pretokenizer(&t->pipeline, RMLI_PRETOKENIZE_BYTELEVEL, err);
    if (!step)
        return false;
    step->add_prefix_space = add_prefix_space;
    if (use_regex)
        step->pattern = rmli_pattern_regex(RMLI_PATTERN_GPT2, strlen(RMLI_PATTERN_GPT2), err);
    return !use_regex || step->pattern;
}

static bool read_class(struct rml_tokenizer *t, uint64_t class, enum rmli_split_behavior behavior,
                       struct rml_error *err)
{
    struct rmli_pretokenizer *step =
        rmli_pipeline_add_pretokenizer(&t->pipeline, RMLI_PRETOKENIZE_CLASS, err);
    if (!step)
        return false;
    step->class = class;
    step->behavior = behavior;
    return true;
}

static bool read_one(struct rml_tokenizer *t, const json_t *json, struct rml_error *err)
{
    struct rmli_pretokenizer *step;
    if (is_type(json, "ByteLevel"))
        return read_bytelevel(t, json, err);
    if (is_type(json, "Digits")) {
        bool individual = false;
        return require_flags(json, (const char *const[]){"individual_digits"}, 1, err) &&
               rmli_json_get_flag(json, "individual_digits", &individual, err) &&
               read_class(t, RMLI_UC_NUMERIC,
                          individual ? RMLI_SPLIT_ISOLATED : RMLI_SPLIT_CONTIGUOUS, err);
    }
    if (is_type(json, "WhitespaceSplit"))
        return read_class(t, RMLI_UC_SPACE, RMLI_SPLIT_REMOVED, err);
    if (is_type(json, "Punctuation")) {
        enum rmli_split_behavior behavior = RMLI_SPLIT_ISOLATED;
        return (!json_object_get(json, "behavior") || read_behavior(json, &behavior, err)) &&
               read_class(t, RMLI_UC_PUNCTUATION, behavior, err);
    }
    if (is_type(json, "Whitespace")) {
        step = rmli_pipeline_add_pretokenizer(&t->pipeline, RMLI_PRETOKENIZE_WORDS, err);
        if (!step)
            return false;
        step->behavior = RMLI_SPLIT_REMOVED;
        step->invert = true;
        return true;
    }
    if (is_type(json, "Split")) {
        step = rmli_pipeline_add_pretokenizer(&t->pipeline, RMLI_PRETOKENIZE_PATTERN, err);
        return step && (step->pattern = read_pattern(json, err)) &&
               read_behavior(json, &step->behavior, err) &&
               require_flags(json, (const char *const[]){"invert"}, 1, err) &&
               rmli_json_get_flag(json, "invert", &step->invert, err);
    }
    if (is_type(json, "Metaspace")) {
        if (t->pipeline.bytelevel)
            return rmli_fail(err, RML_UNSUPPORTED, NULL, -1,
                             "pre-tokenizer 'Metaspace' after 'ByteLevel' is not supported");
        step = rmli_pipeline_add_pretokenizer(&t->pipeline, RMLI_PRETOKENIZE_METASPACE, err);
        if (!step)
            return false;
        step->behavior = RMLI_SPLIT_MERGED_WITH_NEXT;
        step->split = true;
        return read_scheme(json, &step->scheme, err) &&
               rmli_json_get_flag(json, "split", &step->split, err) &&
               read_character(json, "replacement", step->replacement, &step->replacement_nbytes,
                              err);
    }
    return refuse_type("pre-tokenizer", json, err);
}

bool rmli_json_read_pretokenizer(struct rml_tokenizer *t, const json_t *json, struct rml_error *err)
{
    if (!json || json_is_null(json))
        return true;
    if (is_type(json, "Sequence"))
        return read_sequence(t, json, "pretokenizers", rmli_json_read_pretokenizer, err);
    return read_one(t, json, err);
}

/* ---- Decoders ----------------------------------------------------------------------------- */

static bool read_count(const json_t *json, const char *key, size_t *out, struct rml_error *err)
{
    const json_t *value = json_object_get(json, key);
    if (!json_is_integer(value) || json_integer_value(value) < 0)
        return rmli_fail(err, RML_FORMAT, NULL, -1, "'%s' of '%s' is no count", key,
                         rmli_json_type(json));
    *out = (size_t)json_integer_value(value);
    return true;
}

bool rmli_json_read_decoder(struct rml_tokenizer *t, const json_t *json, struct rml_error *err)
{
    static const char *const types[] = {
        [RMLI_DECODE_BYTELEVEL] = "ByteLevel", [RMLI_DECODE_METASPACE] = "Metaspace",
        [RMLI_DECODE_REPLACE] = "Replace",     [RMLI_DECODE_BYTE_FALLBACK] = "ByteFallback",
        [RMLI_DECODE_FUSE] = "Fuse",           [RMLI_DECODE_STRIP] = "Strip"};
    enum { N_TYPES = sizeof types / sizeof *types };
    if (!json || json_is_null(json))
        return true;
    if (is_type(json, "Sequence")) {
        t->decoder.present = true;
        return read_sequence(t, json, "decoders", rmli_json_read_decoder, err);
    }
    size_t kind = type_index(json, types, N_TYPES);
    if (kind == N_TYPES)
        return refuse_type("decoder", json, err);
    struct rmli_decoder_step *step =
        rmli_decoder_add(&t->decoder, (enum rmli_decoder_kind)kind, err);
    if (!step)
        return false;
    switch (step->kind) {
    case RMLI_DECODE_BYTELEVEL:
        return check_bytelevel(json, err);
    case RMLI_DECODE_METASPACE:
        return read_scheme(json, &step->scheme, err) &&
               read_character(json, "replacement", step->character, &step->character_nbytes, err);
    case RMLI_DECODE_STRIP:
        return read_character(json, "content", step->character, &step->character_nbytes, err) &&
               read_count(json, "start", &step->start, err) &&
               read_count(json, "stop", &step->stop, err);
    case RMLI_DECODE_REPLACE:
        step->pattern = read_pattern(json, err);
        return step->pattern &&
               read_content(json, "decoder", "content", &step->content, &step->content_nbytes, err);
    default:
        return true;
    }
}

/* ---- Post-processors ------------------------------------------------------------------------ */

/* The ids of a special token of a template. */
static bool template_ids(struct rml_tokenizer *t, const json_t *json, const json_t *piece,
                         int32_t *ids, size_t *n, struct rml_error *err)
{
    const char *name = json_string_value(json_object_get(piece, "id"));
    const json_t *special =
        name ? json_object_get(json_object_get(json, "special_tokens"), name) : NULL;
    const json_t *list = json_object_get(special, "ids");
    if (!json_is_array(list))
        return rmli_fail(err, RML_FORMAT, NULL, -1,
                         "TemplateProcessing names '%s', which is not among its special_tokens",
                         name ? name : "(none)");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *id = json_array_get(list, i);
        if (!json_is_integer(id) || json_integer_value(id) < 0 ||
            (uint64_t)json_integer_value(id) >= t->vocabulary.n)
            return rmli_fail(err, RML_FORMAT, NULL, -1,
                             "special token '%s' has an id outside of the vocabulary", name);
        if (*n == RMLI_MAX_AFFIX)
            return rmli_fail(err, RML_UNSUPPORTED, NULL, -1,
                             "TemplateProcessing adds more than %d tokens", RMLI_MAX_AFFIX);
        ids[(*n)++] = (int32_t)json_integer_value(id);
    }
    return true;
}

static bool is_u32(const json_t *value)
{
    return json_is_integer(value) && json_integer_value(value) >= 0 &&
           json_integer_value(value) <= UINT32_MAX;
}

/* A list of {"Sequence": {"id": "A" or "B", "type_id"}} and {"SpecialToken": {"id", "type_id"}}. */
static bool check_pieces(const json_t *json, const char *key, struct rml_error *err)
{
    const json_t *list = json_object_get(json, key);
    if (!json_is_array(list))
        return rmli_fail(err, RML_FORMAT, NULL, -1, "TemplateProcessing has no list '%s'", key);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *piece = json_array_get(list, i);
        const json_t *sequence = json_object_get(piece, "Sequence");
        const json_t *part = sequence ? sequence : json_object_get(piece, "SpecialToken");
        const char *id = json_string_value(json_object_get(part, "id"));
        if (json_object_size(piece) != 1 || !id || !is_u32(json_object_get(part, "type_id")) ||
            (sequence && strcmp(id, "A") != 0 && strcmp(id, "B") != 0))
            return rmli_fail(err, RML_FORMAT, NULL, -1,
                             "'%s' of TemplateProcessing has a piece that is neither a Sequence "
                             "nor a SpecialToken with 'id' and 'type_id'",
                             key);
    }
    return true;
}

/* "special_tokens": {"<s>": {"id": "<s>", "ids": [1], "tokens": ["<s>"]}} */
static bool check_specials(const json_t *json, struct rml_error *err)
{
    const json_t *tokens = json_object_get(json, "special_tokens");
    const char *name;
    json_t *token;
    bool ok = json_is_object(tokens);
    /* The macro drops const; nothing is changed. */
    json_object_foreach((json_t *)tokens, name, token)
    {
        const json_t *ids = json_object_get(token, "ids");
        const json_t *texts = json_object_get(token, "tokens");
        ok = ok && json_is_string(json_object_get(token, "id")) && json_is_array(ids) &&
             json_is_array(texts);
        for (size_t i = 0; ok && i < json_array_size(ids); i++)
            ok = is_u32(json_array_get(ids, i));
        for (size_t i = 0; ok && i < json_array_size(texts); i++)
            ok = json_is_string(json_array_get(texts, i));
    }
    return ok || rmli_fail(err, RML_FORMAT, NULL, -1,
                           "'special_tokens' of TemplateProcessing is no object of tokens with "
                           "'id', 'ids' and 'tokens'");
}

static bool read_template(struct rml_tokenizer *t, const json_t *json, struct rml_error *err)
{
    const json_t *single = json_object_get(json, "single");
    int32_t prefix[RMLI_MAX_AFFIX], suffix[RMLI_MAX_AFFIX];
    size_t n_prefix = 0, n_suffix = 0, n_texts = 0;
    if (!check_pieces(json, "single", err) || !check_pieces(json, "pair", err) ||
        !check_specials(json, err))
        return false;
    /* The reference (tokenizers 0.23.3) takes what the first has made for a pair of texts, or panics. */
    if (t->n_prefix + t->n_suffix > 0)
        return rmli_fail(err, RML_UNSUPPORTED, NULL, -1,
                         "TemplateProcessing after one that adds tokens is not supported");
    for (size_t i = 0; i < json_array_size(single); i++) {
        const json_t *piece = json_array_get(single, i);
        const json_t *special = json_object_get(piece, "SpecialToken");
        if (special && n_texts == 0) {
            if (!template_ids(t, json, special, prefix, &n_prefix, err))
                return false;
        } else if (special) {
            if (!template_ids(t, json, special, suffix, &n_suffix, err))
                return false;
        } else {
            const char *id =
                json_string_value(json_object_get(json_object_get(piece, "Sequence"), "id"));
            if (!id || strcmp(id, "A") != 0)
                return rmli_fail(err, RML_UNSUPPORTED, NULL, -1,
                                 "TemplateProcessing's 'single' has something other than special "
                                 "tokens and sequence A");
            n_texts++;
        }
    }
    if (n_texts != 1)
        return rmli_fail(err, RML_UNSUPPORTED, NULL, -1,
                         "TemplateProcessing's 'single' has sequence A %zu times, expected once",
                         n_texts);
    memcpy(t->prefix, prefix, n_prefix * sizeof *prefix);
    memcpy(t->suffix, suffix, n_suffix * sizeof *suffix);
    t->n_prefix = n_prefix;
    t->n_suffix = n_suffix;
    return true;
}

bool rmli_json_read_postprocessor(struct rml_tokenizer *t, const json_t *json,
                                  struct rml_error *err)
{
    if (!json || json_is_null(json))
        return true;
    if (is_type(json, "ByteLevel")) /* only moves offsets */
        return check_bytelevel(json, err);
    if (is_type(json, "TemplateProcessing"))
        return read_template(t, json, err);
    if (is_type(json, "Sequence"))
        return read_sequence(t, json, "processors", rmli_json_read_postprocessor, err);
    return refuse_type("post-processor", json, err);
}
