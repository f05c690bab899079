/*
 * What follows from the facts about a machine, on machines that are made up.
 */
#include "bench/doctor.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static const char quiet_server[] =
    "{\"governor\": {\"value\": \"performance\"}, \"boost\": {\"value\": \"0\"},"
    " \"thp\": {\"value\": \"madvise\"}, \"affinity\": {\"value\": \"0-7\"},"
    " \"cpu_quota\": {\"value\": \"max 100000\"}, \"load\": {\"value\": \"0.10 0.20 0.30 1/99 7\"},"
    " \"clock_source\": {\"value\": \"tsc\"}, \"counters\": {\"value\": \"instructions\"}}";

static struct judgement equal_within(double half_width)
{
    double x[JUDGE_FIRST_BLOCKS];
    for (int i = 0; i < JUDGE_FIRST_BLOCKS; i++)
        x[i] = (i - 30) * half_width / 10;
    return judge(x, JUDGE_FIRST_BLOCKS, judge_confidence(1), JUDGE_GATE);
}

static struct doctor_facts good_facts(const json_t *environment)
{
    return (struct doctor_facts){.environment = environment,
                                 .n_threads = 8,
                                 .n_processors = 8,
                                 .arithmetic = equal_within(0.005),
                                 .reading = equal_within(0.01),
                                 .spread = 0.02,
                                 .steal_share = 0,
                                 .db_path = "results/rml.db",
                                 .valgrind = "valgrind-3.19.0"};
}

static struct doctor_check *find(struct doctor_check *checks, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(checks[i].name, name) == 0)
            return &checks[i];
    cr_assert_fail("no check %s", name);
    return NULL;
}

Test(doctor, a_quiet_server_has_nothing_to_change)
{
    struct doctor_check checks[DOCTOR_MAX_CHECKS];
    json_t *environment = json_loads(quiet_server, 0, NULL);
    struct doctor_facts facts = good_facts(environment);
    size_t n = doctor_examine(&facts, checks);
    cr_assert(n > 0 && n <= DOCTOR_MAX_CHECKS);
    for (size_t i = 0; i < n; i++) {
        cr_expect(checks[i].state == DOCTOR_OK && !checks[i].change, "%s", checks[i].name);
        cr_expect(checks[i].found[0] && checks[i].matters);
        for (size_t k = 0; k < i; k++)
            cr_expect(strcmp(checks[k].name, checks[i].name) != 0);
    }
    cr_expect(doctor_is_fit(checks, n));
    json_decref(environment);
}

struct change {
    const char *key, *value; /* of the environment; NULL value: not known */
    const char *check;
};

/* None of these alone stands in the way of a verdict: the measurement decides. */
static const struct change notes[] = {
    {"governor", "powersave", "governor"},
    {"boost", "1", "boost"},
    {"thp", "never", "huge_pages"},
    {"cpu_quota", "150000 100000", "cpu_quota"},
    {"load", "6.50 1.00 1.00 3/99 7", "load"},
    {"clock_source", "hpet", "clock_source"},
    {"counters", NULL, "counters"},
};

Test(doctor, notes_say_what_to_change)
{
    for (size_t i = 0; i < sizeof notes / sizeof notes[0]; i++) {
        struct doctor_check checks[DOCTOR_MAX_CHECKS];
        json_t *environment = json_loads(quiet_server, 0, NULL);
        json_object_set_new(environment, notes[i].key,
                            notes[i].value ? json_pack("{ss}", "value", notes[i].value)
                                           : json_pack("{ss}", "reason", "the reason"));
        struct doctor_facts facts = good_facts(environment);
        size_t n = doctor_examine(&facts, checks);
        struct doctor_check *check = find(checks, n, notes[i].check);
        cr_expect(check->state == DOCTOR_NOTE && check->change, "%s", notes[i].check);
        if (!notes[i].value)
            cr_expect(strstr(check->found, "the reason"));
        cr_expect(doctor_is_fit(checks, n));
        json_decref(environment);
    }
}

Test(doctor, what_is_not_there_is_no_fault)
{
    struct doctor_check checks[DOCTOR_MAX_CHECKS];
    json_t *environment = json_object(); /* a guest in which little can be read */
    struct doctor_facts facts = good_facts(environment);
    facts.db_path = NULL;
    facts.steal_share = NAN;
    size_t n = doctor_examine(&facts, checks);
    cr_expect(doctor_is_fit(checks, n));
    cr_expect(find(checks, n, "governor")->state == DOCTOR_OK);
    cr_expect(find(checks, n, "boost")->state == DOCTOR_OK);
    cr_expect(find(checks, n, "database")->state == DOCTOR_OK);
    json_decref(environment);
}

Test(doctor, noise_and_a_database_that_cannot_be_written_are_bad)
{
    struct doctor_check checks[DOCTOR_MAX_CHECKS];
    json_t *environment = json_loads(quiet_server, 0, NULL);

    struct doctor_facts facts = good_facts(environment);
    facts.reading = equal_within(0.06); /* up to the gate, and wide */
    size_t n = doctor_examine(&facts, checks);
    cr_expect(find(checks, n, "noise_memory")->state == DOCTOR_BAD);
    cr_expect(find(checks, n, "noise_arithmetic")->state == DOCTOR_OK);
    cr_expect(!doctor_is_fit(checks, n));

    facts = good_facts(environment);
    facts.arithmetic = equal_within(0.03); /* wide, but short of the gate */
    n = doctor_examine(&facts, checks);
    cr_expect(find(checks, n, "noise_arithmetic")->state == DOCTOR_NOTE);
    cr_expect(doctor_is_fit(checks, n));

    facts = good_facts(environment);
    facts.arithmetic.slowdown = -0.08, facts.arithmetic.lo = -0.09, facts.arithmetic.hi = -0.07;
    n = doctor_examine(&facts, checks);
    cr_expect(find(checks, n, "noise_arithmetic")->state == DOCTOR_BAD);

    facts = good_facts(environment);
    strcpy(facts.db_error, "Permission denied");
    n = doctor_examine(&facts, checks);
    cr_expect(find(checks, n, "database")->state == DOCTOR_BAD);
    cr_expect(strstr(find(checks, n, "database")->found, "results/rml.db: Permission denied"));
    cr_expect(!doctor_is_fit(checks, n));

    facts = good_facts(environment);
    facts.db_on_network = true, facts.valgrind = NULL, facts.spread = 0.8, facts.steal_share = 0.1;
    n = doctor_examine(&facts, checks);
    cr_expect(find(checks, n, "database")->state == DOCTOR_NOTE);
    cr_expect(find(checks, n, "valgrind")->state == DOCTOR_NOTE);
    cr_expect(find(checks, n, "single_runs")->state == DOCTOR_NOTE);
    cr_expect(find(checks, n, "steal")->state == DOCTOR_NOTE);
    cr_expect(doctor_is_fit(checks, n));
    json_decref(environment);
}
