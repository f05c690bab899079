/* Columns line up, also where names are not ASCII. */
#include "tools/cli/table.h"

#include <criterion/criterion.h>
#include <stdlib.h>

Test(table, columns_line_up)
{
    struct cli_table *table = cli_table_create("<name|>value|<verdict");
    static const char *const names[] = {"a", "na\xc3\xafve", "long name"};
    for (int i = 0; i < 3; i++) {
        cli_table_cell(table, "%s", names[i]);
        cli_table_cell(table, "%d", i == 1 ? 123456 : i);
        cli_table_cell(table, "%s", i == 2 ? "a longer verdict" : "ok");
    }
    char *text = NULL;
    size_t n = 0;
    FILE *stream = open_memstream(&text, &n);
    cli_table_print(table, stream);
    fclose(stream);
    cli_table_destroy(table);
    cr_expect_str_eq(text, "name        value  verdict\n"
                           "a               0  ok\n"
                           "na\xc3\xafve      123456  ok\n"
                           "long name       2  a longer verdict\n");
    free(text);
}

Test(table, cells_cannot_drive_a_terminal)
{
    struct cli_table *table = cli_table_create("<name");
    cli_table_cell(table, "a\033[2Jb\nc\177");
    char *text = NULL;
    size_t n = 0;
    FILE *stream = open_memstream(&text, &n);
    cli_table_print(table, stream);
    fclose(stream);
    cli_table_destroy(table);
    cr_expect_str_eq(text, "name\na?[2Jb?c?\n");
    free(text);
}
