#include "tools/cli/xml_text.h"

#include <stdbool.h>

void cli_put_xml(FILE *out, const char *text)
{
    for (const unsigned char *c = (const unsigned char *)text; *c;) {
        int n = *c < 0x80 ? 1 : *c >= 0xf0 && *c < 0xf5 ? 4 : *c >= 0xe0 ? 3 : *c >= 0xc2 ? 2 : 0;
        bool whole = n > 0 && *c < 0xf5;
        for (int i = 1; whole && i < n; i++)
            whole = (c[i] & 0xc0) == 0x80;
        /* overlong forms, surrogates and what lies above U+10FFFF */
        whole = whole && !(*c == 0xe0 && c[1] < 0xa0) && !(*c == 0xed && c[1] > 0x9f) &&
                !(*c == 0xf0 && c[1] < 0x90) && !(*c == 0xf4 && c[1] > 0x8f);
        bool control = (*c < 0x20 && *c != '\t' && *c != '\n') || *c == 0x7f ||
                       (*c == 0xc2 && whole && c[1] < 0xa0);
        if (!whole || control) {
            fputs("\xef\xbf\xbd", out);
            c += whole ? n : 1;
            continue;
        }
        switch (*c) {
        case '&':
            fputs("&amp;", out);
            break;
        case '<':
            fputs("&lt;", out);
            break;
        case '>':
            fputs("&gt;", out);
            break;
        case '"':
            fputs("&quot;", out);
            break;
        case '\'':
            fputs("&#39;", out);
            break;
        default:
            fwrite(c, 1, (size_t)n, out);
        }
        c += n;
    }
}
