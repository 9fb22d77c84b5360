/* The collective engine against plain sums: every kind, uneven pieces, several calls in flight, sub-groups; and that a
 * member puts exactly its share of the ring on the wire. Run under mpirun with any number of ranks; rank 0 reports. */
#include "backend/host/comm.h"

#include <malloc.h>
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures, checks, world_rank;

static void expect(bool ok, const char *what, int64_t n, int64_t at, double got, double want) {
  checks++;
  if (ok) return;
  if (failures++ < 5)
    fprintf(stderr, "rank %d: %s, n=%ld: element %ld is %.17g, expected %.17g\n", world_rank, what, (long)n, (long)at,
            got, want);
}

/* Small integers, so that every order of a sum is exact and differs between members and elements; every PERIOD elements
 * they are the same again. */
enum { PERIOD = 101, SALTS = 8 };
static double value(int member, int64_t i, int salt) {
  return (double)((i * 7 + member * 31 + salt * 13) % PERIOD - 50);
}

static double sums[SALTS][PERIOD]; /* of a group's members */

static void add_members(const struct sl_comm *c) {
  memset(sums, 0, sizeof sums);
  for (int salt = 0; salt < SALTS; salt++) {
    for (int i = 0; i < PERIOD; i++)
      for (int m = 0; m < c->size; m++) sums[salt][i] += value(m, i, salt);
  }
}

static double sum_of(int64_t i, int salt) {
  return sums[salt][i % PERIOD];
}

static void store(enum sl_dtype type, void *x, int64_t i, double v) {
  if (type == SL_F64)
    ((double *)x)[i] = v;
  else
    ((float *)x)[i] = (float)v;
}

static double load(enum sl_dtype type, const void *x, int64_t i) {
  return type == SL_F64 ? ((const double *)x)[i] : (double)((const float *)x)[i];
}

/* How a part of n elements is cut: evenly with a remainder, all to one member, or in proportions 0 : 1 : 2 : ... */
enum cut { CUT_EVEN, CUT_ONE, CUT_SKEWED, CUT_COUNT };
struct cutting {
  enum cut cut;
  int members;
  int64_t n[4];
};

static struct sl_comm_piece piece(const void *context, int part, int member) {
  const struct cutting *k = context;
  int64_t n = k->n[part], m = k->members, lo, hi;
  if (k->cut == CUT_ONE) {
    bool mine = member == (int)(m / 2);
    lo = 0, hi = mine ? n : 0;
  } else if (k->cut == CUT_SKEWED) {
    int64_t total = m * (m - 1) / 2 + (m == 1), g = member;
    lo = n * (g * (g - 1) / 2) / total;
    hi = member == m - 1 ? n : n * (g * (g + 1) / 2) / total;
  } else {
    lo = n * member / m, hi = n * (member + 1) / m;
  }
  return (struct sl_comm_piece){lo, part == 0 ? 3 : 0, hi - lo}; /* the first part's shard starts at element 3 */
}

static int64_t all_pieces(const struct cutting *k, int part) {
  int64_t sum = 0;
  for (int g = 0; g < k->members; g++) sum += piece(k, part, g).count;
  return sum;
}

static void finish(struct sl_comm *c, struct sl_comm_request **requests, int count) {
  double start = MPI_Wtime();
  for (int i = 0; i < count; i++) {
    while (!requests[i]->done) {
      bool moved = false;
      sched_yield(); /* ranks share cores here */
      if (sl_comm_progress(c, &moved) != SL_OK || MPI_Wtime() - start > 60) {
        fprintf(stderr, "rank %d: stuck or failed: %s\n", world_rank, sl_error_message());
        MPI_Abort(MPI_COMM_WORLD, 1);
      }
    }
  }
}

static void start(struct sl_comm *c, struct sl_comm_request *r, const struct sl_comm_call *call) {
  if (sl_comm_start(c, r, call) == SL_OK) return;
  fprintf(stderr, "rank %d: %s\n", world_rank, sl_error_message());
  MPI_Abort(MPI_COMM_WORLD, 1);
}

struct memory {
  void *whole[2], *shard[2];
  int64_t n[2];
};

static void fill(struct memory *m, const struct sl_comm *c, enum sl_dtype type, const struct cutting *k, int salt) {
  for (int p = 0; p < 2; p++) {
    m->n[p] = k->n[p];
    m->whole[p] = malloc((size_t)(k->n[p] + 8) * 8);
    m->shard[p] = malloc((size_t)(k->n[p] + 8) * 8);
    for (int64_t i = 0; i < k->n[p]; i++) store(type, m->whole[p], i, value(c->index, i, salt + p));
    for (int64_t i = 0; i < k->n[p] + 8; i++) store(type, m->shard[p], i, 1000 + (double)i);
  }
}

static void drop(struct memory *m) {
  for (int p = 0; p < 2; p++) free(m->whole[p]), free(m->shard[p]);
}

static int64_t wire_of(const struct sl_comm *c, const struct cutting *k, unsigned moves, enum sl_dtype type) {
  int64_t elements = 0;
  for (int p = 0; p < 2; p++) {
    int64_t all = all_pieces(k, p), own = piece(k, p, c->index).count,
            next = piece(k, p, (c->index + 1) % c->size).count;
    if (moves & SL_MOVE_REDUCE) elements += all - own;
    if (moves & SL_MOVE_GATHER) elements += all - next;
  }
  return elements * sl_dtype_bytes(type);
}

static void check_wire(const struct sl_comm *c, const struct sl_comm_request *r, const struct cutting *k) {
  int64_t want = c->size == 1 ? 0 : wire_of(c, k, r->call.moves, r->call.dtype);
  expect(r->wire_bytes == want, "bytes on the wire", k->n[0], r->call.moves, (double)r->wire_bytes, (double)want);
}

/* Three all_reduces in flight at once, one of them tiny. */
static void test_all_reduce(struct sl_comm *c, int64_t n, enum sl_dtype type) {
  struct sl_comm_request r[3], *all[3] = {&r[0], &r[1], &r[2]};
  struct memory m[3];
  struct cutting k[3];
  struct sl_comm_part parts[3][2];
  for (int j = 0; j < 3; j++) {
    k[j] = (struct cutting){CUT_EVEN, c->size, {j == 1 ? 3 : n, n / 3}};
    fill(&m[j], c, type, &k[j], j);
    for (int p = 0; p < 2; p++) parts[j][p] = (struct sl_comm_part){.whole = m[j].whole[p], .count = k[j].n[p]};
    start(c, &r[j], &(struct sl_comm_call){SL_MOVE_REDUCE | SL_MOVE_GATHER, type, 0, 0, parts[j], 2, piece, &k[j], false});
  }
  finish(c, all, 3);
  for (int j = 0; j < 3; j++) {
    for (int p = 0; p < 2; p++)
      for (int64_t i = 0; i < k[j].n[p]; i++) {
        double got = load(type, m[j].whole[p], i), want = sum_of(i, j + p);
        expect(got == want, "all_reduce", k[j].n[p], i, got, want);
      }
    check_wire(c, &r[j], &k[j]);
    drop(&m[j]);
  }
}

static void test_reduce_scatter(struct sl_comm *c, int64_t n, enum sl_dtype type, enum cut cut, bool accumulate,
                                bool in_place) {
  struct sl_comm_request r, *one = &r;
  struct memory m;
  struct cutting k = {cut, c->size, {n, n / 5 + 1}};
  fill(&m, c, type, &k, 4);
  struct sl_comm_part parts[2];
  for (int p = 0; p < 2; p++) {
    struct sl_comm_piece mine = piece(&k, p, c->index);
    char *own = (char *)m.whole[p] + (mine.whole_first - mine.shard_first) * sl_dtype_bytes(type);
    parts[p] = (struct sl_comm_part){m.whole[p], k.n[p], in_place ? own : m.shard[p], accumulate};
  }
  start(c, &r, &(struct sl_comm_call){SL_MOVE_REDUCE, type, 0, 0, parts, 2, piece, &k, false});
  finish(c, &one, 1);
  for (int p = 0; p < 2; p++) {
    struct sl_comm_piece mine = piece(&k, p, c->index);
    for (int64_t i = 0; i < mine.count; i++) {
      double got = load(type, parts[p].shard, mine.shard_first + i), want = sum_of(mine.whole_first + i, 4 + p);
      if (accumulate) want += 1000 + (double)(mine.shard_first + i);
      expect(got == want, "reduce_scatter", n, i, got, want);
    }
    double guard = load(type, m.shard[p], mine.shard_first + mine.count);
    double kept = 1000 + (double)(mine.shard_first + mine.count);
    expect(guard == kept, "reduce_scatter past the shard", n, mine.count, guard, kept);
  }
  check_wire(c, &r, &k);
  drop(&m);
}

static void test_all_gather(struct sl_comm *c, int64_t n, enum sl_dtype type, enum cut cut, bool in_place) {
  struct sl_comm_request r, *one = &r;
  struct memory m;
  struct cutting k = {cut, c->size, {n, n / 7 + 1}};
  fill(&m, c, type, &k, 9);
  struct sl_comm_part parts[2];
  for (int p = 0; p < 2; p++) {
    struct sl_comm_piece mine = piece(&k, p, c->index);
    char *own = (char *)m.whole[p] + (mine.whole_first - mine.shard_first) * sl_dtype_bytes(type);
    parts[p] = (struct sl_comm_part){m.whole[p], k.n[p], in_place ? own : m.shard[p], false};
    for (int64_t i = 0; i < mine.count; i++)
      store(type, parts[p].shard, mine.shard_first + i, value(c->index, mine.whole_first + i, 9));
  }
  start(c, &r, &(struct sl_comm_call){SL_MOVE_GATHER, type, 0, 0, parts, 2, piece, &k, false});
  finish(c, &one, 1);
  for (int p = 0; p < 2; p++)
    for (int g = 0; g < c->size; g++) {
      struct sl_comm_piece q = piece(&k, p, g);
      for (int64_t i = q.whole_first; i < q.whole_first + q.count; i++) {
        double got = load(type, m.whole[p], i), want = value(g, i, 9);
        expect(got == want, "all_gather", n, i, got, want);
      }
    }
  check_wire(c, &r, &k);
  drop(&m);
}

static void test_broadcast(struct sl_comm *c, int64_t n, enum sl_dtype type) {
  struct sl_comm_request r, *one = &r;
  struct memory m;
  struct cutting k = {CUT_EVEN, c->size, {n, 2}};
  int root = c->size / 2;
  fill(&m, c, type, &k, 2);
  struct sl_comm_part part = {.whole = m.whole[0], .count = n};
  start(c, &r,
        &(struct sl_comm_call){.moves = SL_MOVE_CHAIN, .dtype = type, .peer = root, .parts = &part, .part_count = 1});
  finish(c, &one, 1);
  for (int64_t i = 0; i < n; i++) {
    double got = load(type, m.whole[0], i), want = value(root, i, 2);
    expect(got == want, "broadcast", n, i, got, want);
  }
  bool sends = c->size > 1 && (c->index + 1) % c->size != root;
  int64_t want = sends ? n * sl_dtype_bytes(type) : 0;
  expect(r.wire_bytes == want, "broadcast's bytes", n, 0, (double)r.wire_bytes, (double)want);
  drop(&m);
}

/* Both directions at once round the ring, two messages on one channel. */
static void test_send_recv(struct sl_comm *c, int64_t n, enum sl_dtype type) {
  if (c->size == 1) return;
  int next = (c->index + 1) % c->size, previous = (c->index + c->size - 1) % c->size;
  struct sl_comm_request r[4], *all[4] = {&r[0], &r[1], &r[2], &r[3]};
  struct cutting k = {CUT_EVEN, c->size, {n, n + 1}};
  struct memory out, in;
  fill(&out, c, type, &k, 5);
  fill(&in, c, type, &k, 6);
  struct sl_comm_part parts[4];
  for (int j = 0; j < 2; j++) {
    parts[j] = (struct sl_comm_part){.whole = out.whole[j], .count = k.n[j]};
    parts[2 + j] = (struct sl_comm_part){.whole = in.whole[j], .count = k.n[j]};
  }
  for (int j = 0; j < 4; j++)
    start(c, &r[j],
          &(struct sl_comm_call){.moves = j < 2 ? SL_MOVE_SEND : SL_MOVE_RECV,
                                 .dtype = type,
                                 .peer = j < 2 ? next : previous,
                                 .channel = 1,
                                 .parts = &parts[j],
                                 .part_count = 1});
  finish(c, all, 4);
  for (int p = 0; p < 2; p++)
    for (int64_t i = 0; i < k.n[p]; i++) {
      double got = load(type, in.whole[p], i), want = value(previous, i, 5 + p);
      expect(got == want, "recv", n, i, got, want);
    }
  expect(r[0].wire_bytes == n * sl_dtype_bytes(type), "send's bytes", n, 0, (double)r[0].wire_bytes, (double)n);
  drop(&out);
  drop(&in);
}

/* Piece g of a member's goes to member g: two parts, each of as many elements for every member. */
static void test_all_to_all(struct sl_comm *c, int64_t n, enum sl_dtype type) {
  struct sl_comm_request r, *one = &r;
  struct memory m;
  const int64_t each[2] = {n / c->size, n / c->size / 7 + 1};
  const struct cutting k = {CUT_EVEN, c->size, {each[0] * c->size, each[1] * c->size}};
  struct sl_comm_part parts[2];
  fill(&m, c, type, &k, 21);
  for (int p = 0; p < 2; p++) {
    parts[p] = (struct sl_comm_part){.whole = m.shard[p], .count = k.n[p], .shard = m.whole[p]};
  }
  start(c, &r, &(struct sl_comm_call){.moves = SL_MOVE_EXCHANGE, .dtype = type, .parts = parts, .part_count = 2});
  finish(c, &one, 1);
  for (int p = 0; p < 2; p++) {
    for (int64_t i = 0; i < k.n[p]; i++) {
      const int64_t from = i / each[p], at = c->index * each[p] + i % each[p];
      const double got = load(type, m.shard[p], i), want = value((int)from, at, 21 + p);
      expect(got == want, "all_to_all", n, i, got, want);
    }
    const double guard = load(type, m.shard[p], k.n[p]), kept = 1000 + (double)k.n[p];
    expect(guard == kept, "all_to_all past the whole", n, k.n[p], guard, kept);
  }
  const int64_t want = (each[0] + each[1]) * (c->size - 1) * sl_dtype_bytes(type);
  expect(r.wire_bytes == want, "bytes on the wire", n, SL_MOVE_EXCHANGE, (double)r.wire_bytes, (double)want);
  drop(&m);
}

static void test_group(struct sl_comm *c) {
  const int64_t sizes[] = {0, 1, 3, 1001, 1000003};
  add_members(c);
  for (int t = 0; t < 2; t++) {
    enum sl_dtype type = t ? SL_F64 : SL_F32;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
      int64_t n = sizes[s];
      test_all_reduce(c, n, type);
      test_broadcast(c, n, type);
      test_send_recv(c, n, type);
      test_all_to_all(c, n, type);
      for (enum cut cut = 0; cut < CUT_COUNT; cut++) {
        test_reduce_scatter(c, n, type, cut, false, false);
        test_reduce_scatter(c, n, type, cut, true, false);
        test_reduce_scatter(c, n, type, cut, false, true);
        test_all_gather(c, n, type, cut, false);
        test_all_gather(c, n, type, cut, true);
      }
    }
  }
}

/* Time of one all_reduce of `bytes`, ours and MPI's, best of five: printed, not judged. */
static void compare_speed(struct sl_comm *c, int64_t bytes) {
  int64_t n = bytes / 4;
  float *x = malloc((size_t)bytes);
  for (int64_t i = 0; i < n; i++) x[i] = 1;
  struct cutting k = {CUT_EVEN, c->size, {n}};
  struct sl_comm_part part = {.whole = x, .count = n};
  double best[2] = {1e9, 1e9};
  for (int round = 0; round < 10; round++) {
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime();
    if (round % 2) {
      MPI_Allreduce(MPI_IN_PLACE, x, (int)n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    } else {
      struct sl_comm_request r, *one = &r;
      start(c, &r, &(struct sl_comm_call){SL_MOVE_REDUCE | SL_MOVE_GATHER, SL_F32, 0, 0, &part, 1, piece, &k, false});
      finish(c, &one, 1);
    }
    double took = MPI_Wtime() - begin;
    if (took < best[round % 2]) best[round % 2] = took;
  }
  if (world_rank == 0)
    printf("all_reduce of %ld bytes on %d ranks: ours %.3f ms, MPI_Allreduce %.3f ms\n", (long)bytes, c->size,
           best[0] * 1e3, best[1] * 1e3);
  free(x);
}

int main(int argc, char **argv) {
  /* Megabytes that are freed and asked for again stay ours: the kernel would clear their pages each time. */
  mallopt(M_MMAP_THRESHOLD, 1 << 25), mallopt(M_TRIM_THRESHOLD, 1 << 28);
  MPI_Init(&argc, &argv);
  int size;
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  struct sl_comm all, part;
  if (sl_comm_open(&all, MPI_COMM_WORLD, 0, world_rank, "all", true) != SL_OK) MPI_Abort(MPI_COMM_WORLD, 1);
  /* A sub-group whose members stand in reverse order. */
  if (sl_comm_open(&part, MPI_COMM_WORLD, world_rank % 2, -world_rank, "part", true) != SL_OK)
    MPI_Abort(MPI_COMM_WORLD, 1);
  if (argc > 1) {
    compare_speed(&all, atol(argv[1]));
  } else {
    test_group(&all);
    test_group(&part);
  }
  sl_comm_close(&all);
  sl_comm_close(&part);
  int any = 0;
  MPI_Allreduce(&failures, &any, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (world_rank == 0)
    printf("%s: %d checks on rank 0, %d failures on %d ranks\n", any ? "FAIL" : "ok", checks, any, size);
  MPI_Finalize();
  return any != 0;
}
