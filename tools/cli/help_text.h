/*
 * Texts of --help with their lines broken.
 *
 * argp breaks lines itself, but knows one left margin for a whole text, so that the entries of a list
 * lose their shape. What fits its lines it leaves alone. (Not for the texts of options: glibc 2.36 loses
 * the margin behind a line feed in them where its buffer happens to be full.)
 */
#ifndef TOOLS_CLI_HELP_TEXT_H
#define TOOLS_CLI_HELP_TEXT_H

#include <stddef.h>

#define CLI_HELP_COLUMNS 78 /* below argp's right margin of 79 */

/*
 * The text with lines of at most `width` columns, broken at blanks; the parts of a broken line begin
 * with `indent` blanks. Lines that begin with a blank (lists, examples) are left as they are.
 * To be freed; NULL without memory.
 */
char *cli_help_text(const char *text, size_t width, size_t indent);

#endif
