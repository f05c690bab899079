/* Any bytes as a GGUF; a vocabulary that opens is used. */
#include "text/fuzz/memory_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    static const char text[] =
        "Hello  wor\xffld's\n\n123 <s>caf\xc3\xa9 \xe4\xb8\xad \xe2\x96\x81 </s> ";
    static const char *const names[] = {NULL, "llama-bpe", "falcon", "deepseek-llm"};
    const char *path = memory_file(data, nbytes);
    struct rml_checkpoint *cp = path ? rml_checkpoint_open(path, NULL) : NULL;
    if (!cp)
        return 0;
    /* The last byte also chooses the pre-tokenizer. */
    const char *pre = names[nbytes > 0 ? data[nbytes - 1] & 3 : 0];
    struct rml_error err = RML_ERROR_INIT;
    struct rml_tokenizer *t = rml_tokenizer_from_checkpoint(cp, pre, &err);
    rml_checkpoint_close(cp);
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
