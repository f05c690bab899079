/*
 * safetensors files and shard indices that are wrong in one place: each gets an
 * error of its own that names the file, the entry and the byte.
 */
#include <criterion/criterion.h>

#include "malformed.h"

/* Two f32 of data, with and without the offsets that fit. */
#define FLOATS "`dtype`:`F32`,`shape`:[2],`data_offsets`:"

static const struct malformed_case file_cases[] = {
    {"empty file", "^", RML_FORMAT, "the file has 0 bytes, too few for the header length"},
    {"length cut", "^4:2 1:0", RML_FORMAT, "the file has 5 bytes, too few"},
    {"length absurd", "^8:-1 '{}'", RML_FORMAT,
     "the header length is 18446744073709551615, expected at most 100000000"},
    {"length above the limit", "^8:100000001 '{}'", RML_FORMAT, "length is 100000001, expected"},
    {"length beyond the file", "^8:3 '{}'", RML_FORMAT,
     "the header length is 3, but only 2 bytes follow"},
    {"length 0", "8:0 ^", RML_FORMAT, "the header does not begin with '{'"},
    {"header begins with a space", "j'^ {}'", RML_FORMAT, "does not begin with '{'"},
    {"header is an array", "j'^[]'", RML_FORMAT, "does not begin with '{'"},
    {"a GGUF file", "^'GGUF' 4:3 8:0 8:0", RML_FORMAT, "the header length is"},
    {"header cut", "j'{`a`:{`dtype`:`F32`^'", RML_FORMAT,
     "the JSON text ends, expected ',' or '}'"},
    {"header with text behind", "j'{} ^x'", RML_FORMAT, "JSON has 'x', expected the end"},
    {"header with NUL behind", "j'{}^%00'", RML_FORMAT, "JSON has byte 0x00, expected the end"},
    {"two objects", "j'{}^{}'", RML_FORMAT, "JSON has '{', expected the end"},
};

static const struct malformed_case json_cases[] = {
    {"key without quotes", "j'{^a:{}}'", RML_FORMAT, "JSON has 'a', expected a string"},
    {"no colon", "j'{`a`^{}}'", RML_FORMAT, "JSON has '{', expected ':'"},
    {"no comma", "j'{`__metadata__`:{`a`:`b`^`c`:`d`}}'", RML_FORMAT,
     "JSON has '\"', expected ',' or '}'"},
    {"comma at the end", "j'{`__metadata__`:{`a`:`b`,^}}'", RML_FORMAT, "expected a string"},
    {"string without end", "j'{^`a'", RML_FORMAT, "a JSON string has no end"},
    {"string not UTF-8", "j'{`^%ff`:{}}'", RML_FORMAT, "a JSON string is not UTF-8"},
    {"string cut inside a character", "j'{`^%e2%82'", RML_FORMAT, "a JSON string is not UTF-8"},
    {"bare control character", "j'{`^%0a`:{}}'", RML_FORMAT, "bare control character 0x0a"},
    {"unknown escape", "j'{`^\\x41`:{}}'", RML_FORMAT, "JSON has an unknown escape"},
    {"escape without digits", "j'{`\\u^00g0`:{}}'", RML_FORMAT, "without four hex digits"},
    {"escape cut by the quote", "j'{`\\u^00`:{}}'", RML_FORMAT, "without four hex digits"},
    {"high surrogate alone", "j'{`^\\ud800`:{}}'", RML_FORMAT, "half a surrogate pair"},
    {"low surrogate alone", "j'{`^\\udc00`:{}}'", RML_FORMAT, "half a surrogate pair"},
    {"two high surrogates", "j'{`^\\ud800\\ud800`:{}}'", RML_FORMAT, "half a surrogate pair"},
    {"metadata a string", "j'{`__metadata__`:^`a`}'", RML_FORMAT, "JSON has '\"', expected '{'"},
    {"metadata of numbers", "j'{`__metadata__`:{`a`:^1}}'", RML_FORMAT,
     "JSON has '1', expected a string"},
    {"metadata twice", "j'{`__metadata__`:{},^`__metadata__`:{}}'", RML_FORMAT,
     "'__metadata__' stands twice"},
    {"an entry null", "j'{`a`:^null}'", RML_FORMAT, "JSON has 'n', expected '{'"},
};

static const struct malformed_case entry_cases[] = {
    {"name empty", "j'{^``:{" FLOATS "[0,8]}}' z:8", RML_FORMAT,
     "the name of tensor 0 has 0 bytes, expected 1 to 1023"},
    {"name with NUL", "j'{^`a\\u0000`:{" FLOATS "[0,8]}}' z:8", RML_FORMAT,
     "the name of tensor 0, 'a', has control characters"},
    {"name with an escape", "j'{^`\\u001b[2J`:{" FLOATS "[0,8]}}' z:8", RML_FORMAT,
     "'?[2J', has control characters"},
    {"unknown field", "j'{`a`:{^`strides`:[1]," FLOATS "[0,8]}}' z:8", RML_FORMAT,
     "tensor 'a' has an unknown field 'strides'"},
    {"dtype twice", "j'{`a`:{`dtype`:`F16`,^" FLOATS "[0,8]}}' z:8", RML_FORMAT,
     "tensor 'a' has 'dtype' twice"},
    {"offsets twice", "j'{`a`:{" FLOATS "[0,8],^`data_offsets`:[0,8]}}' z:8", RML_FORMAT,
     "tensor 'a' has 'data_offsets' twice"},
    {"no dtype", "j'{^`a`:{`shape`:[2],`data_offsets`:[0,8]}}' z:8", RML_FORMAT,
     "tensor 'a' has no 'dtype'"},
    {"no shape", "j'{^`a`:{`dtype`:`F32`,`data_offsets`:[0,8]}}' z:8", RML_FORMAT,
     "tensor 'a' has no 'shape'"},
    {"no offsets", "j'{^`a`:{`dtype`:`F32`,`shape`:[2]}}' z:8", RML_FORMAT,
     "tensor 'a' has no 'data_offsets'"},
    {"entry empty", "j'{^`a`:{}}' z:8", RML_FORMAT, "tensor 'a' has no 'dtype'"},
    {"dtype F8", "j'{`a`:{`dtype`:^`F8_E4M3`,`shape`:[8],`data_offsets`:[0,8]}}' z:8",
     RML_UNSUPPORTED, "tensor 'a' has dtype 'F8_E4M3', which rml does not read"},
    {"dtype U32", "j'{`a`:{`dtype`:^`U32`,`shape`:[2],`data_offsets`:[0,8]}}' z:8", RML_UNSUPPORTED,
     "tensor 'a' has dtype 'U32'"},
    {"dtype lower case", "j'{`a`:{`dtype`:^`f32`,`shape`:[2],`data_offsets`:[0,8]}}' z:8",
     RML_UNSUPPORTED, "tensor 'a' has dtype 'f32'"},
    {"dtype a number", "j'{`a`:{`dtype`:^32,`shape`:[2],`data_offsets`:[0,8]}}' z:8", RML_FORMAT,
     "JSON has '3', expected a string"},
    {"shape a number", "j'{`a`:{`dtype`:`F32`,`shape`:^2,`data_offsets`:[0,8]}}' z:8", RML_FORMAT,
     "JSON has '2', expected '['"},
    {"dimension negative", "j'{`a`:{`dtype`:`F32`,`shape`:[^-2],`data_offsets`:[0,8]}}' z:8",
     RML_FORMAT, "JSON has '-', expected an integer that is not negative"},
    {"dimension a fraction", "j'{`a`:{`dtype`:`F32`,`shape`:[^2.0],`data_offsets`:[0,8]}}' z:8",
     RML_FORMAT, "a fraction or exponent, expected an integer"},
    {"dimension with an exponent",
     "j'{`a`:{`dtype`:`F32`,`shape`:[^2e0],`data_offsets`:[0,8]}}' z:8", RML_FORMAT,
     "a fraction or exponent"},
    {"dimension with a leading zero",
     "j'{`a`:{`dtype`:`F32`,`shape`:[^02],`data_offsets`:[0,8]}}' z:8", RML_FORMAT,
     "a number with a leading zero"},
    {"dimension of 2^64",
     "j'{`a`:{`dtype`:`F32`,`shape`:[^18446744073709551616],`data_offsets`:[0,8]}}' z:8",
     RML_FORMAT, "an integer that does not fit 64 bits"},
    {"dimension a string", "j'{`a`:{`dtype`:`F32`,`shape`:[^`2`],`data_offsets`:[0,8]}}' z:8",
     RML_FORMAT, "expected an integer that is not negative"},
    {"shape with a comma at its end",
     "j'{`a`:{`dtype`:`F32`,`shape`:[2,^],`data_offsets`:[0,8]}}' z:8", RML_FORMAT,
     "JSON has ']', expected an integer"},
    {"dimension 0", "j'{`a`:{`dtype`:`F32`,`shape`:^[2,0],`data_offsets`:[0,0]}}'", RML_FORMAT,
     "tensor 'a' is empty: a dimension is 0"},
    {"five dimensions", "j'{`a`:{`dtype`:`F32`,`shape`:^[1,1,1,1,2],`data_offsets`:[0,8]}}' z:8",
     RML_UNSUPPORTED, "tensor 'a' has more than 4 dimensions"},
    {"shape overflows",
     "j'{^`a`:{`dtype`:`F32`,`shape`:[4294967296,4294967296],`data_offsets`:[0,8]}}' z:8",
     RML_FORMAT, "tensor 'a' has a shape whose size does not fit 63 bits"},
    {"size wraps to 8",
     "j'{^`a`:{`dtype`:`F32`,`shape`:[4611686018427387906],`data_offsets`:[0,8]}}' z:8", RML_FORMAT,
     "tensor 'a' has a shape whose size does not fit 63 bits"},
    {"one offset", "j'{`a`:{" FLOATS "^[8]}}' z:8", RML_FORMAT,
     "tensor 'a' has data_offsets of another length, expected 2"},
    {"three offsets", "j'{`a`:{" FLOATS "^[0,8,8]}}' z:8", RML_FORMAT,
     "data_offsets of another length, expected 2"},
    {"offsets reversed", "j'{`a`:{" FLOATS "^[8,0]}}' z:8", RML_FORMAT,
     "tensor 'a' has data_offsets that end (0) before they begin (8)"},
    {"offsets too short", "j'{^`a`:{" FLOATS "[0,7]}}' z:7", RML_FORMAT,
     "tensor 'a' has 7 bytes by its data_offsets, but 8 by its shape and dtype"},
    {"offsets too long", "j'{^`a`:{" FLOATS "[0,9]}}' z:9", RML_FORMAT, "has 9 bytes by its"},
    {"offsets absurd", "j'{^`a`:{" FLOATS "[0,18446744073709551615]}}' z:8", RML_FORMAT,
     "has 18446744073709551615 bytes by its data_offsets"},
    {"begins after the data", "j'{^`a`:{" FLOATS "[8,16]}}' z:16", RML_FORMAT,
     "begins at byte 8 of the data, but the one before it ends at 0 (a hole)"},
    {"hole", "j'{`a`:{" FLOATS "[0,8]},^`b`:{" FLOATS "[16,24]}}' z:24", RML_FORMAT,
     "tensor 'b' begins at byte 16 of the data, but the one before it ends at 8 (a hole)"},
    {"overlap", "j'{`a`:{" FLOATS "[0,8]},^`b`:{" FLOATS "[4,12]}}' z:12", RML_FORMAT,
     "tensor 'b' begins at byte 4 of the data, but the one before it ends at 8 (an overlap)"},
    {"same data", "j'{`a`:{" FLOATS "[0,8]},^`b`:{" FLOATS "[0,8]}}' z:8", RML_FORMAT,
     "tensor 'b' begins at byte 0 of the data, but the one before it ends at 8 (an overlap)"},
    {"name twice", "j'{`a`:{" FLOATS "[0,8]},^`a`:{" FLOATS "[8,16]}}' z:16", RML_FORMAT,
     "tensor 'a' stands twice, first at byte 9"},
    {"name twice, once with escapes",
     "j'{`a`:{" FLOATS "[0,8]},^`\\u0061`:{" FLOATS "[8,16]}}' z:16", RML_FORMAT,
     "tensor 'a' stands twice"},
    {"data cut", "j'{`a`:{" FLOATS "[0,8]},^`b`:{" FLOATS "[8,16]}}' z:13", RML_FORMAT,
     "3 bytes are missing at the end of the file: tensor 'b' ends at byte 16 of the data, which "
     "has 13"},
    {"no data", "j'{^`a`:{" FLOATS "[0,8]}}'", RML_FORMAT, "8 bytes are missing"},
    {"bytes behind the data", "j'{`a`:{" FLOATS "[0,8]}}' z:8 ^1:0", RML_FORMAT,
     "1 bytes follow the last tensor, expected none"},
    {"bytes without tensors", "j'{}' ^1:0", RML_FORMAT, "1 bytes follow the last tensor"},
};

TestSuite(safetensors_malformed, .init = temp_folder_make, .fini = temp_folder_remove);

#define CHECK(cases)                                                                               \
    malformed_check(cases, sizeof(cases) / sizeof *(cases), "bad.safetensors", "bad.safetensors",  \
                    malformed_open_safetensors)

Test(safetensors_malformed, file)
{
    CHECK(file_cases);
}

Test(safetensors_malformed, json)
{
    CHECK(json_cases);
}

Test(safetensors_malformed, entries)
{
    CHECK(entry_cases);
}
