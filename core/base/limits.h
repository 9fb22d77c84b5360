/* The largest values that a request may have, each in one place. A number beyond its limit is refused, with its place,
 * its value and the limit, before anything is computed from it. No limit is near what anybody trains. Together they
 * keep every product of sizes computed later within 63 bits, as the assertions below prove, so code after the plan uses
 * plain multiplication. Products of fields that the assertions do not cover are formed with core/base/checked.h
 * (tests/limits enforces this).
 *
 *   a flag, a key of a model or of the config     its row in cli/options.c, core/model, core/config/fields.c
 *   a micro-batch and a step                      core/plan/bounds.c
 *   a buffer                                      sl_build_buffer
 *   all buffers of a rank                         core/job/job.c */
#pragma once

#include <stdint.h>

/* The plan. */
#define SL_MAX_WORLD (INT64_C(1) << 20)         /* ranks */
#define SL_MAX_DEGREE (INT64_C(1) << 16)        /* ranks along one axis: tp, pp, cp, a shard group */
#define SL_MAX_MICRO_BATCHES (INT64_C(1) << 20) /* per step and rank */
#define SL_MAX_TOKENS INT64_C(536870911)        /* per micro-batch (mlp: samples): a quarter of what an int can count */
#define SL_MAX_BATCH (INT64_C(1) << 32)         /* sequences per step, over all ranks */
#define SL_MAX_ACTIONS (INT64_C(1) << 22)       /* of a schedule: stages x micro-batches */
#define SL_MAX_OPS (INT64_C(1) << 24)           /* of a step, on a rank */
#define SL_MAX_OPS_ALL (INT64_C(1) << 25)       /* of a predicted step, over the pipeline's ranks */
#define SL_MAX_OPS_APART (INT64_C(1) << 23)     /* of one that is checked or run: repetitions are stored */
#define SL_MAX_GATHERS INT64_C(1200000)         /* by allgather_bucket_size, over the pipeline's ranks */
#define SL_MAX_SLOTS (INT64_C(1) << 19)         /* of a rank: buffers, each for every micro-batch in flight */
#define SL_MAX_STEPS INT64_C(100000000)         /* of a run, which keeps results of each */
#define SL_MAX_STEPS_AHEAD INT64_C(1000000)     /* of a prediction, whose record lists each */
#define SL_MAX_STEPS_TRACED INT64_C(10000)      /* of a prediction, in a trace */
#define SL_MAX_OPS_TRACED (INT64_C(1) << 21)    /* of a prediction, in a trace, over steps and ranks */
#define SL_MAX_SAMPLES (INT64_C(1) << 40)       /* of random:N */
#define SL_MAX_THREADS (INT64_C(1) << 12)       /* per rank, by flag */
#define SL_MAX_FP8_MARGIN 100                   /* as a power of two */
#define SL_MAX_FP8_HISTORY (INT64_C(1) << 20)   /* steps whose largest magnitudes make a scale */

/* Ranks handled one by one, without one standing for identical ones: simulated (--no-fold, --jitter) or listed
 * (--per-rank, a plan as JSON). */
#define SL_MAX_RANKS_APART (INT64_C(1) << 16)

/* Where no two ranks of a shard group run the same program (preset zero-redundancy-optimizer): programs x tensors. */
#define SL_MAX_OWNED (INT64_C(1) << 19)

/* Of a prediction of checkpoints: ranks x tensors. */
#define SL_MAX_SHARES (INT64_C(1) << 28)

/* A text that is read into memory as a whole: JSON, TOML, YAML, CSV, a script, a list of hosts. */
#define SL_MAX_TEXT (INT64_C(1) << 28)
#define SL_MAX_CELLS (INT64_C(1) << 20) /* of a picture of a schedule */
#define SL_MAX_GRID (INT64_C(1) << 24)  /* ranks x ticks of a schedule as text */

/* The model. */
#define SL_MAX_LAYERS (INT64_C(1) << 12)
#define SL_MAX_WIDTH (INT64_C(1) << 20) /* of the residual stream; heads; heads x head size */
#define SL_MAX_INNER (INT64_C(1) << 22) /* of an MLP block, or of any layer of the mlp family */
#define SL_MAX_ROWS (INT64_C(1) << 26)  /* of the vocabulary, of the positions, and therefore tokens of a sequence */

/* Memory. */
#define SL_MAX_ELEMENTS (INT64_C(1) << 57) /* of a buffer */
#define SL_MAX_BYTES (INT64_C(1) << 60)    /* of a rank's buffers, 1 EiB */

/* ---- what follows from them ---- */

#define SL_WIDEST_ELEMENT INT64_C(8) /* bytes, of fp64 */

/* The vocabulary of a member of the tp group, padding included. */
#define SL_MAX_LOCAL_ROWS (SL_MAX_ROWS + SL_MAX_DEGREE)

_Static_assert(SL_MAX_ELEMENTS <= SL_MAX_BYTES / SL_WIDEST_ELEMENT, "a buffer's bytes");
_Static_assert(SL_MAX_BYTES <= INT64_MAX / 4, "sums of a rank's bytes, and twice that on a wire");
/* Activations: rows of a layer, rows of q, k and v together, of gate and up together, logits. */
_Static_assert(SL_MAX_TOKENS <= SL_MAX_ELEMENTS / (3 * SL_MAX_WIDTH), "rows of q, k and v");
_Static_assert(SL_MAX_TOKENS <= SL_MAX_ELEMENTS / (2 * SL_MAX_INNER), "rows of an inner width");
_Static_assert(SL_MAX_TOKENS <= SL_MAX_ELEMENTS / SL_MAX_LOCAL_ROWS, "rows of logits");
_Static_assert(SL_MAX_TOKENS <= SL_MAX_ELEMENTS / (3 * SL_MAX_DEGREE), "statistics of rows by member of a tp group");
/* Parameters of a block: at most four matrices of width x width and three of width x inner. */
_Static_assert(SL_MAX_LAYERS <= SL_MAX_ELEMENTS / 2 / (SL_MAX_WIDTH * (4 * SL_MAX_WIDTH + 3 * SL_MAX_INNER)), "blocks");
_Static_assert(SL_MAX_WIDTH <= SL_MAX_ELEMENTS / 8 / SL_MAX_LOCAL_ROWS, "embedding, positions and head beside them");
_Static_assert(SL_MAX_INNER <= SL_MAX_ELEMENTS / 32 / SL_MAX_INNER, "31 linears of an mlp");
/* Ranks, and the counts of a step and a run. */
_Static_assert(SL_MAX_DEGREE <= INT64_MAX / SL_MAX_DEGREE / SL_MAX_DEGREE, "tp x pp x cp, in 64 bits");
_Static_assert(SL_MAX_WORLD <= INT32_MAX && SL_MAX_MICRO_BATCHES <= INT32_MAX, "are counted in int");
_Static_assert(SL_MAX_TOKENS <= INT32_MAX / 4, "kernels and MPI count rows of four bytes in int");
_Static_assert(SL_MAX_BATCH <= INT64_MAX / SL_MAX_ROWS, "tokens of a step");
_Static_assert(SL_MAX_BATCH <= INT64_MAX / SL_MAX_STEPS, "sequences of a run");
_Static_assert(SL_MAX_SAMPLES <= INT64_MAX / SL_MAX_INNER, "numbers of all random samples");
