/* label: unit
 * Checkpoints without a backend: what one plan saves any other reads, element by element; which stay; and nothing that
 * is damaged, cut short or missing is taken for one. */
#include "core/base/file.h"
#include "core/checkpoint/fits.h"
#include "core/checkpoint/folder.h"
#include "core/checkpoint/hash.h"
#include "core/checkpoint/owner.h"
#include "core/checkpoint/part.h"
#include "core/checkpoint/restore.h"
#include "tests/core/checkpoint/ranks.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define GPT2 SL_SOURCE_DIR "/tests/mpi/grid_gpt2.json"
#define LLAMA SL_SOURCE_DIR "/tests/mpi/grid_llama.json"
#define PHI3                                                                                                           \
  SL_SOURCE_DIR "/tests/golden/families/phi3/config.json" /* twice as many heads as key heads, in one weight */
#define BATCH "\"train_batch_size\": 48, \"gradient_accumulation_steps\": 4"
#define ADAM "\"optimizer\": {\"type\": \"AdamW\", \"params\": {\"lr\": 0.1}}"

static char path[128], other[256];

/* --- any plan --- */

static const struct plan {
  const char *name, *config;
  int world;
} plans[] = {
    {"one", "{" BATCH ", " ADAM "}", 1},
    {"zero0", "{" BATCH ", " ADAM "}", 2},
    {"zero1", "{" BATCH ", " ADAM ", \"zero_optimization\": {\"stage\": 1}}", 3},
    {"zero3", "{" BATCH ", " ADAM ", \"zero_optimization\": {\"stage\": 3}}", 2},
    {"bf16", "{" BATCH ", " ADAM ", \"bf16\": {\"enabled\": true}, \"zero_optimization\": {\"stage\": 2}}", 4},
    {"padded", "{" BATCH ", " ADAM ", \"shardlab\": {\"tp\": 2, \"make_vocab_size_divisible_by\": 50}}", 2},
    {"tp-pp", "{" BATCH ", " ADAM ", \"zero_optimization\": {\"stage\": 1}, \"shardlab\": {\"tp\": 2, \"pp\": 2}}", 8},
    {"hybrid", "{" BATCH ", " ADAM ", \"zero_optimization\": {\"stage\": 3}, \"shardlab\": {\"shard_size\": 2}}", 4},
};
enum { PLANS = sizeof plans / sizeof *plans };

static void is_saved(float *at, enum sl_role role, int tensor, int64_t logical) {
  const float want = logical < 0 ? 0 : ranks_value(role, tensor, logical);
  if (*at != want)
    fail_msg("tensor %d, role %d, element %lld: %g, expected %g", tensor, (int)role, (long long)logical, *at, want);
}

static void weights_are_whole(const struct sl_model *model, const char *step) {
  struct sl_weights weights;
  assert_int_equal(sl_weights_open(&weights, step), SL_OK);
  for (int i = 0; i < model->tensor_count; i++) {
    const struct sl_safetensors *file;
    const struct sl_safetensors_tensor *t = sl_weights_find(&weights, model->tensors[i].name, &file);
    assert_non_null(t);
    assert_int_equal(t->numel, model->tensors[i].numel);
    float *x = calloc((size_t)t->numel, sizeof *x);
    assert_int_equal(sl_safetensors_read(file, t, 0, t->numel, x), SL_OK);
    for (int64_t k = 0; k < t->numel; k += ranks_stride) is_saved(&x[k], SL_ROLE_PARAM, i, k);
    free(x);
  }
  sl_weights_close(&weights);
}

static void reads(const struct plan *plan, const char *model, const char *step) {
  struct sl_checkpoint from;
  struct ranks r;
  ranks_open(&r, model, plan->config, plan->world);
  if (sl_checkpoint_open(&from, step) != SL_OK) fail_msg("%s", sl_error_message());
  assert_int_equal(sl_checkpoint_fits(&from, &r.f.plan), SL_OK);
  assert_int_equal(from.manifest.samples, 7 * 48);
  for (int rank = 0; rank < plan->world; rank++) {
    assert_int_equal(sl_restore_opened(&from, &r.runs[rank]), SL_OK);
    assert_int_equal(sl_restore_started(&from, &r.runs[rank]), SL_OK);
    ranks_walk(&r, rank, SL_ROLE_MOMENT1, is_saved);
    ranks_walk(&r, rank, SL_ROLE_MOMENT2, is_saved);
    const struct sl_step_state *state = (void *)r.memory[rank][ranks_class(&r, rank)->control];
    assert_int_equal(state->step, 7);
    assert_int_equal(state->good_steps, 6);
    assert_int_equal(state->skipped, 1);
    assert_true(state->lr == 0.1 && state->momentum == 0.9);
  }
  sl_checkpoint_close(&from);
  ranks_close(&r);
}

static void any_plan_of(const char *model, const char *name) {
  for (int p = 0; p < PLANS; p++) {
    struct ranks r;
    snprintf(path, sizeof path, "%s/%s-%s", ranks_folder, name, plans[p].name);
    ranks_open(&r, model, plans[p].config, plans[p].world);
    ranks_fill(&r, 7);
    const struct sl_saver_options options = {.folder = path, .every = 7, .data_samples = 100};
    if (ranks_save(&r, &options, 7) != SL_OK) fail_msg("%s: %s", plans[p].name, sl_error_message());
    snprintf(other, sizeof other, "%s/step-000007", path);
    weights_are_whole(r.f.plan.model, other);
    ranks_close(&r);
    for (int q = p % SL_EVERY; q < PLANS; q += SL_EVERY) reads(&plans[q], model, other);
  }
}

static void any_plan_reads_what_any_other_saved(void **state) {
  (void)state;
  any_plan_of(GPT2, "gpt2");
  any_plan_of(LLAMA, "llama");
  any_plan_of(PHI3, "phi3");
}

/* A tensor of several pieces, by more ranks than that. */
static void large_tensors_are_cut(void **state) {
  (void)state;
  struct ranks r;
  static const struct plan two = {"two", "{" BATCH ", " ADAM ", \"zero_optimization\": {\"stage\": 1}}", 2};
  snprintf(other, sizeof other, "%s/wide.json", ranks_folder);
  FILE *file = fopen(other, "w");
  fputs("{\"model_type\": \"mlp\", \"dims\": [2100, 4300, 3]}", file);
  fclose(file);
  snprintf(path, sizeof path, "%s/wide", ranks_folder);
  ranks_open(&r, other, plans[1].config, plans[1].world); /* who hold the same, and share */
  ranks_fill(&r, 7);
  const struct sl_saver_options options = {.folder = path, .every = 7, .data_samples = 100};
  assert_int_equal(ranks_save(&r, &options, 7), SL_OK);
  ranks_close(&r);
  char model[256];
  snprintf(model, sizeof model, "%s", other);
  snprintf(other, sizeof other, "%s/step-000007", path);
  reads(&two, model, other);
}

/* Ranks that hold the same share the work, and together write each byte once. */
static void replicas_share(void **state) {
  (void)state;
  struct ranks r;
  int64_t all = 0, most = 0;
  ranks_open(&r, "gpt2-tiny", "{" BATCH ", " ADAM "}", 4);
  for (int rank = 0; rank < 4; rank++) {
    struct sl_checkpoint_pieces pieces;
    assert_int_equal(sl_checkpoint_pieces(&pieces, &r.f.job, rank), SL_OK);
    all += pieces.bytes;
    if (pieces.bytes > most) most = pieces.bytes;
    sl_checkpoint_pieces_free(&pieces);
  }
  assert_int_equal(all, 3 * 4 * sl_model_numel(&r.f.model));
  assert_true(most < all / 3);
  ranks_close(&r);
}

/* Each piece begins as far behind a block's boundary in the copy as in its file: whole blocks go to the disk from where
 * they are. */
static void copies_are_aligned_with_files(void **state) {
  (void)state;
  struct ranks r;
  struct sl_checkpoint from;
  int64_t *places, bytes, moved = 0;
  snprintf(path, sizeof path, "%s/aligned", ranks_folder);
  ranks_open(&r, GPT2, plans[2].config, plans[2].world);
  ranks_fill(&r, 7);
  const struct sl_saver_options options = {.folder = path, .every = 7, .data_samples = 100};
  assert_int_equal(ranks_save(&r, &options, 7), SL_OK);
  snprintf(other, sizeof other, "%s/step-000007", path);
  assert_int_equal(sl_checkpoint_open(&from, other), SL_OK);
  for (int rank = 0; rank < r.f.plan.world; rank++) {
    struct sl_checkpoint_pieces pieces;
    assert_int_equal(sl_checkpoint_pieces(&pieces, &r.f.job, rank), SL_OK);
    assert_int_equal(sl_part_places(&places, &bytes, &r.f.job, &pieces), SL_OK);
    int64_t end = 0;
    for (size_t i = 0; i < pieces.count; i++) {
      const struct sl_checkpoint_piece *p = &pieces.items[i];
      const char *name = r.f.plan.model->tensors[p->tensor].name;
      const struct sl_manifest_tensor *t = sl_manifest_find(&from.manifest, name, p->role);
      const struct sl_manifest_piece *q = sl_manifest_piece_at(&from.manifest, t, p->member, p->first);
      const int64_t weight = from.data[t - from.manifest.tensors] + p->first * SL_CHECKPOINT_ELEMENT;
      assert_int_equal(places[i] % 4096, (q->offset >= 0 ? q->offset : weight) % 4096);
      assert_true(places[i] >= end);
      moved += places[i] > end;
      end = places[i] + p->held * SL_CHECKPOINT_ELEMENT;
    }
    assert_int_equal(bytes, end);
    free(places);
    sl_checkpoint_pieces_free(&pieces);
  }
  assert_true(moved > 0);
  sl_checkpoint_close(&from);
  ranks_close(&r);
}

/* --- which stay --- */

static int steps_in(const char *name) {
  DIR *list = opendir(name);
  int count = 0;
  for (struct dirent *entry; list != NULL && (entry = readdir(list)) != NULL;) {
    assert_true(entry->d_name[0] != '.' || entry->d_name[1] == '\0' || entry->d_name[1] == '.'); /* nothing hidden */
    count += strncmp(entry->d_name, "step-", 5) == 0;
  }
  closedir(list);
  return count;
}

static const char one_job[] = "00000000000000a1", other_job[] = "00000000000000b2";

static void save_as(const char *job, const char *where, int64_t step, int64_t keep) {
  struct ranks r;
  ranks_open(&r, GPT2, plans[1].config, plans[1].world);
  ranks_fill(&r, step);
  const struct sl_saver_options options = {.folder = where, .every = 1, .keep = keep, .data_samples = 100, .job = job};
  if (ranks_save(&r, &options, step) != SL_OK) fail_msg("%s", sl_error_message());
  ranks_close(&r);
}

static void save_at(const char *where, int64_t step, int64_t keep) {
  save_as(one_job, where, step, keep);
}

static bool is_there(const char *name) {
  snprintf(other, sizeof other, "%s/%s", path, name);
  return access(other, F_OK) == 0;
}

static void the_newest_stay(void **state) {
  (void)state;
  char *found;
  snprintf(path, sizeof path, "%s/kept", ranks_folder);
  for (int64_t step = 8; step <= 11; step++) save_at(path, step, 2);
  assert_int_equal(steps_in(path), 2);
  assert_int_equal(sl_folder_find(&found, path, "latest"), SL_OK);
  assert_string_equal(strrchr(found, '/'), "/step-000011");
  free(found);
  assert_true(is_there("step-000010") && is_there("step-000011"));
  save_at(path, 10, 2); /* again, from an earlier one: it takes the place of what was there */
  assert_int_equal(steps_in(path), 2);
  assert_int_equal(sl_folder_find(&found, NULL, path), SL_OK);
  assert_string_equal(strrchr(found, '/'), "/step-000010");
  free(found);
}

static void a_step_is_found_by_its_name(void **state) {
  (void)state;
  char *found;
  snprintf(path, sizeof path, "%s/named", ranks_folder);
  for (int64_t step = 8; step <= 9; step++) save_at(path, step, 0);
  assert_int_equal(sl_folder_find(&found, path, "step-000008"), SL_OK);
  assert_true(is_there("step-000008") && strcmp(found, other) == 0);
  free(found);
  assert_int_equal(sl_folder_find(&found, path, "step-000007"), SL_ERR_INPUT);
  assert_int_equal(sl_folder_find(&found, NULL, "step-000008"), SL_ERR_INPUT);
}

/* --keep counts what the job has written: its newest stay, whatever else is in the folder; nothing else is removed. */
static void what_others_wrote_stays(void **state) {
  (void)state;
  snprintf(path, sizeof path, "%s/others", ranks_folder);
  for (int64_t step = 2; step <= 10; step += 2) save_as(other_job, path, step, 0);
  for (int64_t step = 5; step <= 9; step++) save_at(path, step, 2); /* 6 and 8 take the others' places */
  assert_int_equal(steps_in(path), 5);
  assert_true(is_there("step-000002") && is_there("step-000004") && is_there("step-000010"));
  assert_true(is_there("step-000008") && is_there("step-000009"));
  save_as(NULL, path, 11, 1); /* a job without a name gets one of its own */
  save_as(NULL, path, 12, 1);
  assert_int_equal(steps_in(path), 7);
  save_at(path, 3, 2); /* started again from before: what it had written after that goes first */
  assert_true(is_there("step-000003") && is_there("step-000009") && !is_there("step-000008"));
  save_at(path, 5, 2);
  assert_true(is_there("step-000003") && is_there("step-000005") && !is_there("step-000009"));
  snprintf(other, sizeof other, "%s/step-000005", path);
  assert_int_equal(sl_owner_of(other, one_job), SL_OWNER_THIS);
  assert_int_equal(sl_owner_of(other, other_job), SL_OWNER_OTHER);
  char manifest[700];
  snprintf(manifest, sizeof manifest, "%s/manifest.json", other);
  FILE *file = fopen(manifest, "r+");
  assert_non_null(file);
  assert_true(fseek(file, 40, SEEK_SET) == 0 && fputc('#', file) == '#' && fclose(file) == 0);
  assert_int_equal(sl_owner_of(other, one_job), SL_OWNER_UNKNOWN);
  assert_int_equal(truncate(manifest, 20), 0);
  assert_int_equal(sl_owner_of(other, one_job), SL_OWNER_UNKNOWN);
  assert_true(unlink(manifest) == 0 && sl_owner_of(other, one_job) == SL_OWNER_UNKNOWN);
  assert_int_equal(mkfifo(manifest, 0600), 0); /* nobody writes to it, and nobody waits */
  assert_int_equal(sl_owner_of(other, one_job), SL_OWNER_UNKNOWN);
}

static void unfinished(const char *name) {
  snprintf(other, sizeof other, "%s/%s", path, name);
  assert_int_equal(mkdir(other, 0777), 0);
  strcat(other, "/model.safetensors");
  FILE *file = fopen(other, "w");
  assert_non_null(file);
  fclose(file);
  snprintf(other, sizeof other, "%s/%s", path, name);
}

/* What a job that is gone left is removed; what another one is writing stays. */
static void nobodys_leftovers_go(void **state) {
  (void)state;
  snprintf(path, sizeof path, "%s/kept", ranks_folder);
  unfinished(".checkpoint.dead.0.tmp");
  snprintf(other, sizeof other, "%s/.latest.dead.0.tmp", path);
  fclose(fopen(other, "w"));
  unfinished(".checkpoint.alive.0.tmp");
  const int lock = sl_folder_lock(other);
  assert_true(lock >= 0);
  save_at(path, 12, 2);
  assert_false(is_there(".checkpoint.dead.0.tmp") || is_there(".latest.dead.0.tmp"));
  assert_true(is_there(".checkpoint.alive.0.tmp/model.safetensors"));
  close(lock);
  save_at(path, 13, 2);
  assert_false(is_there(".checkpoint.alive.0.tmp"));
}

/* --- what is no checkpoint --- */

static void fails(enum sl_status status, const char *word) {
  assert_int_not_equal(status, SL_OK);
  if (strstr(sl_error_message(), word) == NULL) fail_msg("\"%s\" has no \"%s\"", sl_error_message(), word);
  sl_error_clear();
}

/* Everything that is asked of a checkpoint before training goes on. */
static enum sl_status whole(const char *step) {
  struct sl_checkpoint from;
  SL_TRY(sl_checkpoint_open(&from, step));
  const enum sl_status status = sl_checkpoint_verify(&from, NULL, 0, 1);
  sl_checkpoint_close(&from);
  return status;
}

static void flip(const char *name, long at, int bit) {
  FILE *file = fopen(name, "r+b");
  assert_non_null(file);
  fseek(file, at, SEEK_SET);
  const int was = fgetc(file);
  fseek(file, at, SEEK_SET);
  fputc(was ^ (1 << bit), file);
  fclose(file);
}

static void every_file_is_asked_for(void **state) {
  (void)state;
  static const char *const names[] = {"manifest.json",
                                      "config.json",
                                      "model.safetensors.index.json",
                                      "model-00001-of-00001.safetensors",
                                      "optimizer-00001-of-00002.safetensors",
                                      "optimizer-00002-of-00002.safetensors"};
  snprintf(path, sizeof path, "%s/asked", ranks_folder);
  save_at(path, 7, 0);
  snprintf(other, sizeof other, "%s/step-000007", path);
  for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
    char name[512], away[512];
    struct stat info;
    snprintf(name, sizeof name, "%s/%s", other, names[n]);
    snprintf(away, sizeof away, "%s/away", path);
    assert_int_equal(stat(name, &info), 0);
    for (int i = 0; i <= 8; i++) {
      const long at = i == 8 ? info.st_size - 1 : (long)((double)info.st_size * i / 8);
      flip(name, at, i % 8);
      fails(whole(other), names[n]);
      flip(name, at, i % 8);
    }
    assert_int_equal(truncate(name, info.st_size + 1), 0);
    fails(whole(other), names[n]);
    assert_int_equal(truncate(name, info.st_size), 0);
    assert_int_equal(rename(name, away), 0);
    fails(whole(other), names[n]);
    assert_int_equal(rename(away, name), 0);
    assert_int_equal(whole(other), SL_OK);
  }
}

/* What a rank claims is verified as it is read, whether it is asked for or not; of a weight that could not be read in
 * part it hears before a step, also where it could be later. */
static void what_is_claimed_is_verified(void **state) {
  (void)state;
  enum { UNREAD, DAMAGED, CUT, CASES };
  static const struct plan sgd = {"sgd", "{" BATCH ", \"optimizer\": {\"type\": \"SGD\", \"params\": {\"lr\": 0.1}}}",
                                  1};
  for (int i = 0; i < CASES; i++) {
    const struct plan *plan = i == CUT      ? &plans[3]
                              : i == UNREAD ? &sgd
                                            : &plans[0]; /* its first rank claims no such piece */
    struct sl_checkpoint from;
    struct ranks r;
    struct stat info;
    char name[512];
    snprintf(other, sizeof other, "%s/asked/step-000007", ranks_folder);
    snprintf(name, sizeof name, "%s/model-00001-of-00001.safetensors", other);
    assert_int_equal(stat(name, &info), 0);
    ranks_open(&r, GPT2, plan->config, plan->world);
    assert_int_equal(sl_checkpoint_open(&from, other), SL_OK);
    if (i != CUT) flip(name, info.st_size - 1, 3); /* the last element of the last tensor */
    assert_int_equal(sl_restore_opened(&from, &r.runs[0]), SL_OK);
    const struct sl_tensor *last = &r.f.plan.model->tensors[r.f.plan.model->tensor_count - 1];
    const struct sl_weight_source source = sl_restore_weights(&from);
    float *values = calloc((size_t)last->numel, sizeof *values);
    if (i == CUT) assert_int_equal(truncate(name, info.st_size - 1), 0);
    if (i != UNREAD) assert_int_equal(source.read(source.context, last->name, 0, last->numel, values), SL_OK);
    if (i == CUT) assert_int_equal(truncate(name, info.st_size), 0);
    fails(sl_restore_started(&from, &r.runs[0]), i == CUT ? "was cut short" : "is damaged");
    if (i != CUT) flip(name, info.st_size - 1, 3);
    free(values);
    sl_checkpoint_close(&from);
    ranks_close(&r);
  }
}

static void what_cannot_be_written_ends_in_one_line(void **state) {
  (void)state;
  struct ranks r;
  char below[160];
  snprintf(path, sizeof path, "%s/asked/step-000007/config.json", ranks_folder); /* a file */
  struct sl_saver *saver;
  ranks_open(&r, GPT2, plans[0].config, 1);
  ranks_fill(&r, 7);
  struct sl_saver_options options = {.folder = path, .every = 7, .data_samples = 100};
  fails(sl_saver_open(&saver, &options, &r.f.job), "expected a folder");
  snprintf(below, sizeof below, "%s/gone", ranks_folder);
  options.folder = below;
  assert_int_equal(sl_saver_open(&saver, &options, &r.f.job), SL_OK);
  assert_int_equal(access(below, F_OK), -1); /* the first save makes it */
  FILE *file = fopen(below, "w");
  assert_non_null(file);
  fclose(file);
  fails(sl_saver_stepped(saver, &r.runs[0], 7, false), "/gone: is a file; expected a folder");
  unlink(below);
  sl_saver_close(saver);
  ranks_close(&r);
}

int main(void) {
  ranks_stride = SL_EVERY;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(any_plan_reads_what_any_other_saved),
      cmocka_unit_test(large_tensors_are_cut),
      cmocka_unit_test(replicas_share),
      cmocka_unit_test(copies_are_aligned_with_files),
      cmocka_unit_test(the_newest_stay),
      cmocka_unit_test(a_step_is_found_by_its_name),
      cmocka_unit_test(what_others_wrote_stays),
      cmocka_unit_test(nobodys_leftovers_go),
      cmocka_unit_test(every_file_is_asked_for),
      cmocka_unit_test(what_is_claimed_is_verified),
      cmocka_unit_test(what_cannot_be_written_ends_in_one_line),
  };
  return cmocka_run_group_tests_name("checkpoint", tests, ranks_make_folder, ranks_remove_folder);
}
