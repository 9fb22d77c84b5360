/* Translates Megatron-LM's arguments (megatron/training/arguments.py) to a DeepSpeed configuration with a "shardlab"
 * section, and a Hugging Face config.json. megatron_write.h is the other direction. */
#pragma once

#include "core/base/status.h"

#include <jansson.h>
#include <stdbool.h>

/* The argument that becomes train_batch_size, with its dashes. */
extern const char sl_megatron_global_batch[];

/* What becomes of a script's --seed that only a shell could tell, as $RANDOM: an error, Megatron-LM's default with a
 * warning, or, where the command says another, the default without a word. */
enum sl_megatron_seed { SL_MEGATRON_SEED_NEEDED, SL_MEGATRON_SEED_IDLE, SL_MEGATRON_SEED_OVERRULED };

/* What is read: arguments or, with `is_script`, a launch script that contains them (shell.h). */
struct sl_megatron_source {
  const char *name, *text; /* name: for messages */
  bool is_script, wants_model;
  bool strict; /* every name must be one of Megatron-LM's */
  enum sl_megatron_seed seed;
  const char *start; /* of a script: "MBS=4 run.sh 7B", the command that starts it (shell.h); NULL: by its name alone */
};

struct sl_megatron_made {
  json_t *config;
  json_t *model; /* NULL: see below */
  json_t *names; /* of what the keys of both are made, for reword.h */
};

/* A script's other words are its commands', those of arguments alone must belong to them (megatron_words.h). The
 * model is NULL if it is not wanted, or if the arguments have neither --num-layers nor --vocab-size
 * (megatron_model.h). Defaults are those of Megatron-LM; with --deepspeed, those of
 * Megatron-DeepSpeed. One warning names the arguments that change nothing modelled, one those whose value a condition
 * of the script decides. Errors: SL_ERR_INPUT with the argument and, of a script, its line: an invalid value, a
 * feature that is not modelled, a misspelt name (megatron_account.h). On failure nothing is allocated. */
enum sl_status sl_megatron_read(const struct sl_megatron_source *source, struct sl_megatron_made *out);
void sl_megatron_free(struct sl_megatron_made *made);
