/* Where a command's results go: JSON to a file or to standard output, and whether a stream is a terminal. */
#pragma once

#include "cli/options.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

/* Write `root` where --json says: nowhere, to standard output ("-") or to a file. Takes `root` over. */
enum sl_status sl_output_json(const struct sl_options *options, json_t *root);
/* The stream for text: standard output, or standard error when JSON goes to standard output. */
FILE *sl_output_text(const struct sl_options *options);
/* Colours and live progress make sense on this stream (it is a terminal, and NO_COLOR is not set). */
bool sl_output_terminal(FILE *stream);
/* "shardlab measure --model ..": the user's words, quoted where a shell needs it; the caller frees it. */
char *sl_output_command(const struct sl_options *options);
/* Fail with SL_ERR_INPUT, before any work is spent on them, when a file that the options write cannot be created, or is one that
 * they read or write under another flag, too, or one that this program has read so far (core/base/was_read.h: files that
 * other files name): by device and inode, not by name. To be asked again behind each reading of inputs. */
enum sl_status sl_output_check(const struct sl_options *options);
