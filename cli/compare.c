/* shardlab compare: two records side by side. */
#include "core/record/compare.h"

#include "cli/commands.h"
#include "cli/output.h"
#include "core/record/compare_print.h"
#include "core/record/record.h"

static enum sl_status report(const struct sl_options *options, const struct sl_comparison *comparison) {
  FILE *out = sl_output_text(options);
  if (!options->quiet) sl_comparison_print(comparison, sl_output_terminal(out), out);
  if (options->json != NULL) SL_TRY(sl_output_json(options, sl_comparison_json(comparison)));
  return sl_comparison_judge(comparison);
}

static enum sl_status run(const struct sl_options *options) {
  struct sl_json predicted = {0}, measured = {0};
  struct sl_comparison comparison = {0};
  enum sl_status status;
  SL_GO(sl_record_load(&predicted, options->operand[0]));
  SL_GO(sl_record_load(&measured, options->operand[1]));
  SL_GO(sl_output_check(options));
  SL_GO(sl_compare_records(&comparison, &predicted, &measured, options->time_tolerance));
  SL_GO(report(options, &comparison));
done:
  sl_comparison_free(&comparison);
  sl_json_free(&predicted);
  sl_json_free(&measured);
  return status;
}

const struct sl_command sl_command_compare = {
    .name = "compare",
    .bit = SL_CMD_COMPARE,
    .operands = "PREDICTED.json MEASURED.json",
    .min_operands = 2,
    .max_operands = 2,
    .summary = "Lay two run records side by side and judge the difference",
    .help = "Arenas and traffic must be equal, a process's memory within 2 % or 48 MB; step times are judged with\n"
            "--time-tolerance. The exit status is 1 when a value is out of tolerance.\n",
    .example = "shardlab compare predicted.json measured.json --time-tolerance 0.2",
    .run = run,
};
