/* The command's part of a table: the processes that predict its rows, and the output file. table/inputs.h defines what
 * a row means, table/predict.h what is predicted for it. */
#include "cli/predict_table.h"

#include "cli/output.h"
#include "cli/workers.h"
#include "core/base/csv.h"
#include "core/base/machine.h"
#include "core/base/new_file.h"
#include "core/base/printable.h"
#include "table/inputs.h"
#include "table/predict.h"
#include "table/rows.h"

#include <stdio.h>
#include <string.h>

struct work {
  const struct sl_table *table;
  const char *cluster; /* for all rows; NULL: each row has its own */
  struct sl_workers workers;
};

static enum sl_status predict_row(void *context, size_t i, void *result) {
  const struct work *work = context;
  struct sl_prediction *out = result;
  struct sl_table_inputs in;
  SL_TRY(sl_table_inputs(&in, &work->table->rows[i], work->cluster));
  const enum sl_status status = sl_predict_step(out, &in.model, &in.config, &in.cluster, in.world);
  if (in.memory == SL_MEMORY_LOGGED_FIRST) out->memory_bytes = out->logged_bytes;
  if (in.memory == SL_MEMORY_LOGGED_MOST) out->memory_bytes = out->most_logged_bytes;
  sl_table_inputs_free(&in);
  return status;
}

/* ---- the output file ---- */

static void put_row(FILE *out, const char *id, const struct sl_prediction *p, const char *error) {
  sl_csv_put(out, id);
  if (error[0] != '\0') {
    fprintf(out, ",,,,,,,,,,,,");
    sl_csv_put(out, error);
    fputc('\n', out);
    return;
  }
  fprintf(out, ",%.9g,%.6f,%d", p->step_s, (double)p->memory_bytes / 1e9, p->fits);
  if (p->low_s > 0)
    fprintf(out, ",%.9g,%.9g", p->low_s, p->high_s);
  else
    fprintf(out, ",,");
  fprintf(out, ",%.9g,%.9g,%.9g,%.9g,%.9g,%.9g,\n", p->compute_s, p->bubble_s, p->exposed_tp_s, p->exposed_dp_s,
          p->exposed_pp_s, p->optimizer_s);
}

static void put_table(FILE *out, const struct work *work) {
  fprintf(out, "id,predicted_step_time_s,predicted_mem_gb,predicted_fits,step_time_low_s,step_time_high_s,compute_s,"
               "bubble_s,exposed_tp_s,exposed_dp_s,exposed_pp_s,optimizer_s,error\n");
  for (size_t i = 0; i < work->table->count; i++)
    put_row(out, work->table->rows[i].id, sl_workers_result(&work->workers, i), sl_workers_error(&work->workers, i));
}

static enum sl_status write_file(const char *path, const struct work *work) {
  struct sl_new_file file;
  SL_TRY(sl_new_file_open(&file, path));
  put_table(file.stream, work);
  return sl_new_file_finish(&file);
}

static enum sl_status summarise(const struct work *work, const struct sl_options *options) {
  const size_t count = work->table->count;
  const double seconds = sl_workers_seconds(&work->workers);
  size_t refused = 0;
  for (size_t i = 0; i < count; i++) refused += sl_workers_error(&work->workers, i)[0] != '\0';
  if (!options->quiet)
    fprintf(sl_output_text(options), "%zu of %zu rows predicted in %.1f s, %zu refused (column error): %s\n",
            count - refused, count, seconds, refused, sl_printable_of(options->out).text);
  return sl_output_json(options, json_pack("{s:s, s:I, s:I, s:I, s:f}", "table", options->table, "rows",
                                           (json_int_t)count, "predicted", (json_int_t)(count - refused), "refused",
                                           (json_int_t)refused, "seconds", seconds));
}

/* Warns about clusters that have no description, once for each. */
static void warn_of_clusters(const struct sl_table *table) {
  for (size_t i = 0; i < table->count; i++) {
    const char *name = table->rows[i].cluster;
    size_t first = 0;
    if (name[0] == '\0' || (i > 0 && strcmp(name, table->rows[i - 1].cluster) == 0) || sl_cluster_is_known(name))
      continue;
    while (strcmp(table->rows[first].cluster, name) != 0) first++;
    if (first == i)
      sl_warn("%s: cluster \"%s\" is not known; its rows take a usual cluster of their gpu", table->csv.name, name);
  }
}

static enum sl_status check_flags(const struct sl_options *options) {
  static const char *const taken[] = {"table", "out", "jobs", "cluster", "json", "quiet", NULL};
  if (options->out == NULL)
    return sl_fail(SL_ERR_INPUT, "--out: is missing; expected the file to write the predictions of --table to");
  const char *other = sl_options_beside(options, taken);
  if (other == NULL) return SL_OK;
  return sl_fail(
      SL_ERR_INPUT,
      "--%s: does not go with --table, whose columns say what a row is; expected --out, --jobs, --cluster, --json",
      other);
}

enum sl_status sl_predict_table(const struct sl_options *options) {
  enum sl_status status;
  struct sl_table table;
  SL_TRY(check_flags(options));
  SL_TRY(sl_table_load(&table, options->table));
  struct work work = {.table = &table, .cluster = sl_options_given(options, "cluster") ? options->cluster : NULL};
  work.workers = (struct sl_workers){.run = predict_row,
                                     .context = &work,
                                     .count = table.count,
                                     .result_bytes = sizeof(struct sl_prediction),
                                     .jobs = options->jobs > 0 ? (int)options->jobs : sl_machine_cores()};
  if (work.cluster == NULL) warn_of_clusters(&table);
  SL_GO(sl_workers_run(&work.workers, !options->quiet && sl_output_terminal(stderr)));
  SL_GO(write_file(options->out, &work));
  SL_GO(summarise(&work, options));
done:
  sl_workers_close(&work.workers);
  sl_table_free(&table);
  return status;
}
