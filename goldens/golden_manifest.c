/*
 * The manifest of a suite.
 */
#include "goldens/golden_manifest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "goldens/golden_json.h"
#include "tools/cli/paths.h"

void golden_manifest_release(struct golden_manifest *manifest)
{
    for (size_t i = 0; i < manifest->n_entries; i++) {
        free(manifest->entries[i].golden);
        free(manifest->entries[i].checkpoint);
        free(manifest->entries[i].model_file);
    }
    free(manifest->entries);
    free(manifest->path);
    *manifest = (struct golden_manifest){0};
}

static bool no_memory(const struct golden_reader *r)
{
    return rmli_fail(r->err, RML_NO_MEMORY, r->file, -1, "no memory for its contents");
}

/* `path`, which is freed, when there is such a file; else NULL. */
static char *if_exists(char *path)
{
    if (path && access(path, F_OK) != 0) {
        free(path);
        path = NULL;
    }
    return path;
}

static char *find_model_file(const char *name)
{
    const char *folder = getenv("RML_MODELS_DIR");
    char *path = folder && folder[0] ? if_exists(cli_path_join(folder, name)) : NULL;
    if (path)
        return path;
    char *models = cli_cache_path("models");
    path = models ? if_exists(cli_path_join(models, name)) : NULL;
    free(models);
    return path;
}

static bool read_entry(const struct golden_reader *r, const json_t *object, const char *place,
                       const char *folder, struct golden_entry *entry)
{
    if (!json_is_object(object))
        return golden_refuse(r, place, "expected an object");
    golden_warn_unknown(r, object, place, "golden checkpoint model_file sha256 note");
    char *golden = NULL, *checkpoint = NULL;
    json_t *sha256 = NULL;
    bool ok = golden_get_path(r, object, place, "golden", false, &golden) &&
              golden_get_path(r, object, place, "checkpoint", true, &checkpoint) &&
              golden_get_name(r, object, place, "model_file", true, &entry->model_file) &&
              golden_get(r, object, place, "sha256", JSON_STRING, true, &sha256);
    if (ok && !checkpoint == !entry->model_file)
        ok = golden_refuse(r, place, "%s found, expected one of checkpoint and model_file",
                           checkpoint ? "both" : "neither");
    if (ok && entry->model_file && strchr(entry->model_file, '/'))
        ok = golden_refuse(r, place, "model_file '%.80s' found, expected a name without folders",
                           entry->model_file);
    if (ok && sha256) {
        const char *hex = json_string_value(sha256);
        if (!entry->model_file)
            ok = golden_refuse(r, place, "sha256 found without model_file");
        else if (strlen(hex) != 64 || strspn(hex, "0123456789abcdef") != 64)
            ok = golden_refuse(r, place,
                               "sha256 '%.70s' found, expected 64 hexadecimal digits in lower case",
                               hex);
        else
            strcpy(entry->sha256, hex);
    }
    if (ok) {
        entry->golden = cli_path_join(folder, golden);
        entry->checkpoint =
            checkpoint ? cli_path_join(folder, checkpoint) : find_model_file(entry->model_file);
        ok = (entry->golden && (entry->checkpoint || !checkpoint)) || no_memory(r);
    }
    free(golden);
    free(checkpoint);
    return ok;
}

static bool read_entries(const struct golden_reader *r, const json_t *root, const char *folder,
                         struct golden_manifest *manifest)
{
    json_t *entries;
    golden_warn_unknown(r, root, "", "format version entries note");
    if (!golden_get(r, root, "", "entries", JSON_ARRAY, false, &entries))
        return false;
    size_t n = json_array_size(entries);
    if (n == 0)
        return golden_refuse(r, "entries", "no entries found, expected at least one");
    manifest->entries = calloc(n, sizeof *manifest->entries);
    if (!manifest->entries)
        return no_memory(r);
    manifest->n_entries = n;
    for (size_t i = 0; i < n; i++) {
        char place[GOLDEN_PLACE_NBYTES];
        snprintf(place, sizeof place, "entries[%zu]", i);
        if (!read_entry(r, json_array_get(entries, i), place, folder, &manifest->entries[i]))
            return false;
    }
    return true;
}

bool golden_manifest_read(struct golden_manifest *manifest, const char *path, struct rml_error *err)
{
    struct golden_reader r = {.file = golden_display_name(path), .err = err};
    *manifest = (struct golden_manifest){.path = strdup(path)};
    char *folder = strdup(path);
    bool ok = manifest->path && folder;
    json_t *root = NULL;
    if (ok) {
        char *slash = strrchr(folder, '/');
        if (slash)
            slash[slash == folder] = 0; /* "/x" is in "/" */
        root = golden_load_json(&r, path, NULL);
        ok = root && golden_check_format(&r, root, "rml-golden-manifest") &&
             read_entries(&r, root, slash ? folder : ".", manifest);
    } else
        no_memory(&r);
    json_decref(root);
    free(folder);
    if (!ok)
        golden_manifest_release(manifest);
    return ok;
}

char *golden_manifest_find(struct rml_error *err)
{
    char *path = if_exists(strdup("goldens/MANIFEST.json"));
    if (path)
        return path;
    path = cli_find_data("goldens/MANIFEST.json", "goldens/MANIFEST.json");
    if (!path)
        rmli_fail(err, RML_NOT_FOUND, "goldens/MANIFEST.json", -1,
                  "not found here nor near the program, expected the name of a manifest");
    return path;
}
