/*
 * What rml-eval choices and rml-eval loglik share.
 */
#include "eval/choice_command.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eval/eval_run.h"
#include "tools/cli/exit_codes.h"
#include "tools/cli/json_out.h"
#include "tools/cli/output.h"
#include "tools/cli/output_names.h"
#include "tools/cli/report.h"

/* ---- Options ---------------------------------------------------------------------------------- */

void choice_command_init(struct choice_command *command, enum choice_layout layout)
{
    *command = (struct choice_command){
        .layout = layout,
        .fields = CHOICE_FIELDS_DEFAULT,
        .rules = {.delimiter = layout == LAYOUT_PAIRS ? "" : " "},
    };
}

static void rename_field(struct choice_command *command, char *arg, struct argp_state *state)
{
    struct choice_fields *fields = &command->fields;
    const struct {
        const char *name;
        const char **field;
    } all[] = {{"id", &fields->id},           {"context", &fields->context},
               {"choices", &fields->choices}, {"gold", &fields->gold},
               {"group", &fields->group},     {"continuation", &fields->continuation}};
    const char *equals = strchr(arg, '=');
    size_t n = equals ? (size_t)(equals - arg) : 0;
    for (size_t i = 0; equals && equals[1] && i < sizeof all / sizeof all[0]; i++)
        if (strlen(all[i].name) == n && memcmp(all[i].name, arg, n) == 0) {
            *all[i].field = equals + 1;
            return;
        }
    argp_error(state,
               "--rename: '%s' found, expected FIELD=NAME with one of the fields id, context, "
               "choices, gold, group and continuation",
               arg);
}

error_t choice_command_parse(struct choice_command *command, int key, char *arg,
                             struct argp_state *state)
{
    switch (key) {
    case CHOICE_KEY_BOUNDARY:
        if (!pair_boundary_parse(arg, &command->rules.pair.boundary))
            argp_error(state, "--boundary: '%s' found, expected reencode, skip or error", arg);
        return 0;
    case CHOICE_KEY_OVERLONG:
        if (!pair_overlong_parse(arg, &command->rules.pair.overlong))
            argp_error(state, "--overlong: '%s' found, expected truncate, skip or error", arg);
        return 0;
    case CHOICE_KEY_RENAME:
        rename_field(command, arg, state);
        return 0;
    case CHOICE_KEY_ITEMS:
        command->items_file = cli_arg_output(state, "--items", arg);
        return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num > 1)
            argp_error(state, "'%s' found, expected a checkpoint and one file", arg);
        if (state->arg_num == 0)
            command->checkpoint = arg;
        else
            command->file = arg;
        return 0;
    case ARGP_KEY_END:
        if (!command->file)
            argp_error(state, "expected a checkpoint and a file of items");
        command->eval_options.selection.draw = command->layout == LAYOUT_HELLASWAG ? DRAW_HELLASWAG
                                               : command->layout == LAYOUT_WINOGRANDE
                                                   ? DRAW_WINOGRANDE
                                                   : DRAW_TICKETS;
        if (command->options.json && command->items_file && strcmp(command->items_file, "-") == 0)
            argp_error(state, "--json and --items - both want standard output");
        return chat_command_parse(&command->rules.chat, &command->eval_options, key, arg, state);
    default:
        return chat_command_parse(&command->rules.chat, &command->eval_options, key, arg, state);
    }
}

/* ---- Running ----------------------------------------------------------------------------------- */

static json_t *settings_json(const struct choice_command *command, const struct eval_engine *engine,
                             const struct choice_items *items)
{
    json_t *json = eval_settings_json(engine, &command->options, &command->eval_options);
    json_t *own = json_pack(
        "{sI ss so ss ss sb ss}", "n_ctx", (json_int_t)command->rules.pair.max_length, "format",
        choice_layout_name(command->layout), "delimiter", cli_json_text(command->rules.delimiter),
        "boundary", pair_boundary_name(command->rules.pair.boundary), "overlong",
        pair_overlong_name(command->rules.pair.overlong), "mutual_info", command->rules.mutual_info,
        "items_sha256", items->text_sha256);
    json_object_update(json, own);
    json_decref(own);
    if (command->rules.chat.is_chat)
        chat_options_add_settings(&command->rules.chat, json);
    return json;
}

static bool score(const struct choice_command *command, struct eval_run *run,
                  const struct eval_task *task, const struct choice_items *items,
                  const struct choice_requests *requests, json_t *settings,
                  choice_report_fn *report, struct rml_error *err)
{
    struct eval_scores scores = {0};
    const struct choice_scored scored = {.command = command,
                                         .run = run,
                                         .task = task,
                                         .items = items,
                                         .requests = requests,
                                         .scores = &scores,
                                         .settings = settings};
    bool ok = eval_scores_init(&scores, requests->requests, requests->n, err) &&
              eval_run_score(run, task, requests->requests, requests->n, &scores, NULL, err) &&
              report(&scored, err);
    eval_scores_release(&scores);
    return ok;
}

static bool run_requests(struct choice_command *command, struct eval_run *run,
                         struct eval_engine *engine, const struct choice_items *items,
                         const struct choice_requests *requests, const char *task_name,
                         choice_report_fn *report, struct rml_error *err)
{
    if (requests->n == 0)
        return rmli_fail(err, RML_FORMAT, command->file, -1,
                         "nothing to score found: %zu of %zu item%s skipped, expected one that is "
                         "not",
                         requests->n_skipped, requests->n_slots, cli_plural(requests->n_slots));
    json_t *settings = settings_json(command, engine, items);
    char *text = json_dumps(settings, JSON_COMPACT);
    const struct eval_task task = {
        .name = task_name, .protocol = "lm-eval", .engine = engine, .settings_json = text};
    bool ok = eval_run_begin(run, &command->options, &command->eval_options, err) &&
              eval_run_add_task(run, &task, err) &&
              score(command, run, &task, items, requests, settings, report, err);
    free(text);
    json_decref(settings);
    return ok;
}

static bool run_items(struct choice_command *command, struct eval_run *run,
                      const struct choice_items *items, struct rml_thread_pool *pool,
                      const char *task_name, choice_report_fn *report, struct rml_error *err)
{
    struct eval_engine engine;
    struct eval_settings settings = eval_settings_of(&command->options);
    if (!eval_engine_init(&engine, command->checkpoint, &settings, pool, err))
        return false;
    struct choice_requests requests = {0};
    size_t *chosen = NULL, n_chosen = 0;
    size_t n_context = eval_engine_n_context(&engine);
    command->rules.pair.max_length = command->options.ctx ? command->options.ctx : n_context;
    if (command->options.ctx > n_context)
        cli_warn("the context of %zu is longer than the %zu token%s that the model was made for",
                 command->options.ctx, n_context, cli_plural(n_context));
    bool ok = eval_engine_need_tokenizer(&engine, err) &&
              chat_options_settle(&command->rules.chat, &engine, err) &&
              selection_apply(&command->eval_options.selection, command->options.seed, items->n,
                              &chosen, &n_chosen, err) &&
              choice_requests_init(&requests, &engine, items, chosen, n_chosen, command->file,
                                   &command->rules, err) &&
              run_requests(command, run, &engine, items, &requests, task_name, report, err);
    choice_requests_release(&requests);
    free(chosen);
    eval_engine_release(&engine);
    return ok;
}

static bool is_same(const struct choice_text *a, const struct choice_text *b)
{
    return a->nbytes == b->nbytes && memcmp(a->data, b->data, a->nbytes) == 0;
}

/* Of the texts that an item's picks tell apart. */
static bool has_equal_choices(const struct choice_item *item)
{
    const struct choice_text *texts = item->one_continuation ? item->contexts : item->choices;
    for (size_t i = 1; i < item->n_choices; i++)
        for (size_t j = 0; j < i; j++)
            if (is_same(&texts[i], &texts[j]))
                return true;
    return false;
}

static void warn_of(const struct choice_items *items, size_t which, size_t n, const char *file,
                    const char *what)
{
    if (n > 0)
        cli_warn("%s: line %zu: %s (%zu of %zu item%s)", file, items->items[which].line, what, n,
                 items->n, cli_plural(items->n));
}

/* Items whose pick says little of a checkpoint; they are scored all the same. */
static void warn_of_choices(const struct choice_items *items, const char *file)
{
    size_t n_single = 0, n_equal = 0, single = 0, equal = 0;
    for (size_t i = items->n; i-- > 0;) {
        if (items->items[i].n_choices == 1) {
            single = i;
            n_single++;
        } else if (has_equal_choices(&items->items[i])) {
            equal = i;
            n_equal++;
        }
    }
    warn_of(items, single, n_single, file, "one choice alone found, which is always picked");
    warn_of(items, equal, n_equal, file,
            "two choices that are the same found, of which the second is never picked");
}

int choice_command_run(struct choice_command *command, const char *task_name,
                       choice_report_fn *report)
{
    struct rml_error err = RML_ERROR_INIT;
    struct eval_run run = {0};
    struct choice_items items;
    struct rml_thread_pool *pool = NULL;
    if (choice_items_read(&items, command->file, command->layout, &command->fields, &err)) {
        if (command->layout != LAYOUT_PAIRS)
            warn_of_choices(&items, command->file);
        pool = rml_thread_pool_create(command->options.threads, &err);
        if (pool)
            run_items(command, &run, &items, pool, task_name, report, &err);
    }
    int code = eval_run_end(&run, eval_exit(&err, CLI_PASS));
    rml_thread_pool_destroy(pool);
    choice_items_release(&items);
    return code;
}

bool choice_write_items(const struct choice_scored *scored, choice_line_fn *line, void *user,
                        struct rml_error *err)
{
    if (!scored->command->items_file)
        return true;
    struct cli_output output;
    if (!cli_output_open(&output, scored->command->items_file, err))
        return false;
    bool ok = true;
    for (size_t i = 0; ok && i < scored->requests->n_slots; i++) {
        json_t *object = line(scored, i, user);
        ok = object &&
             json_dumpf(object, output.stream,
                        JSON_COMPACT | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(17)) == 0 &&
             fputc('\n', output.stream) != EOF;
        json_decref(object);
    }
    if (ok)
        return cli_output_commit(&output, err);
    cli_output_fail(&output, err);
    cli_output_abandon(&output);
    return false;
}
