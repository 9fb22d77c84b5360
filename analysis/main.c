/* shardlab-analyze: tables and pictures of run records. A program of its own, because it alone links GSL. */
#include "analysis/plot.h"
#include "analysis/table.h"

#include <stdio.h>
#include <string.h>

static const char usage[] =
    "usage: shardlab-analyze table FOLDER RECORD.json...\n"
    "       shardlab-analyze plot FOLDER\n\n"
    "table  pairs predicted and measured records by plan, prints a Markdown table and writes FOLDER/runs.csv and\n"
    "       FOLDER/losses.csv, units in the column names\n"
    "plot   writes gnuplot scripts that read those two files and draws FOLDER/{memory,step_time,losses}.{svg,png}\n\n"
    "example:\n  shardlab-analyze table out predicted.json measured.json && shardlab-analyze plot out\n";

static enum sl_status table(const char *folder, char **paths, int n) {
  struct sl_rows rows;
  SL_TRY(sl_rows_load(&rows, paths, n));
  const enum sl_status status = sl_table_csv(&rows, folder);
  if (status == SL_OK) sl_table_markdown(&rows, stdout);
  sl_rows_free(&rows);
  return status;
}

static enum sl_status dispatch(int argc, char **argv) {
  if (argc == 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
    fputs(usage, stdout);
    return SL_OK;
  }
  if (argc >= 4 && strcmp(argv[1], "table") == 0) return table(argv[2], argv + 3, argc - 3);
  if (argc == 3 && strcmp(argv[1], "plot") == 0) return sl_plot_folder(argv[2]);
  return sl_fail(SL_ERR_INPUT, "expected 'table FOLDER RECORD.json...' or 'plot FOLDER'; --help says more");
}

int main(int argc, char **argv) {
  const enum sl_status status = dispatch(argc, argv);
  if (status != SL_OK) fprintf(stderr, "shardlab-analyze: error: %s\n", sl_error_message());
  return sl_exit_code(status);
}
