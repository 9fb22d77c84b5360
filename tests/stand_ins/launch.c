/* The emulated kernels' way onto the stand-in's streams, and the idle GPU, on which they take time and do nothing. */
#include "tests/stand_ins/parts.h"
#include "tests/stand_ins/queue.h"

#include <stdlib.h>
#include <time.h>

/* --- the idle GPU --- */

static double busy_until, speed = -1;

double stand_in_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

bool stand_in_idle(void) {
  if (speed >= 0) return speed > 0;
  const char *text = getenv("SHARDLAB_STAND_IN_IDLE");
  speed = text ? strtod(text, NULL) : 0;
  return speed > 0;
}

double stand_in_idle_end(void) {
  const double now = stand_in_now();
  return busy_until > now ? busy_until : now;
}

/* One kernel after another, whatever its stream. */
void stand_in_work(double flops, double bytes) {
  busy_until = stand_in_idle_end() + (3e-6 + flops / 600e12 + bytes / 3e12) / speed;
}

void stand_in_sleep(double until) {
  const double left = until - stand_in_now();
  if (left > 0) nanosleep(&(struct timespec){(time_t)left, (long)(1e9 * (left - (double)(time_t)left))}, NULL);
}

/* --- kernels --- */

/* tests/stand_ins/emulate.cpp: a launch, or a fill, is act(context, 1), or act(context, 2) where it is to be kept;
 * act(context, 0) forgets it. */
typedef void (*launch_act)(void *context, int run);
void stand_in_launches(int (*take)(cudaStream_t stream, launch_act act, void *context, size_t threads, size_t bytes));

struct launch {
  launch_act act;
  void *context;
  size_t threads, bytes;
  bool kept; /* the context is a graph's */
};

static bool run_launch(void *context) {
  struct launch *launch = context;
  if (stand_in_idle()) stand_in_work(0, 8.0 * (double)launch->threads + (double)launch->bytes);
  if (!stand_in_idle() || !launch->kept) launch->act(launch->context, stand_in_idle() ? 0 : launch->kept ? 2 : 1);
  free(launch);
  return true;
}

static void *launch_again(const void *context) {
  struct launch *launch = malloc(sizeof *launch);
  *launch = *(const struct launch *)context;
  launch->kept = true;
  return launch;
}

static void forget_launch(void *context) {
  struct launch *launch = context;
  if (!launch->kept) launch->act(launch->context, 0);
  free(launch);
}

static const struct stand_in_work a_launch = {STAND_IN_KERNEL, run_launch, launch_again, forget_launch};

static int take_launch(cudaStream_t stream, launch_act act, void *context, size_t threads, size_t bytes) {
  const cudaError_t code = stand_in_enter();
  if (code != cudaSuccess) return act(context, 0), code;
  struct launch *launch = malloc(sizeof *launch);
  *launch = (struct launch){act, context, threads, bytes, false};
  return stand_in_put(stream, &a_launch, launch);
}

void stand_in_take_launches(void) {
  stand_in_launches(take_launch);
}
