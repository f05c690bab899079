/*
 * Laying out a conversation: a format's pieces with their holes filled.
 *
 * Nothing is copied. A hole becomes a span that borrows from the message, and trimming only
 * narrows spans, also where a piece and contents are trimmed as one text.
 */
#include "text/chat_layout.h"

#include <string.h>

#include "base/memory.h"
#include "base/utf8.h"
#include "text/chat_thinking.h"
#include "text/unicode.h"

/* str.isspace of Python: the bidirectional types WS, B and S, and the category Zs. */
static bool is_python_space(uint32_t c)
{
    return (c >= 0x09 && c <= 0x0d) || (c >= 0x1c && c <= 0x20) || c == 0x85 || c == 0xa0 ||
           c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 ||
           c == 0x202f || c == 0x205f || c == 0x3000;
}

/* Bytes of the white space at the beginning of a text; 0 when there is none. */
static size_t space_at_begin(const char *text, size_t nbytes)
{
    size_t length = rmli_utf8_sequence_nbytes((const uint8_t *)text, nbytes);
    if (length == 0)
        return 0;
    return is_python_space(rmli_utf8_decode(text, &length)) ? length : 0;
}

static size_t space_at_end(const char *text, size_t nbytes)
{
    for (size_t length = 1; length <= 3 && length <= nbytes; length++)
        if (space_at_begin(text + nbytes - length, length) == length)
            return length;
    return 0;
}

void rmli_python_strip(const char **text, size_t *nbytes, bool left, bool right)
{
    for (size_t length; left && (length = space_at_begin(*text, *nbytes)) > 0;) {
        *text += length;
        *nbytes -= length;
    }
    for (size_t length; right && (length = space_at_end(*text, *nbytes)) > 0;)
        *nbytes -= length;
}

bool rmli_chat_layout_append(struct rmli_chat_layout *layout, const char *text, size_t nbytes,
                             bool trusted, struct rml_error *err)
{
    void *spans = layout->spans;
    if (!rmli_reserve_one(&spans, layout->n, &layout->capacity, sizeof *layout->spans, err))
        return false;
    layout->spans = spans;
    layout->spans[layout->n++] =
        (struct rml_text_span){.text = text, .nbytes = nbytes, .trusted = trusted};
    return true;
}

void rmli_chat_layout_release(struct rmli_chat_layout *layout)
{
    rmli_free(layout->spans);
    *layout = (struct rmli_chat_layout){0};
}

/* Strips the spans from `begin` on as if they were one text. */
static void strip_spans(struct rmli_chat_layout *layout, size_t begin)
{
    struct rml_text_span *spans = layout->spans;
    for (size_t i = begin; i < layout->n; i++) {
        rmli_python_strip(&spans[i].text, &spans[i].nbytes, true, false);
        if (spans[i].nbytes > 0)
            break;
    }
    for (size_t i = layout->n; i-- > begin;) {
        rmli_python_strip(&spans[i].text, &spans[i].nbytes, false, true);
        if (spans[i].nbytes > 0)
            break;
    }
}

/* One conversation on its way through a format. */
struct progress {
    const struct rml_chat_format *format;
    const struct rml_chat_message *messages;
    size_t n_messages, at;
    const struct rml_chat_message *system; /* taken out of the conversation; NULL: none */
    const char *bos, *eos;
    struct rmli_chat_layout *layout;
    struct rml_error *err;
};

static bool append_message(struct progress *p, const struct rml_chat_message *message, bool strip)
{
    const char *text = message ? message->content : "";
    size_t nbytes = message ? message->content_nbytes : 0;
    if (strip)
        rmli_python_strip(&text, &nbytes, true, true);
    return rmli_chat_layout_append(p->layout, text, nbytes, false, p->err);
}

/* Never called at the end of the messages for the holes that need one: only turns have those. */
static bool fill_hole(struct progress *p, char hole, size_t *group)
{
    const struct rml_chat_message *message = &p->messages[p->at];
    switch (hole) {
    case 'b':
        return !p->bos || rmli_chat_layout_append(p->layout, p->bos, strlen(p->bos), true, p->err);
    case 'e':
        return !p->eos || rmli_chat_layout_append(p->layout, p->eos, strlen(p->eos), true, p->err);
    case 'r':
        return rmli_chat_layout_append(p->layout, message->role, strlen(message->role), false,
                                       p->err);
    case 'c':
    case 't':
        return append_message(p, message, hole == 't');
    case 's':
    case 'S':
        return append_message(p, p->system, hole == 'S');
    case '(':
        *group = p->layout->n;
        return true;
    case ')':
        strip_spans(p->layout, *group);
        return true;
    case 'q':
        return rmli_chat_qwen3_answer(p->layout, p->messages, p->n_messages, p->at, p->err);
    case 'a':
        return rmli_chat_qwq_answer(p->layout, p->messages, p->n_messages, p->at, p->err);
    default:
        return rmli_fail(p->err, RML_INTERNAL, NULL, -1, "chat format '%s' has a hole '%%%c'",
                         p->format->name, hole);
    }
}

static bool write_piece(struct progress *p, const char *piece)
{
    size_t group = 0;
    while (piece && *piece) {
        size_t nbytes = strcspn(piece, "%");
        if (nbytes > 0 && !rmli_chat_layout_append(p->layout, piece, nbytes, true, p->err))
            return false;
        piece += nbytes;
        if (*piece == '%') {
            if (!fill_hole(p, piece[1], &group))
                return false;
            piece += piece[1] ? 2 : 1;
        }
    }
    return true;
}

static bool has_role(const struct rml_chat_message *message, const char *role)
{
    return strcmp(message->role, role) == 0;
}

static bool refuse(struct progress *p, const char *why)
{
    return rmli_fail(p->err, RML_INVALID_ARGUMENT, NULL, -1,
                     "chat format '%s': message %zu of role '%s': %s", p->format->name, p->at,
                     p->messages[p->at].role, why);
}

static const struct rmli_chat_turn *find_turn(const struct rml_chat_format *format,
                                              const struct rml_chat_message *message)
{
    for (size_t i = 0; i < RMLI_CHAT_MAX_TURNS && format->turns[i].piece; i++)
        if (!format->turns[i].role || has_role(message, format->turns[i].role))
            return &format->turns[i];
    return NULL;
}

/* The message at p->at; `first` is the place of the first that is not taken out. */
static bool write_turn(struct progress *p, size_t first)
{
    const struct rml_chat_format *format = p->format;
    const struct rml_chat_message *message = &p->messages[p->at];
    bool is_user = has_role(message, "user"), is_last = p->at + 1 == p->n_messages;
    if (format->alternates && is_user != ((p->at - first) % 2 == 0))
        return refuse(p, "the roles user and assistant must alternate, beginning with user");
    const struct rmli_chat_turn *turn = find_turn(format, message);
    if (!turn || turn->refused)
        return refuse(p, "the format has no place for this role");
    if (p->system && ((format->system == RMLI_SYSTEM_IN_FIRST && p->at == first) ||
                      (format->system == RMLI_SYSTEM_IN_LAST && is_last && is_user)))
        return write_piece(p, format->merged);
    if (turn->skip_empty && message->content_nbytes == 0)
        return true;
    return write_piece(p, is_last && turn->last ? turn->last : turn->piece);
}

bool rmli_chat_lay_out(const struct rml_chat_format *format,
                       const struct rml_chat_message *messages, size_t n_messages,
                       bool generation_prompt, const char *bos, const char *eos,
                       struct rmli_chat_layout *layout, struct rml_error *err)
{
    if (n_messages == 0)
        return rmli_fail(err, RML_INVALID_ARGUMENT, NULL, -1,
                         "a conversation without messages, expected at least one");
    struct progress p = {.format = format,
                         .messages = messages,
                         .n_messages = n_messages,
                         .bos = bos,
                         .eos = eos,
                         .layout = layout,
                         .err = err};
    bool begins_with_system = has_role(&messages[0], "system");
    if (begins_with_system && format->system == RMLI_SYSTEM_REFUSED)
        return refuse(&p, "the format has no system message");
    size_t first = begins_with_system && format->system != RMLI_SYSTEM_TURN ? 1 : 0;
    if (first > 0)
        p.system = &messages[0];

    if (!write_piece(&p, format->start) ||
        !write_piece(&p, begins_with_system ? format->with_system : format->without_system))
        return false;
    for (p.at = first; p.at < n_messages; p.at++)
        if (!write_turn(&p, first))
            return false;
    p.at = n_messages - 1;
    if (format->no_prompt_after_assistant && has_role(&messages[p.at], "assistant"))
        return true;
    return write_piece(&p, generation_prompt ? format->prompt : format->no_prompt);
}
