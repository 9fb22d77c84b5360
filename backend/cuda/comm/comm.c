/* NCCL's communicators. The world communicator is created from an id that rank 0 generates and sends to all ranks over
 * the star (the id contains NCCL's own rendezvous address, or that of NCCL_COMM_ID if set). Every other communicator is
 * split off it: group classes in their order, then the pipeline's rounds, in the same order on every rank.
 *
 * By default NCCL connects two ranks at their first exchange and blocks the host meanwhile: in the middle of a
 * pipeline, two neighbours that both send first would wait for each other forever. Everything is therefore connected
 * here: collectives when NCCL creates the communicators (NCCL_RUNTIME_CONNECT=0), pairs by a first message. */
#include "backend/cuda/cuda.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void nccl_release(const char *call, ncclResult_t code) {
  if (code != ncclSuccess && *sl_error_message() == '\0') sl_warn("NCCL: %s: %s", call, ncclGetErrorString(code));
}

/* Does not overwrite the user's own setting. */
static void set_default(const char *name, const char *value) {
  setenv(name, value, 0);
}

/* For ranks that share a GPU. Until 2.29, NCCL refuses two ranks of one host on one device, so each rank claims to be a
 * host of its own and they talk through sockets; from 2.30 on, NCCL can be told to allow it. */
static void allow_sharing(const struct sl_cuda *cuda, int version) {
  char name[64];
  set_default("NCCL_MAX_CTAS", "2");
  set_default("NCCL_NVLS_ENABLE", "0");
  set_default("NCCL_ALGO", "Ring");
  set_default("NCCL_PROTO", "Simple");
  if (version >= 23000) {
    set_default("NCCL_MULTI_RANK_GPU_ENABLE", "1");
    return;
  }
  snprintf(name, sizeof name, "shardlab-rank-%d", cuda->place.rank);
  set_default("NCCL_HOSTID", name);
  set_default("NCCL_NET", "Socket");
  set_default("NCCL_IB_DISABLE", "1");
  if (cuda->place.local_world == cuda->place.world) set_default("NCCL_SOCKET_IFNAME", "lo");
  set_default("NCCL_P2P_DISABLE", "1");
  set_default("NCCL_SHM_DISABLE", "1");
  set_default("NCCL_MNNVL_ENABLE", "0");
}

enum sl_status sl_cuda_comms_prepare(struct sl_cuda *cuda) {
  int version = 0;
  if (cuda->place.world == 1) return SL_OK;
  SL_NCCL_TRY(ncclGetVersion(&version));
  set_default("NCCL_RUNTIME_CONNECT", "0");
  if (cuda->shared) allow_sharing(cuda, version);
  return SL_OK;
}

static void used_groups(const struct sl_job *job, bool used[SL_GROUP_COUNT]) {
  for (int c = 0; c < job->class_count; c++) {
    for (int kind = 0; kind < SL_PROGRAM_COUNT; kind++) {
      const struct sl_program *program = &job->classes[c].programs[kind];
      for (size_t i = 0; i < program->op_count; i++) {
        const struct sl_op *op = &program->ops[i];
        if (op->group != SL_GROUP_NONE) used[op->group] = true;
      }
    }
  }
}

static enum sl_status open_world(struct sl_cuda *cuda) {
  ncclUniqueId id, *all;
  enum sl_status status = SL_OK;
  memset(&id, 0, sizeof id);
  if (cuda->rank == 0) {
    const ncclResult_t code = ncclGetUniqueId(&id);
    if (code != ncclSuccess) status = sl_cuda_nccl_failed("ncclGetUniqueId", code);
  }
  SL_TRY(sl_cuda_agree(cuda, status));
  SL_TRY(sl_calloc(&all, (size_t)cuda->world, sizeof *all));
  status = sl_star_exchange(&cuda->star, &id, sizeof id, all);
  id = all[0];
  free(all);
  SL_TRY(status);
  SL_NCCL_TRY(ncclCommInitRank(&cuda->comms.world, cuda->world, id, cuda->rank));
  return SL_OK;
}

static enum sl_status open_group(struct sl_cuda *cuda, enum sl_group group) {
  const struct sl_members *m = &cuda->members[group];
  struct sl_cuda_comm *comm = &cuda->comms.groups[group];
  int size = 0, index = -1;
  SL_NCCL_TRY(ncclCommSplit(cuda->comms.world, m->size > 1 ? m->id : NCCL_SPLIT_NOCOLOR, m->index, &comm->nccl, NULL));
  if (m->size == 1) return SL_OK;
  SL_NCCL_TRY(ncclCommCount(comm->nccl, &size));
  SL_NCCL_TRY(ncclCommUserRank(comm->nccl, &index));
  if (size == m->size && index == m->index) return SL_OK;
  return sl_fail(SL_ERR_INTERNAL, "group %s: member %d of %d by NCCL, %d of %d by the plan", sl_group_name(group),
                 index, size, m->index, m->size);
}

static enum sl_status open_groups(struct sl_cuda *cuda) {
  bool used[SL_GROUP_COUNT] = {false};
  used_groups(cuda->job, used);
  for (enum sl_group group = SL_GROUP_NONE + 1; group < SL_GROUP_COUNT; group++) {
    cuda->comms.groups[group].size = cuda->members[group].size;
    cuda->comms.groups[group].index = cuda->members[group].index;
    if (!used[group] || cuda->place.world == 1) continue;
    sl_cuda_watch_phase(cuda, sl_group_name(group));
    if (group == SL_GROUP_WORLD)
      cuda->comms.groups[group].nccl = cuda->comms.world;
    else
      SL_TRY(open_group(cuda, group));
  }
  return SL_OK;
}

/* The link of `round` that this rank is an end of, -1 if none. */
static int own_link(const struct sl_cuda *cuda, int round) {
  const struct sl_cuda_links *plan = &cuda->comms.plan;
  for (size_t i = 0; i < plan->count; i++) {
    const struct sl_cuda_link *link = &plan->items[i];
    if (link->round == round && (link->from == cuda->coord.pp || link->to == cuda->coord.pp)) return (int)i;
  }
  return -1;
}

/* Both ends pass the same colour, the sender's rank; the sender is member 0. */
static enum sl_status open_link(struct sl_cuda *cuda, int round) {
  const int i = own_link(cuda, round);
  ncclComm_t none = NULL;
  if (i < 0) {
    SL_NCCL_TRY(ncclCommSplit(cuda->comms.world, NCCL_SPLIT_NOCOLOR, 0, &none, NULL));
    return SL_OK;
  }
  const struct sl_cuda_link *link = &cuda->comms.plan.items[i];
  struct sl_coord sender = cuda->coord;
  sender.pp = link->from;
  SL_NCCL_TRY(ncclCommSplit(cuda->comms.world, sl_plan_rank(cuda->job->plan, sender), link->to == cuda->coord.pp,
                            &cuda->comms.links[i], NULL));
  return SL_OK;
}

static enum sl_status open_links(struct sl_cuda *cuda) {
  SL_TRY(sl_cuda_links_plan(&cuda->comms.plan, cuda->job));
  SL_TRY(sl_calloc(&cuda->comms.links, cuda->comms.plan.count, sizeof *cuda->comms.links));
  for (int round = 0; round < cuda->comms.plan.rounds; round++) SL_TRY(open_link(cuda, round));
  return SL_OK;
}

/* Sends a first message over every link, round by round, since a rank is an end of at most one link per round, and then
 * runs one all-reduce in every group. */
static enum sl_status greet(struct sl_cuda *cuda, cudaStream_t stream, void *word) {
  for (int round = 0; round < cuda->comms.plan.rounds; round++) {
    const int i = own_link(cuda, round);
    if (i < 0) continue;
    if (cuda->comms.plan.items[i].from == cuda->coord.pp)
      SL_NCCL_TRY(ncclSend(word, 1, ncclFloat, 1, cuda->comms.links[i], stream));
    else
      SL_NCCL_TRY(ncclRecv(word, 1, ncclFloat, 0, cuda->comms.links[i], stream));
  }
  for (enum sl_group group = SL_GROUP_NONE + 1; group < SL_GROUP_COUNT; group++) {
    const struct sl_cuda_comm *comm = &cuda->comms.groups[group];
    if (comm->nccl) SL_NCCL_TRY(ncclAllReduce(word, word, 1, ncclFloat, ncclSum, comm->nccl, stream));
  }
  return SL_OK;
}

enum sl_status sl_cuda_comms_open(struct sl_cuda *cuda) {
  void *word = NULL;
  cudaStream_t stream;
  if (cuda->place.world == 1) return open_groups(cuda);
  sl_cuda_watch_phase(cuda, "NCCL's communicator of the world");
  SL_TRY(open_world(cuda));
  SL_TRY(open_groups(cuda));
  sl_cuda_watch_phase(cuda, "NCCL's communicators of the pipeline");
  SL_TRY(open_links(cuda));
  sl_cuda_watch_phase(cuda, "the first message of each communicator");
  SL_CUDA_TRY(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  SL_CUDA_TRY(cudaMalloc(&word, sizeof(float)));
  SL_CUDA_TRY(
      cudaMemsetAsync(word, 0, sizeof(float), stream)); /* not cudaMemset: the default stream and this one do not wait
                                                         * for each other */
  SL_TRY(greet(cuda, stream, word));
  SL_CUDA_TRY(cudaStreamSynchronize(stream)); /* all connections exist before the first program starts */
  SL_CUDA_TRY(cudaFree(word));
  SL_CUDA_TRY(cudaStreamDestroy(stream));
  return SL_OK;
}

/* In an orderly end every member closes its communicators. Otherwise peers may be gone, and operations in flight are
 * aborted. */
static void close_one(ncclComm_t comm, bool in_order) {
  if (!comm) return;
  if (in_order)
    nccl_release("ncclCommDestroy", ncclCommDestroy(comm));
  else
    nccl_release("ncclCommAbort", ncclCommAbort(comm));
}

void sl_cuda_comms_close(struct sl_cuda *cuda, bool in_order) {
  for (size_t i = 0; cuda->comms.links && i < cuda->comms.plan.count; i++) close_one(cuda->comms.links[i], in_order);
  for (enum sl_group group = SL_GROUP_NONE + 1; group < SL_GROUP_COUNT; group++)
    if (cuda->comms.groups[group].nccl != cuda->comms.world) close_one(cuda->comms.groups[group].nccl, in_order);
  close_one(cuda->comms.world, in_order);
  free(cuda->comms.links);
  sl_cuda_links_free(&cuda->comms.plan);
}

static enum sl_status poll_one(ncclComm_t comm, const char *what) {
  ncclResult_t state = ncclSuccess;
  if (!comm) return SL_OK;
  const ncclResult_t code = ncclCommGetAsyncError(comm, &state);
  if (code == ncclSuccess && (state == ncclSuccess || state == ncclInProgress)) return SL_OK;
  return sl_fail(SL_ERR_PEER, "NCCL's communicator of %s failed: %s", what,
                 ncclGetErrorString(code != ncclSuccess ? code : state));
}

enum sl_status sl_cuda_comms_poll(const struct sl_cuda *cuda) {
  char name[64];
  for (enum sl_group group = SL_GROUP_NONE + 1; group < SL_GROUP_COUNT; group++) {
    snprintf(name, sizeof name, "group %s", sl_group_name(group));
    SL_TRY(poll_one(cuda->comms.groups[group].nccl, name));
  }
  for (size_t i = 0; cuda->comms.links && i < cuda->comms.plan.count; i++) {
    const struct sl_cuda_link *link = &cuda->comms.plan.items[i];
    snprintf(name, sizeof name, "stages %d to %d, %s", link->from, link->to, link->backward ? "backward" : "forward");
    SL_TRY(poll_one(cuda->comms.links[i], name));
  }
  return SL_OK;
}
