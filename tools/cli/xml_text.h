/*
 * Text inside XML, for reports that pipelines read.
 */
#ifndef TOOLS_CLI_XML_TEXT_H
#define TOOLS_CLI_XML_TEXT_H

#include <stdio.h>

/* Writes text as it may stand in an element or a double-quoted attribute. Control characters,
 * which have no place in XML 1.0, not even as references, become blanks. */
void cli_put_xml(FILE *out, const char *text);

#endif
