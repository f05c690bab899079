/* Any bytes as a tokenizer.json; one that opens is used. */
#include <string.h>

#include "text/fuzz/memory_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    static const char text[] =
        "Hello  wor\xffld's\n\n123 <s>caf\xc3\xa9 e\xcc\x81\xe4\xb8\xad \xe2\x96\x81 <mask> ";
    const char *path = memory_file(data, nbytes);
    struct rml_error err = RML_ERROR_INIT;
    struct rml_tokenizer *t = path ? rml_tokenizer_from_json(path, &err) : NULL;
    if (!t) {
        if (err.code == RML_OK || err.code == RML_INTERNAL)
            __builtin_trap();
        return 0;
    }
    use_tokenizer(t, text, sizeof text - 1);
    use_tokenizer(t, (const char *)data, nbytes < 2000 ? nbytes : 2000);
    rml_tokenizer_destroy(t);
    return 0;
}
