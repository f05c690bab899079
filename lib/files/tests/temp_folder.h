/* A folder for one test, and files in it. Failures end the test. */
#ifndef RML_FILES_TESTS_TEMP_FOLDER_H
#define RML_FILES_TESTS_TEMP_FOLDER_H

#include <stddef.h>

/* For .init and .fini of a test suite. */
void temp_folder_make(void);
void temp_folder_remove(void);

/* "<folder>/<name>", or the folder for "". Four paths stay valid at a time. */
const char *temp_path(const char *name);

/* Writes a file, making the folders on its way. */
void temp_write(const char *name, const void *bytes, size_t nbytes);
void temp_write_text(const char *name, const char *text);

#endif
