/* shardlab predict: simulates the job. */
#include "cli/predict.h"

#include "cli/commands.h"
#include "cli/fit.h"
#include "cli/fit_tell.h"
#include "cli/flops.h"
#include "cli/inputs.h"
#include "cli/output.h"
#include "cli/predict_table.h"
#include "cli/runner.h"
#include "cli/search.h"
#include "cli/sweep.h"
#include "core/base/checked.h"
#include "core/base/limits.h"
#include "sim/sim.h"

static void add_op(void *context, int64_t step, const struct sl_program *program, const struct sl_completion *done) {
  sl_flops_add(context, step, program, done);
}

/* The table is printed with the measurement if there is one, since that has more in it; the record always has the
 * profile. */
static enum sl_status put_flops(struct sl_flops *flops, const struct sl_options *options, json_t *record) {
  enum sl_status status = sl_flops_put(flops, record);
  if (status == SL_OK && options->measured_steps == 0)
    status = sl_flops_tell(&flops->setup->config, record, options->quiet ? NULL : sl_output_text(options));
  if (status != SL_OK) json_decref(record);
  return status;
}

static enum sl_status check_steps(const struct sl_options *options, const char *trace) {
  if (trace == NULL || options->steps <= SL_MAX_STEPS_TRACED) return SL_OK;
  return sl_fail(SL_ERR_INPUT, "--steps: is %lld; expected at most %lld with --trace, since steps repeat",
                 (long long)options->steps, (long long)SL_MAX_STEPS_TRACED);
}

/* Ops are counted once for each class, or for all of its ranks if they are simulated apart. */
static enum sl_status check_trace(const struct sl_options *options, const struct sl_job *job) {
  const bool apart = options->no_fold || options->jitter > 0;
  int64_t ops = 0;
  for (int c = 0; c < job->class_count; c++) {
    const struct sl_class *own = &job->classes[c];
    const int64_t of_rank = sl_product((int64_t)own->programs[SL_PROGRAM_STEP].issue_count, options->steps);
    ops = sl_sum(ops, sl_product(of_rank, apart ? own->rank_count : 1));
  }
  if (ops <= SL_MAX_OPS_TRACED) return SL_OK;
  return sl_fail(SL_ERR_INPUT,
                 "--trace: would have %s ops; expected at most %lld: fewer steps, micro-batches or simulated ranks",
                 sl_count_text(ops).text, (long long)SL_MAX_OPS_TRACED);
}

/* `advise`: add the changes that would make a job fit that does not. */
static enum sl_status predict(const struct sl_options *options, const char *trace, bool advise, json_t **record) {
  struct sl_setup setup;
  SL_TRY(check_steps(options, trace));
  SL_TRY(sl_setup_job(&setup, options, SL_SETUP_SIMULATION));
  enum sl_status status = SL_OK;
  if (options->measured_steps == 0) status = sl_output_check_profile(options, &setup.config);
  if (status == SL_OK) status = sl_fit_check(options, &setup);
  if (status == SL_OK && options->per_rank && setup.plan.world > SL_MAX_RANKS_APART)
    status = sl_fail(SL_ERR_INPUT, "--per-rank: lists %d ranks; expected at most %lld", setup.plan.world,
                     (long long)SL_MAX_RANKS_APART);
  if (status == SL_OK && trace != NULL) status = check_trace(options, &setup.job);
  if (status != SL_OK) {
    sl_setup_free(&setup);
    return status;
  }
  struct sl_flops flops;
  status = sl_flops_open(&flops, &setup, false);
  if (status != SL_OK) {
    sl_setup_free(&setup);
    return status;
  }
  const struct sl_runner runner = {.exec = &sl_exec_sim,
                                   .setup = &setup,
                                   .options = options,
                                   .command = SL_CMD_PREDICT,
                                   .trace = trace,
                                   .processes = 1,
                                   .watch = flops.on ? add_op : NULL,
                                   .watch_context = &flops};
  status = sl_runner_run(&runner, record);
  if (status == SL_OK && advise) sl_fit_advise(options, &setup, *record);
  if (status == SL_OK && !options->quiet && options->measured_steps == 0)
    sl_fit_tell(*record, !sl_options_given(options, "cluster"), sl_output_text(options));
  if (status == SL_OK) status = put_flops(&flops, options, *record);
  sl_flops_close(&flops);
  sl_setup_free(&setup);
  return status;
}

enum sl_status sl_predict_record(const struct sl_options *options, const char *trace, json_t **record) {
  return predict(options, trace, true, record);
}

static enum sl_status run(const struct sl_options *options) {
  const bool read = !options->quiet || options->json != NULL; /* whether anybody reads the record */
  json_t *record;
  if (options->operand_count > 0 && options->sweep == NULL)
    return sl_fail(SL_ERR_INPUT, "'%s': is one argument too many; usage: shardlab predict [flags]",
                   options->operand[0]);
  SL_TRY(sl_output_check(options));
  SL_TRY(sl_inputs_keep(options));
  if (options->table != NULL) return sl_predict_table(options);
  if (options->sweep != NULL) return sl_sweep(options);
  if (options->out != NULL || options->jobs > 0)
    return sl_fail(SL_ERR_INPUT, "--%s: is for a table of configurations; expected --table or --sweep too",
                   options->out != NULL ? "out" : "jobs");
  struct sl_options found;
  struct sl_search_texts texts;
  json_t *search = NULL;
  if (sl_search_asked(options)) {
    SL_TRY(sl_search_run(options, &found, &texts, &search));
    if (!options->quiet) sl_search_tell(search, sl_output_text(options));
    options = &found;
  }
  const enum sl_status status = predict(options, options->trace, read, &record);
  if (status == SL_OK && search != NULL) json_object_set(record, "search", search);
  json_decref(search);
  SL_TRY(status);
  if (!options->quiet) sl_runner_summary(record, sl_output_text(options));
  const enum sl_status fits = sl_fit_require(options, record);
  SL_TRY(sl_output_json(options, record));
  return fits;
}

const struct sl_command sl_command_predict = {
    .name = "predict",
    .bit = SL_CMD_PREDICT,
    .operands = "",
    .max_operands = SL_MAX_OPERANDS, /* of --sweep */
    .summary = "Simulate a training configuration: memory, traffic and step time",
    .help = "Needs neither MPI nor a GPU: the program that a backend would run is run in virtual time. World = tp x\n"
            "pp x cp x the data-parallel ranks that are left; every ZeRO stage goes with every tp, pp and schedule.\n"
            "Of ranks alike one is simulated, and traced; --no-fold: all.\n"
            "\n"
            "--table predicts each row of a CSV, which says model, layout, framework and cluster of a run (its\n"
            "columns: shardlab show columns), over --jobs processes, and writes a line for each to --out: step time,\n"
            "its interval and parts, memory of the device (1e9 bytes), whether it fits, or in column error why it\n"
            "cannot be predicted. A table that cannot be read is one error, with line and column, and exit status 2;\n"
            "nothing is written then.\n"
            "  shardlab predict --table runs.csv --out predicted.csv --jobs 8\n",
    .example = "shardlab predict --model gpt2 --config examples/ds_zero2.json --cluster dgx-a100-80g --world 8",
    .run = run,
};
