/* What a backend's module exports: the table of its functions, which have these names in its exec.c. */
#pragma once

#include "core/run/executor.h"

/* clang-format off */
#define SL_BACKEND_MODULE(backend, ...)                                                                                \
  static const struct sl_exec_ops backend##_ops = {                                                                    \
      .name = #backend, .measures = true, .open = open_##backend, .begin = begin, .issue = issue, .advance = advance,  \
      .now = now, .read = read_back, .write = write_over, .report = report, .anomaly = anomaly, .exchange = exchange,  \
      .agree = agree, .close = close_##backend, __VA_ARGS__};                                                          \
  const struct sl_exec_ops *sl_exec_module(void) { return &backend##_ops; }
/* clang-format on */
