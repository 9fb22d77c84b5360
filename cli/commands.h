/* The subcommands: each file exports its description, which main.c lists. */
#pragma once

#include "cli/options.h"

extern const struct sl_command sl_command_predict, sl_command_measure, sl_command_compare, sl_command_validate,
    sl_command_show, sl_command_check, sl_command_backends, sl_command_calibrate, sl_command_bench,
    sl_command_checkpoint, sl_command_export_config, sl_command_tokenize;
