/* Where a command's results go: JSON to a file or to standard output; also whether a stream is a terminal. */
#pragma once

#include "cli/options.h"
#include "core/config/config.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

/* Writes `root` where --json says: nowhere, to standard output ("-") or to a file. Takes ownership of `root`. */
enum sl_status sl_output_json(const struct sl_options *options, json_t *root);
/* The stream for text: standard output, or standard error if JSON goes to standard output. */
FILE *sl_output_text(const struct sl_options *options);
/* Whether the stream is a terminal, for live progress and colours (and NO_COLOR is not set). */
bool sl_output_terminal(FILE *stream);
/* "shardlab measure --model ..": the user's words, quoted for a shell where necessary; the caller frees it. */
char *sl_output_command(const struct sl_options *options);
/* Checks the files that the options write, before any work is spent on them. Errors: SL_ERR_INPUT for a file that
 * cannot be created, that is also read or written under another flag, or that this program has already read
 * (core/base/was_read.h lists also files that other files name). Files are compared by device and inode, not by name.
 * Call again after each reading of inputs. */
enum sl_status sl_output_check(const struct sl_options *options);
/* The same once the configuration is read: its flops_profiler.output_file is a file that predict and measure write. */
enum sl_status sl_output_check_profile(const struct sl_options *options, const struct sl_config *config);
