/* Opens the CUDA backend: the ranks meet, each chooses its device, NCCL's communicators are created and connected, then
 * memory and input are opened. The memory that the context itself takes is measured on the way. Ranks that share a
 * device allocate one after another, so that each can measure its own share. */
#include "backend/cuda/cuda.h"

#include "core/base/machine.h"
#include "core/base/timeout.h"

#include "kernels/gpu/cuda.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- the device --- */

enum sl_status sl_cuda_probe(int *devices) {
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0); /* one hardware queue per lane, so that no lane waits behind
                                                   * another */
  const cudaError_t code = cudaGetDeviceCount(devices);
  if (code == cudaSuccess && *devices > 0) return SL_OK;
  int driver = 0;
  if (cudaDriverGetVersion(&driver) == cudaSuccess && driver == 0)
    return sl_fail(SL_ERR_ABSENT, "backend cuda: no NVIDIA GPU can be used here: there is no driver");
  return sl_fail(SL_ERR_ABSENT, "backend cuda: no NVIDIA GPU can be used here: %s (the driver is of CUDA %d.%d)",
                 code == cudaSuccess ? "the driver lists none" : cudaGetErrorString(code), driver / 1000,
                 driver % 1000 / 10);
}

/* NCCL encodes 2.28.9 as 22809. */
static enum sl_status describe_software(struct sl_exec_devices *out) {
  int driver = 0, runtime = 0, nccl = 0;
  char kernel[32] = "unknown";
  SL_CUDA_TRY(cudaDriverGetVersion(&driver));
  SL_CUDA_TRY(cudaRuntimeGetVersion(&runtime));
  SL_NCCL_TRY(ncclGetVersion(&nccl));
  sl_cuda_driver_version(kernel, sizeof kernel);
  snprintf(out->software, sizeof out->software, "driver %s (CUDA %d.%d), runtime %d.%d, cuBLASLt %zu, NCCL %d.%d.%d",
           kernel, driver / 1000, driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10, sl_cuda_gemm_version(),
           nccl / 10000, nccl % 10000 / 100, nccl % 100);
  return SL_OK;
}

enum sl_status sl_cuda_describe_device(struct sl_exec_devices *out) {
  struct cudaDeviceProp p;
  SL_CUDA_TRY(cudaGetDeviceProperties(&p, 0));
  snprintf(out->name, sizeof out->name, "%.63s", p.name);
  out->memory_bytes = (int64_t)p.totalGlobalMem;
  out->cache_bytes = p.l2CacheSize;
  return describe_software(out);
}

/* Names are compared as bytes, so there must be no padding. */
struct node_name {
  char host[256], boot[64];
};

/* Identifies a device within the job as NCCL does: by host, boot, and PCI address. The number of devices that a process
 * sees is no help, because a launcher may show each process only its own. */
struct device_name {
  struct node_name node;
  int32_t domain, bus, device;
};

static void know_node(struct node_name *name) {
  memset(name, 0, sizeof *name);
  if (gethostname(name->host, sizeof name->host - 1) != 0) name->host[0] = '\0';
  FILE *boot = fopen("/proc/sys/kernel/random/boot_id", "r");
  if (boot && !fgets(name->boot, sizeof name->boot, boot)) name->boot[0] = '\0';
  if (boot) fclose(boot);
}

/* Whether a device has what the programs multiply. */
static enum sl_status check_products(const struct sl_cuda *cuda, int capability) {
  for (int kind = 0; kind < SL_PROGRAM_COUNT; kind++) {
    const struct sl_program *program = &cuda->rank_class->programs[kind];
    for (size_t i = 0; i < program->op_count; i++) SL_TRY(sl_cuda_gemm_supports(&program->ops[i], capability));
  }
  return SL_OK;
}

static enum sl_status choose_device(struct sl_cuda *cuda, struct device_name *name) {
  struct cudaDeviceProp p;
  int devices = 0;
  memset(name, 0, sizeof *name);
  SL_TRY(sl_cuda_probe(&devices));
  cuda->device = cuda->place.local_rank % devices;
  SL_CUDA_TRY(cudaGetDeviceProperties(&p, cuda->device));
  name->domain = p.pciDomainID, name->bus = p.pciBusID, name->device = p.pciDeviceID;
  know_node(&name->node);
  return check_products(cuda, 10 * p.major + p.minor);
}

/* Sets `shared` on every rank if any two ranks use the same device, because either all ranks take turns or none
 * does. */
static enum sl_status agree_sharing(struct sl_cuda *cuda, const struct device_name *mine) {
  struct device_name *all;
  SL_TRY(sl_calloc(&all, (size_t)cuda->place.world, sizeof *all));
  const enum sl_status status = sl_star_exchange(&cuda->star, mine, sizeof *mine, all);
  for (int i = 0; i < cuda->place.world; i++)
    for (int k = 0; k < i; k++) cuda->shared |= memcmp(&all[i], &all[k], sizeof *all) == 0;
  free(all);
  return status;
}

static enum sl_status make_context(struct sl_cuda *cuda) {
  SL_CUDA_TRY(cudaSetDevice(cuda->device));
  SL_CUDA_TRY(cudaFree(NULL));
  return SL_OK;
}

/* Runs `take` and adds to *bytes the memory that it took of the device. If any device is shared, all ranks of the job
 * do so one after another. */
static enum sl_status in_turn(struct sl_cuda *cuda, enum sl_status (*take)(struct sl_cuda *), int64_t *bytes) {
  enum sl_status status = SL_OK;
  const int turns = cuda->shared ? cuda->place.world : 1;
  for (int turn = 0; turn < turns; turn++) {
    sl_cuda_watch_phase(cuda, "another rank's turn to take memory"); /* restarts the timeout for each turn */
    if (turns == 1 || turn == cuda->rank) {
      const int64_t before = sl_cuda_used_bytes(cuda->device);
      status = take(cuda);
      *bytes += sl_cuda_used_bytes(cuda->device) - before;
    }
    status = sl_cuda_agree(cuda, status); /* all ranks wait here for the end of the turn */
    SL_TRY(status);
  }
  return SL_OK;
}

/* --- streams and events --- */

static enum sl_status open_streams(struct sl_cuda *cuda) {
  for (int kind = 0; kind < SL_PROGRAM_COUNT; kind++) {
    SL_TRY(sl_cuda_events_plan(&cuda->plans[kind], &cuda->rank_class->programs[kind]));
    if (cuda->plans[kind].event_count > cuda->event_count) cuda->event_count = cuda->plans[kind].event_count;
  }
  for (int lane = 0; lane < SL_LANE_COUNT; lane++) {
    bool used = lane == SL_LANE_COMPUTE;
    for (int kind = 0; kind < SL_PROGRAM_COUNT; kind++) used |= cuda->plans[kind].uses[lane];
    if (!used) continue;
    SL_CUDA_TRY(cudaStreamCreateWithFlags(&cuda->lanes[lane], cudaStreamNonBlocking));
    SL_CUDA_TRY(cudaEventCreateWithFlags(&cuda->ends[lane], cudaEventDisableTiming));
  }
  SL_CUDA_TRY(cudaEventCreate(&cuda->base));
  SL_TRY(sl_calloc(&cuda->events, (size_t)cuda->event_count, sizeof *cuda->events));
  for (int i = 0; i < cuda->event_count; i++)
    SL_CUDA_TRY(cudaEventCreateWithFlags(&cuda->events[i], cudaEventDisableTiming));
  return SL_OK;
}

static void close_streams(struct sl_cuda *cuda) {
  for (int i = 0; cuda->events && i < cuda->event_count; i++)
    if (cuda->events[i]) sl_cuda_release("cudaEventDestroy", cudaEventDestroy(cuda->events[i]));
  for (size_t i = 0; cuda->times && i < cuda->time_count; i++)
    if (cuda->times[i]) sl_cuda_release("cudaEventDestroy", cudaEventDestroy(cuda->times[i]));
  if (cuda->base) sl_cuda_release("cudaEventDestroy", cudaEventDestroy(cuda->base));
  for (int lane = 0; lane < SL_LANE_COUNT; lane++) {
    if (cuda->ends[lane]) sl_cuda_release("cudaEventDestroy", cudaEventDestroy(cuda->ends[lane]));
    if (cuda->lanes[lane]) sl_cuda_release("cudaStreamDestroy", cudaStreamDestroy(cuda->lanes[lane]));
  }
  for (int kind = 0; kind < SL_PROGRAM_COUNT; kind++) sl_cuda_events_free(&cuda->plans[kind]);
  free(cuda->events);
  free(cuda->times);
}

/* --- steps of opening --- */

static enum sl_status check_programs(const struct sl_cuda *cuda) {
  for (int kind = 0; kind < SL_PROGRAM_COUNT; kind++) {
    const struct sl_program *program = &cuda->rank_class->programs[kind];
    for (size_t i = 0; i < program->op_count; i++) SL_TRY(sl_cuda_supports(&program->ops[i]));
  }
  return SL_OK;
}

/* Finds out which rank this is: one of the job's processes, or one rank of the plan that runs alone. */
static enum sl_status find_place(struct sl_cuda *cuda) {
  const int world = cuda->job->plan->world;
  SL_TRY(sl_cuda_place_read(&cuda->place));
  cuda->alone = cuda->options.alone;
  cuda->rank = cuda->alone ? cuda->options.alone_rank : cuda->place.rank;
  cuda->world = cuda->alone ? world : cuda->place.world;
  if (cuda->alone && cuda->place.world > 1)
    return sl_fail(SL_ERR_INPUT, "one rank alone: the launcher started %d processes; expected one", cuda->place.world);
  if (cuda->rank < 0 || cuda->rank >= world)
    return sl_fail(SL_ERR_INPUT, "rank %d of a plan of %d ranks: expected 0 to %d", cuda->rank, world, world - 1);
  if (cuda->options.poison)
    return sl_fail(SL_ERR_INPUT, "poison is of the host backend; expected --backend host, or compute-sanitizer here");
  if (cuda->world == world) return SL_OK;
  return sl_fail(SL_ERR_INPUT, "the plan has %d ranks, but %d processes were started: run it with --world %d", world,
                 cuda->world, world);
}

static enum sl_status connect_ranks(struct sl_cuda *cuda) {
  SL_TRY(find_place(cuda));
  SL_TRY(sl_timeout_read(&cuda->timeout_s));
  const struct sl_cuda_place *p = &cuda->place;
  const bool spread = p->local_world < p->world;
  SL_TRY(sl_star_open(&cuda->star, p->rank, p->world, spread, p->host, p->port, cuda->timeout_s));
  return sl_cuda_watch_start(cuda);
}

static void know_place(struct sl_cuda *cuda) {
  cuda->coord = sl_plan_coord(cuda->job->plan, cuda->rank);
  cuda->rank_class = &cuda->job->classes[sl_job_class_of(cuda->job, cuda->rank)];
  cuda->workspace = sl_cuda_workspace_plan(cuda->rank_class);
  for (enum sl_group group = 0; group < SL_GROUP_COUNT; group++)
    cuda->members[group] = sl_plan_group(cuda->job->plan, group, cuda->rank);
}

static enum sl_status open_handles(struct sl_cuda *cuda) {
  SL_TRY(open_streams(cuda));
  SL_TRY(sl_cuda_marks_open(&cuda->marks));
  SL_TRY(sl_cuda_graphs_open(cuda));
  SL_TRY(sl_cuda_workspace_open(cuda));
  if (cuda->workspace.gemm_bytes > 0)
    SL_TRY(sl_cuda_gemm_open(&cuda->gemm, cuda->device, cuda->gemm_workspace, (size_t)cuda->workspace.gemm_bytes));
  SL_TRY(sl_cuda_helpers_open(cuda));
  return sl_cuda_noise_open(cuda);
}

static enum sl_status open_device(struct sl_cuda *cuda) {
  struct device_name name;
  SL_TRY(sl_cuda_agree(cuda, choose_device(cuda, &name)));
  SL_TRY(agree_sharing(cuda, &name));
  SL_TRY(sl_cuda_agree(cuda, sl_cuda_comms_prepare(cuda)));
  SL_TRY(in_turn(cuda, make_context, &cuda->context_bytes));
  SL_TRY(in_turn(cuda, open_handles, &cuda->context_bytes));
  /* all ranks allocate NCCL's memory at once, so ranks that share a device count an equal part each */
  const int64_t before = sl_cuda_used_bytes(cuda->device);
  SL_TRY(sl_cuda_agree(cuda, SL_OK));
  const enum sl_status opened = sl_cuda_comms_open(cuda);
  if (opened != SL_OK)
    return sl_cuda_die(cuda, opened); /* the other ranks may be inside NCCL, where they cannot take part in an
                                       * agreement */
  SL_TRY(sl_cuda_agree(cuda, SL_OK));
  const int64_t taken = sl_cuda_used_bytes(cuda->device) - before;
  cuda->context_bytes += cuda->shared ? taken / cuda->place.local_world : taken;
  SL_TRY(sl_cuda_agree(cuda, SL_OK)); /* no rank allocates its arena before all have measured */
  return SL_OK;
}

static enum sl_status set_control(struct sl_cuda *cuda) {
  const struct sl_buffer *b = &cuda->rank_class->buffers[cuda->rank_class->control];
  char *at = cuda->arena[b->space] + cuda->rank_class->slot_offsets[b->first_slot];
  struct sl_step_state control;
  sl_step_state_init(&control, cuda->job->plan->config);
  cuda->rules = sl_step_state_rules(cuda->job->plan->config);
  SL_CUDA_TRY(cudaMemcpy(at, &control, sizeof control, cudaMemcpyHostToDevice));
  SL_CUDA_TRY(cudaDeviceSynchronize()); /* lanes do not wait for the default stream, which cleared the arena */
  return SL_OK;
}

/* All ranks count time from one instant, so that their traces share a time axis and the first of their anomalies is
 * told. Ranks of a node share its clock and take the instant of the first of them; nodes have only the agreement in
 * common. */
static enum sl_status start_clock(struct sl_cuda *cuda) {
  struct start {
    struct node_name node;
    double epoch_s;
  } mine, *all;
  SL_TRY(sl_cuda_agree(cuda, sl_calloc(&all, (size_t)cuda->place.world, sizeof *all)));
  know_node(&mine.node);
  mine.epoch_s = cuda->epoch_s = sl_machine_clock();
  const enum sl_status status = sl_star_exchange(&cuda->star, &mine, sizeof mine, all);
  for (int i = cuda->place.world - 1; i >= 0 && status == SL_OK; i--)
    if (memcmp(&all[i].node, &mine.node, sizeof mine.node) == 0) cuda->epoch_s = all[i].epoch_s;
  free(all);
  return status;
}

static enum sl_status make_noise(struct sl_cuda *cuda) {
  const struct sl_class *c = cuda->rank_class;
  for (size_t i = 0; i < c->buffer_count; i++) {
    const struct sl_buffer *b = &c->buffers[i];
    const struct sl_philox_key key = {4711, SL_STREAM_DATA, 1, (uint32_t)i};
    if (b == &c->buffers[c->control] || b->dtype > SL_F16 || b->space == SL_SPACE_NVME) continue;
    char *at = cuda->arena[b->space] + c->slot_offsets[b->first_slot];
    const size_t n = (size_t)(b->bytes / sl_dtype_bytes(b->dtype));
    const int code = sl_cuda_philox_normal(NULL, (enum sl_number)b->dtype, at, &key, 0, n, 0, 0.5F);
    if (code != 0) return sl_cuda_failed("a kernel that makes noise", (cudaError_t)code);
  }
  SL_CUDA_TRY(cudaDeviceSynchronize());
  return SL_OK;
}

static enum sl_status open_local(struct sl_cuda *cuda) {
  SL_TRY(set_control(cuda));
  if (cuda->options.noise) SL_TRY(make_noise(cuda));
  SL_TRY(sl_input_open(&cuda->input, cuda->job->plan, &cuda->options));
  SL_TRY(sl_cuda_tensors_open(cuda));
  for (int kind = 0; kind < SL_PROGRAM_COUNT; kind++) {
    const size_t issues = cuda->rank_class->programs[kind].issue_count;
    SL_TRY(sl_calloc(&cuda->comm_bytes[kind], issues, sizeof *cuda->comm_bytes[kind]));
  }
  return SL_OK;
}

enum sl_status sl_cuda_open(struct sl_cuda **out, const struct sl_job *job, const struct sl_exec_options *options) {
  enum sl_status status;
  struct sl_cuda *cuda;
  SL_TRY(sl_calloc(&cuda, 1, sizeof *cuda));
  cuda->job = job;
  cuda->options = *options;
  cuda->call_hash = SL_HASH_CALLS;
  cuda->timeout_s = 60;
  atomic_flag_clear(&cuda->ending);
  SL_GO_FAIL(connect_ranks(cuda));
  know_place(cuda);
  SL_GO_FAIL(sl_cuda_agree(cuda, check_programs(cuda)));
  SL_GO_FAIL(open_device(cuda));
  int64_t arena = 0;
  SL_GO_FAIL(in_turn(cuda, sl_cuda_arena_open, &arena));
  SL_GO_FAIL(in_turn(cuda, sl_cuda_warm, &cuda->context_bytes));
  cuda->base_bytes = sl_cuda_used_bytes(cuda->device) - arena;
  cuda->peak_bytes = arena;
  SL_GO_FAIL(sl_cuda_agree(cuda, open_local(cuda)));
  SL_GO_FAIL(sl_cuda_graphs_agree(cuda));
  SL_GO_FAIL(start_clock(cuda));
  cuda->opened = true;
  sl_cuda_watch_phase(cuda, NULL);
  *out = cuda;
  return SL_OK;
fail:
  sl_cuda_close(cuda);
  return status;
}

void sl_cuda_close(struct sl_cuda *cuda) {
  if (!cuda) return;
  bool in_order = true;
  sl_cuda_watch_stop(cuda);
  /* the other ranks watch this one's connection until they close too */
  if (cuda->opened && cuda->place.world > 1) in_order = sl_star_agree(&cuda->star, SL_OK, NULL) == SL_OK;
  sl_tensors_close(&cuda->tensors);
  sl_input_close(&cuda->input);
  sl_cuda_graphs_close(cuda); /* NCCL keeps communicators that a graph uses alive until the graph is destroyed */
  sl_cuda_comms_close(cuda, in_order && cuda->opened);
  sl_cuda_gemm_close(cuda->gemm);
  sl_cuda_noise_close(cuda);
  sl_cuda_helpers_close(cuda);
  sl_cuda_marks_close(&cuda->marks);
  close_streams(cuda);
  if (cuda->rank_class) sl_cuda_memory_close(cuda);
  sl_traffic_free(&cuda->traffic);
  for (int kind = 0; kind < SL_PROGRAM_COUNT; kind++) free(cuda->comm_bytes[kind]);
  sl_star_close(&cuda->star);
  free(cuda);
}
