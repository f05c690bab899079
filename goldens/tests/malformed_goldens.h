/*
 * Golden and manifest files with one thing wrong each: a good file, a piece of
 * it replaced, and what the error must say.
 */
#ifndef GOLDENS_TESTS_MALFORMED_GOLDENS_H
#define GOLDENS_TESTS_MALFORMED_GOLDENS_H

#include <stddef.h>

struct malformed_file {
    const char *find; /* of the good file; NULL: all of it */
    const char *put;  /* in its place */
    const char *says; /* part of the message */
};

/* About a model of 64 ids, 2 layers and 512 positions. */
extern const char good_golden[];
/* Wrong whatever the model. */
extern const struct malformed_file malformed_goldens[];
extern const size_t n_malformed_goldens;
/* Well-formed, but not about that model. */
extern const struct malformed_file misfit_goldens[];
extern const size_t n_misfit_goldens;

extern const char good_manifest[];
extern const struct malformed_file malformed_manifests[];
extern const size_t n_malformed_manifests;

#endif
