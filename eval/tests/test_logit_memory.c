/*
 * "n_ctx*n_vocab overflow at long context; O(ctx*vocab) memory": with a vocabulary of 262,144 a
 * row of logits is 1 MiB, so a window that is longer by 160 tokens would show as 160 MiB if
 * they were all kept. The peak of this process is measured before and after such a window.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "eval/kld_pass.h"
#include "eval/scorer.h"

#define N_VOCAB 262144
#define WIDTH 32
#define SHORT 128 /* all that a divergence keeps of its base */
#define LONG 288

static char folder[] = "/tmp/rml-logit-memory-XXXXXX";

static FILE *create(const char *name)
{
    char path[64];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *stream = fopen(path, "wb");
    cr_assert(stream);
    return stream;
}

/* One layer of width 32 in bfloat16 with arbitrary small weights; its head is its embedding. */
static void write_checkpoint(void)
{
    static const struct {
        const char *name;
        unsigned rows, columns;
    } tensors[] = {{"embed_tokens", N_VOCAB, WIDTH},
                   {"layers.0.input_layernorm", 0, WIDTH},
                   {"layers.0.self_attn.q_proj", WIDTH, WIDTH},
                   {"layers.0.self_attn.k_proj", WIDTH, WIDTH},
                   {"layers.0.self_attn.v_proj", WIDTH, WIDTH},
                   {"layers.0.self_attn.o_proj", WIDTH, WIDTH},
                   {"layers.0.post_attention_layernorm", 0, WIDTH},
                   {"layers.0.mlp.gate_proj", WIDTH, WIDTH},
                   {"layers.0.mlp.up_proj", WIDTH, WIDTH},
                   {"layers.0.mlp.down_proj", WIDTH, WIDTH},
                   {"norm", 0, WIDTH}};
    FILE *config = create("config.json");
    fprintf(config,
            "{\"architectures\": [\"LlamaForCausalLM\"], \"model_type\": \"llama\", "
            "\"vocab_size\": %d, \"hidden_size\": %d, \"intermediate_size\": %d, "
            "\"num_hidden_layers\": 1, \"num_attention_heads\": 2, \"num_key_value_heads\": 2, "
            "\"max_position_embeddings\": 4096, \"rms_norm_eps\": 1e-5, \"rope_theta\": 10000.0, "
            "\"hidden_act\": \"silu\", \"tie_word_embeddings\": true}",
            N_VOCAB, WIDTH, WIDTH);
    fclose(config);

    char header[4096] = "{";
    size_t length = 1, offset = 0;
    for (size_t i = 0; i < sizeof tensors / sizeof tensors[0]; i++) {
        char shape[32];
        size_t rows = tensors[i].rows ? tensors[i].rows : 1;
        size_t nbytes = rows * tensors[i].columns * 2;
        if (tensors[i].rows)
            snprintf(shape, sizeof shape, "%u, %u", tensors[i].rows, tensors[i].columns);
        else
            snprintf(shape, sizeof shape, "%u", tensors[i].columns);
        length += (size_t)snprintf(header + length, sizeof header - length,
                                   "%s\"model.%s.weight\": {\"dtype\": \"BF16\", \"shape\": [%s], "
                                   "\"data_offsets\": [%zu, %zu]}",
                                   i ? ", " : "", tensors[i].name, shape, offset, offset + nbytes);
        offset += nbytes;
    }
    header[length++] = '}';
    while (length % 8)
        header[length++] = ' ';
    FILE *stream = create("model.safetensors");
    uint64_t header_nbytes = length;
    fwrite(&header_nbytes, sizeof header_nbytes, 1, stream);
    fwrite(header, 1, length, stream);
    for (size_t i = 0; i < offset / 2; i++) {
        /* +-1/16 to +-1/8 */
        uint16_t weight = (uint16_t)(0x3d80 | (i * 2654435761U >> 7 & 0x7f) | (i * 40503 & 0x8000));
        fwrite(&weight, sizeof weight, 1, stream);
    }
    cr_assert(fclose(stream) == 0);
}

static size_t peak_nbytes(void)
{
    char line[256];
    size_t kib = 0;
    FILE *status = fopen("/proc/self/status", "r");
    while (status && fgets(line, sizeof line, status))
        if (sscanf(line, "VmHWM: %zu", &kib) == 1)
            break;
    if (status)
        fclose(status);
    return kib * 1024;
}

struct fixture {
    struct rml_thread_pool *pool;
    struct eval_engine engine, base;
    int32_t tokens[LONG + 1];
};

static void set_up(struct fixture *f)
{
    struct rml_error err = RML_ERROR_INIT;
    const struct eval_settings settings = {
        .arithmetic = RML_ARITHMETIC_F32, .k_dtype = RML_KV_F32, .v_dtype = RML_KV_F32};
    cr_assert(mkdtemp(folder));
    setenv("XDG_CACHE_HOME", folder, 1);
    write_checkpoint();
    f->pool = rml_thread_pool_create(1, &err);
    cr_assert(eval_engine_init(&f->engine, folder, &settings, f->pool, &err), "%s", err.message);
    cr_assert(eval_engine_init(&f->base, folder, &settings, f->pool, &err), "%s", err.message);
    for (int32_t i = 0; i <= LONG; i++)
        f->tokens[i] = i * 401;
}

static void tear_down(struct fixture *f)
{
    char command[128];
    eval_engine_release(&f->base);
    eval_engine_release(&f->engine);
    rml_thread_pool_destroy(f->pool);
    snprintf(command, sizeof command, "rm -r %s", folder);
    cr_assert(system(command) == 0);
}

static struct eval_request window(const struct fixture *f, size_t n)
{
    return (struct eval_request){
        .tokens = f->tokens, .n_tokens = n + 1, .first_target = 1, .doc_id = "window"};
}

static void score_window(struct fixture *f, size_t n)
{
    struct rml_error err = RML_ERROR_INIT;
    const struct eval_request request = window(f, n);
    const size_t chosen = 0;
    struct eval_scores scores;
    cr_assert(eval_scores_init(&scores, &request, 1, &err));
    cr_assert(scorer_run(&f->engine, &request, &chosen, 1, scores.scores, NULL, NULL, NULL, &err),
              "%s", err.message);
    cr_expect(scores.scores[0].is_done);
    eval_scores_release(&scores);
}

static void compare_window(struct fixture *f, size_t n)
{
    struct rml_error err = RML_ERROR_INIT;
    const struct eval_request request = window(f, n);
    struct kld_base base;
    const struct kld_pass_options options = {0};
    cr_assert(kld_base_from_engine(&base, &f->base, n, KLD_BATCH_ROWS, &err), "%s", err.message);
    struct eval_run run = {0};
    const struct eval_task task = {.name = "kld",
                                   .protocol = "llama.cpp",
                                   .engine = &f->engine,
                                   .base = &f->base,
                                   .base_identity = base.identity};
    struct kld_candidate candidate = {.run = &run, .task = &task};
    cr_assert(kld_pass(&base, &request, 1, &candidate, 1, &options, NULL, &err), "%s", err.message);
    cr_expect(candidate.tokens.n == n);
    cr_expect(candidate.tokens.tokens[n - 1].kld == 0 && candidate.tokens.tokens[n - 1].same_top);
    kld_candidate_release(&candidate);
    kld_base_release(&base);
}

/* What 160 tokens may add: the cache has 256 bytes for each. */
#define MOST_NBYTES ((size_t)32 << 20)

static void expect_flat(void run(struct fixture *, size_t))
{
    static struct fixture f;
#if defined(__SANITIZE_ADDRESS__)
    cr_skip_test("ASan holds back what is freed");
#endif
    set_up(&f);
    run(&f, SHORT);
    size_t before = peak_nbytes();
    run(&f, LONG);
    size_t after = peak_nbytes();
    cr_expect(before > (size_t)N_VOCAB * WIDTH * 2);
    cr_expect(after - before < MOST_NBYTES, "%zu MiB more", (after - before) >> 20);
    tear_down(&f);
}

Test(logit_memory, n_ctx_times_n_vocab_overflow_at_long_context)
{
    expect_flat(score_window);
}

Test(logit_memory, ctx_times_vocab_memory_of_a_divergence)
{
    expect_flat(compare_window);
}
