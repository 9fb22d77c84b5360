/* Work: the quantities that determine what an op costs, without the program that it is part of.
 *
 * A work is computed once from an op and its operands. Every formula of cost/ takes one, the simulator has a table of
 * them, and measured points and the rows of a fit are works. terms[t] is the quantity of term t, for which a measured
 * cost has a price (op/measured.h):
 *   launch     1
 *   flops      sl_op_flops; of a matrix product without its epilogue
 *   unaligned  on a GPU, in place of flops: those of operands whose rows tensor cores cannot load at once, which run at
 *              a rate of their own; 0 at first, see cost/measured.h
 *   idle       on a GPU, what its multiprocessors could do in the time in which tiles leave them idle; likewise
 *   scores     attention: score pairs, B H T (T + 1) / 2
 *   cached     bytes that may be in the rank's share of the cache; 0 at first, see sl_work_in_cache
 *   bytes      all other bytes
 *   a, b, c    matrix product: bytes of each operand once (packing, write-back); it has neither cached nor bytes
 *   pieces     collective: one per part, since messages that are not full blocks cost more than their bytes suggest;
 *              pass: tensors of a list, which its host processes one after the other (cost/compute.h) */
#pragma once

#include "core/base/dtype.h"
#include "core/op/op.h"

#include <stdbool.h>
#include <stdint.h>

/*        name      key in the file    SI per unit; rate: seconds = 1 / (number x SI) */
#define SL_TERM_MAP(X)                                                                                                 \
  X(LAUNCH, "launch_us", 1e-6, false)                                                                                  \
  X(FLOPS, "GFLOPS", 1e9, true)                                                                                        \
  X(UNALIGNED, "unaligned_GFLOPS", 1e9, true)                                                                          \
  X(IDLE, "idle_GFLOPS", 1e9, true)                                                                                    \
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
bool sl_term_is_rate(enum sl_term term);
/* The number in the file for `seconds` per unit (above 0), and back. */
double sl_term_number(enum sl_term term, double seconds);
double sl_term_seconds(enum sl_term term, double number);

/* Ops of one kind that have different costs are variants; where a variant was not measured, its `base` is used.
 * Products with an epilogue occur in the forms that linear layers have: forward, gradient of the input, gradient of the
 * weights. */
/*  name           text            base */
#define SL_VARIANT_MAP(X)                                                                                              \
  X(PLAIN, "", PLAIN)            /* also: matrix product of a and b as stored */                                       \
  X(TRANS_A, "trans_a", PLAIN)   /* matrix product with a transposed ... */                                            \
  X(TRANS_B, "trans_b", PLAIN)   /* ... b ... */                                                                       \
  X(TRANS_AB, "trans_ab", PLAIN) /* ... or both */                                                                     \
  X(DROPOUT, "dropout", PLAIN)   /* with a probability above 0 */                                                      \
  X(ADD, "accumulate", PLAIN)    /* reduce_scatter that adds to the shard */                                           \
  X(GELU, "gelu", PLAIN)         /* matrix product with an epilogue, and maybe transposed */                           \
  X(GELU_B, "trans_b+gelu", TRANS_B)                                                                                   \
  X(DGELU, "dgelu", PLAIN)                                                                                             \
  X(DGELU_B, "trans_b+dgelu", TRANS_B)                                                                                 \
  X(BGRAD_A, "trans_a+bgrad", TRANS_A)                                                                                 \
  X(NVME_READ, "nvme_read", PLAIN)   /* copy from NVMe ... */                                                          \
  X(NVME_WRITE, "nvme_write", PLAIN) /* ... and to it: a profile has rates for these, not entries */                   \
  X(HOST_LINK, "host_link", PLAIN)   /* copy between a GPU and host memory, and ... */                                 \
  X(ON_HOST, "on_host", PLAIN)       /* ... CPU work beside a GPU: rates as well, see sl_variant_beside_gpu */

enum sl_variant {
#define X(name, text, base) SL_VARIANT_##name,
  SL_VARIANT_MAP(X)
#undef X
      SL_VARIANT_COUNT
};
const char *sl_variant_name(enum sl_variant variant);
enum sl_variant sl_variant_base(enum sl_variant variant);
/* The variant under which a measured op of this lane is known on a machine that computes on a GPU; PLAIN: the op's
 * own. */
enum sl_variant sl_variant_beside_gpu(enum sl_lane lane);
/* Does a profile describe this variant by rates instead of an entry? */
static inline bool sl_variant_is_rated(enum sl_variant variant) {
  return variant >= SL_VARIANT_NVME_READ;
}

struct sl_work {
  enum sl_op_kind kind;
  enum sl_variant variant;
  enum sl_dtype dtype;
  enum sl_lane lane;       /* who does it: the device, its link to the host, or the host */
  unsigned flags;          /* of the op */
  int64_t dim[SL_OP_DIMS]; /* the op's shape; see SL_OP_MAP */
  int members;             /* ranks of a communication op, 2 for a send; 0: it does not communicate */
  int parts;               /* of a collective, else 1 */
  bool uneven;             /* members have different shares, and `bytes` is that of the busiest */
  double flops;            /* sl_op_flops */
  double bytes;            /* sl_op_bytes; of a collective the most that any member sends, of a send its size */
  double size;             /* communication: sl_op_comm_bytes; copy to or from the host: its larger side; else 0 */
  double epilogue_bytes;   /* bytes that an epilogue moves in addition to the product's operands; 0: there is none */
  double terms[SL_TERM_COUNT];
};

/* Is it a product or a collective that the host launches on its way through a call it has already paid for? */
static inline bool sl_work_in_call(const struct sl_work *work) {
  const enum sl_op_class op_class = sl_op_class_of(work->kind);
  return (op_class == SL_CLASS_GEMM || op_class == SL_CLASS_COLLECTIVE) && work->flags & SL_OP_IN_CALL;
}
/* The work of `op`, done by `members` ranks if it communicates. */
struct sl_work sl_work_of(const struct sl_op *op, const struct sl_slice *slices, int members);
/* The work of an op of which only the shape (sl_op.dim) and bytes are known, such as a measured point. It lacks what
 * formulas need besides the terms (lane, members, size, epilogue). */
struct sl_work sl_work_of_shape(enum sl_op_kind kind, enum sl_variant variant, enum sl_dtype dtype,
                                const int64_t dim[SL_OP_DIMS], int parts, double bytes);
/* The same work for a rank with `cache_bytes` of cache: up to that many of its bytes move from `bytes` to `cached`. */
struct sl_work sl_work_in_cache(const struct sl_work *work, double cache_bytes);
