/* Inside the cuda backend: the state of one rank's process, and what its files offer each other.
 *
 *   exec.c       the table that core calls: a program's begin and end, completions
 *   put.c        an op onto its stream
 *   open.c       meeting, device, communicators, memory, input: everything that can fail early
 *   errors.c     what a failed call is told as, and which op it was for
 *   agree.c      all ranks are well, or the job ends
 *   place.c      the launcher's environment           (no CUDA)
 *   comm/rendezvous.c       ranks among themselves over TCP      (no CUDA)
 *   events.c     streams and events of a program      (no CUDA)
 *   links.c      communicators of the pipeline        (no CUDA)
 *   workspace.c  memory beside the arenas             (no CUDA)
 *   memory.c     arenas, and what the device says is used
 *   comm.c       NCCL communicators: id, splits, first connections
 *   collect.c    communication ops as NCCL calls
 *   loopback.c   the same for one rank alone of a large plan: noise for what peers would send
 *   operand.c    where the operands of an op stand
 *   dispatch.c   compute ops as kernel launches
 *   gemm.c       matrix products: cuBLASLt
 *   graph.c      a step recorded once and launched as one graph
 *   marks.c      which op of a program failed, when the device tells it late
 *   warm.c       every compute op once, before peers wait for each other
 *   tensor.c     the device's memory behind backend/common/tensor.h, and micro-batches through pinned memory
 *   helpers.c    threads for what the GPU does not run: updates on the CPU, and NVMe (backend/common/nvme.h)
 *   watch.c      the thread that ends a job whose peer is dead, whose NCCL fails or that stands still
 *   phase.c      what that thread is told of where the main thread stands
 *
 * The host issues a whole program ahead and waits at its end only; nothing inside a step asks the host. */
#pragma once

#include "backend/common/call.h"
#include "backend/common/input.h"
#include "backend/common/streams.h"
#include "backend/common/tensor.h"
#include "backend/cuda/comm/links.h"
#include "backend/cuda/comm/rendezvous.h"
#include "backend/cuda/events.h"
#include "backend/cuda/graph.h"
#include "backend/cuda/helpers.h"
#include "backend/cuda/marks.h"
#include "backend/cuda/place.h"
#include "backend/cuda/workspace.h"
#include "core/program/step_state.h"
#include "core/run/executor.h"
#include "core/run/traffic.h"

#include <cuda_runtime_api.h>
#include <nccl.h>
#include <pthread.h>
#include <stdatomic.h>

/* Return the failure of a CUDA or NCCL call, with the call's name. */
#define SL_CUDA_TRY(e)                                                                                                 \
  do {                                                                                                                 \
    const cudaError_t cuda_code_ = (e);                                                                                \
    if (cuda_code_ != cudaSuccess) return sl_cuda_failed(#e, cuda_code_);                                              \
  } while (0)
#define SL_NCCL_TRY(e)                                                                                                 \
  do {                                                                                                                 \
    const ncclResult_t nccl_code_ = (e);                                                                               \
    if (nccl_code_ != ncclSuccess) return sl_cuda_nccl_failed(#e, nccl_code_);                                         \
  } while (0)

struct sl_cuda_comm {
  ncclComm_t nccl; /* NULL for a group of one, or one that no op uses */
  int size, index;
};

struct sl_cuda_comms {
  ncclComm_t world; /* NULL in a world of one */
  struct sl_cuda_comm groups[SL_GROUP_COUNT];
  struct sl_cuda_links plan;
  ncclComm_t *links; /* one per link of the plan, NULL where this rank is at neither end; owned */
};

struct sl_cuda;

/* What the watch thread looks at. Times are of sl_machine_clock. */
struct sl_cuda_watch {
  pthread_t thread;
  bool started;
  atomic_bool stop;
  pthread_mutex_t lock; /* of what follows */
  const char *phase;    /* what the main thread is about when no program runs */
  bool running;         /* a program's events are to be looked at */
  uint32_t looked;      /* issues before it have no event, or a complete one */
  uint32_t issued;      /* as last seen */
  double moved_s;       /* when something last got further */
};

struct sl_cuda_gemm;
struct sl_cuda_noise;

struct sl_cuda {
  const struct sl_job *job;
  struct sl_exec_options options;
  const struct sl_class *rank_class;
  int rank, world; /* of the plan */
  struct sl_coord coord;
  struct sl_members members[SL_GROUP_COUNT];
  bool alone; /* one rank of a large plan, its communication looped back */
  /* the job's processes */
  struct sl_cuda_place place;
  struct sl_star star;
  struct sl_cuda_watch watch;
  double timeout_s, epoch_s;
  /* the device */
  int device;
  bool shared; /* two ranks of the job, these or others, use one device */
  struct sl_cuda_comms comms;
  cudaStream_t lanes[SL_LANE_COUNT]; /* NULL: no program has ops there */
  struct sl_cuda_events plans[SL_PROGRAM_COUNT];
  cudaEvent_t *events; /* event_count of the largest plan; owned */
  int event_count;
  cudaEvent_t *times; /* two per issue of the largest program that was timed; owned */
  size_t time_count;
  cudaEvent_t base, ends[SL_LANE_COUNT];
  struct sl_cuda_gemm *gemm;
  struct sl_cuda_noise *noise;
  struct sl_cuda_marks marks;
  struct sl_cuda_graphs graphs;
  bool opened;        /* to the end */
  atomic_flag ending; /* a thread of this process ends it, and speaks */
  /* memory */
  char *arena[SL_SPACE_COUNT]; /* device; the host's is pinned; NVMe's is its file, mapped */
  int64_t arena_bytes[SL_SPACE_COUNT];
  struct sl_nvme *nvme; /* behind the arena of that space; NULL without one; owned */
  struct sl_cuda_helpers helpers;
  struct sl_cuda_workspace workspace;
  char *gemm_workspace, *scratch; /* device */
  char *staging;                  /* pinned */
  int64_t staged;                 /* bytes of it that copies of this program read */
  char *values;                   /* pinned */
  struct sl_step_rules rules;
  int64_t base_bytes, context_bytes, peak_bytes;
  /* input and output */
  struct sl_input input;
  struct sl_tensors tensors;
  cudaStream_t tensor_stream; /* of the op that moves values */
  /* the program that runs */
  enum sl_program_kind kind;
  const struct sl_program *program;
  int64_t step;
  bool timed, ended;
  double base_s, end_s, event_s; /* event_s: what an event takes on its stream */
  atomic_uint issued;
  uint32_t reported;
  const struct sl_instance *named;       /* whose name the open NVTX range bears */
  int64_t *comm_bytes[SL_PROGRAM_COUNT]; /* per issue: what its NCCL calls moved, in nccl-tests' count; owned */
  struct sl_traffic_list traffic;
  struct sl_anomaly anomaly; /* of the running program, with options.detect_anomaly */
  uint64_t call_hash;
};

/* errors.c */
enum sl_status sl_cuda_failed(const char *call, cudaError_t code);
enum sl_status sl_cuda_nccl_failed(const char *call, ncclResult_t code);
/* For closing: what a call that gives something back answers is told as a warning, and the closing goes on. Nothing is said
 * after a failure that is recorded: a lost device fails every call. */
void sl_cuda_release(const char *call, cudaError_t code);
/* "#12 all_reduce of group dp (member 1 of 4) on lane dp in action 0B3" */
void sl_cuda_describe(const struct sl_cuda *cuda, const struct sl_program *program, uint32_t issue, char *out,
                      size_t size);
/* Put that before the recorded message, of a call that failed for this op: what a library says does not name it. It
 * stands first, for a long message reaches the peers cut short. Returns `status`. */
enum sl_status sl_cuda_name_op(const struct sl_cuda *cuda, const struct sl_program *program, uint32_t issue,
                               enum sl_status status);

/* agree.c */
/* Collective, as sl_star_agree; the ranks that did not fail end in silence. */
enum sl_status sl_cuda_agree(struct sl_cuda *cuda, enum sl_status mine);
/* End the job with the recorded message: said once, told to the other ranks. Returns `status` in a world of one. */
enum sl_status sl_cuda_die(struct sl_cuda *cuda, enum sl_status status);
/* One thread ends the process and tells why: the first that asks. Others never return. */
void sl_cuda_claim_end(struct sl_cuda *cuda);

/* open.c. On failure nothing is held. */
enum sl_status sl_cuda_open(struct sl_cuda **out, const struct sl_job *job, const struct sl_exec_options *options);
void sl_cuda_close(struct sl_cuda *cuda); /* accepts a half-built one */
/* SL_ERR_ABSENT with the reason where no GPU can be used. */
enum sl_status sl_cuda_probe(int *devices);
/* The rest of what is said of the first device. */
enum sl_status sl_cuda_describe_device(struct sl_exec_devices *out);

/* memory.c */
/* Bytes of the device that are used, by whomever; 0 where nobody says. */
int64_t sl_cuda_used_bytes(int device);
/* "580.159.04"; `out` stays where nobody says. */
void sl_cuda_driver_version(char *out, size_t size);
enum sl_status sl_cuda_arena_open(struct sl_cuda *cuda);
enum sl_status sl_cuda_workspace_open(struct sl_cuda *cuda);
void sl_cuda_memory_close(struct sl_cuda *cuda);

/* comm.c */
/* Before CUDA and NCCL start: several ranks of one GPU must look like as many hosts (no duplicate-GPU check, sockets). */
enum sl_status sl_cuda_comms_prepare(struct sl_cuda *cuda);
enum sl_status sl_cuda_comms_open(struct sl_cuda *cuda);
void sl_cuda_comms_close(struct sl_cuda *cuda, bool in_order);
/* The first failure that NCCL reports of itself, SL_OK when none; from any thread. */
enum sl_status sl_cuda_comms_poll(const struct sl_cuda *cuda);

/* collect.c, loopback.c: put a communication op on `stream`; *bytes is its size as nccl-tests counts it. */
enum sl_status sl_cuda_collect(struct sl_cuda *cuda, cudaStream_t stream, const struct sl_issued *it, int64_t *bytes);
enum sl_status sl_cuda_noise_open(struct sl_cuda *cuda);
void sl_cuda_noise_close(struct sl_cuda *cuda);
enum sl_status sl_cuda_loop_back(struct sl_cuda *cuda, cudaStream_t stream, const struct sl_issued *it, int64_t *bytes);

/* operand.c */
/* What decoding an op needs to know of this rank; it borrows from `cuda`. */
struct sl_call_rank sl_cuda_call_rank(const struct sl_cuda *cuda);
/* The memory that operand `i` stands in. */
enum sl_space sl_cuda_space(const struct sl_issued *it, int i);
/* Address of operand `i`. */
void *sl_cuda_operand(const struct sl_cuda *cuda, const struct sl_issued *it, int i);

/* dispatch.c */
enum sl_status sl_cuda_run(struct sl_cuda *cuda, cudaStream_t stream, const struct sl_issued *it);
/* With options.detect_anomaly, when the compute op `it` is on its stream: wait for it, and cuda->anomaly. What a collective
 * brings is met in the op that reads it: to wait for one would keep its members from each other. */
enum sl_status sl_cuda_look(struct sl_cuda *cuda, cudaStream_t stream, const struct sl_issued *it);
/* An op of a kind that the GPU cannot run is SL_ERR_INPUT. */
enum sl_status sl_cuda_supports(const struct sl_op *op);

/* warm.c: after the arena is there and nothing runs; leaves it cleared. */
enum sl_status sl_cuda_warm(struct sl_cuda *cuda);

/* put.c: an op onto its lane, behind the events that it waits for; the program has no more of them. */
enum sl_status sl_cuda_put(struct sl_cuda *cuda, const struct sl_issued *it);
void sl_cuda_put_end(struct sl_cuda *cuda);

/* gemm.c */
struct sl_cuda_product {
  int64_t m, n, k; /* c (m,n) = op(a) op(b), row-major and dense */
  bool trans_a, trans_b, add;
  bool tf32;         /* of fp32 factors: SL_TF32 */
  unsigned epilogue; /* of the op's flags SL_OP_BIAS, SL_OP_GELU, SL_OP_DGELU, SL_OP_BGRAD_A, _B */
  enum sl_dtype type, out_type, bias_type; /* of a and b; of c and aux; of bias or dbias */
  const void *a, *b;
  void *c;
  void *bias; /* (n), read; or dbias, written: (m) of a's rows, (n) of b's */
  void *aux;  /* (m,n): written with SL_OP_GELU, read with SL_OP_DGELU */
};
enum sl_status sl_cuda_gemm_open(struct sl_cuda_gemm **out, void *workspace, size_t workspace_bytes);
/* SL_DONE: cuBLASLt has no product with this epilogue, and nothing was launched; it has all without. */
enum sl_status sl_cuda_gemm_run(struct sl_cuda_gemm *gemm, cudaStream_t stream, const struct sl_cuda_product *p);
void sl_cuda_gemm_close(struct sl_cuda_gemm *gemm);
size_t sl_cuda_gemm_version(void); /* cuBLASLt's, such as 130002 */

/* tensor.c */
enum sl_status sl_cuda_tensors_open(struct sl_cuda *cuda);
enum sl_status sl_cuda_init_tensor(struct sl_cuda *cuda, cudaStream_t stream, const struct sl_issued *it);
enum sl_status sl_cuda_save_tensor(struct sl_cuda *cuda, cudaStream_t stream, const struct sl_issued *it);
enum sl_status sl_cuda_load_batch(struct sl_cuda *cuda, cudaStream_t stream, const struct sl_issued *it);

/* watch.c */
enum sl_status sl_cuda_watch_start(struct sl_cuda *cuda);
void sl_cuda_watch_stop(struct sl_cuda *cuda);

/* phase.c */
/* The main thread is about `phase` now, without a program; its time-out starts anew. */
void sl_cuda_watch_phase(struct sl_cuda *cuda, const char *phase);
/* A program starts, or is over. */
void sl_cuda_watch_program(struct sl_cuda *cuda, bool running);

/* exec.c: what the module exports. */
const struct sl_exec_ops *sl_exec_module(void);
