/* shardlab checkpoint: shows a checkpoint, verifies it, or exports its weights. */
#include "cli/commands.h"
#include "cli/output.h"
#include "core/base/json_get.h"
#include "core/base/nearest.h"
#include "core/base/printable.h"
#include "core/base/units.h"
#include "core/checkpoint/export.h"
#include "core/checkpoint/fits.h"
#include "core/checkpoint/folder.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static json_t *about(const struct sl_checkpoint *c) {
  const struct sl_manifest *m = &c->manifest;
  int64_t bytes = 0, parameters = 0;
  for (int i = 0; i < m->file_count; i++) bytes += m->files[i].bytes;
  for (int i = 0; i < m->tensor_count; i++)
    if (m->tensors[i].role == SL_ROLE_PARAM) parameters += m->tensors[i].numel;
  json_t *out = json_pack("{s:s, s:I, s:I, s:I, s:s, s:s, s:I, s:I, s:i, s:i}", "path", c->path, "step",
                          (json_int_t)m->step, "samples", (json_int_t)m->samples, "seed", (json_int_t)m->seed,
                          "optimizer", m->optimizer, "precision", m->precision, "parameters", (json_int_t)parameters,
                          "bytes", (json_int_t)bytes, "files", m->file_count, "pieces", m->piece_count);
  json_object_set(out, "model", json_object_get(m->doc.root, "model"));
  json_object_set(out, "state", json_object_get(m->doc.root, "state"));
  json_object_set(out, "plan", json_object_get(m->doc.root, "plan"));
  return out;
}

static void show(const struct sl_checkpoint *c, FILE *out) {
  json_t *a = about(c);
  const json_t *plan = json_object_get(a, "plan"), *state = json_object_get(a, "state");
  char bytes[32], parameters[32];
  sl_format_bytes(bytes, sizeof bytes, (double)sl_json_integer_at(a, "bytes"));
  sl_format_count(parameters, sizeof parameters, (double)sl_json_integer_at(a, "parameters"));
  const char *name = json_string_value(json_object_get(json_object_get(a, "model"), "_name_or_path"));
  fprintf(out, "%s: step %lld of %s, %s parameters\n", sl_printable_of(c->path).text, sl_json_integer_at(a, "step"),
          name != NULL ? sl_printable_of(name).text : "a model", parameters);
  fprintf(out, "  training   %s, %s moments%s, %lld samples, seed %lld, %lld steps skipped, loss scale %g\n",
          c->manifest.precision, c->manifest.optimizer, sl_checkpoint_has_scales(c) ? ", scales of fp8" : "",
          sl_json_integer_at(a, "samples"), sl_json_integer_at(a, "seed"), sl_json_integer_at(state, "skipped"),
          json_number_value(json_object_get(state, "loss_scale")));
  fprintf(out, "  written    by %lld ranks: dp %lld, tp %lld, pp %lld, ZeRO-%lld\n", sl_json_integer_at(plan, "world"),
          sl_json_integer_at(plan, "dp"), sl_json_integer_at(plan, "tp"), sl_json_integer_at(plan, "pp"),
          sl_json_integer_at(plan, "zero_stage"));
  fprintf(out, "  files      %lld, %s in %lld pieces\n", sl_json_integer_at(a, "files"), bytes,
          sl_json_integer_at(a, "pieces"));
  json_decref(a);
}

static enum sl_status export(const struct sl_checkpoint *c, const struct sl_options *options) {
  struct sl_model model;
  if (options->out == NULL) return sl_fail(SL_ERR_INPUT, "--out: is missing; expected the folder to export to");
  SL_TRY(sl_checkpoint_verify(c, NULL, 0, 1));
  SL_TRY(sl_export_model(&model, c));
  const enum sl_status status = sl_checkpoint_export(c, &model, options->out, options->single);
  if (status == SL_OK && !options->quiet) fprintf(sl_output_text(options), "%s: exported to %s\n",
                                                  sl_printable_of(c->path).text, sl_printable_of(options->out).text);
  sl_model_free(&model);
  return status;
}

static enum sl_status act(const struct sl_checkpoint *c, const char *verb, const struct sl_options *options) {
  if (strcmp(verb, "export") == 0) SL_TRY(export(c, options));
  if (strcmp(verb, "verify") == 0) SL_TRY(sl_checkpoint_verify(c, NULL, 0, 1));
  if (strcmp(verb, "verify") == 0 && !options->quiet)
    fprintf(sl_output_text(options), "%s: ok\n", sl_printable_of(c->path).text);
  if (strcmp(verb, "show") == 0 && !options->quiet) show(c, sl_output_text(options));
  return options->json != NULL ? sl_output_json(options, about(c)) : SL_OK;
}

static enum sl_status run(const struct sl_options *options) {
  static const char *const verbs[] = {"show", "verify", "export"};
  const char *verb = options->operand[0];
  struct sl_checkpoint from;
  char *path;
  size_t known = 0;
  while (known < 3 && strcmp(verbs[known], verb) != 0) known++;
  if (known == 3) {
    const char *near = sl_nearest(verb, verbs, 3);
    return sl_fail(SL_ERR_INPUT, "checkpoint: '%s' is none of show, verify and export%s%s", verb,
                   near != NULL ? "; did you mean " : "", near != NULL ? near : "");
  }
  if (strcmp(verb, "export") != 0 && (options->out != NULL || options->single))
    return sl_fail(SL_ERR_INPUT, "--%s: is of export; '%s' writes no weights", options->out != NULL ? "out" : "single",
                   verb);
  if (options->out != NULL && access(options->out, F_OK) == 0)
    return sl_fail(SL_ERR_INPUT, "--out: %s: exists; expected the name of a folder to make", options->out);
  SL_TRY(sl_output_check(options));
  SL_TRY(sl_folder_find(&path, NULL, options->operand[1]));
  enum sl_status status = sl_checkpoint_open(&from, path);
  free(path);
  if (status != SL_OK) return status;
  status = sl_output_check(options); /* must not overwrite the checkpoint's own files */
  if (status == SL_OK) status = act(&from, verb, options);
  sl_checkpoint_close(&from);
  return status;
}

const struct sl_command sl_command_checkpoint = {
    .name = "checkpoint",
    .bit = SL_CMD_CHECKPOINT,
    .operands = "show|verify|export PATH",
    .min_operands = 2,
    .max_operands = 2,
    .summary = "Say what a checkpoint is, check every byte of it, or export its weights",
    .help =
        "PATH is a checkpoint that `measure --checkpoint` wrote, or the folder of a training, whose latest it is "
        "then.\n"
        "verify reads all of it and holds it against its checksums. export writes a folder for Hugging Face's\n"
        "from_pretrained: config.json and the weights in fp32, in files of at most 5 GB or, with --single, in one.\n"
        "`measure --init` takes such a folder, too.\n",
    .example = "shardlab checkpoint export runs/gpt2 --out gpt2-trained",
    .run = run,
};
