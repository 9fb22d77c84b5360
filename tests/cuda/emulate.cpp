/* The fibers of tests/cuda/emulate.h. A fiber is entered once by makecontext and left and re-entered by _setjmp and
 * _longjmp, which, unlike swapcontext, ask nothing of the kernel. */
#include "tests/cuda/emulate.h"

#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <ucontext.h>
#include <vector>

dim3 gridDim, blockDim;

namespace sl_emulate {

position *now;
void (*instead)(size_t threads, size_t bytes);

namespace {

enum state { READY, AT_BLOCK, AT_WARP, DONE };
constexpr size_t stack_bytes = 128 * 1024;

struct fiber {
  position at;
  state what;
  bool entered;
  ucontext_t first;
  jmp_buf place;
  unsigned char *stack;
  unsigned char slot[64];
};

std::vector<fiber> fibers;
fiber *running;
size_t count;
jmp_buf scheduler;
void (*the_body)(void *);
void *the_context;
unsigned char *shared_memory;
int reversed;

void leave(state why) {
  running->what = why;
  if (_setjmp(running->place) == 0) _longjmp(scheduler, 1);
}

/* A fiber serves block after block: to make one anew would ask the kernel twice. */
void entry() {
  for (;;) {
    the_body(the_context);
    leave(DONE);
  }
}

void resume(fiber *f) {
  running = f;
  now = &f->at;
  if (_setjmp(scheduler) != 0) return;
  if (f->entered) _longjmp(f->place, 1);
  f->entered = true;
  setcontext(&f->first);
}

[[noreturn]] void complain(const char *what) {
  std::fprintf(stderr, "emulated block (%u,%u,%u): %s\n", now->block.x, now->block.y, now->block.z, what);
  std::abort();
}

void prepare(fiber *f, dim3 block, unsigned thread) {
  f->at.block = block;
  f->at.thread = dim3(thread % blockDim.x, thread / blockDim.x % blockDim.y, thread / (blockDim.x * blockDim.y));
  f->what = READY;
  if (f->entered) return;
  getcontext(&f->first);
  f->first.uc_stack.ss_sp = f->stack;
  f->first.uc_stack.ss_size = stack_bytes;
  f->first.uc_link = nullptr;
  makecontext(&f->first, entry, 0);
}

/* All of [from, to) wait in the same way: let them go. */
bool release(size_t from, size_t to, state why) {
  for (size_t i = from; i < to; i++)
    if (fibers[i].what != why) return false;
  for (size_t i = from; i < to; i++) fibers[i].what = READY;
  return true;
}

/* Threads [from, to) of a warp as far as they get without the rest of the block: what one warp does too early or too
 * late shows against the others. */
bool run_warp(size_t from, size_t to) {
  bool moved = false, again = true;
  while (again) {
    again = false;
    for (size_t k = from; k < to; k++) {
      fiber *f = &fibers[reversed ? from + to - 1 - k : k];
      if (f->what == READY) resume(f), again = true;
    }
    moved |= again;
    again = release(from, to, AT_WARP);
  }
  return moved;
}

void run_block(dim3 block) {
  for (size_t i = 0; i < count; i++) prepare(&fibers[i], block, (unsigned)i);
  for (;;) {
    bool moved = false;
    size_t done = 0;
    for (size_t w = 0; w < count; w += 32) {
      const size_t from = reversed ? count - 32 - w : w;
      moved |= run_warp(from, from + 32);
    }
    for (size_t i = 0; i < count; i++) done += fibers[i].what == DONE;
    if (done == count) return;
    moved |= release(0, count, AT_BLOCK);
    if (!moved) complain("its threads wait in different places, or some have returned");
  }
}

} /* namespace */

void sync_block() {
  leave(AT_BLOCK);
}
void sync_warp() {
  leave(AT_WARP);
}
unsigned lane() {
  return (unsigned)(running - fibers.data()) % 32;
}
void *slot(unsigned l) {
  return fibers[(size_t)(running - fibers.data()) / 32 * 32 + l].slot;
}
void *dynamic_shared() {
  return shared_memory;
}
void set_reverse(int reverse) {
  reversed = reverse;
}

int run(dim3 blocks, dim3 threads, size_t shared, void (*body)(void *), void *context) {
  gridDim = blocks, blockDim = threads;
  count = (size_t)threads.x * threads.y * threads.z;
  if (count == 0 || count > 1024 || count % 32 != 0 || blocks.y > 65535 || blocks.z > 65535)
    return cudaErrorInvalidValue;
  if (instead) {
    instead((size_t)blocks.x * blocks.y * blocks.z * count, 0);
    return cudaSuccess;
  }
  while (fibers.size() < count) {
    fibers.emplace_back();
    fibers.back().stack = static_cast<unsigned char *>(std::aligned_alloc(64, stack_bytes));
  }
  the_body = body, the_context = context;
  const size_t total = (size_t)blocks.x * blocks.y * blocks.z;
  for (size_t k = 0; k < total; k++) {
    const size_t b = reversed ? total - 1 - k : k;
    shared_memory = static_cast<unsigned char *>(std::aligned_alloc(64, (shared + 127) / 64 * 64));
    std::memset(shared_memory, 0xff, shared);
    run_block(dim3((unsigned)(b % blocks.x), (unsigned)(b / blocks.x % blocks.y),
                   (unsigned)(b / ((size_t)blocks.x * blocks.y))));
    std::free(shared_memory);
  }
  return cudaSuccess;
}

} /* namespace sl_emulate */

extern "C" void stand_in_launches(void (*instead)(size_t threads, size_t bytes)) {
  sl_emulate::instead = instead;
}
