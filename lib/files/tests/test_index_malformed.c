/*
 * Folders whose model.safetensors.index.json is wrong, or does not agree with
 * the shards; and configurations that are no JSON object.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "malformed.h"

/* Two shards: tensors a and b in one.safetensors, c in two.safetensors. */
static void make_model(void)
{
    static struct script_bytes bytes;
    temp_folder_make();
    temp_write_text("m/config.json", "{}");
    script_assemble(&bytes, "j'{`a`:{`dtype`:`F32`,`shape`:[2],`data_offsets`:[0,8]},"
                            "`b`:{`dtype`:`F16`,`shape`:[1],`data_offsets`:[8,10]}}' z:10");
    temp_write("m/one.safetensors", bytes.bytes, bytes.nbytes);
    script_assemble(&bytes, "j'{`c`:{`dtype`:`F32`,`shape`:[2],`data_offsets`:[0,8]}}' z:8");
    temp_write("m/two.safetensors", bytes.bytes, bytes.nbytes);
}

TestSuite(index_malformed, .init = make_model, .fini = temp_folder_remove);

#define AB "`a`:`one.safetensors`,`b`:`one.safetensors`"
#define C ",`c`:`two.safetensors`"
#define PLAIN "expected a plain name of a file in the same folder"

/* Errors about the index itself. */
static const struct malformed_case index_cases[] = {
    {"empty file", "^", RML_FORMAT, "the JSON text ends, expected '{'"},
    {"no object", "^'[]'", RML_FORMAT, "JSON has '[', expected '{'"},
    {"cut", "'{`weight_map`:{" AB "^'", RML_FORMAT, "the JSON text ends, expected ',' or '}'"},
    {"text behind", "'{`weight_map`:{" AB C "}} ^x'", RML_FORMAT, "expected the end"},
    {"no weight map", "'{`metadata`:{`total_size`:18}}'", RML_FORMAT,
     "the index has no 'weight_map'"},
    {"weight map empty", "'{`weight_map`:{}}'", RML_FORMAT, "'weight_map' is empty"},
    {"weight map an array", "'{`weight_map`:^[]}'", RML_FORMAT, "JSON has '[', expected '{'"},
    {"weight map twice", "'{`weight_map`:{" AB "},^`weight_map`:{" AB C "}}'", RML_FORMAT,
     "'weight_map' stands twice"},
    {"metadata broken", "'{`metadata`:{`total_size`:^x},`weight_map`:{" AB C "}}'", RML_FORMAT,
     "JSON has 'x', expected a value"},
    {"metadata with a broken number", "'{`metadata`:{`total_size`:1.^},`weight_map`:{" AB C "}}'",
     RML_FORMAT, "JSON has '}', expected a digit"},
    {"metadata with a broken word", "'{`metadata`:^nul,`weight_map`:{" AB C "}}'", RML_FORMAT,
     "an unknown word, expected null"},
    {"tensor twice", "'{`weight_map`:{" AB C ",^`a`:`two.safetensors`}}'", RML_FORMAT,
     "tensor 'a' stands twice in the index, first at byte 15"},
    {"file a number", "'{`weight_map`:{`a`:^1}}'", RML_FORMAT, "JSON has '1', expected a string"},
    {"file null", "'{`weight_map`:{`a`:^null}}'", RML_FORMAT, "JSON has 'n', expected a string"},
    {"file empty", "'{`weight_map`:{`a`:^``}}'", RML_FORMAT, "the index names the file ''"},
    {"file elsewhere", "'{`weight_map`:{`a`:^`/etc/passwd`}}'", RML_FORMAT, PLAIN},
    {"file in a folder", "'{`weight_map`:{`a`:^`sub/one.safetensors`}}'", RML_FORMAT,
     "the index names the file 'sub/one.safetensors', " PLAIN},
    {"file above", "'{`weight_map`:{`a`:^`../one.safetensors`}}'", RML_FORMAT, PLAIN},
    {"file above, with escapes", "'{`weight_map`:{`a`:^`\\u002e\\u002e\\u002fone.safetensors`}}'",
     RML_FORMAT, "the file '../one.safetensors'"},
    {"file with a backslash", "'{`weight_map`:{`a`:^`sub\\\\one.safetensors`}}'", RML_FORMAT,
     PLAIN},
    {"file ..", "'{`weight_map`:{`a`:^`..`}}'", RML_FORMAT, PLAIN},
    {"file .", "'{`weight_map`:{`a`:^`.`}}'", RML_FORMAT, PLAIN},
    {"file with NUL", "'{`weight_map`:{`a`:^`one.safetensors\\u0000x`}}'", RML_FORMAT, PLAIN},
    {"file with a line end", "'{`weight_map`:{`a`:^`one\\n`}}'", RML_FORMAT, PLAIN},
    {"tensor missing", "'{`weight_map`:{" AB C ",^`d`:`two.safetensors`}}'", RML_FORMAT,
     "tensor 'd' is not in 'two.safetensors', where the index has it"},
    {"tensor with NUL missing", "'{`weight_map`:{" AB C ",^`a\\u0000`:`two.safetensors`}}'",
     RML_FORMAT, "tensor 'a' is not in 'two.safetensors'"},
};

Test(index_malformed, index)
{
    malformed_check(index_cases, sizeof index_cases / sizeof *index_cases,
                    "m/model.safetensors.index.json", "m", malformed_open_checkpoint);
}

/* Errors about another file that a good index brings to light. */
static const struct {
    const char *name, *index, *file, *message;
    enum rml_code code;
} shard_cases[] = {
    {"shard missing", "'{`weight_map`:{" AB ",`c`:`three.safetensors`}}'", "m/three.safetensors",
     "cannot open the file: No such file", RML_NOT_FOUND},
    {"shard is the configuration", "'{`weight_map`:{" AB ",`c`:`config.json`}}'", "m/config.json",
     "too few for the header length", RML_FORMAT},
    {"tensor not in the index", "'{`weight_map`:{`a`:`one.safetensors`" C "}}'",
     "m/one.safetensors", "tensor 'b' is in this file, but not in the index", RML_FORMAT},
    {"tensor in another shard",
     "'{`weight_map`:{`a`:`one.safetensors`,`b`:`two.safetensors`" C "}}'", "m/one.safetensors",
     "tensor 'b' is in this file, but the index has it in 'two.safetensors'", RML_FORMAT},
};

Test(index_malformed, shards)
{
    static struct script_bytes bytes;
    for (size_t i = 0; i < sizeof shard_cases / sizeof shard_cases[0]; i++) {
        script_assemble(&bytes, shard_cases[i].index);
        temp_write("m/model.safetensors.index.json", bytes.bytes, bytes.nbytes);
        struct rml_error err = RML_ERROR_INIT;
        const char *name = shard_cases[i].name;
        cr_expect_not(malformed_open_checkpoint(temp_path("m"), &err), "%s", name);
        cr_expect_eq(err.code, shard_cases[i].code, "%s", name);
        cr_expect_str_eq(err.file, temp_path(shard_cases[i].file), "%s", name);
        cr_expect_not_null(strstr(err.message, shard_cases[i].message), "%s: '%s'", name,
                           err.message);
    }
}

static const struct malformed_case config_cases[] = {
    {"empty file", "", RML_FORMAT, "the file is empty, expected JSON"},
    {"no JSON", "'{model_type'", RML_FORMAT, "not valid JSON"},
    {"an array", "'[]'", RML_FORMAT, "does not hold a JSON object"},
    {"a string", "'`llama`'", RML_FORMAT, "does not hold a JSON object"},
    {"key twice", "'{`a`:1,`a`:2}'", RML_FORMAT, "not valid JSON: duplicate object key"},
    {"cut", "'{`a`:'", RML_FORMAT, "not valid JSON"},
    {"not UTF-8", "'{`a`:`%ff`}'", RML_FORMAT, "not valid JSON: unable to decode byte 0xff"},
    {"number too large", "'{`a`:1e999}'", RML_FORMAT, "real number overflow"},
};

Test(index_malformed, config)
{
    malformed_check(config_cases, sizeof config_cases / sizeof *config_cases, "m/config.json", "m",
                    malformed_open_checkpoint);
}

Test(index_malformed, config_nested_too_deep)
{
    char text[3 * 4000 + 1];
    memset(text, '[', sizeof text - 1);
    text[sizeof text - 1] = 0;
    temp_write_text("m/config.json", text);
    struct rml_error err = RML_ERROR_INIT;
    cr_expect_not(malformed_open_checkpoint(temp_path("m"), &err));
    cr_expect_eq(err.code, RML_FORMAT);
    cr_expect_not_null(strstr(err.message, "maximum parsing depth"), "%s", err.message);
}

Test(index_malformed, index_nested_too_deep)
{
    static char text[200000];
    strcpy(text, "{\"metadata\":");
    memset(text + strlen(text), '[', 150000);
    temp_write_text("m/model.safetensors.index.json", text);
    struct rml_error err = RML_ERROR_INIT;
    cr_expect_not(malformed_open_checkpoint(temp_path("m"), &err));
    cr_expect_eq(err.code, RML_FORMAT);
    cr_expect_eq(err.offset, 12 + 64);
    cr_expect_not_null(strstr(err.message, "nested more than 64 deep"), "%s", err.message);
}
