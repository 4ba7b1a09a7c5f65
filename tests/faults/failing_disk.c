/* A disk that fails on demand: preloaded, it makes the Nth call of one kind on our temporary files go wrong.
 *
 * WHEELFIX_FAULT=call:error:nth   call: write, copy, sendfile, fsync, ftruncate, rename, read, open
 *                                 error: an errno, or "short" to do only part of what was asked
 * Only files whose path holds WHEELFIX_FAULT_PATH are touched, so that Python itself keeps working.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static atomic_int calls;

static int named(const char *path)
{
    const char *part = getenv("WHEELFIX_FAULT_PATH");
    return part && path && strstr(path, part) != NULL;
}

static int ours(int descriptor)
{
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0)
        return 0;
    path[length] = 0;
    return named(path);
}

/* 0: nothing wrong; > 0: the error; -1: do only a part. */
static int fault(const char *call)
{
    char wanted[32], error[32];
    int nth = 1;
    const char *order = getenv("WHEELFIX_FAULT");
    if (!order || sscanf(order, "%31[^:]:%31[^:]:%d", wanted, error, &nth) < 2 || strcmp(wanted, call))
        return 0;
    if (!strcmp(error, "short"))
        return -1;
    return atomic_fetch_add(&calls, 1) + 1 >= nth ? atoi(error) : 0;
}

#define REAL(name) ((typeof(&name))dlsym(RTLD_NEXT, #name))
#define FAIL(call, descriptor)                          \
    int trouble = ours(descriptor) ? fault(call) : 0;   \
    if (trouble > 0) {                                  \
        errno = trouble;                                \
        return -1;                                      \
    }

ssize_t write(int fd, const void *data, size_t size)
{
    FAIL("write", fd)
    return REAL(write)(fd, data, trouble < 0 && size > 1 ? size / 2 + 1 : size);
}

ssize_t pwrite64(int fd, const void *data, size_t size, off64_t offset)
{
    FAIL("write", fd)
    return ((ssize_t(*)(int, const void *, size_t, off64_t))dlsym(RTLD_NEXT, "pwrite64"))(
        fd, data, trouble < 0 && size > 1 ? size / 2 + 1 : size, offset);
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t offset)
{
    return pwrite64(fd, data, size, offset);
}

ssize_t copy_file_range(int in, off64_t *from, int out, off64_t *to, size_t size, unsigned flags)
{
    FAIL("copy", out)
    return REAL(copy_file_range)(in, from, out, to, trouble < 0 && size > 1 ? size / 2 + 1 : size, flags);
}

ssize_t sendfile64(int out, int in, off64_t *from, size_t size);
ssize_t sendfile(int out, int in, off_t *from, size_t size)
{
    FAIL("sendfile", out)
    return ((ssize_t(*)(int, int, off_t *, size_t))dlsym(RTLD_NEXT, "sendfile"))(
        out, in, from, trouble < 0 && size > 1 ? size / 2 + 1 : size);
}

ssize_t sendfile64(int out, int in, off64_t *from, size_t size)
{
    FAIL("sendfile", out)
    return ((ssize_t(*)(int, int, off64_t *, size_t))dlsym(RTLD_NEXT, "sendfile64"))(
        out, in, from, trouble < 0 && size > 1 ? size / 2 + 1 : size);
}

int fsync(int fd)
{
    FAIL("fsync", fd)
    return REAL(fsync)(fd);
}

int ftruncate64(int fd, off64_t length)
{
    FAIL("ftruncate", fd)
    return ((int (*)(int, off64_t))dlsym(RTLD_NEXT, "ftruncate64"))(fd, length);
}

ssize_t pread64(int fd, void *data, size_t size, off64_t at)
{
    FAIL("read", fd)
    return ((ssize_t(*)(int, void *, size_t, off64_t))dlsym(RTLD_NEXT, "pread64"))(
        fd, data, trouble < 0 && size > 1 ? size / 2 + 1 : size, at);
}

int rename(const char *old, const char *new)
{
    int trouble = named(old) ? fault("rename") : 0;
    if (trouble > 0) {
        errno = trouble;
        return -1;
    }
    return REAL(rename)(old, new);
}

int open64(const char *path, int flags, ...)
{
    mode_t mode = 0;
    if (flags & (O_CREAT | O_TMPFILE)) {
        va_list list;
        va_start(list, flags);
        mode = va_arg(list, mode_t);
        va_end(list);
    }
    int trouble = named(path) ? fault("open") : 0;
    if (trouble > 0) {
        errno = trouble;
        return -1;
    }
    return ((int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open64"))(path, flags, mode);
}
