#include "results/build_record.h"

#include <stdio.h>
#include <unistd.h>

#include "results/store.h"

bool build_record_read(struct build_record *build, struct rml_error *err)
{
    *build = (struct build_record){.info = &build_info};
    if (confstr(_CS_GNU_LIBC_VERSION, build->libc, sizeof build->libc) == 0)
        build->libc[0] = 0;
    return sha256_hex_of_file("/proc/self/exe", build->binary_sha256, err);
}

static json_t *text_or_null(const char *text)
{
    json_t *value = text[0] ? json_string(text) : NULL;
    return value ? value : json_null();
}

json_t *build_record_json(const struct build_record *build)
{
    const struct build_info *info = build->info;
    bool git = info->git_commit[0] != 0;
    return json_pack("{so so so so so so so so so so}", "binary_sha256",
                     text_or_null(build->binary_sha256), "version", text_or_null(info->version),
                     "git_commit", text_or_null(info->git_commit), "git_dirty",
                     git ? json_boolean(info->git_dirty) : json_null(), "git_diff_sha256",
                     text_or_null(info->git_diff_sha256), "commit_unix_s",
                     git ? json_integer(info->commit_unix_s) : json_null(), "compiler",
                     text_or_null(info->compiler), "cflags", text_or_null(info->cflags), "ldflags",
                     text_or_null(info->ldflags), "libc", text_or_null(build->libc));
}

json_t *store_build_json(struct rml_error *err)
{
    struct build_record build;
    if (!build_record_read(&build, err))
        return NULL;
    json_t *json = build_record_json(&build);
    if (!json)
        rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for the facts of the build");
    return json;
}
