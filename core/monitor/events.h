/* TensorBoard's event files, with scalars only.
 *
 * A file is a sequence of records (TFRecord):
 *   8 bytes   n, the length of the data, little-endian like all numbers here
 *   4 bytes   masked CRC-32C of those 8 bytes
 *   n bytes   data: an Event in protobuf encoding
 *   4 bytes   masked CRC-32C of the data
 * masked(c) = rotate_right(c, 15) + 0xa282ead8 in 32 bits; CRC-32C has the reflected polynomial 0x82f63b78.
 *
 *   message Event   { double wall_time = 1; int64 step = 2; string file_version = 3; Summary summary = 5; SessionLog
 *                   session_log = 7; }
 *   message SessionLog { Status status = 1; }        START is 1
 *   message Summary { repeated Value value = 1; }    message Value { string tag = 1; float simple_value = 2; }
 *
 * The first Event has only a file_version, "brain.Event:2". Sources: tensorflow/core/util/event.proto,
 * tensorflow/core/framework/summary.proto, tensorflow/core/lib/io/record_writer.h. */
#pragma once

#include "core/base/status.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct sl_events {
  char *path; /* owned */
  FILE *stream;
};

/* Creates a file with a unique name in `folder` that readers process after the existing ones: they sort by name, and a
 * name begins with the second of its creation. Errors: SL_ERR_IO with the path; SL_ERR_MEMORY. */
enum sl_status sl_events_open(struct sl_events *events, const char *folder);
/* Appends a value. Errors: SL_ERR_IO with the path; SL_ERR_INPUT if the name is longer than 255 bytes. */
enum sl_status sl_events_write(struct sl_events *events, const char *name, double value, int64_t step);
/* Invalidates what older files have from `step` on, because it is trained again: an event of that step which starts a
 * session, as torch.utils.tensorboard's SummaryWriter writes for its purge_step. Errors: SL_ERR_IO with the path. */
enum sl_status sl_events_purge(struct sl_events *events, int64_t step);
enum sl_status sl_events_flush(struct sl_events *events);
/* Accepts a zeroed one. */
void sl_events_close(struct sl_events *events);

/* CRC-32C of data[0..size). Of "123456789": 0xe3069283. */
uint32_t sl_crc32c(const void *data, size_t size);
