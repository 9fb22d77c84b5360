/* Finds ranks that do the same at the same times, so that only one of each kind is simulated.
 *
 * Ranks are first divided by their program, by their assumed straggler factor and by the links of their calls, and then
 * repeatedly by the kinds of the ranks that they communicate with, until no division is new. Ranks of a kind then
 * communicate with the same kinds over the same links and so, by induction over time, complete the same ops at the same
 * times. Groups whose members are of the same kinds are simulated as one. */
#include "core/base/checked.h"
#include "sim/jitter.h"
#include "sim/state.h"

#include <stdlib.h>
#include <string.h>

struct entry {
  uint64_t sign;
  int kind; /* plus 1; 0: free */
};

struct fold {
  const struct sl_sim *sim;
  const struct sl_plan *plan;
  bool used[SL_GROUP_COUNT];
  int *id[SL_GROUP_COUNT]; /* (world): the group of each rank, for classes that are used */
  int *class_of;           /* (world): the program of each rank */
  bool *peers;             /* (classes, pp): the programs of a class send to, or receive from, that pipeline rank */
  uint64_t *sign;          /* (world): what distinguishes a rank so far, as a hash */
  uint64_t *group;         /* (world): by a group's number, a hash of its members */
  int *kind;               /* (world) */
  struct entry *table;     /* (room), a power of two: kinds by sign */
  size_t room;
  size_t *filled; /* (world): the entries that are not free, in the order of their kinds */
  int kinds;
};

static uint64_t mix(uint64_t x) {
  return sl_sim_mix(x);
}

static uint64_t join(uint64_t hash, uint64_t value) {
  return sl_sim_join(hash, value);
}

static uint64_t number_sign(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static uint64_t link_sign(const struct sl_link *link) {
  const uint64_t rate = join(number_sign(link->bandwidth), number_sign(link->latency));
  const uint64_t hops =
      join(join(number_sign(link->inside_extra), number_sign(link->across_extra)), number_sign(link->message));
  return join(join(join(join(rate, hops), number_sign(link->half_bytes)), (uint64_t)link->nodes), (uint64_t)link->hop);
}

/* What distinguishes communicators when NCCL chooses. */
static uint64_t nccl_sign(const struct sl_plan *plan, const struct sl_members *m) {
  struct sl_nccl_group g;
  if (m->size < 2 || sl_sim_group_nccl(plan, m, &g) != SL_OK) return 0; /* the call's cost will report the error */
  const struct sl_nccl_comm *c = &g.nccl.comm;
  const uint64_t counts = join(join((uint64_t)c->nodes, (uint64_t)c->nics), (uint64_t)c->nvls);
  const uint64_t links = join(join(number_sign(c->nvlink), number_sign(c->pcie)), number_sign(c->nic));
  const struct sl_nccl_attained *a = &g.attained;
  const uint64_t hops = join(number_sign(a->inside_extra), number_sign(a->across_extra));
  return join(join(join(counts, links), hops),
              join(join(number_sign(a->inside), number_sign(a->across)), number_sign(a->fill)));
}

/* What distinguishes rings when links are shared: how much of each link they take. */
static uint64_t shares_sign(const struct sl_plan *plan, const struct sl_members *m) {
  double shares[SL_MAX_LINKS];
  uint64_t sign = 0;
  sl_sim_group_shares(plan, m, shares);
  for (int level = 0; level < SL_MAX_LINKS; level++) sign = join(sign, number_sign(shares[level]));
  return sign;
}

static bool meets_peer(const struct fold *f, int rank, int pp) {
  return f->peers[sl_product(f->class_of[rank], f->plan->pp) + pp];
}

static void find_meetings(struct fold *f) {
  const struct sl_job *job = f->sim->job;
  for (int lane = 0; lane < SL_LANE_COUNT; lane++)
    for (int g = SL_GROUP_NONE + 1; g < SL_GROUP_COUNT; g++) f->used[g] |= f->sim->meets[lane][g];
  for (int c = 0; c < job->class_count; c++)
    for (int kind = 0; kind < SL_PROGRAM_COUNT; kind++) {
      const struct sl_program *p = &job->classes[c].programs[kind];
      for (size_t i = 0; i < p->op_count; i++) {
        const struct sl_op *op = &p->ops[i];
        if (sl_op_class_of(op->kind) == SL_CLASS_P2P && op->peer >= 0 && op->peer < f->plan->pp)
          f->peers[(size_t)c * (size_t)f->plan->pp + (size_t)op->peer] = true;
      }
    }
}

/* The entry of `sign`, `kind` of a new one. Few of the entries are filled: forget_kinds frees just those. */
static const struct entry *entry_of(struct fold *f, uint64_t sign, int kind) {
  size_t at = sign & (f->room - 1);
  while (f->table[at].kind > 0 && f->table[at].sign != sign) at = (at + 1) & (f->room - 1);
  if (f->table[at].kind == 0) {
    f->table[at] = (struct entry){sign, kind + 1};
    f->filled[f->kinds++] = at;
  }
  return &f->table[at];
}

static void forget_kinds(struct fold *f) {
  while (f->kinds > 0) f->table[f->filled[--f->kinds]].kind = 0;
}

/* Numbers the kinds in the order of their first ranks. Returns whether there are more than before. */
static bool divide(struct fold *f) {
  const int before = f->kinds;
  forget_kinds(f);
  for (int r = 0; r < f->plan->world; r++) f->kind[r] = entry_of(f, f->sign[r], f->kinds)->kind - 1;
  return f->kinds > before;
}

/* Sets group[id] for every group of class `g` to a hash of the link of its ring, or of the kinds of its members. */
static void sign_groups(struct fold *f, enum sl_group g, bool links) {
  memset(f->group, 0, (size_t)f->plan->world * sizeof *f->group);
  for (int r = 0; r < f->plan->world; r++) {
    const int id = f->id[g][r];
    if (!links) f->group[id] += mix((uint64_t)f->kind[r] + 1);
    if (!links || r != id) continue; /* a group is numbered by its first rank */
    const struct sl_members m = sl_plan_group(f->plan, g, r);
    const struct sl_link ring = sl_sim_group_link(f->plan, &m);
    f->group[m.id] = join(link_sign(&ring), (uint64_t)m.size);
    if (f->sim->assume.nccl_choice) f->group[m.id] = join(f->group[m.id], nccl_sign(f->plan, &m));
    if (f->sim->assume.share_links) f->group[m.id] = join(f->group[m.id], shares_sign(f->plan, &m));
  }
}

/* Adds the groups and peers of every rank to its sign, by their links or by their kinds. */
static void sign_meetings(struct fold *f, bool links) {
  for (int g = SL_GROUP_NONE + 1; g < SL_GROUP_COUNT; g++) {
    if (!f->used[g]) continue;
    sign_groups(f, (enum sl_group)g, links);
    for (int r = 0; r < f->plan->world; r++) f->sign[r] = join(f->sign[r], f->group[f->id[g][r]]);
  }
  for (int r = 0; r < f->plan->world; r++)
    for (int pp = 0; pp < f->plan->pp; pp++) {
      if (!meets_peer(f, r, pp)) continue;
      const uint64_t other =
          links ? link_sign(sl_sim_peer_link(f->plan, r, pp)) : (uint64_t)f->kind[sl_sim_peer_rank(f->plan, r, pp)];
      f->sign[r] = join(f->sign[r], other);
    }
}

/* Sets group_key[g][id] to the first group with the same kinds of members. */
static enum sl_status key_groups(struct fold *f, int *group_key[SL_GROUP_COUNT]) {
  for (int g = SL_GROUP_NONE + 1; g < SL_GROUP_COUNT; g++) {
    if (!f->used[g]) continue;
    SL_TRY(sl_calloc(&group_key[g], (size_t)f->plan->world, sizeof **group_key));
    sign_groups(f, (enum sl_group)g, false);
    forget_kinds(f);
    for (int r = 0; r < f->plan->world; r++)
      if (f->id[g][r] == r) group_key[g][r] = entry_of(f, f->group[r], r)->kind - 1;
  }
  return SL_OK;
}

/* What follows from a rank's number alone, once: rounds of signing only look it up. */
static enum sl_status place_ranks(struct fold *f) {
  struct sl_coord at = {0};
  for (int g = SL_GROUP_NONE + 1; g < SL_GROUP_COUNT; g++) {
    if (!f->used[g]) continue;
    SL_TRY(sl_calloc(&f->id[g], (size_t)f->plan->world, sizeof **f->id));
    sl_plan_group_ids(f->plan, (enum sl_group)g, f->id[g]);
  }
  for (int r = 0; r < f->plan->world; r++, sl_plan_next(f->plan, &at)) {
    f->class_of[r] = sl_job_class_at(f->sim->job, at);
    f->sign[r] = join(mix((uint64_t)f->class_of[r] + 1), number_sign(sl_jitter_straggler(&f->sim->assume, r)));
  }
  return SL_OK;
}

static enum sl_status alloc(struct fold *f) {
  const size_t world = (size_t)f->plan->world;
  const int64_t peers = sl_product(f->sim->job->class_count, f->plan->pp);
  for (f->room = 16; f->room < 2 * world;) f->room *= 2;
  SL_TRY(sl_calloc(&f->peers, (size_t)peers, sizeof *f->peers));
  SL_TRY(sl_calloc(&f->class_of, world, sizeof *f->class_of));
  SL_TRY(sl_calloc(&f->sign, world, sizeof *f->sign));
  SL_TRY(sl_calloc(&f->group, world, sizeof *f->group));
  SL_TRY(sl_calloc(&f->filled, world, sizeof *f->filled));
  return sl_calloc(&f->table, f->room, sizeof *f->table);
}

enum sl_status sl_sim_fold(const struct sl_sim *sim, int *kind, int *kinds, int *group_key[SL_GROUP_COUNT]) {
  enum sl_status status;
  struct fold f = {.sim = sim, .plan = sim->job->plan, .kind = kind};
  SL_GO(alloc(&f));
  find_meetings(&f);
  SL_GO(place_ranks(&f));
  for (bool links = true; links || divide(&f); links = false) sign_meetings(&f, links);
  *kinds = f.kinds;
  SL_GO(key_groups(&f, group_key));
done:
  for (int g = 0; g < SL_GROUP_COUNT; g++) free(f.id[g]);
  free(f.class_of);
  free(f.peers);
  free(f.sign);
  free(f.group);
  free(f.filled);
  free(f.table);
  return status;
}
