/*
 * What may be a name in a golden file.
 */
#include "goldens/golden_name.h"

#include <jansson.h>
#include <stdbool.h>

/* C0, DEL, C1, or one of the characters that turn the direction of what follows (U+202A to
 * U+202E, U+2066 to U+2069). The text is UTF-8. */
static bool begins_with_control(const unsigned char *p)
{
    if (p[0] < 0x20 || p[0] == 0x7f || (p[0] == 0xc2 && p[1] < 0xa0))
        return true;
    return p[0] == 0xe2 && ((p[1] == 0x80 && p[2] >= 0xaa && p[2] <= 0xae) ||
                            (p[1] == 0x81 && p[2] >= 0xa6 && p[2] <= 0xa9));
}

const char *golden_name_fault(const char *text, size_t nbytes, size_t max_nbytes)
{
    if (nbytes == 0)
        return "an empty string";
    if (nbytes > max_nbytes)
        return "too long a string";
    json_t *string = json_stringn(text, nbytes); /* which wants UTF-8 */
    if (!string)
        return "a string that is no UTF-8";
    json_decref(string);
    for (size_t i = 0; i < nbytes; i++)
        if (begins_with_control((const unsigned char *)text + i))
            return "a control character";
    return NULL;
}
