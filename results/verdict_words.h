/*
 * What is said of a stored verdict, in SQL: d is its row, r its candidate's result.
 */
#ifndef RESULTS_VERDICT_WORDS_H
#define RESULTS_VERDICT_WORDS_H

/* Of a canary, which is the base against itself, whether it holds: as judge_canary_fails decides,
 * with bounds and gate as they are stored. */
#define VERDICT_WORD                                                                               \
    "CASE WHEN r.arm IS NOT 'canary' OR d.gate_pct IS NULL OR d.ci_lo IS NULL OR d.ci_hi IS NULL"  \
    " THEN d.verdict WHEN (d.ci_lo > 1 AND 100 * (d.ratio - 1) >= d.gate_pct)"                     \
    " OR (d.ci_hi < 1 AND 100 * (1 / d.ratio - 1) >= d.gate_pct) THEN 'fails' ELSE 'holds' END"

#define CANARY_TEXT "canary: base against base"

#endif
