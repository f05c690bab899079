#include "results/plot.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/cli/output.h"
#include "tools/cli/paths.h"
#include "tools/cli/report.h"

extern char **environ;

/* ---- Where things are ------------------------------------------------------------------- */

/* How a chart is drawn, by the ending of its name; NULL when there is no such way. */
static const char *ending_of(const char *output)
{
    static const char *const endings[] = {".svg", ".png", ".txt"};
    size_t n = strlen(output);
    if (strcmp(output, "-") == 0)
        return ".txt";
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        if (n > 4 && strcmp(output + n - 4, endings[i]) == 0)
            return endings[i];
    }
    return NULL;
}

bool plot_output_is_known(const char *output)
{
    return ending_of(output) != NULL;
}

/* The script, to be freed: in RML_PLOTS_DIR when that is set, else where cli_find_data finds it. */
static char *find_script(const char *name, struct rml_error *err)
{
    const char *own = getenv("RML_PLOTS_DIR");
    char *in_tree = NULL, *installed = NULL, *path = NULL;
    if (own) {
        if (asprintf(&path, "%s/%s.gnuplot", own, name) < 0)
            path = NULL;
        if (path && access(path, R_OK) != 0) {
            rmli_fail(err, RML_NOT_FOUND, path, -1, "plot script cannot be read: %s",
                      strerror(errno));
            free(path);
            return NULL;
        }
    } else {
        if (asprintf(&in_tree, "results/plots/%s.gnuplot", name) < 0)
            in_tree = NULL;
        if (asprintf(&installed, "plots/%s.gnuplot", name) < 0)
            installed = NULL;
        path = in_tree && installed ? cli_find_data(in_tree, installed) : NULL;
        free(in_tree);
        free(installed);
    }
    if (!path)
        rmli_fail(err, RML_NOT_FOUND, NULL, -1,
                  "plot script '%s.gnuplot' is neither in share/rml/plots nor in a source tree; "
                  "RML_PLOTS_DIR can name its folder",
                  name);
    return path;
}

/* ---- Scratch files ------------------------------------------------------------------------ */

struct scratch {
    char *folder, *data, *chart, *errors;
};

static bool scratch_create(struct scratch *s, const char *ending, struct rml_error *err)
{
    *s = (struct scratch){.folder = cli_temporary_folder("plot", err)};
    if (!s->folder)
        return false;
    s->data = cli_path_join(s->folder, "data.dat");
    if (asprintf(&s->chart, "%s/chart%s", s->folder, ending) < 0)
        s->chart = NULL;
    s->errors = cli_path_join(s->folder, "errors");
    return (s->data && s->chart && s->errors) ||
           rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory to draw a chart");
}

static void scratch_remove(struct scratch *s)
{
    char *files[] = {s->data, s->chart, s->errors};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        if (files[i])
            unlink(files[i]);
        free(files[i]);
    }
    if (s->folder)
        rmdir(s->folder);
    free(s->folder);
}

/* ---- gnuplot --------------------------------------------------------------------------------- */

/* What it said: the first line that is about the chart. Fontconfig chats, in a
 * system without any UTF-8 locale gnuplot misses the degree sign, which no chart has, and a key of
 * long names may leave the panel. */
static bool first_complaint(const char *path, char *line, size_t nbytes)
{
    FILE *file = fopen(path, "r");
    bool found = false;
    while (file && !found && fgets(line, (int)nbytes, file)) {
        line[strcspn(line, "\n")] = 0;
        found = line[strspn(line, " \t^")] && !strstr(line, "Fontconfig") &&
                !strstr(line, "iconv failed to convert degree sign") &&
                !strstr(line, "difficulty fitting plot titles into key");
    }
    if (file)
        fclose(file);
    return found;
}

bool plot_is_without_gnuplot(const struct rml_error *err)
{
    return err->code == RML_NOT_FOUND && strcmp(err->file, "gnuplot") == 0;
}

static bool run_gnuplot(const char *script, const struct scratch *s, struct rml_error *err)
{
    char *const argv[] = {"gnuplot", "-c", (char *)script, s->data, s->chart, NULL};

    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, s->errors,
                                     O_WRONLY | O_CREAT | O_TRUNC, 0666);
    posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
    /* The same chart whatever the user's locale, and text in the encoding that scripts set. */
    setenv("LC_ALL", "C.UTF-8", 1);
    pid_t child;
    int rc = posix_spawnp(&child, "gnuplot", &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (rc != 0)
        return rmli_fail(err, rc == ENOENT ? RML_NOT_FOUND : RML_IO, "gnuplot", -1,
                         rc == ENOENT ? "not found in PATH; Debian's package is gnuplot-nox"
                                      : "cannot be started: %s",
                         strerror(rc));
    int status = -1;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    char complaint[512] = "";
    bool complained = first_complaint(s->errors, complaint, sizeof complaint);
    /* A script with an error ends with 1, and a chart that was not written is missed by copy_out.
     * What is said otherwise, such as that a plot has no valid points, is about a chart that is
     * whole: it is passed on, not a reason to have none. */
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
        if (complained)
            cli_warn("%s: gnuplot: %s", script, complaint + strspn(complaint, " \t"));
        return true;
    }
    if (WIFSIGNALED(status))
        return rmli_fail(err, RML_IO, script, -1, "gnuplot was ended by signal %d",
                         WTERMSIG(status));
    return rmli_fail(err, RML_IO, script, -1, "gnuplot failed with exit status %d: %s",
                     WEXITSTATUS(status), complaint);
}

/* ---- Files out -------------------------------------------------------------------------------- */

static bool copy_out(const char *from, const char *to, struct rml_error *err)
{
    FILE *in = fopen(from, "rb");
    struct cli_output out = {0};
    if (!in)
        return rmli_fail(err, RML_IO, from, -1, "gnuplot wrote no chart");
    char buffer[1 << 14];
    size_t n, total = 0;
    bool ok = cli_output_open(&out, to, err);
    while (ok && (n = fread(buffer, 1, sizeof buffer, in)) > 0) {
        total += n;
        if (fwrite(buffer, 1, n, out.stream) != n)
            break; /* commit sees it */
    }
    if (ok && total == 0)
        ok = rmli_fail(err, RML_IO, from, -1, "gnuplot wrote an empty chart");
    fclose(in);
    if (!ok) {
        cli_output_abandon(&out);
        return false;
    }
    return cli_output_commit(&out, err);
}

static bool write_data(const struct plot_kind *kind, struct store *store,
                       const struct plot_selection *selection, const char *path,
                       struct rml_error *err)
{
    FILE *data = fopen(path, "w");
    if (!data)
        return rmli_fail(err, RML_IO, path, -1, "cannot be written: %s", strerror(errno));
    bool ok = kind->export(kind, store, selection, data, err);
    bool written = !ferror(data);
    written = fclose(data) == 0 && written;
    if (ok && !written)
        return rmli_fail(err, RML_IO, path, -1, "cannot be written: %s", strerror(errno));
    return ok;
}

bool plot_draw(const struct plot_kind *kind, struct store *store,
               const struct plot_selection *selection, const char *output, const char *data_output,
               struct rml_error *err)
{
    const char *ending = ending_of(output);
    if (!ending)
        return rmli_fail(err, RML_INVALID_ARGUMENT, output, -1,
                         "expected a name that ends in .svg, .png or .txt");
    struct scratch s;
    char *script = find_script(kind->script, err);
    bool ok = script && scratch_create(&s, ending, err) &&
              write_data(kind, store, selection, s.data, err) && run_gnuplot(script, &s, err) &&
              copy_out(s.chart, output, err) &&
              (!data_output || copy_out(s.data, data_output, err));
    if (script)
        scratch_remove(&s);
    free(script);
    return ok;
}
