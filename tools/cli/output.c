/*
 * A file that -o names: whole or not there.
 *
 * stdio forgets why a write failed: by the time a file is committed, all that its stream
 * knows is that something was lost. So the stream writes through a cookie that keeps the
 * first errno.
 */
#include "tools/cli/output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/cli/paths.h"

#define MAX_LINKS 40 /* as Linux has it */
#define BUFFER_NBYTES 65536

struct cli_output_sink {
    int fd;
    int error; /* errno of the first write that failed; 0: none has */
};

static bool fail_io(struct cli_output *output, const char *name, const char *what, int error,
                    struct rml_error *err)
{
    rmli_fail(err, RML_IO, name, -1, "cannot %s: %s", what, strerror(error));
    cli_output_abandon(output);
    return false;
}

/* ---- The stream ---------------------------------------------------------------- */

static ssize_t sink_write(void *cookie, const char *data, size_t nbytes)
{
    struct cli_output_sink *sink = cookie;
    size_t done = 0;
    while (done < nbytes) {
        ssize_t n = write(sink->fd, data + done, nbytes - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            if (!sink->error)
                sink->error = errno;
            break;
        }
        done += (size_t)n;
    }
    return (ssize_t)done; /* fewer is a failure, as fopencookie wants it */
}

static int sink_seek(void *cookie, off_t *offset, int whence)
{
    off_t at = lseek(((struct cli_output_sink *)cookie)->fd, *offset, whence);
    if (at < 0)
        return -1;
    *offset = at;
    return 0;
}

/* Takes over the descriptor, also on failure (then errno says why). */
static bool open_stream(struct cli_output *output, int fd)
{
    if (fd < 0)
        return false;
    output->sink = malloc(sizeof *output->sink);
    if (!output->sink) {
        close(fd);
        errno = ENOMEM;
        return false;
    }
    *output->sink = (struct cli_output_sink){.fd = fd};
    const cookie_io_functions_t functions = {.write = sink_write, .seek = sink_seek};
    output->stream = fopencookie(output->sink, "w", functions);
    if (output->stream)
        setvbuf(output->stream, NULL, _IOFBF, BUFFER_NBYTES);
    return output->stream != NULL;
}

/* ---- Opening ------------------------------------------------------------------- */

/* The path behind any symbolic links that `name` is, whether there is a file or not: it is
 * replaced, not the link. NULL with errno on failure. */
static char *follow_links(const char *name)
{
    char *path = strdup(name);
    for (int i = 0; path; i++) {
        char target[PATH_MAX];
        ssize_t n = readlink(path, target, sizeof target - 1);
        if (n < 0)
            return path; /* no link; what else is wrong shows when it is opened */
        target[n] = 0;
        char *slash = strrchr(path, '/');
        if (slash)
            slash[slash == path] = 0; /* "/x" is in "/" */
        char *next = i < MAX_LINKS ? cli_path_join(slash ? path : ".", target) : NULL;
        free(path);
        if (!next)
            errno = i < MAX_LINKS ? ENOMEM : ELOOP;
        path = next;
    }
    return path;
}

static bool open_directly(struct cli_output *output, const char *name, int fd,
                          struct rml_error *err)
{
    if (!open_stream(output, fd))
        return fail_io(output, name, "open for writing", errno, err);
    output->path = strdup(name);
    return output->path || fail_io(output, name, "open for writing", ENOMEM, err);
}

bool cli_output_open(struct cli_output *output, const char *name, struct rml_error *err)
{
    *output = (struct cli_output){0};
    if (!*name)
        return rmli_fail(err, RML_INVALID_ARGUMENT, NULL, -1,
                         "no name of an output found, expected that of a file, or -");
    if (strcmp(name, "-") == 0) {
        fflush(stdout);
        return open_directly(output, "standard output", dup(STDOUT_FILENO), err);
    }

    struct stat st;
    bool exists = stat(name, &st) == 0;
    if (!exists && errno != ENOENT)
        return fail_io(output, name, "open for writing", errno, err);
    if (exists && S_ISDIR(st.st_mode))
        return fail_io(output, name, "open for writing", EISDIR, err);
    if (exists && !S_ISREG(st.st_mode))
        return open_directly(output, name, open(name, O_WRONLY | O_CLOEXEC), err);

    output->path = follow_links(name);
    if (!output->path || asprintf(&output->temp, "%s.tmp-%ld", output->path, (long)getpid()) < 0) {
        output->temp = NULL;
        return fail_io(output, name, "open for writing", errno, err);
    }
    int fd = open(output->temp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0) {
        int error = errno;
        free(output->temp);
        output->temp = NULL; /* not ours to remove */
        return fail_io(output, name, "open for writing", error, err);
    }
    if (!open_stream(output, fd))
        return fail_io(output, name, "open for writing", errno, err);
    if (exists)
        fchmod(fd, st.st_mode & 07777);
    return true;
}

/* ---- Ending -------------------------------------------------------------------- */

/* Closes stream and descriptor; errno of what was lost, or 0. */
static int end_stream(struct cli_output *output, bool sync)
{
    int error = 0;
    if (output->stream) {
        bool lost = fflush(output->stream) != 0 || ferror(output->stream) != 0;
        error = output->sink->error ? output->sink->error : lost ? EIO : 0;
        fclose(output->stream);
        output->stream = NULL;
    }
    if (output->sink) {
        if (!error && sync && fsync(output->sink->fd) != 0)
            error = errno;
        if (close(output->sink->fd) != 0 && !error)
            error = errno;
        free(output->sink);
        output->sink = NULL;
    }
    return error;
}

static void release(struct cli_output *output)
{
    free(output->path);
    free(output->temp);
    *output = (struct cli_output){0};
}

bool cli_output_commit(struct cli_output *output, struct rml_error *err)
{
    int error = end_stream(output, output->temp != NULL);
    if (error)
        return fail_io(output, output->path, "write", error, err);
    if (output->temp && rename(output->temp, output->path) != 0)
        return fail_io(output, output->path, "rename into place", errno, err);
    release(output);
    return true;
}

bool cli_output_fail(const struct cli_output *output, struct rml_error *err)
{
    int error = output->sink && output->sink->error ? output->sink->error : ENOMEM;
    return rmli_fail(err, RML_IO, output->path, -1, "cannot write: %s", strerror(error));
}

void cli_output_abandon(struct cli_output *output)
{
    end_stream(output, false);
    if (output->temp)
        unlink(output->temp);
    release(output);
}
