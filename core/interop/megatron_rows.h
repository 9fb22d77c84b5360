/* Arguments of Megatron-LM that say what one key of ours does. Internal to core/interop. */
#pragma once

enum sl_argument_kind { SL_ARGUMENT_INT, SL_ARGUMENT_REAL, SL_ARGUMENT_FLAG };

struct sl_argument {
  const char *name; /* without dashes */
  enum sl_argument_kind kind;
  const char *path; /* of the configuration */
  const char *
      absent; /* JSON of the key where the argument is absent: Megatron-LM's default; NULL: it must be there, or ours holds */
};

/* Ends with a NULL name. Sources: megatron/training/arguments.py of core_r0.12. */
extern const struct sl_argument sl_megatron_arguments[];
/* Arguments that change neither memory nor traffic nor time as they are modelled, and those that do and are not modelled; each ends with NULL. */
extern const char *const sl_megatron_beside[], *const sl_megatron_refused[];
/* Arguments that make the model, of no use where its vocabulary is not said. */
extern const char *const sl_megatron_of_model[];
