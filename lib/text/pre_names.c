/*
 * One table of names. A step is a pattern that splits (matches and what is between them
 * stand alone), or a word for one of the other pre-tokenizers:
 *
 *     @digit     each numeric character alone           @digits   runs of them
 *     @punct     runs of punctuation                    @bytes    bytes as characters from here on
 */
#include "text/pre_names.h"

#include <stdio.h>

#include "text/json_parts.h"
#include "text/unicode.h"

#define DIGIT "@digit"
#define GPT2 RMLI_PATTERN_GPT2
#define CJK3 "[\xe4\xb8\x80-\xe9\xbe\xa5\xe3\x81\x80-\xe3\x82\x9f\xe3\x82\xa0-\xe3\x83\xbf]+"
#define CJK_OLD "[\xe4\xb8\x80-\xe9\xbe\xa5\xe0\xa0\x80-\xe4\xb8\x80\xea\xb0\x80-\xed\x9f\xbf]+"
/* The letters of deepseek-llm: cased ones, as code point ranges. */
#define DEEPSEEK_LETTERS                                                                                                                                                                                 \
    "\\s?[A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-"                                                               \
    "ᴫᵫ-ᵷᵹ-ᶚḀ-ἕἘ-Ἕἠ-ὅὈ-Ὅὐ-ὗὙὛὝὟ-ώᾀ-ᾴᾶ-"                                                                                                                     \
    "ᾼιῂ-ῄῆ-ῌῐ-ΐῖ-Ίῠ-Ῥῲ-ῴῶ-ῼℂℇℊ-ℓℕℙ-ℝℤΩℨK-ℭℯ-ℴℹℼ-ℿⅅ-ⅉⅎↃↄⰀ-ⱻⱾ-ⳤⳫ-ⳮⳲⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎꭰ-ꮿﬀ-" \
    "ﬆﬓ-"                                                                                                                                                                                            \
    "ﬗＡ-Ｚａ-ｚ𐐀-𐑏𐒰-𐓓𐓘-𐓻𐲀-𐲲𐳀-𐳲𑢠-𑣟𞤀-𞥃]+"
#define DEEPSEEK3                                                                                  \
    "[!\"#$%&'()*+,\\-./"                                                                          \
    ":;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+"                 \
    "| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+"
#define BLOOM " ?[^(\\s|.,!?…。，、।۔،)]+"
#define QWEN RMLI_PATTERN_QWEN2
#define LLAMA3 RMLI_PATTERN_LLAMA3

static const struct rmli_pre_name names[] = {
    {"default", {"[\\p{P}\\$\\+<=>\\^~\\|]+", GPT2, "\\p{N}+", "[0-9][0-9][0-9]"}, 0, 0, 0},
    {"gpt-2", {GPT2}, 0, 0, 0},
    {"phi-2", {GPT2}, 0, 0, 0},
    {"mpt", {GPT2}, 0, 0, 0},
    {"olmo", {GPT2}, 0, 0, 0},
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
    {"dbrx", {LLAMA3}, 0, 0, 0},
    {"smaug-bpe", {LLAMA3}, 0, 0, 0},
    {"chatglm-bpe", {LLAMA3}, 0, 0, 0},
    {"glm4", {LLAMA3}, 0, 1, 0},
    {"qwen2", {QWEN}, 1, 0, 0},
    {"deepseek-r1-qwen", {QWEN}, 1, 0, 0},
    {"megrez", {QWEN}, 1, 0, 0},
    {"stablelm2", {QWEN}, 1, 0, 0},
    {"hunyuan", {QWEN}, 0, 0, 0},
    {"solar-open", {QWEN}, 0, 0, 0},
    {"grok-2", {QWEN}, 0, 0, 0},
    {"kormo", {QWEN}, 0, 0, 0},
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
    {"deepseek-llm",
     {"[\r\n]", DEEPSEEK_LETTERS, "\\s?[!-/:-~！-／：-～‘-‟　-。]+", "\\s+$", CJK_OLD, DIGIT},
     0,
     0,
     0},
    {"deepseek-coder", {"[\r\n]", "\\s?\\p{L}+", "\\s?\\p{P}+", CJK_OLD, DIGIT}, 0, 0, 0},
    {"deepseek-v3", {"\\p{N}{1,3}", CJK3, DEEPSEEK3}, 0, 0, 0},
    {"hunyuan-dense", {"\\p{N}{1,3}", CJK3, DEEPSEEK3}, 0, 0, 0},
    {"bloom", {BLOOM}, 0, 0, 0},
    {"poro-chat", {BLOOM}, 0, 0, 0},
    {"gpt3-finnish", {BLOOM}, 0, 0, 0},
    {"viking", {BLOOM, "\\p{N}"}, 0, 0, 0},
    {"superbpe", {"\\p{N}+", "(?=(\\d{3})+(?!\\d))"}, 0, 0, 0},
};

const struct rmli_pre_name *rmli_pre_find(const char *name, size_t nbytes)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i].name) == nbytes && memcmp(names[i].name, name, nbytes) == 0)
            return &names[i];
    return NULL;
}

void rmli_pre_list(char *out, size_t out_nbytes)
{
    size_t n = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names && n < out_nbytes; i++)
        n += (size_t)snprintf(out + n, out_nbytes - n, "%s%s", i > 0 ? " " : "", names[i].name);
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
