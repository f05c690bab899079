/*
 * Counting: the worker under callgrind, which writes one file for each call of icount_region.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/icount.h"
#include "tools/cli/options.h"
#include "tools/cli/paths.h"
#include "tools/cli/report.h"

/* ---- Starting valgrind ---------------------------------------------------------------------- */

/* Its path, for a child without PATH. */
static bool find_valgrind(char *path, size_t nbytes)
{
    const char *folders = getenv("PATH");
    for (const char *at = folders ? folders : "/usr/bin:/bin"; *at;) {
        size_t n = strcspn(at, ":");
        snprintf(path, nbytes, "%.*s/valgrind", (int)n, at);
        if (n > 0 && access(path, X_OK) == 0)
            return true;
        at += n + (at[n] == ':');
    }
    return false;
}

static void become_valgrind(const char *valgrind, const char *program, const char *out, int to,
                            pid_t parent)
{
    char out_option[PATH_MAX + 32];
    char *const env[] = {NULL}; /* variables lie on the stack, whose place moves counts */
    int nothing = open("/dev/null", O_RDWR);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent || nothing < 0 || dup2(nothing, STDIN_FILENO) < 0 ||
        dup2(to, STDOUT_FILENO) < 0 || dup2(nothing, STDERR_FILENO) < 0)
        _exit(127);
    snprintf(out_option, sizeof out_option, "--callgrind-out-file=%s", out);
    char *const argv[] = {(char *)"valgrind",
                          (char *)"--tool=callgrind",
                          (char *)"--toggle-collect=icount_region",
                          (char *)"--dump-after=icount_region",
                          (char *)"--dump-instr=no",
                          out_option,
                          (char *)program,
                          (char *)"icount-worker",
                          NULL};
    execve(valgrind, argv, env);
    _exit(127);
}

/* All that the child writes; NULL when out of memory. */
static char *read_all(int fd)
{
    char *text = NULL;
    size_t nbytes = 0;
    FILE *out = open_memstream(&text, &nbytes);
    char part[4096];
    ssize_t n;
    while (out && ((n = read(fd, part, sizeof part)) > 0 || (n < 0 && errno == EINTR)))
        if (n > 0)
            fwrite(part, 1, (size_t)n, out);
    return out && fclose(out) == 0 ? text : NULL;
}

/* What the worker says about itself. */
static json_t *run_worker(const char *program, const char *out, struct rml_error *err)
{
    char valgrind[PATH_MAX];
    int pipes[2], status = 0;
    if (!find_valgrind(valgrind, sizeof valgrind)) {
        rmli_fail(err, RML_NOT_FOUND, NULL, -1, "valgrind not found, which counts instructions");
        return NULL;
    }
    if (pipe2(pipes, O_CLOEXEC) != 0) {
        rmli_fail(err, RML_IO, NULL, -1, "no pipe for valgrind: %s", strerror(errno));
        return NULL;
    }
    pid_t parent = getpid();
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0)
        become_valgrind(valgrind, program, out, pipes[1], parent);
    close(pipes[1]);
    char *text = pid > 0 ? read_all(pipes[0]) : NULL;
    close(pipes[0]);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    json_t *document = text ? json_loads(text, 0, NULL) : NULL;
    free(text);
    bool ok = document && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (cli_interrupted())
        rmli_fail(err, RML_CANCELLED, NULL, -1, "interrupted");
    else if (!ok)
        rmli_fail(err, RML_UNSUPPORTED, program, -1,
                  "no build of rml-bench whose instructions can be counted (status %d)",
                  WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
    if (ok && err->code == RML_OK)
        return document;
    json_decref(document);
    return NULL;
}

/* ---- Its files ------------------------------------------------------------------------------ */

bool icount_parse_callgrind(const char *file, int64_t *n_instructions, struct rml_error *err)
{
    FILE *in = fopen(file, "r");
    char line[4096];
    bool found = false, is_ir = false;
    if (!in)
        return rmli_fail(err, RML_IO, file, -1, "%s", strerror(errno));
    while (fgets(line, sizeof line, in)) {
        is_ir = is_ir || strcmp(line, "events: Ir\n") == 0;
        found = found || sscanf(line, "totals: %" SCNd64, n_instructions) == 1 ||
                sscanf(line, "summary: %" SCNd64, n_instructions) == 1;
    }
    fclose(in);
    return (found && is_ir && *n_instructions > 0) ||
           rmli_fail(err, RML_FORMAT, file, -1,
                     "no count of instructions, expected one of callgrind");
}

/* Options that change code, not those that only warn. */
static void keep_code_flags(const char *cflags, char *out, size_t nbytes)
{
    size_t used = 0;
    out[0] = 0;
    for (const char *at = cflags; *at;) {
        size_t n = strcspn(at, " ");
        if (n > 0 && strncmp(at, "-W", 2) != 0 && used < nbytes)
            used +=
                (size_t)snprintf(out + used, nbytes - used, "%s%.*s", used ? " " : "", (int)n, at);
        at += n + (at[n] == ' ');
    }
}

static void take_text(char *out, size_t nbytes, const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    snprintf(out, nbytes, "%s", text ? text : "");
}

/* The n-th call of the region is the n-th case; callgrind numbers its files from 1. */
static bool take_counts(const json_t *said, const char *out, struct icounts *counts,
                        struct rml_error *err)
{
    const json_t *build = json_object_get(said, "build"), *cases = json_object_get(said, "cases");
    const char *cflags = json_string_value(json_object_get(build, "cflags"));
    *counts = (struct icounts){.n = json_array_size(cases)};
    take_text(counts->compiler, sizeof counts->compiler, build, "compiler");
    take_text(counts->libc, sizeof counts->libc, build, "libc");
    take_text(counts->isa, sizeof counts->isa, said, "isa");
    keep_code_flags(cflags ? cflags : "", counts->cflags, sizeof counts->cflags);
    if (counts->n == 0 || counts->n > ICOUNT_MAX_CASES)
        return rmli_fail(err, RML_FORMAT, NULL, -1, "%zu cases to count, expected 1 to %d",
                         counts->n, ICOUNT_MAX_CASES);
    for (size_t i = 0; i < counts->n; i++) {
        char file[PATH_MAX];
        snprintf(file, sizeof file, "%s.%zu", out, i + 1);
        snprintf(counts->counts[i].name, sizeof counts->counts[i].name, "%s",
                 json_string_value(json_array_get(cases, i)));
        if (!icount_parse_callgrind(file, &counts->counts[i].n_instructions, err))
            return false;
    }
    return true;
}

/* The files that are in the folder, and the folder. */
static void remove_folder(const char *folder, const char *out, size_t n)
{
    char file[PATH_MAX];
    unlink(out);
    for (size_t i = 1; i <= n; i++) {
        snprintf(file, sizeof file, "%s.%zu", out, i);
        unlink(file);
    }
    rmdir(folder);
}

bool icount_run(const char *program, struct icounts *counts, struct rml_error *err)
{
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    self[n < 0 ? 0 : n] = 0;
    if (program && access(program, X_OK) != 0)
        return rmli_fail(err, RML_NOT_FOUND, program, -1, "no program that can be run");
    char *folder = cli_temporary_folder("icount", err);
    if (!folder)
        return false;
    char *out = cli_path_join(folder, "out");
    if (!out) {
        rmdir(folder);
        free(folder);
        return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory to count instructions");
    }
    cli_progress("counting instructions of %s", program ? program : "this program");
    json_t *said = run_worker(program ? program : self, out, err);
    bool ok = said && take_counts(said, out, counts, err);
    cli_progress_clear();
    json_decref(said);
    remove_folder(folder, out, ICOUNT_MAX_CASES);
    free(out);
    free(folder);
    return ok;
}
