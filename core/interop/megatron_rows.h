/* A table of Megatron-LM's arguments that correspond to one key of ours each. Internal to core/interop. */
#pragma once

enum sl_argument_kind { SL_ARGUMENT_INT, SL_ARGUMENT_REAL, SL_ARGUMENT_FLAG };

struct sl_argument {
  const char *name; /* without dashes */
  enum sl_argument_kind kind;
  const char *path; /* of the configuration */
  /* the key's value, as JSON, if the argument is absent: Megatron-LM's default; NULL: the argument is required, or our
   * default applies */
  const char *absent;
};

/* Ends with a NULL name. Sources: megatron/training/arguments.py of core_r0.12. */
extern const struct sl_argument sl_megatron_arguments[];
/* Arguments that change neither memory nor traffic nor time as modelled, NULL-terminated; megatron_refused.h has those
 * that do but are not modelled. */
extern const char *const sl_megatron_beside[];
/* Arguments that describe the model, which are useless if its vocabulary is not given. */
extern const char *const sl_megatron_of_model[];
