/* Arguments of Megatron-LM that change memory, computation or traffic and are not modelled. Internal to
 * core/interop. */
#pragma once

#include "core/interop/arguments.h"

struct sl_megatron_refusal {
  const char *name;
  const char *neutral; /* the value, Megatron-LM's default, that changes nothing; NULL: none */
};

/* Ends with a NULL name. */
extern const struct sl_megatron_refusal sl_megatron_refused[];

/* Refuses the first of them that is given with another value. Errors: SL_ERR_INPUT. */
enum sl_status sl_megatron_check_refused(const struct sl_arguments *a);
/* The same of those that only matter where a rank has several stages. Those of other kinds of pipelines are passed
 * over: they have no effect there. */
enum sl_status sl_megatron_check_interleaved(const struct sl_arguments *a, int64_t pp, int64_t virtual_stages);
