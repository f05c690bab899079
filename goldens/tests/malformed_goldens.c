#include "goldens/tests/malformed_goldens.h"

#define COUNT(table) (sizeof(table) / sizeof(table)[0])
#define SHA "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

const char good_golden[] =
    "{\"format\": \"rml-golden\", \"version\": 1, \"name\": \"toy\",\n"
    " \"source\": {\"engine\": \"hand\", \"version\": \"1\", \"dtype\": \"float64\"},\n"
    " \"model\": {\"content_sha256\": \"" SHA "\", \"arch\": \"llama\"},\n"
    " \"arithmetic\": \"f32\", \"kv\": \"f32\",\n"
    " \"tolerance\": {\"logit_abs\": 0.0002, \"logsumexp_abs\": 0.0003},\n"
    " \"cases\": [\n"
    "  {\"name\": \"one\", \"text\": \"abc\", \"add_special\": false,\n"
    "   \"tokens\": [5, 6, 7],\n"
    "   \"positions\": [{\"position\": 0, \"logsumexp\": 4.5, \"top\": [[9, 1.5], [2, 1.25]]},\n"
    "    {\"position\": 2, \"logsumexp\": 4.25, \"top\": [[8, 2.5]]}],\n"
    "   \"greedy\": [1, 3], \"greedy_margin\": 0.5,\n"
    "   \"residual\": [\n"
    "    {\"layer\": -1, \"branch\": \"embedding\", \"position\": 1, \"norm\": 1.5,\n"
    "     \"projections\": [1, 2, 3, 4, 5, 6, 7, 8]},\n"
    "    {\"layer\": 1, \"branch\": \"feed_forward\", \"position\": 0, \"norm\": 2.5,\n"
    "     \"projections\": [1, 2, 3, 4, 5, 6, 7, -8]}]},\n"
    "  {\"name\": \"two\", \"messages\": [{\"role\": \"user\", \"content\": \"Hi\"}],\n"
    "   \"chat_format\": \"chatml\",\n"
    "   \"tokens\": [1], \"positions\": [], \"greedy\": [4]}]}\n";

const struct malformed_file malformed_goldens[] = {
    /* no JSON, or not an object */
    {NULL, "", "line 1, column 0"},
    {NULL, "[1, 2]", "an array found, expected an object"},
    {NULL, "{\"format\": \"rml-golden\", \"version\": 1", "'}' expected near end of file"},
    {"\"arithmetic\": \"f32\"", "'arithmetic': \"f32\"", "line 4, column 2"},
    {"\"kv\": \"f32\"", "\"kv\": \"f32\", \"kv\": \"f16\"", "duplicate object key"},
    {"4.5", "NaN", "invalid token near 'NaN'"},
    {"4.5", "1e999", "real number overflow"},
    {"\"abc\"", "\"a\xff\"", "unable to decode byte 0xff"},
    {"[5, 6, 7]", "[5, 6, 7", "']' expected"},
    /* the head */
    {"\"rml-golden\"", "\"rml-silver\"", "format: 'rml-silver' found, expected 'rml-golden'"},
    {"\"format\": \"rml-golden\",", "", "format: missing"},
    {"\"rml-golden\"", "7", "format: an integer found, expected a string"},
    {"\"version\": 1,", "\"version\": 2,", "version: 2 found, expected 1"},
    {"\"version\": 1,", "\"version\": 1.0,", "version: a number with a fraction found"},
    {"\"version\": 1,", "", "version: missing"},
    {"\"name\": \"toy\"", "\"name\": \"\"", "name: an empty string found"},
    {"\"name\": \"toy\"", "\"name\": \"a\\u001bb\"", "name: a control character found"},
    {"\"name\": \"one\"", "\"name\": \"a\\u0000b\"", "cases[0].name: a control character found"},
    {"\"hand\"", "\"\\u007f\"", "source.engine: a control character found"},
    {"\"float64\"", "\"\\u009b1m\"", "source.dtype: a control character found"},
    {"\"llama\"", "\"a\\u202eb\"", "model.arch: a control character found"},
    {"\"two\"", "\"\\u2066b\"", "cases[1].name: a control character found"},
    {", \"dtype\": \"float64\"", "", "source.dtype: missing"},
    {"{\"engine\": \"hand\", \"version\": \"1\", \"dtype\": \"float64\"}", "[\"hand\"]",
     "source: an array found, expected an object"},
    {SHA, "0123", "model.content_sha256: '0123' found, expected 64 hexadecimal digits"},
    {"\"" SHA "\"", "null", "model.content_sha256: null found, expected a string"},
    {"\"arithmetic\": \"f32\"", "\"arithmetic\": \"f64\"", "arithmetic: 'f64' found"},
    {"\"kv\": \"f32\"", "\"kv\": \"f32:q4\"", "kv: 'f32:q4' found"},
    {"\"kv\": \"f32\",", "", "kv: missing"},
    {"0.0002", "-0.0002", "tolerance.logit_abs: -0.0002 found, expected at least 0"},
    {"0.0003", "\"0.0003\"", "tolerance.logsumexp_abs: a string found"},
    {"\"logit_abs\": 0.0002, ", "", "tolerance.logit_abs: missing"},
    {"0.0003", "0.0003, \"residual_rel\": -1", "tolerance.residual_rel: -1 found"},
    {"0.0003", "0.0003, \"residual\": 1e-9",
     "tolerance: key 'residual' found, expected one of: logit_abs logsumexp_abs residual_rel"},
    /* cases */
    {NULL,
     "{\"format\": \"rml-golden\", \"version\": 1, \"name\": \"toy\", \"source\": {\"engine\": "
     "\"hand\", \"version\": \"1\", \"dtype\": \"float64\"}, \"arithmetic\": \"f32\", \"kv\": "
     "\"f32\", \"tolerance\": {\"logit_abs\": 1, \"logsumexp_abs\": 1}, \"cases\": []}",
     "cases: no cases found"},
    {"{\"name\": \"one\",", "7, {\"name\": \"one\",", "cases[0]: expected an object"},
    {"\"two\"", "\"one\"", "cases[1]: name 'one' found twice"},
    {"\"add_special\": false", "\"add_special\": 1", "cases[0].add_special: an integer found"},
    {"\"text\": \"abc\"", "\"text\": \"abc\", \"messages\": []",
     "cases[0]: both 'text' and 'messages'"},
    {"[{\"role\": \"user\", \"content\": \"Hi\"}]", "[]", "cases[1].messages: an empty array"},
    {"[{\"role\": \"user\", \"content\": \"Hi\"}]", "\"Hi\"",
     "cases[1].messages: a string found, expected an array"},
    {", \"content\": \"Hi\"", "", "cases[1].messages[0]: no 'content', expected a string"},
    {"\"messages\": [{\"role\": \"user\", \"content\": \"Hi\"}],", "",
     "cases[1]: 'chat_format' found, expected 'messages' beside it"},
    {"\"chatml\"", "\"chatxy\"",
     "cases[1].chat_format: 'chatxy' found, which is no chat format that is known"},
    {"\"chatml\"", "\"chatml\\u0000\"", "cases[1].chat_format: 'chatml' found, which is no"},
    {"\"chatml\"", "1", "cases[1].chat_format: an integer found, expected a string"},
    {"[5, 6, 7]", "[]", "cases[0].tokens: no tokens found"},
    {"[5, 6, 7]", "[5, 6.5, 7]", "cases[0].tokens[1]: a number with a fraction found"},
    {"[5, 6, 7]", "[5, -6, 7]", "cases[0].tokens[1]: -6 found, expected 0 to 2147483647"},
    {"[5, 6, 7]", "[5, 6, 99999999999999999999]", "too big integer"},
    {"[5, 6, 7]", "[5, 6, 4294967301]", "cases[0].tokens[2]: 4294967301 found"},
    {"\"tokens\": [5, 6, 7],", "", "cases[0].tokens: missing"},
    {"\"positions\": [],", "", "cases[1].positions: missing"},
    {", \"greedy\": [4]", "", "cases[1]: nothing to compare found"},
    {"\"greedy\": [1, 3]", "\"greedy\": 1", "cases[0].greedy: an integer found, expected an array"},
    {"\"greedy_margin\": 0.5", "\"greedy_margin\": -0.5", "cases[0].greedy_margin: -0.5 found"},
    /* positions */
    {"\"position\": 2,", "\"position\": 3,", "cases[0].positions[1].position: 3 found, expected 0"},
    {"\"position\": 2,", "\"position\": 0,", "cases[0]: position 0 found twice"},
    {"{\"position\": 0, \"logsumexp\": 4.5", "{\"position\": 2, \"logsumexp\": 4.5",
     "cases[0]: position 2 found twice"},
    {"\"logsumexp\": 4.25, ", "", "cases[0].positions[1].logsumexp: missing"},
    {"4.25", "null", "cases[0].positions[1].logsumexp: null found, expected a number"},
    {", \"top\": [[8, 2.5]]", "", "cases[0].positions[1]: neither 'top' nor 'logits'"},
    {"[[8, 2.5]]", "[[8, 2.5]], \"logits\": [1]", "cases[0].positions[1]: both 'top' and 'logits'"},
    {"[[8, 2.5]]", "[]", "cases[0].positions[1]: an empty 'top' found"},
    {"\"top\": [[8, 2.5]]", "\"logits\": []", "cases[0].positions[1]: empty 'logits' found"},
    {"[[8, 2.5]]", "[8, 2.5]", "cases[0].positions[1].top[0]: expected a pair"},
    {"[[8, 2.5]]", "[[8, 2.5, 1]]", "cases[0].positions[1].top[0]: expected a pair"},
    {"[9, 1.5]", "[1.5, 9]", "cases[0].positions[0].top[0]: a number with a fraction found"},
    {"[2, 1.25]", "[9, 1.25]", "cases[0].positions[0]: id 9 is in 'top' twice"},
    /* residual */
    {"\"embedding\"", "\"mlp\"", "cases[0].residual[0].branch: 'mlp' found"},
    {"\"layer\": -1", "\"layer\": 0", "cases[0].residual[0].layer: 0 found with branch"},
    {"\"layer\": 1,", "\"layer\": -1,", "cases[0].residual[1].layer: -1 found with branch"},
    {"\"norm\": 2.5", "\"norm\": -2.5", "cases[0].residual[1].norm: -2.5 found"},
    {"\"norm\": 2.5", "\"norm\": 1e39", "cases[0].residual[1]: norm 1e+39 found"},
    {"6, 7, -8]", "6, 7]", "cases[0].residual[1].projections: 7 numbers found, expected 8"},
    {"6, 7, -8]", "6, 7, true]", "cases[0].residual[1].projections: a boolean found"},
    {"\"position\": 1, \"norm\"", "\"position\": 3, \"norm\"", "cases[0].residual[0].position: 3"},
    {"{\"layer\": 1, \"branch\": \"feed_forward\", \"position\": 0",
     "{\"layer\": -1, \"branch\": \"embedding\", \"position\": 1",
     "cases[0]: residual of layer -1, embedding, position 1 found twice"},
};
const size_t n_malformed_goldens = COUNT(malformed_goldens);

const struct malformed_file misfit_goldens[] = {
    {"[5, 6, 7]", "[5, 64, 7]",
     "cases[0].tokens[1]: id 64 found, expected one below the model's 64"},
    {"[1, 3]", "[1, 300]", "cases[0].greedy[1]: id 300 found"},
    {"[[8, 2.5]]", "[[64, 2.5]]", "cases[0].positions[1].top[0]: id 64 found"},
    {"\"top\": [[8, 2.5]]", "\"logits\": [1, 2, 3]",
     "cases[0].positions[1].logits: 3 numbers found, expected the model's 64"},
    {"\"layer\": 1,", "\"layer\": 2,",
     "cases[0]: residual of layer 2, feed_forward found, expected the model's 2 layers"},
    {"\"layer\": 1, \"branch\": \"feed_forward\"", "\"layer\": 1, \"branch\": \"output\"",
     "cases[0]: residual of layer 1, output found"},
};
const size_t n_misfit_goldens = COUNT(misfit_goldens);

const char good_manifest[] =
    "{\"format\": \"rml-golden-manifest\", \"version\": 1, \"entries\": [\n"
    "  {\"golden\": \"a/golden.json\", \"checkpoint\": \"a/model.gguf\"},\n"
    "  {\"golden\": \"/b/golden.json\", \"model_file\": \"b.gguf\", \"sha256\": \"" SHA "\"}]}\n";

const struct malformed_file malformed_manifests[] = {
    {NULL, "{}", "format: missing"},
    {"rml-golden-manifest", "rml-golden",
     "format: 'rml-golden' found, expected 'rml-golden-manifest'"},
    {"\"version\": 1", "\"version\": 0", "version: 0 found"},
    {NULL, "{\"format\": \"rml-golden-manifest\", \"version\": 1}", "entries: missing"},
    {NULL, "{\"format\": \"rml-golden-manifest\", \"version\": 1, \"entries\": []}",
     "entries: no entries found"},
    {NULL, "{\"format\": \"rml-golden-manifest\", \"version\": 1, \"entries\": [\"a\"]}",
     "entries[0]: expected an object"},
    {"\"golden\": \"a/golden.json\", ", "", "entries[0].golden: missing"},
    {", \"checkpoint\": \"a/model.gguf\"", "", "entries[0]: neither found"},
    {"\"model_file\"", "\"checkpoint\": \"c\", \"model_file\"", "entries[1]: both found"},
    {"b.gguf", "../b.gguf", "entries[1]: model_file '../b.gguf' found"},
    {SHA, "xyz", "entries[1]: sha256 'xyz' found"},
    {"a/model.gguf\"", "a/model.gguf\", \"sha256\": \"" SHA "\"",
     "entries[0]: sha256 found without model_file"},
};
const size_t n_malformed_manifests = COUNT(malformed_manifests);
