/* label: unit
 * Pieces that threads read ahead: each is what was saved, in whatever turns they are taken; what is given up is said to
 * be, and is verified all the same; of what is damaged nothing is given out. */
#include "core/checkpoint/held.h"
#include "core/checkpoint/read_ahead.h"
#include "tests/core/checkpoint/ranks.h"

#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define GPT2 SL_SOURCE_DIR "/tests/mpi/grid_gpt2.json"
#define BATCH "\"train_batch_size\": 48, \"gradient_accumulation_steps\": 4"
#define ADAM "\"optimizer\": {\"type\": \"AdamW\", \"params\": {\"lr\": 0.1}}"

static char folder[] = "/tmp/shardlab-ahead-XXXXXX", step[128];
static struct sl_checkpoint from;
static struct sl_read_ahead_entry *entries; /* all pieces, as the manifest has them */

static int save(void **state) {
  struct ranks r;
  (void)state;
  if (mkdtemp(folder) == NULL) return -1;
  ranks_open(&r, GPT2, "{" BATCH ", " ADAM ", \"zero_optimization\": {\"stage\": 1}}", 2);
  ranks_fill(&r, 7);
  const struct sl_saver_options options = {.folder = folder, .every = 7, .data_samples = 100};
  if (ranks_save(&r, &options, 7) != SL_OK) return -1;
  ranks_close(&r);
  snprintf(step, sizeof step, "%s/step-000007", folder);
  if (sl_checkpoint_open(&from, step) != SL_OK) return -1;
  entries = calloc((size_t)from.manifest.piece_count, sizeof *entries);
  for (int i = 0; i < from.manifest.piece_count; i++) entries[i].piece = i;
  return 0;
}

static int clean(void **state) {
  char command[160];
  (void)state;
  sl_checkpoint_close(&from);
  free(entries);
  snprintf(command, sizeof command, "rm -rf %s", folder);
  return system(command);
}

static size_t all(void) {
  return (size_t)from.manifest.piece_count;
}

/* Two ranks without tensor parallelism: local elements are the logical ones. The tensor's number is in the last bits of
 * each. */
static void is_piece(const float *values, size_t entry) {
  const struct sl_manifest_piece *p = &from.manifest.pieces[entry];
  const enum sl_role role = from.manifest.tensors[p->tensor].role;
  const float odd = values[0] - ranks_value(role, 0, p->first);
  assert_true(odd == 0 || odd == -0.125F);
  for (int64_t k = 0; k < p->held; k++)
    if (values[k] != ranks_value(role, odd != 0, p->first + k))
      fail_msg("piece %zu, element %lld", entry, (long long)k);
}

static struct sl_read_ahead *start(size_t count) {
  struct sl_read_ahead *ahead;
  assert_int_equal(sl_read_ahead_start(&ahead, &from, entries, count), SL_OK);
  return ahead;
}

static float *take(struct sl_read_ahead *ahead, size_t entry) {
  float *values;
  if (sl_read_ahead_take(ahead, entry, &values) != SL_OK) fail_msg("%s", sl_error_message());
  return values;
}

static void one_after_the_other(void **state) {
  (void)state;
  struct sl_read_ahead *ahead = start(all());
  for (size_t i = 0; i < all(); i++) is_piece(take(ahead, i), i);
  assert_null(take(ahead, 0)); /* long gone: the ring has room for a few */
  assert_int_equal(sl_read_ahead_finish(ahead), SL_OK);
  sl_read_ahead_stop(ahead);
}

/* The one before stays, while both fit into half of the room; what is jumped over does not. */
static void in_turns_and_in_leaps(void **state) {
  (void)state;
  struct sl_read_ahead *ahead = start(all());
  for (size_t i = 1; i < all() / 2; i++) {
    is_piece(take(ahead, i), i);
    is_piece(take(ahead, i - 1), i - 1);
    is_piece(take(ahead, i), i);
  }
  is_piece(take(ahead, all() - 1), all() - 1);
  assert_null(take(ahead, all() / 2));
  is_piece(take(ahead, all() - 1), all() - 1);
  assert_int_equal(sl_read_ahead_finish(ahead), SL_OK);
  sl_read_ahead_stop(ahead);
}

static void given_up(void **state) {
  (void)state;
  for (size_t taken = 0; taken < 3; taken++) {
    struct sl_read_ahead *ahead = start(all());
    for (size_t i = 0; i < taken; i++) is_piece(take(ahead, i), i);
    sl_read_ahead_stop(ahead);
  }
  struct sl_read_ahead *none = start(0);
  assert_int_equal(sl_read_ahead_finish(none), SL_OK);
  sl_read_ahead_stop(none);
  sl_read_ahead_stop(NULL);
}

/* A bit of piece `damaged` is another one while `what` runs. */
static void with_damage(size_t damaged, void (*what)(size_t)) {
  const struct sl_manifest_piece *p = &from.manifest.pieces[damaged];
  const int64_t at = p->offset >= 0 ? p->offset : from.data[p->tensor] + p->first * SL_CHECKPOINT_ELEMENT;
  FILE *file = fopen(from.names[p->file], "r+b");
  assert_non_null(file);
  for (int time = 0; time < 2; time++) {
    fseek(file, (long)at, SEEK_SET);
    const int was = fgetc(file);
    fseek(file, (long)at, SEEK_SET);
    fputc(was ^ 1, file);
    fflush(file);
    if (time == 0) what(damaged);
  }
  fclose(file);
}

static void is_named(size_t damaged) {
  const struct sl_manifest_piece *p = &from.manifest.pieces[damaged];
  assert_non_null(strstr(sl_error_message(), "is damaged"));
  assert_non_null(strstr(sl_error_message(), from.manifest.tensors[p->tensor].name));
  sl_error_clear();
}

static void is_not_given_out(size_t damaged) {
  struct sl_read_ahead *ahead = start(all());
  float *values = NULL;
  enum sl_status status = SL_OK;
  for (size_t i = 0; i <= damaged && status == SL_OK; i++) { /* who reads ahead may fall over it earlier */
    status = sl_read_ahead_take(ahead, i, &values);
    if (status == SL_OK) is_piece(values, i);
  }
  assert_int_equal(status, SL_ERR_INPUT);
  is_named(damaged);
  assert_int_equal(sl_read_ahead_finish(ahead), SL_ERR_INPUT); /* and again */
  is_named(damaged);
  sl_read_ahead_stop(ahead);
}

static void is_verified_untaken(size_t damaged) {
  struct sl_read_ahead *ahead = start(all());
  assert_int_equal(sl_read_ahead_finish(ahead), SL_ERR_INPUT);
  is_named(damaged);
  sl_read_ahead_stop(ahead);
}

static void damage_is_named(void **state) {
  (void)state;
  const size_t which[] = {0, all() / 2, all() - 1};
  for (size_t i = 0; i < sizeof which / sizeof *which; i++) {
    with_damage(which[i], is_not_given_out);
    with_damage(which[i], is_verified_untaken);
  }
}

/* A master is made of the same bytes as the weight beside it, which a rank of its own reads ahead twice. */
static void weights_are_asked_for_twice(void **state) {
  (void)state;
  struct ranks r;
  ranks_open(&r, GPT2, "{" BATCH ", " ADAM ", \"bf16\": {\"enabled\": true}}", 1);
  assert_int_equal(sl_restore_opened(&from, &r.runs[0]), SL_OK);
  for (int time = 0; time < 2; time++)
    for (int i = 0; i < r.f.plan.model->tensor_count; i++) {
      const struct sl_manifest_tensor *t =
          sl_manifest_find(&from.manifest, r.f.plan.model->tensors[i].name, SL_ROLE_PARAM);
      for (int k = t->first_piece; k < t->first_piece + t->piece_count; k++) {
        float first;
        bool read;
        assert_int_equal(sl_held_read(&from, &from.manifest.pieces[k], 0, 1, &first, &read), SL_OK);
        assert_true(read);
        assert_true(first == ranks_value(SL_ROLE_PARAM, i, from.manifest.pieces[k].first));
      }
    }
  assert_int_equal(sl_restore_started(&from, &r.runs[0]), SL_OK);
  ranks_close(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_after_the_other), cmocka_unit_test(in_turns_and_in_leaps),       cmocka_unit_test(given_up),
      cmocka_unit_test(damage_is_named),     cmocka_unit_test(weights_are_asked_for_twice),
  };
  return cmocka_run_group_tests(tests, save, clean);
}
