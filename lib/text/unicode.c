/*
 * Lower case: a sorted list, as few letters have one.
 */
#include "text/unicode.h"

size_t rmli_unicode_lowercase(uint32_t code_point, uint32_t out[3])
{
    if (code_point < 128) {
        out[0] = code_point >= 'A' && code_point <= 'Z' ? code_point + 32 : code_point;
        return 1;
    }
    size_t low = 0, high = rmli_unicode_n_lower;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct rmli_unicode_lower *entry = &rmli_unicode_lower[middle];
        if (entry->code_point == code_point) {
            out[0] = entry->lower[0];
            out[1] = entry->lower[1];
            return entry->lower[1] ? 2 : 1;
        }
        if (entry->code_point < code_point)
            low = middle + 1;
        else
            high = middle;
    }
    out[0] = code_point;
    return 1;
}
