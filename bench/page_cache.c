#include "bench/page_cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

/* ---- Which files ---------------------------------------------------------------------------- */

void bench_files_release(struct bench_files *files)
{
    for (size_t i = 0; i < files->n; i++)
        free(files->paths[i]);
    free(files->paths);
    *files = (struct bench_files){0};
}

static bool add(struct bench_files *files, struct rml_error *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static bool add(struct bench_files *files, struct rml_error *err, const char *format, ...)
{
    char **paths = realloc(files->paths, (files->n + 1) * sizeof *paths);
    if (paths)
        files->paths = paths;
    va_list args;
    va_start(args, format);
    int n = paths ? vasprintf(&paths[files->n], format, args) : -1;
    va_end(args);
    if (n < 0)
        return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for names of files");
    files->n++;
    return true;
}

static bool add_folder(struct bench_files *files, const char *path, struct rml_error *err)
{
    DIR *folder = opendir(path);
    if (!folder)
        return rmli_fail(err, RML_IO, path, -1, "%s", strerror(errno));
    bool ok = true;
    const struct dirent *entry;
    while (ok && (entry = readdir(folder))) {
        const char *dot = strrchr(entry->d_name, '.');
        if (dot && strcmp(dot, ".safetensors") == 0)
            ok = add(files, err, "%s/%s", path, entry->d_name);
    }
    closedir(folder);
    return ok;
}

bool bench_files_list(const char *path, struct bench_files *files, struct rml_error *err)
{
    *files = (struct bench_files){0};
    struct stat st;
    bool ok;
    int at = 0;
    unsigned n_parts = 0;
    /* "NAME-00001-of-000NN.gguf" names the first of NN parts. */
    const char *first = strstr(path, "-00001-of-");
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
        ok = add_folder(files, path, err);
    } else if (first && sscanf(first, "-00001-of-%5u.gguf%n", &n_parts, &at) == 1 && at > 0 &&
               first[at] == 0) {
        ok = true;
        for (unsigned part = 1; ok && part <= n_parts; part++)
            ok =
                add(files, err, "%.*s-%05u-of-%05u.gguf", (int)(first - path), path, part, n_parts);
    } else {
        ok = add(files, err, "%s", path);
    }
    if (!ok)
        bench_files_release(files);
    return ok;
}

/* ---- Cold ----------------------------------------------------------------------------------- */

bool bench_files_can_be_cold(const struct bench_files *files, struct rml_error *err)
{
    for (size_t i = 0; i < files->n; i++) {
        struct statfs fs;
        if (statfs(files->paths[i], &fs) != 0)
            return rmli_fail(err, RML_IO, files->paths[i], -1, "%s", strerror(errno));
        if (fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC)
            return rmli_fail(err, RML_UNSUPPORTED, NULL, -1,
                             "its file system is memory (tmpfs), so it cannot be cold");
    }
    return true;
}

/* The fraction of a file's pages that are in memory; 0 when the kernel does not tell. */
static double resident_fraction(int fd, size_t nbytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), n = (nbytes + page - 1) / page, n_resident = 0;
    struct stat st;
    bool told = fstat(fd, &st) == 0 && (st.st_uid == geteuid() || geteuid() == 0);
    unsigned char *in_core = told && n > 0 ? malloc(n) : NULL;
    void *map = in_core ? mmap(NULL, nbytes, PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;
    if (map != MAP_FAILED && mincore(map, nbytes, in_core) == 0)
        for (size_t i = 0; i < n; i++)
            n_resident += in_core[i] & 1;
    if (map != MAP_FAILED)
        munmap(map, nbytes);
    free(in_core);
    return n > 0 ? (double)n_resident / (double)n : 0;
}

static bool make_cold(const char *path, struct rml_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) != 0) {
        int error = errno;
        if (fd >= 0)
            close(fd);
        return rmli_fail(err, RML_IO, path, -1, "%s", strerror(error));
    }
    /* Pages that were not yet written to the disk cannot be dropped. */
    fdatasync(fd);
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    double left = resident_fraction(fd, (size_t)st.st_size);
    close(fd);
    return left <= 0.01 ||
           rmli_fail(err, RML_UNSUPPORTED, path, -1,
                     "cannot be cold: %.0f %% of it stays in memory (who else has it open?)",
                     100 * left);
}

bool bench_files_make_cold(const struct bench_files *files, struct rml_error *err)
{
    for (size_t i = 0; i < files->n; i++)
        if (!make_cold(files->paths[i], err))
            return false;
    return true;
}
