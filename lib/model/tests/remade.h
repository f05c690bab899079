/*
 * Checkpoints remade from a fixture with some changes: settings, tensors left
 * out, added, renamed, stacked, stored as another type. For tests that need a
 * file that nobody wrote.
 */
#ifndef RML_MODEL_TESTS_REMADE_H
#define RML_MODEL_TESTS_REMADE_H

#include <jansson.h>

#include "files/checkpoint.h"

/* "llama/model.gguf" -> its path below goldens/fixtures. */
void fixture_path(char *path, size_t nbytes, const char *fixture);

/*
 * Writes the fixture again as DIR/model.gguf or the folder DIR/hf, changed by a case:
 *
 *     "of"       the fixture
 *     "set"      {key: value} of config.json or of GGUF metadata (whole numbers become u32,
 *                others f32, lists arrays of the type of their first element)
 *     "drop"     [key] of the same
 *     "without"  [tensor]
 *     "tensors"  {name: {"dtype": "F32", "shape": [...], "of": [...]}} added or replaced. The
 *                data is that of the tensors in "of", one after another, each a name or
 *                {"tensor": name, "part": i, "parts": n}; without "of" it is zero.
 *
 * and opens it. NULL with *err when it cannot be opened; the test fails when it cannot be
 * written.
 */
struct rml_checkpoint *open_remade(const json_t *a_case, const char *dir, struct rml_error *err);

/* A new folder below /tmp, and its end. */
void make_test_folder(char dir[64]);
void remove_test_folder(const char *dir);

#endif
