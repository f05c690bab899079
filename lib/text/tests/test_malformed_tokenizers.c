/*
 * Files that are no tokenizers, or ask for what is not known: each is refused with a message that
 * says what is wrong. malformed/EXPECTED has a line for each file: name, tab, words that the
 * message must have.
 */
#include "text/tokenizer.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "text/tests/tokenizer_files.h"

Test(malformed_tokenizers, each_is_refused_by_name)
{
    char path[1024], line[512];
    int n = 0;
    test_source_path(path, "lib/text/tests/malformed", "EXPECTED");
    FILE *list = fopen(path, "r");
    cr_assert_not_null(list, "%s", path);
    while (fgets(line, sizeof line, list)) {
        line[strcspn(line, "\n")] = 0;
        char *want = strchr(line, '\t');
        cr_assert_not_null(want, "%s", line);
        *want++ = 0;
        test_source_path(path, "lib/text/tests/malformed", line);
        struct rml_error err = RML_ERROR_INIT;
        struct rml_tokenizer *t = rml_tokenizer_from_json(path, &err);
        cr_expect_null(t, "%s was opened", line);
        cr_expect(err.code == RML_FORMAT || err.code == RML_UNSUPPORTED, "%s: %s: %s", line,
                  rml_code_name(err.code), err.message);
        cr_expect(strstr(err.message, want), "%s: '%s', expected '%s' in it", line, err.message,
                  want);
        cr_expect(strstr(err.file, line), "%s: the error names '%s'", line, err.file);
        rml_tokenizer_destroy(t);
        n++;
    }
    fclose(list);
    cr_assert_geq(n, 30);
}
