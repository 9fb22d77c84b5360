/* shardlab validate: predicts, measures in a separate process, and compares. */
#include "cli/children.h"
#include "cli/commands.h"
#include "cli/fit.h"
#include "cli/fit_tell.h"
#include "cli/inputs.h"
#include "cli/launch.h"
#include "cli/nodes.h"
#include "cli/output.h"
#include "cli/predict.h"
#include "cli/said.h"
#include "core/base/new_file.h"
#include "core/record/compare.h"
#include "core/record/compare_print.h"
#include "core/record/record.h"
#include "core/run/executor.h"
#include "core/run/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Whether a flag is validate's own and must not be passed to measure. *apart: its value is the next word. */
static bool own_flag(const char *word, bool *apart) {
  static const char *const valued[] = {"time-tolerance", "json", "trace", NULL}, *const bare[] = {"require-fit", NULL};
  return sl_options_among(word, valued, bare, apart);
}

/* "shardlab measure <the user's flags> --json - [--trace FILE]"; the caller owns the list, the words are borrowed. */
static enum sl_status measure_arguments(const struct sl_options *options, char *trace_file, char ***out) {
  static char name[] = "shardlab", command[] = "measure", json[] = "--json", trace[] = "--trace", standard[] = "-";
  int n = 0;
  SL_TRY(sl_calloc(out, (size_t)options->argc + 6, sizeof **out));
  (*out)[n++] = name;
  (*out)[n++] = command;
  for (int i = 2; i < options->argc; i++) {
    bool apart;
    if (!own_flag(options->argv[i], &apart))
      (*out)[n++] = options->argv[i];
    else
      i += apart;
  }
  (*out)[n++] = json;
  (*out)[n++] = standard;
  if (trace_file == NULL) return SL_OK;
  (*out)[n++] = trace;
  (*out)[n++] = trace_file;
  return SL_OK;
}

/* The child's standard output is the record, written by rank 0 wherever that runs; it goes to `record`, or, if that is
 * -1, to our own standard output. */
static enum sl_status run_child(char **arguments, int record) {
  const pid_t child = sl_children_fork(SIGTERM);
  if (child < 0) return sl_fail(SL_ERR_IO, "cannot start a process: %s", strerror(errno));
  if (child == 0) {
    if (record >= 0) dup2(record, STDOUT_FILENO);
    sl_children_exec("/proc/self/exe", arguments, 0);
  }
  return sl_children_status(sl_children_wait(child), "the measurement");
}

static enum sl_status measure(const struct sl_options *options, char *trace_file, struct sl_json *record) {
  char path[96];
  char **arguments = NULL;
  enum sl_status status;
  SL_TRY(sl_children_open());
  sl_said_pass();
  snprintf(path, sizeof path, "%s/record-XXXXXX", sl_children_folder());
  const int handle = mkostemp(path, O_CLOEXEC);
  if (handle < 0) return sl_fail(SL_ERR_IO, "%s: cannot be created: %s", path, strerror(errno));
  SL_GO(measure_arguments(options, trace_file, &arguments));
  SL_GO(run_child(arguments, handle));
  SL_GO(sl_record_load(record, path));
done:
  close(handle);
  unlink(path);
  free(arguments);
  return status;
}

/* Prints the commands that the measurement would start. */
static enum sl_status show_commands(const struct sl_options *options) {
  char **arguments;
  SL_TRY(measure_arguments(options, NULL, &arguments));
  enum sl_status status = sl_children_open();
  if (status == SL_OK) status = run_child(arguments, -1);
  free(arguments);
  return status;
}

/* A record as a parsed document, so that both sides of the comparison go through the same reader. */
static enum sl_status document(const json_t *record, struct sl_json *doc) {
  char *text = json_dumps(record, JSON_REAL_PRECISION(17));
  if (text == NULL) return sl_fail(SL_ERR_MEMORY, "out of memory: the predicted record");
  const enum sl_status status = sl_json_parse(doc, "the prediction", text, strlen(text));
  free(text);
  return status == SL_OK ? sl_record_check(doc) : status;
}

/* Checks what can be checked before the prediction. */
static enum sl_status check_request(struct sl_options *options) {
  struct sl_setup setup;
  const struct sl_exec_ops *exec;
  if (sl_launch_inside())
    return sl_fail(SL_ERR_INPUT, "validate starts its own ranks; start it without mpirun or srun, with --world");
  SL_TRY(sl_inputs_check_piped(options));
  SL_TRY(sl_output_check(options));
  SL_TRY(sl_setup_plan(&setup, options));
  enum sl_status status = sl_inputs_check(options, &setup);
  if (status == SL_OK) status = sl_output_check(options);
  if (status == SL_OK && setup.config.sl.eval_interval > 0)
    status = sl_inputs_eval_iters(options, &setup, &options->eval_batches);
  sl_setup_free(&setup);
  SL_TRY(status);
  return sl_exec_load(options->backend, &exec);
}

/* Prints the verdict only after the measurement, whose errors come first. */
static enum sl_status judge(const struct sl_options *options, const json_t *predicted,
                            const struct sl_comparison *comparison) {
  FILE *out = sl_output_text(options);
  if (!options->quiet) sl_fit_tell(predicted, !sl_options_given(options, "cluster"), out);
  if (!options->quiet) sl_comparison_print(comparison, sl_output_terminal(out), out);
  if (options->json != NULL) SL_TRY(sl_output_json(options, sl_comparison_json(comparison)));
  return sl_comparison_judge(comparison);
}

/* The traces of both sides until they are joined; NULL without --trace. */
struct traces {
  char *predicted, *measured;
};

static enum sl_status name_traces(const struct sl_options *options, struct traces *t) {
  const int ranks = (int)options->world; /* the parts of the ranks have the numbers before */
  if (options->trace == NULL) return SL_OK;
  sl_children_name_output(options->trace, ranks + 2);
  SL_TRY(sl_children_open());
  t->predicted = sl_new_file_hidden(options->trace, ranks);
  t->measured = sl_new_file_hidden(options->trace, ranks + 1);
  if (t->predicted == NULL || t->measured == NULL) return sl_fail(SL_ERR_MEMORY, "out of memory: names of traces");
  return SL_OK;
}

static void drop_traces(struct traces *t) {
  if (t->predicted != NULL) unlink(t->predicted);
  if (t->measured != NULL) unlink(t->measured);
  free(t->predicted);
  free(t->measured);
}

/* Resolves the world from the flags about hosts. */
static enum sl_status choose_world(struct sl_options *options) {
  struct sl_nodes nodes;
  SL_TRY(sl_nodes_settle(&nodes, options));
  sl_nodes_free(&nodes);
  return SL_OK;
}

static enum sl_status run(const struct sl_options *given) {
  struct sl_options chosen = *given;
  const struct sl_options *options = &chosen;
  SL_TRY(choose_world(&chosen));
  if (options->dry_run) return show_commands(options);
  struct sl_options predict;
  struct sl_json predicted = {0}, measured = {0};
  struct sl_comparison comparison = {0};
  struct traces traces = {0};
  json_t *record = NULL;
  enum sl_status status;
  SL_TRY(check_request(&chosen));
  SL_GO(name_traces(options, &traces));
  predict = chosen;
  predict.steps = 1;
  predict.measured_steps = chosen.steps;
  predict.no_fold = true; /* every rank is compared, so every rank is simulated */
  SL_GO(sl_predict_record(&predict, traces.predicted, &record));
  SL_GO(sl_fit_require(options, record));
  SL_GO(document(record, &predicted));
  SL_GO(measure(options, traces.measured, &measured));
  if (options->trace != NULL) SL_GO(sl_trace_join(options->trace, traces.predicted, traces.measured));
  SL_GO(sl_compare_records(&comparison, &predicted, &measured, options->time_tolerance));
  SL_GO(judge(options, record, &comparison));
done:
  drop_traces(&traces);
  sl_comparison_free(&comparison);
  sl_json_free(&predicted);
  sl_json_free(&measured);
  json_decref(record);
  return status;
}

const struct sl_command sl_command_validate = {
    .name = "validate",
    .bit = SL_CMD_VALIDATE,
    .operands = "",
    .summary = "Predict, measure and compare in one go",
    .help = "--trace FILE: one trace with the predicted and the measured ranks next to each other.\n"
            "The exit status is 0 when everything judged is within tolerance, 1 when it is not, 2 for bad input.\n",
    .example =
        "shardlab validate --model gpt2-tiny --config examples/ds_zero2.json --world 2 --data examples/corpus.txt",
    .run = run,
};
