/*
 * A file that -o names: whole or not there.
 */
#include "tools/cli/output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool fail_io(struct cli_output *output, const char *name, const char *what, int error,
                    struct rml_error *err)
{
    rmli_fail(err, RML_IO, name, -1, "cannot %s: %s", what, strerror(error));
    cli_output_abandon(output);
    return false;
}

bool cli_output_open(struct cli_output *output, const char *name, struct rml_error *err)
{
    *output = (struct cli_output){0};
    if (strcmp(name, "-") == 0) {
        output->stream = stdout;
        output->path = strdup("standard output");
        return output->path || fail_io(output, name, "open for writing", ENOMEM, err);
    }

    struct stat st;
    bool exists = stat(name, &st) == 0;
    if (exists && S_ISDIR(st.st_mode))
        return fail_io(output, name, "open for writing", EISDIR, err);
    if (exists && !S_ISREG(st.st_mode)) {
        output->path = strdup(name);
        output->stream = output->path ? fopen(name, "w") : NULL;
        return output->stream || fail_io(output, name, "open for writing", errno, err);
    }

    /* The target of a symbolic link is replaced, not the link. */
    output->path = exists ? realpath(name, NULL) : strdup(name);
    if (!output->path || asprintf(&output->temp, "%s.tmp-%ld", output->path, (long)getpid()) < 0) {
        output->temp = NULL;
        return fail_io(output, name, "open for writing", errno, err);
    }
    output->stream = fopen(output->temp, "w");
    if (!output->stream) {
        int error = errno;
        free(output->temp);
        output->temp = NULL; /* not ours to remove */
        return fail_io(output, name, "open for writing", error, err);
    }
    if (exists)
        fchmod(fileno(output->stream), st.st_mode & 07777);
    return true;
}

static void release(struct cli_output *output)
{
    free(output->path);
    free(output->temp);
    *output = (struct cli_output){0};
}

bool cli_output_commit(struct cli_output *output, struct rml_error *err)
{
    errno = EIO; /* ferror does not say why */
    bool lost = ferror(output->stream) != 0 || fflush(output->stream) != 0;
    if (output->stream == stdout) {
        if (lost)
            return fail_io(output, output->path, "write", errno, err);
        release(output);
        return true;
    }
    if (!lost && output->temp)
        lost = fsync(fileno(output->stream)) != 0;
    int error = errno;
    bool close_failed = fclose(output->stream) != 0;
    if (close_failed && !lost)
        error = errno;
    output->stream = NULL;
    if (lost || close_failed)
        return fail_io(output, output->path, "write", error, err);
    if (output->temp && rename(output->temp, output->path) != 0)
        return fail_io(output, output->path, "rename into place", errno, err);
    release(output);
    return true;
}

void cli_output_abandon(struct cli_output *output)
{
    if (output->stream && output->stream != stdout)
        fclose(output->stream);
    if (output->temp)
        unlink(output->temp);
    release(output);
}
