/*
 * The build that is running: the binary's hash, and what the Makefile recorded
 * (tools/cli/build_info.h). Programs link the library statically, so the hash
 * names the engine.
 */
#ifndef RESULTS_BUILD_RECORD_H
#define RESULTS_BUILD_RECORD_H

#include <jansson.h>

#include "results/sha256_hex.h"
#include "tools/cli/build_info.h"

struct build_record {
    char binary_sha256[SHA256_HEX_NBYTES];
    const struct build_info *info;
    char libc[64]; /* "glibc 2.36", "" when not known */
};

bool build_record_read(struct build_record *build, struct rml_error *err);

/* As host_facts_json. */
json_t *build_record_json(const struct build_record *build);

#endif
