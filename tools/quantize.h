/* What the parts of rml-quantize share. */
#ifndef TOOLS_QUANTIZE_H
#define TOOLS_QUANTIZE_H

#include <jansson.h>

#include "tools/cli/options.h"

struct quantize_job {
    const char *input, *output;
    enum rml_dtype dtype;
    bool dry_run;
    double seconds; /* of the writing */
};

/* All that is known of a conversion, planned or done, as --json prints it. NULL when out of
 * memory. */
json_t *quantize_document(const struct quantize_job *job, const struct rml_conversion *conversion);

/* The same for people, on standard output; each: every tensor that did not get the type, else
 * their number by length of row. */
void quantize_print(const json_t *document, bool each);

/* The run as a row in the results database, with the models that went in and came out. */
struct quantize_run {
    struct store *store; /* NULL with --no-db */
    int64_t run_id;
};
bool quantize_run_begin(struct quantize_run *run, const struct cli_options *options,
                        struct rml_error *err);
bool quantize_run_add_model(struct quantize_run *run, const struct rml_checkpoint *cp,
                            struct rml_error *err);
/* Returns the exit code of the program, which is CLI_ERROR when the row cannot be finished. */
int quantize_run_end(struct quantize_run *run, int exit_code);

#endif
