/*
 * Small files of /proc and /sys.
 *
 * `root` stands in front of each path: "" on a real machine; tests lay out a
 * machine of their own in a folder.
 */
#ifndef RESULTS_SYSTEM_FILE_H
#define RESULTS_SYSTEM_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The text of a file, malloc'ed, trailing white space cut; NULL with errno when it
 * cannot be read. At most 4 MiB. */
char *system_file_text(const char *root, const char *path);

/* Its first line into `out`, cut to fit; false with errno, and out = "", when it cannot
 * be read. */
bool system_file_line(const char *root, const char *path, char *out, size_t out_nbytes);

/* The decimal number at its start; -1 when it cannot be read or is no number. */
int64_t system_file_number(const char *root, const char *path);

#endif
