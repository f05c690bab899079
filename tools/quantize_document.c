/*
 * What rml-quantize did: sums by type of the output, and what did not get the type asked for.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "quantize.h"
#include "tools/cli/json_out.h"
#include "tools/cli/report.h"
#include "tools/cli/table.h"

struct sums {
    uint64_t n_tensors, nelems, nbytes_before, nbytes_after;
    double sum_squares, squared_error;
};

static void add(struct sums *sums, const struct rml_conversion_tensor *t)
{
    sums->n_tensors++;
    sums->nelems += t->nelems;
    sums->nbytes_before += t->nbytes_before;
    sums->nbytes_after += t->nbytes_after;
    sums->sum_squares += t->sum_squares;
    sums->squared_error += t->squared_error;
}

/* Root of the mean squared error over root of the mean square; null when nothing was written. */
static json_t *relative_error(const struct quantize_job *job, double squared_error,
                              double sum_squares)
{
    if (job->dry_run)
        return json_null();
    return cli_json_real(sum_squares > 0 ? sqrt(squared_error / sum_squares) : 0);
}

static json_t *sums_json(const struct quantize_job *job, const char *type, const struct sums *sums)
{
    return json_pack("{ss sI sI sI sI so}", "type", type, "n_tensors", (json_int_t)sums->n_tensors,
                     "n_elements", (json_int_t)sums->nelems, "bytes_before",
                     (json_int_t)sums->nbytes_before, "bytes_after", (json_int_t)sums->nbytes_after,
                     "rms_error_relative",
                     relative_error(job, sums->squared_error, sums->sum_squares));
}

static json_t *tensor_json(const struct quantize_job *job, const struct rml_conversion_tensor *t)
{
    static const char *const choices[] = {[RML_CONVERT_CHOSEN] = "chosen",
                                          [RML_CONVERT_FALLBACK] = "fallback",
                                          [RML_CONVERT_KEPT] = "kept"};
    json_t *shape = json_array();
    for (int i = 0; i < t->n_dims; i++)
        json_array_append_new(shape, json_integer((json_int_t)t->dims[i]));
    return json_pack("{so so ss ss ss sI sI so}", "name", cli_json_text(t->name), "shape", shape,
                     "from", rml_dtype_traits(t->from)->name, "type", rml_dtype_traits(t->to)->name,
                     "choice", choices[t->choice], "bytes_before", (json_int_t)t->nbytes_before,
                     "bytes_after", (json_int_t)t->nbytes_after, "rms_error_relative",
                     relative_error(job, t->squared_error, t->sum_squares));
}

json_t *quantize_document(const struct quantize_job *job, const struct rml_conversion *conversion)
{
    struct sums all = {0}, by_type[RML_N_WEIGHT_DTYPES] = {{0}};
    json_t *types = json_array(), *tensors = json_array(), *fallbacks = json_array();
    json_t *differences = json_array();
    for (size_t i = 0; i < rml_conversion_n_differences(conversion); i++)
        json_array_append_new(differences, cli_json_text(rml_conversion_difference(conversion, i)));
    for (size_t i = 0; i < rml_conversion_n_tensors(conversion); i++) {
        const struct rml_conversion_tensor *t = rml_conversion_tensor(conversion, i);
        add(&all, t);
        add(&by_type[t->to], t);
        json_array_append_new(tensors, tensor_json(job, t));
        if (t->choice == RML_CONVERT_FALLBACK)
            json_array_append_new(fallbacks,
                                  json_pack("{so sI ss}", "tensor", cli_json_text(t->name),
                                            "columns", (json_int_t)t->dims[t->n_dims - 1], "type",
                                            rml_dtype_traits(t->to)->name));
    }
    for (int d = 0; d < RML_N_WEIGHT_DTYPES; d++)
        if (by_type[d].n_tensors)
            json_array_append_new(
                types, sums_json(job, rml_dtype_traits((enum rml_dtype)d)->name, &by_type[d]));
    json_t *document =
        json_pack("{so so ss sb so so so so so so}", "input", cli_json_text(job->input), "output",
                  cli_json_text(job->output), "type", rml_dtype_traits(job->dtype)->name, "dry_run",
                  job->dry_run, "seconds", job->dry_run ? json_null() : cli_json_real(job->seconds),
                  "types", types, "total", sums_json(job, "all", &all), "fallbacks", fallbacks,
                  "tensors", tensors, "llama_cpp_differences", differences);
    return document;
}

/* ---- For people ----------------------------------------------------------------------- */

static double number(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

static const char *text(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

static void add_row(struct cli_table *table, const json_t *row)
{
    const json_t *error = json_object_get(row, "rms_error_relative");
    cli_table_cell(table, "%s", text(row, "type"));
    cli_table_cell(table, "%.0f", number(row, "n_tensors"));
    cli_table_cell(table, "%.0f", number(row, "n_elements"));
    cli_table_cell(table, "%.1f", number(row, "bytes_before") / 1e6);
    cli_table_cell(table, "%.1f", number(row, "bytes_after") / 1e6);
    if (number(row, "n_elements") > 0)
        cli_table_cell(table, "%.2f", 8 * number(row, "bytes_after") / number(row, "n_elements"));
    else
        cli_table_cell(table, "-"); /* of a vocabulary without a model */
    if (json_is_null(error))
        cli_table_cell(table, "-");
    else
        cli_table_cell(table, "%.5f", json_number_value(error));
}

static void print_each(const json_t *fallbacks)
{
    struct cli_table *table = cli_table_create("<tensor|>columns|<type");
    size_t i;
    const json_t *row;
    json_array_foreach(fallbacks, i, row)
    {
        cli_table_cell(table, "%s", text(row, "tensor"));
        cli_table_cell(table, "%.0f", number(row, "columns"));
        cli_table_cell(table, "%s", text(row, "type"));
    }
    cli_table_print(table, stdout);
    cli_table_destroy(table);
}

/* Rows of one length get one type. */
static void print_by_columns(const json_t *fallbacks)
{
    struct cli_table *table = cli_table_create(">columns|<type|>tensors|<the first");
    size_t i, j;
    const json_t *row, *other;
    json_array_foreach(fallbacks, i, row)
    {
        size_t n = 0, n_before = 0;
        json_array_foreach(fallbacks, j, other)
        {
            bool same = number(other, "columns") == number(row, "columns");
            n += same;
            n_before += same && j < i;
        }
        if (n_before > 0)
            continue;
        cli_table_cell(table, "%.0f", number(row, "columns"));
        cli_table_cell(table, "%s", text(row, "type"));
        cli_table_cell(table, "%zu", n);
        cli_table_cell(table, "%s", text(row, "tensor"));
    }
    cli_table_print(table, stdout);
    cli_table_destroy(table);
}

void quantize_print(const json_t *document, bool each)
{
    struct cli_table *table =
        cli_table_create("<type|>tensors|>weights|>MB before|>MB after|>bits a "
                         "weight|>relative rms error");
    size_t i;
    const json_t *row;
    json_array_foreach(json_object_get(document, "types"), i, row) add_row(table, row);
    add_row(table, json_object_get(document, "total"));
    cli_table_print(table, stdout);
    cli_table_destroy(table);

    const json_t *fallbacks = json_object_get(document, "fallbacks");
    if (json_array_size(fallbacks) == 0)
        return;
    printf("\n%zu tensor%s whose rows are no multiple of a block of %s%s:\n\n",
           json_array_size(fallbacks), cli_plural(json_array_size(fallbacks)),
           text(document, "type"), each ? "" : " (-v lists each)");
    if (each)
        print_each(fallbacks);
    else
        print_by_columns(fallbacks);
}
