/*
 * The machine: what makes it fast or slow, and a fingerprint of that.
 *
 * Two results compare only when their fingerprints are equal. So it leaves out
 * what jitters on one machine (clock rates, bogomips, the last digits of the
 * memory size) and what does not bear on speed (the name), and only those CPU flags
 * count that name instruction sets, because a new kernel adds others.
 */
#ifndef RESULTS_HOST_H
#define RESULTS_HOST_H

#include <jansson.h>
#include <stdint.h>

#include "results/sha256_hex.h"

/* Text that is not known is "", a number -1. */
struct host_facts {
    char fingerprint[SHA256_HEX_NBYTES];
    char hostname[256];
    char arch[32];
    char cpu_vendor[64];
    char cpu_model[128];
    int64_t family, model, stepping;
    char microcode[32];
    char isa_flags[512];                   /* sorted, separated by blanks */
    int64_t cores, threads;                /* physical cores and processors that are online */
    int64_t l1d_bytes, l2_bytes, l3_bytes; /* of one cache, as cpu0 sees it */
    int64_t mem_bytes;
    int64_t numa_nodes;
    char hypervisor[32]; /* "KVM", "" on bare metal or when it does not say */
};

/* root: "" (results/system_file.h). False only when SHA-256 fails. */
bool host_facts_read(struct host_facts *host, const char *root, struct rml_error *err);

/* An object with a key for each member, null for what is not known; NULL when memory is
 * exhausted. */
json_t *host_facts_json(const struct host_facts *host);

#endif
