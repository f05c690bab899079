/*
 * Text inside XML and HTML, for reports.
 */
#ifndef TOOLS_CLI_XML_TEXT_H
#define TOOLS_CLI_XML_TEXT_H

#include <stdio.h>

/* Writes text as it may stand in an element or a quoted attribute. What is no UTF-8, and control
 * characters but tab and newline, which have no place in XML 1.0, become U+FFFD. */
void cli_put_xml(FILE *out, const char *text);

#endif
