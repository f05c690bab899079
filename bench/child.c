#include "bench/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "bench/message.h"

#define START_SECONDS 60

struct bench_child {
    pid_t pid;
    int to, from; /* pipes */
    struct bench_line line;
    double limit_seconds;
    int64_t n_oom_kills;  /* of the machine when it was started; -1: not known */
    struct rml_error why; /* what became of it; code RML_OK: it is there */
};

/* How many processes the kernel has killed for want of memory since boot. */
static int64_t count_oom_kills(void)
{
    FILE *file = fopen("/proc/vmstat", "r");
    char name[64];
    long long value, n = -1;
    while (file && fscanf(file, "%63s %lld", name, &value) == 2)
        if (strcmp(name, "oom_kill") == 0)
            n = value;
    if (file)
        fclose(file);
    return n;
}

/* ---- Starting ------------------------------------------------------------------------------- */

/* In the child, between fork and exec. */
static void become_worker(const char *program, pid_t parent, int in, int out)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) /* it died before the line above */
        _exit(127);
    /* A terminal sends SIGINT to parent and child; the parent decides what it means. */
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    if (dup2(in, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0)
        _exit(127);
    char *const argv[] = {(char *)"rml-bench", (char *)"worker", NULL};
    execv(program, argv);
    _exit(127);
}

/* Above the standard streams, which dup2 may then fill. */
static bool make_pipe(int fds[2], struct rml_error *err)
{
    return pipe2(fds, O_CLOEXEC) == 0 ||
           rmli_fail(err, RML_IO, NULL, -1, "no pipe for a child process: %s", strerror(errno));
}

static bool spawn(struct bench_child *child, const char *program, struct rml_error *err)
{
    int to[2] = {-1, -1}, from[2] = {-1, -1};
    pid_t parent = getpid();
    bool ok = make_pipe(to, err) && make_pipe(from, err);
    if (ok) {
        fflush(NULL);
        child->pid = fork();
        if (child->pid == 0)
            become_worker(program, parent, to[0], from[1]);
        ok = child->pid > 0 ||
             rmli_fail(err, RML_IO, NULL, -1, "no child process: %s", strerror(errno));
    }
    if (to[0] >= 0)
        close(to[0]);
    if (from[1] >= 0)
        close(from[1]);
    child->to = to[1];
    child->from = from[0];
    return ok;
}

/* ---- Its end -------------------------------------------------------------------------------- */

/* Records what became of the child, which is reaped; false. */
static bool gone(struct bench_child *child, struct rml_error *err)
{
    int status = 0;
    if (child->pid > 0) {
        waitpid(child->pid, &status, 0);
        child->pid = 0;
        if (WIFSIGNALED(status)) {
            int n = WTERMSIG(status);
            bool oom =
                n == SIGKILL && child->n_oom_kills >= 0 && count_oom_kills() > child->n_oom_kills;
            rmli_fail(&child->why, oom ? RML_NO_MEMORY : RML_INTERNAL, NULL, -1,
                      "the measuring process was killed by signal %d (%s)%s", n, strsignal(n),
                      oom ? ": out of memory" : "");
        } else {
            rmli_fail(&child->why, RML_INTERNAL, NULL, -1,
                      "the measuring process ended with status %d", WEXITSTATUS(status));
        }
    }
    return rmli_fail(err, child->why.code, child->why.file, -1, "%s", child->why.message);
}

static void kill_now(struct bench_child *child)
{
    if (child->pid > 0) {
        kill(child->pid, SIGKILL);
        waitpid(child->pid, NULL, 0);
        child->pid = 0;
    }
}

void bench_child_end(struct bench_child *child)
{
    if (!child)
        return;
    kill_now(child);
    if (child->to >= 0)
        close(child->to);
    if (child->from >= 0)
        close(child->from);
    free(child->line.text);
    free(child);
}

/* ---- Requests ------------------------------------------------------------------------------- */

/* The next message, whatever it is; NULL on failure. */
static json_t *receive(struct bench_child *child, double seconds, struct rml_error *err)
{
    struct rml_error why = RML_ERROR_INIT;
    json_t *message = NULL;
    int64_t deadline_ns = seconds > 0 ? rmli_clock_ns() + (int64_t)(seconds * 1e9) : -1;
    switch (bench_message_read(child->from, &child->line, deadline_ns, &message, &why)) {
    case BENCH_READ_MESSAGE:
        return message;
    case BENCH_READ_END:
        gone(child, err);
        return NULL;
    default:
        break;
    }
    kill_now(child);
    if (why.code == RML_OUT_OF_RANGE)
        rmli_fail(&child->why, RML_INTERNAL, NULL, -1, "took longer than %.4g s", seconds);
    else
        rmli_fail(&child->why, why.code, NULL, -1, "%s", why.message);
    rmli_fail(err, child->why.code, NULL, -1, "%s", child->why.message);
    return NULL;
}

/* Takes over the request. The answer; NULL on failure, also when it is an error. */
static json_t *ask(struct bench_child *child, json_t *request, struct rml_error *err)
{
    struct rml_error why = RML_ERROR_INIT;
    if (child->pid == 0) {
        json_decref(request);
        gone(child, err);
        return NULL;
    }
    if (!bench_message_write(child->to, request, &why)) {
        if (why.code == RML_NO_MEMORY)
            rmli_fail(err, why.code, NULL, -1, "%s", why.message);
        else
            gone(child, err);
        return NULL;
    }
    json_t *answer = receive(child, child->limit_seconds, err);
    json_t *error = json_object_get(answer, "error");
    if (!error)
        return answer;
    bench_error_from_json(error, err);
    json_decref(answer);
    return NULL;
}

struct bench_child *bench_child_start(const char *program, struct rml_error *err)
{
    struct bench_child *child = calloc(1, sizeof *child);
    if (!child) {
        rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for a child process");
        return NULL;
    }
    child->why = (struct rml_error)RML_ERROR_INIT;
    child->to = child->from = -1;
    child->n_oom_kills = count_oom_kills();
    json_t *hello = NULL;
    if (spawn(child, program ? program : "/proc/self/exe", err))
        hello = receive(child, START_SECONDS, err);
    json_int_t version = json_integer_value(json_object_get(hello, "rml_bench_worker"));
    if (hello && version != BENCH_PROTOCOL)
        rmli_fail(err, RML_UNSUPPORTED, program, -1,
                  "measures by protocol %lld, expected %d: a build of another time",
                  (long long)version, BENCH_PROTOCOL);
    bool ok = hello && version == BENCH_PROTOCOL;
    json_decref(hello);
    if (!ok) {
        bench_child_end(child);
        return NULL;
    }
    return child;
}

void bench_child_limit(struct bench_child *child, double seconds)
{
    child->limit_seconds = seconds;
}

void bench_child_on_wait(struct bench_child *child, void (*tick)(void *user), void *user)
{
    child->line.tick = tick;
    child->line.user = user;
}

bool bench_child_open(struct bench_child *child, const struct bench_spec *spec,
                      struct bench_facts *facts, struct rml_error *err)
{
    json_t *answer =
        ask(child, json_pack("{ss so}", "do", "open", "spec", bench_spec_to_json(spec)), err);
    bool ok = answer && bench_facts_from_json(json_object_get(answer, "facts"), facts, err);
    json_decref(answer);
    return ok;
}

bool bench_child_measure(struct bench_child *child, int n_reps, bool profile,
                         struct bench_samples *samples, struct bench_outcome *outcome,
                         struct rml_error *err)
{
    *samples = (struct bench_samples){0};
    *outcome = (struct bench_outcome){.rss_nbytes = -1, .kv_nbytes = -1};
    json_t *answer = ask(
        child, json_pack("{ss si sb}", "do", "measure", "reps", n_reps, "profile", profile), err);
    if (!answer)
        return false;
    const json_t *o = json_object_get(answer, "outcome");
    const char *sha256 = json_string_value(json_object_get(o, "output_sha256"));
    snprintf(outcome->output_sha256, sizeof outcome->output_sha256, "%s", sha256 ? sha256 : "");
    outcome->rss_nbytes = json_integer_value(json_object_get(o, "rss_nbytes"));
    outcome->kv_nbytes = json_integer_value(json_object_get(o, "kv_nbytes"));
    bool ok = bench_samples_from_json(json_object_get(answer, "measured"), samples, err);
    if (ok)
        outcome->profile = json_incref(json_object_get(o, "profile"));
    json_decref(answer);
    return ok;
}

bool bench_child_settle(struct bench_child *child, int64_t *iters, bool *steady,
                        struct rml_error *err)
{
    json_t *answer = ask(child, json_pack("{ss}", "do", "settle"), err);
    *iters = json_integer_value(json_object_get(answer, "iters"));
    *steady = json_is_true(json_object_get(answer, "steady"));
    bool ok = answer &&
              (*iters > 0 || rmli_fail(err, RML_FORMAT, NULL, -1, "a warm-up without iterations"));
    json_decref(answer);
    return ok;
}

bool bench_child_block(struct bench_child *child, int64_t iters, struct bench_block *block,
                       struct rml_error *err)
{
    json_t *answer =
        ask(child, json_pack("{ss sI}", "do", "block", "iters", (json_int_t)iters), err);
    const char *output = json_string_value(json_object_get(answer, "output"));
    *block = (struct bench_block){
        .wall_ns = json_integer_value(json_object_get(answer, "wall_ns")),
        .cpu_ns = json_integer_value(json_object_get(answer, "cpu_ns")),
        .output = output ? strtoull(output, NULL, 16) : 0,
    };
    bool ok = answer && (block->wall_ns > 0 ||
                         rmli_fail(err, RML_FORMAT, NULL, -1, "a block without its time"));
    json_decref(answer);
    return ok;
}

bool bench_child_verify(struct bench_child *child, struct rml_error *err)
{
    json_t *answer = ask(child, json_pack("{ss}", "do", "verify"), err);
    json_decref(answer);
    return answer != NULL;
}

json_t *bench_child_build(struct bench_child *child, struct rml_error *err)
{
    json_t *answer = ask(child, json_pack("{ss}", "do", "build"), err);
    json_t *build = json_incref(json_object_get(answer, "build"));
    if (answer && !build)
        rmli_fail(err, RML_FORMAT, NULL, -1, "no facts of the build");
    json_decref(answer);
    return build;
}
