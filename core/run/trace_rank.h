/* What a trace keeps of a rank while its events are written, and the event of one op. Internal to the trace. */
#pragma once

#include "core/run/trace.h"

/* Kinds of links whose bytes are counted: the cluster's levels, and those between two memories of a rank. */
enum {
  SL_TRACE_LINK_H2D = SL_MAX_LINKS,
  SL_TRACE_LINK_D2H,
  SL_TRACE_LINK_NVME_READ,
  SL_TRACE_LINK_NVME_WRITE,
  SL_TRACE_LINK_COUNT
};

struct sl_trace_rank {
  int pid;
  uint32_t seen;                           /* lanes that already have a name */
  int64_t lane_end_us[SL_LANE_COUNT];      /* of the latest slice of each lane */
  int64_t end_us;                          /* the latest of all */
  uint32_t done;                           /* ops of the current program */
  int64_t *live_us[SL_SPACE_COUNT];        /* when the op of each sample of the curve began; owned */
  int64_t sent_bytes[SL_TRACE_LINK_COUNT]; /* since the trace began */
  int64_t sent_us[SL_TRACE_LINK_COUNT];    /* when the counter was last written */
  uint32_t *messages; /* number so far, by lane of pipeline messages and pp rank of the other side; owned */
};

/* One op as it appears in its slice. */
struct sl_trace_slice {
  struct sl_trace *trace;
  const struct sl_run *run;
  struct sl_trace_rank *of;
  int rank;
  const struct sl_class *rank_class;
  const struct sl_program *program;
  const struct sl_op *op;
  uint32_t index; /* in program->issues */
  int64_t begin_us, end_us;
};
