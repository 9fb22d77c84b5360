/* Which model families Megatron-LM's arguments describe, and by which keys of their config.json. Internal to
 * core/interop. Sources: see megatron_model.c. */
#pragma once

#include <stdint.h>

/* What arguments ask of a model. Behind TRAITS: what a family may leave open. */
enum {
  SL_MEGATRON_ROPE = 1,
  SL_MEGATRON_RMS = 2,
  SL_MEGATRON_SWIGLU = 4,
  SL_MEGATRON_NO_BIAS = 8,
  SL_MEGATRON_QKV_BIAS = 16,
  SL_MEGATRON_QK_NORM = 32,
  SL_MEGATRON_ALIBI = 64,
  SL_MEGATRON_EMBED_NORM = 128,
  SL_MEGATRON_NO_POSITIONS = 256,
  SL_MEGATRON_SQUARED_RELU = 512,
  SL_MEGATRON_ONE_P = 1024, /* norms multiply by 1 + weight */
  /* what says nothing of the computation's form */
  SL_MEGATRON_GROUPS = 2048,  /* fewer key heads than query heads */
  SL_MEGATRON_HEADS = 4096,   /* a head's width is no share of the model's */
  SL_MEGATRON_INNER = 8192,   /* the MLP's is not four times the model's */
  SL_MEGATRON_UNTIED = 16384, /* an LM head of its own */
  SL_MEGATRON_DROPOUT = 32768,  /* of the residual stream */
  SL_MEGATRON_ONE_GROUP = 65536 /* one key head for all query heads */
};

/* Traits that are a flag of Megatron-LM each, and a switch of the family "megatron". `argument` NULL ends the table. */
struct sl_megatron_flag {
  int trait;
  const char *argument, *key; /* key NULL: the family says it by another one */
};
extern const struct sl_megatron_flag sl_megatron_flags[];

/* A family's keys. NULL: it has none, and what the key would say is fixed. */
struct sl_megatron_keys {
  const char *layers, *width, *heads, *positions, *inner, *groups, *head, *epsilon, *deviation, *base, *share;
  const char *hidden[2], *attention; /* dropouts */
  double default_share;              /* of the head that is rotated */
};

/* A family: what its models have, and what they may have besides. `family` NULL ends the table. */
struct sl_megatron_form {
  int has, may;
  const char *family;
  const struct sl_megatron_keys *keys;
};
/* In the order in which they are to be tried. The last one takes everything; its keys are sl_megatron_own. */
extern const struct sl_megatron_form sl_megatron_forms[];
extern const struct sl_megatron_keys sl_megatron_own;
