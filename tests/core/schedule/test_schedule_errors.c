/* label: unit
 * Schedules that are wrong on purpose: each is refused with its place, be it an action, a line of a file or a
 * number. */
#include "tests/support/schedules.h"

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
      cmocka_unit_test(wrong_schedules_are_refused_with_their_place),
      cmocka_unit_test(a_missing_action_is_always_found),
      cmocka_unit_test(unreadable_files_are_refused_by_line_and_column),
      cmocka_unit_test(impossible_numbers_are_refused),
      cmocka_unit_test(sends_are_not_added_twice_nor_to_a_deadlock),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
