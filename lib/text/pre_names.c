/*
 * One table of names. A step is a pattern that splits (matches and what is between them
 * stand alone), or a word for one of the other pre-tokenizers:
 *
 *     @digit     each numeric character alone           @digits   runs of them
 *     @punct     runs of punctuation                    @bytes    bytes as characters from here on
 */
#include "text/pre_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/json_parts.h"
#include "text/unicode.h"

#define DIGIT "@digit"
#define GPT2 RMLI_PATTERN_GPT2
#define CJK3 "[\\u4e00-\\u9fa5\\u3040-\\u309f\\u30a0-\\u30ff]+"
#define CJK_OLD "[\\u4e00-\\u9fa5\\u0800-\\u4e00\\uac00-\\ud7ff]+"
/* The cased letters and the punctuation of deepseek-llm. */
#define DEEPSEEK_LETTERS                                                                           \
    "\\s?[A-Za-z\\u00b5\\u00c0-\\u00d6\\u00d8-\\u00f6\\u00f8-\\u01ba\\u01bc-\\u01bf\\u01c4-"       \
    "\\u0293\\u0295-\\u02af\\u0370-\\u0373\\u0376\\u0377\\u037b-\\u037d\\u037f\\u0386\\u0388-"     \
    "\\u038a\\u038c\\u038e-\\u03a1\\u03a3-\\u03f5\\u03f7-\\u0481\\u048a-\\u052f\\u0531-"           \
    "\\u0556\\u10a0-\\u10c5\\u13a0-\\u13f5\\u13f8-\\u13fd\\u1c90-\\u1cba\\u1cbd-\\u1cbf"           \
    "\\u1d00-\\u1d2b\\u1d6b-\\u1d77\\u1d79-\\u1d9a\\u1e00-\\u1f15\\u1f18-\\u1f1d\\u1f20-"          \
    "\\u1f45\\u1f48-\\u1f4d\\u1f50-\\u1f57\\u1f59\\u1f5b\\u1f5d\\u1f5f-\\u1f7d\\u1f80-\\u1fb4"     \
    "\\u1fb6-\\u1fbc\\u1fbe\\u1fc2-\\u1fc4\\u1fc6-\\u1fcc\\u1fd0-\\u1fd3\\u1fd6-\\u1fdb"           \
    "\\u1fe0-\\u1fec\\u1ff2-\\u1ff4\\u1ff6-\\u1ffc\\u2102\\u2107\\u210a-\\u2113\\u2115\\u2119"     \
    "-\\u211d\\u2124\\u2126\\u2128\\u212a-\\u212d\\u212f-\\u2134\\u2139\\u213c-\\u213f\\u2145"     \
    "-\\u2149\\u214e\\u2183\\u2184\\u2c00-\\u2c7b\\u2c7e-\\u2ce4\\u2ceb-\\u2cee\\u2cf2\\u2cf3"     \
    "\\ua640-\\ua66d\\ua680-\\ua69b\\ua722-\\ua76f\\ua771-\\ua787\\ua78b-\\ua78e\\uab70-"          \
    "\\uabbf\\ufb00-\\ufb06\\ufb13-\\ufb17\\uff21-\\uff3a\\uff41-\\uff5a\\x{10400}-\\x{1044f}"     \
    "\\x{104b0}-\\x{104d3}\\x{104d8}-\\x{104fb}\\x{10c80}-\\x{10cb2}\\x{10cc0}-\\x{10cf2}"         \
    "\\x{118a0}-\\x{118df}\\x{1e900}-\\x{1e943}]+"
#define DEEPSEEK_PUNCTUATION                                                                       \
    "\\s?[!-/:-~\\uff01-\\uff0f\\uff1a-\\uff5e\\u2018-\\u201f\\u3000-\\u3002]+"
#define DEEPSEEK3                                                                                  \
    "[!\"#$%&'()*+,\\-./"                                                                          \
    ":;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+"                 \
    "| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+"
#define BLOOM " ?[^(\\s|.,!?\\u2026\\u3002\\uff0c\\u3001\\u0964\\u06d4\\u060c)]+"
#define DEEPSEEK3_STEPS "\\p{N}{1,3}", CJK3, DEEPSEEK3
#define SPARK                                                                                      \
    "[!\"#$%&'()*+,\\-./"                                                                          \
    ":;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+"                 \
    "| ?[\\p{P}\\p{S}]+|[\r\n]|\\s+(?!\\S)|\\s+"
#define SEED_CODER                                                                                 \
    RMLI_PATTERN_CONTRACTION "|[^\r\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1}"                              \
                             "| ?[^\\s\\p{L}\\p{N}\r\n]+|\\s*[\r\n]+|\\s+(?!\\S)|\\s+"
#define YOUTU_SCRIPTS                                                                              \
    "[\\uac00-\\ud7a3\\u3131-\\u318e]+"                                                            \
    "|[\\uff01\\u2026\\u201c\\u201d\\u2018\\u2019\\u2014\\uff1a\\uff1b\\uff0c\\u3001-"             \
    "\\u303f\\ufe30-\\ufe4f]+|[\\u3105-\\u312f]+|" CJK3
/* Kimi K2 tells Han from other letters; its words are cased as in o200k. */
#define KIMI_UPPER "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}&&[^\\p{Han}]]"
#define KIMI_LOWER "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}&&[^\\p{Han}]]"
#define KIMI                                                                                       \
    "[\\p{Han}]+|[^\\r\\n\\p{L}\\p{N}]?" KIMI_UPPER "*" KIMI_LOWER "+" RMLI_PATTERN_CONTRACTION    \
    "?|[^\\r\\n\\p{L}\\p{N}]?" KIMI_UPPER "+" KIMI_LOWER "*" RMLI_PATTERN_CONTRACTION              \
    "?|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*" RMLI_PATTERN_SPACES
#define QWEN RMLI_PATTERN_QWEN2
#define LLAMA3 RMLI_PATTERN_LLAMA3

static const struct rmli_pre_name names[] = {
    {"default", {"[\\p{P}\\$\\+<=>\\^~\\|]+", GPT2, "\\p{N}+", "[0-9][0-9][0-9]"}, 0, 0, 0},
    {"gpt-2", {GPT2}, 0, 0, 0},
    {"phi-2", {GPT2}, 0, 0, 0},
    {"olmo", {GPT2}, 1, 0, 0},
    {"mpt", {GPT2}, 1, 0, 0},
    {"jais", {GPT2}, 0, 0, 0},
    {"trillion", {GPT2}, 0, 0, 0},
    {"granite-docling", {GPT2}, 0, 0, 0},
    {"gigachat", {GPT2}, 0, 0, 0},
    {"mellum", {GPT2}, 0, 0, 0},
    {"exaone4", {GPT2}, 0, 0, 0},
    {"a.x-4.0", {GPT2}, 0, 0, 0},
    {"modern-bert", {GPT2}, 0, 0, 0},
    {"jina-es", {GPT2}, 0, 0, 0},
    {"jina-de", {GPT2}, 0, 0, 0},
    {"jina-v2-es", {GPT2}, 0, 0, 0},
    {"jina-v2-de", {GPT2}, 0, 0, 0},
    {"smollm", {DIGIT, GPT2}, 0, 0, 0},
    {"starcoder", {DIGIT, GPT2}, 0, 0, 0},
    {"refact", {DIGIT, GPT2}, 0, 0, 0},
    {"command-r", {DIGIT, GPT2}, 1, 0, 0},
    {"codeshell", {DIGIT, GPT2}, 0, 0, 0},
    {"exaone", {DIGIT, GPT2}, 0, 0, 0},
    {"minerva-7b", {DIGIT, GPT2}, 0, 0, 0},
    {"mellum2", {DIGIT, GPT2}, 0, 0, 0},
    {"falcon", {"@punct", GPT2, "@bytes", "@digits", "[0-9][0-9][0-9]"}, 0, 0, 0},
    {"llama-bpe", {LLAMA3}, 0, 1, 1},
    {"llama3", {LLAMA3}, 0, 1, 1},
    {"llama-v3", {LLAMA3}, 0, 1, 1},
    {"falcon3", {LLAMA3}, 0, 1, 1},
    {"falcon-h1", {LLAMA3}, 0, 1, 1},
    {"pixtral", {LLAMA3}, 0, 1, 1},
    {"midm-2.0", {LLAMA3}, 0, 1, 1},
    {"lfm2", {LLAMA3}, 0, 1, 1},
    {"jina-v5-nano", {LLAMA3}, 0, 1, 1},
    {"dbrx", {LLAMA3}, 0, 0, 0},
    {"smaug-bpe", {LLAMA3}, 0, 0, 0},
    {"chatglm-bpe", {LLAMA3}, 0, 0, 0},
    {"glm4", {LLAMA3}, 0, 1, 0},
    {"glm5", {LLAMA3}, 0, 1, 0},
    {"jais-2", {RMLI_PATTERN_JAIS2}, 0, 0, 0},
    {"qwen2", {QWEN}, 1, 0, 0},
    {"deepseek-r1-qwen", {QWEN}, 1, 0, 0},
    {"megrez", {QWEN}, 1, 0, 0},
    {"f2llmv2", {QWEN}, 1, 0, 0},
    {"stablelm2", {QWEN}, 1, 0, 0},
    {"hunyuan", {QWEN}, 0, 0, 0},
    {"solar-open", {QWEN}, 0, 0, 0},
    {"grok-2", {QWEN}, 0, 0, 0},
    {"kormo", {QWEN}, 0, 0, 0},
    {"laguna", {"[^\\n]+|[\\n]+", QWEN}, 0, 0, 0},
    {"ufakzeka", {RMLI_PATTERN_UFAKZEKA}, 0, 0, 0},
    {"seed-coder", {SEED_CODER}, 0, 0, 0},
    {"exaone-moe", {RMLI_PATTERN_EXAONE_MOE}, 0, 0, 0},
    {"qwen35", {RMLI_PATTERN_QWEN35}, 1, 0, 0},
    {"minicpm5", {"\\p{N}{1,3}", RMLI_PATTERN_MINICPM}, 0, 1, 0},
    {"bailingmoe", {RMLI_PATTERN_BAILING}, 0, 0, 0},
    {"bailingmoe2", {RMLI_PATTERN_BAILING}, 0, 0, 0},
    {"llada-moe", {RMLI_PATTERN_BAILING}, 0, 0, 0},
    {"tekken", {RMLI_PATTERN_TEKKEN}, 0, 1, 1},
    {"gpt-4o", {RMLI_PATTERN_O200K}, 0, 0, 0},
    {"llama4", {RMLI_PATTERN_O200K}, 0, 0, 0},
    {"kanana2", {RMLI_PATTERN_O200K}, 0, 0, 0},
    {"minimax-m2", {RMLI_PATTERN_O200K}, 0, 0, 0},
    {"talkie", {RMLI_PATTERN_O200K}, 0, 0, 0},
    {"granite-embed-multi-97m", {RMLI_PATTERN_O200K}, 0, 1, 0},
    {"tiny_aya", {RMLI_PATTERN_THREES, RMLI_PATTERN_O200K}, 0, 0, 0},
    {"cohere2moe", {RMLI_PATTERN_THREES, RMLI_PATTERN_O200K}, 0, 0, 0},
    {"youtu", {YOUTU_SCRIPTS, RMLI_PATTERN_O200K_DIGIT}, 0, 1, 0},
    {"kimi-k2", {KIMI}, 0, 0, 0},
    {"deepseek-llm",
     {"[\r\n]", DEEPSEEK_LETTERS, DEEPSEEK_PUNCTUATION, "\\s+$", CJK_OLD, DIGIT},
     0,
     0,
     0},
    {"deepseek-coder", {"[\r\n]", "\\s?\\p{L}+", "\\s?\\p{P}+", CJK_OLD, DIGIT}, 0, 0, 0},
    {"deepseek-v3", {DEEPSEEK3_STEPS}, 0, 0, 0},
    {"hunyuan-dense", {DEEPSEEK3_STEPS}, 0, 0, 0},
    {"joyai-llm", {DEEPSEEK3_STEPS}, 0, 0, 0},
    {"hy_v4", {DEEPSEEK3_STEPS}, 0, 0, 0},
    {"spark2_5", {"\\p{N}{1,3}", CJK3, SPARK, "\\p{N}"}, 0, 0, 0},
    {"chameleon",
     {"<sentinel:[0-9]+>", "(IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z", "([\\t\\n]|    |  )", "\\p{N}",
      "[\\p{P}!-/:-@\\[-`{-~]", GPT2},
     0,
     0,
     1},
    {"bloom", {BLOOM}, 0, 0, 0},
    {"poro-chat", {BLOOM}, 0, 0, 0},
    {"gpt3-finnish", {BLOOM}, 0, 0, 0},
    {"viking", {BLOOM, "\\p{N}"}, 0, 0, 0},
    {"superbpe", {"\\p{N}+", RMLI_PATTERN_BEFORE_THREES}, 0, 0, 0},
};

const struct rmli_pre_name *rmli_pre_find(const char *name, size_t nbytes)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i].name) == nbytes && memcmp(names[i].name, name, nbytes) == 0)
            return &names[i];
    return NULL;
}

const char *rmli_pre_refusal(const char *name, size_t nbytes)
{
    static const struct {
        const char *name, *why;
    } refused[] = {
        {"gemma4", "it merges characters, not bytes"},
        {"granite-embed-multi-311m", "it merges characters, not bytes"},
        {"sarvam-moe", "it merges characters, not bytes"},
        {"whitespace", "it merges characters, not bytes"},
        {"jina-v1-en", "it ends texts with an encoder's separator"},
        {"jina-v2-code", "it ends texts with an encoder's separator"},
        {"roberta-bpe", "it ends texts with an encoder's separator"},
        {"afmoe", "it groups digits by a rule that no expression here has"},
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (strlen(refused[i].name) == nbytes && memcmp(refused[i].name, name, nbytes) == 0)
            return refused[i].why;
    return NULL;
}

void rmli_pre_list(char *out, size_t out_nbytes)
{
    size_t n = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names && n < out_nbytes; i++)
        n += (size_t)snprintf(out + n, out_nbytes - n, "%s%s", i > 0 ? " " : "", names[i].name);
}

const struct rmli_pre_name *rmli_pre_require(const char *name, size_t nbytes, const char *file,
                                             struct rml_error *err)
{
    const struct rmli_pre_name *found = rmli_pre_find(name, nbytes);
    const char *why = found ? NULL : rmli_pre_refusal(name, nbytes);
    int shown = nbytes < 60 ? (int)nbytes : 60;
    if (why) {
        rmli_fail(err, RML_UNSUPPORTED, file, -1, "pre-tokenizer '%.*s' is not supported: %s",
                  shown, name, why);
    } else if (!found) {
        char known[1024];
        rmli_pre_list(known, sizeof known);
        rmli_fail(err, RML_UNSUPPORTED, file, -1,
                  "pre-tokenizer '%.*s' is not known, expected one of: %s", shown, name, known);
    }
    return found;
}

bool rmli_pre_may_choose(const char *name, const char *model, size_t model_nbytes, const char *file,
                         struct rml_error *err)
{
    if (!rmli_pre_require(name, strlen(name), file, err))
        return false;
    return (model_nbytes == 4 && memcmp(model, "gpt2", 4) == 0) ||
           rmli_fail(err, RML_INVALID_ARGUMENT, file, -1,
                     "the vocabulary is of the kind '%.*s', which has no pre-tokenizer; one can "
                     "only be chosen for byte-level BPE ('gpt2')",
                     model_nbytes < 60 ? (int)model_nbytes : 60, model);
}

bool rmli_pre_apply(const struct rmli_pre_name *pre, struct rmli_pipeline *pipeline,
                    struct rml_error *err)
{
    if (pre->nfc && !rmli_pipeline_add_normalizer(pipeline, RMLI_NORMALIZE_NFC, err))
        return false;
    for (size_t i = 0; i < 8 && pre->steps[i]; i++) {
        const char *text = pre->steps[i];
        bool is_class = strcmp(text, "@digit") == 0 || strcmp(text, "@digits") == 0 ||
                        strcmp(text, "@punct") == 0;
        enum rmli_pretokenizer_kind kind = strcmp(text, "@bytes") == 0 ? RMLI_PRETOKENIZE_BYTELEVEL
                                           : is_class                  ? RMLI_PRETOKENIZE_CLASS
                                                                       : RMLI_PRETOKENIZE_PATTERN;
        struct rmli_pretokenizer *step = rmli_pipeline_add_pretokenizer(pipeline, kind, err);
        if (!step)
            return false;
        if (is_class) {
            step->class = text[1] == 'd' ? RMLI_UC_NUMERIC : RMLI_UC_PUNCTUATION;
            step->behavior =
                text[6] == 0 && text[1] == 'd' ? RMLI_SPLIT_ISOLATED : RMLI_SPLIT_CONTIGUOUS;
        } else if (kind == RMLI_PRETOKENIZE_PATTERN) {
            step->pattern = rmli_pattern_regex(text, strlen(text), err);
            if (!step->pattern)
                return false;
        }
    }
    pipeline->bytelevel = true;
    return true;
}

/* ---- The other way round ------------------------------------------------------------ */

/*
 * A pipeline as the list of its cuts. The same cut can be written in several ways: GPT-2's
 * expression is that of ByteLevel itself, unless use_regex is off; a class of digits is a
 * step of its own or an expression; matches are isolated, or everything but them removed, which is
 * the same for an expression that matches everything. False for a cut that no name has.
 */
static bool describe_step(const struct rmli_pretokenizer *p, const char **cut)
{
    *cut = NULL;
    if (p->kind == RMLI_PRETOKENIZE_BYTELEVEL) {
        if (p->add_prefix_space)
            return false;
        *cut = p->pattern ? GPT2 : NULL;
        return true;
    }
    if (p->kind == RMLI_PRETOKENIZE_CLASS) {
        bool isolated = p->behavior == RMLI_SPLIT_ISOLATED;
        if (p->class == RMLI_UC_NUMERIC)
            *cut = isolated ? DIGIT : "@digits";
        else if (p->class == RMLI_UC_PUNCTUATION && p->behavior == RMLI_SPLIT_CONTIGUOUS)
            *cut = "@punct";
        return *cut != NULL;
    }
    if (p->kind != RMLI_PRETOKENIZE_PATTERN || !p->pattern)
        return false;
    *cut = rmli_pattern_source(p->pattern);
    bool covers =
        p->behavior == RMLI_SPLIT_REMOVED && p->invert && rmli_pattern_matcher(p->pattern);
    return *cut && (covers || (p->behavior == RMLI_SPLIT_ISOLATED && !p->invert));
}

/* The next character of an expression, however it is written: files have "[\u4e00-\u9fa5]" and the
 * characters themselves, "\r" and a carriage return. Any other escape stands for itself. */
static uint32_t next_character(const char **at)
{
    enum { ESCAPED = 1 << 30 };
    const char *p = *at;
    size_t length;
    if (*p != '\\') {
        uint32_t c = rmli_utf8_decode(p, &length);
        *at = p + length;
        return c;
    }
    *at = p + 2;
    switch (p[1]) {
    case 'r':
        return '\r';
    case 'n':
        return '\n';
    case 't':
        return '\t';
    case 'u':
    case 'x': {
        char digits[8] = "", *end;
        const char *first = p[2] == '{' ? p + 3 : p + 2;
        size_t n = strspn(first, "0123456789abcdefABCDEF"), most = p[1] == 'u' ? 4 : 2;
        n = p[2] == '{' ? n : n < most ? n : most;
        if (n == 0 || n >= sizeof digits || (p[2] == '{' && first[n] != '}'))
            break;
        memcpy(digits, first, n);
        unsigned long c = strtoul(digits, &end, 16);
        *at = first + n + (p[2] == '{');
        return c < 0x80 ? (uint32_t)c | ESCAPED : (uint32_t)c;
    }
    case 0:
        *at = p + 1;
        return ESCAPED;
    default:
        break;
    }
    uint32_t c = rmli_utf8_decode(p + 1, &length);
    *at = p + 1 + length;
    return c | ESCAPED;
}

static bool is_same_expression(const char *a, const char *b)
{
    while (*a && *b)
        if (next_character(&a) != next_character(&b))
            return false;
    return *a == *b;
}

static bool has_steps(const struct rmli_pre_name *name, const char *const *cuts, size_t n)
{
    size_t i = 0;
    for (size_t k = 0; k < 8 && name->steps[k]; k++) {
        if (strcmp(name->steps[k], "@bytes") == 0)
            continue;
        if (i == n || !is_same_expression(name->steps[k], cuts[i]))
            return false;
        i++;
    }
    return i == n;
}

const struct rmli_pre_name *rmli_pre_identify(const struct rmli_pipeline *pipeline)
{
    const char *cuts[RMLI_MAX_STEPS];
    size_t n = 0;
    bool nfc = pipeline->n_normalizers == 1 && pipeline->normalizers[0].kind == RMLI_NORMALIZE_NFC;
    if (!pipeline->bytelevel || (pipeline->n_normalizers > 0 && !nfc))
        return NULL;
    for (size_t i = 0; i < pipeline->n_pretokenizers; i++) {
        const char *cut;
        if (!describe_step(&pipeline->pretokenizers[i], &cut))
            return NULL;
        if (cut)
            cuts[n++] = cut;
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].nfc == nfc && names[i].ignore_merges == pipeline->bpe.ignore_merges &&
            has_steps(&names[i], cuts, n))
            return &names[i];
    return NULL;
}
