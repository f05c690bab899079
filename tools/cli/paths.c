/*
 * Where files of the user are.
 */
#include "tools/cli/paths.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/cli/build_info.h"

static char *xdg_path(const char *variable, const char *below_home, const char *name)
{
    char *path = NULL;
    const char *base = getenv(variable);
    if (base && base[0] == '/') {
        if (asprintf(&path, "%s/rml/%s", base, name) < 0)
            return NULL;
        return path;
    }
    const char *home = getenv("HOME");
    if (!home || home[0] != '/' || asprintf(&path, "%s/%s/rml/%s", home, below_home, name) < 0)
        return NULL;
    return path;
}

char *cli_cache_path(const char *name)
{
    return xdg_path("XDG_CACHE_HOME", ".cache", name);
}

char *cli_data_path(const char *name)
{
    return xdg_path("XDG_DATA_HOME", ".local/share", name);
}

/* Makes the folders above `path`; what fails shows when the file is opened. */
static void make_parents(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        mkdir(path, 0700);
        *slash = '/';
    }
}

char *cli_content_hash_cache(void)
{
    char *path = cli_cache_path("content-hashes");
    if (path)
        make_parents(path);
    return path;
}

char *cli_program_folder(void)
{
    char path[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path);
    if (n <= 0 || (size_t)n >= sizeof path)
        return NULL;
    while (n > 1 && path[n - 1] != '/')
        n--;
    return strndup(path, n > 1 ? (size_t)n - 1 : 1);
}

char *cli_temporary_folder(const char *what, struct rml_error *err)
{
    const char *parent = getenv("TMPDIR");
    char *folder = NULL;
    if (asprintf(&folder, "%s/rml-%s-XXXXXX", parent && *parent ? parent : "/tmp", what) < 0) {
        rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for a temporary folder");
        return NULL;
    }
    if (mkdtemp(folder))
        return folder;
    rmli_fail(err, RML_IO, folder, -1, "cannot create a temporary folder: %s", strerror(errno));
    free(folder);
    return NULL;
}

char *cli_path_join(const char *folder, const char *name)
{
    char *path = NULL;
    if (name[0] == '/')
        return strdup(name);
    size_t n = strlen(folder);
    if (asprintf(&path, "%s%s%s", folder, n > 0 && folder[n - 1] == '/' ? "" : "/", name) < 0)
        return NULL;
    return path;
}

static char *if_readable(char *path)
{
    if (path && access(path, R_OK) == 0)
        return path;
    free(path);
    return NULL;
}

char *cli_find_data(const char *in_tree, const char *installed)
{
    /* Seen from build/bin and build/<flags>/bin of a source tree, from PREFIX/bin. */
    static const char *const folders[] = {"../..", "../../..", "../share/rml"};
    char *program = cli_program_folder(), *path = NULL;
    for (size_t i = 0; program && !path && i < sizeof folders / sizeof folders[0]; i++) {
        char *folder = cli_path_join(program, folders[i]);
        if (folder)
            path = if_readable(cli_path_join(folder, i < 2 ? in_tree : installed));
        free(folder);
    }
    free(program);
    return path ? path : if_readable(cli_path_join(build_info.source_dir, in_tree));
}
