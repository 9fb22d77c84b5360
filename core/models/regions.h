/* The communication between the regions of tensor and sequence parallelism. */
#pragma once

#include "core/models/transformer.h"

/* Gather: S rows become R (all-gather; without sequence parallelism the operand itself). Reduce: partial sums of R rows
 * in a temporary become S rows of the total (a reduce-scatter into a buffer that is or is not kept for the backward, or
 * an all-reduce in place; without tensor parallelism the operand itself). */
enum sl_status sl_regions_gather(struct sl_transformer *g, int layer, enum sl_half half, struct sl_operand x,
                                 struct sl_operand *out);
enum sl_status sl_regions_reduce(struct sl_transformer *g, int layer, struct sl_operand partial, bool kept,
                                 struct sl_operand *out);
/* Gathers into `whole`, in its type. */
enum sl_status sl_regions_gather_into(struct sl_transformer *g, int layer, enum sl_half half, struct sl_operand x,
                                      struct sl_operand whole);
enum sl_dtype sl_regions_gathered_dtype(const struct sl_transformer *g, int layer);
/* A collective of `count` elements of activations over the tp group. */
struct sl_op sl_regions_call(const struct sl_transformer *g, enum sl_op_kind kind, int layer, int64_t count);

/* ---- transfers in pieces ---- */

/* Is a piece one or more whole members' rows, as in tp_comm_overlap? */
bool sl_regions_by_member(const struct sl_transformer *g, int layer);
/* Into how many pieces a transfer is divided, and a gather whose rows that half of a backward reads. */
int sl_regions_pieces(const struct sl_transformer *g, int layer);
int sl_regions_gather_pieces(const struct sl_transformer *g, int layer, enum sl_half half);
/* `g` for the product of piece `i`. */
struct sl_transformer sl_regions_part(const struct sl_transformer *g, int layer, int i, int pieces);
/* Piece `i` of an operand. */
struct sl_operand sl_regions_piece(struct sl_operand o, int i, int pieces);
/* The call that transfers piece `i` of the rows that `whole` transfers. */
struct sl_op sl_regions_call_of_piece(const struct sl_transformer *g, int layer, struct sl_op whole, int i, int pieces);
/* This member's side of that call: a piece, or all of its rows, of which a range is requested. */
struct sl_operand sl_regions_own_side(const struct sl_transformer *g, int layer, struct sl_operand own, int i,
                                      int pieces);
