/* Internal header of the host backend: the state of one rank's process, and the functions that its files share.
 *
 *   exec.c      the executor table that core calls: queues, readiness, completions
 *   open.c      MPI, groups, memory, input files: everything that can fail early
 *   agree.c     checks that all ranks succeeded, or ends the job
 *   wait.c      how a rank waits for others, and for how long
 *   warm.c      starts threads, and makes libraries allocate their memory
 *   arena.c     the arenas, and the process's memory use as the operating system reports it
 *   poison.c    fills unused bytes with NaN, a debugging aid
 *   board.c     what each rank of this machine did last, for the message of a hang
 *   collect.c   communication ops as calls of comm.h
 *   link.c      copies between device and host memory, limited to the rate of a link, and to and from NVMe
 *               (backend/common/nvme.h)
 *   dispatch.c  compute ops as calls of kernels/ and of product.c
 *   product.c   matrix products: OpenBLAS, one block of the result per thread
 *   tensor.c    the memory behind backend/common/tensor.h; input is backend/common/input.h
 *
 * A single thread runs compute ops and makes progress on communication between them. */
#pragma once

#include "backend/common/call.h"
#include "backend/common/input.h"
#include "backend/common/nvme.h"
#include "backend/common/streams.h"
#include "backend/common/tensor.h"
#include "backend/host/comm.h"
#include "core/program/step_state.h"
#include "core/run/executor.h"
#include "core/run/traffic.h"

enum { SL_HOST_QUEUE = 1024 }; /* ops that wait in one lane; a power of two */

struct sl_host_lane {
  struct sl_issued *queue; /* SL_HOST_QUEUE of them, a ring; owned */
  uint32_t head, tail;     /* counts of ops taken out and put in; they wrap together */
  uint32_t complete;       /* completed ops of this pass over the program */
  double *ends;            /* SL_HOST_QUEUE of them: when op i of this pass was complete, at i % SL_HOST_QUEUE; owned */
  bool running;            /* the head is a communication op, or a copy between memories, in flight */
  double start_s;
  double link_from_s, link_until_s; /* of the newest copy: when the link carries it */
  double copied_s;                  /* when its bytes were there */
  struct sl_comm *comm;             /* of the running op */
  struct sl_comm_request request;
  struct sl_nvme_request io;  /* of a running copy to or from NVMe */
  struct sl_comm_part *parts; /* owned */
  size_t part_capacity;
};

struct sl_host {
  const struct sl_job *job;
  struct sl_exec_options options;
  const struct sl_class *rank_class;
  int rank, world;
  bool shares_cores; /* the node has fewer cores than ranks */
  bool sleeps_early; /* waiting soon becomes sleeping: ranks share cores, or OMP_WAIT_POLICY is passive */
  struct sl_coord coord;
  /* MPI */
  bool opened; /* open succeeded completely, so MPI can be finalised on close */
  MPI_Comm everyone;
  struct sl_comm groups[SL_GROUP_COUNT]; /* size 0: no op uses the class */
  struct sl_comm pipeline;               /* sends and receives, by rank */
  struct sl_members members[SL_GROUP_COUNT];
  /* memory */
  char *arena[SL_SPACE_COUNT];
  int64_t arena_bytes[SL_SPACE_COUNT];
  struct sl_nvme *nvme; /* behind the arena of that space; NULL without one; owned */
  char *scratch;        /* for kernels whose op has no workspace operand */
  size_t scratch_bytes;
  int64_t context_bytes, peak_bytes; /* of the process: before the arenas; the largest seen since */
  struct sl_step_state *control;
  struct sl_anomaly anomaly;     /* of the running program, with options.detect_anomaly */
  struct sl_host_poison *poison; /* NULL without options.poison; owned */
  /* input and output */
  struct sl_input input;
  struct sl_tensors tensors;
  /* the program that runs */
  enum sl_program_kind kind;
  int64_t step;    /* of an evaluation: its batch */
  int64_t trained; /* the step that began last */
  struct sl_host_lane lanes[SL_LANE_COUNT];
  struct sl_traffic_list traffic;
  uint64_t call_hash;
  double epoch_s, begun_s, last_move_s, timeout_s; /* begun_s: the program that runs */
  struct sl_host_board *board;                     /* NULL: none; owned */
};

/* agree.c */
/* Reports the error once for the whole job and ends every rank. In a job of one process it returns `status`. */
enum sl_status sl_host_die(const struct sl_host *host, enum sl_status status);
/* Collective: returns SL_OK when all ranks pass SL_OK. Otherwise the lowest failing rank reports its message and ends
 * the job while the others wait for that. A job of one process gets its own status back. */
enum sl_status sl_host_agree(struct sl_host *host, enum sl_status mine);

/* wait.c */
/* Seconds without progress after which this rank gives up. A rank that is gone stops all others at once; lower ranks
 * time out first, so that one rank reports and ends the job. */
double sl_host_patience(const struct sl_host *host);
/* Waits a moment after nothing has moved for `still_s` seconds. Where ranks share cores, or OMP_WAIT_POLICY is passive,
 * the rank yields its core a few times and then sleeps, because yielding costs as much of the core as work does.
 * Elsewhere it sleeps only after a long wait. It sleeps a thousandth of the time that it has waited, up to a
 * millisecond, so that a rank that waits for one that is gone or stopped leaves the core to others. */
void sl_host_wait_a_little(const struct sl_host *host, int waits, double still_s);
/* Waits for a nonblocking MPI call in which all ranks take part. SL_ERR_PEER if it does not end in time: the error
 * names `what` and the ranks that do not answer. */
enum sl_status sl_host_meet(struct sl_host *host, MPI_Request *request, const char *what);

/* open.c. On failure nothing stays allocated. */
enum sl_status sl_host_open(struct sl_host **out, const struct sl_job *job, const struct sl_exec_options *options);
void sl_host_close(struct sl_host *host); /* accepts a half-built one */

/* warm.c: starts threads and makes libraries allocate the memory that they take at first use. Collective. */
enum sl_status sl_host_warm_up(struct sl_host *host);

/* arena.c */
enum sl_status sl_host_arena_open(struct sl_host *host);
void sl_host_arena_close(struct sl_host *host);
/* Fills all bytes of the device arena that belong to no persistent buffer with NaN. */
void sl_host_arena_poison(struct sl_host *host);
/* Bytes of resident anonymous and shared memory of this process; 0 where the system does not report them. */
int64_t sl_host_process_bytes(void);

/* poison.c. Called when the program host->kind begins, and when its op `issue` is complete. */
enum sl_status sl_host_poison_begin(struct sl_host *host);
void sl_host_poison_complete(struct sl_host *host, uint32_t issue);
void sl_host_poison_close(struct sl_host *host);

/* collect.c */
enum sl_status sl_host_comm_start(struct sl_host *host, struct sl_host_lane *lane, const struct sl_issued *it);
enum sl_status sl_host_comm_count(struct sl_host *host, const struct sl_host_lane *lane, const struct sl_issued *it,
                                  double end_s);

/* link.c. A copy between memories: start the copy `it` at the head of `lane`, whose waits are complete; make progress
 * on it; count it when it is complete. */
enum sl_status sl_host_link_start(struct sl_host *host, struct sl_host_lane *lane, const struct sl_issued *it);
enum sl_status sl_host_link_drive(struct sl_host *host, struct sl_host_lane *lane, double now_s, bool *over,
                                  bool *moved);
enum sl_status sl_host_link_count(struct sl_host *host, const struct sl_host_lane *lane, const struct sl_issued *it,
                                  double end_s);
/* board.c: what each rank of this machine did last, for the message of a hang. Open is collective among these ranks and
 * cannot fail: without shared memory there is no board. The others record that a program begins (host->kind, ->step);
 * that this rank is looking for work at this second of the machine's clock; that the message at the head of `lane`
 * begins; and that an op of the lane, already counted in lane->complete, is finished. */
void sl_host_board_open(struct sl_host *host, MPI_Comm node);
void sl_host_board_close(struct sl_host *host);
void sl_host_board_begin(struct sl_host *host);
void sl_host_board_beat(struct sl_host *host, double now_s);
void sl_host_board_enter(struct sl_host *host, const struct sl_host_lane *lane);
void sl_host_board_finish(struct sl_host *host, const struct sl_host_lane *lane, uint32_t issue);
/* Writes to `text` which ranks `it` waits for, whether it runs or waits for earlier ops, and what each rank finished
 * last; "" without a board. Without an op (NULL, false) it names the ranks that do not answer. */
void sl_host_board_tell(const struct sl_host *host, const struct sl_issued *it, bool running, char *text, size_t size);

/* dispatch.c */
/* The rank as the decoder of ops (backend/common/call.h) needs it; borrows from `host`. */
struct sl_call_rank sl_host_call_rank(const struct sl_host *host);
/* Address of operand `i`. */
void *sl_host_operand(const struct sl_host *host, const struct sl_issued *it, int i);
enum sl_status sl_host_run(struct sl_host *host, const struct sl_issued *it);
/* With options.detect_anomaly, checks the results of `it`, which is complete, and updates host->anomaly. */
enum sl_status sl_host_look(struct sl_host *host, const struct sl_issued *it, double at_s);
/* Computes the scratch that `op` needs beyond its operands. SL_ERR_INPUT for a kind or type of op that the host cannot
 * run. */
enum sl_status sl_host_supports(const struct sl_program *program, const struct sl_op *op, size_t *scratch_bytes);

/* tensor.c: opens host->tensors */
enum sl_status sl_host_tensors_open(struct sl_host *host);

/* exec.c: what the module exports. */
const struct sl_exec_ops *sl_exec_module(void);
