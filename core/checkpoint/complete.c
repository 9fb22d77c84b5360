/* See complete.h. */
#include "core/checkpoint/complete.h"

#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/machine.h"
#include "core/base/new_file.h"
#include "core/checkpoint/folder.h"
#include "core/checkpoint/manifest.h"

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---- the parts of all ranks ---- */

/* Is the folder there? Opened anew, it also shows what other hosts have just written there, where a network's file
 * system keeps what it knows of a folder for a while. */
static bool look_again(const char *folder) {
  const int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd >= 0) close(fd);
  return fd >= 0;
}

/* A file that does not show some seconds after its rank has written it was removed. */
static enum sl_status wait_for(const struct sl_part *part, const char *path) {
  static const double late_s = 5;
  double since = INFINITY;
  while (access(path, F_OK) != 0) {
    if (atomic_load(part->stop)) return sl_fail(SL_ERR_PEER, "%s: is given up", part->folder);
    const double now = sl_machine_clock();
    if (atomic_load(part->others_told)) since = fmin(since, now);
    if (since <= now && (!look_again(part->folder) || now - since > late_s))
      return sl_fail(SL_ERR_IO, "%s: is gone, though its rank has written it", path);
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
  }
  return SL_OK;
}

/* lists[tensor][state]: the pieces of each state, as listed by all ranks. */
enum { STATES = SL_CHECKPOINT_STATES };

static enum sl_status add_told(json_t **lists, json_t *files, const char *path) {
  struct sl_json doc;
  json_t *piece, *file;
  size_t i;
  SL_TRY(sl_json_load(&doc, path));
  json_array_foreach(json_object_get(doc.root, "files"), i, file) json_array_append(files, file);
  json_array_foreach(json_object_get(doc.root, "pieces"), i, piece) {
    const int64_t tensor = json_integer_value(json_object_get(piece, "tensor"));
    json_t **list =
        &lists[tensor * STATES + sl_checkpoint_state_named(json_string_value(json_object_get(piece, "role")))];
    if (*list == NULL) *list = json_array();
    json_object_del(piece, "tensor");
    json_object_del(piece, "role");
    json_array_append(*list, piece);
  }
  sl_json_free(&doc);
  return SL_OK;
}

static enum sl_status gather(const struct sl_part *part, json_t **lists, json_t *files) {
  for (int rank = 0; rank < part->job->plan->world; rank++) {
    char *path;
    SL_TRY(sl_folder_pieces_file(&path, part->folder, rank));
    enum sl_status status = wait_for(part, path);
    if (status == SL_OK) status = add_told(lists, files, path);
    if (status == SL_OK) (void)unlink(path);
    free(path);
    SL_TRY(status);
  }
  return SL_OK;
}

/* ---- files ---- */

static enum sl_status finish_model(struct sl_part *part, json_t *files) {
  for (int i = 0; i < part->model_count; i++) {
    const int64_t head = part->model[i].offset[0];
    char *path;
    json_t *entry;
    SL_TRY(sl_safetensors_finish(&part->model[i]));
    SL_TRY(sl_folder_model_file(&path, part->folder, i, part->model_count));
    const enum sl_status status = sl_part_file_entry(&entry, part->folder, path, head);
    free(path);
    SL_TRY(status);
    json_array_append_new(files, entry);
  }
  return SL_OK;
}

/* Writes a file for other readers; its checksum covers all of it. */
static enum sl_status save_beside(const struct sl_part *part, const char *name, const json_t *root, json_t *files) {
  char *path;
  json_t *entry;
  SL_TRY(sl_file_join(&path, part->folder, name));
  enum sl_status status = sl_json_save(root, path);
  if (status == SL_OK) status = sl_part_file_entry(&entry, part->folder, path, -1);
  if (status == SL_OK) json_array_append_new(files, entry);
  free(path);
  return status;
}

static enum sl_status save_for_others(const struct sl_part *part, json_t *files) {
  json_t *index = sl_folder_index(part->job->plan->model, part->model_of, part->model_count),
         *config = sl_model_to_json(part->job->plan->model);
  enum sl_status status = save_beside(part, "model.safetensors.index.json", index, files);
  if (status == SL_OK) status = save_beside(part, "config.json", config, files);
  json_decref(index);
  json_decref(config);
  return status;
}

/* ---- the manifest ---- */

static json_t *state_json(const struct sl_step_state *s) {
  return json_pack("{s:I, s:I, s:I, s:I, s:I, s:f, s:f, s:f}", "good_steps", (json_int_t)s->good_steps, "skipped",
                   (json_int_t)s->skipped, "last_overflow", (json_int_t)s->last_overflow, "hysteresis",
                   (json_int_t)s->hysteresis, "exhausted", (json_int_t)s->exhausted, "loss_scale", s->loss_scale, "lr",
                   s->lr, "momentum", s->momentum);
}

static json_t *tensors_json(const struct sl_plan *plan, json_t *const *lists) {
  json_t *tensors = json_array();
  for (int i = 0; i < plan->model->tensor_count; i++) {
    for (int state = 0; state < STATES; state++) {
      if (lists[i * STATES + state] == NULL) continue;
      const enum sl_role role = sl_checkpoint_roles[state];
      const struct sl_checkpoint_state s = sl_checkpoint_state_of(plan, i, role);
      json_t *shape = json_array();
      for (int d = 0; d < s.n_dim; d++) json_array_append_new(shape, json_integer(s.shape[d]));
      json_t *item =
          json_pack("{s:s, s:s, s:s, s:o, s:I, s:I, s:i, s:O}", "name", plan->model->tensors[i].name, "role",
                    sl_checkpoint_role_name(role), "type", "F32", "shape", shape, "row", (json_int_t)s.cut.row, "width",
                    (json_int_t)s.cut.width, "members", s.cut.members, "pieces", lists[i * STATES + state]);
      if (s.cut.lead > 1) json_object_set_new(item, "lead", json_integer(s.cut.lead));
      json_array_append_new(tensors, item);
    }
  }
  return tensors;
}

static json_t *manifest_json(const struct sl_plan *plan, const struct sl_snapshot *s, json_t *const *lists,
                             json_t *files) {
  const bool sgd = plan->config->optimizer.type == SL_OPT_SGD;
  json_t *root =
      json_pack("{s:s, s:s, s:i, s:o, s:s, s:s, s:I, s:I, s:I, s:{s:I}, s:o}", "job", s->job, "format",
                "shardlab checkpoint", "version", SL_MANIFEST_VERSION, "model", sl_model_to_json(plan->model),
                "optimizer", sgd ? "sgd" : "adam", "precision", sl_config_precision(plan->config), "step",
                (json_int_t)s->state.step, "samples", (json_int_t)s->samples, "seed", (json_int_t)plan->config->sl.seed,
                "data", "samples", (json_int_t)s->data_samples, "state", state_json(&s->state));
  if (s->history != NULL) json_object_set(root, "history", s->history);
  json_object_set_new(root, "plan",
                      json_pack("{s:i, s:i, s:i, s:i, s:i}", "world", plan->world, "tp", plan->tp, "pp", plan->pp, "dp",
                                plan->dp, "zero_stage", plan->strategy.zero_stage));
  json_object_set(root, "files", files);
  json_object_set_new(root, "tensors", tensors_json(plan, lists));
  return root;
}

/* A manifest that cannot be read back must not become a checkpoint. */
static enum sl_status save_manifest(const struct sl_part *part, const json_t *root) {
  struct sl_manifest check;
  char *path;
  SL_TRY(sl_file_join(&path, part->folder, "manifest.json"));
  enum sl_status status = sl_manifest_save(root, path);
  if (status == SL_OK) status = sl_manifest_load(&check, path);
  if (status == SL_OK) sl_manifest_free(&check);
  free(path);
  return status;
}

static enum sl_status put_in_place(const struct sl_part *part, const char *folder, int64_t step) {
  char *path;
  SL_TRY(sl_folder_step(&path, folder, step));
  const enum sl_status status = sl_new_folder_finish(part->folder, path);
  free(path);
  SL_TRY(status);
  return sl_folder_set_latest(folder, step);
}

enum sl_status sl_checkpoint_complete(struct sl_part *part, const struct sl_snapshot *snapshot, const char *folder) {
  const struct sl_plan *plan = part->job->plan;
  json_t **lists = NULL, *files = json_array(), *told = json_array(), *root = NULL;
  const size_t count = (size_t)plan->model->tensor_count * STATES;
  enum sl_status status;
  SL_GO(sl_calloc(&lists, count, sizeof *lists));
  SL_GO(gather(part, lists, told));
  SL_GO(finish_model(part, files)); /* the model's files first, as pieces count them; then those of the ranks */
  json_array_extend(files, told);
  SL_GO(save_for_others(part, files));
  root = manifest_json(plan, snapshot, lists, files);
  SL_GO(save_manifest(part, root));
  status = put_in_place(part, folder, snapshot->state.step);
done:
  for (size_t i = 0; lists != NULL && i < count; i++) json_decref(lists[i]);
  free(lists);
  json_decref(files);
  json_decref(told);
  json_decref(root);
  return status;
}
