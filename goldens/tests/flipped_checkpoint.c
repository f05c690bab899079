#include "goldens/tests/flipped_checkpoint.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void give_up(const char *path)
{
    perror(path);
    abort();
}

uint8_t *read_bytes(const char *path, size_t *nbytes)
{
    FILE *stream = fopen(path, "rb");
    if (!stream || fseek(stream, 0, SEEK_END) != 0)
        give_up(path);
    *nbytes = (size_t)ftell(stream);
    rewind(stream);
    uint8_t *bytes = malloc(*nbytes);
    if (!bytes || fread(bytes, 1, *nbytes, stream) != *nbytes)
        give_up(path);
    fclose(stream);
    return bytes;
}

void write_bytes(const char *path, const uint8_t *bytes, size_t nbytes)
{
    FILE *stream = fopen(path, "wb");
    if (!stream || fwrite(bytes, 1, nbytes, stream) != nbytes || fclose(stream) != 0)
        give_up(path);
}

const char *fixture(const char *name)
{
    static char path[PATH_MAX];
    const char *root = getenv("RML_SOURCE_DIR");
    snprintf(path, sizeof path, "%s/goldens/fixtures/%s", root ? root : ".", name);
    return path;
}

static size_t element_nbytes(const struct rml_tensor_info *tensor)
{
    return rml_dtype_traits(tensor->dtype)->block_nbytes;
}

double element_value(const struct rml_tensor_info *tensor, size_t i)
{
    const uint8_t *p = tensor->data + i * element_nbytes(tensor);
    if (tensor->dtype == RML_F16) {
        uint16_t h = (uint16_t)(p[0] | p[1] << 8);
        int exponent = h >> 10 & 31, fraction = h & 1023;
        double value = exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24);
        return h & 0x8000 ? -value : value;
    }
    float value;
    uint8_t bytes[4] = {0};
    memcpy(bytes + (tensor->dtype == RML_BF16 ? 2 : 0), p, element_nbytes(tensor));
    memcpy(&value, bytes, sizeof value);
    return value;
}

size_t greatest_element(const struct rml_tensor_info *tensor, size_t first, size_t n)
{
    size_t greatest = first;
    for (size_t i = first; i < first + n; i++)
        if (fabs(element_value(tensor, i)) > fabs(element_value(tensor, greatest)))
            greatest = i;
    return greatest;
}

void flip_sign(uint8_t *bytes, const struct rml_tensor_info *tensor, size_t i)
{
    bytes[tensor->offset + (i + 1) * element_nbytes(tensor) - 1] ^= 0x80;
}

void put_nan(uint8_t *bytes, const struct rml_tensor_info *tensor, size_t i)
{
    size_t n = element_nbytes(tensor);
    uint8_t *p = bytes + tensor->offset + i * n;
    memset(p, 0, n);
    p[n - 1] = tensor->dtype == RML_F16 ? 0x7e : 0x7f; /* exponent bits all set, */
    p[n - 2] |= tensor->dtype == RML_F16 ? 0 : 0xc0;   /* and the first of the fraction */
}

void flip_exponent(uint8_t *bytes, const struct rml_tensor_info *tensor, size_t i)
{
    bytes[tensor->offset + i * element_nbytes(tensor) + 2] ^= 0x80;
}
