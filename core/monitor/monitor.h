/* Numbers of a run while it goes on, where DeepSpeed's csv_monitor and tensorboard sections put them: a name such as
 * Train/Samples/train_loss, a value, and the samples that have been trained on.
 *
 *   csv          OUTPUT_PATH/JOB_NAME/Train_Samples_train_loss.csv, a file a name, with the lines that Python's csv module writes:
 *                "step,train_loss" when a run first writes the name, then "1024,5.4321"; an older file is gone on with
 *   tensorboard  OUTPUT_PATH/JOB_NAME/events.out.tfevents.TIME.HOST.PID.0, one a run (core/monitor/events.h)
 *
 * An empty OUTPUT_PATH is the current folder; folders are made. What was written is in the files after each sl_monitor_flush. */
#pragma once

#include "core/base/status.h"

#include <stdbool.h>
#include <stdint.h>

struct sl_monitor_place {
  bool enabled;
  const char *output_path, *job_name;
};

struct sl_monitor;

/* *monitor is NULL where neither is enabled, which all other functions accept. Errors: SL_ERR_IO with the path; SL_ERR_MEMORY. */
enum sl_status sl_monitor_open(struct sl_monitor **monitor, const struct sl_monitor_place *csv,
                               const struct sl_monitor_place *tensorboard);
/* This run wrote there before it was started again: rows of its csv files behind step `after` are dropped, and it gets no new heading.
 * Before the first value. */
void sl_monitor_go_on(struct sl_monitor *monitor, int64_t after);
/* Steps behind `after` are trained again, by this run: TensorBoard's readers drop what older files of the folder have of them. Before the first
 * value. Errors: SL_ERR_IO with the path. */
enum sl_status sl_monitor_purge(struct sl_monitor *monitor, int64_t after);
/* One value. Errors: SL_ERR_IO with the path; SL_ERR_MEMORY. */
enum sl_status sl_monitor_write(struct sl_monitor *monitor, const char *name, double value, int64_t step);
enum sl_status sl_monitor_flush(struct sl_monitor *monitor);
void sl_monitor_close(struct sl_monitor *monitor);
