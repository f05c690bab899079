#include "model/profile.h"

#include "base/clock.h"
#include "model/context.h"

const char *rml_operation_name(enum rml_operation operation)
{
    static const char *const names[RML_N_OPERATIONS] = {
        "embed",   "norm",       "qkv",  "rope_store", "attention", "attention_out", "route",
        "gate_up", "activation", "down", "combine",    "head",      "other"};
    return names[operation];
}

void rml_context_set_profile(struct rml_context *ctx, struct rml_profile *profile)
{
    ctx->profile = profile;
    rmli_thread_pool_count_busy(ctx->pool, profile != NULL);
}

void rmli_profile_begin(struct rml_context *ctx)
{
    struct rml_profile *p = ctx->profile;
    p->last_ns = rmli_clock_ns();
    p->last_busy_ns = rmli_thread_pool_busy_ns(ctx->pool);
}

void rmli_profile_end(struct rml_context *ctx, enum rml_operation operation)
{
    struct rml_profile *p = ctx->profile;
    int64_t now_ns = rmli_clock_ns(), busy_ns = rmli_thread_pool_busy_ns(ctx->pool);
    int64_t wall_ns = now_ns - p->last_ns;
    p->wall_ns[operation] += wall_ns;
    p->wait_ns[operation] +=
        (int64_t)rml_thread_pool_size(ctx->pool) * wall_ns - (busy_ns - p->last_busy_ns);
    p->last_ns = now_ns;
    p->last_busy_ns = busy_ns;
}
