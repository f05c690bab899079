/*
 * A whole file mapped read-only: private, so that the process can never write
 * to a checkpoint, and lazily, so that the page cache is the only copy.
 */
#include "base/mapped_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"

static bool fail_errno(struct rml_error *err, const char *path, const char *action, int error)
{
    enum rml_code code = error == ENOENT || error == ENOTDIR ? RML_NOT_FOUND : RML_IO;
    return rmli_fail(err, code, path, -1, "cannot %s: %s", action, strerror(error));
}

/* A Hugging Face cache holds links to blobs, which may be gone, or not be there yet. */
static bool fail_open(struct rml_error *err, const char *path, int error)
{
    char target[512];
    ssize_t n = error == ENOENT ? readlink(path, target, sizeof target) : -1;
    if (n < 0)
        return fail_errno(err, path, "open the file", error);
    return rmli_fail(err, RML_IO, path, -1,
                     "is a link to '%.*s', and the file it leads to is missing", (int)n, target);
}

bool rmli_path_exists(const char *path)
{
    struct stat status;
    return lstat(path, &status) == 0;
}

static bool map(struct rmli_mapped_file *file, int fd, struct rml_error *err)
{
    struct stat status;
    if (fstat(fd, &status) != 0)
        return fail_errno(err, file->path, "examine the file", errno);
    if (S_ISDIR(status.st_mode))
        return rmli_fail(err, RML_IO, file->path, -1, "is a folder, expected a file");
    if (!S_ISREG(status.st_mode))
        return rmli_fail(err, RML_IO, file->path, -1, "is not a regular file");
    if ((uintmax_t)status.st_size > SIZE_MAX)
        return rmli_fail(err, RML_NO_MEMORY, file->path, -1, "file does not fit an address space");
    file->device = (uint64_t)status.st_dev;
    file->inode = (uint64_t)status.st_ino;
    file->mtime_ns = (int64_t)status.st_mtim.tv_sec * 1000000000 + status.st_mtim.tv_nsec;
    file->ctime_ns = (int64_t)status.st_ctim.tv_sec * 1000000000 + status.st_ctim.tv_nsec;
    if (status.st_size == 0)
        return true;
    void *data = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED)
        return fail_errno(err, file->path, "map the file", errno);
    file->data = data;
    file->nbytes = (size_t)status.st_size;
    return true;
}

bool rmli_mapped_file_init(struct rmli_mapped_file *file, const char *path, struct rml_error *err)
{
    *file = (struct rmli_mapped_file){0};
    /* O_NONBLOCK: a FIFO is refused by map(), it must not hang here. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return fail_open(err, path, errno);
    file->path = rmli_strdup(path, err);
    bool ok = file->path && map(file, fd, err);
    close(fd);
    if (!ok)
        rmli_mapped_file_release(file);
    return ok;
}

void rmli_mapped_file_release(struct rmli_mapped_file *file)
{
    if (file->data)
        munmap((void *)(uintptr_t)file->data, file->nbytes);
    free(file->path);
    *file = (struct rmli_mapped_file){0};
}
