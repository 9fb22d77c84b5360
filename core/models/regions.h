/* Communication between the regions of tensor and sequence parallelism. */
#pragma once

#include "core/models/transformer.h"

/* Gather: S rows become R (all_gather; without sequence parallelism the operand itself). Reduce: partial sums of R rows in a
 * temporary become S rows of the whole sum (reduce_scatter, into a buffer that is kept for the backward or is not, or
 * all_reduce in place; without tensor parallelism the operand itself). */
enum sl_status sl_regions_gather(struct sl_transformer *g, int layer, enum sl_half half, struct sl_operand x,
                                 struct sl_operand *out);
enum sl_status sl_regions_reduce(struct sl_transformer *g, int layer, struct sl_operand partial, bool kept,
                                 struct sl_operand *out);
/* Gather into `whole`, of this type. */
enum sl_status sl_regions_gather_into(struct sl_transformer *g, int layer, enum sl_half half, struct sl_operand x,
                                      struct sl_operand whole);
enum sl_dtype sl_regions_gathered_dtype(const struct sl_transformer *g, int layer);
/* A collective of `count` elements of activations over the tp group. */
struct sl_op sl_regions_call(const struct sl_transformer *g, enum sl_op_kind kind, int layer, int64_t count);

/* ---- transfers in pieces ---- */

/* Are pieces whole members' rows, as tp_comm_overlap has them? */
bool sl_regions_by_member(const struct sl_transformer *g, int layer);
/* In how many a transfer goes; in how many a gather whose rows that half of a backward reads. */
int sl_regions_pieces(const struct sl_transformer *g, int layer);
int sl_regions_gather_pieces(const struct sl_transformer *g, int layer, enum sl_half half);
/* Piece `i` of an operand. */
struct sl_operand sl_regions_piece(struct sl_operand o, int i, int pieces);
/* What moves piece `i` of the rows that `whole` moves. */
struct sl_op sl_regions_call_of_piece(const struct sl_transformer *g, int layer, struct sl_op whole, int i, int pieces);
/* This member's side of it: a piece, or all of its rows, of which a range is asked for. */
struct sl_operand sl_regions_own_side(const struct sl_transformer *g, int layer, struct sl_operand own, int i,
                                      int pieces);
