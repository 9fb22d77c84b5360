/* Command-line options. One table (options_table.c) gives the type, default, range and help of every option, the
 * commands that take it, and the keys of the config that it overrides. Parsing, `--help`, overriding, and the list of
 * options in the run record all use that table. */
#pragma once

#include "core/base/status.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct sl_recovered;

/* The commands as bits; an option has a mask of the commands that take it. */
enum sl_command_bit {
  SL_CMD_PREDICT = 1,
  SL_CMD_MEASURE = 2,
  SL_CMD_COMPARE = 4,
  SL_CMD_VALIDATE = 8,
  SL_CMD_SHOW = 16,
  SL_CMD_CHECK = 32,
  SL_CMD_BACKENDS = 64,
  SL_CMD_CALIBRATE = 128,
  SL_CMD_BENCH = 256,
  SL_CMD_CHECKPOINT = 512,
  SL_CMD_EXPORT = 1024,
  SL_CMD_TOKENIZE = 2048
};

enum { SL_MAX_OPERANDS = 12, SL_MAX_OPTIONS = 128 };

struct sl_options {
  const char *model, *config, *cluster;
  const char *from_megatron, *from_torchtitan, *from_accelerate; /* instead of config and model: cli/import.h */
  const char *imported;   /* the file or flag of which `config` was made; NULL: config is the user's own */
  int64_t ranks_per_node; /* not an option: from the imported settings or --hostfile; 0: as many as the cluster's
                           * devices */
  const char *to;         /* export-config */
  int64_t world, seq;
  int64_t tp, pp, cp, virtual_stages, micro_batch, grad_accum, train_batch, zero_stage,
      seed;                                            /* 0 or unset: as in the config */
  int64_t recompute_every, shard_size, vocab_multiple; /* unset: as in the config */
  const char *schedule, *stages, *recompute, *recompute_modules, *attention, *cp_comm, *tp_vocab, *kernels,
      *fuse_epilogues, *preset;
  const char *rank_order;
  bool share_links;
  const char *nccl_algo;
  const char *offload_optimizer, *offload_param, *dtype; /* unset: as in the config */
  bool cpu_checkpointing;
  bool require_fit, max_micro_batch, min_world, max_seq; /* predict; see cli/search.h */
  int64_t device_memory; /* device memory in bytes that a rank's arena may take; 0: no limit */
  double jitter;         /* predict: assumptions; see cli/assume.h */
  const char *stragglers;
  bool sequence_parallel, tp_comm_overlap, overlap_param_gather, tf32;
  bool strict;
  const char *svg; /* show schedule */
  bool csv, lowered;
  int64_t steps, epochs, rank, threads, runs; /* epochs 0: the run is given in steps */
  int64_t eval_batches;   /* of an evaluation, as the data allows; 0: not known, so as in the config */
  int64_t measured_steps; /* of a prediction by validate: steps of the measurement it is compared with; 0: there is
                           * none */
  int64_t eval_interval, eval_iters; /* unset: as in the config */
  double val_split;
  const char *split;                              /* core/io/split.h */
  const char *tokenizer, *text_field, *eod_token; /* core/io/data_text.h */
  const char *val_data;                           /* NULL: the part of `data` that val_split gives */
  const char *backend, *data, *init, *save, *save_grads, *json, *trace, *program;
  const char *checkpoint, *resume;      /* measure; see cli/training.h */
  int64_t save_every, keep;             /* save_every 0: at the end; keep 0: all */
  int64_t max_restarts;                 /* 0: no restarts; cli/recovery.h */
  const struct sl_recovered *recovered; /* in a rank of a job with restarts: what its parent passed on; otherwise
                                         * NULL */
  bool poison, allow_nonfinite, detect_anomaly, no_fold, per_rank, quiet;
  int64_t as_rank, of_world; /* measure: run one rank of a plan alone */
  double time_tolerance;
  /* where ranks run; cli/nodes.h */
  const char *hostfile, *hosts, *include, *exclude, *launcher, *master_addr;
  int64_t num_nodes, num_gpus, master_port, node_rank, ssh_port; /* counts and --ssh-port: 0 if not given */
  bool no_ssh, dry_run;
  const char *table;        /* predict: a CSV of configurations */
  const char *sweep;        /* predict: flag=values, with further ones as operands; cli/sweep.h */
  int64_t jobs;             /* unset: one per core */
  const char *out, *points; /* calibrate; predict --table and checkpoint export also use `out` */
  const char *nvme_path;
  int64_t rounds; /* unset: the backend's default */
  bool quick, add, single;
  const char *operand[SL_MAX_OPERANDS];
  int operand_count;
  bool given[SL_MAX_OPTIONS]; /* whether option i of the table was on the command line */
  int argc;                   /* the command line, for the record; borrowed */
  char **argv;
};

/* Name, operands and function of a command. */
struct sl_command {
  const char *name;
  enum sl_command_bit bit;
  const char *operands; /* for the usage line, "" if there are none */
  int min_operands, max_operands;
  const char *summary; /* one line */
  const char *help;    /* a few more lines */
  const char *example;
  enum sl_status (*run)(const struct sl_options *options);
};

/* Whether a word is one of these flags, "--name" or, with a value, "--name value" or "--name=value"; both lists end with
 * NULL. *apart: its value is the next word. Underscores are read as hyphens here and in sl_options_parse. */
bool sl_options_among(const char *word, const char *const *valued, const char *const *bare, bool *apart);
/* Parses argv[0..argc) (after the command's name) for `command`. A flag without a value may have "=on" or "=off", which
 * switches off what the configuration has on. *help is set if --help is among them. Errors:
 * SL_ERR_INPUT naming the flag, its value and what was expected. */
enum sl_status sl_options_parse(struct sl_options *options, const struct sl_command *command, int argc, char **argv,
                                bool *help);
/* Whether the option `name` was on the command line. */
bool sl_options_given(const struct sl_options *options, const char *name);
/* The name of an option that was on the command line and is not in `names` (ended by NULL); NULL if there is none. */
const char *sl_options_beside(const struct sl_options *options, const char *const *names);
/* Acts as if "--name text" followed the other flags of `command`; `text` is borrowed, and "" for a flag without a
 * value. Errors: SL_ERR_INPUT. */
enum sl_status sl_options_set(struct sl_options *options, enum sl_command_bit command, const char *name,
                              const char *text);
/* The same, with "on" or "off" for a flag without a value. */
enum sl_status sl_options_set_word(struct sl_options *options, enum sl_command_bit command, const char *name,
                                   const char *text);
/* Whether ranks run on GPUs: they are started without MPI, and find out themselves whether they share a device. */
bool sl_options_on_gpu(const struct sl_options *options);
/* Whether a sweep may vary the flag `name` (cli/sweep.h). */
bool sl_options_sweeps(const char *name);
/* What option `i` of the table, whose name becomes *name, overrides in the config. *keys is a list such as
 * "shardlab.pp|pipeline.stages": the first key is to be set to *value (new reference), and the others, DeepSpeed's own
 * names for the same setting, are to be removed. *value is NULL if the option was not on the command line or overrides
 * nothing. Returns false past the table's end. */
bool sl_options_override(const struct sl_options *options, int i, const char **name, const char **keys, json_t **value);
/* What the table says about option `i` to users of `command`; .name is NULL if the command does not take it. False past
 * the table's end. */
struct sl_option_text {
  const char *name, *value, *initial,
      *help; /* value: what follows the flag, or the words of a CHOICE, separated by |; initial: may be NULL */
  bool flag, choice;
};
bool sl_options_text(int i, enum sl_command_bit command, struct sl_option_text *out);
/* The options that `command` takes, with their values after defaults; unset ones are omitted. New reference. */
json_t *sl_options_dump(const struct sl_options *options, enum sl_command_bit command);
