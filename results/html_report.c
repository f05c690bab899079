#include "results/html_report.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "results/plot.h"
#include "results/report_tables.h"
#include "results/store_private.h"
#include "tools/cli/paths.h"
#include "tools/cli/report.h"
#include "tools/cli/xml_text.h"

/* ---- Charts ------------------------------------------------------------------------------------ */

/* A chart as an image within the page: so its ids and styles stay its own. */
static bool embed(const char *path, const struct plot_kind *kind, FILE *out, struct rml_error *err)
{
    FILE *in = fopen(path, "rb");
    if (!in)
        return rmli_fail(err, RML_IO, path, -1, "chart cannot be read: %s", strerror(errno));
    fprintf(out,
            "<figure id=\"chart-%s\">\n<figcaption>%s</figcaption>\n<img alt=\"Chart: %s; its "
            "figures are in the tables below\" src=\"data:image/svg+xml;base64,",
            kind->name, kind->summary, kind->summary);
    unsigned char bytes[3 * 1024], text[4 * 1024 + 1];
    size_t n;
    while ((n = fread(bytes, 1, sizeof bytes, in)) > 0) { /* whole groups of 3, but for the end */
        int length = EVP_EncodeBlock(text, bytes, (int)n);
        fwrite(text, 1, (size_t)length, out);
    }
    bool ok = !ferror(in);
    fclose(in);
    fputs("\">\n</figure>\n", out);
    return ok || rmli_fail(err, RML_IO, path, -1, "chart cannot be read");
}

/* In place of a chart that cannot be drawn. The file that the error names may be a temporary one:
 * it stands on standard error alone, and the page stays the same for the same database. */
static void write_failure(const struct plot_kind *kind, const struct rml_error *kind_err, FILE *out)
{
    cli_error_line(kind_err);
    fprintf(out,
            "<p id=\"chart-%s\" class=\"bad\">The chart %s (%s) could not be drawn: ", kind->name,
            kind->name, kind->summary);
    cli_put_xml(out, kind_err->message);
    fputs("</p>\n", out);
}

/* Every kind that the database has rows for. Without gnuplot there is no report: that is about
 * this machine, not about a chart. */
static bool write_charts(struct store *store, FILE *out, size_t *n_failed, struct rml_error *err)
{
    char *folder = cli_temporary_folder("report", err);
    bool ok = folder != NULL;
    char *path = ok ? cli_path_join(folder, "chart.svg") : NULL;
    size_t n_drawn = 0;
    fputs("<section id=\"charts\">\n<h2>Charts</h2>\n", out);
    for (const struct plot_kind *kind = plot_kinds; ok && path && kind->name; kind++) {
        struct plot_selection all = {.since_ns = INT64_MIN};
        struct rml_error kind_err = RML_ERROR_INIT;
        if (plot_draw(kind, store, &all, path, NULL, &kind_err)) {
            ok = embed(path, kind, out, err);
            n_drawn++;
        } else if (plot_is_without_gnuplot(&kind_err)) {
            *err = kind_err;
            ok = false;
        } else if (plot_is_empty(&kind_err, store)) {
            continue;
        } else if (strcmp(kind_err.file, store_file(store)) == 0) {
            *err = kind_err;
            ok = false; /* it is the database, which all charts and tables are of */
        } else {
            write_failure(kind, &kind_err, out);
            ++*n_failed;
        }
    }
    if (n_drawn + *n_failed == 0)
        fputs("<p>nothing to draw yet</p>\n", out);
    fputs("</section>\n", out);
    if (path)
        unlink(path);
    else if (ok)
        ok = rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for a report");
    if (folder)
        rmdir(folder);
    free(path);
    free(folder);
    return ok;
}

/* ---- The page ----------------------------------------------------------------------------------- */

static bool write_summary(struct store *store, FILE *out, struct rml_error *err)
{
    struct query q;
    query_init(&q, store,
               "SELECT count(*), (SELECT count(*) FROM result), strftime('%Y-%m-%d %H:%M:%SZ',"
               " min(start_ns) / 1000000000, 'unixepoch'), strftime('%Y-%m-%d %H:%M:%SZ',"
               " max(start_ns) / 1000000000, 'unixepoch'), (SELECT count(*) FROM host) FROM run");
    if (query_step(&q)) {
        uint64_t n_runs = (uint64_t)sqlite3_column_int64(q.stmt, 0);
        uint64_t n_hosts = (uint64_t)sqlite3_column_int64(q.stmt, 4);
        uint64_t n_results = (uint64_t)sqlite3_column_int64(q.stmt, 1);
        fprintf(out, "<p>%" PRIu64 " run%s on %" PRIu64 " host%s, %" PRIu64 " result%s", n_runs,
                cli_plural(n_runs), n_hosts, cli_plural(n_hosts), n_results, cli_plural(n_results));
        if (sqlite3_column_type(q.stmt, 2) != SQLITE_NULL)
            fprintf(out, ", from %s to %s", sqlite3_column_text(q.stmt, 2),
                    sqlite3_column_text(q.stmt, 3));
        fputs(".</p>\n", out);
    }
    return query_release(&q, "writing a report", err);
}

bool report_write(struct store *store, FILE *out, size_t *n_failed, struct rml_error *err)
{
    *n_failed = 0;
    fprintf(out,
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
            "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
            "style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:\">\n"
            "<title>rml report</title>\n<style>\n%s</style>\n</head>\n<body>\n"
            "<header>\n<h1>rml report</h1>\n",
            report_css);
    bool ok = write_summary(store, out, err);
    fputs("<nav aria-label=\"Sections\"><ul>\n<li><a href=\"#charts\">Charts</a></li>\n", out);
    for (const struct report_table *t = report_tables; t->id; t++)
        fprintf(out, "<li><a href=\"#%s\">%s</a></li>\n", t->id, t->title);
    fputs("</ul></nav>\n</header>\n<main>\n", out);
    /* Verdicts stand first, then what is seen at a glance. */
    ok = ok && report_write_table(store, report_tables, out, err) &&
         write_charts(store, out, n_failed, err);
    for (const struct report_table *t = report_tables + 1; ok && t->id; t++)
        ok = report_write_table(store, t, out, err);
    fprintf(out, "</main>\n<script>\n%s</script>\n</body>\n</html>\n", report_js);
    return ok;
}
