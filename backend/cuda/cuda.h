/* Internal header of the CUDA backend: the state of one rank's process, and the functions that its files share.
 *
 *   exec.c        the executor table that core calls: begin and end of a program, completions
 *   put.c         enqueues an op on its stream
 *   open.c        rendezvous, device, communicators, memory, input: everything that can fail early
 *   errors.c      the messages of failed calls, and the op that each was made for
 *   agree.c       ends the job unless all ranks succeeded
 *   place.c       reads the launcher's environment           (no CUDA)
 *   events.c      the streams and events of a program        (no CUDA)
 *   workspace.c   sizes of the memory outside the arenas     (no CUDA)
 *   memory.c      arenas and workspace, and the device's used memory as the driver reports it
 *   operand.c     where the operands of an op are in memory
 *   dispatch.c    compute ops as kernel launches
 *   control_step.cu  the step's control op as a kernel
 *   gemm.c        matrix products by cuBLASLt
 *   graph.c       a step that is recorded once and launched as one CUDA graph
 *   marks.c       finds which op of a program failed, when the device reports it late; the kernel is in mark.cu
 *   warm.c        runs every compute op once, before ranks wait for each other
 *   tensor.c      device memory behind backend/common/tensor.h, and micro-batches through pinned memory
 *   helpers.c     threads for ops that the GPU does not run: updates on the CPU, and NVMe (backend/common/nvme.h)
 *   comm/rendezvous.c  rendezvous of the ranks over TCP      (no CUDA)
 *   comm/links.c       plans the pipeline's communicators    (no CUDA)
 *   comm/comm.c        NCCL communicators: id, splits, first connections
 *   comm/collect.c     communication ops as NCCL calls
 *   comm/loopback.c    the same for one rank of a large plan that runs alone: noise replaces what peers would send
 *   comm/watch.c       the thread that ends the job if a peer dies, NCCL fails or there is no progress
 *   comm/phase.c       tells that thread what the main thread is doing
 *
 * The host issues a whole program ahead and waits only at its end. Within a step the GPU waits for the host only in ops
 * that helpers.c runs, and the host for the GPU only where options.detect_anomaly asks for a check of each op. */
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

/* State of the watch thread. Times are those of sl_machine_clock. */
struct sl_cuda_watch {
  pthread_t thread;
  bool started;
  atomic_bool stop;
  pthread_mutex_t lock; /* protects the fields below */
  const char *phase;    /* what the main thread is doing when no program runs */
  bool running;         /* a program runs whose events are to be checked */
  uint32_t looked;      /* all earlier issues have no event, or a complete one */
  uint32_t issued;      /* as last seen */
  double moved_s;       /* time of the last progress */
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
  bool shared; /* some two ranks of the job use one device */
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
  bool opened;        /* open succeeded completely */
  atomic_flag ending; /* a thread is ending this process and reports why */
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
/* Checks a call that releases a resource: a failure becomes a warning, and closing goes on. There is no warning after a
 * recorded failure, because after the loss of a device every call fails. */
void sl_cuda_release(const char *call, cudaError_t code);
/* "#12 all_reduce of group dp (member 1 of 4) on lane dp in action 0B3" */
void sl_cuda_describe(const struct sl_cuda *cuda, const struct sl_program *program, uint32_t issue, char *out,
                      size_t size);
/* Puts that description in front of the recorded message of a call that failed for this op, since a library's
 * message does not name the op. It comes first because long messages are truncated on their way to the peers.
 * Returns `status`. */
enum sl_status sl_cuda_name_op(const struct sl_cuda *cuda, const struct sl_program *program, uint32_t issue,
                               enum sl_status status);

/* agree.c */
/* Collective, as sl_star_agree; ranks that did not fail end without a message. */
enum sl_status sl_cuda_agree(struct sl_cuda *cuda, enum sl_status mine);
/* Ends the job: prints the recorded message once and sends it to the other ranks. Returns `status` in a world of
 * one. */
enum sl_status sl_cuda_die(struct sl_cuda *cuda, enum sl_status status);
/* Lets one thread end the process and report why: it returns to the first caller only, and never to later ones. */
void sl_cuda_claim_end(struct sl_cuda *cuda);

/* open.c. On failure nothing stays allocated. */
enum sl_status sl_cuda_open(struct sl_cuda **out, const struct sl_job *job, const struct sl_exec_options *options);
void sl_cuda_close(struct sl_cuda *cuda); /* accepts a half-built one */
/* SL_ERR_ABSENT with the reason where no GPU can be used. */
enum sl_status sl_cuda_probe(int *devices);
/* Fills in the remaining fields about the first device. */
enum sl_status sl_cuda_describe_device(struct sl_exec_devices *out);

/* memory.c */
/* Bytes of the device's memory in use by all processes; 0 where they cannot be queried. */
int64_t sl_cuda_used_bytes(int device);
/* Writes the driver's version, such as "580.159.04"; `out` is unchanged where it cannot be queried. */
void sl_cuda_driver_version(char *out, size_t size);
enum sl_status sl_cuda_arena_open(struct sl_cuda *cuda);
enum sl_status sl_cuda_workspace_open(struct sl_cuda *cuda);
void sl_cuda_memory_close(struct sl_cuda *cuda);

/* comm.c */
/* Call before CUDA and NCCL start. Ranks that share a GPU must look to NCCL like ranks on different hosts, so that it
 * skips its check for duplicate GPUs and uses sockets. */
enum sl_status sl_cuda_comms_prepare(struct sl_cuda *cuda);
enum sl_status sl_cuda_comms_open(struct sl_cuda *cuda);
void sl_cuda_comms_close(struct sl_cuda *cuda, bool in_order);
/* The first asynchronous error that NCCL reports, SL_OK if none. May be called from any thread. */
enum sl_status sl_cuda_comms_poll(const struct sl_cuda *cuda);

/* collect.c, loopback.c: enqueue a communication op on `stream`; *bytes is its size as nccl-tests counts it. */
enum sl_status sl_cuda_collect(struct sl_cuda *cuda, cudaStream_t stream, const struct sl_issued *it, int64_t *bytes);
enum sl_status sl_cuda_noise_open(struct sl_cuda *cuda);
void sl_cuda_noise_close(struct sl_cuda *cuda);
enum sl_status sl_cuda_loop_back(struct sl_cuda *cuda, cudaStream_t stream, const struct sl_issued *it, int64_t *bytes);

/* operand.c */
/* The rank as the decoder of ops (backend/common/call.h) needs it; borrows from `cuda`. */
struct sl_call_rank sl_cuda_call_rank(const struct sl_cuda *cuda);
/* The memory space that holds operand `i`. */
enum sl_space sl_cuda_space(const struct sl_issued *it, int i);
/* Address of operand `i`. */
void *sl_cuda_operand(const struct sl_cuda *cuda, const struct sl_issued *it, int i);

/* dispatch.c */
enum sl_status sl_cuda_run(struct sl_cuda *cuda, cudaStream_t stream, const struct sl_issued *it);
/* With options.detect_anomaly, call after the compute op `it` was enqueued: waits for it, checks its results and
 * updates cuda->anomaly. Results of a collective are checked in the op that reads them, because waiting for the
 * collective could keep its members from reaching it. */
enum sl_status sl_cuda_look(struct sl_cuda *cuda, cudaStream_t stream, const struct sl_issued *it);
/* SL_ERR_INPUT for a kind of op that the GPU cannot run. */
enum sl_status sl_cuda_supports(const struct sl_op *op);

/* warm.c: call when the arena is allocated and nothing runs; leaves the arena zeroed. */
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
  enum sl_dtype type, b_type, out_type, bias_type; /* of a; of b; of c and aux; of bias or dbias */
  const void *scale_a, *scale_b; /* of factors in 8 bits: floats in device memory that multiply the product */
  const void *a, *b;
  void *c;
  void *bias; /* (n), read; or dbias, written: (m) of a's rows, (n) of b's */
  void *aux;  /* (m,n): written with SL_OP_GELU, read with SL_OP_DGELU */
};
enum sl_status sl_cuda_gemm_open(struct sl_cuda_gemm **out, int device, void *workspace, size_t workspace_bytes);
/* The product without its epilogue, and a kernel in the epilogue's place. */
struct sl_cuda_apart {
  enum sl_status (*run)(const void *of, const struct sl_cuda_product *p);
  const void *of;
};
/* Runs a product; one with more of an epilogue than a bias as apart->run does, where cuBLASLt does not support it, or
 * was slower when both were timed. `apart` may be NULL: SL_DONE then, with nothing launched, if cuBLASLt does not
 * support the epilogue. */
enum sl_status sl_cuda_gemm_run(struct sl_cuda_gemm *gemm, cudaStream_t stream, const struct sl_cuda_product *p,
                                const struct sl_cuda_apart *apart);
/* Whether products that are met for the first time may be run again and again, to find their fastest algorithm; accepts
 * NULL. */
void sl_cuda_gemm_time(struct sl_cuda_gemm *gemm, bool timing);
void sl_cuda_gemm_close(struct sl_cuda_gemm *gemm); /* accepts NULL and a half-built one */
size_t sl_cuda_gemm_version(void);                  /* cuBLASLt's, such as 130002 */
/* SL_ERR_INPUT for a product in fp8 that a device of this compute capability (90: sm_90), or cuBLASLt, does not have. */
enum sl_status sl_cuda_gemm_supports(const struct sl_op *op, int capability);

/* tensor.c */
enum sl_status sl_cuda_tensors_open(struct sl_cuda *cuda);
enum sl_status sl_cuda_init_tensor(struct sl_cuda *cuda, cudaStream_t stream, const struct sl_issued *it);
enum sl_status sl_cuda_save_tensor(struct sl_cuda *cuda, cudaStream_t stream, const struct sl_issued *it);
enum sl_status sl_cuda_load_batch(struct sl_cuda *cuda, cudaStream_t stream, const struct sl_issued *it);

/* watch.c */
enum sl_status sl_cuda_watch_start(struct sl_cuda *cuda);
void sl_cuda_watch_stop(struct sl_cuda *cuda);

/* phase.c */
/* The main thread starts `phase`, outside of any program; the timeout restarts. */
void sl_cuda_watch_phase(struct sl_cuda *cuda, const char *phase);
/* A program starts, or is over. */
void sl_cuda_watch_program(struct sl_cuda *cuda, bool running);

/* exec.c: what the module exports. */
const struct sl_exec_ops *sl_exec_module(void);
