/* Everything that is known before the clock runs: per class the cost and lane order of its programs' ops, per rank its
 * calls, and the groups in which simulated ranks communicate. */
#include "core/base/parallel.h"
#include "core/op/wire.h"
#include "cost/collective.h"
#include "cost/compute.h"
#include "cost/topology.h"
#include "sim/contention.h"
#include "sim/jitter.h"
#include "sim/state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ranks match the heads of lanes: a send on SEND_F with a receive on RECV_F, a collective with the same lane of the
 * others. Collectives run on the lanes of groups, though not always on that of their own group. */
static enum sl_status check_lane(const struct sl_op *op) {
  bool right = false;
  if (op->kind == SL_OP_SEND) {
    right = op->lane == SL_LANE_SEND_F || op->lane == SL_LANE_SEND_B;
  } else if (op->kind == SL_OP_RECV) {
    right = op->lane == SL_LANE_RECV_F || op->lane == SL_LANE_RECV_B;
  } else if (op->group != SL_GROUP_NONE) {
    right = op->lane >= SL_LANE_TP && op->lane < SL_LANE_SEND_F;
  }
  if (right) return SL_OK;
  return sl_fail(SL_ERR_INTERNAL, "%s of group %s stands on lane %s, where no other rank looks for it",
                 sl_op_name(op->kind), sl_group_name(op->group), sl_lane_name(op->lane));
}

/* The number of members of a call: all ranks of a program have groups of the same size. */
static int members_of(const struct sl_plan *plan, const struct sl_op *op, int rank) {
  return sl_op_class_of(op->kind) == SL_CLASS_P2P ? 2 : sl_plan_group(plan, op->group, rank).size;
}

/* Seconds of an op at full speed. The end of a step has a cost that depends on the program. */
static enum sl_status compute_seconds(const struct sl_sim *sim, const struct sl_program *program,
                                      const struct sl_work *work, double *seconds) {
  SL_TRY(sl_cost_compute(&sim->cost_rank, work, seconds));
  if (work->kind == SL_OP_JOIN && sl_program_is_step(program->kind)) *seconds += sim->cost_rank.device->step_overhead;
  return SL_OK;
}

/* `rank` is one of those that run the program. */
static enum sl_status fill_works(const struct sl_plan *plan, struct sl_sim_program *table, int rank) {
  const struct sl_program *program = table->program;
  SL_TRY(sl_calloc(&table->works, program->op_count, sizeof *table->works));
  for (size_t i = 0; i < program->op_count; i++) {
    const struct sl_op *op = &program->ops[i];
    if (sl_op_is_comm(op->kind)) SL_TRY(check_lane(op));
    table->works[i] =
        sl_work_of(op, sl_op_slices(program, op), sl_op_is_comm(op->kind) ? members_of(plan, op, rank) : 0);
  }
  return SL_OK;
}

static enum sl_status fill_costs(const struct sl_sim *sim, struct sl_sim_program *table) {
  const struct sl_program *program = table->program;
  SL_TRY(sl_calloc(&table->costs, program->op_count, sizeof *table->costs));
  SL_TRY(sl_calloc(&table->call_ops, program->op_count, sizeof *table->call_ops));
  for (size_t i = 0; i < program->op_count; i++) {
    const struct sl_op *op = &program->ops[i];
    struct sl_sim_cost *cost = &table->costs[i];
    cost->lane = (uint16_t)op->lane;
    if (sl_op_is_comm(op->kind)) {
      cost->call = table->call_count;
      table->call_ops[table->call_count++] = (int32_t)i;
    } else {
      cost->call = -1;
      SL_TRY(compute_seconds(sim, program, &table->works[i], &cost->seconds));
      cost->host = sl_cost_launch_host(&sim->cost_rank, &table->works[i]);
      cost->link = sl_cost_copy_link(&sim->cost_rank, &table->works[i]);
      table->host_side |= sl_cost_is_host_side(op->lane);
    }
  }
  return SL_OK;
}

/* Traffic rows of a step in the order of first use. */
static enum sl_status fill_rows(struct sl_sim_program *table, struct sl_traffic_list *rows) {
  enum { NO_ROW = UINT16_MAX, NOT_YET = UINT16_MAX - 1 };
  const struct sl_program *program = table->program;
  rows->program = program->kind;
  for (size_t i = 0; i < program->op_count; i++)
    table->costs[i].row = sl_traffic_counts(&program->ops[i]) ? NOT_YET : NO_ROW;
  for (size_t i = 0; i < program->issue_count - sl_issues_repeated(program); i++) {
    struct sl_sim_cost *cost = &table->costs[program->issues[i].op];
    if (cost->row != NOT_YET) continue;
    size_t row;
    SL_TRY(sl_traffic_row(rows, &program->ops[program->issues[i].op], &row));
    cost->row = (uint16_t)row;
  }
  return SL_OK;
}

static enum sl_status fill_class(void *context, int c) {
  const struct sl_sim *sim = context;
  const struct sl_class *own = &sim->job->classes[c];
  for (int kind = 0; kind < SL_PROGRAM_COUNT; kind++) {
    struct sl_sim_program *table = &sim->programs[c][kind];
    table->program = &own->programs[kind];
    SL_TRY(fill_works(sim->job->plan, table, own->first_rank));
    SL_TRY(fill_costs(sim, table));
    if (sl_program_counts((enum sl_program_kind)kind)) SL_TRY(fill_rows(table, &sim->rows[c]));
    if (sl_program_is_step((enum sl_program_kind)kind)) SL_TRY(sl_sim_fill_fitted(sim, table));
  }
  return SL_OK;
}

/* What the simulation is to know of all programs. */
static void note_program(struct sl_sim *sim, const struct sl_sim_program *table) {
  sim->one_thread |= table->host_side && sim->cost_rank.device->kind == SL_DEVICE_CPU;
  for (int32_t i = 0; i < table->call_count; i++) {
    const struct sl_op *op = &table->program->ops[table->call_ops[i]];
    if (op->group != SL_GROUP_NONE) sim->meets[op->lane][op->group] = true;
  }
}

static enum sl_status fill_classes(struct sl_sim *sim) {
  const struct sl_job *job = sim->job;
  SL_TRY(sl_calloc(&sim->programs, (size_t)job->class_count, sizeof *sim->programs));
  SL_TRY(sl_calloc(&sim->rows, (size_t)job->class_count, sizeof *sim->rows));
  SL_TRY(sl_parallel(job->class_count, job->threads, fill_class, sim));
  for (int c = 0; c < job->class_count; c++)
    for (int kind = 0; kind < SL_PROGRAM_COUNT; kind++) note_program(sim, &sim->programs[c][kind]);
  return SL_OK;
}

/* Is `rank` itself in the group that the plan names for it? (A middle stage is in no embedding group.) */
static bool in_group(struct sl_members m, int rank) {
  return m.size > 0 && sl_members_rank(&m, m.index) == rank;
}

/* Finds the groups of class `group_class` that communicate on `lane`; the simulated members of each are stored
 * together, in order. Sets group_of[local]; -1: none. */
static enum sl_status fill_groups(struct sl_sim *sim, int lane, enum sl_group group_class, int *group_of,
                                  int *member_count) {
  int *by_id;
  SL_TRY(sl_calloc(&by_id, (size_t)sim->job->plan->world, sizeof *by_id)); /* group index plus 1 */
  int first_group = sim->group_count;
  for (int i = 0; i < sim->count; i++) {
    const struct sl_members m = sl_plan_group(sim->job->plan, group_class, sim->ranks[i].rank);
    const int id = sim->fold ? sim->group_key[group_class][m.id] : m.id;
    group_of[i] = -1;
    if (!in_group(m, sim->ranks[i].rank)) continue;
    if (by_id[id] == 0) {
      by_id[id] = ++sim->group_count;
      sim->groups[by_id[id] - 1].lane = lane;
    }
    group_of[i] = by_id[id] - 1;
    sim->groups[group_of[i]].count++;
  }
  for (int g = first_group; g < sim->group_count; g++) {
    sim->groups[g].first = *member_count;
    *member_count += sim->groups[g].count;
    sim->groups[g].count = 0;
  }
  for (int i = 0; i < sim->count; i++) {
    if (group_of[i] < 0) continue;
    struct sl_sim_group *group = &sim->groups[group_of[i]];
    sim->members[group->first + group->count++] = i;
  }
  free(by_id);
  return SL_OK;
}

/* The row of group_of for the groups of a class on a lane. */
static int meeting_of(int lane, enum sl_group group_class) {
  return lane * SL_GROUP_COUNT + (int)group_class;
}

/* All lanes and classes; group_of has a row of sim->count entries for each pair. */
static enum sl_status every_group(struct sl_sim *sim, int *group_of) {
  int meetings = 0, member_count = 0;
  for (int lane = 0; lane < SL_LANE_COUNT; lane++) {
    for (int g = SL_GROUP_NONE + 1; g < SL_GROUP_COUNT; g++) meetings += sim->meets[lane][g];
  }
  SL_TRY(sl_calloc(&sim->groups, (size_t)meetings * (size_t)sim->count, sizeof *sim->groups));
  SL_TRY(sl_calloc(&sim->members, (size_t)meetings * (size_t)sim->count, sizeof *sim->members));
  for (int lane = SL_LANE_TP; lane < SL_LANE_SEND_F; lane++) {
    for (int g = SL_GROUP_NONE + 1; g < SL_GROUP_COUNT; g++) {
      if (!sim->meets[lane][g]) continue;
      int *row = group_of + meeting_of(lane, (enum sl_group)g) * sim->count;
      SL_TRY(fill_groups(sim, lane, (enum sl_group)g, row, &member_count));
    }
  }
  return SL_OK;
}

/* The links under the collectives of a group. They are computed for the first member that calls one, because that takes
 * a walk over all members. */
struct ring {
  bool known;
  struct sl_link link;
  struct sl_nccl_group nccl;   /* if NCCL chooses */
  double shares[SL_MAX_LINKS]; /* if transfers share links: sl_sim_group_shares */
};

static enum sl_status find_ring(const struct sl_sim *sim, const struct sl_members *m, struct ring *ring) {
  const struct sl_plan *plan = sim->job->plan;
  if (ring->known) return SL_OK;
  ring->link = sl_sim_group_link(plan, m);
  if (sim->assume.nccl_choice && m->size > 1) SL_TRY(sl_sim_group_nccl(plan, m, &ring->nccl));
  if (sim->assume.share_links) sl_sim_group_shares(plan, m, ring->shares);
  ring->known = true;
  return SL_OK;
}

static double collective_seconds(const struct sl_sim *sim, const struct ring *ring, const struct sl_work *work) {
  if (!sim->assume.nccl_choice) return sl_cost_collective(&sim->cost_rank, &ring->link, work);
  return sl_cost_collective_by_nccl(&sim->cost_rank, &ring->link, &ring->nccl, work);
}

/* The call as `local` makes it; group_of as in every_group, `rings` has one for each of its groups. */
static enum sl_status fill_call(const struct sl_sim *sim, int local, const struct sl_sim_program *table, int32_t index,
                                const int *group_of, struct ring *rings, struct sl_sim_call *call) {
  const struct sl_plan *plan = sim->job->plan;
  const struct sl_op *op = &table->program->ops[index];
  const struct sl_work *work = &table->works[index];
  int rank = sim->ranks[local].rank;
  _Static_assert(SL_OP_COUNT <= UINT8_MAX && SL_GROUP_COUNT <= UINT8_MAX, "a call has a byte for each");
  call->bytes = sl_op_comm_bytes(op);
  call->row = table->costs[index].row;
  call->group = (uint8_t)op->group;
  call->kind = (uint8_t)op->kind;
  if (sl_op_class_of(op->kind) == SL_CLASS_P2P) {
    const int own = sim->job->classes[sim->ranks[local].class_index].pp_rank;
    if (op->peer < 0 || op->peer >= plan->pp || op->peer == own) {
      return sl_fail(SL_ERR_INTERNAL, "%s of pipeline rank %d names pipeline rank %d, expected another of 0 to %d",
                     sl_op_name(op->kind), own, (int)op->peer, plan->pp - 1);
    }
    const int peer = sl_sim_peer_rank(plan, rank, op->peer);
    const struct sl_link *link = sl_sim_peer_link(plan, rank, op->peer);
    call->partner = sim->local_of[peer];
    call->wire = op->kind == SL_OP_SEND ? call->bytes : 0;
    call->seconds = sl_cost_peer(&sim->cost_rank, link, work);
    call->beside = sl_cost_lost_beside(&sim->cost_rank, plan->cluster, link);
    return SL_OK;
  }
  struct sl_members m = sl_plan_group(plan, op->group, rank);
  call->partner = group_of[meeting_of(op->lane, op->group) * sim->count + local];
  if (call->partner < 0) {
    return sl_fail(SL_ERR_INTERNAL, "rank %d calls %s of group %s, of which it is no member", rank,
                   sl_op_name(op->kind), sl_group_name(op->group));
  }
  struct ring *ring = &rings[call->partner];
  SL_TRY(find_ring(sim, &m, ring));
  call->wire = sl_op_wire_bytes(op, sl_op_slices(table->program, op), m.size, m.index);
  const int nodes = ring->link.nodes > 1 ? ring->link.nodes : 1;
  call->seconds = collective_seconds(sim, ring, work);
  call->beside = sl_cost_lost_beside(&sim->cost_rank, plan->cluster, &ring->link);
  call->host = sl_cost_call_host(&sim->cost_rank, work, sim->stalls && op->group == SL_GROUP_TP ? nodes : 0);
  return SL_OK;
}

/* What the calls of `kind` take of the rank's links. */
static void fill_loads(const struct sl_sim *sim, struct sl_sim_rank *rank, enum sl_program_kind kind,
                       const struct ring *rings) {
  const struct sl_plan *plan = sim->job->plan;
  const struct sl_sim_program *table = &sim->programs[rank->class_index][kind];
  for (int i = 0; i < table->call_count; i++) {
    const struct sl_op *op = &table->program->ops[table->call_ops[i]];
    const struct sl_work *work = &table->works[table->call_ops[i]];
    const struct sl_sim_call *call = &rank->calls[kind][i];
    if (op->group != SL_GROUP_NONE) {
      sl_contention_fill_ring(&rank->loads[kind][i], work, call->seconds, rings[call->partner].shares);
    } else {
      const struct sl_link *link = sl_sim_peer_link(plan, rank->rank, op->peer);
      sl_contention_fill_pair(&rank->loads[kind][i], work, call->seconds, (int)(link - plan->cluster->link),
                              sl_cost_attained(link, 2));
    }
  }
}

/* "nvls Simple, tree LL": how NCCL runs the calls of each row of a step's traffic. */
static void name_choices(const struct sl_sim *sim, struct sl_sim_rank *rank, const struct ring *rings) {
  for (size_t row = 0; row < rank->traffic.count; row++) {
    bool named[SL_NCCL_ALGO_COUNT][SL_NCCL_PROTO_COUNT] = {{false}};
    struct sl_traffic *t = &rank->traffic.items[row];
    const struct sl_sim_program *table = &sim->programs[rank->class_index][t->program];
    for (int i = 0; i < table->call_count; i++) {
      const struct sl_work *work = &table->works[table->call_ops[i]];
      if (table->costs[table->call_ops[i]].row != row || t->group == SL_GROUP_NONE || work->members < 2) continue;
      const struct ring *ring = &rings[rank->calls[t->program][i].partner];
      const struct sl_nccl_choice choice = sl_nccl_group_choose(&ring->nccl, work);
      const size_t length = strlen(t->algorithms);
      if (!named[choice.algo][choice.proto])
        snprintf(t->algorithms + length, sizeof t->algorithms - length, "%s%s %s", length > 0 ? ", " : "",
                 sl_nccl_algo_name(choice.algo), sl_nccl_proto_name(choice.proto));
      named[choice.algo][choice.proto] = true;
    }
  }
}

static enum sl_status fill_rank(struct sl_sim *sim, int local, const int *group_of, struct ring *rings) {
  struct sl_sim_rank *rank = &sim->ranks[local];
  for (int kind = 0; kind < SL_PROGRAM_COUNT; kind++) {
    const struct sl_sim_program *table = &sim->programs[rank->class_index][kind];
    if (sim->assume.share_links) SL_TRY(sl_calloc(&rank->loads[kind], (size_t)table->call_count, sizeof **rank->loads));
    SL_TRY(sl_calloc(&rank->calls[kind], (size_t)table->call_count, sizeof **rank->calls));
    for (int i = 0; i < table->call_count; i++) {
      SL_TRY(fill_call(sim, local, table, table->call_ops[i], group_of, rings, &rank->calls[kind][i]));
    }
    if (sim->assume.share_links) fill_loads(sim, rank, (enum sl_program_kind)kind, rings);
  }
  const struct sl_traffic_list *rows = &sim->rows[rank->class_index];
  for (size_t i = 0; i < rows->count; i++) {
    size_t row;
    SL_TRY(sl_traffic_row_like(&rank->traffic, &rows->items[i], &row));
  }
  if (sim->assume.nccl_choice) name_choices(sim, rank, rings);
  SL_TRY(sl_calloc(&rank->call_s, rows->count * SL_LANE_COUNT, sizeof *rank->call_s));
  return SL_OK;
}

static enum sl_status fill_ranks(struct sl_sim *sim) {
  const struct sl_job *job = sim->job;
  const int world = job->plan->world;
  SL_TRY(sl_calloc(&sim->local_of, (size_t)world, sizeof *sim->local_of));
  for (int r = 0; r < world; r++) sim->local_of[r] = r;
  int ranks = world;
  if (sim->fold) SL_TRY(sl_sim_fold(sim, sim->local_of, &ranks, sim->group_key));
  SL_TRY(sl_calloc(&sim->ranks, (size_t)ranks, sizeof *sim->ranks));
  SL_TRY(sl_calloc(&sim->local_ranks, (size_t)ranks, sizeof *sim->local_ranks));
  sim->count = ranks;
  /* so that the first rank of each kind remains */
  for (int r = world; r-- > 0;) sim->local_ranks[sim->local_of[r]] = r;
  for (int i = 0; i < sim->count; i++) {
    struct sl_sim_rank *rank = &sim->ranks[i];
    rank->rank = sim->local_ranks[i];
    rank->class_index = sl_job_class_of(job, rank->rank);
    rank->straggler = sl_jitter_straggler(&sim->assume, rank->rank);
    rank->call_hash = SL_HASH_CALLS;
  }
  return SL_OK;
}

enum sl_status sl_sim_tables(struct sl_sim *sim) {
  const struct sl_plan *plan = sim->job->plan;
  SL_TRY(sl_cost_share(&sim->cost_rank, plan->cluster, &plan->kernel_costs, plan->world));
  sim->slow = sim->cost_rank.kernel_costs.comm_compute_share;
  sim->stalls =
      sl_cost_pipeline_stalls(plan->cluster, plan->pp, sl_plan_strides(plan).pp * plan->pp, plan->model->n_layer);
  if (!sim->stalls || plan->tp == 1) sim->cost_rank.pipeline_stall = 0; /* no host is late, and flow.c serves */
  if (sim->assume.nccl_choice) SL_TRY(sl_nccl_group_check(plan->cluster));
  SL_TRY(fill_classes(sim));
  sl_sim_say_stand_ins(sim);
  SL_TRY(fill_ranks(sim));
  int *group_of;
  struct ring *rings = NULL;
  SL_TRY(sl_calloc(&group_of, (size_t)sim->count * SL_GROUP_COUNT * SL_GROUP_COUNT, sizeof *group_of));
  enum sl_status status;
  SL_GO(every_group(sim, group_of));
  SL_GO(sl_calloc(&rings, (size_t)sim->group_count, sizeof *rings));
  for (int i = 0; i < sim->count; i++) SL_GO(fill_rank(sim, i, group_of, rings));
  if (sim->assume.share_links) SL_GO(sl_contention_open(sim));
  SL_GO(sl_calloc(&sim->spill, (size_t)sim->count + 2, sizeof *sim->spill));
  SL_GO(sl_queue_alloc(&sim->queue, sl_sim_group_source(sim, sim->group_count)));
done:
  free(group_of);
  free(rings);
  return status;
}

void sl_sim_tables_free(struct sl_sim *sim) {
  for (int c = 0; c < sim->job->class_count; c++) {
    for (int kind = 0; kind < SL_PROGRAM_COUNT && sim->programs != NULL; kind++) {
      free(sim->programs[c][kind].works);
      free(sim->programs[c][kind].costs);
      free(sim->programs[c][kind].call_ops);
      free(sim->programs[c][kind].order_items);
    }
    if (sim->rows != NULL) sl_traffic_free(&sim->rows[c]);
  }
  for (int i = 0; i < sim->count && sim->ranks != NULL; i++) {
    for (int kind = 0; kind < SL_PROGRAM_COUNT; kind++) {
      free(sim->ranks[i].calls[kind]);
      free(sim->ranks[i].loads[kind]);
    }
    sl_traffic_free(&sim->ranks[i].traffic);
    free(sim->ranks[i].call_s);
  }
  free(sim->programs);
  free(sim->rows);
  free(sim->ranks);
  free(sim->local_ranks);
  free(sim->local_of);
  for (int g = 0; g < SL_GROUP_COUNT; g++) free(sim->group_key[g]);
  free(sim->groups);
  free(sim->members);
  free(sim->spill);
  sl_contention_close(sim);
  sl_queue_free(&sim->queue);
}
