/* How a logical tensor is sharded over the members of a tp group: it is rows of `row` elements, and member m has
 * elements [m width, (m + 1) width) of each row. Elements beyond the end of a row are padding: they are zero, and no
 * file contains them. A tensor that is not sharded is one row of one member. The member's elements, row by row, are its
 * local tensor. The first row may be `lead` times as long as the others, and so is a member's part of it: in a weight
 * of q, k and v whose query heads are more than its key heads, a row is the heads of one of the three. Such rows have
 * no padding. */
#pragma once

#include "core/plan/plan.h"

struct sl_cut {
  int64_t row, width;
  int64_t lead; /* 1: all rows have the same length */
  int members;
};

/* A tensor of `numel` elements that is not sharded. */
static inline struct sl_cut sl_cut_none(int64_t numel) {
  return (struct sl_cut){.row = numel, .width = numel, .lead = 1, .members = 1};
}

/* Does every member of a tp group hold all of `tensor`? So it is for what no member divides, and for the embedding and
 * the head as plan->tp_vocab says. */
bool sl_cut_is_whole(const struct sl_plan *plan, const struct sl_tensor *tensor);

/* Size of dimension `dim` of `tensor` on a member of the tp group.
 *
 * A vocabulary of V is padded to a multiple of tp x m, m = plan->vocab_multiple, so that a rank has m ceil(ceil(V / tp)
 * / m) rows (Megatron-LM's rule); one that every member has whole is padded to a multiple of m. m is
 * shardlab.make_vocab_size_divisible_by if given, else 1, which pads to tp only. It is 128, Megatron-LM's default, on
 * GPUs without a framework's preset if ceil(V / tp) is no multiple of 8 (GPT-2's 50257) and tp_vocab is "parallel": rows
 * of 16-bit logits would then be unaligned, and products that read or write them could use neither vector loads nor TMA.
 *
 * Padded rows are zero and stay zero. Unlike Megatron-LM's, their logits do not take part in the softmax, so that
 * losses and gradients are those of the unpadded model. */
int64_t sl_cut_local_size(const struct sl_plan *plan, const struct sl_tensor *tensor, int dim);

struct sl_cut sl_cut_of(const struct sl_plan *plan, const struct sl_tensor *tensor);

/* The contiguous run that starts at local element `local` of `member` and ends before `end`. */
struct sl_run_of sl_cut_run(const struct sl_cut *cut, int member, int64_t local, int64_t end);
/* How many of a member's local elements [0, local) are not padding. */
int64_t sl_cut_held(const struct sl_cut *cut, int member, int64_t local);

/* Where a member keeps logical element `logical`; `count` elements from there on are contiguous in its local tensor. */
struct sl_cut_place {
  int member;
  int64_t local, count;
};
struct sl_cut_place sl_cut_find(const struct sl_cut *cut, int64_t logical);
