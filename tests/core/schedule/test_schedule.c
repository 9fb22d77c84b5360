/* label: unit
 * Schedules: PyTorch's own lists, closed forms of bubble and memory, every builder on every small size, and schedules that
 * are wrong on purpose. */
#include "core/schedule/action.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct sl_schedule generate(const char *name, int ranks, int stages, int micro_batches) {
  struct sl_schedule s;
  sl_error_clear();
  if (sl_schedule_generate(&s, name, ranks, stages, micro_batches) != SL_OK)
    fail_msg("%s p=%d v=%d m=%d: %s", name, ranks, stages, micro_batches, sl_error_message());
  return s;
}

static void lower(struct sl_schedule *s) {
  if (sl_schedule_lower_unshard(s, 3) != SL_OK || sl_schedule_lower_reduce(s) != SL_OK ||
      sl_schedule_lower_sends(s) != SL_OK)
    fail_msg("%s", sl_error_message());
}

static char *print(const struct sl_schedule *s) {
  char *text;
  size_t size;
  FILE *out = open_memstream(&text, &size);
  assert_non_null(out);
  sl_schedule_print(s, out);
  fclose(out);
  return text;
}

static char *read_golden(const char *name, int p, int v, int m, const char *form) {
  char path[512];
  snprintf(path, sizeof path, SL_SOURCE_DIR "/tests/golden/schedules/%s_p%d_v%d_m%d%s.csv", name, p, v, m, form);
  FILE *file = fopen(path, "r");
  if (file == NULL) fail_msg("%s: cannot be read", path);
  char *text = calloc(1, 1 << 16);
  assert_in_range(fread(text, 1, (1 << 16) - 1, file), 1, (1 << 16) - 2);
  fclose(file);
  return text;
}

/* The CSV without its empty cells. */
static void drop_idle(char *text) {
  char *to = text;
  for (const char *from = text; *from != '\0'; from++) {
    const bool line_start = to == text || to[-1] == '\n';
    if (*from == ',' && (line_start || to[-1] == ',')) continue;
    if (*from == '\n' && to > text && to[-1] == ',') to--;
    *to++ = *from;
  }
  *to = '\0';
}

static const struct {
  const char *name;
  int p, v, m;
} goldens[] = {
    {"gpipe", 2, 1, 3},
    {"gpipe", 4, 1, 7},
    {"gpipe", 5, 1, 11},
    {"1f1b", 2, 1, 3},
    {"1f1b", 4, 1, 7},
    {"1f1b", 5, 1, 11},
    {"interleaved", 2, 2, 6},
    {"interleaved", 3, 3, 9},
    {"interleaved", 4, 2, 10},
    {"interleaved", 5, 2, 3},
    {"looped-bfs", 2, 3, 5},
    {"looped-bfs", 3, 2, 7},
    {"looped-bfs", 4, 2, 4},
    {"zb-h1", 2, 1, 3},
    {"zb-h1", 3, 1, 7},
    {"zb-h1", 5, 1, 11},
    {"interleaved-zb", 2, 2, 6},
    {"interleaved-zb", 3, 3, 9},
    {"interleaved-zb", 4, 2, 10},
    {"zbv", 2, 2, 3},
    {"zbv", 3, 2, 7},
    {"zbv", 4, 2, 3},
    {"zbv", 5, 2, 11},
};
enum { GOLDENS = sizeof goldens / sizeof *goldens };

static void builders_give_the_lists_of_pytorch(void **state) {
  (void)state;
  for (int i = 0; i < GOLDENS; i++) {
    struct sl_schedule s = generate(goldens[i].name, goldens[i].p, goldens[i].v, goldens[i].m);
    char *want = read_golden(goldens[i].name, goldens[i].p, goldens[i].v, goldens[i].m, ""), *have = print(&s);
    drop_idle(want);
    assert_string_equal(have, want);
    free(have);
    free(want);
    sl_schedule_free(&s);
  }
}

static void passes_give_the_lists_of_pytorch(void **state) {
  (void)state;
  for (int i = 0; i < GOLDENS; i++) {
    struct sl_schedule s = generate(goldens[i].name, goldens[i].p, goldens[i].v, goldens[i].m);
    lower(&s);
    char *want = read_golden(goldens[i].name, goldens[i].p, goldens[i].v, goldens[i].m, "_lowered"), *have = print(&s);
    assert_string_equal(have, want);
    free(have);
    free(want);
    sl_schedule_free(&s);
  }
}

static void a_csv_with_idle_ticks_reads_and_prints_back(void **state) {
  (void)state;
  for (int i = 0; i < 2 * GOLDENS; i++) {
    const int g = i / 2;
    struct sl_schedule s, built = generate(goldens[g].name, goldens[g].p, goldens[g].v, goldens[g].m);
    char *text = read_golden(goldens[g].name, goldens[g].p, goldens[g].v, goldens[g].m, i % 2 ? "_lowered" : "");
    assert_int_equal(sl_schedule_parse(&s, "golden.csv", text, strlen(text)), SL_OK);
    char *again = print(&s);
    assert_string_equal(again, text);
    assert_int_equal(s.ranks, built.ranks);
    assert_int_equal(s.stages, built.stages);
    assert_int_equal(s.micro_batches, built.micro_batches);
    assert_memory_equal(s.stage_rank, built.stage_rank, (size_t)s.stages * sizeof *s.stage_rank);
    assert_int_equal(sl_schedule_validate(&s), SL_OK);
    free(again);
    free(text);
    sl_schedule_free(&s);
    sl_schedule_free(&built);
  }
}

static struct sl_schedule_run play(const struct sl_schedule *s, struct sl_schedule_costs costs) {
  struct sl_schedule_run run;
  sl_error_clear();
  if (sl_schedule_dry_run(s, &costs, &run) != SL_OK) fail_msg("%s", sl_error_message());
  return run;
}

static void assert_bubble(const char *name, int p, int v, int m, int numerator, int denominator) {
  struct sl_schedule s = generate(name, p, v, m);
  struct sl_schedule_run run = play(&s, SL_SCHEDULE_UNIT_COSTS);
  const double want = (double)numerator / denominator;
  if (run.bubble < want - 1e-12 || run.bubble > want + 1e-12)
    fail_msg("%s p=%d v=%d m=%d: bubble %.6f, expected %d/%d", name, p, v, m, run.bubble, numerator, denominator);
  sl_schedule_run_free(&run);
  sl_schedule_free(&s);
}

static void bubbles_are_the_closed_forms(void **state) {
  (void)state;
  for (int p = 1; p <= 16; p++) {
    for (int m = 1; m <= 37; m++) {
      assert_bubble("gpipe", p, 1, m, p - 1, m + p - 1);
      assert_bubble("1f1b", p, 1, m, p - 1, m + p - 1);
      /* I fills two thirds of the wait: (p - 1) (F + I - W) of m (F + I + W) */
      if (m >= p) assert_bubble("zb-h1", p, 1, m, p - 1, 3 * m + p - 1);
      /* nothing but the skew of the first forward is left */
      if (m >= 2 * p - 1) assert_bubble("zbv", p, 2, m, p - 1, 6 * m + p - 1);
    }
    for (int v = 2; v <= 5; v++) {
      for (int rounds = 1; rounds <= 3; rounds++) {
        const int m = rounds * p;
        assert_bubble("interleaved", p, v, m, p - 1, v * m + p - 1);
        assert_bubble("interleaved-zb", p, v, m, p - 1, 3 * v * m + p - 1);
      }
      assert_bubble("looped-bfs", p, v, p + 3, p - 1, v * (p + 3) + p - 1);
    }
  }
}

static void unequal_costs_count(void **state) {
  (void)state;
  /* GPipe, p=3, m=5, F=3, B=7: (m + p - 1) (F + B) */
  struct sl_schedule s = generate("gpipe", 3, 1, 5);
  struct sl_schedule_run run = play(&s, (struct sl_schedule_costs){.forward = 3, .backward = 7});
  assert_int_equal(run.makespan, 70);
  assert_int_equal(run.start[2][0], 6);
  assert_int_equal(run.start[0][5], 3 * 7 + 2 * 7);
  sl_schedule_run_free(&run);
  sl_schedule_free(&s);
}

static void one_f_one_b_holds_what_the_pipeline_is_deep(void **state) {
  (void)state;
  for (int p = 1; p <= 16; p++) {
    for (int m = 1; m <= 21; m++) {
      struct sl_schedule s = generate("1f1b", p, 1, m), g = generate("gpipe", p, 1, m), z = generate("zb-h1", p, 1, m);
      struct sl_schedule_run a = play(&s, SL_SCHEDULE_UNIT_COSTS), b = play(&g, SL_SCHEDULE_UNIT_COSTS),
                             c = play(&z, SL_SCHEDULE_UNIT_COSTS);
      for (int r = 0; r < p; r++) {
        assert_int_equal(a.peak[r], p - r < m ? p - r : m);
        assert_int_equal(b.peak[r], m);
        assert_int_equal(c.peak[r], p < m ? p : m);
      }
      sl_schedule_run_free(&a), sl_schedule_run_free(&b), sl_schedule_run_free(&c);
      sl_schedule_free(&s), sl_schedule_free(&g), sl_schedule_free(&z);
    }
  }
}

/* Rank r of interleaved: its warm-up, and the forward that the first backward follows. */
static void interleaving_costs_memory_by_its_warm_up(void **state) {
  (void)state;
  struct sl_schedule s = generate("interleaved", 5, 3, 15);
  struct sl_schedule_run run = play(&s, SL_SCHEDULE_UNIT_COSTS);
  for (int r = 0; r < 5; r++) assert_int_equal(run.peak[r], 2 * 5 + 2 * (4 - r) + 1);
  sl_schedule_run_free(&run);
  sl_schedule_free(&s);
  s = generate("zbv", 5, 2, 13); /* as much as 1F1B's first rank: 2p half-stages */
  run = play(&s, SL_SCHEDULE_UNIT_COSTS);
  for (int r = 0; r < 5; r++) assert_int_equal(run.peak[r], 10);
  sl_schedule_run_free(&run);
  sl_schedule_free(&s);
}

static void assert_sound(const char *name, int p, int v, int m, int max_active) {
  struct sl_schedule s = generate(name, p, v, m);
  enum sl_status status = sl_schedule_validate(&s);
  struct sl_schedule_run before = {0}, after = {0};
  if (status == SL_OK) status = sl_schedule_dry_run(&s, &SL_SCHEDULE_UNIT_COSTS, &before);
  if (status == SL_OK) status = sl_schedule_lower_unshard(&s, max_active);
  if (status == SL_OK) status = sl_schedule_lower_reduce(&s);
  if (status == SL_OK) status = sl_schedule_lower_sends(&s);
  if (status == SL_OK) status = sl_schedule_validate(&s);
  if (status == SL_OK) status = sl_schedule_dry_run(&s, &SL_SCHEDULE_UNIT_COSTS, &after);
  if (status != SL_OK) fail_msg("%s p=%d v=%d m=%d: %s", name, p, v, m, sl_error_message());
  assert_int_equal(before.makespan, after.makespan);
  sl_schedule_run_free(&before);
  sl_schedule_run_free(&after);
  sl_schedule_free(&s);
}

static void every_small_schedule_is_sound(void **state) {
  (void)state;
  int tried = 0;
  sl_error_clear();
  for (int p = 1; p <= 16; p++) {
    for (int m = 1; m <= 64; m++) {
      for (int i = 0; sl_schedule_name(i, NULL) != NULL; i++) {
        const char *name = sl_schedule_name(i, NULL);
        for (int v = 1; v <= 4; v += v < 2 ? 1 : 2) {
          struct sl_schedule s;
          const enum sl_status legal = sl_schedule_generate(&s, name, p, v, m);
          sl_schedule_free(&s);
          sl_error_clear();
          if (legal != SL_OK) continue;
          assert_sound(name, p, v, m, 1 + (p + m) % 4);
          tried++;
        }
      }
    }
  }
  assert_in_range(tried, 10000, 16 * 64 * 7 * 3);
}

static void a_stage_is_whole_no_longer_than_the_window(void **state) {
  (void)state;
  struct sl_schedule s = generate("interleaved", 3, 4, 9);
  assert_int_equal(sl_schedule_lower_unshard(&s, 2), SL_OK);
  assert_int_equal(sl_schedule_validate(&s), SL_OK);
  for (int rank = 0; rank < s.ranks; rank++) {
    int whole = 0, most = 0;
    for (size_t i = 0; i < s.counts[rank]; i++) {
      whole += s.actions[rank][i].kind == SL_ACTION_UNSHARD;
      whole -= s.actions[rank][i].kind == SL_ACTION_RESHARD;
      if (whole > most) most = whole;
    }
    assert_int_equal(most, 2);
    assert_int_equal(whole, 0);
  }
  assert_int_equal(sl_schedule_lower_unshard(&s, 0), SL_ERR_INPUT);
  sl_schedule_free(&s);
}

/* A schedule that is wrong: what is said, and the cell that the grid puts in brackets on the marked line. */
struct wrong {
  const char *csv, *message, *cell;
};

static const struct wrong wrongs[] = {
    /* incomplete or out of order on one rank */
    {"0B0,0F0\n1F0,1B0\n", "rank 0, step 0: 0B0: the backward comes before its forward", "[0B0]"},
    {"0F0,0F0,0B0\n1F0,1B0\n", "rank 0, step 1: 0F0: stands twice", "[0F0]"},
    {"0F0,0B0,0B0\n1F0,1B0\n", "rank 0, step 2: 0B0: stands twice", "[0B0]"},
    {"0F0,0I0,0B0\n1F0,1B0\n", "rank 0, step 2: 0B0: the micro-batch has had its backward", "[0B0]"},
    {"0F0,0B0,0W0\n1F0,1B0\n", "rank 0, step 2: 0W0: the weight gradient is part of its B", "[0W0]"},
    {"0F0,0W0,0I0\n1F0,1B0\n", "rank 0, step 1: 0W0: the weight gradient comes before its I", "[0W0]"},
    {"0F0,0I0\n1F0,1I0,1W0\n", "micro-batch 0 of stage 0 has no W", "[]"},
    {"0F0,0F1,0B0,0B1\n1F0,1B0,1F0,1B1\n", "rank 1, step 2: 1F0: stands twice", "[1F0]"},
    {"0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1I1\n", "micro-batch 1 of stage 1 has no W", "[]"},
    {"0F0,0B0,1B0\n1F0,1B0\n", "rank 0, step 2: 1B0: the backward comes before its forward", "[1B0]"},
    {"0F0,0B0\n1F0,1B0,0F0\n", "rank 1, step 2: 0F0: stage 0 is on rank 0", "[0F0]"},
    /* deadlock by the order across ranks */
    {"0F0,0F1,0B0,0B1\n1F0,1F1,1B1,1B0\n2F1,2B0,2F0,2B1\n", "rank 2, step 1: 2B0: the backward comes before", "[2B0]"},
    {"0F0,0B0,0F1,0B1\n1F1,1F0,1B0,1B1\n",
     "deadlock\n  rank 0 waits at #1 0B0: 1B0 stands at #2 of rank 1\n  rank 1 waits at #0 1F1: 0F1 stands at #2 of "
     "rank 0",
     "[0B0]"},
    {"0F0,3F0,3B0,0B0\n2F0,1F0,1B0,2B0\n",
     "deadlock\n  rank 0 waits at #1 3F0: 2F0 stands at #0 of rank 1\n  rank 1 waits at #0 2F0: 1F0 stands at #1 of "
     "rank 1",
     "[3F0]"},
    /* sends and receives */
    {"0F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0\n", "micro-batch 0 of stage 0 has no SEND_F", "[]"},
    {"0F0,0SEND_F0,0RECV_B0,0B0\n1F0,1RECV_F0,1B0,1SEND_B0\n", "rank 1, step 0: 1F0: its input has not been received",
     "[1F0]"},
    {"0SEND_F0,0F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0\n", "0SEND_F0: it sends what no F has computed yet",
     "[0SEND_F0]"},
    {"0F0,0SEND_F0,0RECV_B0,0B0\n1RECV_F0,1F0,1SEND_B0,1B0\n", "1SEND_B0: it sends what no B or I has computed yet",
     "[1SEND_B0]"},
    {"0F0,0SEND_F0,0B0,0RECV_B0\n1RECV_F0,1F0,1B0,1SEND_B0\n", "0B0: its gradient has not been received", "[0B0]"},
    {"0F0,0SEND_F0,0RECV_B0,0B0,0SEND_B0\n1RECV_F0,1F0,1B0,1SEND_B0\n", "0SEND_B0: there is no stage -1", "[0SEND_B0]"},
    {"0F0,0SEND_F0,1F0,1B0,0B0\n", "0SEND_F0: stages 0 and 1 are on the same rank", "[0SEND_F0]"},
    {"0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1\n"
     "1RECV_F1,1F1,1RECV_F0,1F0,1B0,1SEND_B0,1B1,1SEND_B1\n",
     "deadlock: sends and receives wait for each other\n  rank 0 waits at #1 0SEND_F0: 1RECV_F0 stands at #2 of rank "
     "1\n  rank 1 waits at #0 1RECV_F1: 0SEND_F1 stands at #3 of rank 0",
     "[0SEND_F0]"},
    {"0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1\n"
     "1RECV_F0,1F0,1B0,1SEND_B0,1RECV_F1,1F1,1B1,1SEND_B1\n",
     "deadlock: sends and receives wait for each other\n  rank 0 waits at #3 0SEND_F1: 1RECV_F1 stands at #4 of rank "
     "1\n  rank 1 waits at #3 1SEND_B0: 0RECV_B0 stands at #4 of rank 0",
     "[0SEND_F1]"},
    /* parameters and gradients */
    {"0UNSHARD,0F0,0RESHARD,0B0\n1F0,1B0\n", "rank 0, step 3: 0B0: stage 0 is not unsharded here", "[0B0]"},
    {"0UNSHARD,0F0,0UNSHARD,0B0,0RESHARD\n1F0,1B0\n", "0UNSHARD: stage 0 is unsharded already", "[0UNSHARD]"},
    {"0UNSHARD,0F0,0B0\n1F0,1B0\n", "the list ends, and stage 0 has no RESHARD", "[]"},
    {"0F0,0F1,0B0,0REDUCE_GRAD,0B1\n1F0,1F1,1B0,1B1\n", "1 of the 2 micro-batches have added their gradients",
     "[0REDUCE_GRAD]"},
    {"0F0,0B0,0REDUCE_GRAD,0REDUCE_GRAD\n1F0,1B0\n", "rank 0, step 3: 0REDUCE_GRAD: stands twice", "[0REDUCE_GRAD]"},
};
enum { WRONGS = sizeof wrongs / sizeof *wrongs };

static void assert_marked(const char *cell) {
  const char *mark = strstr(sl_error_message(), "<-- ERROR HERE");
  if (mark == NULL) fail_msg("no place is marked: %s", sl_error_message());
  const char *line = mark;
  while (line[-1] != '\n') line--;
  const char *found = strstr(line, cell);
  if (found == NULL || found > mark) fail_msg("%s is not in the marked line: %s", cell, sl_error_message());
}

static void wrong_schedules_are_refused_with_their_place(void **state) {
  (void)state;
  for (int i = 0; i < WRONGS; i++) {
    struct sl_schedule s;
    struct sl_schedule_run run = {0};
    sl_error_clear();
    if (sl_schedule_parse(&s, "wrong.csv", wrongs[i].csv, strlen(wrongs[i].csv)) != SL_OK)
      fail_msg("case %d: %s", i, sl_error_message());
    enum sl_status status = sl_schedule_validate(&s);
    if (status == SL_OK) status = sl_schedule_dry_run(&s, &SL_SCHEDULE_UNIT_COSTS, &run);
    if (status != SL_ERR_CHECK) fail_msg("case %d is taken: %s", i, wrongs[i].csv);
    if (strstr(sl_error_message(), wrongs[i].message) == NULL)
      fail_msg("case %d: \"%s\" is not in: %s", i, wrongs[i].message, sl_error_message());
    assert_marked(wrongs[i].cell);
    assert_null(run.start);
    sl_schedule_free(&s);
  }
}

/* Every single action that is left out of a lowered schedule is missed, whatever it is. */
static void a_missing_action_is_always_found(void **state) {
  (void)state;
  static const char *const names[] = {"1f1b", "interleaved", "zbv"};
  for (int n = 0; n < 3; n++) {
    struct sl_schedule s = generate(names[n], 3, n > 0 ? 2 : 1, 6);
    lower(&s);
    for (int rank = 0; rank < s.ranks; rank++) {
      for (size_t i = 0; i < s.counts[rank]; i++) {
        const struct sl_action kept = s.actions[rank][i];
        s.actions[rank][i].kind = SL_ACTION_IDLE;
        sl_error_clear();
        const bool optional = kept.kind == SL_ACTION_REDUCE_GRAD;
        if ((sl_schedule_validate(&s) == SL_OK) != optional)
          fail_msg("%s: rank %d, step %zu can be left out", names[n], rank, i);
        s.actions[rank][i] = kept;
      }
    }
    sl_schedule_free(&s);
  }
}

static const struct {
  const char *csv, *message;
} unreadable[] = {
    {"", "x.csv: has 0 bytes; expected a schedule, one line a rank"},
    {"0F0,0B0\n1F0,1G0\n", "x.csv:2:5: \"1G0\": expected <stage><OP><micro-batch>"},
    {"0F0, 0b0\n", "x.csv:1:6: \"0b0\": expected <stage><OP>"},
    {"0F0,,0B\n", "x.csv:1:6: \"0B\": expected a micro-batch"},
    {"0UNSHARD3,0F0,0B0\n", "x.csv:1:1: \"0UNSHARD3\": expected no micro-batch"},
    {"0F0,0SEND_F,0B0\n", "x.csv:1:5: \"0SEND_F\": expected a micro-batch"},
    {"0F0,0B0,0STEP\n", "x.csv:1:9: \"0STEP\": expected <stage><OP>"},
    {"0F0,0B0\n1F0,(1F1;1B0)OVERLAP_F_B,1B1\n",
     "x.csv:2:5: \"(1F1;1B0)OVERLAP_F_B\": overlapped pairs are not modelled"},
    {"0F0,0B0,40000F0\n", "x.csv:1:9: \"40000F0\": expected"},
    {"0F0,0B0,0F99999999999\n", "x.csv:1:9: \"0F99999999999\": expected"},
    {"0F0,0B0\n2F0,2B0\n", "x.csv: 3 stages x 1 micro-batches need an F and a B each, 6 in all; it has 4"},
    {"0F0,0B0,0I0,0W0\n2F0,2B0\n", "x.csv: stage 1 computes nothing"},
    {"0F0,0B3\n", "x.csv: 1 stages x 4 micro-batches need an F and a B each, 8 in all; it has 2"},
    {",,\n,\n", "x.csv: has no F, B, I or W; expected a schedule"},
    {"0UNSHARD\n", "x.csv: has no F, B, I or W; expected a schedule"},
    {"0F0,-1B0\n", "x.csv:1:5: \"-1B0\": expected"},
};

static void unreadable_files_are_refused_by_line_and_column(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof unreadable / sizeof *unreadable; i++) {
    struct sl_schedule s;
    sl_error_clear();
    assert_int_equal(sl_schedule_parse(&s, "x.csv", unreadable[i].csv, strlen(unreadable[i].csv)), SL_ERR_INPUT);
    if (strncmp(sl_error_message(), unreadable[i].message, strlen(unreadable[i].message)) != 0)
      fail_msg("case %zu: expected \"%s\", got \"%s\"", i, unreadable[i].message, sl_error_message());
    assert_null(s.actions);
  }
  struct sl_schedule s;
  sl_error_clear();
  assert_int_equal(sl_schedule_parse(&s, "x.csv", "0F0\0,0B0", 8), SL_ERR_INPUT);
  assert_non_null(strstr(sl_error_message(), "x.csv:1:1: is no action"));
  sl_error_clear();
  assert_int_equal(sl_schedule_load(&s, "no/such.csv"), SL_ERR_INPUT);
}

/* What PyTorch 2.9 and later write: CRLF, and waits, which follow from our program. */
static void files_of_pytorch_are_read(void **state) {
  (void)state;
  static const char text[] = "0F0,0SEND_F0, ,0RECV_B0,0B0,0WAIT_SEND_F0,0REDUCE_GRAD,0WAIT_REDUCE_GRAD\r\n"
                             "1RECV_F0,1F0 ,1B0,1SEND_B0,1WAIT_SEND_B0";
  struct sl_schedule s;
  assert_int_equal(sl_schedule_parse(&s, "x.csv", text, sizeof text - 1), SL_OK);
  assert_int_equal(sl_schedule_validate(&s), SL_OK);
  char *again = print(&s);
  assert_string_equal(again, "0F0,0SEND_F0,,0RECV_B0,0B0,0REDUCE_GRAD\n1RECV_F0,1F0,1B0,1SEND_B0\n");
  free(again);
  sl_schedule_free(&s);
}

static const struct {
  const char *name;
  int p, v, m;
  const char *message;
} impossible[] = {
    {"1f2b", 3, 1, 5,
     "schedule \"1f2b\": is unknown; expected one of gpipe, 1f1b, interleaved, looped-bfs, zb-h1, "
     "interleaved-zb, zbv, or a .csv file; did you mean 1f1b?"},
    {"1f1b", 3, 2, 5, "schedule 1f1b: 2 stages a rank; expected 1"},
    {"zbv", 3, 1, 5, "schedule zbv: 1 stages a rank; expected 2"},
    {"zbv", 3, 3, 5, "schedule zbv: 3 stages a rank; expected 2"},
    {"gpipe", 0, 1, 5, "schedule gpipe: 0 pipeline ranks; expected 1 to"},
    {"gpipe", 3, 1, 0, "schedule gpipe: 0 micro-batches; expected 1 or more"},
    {"interleaved", 3, 0, 6, "schedule interleaved: 0 stages a rank; expected 1 or more"},
    {"interleaved", 3, 2, 7,
     "schedule interleaved: 7 micro-batches on 3 ranks are dealt in 2 rounds; expected a multiple"},
    {"interleaved", 5000, 9, 3, "schedule interleaved: 5000 ranks x 9 stages; expected at most 32767 stages"},
    {"gpipe", 1000, 1, 1 << 20, "schedule gpipe: 1000 stages x 1048576 micro-batches; expected at most"},
};

static void impossible_numbers_are_refused(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof impossible / sizeof *impossible; i++) {
    struct sl_schedule s;
    sl_error_clear();
    assert_int_equal(sl_schedule_generate(&s, impossible[i].name, impossible[i].p, impossible[i].v, impossible[i].m),
                     SL_ERR_INPUT);
    if (strncmp(sl_error_message(), impossible[i].message, strlen(impossible[i].message)) != 0)
      fail_msg("expected \"%s\", got \"%s\"", impossible[i].message, sl_error_message());
  }
}

static void sends_are_not_added_twice_nor_to_a_deadlock(void **state) {
  (void)state;
  struct sl_schedule s = generate("1f1b", 3, 1, 5);
  sl_error_clear();
  assert_int_equal(sl_schedule_lower_sends(&s), SL_OK);
  assert_int_equal(sl_schedule_lower_sends(&s), SL_ERR_INPUT);
  assert_non_null(strstr(sl_error_message(), "rank 0, step 1: the schedule has sends and receives already"));
  sl_schedule_free(&s);
  static const char crossed[] = "0F0,0B0,0F1,0B1\n1F1,1F0,1B0,1B1\n";
  sl_error_clear();
  assert_int_equal(sl_schedule_parse(&s, "x.csv", crossed, sizeof crossed - 1), SL_OK);
  assert_int_equal(sl_schedule_lower_sends(&s), SL_ERR_CHECK);
  assert_non_null(strstr(sl_error_message(), "rank 0, step 1: 0B0: what it needs never comes"));
  assert_marked("[0B0]");
  sl_schedule_free(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(builders_give_the_lists_of_pytorch),
      cmocka_unit_test(passes_give_the_lists_of_pytorch),
      cmocka_unit_test(a_csv_with_idle_ticks_reads_and_prints_back),
      cmocka_unit_test(bubbles_are_the_closed_forms),
      cmocka_unit_test(unequal_costs_count),
      cmocka_unit_test(one_f_one_b_holds_what_the_pipeline_is_deep),
      cmocka_unit_test(interleaving_costs_memory_by_its_warm_up),
      cmocka_unit_test(every_small_schedule_is_sound),
      cmocka_unit_test(a_stage_is_whole_no_longer_than_the_window),
      cmocka_unit_test(wrong_schedules_are_refused_with_their_place),
      cmocka_unit_test(a_missing_action_is_always_found),
      cmocka_unit_test(unreadable_files_are_refused_by_line_and_column),
      cmocka_unit_test(files_of_pytorch_are_read),
      cmocka_unit_test(impossible_numbers_are_refused),
      cmocka_unit_test(sends_are_not_added_twice_nor_to_a_deadlock),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
