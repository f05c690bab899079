/*
 * Any bytes as a GGUF model: opened, its recipe read, its weights found. Seeds
 * are whole models of a kilobyte or two.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "model/weights.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes);

static void require(bool ok)
{
    if (!ok)
        abort();
}

/* Touches every row, so that a view beyond the file is noticed. */
static unsigned sum_rows(const struct rmli_matrix *m)
{
    unsigned sum = 0;
    for (size_t i = 0; i < m->n_rows; i++)
        sum += rmli_matrix_row(m, i)[m->row_nbytes - 1];
    return sum;
}

static unsigned sum_weights(const struct rml_model_config *c, const struct rmli_weights *w)
{
    unsigned sum = sum_rows(&w->embedding) + sum_rows(&w->head);
    for (uint32_t i = 0; i < c->n_layer; i++) {
        const struct rmli_layer_weights *l = &w->layers[i];
        sum += sum_rows(&l->q) + sum_rows(&l->k) + sum_rows(&l->v) + sum_rows(&l->o);
        if (!c->n_expert)
            sum += sum_rows(&l->gate) + sum_rows(&l->up) + sum_rows(&l->down);
        for (uint32_t e = 0; e < c->n_expert; e++)
            sum += sum_rows(&l->expert_gate[e]) + sum_rows(&l->expert_up[e]) +
                   sum_rows(&l->expert_down[e]);
    }
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    struct rml_error err = RML_ERROR_INIT;
    struct rml_model_config c;
    struct rmli_weights w;
    char path[64];

    int fd = memfd_create("model.gguf", 0);
    require(fd >= 0 && write(fd, data, nbytes) == (ssize_t)nbytes);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    struct rml_checkpoint *cp = rml_checkpoint_open(path, &err);
    if (cp && rml_model_config_read(cp, &c, &err) && rmli_weights_init(&w, cp, &c, &err)) {
        require(err.code == RML_OK && rml_parameter_count(&c) > 0);
        volatile unsigned sum = sum_weights(&c, &w);
        (void)sum;
        rmli_weights_release(&w);
    } else {
        require(err.code != RML_OK && err.message[0]);
    }
    rml_checkpoint_close(cp);
    close(fd);
    return 0;
}
