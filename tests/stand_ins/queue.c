/* Streams as queues; see queue.h. One lock for all: a turn is taken under it. */
#include "tests/stand_ins/queue.h"
#include "tests/stand_ins/graph.h"
#include "tests/stand_ins/parts.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>

struct work {
  struct work *next;
  const struct stand_in_work *what;
  void *context;
};

struct CUstream_st {
  struct CUstream_st *next;
  struct work *head, **tail;
  uint64_t put, over; /* pieces of work so far */
  uint64_t priority, asked;
  bool deleted;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct CUstream_st legacy = {.tail = &legacy.head}; /* the default stream, which the others do not wait for */
static struct CUstream_st *streams = &legacy;
static uint64_t random_state, rounds;
static unsigned long calls; /* of the host: while it makes some, it drives the device itself */
static pthread_t host;      /* the thread that puts work */
static bool blocking;
static cudaError_t fault;
static long kernels, faulty; /* done; the one that faults, 0: none */
static long host_calls;

/* --- the start of a process --- */

static double number_from(const char *name) {
  const char *text = getenv(name);
  return text ? strtod(text, NULL) : 0;
}

/* splitmix64 */
static uint64_t draw(void) {
  uint64_t z = random_state += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

uint64_t stand_in_draw(void) {
  return draw();
}

uint64_t stand_in_seed(void) {
  return (uint64_t)number_from("SHARDLAB_STAND_IN_SEED");
}

static void start(void) {
  const char *wanted = getenv("CUDA_LAUNCH_BLOCKING");
  const double takes = number_from("SHARDLAB_STAND_IN_START_S");
  nanosleep(&(struct timespec){(time_t)takes, (long)(1e9 * (takes - (double)(time_t)takes))}, NULL);
  random_state = stand_in_seed() * 64 + (uint64_t)number_from("RANK"); /* ranks go their own ways */
  legacy.priority = draw();
  faulty = (long)number_from("SHARDLAB_STAND_IN_FAULT");
  blocking = stand_in_idle() || (wanted && atoi(wanted) != 0);
  stand_in_take_launches();
}

cudaError_t stand_in_enter(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, start);
  pthread_mutex_lock(&lock);
  calls++;
  host_calls++;
  const cudaError_t code = fault;
  pthread_mutex_unlock(&lock);
  return code;
}

void stand_in_only_asked(void) {
  pthread_mutex_lock(&lock);
  host_calls--;
  pthread_mutex_unlock(&lock);
}

long stand_in_kernels(void) {
  return kernels;
}

long stand_in_host_calls(void) {
  return host_calls;
}

/* --- the device --- */

static void remove_stream(struct CUstream_st *stream) {
  struct CUstream_st **at = &streams;
  while (*at != stream) at = &(*at)->next;
  *at = stream->next;
  free(stream);
}

static void pop(struct CUstream_st *stream) {
  struct work *done = stream->head;
  stream->head = done->next;
  if (!stream->head) stream->tail = &stream->head;
  stream->over++;
  free(done);
  if (draw() % 16 == 0) stream->priority = draw();
  if (stream->deleted && !stream->head) remove_stream(stream);
}

/* The work of highest priority that this round has not asked yet. */
static struct CUstream_st *choose(void) {
  struct CUstream_st *best = NULL;
  for (struct CUstream_st *s = streams; s; s = s->next)
    if (s->head && s->asked != rounds && (!best || s->priority > best->priority)) best = s;
  return best;
}

/* What faults has done nothing, and nothing is done after it. */
bool stand_in_faults(const struct stand_in_work *work) {
  if (work->kind != STAND_IN_KERNEL || ++kernels != faulty) return false;
  fault = cudaErrorIllegalAddress;
  return true;
}

/* One piece of work; false: none can go on. */
static bool step(void) {
  struct CUstream_st *stream;
  for (rounds++; !fault && (stream = choose());) {
    struct work *work = stream->head;
    stream->asked = rounds;
    if (stand_in_faults(work->what) || !work->what->turn(work->context)) continue;
    pop(stream);
    return true;
  }
  return false;
}

void stand_in_nap(int turns) {
  if (turns < 10)
    sched_yield();
  else
    nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL); /* the others compute, perhaps on this core */
}

/* With the lock held. */
static cudaError_t work_until(bool (*over)(const void *what), const void *what) {
  for (int turns = 0; !fault && !over(what);) {
    calls++;
    if (step()) {
      turns = 0;
      continue;
    }
    pthread_mutex_unlock(&lock);
    stand_in_nap(turns++);
    pthread_mutex_lock(&lock);
  }
  return fault;
}

cudaError_t stand_in_until(bool (*over)(const void *what), const void *what) {
  pthread_mutex_lock(&lock);
  const cudaError_t code = work_until(over, what);
  pthread_mutex_unlock(&lock);
  return code;
}

cudaError_t stand_in_some(bool (*over)(const void *what), const void *what, bool *is_over) {
  pthread_mutex_lock(&lock);
  while (pthread_equal(host, pthread_self()) && !over(what) && step() && draw() % 32 != 0) continue;
  *is_over = over(what);
  const cudaError_t code = fault;
  pthread_mutex_unlock(&lock);
  return code;
}

static void *run_on(void *nothing) {
  for (unsigned long seen = 0;;) {
    pthread_mutex_lock(&lock);
    const bool moved = calls == seen && step();
    seen = calls;
    pthread_mutex_unlock(&lock);
    if (moved)
      sched_yield();
    else
      nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
  }
  return nothing;
}

void stand_in_run_on(void) {
  static bool started;
  pthread_t thread;
  if (!started && !blocking && pthread_create(&thread, NULL, run_on, NULL) == 0) pthread_detach(thread);
  started = true;
}

/* --- streams --- */

static struct CUstream_st *stream_of(cudaStream_t stream) {
  return stream ? stream : &legacy;
}

static bool is_empty(const void *what) {
  return ((const struct CUstream_st *)what)->head == NULL;
}

void stand_in_forget(const struct stand_in_work *work, void *context) {
  if (work->forget)
    work->forget(context);
  else
    free(context);
}

cudaError_t stand_in_put(cudaStream_t to, const struct stand_in_work *what, void *context) {
  if (stand_in_is_capturing(to)) return stand_in_capture(to, what, context);
  if (!to && stand_in_open_capture() != 0) {
    stand_in_forget(what, context);
    return stand_in_spoil(cudaErrorStreamCaptureImplicit);
  }
  struct CUstream_st *stream = stream_of(to);
  struct work *work = malloc(sizeof *work);
  *work = (struct work){.what = what, .context = context};
  pthread_mutex_lock(&lock);
  host = pthread_self();
  *stream->tail = work;
  stream->tail = &work->next;
  stream->put++;
  const cudaError_t code = blocking ? work_until(is_empty, stream) : fault;
  pthread_mutex_unlock(&lock);
  return code;
}

cudaStream_t stand_in_stream_new(void) {
  struct CUstream_st *stream = calloc(1, sizeof *stream);
  stream->tail = &stream->head;
  pthread_mutex_lock(&lock);
  stream->priority = draw();
  stream->next = streams;
  streams = stream;
  pthread_mutex_unlock(&lock);
  return stream;
}

void stand_in_stream_delete(cudaStream_t stream) {
  pthread_mutex_lock(&lock);
  stream->deleted = true;
  if (!stream->head) remove_stream(stream);
  pthread_mutex_unlock(&lock);
}

/* What was on a stream when the wait began. */
struct goal {
  const struct CUstream_st *stream;
  uint64_t over;
};

static bool is_reached(const void *what) {
  const struct goal *goal = what;
  return goal->stream->over >= goal->over;
}

cudaError_t stand_in_stream_wait(cudaStream_t stream) {
  const struct goal goal = {stream_of(stream), stream_of(stream)->put};
  return stand_in_until(is_reached, &goal);
}

static bool are_empty(const void *what) {
  for (const struct CUstream_st *s = streams; s; s = s->next)
    if (s->head) return false;
  return what == NULL;
}

cudaError_t stand_in_device_wait(void) {
  return stand_in_until(are_empty, NULL);
}
