/*
 * Which database a program uses when it is not told, or not told all.
 */
#include "results/store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tools/cli/output_names.h"
#include "tools/cli/paths.h"

static bool is_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Every folder in front of the last '/' of path. */
static bool make_folders(char *path, struct rml_error *err)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        int rc = mkdir(path, 0777);
        int why = errno;
        if (rc != 0 && !is_folder(path)) {
            rmli_fail(err, RML_IO, path, -1, "cannot create the folder: %s", strerror(why));
            *slash = '/';
            return false;
        }
        *slash = '/';
    }
    return true;
}

static const char *variable(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

static bool copy(char *path, size_t path_nbytes, struct rml_error *err, const char *name)
{
    int n = snprintf(path, path_nbytes, "%s", name);
    if (n < 0 || (size_t)n >= path_nbytes)
        return rmli_fail(err, RML_INVALID_ARGUMENT, name, -1,
                         "name of the results database is too long, at most %zu bytes are allowed",
                         path_nbytes - 1);
    return true;
}

static bool choose(const char *option, char *path, size_t path_nbytes, struct rml_error *err)
{
    if (option && !*option)
        return rmli_fail(err, RML_INVALID_ARGUMENT, NULL, -1,
                         "name of the results database is empty");
    if (option)
        return copy(path, path_nbytes, err, option);
    if (variable("RML_DB"))
        return copy(path, path_nbytes, err, variable("RML_DB"));
    if (is_folder("results"))
        return copy(path, path_nbytes, err, "results/rml.db");

    char *data = cli_data_path("rml.db");
    if (!data)
        return rmli_fail(err, RML_NOT_FOUND, NULL, -1,
                         "no place for the results database: neither --db, RML_DB, a folder "
                         "./results, XDG_DATA_HOME nor a home folder is there");
    bool ok = copy(path, path_nbytes, err, data) && make_folders(path, err);
    free(data);
    return ok;
}

bool store_path(const char *option, char *path, size_t path_nbytes, struct rml_error *err)
{
    return choose(option, path, path_nbytes, err) && cli_input_check(path, err);
}
