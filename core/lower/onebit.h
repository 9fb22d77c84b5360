/* 1-bit Adam: what its steps do once the variance stays (arXiv:2102.02888; DeepSpeed's runtime/fp16/onebit/adam.py). */
#pragma once

#include "core/lower/build.h"

/* The errors of both transfers, kept from step to step, where the optimizer is 1-bit Adam. */
enum sl_status sl_onebit_open(struct sl_lowering *lowering);
/* The first program makes them zero. */
enum sl_status sl_onebit_init(struct sl_lowering *lowering, struct sl_program *program);
/* The update of a compressed step: momentum to its owners as signs, their mean to everybody as signs, and the parameters. */
enum sl_status sl_onebit_update(struct sl_lowering *lowering, struct sl_program *program);
