/* shardlab tokenize: turns a text into tokens once, in a file for --data; otherwise every rank would do so again. */
#include "cli/commands.h"
#include "cli/output.h"

#include "core/base/new_file.h"
#include "core/base/printable.h"
#include "core/io/data.h"
#include "core/io/npy.h"

#include <inttypes.h>
#include <time.h>

static double cpu_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static enum sl_status write_tokens(const char *path, const struct sl_data *data) {
  struct sl_new_file file;
  SL_TRY(sl_new_file_open(&file, path));
  sl_npy_write(file.stream, data->made, data->token_count); /* a failed write is reported by sl_new_file_finish */
  return sl_new_file_finish(&file);
}

static enum sl_status run(const struct sl_options *options) {
  const struct sl_data_text text = {options->tokenizer, options->text_field, options->eod_token};
  const char *path = options->operand[0];
  struct sl_data data;
  if (text.tokenizer == NULL) return sl_fail(SL_ERR_INPUT, "--tokenizer: is missing; expected a tokenizer.json");
  if (options->out == NULL)
    return sl_fail(SL_ERR_INPUT, "--out: is missing; expected a file to write, such as tokens.npy");
  const double start_s = cpu_seconds();
  SL_TRY(sl_data_open_text(&data, path, &text));
  const double took_s = cpu_seconds() - start_s;
  enum sl_status status = sl_output_check(options);
  if (status == SL_OK) status = write_tokens(options->out, &data);
  if (status == SL_OK && !options->quiet)
    printf("%s: %" PRId64 " tokens, in %.3g s of CPU\n", sl_printable_of(options->out).text, data.token_count, took_s);
  sl_data_close(&data);
  return status;
}

const struct sl_command sl_command_tokenize = {
    .name = "tokenize",
    .bit = SL_CMD_TOKENIZE,
    .operands = "FILE",
    .min_operands = 1,
    .max_operands = 1,
    .summary = "Turn text or JSON lines into tokens, by a tokenizer.json",
    .help = "The result is a .npy of uint16, or uint32 where an id needs it, for --data and --val-data.\n",
    .example = "shardlab tokenize examples/corpus.txt --tokenizer tokenizer.json --out tokens.npy",
    .run = run,
};
