/* Types of plain scalars against PyYAML's; files that are more than they seem. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "eval/tests/expected_yaml_scalars.h"
#include "eval/yaml_tree.h"

static char path[] = "/tmp/rml-yaml-XXXXXX";

static bool read_text(const char *text, struct yaml_tree_node *root, struct rml_error *err)
{
    strcpy(path + strlen(path) - 6, "XXXXXX");
    int fd = mkstemp(path);
    cr_assert(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
    bool ok = yaml_tree_read(root, path, err);
    unlink(path);
    return ok;
}

Test(yaml_tree, scalars_have_the_types_of_pyyaml)
{
    static const struct {
        const char *text;
        enum yaml_kind kind;
        double number;
    } cases[] = {SCALARS};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[64];
        struct yaml_tree_node root;
        struct rml_error err = RML_ERROR_INIT;
        snprintf(text, sizeof text, "key: %s\n", cases[i].text);
        cr_assert(read_text(text, &root, &err), "%s", err.message);
        const struct yaml_tree_node *node = yaml_tree_get(&root, "key");
        cr_expect(node->kind == cases[i].kind, "%s: kind %d", cases[i].text, node->kind);
        if (node->kind == YAML_REAL || node->kind == YAML_INT)
            cr_expect(node->real == cases[i].number, "%s", cases[i].text);
        if (node->kind == YAML_BOOL)
            cr_expect((double)node->integer == cases[i].number, "%s", cases[i].text);
        yaml_tree_release(&root);
    }
}

Test(yaml_tree, quoted_scalars_are_text_and_aliases_are_copied)
{
    struct yaml_tree_node root;
    struct rml_error err = RML_ERROR_INIT;
    cr_assert(read_text("a: &x [\"yes\", '1']\nb: *x\n", &root, &err));
    const struct yaml_tree_node *b = yaml_tree_get(&root, "b");
    cr_assert(b->kind == YAML_LIST && b->n == 2);
    cr_expect(b->items[0].kind == YAML_STRING && b->items[1].kind == YAML_STRING);
    cr_expect(b->items[0].line == 1);
    yaml_tree_release(&root);
}

Test(yaml_tree, hostile_files_are_refused_with_their_line)
{
    const struct {
        const char *text, *message;
    } cases[] = {
        {"a: 1\nb: !function utils.f\n", "line 2: '!function utils.f' found"},
        {"a: 1\nb: !!int '5'\n", "line 2: 'tag:yaml.org,2002:int 5' found"},
        {"a: 1\n\na: 2\n", "line 3: key 'a' found, which line 1 has"},
        {"a: 1\n\"b\\0c\": 2\n", "line 2: a NUL in a key"},
        {"a: 1\n---\nb: 2\n", "line 3: a second document"},
        {"a: [1, 2\nb: 3\n", "line 2: "},
        {"a: *nowhere\n", "line 1: "},
        {"x: &x {a: 1}\ny:\n  <<: *x\n", "line 3: the merge key"},
        {"a: &a [*a]\n", "nested deeper than 32"},
        {"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]", "nested deeper"},
        {"a: &a [1,1,1,1,1,1,1,1,1,1]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\n"
         "c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\n"
         "e: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: [*e,*e,*e,*e,*e,*e,*e,*e,*e,*e]\n",
         "line 1: more than 100000 values"},
        {"", "nothing found, expected YAML"},
        {"\xef\xbb\xbf"
         "a: 1\n",
         "line 1: a byte order mark"},
        {"a: 1\r\n", "line 1: a carriage return"},
        {"a: \"\xff\"\n", "line 1: byte 0xff"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct yaml_tree_node root;
        struct rml_error err = RML_ERROR_INIT;
        cr_expect(!read_text(cases[i].text, &root, &err), "case %zu", i);
        cr_expect(strstr(err.message, cases[i].message) != NULL, "case %zu: %s", i, err.message);
    }
}
