/* Recomputation of values; see tape.h and replay.h. */
#include "core/models/replay.h"

#include "core/models/saved_input.h"
#include "core/plan/kernels.h"

static bool full(const struct sl_tape *t, int layer) {
  return sl_recompute_of(&t->g, layer) == SL_RECOMPUTE_FULL;
}

/* A framework that repeats a block to its end also recomputes its output, which nobody reads; others stop at what the
 * backward reads. */
static bool to_the_end(const struct sl_tape *t, int layer) {
  return full(t, layer) && sl_kernel_set(t->g.l->plan->config->sl.kernels)->recomputes_all;
}

/* Calls `each` for the values that value `v` is computed from. */
static void for_inputs(struct sl_tape *t, int v, void each(struct sl_tape *, int)) {
  const struct sl_node *n = &t->nodes[t->values[v].node];
  for (int i = 0; i < SL_TAPE_IN; i++)
    if (!n->rule->paired || n->out[i] == v) each(t, n->in[i]);
}

/* A backward reads value `v`, or one that is recomputed from it. It can do without an optional one. */
static void read(struct sl_tape *t, int v) {
  struct sl_value *x = &t->values[v];
  if (v == 0 || x->read) return;
  x->read = true;
  if (!x->forgotten || x->optional || x->node < 0) return;
  for_inputs(t, v, read);
}

/* Calls `each` for the values that the backward of an op reads. */
static void for_reads(struct sl_tape *t, const struct sl_node *n, void each(struct sl_tape *, int)) {
  if (n->no_backward) return;
  for (int i = 0; i < SL_TAPE_IN; i++)
    if (n->rule->reads_in >> i & 1) each(t, n->in[i]);
  for (int i = 0; i < SL_TAPE_OUT; i++)
    if (n->rule->reads_out >> i & 1) each(t, n->out[i]);
}

enum sl_status sl_replay_plan(struct sl_tape *t) {
  for (int n = 0; n < t->node_count; n++) {
    for_reads(t, &t->nodes[n], read);
    for (int i = 0; i < SL_TAPE_IN && to_the_end(t, t->nodes[n].layer); i++) read(t, t->nodes[n].in[i]);
  }
  for (int v = 1; v < t->value_count; v++) {
    const struct sl_value *x = &t->values[v];
    if (x->read && !x->forgotten && x->covered != 0)
      return sl_fail(SL_ERR_CHECK, "layer %d: the backward reads %s, which %s is made in place of", x->layer, x->name,
                     t->values[x->covered].name);
  }
  return SL_OK;
}

static void want(struct sl_tape *t, int v) {
  struct sl_value *x = &t->values[v];
  if (v == 0 || x->here || x->wanted || x->optional || x->node < 0) return;
  x->wanted = true;
  for_inputs(t, v, want);
}

/* The outputs of an op that must be recomputed, and those that are computed along with them. */
static unsigned made_again(const struct sl_tape *t, const struct sl_node *node) {
  const bool all = to_the_end(t, node->layer);
  unsigned wanted = 0, beside = 0;
  for (int i = 0; i < SL_TAPE_OUT; i++) {
    const struct sl_value *x = &t->values[node->out[i]];
    if (node->out[i] == 0) continue;
    if (x->wanted || (all && !x->here && !x->optional)) wanted |= 1U << i;
    if (x->optional && !x->here) beside |= 1U << i;
  }
  return wanted == 0 && !all ? 0 : wanted | beside;
}

enum sl_status sl_replay_branch(struct sl_tape *t, struct sl_section *s, int first, int end) {
  struct sl_transformer *g = &t->g;
  const bool all = to_the_end(t, s->layer);
  for (int i = first; i < end; i++) for_reads(t, &t->nodes[i], want);
  if (full(t, s->layer)) SL_TRY(sl_saved_input_fetch(g, s->layer, s->kept_input, &t->values[s->input].at));
  for (int i = s->first_node; i < end; i++) {
    const struct sl_node *node = &t->nodes[i];
    t->making = made_again(t, node);
    if (t->making != 0 || all) SL_TRY(node->rule->forward(t, node));
    for (int k = 0; k < SL_TAPE_OUT; k++) t->values[node->out[k]].wanted = false;
  }
  return SL_OK;
}
