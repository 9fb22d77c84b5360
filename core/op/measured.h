/* Measured costs of single ops: the part of a profile that `shardlab calibrate` fits.
 *
 * An entry says what one kind of op costs when a node runs `ranks` ranks at once:
 *   seconds = sum over terms t of entry.seconds[t] x quantity[t]
 * The quantities follow from the op (sl_op_quantities), the same for the fit and for the prediction:
 *   launch     1
 *   flops      sl_op_flops; of a matrix product without its epilogue
 *   scores     attention: score pairs, B H T (T + 1) / 2
 *   cached     min(bytes, cache): what may lie in the rank's share of the cache
 *   bytes      bytes - cached
 *   a, b, c    matrix product: bytes of each operand once (packing, write-back)
 *   pieces     collective: messages that are not full blocks cost more than their bytes say: one per part
 * bytes is sl_op_bytes of a compute op, and what the busiest member puts on the wire of a communication op. */
#ifndef SL_CORE_OP_MEASURED_H
#define SL_CORE_OP_MEASURED_H

#include "core/base/dtype.h"
#include "core/base/json_get.h"
#include "core/op/op.h"

#include <stdbool.h>
#include <stdint.h>

/*        name      key in the file    SI per unit; rate: seconds = 1 / (number x SI) */
#define SL_TERM_MAP(X)                                                                                                 \
  X(LAUNCH, "launch_us", 1e-6, false)                                                                                  \
  X(FLOPS, "GFLOPS", 1e9, true)                                                                                        \
  X(SCORES, "scores_per_ns", 1e9, true)                                                                                \
  X(CACHED, "cache_GBps", 1e9, true)                                                                                   \
  X(BYTES, "GBps", 1e9, true)                                                                                          \
  X(A, "a_GBps", 1e9, true)                                                                                            \
  X(B, "b_GBps", 1e9, true)                                                                                            \
  X(C, "c_GBps", 1e9, true)                                                                                            \
  X(PIECES, "piece_us", 1e-6, false)

enum sl_term {
#define X(name, key, unit, rate) SL_TERM_##name,
  SL_TERM_MAP(X)
#undef X
      SL_TERM_COUNT
};
const char *sl_term_key(enum sl_term term);
/* The number that stands in the file for `seconds` per unit, above 0. */
double sl_term_number(enum sl_term term, double seconds);

/* Ops of one kind that do not cost alike are variants, with an entry each; where there is none, that of `base` serves. Of
 * products with an epilogue these are the forms that linear layers have, forward, for their inputs and for their weights. */
/*  name           text            base */
#define SL_VARIANT_MAP(X)                                                                                              \
  X(PLAIN, "", PLAIN)            /* also: matrix product of a and b as they stand */                                   \
  X(TRANS_A, "trans_a", PLAIN)   /* matrix product with a transposed ... */                                            \
  X(TRANS_B, "trans_b", PLAIN)   /* ... b ... */                                                                       \
  X(TRANS_AB, "trans_ab", PLAIN) /* ... or both */                                                                     \
  X(DROPOUT, "dropout", PLAIN)   /* with a probability above 0 */                                                      \
  X(ADD, "accumulate", PLAIN)    /* reduce_scatter that adds to the shard */                                           \
  X(GELU, "gelu", PLAIN)         /* matrix product with an epilogue, and maybe transposed */                           \
  X(GELU_B, "trans_b+gelu", TRANS_B)                                                                                   \
  X(DGELU, "dgelu", PLAIN)                                                                                             \
  X(DGELU_B, "trans_b+dgelu", TRANS_B)                                                                                 \
  X(BGRAD_A, "trans_a+bgrad", TRANS_A)

enum sl_variant {
#define X(name, text, base) SL_VARIANT_##name,
  SL_VARIANT_MAP(X)
#undef X
      SL_VARIANT_COUNT
};
const char *sl_variant_name(enum sl_variant variant);

struct sl_op_cost {
  int kind; /* enum sl_op_kind */
  enum sl_variant variant;
  enum sl_dtype dtype;
  int ranks;                             /* of the node, of which all run; of a communication op: its members */
  double seconds[SL_TERM_COUNT];         /* per unit of the term's quantity; 0: the term is absent */
  double relative_stderr[SL_TERM_COUNT]; /* standard error of the fit, relative */
  double correlation[SL_TERM_COUNT][SL_TERM_COUNT]; /* between the estimates of two terms; 1 on the diagonal */
  double scatter;  /* standard deviation of ln(measured / fitted) over the points: what the form does not describe */
  double holdout;  /* the same of the total that this entry's ops take in a program whose shapes the fit did not see */
  int64_t points;  /* measured, that it was fitted to; 0: not said */
  char source[64]; /* of the numbers; "": not said */
};

struct sl_op_costs {
  int count;
  size_t capacity;
  struct sl_op_cost *items; /* owned */
};

enum sl_variant sl_variant_base(enum sl_variant variant);

enum sl_variant sl_op_variant(const struct sl_op *op, const struct sl_slice *slices);
/* quantity[t] of `op`, of which `bytes` are moved (or put on the wire), for a rank with `cache_bytes` of cache. */
void sl_op_quantities(const struct sl_op *op, double bytes, double cache_bytes, double quantity[SL_TERM_COUNT]);
/* Append a copy of `cost`; pointers to entries are then stale. */
enum sl_status sl_op_costs_add(struct sl_op_costs *costs, const struct sl_op_cost *cost);
void sl_op_costs_free(struct sl_op_costs *costs);

/* The entry for an op whose node has `ranks` ranks. In this order: an entry of its type, else of the other 16-bit type,
 * else of fp32 (16-bit ops only: nothing stands in for fp32); of its variant, else its base, else plain; of the nearest number
 * of ranks (by ratio, the lower one at a tie). NULL when there is none: the formulas of sim/cost.h are left. */
const struct sl_op_cost *sl_op_cost_find(const struct sl_op_costs *costs, int kind, enum sl_variant variant,
                                         enum sl_dtype dtype, int ranks);
double sl_op_cost_seconds(const struct sl_op_cost *cost, const double quantity[SL_TERM_COUNT]);
/* Does an entry of another type describe ops of this kind as well? Those that only move bytes. */
bool sl_op_cost_moves(int kind);
/* Variance of the total that ops of one entry take, `seconds` of it through each term: the larger of
 *   (holdout or, without one, scatter)^2 T^2                    what the form misses is common to an entry's ops
 *   sum over terms t, u of T_t T_u r_tu sigma_t sigma_u         errors of the parameters, which grow off the grid */
double sl_op_cost_variance(const struct sl_op_cost *cost, const double seconds[SL_TERM_COUNT]);

/* The list "op_costs" of a cluster.json: objects {"op", "variant", "dtype", "ranks", "launch_us", "launch_us_stderr", ...,
 * "scatter", "holdout", "correlation": {"launch_us:GFLOPS": r, ...}}. Fills *costs, which holds nothing before, nor after
 * an error. Errors: SL_ERR_INPUT with the place. */
enum sl_status sl_op_costs_read(struct sl_op_costs *costs, const struct sl_json *doc, const json_t *list);
/* The keys "op", "variant" and "dtype" of an object. */
enum sl_status sl_op_cost_names(const struct sl_json_object *in, int *kind, enum sl_variant *variant,
                                enum sl_dtype *dtype);
json_t *sl_op_costs_json(const struct sl_op_costs *costs);

#endif
