/*
 * Finding added tokens.
 */
#include "text/added_tokens.h"

#include "text/unicode.h"

int rmli_added_token_compare(const void *left, const void *right)
{
    const struct rmli_added_token *a = *(const struct rmli_added_token *const *)left,
                                  *b = *(const struct rmli_added_token *const *)right;
    int order = memcmp(a->content, b->content, a->nbytes < b->nbytes ? a->nbytes : b->nbytes);
    return order != 0 ? order : (a->nbytes > b->nbytes) - (a->nbytes < b->nbytes);
}

bool rmli_added_list_init(struct rmli_added_list *list, const struct rmli_added_token *tokens,
                          size_t n, struct rml_error *err)
{
    *list = (struct rmli_added_list){0};
    size_t total_nbytes = 0;
    for (size_t i = 0; i < n; i++)
        total_nbytes += tokens[i].nbytes;
    list->tokens = rmli_alloc(n + 1, sizeof *list->tokens, err); /* n may be 0 */
    if (!list->tokens || !rmli_trie_init(&list->trie, total_nbytes, err))
        return false;
    /* Inserted backwards, so that the first of equal contents stands. */
    for (size_t i = n; i-- > 0;) {
        if (tokens[i].nbytes == 0)
            continue;
        list->tokens[i] = tokens[i];
        rmli_trie_insert(&list->trie, tokens[i].content, tokens[i].nbytes, (int32_t)i);
        uint8_t byte = (uint8_t)tokens[i].content[0];
        list->first_bytes[byte / 64] |= (uint64_t)1 << (byte & 63);
    }
    list->n = n;
    return true;
}

void rmli_added_list_release(struct rmli_added_list *list)
{
    rmli_free(list->tokens);
    rmli_trie_release(&list->trie);
    *list = (struct rmli_added_list){0};
}

static int32_t longest_at(const struct rmli_added_list *list, const char *text, size_t nbytes,
                          size_t begin, size_t *end)
{
    uint32_t node = 0;
    int32_t found = -1;
    for (size_t i = begin; i < nbytes; i++) {
        const struct rmli_trie_edge *edge = rmli_trie_step(&list->trie, node, (uint8_t)text[i]);
        if (!edge)
            break;
        node = edge->node;
        if (edge->id >= 0) {
            found = edge->id;
            *end = i + 1;
        }
    }
    return found;
}

static bool is_word(const char *text, size_t at)
{
    size_t length;
    return rmli_unicode_mask(rmli_utf8_decode(text + at, &length)) & RMLI_UC_PLAIN_WORD;
}

static bool is_space(const char *text, size_t at, size_t *length)
{
    return rmli_unicode_mask(rmli_utf8_decode(text + at, length)) & RMLI_UC_SPACE;
}

size_t rmli_trust_range(const struct rmli_trust *trust, size_t at)
{
    size_t low = 0, high = trust->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (trust->ranges[middle].end <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The token at `begin`, -1 when there is none; *parsed says whether it is one or just its text. */
static int32_t match_at(const struct rmli_added_list *list, const char *text, size_t nbytes,
                        size_t begin, const struct rmli_trust *trust, size_t *end, bool *parsed)
{
    for (size_t limit = nbytes;;) {
        int32_t found = longest_at(list, text, limit, begin, end);
        *parsed = found >= 0 && (trust->all || !list->tokens[found].special);
        if (found < 0 || *parsed || trust->n == 0)
            return found;
        size_t from = begin + list->tokens[found].n_put_before, i = rmli_trust_range(trust, from);
        bool inside = i < trust->n && trust->ranges[i].begin <= from;
        size_t border = i == trust->n ? nbytes
                        : inside      ? trust->ranges[i].end
                                      : trust->ranges[i].begin;
        if (*end <= border) {
            *parsed = inside;
            return found;
        }
        limit = border; /* perhaps a shorter one is not cut */
    }
}

bool rmli_added_next(const struct rmli_added_list *list, struct rmli_added_cursor *cursor,
                     const char *text, size_t nbytes, const struct rmli_trust *trust, size_t *begin,
                     size_t *end, int32_t *id)
{
    *begin = cursor->taken;
    *id = -1;
    for (size_t i = list->n > 0 ? cursor->search_from : nbytes; i < nbytes;) {
        uint8_t byte = (uint8_t)text[i];
        size_t stop = i;
        int32_t found;
        bool parsed;
        if (!(list->first_bytes[byte / 64] >> (byte & 63) & 1) ||
            (found = match_at(list, text, nbytes, i, trust, &stop, &parsed)) < 0) {
            i++;
            continue;
        }
        const struct rmli_added_token *token = &list->tokens[found];
        size_t start = i, length;
        i = stop; /* whatever becomes of this match, the next begins behind it */
        if (!parsed)
            continue;
        if (token->single_word &&
            ((start > 0 && is_word(text, rmli_utf8_previous(text, 0, start))) ||
             (stop < nbytes && is_word(text, stop))))
            continue;
        if (token->lstrip) {
            while (start > cursor->taken) {
                size_t previous = rmli_utf8_previous(text, 0, start);
                if (!is_space(text, previous, &length))
                    break;
                start = previous;
            }
        }
        if (token->rstrip)
            while (stop < nbytes && is_space(text, stop, &length))
                stop += length;
        /* A match of spaces that the token before has taken with its own leaves nothing. */
        if (token->lstrip && cursor->taken >= stop)
            continue;
        *end = start > cursor->taken ? start : cursor->taken;
        *id = token->id;
        cursor->search_from = i;
        cursor->taken = stop;
        return true;
    }
    *end = nbytes;
    cursor->search_from = nbytes;
    if (cursor->taken >= nbytes)
        return false;
    cursor->taken = nbytes;
    return true;
}
