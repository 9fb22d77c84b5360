/* The fibers of tests/stand_ins/emulate.h. A fiber is entered once by makecontext and left and re-entered by the
 * compiler's own setjmp and longjmp: swapcontext asks the kernel, and so does each longjmp that the address sanitizer
 * intercepts. */
#include "tests/stand_ins/emulate.h"

#include <cstdio>
#include <cstdlib>
#include <map>
#include <ucontext.h>
#include <vector>

#ifdef SL_EMULATE_RACES
#include <sanitizer/tsan_interface.h>
#endif

dim3 gridDim, blockDim;

namespace sl_emulate {

position *now;
bool warpgroups, few_blocks;
int (*take)(cudaStream_t to, void (*act)(void *context, int run), void *context, size_t threads, size_t bytes);

namespace {

enum state : unsigned char { READY, AT_BLOCK, AT_WARP, DONE };
/* Stacks end at different places of a page, for the same line of all pages is in one set of the cache. */
constexpr size_t stack_bytes = 128 * 1024, stack_shift = 17 * 64, stack_shifts = 59;

typedef void *jump[5]; /* as __builtin_setjmp wants it */

struct fiber {
  position at;
  bool entered;
  void *identity;                         /* to the thread sanitizer */
  unsigned block_barriers, warp_barriers; /* passed */
  jump place;
  unsigned char *stack;
  unsigned exchanges; /* begun */
  alignas(64) unsigned char slots[2][64];
};

/* --- what the thread sanitizer is told, where there is one --- */

#ifdef SL_EMULATE_RACES
void *new_identity() {
  return __tsan_create_fiber(0);
}
void *own_identity() {
  return __tsan_get_current_fiber();
}
void become(void *identity) {
  __tsan_switch_to_fiber(identity, __tsan_switch_to_fiber_no_sync);
}
void arrive(void *place) {
  __tsan_release(place);
}
void depart(void *place) {
  __tsan_acquire(place);
}
#else
void *new_identity() {
  return nullptr;
}
void *own_identity() {
  return nullptr;
}
void become(void *) {}
void arrive(void *) {}
void depart(void *) {}
#endif

/* Places where threads meet. A barrier's is not the next one's: who is late at the one must not learn what others did
 * on their way to the other. */
char block_place[2], warp_place[32][2], launch_place, end_place;

/* --- fibers --- */

std::vector<fiber> fibers;
state states[1024]; /* of the fibers; side by side, for they are looked through at every barrier */
void *scheduler_identity;
fiber *running;
size_t count;
uint64_t block_turn; /* blocks run so far */
jump scheduler;
void (*the_body)(void *);
void *the_context;
unsigned char *shared_memory;
std::map<const void *, size_t> asked; /* dynamic shared memory, by kernel */
dim3 numbered(0, 0, 0);               /* the block whose places in it the fibers have */
int reversed;

/* Not where a __builtin_setjmp is: the compiler would take its second return for impossible. */
[[noreturn]] __attribute__((noinline)) void go(jump to) {
  __builtin_longjmp(to, 1);
}

/* The next fiber of warp [from, from + 32), of those after `last` in their order, that can run; nullptr: none. */
fiber *next_of_warp(size_t from, size_t last) {
  const size_t step = reversed ? (size_t)-1 : 1; /* and lanes below 0 are far above 31 */
  for (size_t lane = last - from + step; lane < 32; lane += step)
    if (states[from + lane] == READY) return &fibers[from + lane];
  return nullptr;
}

/* Straight to the next fiber of the warp: the way over the scheduler would be as long again. */
__attribute__((noinline)) void leave(state why) {
  const size_t own = (size_t)(running - fibers.data());
  states[own] = why;
  if (__builtin_setjmp(running->place) != 0) return;
  fiber *const next = next_of_warp(own / 32 * 32, own);
  if (next == nullptr || !next->entered) {
    become(scheduler_identity);
    go(scheduler);
  }
  running = next;
  now = &next->at;
  become(next->identity);
  go(next->place);
}

/* A fiber serves block after block: to make one anew would ask the kernel twice. */
void entry() {
  for (;;) {
    depart(&launch_place);
    the_body(the_context);
    if (!running->at.copies.empty()) complain("a thread returned before its copies were done");
    arrive(&end_place);
    leave(DONE);
  }
}

void enter(fiber *f) {
  ucontext_t first;
  f->entered = true;
  getcontext(&first);
  first.uc_stack.ss_sp = f->stack;
  first.uc_stack.ss_size = stack_bytes + stack_shift * ((size_t)(f - fibers.data()) % stack_shifts);
  first.uc_link = nullptr;
  makecontext(&first, entry, 0);
  setcontext(&first);
}

__attribute__((noinline)) void resume(fiber *f) {
  running = f;
  now = &f->at;
  if (__builtin_setjmp(scheduler) != 0) return;
  become(f->identity);
  if (f->entered) go(f->place);
  enter(f);
}

void prepare(fiber *f, dim3 block) {
  f->at.block = block;
  f->at.group = 0;
  f->block_barriers = f->warp_barriers = f->exchanges = 0;
}

/* All of [from, to) wait in the same way: let them go. */
bool release(size_t from, size_t to, state why) {
  unsigned char differ = 0; /* without a way out of the loop, which makes vectors of it */
  for (size_t i = from; i < to; i++) differ |= (unsigned char)(states[i] ^ why);
  if (differ != 0) return false;
  std::memset(states + from, READY, to - from);
  return true;
}

/* The threads from `from` of a warp as far as they get without the rest of the block: what one warp does too early or
 * too late shows against the others. */
bool run_warp(size_t from) {
  bool moved = false;
  do
    for (fiber *f; (f = next_of_warp(from, reversed ? from + 32 : from - 1)) != nullptr; moved = true) resume(f);
  while (release(from, from + 32, AT_WARP));
  return moved;
}

void run_block(dim3 block) {
  block_turn++;
  for (size_t i = 0; i < count; i++) prepare(&fibers[i], block);
  std::memset(states, READY, count);
  arrive(&launch_place);
  for (;;) {
    bool moved = false;
    size_t done = 0;
    for (size_t w = 0; w < count; w += 32) {
      moved |= run_warp(reversed ? count - 32 - w : w);
    }
    for (size_t i = 0; i < count; i++) done += states[i] == DONE;
    if (done == count) return depart(&end_place);
    moved |= release(0, count, AT_BLOCK);
    if (!moved) complain("its threads wait in different places, or some have returned");
  }
}

const fiber *first_of_warp() {
  return &fibers[(size_t)(running - fibers.data()) / 32 * 32];
}

/* What a warp's tiles of one exchange gave. */
struct warp_product {
  float sums[16][8];
  unsigned exchange; /* of the block's threads, counted from 1 */
  uint64_t block;    /* its turn */
} products[32];
/* The tiles that lie in the slots of a warp. */
void multiply(float (&sums)[16][8], const fiber *warp, unsigned turn) {
  float right[16][8];
  for (unsigned l = 0; l < 32; l++) {
    const tiles *const its = reinterpret_cast<const tiles *>(warp[l].slots[turn]);
    for (unsigned i = 0; i < 4; i++) right[l % 4 * 2 + i % 2 + i / 2 * 8][l / 4] = its->b[i];
  }
  for (unsigned r = 0; r < 16; r++) {
    float row[8] = {};
    for (unsigned k = 0; k < 16; k++) { /* a[0..1]: row g; a[2..3]: row g + 8; a[4..7]: the same, columns + 8 */
      const tiles *const its = reinterpret_cast<const tiles *>(warp[r % 8 * 4 + k % 8 / 2].slots[turn]);
      const float left = its->a[k / 8 * 4 + r / 8 * 2 + k % 2];
      for (unsigned n = 0; n < 8; n++) row[n] += left * right[k][n];
    }
    std::memcpy(sums[r], row, sizeof row);
  }
}

typedef uint64_t sixteen __attribute__((vector_size(16)));

/* At any address. A struct, for a template argument loses the attributes of a type that is only named anew. */
template <typename V> struct __attribute__((packed, may_alias)) anywhere { V value; };

/* Word by word, for a call of memcpy would be seen as the kernel's own access. */
template <typename V> void copy_words(void *to, const void *from, size_t bytes) {
  for (size_t i = 0; i < bytes / sizeof(V); i++)
    static_cast<volatile anywhere<V> *>(to)[i].value = static_cast<const volatile anywhere<V> *>(from)[i].value;
}
void copy(void *to, const void *from, size_t bytes) {
  if (bytes == sizeof(uint32_t)) /* most of them are numbers */
    copy_words<uint32_t>(to, from, sizeof(uint32_t));
  else if (bytes == sizeof(uint64_t))
    copy_words<uint64_t>(to, from, sizeof(uint64_t));
  else if (bytes % sizeof(sixteen) == 0)
    copy_words<sixteen>(to, from, bytes);
  else if (bytes % sizeof(uint32_t) == 0)
    copy_words<uint32_t>(to, from, bytes);
  else
    copy_words<unsigned char>(to, from, bytes);
}

} /* namespace */

void complain(const char *what) {
  std::fprintf(stderr, "emulated block (%u,%u,%u): %s\n", now->block.x, now->block.y, now->block.z, what);
  std::abort();
}

void sync_block() {
  char *const place = &block_place[running->block_barriers++ % 2];
  arrive(place);
  leave(AT_BLOCK);
  depart(place);
}
void sync_warp() {
  char *const place = &warp_place[(size_t)(running - fibers.data()) / 32][running->warp_barriers++ % 2];
  arrive(place);
  leave(AT_WARP);
  depart(place);
}
void meet_warp() {
  leave(AT_WARP);
}
unsigned lane() {
  return (unsigned)(running - fibers.data()) % 32;
}
void put_slot(const void *from, size_t bytes) {
  copy(running->slots[++running->exchanges % 2], from, bytes);
}
void take_slot(unsigned l, void *to, size_t bytes) {
  copy(to, first_of_warp()[l].slots[running->exchanges % 2], bytes);
}
uint64_t trade(uint64_t mine, unsigned from) {
  put_slot(&mine, sizeof mine);
  leave(AT_WARP);
  take_slot(from, &mine, sizeof mine);
  return mine;
}
void brought_rows(const void *(&rows)[4][2], unsigned first, unsigned second) {
  const fiber *const warp = first_of_warp();
  const unsigned turn = running->exchanges % 2;
  for (unsigned m = 0; m < 4; m++) {
    std::memcpy(&rows[m][0], warp[8 * m + first].slots[turn], sizeof(void *));
    std::memcpy(&rows[m][1], warp[8 * m + second].slots[turn], sizeof(void *));
  }
}
/* The first lane that gets here multiplies for its warp, row by row: a product of each lane's own would gather the same
 * numbers from four lanes for each of its sums. */
sums product(const tiles &mine, sums c) {
  bring(mine);
  const fiber *const warp = first_of_warp();
  warp_product &whole = products[(size_t)(warp - fibers.data()) / 32];
  if (whole.exchange != running->exchanges || whole.block != block_turn) {
    whole.exchange = running->exchanges, whole.block = block_turn;
    multiply(whole.sums, warp, running->exchanges % 2);
  }
  const unsigned g = lane() / 4, t = lane() % 4;
  c.c[0] += whole.sums[g][2 * t], c.c[1] += whole.sums[g][2 * t + 1];
  c.c[2] += whole.sums[g + 8][2 * t], c.c[3] += whole.sums[g + 8][2 * t + 1];
  return c;
}
void *dynamic_shared() {
  return shared_memory;
}
void set_reverse(int reverse) {
  reversed = reverse;
}

int ask(const void *kernel, size_t shared) {
  if (shared > 163 * 1024) return cudaErrorInvalidValue;
  asked[kernel] = shared;
  return cudaSuccess;
}

int check(const void *kernel, dim3 blocks, dim3 threads, size_t shared) {
  const size_t n = (size_t)threads.x * threads.y * threads.z;
  if (shared > 32 * 1024 && (asked.count(kernel) == 0 || asked[kernel] < shared)) return cudaErrorInvalidValue;
  const bool fits = n > 0 && n <= 1024 && n % 32 == 0 && blocks.y <= 65535 && blocks.z <= 65535;
  return fits ? cudaSuccess : cudaErrorInvalidValue;
}

static bool left_out(size_t k, size_t total) {
  constexpr size_t ends = 3, between = 6;
  return few_blocks && k >= ends && k + ends < total && k % (total / between + 1) != 0;
}

void run(dim3 blocks, dim3 threads, size_t shared, void (*body)(void *), void *context) {
  gridDim = blocks, blockDim = threads;
  count = (size_t)threads.x * threads.y * threads.z;
  while (fibers.size() < count) {
    fibers.emplace_back();
    fibers.back().stack =
        static_cast<unsigned char *>(std::aligned_alloc(64, stack_bytes + stack_shift * stack_shifts));
    fibers.back().identity = new_identity();
  }
  scheduler_identity = own_identity();
  the_body = body, the_context = context;
  if (threads.x != numbered.x || threads.y != numbered.y || threads.z != numbered.z)
    for (unsigned i = 0; i < count; i++)
      fibers[i].at.thread = dim3(i % threads.x, i / threads.x % threads.y, i / (threads.x * threads.y));
  numbered = threads;
  const size_t total = (size_t)blocks.x * blocks.y * blocks.z;
  for (size_t k = 0; k < total; k++) {
    const size_t b = reversed ? total - 1 - k : k;
    if (left_out(b, total)) continue;
    void *memory = nullptr; /* not a byte more, for a checker */
    if (posix_memalign(&memory, 64, shared > 0 ? shared : 1) != 0) std::abort();
    shared_memory = static_cast<unsigned char *>(memory);
    std::memset(shared_memory, 0xff, shared);
    run_block(dim3((unsigned)(b % blocks.x), (unsigned)(b / blocks.x % blocks.y),
                   (unsigned)(b / ((size_t)blocks.x * blocks.y))));
    std::free(shared_memory);
  }
}

} /* namespace sl_emulate */

extern "C" void stand_in_launches(int (*take)(cudaStream_t to, void (*act)(void *context, int run), void *context,
                                              size_t threads, size_t bytes)) {
  sl_emulate::take = take;
}
