/* The stand-ins keep CUDA's and NCCL's rules, so that what runs on them well does not do so by luck: work is done late
 * and in any order that no wait forbids, memory is read then, a wait is for the record before it, members of a
 * communicator wait for each other, and what could hang does. */
#include "tests/stand_ins/stand_in.h"

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <nccl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { TRIALS = 64, OLD = 3, NEW = 7 };

#define OK(call) assert_int_equal(call, 0)

/* Three lanes, an event, and bytes on the device. */
static struct {
  cudaStream_t a, b, c;
  cudaEvent_t event;
  char *x, *y, *pinned;
} on;

static int open_streams(void **state) {
  (void)state;
  OK(cudaStreamCreateWithFlags(&on.a, cudaStreamNonBlocking));
  OK(cudaStreamCreateWithFlags(&on.b, cudaStreamNonBlocking));
  OK(cudaStreamCreateWithFlags(&on.c, cudaStreamNonBlocking));
  OK(cudaEventCreateWithFlags(&on.event, cudaEventDisableTiming));
  OK(cudaMalloc((void **)&on.x, 1));
  OK(cudaMalloc((void **)&on.y, 1));
  return cudaMallocHost((void **)&on.pinned, 1);
}

static int close_streams(void **state) {
  (void)state;
  OK(cudaFreeHost(on.pinned));
  OK(cudaFree(on.y));
  OK(cudaFree(on.x));
  OK(cudaEventDestroy(on.event));
  OK(cudaStreamDestroy(on.c));
  OK(cudaStreamDestroy(on.b));
  return cudaStreamDestroy(on.a);
}

static void work_waits_for_the_host(void **state) {
  (void)state;
  *on.x = OLD; /* the device's memory is ours */
  OK(cudaMemsetAsync(on.x, NEW, 1, on.a));
  assert_int_equal(*on.x, OLD);
  OK(cudaStreamSynchronize(on.a));
  assert_int_equal(*on.x, NEW);
  OK(cudaMemset(on.x, OLD, 1)); /* of the device's memory nobody waits for it either */
  assert_int_equal(*on.x, NEW);
  OK(cudaDeviceSynchronize());
  assert_int_equal(*on.x, OLD);
}

static void pinned_memory_is_read_when_the_copy_runs(void **state) {
  (void)state;
  char pageable = OLD;
  *on.pinned = OLD;
  OK(cudaMemcpyAsync(on.x, on.pinned, 1, cudaMemcpyDefault, on.a));
  OK(cudaMemcpyAsync(on.y, &pageable, 1, cudaMemcpyDefault, on.a));
  *on.pinned = pageable = NEW;
  OK(cudaStreamSynchronize(on.a));
  assert_int_equal(*on.x, NEW);
  assert_int_equal(*on.y, OLD);
  assert_int_equal(cudaMemcpyAsync(on.x, on.y, 1, cudaMemcpyHostToDevice, on.a), cudaErrorInvalidValue);
}

static void CUDART_CB count(void *calls) {
  ++*(int *)calls;
}

/* A call of the host is a stream's work like any other, and a stream that waits for a pinned word stands until it is
 * that large. */
static void a_stream_waits_for_a_word(void **state) {
  (void)state;
  CUresult (*wait)(CUstream, CUdeviceptr, cuuint32_t, unsigned);
  enum cudaDriverEntryPointQueryResult found;
  void *at = NULL;
  uint32_t *word = NULL, pageable = 9;
  int calls = 0;
  OK(cudaGetDriverEntryPointByVersion("cuStreamWaitValue64", &at, 12000, cudaEnableDefault, &found));
  assert_int_equal(found, cudaDriverEntryPointSymbolNotFound);
  OK(cudaGetDriverEntryPointByVersion("cuStreamWaitValue32", &at, 12000, cudaEnableDefault, &found));
  assert_int_equal(found, cudaDriverEntryPointSuccess);
  memcpy(&wait, &at, sizeof wait);
  OK(cudaMallocHost((void **)&word, sizeof *word));
  *word = 1;
  OK(wait(on.a, (CUdeviceptr)(uintptr_t)word, 2, CU_STREAM_WAIT_VALUE_GEQ));
  OK(cudaLaunchHostFunc(on.a, count, &calls));
  OK(cudaEventRecord(on.event, on.a));
  for (int i = 0; i < TRIALS; i++) assert_int_equal(cudaEventQuery(on.event), cudaErrorNotReady);
  assert_int_equal(calls, 0);
  *word = 3;
  OK(cudaStreamSynchronize(on.a));
  assert_int_equal(calls, 1);
  assert_int_equal(wait(on.a, (CUdeviceptr)(uintptr_t)&pageable, 2, CU_STREAM_WAIT_VALUE_GEQ),
                   CUDA_ERROR_INVALID_VALUE);
  OK(cudaFreeHost(word));
}

/* x becomes NEW on stream a, `between` puts what it likes, and b copies x to y: how often is that NEW? */
static int copies_of_new(void (*between)(void)) {
  int count = 0;
  for (int i = 0; i < TRIALS; i++) {
    OK(cudaDeviceSynchronize());
    *on.x = OLD;
    OK(cudaMemsetAsync(on.x, NEW, 1, on.a));
    between();
    OK(cudaMemcpyAsync(on.y, on.x, 1, cudaMemcpyDeviceToDevice, on.b));
    OK(cudaDeviceSynchronize());
    count += *on.y == NEW;
  }
  return count;
}

static void nothing(void) {}

static void record_and_wait(void) {
  OK(cudaEventRecord(on.event, on.a));
  OK(cudaStreamWaitEvent(on.b, on.event, 0));
}

/* Before b goes on, the event stands for something else. */
static void wait_and_record_anew(void) {
  record_and_wait();
  OK(cudaEventRecord(on.event, on.c));
}

static void record_anew_and_wait(void) {
  OK(cudaEventRecord(on.event, on.a));
  OK(cudaEventRecord(on.event, on.c));
  OK(cudaStreamWaitEvent(on.b, on.event, 0));
}

static void streams_come_in_any_order_that_no_wait_forbids(void **state) {
  (void)state;
  assert_in_range(copies_of_new(nothing), 1, TRIALS - 1);
  assert_int_equal(copies_of_new(record_and_wait), TRIALS);
  assert_int_equal(copies_of_new(wait_and_record_anew), TRIALS);
  assert_in_range(copies_of_new(record_anew_and_wait), 1, TRIALS - 1);
}

static void an_event_never_recorded_is_complete_and_counted(void **state) {
  (void)state;
  cudaEvent_t never;
  OK(cudaEventCreate(&never));
  OK(cudaEventQuery(never));
  const int before = stand_in_bad_waits();
  OK(cudaStreamWaitEvent(on.a, never, 0));
  assert_int_equal(stand_in_bad_waits(), before + 1);
  OK(cudaEventDestroy(never));
}

/* --- graphs --- */

/* y = NEW on b, between two pieces of a: a graph, or why it is none. */
static cudaError_t captured(cudaGraph_t *graph, cudaError_t (*inside)(void), bool joins) {
  cudaEvent_t event;
  OK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  OK(cudaStreamBeginCapture(on.a, cudaStreamCaptureModeThreadLocal));
  OK(cudaMemcpyAsync(on.x, on.pinned, 1, cudaMemcpyDefault, on.a));
  OK(cudaEventRecord(event, on.a));
  OK(cudaStreamWaitEvent(on.b, event, 0));
  OK(cudaMemcpyAsync(on.y, on.x, 1, cudaMemcpyDefault, on.b));
  if (joins) OK(cudaEventRecord(event, on.b));
  if (joins) OK(cudaStreamWaitEvent(on.a, event, 0));
  const cudaError_t refused = inside ? inside() : cudaSuccess, code = cudaStreamEndCapture(on.a, graph);
  if (inside) assert_int_not_equal(refused, cudaSuccess);
  assert_int_equal(cudaEventQuery(event), cudaErrorCapturedEvent);
  OK(cudaEventDestroy(event));
  return code;
}

/* It reads memory at each launch, in its order, and only then. */
static void a_graph_does_again_what_was_captured(void **state) {
  (void)state;
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  OK(cudaDeviceSynchronize());
  *on.x = *on.y = OLD;
  OK(captured(&graph, NULL, true));
  OK(cudaGraphInstantiate(&exec, graph, 0));
  OK(cudaGraphDestroy(graph));
  OK(cudaDeviceSynchronize());
  assert_int_equal(*on.y, OLD); /* captured, not done */
  for (char value = NEW; value < NEW + TRIALS; value++) {
    *on.pinned = value;
    OK(cudaGraphLaunch(exec, on.a));
    OK(cudaMemcpyAsync(on.x, on.y, 1, cudaMemcpyDefault, on.a)); /* behind all of it */
    OK(cudaStreamSynchronize(on.a));
    assert_int_equal(*on.y, value);
    assert_int_equal(*on.x, value);
  }
  OK(cudaGraphLaunch(exec, on.a));
  OK(cudaGraphExecDestroy(exec)); /* one that is launched lives on */
  OK(cudaStreamSynchronize(on.a));
}

static cudaError_t waits_for_a_stream(void) {
  return cudaStreamSynchronize(on.c);
}
static cudaError_t takes_memory(void) {
  void *at;
  return cudaMalloc(&at, 1);
}
static cudaError_t uses_the_default_stream(void) {
  return cudaMemsetAsync(on.y, 0, 1, NULL);
}
static cudaError_t copies_what_is_not_pinned(void) {
  static const char pageable;
  return cudaMemcpyAsync(on.y, &pageable, 1, cudaMemcpyDefault, on.a);
}
static cudaError_t waits_for_what_is_not_captured(void) {
  OK(cudaEventRecord(on.event, on.c));
  return cudaStreamWaitEvent(on.a, on.event, 0);
}
static cudaError_t ends_elsewhere(void) {
  cudaGraph_t graph;
  return cudaStreamEndCapture(on.b, &graph);
}

static void what_no_capture_allows_spoils_it(void **state) {
  (void)state;
  cudaGraph_t graph;
  cudaError_t (*const refused[])(void) = {waits_for_a_stream,
                                          takes_memory,
                                          uses_the_default_stream,
                                          copies_what_is_not_pinned,
                                          waits_for_what_is_not_captured,
                                          ends_elsewhere};
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
    assert_int_equal(captured(&graph, refused[i], true), cudaErrorStreamCaptureInvalidated);
    assert_null(graph);
  }
  assert_int_equal(captured(&graph, NULL, false), cudaErrorStreamCaptureUnjoined);
  assert_int_equal(cudaStreamBeginCapture(NULL, cudaStreamCaptureModeThreadLocal), cudaErrorStreamCaptureUnsupported);
  OK(cudaStreamSynchronize(on.a)); /* and all goes on */
}

/* --- two ranks --- */

#define NEED(call) /* in a rank's process, which is no test of its own */                                              \
  if ((call) != 0) _exit(98)

enum outcome { ENDS, HANGS, IS_AN_ERROR };

/* The world, and one split off it, each with a stream of its own. */
struct rank {
  int number;
  ncclComm_t comms[2];
  float *x; /* one each */
};

static void reduce(const struct rank *r, int comm, int on_stream) {
  NEED(ncclAllReduce(r->x + comm, r->x + comm, 1, ncclFloat, ncclSum, r->comms[comm], on_stream ? on.b : on.a));
}

/* A second is enough for what ends. */
static enum outcome wait_for(const struct rank *r) {
  NEED(cudaEventRecord(on.event, on.a));
  NEED(cudaStreamWaitEvent(on.b, on.event, 0));
  NEED(cudaEventRecord(on.event, on.b));
  for (int i = 0; i < 1000; i++) {
    ncclResult_t state = ncclSuccess;
    NEED(ncclCommGetAsyncError(r->comms[0], &state));
    if (state != ncclSuccess) return IS_AN_ERROR;
    if (cudaEventQuery(on.event) == cudaSuccess) return ENDS;
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
  }
  return HANGS;
}

static int run_rank(int number, void (*calls)(const struct rank *r)) {
  struct rank r = {.number = number};
  ncclUniqueId id;
  memset(&id, 0, sizeof id);
  memcpy(id.internal, "nccl-", 5);
  NEED(ncclCommInitRank(&r.comms[0], 2, id, number));
  NEED(ncclCommSplit(r.comms[0], 0, number, &r.comms[1], NULL));
  NEED(cudaMalloc((void **)&r.x, 4 * sizeof *r.x));
  r.x[0] = r.x[1] = (float)(number + 1);
  calls(&r);
  const enum outcome outcome = wait_for(&r);
  return outcome == ENDS && (r.x[0] != 3 || r.x[1] != 3) ? 99 : (int)outcome;
}

/* Both ranks' outcome, where they agree. */
static int outcome_of(void (*calls)(const struct rank *r), const char *seed) {
  int how[2];
  pid_t pids[2];
  OK(stand_in_open());
  setenv("SHARDLAB_STAND_IN_SEED", seed, 1);
  setenv("SHARDLAB_STAND_IN_APART", "1", 1);
  for (int number = 0; number < 2; number++) {
    pids[number] = fork();
    if (pids[number] == 0) _exit(run_rank(number, calls));
  }
  for (int number = 0; number < 2; number++) waitpid(pids[number], &how[number], 0);
  assert_true(WIFEXITED(how[0]) && WIFEXITED(how[1]));
  assert_int_equal(WEXITSTATUS(how[0]), WEXITSTATUS(how[1]));
  return WEXITSTATUS(how[0]);
}

static void in_one_order(const struct rank *r) {
  reduce(r, 0, 0);
  reduce(r, 1, 0);
}

static void swapped_on_a_stream(const struct rank *r) {
  reduce(r, r->number, 0);
  reduce(r, 1 - r->number, 0);
}

static void swapped_on_two_streams(const struct rank *r) {
  reduce(r, r->number, r->number);
  reduce(r, 1 - r->number, 1 - r->number);
}

static void of_different_lengths(const struct rank *r) {
  NEED(ncclAllGather(r->x, r->x, (size_t)r->number + 1, ncclFloat, r->comms[0], on.a));
  reduce(r, 0, 0);
}

static void apart_in_groups(const struct rank *r) {
  if (r->number == 0) NEED(ncclGroupStart());
  reduce(r, 0, 0);
  reduce(r, 0, 0);
  if (r->number == 0) NEED(ncclGroupEnd());
}

/* A GPU may have no room for the second kernel before the first one ends: with the odd seed it has none. */
static void collectives_hang_where_they_can(void **state) {
  (void)state;
  assert_int_equal(outcome_of(in_one_order, "2"), ENDS);
  assert_int_equal(outcome_of(in_one_order, "3"), ENDS);
  assert_int_equal(outcome_of(swapped_on_a_stream, "2"), HANGS);
  assert_int_equal(outcome_of(swapped_on_two_streams, "2"), ENDS);
  assert_int_equal(outcome_of(swapped_on_two_streams, "3"), HANGS);
}

static void members_that_disagree_are_an_error(void **state) {
  (void)state;
  assert_int_equal(outcome_of(of_different_lengths, "2"), IS_AN_ERROR);
  assert_int_equal(outcome_of(apart_in_groups, "2"), IS_AN_ERROR);
  assert_int_equal(ncclGroupEnd(), ncclInvalidUsage);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(work_waits_for_the_host),
      cmocka_unit_test(pinned_memory_is_read_when_the_copy_runs),
      cmocka_unit_test(a_stream_waits_for_a_word),
      cmocka_unit_test(streams_come_in_any_order_that_no_wait_forbids),
      cmocka_unit_test(an_event_never_recorded_is_complete_and_counted),
      cmocka_unit_test(a_graph_does_again_what_was_captured),
      cmocka_unit_test(what_no_capture_allows_spoils_it),
      cmocka_unit_test(collectives_hang_where_they_can),
      cmocka_unit_test(members_that_disagree_are_an_error),
  };
  return cmocka_run_group_tests(tests, open_streams, close_streams);
}
