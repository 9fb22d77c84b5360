/* 1-bit Adam: its steps after the variance is frozen (arXiv:2102.02888; DeepSpeed's runtime/fp16/onebit/adam.py). */
#pragma once

#include "core/lower/build.h"

/* Makes the errors of both transfers, kept from step to step, if the optimizer is 1-bit Adam. */
enum sl_status sl_onebit_open(struct sl_lowering *lowering);
/* Zeroes them in the init program. */
enum sl_status sl_onebit_init(struct sl_lowering *lowering, struct sl_program *program);
/* The update of a compressed step: the momentum is sent to its owners as signs, their mean to everybody as signs, and
 * parameters are updated. */
enum sl_status sl_onebit_update(struct sl_lowering *lowering, struct sl_program *program);
