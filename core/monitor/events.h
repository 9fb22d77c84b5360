/* TensorBoard's event files, of scalars alone.
 *
 * A file is records one after the other (TFRecord):
 *   8 bytes   n, the length of the data, little-endian like all numbers here
 *   4 bytes   masked CRC-32C of those 8 bytes
 *   n bytes   data: an Event as protobuf writes it
 *   4 bytes   masked CRC-32C of the data
 * masked(c) = rotate_right(c, 15) + 0xa282ead8 in 32 bits; CRC-32C has the reflected polynomial 0x82f63b78.
 *
 *   message Event   { double wall_time = 1; int64 step = 2; string file_version = 3; Summary summary = 5; SessionLog session_log = 7; }
 *   message SessionLog { Status status = 1; }        START is 1
 *   message Summary { repeated Value value = 1; }    message Value { string tag = 1; float simple_value = 2; }
 *
 * The first Event has a file_version, "brain.Event:2", and nothing else. Sources: tensorflow/core/util/event.proto,
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

/* Make a file of a name of its own in `folder`, which readers take after those that are there: they go by name, and a name begins with the
 * second it was made in. Errors: SL_ERR_IO with the path; SL_ERR_MEMORY. */
enum sl_status sl_events_open(struct sl_events *events, const char *folder);
/* Errors: SL_ERR_IO with the path; SL_ERR_INPUT where the name is longer than 255 bytes. */
enum sl_status sl_events_write(struct sl_events *events, const char *name, double value, int64_t step);
/* What older files have from `step` on is void, for it is trained again: torch.utils.tensorboard's SummaryWriter writes the same for its
 * purge_step, an event at that step that a session starts. Errors: SL_ERR_IO with the path. */
enum sl_status sl_events_purge(struct sl_events *events, int64_t step);
enum sl_status sl_events_flush(struct sl_events *events);
/* Accepts a zeroed one. */
void sl_events_close(struct sl_events *events);

/* CRC-32C of data[0..size). Of "123456789": 0xe3069283. */
uint32_t sl_crc32c(const void *data, size_t size);
