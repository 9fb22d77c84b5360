/* shardlab export-config: a configuration in another framework's words. */
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/setup.h"
#include "core/interop/megatron_write.h"
#include "core/interop/paths.h"

#include <stdlib.h>
#include <string.h>

/* One line on standard error for all that was left out. */
static void name_unsaid(const json_t *unsaid) {
  char text[1024] = "";
  size_t used = 0;
  for (size_t i = 0; i < json_array_size(unsaid) && used < sizeof text; i++)
    used += (size_t)snprintf(text + used, sizeof text - used, " %s", json_string_value(json_array_get(unsaid, i)));
  if (used > 0) sl_warn("--to megatron: no counterpart, so left out:%s", text);
}

/* Into memory first, so that a plan that cannot be said leaves nothing. */
static enum sl_status print_megatron(const struct sl_setup *setup, FILE *out) {
  char *text = NULL;
  size_t size = 0;
  json_t *config = sl_config_to_json(&setup->config), *model = sl_model_to_json(&setup->model), *unsaid = json_array();
  json_t *taken = sl_config_to_json(setup->plan.config);
  FILE *memory = open_memstream(&text, &size);
  enum sl_status status = memory == NULL || config == NULL || model == NULL || taken == NULL
                              ? sl_fail(SL_ERR_MEMORY, "out of memory: a text")
                              : SL_OK;
  if (status == SL_OK) { /* what the file leaves to the model, the ranks and the device */
    sl_interop_put(config, "shardlab.attention", json_deep_copy(sl_interop_get(taken, "shardlab.attention")));
    sl_interop_put(config, "shardlab.seq_len", json_integer(setup->plan.seq));
    sl_interop_put(config, "train_batch_size", json_integer(setup->plan.global_batch));
    sl_interop_put(config, "train_micro_batch_size_per_gpu", json_integer(setup->plan.micro_batch));
  }
  if (status == SL_OK) status = sl_megatron_write(config, setup->config.doc.root, model, memory, unsaid);
  if (memory != NULL) fclose(memory);
  if (status == SL_OK) fputs(text, out), name_unsaid(unsaid);
  free(text);
  json_decref(taken);
  json_decref(config);
  json_decref(model);
  json_decref(unsaid);
  return status;
}

static enum sl_status run(const struct sl_options *options) {
  struct sl_setup setup;
  if (options->to == NULL) return sl_fail(SL_ERR_INPUT, "--to: is missing; expected deepspeed or megatron");
  SL_TRY(sl_setup_plan(&setup, options));
  enum sl_status status = SL_OK;
  if (strcmp(options->to, "deepspeed") == 0)
    status = sl_json_print(setup.config.doc.root, stdout);
  else
    status = print_megatron(&setup, stdout);
  sl_setup_free(&setup);
  return status;
}

const struct sl_command sl_command_export_config = {
    .name = "export-config",
    .bit = SL_CMD_EXPORT,
    .operands = "",
    .summary = "Write a configuration in another framework's words",
    .help = "--to megatron: the arguments of Megatron-LM, a line each; --to deepspeed: a ds_config.json, whose section "
            "\"shardlab\" has what\n"
            "DeepSpeed has no key for. What has no counterpart is named. With --from-megatron settings of Megatron-LM "
            "become a file\n"
            "of DeepSpeed's.\n",
    .example = "shardlab export-config --to megatron --model gpt2 --preset megatron-lm --tp 2 --world 8",
    .run = run,
};
