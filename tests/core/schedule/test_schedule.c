/* label: unit
 * Schedules: PyTorch's own lists, closed forms of bubble and memory, and every builder on every small size. */
#include "tests/support/schedules.h"

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
    for (int m = 1; m <= 64; m += m < 20 ? 1 : 11) {
      for (int i = 0; sl_schedule_name(i, NULL) != NULL; i++) {
        const char *name = sl_schedule_name(i, NULL);
        if ((p + m + i) % SL_EVERY != 0) continue;
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
  assert_in_range(tried, 4400 / SL_EVERY, 16 * 24 * 7 * 3);
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

/* In turn, the second stage takes in its next activation behind the backward that the first sat out. */
static void messages_in_turn(void **state) {
  (void)state;
  struct sl_schedule s = generate("1f1b", 2, 1, 3);
  assert_int_equal(sl_schedule_lower_sends_in_turn(&s), SL_OK);
  char *text = print(&s);
  assert_string_equal(text, "0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0F2,0SEND_F2,0RECV_B1,0B1,0RECV_B2,0B2\n"
                            "1RECV_F0,1F0,1RECV_F1,1B0,1SEND_B0,1F1,1B1,1RECV_F2,1SEND_B1,1F2,1B2,1SEND_B2\n");
  free(text);
  sl_schedule_free(&s);
  for (int p = 2; p <= 8; p++) {
    for (int m = 1; m <= 17; m++) {
      s = generate("1f1b", p, 1, m);
      struct sl_schedule_run before = play(&s, SL_SCHEDULE_UNIT_COSTS);
      assert_int_equal(sl_schedule_lower_sends_in_turn(&s), SL_OK);
      assert_int_equal(sl_schedule_validate(&s), SL_OK);
      struct sl_schedule_run after = play(&s, SL_SCHEDULE_UNIT_COSTS);
      assert_int_equal(before.makespan, after.makespan);
      sl_schedule_run_free(&before), sl_schedule_run_free(&after);
      sl_schedule_free(&s);
    }
  }
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
      cmocka_unit_test(messages_in_turn),
      cmocka_unit_test(files_of_pytorch_are_read),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
