/*
 * What follows from the facts about a machine.
 */
#include "bench/doctor.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/cli/report.h"

const char *doctor_state_name(enum doctor_state state)
{
    static const char *const names[] = {
        [DOCTOR_OK] = "ok", [DOCTOR_NOTE] = "note", [DOCTOR_BAD] = "bad"};
    return names[state];
}

struct examination {
    const struct doctor_facts *facts;
    struct doctor_check *checks;
    size_t n;
};

/* The next check, ok until somebody says otherwise. */
static struct doctor_check *next(struct examination *e, const char *name, const char *matters,
                                 const char *format, ...) __attribute__((format(printf, 4, 5)));

static struct doctor_check *next(struct examination *e, const char *name, const char *matters,
                                 const char *format, ...)
{
    struct doctor_check *check = &e->checks[e->n++];
    va_list args;
    *check = (struct doctor_check){.name = name, .matters = matters};
    va_start(args, format);
    vsnprintf(check->found, sizeof check->found, format, args);
    va_end(args);
    return check;
}

static void judge_state(struct doctor_check *check, enum doctor_state state, const char *change)
{
    check->state = state;
    check->change = change;
}

static const char *value_of(const struct examination *e, const char *key)
{
    return json_string_value(json_object_get(json_object_get(e->facts->environment, key), "value"));
}

static const char *reason_of(const struct examination *e, const char *key)
{
    const char *reason =
        json_string_value(json_object_get(json_object_get(e->facts->environment, key), "reason"));
    return reason ? reason : "not known";
}

/* ---- Measured ---------------------------------------------------------------------------- */

static void check_noise(struct examination *e, const char *name, const struct judgement *j)
{
    struct doctor_check *check = next(
        e, name, "equal work has to come out equal: this is the comparison that the gate makes",
        "%u thread%s, %zu blocks: %+.1f %% [%+.1f, %+.1f], detects %.1f %%", e->facts->n_threads,
        cli_plural(e->facts->n_threads), j->n, 100 * j->slowdown, 100 * j->lo, 100 * j->hi,
        100 * j->detectable);
    if (judge_canary_fails(j, JUDGE_GATE))
        judge_state(check, DOCTOR_BAD,
                    "equal work seems to differ: stop other programs, use fewer threads than "
                    "processors, then ask again");
    else if (j->verdict == VERDICT_INCONCLUSIVE)
        judge_state(check, DOCTOR_BAD,
                    "too noisy for a gate of 5 %: stop other programs, take a machine or a time "
                    "of day with fewer neighbours, or use fewer threads than processors");
    else if (!(j->hi - j->lo <= JUDGE_MAX_WIDTH))
        judge_state(check, DOCTOR_NOTE, "noisy, but below the gate of 5 %");
}

static void check_spread(struct examination *e)
{
    struct doctor_check *check =
        next(e, "single_runs", "what a comparison of two single runs would be worth",
             "1 in 20 runs of 2 ms takes at least %.0f %% longer than the median",
             100 * e->facts->spread);
    if (e->facts->spread > 0.05)
        judge_state(check, DOCTOR_NOTE,
                    "compare with rml-bench ab or gate, never by two runs one after the other");
}

static void check_steal(struct examination *e)
{
    const char *matters = "time that the hypervisor gave to other guests meanwhile";
    if (isnan(e->facts->steal_share)) {
        next(e, "steal", matters, "%s", reason_of(e, "steal_ticks"));
        return;
    }
    struct doctor_check *check =
        next(e, "steal", matters, "%.1f %% of processor time", 100 * e->facts->steal_share);
    if (e->facts->steal_share > 0.01)
        judge_state(check, DOCTOR_NOTE, "use a dedicated machine, or a time with less of it");
}

/* ---- Read from the system ------------------------------------------------------------------ */

static void check_load(struct examination *e)
{
    const char *matters = "programs that run beside take processors, caches and bandwidth";
    const char *load = value_of(e, "load");
    if (!load) {
        next(e, "load", matters, "%s", reason_of(e, "load"));
        return;
    }
    double minutes[3] = {0}; /* averages over 1, 5 and 15 */
    sscanf(load, "%lf %lf %lf", &minutes[0], &minutes[1], &minutes[2]);
    struct doctor_check *check =
        next(e, "load", matters, "%.2f %.2f %.2f (1, 5, 15 minutes), %u processor%s", minutes[0],
             minutes[1], minutes[2], e->facts->n_processors, cli_plural(e->facts->n_processors));
    if (minutes[0] > 0.5 * e->facts->n_processors)
        judge_state(check, DOCTOR_NOTE, "stop what else runs here");
}

static void check_quota(struct examination *e)
{
    const char *matters = "a control group that has used up its share is stopped until the next "
                          "period";
    const char *quota = value_of(e, "cpu_quota");
    if (!quota || strncmp(quota, "max", 3) == 0) {
        next(e, "cpu_quota", matters, "%s", quota ? "none" : reason_of(e, "cpu_quota"));
        return;
    }
    double used_us = 0, period_us = 1;
    sscanf(quota, "%lf %lf", &used_us, &period_us);
    struct doctor_check *check =
        next(e, "cpu_quota", matters, "%.2f of a processor, %u thread%s", used_us / period_us,
             e->facts->n_threads, cli_plural(e->facts->n_threads));
    if (used_us / period_us < e->facts->n_threads)
        judge_state(check, DOCTOR_NOTE,
                    "use no more threads than the whole processors of the quota (--threads), or "
                    "raise it");
}

static void check_affinity(struct examination *e)
{
    const char *affinity = value_of(e, "affinity");
    next(e, "affinity", "processors that this process may use", "%s, of %u",
         affinity ? affinity : reason_of(e, "affinity"), e->facts->n_processors);
}

static void check_governor(struct examination *e)
{
    const char *matters = "a clock that follows the load is slow at the start of each burst";
    const char *governor = value_of(e, "governor");
    struct doctor_check *check = next(e, "governor", matters, "%s",
                                      governor ? governor
                                               : "no cpufreq here: the clock is not "
                                                 "ours to set");
    if (governor && strcmp(governor, "performance") != 0)
        judge_state(check, DOCTOR_NOTE, "cpupower frequency-set -g performance");
}

static void check_boost(struct examination *e)
{
    const char *boost = value_of(e, "boost");
    struct doctor_check *check = next(
        e, "boost", "a clock above its nominal rate comes and goes with heat and neighbours", "%s",
        !boost                    ? "cannot be told: the clock is not ours to set"
        : strcmp(boost, "1") == 0 ? "on"
                                  : "off");
    if (boost && strcmp(boost, "1") == 0)
        judge_state(check, DOCTOR_NOTE,
                    "echo 1 > /sys/devices/system/cpu/intel_pstate/no_turbo, or echo 0 > "
                    "/sys/devices/system/cpu/cpufreq/boost");
}

static void check_thp(struct examination *e)
{
    const char *thp = value_of(e, "thp");
    struct doctor_check *check =
        next(e, "huge_pages", "with small pages reading weights is slower, on both sides", "%s",
             thp ? thp : reason_of(e, "thp"));
    if (thp && strcmp(thp, "never") == 0)
        judge_state(check, DOCTOR_NOTE,
                    "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled");
}

static void check_clock(struct examination *e)
{
    const char *clock = value_of(e, "clock_source");
    struct doctor_check *check =
        next(e, "clock_source", "reading a clock that is no register takes microseconds", "%s",
             clock ? clock : reason_of(e, "clock_source"));
    if (clock && (strcmp(clock, "hpet") == 0 || strcmp(clock, "acpi_pm") == 0))
        judge_state(check, DOCTOR_NOTE,
                    "boot with a usable tsc: the kernel's log says why it was given up");
}

static void check_counters(struct examination *e)
{
    const char *counters = value_of(e, "counters");
    struct doctor_check *check =
        next(e, "counters", "nothing depends on them: hardware counters would only explain more",
             "%s", counters ? counters : reason_of(e, "counters"));
    if (!counters)
        judge_state(check, DOCTOR_NOTE,
                    "kernel.perf_event_paranoid = 2 or less; a virtual machine may have none");
}

/* ---- What the tools need ------------------------------------------------------------------- */

static void check_database(struct examination *e)
{
    const struct doctor_facts *f = e->facts;
    const char *matters = "every sample is stored when its case has ended";
    if (!f->db_path) {
        next(e, "database", matters, "none (--no-db)");
        return;
    }
    struct doctor_check *check = next(e, "database", matters, "%s%s%s", f->db_path,
                                      f->db_error[0]     ? ": "
                                      : f->db_on_network ? ": on a network filesystem"
                                                         : "",
                                      f->db_error);
    if (f->db_error[0])
        judge_state(check, DOCTOR_BAD,
                    "--db or RML_DB with a place that can be written, or "
                    "--no-db");
    else if (f->db_on_network)
        judge_state(check, DOCTOR_NOTE,
                    "--db or RML_DB with a local place: writing is slower there, and locks are "
                    "only as good as the server's");
}

static void check_valgrind(struct examination *e)
{
    struct doctor_check *check =
        next(e, "valgrind", "rml-bench icount counts instructions with it, which no noise touches",
             "%s", e->facts->valgrind ? e->facts->valgrind : "not found");
    if (!e->facts->valgrind)
        judge_state(check, DOCTOR_NOTE, "install valgrind");
}

size_t doctor_examine(const struct doctor_facts *facts, struct doctor_check *checks)
{
    struct examination e = {facts, checks, 0};
    check_noise(&e, "noise_arithmetic", &facts->arithmetic);
    check_noise(&e, "noise_memory", &facts->reading);
    check_spread(&e);
    check_steal(&e);
    check_load(&e);
    check_quota(&e);
    check_affinity(&e);
    check_governor(&e);
    check_boost(&e);
    check_thp(&e);
    check_clock(&e);
    check_counters(&e);
    check_database(&e);
    check_valgrind(&e);
    return e.n;
}

bool doctor_is_fit(const struct doctor_check *checks, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (checks[i].state == DOCTOR_BAD)
            return false;
    return true;
}
