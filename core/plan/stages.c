/* The plan along the pipeline: which layers a stage has, which rank has which stage, and the schedule. */
#include "core/plan/stages.h"

#include "core/base/partition.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- layers to stages ---- */

/* The weight of layer `layer`; that of layer -1 is the embedding's, that of the one beyond the last the final norm's
 * and the LM head's. */
static double weight_of(const struct sl_plan *plan, int layer) {
  const struct sl_model *m = plan->model;
  double sum = 0;
  for (int i = 0; i < m->tensor_count; i++) {
    const struct sl_tensor *t = &m->tensors[i];
    if (t->layer != layer) continue;
    /* by flops, only the matrices that multiply every token count */
    if (plan->config->sl.stages_by == SL_STAGES_PARAMETERS || (t->n_dim == 2 && layer >= 0)) sum += (double)t->numel;
  }
  if (plan->config->sl.stages_by == SL_STAGES_PARAMETERS) return sum;
  if (layer >= 0 && layer < m->n_layer) sum += 2.0 * (double)plan->seq * (double)(m->n_head * m->head_dim);
  if (layer == m->n_layer && m->tied_head) sum += (double)m->vocab_size * (double)m->n_embd;
  return sum;
}

/* DeepSpeed wants the stages by parameters to differ least; by flops the heaviest counts, and the first of equals has the
 * shortest early stages, which hold the most micro-batches. */
static enum sl_status cut_by_weight(const struct sl_plan *plan, int layers, int parts, int64_t *counts) {
  double *weights;
  const int ends = sl_model_reads_tokens(plan->model) ? 1 : 0, items = layers + 2 * ends;
  const bool spread = plan->config->sl.stages_by == SL_STAGES_PARAMETERS;
  SL_TRY(sl_calloc(&weights, (size_t)items, sizeof *weights));
  for (int i = 0; i < items; i++) weights[i] = weight_of(plan, i - ends);
  const enum sl_status status =
      sl_partition(weights, items, parts, spread ? SL_PARTITION_BY_SPREAD : SL_PARTITION_BY_HEAVIEST, counts);
  free(weights);
  counts[0] -= ends;
  counts[parts - 1] -= ends;
  return status;
}

static enum sl_status cut_by_list(const struct sl_plan *plan, int layers, int parts, int64_t *counts) {
  const struct sl_config *config = plan->config;
  int64_t sum = 0;
  if (config->sl.stage_count != parts)
    return sl_json_fail(&config->doc, "shardlab.stages", "names %d stages; expected %d: pp x virtual stages",
                        config->sl.stage_count, parts);
  for (int i = 0; i < parts; i++) {
    counts[i] = config->sl.stage_layers[i];
    sum += counts[i];
    if (counts[i] < 1 && !sl_model_reads_tokens(plan->model))
      return sl_json_fail(&config->doc, "shardlab.stages", "gives stage %d no layers; expected at least 1 of an mlp",
                          i);
  }
  if (sum == layers) return SL_OK;
  return sl_json_fail(&config->doc, "shardlab.stages", "adds up to %lld layers; expected the %d of model %s",
                      (long long)sum, layers, plan->model->name);
}

/* nanotron's division. Blocks are dealt out in the order of the model; a rank that has reached its share of the cost so
 * far, the total x (rank + 1) / ranks, is full. A layer costs 4 h^2 + 3 h i for inner width i, the LM head V h,
 * embedding and norm nothing (nanotron, src/nanotron/models/base.py, build_model; models/llama.py,
 * get_block_compute_costs).
 *
 * We deviate from that source in two points. It asks for more than the share; the memory of its published 1B runs, with
 * 10, 5 and 3 layers on the first of 2, 4 and 8 ranks, says that reaching it is enough. It would leave the head with
 * the last layers even if a rank is left; the step times of its published runs of 8 and 16 stages say that the head has
 * that rank (8B on 16 ranks: 47 ms a micro-batch, where two layers and the head take 64). The ranks after the head's
 * hold nothing: nanotron gives them the head's cast and the loss, which stay with the head here.
 *
 * Returns the number of ranks that hold something, the last of them the head; some may have no layers. */
static int cut_by_cost(const struct sl_model *m, int ranks, int64_t *counts) {
  const double h = (double)m->n_embd, layer = 4 * h * h + 3 * h * (double)m->n_inner;
  const double total = (double)m->n_layer * layer + (double)m->vocab_size * h;
  int rank = 0;
  for (int64_t i = 0; i < m->n_layer; i++) {
    counts[rank]++;
    if ((double)(i + 1) * layer * ranks >= total * (rank + 1)) rank++;
  }
  if ((double)m->n_layer * layer * ranks >= total * (rank + 1)) {
    rank++; /* the norm had its own rank */
  } else if (counts[rank] > 0 && rank + 1 < ranks) {
    rank++;
  }
  return rank + 1;
}

static enum sl_status cut_layers(const struct sl_plan *plan, int layers, int parts, int64_t *counts) {
  if (plan->config->sl.stages_by == SL_STAGES_LIST) return cut_by_list(plan, layers, parts, counts);
  if (layers < parts)
    return sl_json_fail(
        &plan->config->doc, "shardlab.pp",
        "%d pipeline stages for the %d layers of model %s; expected at least a layer each, or a list of "
        "stages with 0",
        parts, layers, plan->model->name);
  if (parts > 1 && plan->config->sl.stages_by != SL_STAGES_UNIFORM) return cut_by_weight(plan, layers, parts, counts);
  for (int i = 0; i < parts; i++) counts[i] = layers / parts + (i < layers % parts);
  return SL_OK;
}

/* ---- stages to ranks ---- */

static enum sl_status deal_stages(struct sl_plan *plan, const int64_t *counts) {
  int layer = 0;
  for (int i = 0; i < plan->stage_count; i++) {
    struct sl_stage *c = &plan->stages[i];
    struct sl_pp_rank *pp_rank = &plan->pp_ranks[plan->schedule.stage_rank[i]];
    *c = (struct sl_stage){.first_layer = layer,
                           .layer_count = (int)counts[i],
                           .embedding = i == 0,
                           .head = i == plan->stage_count - 1,
                           .rank = plan->schedule.stage_rank[i],
                           .local = pp_rank->stage_count};
    layer += (int)counts[i];
    if (pp_rank->stages == NULL)
      SL_TRY(sl_calloc(&pp_rank->stages, (size_t)plan->stage_count, sizeof *pp_rank->stages));
    pp_rank->stages[pp_rank->stage_count++] = i;
  }
  plan->embed_ranks[0] = plan->stages[0].rank;
  plan->embed_ranks[1] = plan->stages[plan->stage_count - 1].rank;
  return SL_OK;
}

static enum sl_status check_cost(const struct sl_plan *plan) {
  const struct sl_config *config = plan->config;
  if (config->sl.virtual_stages > 1 || strcmp(config->sl.schedule, "1f1b") != 0)
    return sl_json_fail(&config->doc, "shardlab.stages",
                        "is \"cost\", which deals a stage to a rank in 1f1b; the schedule is %s, virtual_stages %d",
                        config->sl.schedule, config->sl.virtual_stages);
  if (!sl_model_reads_tokens(plan->model))
    return sl_json_fail(&config->doc, "shardlab.stages", "is \"cost\"; expected uniform or a list of an mlp");
  return SL_OK;
}

/* Opens a schedule for the first `used` pipeline ranks; the others only run the optimizer's step. */
static enum sl_status open_schedule(struct sl_plan *plan, int used) {
  const struct sl_config *config = plan->config;
  const int stages = config->sl.virtual_stages > 1 ? config->sl.virtual_stages : 0;
  struct sl_schedule_stages wanted;
  if (stages > 0 && !sl_schedule_deals(config->sl.schedule, stages, &wanted))
    return sl_json_fail(&config->doc, "shardlab.virtual_stages", "is %d; expected %s, as schedule %s deals to a rank",
                        stages, wanted.text, config->sl.schedule);
  if (sl_schedule_open_named(&plan->schedule, config->sl.schedule, used, stages, (int)plan->n_micro) != SL_OK) {
    char why[512];
    snprintf(why, sizeof why, "%s", sl_error_message());
    sl_error_clear();
    return sl_json_fail(&config->doc, "shardlab.schedule", "%s", why);
  }
  plan->stage_count = plan->schedule.stages;
  return used < plan->pp ? sl_schedule_add_idle(&plan->schedule, plan->pp - used) : SL_OK;
}

enum sl_status sl_plan_cut(struct sl_plan *plan) {
  enum sl_status status;
  const bool by_cost = plan->config->sl.stages_by == SL_STAGES_COST && plan->pp > 1;
  int64_t *counts = NULL;
  int used = plan->pp;
  if (by_cost) {
    SL_GO(check_cost(plan));
    SL_GO(sl_calloc(&counts, (size_t)plan->pp, sizeof *counts));
    used = cut_by_cost(plan->model, plan->pp, counts);
  }
  SL_GO(open_schedule(plan, used));
  SL_GO(sl_calloc(&plan->pp_ranks, (size_t)plan->pp, sizeof *plan->pp_ranks));
  SL_GO(sl_calloc(&plan->stages, (size_t)plan->stage_count, sizeof *plan->stages));
  if (!by_cost) {
    SL_GO(sl_calloc(&counts, (size_t)plan->stage_count, sizeof *counts));
    SL_GO(cut_layers(plan, (int)plan->model->n_layer, plan->stage_count, counts));
  }
  SL_GO(deal_stages(plan, counts));
done:
  free(counts);
  return status;
}

/* ---- the whole schedule ---- */

static bool has(const struct sl_schedule *s, enum sl_action_kind kind) {
  for (int rank = 0; rank < s->ranks; rank++) {
    for (size_t i = 0; i < s->counts[rank]; i++) {
      if (s->actions[rank][i].kind == kind) return true;
    }
  }
  return false;
}

enum sl_status sl_plan_schedule(struct sl_plan *plan) {
  struct sl_schedule *s = &plan->schedule;
  const bool split = has(s, SL_ACTION_BACKWARD_INPUT);
  SL_TRY(sl_schedule_validate(s));
  const bool by_stage = plan->stage_count > 1 || split || plan->strategy.gathers_once;
  if (plan->strategy.shard_params && by_stage && !has(s, SL_ACTION_UNSHARD))
    SL_TRY(sl_schedule_lower_unshard(s, plan->config->sl.unshard_ahead));
  plan->unshards = has(s, SL_ACTION_UNSHARD);
  if (!has(s, SL_ACTION_REDUCE_GRAD)) SL_TRY(sl_schedule_lower_reduce(s));
  if (plan->pp > 1 && !has(s, SL_ACTION_SEND_F))
    SL_TRY(plan->strategy.blocking_messages ? sl_schedule_lower_sends_in_turn(s) : sl_schedule_lower_sends(s));
  SL_TRY(sl_schedule_validate(s));
  for (int rank = 0; rank < s->ranks; rank++)
    SL_TRY(sl_schedule_append(s, rank, (struct sl_action){SL_ACTION_STEP, rank, -1}));
  return SL_OK;
}
