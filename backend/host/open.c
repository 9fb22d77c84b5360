/* Opens the host backend: MPI, groups, threads, warm-up, memory, input files. The order matters: memory that libraries
 * allocate for themselves must be resident before the process is measured and the arenas are mapped. */
#include "backend/host/host.h"

#include "backend/host/hold.h"
#include "backend/host/watch.h"
#include "core/base/launchers.h"
#include "core/base/machine.h"
#include "core/base/timeout.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>

/* MPI can be started only once per process, but a backend may be opened again, so MPI ends at exit, and only if
 * everything that was opened was closed properly: a rank that leaves early must not wait in MPI_Finalize, but let
 * mpirun end the job. */
static int open_count;

static double limit_s; /* of the backend opened last */

static void finalize(void) {
  int over = 0;
  MPI_Finalized(&over);
  if (over || open_count > 0) return;
  sl_host_watch_begin(limit_s, -1, "the end of MPI");
  MPI_Finalize();
  sl_host_watch_end();
}

static bool is_of_mpirun(void) {
  return getenv(sl_launchers[SL_LAUNCHER_OPEN_MPI].world) != NULL;
}

/* A process without mpirun needs no daemon, which would outlive it. If no launcher started it, it needs no session
 * folder either: Open MPI has one for all jobs of a user, and the end of one job may remove it while another begins to
 * use it. */
static void be_alone(void) {
  setenv("OMPI_MCA_ess_singleton_isolated", "1", 0);
  const bool launched = is_of_mpirun() || getenv(sl_launchers[SL_LAUNCHER_PMI].rank) != NULL || getenv("PMIX_RANK");
  if (!launched) setenv("OMPI_MCA_orte_create_session_dirs", "0", 0);
}

/* Open MPI reports every component that it could not open in its own words, so the limit on open files is checked
 * first. */
enum { MPI_FILES = 64 };

static enum sl_status check_files(void) {
  struct rlimit files;
  if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur >= MPI_FILES) return SL_OK;
  return sl_fail(SL_ERR_MEMORY, "too few open files (ulimit -n): the limit is %lld; MPI takes up to %d",
                 (long long)files.rlim_cur, MPI_FILES);
}

static void *nothing(void *unused) {
  return unused;
}

/* Where no thread can be started, Open MPI and OpenMP's runtime say so in their own words, and the latter exits. */
static enum sl_status check_threads(void) {
  struct rlimit most = {0};
  pthread_t thread;
  const int code = pthread_create(&thread, NULL, nothing, NULL);
  if (code == 0) return pthread_join(thread, NULL) == 0 ? SL_OK : sl_fail(SL_ERR_MEMORY, "a thread cannot be joined");
  (void)getrlimit(RLIMIT_NPROC, &most);
  return sl_fail(SL_ERR_MEMORY,
                 "no thread can be started: %s (ulimit -u: %lld); MPI and kernels have threads of their own",
                 strerror(code), (long long)most.rlim_cur);
}

static enum sl_status start_mpi(void) {
  int provided = MPI_THREAD_SINGLE;
  SL_TRY(check_files());
  SL_TRY(check_threads());
  be_alone();
  if (!is_of_mpirun()) sl_host_hold_begin();
  sl_host_watch_begin(limit_s, -1, "the start of MPI");
  const int said = MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided);
  sl_host_watch_end();
  sl_host_hold_end();
  if (said != MPI_SUCCESS) return sl_fail(SL_ERR_ABSENT, "MPI does not start");
  atexit(finalize);
  return SL_OK;
}

/* Whether there are more ranks on this node than cores that all of them together may use; mpirun can bind each rank to
 * a core of its own. */
static bool shares_cores(const struct sl_host *host) {
  unsigned char own[SL_MACHINE_MASK], all[SL_MACHINE_MASK] = {0};
  int ranks = host->world;
  MPI_Comm node;
  sl_machine_core_mask(own);
  sl_host_watch_begin(host->timeout_s, host->rank, "the start of the job");
  MPI_Comm_split_type(host->everyone, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Comm_size(node, &ranks);
  MPI_Allreduce(own, all, SL_MACHINE_MASK, MPI_BYTE, MPI_BOR, node);
  MPI_Comm_free(&node);
  sl_host_watch_end();
  return ranks > sl_machine_mask_cores(all);
}

static enum sl_status open_mpi(struct sl_host *host) {
  int ready = 0;
  MPI_Initialized(&ready);
  limit_s = host->timeout_s;
  if (!ready) SL_TRY(start_mpi());
  sl_host_watch_begin(limit_s, -1, "the start of the job"); /* all ranks take part in creating a communicator */
  MPI_Comm_dup(MPI_COMM_WORLD, &host->everyone);
  sl_host_watch_end();
  MPI_Comm_set_name(host->everyone, "everyone");
  MPI_Comm_rank(host->everyone, &host->rank);
  MPI_Comm_size(host->everyone, &host->world);
  const char *policy = getenv("OMP_WAIT_POLICY");
  host->shares_cores = shares_cores(host);
  host->sleeps_early = host->shares_cores || (policy != NULL && strcasecmp(policy, "passive") == 0);
  const int want = host->job->plan->world;
  if (host->world == want) return SL_OK;
  enum sl_status status =
      sl_fail(SL_ERR_INPUT, "the plan has %d ranks, but MPI started %d: run it with --world %d, or under mpirun -np %d",
              want, host->world, want, want);
  return sl_host_agree(host, status);
}

/* Which group classes the programs of any rank use, and which of them reduce. */
static void used_groups(const struct sl_job *job, bool used[SL_GROUP_COUNT], bool reduces[SL_GROUP_COUNT]) {
  for (int c = 0; c < job->class_count; c++) {
    for (int kind = 0; kind < SL_PROGRAM_COUNT; kind++) {
      const struct sl_program *program = &job->classes[c].programs[kind];
      for (size_t i = 0; i < program->op_count; i++) {
        const struct sl_op *op = &program->ops[i];
        if (op->group == SL_GROUP_NONE) continue;
        used[op->group] = true;
        reduces[op->group] |= (sl_op_moves(op->kind) & SL_MOVE_REDUCE) != 0;
      }
    }
  }
}

static enum sl_status split_groups(struct sl_host *host) {
  bool used[SL_GROUP_COUNT] = {false}, reduces[SL_GROUP_COUNT] = {false};
  used_groups(host->job, used, reduces);
  for (enum sl_group group = 0; group < SL_GROUP_COUNT; group++) {
    host->members[group] = sl_plan_group(host->job->plan, group, host->rank);
    if (!used[group]) continue;
    const struct sl_members *m = &host->members[group];
    SL_TRY(sl_comm_open(&host->groups[group], host->everyone, m->id, m->index, sl_group_name(group), reduces[group]));
    if (host->groups[group].size != m->size || host->groups[group].index != m->index)
      return sl_fail(SL_ERR_INTERNAL, "group %s: member %d of %d by MPI, %d of %d by the plan", sl_group_name(group),
                     host->groups[group].index, host->groups[group].size, m->index, m->size);
  }
  return sl_comm_open(&host->pipeline, host->everyone, 0, host->rank, "pipeline", false);
}

static enum sl_status open_groups(struct sl_host *host) {
  sl_host_watch_begin(host->timeout_s, host->rank, "the start of groups");
  const enum sl_status status = split_groups(host);
  sl_host_watch_end();
  return status;
}

/* --- memory and files --- */

/* Everything of our own outside the arenas: queues, and scratch for kernels whose op has none. */
static enum sl_status open_workspace(struct sl_host *host) {
  for (int kind = 0; kind < SL_PROGRAM_COUNT; kind++) {
    const struct sl_program *program = &host->rank_class->programs[kind];
    for (size_t i = 0; i < program->op_count; i++) {
      size_t bytes;
      SL_TRY(sl_host_supports(program, &program->ops[i], &bytes));
      if (bytes > host->scratch_bytes) host->scratch_bytes = bytes;
    }
  }
  host->scratch_bytes = (host->scratch_bytes + 4095) / 4096 * 4096;
  if (host->scratch_bytes) {
    host->scratch = aligned_alloc(4096, host->scratch_bytes);
    if (!host->scratch) return sl_fail(SL_ERR_MEMORY, "no memory for %zu bytes of scratch", host->scratch_bytes);
    memset(host->scratch, 0, host->scratch_bytes);
  }
  for (int lane = 0; lane < SL_LANE_COUNT; lane++)
    SL_TRY(sl_calloc(&host->lanes[lane].queue, SL_HOST_QUEUE, sizeof *host->lanes[lane].queue));
  for (int lane = 0; lane < SL_LANE_COUNT; lane++)
    SL_TRY(sl_calloc(&host->lanes[lane].ends, SL_HOST_QUEUE, sizeof *host->lanes[lane].ends));
  return SL_OK;
}

static enum sl_status open_local(struct sl_host *host) {
  const struct sl_class *c = host->rank_class;
  SL_TRY(open_workspace(host));
  SL_TRY(sl_input_open(&host->input, host->job->plan, &host->options));
  SL_TRY(sl_host_tensors_open(host));
  host->context_bytes = sl_host_process_bytes();
  SL_TRY(sl_host_arena_open(host));
  const struct sl_buffer *control = &c->buffers[c->control];
  host->control = (struct sl_step_state *)(host->arena[control->space] + c->slot_offsets[control->first_slot]);
  sl_step_state_init(host->control, host->job->plan->config);
  return SL_OK;
}

/* All ranks count time from one instant, so that their traces share a time axis. Ranks of a node share its clock and
 * take the instant of one of them; nodes have only the barrier in common. */
static void start_clock(struct sl_host *host) {
  MPI_Comm node;
  sl_host_watch_begin(host->timeout_s, host->rank, "the start of the clock");
  MPI_Comm_split_type(host->everyone, MPI_COMM_TYPE_SHARED, host->rank, MPI_INFO_NULL, &node);
  MPI_Barrier(host->everyone);
  host->epoch_s = sl_machine_clock();
  MPI_Bcast(&host->epoch_s, 1, MPI_DOUBLE, 0, node);
  sl_host_board_open(host, node);
  MPI_Comm_free(&node);
  sl_host_watch_end();
}

enum sl_status sl_host_open(struct sl_host **out, const struct sl_job *job, const struct sl_exec_options *options) {
  enum sl_status status;
  struct sl_host *host;
  SL_TRY(sl_calloc(&host, 1, sizeof *host));
  host->job = job;
  host->options = *options;
  host->everyone = MPI_COMM_NULL;
  host->call_hash = SL_HASH_CALLS;
  SL_GO_FAIL(sl_timeout_read(&host->timeout_s)); /* from the environment, which is the same on all ranks */
  SL_GO_FAIL(open_mpi(host));
  host->coord = sl_plan_coord(job->plan, host->rank);
  host->rank_class = &job->classes[sl_job_class_of(job, host->rank)];
  SL_GO_FAIL(sl_host_agree(host, open_groups(host)));
  SL_GO_FAIL(sl_host_agree(host, sl_host_warm_up(host)));
  SL_GO_FAIL(sl_host_agree(host, open_local(host)));
  start_clock(host);
  open_count++;
  host->opened = true;
  *out = host;
  return SL_OK;
fail:
  sl_host_close(host);
  return status;
}

void sl_host_close(struct sl_host *host) {
  if (!host) return;
  sl_tensors_close(&host->tensors);
  sl_input_close(&host->input);
  sl_host_poison_close(host);
  sl_host_arena_close(host);
  sl_host_board_close(host);
  for (int lane = 0; lane < SL_LANE_COUNT; lane++)
    free(host->lanes[lane].queue), free(host->lanes[lane].ends), free(host->lanes[lane].parts);
  sl_traffic_free(&host->traffic);
  free(host->scratch);
  sl_host_watch_begin(host->timeout_s, host->rank, "the end of groups");
  for (enum sl_group group = 0; group < SL_GROUP_COUNT; group++) sl_comm_close(&host->groups[group]);
  sl_comm_close(&host->pipeline);
  if (host->everyone != MPI_COMM_NULL) MPI_Comm_free(&host->everyone);
  sl_host_watch_end();
  if (host->opened) open_count--;
  free(host);
}
