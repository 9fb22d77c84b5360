/* The executor: one loop that drives a backend through a table of functions.
 *
 * The simulator, the host backend and the CUDA backend each export one `const struct sl_exec_ops`. The loop in
 * core/run/executor.c walks each local rank's program, issues ops in program order and collects completions. It is the
 * same for virtual and real time, so whatever can be lowered can be both predicted and measured. Read
 * core/program/program.h first. */
#pragma once

#include "core/base/status.h"
#include "core/io/data_text.h"
#include "core/program/program.h"

#include <stdbool.h>
#include <stdint.h>

/* A rank whose compute takes `factor` times as long. */
struct sl_straggler {
  int rank;
  double factor;
};

/* What a simulator assumes beyond the costs of its cluster; all zero: nothing. */
struct sl_exec_assumptions {
  double jitter;                         /* relative standard deviation of the duration of every compute op */
  int64_t seed;                          /* of the jitter */
  const struct sl_straggler *stragglers; /* (straggler_count), borrowed while the simulator is open */
  int straggler_count;
  bool nccl_choice; /* collectives use the algorithm and protocol that NCCL would choose, not always its ring */
  bool share_links; /* concurrent transfers share the links of a device */
};

/* Initial weights, by logical tensor. `read` is NULL if there are none. */
struct sl_weight_source {
  /* Reads elements first .. first+count of `tensor`. Called from one thread at a time. */
  enum sl_status (*read)(void *context, const char *tensor, int64_t first, int64_t count, float *out);
  void *context;
};

/* What one instance of a backend shall run. */
struct sl_exec_options {
  int threads;                     /* host: OpenMP threads of this rank; 0 = the backend's choice */
  struct sl_data_text text;        /* how a text file is tokenised */
  const char *data;                /* token file, or "random:N" samples for an mlp; NULL for the simulator */
  const char *val_data;            /* data of evaluations; NULL: the part of `data` that val_split says */
  double val_split;                /* the share of `data`, at its end, that is held out for validation; 0: none */
  const char *split;               /* shares of `data`, as core/io/split.h has them; NULL: none */
  const char *init;                /* safetensors with initial weights, NULL = seeded */
  struct sl_weight_source weights; /* initial weights from a caller instead; zeroed: none */
  const char *save;                /* safetensors to write, NULL = none */
  const char *save_grads;          /* safetensors of gradients after the last step, before the update; NULL = none */
  /* check what every op has written; the run ends at the first number that is not finite */
  bool detect_anomaly;
  bool poison;              /* host: fill freed ranges with NaN to detect use after free */
  bool fold;                /* simulator: of ranks that do the same, simulate only one */
  int fail_rank, fail_step; /* fault injection for tests: this rank exits at this step; -1 = none */
  bool alone; /* cuda: this process is rank `alone_rank` of the plan, and its communication is looped back */
  int alone_rank;
  /* first step of this run, counted from the training's start; dropout is keyed by the step */
  int64_t first_step;
  int64_t first_sample;              /* first sample of that step, in the order of the data */
  int64_t timed_from;                /* cuda: ops are timed individually from this step on */
  struct sl_exec_assumptions assume; /* simulator */
  int64_t runs; /* simulator: step_error is that of the median of so many runs at different times; 0: of one run */
  /* cuda: buffers are initialised with random normal numbers, on which products run slower than on zeros; for a job
   * whose buffers overlap nowhere, as those of a model do */
  bool noise;
};

/* An op as it is issued: all pointers point into the job, nothing is owned. */
struct sl_issued {
  const struct sl_class *rank_class;
  const struct sl_program *program;
  const struct sl_op *op;
  const struct sl_instance *instance;
  const struct sl_wait *waits;
  uint32_t wait_count;
  uint32_t lane_index; /* index of this op in its lane, within this pass over the program */
  uint32_t index;      /* index in program->issues */
};

struct sl_completion {
  int local;             /* which local rank */
  uint32_t index;        /* index in program->issues */
  double start_s, end_s; /* since open: when the op began to run (its waits were complete) and when it was complete */
};

struct sl_traffic {
  enum sl_group group; /* SL_GROUP_NONE: a send or receive */
  enum sl_op_kind op;
  enum sl_dtype dtype;
  enum sl_payload payload;
  /* bytes: as nccl-tests defines it; both summed over calls, per step of that program */
  int64_t calls, bytes, wire_bytes;
  double time_s;                /* from start to end, summed; 0 if unknown */
  char algorithms[128];         /* which NCCL would use, if a prediction was asked to choose; else "" */
  enum sl_lane link;            /* a copy between memories: its link; else 0 */
  enum sl_program_kind program; /* the calls are those of one step of this program */
};

/* What a backend knows about one rank after the run. Calls are counted where they are made or charged, not read from
 * the program. */
struct sl_exec_report {
  struct sl_traffic *traffic; /* owned by the caller: free() */
  int traffic_count;
  uint64_t call_hash; /* FNV-1a over (group, op, bytes) of every call of the last step, in order */
  int64_t arena_bytes[SL_SPACE_COUNT];
  int64_t process_bytes; /* anonymous and shared memory beyond what the process had before the arena; 0 = unknown */
  int64_t context_bytes; /* memory beside the arenas: libraries, MPI, CUDA context, a framework's reserve */
  /* prediction: the part of context_bytes that no allocator of a framework counts: context, communicators */
  int64_t driver_bytes;
  const char *launches; /* how the steps' kernels were launched, in words; NULL: unknown. Valid until close() */
  bool functional;      /* ranks share hardware that each should have alone: times are not comparable */
  double step_error;    /* prediction: standard deviation of ln(step time); 0: unknown */
};

/* That of a profile that nothing was fitted to: of the 1,117 published training runs before profiles were fitted to
 * them, the mean error, 24.5 %, times sqrt(pi / 2). */
#define SL_STEP_ERROR_UNKNOWN 0.31

/* The first op of a program, on one rank, that wrote a number which is not finite. */
struct sl_anomaly {
  bool found;
  double at_s;    /* since open: when the op was complete */
  char what[384]; /* op, tensor, layer, action, operand and element */
};

/* The devices of this machine, assumed to be all of one kind. */
struct sl_exec_devices {
  int count;
  char name[64];
  int64_t memory_bytes, cache_bytes;
  char software[160]; /* versions of the driver and of the libraries */
};

/* Called for every completion, in order of completion unless sl_run.forget is set; for traces and breakdowns. */
typedef void (*sl_observe_fn)(void *context, int local, int64_t step, const struct sl_program *program,
                              const struct sl_completion *done);
/* `count` ops of one lane that are consecutive in the program, are stored one behind another and ran without a gap:
 * issues[i] from times[i] to times[i + 1]. */
struct sl_stretch {
  const struct sl_issue *issues;
  const double *times;
  uint32_t count;
};
/* Called for many completions of a rank at once, those of every lane in order; all is read before it returns. */
typedef void (*sl_observe_many_fn)(void *context, int local, int64_t step, const struct sl_program *program,
                                   const struct sl_stretch *stretches, uint32_t count);

struct sl_run;

struct sl_exec_ops {
  const char *name;
  bool measures; /* true: times are real, and losses exist */
  /* (optional) Can this machine run the backend, and on which devices? Cheap, and called before any process is started;
   * out may be NULL. SL_ERR_ABSENT says why not. */
  enum sl_status (*probe)(struct sl_exec_devices *out);
  /* Allocates arenas, communicators and handles for `job`; whatever can fail early fails here. *local_ranks is the
   * number of ranks that this process drives, *first_local the global rank of each (owned by the state). */
  enum sl_status (*open)(void **state, const struct sl_job *job, const struct sl_exec_options *options,
                         const int **local_ranks, int *local_count);
  /* Starts program `kind` on local rank `local`: lane counts restart from 0, and `step` keys data and randomness.
   * Called only after every op of the rank's previous program is complete. For EVAL, `step` counts the global batches
   * of the evaluation. */
  enum sl_status (*begin)(void *state, int local, enum sl_program_kind kind, int64_t step);
  /* (optional) Runs program `kind`, which all local ranks have begun, to its end at once, and reports its completions
   * to the observer of `run`, rank by rank and not ordered by time. SL_AGAIN: the program must be issued op by op
   * instead, after another begin; what was observed of it is void. */
  enum sl_status (*play)(void *state, enum sl_program_kind kind, int64_t step, const struct sl_run *run);
  /* Issues one op; it runs after its waits and its predecessor on the lane. Never blocks. SL_AGAIN: the queue is
   * full. */
  enum sl_status (*issue)(void *state, int local, const struct sl_issued *op);
  /* Waits for, or jumps to, the next completions and writes up to `max` of them; may block. SL_DONE if nothing is in
   * flight. */
  enum sl_status (*advance)(void *state, struct sl_completion *out, int max, int *count);
  double (*now)(void *state); /* seconds since open */
  /* (optional) Copies operand data back: `bytes` at `offset` of `buffer`. NULL in a backend without data. */
  enum sl_status (*read)(void *state, int local, int32_t buffer, int64_t offset, int64_t bytes, void *dst);
  /* (optional) The other direction, between two programs. */
  enum sl_status (*write)(void *state, int local, int32_t buffer, int64_t offset, int64_t bytes, const void *src);
  /* (optional) With options.detect_anomaly: what was found in the program that has just ended. */
  enum sl_status (*anomaly)(const void *state, struct sl_anomaly *out);
  /* (optional) The local rank that stands for `rank` of the world. NULL: every rank is simulated itself. */
  int (*local_of)(const void *state, int rank);
  enum sl_status (*report)(void *state, int local, struct sl_exec_report *out);
  /* (optional) All processes of the job exchange `bytes` each; `all` receives them in rank order. NULL: one process. */
  enum sl_status (*exchange)(void *state, const void *mine, size_t bytes, void *all);
  /* (optional) Collective: SL_OK if all processes pass SL_OK. Otherwise the job ends with the message of the first that
   * did not, and only a job of one process returns. */
  enum sl_status (*agree)(void *state, enum sl_status mine);
  void (*close)(void *state);
};

/* Modules export this symbol: `const struct sl_exec_ops *sl_exec_module(void)`. */
typedef const struct sl_exec_ops *(*sl_exec_module_fn)(void);
/* Loads module `name` ("host", "cuda") from the directories next to the executable's lib/. Errors: SL_ERR_ABSENT,
 * saying what is missing; SL_ERR_MEMORY: the libraries do not fit in the address space limit. */
enum sl_status sl_exec_load(const char *name, const struct sl_exec_ops **out);
/* Whether the libraries of a module that is not loaded yet have room; without, OpenBLAS never comes back from being
 * loaded. Errors: SL_ERR_MEMORY. */
enum sl_status sl_exec_check_room(const char *name);

/* One step, seen from outside. */
struct sl_step_result {
  enum sl_program_kind program; /* SL_PROGRAM_STEP or SL_PROGRAM_COMPRESSED */
  double start_s, end_s;        /* slowest local rank */
  bool has_loss;
  double loss, grad_norm, lr, loss_scale;
  bool skipped;
};

/* An evaluation after a step: the mean loss of its global batches. */
struct sl_eval_result {
  int64_t step; /* steps taken before it since the training's start */
  bool has_loss;
  double loss;
  double time_s; /* of the slowest local rank; predicted: of eval_iters batches that all take as long as the first */
};

struct sl_run;

/* Callbacks between two programs, when no op is in flight. All are optional. */
struct sl_run_hooks {
  void *context;
  enum sl_status (*opened)(void *context, const struct sl_run *run);  /* the backend is open, nothing has run */
  enum sl_status (*started)(void *context, const struct sl_run *run); /* states have their initial values */
  /* `taken` steps have been taken since the training's start; `last`: this run takes no more. */
  enum sl_status (*stepped)(void *context, const struct sl_run *run, int64_t taken, bool last);
};

struct sl_run {
  const struct sl_exec_ops *exec;
  const struct sl_job *job;
  struct sl_exec_options options;
  int64_t steps;                    /* of this run; the first one is options.first_step */
  const struct sl_run_hooks *hooks; /* (optional) */
  sl_observe_fn observe;            /* (optional) */
  sl_observe_many_fn observe_many;  /* (optional) may be called for ops instead of `observe` ... */
  int observe_threads;              /* ... by so many threads at once, each for ranks of its own; 0: by one */
  void *observe_context;
  /* (optional) Discards what was observed of this program so far: it is run once more. An observer that has this
   * accepts completions in any order, so that a backend may run a program at once. */
  void (*forget)(void *observe_context);
  void (*progress)(void *context, int64_t step, const struct sl_step_result *result); /* (optional) after each step */
  /* (optional) after each evaluation, which follows the step's progress */
  void (*evaluated)(void *context, const struct sl_eval_result *result);
  void *progress_context; /* of both callbacks */
  int64_t eval_iters;     /* global batches of an evaluation; 0: as the config says */
  bool never_evaluates;   /* a prediction of a run that ends before its first evaluation */
  /* results */
  struct sl_step_result *results; /* steps of them, owned */
  struct sl_eval_result *evals;   /* eval_count of them, owned */
  int64_t eval_count;
  double init_s;
  struct sl_exec_report *reports; /* one per local rank, owned */
  const int *local_ranks;         /* owned by the backend's state, valid until sl_run_close */
  int local_count;
  void *state;
};
/* Opens the backend, runs init, `steps` steps and, if options.save is set, save. The backend stays open for read() and
 * exchange() until sl_run_close. */
enum sl_status sl_run_execute(struct sl_run *run);
void sl_run_close(struct sl_run *run);
/* Collective, as agree() of the backend, where it has that. */
enum sl_status sl_run_agree(const struct sl_run *run, enum sl_status mine);
