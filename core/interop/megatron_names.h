/* The names of all arguments of Megatron-LM, so that a real one is never taken for another one misspelt. Internal to
 * core/interop.
 *
 * Sources, names only: add_argument's first words, and the fields of the dataclasses that ArgumentGroupFactory turns
 * into arguments, of megatron/training/arguments.py (of megatron/arguments.py before 2024) and of pretrain_*.py, in
 * the releases v1.0, 2.0, 2.5, 2.6, core 0.4, 0.6, 0.9, 0.12, 0.15 to 0.19 and d98e8a64dd; in
 * deepspeedai/Megatron-DeepSpeed and bigscience-workshop/Megatron-DeepSpeed. */
#pragma once

#include <stdbool.h>

/* Is it one of them, or a launcher's? `name` has no dashes in front, and '-' for '_'. */
bool sl_megatron_knows(const char *name);
