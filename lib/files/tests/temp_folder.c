#include "temp_folder.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static char folder[64];

void temp_folder_make(void)
{
    strcpy(folder, "/tmp/rml-files-XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
}

void temp_folder_remove(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    cr_assert_eq(system(command), 0);
}

const char *temp_path(const char *name)
{
    static char paths[4][512];
    static unsigned turn;
    char *path = paths[turn++ % 4];
    snprintf(path, sizeof paths[0], "%s%s%s", folder, *name ? "/" : "", name);
    return path;
}

void temp_write(const char *name, const void *bytes, size_t nbytes)
{
    char path[512];
    snprintf(path, sizeof path, "%s", temp_path(name));
    for (char *p = path + 1; (p = strchr(p, '/')); p++) {
        *p = 0;
        mkdir(path, 0777);
        *p = '/';
    }
    FILE *file = fopen(path, "wb");
    cr_assert_not_null(file, "%s", path);
    cr_assert_eq(fwrite(bytes, 1, nbytes, file), nbytes);
    cr_assert_eq(fclose(file), 0);
}

void temp_write_text(const char *name, const char *text)
{
    temp_write(name, text, strlen(text));
}
