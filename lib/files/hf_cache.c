/*
 * The local Hugging Face cache, laid out as huggingface_hub does:
 *
 *     HUB/models--owner--name/refs/main              the commit, in hex
 *     HUB/models--owner--name/snapshots/COMMIT/...   links to the files
 */
#include "files/checkpoint_private.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_name_byte(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9') || byte == '-' || byte == '_' || byte == '.';
}

/* One or more of the bytes that names and commits are made of, and nothing
 * that leads to another folder. */
static bool is_plain_name(const char *name, size_t nbytes)
{
    if (nbytes == 0 || nbytes > 96 || name[0] == '.')
        return false;
    for (size_t i = 0; i < nbytes; i++)
        if (!is_name_byte(name[i]))
            return false;
    return true;
}

bool rmli_hf_is_repository(const char *name)
{
    const char *slash = strchr(name, '/');
    return slash && is_plain_name(name, (size_t)(slash - name)) &&
           is_plain_name(slash + 1, strlen(slash + 1));
}

/* The hub folder, by the variables that huggingface_hub looks at. */
static char *hub_folder(struct rml_error *err)
{
    static const struct {
        const char *variable;
        const char *below;
    } places[] = {
        {"HF_HUB_CACHE", ""},
        {"HF_HOME", "/hub"},
        {"XDG_CACHE_HOME", "/huggingface/hub"},
        {"HOME", "/.cache/huggingface/hub"},
    };
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        const char *value = getenv(places[i].variable);
        char *folder;
        if (!value || !*value)
            continue;
        if (asprintf(&folder, "%s%s", value, places[i].below) < 0) {
            rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for a path");
            return NULL;
        }
        return folder;
    }
    rmli_fail(err, RML_NOT_FOUND, NULL, -1,
              "no Hugging Face cache: none of HF_HUB_CACHE, HF_HOME and HOME is set");
    return NULL;
}

/* Reads the commit that `path` holds; false when it is not there or holds
 * something else. */
static bool read_commit(const char *path, char commit[128], const char *repository,
                        struct rml_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return rmli_fail(err, errno == ENOENT || errno == ENOTDIR ? RML_NOT_FOUND : RML_IO, path,
                         -1, "'%s' is neither a file nor in the Hugging Face cache: %s", repository,
                         strerror(errno));
    ssize_t n = read(fd, commit, 127);
    close(fd);
    if (n < 0)
        return rmli_fail(err, RML_IO, path, -1, "cannot read the commit: %s", strerror(errno));
    while (n > 0 && isspace((unsigned char)commit[n - 1]))
        n--;
    commit[n] = 0;
    if (!is_plain_name(commit, (size_t)n))
        return rmli_fail(err, RML_FORMAT, path, 0, "does not hold the name of a commit");
    return true;
}

char *rmli_hf_cache_find(const char *repository, struct rml_error *err)
{
    const char *slash = strchr(repository, '/');
    char *hub = hub_folder(err), *ref = NULL, *snapshot = NULL, commit[128];
    if (!hub)
        return NULL;
    int owner_nbytes = (int)(slash - repository);
    if (asprintf(&ref, "%s/models--%.*s--%s/refs/main", hub, owner_nbytes, repository, slash + 1) <
        0) {
        ref = NULL;
        rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for a path");
    } else if (read_commit(ref, commit, repository, err)) {
        if (asprintf(&snapshot, "%s/models--%.*s--%s/snapshots/%s", hub, owner_nbytes, repository,
                     slash + 1, commit) < 0) {
            snapshot = NULL;
            rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for a path");
        }
    }
    struct stat status;
    if (snapshot && (stat(snapshot, &status) != 0 || !S_ISDIR(status.st_mode))) {
        rmli_fail(err, RML_NOT_FOUND, snapshot, -1,
                  "the snapshot of '%s' that refs/main names is not in the cache", repository);
        free(snapshot);
        snapshot = NULL;
    }
    free(ref);
    free(hub);
    return snapshot;
}
