/*
 * The rules of reasoning models' templates, in their own order of splits and strips.
 */
#include "text/chat_thinking.h"

#include <string.h>

#define THINK_OPEN "<think>"
#define THINK_CLOSE "</think>"

struct stretch {
    const char *text;
    size_t nbytes;
};

static struct stretch stripped_of_newlines(struct stretch s, bool left, bool right)
{
    for (; left && s.nbytes > 0 && s.text[0] == '\n'; s.nbytes--)
        s.text++;
    while (right && s.nbytes > 0 && s.text[s.nbytes - 1] == '\n')
        s.nbytes--;
    return s;
}

static bool has_prefix(struct stretch s, const char *prefix)
{
    size_t nbytes = strlen(prefix);
    return s.nbytes >= nbytes && memcmp(s.text, prefix, nbytes) == 0;
}

static bool has_suffix(struct stretch s, const char *suffix)
{
    size_t nbytes = strlen(suffix);
    return s.nbytes >= nbytes && memcmp(s.text + s.nbytes - nbytes, suffix, nbytes) == 0;
}

/* split(mark)[0] and split(mark)[-1]; false, and s twice, when it does not hold the mark. Whether
 * occurrences are counted from the left or from the right is the same: the marks do not overlap. */
static bool split(struct stretch s, const char *mark, struct stretch *before, struct stretch *after)
{
    bool found = false;
    *before = *after = s;
    for (size_t i = 0; i < s.nbytes; i++) {
        struct stretch rest = {s.text + i, s.nbytes - i};
        if (!has_prefix(rest, mark))
            continue;
        if (!found)
            before->nbytes = i;
        found = true;
        after->text = rest.text + strlen(mark);
        after->nbytes = rest.nbytes - strlen(mark);
    }
    return found;
}

static struct stretch content_of(const struct rml_chat_message *message)
{
    return (struct stretch){message->content, message->content_nbytes};
}

static size_t last_question(const struct rml_chat_message *messages, size_t n_messages)
{
    for (size_t i = n_messages; i-- > 0;) {
        struct stretch content = content_of(&messages[i]);
        if (strcmp(messages[i].role, "user") == 0 &&
            !(has_prefix(content, "<tool_response>") && has_suffix(content, "</tool_response>")))
            return i;
    }
    return n_messages - 1;
}

static bool append(struct rmli_chat_layout *layout, struct stretch s, struct rml_error *err)
{
    return rmli_chat_layout_append(layout, s.text, s.nbytes, false, err);
}

static bool append_own(struct rmli_chat_layout *layout, const char *text, struct rml_error *err)
{
    return rmli_chat_layout_append(layout, text, strlen(text), true, err);
}

bool rmli_chat_qwen3_answer(struct rmli_chat_layout *layout,
                            const struct rml_chat_message *messages, size_t n_messages, size_t at,
                            struct rml_error *err)
{
    struct stretch content = content_of(&messages[at]), reasoning = {"", 0}, before, after, ignored;
    if (split(content, THINK_CLOSE, &before, &after)) {
        content = stripped_of_newlines(after, true, false);
        split(stripped_of_newlines(before, false, true), THINK_OPEN, &ignored, &reasoning);
        reasoning = stripped_of_newlines(reasoning, true, false);
    }
    bool keeps =
        at > last_question(messages, n_messages) && (at + 1 == n_messages || reasoning.nbytes > 0);
    if (!keeps)
        return append(layout, content, err);
    return append_own(layout, THINK_OPEN "\n", err) &&
           append(layout, stripped_of_newlines(reasoning, true, true), err) &&
           append_own(layout, "\n" THINK_CLOSE "\n\n", err) &&
           append(layout, stripped_of_newlines(content, true, false), err);
}

bool rmli_chat_qwq_answer(struct rmli_chat_layout *layout, const struct rml_chat_message *messages,
                          size_t n_messages, size_t at, struct rml_error *err)
{
    struct stretch content = content_of(&messages[at]), before, after;
    if (at + 1 < n_messages) {
        split(content, THINK_CLOSE, &before, &after);
        content = stripped_of_newlines(after, true, false);
    }
    return append(layout, content, err);
}
