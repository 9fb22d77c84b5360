/* shardlab check: the dry run, with no clock. */
#include "cli/commands.h"
#include "cli/fit.h"
#include "cli/output.h"
#include "cli/setup.h"
#include "core/check/rendezvous.h"

static enum sl_status run(const struct sl_options *options) {
  struct sl_setup setup;
  SL_TRY(sl_output_check(options));
  SL_TRY(sl_setup_job(&setup, options, SL_SETUP_PROGRAMS));
  enum sl_status status;
  size_t ops = 0;
  SL_GO(sl_fit_check(options, &setup));
  SL_GO(sl_check(&setup.job));
  for (int c = 0; c < setup.job.class_count; c++)
    for (int p = 0; p < SL_PROGRAM_COUNT; p++) ops += setup.job.classes[c].programs[p].issue_count;
  if (!options->quiet)
    fprintf(sl_output_text(options),
            "check: ok: %d ranks, %d distinct, %zu ops; no deadlock, no use of dead or unwritten memory\n",
            setup.plan.world, setup.job.class_count, ops);
  if (options->json != NULL)
    status = sl_output_json(options, json_pack("{s:b, s:i, s:i, s:I}", "ok", 1, "ranks", setup.plan.world, "classes",
                                               setup.job.class_count, "ops", (json_int_t)ops));
done:
  sl_setup_free(&setup);
  return status;
}

const struct sl_command sl_command_check = {
    .name = "check",
    .bit = SL_CMD_CHECK,
    .operands = "",
    .summary = "Prove a configuration's programs without running them",
    .help =
        "Finds unpaired sends, deadlocks, ranks that disagree on the order of collectives, reads of what nobody\n"
        "wrote, and two live buffers in the same bytes. With --pp: a schedule that deadlocks, misses a micro-batch or "
        "uses a\n"
        "stage out of turn is refused with the grid around the place; --schedule FILE.csv checks one of your own.\n",
    .example = "shardlab check --model gpt2 --config examples/ds_zero3.json --world 4",
    .run = run,
};
