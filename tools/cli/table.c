/*
 * A table of text with aligned columns. Widths count characters, not bytes.
 */
#include "tools/cli/table.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "tools/cli/exit_codes.h"

struct cli_table {
    size_t n_columns;
    bool *right;            /* [n_columns] aligned right */
    char **cells;           /* [n_cells], the headings first */
    enum cli_color *colors; /* [n_cells] */
    size_t n_cells, n_room;
};

static void *checked(void *memory)
{
    if (!memory) {
        perror("table");
        exit(CLI_ERROR);
    }
    return memory;
}

static void add(struct cli_table *table, char *cell)
{
    if (table->n_cells == table->n_room) {
        table->n_room = table->n_room * 2 + 16;
        table->cells = checked(realloc(table->cells, table->n_room * sizeof *table->cells));
        table->colors = checked(realloc(table->colors, table->n_room * sizeof *table->colors));
    }
    table->colors[table->n_cells] = CLI_PLAIN;
    table->cells[table->n_cells++] = checked(cell);
}

struct cli_table *cli_table_create(const char *headings)
{
    struct cli_table *table = checked(calloc(1, sizeof *table));
    table->right = checked(calloc(strlen(headings) + 1, sizeof *table->right));
    for (const char *p = headings; *p;) {
        table->right[table->n_columns++] = *p == '>';
        size_t n = strcspn(p + 1, "|");
        add(table, strndup(p + 1, n));
        p += 1 + n;
        p += *p == '|';
    }
    return table;
}

void cli_table_destroy(struct cli_table *table)
{
    if (!table)
        return;
    for (size_t i = 0; i < table->n_cells; i++)
        free(table->cells[i]);
    free(table->cells);
    free(table->colors);
    free(table->right);
    free(table);
}

void cli_table_cell(struct cli_table *table, const char *format, ...)
{
    char *cell = NULL;
    va_list args;
    va_start(args, format);
    if (vasprintf(&cell, format, args) < 0)
        cell = NULL;
    va_end(args);
    /* What is shown may come from a hostile file: it does not drive the terminal, or break the
     * line. */
    for (char *p = cell; p && *p; p++)
        if ((unsigned char)*p < ' ' || *p == 0x7f)
            *p = '?';
    add(table, cell);
}

void cli_table_color(struct cli_table *table, enum cli_color color)
{
    table->colors[table->n_cells - 1] = color;
}

static size_t width(const char *text)
{
    size_t n = 0;
    for (; *text; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

void cli_table_print(const struct cli_table *table, FILE *stream)
{
    size_t *widest = checked(calloc(table->n_columns + 1, sizeof *widest));
    for (size_t i = 0; i < table->n_cells; i++) {
        size_t column = i % table->n_columns, n = width(table->cells[i]);
        if (n > widest[column])
            widest[column] = n;
    }
    for (size_t i = 0; i < table->n_cells; i++) {
        size_t column = i % table->n_columns;
        int n_blanks = (int)(widest[column] - width(table->cells[i]));
        bool last = column + 1 == table->n_columns || i + 1 == table->n_cells;
        bool colored = table->colors[i] != CLI_PLAIN;
        const char *color = colored ? cli_color(stream, table->colors[i]) : "";
        const char *plain = colored ? cli_color(stream, CLI_PLAIN) : "";
        if (table->right[column])
            fprintf(stream, "%*s%s%s%s", n_blanks, "", color, table->cells[i], plain);
        else
            fprintf(stream, "%s%s%s%*s", color, table->cells[i], plain, last ? 0 : n_blanks, "");
        fputs(last ? "\n" : "  ", stream);
    }
    free(widest);
}

static void put_markdown_cell(const char *cell, FILE *stream)
{
    fputs(" ", stream);
    for (; *cell; cell++)
        fprintf(stream, *cell == '|' ? "\\%c" : "%c", *cell);
    fputs(" |", stream);
}

void cli_table_print_markdown(const struct cli_table *table, FILE *stream)
{
    for (size_t i = 0; i < table->n_cells; i++) {
        if (i % table->n_columns == 0)
            fputc('|', stream);
        put_markdown_cell(table->cells[i], stream);
        if ((i + 1) % table->n_columns != 0)
            continue;
        fputc('\n', stream);
        if (i + 1 != table->n_columns)
            continue;
        fputc('|', stream);
        for (size_t column = 0; column < table->n_columns; column++)
            fputs(table->right[column] ? " ---: |" : " --- |", stream);
        fputc('\n', stream);
    }
}
