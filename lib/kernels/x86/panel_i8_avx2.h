/*
 * Panels for i8 products with several vectors: eight rows of weights, unpacked
 * once, so that a register holds four consecutive elements of each row and its
 * 32-bit lanes are the rows. Four activations, broadcast, meet all of them.
 */
#ifndef RML_KERNELS_X86_PANEL_I8_AVX2_H
#define RML_KERNELS_X86_PANEL_I8_AVX2_H

#include <stddef.h>
#include <stdint.h>

enum { RMLI_PANEL_ROWS = 8 };

struct rmli_panel_block_32 {
    float d[8];         /* of each row */
    float m[8];         /* for types with an offset in f32 */
    uint8_t q[8][8][4]; /* [elements / 4][row][4], as unpacked: before the offset */
};

struct rmli_panel_block_256 {
    float d[8];
    float m[8]; /* dmin */
    /* Pairs of i16, as madd takes them; [..][row][2]. */
    int16_t sc[16][8][2]; /* sub-scale i twice; 8 of them for sub-blocks of 32 */
    int16_t mn[8][8][2];  /* for elements 32 i .. and 32 i + 16 ..: minimum, or
                             for the other types -offset * sc */
    uint8_t q[64][8][4];
};

/* Unpacks n_blocks blocks of eight rows into an array of panel blocks. Memory
 * `ahead` bytes further on, where the next panel comes from, is asked for. */
typedef void rmli_pack_panel_fn(void *panel, const uint8_t *const rows[8], size_t n_blocks,
                                size_t ahead);

rmli_pack_panel_fn rmli_pack_q4_0_avx2, rmli_pack_q4_1_avx2, rmli_pack_q5_0_avx2,
    rmli_pack_q5_1_avx2, rmli_pack_q8_0_avx2, rmli_pack_iq4_nl_avx2, rmli_pack_q2_k_avx2,
    rmli_pack_q3_k_avx2, rmli_pack_q4_k_avx2, rmli_pack_q5_k_avx2, rmli_pack_q6_k_avx2,
    rmli_pack_iq4_xs_avx2;

#endif
