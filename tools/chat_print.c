/* A model's bytes on their way to a terminal. */
#include <unistd.h>

#include "base/error.h"
#include "chat_program.h"

/* Bytes of the character that begins at p, 1 to 4; 0 when it is none (RFC 3629, table 3-7 of the
 * Unicode standard). */
static size_t character_nbytes(const unsigned char *p, size_t n)
{
    if (p[0] < 0x80)
        return 1;
    size_t length = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
    unsigned char low = 0x80, high = 0xbf; /* of the second byte */
    if (p[0] < 0xc2 || p[0] > 0xf4 || n < length)
        return 0;
    if (p[0] == 0xe0)
        low = 0xa0;
    if (p[0] == 0xed)
        high = 0x9f;
    if (p[0] == 0xf0)
        low = 0x90;
    if (p[0] == 0xf4)
        high = 0x8f;
    if (p[1] < low || p[1] > high)
        return 0;
    for (size_t i = 2; i < length; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    return length;
}

/* C0, DEL and C1 (U+0080 to U+009F, among them a one-character CSI). */
static bool is_control(const unsigned char *p, size_t length)
{
    if (length == 1)
        return (p[0] < 0x20 && p[0] != '\n' && p[0] != '\t') || p[0] == 0x7f;
    return length == 2 && p[0] == 0xc2 && p[1] < 0xa0;
}

void chat_print(FILE *stream, const char *bytes, size_t nbytes)
{
    if (!isatty(fileno(stream))) {
        fwrite(bytes, 1, nbytes, stream);
        fflush(stream);
        return;
    }
    const unsigned char *p = (const unsigned char *)bytes, *end = p + nbytes;
    while (p < end) {
        size_t length = character_nbytes(p, (size_t)(end - p));
        if (length > 0 && !is_control(p, length))
            fwrite(p, 1, length, stream);
        else if (*p != '\r')
            fputs("\xef\xbf\xbd", stream);
        p += length > 0 ? length : 1;
    }
    fflush(stream);
}
