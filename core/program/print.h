/* Prints a program as text, for `shardlab` users and golden files. */
#pragma once

#include "core/program/program.h"

#include <stdio.h>

/* Prints the program of `rank`, one op a line: index, lane, action, kind, operands, waits. */
void sl_program_print(const struct sl_job *job, int rank, enum sl_program_kind kind, FILE *out);
