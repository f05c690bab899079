#include "malformed.h"

#include <criterion/criterion.h>
#include <string.h>

#include "files/checkpoint.h"
#include "files/gguf.h"
#include "files/safetensors.h"

bool malformed_open_gguf(const char *path, struct rml_error *err)
{
    struct rmli_gguf *gguf = rmli_gguf_open(path, err);
    rmli_gguf_close(gguf);
    return gguf != NULL;
}

bool malformed_open_safetensors(const char *path, struct rml_error *err)
{
    struct rmli_safetensors *st = rmli_safetensors_open(path, err);
    rmli_safetensors_close(st);
    return st != NULL;
}

bool malformed_open_checkpoint(const char *path, struct rml_error *err)
{
    struct rml_checkpoint *cp = rml_checkpoint_open(path, err);
    rml_checkpoint_close(cp);
    return cp != NULL;
}

/* One line, lower case, no full stop: the rules for all messages. */
static bool is_well_written(const char *message)
{
    size_t n = strlen(message);
    return n > 0 && !(message[0] >= 'A' && message[0] <= 'Z' && message[1] >= 'a') &&
           message[n - 1] != '.' && !strchr(message, '\n');
}

void malformed_check(const struct malformed_case *cases, size_t n, const char *file,
                     const char *opened, malformed_open_fn *open)
{
    static struct script_bytes bytes;
    for (size_t i = 0; i < n; i++) {
        script_assemble(&bytes, cases[i].script);
        temp_write(file, bytes.bytes, bytes.nbytes);
        struct rml_error err = RML_ERROR_INIT;
        bool ok = open(temp_path(opened), &err);
        cr_expect_not(ok, "%s: was opened", cases[i].name);
        cr_expect_eq(err.code, cases[i].code, "%s: code %s (%s)", cases[i].name,
                     rml_code_name(err.code), err.message);
        cr_expect_not_null(strstr(err.message, cases[i].message), "%s: message is '%s'",
                           cases[i].name, err.message);
        cr_expect_str_eq(err.file, temp_path(file), "%s: file '%s'", cases[i].name, err.file);
        cr_expect(is_well_written(err.message), "%s: '%s'", cases[i].name, err.message);
        if (bytes.mark >= 0)
            cr_expect_eq(err.offset, bytes.mark, "%s: offset %lld, expected %lld (%s)",
                         cases[i].name, (long long)err.offset, (long long)bytes.mark, err.message);
    }
}
