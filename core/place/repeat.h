/* Finds what repeats in a program: runs of periods, such as those that fill a pipeline, its steady part and those that
 * empty it. The periods of a run differ only in their micro-batches and in corresponding slots. */
#pragma once

#include "core/program/program.h"

#define SL_NO_SLOT UINT32_MAX

/* Instance i of first <= i < end - period corresponds to i + period: it has the same ops, for a micro-batch that is
 * `micro_batches` later, and where i uses slot s of the class, i + period uses slot next[s]. Slots that the run does not
 * use map to themselves. Either next is a permutation, or, in an open run, its slots form chains: the last of one maps
 * to SL_NO_SLOT, and no other slot changes. period 0: nothing repeats. */
struct sl_repeat {
  uint32_t first, end, period;
  int32_t micro_batches;
  uint32_t *next; /* per slot of the class, owned */
  uint32_t turn;  /* number of periods after which every slot maps to itself; 1: always */
  bool open;
};

/* In the order of their instances; they have none in common. */
struct sl_repeats {
  struct sl_repeat *runs;
  size_t count, capacity;
};

/* Finds the run around the middle of `program`, of class `rank_class`, an open one if there is no other, and those in
 * front of it and behind it. Errors: SL_ERR_MEMORY; free `out` after one too. */
enum sl_status sl_repeat_find(const struct sl_class *rank_class, const struct sl_program *program,
                              struct sl_repeats *out);
/* Changes the period, from instance `from` on, to one in which every slot maps to itself; 0 if there are too few of
 * them. */
void sl_repeat_whole_turns(const struct sl_class *rank_class, struct sl_repeat *repeat, uint32_t from);
/* The least common multiple of two numbers of periods; results above 2^24 become that. */
uint32_t sl_repeat_multiple(uint32_t a, uint32_t b);
void sl_repeat_free(struct sl_repeats *repeats);
