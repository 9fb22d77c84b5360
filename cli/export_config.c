/* shardlab export-config: writes a configuration in another framework's format. */
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/setup.h"
#include "core/base/checked.h"
#include "core/base/json_get.h"
#include "core/base/listing.h"
#include "core/interop/accelerate.h"
#include "core/interop/accelerate_write.h"
#include "core/interop/megatron_write.h"
#include "core/interop/paths.h"
#include "core/interop/torchtitan_write.h"
#include "core/plan/vocabulary.h"
#include "core/record/record.h"

#include <stdlib.h>
#include <string.h>

/* One line on standard error with everything that could not be expressed. */
static void name_unsaid(const char *to, const json_t *unsaid) {
  struct sl_listing listing = {.separator = ", "};
  for (size_t i = 0; i < json_array_size(unsaid); i++)
    sl_listing_add(&listing, json_string_value(json_array_get(unsaid, i)));
  const char *text = sl_listing_end(&listing);
  if (text != NULL) sl_warn("--to %s: no counterpart, so left out: %s", to, text);
}

/* Adds the values that the file leaves to the model, the ranks, the preset and the device. */
static void put_taken_values(json_t *config, const json_t *taken, const struct sl_plan *plan, bool stages) {
  static const char *const keys[] = {"shardlab.attention", "communication_data_type", "data_types.grad_accum_dtype",
                                     "zero_optimization.overlap_comm"};
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
    sl_interop_put(config, keys[i], json_deep_copy(sl_json_at(taken, keys[i])));
  sl_interop_put(config, "shardlab.tp_vocab", json_string(sl_vocabulary_word(plan)));
  sl_interop_put(config, "shardlab.seq_len", json_integer(plan->seq));
  sl_interop_put(config, "train_batch_size", json_integer(plan->global_batch));
  sl_interop_put(config, "train_micro_batch_size_per_gpu", json_integer(plan->micro_batch));
  sl_interop_put(config, "gradient_accumulation_steps", json_integer(plan->n_micro));
  if (stages && plan->pp > 1) sl_interop_put(config, "shardlab.stages", sl_record_stage_layers(plan));
}

/* What a file says that says the stage and the number type alone; of Megatron-LM what its kernels choose, too. */
static enum sl_status usual_config(const struct sl_setup *setup, bool megatron, json_t **out) {
  char text[256], kernels[64] = "";
  const struct sl_config *is = &setup->config;
  struct sl_config config;
  if (megatron) snprintf(kernels, sizeof kernels, "\"kernels\": \"megatron-core\", \"cp\": %d", setup->plan.cp);
  const char *type = is->param_dtype == SL_BF16 ? "bf16" : "fp16";
  const int length = snprintf(text, sizeof text,
                              "{\"optimizer\": {\"type\": \"AdamW\"}, \"train_micro_batch_size_per_gpu\": 1, "
                              "\"%s\": {\"enabled\": %s}, \"zero_optimization\": {\"stage\": %d}, "
                              "\"shardlab\": {%s}}",
                              type, is->param_dtype == SL_F32 ? "false" : "true", is->zero.stage, kernels);
  SL_TRY(sl_config_parse(&config, "a usual file", text, (size_t)length, false));
  sl_plan_choose_attention(&config, &setup->cluster);
  *out = sl_config_to_json(&config);
  sl_config_free(&config);
  return *out != NULL ? SL_OK : sl_fail(SL_ERR_MEMORY, "out of memory: a usual file");
}

/* A vocabulary that comes out as long is padded alike. */
static void put_vocabulary(const struct sl_setup *setup, bool megatron, json_t *config, json_t *usual) {
  static const char path[] = "shardlab.make_vocab_size_divisible_by";
  const struct sl_plan *plan = &setup->plan;
  const int read = megatron ? SL_ACCELERATE_VOCABULARY : 1, is = plan->vocab_multiple;
  const int64_t rows = (setup->model.vocab_size + plan->tp - 1) / plan->tp; /* of a rank, see core/plan/cut.h */
  const bool alike = sl_round_up(rows, read) == sl_round_up(rows, is);
  sl_interop_put(config, path, json_integer(alike ? read : is));
  sl_interop_put(usual, path, json_integer(read));
}

static enum sl_status write_accelerate(const struct sl_setup *setup, json_t *config, FILE *out, json_t *unsaid) {
  const int64_t per_node = setup->cluster.devices_per_node, world = setup->plan.world;
  const int64_t machines = world % per_node == 0 ? world / per_node : 1;
  json_t *usual = NULL;
  const bool megatron = sl_accelerate_writes_megatron(setup->config.sl.preset);
  SL_TRY(usual_config(setup, megatron, &usual));
  put_vocabulary(setup, megatron, config, usual);
  const enum sl_status status =
      sl_accelerate_write(config, setup->config.doc.root, usual, world, machines, out, unsaid);
  json_decref(usual);
  return status;
}

static enum sl_status write_as(const char *to, const struct sl_setup *setup, json_t *config, const json_t *model,
                               FILE *out, json_t *unsaid) {
  const json_t *given = setup->config.doc.root;
  if (strcmp(to, "megatron") == 0) return sl_megatron_write(config, given, model, out, unsaid);
  if (strcmp(to, "torchtitan") == 0) return sl_torchtitan_write(config, given, model, out, unsaid);
  return write_accelerate(setup, config, out, unsaid);
}

/* Prints to memory first, so that a plan that cannot be expressed produces no output. */
static enum sl_status put_as(const struct sl_options *options, const struct sl_setup *setup) {
  const char *to = options->to;
  char *text = NULL;
  size_t size = 0;
  json_t *config = sl_config_to_json(&setup->config), *model = sl_model_to_json(&setup->model), *unsaid = json_array();
  json_t *taken = sl_config_to_json(setup->plan.config);
  FILE *memory = open_memstream(&text, &size);
  enum sl_status status = memory == NULL || config == NULL || model == NULL || taken == NULL
                              ? sl_fail(SL_ERR_MEMORY, "out of memory: a text")
                              : SL_OK;
  if (status == SL_OK) put_taken_values(config, taken, &setup->plan, strcmp(to, "torchtitan") == 0);
  if (status == SL_OK) status = write_as(to, setup, config, model, memory, unsaid);
  if (memory != NULL) fclose(memory);
  if (status == SL_OK) fputs(text, sl_output_text(options)), name_unsaid(to, unsaid);
  if (status == SL_OK)
    status = sl_output_json(options, json_pack("{s:s, s:s, s:O}", "to", to, "text", text, "left_out", unsaid));
  free(text);
  json_decref(taken);
  json_decref(config);
  json_decref(model);
  json_decref(unsaid);
  return status;
}

/* DeepSpeed's own words are the document itself. */
static enum sl_status put_deepspeed(const struct sl_setup *setup, const struct sl_options *options) {
  SL_TRY(sl_json_print(setup->config.doc.root, sl_output_text(options)));
  return sl_output_json(options, json_incref(setup->config.doc.root));
}

static enum sl_status run(const struct sl_options *options) {
  struct sl_setup setup;
  if (options->to == NULL)
    return sl_fail(SL_ERR_INPUT, "--to: is missing; expected deepspeed, megatron, torchtitan or accelerate");
  SL_TRY(sl_output_check(options));
  SL_TRY(sl_setup_plan(&setup, options));
  const enum sl_status status =
      strcmp(options->to, "deepspeed") == 0 ? put_deepspeed(&setup, options) : put_as(options, &setup);
  sl_setup_free(&setup);
  return status;
}

const struct sl_command sl_command_export_config = {
    .name = "export-config",
    .bit = SL_CMD_EXPORT,
    .operands = "",
    .summary = "Write a configuration in another framework's words",
    .help =
        "--to megatron: the arguments of Megatron-LM, a line each; torchtitan: its TOML, with the model\n"
        "where a flavor has its shape; accelerate: the YAML of accelerate config, which leaves batch,\n"
        "optimizer and model to the script; deepspeed: a ds_config.json, whose section \"shardlab\" has\n"
        "what DeepSpeed has no key for. What has no counterpart is named; --json has it as a list, beside the text.\n"
        "With --from-megatron, --from-torchtitan or --from-accelerate settings of one framework become those of "
        "another.\n",
    .example = "shardlab export-config --to megatron --model gpt2 --preset megatron-lm --tp 2 --world 8",
    .run = run,
};
