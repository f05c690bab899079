#include "bench/roof.h"

#include <math.h>
#include <sqlite3.h>
#include <string.h>

#include "bench/roof_case.h"

static double *member(struct roof *roof, const char *name)
{
    if (strcmp(name, roof_limit_name(ROOF_READ_BANDWIDTH)) == 0)
        return &roof->read_bytes_per_second;
    if (strcmp(name, roof_limit_name(ROOF_FMA_F32)) == 0)
        return &roof->fma_f32_per_second;
    return strcmp(name, roof_limit_name(ROOF_DOT_I8)) == 0 ? &roof->dot_i8_per_second : NULL;
}

/* Oldest first, so that the newest of a name is what stays. */
static const char newest_roofs[] =
    "SELECT name, bytes_per_second, flops_per_second FROM v_chart"
    " WHERE suite = 'roof' AND engine = 'rml' AND status IN ('ok', 'unstable')"
    " AND threads = ?1 AND isa = ?2 AND host_id = (SELECT host_id FROM run WHERE id = ?3)"
    " ORDER BY result_id";

bool roof_of(struct store *store, int64_t run_id, int threads, const char *isa, struct roof *roof,
             struct rml_error *err)
{
    *roof = (struct roof){NAN, NAN, NAN};
    if (!store || !isa)
        return true;
    sqlite3_stmt *query = NULL;
    bool ok = sqlite3_prepare_v2(store_handle(store), newest_roofs, -1, &query, NULL) == SQLITE_OK;
    sqlite3_bind_int(query, 1, threads);
    sqlite3_bind_text(query, 2, isa, -1, SQLITE_STATIC);
    sqlite3_bind_int64(query, 3, run_id);
    int rc = SQLITE_DONE;
    while (ok && (rc = sqlite3_step(query)) == SQLITE_ROW) {
        double *value = member(roof, (const char *)sqlite3_column_text(query, 0));
        double per_second = fmax(sqlite3_column_double(query, 1), sqlite3_column_double(query, 2));
        if (value && per_second > 0)
            *value = per_second;
    }
    ok = ok && rc == SQLITE_DONE;
    if (!ok)
        store_fail(store, "looking for a roof", err);
    sqlite3_finalize(query);
    return ok;
}

double roof_fraction(const struct roof *roof, double bytes, double flops, bool i8, double ns)
{
    double peak = i8 ? roof->dot_i8_per_second : roof->fma_f32_per_second;
    double reading = bytes > 0 ? bytes / roof->read_bytes_per_second : 0;
    double computing = flops > 0 ? flops / peak : 0;
    if (isnan(reading) || isnan(computing) || reading + computing == 0)
        return NAN;
    return fmax(reading, computing) * 1e9 / ns;
}
