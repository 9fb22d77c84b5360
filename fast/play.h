/* Simulates one action of a lowered program on the lanes of a rank that has nothing else to do. What the action needs
 * from its program is kept as a track, so that it can be played again with other seconds after the program is gone. */
#pragma once

#include "core/program/program.h"

/* Part of a track's `index`: `count` entries from `first`. */
struct sl_fast_range {
  int32_t first, count;
};

struct sl_fast_beat {
  int32_t work;   /* the work whose seconds it takes */
  int32_t before; /* the previous beat of its lane; -1: none */
  int32_t lane;
  bool kernel;                        /* on the compute lane */
  struct sl_fast_range waits, writes; /* the beats that it waits for, -1 being the action's input; the tensors whose
                                       * gradient it writes */
};

struct sl_fast_track {
  struct sl_fast_beat *beats; /* in the order of issue */
  double *ends;               /* (count), scratch memory of sl_fast_play */
  int32_t *index;
  struct sl_fast_range sent; /* what the send of the action's output waits for */
  size_t count, index_count, index_capacity;
};

/* The numbers that a track is played with: seconds of works, the host's seconds for their launches (NULL: none), and
 * two numbers of the kernel set. */
struct sl_fast_beats {
  const double *seconds, *host;
  bool blocking; /* the host waits for the device before each launch */
  double slow;   /* the share of its speed that a kernel loses while a collective runs */
};

/* Seconds to the end of the action, and to when its output may be sent (-INFINITY if it sends none), each counted from
 * three moments: when the device is free, when its input has arrived (-INFINITY if it waits for none), and when the
 * host reaches it (-INFINITY if the host takes no time). */
struct sl_fast_played {
  double end, end_arrived, end_hosted, out, out_arrived, out_hosted;
  double host, host_arrived; /* the host's seconds, in all and from the input on */
  double least;              /* what `end_hosted` is at least because of the host alone */
};

/* When the gradient of each tensor is written for the last time: start and end of the op, in seconds. `hosted`: its
 * end, counted from when the host reaches the action. */
struct sl_fast_written {
  double begin, end, hosted;
};

/* Maps the placed tensors of a rank to the caller's numbering. */
struct sl_fast_wanted {
  const struct sl_class *rank_class;
  const struct sl_pp_rank *pp_rank;
  const int32_t *tensor; /* (tensors of pp_rank); -1: not wanted */
};

/* Whether a slice writes gradients, on a rank that keeps whole gradients; and whether such a slice includes those of
 * `tensor`. */
bool sl_fast_writes_gradient(const struct sl_class *rank_class, const struct sl_slice *slice);
bool sl_fast_touches(const struct sl_class *rank_class, const struct sl_slice *slice, const struct sl_placed *tensor);

/* Keeps `instance` as a track. work_of[op]: the index of its seconds. `wanted` may be NULL; it is for ranks that keep
 * whole gradients. *out must be freed, even after a failure. */
enum sl_status sl_fast_track_take(struct sl_fast_track *out, const struct sl_program *program, const int32_t *work_of,
                                  const struct sl_instance *instance, const struct sl_fast_wanted *wanted);
void sl_fast_track_free(struct sl_fast_track *track);

/* Plays the track on a rank whose earlier ops are complete. `written` has the tensors of `wanted`, or is NULL. */
void sl_fast_play(struct sl_fast_track *track, const struct sl_fast_beats *beats, struct sl_fast_written *written,
                  struct sl_fast_played *out);
/* Seconds to the end of the action, without a host. */
double sl_fast_play_end(struct sl_fast_track *track, const double *seconds);
