/* The operands of an op as data: which ones it has, in what order, how each is used and what type it has. The rows are
 * in operands.c. Code that needs an operand asks for it by name; sl_op_check compares every op that is built with its
 * rows. */
#pragma once

#include "core/base/status.h"
#include "core/op/op.h"

/* Names of operands; the op's kind gives the precise meaning. */
#define SL_AT_MAP(X)                                                                                                   \
  X(X, "x")                                                                                                            \
  X(OUT, "out")                                                                                                        \
  X(DOUT, "dout")                                                                                                      \
  X(DX, "dx")                                                                                                          \
  X(INPUTS, "inputs")                                                                                                  \
  X(TARGETS, "targets")                                                                                                \
  X(TOKENS, "tokens")                                                                                                  \
  X(WTE, "wte")                                                                                                        \
  X(WPE, "wpe")                                                                                                        \
  X(DWTE, "dwte")                                                                                                      \
  X(DWPE, "dwpe")                                                                                                      \
  X(MASK, "mask")                                                                                                      \
  X(WEIGHT, "weight")                                                                                                  \
  X(BIAS, "bias")                                                                                                      \
  X(STATS, "stats")                                                                                                    \
  X(DWEIGHT, "dweight")                                                                                                \
  X(DBIAS, "dbias")                                                                                                    \
  X(SCRATCH, "scratch")                                                                                                \
  X(A, "a")                                                                                                            \
  X(B, "b")                                                                                                            \
  X(C, "c")                                                                                                            \
  X(AUX, "aux")                                                                                                        \
  X(QKV, "qkv")                                                                                                        \
  X(Q, "q")                                                                                                            \
  X(K, "k")                                                                                                            \
  X(V, "v")                                                                                                            \
  X(SOFTMAX, "softmax")                                                                                                \
  X(DROPPED, "dropped")                                                                                                \
  X(DQKV, "dqkv")                                                                                                      \
  X(DQ, "dq")                                                                                                          \
  X(DK, "dk")                                                                                                          \
  X(DV, "dv")                                                                                                          \
  X(GATE, "gate")                                                                                                      \
  X(UP, "up")                                                                                                          \
  X(RESIDUAL, "residual")                                                                                              \
  X(BRANCH, "branch")                                                                                                  \
  X(BRANCH_BIAS, "branch.bias")                                                                                        \
  X(DBRANCH, "dbranch")                                                                                                \
  X(LOGITS, "logits")                                                                                                  \
  X(CONTROL, "control")                                                                                                \
  X(MASTER, "master")                                                                                                  \
  X(GRADIENT, "gradient")                                                                                              \
  X(MOMENT1, "moment1")                                                                                                \
  X(MOMENT2, "moment2")                                                                                                \
  X(PARAM, "param")                                                                                                    \
  X(WHOLE, "whole")                                                                                                    \
  X(SHARD, "shard")                                                                                                    \
  X(ERROR, "error")                                                                                                    \
  X(KEPT, "kept")                                                                                                      \
  X(TRANSPOSED, "transposed")                                                                                          \
  X(SCALE, "scale")                                                                                                    \
  X(AMAX, "amax")                                                                                                      \
  X(HISTORY, "history")                                                                                                \
  X(SCALE_A, "scale_a")                                                                                                \
  X(SCALE_B, "scale_b")

enum sl_at {
  SL_AT_NONE,
#define X(name, text) SL_AT_##name,
  SL_AT_MAP(X)
#undef X
      SL_AT_COUNT
};

enum { SL_OP_OPERANDS = 16 }; /* the most that an op has, collectives excepted */

/* The name for readers. */
const char *sl_at_name(enum sl_at name);
/* Lists the names of the operands of `op` in order, given its kind and flags; of a collective, those of one part.
 * Returns their number. */
int sl_op_names(const struct sl_op *op, enum sl_at names[SL_OP_OPERANDS]);
/* The position of an operand among the op's; of a collective, in its first part. -1: the op has none of that name. */
int sl_op_at(const struct sl_op *op, enum sl_at name);
/* The same in part `part` of a collective; a send or receive has only part 0. */
int sl_op_part_at(const struct sl_op *op, enum sl_at name, int part);
/* Does this collective, send or receive have one operand per part, X? The others have two, WHOLE and SHARD. */
bool sl_op_in_place(enum sl_op_kind kind);
/* The slice of an operand, from those of the op; NULL if it has none of that name. */
const struct sl_slice *sl_op_operand(const struct sl_op *op, const struct sl_slice *slices, enum sl_at name);

/* Checks an op against its rows: the number of operands, how each is used, its type (types[i]: the type of operand i's
 * buffer), and the dimensions. Errors: SL_ERR_CHECK. */
enum sl_status sl_op_check(const struct sl_op *op, const struct sl_slice *slices, const enum sl_dtype *types);
