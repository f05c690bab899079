/* One turn of a conversation. */
#include <stdlib.h>
#include <string.h>

#include "chat_program.h"
#include "tools/cli/report.h"

/* ---- The conversation --------------------------------------------------------------------- */

static bool push(struct chat *chat, const char *role, const char *text, size_t nbytes,
                 struct rml_error *err)
{
    struct rml_chat_message *grown =
        realloc(chat->messages, (chat->n_messages + 1) * sizeof *grown);
    char *copy = malloc(nbytes + 1);
    if (grown)
        chat->messages = grown;
    if (!grown || !copy) {
        free(copy);
        return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for a message of %zu bytes",
                         nbytes);
    }
    if (nbytes > 0)
        memcpy(copy, text, nbytes);
    copy[nbytes] = 0;
    chat->messages[chat->n_messages++] =
        (struct rml_chat_message){.role = role, .content = copy, .content_nbytes = nbytes};
    return true;
}

static void pop_to(struct chat *chat, size_t n)
{
    while (chat->n_messages > n)
        free((char *)chat->messages[--chat->n_messages].content);
}

void chat_reset(struct chat *chat)
{
    pop_to(chat, 0);
}

/* ---- A reply ------------------------------------------------------------------------------- */

struct streaming {
    struct chat *chat;
    struct rml_decode_stream decoder;
    struct rml_bytes *reply;
    size_t n_printed; /* bytes of *reply */
    struct rml_error *err;
    bool failed;
};

static void print_new(struct streaming *s)
{
    size_t n_new = s->reply->n - s->n_printed;
    if (n_new > 0 && s->chat->stream)
        chat_print(s->chat->stream, s->reply->data + s->n_printed, n_new);
    s->n_printed = s->reply->n;
}

static bool on_token(void *user, int32_t id)
{
    struct streaming *s = user;
    /* A model's vocabulary may be wider than its tokenizer's: such an id has no text. */
    if ((size_t)id < rml_tokenizer_n_vocab(s->decoder.tokenizer) &&
        !rml_decode_stream_step(&s->decoder, id, s->reply, s->err)) {
        s->failed = true;
        return false;
    }
    print_new(s);
    return !s->chat->is_stopped();
}

static bool encode(const struct chat *chat, const char *text, size_t nbytes, struct rml_ids *ids,
                   struct rml_error *err)
{
    if (!chat->format)
        return rml_tokenizer_encode(chat->target.tokenizer, text, nbytes, RML_ADD_SPECIAL, ids,
                                    err);
    return rml_chat_encode(chat->format, chat->target.tokenizer, chat->messages, chat->n_messages,
                           true, ids, err);
}

static bool generate(struct chat *chat, const struct rml_ids *prompt, struct rml_bytes *reply,
                     struct rml_generation_stats *stats, struct rml_error *err)
{
    if (prompt->n > rml_session_n_context(chat->session))
        return rmli_fail(err, RML_OUT_OF_RANGE, NULL, -1,
                         "%s has %zu tokens, expected at most --ctx %zu%s",
                         chat->format ? "the conversation" : "the text", prompt->n,
                         rml_session_n_context(chat->session),
                         chat->n_messages > 2 ? "; /reset starts over" : "");
    struct streaming s = {.chat = chat, .reply = reply, .n_printed = reply->n, .err = err};
    rml_decode_stream_init(&s.decoder, chat->target.tokenizer, true);
    const struct rml_generation generation = {.prompt = prompt->ids,
                                              .n_prompt = prompt->n,
                                              .max_tokens = chat->settings->max_tokens,
                                              .on_token = on_token,
                                              .user = &s};
    bool ok = rml_session_generate(chat->session, &generation, stats, err) && !s.failed &&
              rml_decode_stream_finish(&s.decoder, reply, err);
    print_new(&s);
    return ok;
}

bool chat_say(struct chat *chat, const char *text, size_t nbytes, struct rml_bytes *reply,
              struct rml_generation_stats *stats, struct rml_error *err)
{
    const size_t n_before = chat->n_messages, reply_at = reply->n;
    const char *system = chat->settings->system;
    struct rml_ids prompt = {0};
    bool ok = true;
    if (chat->format)
        ok = (n_before > 0 || !system || push(chat, "system", system, strlen(system), err)) &&
             push(chat, "user", text, nbytes, err);
    ok = ok && encode(chat, text, nbytes, &prompt, err) &&
         generate(chat, &prompt, reply, stats, err);
    if (ok && chat->format)
        ok = push(chat, "assistant", reply->data + reply_at, reply->n - reply_at, err);
    if (!ok)
        pop_to(chat, n_before);
    rml_ids_release(&prompt);
    return ok;
}

/* ---- Its figures --------------------------------------------------------------------------- */

double chat_rate(size_t n, int64_t ns)
{
    return ns > 0 ? (double)n * 1e9 / (double)ns : 0;
}

void chat_note_stats(const struct chat *chat, const struct rml_generation_stats *s)
{
    char draft[100] = "";
    if (chat->draft.model && s->n_rounds > 0)
        snprintf(draft, sizeof draft, ", draft: %.0f%% kept, %.2f tokens a round",
                 s->n_drafted ? 100.0 * (double)s->n_accepted / (double)s->n_drafted : 0.0,
                 (double)(s->n_accepted + s->n_rounds) / (double)s->n_rounds);
    const char *end = s->finish == RML_FINISH_LIMIT      ? ", cut at --max-tokens"
                      : s->finish == RML_FINISH_FULL     ? ", cut: --ctx is full"
                      : s->finish == RML_FINISH_CALLBACK ? ", stopped"
                                                         : "";
    cli_note("prompt %zu token%s at %.1f/s (and %zu cached), reply %zu at %.1f/s%s%s", s->n_run,
             cli_plural(s->n_run), chat_rate(s->n_run, s->prefill_ns), s->n_reused, s->n_generated,
             chat_rate(s->n_generated, s->decode_ns), draft, end);
}
