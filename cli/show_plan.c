/* show plan: each rank's coordinates and groups, and how many bytes of what it owns. */
#include "cli/show.h"
#include "core/base/limits.h"
#include "core/base/units.h"

#include <string.h>

/* Whether a group class is listed: if some group has more than one member, and always for data parallelism. */
static bool shown(const struct sl_plan *plan, enum sl_group group) {
  return group == SL_GROUP_DP || sl_plan_group(plan, group, 0).size > 1;
}

static void print_ranks(const struct sl_plan *plan, FILE *out) {
  enum { LIMIT = 64 };
  fprintf(out, "%6s %4s %4s %4s %4s", "rank", "pp", "dp", "cp", "tp");
  for (int g = SL_GROUP_NONE + 1; g < SL_GROUP_COUNT; g++)
    if (shown(plan, g)) fprintf(out, "  %-16s", sl_group_name(g));
  fprintf(out, "\n");
  for (int rank = 0; rank < plan->world && rank < LIMIT; rank++) {
    const struct sl_coord c = sl_plan_coord(plan, rank);
    fprintf(out, "%6d %4d %4d %4d %4d", rank, c.pp, c.dp, c.cp, c.tp);
    for (int g = SL_GROUP_NONE + 1; g < SL_GROUP_COUNT; g++) {
      char text[48];
      if (!shown(plan, g)) continue;
      const struct sl_members m = sl_plan_group(plan, g, rank);
      if (m.size == 1)
        snprintf(text, sizeof text, "%d", m.first);
      else if (m.inner < m.size)
        snprintf(text, sizeof text, m.stride == 1 ? "%d..%d and %d more" : "%d..%d and %d more, step %d", m.first,
                 m.first + (m.inner - 1) * m.stride, m.size - m.inner, m.stride);
      else
        snprintf(text, sizeof text, "%d..%d step %d", m.first, m.first + (m.size - 1) * m.stride, m.stride);
      fprintf(out, "  %-16s", text);
    }
    fprintf(out, "\n");
  }
  if (plan->world > LIMIT) fprintf(out, "   ... %d more ranks; --json - lists them all\n", plan->world - LIMIT);
}

/* The ranks of one replica's stage: consecutive, evenly apart, or, with both tp and cp, neither. */
static void put_cell(const struct sl_plan *plan, int pp, int dp, FILE *out) {
  const struct sl_coord strides = sl_plan_strides(plan);
  const int first = sl_plan_rank(plan, (struct sl_coord){.pp = pp, .dp = dp});
  const int last = sl_plan_rank(plan, (struct sl_coord){.pp = pp, .dp = dp, .cp = plan->cp - 1, .tp = plan->tp - 1});
  char cell[32];
  if (first == last)
    snprintf(cell, sizeof cell, "[%d]", first);
  else if (last - first + 1 == plan->tp * plan->cp)
    snprintf(cell, sizeof cell, "[%d..%d]", first, last);
  else if (plan->tp == 1 || plan->cp == 1)
    snprintf(cell, sizeof cell, "[%d..%d step %d]", first, last, plan->tp > 1 ? strides.tp : strides.cp);
  else
    snprintf(cell, sizeof cell, "[%d ... %d]", first, last);
  fprintf(out, " %-12s", cell);
}

/* Prints the ranks as a map: a row per pipeline rank with its stages, a column per replica, tp and cp together. */
static void print_map(const struct sl_plan *plan, FILE *out) {
  enum { LIMIT = 8 };
  const int shown_dp = plan->dp < LIMIT ? plan->dp : LIMIT;
  if (plan->tp * plan->cp * plan->pp == 1) return;
  fprintf(out, "\nrank map: rows are pipeline ranks, columns data-parallel ones; a cell is %s\n",
          plan->cp > 1 ? "the tensor- and context-parallel ranks of both" : "one tensor-parallel group");
  for (int pp = 0; pp < plan->pp; pp++) {
    const struct sl_pp_rank *pp_rank = &plan->pp_ranks[pp];
    fprintf(out, "  pp %-3d", pp);
    for (int dp = 0; dp < shown_dp; dp++) put_cell(plan, pp, dp, out);
    fprintf(out, "%s layers", plan->dp > LIMIT ? "..." : "");
    for (int i = 0; i < pp_rank->stage_count; i++) {
      const struct sl_stage *c = &plan->stages[pp_rank->stages[i]];
      if (c->layer_count == 0)
        fprintf(out, "%s none", i > 0 ? "," : "");
      else
        fprintf(out, "%s %d..%d", i > 0 ? "," : "", c->first_layer, c->first_layer + c->layer_count - 1);
    }
    if (pp_rank->stage_count == 0) fprintf(out, " none, idle");
    fprintf(out, "\n");
  }
}

static void print_group(const struct sl_layout *layout, FILE *out) {
  if (layout->group.members == 1) return;
  fprintf(out, "  sharded over %d ranks in %d unit%s: %lld elements each, %lld of padding in all\n",
          layout->group.members, layout->unit_count, layout->unit_count > 1 ? "s" : "", (long long)layout->shard_numel,
          (long long)(layout->padded - layout->numel));
}

static void print_layout(const struct sl_setup *setup, FILE *out) {
  const struct sl_plan *plan = &setup->plan;
  const struct sl_state_bytes state = sl_plan_state_bytes(plan);
  for (int s = 0; s < plan->pp; s++) {
    const struct sl_pp_rank *pp_rank = &plan->pp_ranks[s];
    fprintf(out, "\npipeline rank %d:", s);
    for (int i = 0; i < pp_rank->stage_count; i++) {
      const struct sl_stage *c = &plan->stages[pp_rank->stages[i]];
      fprintf(out, "%s stage %d: %s%d layers from %d%s", i > 0 ? ";" : "", pp_rank->stages[i],
              c->embedding ? "embedding, " : "", c->layer_count, c->first_layer, c->head ? ", head" : "");
    }
    fprintf(out, "; %lld parameters a rank in %d tensors\n", (long long)pp_rank->numel, pp_rank->tensor_count);
    for (int g = 0; g < pp_rank->group_count; g++) print_group(&pp_rank->layouts[g], out);
    const struct sl_class *c = &setup->job.classes[s * setup->job.classes_per_pp_rank];
    static const char *const names[] = {"parameters",     "gradients",     "first moment",  "second moment",
                                        "master weights", "scales of fp8", "fp8 magnitudes"};
    static const char *const forms[] = {"none", "whole", "own shard", "whole, own shard reduced"};
    _Static_assert(sizeof names / sizeof *names == SL_ROLE_COUNT, "a name for each state");
    _Static_assert(sizeof forms / sizeof *forms == SL_FORM_SHARD_IN_FLAT + 1, "a name for each form");
    fprintf(out, "  %-16s %-26s %s\n", "state", "a rank holds", "bytes");
    for (int r = 0; r < SL_ROLE_COUNT; r++) {
      char bytes[32];
      if (c->role[r].form == SL_FORM_ABSENT) continue;
      sl_format_bytes(bytes, sizeof bytes, (double)sl_class_state_bytes(c, (enum sl_role)r));
      fprintf(out, "  %-16s %-26s %s\n", names[r], forms[c->role[r].form], bytes);
    }
  }
  fprintf(out, "\nZeRO's accounting: %d + %d + %d bytes a parameter (parameter, gradient, optimizer) before sharding\n",
          state.param, state.grad, state.optimizer);
}

static json_t *rank_json(const struct sl_plan *plan, int rank) {
  const struct sl_coord c = sl_plan_coord(plan, rank);
  json_t *groups = json_object();
  for (int g = SL_GROUP_NONE + 1; g < SL_GROUP_COUNT; g++) {
    const struct sl_members m = sl_plan_group(plan, g, rank);
    json_object_set_new(
        groups, sl_group_name(g),
        json_pack("{s:i, s:i, s:i, s:i}", "first", m.first, "stride", m.stride, "size", m.size, "index", m.index));
  }
  return json_pack("{s:i, s:i, s:i, s:i, s:i, s:o}", "rank", rank, "pp", c.pp, "dp", c.dp, "cp", c.cp, "tp", c.tp,
                   "groups", groups);
}

static json_t *holding_json(const struct sl_setup *setup, int s) {
  const struct sl_pp_rank *pp_rank = &setup->plan.pp_ranks[s];
  const struct sl_class *c = &setup->job.classes[s * setup->job.classes_per_pp_rank];
  static const char *const names[] = {"parameter_bytes", "gradient_bytes",  "moment1_bytes",    "moment2_bytes",
                                      "master_bytes",    "fp8_scale_bytes", "fp8_history_bytes"};
  _Static_assert(sizeof names / sizeof *names == SL_ROLE_COUNT, "a key for each state");
  json_t *state = json_object(), *tensors = json_array(), *stages = json_array();
  for (int i = 0; i < pp_rank->stage_count; i++) {
    const struct sl_stage *at = &setup->plan.stages[pp_rank->stages[i]];
    json_array_append_new(stages, json_pack("{s:i, s:i, s:i, s:b, s:b}", "stage", pp_rank->stages[i], "first_layer",
                                            at->first_layer, "layer_count", at->layer_count, "embedding", at->embedding,
                                            "head", at->head));
  }
  for (int r = 0; r < SL_ROLE_COUNT; r++)
    if (c->role[r].form != SL_FORM_ABSENT)
      json_object_set_new(state, names[r], json_integer(sl_class_state_bytes(c, (enum sl_role)r)));
  for (int i = 0; i < pp_rank->tensor_count; i++) {
    const struct sl_placed *placed = &pp_rank->tensors[i];
    json_array_append_new(tensors,
                          json_pack("{s:s, s:I, s:I, s:i, s:b}", "name", setup->model.tensors[placed->tensor].name,
                                    "numel", (json_int_t)placed->numel, "flat", (json_int_t)placed->flat, "unit",
                                    placed->unit, "persistent", placed->persistent));
  }
  return json_pack("{s:i, s:o, s:I, s:i, s:I, s:I, s:o, s:o}", "pipeline_rank", s, "stages", stages, "parameters",
                   (json_int_t)pp_rank->numel, "shard_members", pp_rank->layouts[0].group.members, "shard_elements",
                   (json_int_t)pp_rank->shard_numel, "padded_elements", (json_int_t)pp_rank->padded, "state", state,
                   "tensors", tensors);
}

enum sl_status sl_show_plan(const struct sl_setup *setup, const struct sl_options *options, FILE *out, json_t **json) {
  const struct sl_plan *plan = &setup->plan;
  if (options->json == NULL) {
    fprintf(out,
            "%d ranks = %d pp x %d dp x %d cp x %d tp; ZeRO-%d; micro-batches: %lld x %lld sequences a rank, %lld a "
            "step\n\n",
            plan->world, plan->pp, plan->dp, plan->cp, plan->tp, plan->strategy.zero_stage, (long long)plan->n_micro,
            (long long)plan->micro_batch, (long long)plan->global_batch);
    print_ranks(plan, out);
    print_map(plan, out);
    print_layout(setup, out);
    return SL_OK;
  }
  if (plan->world > SL_MAX_RANKS_APART)
    return sl_fail(SL_ERR_INPUT, "--json: lists %d ranks; expected at most %lld", plan->world,
                   (long long)SL_MAX_RANKS_APART);
  json_t *ranks = json_array(), *stages = json_array();
  for (int rank = 0; rank < plan->world; rank++) json_array_append_new(ranks, rank_json(plan, rank));
  for (int s = 0; s < plan->pp; s++) json_array_append_new(stages, holding_json(setup, s));
  *json = json_pack("{s:i, s:i, s:o, s:o}", "world", plan->world, "zero_stage", plan->strategy.zero_stage, "ranks",
                    ranks, "pipeline", stages);
  return SL_OK;
}
