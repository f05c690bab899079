#include "results/csv_out.h"

#include <stdlib.h>
#include <string.h>

/* A double with the fewest of 15, 16 or 17 digits that read back as it. */
static void exact_real(double x, char text[32])
{
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, 32, "%.*g", digits, x);
        if (strtod(text, NULL) == x)
            break;
    }
    /* A whole number would read back as an integer. */
    if (!text[strcspn(text, ".eni")])
        strcat(text, ".0");
}

static void write_text(FILE *out, const char *text, size_t nbytes)
{
    bool plain = nbytes > 0;
    for (size_t i = 0; i < nbytes; i++)
        plain = plain && text[i] && !strchr(",\"\r\n", text[i]);
    if (plain && text[0] != ' ' && text[nbytes - 1] != ' ') {
        fwrite(text, 1, nbytes, out);
        return;
    }
    fputc('"', out);
    for (size_t i = 0; i < nbytes; i++) {
        if (text[i] == '"')
            fputc('"', out);
        fputc(text[i], out);
    }
    fputc('"', out);
}

static void write_value(FILE *out, sqlite3_stmt *stmt, int column)
{
    char real[32];
    switch (sqlite3_column_type(stmt, column)) {
    case SQLITE_NULL:
        break;
    case SQLITE_INTEGER:
        fprintf(out, "%lld", (long long)sqlite3_column_int64(stmt, column));
        break;
    case SQLITE_FLOAT:
        exact_real(sqlite3_column_double(stmt, column), real);
        fputs(real, out);
        break;
    case SQLITE_BLOB: {
        const unsigned char *bytes = sqlite3_column_blob(stmt, column);
        for (int i = 0; i < sqlite3_column_bytes(stmt, column); i++)
            fprintf(out, "%02x", bytes[i]);
        break;
    }
    default: {
        const char *text = (const char *)sqlite3_column_text(stmt, column);
        write_text(out, text, (size_t)sqlite3_column_bytes(stmt, column));
    }
    }
}

void csv_write_header(FILE *out, sqlite3_stmt *stmt)
{
    for (int i = 0; i < sqlite3_column_count(stmt); i++) {
        const char *name = sqlite3_column_name(stmt, i);
        if (i > 0)
            fputc(',', out);
        write_text(out, name, strlen(name));
    }
    fputs("\r\n", out);
}

void csv_write_row(FILE *out, sqlite3_stmt *stmt)
{
    for (int i = 0; i < sqlite3_column_count(stmt); i++) {
        if (i > 0)
            fputc(',', out);
        write_value(out, stmt, i);
    }
    fputs("\r\n", out);
}
