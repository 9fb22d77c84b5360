/* What a run of the equivalence grid is held against besides one rank: closed forms of its memory, the simulator's
 * traffic, and the witness of its MPI calls. */
#include "tests/mpi/grid3d.h"

#include <dlfcn.h>

#include "core/op/wire.h"
#include "tests/witness/pmpi.h"

#define expect grid3d_expect

/* --- memory --- */

static int64_t ceil_div(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

/* Members of the tp group that share a tensor: from the model and the configuration. AutoTP of DeepSpeed 0.19.6 gathers
 * the head of a llama that is not tied, the only one here that transformers has a plan for. */
static int64_t members_of(const struct sl_plan *plan, const struct sl_tensor *x) {
  const struct sl_model *m = plan->model;
  const bool llama = m->type == SL_MODEL_LLAMA, head = m->tied_head || x->layer == m->n_layer;
  enum sl_tp_vocab ends = plan->config->sl.tp_vocab;
  if (!x->vocabulary || ends == SL_TP_VOCAB_PARALLEL) return plan->tp;
  if (ends == SL_TP_VOCAB_AUTOTP) ends = llama && !m->tied_head ? SL_TP_VOCAB_GATHERED : SL_TP_VOCAB_WHOLE;
  return ends == SL_TP_VOCAB_GATHERED && head ? plan->tp : 1;
}

/* Elements of a tensor that this rank's stages hold, cut over tp: from the model, not the plan; 0: none of it. */
static int64_t local_numel(const struct sl_plan *plan, int tensor) {
  const struct sl_pp_rank *pp_rank = &plan->pp_ranks[sl_plan_coord(plan, grid3d.rank).pp];
  const struct sl_model *m = plan->model;
  const struct sl_tensor *x = &m->tensors[tensor];
  bool used = false;
  for (int i = 0; i < pp_rank->stage_count; i++) {
    const struct sl_stage *c = &plan->stages[pp_rank->stages[i]];
    used |= x->layer >= c->first_layer && x->layer < c->first_layer + c->layer_count;
    used |= c->embedding && x->layer < 0;
    used |= c->head && sl_model_reads_tokens(m) && (x->layer == m->n_layer || (m->tied_head && tensor == 0));
  }
  const int64_t wide = x->tp_dim >= 0 ? x->shape[x->tp_dim] : 1, rest = x->numel / wide;
  const int64_t multiple = x->vocabulary ? plan->vocab_multiple : 1;
  return used ? (x->tp_dim >= 0 ? ceil_div(wide, members_of(plan, x) * multiple) * multiple : 1) * rest : 0;
}

static int64_t all_numel(const struct sl_plan *plan) {
  int64_t sum = 0;
  for (int t = 0; t < plan->model->tensor_count; t++) sum += local_numel(plan, t);
  return sum;
}

/* A state of `numel` elements over `members`: whole, or one part of it with up to `slack` elements of padding. */
static void expect_state(const char *what, int64_t bytes, int64_t numel, int members, int64_t slack) {
  const int64_t least = ceil_div(numel, members);
  expect(bytes >= 4 * least && bytes <= 4 * (least + slack), what, (double)bytes, 4.0 * (double)least);
}

/* DeepSpeed's stage 3 by the letter: a part of every parameter; those up to the threshold whole, too; of the others a
 * part of hpZ's second copy. */
static int64_t stage3_numel(const struct sl_plan *plan) {
  int64_t sum = 0;
  for (int t = 0; t < plan->model->tensor_count; t++) {
    const int64_t numel = local_numel(plan, t), part = ceil_div(numel, plan->shard);
    sum += part;
    if (numel <= plan->config->zero.param_persistence_threshold)
      sum += part * plan->shard;
    else if (plan->config->zero.hpz_partition_size > 1)
      sum += part * plan->shard / plan->config->zero.hpz_partition_size;
  }
  return sum;
}

static void compare_states(const struct sl_plan *plan, const struct sl_class *c,
                           const int64_t state[SL_CATEGORY_COUNT]) {
  const struct sl_strategy *s = &plan->strategy;
  const int64_t numel = all_numel(plan), parameters = state[SL_CATEGORY_PARAMETER];
  const int64_t padding = plan->shard > 1 ? 2 * plan->pp_ranks[c->pp_rank].tensor_count : 0; /* of a member */
  if (s->units == SL_UNITS_OWNER) return;          /* whole parameters: no closed form of one rank's */
  if (plan->config->param_dtype != SL_F32) return; /* the closed forms are those of fp32 */
  const bool master = c->role[SL_ROLE_MASTER].form != SL_FORM_ABSENT;
  const int states = (grid3d.now.optimizer == DRAW_ADAMW ? 2 : 1) + master;
  expect_state("bytes of the optimizer", state[SL_CATEGORY_OPTIMIZER] / states, numel,
               s->shard_optimizer ? plan->shard : 1, padding);
  if (!s->shard_params)
    expect_state("bytes of the parameters", parameters, numel, 1, plan->shard * padding);
  else if (s->units == SL_UNITS_PARAMETER)
    expect(parameters == 4 * stage3_numel(plan), "bytes of the sharded parameters", (double)parameters,
           4 * (double)stage3_numel(plan));
  else
    expect_state("bytes of the sharded parameters", parameters, numel, plan->shard, padding);
  if (s->shard_grads && plan->stage_count == 1)
    expect_state("bytes of the gradients", state[SL_CATEGORY_GRADIENT], numel, plan->shard, padding);
}

void grid3d_compare_memory(const struct grid_result *r) {
  const struct sl_class *c = &r->fixture.job.classes[sl_job_class_of(&r->fixture.job, grid3d.rank)];
  int64_t state[SL_CATEGORY_COUNT] = {0};
  for (int space = 0; space < SL_SPACE_COUNT; space++) {
    const struct sl_memory_report *m = &c->memory[space];
    int64_t sum = m->fragmentation;
    for (int i = 0; i < SL_CATEGORY_COUNT; i++) sum += m->at_peak[i], state[i] += m->state_bytes[i];
    expect(r->run.reports[0].arena_bytes[space] == c->arena_bytes[space], "bytes of the arena",
           (double)r->run.reports[0].arena_bytes[space], (double)c->arena_bytes[space]);
    expect(sum == m->peak_bytes && sum == c->arena_bytes[space], "sum of the categories", (double)sum,
           (double)c->arena_bytes[space]);
  }
  compare_states(&r->fixture.plan, c, state);
}

/* --- traffic --- */

static bool same_row(const struct sl_traffic *a, const struct sl_traffic *b) {
  return a->program == b->program && a->group == b->group && a->op == b->op && a->dtype == b->dtype &&
         a->payload == b->payload && a->link == b->link;
}

static void compare_report(int of, const struct sl_exec_report *host, const struct sl_exec_report *sim) {
  expect(host->call_hash == sim->call_hash, "order of calls, by hash, of rank", of, of);
  expect(host->traffic_count == sim->traffic_count, "rows of traffic", host->traffic_count, sim->traffic_count);
  for (int i = 0; i < sim->traffic_count; i++) {
    const struct sl_traffic *want = &sim->traffic[i], none = {0}, *got = &none;
    for (int k = 0; k < host->traffic_count; k++)
      if (same_row(&host->traffic[k], want)) got = &host->traffic[k];
    expect(got->calls == want->calls, "calls", (double)got->calls, (double)want->calls);
    expect(got->bytes == want->bytes, "bytes", (double)got->bytes, (double)want->bytes);
    expect(got->wire_bytes == want->wire_bytes, "wire bytes", (double)got->wire_bytes, (double)want->wire_bytes);
  }
}

void grid3d_compare_traffic(const struct grid_result *r, const struct sl_run *simulated) {
  struct sl_exec_report mine = r->run.reports[0];
  if (grid3d.rank != 0) {
    MPI_Send(&mine, (int)sizeof mine, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    MPI_Send(mine.traffic, mine.traffic_count * (int)sizeof *mine.traffic, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
    return;
  }
  compare_report(0, &mine, &simulated->reports[0]);
  for (int i = 1; i < grid3d.world; i++) {
    struct sl_exec_report theirs;
    MPI_Recv(&theirs, (int)sizeof theirs, MPI_BYTE, i, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    theirs.traffic = calloc((size_t)theirs.traffic_count + 1, sizeof *theirs.traffic);
    MPI_Recv(theirs.traffic, theirs.traffic_count * (int)sizeof *theirs.traffic, MPI_BYTE, i, 1, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    compare_report(i, &theirs, &simulated->reports[i]);
    free(theirs.traffic);
  }
}

/* --- the witness --- */

static sl_pmpi_sent_fn *sent_over;
static sl_pmpi_messages_fn *messages_of;

static bool find(const char *name, void *function, size_t size) {
  void *symbol = dlsym(RTLD_DEFAULT, name);
  if (symbol == NULL) return false;
  memcpy(function, &symbol, size);
  return true;
}

bool grid3d_find_witness(void) {
  sl_pmpi_keep_fn *keep;
  if (!find("sl_pmpi_sent", &sent_over, sizeof sent_over) || !find("sl_pmpi_keep", &keep, sizeof keep) ||
      !find("sl_pmpi_messages", &messages_of, sizeof messages_of))
    return false;
  keep();
  return true;
}

void grid3d_take_counts(grid3d_sent sent, int64_t step) {
  for (enum sl_group g = 0; sent_over != NULL && g < SL_GROUP_COUNT; g++) sent[step][g] = sent_over(sl_group_name(g));
}

/* Bytes that this rank puts on the wire, one call after the other; calls of none are left out. */
struct calls {
  int64_t *bytes;
  size_t count, capacity;
};

static void add_call(struct calls *c, int64_t bytes) {
  if (bytes == 0) return;
  if (sl_grow(&c->bytes, &c->capacity, c->count + 1, sizeof *c->bytes) != SL_OK) MPI_Abort(MPI_COMM_WORLD, 1);
  c->bytes[c->count++] = bytes;
}

/* Calls of one group, or of the pipeline's to one rank in one direction. */
struct route {
  enum sl_group group; /* SL_GROUP_NONE: the pipeline */
  int to, backward;
};

static bool goes(const struct grid_result *r, const struct sl_op *op, const struct route *route) {
  const int stride = grid3d.world / r->fixture.plan.pp;
  if (route->group != SL_GROUP_NONE)
    return sl_op_class_of(op->kind) == SL_CLASS_COLLECTIVE && op->group == route->group;
  return op->kind == SL_OP_SEND && op->peer * stride + grid3d.rank % stride == route->to &&
         (op->lane == SL_LANE_SEND_B) == route->backward;
}

/* By the programs: the init program's calls, then every step's, and those of an evaluation, which has none where
 * nothing is evaluated. */
static struct calls calls_of_programs(const struct grid_result *r, const struct route *route) {
  const struct sl_class *class = &r->fixture.job.classes[sl_job_class_of(&r->fixture.job, grid3d.rank)];
  struct sl_members m = {.size = grid3d.world};
  struct calls out = {0};
  if (route->group != SL_GROUP_NONE) m = sl_plan_group(&r->fixture.plan, route->group, grid3d.rank);
  for (int run = 0; run <= STEPS + 1; run++) {
    const struct sl_program *p = &class->programs[run == 0       ? SL_PROGRAM_INIT
                                                  : run <= STEPS ? SL_PROGRAM_STEP
                                                                 : SL_PROGRAM_EVAL];
    for (size_t i = 0; i < p->issue_count; i++) {
      const struct sl_op *op = &p->ops[p->issues[i].op];
      if (goes(r, op, route)) add_call(&out, sl_op_wire_bytes(op, sl_op_slices(p, op), m.size, m.index));
    }
  }
  return out;
}

/* By the witness. Every call of a group's communicator has a tag of its own, and they count up; its messages may mix
 * with its neighbours'. A send is one message, for the grid's are short; what goes forward and what goes backward has a
 * tag each. */
static struct calls calls_of_witness(const struct route *route) {
  enum { TAGS = 32768 };
  const struct sl_pmpi_message *messages;
  const long long n = messages_of(sl_group_name(route->group), &messages);
  int64_t *by_tag = calloc(TAGS, sizeof *by_tag);
  struct calls out = {0};
  for (long long i = 0; i < n; i++) {
    if (route->group != SL_GROUP_NONE)
      by_tag[messages[i].tag % TAGS] += messages[i].bytes;
    else if (messages[i].to == route->to && messages[i].tag == route->backward)
      add_call(&out, messages[i].bytes);
  }
  for (int tag = 0; tag < TAGS; tag++) add_call(&out, by_tag[tag]);
  free(by_tag);
  return out;
}

static void compare_calls(const struct grid_result *r, const struct route *route) {
  struct calls got = calls_of_witness(route), want = calls_of_programs(r, route);
  char what[64];
  size_t i = 0;
  while (i < got.count && i < want.count && got.bytes[i] == want.bytes[i]) i++;
  snprintf(what, sizeof what, "bytes of call %zu of %s, by the witness", i, sl_group_name(route->group));
  expect(i == got.count && i == want.count, what, i < got.count ? (double)got.bytes[i] : -1,
         i < want.count ? (double)want.bytes[i] : -1);
  free(got.bytes);
  free(want.bytes);
}

void grid3d_compare_witness(const struct grid_result *r, grid3d_sent sent) {
  const struct sl_exec_report *report = &r->run.reports[0];
  for (enum sl_group g = 0; sent_over != NULL && g < SL_GROUP_COUNT; g++) {
    int64_t want = 0;
    for (int i = 0; i < report->traffic_count; i++) {
      const struct sl_traffic *row = &report->traffic[i];
      want += row->group == g && row->link == 0 && row->program == SL_PROGRAM_STEP ? row->wire_bytes : 0;
    }
    for (int s = 1; s < STEPS; s++) {
      const int64_t got = sent[s][g] - sent[s - 1][g];
      expect(got == want, sl_group_name(g), (double)got, (double)want);
    }
    const int routes = g != SL_GROUP_NONE ? 1 : 2 * grid3d.world;
    for (int i = 0; i < routes; i++) compare_calls(r, &(struct route){g, i / 2, i % 2});
  }
}
