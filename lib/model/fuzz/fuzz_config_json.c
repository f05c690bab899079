/*
 * Any bytes as config.json: parsed as checkpoints parse it, read, validated,
 * counted; the rotary table of what passes is computed. Nothing may crash, and
 * what is accepted must be sound.
 */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/config_readers.h"
#include "model/rope.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes);

static void require(bool ok)
{
    if (!ok)
        abort();
}

static void check_rope(const struct rml_model_config *c)
{
    struct rmli_rope rope;
    if (c->head_dim > 1024 ||
        !rmli_rope_init(&rope, c->head_dim, c->rope_theta, &c->rope_scaling, NULL, NULL))
        return;
    for (uint32_t i = 0; i < rope.n_pairs; i++)
        require(!isnan(rope.inv_freq[i]));
    rmli_rope_release(&rope);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    struct rml_error err = RML_ERROR_INIT;
    struct rml_model_config c;
    json_t *root =
        json_loadb((const char *)data, nbytes, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, NULL);
    if (!root)
        return 0;
    bool ok = rmli_config_from_json(root, "config.json", &c, &err) &&
              rmli_model_config_validate(&c, "config.json", NULL, &err);
    require(ok == (err.code == RML_OK));
    if (ok) {
        require(rml_parameter_count(&c) > 0 && c.n_eos <= RML_MAX_EOS);
        require(memchr(c.architecture, 0, sizeof c.architecture));
        check_rope(&c);
    } else {
        require(err.message[0] && strcmp(err.file, "config.json") == 0);
    }
    json_decref(root);
    return 0;
}
