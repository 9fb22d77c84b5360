/* label: unit
 * The types in which DeepSpeed adds gradients up and reduces them: by its version without ZeRO, beside Ulysses. */
#include "core/plan/frameworks.h"
#include "tests/support/strategy_choice.h"

#include <stdio.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define ZERO_KEY(key) "\"zero_optimization\": {" key "}"
#define KEPT "\"data_types\": {\"grad_accum_dtype\": \"bf16\"}"
#define BF16 "\"bf16\": {\"enabled\": true}"

/* runtime/engine.py, get_data_types and _do_optimizer_sanity_check: types without ZeRO, and BF16_Optimizer, whose states
 * are in partitions. `says`: the refusal. */
static void deepspeed_without_zero_by_version(void **state) {
  (void)state;
  enum { PARTITIONED = 1 };
#define KEPT_FP32 "\"data_types\": {\"grad_accum_dtype\": \"fp32\"}"
#define FP16 "\"fp16\": {\"enabled\": true}"
#define ONE_TYPE "Bfloat16 wrapper must use a gradient accumulation type of fp32, enable ZeRO to use Bfloat16 gradient"
#define MIX "unsupported mix of model_dtype=torch."
  static const struct {
    const char *version, *preset, *rest;
    enum sl_dtype kept;
    int partitioned;
    const char *says;
  } cases[] = {
      {"0.12.4", "", BF16, SL_F32, PARTITIONED, NULL},
      {"0.12.4", "deepspeed-pipeline", BF16 ", " KEPT, SL_BF16, 0, ONE_TYPE},
      {"0.12.5", "deepspeed-pipeline", BF16 ", " KEPT, SL_BF16, PARTITIONED, NULL},
      {"0.17.5", "", BF16, SL_F32, PARTITIONED, NULL},
      {"0.17.5", "deepspeed-0", BF16 ", " KEPT, SL_BF16, 0, ONE_TYPE},
      {"0.17.6", "", BF16, SL_BF16, 0, NULL},
      {"0.17.6", "", BF16 ", " KEPT_FP32, SL_F32, PARTITIONED, NULL},
      {"0.17.6", "deepspeed-pipeline", BF16, SL_BF16, PARTITIONED, NULL},
      {"0.18.4", "deepspeed-0", BF16 ", " KEPT_FP32, SL_F32, PARTITIONED, NULL},
      {"0.18.5", "deepspeed-0", BF16 ", " KEPT_FP32, SL_F32, 0, MIX "bfloat16 and grad_accum_dtype=torch.float32"},
      {"0.19.6", "", BF16 ", " KEPT_FP32, SL_F32, 0, MIX "bfloat16 and grad_accum_dtype=torch.float32"},
      {"0.19.6", "deepspeed-pipeline", BF16 ", " KEPT_FP32, SL_F32, 0, MIX "bfloat16"},
      {"0.19.6", "deepspeed-pipeline", BF16, SL_BF16, PARTITIONED, NULL},
      {"0.17.6", "", FP16 ", " KEPT_FP32, SL_F32, 0, MIX "float16 and grad_accum_dtype=torch.float32"},
      {"0.19.6", "", KEPT, SL_BF16, 0, MIX "float32 and grad_accum_dtype=torch.bfloat16"},
      {"0.19.6", "", FP16, SL_F16, 0, NULL},
      {"0.19.6", "ddp", BF16, SL_F32, 0, NULL},
      {"0.19.6", "ddp", BF16 ", " KEPT, SL_BF16, 0, NULL},
      {"0.19.6", "ddp", FP16 ", " KEPT_FP32, SL_F32, 0, NULL},
      {"0.19.6", "", ZERO_KEY("\"stage\": 2") ", " FP16 ", " KEPT_FP32, SL_F32, PARTITIONED, NULL}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct sl_strategy s;
    char section[128], rest[512];
    snprintf(section, sizeof section, "\"preset\": \"%s\", \"ds_version\": \"%s\"", cases[i].preset, cases[i].version);
    snprintf(rest, sizeof rest, "%s, \"optimizer\": {\"type\": \"AdamW\"}", cases[i].rest);
    const enum sl_status status = choose(&s, section, rest, 3);
    if (cases[i].says != NULL) {
      if (status == SL_OK || strstr(sl_error_message(), cases[i].says) == NULL)
        fail_msg("case %d: %s", (int)i, status == SL_OK ? "no refusal" : sl_error_message());
      continue;
    }
    if (status != SL_OK) fail_msg("case %d: %s", (int)i, sl_error_message());
    if (chosen.grad_accum_dtype != cases[i].kept || s.shard_optimizer != cases[i].partitioned)
      fail_msg("case %d: %s, %s", (int)i, sl_dtype_name(chosen.grad_accum_dtype),
               s.shard_optimizer ? "in partitions" : "whole");
  }
}

/* runtime/engine.py, _configure_distributed_model; zero/stage_1_and_2.py, allreduce_bucket. */
static void ulysses_reduces_in_a_type_of_its_own(void **state) {
  (void)state;
#define ULYSSES "\"sequence_parallel_size\": 2, " BF16 ", "
#define SHARED(type) "\"seq_parallel_communication_data_type\": " type ", "
  static const struct {
    const char *section, *rest;
    enum sl_dtype want;
    const char *says;
  } cases[] = {
      {"", ULYSSES ZERO_KEY("\"stage\": 0"), SL_F32, ""},
      {"", ULYSSES ZERO_KEY("\"stage\": 2"), SL_F32, ""},
      {"", ULYSSES ZERO_KEY("\"stage\": 3"), SL_F32, ""},
      {"\"cp_comm_type\": \"all_gather\"", ULYSSES ZERO_KEY("\"stage\": 2"), SL_BF16, ""},
      {"", BF16 ", " ZERO_KEY("\"stage\": 2"), SL_BF16, ""},
      {"\"ds_version\": \"0.11.1\"", ULYSSES ZERO_KEY("\"stage\": 2"), SL_BF16, ""},
      {"", ULYSSES SHARED("\"bf16\"") ZERO_KEY("\"stage\": 3"), SL_BF16, ""},
      {"", ULYSSES SHARED("null") ZERO_KEY("\"stage\": 3"), SL_BF16, ""},
      {"", ULYSSES SHARED("\"bf16\"") ZERO_KEY("\"stage\": 1, \"reduce_scatter\": false"), SL_BF16, ""},
      {"", ULYSSES SHARED("\"bf16\"") ZERO_KEY("\"stage\": 1"), SL_F32,
       "ZeRO 1 and 2 reduce gradients of Ulysses in fp32"},
      {"", ULYSSES SHARED("\"bf16\"") "\"data_types\": {\"grad_accum_dtype\": \"fp32\"}, " ZERO_KEY("\"stage\": 1"),
       SL_BF16, ""},
      {"", ULYSSES "\"communication_data_type\": \"bf16\", " ZERO_KEY("\"stage\": 3"), SL_F32,
       "beside Ulysses seq_parallel_communication_data_type says"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct sl_strategy s;
    char rest[512];
    snprintf(rest, sizeof rest, "%s, \"optimizer\": {\"type\": \"AdamW\"}", cases[i].rest);
    if (choose(&s, cases[i].section, rest, 6) != SL_OK) fail_msg("case %d: %s", (int)i, sl_error_message());
    if (chosen.communication_data_type != cases[i].want || strstr(said, cases[i].says) == NULL ||
        (said[0] != '\0') != (cases[i].says[0] != '\0'))
      fail_msg("case %d: %s, said \"%s\"", (int)i, sl_dtype_name(chosen.communication_data_type), said);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(deepspeed_without_zero_by_version),
                                     cmocka_unit_test(ulysses_reduces_in_a_type_of_its_own)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
