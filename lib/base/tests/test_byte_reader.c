/* The cursor over untrusted bytes, UTF-8, and the random generator. */
#include "base/byte_reader.h"

#include <criterion/criterion.h>

#include "base/rng.h"
#include "base/utf8.h"

Test(byte_reader, reads_little_endian_at_any_alignment)
{
    static const uint8_t bytes[] = {0xff, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    struct rmli_byte_reader r = {.data = bytes, .nbytes = sizeof bytes, .position = 1};
    uint32_t u32;
    uint64_t u64;
    cr_assert(rmli_read_u32(&r, &u32));
    cr_expect_eq(u32, 0x04030201u);
    cr_assert(rmli_read_u64(&r, &u64));
    cr_expect_eq(u64, 0x0c0b0a0908070605u);
    cr_expect_eq(rmli_reader_remaining(&r), 0u);
}

Test(byte_reader, a_failed_read_changes_nothing)
{
    static const uint8_t bytes[7] = {0};
    struct rmli_byte_reader r = {.data = bytes, .nbytes = sizeof bytes, .position = 4};
    uint32_t u32 = 42;
    uint64_t u64 = 42;
    const uint8_t *p = NULL;
    cr_expect_not(rmli_read_u32(&r, &u32));
    cr_expect_not(rmli_read_u64(&r, &u64));
    cr_expect_not(rmli_read_bytes(&r, 4, &p));
    cr_expect_not(rmli_read_bytes(&r, UINT64_MAX, &p));
    cr_expect_not(rmli_read_bytes(&r, UINT64_MAX - 3, &p), "position + length would wrap");
    cr_expect(u32 == 42 && u64 == 42 && !p && r.position == 4);
    cr_expect(rmli_read_bytes(&r, 3, &p));
    cr_expect_eq(p, bytes + 4);
    cr_expect(rmli_read_bytes(&r, 0, &p), "nothing can be read at the end");
}

/* Encodes by the bit layout alone, without caring whether the result is allowed. */
static size_t encode(uint32_t code_point, size_t length, uint8_t out[4])
{
    static const uint8_t lead[5] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = length - 1; i > 0; i--) {
        out[i] = (uint8_t)(0x80 | (code_point & 63));
        code_point >>= 6;
    }
    out[0] = (uint8_t)(length == 1 ? code_point : lead[length] | code_point);
    return length;
}

Test(utf8, exactly_the_scalar_values_are_well_formed)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    static const uint32_t limit[] = {0, 0x80, 0x800, 0x10000, 0x200000};
    for (size_t length = 1; length <= 4; length++) {
        for (uint32_t c = 0; c < limit[length]; c++) {
            uint8_t bytes[4];
            encode(c, length, bytes);
            bool good = c >= least[length] && c <= 0x10ffff && !(c >= 0xd800 && c <= 0xdfff);
            cr_assert_eq(rmli_utf8_sequence_nbytes(bytes, length), good ? length : 0,
                         "U+%04X in %zu", c, length);
            if (good && length > 1)
                cr_assert_eq(rmli_utf8_sequence_nbytes(bytes, length - 1), 0u, "cut short");
        }
    }
    cr_assert_eq(rmli_utf8_sequence_nbytes(NULL, 0), 0u);
}

Test(utf8, stray_bytes_are_not_well_formed)
{
    for (unsigned lead = 0x80; lead < 0x100; lead++) {
        uint8_t bytes[4] = {(uint8_t)lead, 'a', 'a', 'a'};
        cr_assert_eq(rmli_utf8_sequence_nbytes(bytes, 4), 0u, "%02x", lead);
    }
}

Test(utf8, printable)
{
    static const struct {
        const char *text;
        bool printable;
    } cases[] = {
        {"blk.0.attn_q.weight", true},
        {"", true},
        {"\342\202\254 \302\240", true},
        {"tab\t", false},
        {"esc\033", false},
        {"del\177", false},
        {"c1 \302\237", false},
        {"\303", false},
        {"\200", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        cr_expect_eq(rmli_utf8_is_printable((const uint8_t *)cases[i].text, strlen(cases[i].text)),
                     cases[i].printable, "%zu", i);
    cr_expect_not(rmli_utf8_is_printable((const uint8_t *)"a\0b", 3));
}

/* Outputs published with the reference implementations in C. */
Test(rng, agrees_with_the_reference)
{
    uint64_t seed = 1234567;
    cr_expect_eq(rmli_splitmix64(&seed), 6457827717110365317u);
    cr_expect_eq(rmli_splitmix64(&seed), 3203168211198807973u);
    cr_expect_eq(rmli_splitmix64(&seed), 9817491932198370423u);
    cr_expect_eq(rmli_splitmix64(&seed), 4593380528125082431u);

    static const uint64_t expected[] = {11520,
                                        0,
                                        1509978240,
                                        1215971899390074240,
                                        1216172134540287360,
                                        607988272756665600,
                                        16172922978634559625u,
                                        8476171486693032832,
                                        10595114339597558777u,
                                        2904607092377533576};
    struct rmli_rng rng = {.state = {1, 2, 3, 4}};
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++)
        cr_expect_eq(rmli_rng_next(&rng), expected[i], "%zu", i);
}

Test(rng, stays_in_range)
{
    struct rmli_rng rng;
    rmli_rng_seed(&rng, 0);
    unsigned seen[7] = {0};
    double sum = 0;
    for (int i = 0; i < 70000; i++) {
        uint64_t k = rmli_rng_below(&rng, 7);
        cr_assert_lt(k, 7u);
        seen[k]++;
        double u = rmli_rng_uniform(&rng);
        cr_assert(u >= 0 && u < 1);
        sum += u;
    }
    /* Ten thousand each, within six standard deviations. */
    for (int k = 0; k < 7; k++)
        cr_expect(seen[k] > 9440 && seen[k] < 10560, "%d: %u", k, seen[k]);
    cr_expect(sum > 34530 && sum < 35470, "%g", sum);
}
