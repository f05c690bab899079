/* Tables of recipes and what they must become, for the tests of both readers. */
#ifndef RML_MODEL_TESTS_RECIPE_CASES_H
#define RML_MODEL_TESTS_RECIPE_CASES_H

#include <jansson.h>

#include "model/model_config.h"

/* A file of lib/model/tests/cases/; the test fails when it cannot be read. The caller
 * gives the reference back with json_decref. */
json_t *load_cases(const char *name);

/* A copy of an object with the keys of the case's "set" set and those of its "drop"
 * dropped; both may be missing. */
json_t *changed_object(const json_t *object, const json_t *a_case);

/* The recipe in the spelling of the tables. */
json_t *show_recipe(const struct rml_model_config *config);

/* Compares the fields that `expected` lists and fails the test for each that differs. */
void expect_recipe(const struct rml_model_config *config, const json_t *expected, const char *name);

#endif
