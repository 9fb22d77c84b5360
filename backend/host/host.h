/* Inside the host backend: the state of one rank's process, and what its files offer each other.
 *
 *   exec.c      the table that core calls: queues, readiness, completions
 *   open.c      MPI, groups, memory, input files: everything that can fail early
 *   agree.c     all ranks are well, or the job ends
 *   warm.c      threads, and what libraries take for themselves
 *   arena.c     the arenas, and what the kernel says the process uses
 *   poison.c    NaN for dead bytes, a debugging aid
 *   collect.c   communication ops as calls of comm.h
 *   link.c      copies between memories: the device's and the host's, held to a link's rate; and NVMe's
 *               (backend/common/nvme.h)
 *   dispatch.c  compute ops as calls of kernels/ and of product.c
 *   product.c   matrix products: OpenBLAS, a block of the result a thread
 *   tensor.c    the memory behind backend/common/tensor.h; input is backend/common/input.h
 *
 * One thread does everything: it runs compute ops and drives MPI between them. */
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
  uint32_t head, tail;     /* ops taken out and put in, counting up; they wrap together */
  uint32_t complete;       /* ops of this pass over the program that are complete */
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
  bool shares_cores; /* with other ranks of its node, which has fewer cores than ranks */
  struct sl_coord coord;
  /* MPI */
  bool opened; /* completely: the process may end in good order once it is closed */
  MPI_Comm everyone;
  struct sl_comm groups[SL_GROUP_COUNT]; /* size 0: no op uses the class */
  struct sl_comm pipeline;               /* sends and receives, by rank */
  struct sl_members members[SL_GROUP_COUNT];
  /* memory */
  char *arena[SL_SPACE_COUNT];
  int64_t arena_bytes[SL_SPACE_COUNT];
  struct sl_nvme *nvme; /* behind the arena of that space; NULL without one; owned */
  char *scratch;        /* for kernels whose op brings none */
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
/* Say what went wrong, once for the job, and end every rank; returns `status` where this process is the whole job. */
enum sl_status sl_host_die(const struct sl_host *host, enum sl_status status);
/* Collective: SL_OK when all ranks pass SL_OK. Otherwise the lowest rank that did not ends the job with its message, and
 * the others wait for that in silence. A job of one process gets its own status back. */
enum sl_status sl_host_agree(struct sl_host *host, enum sl_status mine);

/* open.c. On failure nothing is held. */
enum sl_status sl_host_open(struct sl_host **out, const struct sl_job *job, const struct sl_exec_options *options);
void sl_host_close(struct sl_host *host); /* accepts a half-built one */

/* warm.c: threads, and the memory that libraries take at first use. Collective. */
enum sl_status sl_host_warm_up(struct sl_host *host);

/* arena.c */
enum sl_status sl_host_arena_open(struct sl_host *host);
void sl_host_arena_close(struct sl_host *host);
/* Fill everything on the device that no persistent buffer covers with NaN. */
void sl_host_arena_poison(struct sl_host *host);
/* Anonymous and shared memory of this process that is resident, bytes; 0 where the system does not say. */
int64_t sl_host_process_bytes(void);

/* poison.c. The program host->kind begins; its op `issue` is complete. */
enum sl_status sl_host_poison_begin(struct sl_host *host);
void sl_host_poison_complete(struct sl_host *host, uint32_t issue);
void sl_host_poison_close(struct sl_host *host);

/* collect.c */
enum sl_status sl_host_comm_start(struct sl_host *host, struct sl_host_lane *lane, const struct sl_issued *it);
enum sl_status sl_host_comm_count(struct sl_host *host, const struct sl_host_lane *lane, const struct sl_issued *it,
                                  double end_s);

/* link.c. A copy between memories: `it`, at the head of `lane`, whose waits are over, begins; is driven until it is over; and is
 * counted when it is. */
enum sl_status sl_host_link_start(struct sl_host *host, struct sl_host_lane *lane, const struct sl_issued *it);
enum sl_status sl_host_link_drive(struct sl_host *host, struct sl_host_lane *lane, double now_s, bool *over,
                                  bool *moved);
enum sl_status sl_host_link_count(struct sl_host *host, const struct sl_host_lane *lane, const struct sl_issued *it,
                                  double end_s);
/* board.c: what ranks of this machine did last, for the message of a hang. Open is collective among them, and does not fail: without
 * shared memory there is no board. A program begins (host->kind, ->step); this rank looks for work, at that second of the machine's clock;
 * the message at the head of `lane` begins; an op of it, which
 * lane->complete counts already, is finished. */
void sl_host_board_open(struct sl_host *host, MPI_Comm node);
void sl_host_board_close(struct sl_host *host);
void sl_host_board_begin(struct sl_host *host);
void sl_host_board_beat(struct sl_host *host, double now_s);
void sl_host_board_enter(struct sl_host *host, const struct sl_host_lane *lane);
void sl_host_board_finish(struct sl_host *host, const struct sl_host_lane *lane, uint32_t issue);
/* Whom `it`, which runs here or waits for earlier ops, waits for, and what each rank finished last; "" without a board. */
void sl_host_board_tell(const struct sl_host *host, const struct sl_issued *it, bool running, char *text, size_t size);

/* dispatch.c */
/* What decoding an op needs to know of this rank; it borrows from `host`. */
struct sl_call_rank sl_host_call_rank(const struct sl_host *host);
/* Address of operand `i`. */
void *sl_host_operand(const struct sl_host *host, const struct sl_issued *it, int i);
enum sl_status sl_host_run(struct sl_host *host, const struct sl_issued *it);
/* With options.detect_anomaly, once `it` is complete: host->anomaly. */
enum sl_status sl_host_look(struct sl_host *host, const struct sl_issued *it, double at_s);
/* Scratch that `op` needs beyond its operands; an op of a kind or type that the host cannot run is SL_ERR_INPUT. */
enum sl_status sl_host_supports(const struct sl_program *program, const struct sl_op *op, size_t *scratch_bytes);

/* tensor.c: opens host->tensors */
enum sl_status sl_host_tensors_open(struct sl_host *host);

/* exec.c: what the module exports. */
const struct sl_exec_ops *sl_exec_module(void);
