/* What repeats in a program: the steady part of a schedule, whose periods differ in their micro-batches, and in the slots that stand
 * for each other, alone. */
#pragma once

#include "core/program/program.h"

/* Instance i of first <= i < end - period is that of i + period, with the same ops, of a micro-batch that is `micro_batches`
 * further, and where i uses slot s of the class i + period uses slot next[s]: a permutation, under which slots that only a few
 * periods pass through are themselves. period 0: nothing repeats. */
struct sl_repeat {
  uint32_t first, end, period;
  int32_t micro_batches;
  uint32_t *next; /* per slot of the class, owned */
  uint32_t turn;  /* periods after which every slot is itself again; 1: at once */
};

/* A period of `program`, of class `rank_class`, around its middle. Errors: SL_ERR_MEMORY; `out` is freed after one, too. */
enum sl_status sl_repeat_find(const struct sl_class *rank_class, const struct sl_program *program,
                              struct sl_repeat *out);
/* The period, from instance `from` on, in which every slot is itself again; 0 where there are too few of them. */
void sl_repeat_whole_turns(const struct sl_class *rank_class, struct sl_repeat *repeat, uint32_t from);
/* The least common multiple of two numbers of periods, of which those above 2^24 are taken to be that. */
uint32_t sl_repeat_multiple(uint32_t a, uint32_t b);
void sl_repeat_free(struct sl_repeat *repeat);
