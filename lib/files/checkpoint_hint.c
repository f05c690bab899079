/*
 * What one may have meant by a folder that is no checkpoint: the checkpoints in it.
 *
 * A download often leaves the weights one level further down, and a repository of GGUF files
 * has no config.json.
 */
#include "files/checkpoint_private.h"

#include <dirent.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_SHOWN = 3 };

static bool matches(const char *pattern, const char *name)
{
    return fnmatch(pattern, name, 0) == 0;
}

static bool is_first_or_only_part(const char *name)
{
    return !matches("*-[0-9][0-9][0-9][0-9][0-9]-of-[0-9][0-9][0-9][0-9][0-9].gguf", name) ||
           matches("*-00001-of-*", name);
}

static bool is_checkpoint(int folder, const char *name)
{
    char config[NAME_MAX + sizeof "/config.json"];
    if (name[0] == '.')
        return false;
    if (matches("*.gguf", name))
        return is_first_or_only_part(name);
    snprintf(config, sizeof config, "%.*s/config.json", NAME_MAX, name);
    return faccessat(folder, config, F_OK, 0) == 0;
}

bool rmli_checkpoint_hint(const char *path, char *out, size_t out_nbytes)
{
    struct dirent **entries;
    int n = scandir(path, &entries, NULL, alphasort), n_found = 0;
    DIR *folder = n >= 0 ? opendir(path) : NULL;
    size_t nbytes = 0;
    for (int i = 0; i < n; i++) {
        const char *name = entries[i]->d_name;
        if (folder && is_checkpoint(dirfd(folder), name) && n_found++ < MAX_SHOWN &&
            nbytes < out_nbytes)
            nbytes += (size_t)snprintf(out + nbytes, out_nbytes - nbytes, "%s'%.60s'",
                                       nbytes > 0 ? ", " : "", name);
        free(entries[i]);
    }
    if (n >= 0)
        free(entries);
    if (folder)
        closedir(folder);
    if (n_found > MAX_SHOWN && nbytes < out_nbytes)
        snprintf(out + nbytes, out_nbytes - nbytes, " and %d more", n_found - MAX_SHOWN);
    return n_found > 0;
}
