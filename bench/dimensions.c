#include "bench/dimensions.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "tools/cli/exit_codes.h"
#include "tools/cli/parse.h"

void bench_arg_numbers(struct argp_state *state, const char *option, const char *text, uint64_t min,
                       uint64_t max, struct bench_numbers *list)
{
    free(list->values);
    list->n = cli_arg_u64_list(state, option, text, min, max, &list->values);
    for (size_t i = 0; i < list->n; i++)
        for (size_t j = 0; j < i; j++)
            if (list->values[j] == list->values[i])
                argp_error(state, "%s: %" PRIu64 " found twice", option, list->values[i]);
}

void bench_arg_kvs(struct argp_state *state, const char *text, struct bench_kvs *list)
{
    char **words;
    size_t n = cli_arg_words(state, "--kv", text, &words);
    free(list->values);
    list->values = malloc(n * sizeof *list->values);
    if (!list->values)
        argp_failure(state, CLI_ERROR, ENOMEM, "--kv");
    list->n = n;
    for (size_t i = 0; i < n; i++) {
        struct bench_kv *kv = &list->values[i];
        cli_arg_kv(state, "--kv", words[i], &kv->k, &kv->v);
        for (size_t j = 0; j < i; j++)
            if (list->values[j].k == kv->k && list->values[j].v == kv->v)
                argp_error(state, "--kv: '%s' found twice", words[i]);
    }
    free(words);
}
