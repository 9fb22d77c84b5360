/* Finds what repeats in a program: the steady part of a schedule, whose periods differ only in their micro-batches and
 * in corresponding slots. */
#pragma once

#include "core/program/program.h"

/* Instance i of first <= i < end - period corresponds to i + period: it has the same ops, for a micro-batch that is
 * `micro_batches` later, and where i uses slot s of the class, i + period uses slot next[s]. next is a permutation, in
 * which slots that only a few periods use map to themselves. period 0: nothing repeats. */
struct sl_repeat {
  uint32_t first, end, period;
  int32_t micro_batches;
  uint32_t *next; /* per slot of the class, owned */
  uint32_t turn;  /* number of periods after which every slot maps to itself; 1: always */
};

/* Finds a period of `program`, of class `rank_class`, around its middle. Errors: SL_ERR_MEMORY; free `out` after one
 * too. */
enum sl_status sl_repeat_find(const struct sl_class *rank_class, const struct sl_program *program,
                              struct sl_repeat *out);
/* Changes the period, from instance `from` on, to one in which every slot maps to itself; 0 if there are too few of
 * them. */
void sl_repeat_whole_turns(const struct sl_class *rank_class, struct sl_repeat *repeat, uint32_t from);
/* The least common multiple of two numbers of periods; results above 2^24 become that. */
uint32_t sl_repeat_multiple(uint32_t a, uint32_t b);
void sl_repeat_free(struct sl_repeat *repeat);
