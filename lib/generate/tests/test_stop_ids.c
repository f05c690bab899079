/*
 * Stop ids, from each place that says them. The toy's tokens are <s> 0, </s> 1 (its EOS, in both
 * files), <|im_start|> 2 and <|im_end|> 3; other values are the test's own.
 */
#include <criterion/criterion.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "generate/stop_ids.h"

static const char *source_path(const char *name)
{
    static char path[4096];
    const char *root = getenv("RML_SOURCE_DIR");
    snprintf(path, sizeof path, "%s/goldens/fixtures/llama-text/%s", root ? root : ".", name);
    return path;
}

/* The ids, separated by blanks, or the error's message. */
static const char *ids_of(const char *checkpoint, const char *format)
{
    static char text[1200];
    struct rml_error err = RML_ERROR_INIT;
    struct rml_checkpoint *cp = rml_checkpoint_open(checkpoint, &err);
    struct rml_tokenizer *tokenizer = cp ? rml_tokenizer_from_checkpoint(cp, NULL, &err) : NULL;
    cr_assert(tokenizer, "%s: %s", checkpoint, err.message);
    struct rml_ids ids = {0};
    const struct rml_chat_format *f = format ? rml_chat_format_by_name(format) : NULL;
    if (rml_stop_ids(cp, tokenizer, f, &ids, &err)) {
        size_t n = 0;
        text[0] = 0;
        for (size_t i = 0; i < ids.n; i++)
            n += (size_t)snprintf(text + n, sizeof text - n, "%s%d", i ? " " : "", ids.ids[i]);
    } else {
        cr_expect_eq(ids.n, 0);
        snprintf(text, sizeof text, "%s: %s", strrchr(err.file, '/'), err.message);
    }
    rml_ids_release(&ids);
    rml_tokenizer_destroy(tokenizer);
    rml_checkpoint_close(cp);
    return text;
}

Test(stop_ids, of_a_gguf)
{
    cr_expect_str_eq(ids_of(source_path("model.gguf"), NULL), "1");
    cr_expect_str_eq(ids_of(source_path("model.gguf"), "chatml"), "1 3");
    /* </s> ends a turn there; Llama 3's marker is no token of this vocabulary. */
    cr_expect_str_eq(ids_of(source_path("model.gguf"), "mistral-v1"), "1");
    cr_expect_str_eq(ids_of(source_path("model.gguf"), "llama3"), "1");
}

static char folder[] = "/tmp/rml-stop-XXXXXX";

static void put(const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    cr_assert(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

static void run(const char *format, ...)
{
    char command[8192];
    va_list args;
    va_start(args, format);
    vsnprintf(command, sizeof command, format, args);
    va_end(args);
    cr_assert_eq(system(command), 0, "%s", command);
}

Test(stop_ids, of_a_folder)
{
    cr_assert(mkdtemp(folder));
    run("cp '%s'/* %s", source_path("hf-text"), folder);
    cr_expect_str_eq(ids_of(folder, NULL), "1");
    cr_expect_str_eq(ids_of(folder, "chatml"), "1 3");
    put("generation_config.json", "{\"eos_token_id\": [7, 1, 5, 7]}");
    cr_expect_str_eq(ids_of(folder, NULL), "1 5 7");
    cr_expect_str_eq(ids_of(folder, "chatml"), "1 3 5 7");
    put("generation_config.json", "{\"eos_token_id\": 319}");
    cr_expect_str_eq(ids_of(folder, NULL), "1 319");
    put("generation_config.json", "{\"eos_token_id\": null, \"temperature\": 0.6}");
    cr_expect_str_eq(ids_of(folder, NULL), "1");

    put("generation_config.json", "{\"eos_token_id\": [1, 320]}");
    cr_expect_str_eq(ids_of(folder, NULL),
                     "/generation_config.json: eos_token_id is 320, expected 0 to 319");
    put("generation_config.json", "{\"eos_token_id\": -1}");
    cr_expect_str_eq(ids_of(folder, NULL),
                     "/generation_config.json: eos_token_id is -1, expected 0 to 319");
    put("generation_config.json", "{\"eos_token_id\": \"</s>\"}");
    cr_expect_str_eq(ids_of(folder, NULL), "/generation_config.json: eos_token_id is neither a "
                                           "whole number nor a list of them");
    put("generation_config.json", "{\"eos_token_id\": [1, 2.5]}");
    cr_expect_str_eq(ids_of(folder, NULL), "/generation_config.json: eos_token_id is neither a "
                                           "whole number nor a list of them");
    put("generation_config.json", "{\"eos_token_id\"");
    cr_expect(strstr(ids_of(folder, NULL), "/generation_config.json: not valid JSON"));
    run("rm -r %s", folder);
}
