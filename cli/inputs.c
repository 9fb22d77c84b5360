/* Checks data and initial weights against the model; see inputs.h. */
#include "cli/inputs.h"

#include "core/base/json.h"
#include "core/base/limits.h"
#include "core/io/split.h"
#include "core/io/weights.h"
#include "core/model/families.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static enum sl_status check_random(const char *text) {
  const long long most = SL_MAX_SAMPLES;
  char *end;
  const long long samples = strncmp(text, "random:", 7) == 0 ? strtoll(text + 7, &end, 10) : 0;
  if (samples > 0 && samples <= most && *end == '\0') return SL_OK; /* for too many digits, strtoll returns LLONG_MAX */
  return sl_fail(SL_ERR_INPUT, "--data: is '%s'; expected random:N, from 1 to %lld samples, for an mlp", text, most);
}

/* Opens what a flag reads: the part of --data, or all of --val-data. */
static enum sl_status open_tokens(struct sl_data *data, const char *path, const struct sl_options *options,
                                  enum sl_data_part part) {
  const struct sl_data_text text = {options->tokenizer, options->text_field, options->eod_token};
  return sl_data_open_part(data, path, &text, path == options->data ? options->split : NULL, part);
}

/* Checks a file of tokens, or a text that is tokenized, and names the flag in errors. */
static enum sl_status check_tokens(const char *flag, const char *path, const struct sl_options *options,
                                   const struct sl_setup *setup, enum sl_data_part part) {
  struct sl_data data;
  if (strncmp(path, "random:", 7) == 0 && access(path, F_OK) != 0)
    return sl_fail(SL_ERR_INPUT,
                   "%s: is '%s'; expected a text file or a token shard (.bin): random samples are for "
                   "an mlp",
                   flag, path);
  SL_TRY(open_tokens(&data, path, options, part));
  const bool divided = options->split != NULL && path == options->data;
  const enum sl_status status =
      divided && sl_data_sequences(&data, setup->plan.seq) < 1
          ? sl_fail(SL_ERR_INPUT,
                    "--split: is %s, which leaves %lld tokens of %s for %s; expected more than "
                    "%lld, one sequence and its last target",
                    options->split, (long long)data.token_count, path,
                    part == SL_DATA_TRAINING ? "training" : "validation", (long long)setup->plan.seq)
          : sl_data_check(&data, setup->plan.seq, setup->model.vocab_size);
  sl_data_close(&data);
  return status;
}

/* Flags of a tokenizer without one. */
static enum sl_status check_tokenizer(const struct sl_options *options) {
  static const char *const flags[] = {"text-field", "eod-token"};
  for (size_t i = 0; options->tokenizer == NULL && i < sizeof flags / sizeof *flags; i++)
    if (sl_options_given(options, flags[i]))
      return sl_fail(SL_ERR_INPUT, "--%s: stands without --tokenizer; expected both", flags[i]);
  return SL_OK;
}

static enum sl_status check_data(const struct sl_options *options, const struct sl_setup *setup) {
  const char *path = options->data;
  const bool mlp = !sl_model_reads_tokens(&setup->model);
  if (path == NULL)
    return sl_fail(SL_ERR_INPUT, "--data: is missing; expected %s",
                   mlp ? "random:N for an mlp" : "a text file or a token shard (.bin)");
  return mlp ? check_random(path) : check_tokens("--data", path, options, setup, SL_DATA_TRAINING);
}

static enum sl_status count_samples(const char *path, const struct sl_options *options, const struct sl_setup *setup,
                                    enum sl_data_part part, int64_t *samples) {
  struct sl_data data;
  if (!sl_model_reads_tokens(&setup->model)) {
    *samples = strtoll(path + 7, NULL, 10);
    return SL_OK;
  }
  SL_TRY(open_tokens(&data, path, options, part));
  *samples = sl_data_sequences(&data, setup->plan.seq);
  sl_data_close(&data);
  return SL_OK;
}

enum sl_status sl_inputs_samples(const struct sl_options *options, const struct sl_setup *setup, int64_t *samples) {
  SL_TRY(check_data(options, setup));
  SL_TRY(count_samples(options->data, options, setup, SL_DATA_TRAINING, samples));
  *samples -= sl_data_held_out(*samples, options->val_split);
  return SL_OK;
}

/* Warns where a step takes more samples than there are. A text that must be tokenized for that is not looked at. */
static enum sl_status warn_of_few(const struct sl_options *options, const struct sl_setup *setup) {
  const int64_t batch = setup->plan.global_batch;
  int64_t samples;
  if (options->tokenizer != NULL || options->epochs > 0) return SL_OK;
  SL_TRY(count_samples(options->data, options, setup, SL_DATA_TRAINING, &samples));
  samples -= sl_data_held_out(samples, options->val_split);
  if (samples < batch)
    sl_warn("--data: has %lld samples to train on, and a step takes %lld: some are in it more than once",
            (long long)samples, (long long)batch);
  return SL_OK;
}

/* A training on braces and names of keys would go on without a word. */
static void warn_of_lines(const char *flag, const char *path, const struct sl_options *options) {
  static const char suffix[] = ".jsonl";
  const size_t length = path != NULL ? strlen(path) : 0, behind = sizeof suffix - 1;
  if (options->tokenizer == NULL && length >= behind && strcmp(path + length - behind, suffix) == 0)
    sl_warn("--%s: %s: every byte is a token, those of the JSON, too; with --tokenizer the text of its lines is read",
            flag, path);
}

enum sl_status sl_inputs_eval_iters(const struct sl_options *options, const struct sl_setup *setup, int64_t *iters) {
  const int64_t batch = setup->plan.global_batch, most = setup->config.sl.eval_iters;
  const bool split = options->val_data == NULL;
  const char *flag = !split ? "--val-data" : options->split != NULL ? "--split" : "--val-split";
  int64_t samples;
  SL_TRY(count_samples(split ? options->data : options->val_data, options, setup, SL_DATA_VALIDATION, &samples));
  if (split && options->split == NULL) samples = sl_data_held_out(samples, options->val_split);
  if (samples < batch)
    return sl_fail(SL_ERR_INPUT, "%s: leaves %lld samples to evaluate; expected at least a global batch, %lld", flag,
                   (long long)samples, (long long)batch);
  *iters = samples / batch < most ? samples / batch : most;
  return SL_OK;
}

/* --split divides --data by itself, with an evaluation or without. */
static enum sl_status check_split(const struct sl_options *options, const struct sl_setup *setup) {
  const char *other = options->val_data != NULL ? "val-data" : options->val_split > 0 ? "val-split" : NULL;
  if (other != NULL) return sl_fail(SL_ERR_INPUT, "--split: stands beside --%s; expected one of the two", other);
  if (!sl_model_reads_tokens(&setup->model))
    return sl_fail(SL_ERR_INPUT, "--split: is of models that read tokens; expected --val-split for an mlp");
  if (setup->config.sl.eval_interval == 0) return SL_OK;
  return check_tokens("--data", options->data, options, setup, SL_DATA_VALIDATION);
}

/* The flags of an evaluation belong together. */
static enum sl_status check_evaluation(const struct sl_options *options, const struct sl_setup *setup) {
  const bool split = options->val_split > 0, file = options->val_data != NULL, shares = options->split != NULL;
  int64_t samples;
  if (shares) SL_TRY(check_split(options, setup));
  if (setup->config.sl.eval_interval == 0) {
    if (!split && !file) return SL_OK;
    return sl_fail(SL_ERR_INPUT, "--%s: is given without --eval-interval; expected both, such as --eval-interval 100",
                   file ? "val-data" : "val-split");
  }
  if (split == file && !shares)
    return sl_fail(SL_ERR_INPUT, "--eval-interval: has %s; expected --val-data FILE, --val-split 0.01 or --split 99,1",
                   file ? "both --val-data and --val-split" : "nothing to evaluate");
  if (file && !sl_model_reads_tokens(&setup->model))
    return sl_fail(SL_ERR_INPUT, "--val-data: is of models that read tokens; expected --val-split for an mlp");
  if (file) SL_TRY(check_tokens("--val-data", options->val_data, options, setup, SL_DATA_VALIDATION));
  SL_TRY(sl_inputs_samples(options, setup, &samples));
  if (samples < 1) return sl_fail(SL_ERR_INPUT, "--val-split: leaves nothing to train on; expected less of --data");
  return sl_inputs_eval_iters(options, setup, &samples);
}

static enum sl_status check_tensor(const struct sl_weights *weights, const struct sl_tensor *tensor) {
  const struct sl_safetensors *file;
  const struct sl_safetensors_tensor *found = sl_weights_find(weights, tensor->name, &file);
  if (found == NULL)
    return sl_fail(SL_ERR_INPUT, "%s: has no tensor %s, which the model needs", weights->name, tensor->name);
  bool same = found->n_dim == tensor->n_dim;
  for (int i = 0; same && i < tensor->n_dim; i++) same = found->shape[i] == tensor->shape[i];
  char has[160] = "";
  for (int i = 0, at = 0; i < found->n_dim; i++)
    at += snprintf(has + at, sizeof has - (size_t)at, i > 0 ? ", %lld" : "%lld", (long long)found->shape[i]);
  if (!same)
    return sl_fail(SL_ERR_INPUT,
                   tensor->n_dim == 2 ? "%s: tensor %s is (%s); expected (%lld, %lld)"
                                      : "%s: tensor %s is (%s); expected (%lld)",
                   file->name, tensor->name, has, (long long)tensor->shape[0], (long long)tensor->shape[1]);
  if (!found->readable)
    return sl_fail(SL_ERR_INPUT, "%s: tensor %s is of type %s; expected F32, F16 or BF16", file->name, tensor->name,
                   found->type_name);
  return SL_OK;
}

/* Hugging Face's files may have tensors that are no parameters: causal masks, and the frequencies of rotary embeddings;
 * and a head that is the embedding. */
static bool is_expected(const struct sl_model *model, const char *name) {
  static const char *const buffers[] = {".attn.bias", ".attn.masked_bias", ".attention.bias", ".attention.masked_bias",
                                        ".rotary_emb.inv_freq"};
  const char *head = model->tied_head ? model->family->parts[SL_PART_HEAD] : NULL;
  const size_t length = strlen(name);
  if (sl_model_find(model, name) >= 0) return true;
  if (head != NULL && strncmp(name, head, strlen(head)) == 0 && strcmp(name + strlen(head), ".weight") == 0)
    return true;
  for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++) {
    const size_t end = strlen(buffers[i]);
    if (length > end && strcmp(name + length - end, buffers[i]) == 0) return true;
  }
  return false;
}

/* As from_pretrained warns of unexpected keys: weights of a larger model are easily taken for those of this one. */
static void warn_unused(const struct sl_weights *weights, const struct sl_model *model) {
  const char *first = NULL;
  int unused = 0;
  for (int f = 0; f < weights->file_count; f++)
    for (int i = 0; i < weights->files[f].count; i++) {
      const char *name = weights->files[f].tensors[i].name;
      if (is_expected(model, name)) continue;
      if (unused++ == 0) first = name;
    }
  if (unused == 0) return;
  sl_warn("%s: has %d tensor%s that the model lacks, and that %s not used; the first is %s", weights->name, unused,
          unused == 1 ? "" : "s", unused == 1 ? "is" : "are", first);
}

static enum sl_status check_init(const char *path, const struct sl_model *model) {
  struct sl_weights weights;
  enum sl_status status = SL_OK;
  if (path == NULL) return SL_OK;
  SL_TRY(sl_weights_open(&weights, path));
  for (int i = 0; i < model->tensor_count && status == SL_OK; i++) status = check_tensor(&weights, &model->tensors[i]);
  if (status == SL_OK) warn_unused(&weights, model);
  sl_weights_close(&weights);
  return status;
}

enum sl_status sl_inputs_keep(const struct sl_options *options) {
  const char *const inputs[] = {options->config, options->model, options->cluster};
  for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++)
    if (inputs[i] != NULL && !sl_json_is_text(inputs[i])) SL_TRY(sl_json_keep(inputs[i]));
  return SL_OK;
}

enum sl_status sl_inputs_check_piped(const struct sl_options *options) {
  const char *const inputs[][2] = {{"config", options->config},    {"model", options->model},
                                   {"cluster", options->cluster},  {"data", options->data},
                                   {"init", options->init},        {"tokenizer", options->tokenizer},
                                   {"val-data", options->val_data}};
  for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++)
    if (inputs[i][1] != NULL && !sl_json_is_text(inputs[i][1]) && sl_json_is_piped(inputs[i][1]))
      return sl_fail(SL_ERR_INPUT, "--%s: is %s, and several processes read it; expected a file", inputs[i][0],
                     inputs[i][1]);
  return SL_OK;
}

enum sl_status sl_inputs_check(const struct sl_options *options, const struct sl_setup *setup) {
  SL_TRY(check_tokenizer(options));
  SL_TRY(check_data(options, setup));
  SL_TRY(check_evaluation(options, setup));
  SL_TRY(warn_of_few(options, setup));
  warn_of_lines("data", options->data, options);
  warn_of_lines("val-data", options->val_data, options);
  return check_init(options->init, &setup->model);
}
