/*
 * Can this machine give a verdict, and what would make it a better one?
 *
 * Facts are collected in doctor.c; here is what follows from them, which needs no machine.
 * Only one thing is a matter of measurement, and it alone decides along with what makes a
 * comparison impossible: whether two copies of the same work, compared as the gate compares
 * (judge.h), come out equal within its bounds. All else explains why not, or is good to know.
 */
#ifndef BENCH_DOCTOR_H
#define BENCH_DOCTOR_H

#include <jansson.h>

#include "bench/judge.h"

enum doctor_state {
    DOCTOR_OK,
    DOCTOR_NOTE, /* does not stand in the way of a verdict */
    DOCTOR_BAD   /* does */
};
const char *doctor_state_name(enum doctor_state state); /* "ok", "note", "bad" */

struct doctor_check {
    const char *name; /* static; snake_case */
    enum doctor_state state;
    char found[256];
    const char *matters; /* static: what it does to measurements */
    const char *change;  /* static: what to do about it; NULL: nothing */
};

#define DOCTOR_MAX_CHECKS 16

struct doctor_facts {
    const json_t *environment; /* store_environment_json */
    unsigned n_threads;        /* that rml uses by default */
    unsigned n_processors;     /* online */

    /* The work of all threads compared with itself. */
    struct judgement arithmetic, reading;
    double spread;      /* of single runs of arithmetic: 95th percentile / median - 1 */
    double steal_share; /* of all processors' time meanwhile; NaN: not known */

    const char *db_path; /* NULL: no results database is wanted */
    char db_error[160];  /* why nothing can be written there; "": it can */
    bool db_on_network;
    const char *valgrind; /* its version; NULL: not found */
};

/* Fills checks[DOCTOR_MAX_CHECKS]; returns their number. */
size_t doctor_examine(const struct doctor_facts *facts, struct doctor_check *checks);

/* False when any is bad. */
bool doctor_is_fit(const struct doctor_check *checks, size_t n);

/* The command. */
int bench_doctor_main(int argc, char **argv);

#endif
