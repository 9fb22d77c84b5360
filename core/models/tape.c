/* The ops and values of a stage, and the drafts derived from them; see tape.h. Gradients are in gradients.c,
 * recomputation in replay.c. */
#include "core/models/tape.h"

#include "core/models/boundary.h"
#include "core/models/replay.h"
#include "core/models/saved_input.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- the list ---- */

enum sl_status sl_tape_open(struct sl_tape *t, struct sl_transformer g, int sections) {
  enum sl_status status;
  *t = (struct sl_tape){.g = g, .value_count = 1, .sections_most = sections};
  SL_GO_FAIL(sl_calloc(&t->sections, (size_t)sections, sizeof *t->sections));
  SL_GO_FAIL(sl_calloc(&t->nodes, (size_t)sections * SL_TAPE_NODES, sizeof *t->nodes));
  SL_GO_FAIL(sl_calloc(&t->values, (size_t)sections * SL_TAPE_VALUES, sizeof *t->values));
  return SL_OK;
fail:
  sl_tape_free(t);
  return status;
}

void sl_tape_free(struct sl_tape *t) {
  free(t->sections);
  free(t->nodes);
  free(t->values);
  *t = (struct sl_tape){0};
}

static struct sl_section *newest(struct sl_tape *t) {
  return &t->sections[t->section_count - 1];
}

void sl_tape_section(struct sl_tape *t, int layer, int input) {
  t->sections[t->section_count++] = (struct sl_section){.layer = layer,
                                                        .first_node = t->node_count,
                                                        .end_node = t->node_count,
                                                        .first_value = t->value_count,
                                                        .end_value = t->value_count,
                                                        .input = input,
                                                        .kept_input = -1};
}

int sl_tape_value(struct sl_tape *t, struct sl_value value) {
  t->full = t->full || t->value_count == t->sections_most * SL_TAPE_VALUES;
  if (t->full) return 0;
  value.layer = newest(t)->layer;
  value.node = t->node_count;
  value.forgotten = sl_recompute_forgets(&t->g, value.layer, value.made, value.optional);
  if (value.over != 0) t->values[value.over].covered = t->value_count;
  t->values[t->value_count] = value;
  newest(t)->end_value = t->value_count + 1;
  return t->value_count++;
}

int sl_tape_given(struct sl_tape *t, struct sl_value value, struct sl_operand at) {
  const int v = sl_tape_value(t, value);
  if (v == 0) return 0;
  t->values[v].node = -1;
  t->values[v].at = at;
  t->values[v].here = true;
  return v;
}

void sl_tape_node(struct sl_tape *t, struct sl_node node) {
  t->full = t->full || t->node_count == t->sections_most * SL_TAPE_NODES;
  if (t->full) return;
  node.layer = newest(t)->layer;
  t->nodes[t->node_count++] = node;
  newest(t)->end_node = t->node_count;
}

/* ---- the forward ---- */

/* Must its buffer last from the forward to the backward? */
static bool kept(const struct sl_tape *t, int v) {
  for (const struct sl_value *x = &t->values[v];; x = &t->values[x->covered]) {
    if (x->read && !x->forgotten) return true;
    if (x->covered == 0) return false;
  }
}

static unsigned made_in_forward(const struct sl_tape *t, const struct sl_node *node) {
  unsigned making = 0;
  for (int i = 0; i < SL_TAPE_OUT; i++)
    if (node->out[i] != 0 && (!t->values[node->out[i]].optional || kept(t, node->out[i]))) making |= 1U << i;
  return making;
}

/* What a recomputed block keeps of its input may be stored elsewhere. */
static enum sl_status end_section(struct sl_tape *t, struct sl_section *s) {
  if (sl_recompute_of(&t->g, s->layer) != SL_RECOMPUTE_FULL) return SL_OK;
  return sl_saved_input_keep(&t->g, s->layer, sl_tape_at(t, s->input), &s->kept_input);
}

enum sl_status sl_tape_forward(struct sl_tape *t) {
  if (t->full)
    return sl_fail(SL_ERR_CHECK,
                   "a stage of %d layers has more ops or values than fit; expected at most %d and %d a layer",
                   t->g.stage->layer_count, SL_TAPE_NODES, SL_TAPE_VALUES);
  SL_TRY(sl_replay_plan(t));
  for (int k = 0; k < t->section_count; k++) {
    t->section = &t->sections[k];
    for (int i = t->section->first_node; i < t->section->end_node; i++) {
      const struct sl_node *node = &t->nodes[i];
      t->making = made_in_forward(t, node);
      if (!node->no_forward) SL_TRY(node->rule->forward(t, node));
    }
    SL_TRY(end_section(t, t->section));
  }
  for (int v = 1; v < t->value_count; v++) {
    struct sl_value *x = &t->values[v];
    x->here = x->here && x->read && !x->forgotten;
  }
  return SL_OK;
}

/* ---- the backward ---- */

static enum sl_status undo(struct sl_tape *t, const struct sl_node *node) {
  if (!node->no_backward) SL_TRY(node->rule->backward(t, node));
  for (int i = 0; i < SL_TAPE_OUT; i++) t->values[node->out[i]].has_gradient = false;
  return SL_OK;
}

/* The first op of the branch that ends with op `end` - 1. */
static int branch_of(const struct sl_tape *t, const struct sl_section *s, int end) {
  int i = end - 1;
  if (sl_recompute_of(&t->g, s->layer) == SL_RECOMPUTE_FULL) return s->first_node;
  while (i > s->first_node && !t->nodes[i - 1].rule->ends_branch) i--;
  return i;
}

enum sl_status sl_tape_backward(struct sl_tape *t) {
  for (int k = t->section_count - 1; k >= 0; k--) {
    struct sl_section *s = t->section = &t->sections[k];
    for (int end = s->end_node; end > s->first_node;) {
      const int first = branch_of(t, s, end);
      SL_TRY(sl_replay_branch(t, s, first, end));
      for (; end > first; end--) SL_TRY(undo(t, &t->nodes[end - 1]));
    }
  }
  return SL_OK;
}

/* ---- values, for rules ---- */

struct sl_operand sl_tape_at(const struct sl_tape *t, int value) {
  return sl_build_as(t->values[value].at, SL_READ);
}

bool sl_tape_has(const struct sl_tape *t, int value) {
  return t->values[value].here;
}

/* A buffer for `x`. If it exists already and is recomputed only along with other values, a buffer that nobody reads. */
static enum sl_status buffer(struct sl_tape *t, const struct sl_value *x, bool again, bool keep,
                             struct sl_operand *out) {
  char name[32];
  int32_t b;
  snprintf(name, sizeof name, "%s%s", x->name, again && x->made == SL_MADE_OUTPUT ? ".again" : "");
  if (x->of_step)
    SL_TRY(sl_transformer_buffer_of_step(&t->g, &b, x->dtype, x->count, x->name, keep));
  else
    SL_TRY(sl_transformer_buffer(&t->g, &b, x->dtype, x->count, x->layer, name, keep));
  *out = sl_build_write(t->g.l, b);
  return SL_OK;
}

enum sl_status sl_tape_make(struct sl_tape *t, const struct sl_node *node, int i, struct sl_operand *out) {
  struct sl_value *x = &t->values[node->out[i]];
  const bool wanted = t->making >> i & 1;
  *out = (struct sl_operand){.buffer = -1};
  if (node->out[i] == 0 || (!wanted && (node->rule->apart || x->optional))) return SL_OK;
  if (!wanted) return buffer(t, x, true, false, out);
  if (x->over != 0) {
    *out = sl_build_as(t->values[x->over].at, SL_READ_WRITE);
    t->values[x->over].here = false;
  } else if (x->leaves && t->g.phase == SL_PHASE_FORWARD) {
    SL_TRY(sl_boundary_output(&t->g, x->layer, out));
  } else {
    SL_TRY(buffer(t, x, false, kept(t, node->out[i]), out));
  }
  x->at = *out;
  x->here = true;
  return SL_OK;
}

bool sl_tape_keeps(const struct sl_tape *t, const struct sl_node *node, int i) {
  return kept(t, node->out[i]);
}

void sl_tape_made(struct sl_tape *t, const struct sl_node *node, int i, struct sl_operand at) {
  if (!(t->making >> i & 1)) return;
  t->values[node->out[i]].at = at;
  t->values[node->out[i]].here = true;
}
