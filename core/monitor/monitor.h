/* Writes numbers of a run while it is running, where DeepSpeed's csv_monitor and tensorboard sections put them: a name
 * such as Train/Samples/train_loss, a value, and the number of samples trained on.
 *
 *   csv          OUTPUT_PATH/JOB_NAME/Train_Samples_train_loss.csv, one file per name, with the lines that Python's csv
 *                module writes: "step,train_loss" when a run first writes the name, then "1024,5.4321"; an existing
 *                file is appended to
 *   tensorboard  OUTPUT_PATH/JOB_NAME/events.out.tfevents.TIME.HOST.PID.0, one per run (core/monitor/events.h)
 *
 * An empty OUTPUT_PATH is the current folder; folders are created. Everything written is in the files after each
 * sl_monitor_flush. */
#pragma once

#include "core/base/status.h"

#include <stdbool.h>
#include <stdint.h>

struct sl_monitor_place {
  bool enabled;
  const char *output_path, *job_name;
};

struct sl_monitor;

/* *monitor is NULL if neither is enabled; all other functions accept that. Errors: SL_ERR_IO with the path;
 * SL_ERR_MEMORY. */
enum sl_status sl_monitor_open(struct sl_monitor **monitor, const struct sl_monitor_place *csv,
                               const struct sl_monitor_place *tensorboard);
/* For a run that was restarted and had written here before: drops rows of its csv files after step `after`, and writes
 * no new heading. Call it before the first value. */
void sl_monitor_go_on(struct sl_monitor *monitor, int64_t after);
/* For steps after `after` that this run trains again: makes TensorBoard's readers drop what older files of the folder
 * have of them. Call it before the first value. Errors: SL_ERR_IO with the path. */
enum sl_status sl_monitor_purge(struct sl_monitor *monitor, int64_t after);
/* Writes one value. Errors: SL_ERR_IO with the path; SL_ERR_MEMORY. */
enum sl_status sl_monitor_write(struct sl_monitor *monitor, const char *name, double value, int64_t step);
enum sl_status sl_monitor_flush(struct sl_monitor *monitor);
void sl_monitor_close(struct sl_monitor *monitor);
