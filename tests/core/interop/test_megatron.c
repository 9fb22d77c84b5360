/* label: unit
 * Megatron-LM's arguments as launch scripts give them: variables, comments, continued lines; what is not modelled is
 * refused by name, and what has no counterpart is said once. */
#include "core/base/json_get.h"
#include "tests/core/interop/megatron_reading.h"

#define SIZES                                                                                                          \
  "--micro-batch-size 1 --num-layers 8 --hidden-size 64 --num-attention-heads 4 --max-position-embeddings 128"
#define ROPE "--position-embedding-type rope "
#define DRY " --hidden-dropout 0"

static void a_launch_script_is_read(void **state) {
  (void)state;
  json_t *config, *model;
  read_as("#!/bin/bash\n# TP=8 --tensor-model-parallel-size 8\nTP=4 # ranks\nexport PP=${2:-2}\nGLOBAL=\"256\"\n"
          "MODEL_ARGS=(\n    --num-layers 8 \n --hidden-size 64 --num-attention-heads 4\n "
          "--max_position_embeddings=128\n)\n"
          "OTHERS=\"--tensor-model-parallel-size ${TP} --pipeline-model-parallel-size $PP --vocab-size 999 \\\n"
          "  --num-layers-per-virtual-pipeline-stage 2 --global-batch-size $GLOBAL --bf16 --micro-batch-size 2\"\n"
          "torchrun --nproc_per_node 8 pretrain.py --frobnicate 3 ${MODEL_ARGS[@]} $OTHERS --data-path $DATA --lr "
          "1.5e-4 --seq-length "
          "64\n",
          &config, &model);
  assert_int_equal(integer(config, "shardlab.tp"), 4);
  assert_int_equal(integer(config, "train_batch_size"), 256);
  assert_int_equal(integer(config, "train_micro_batch_size_per_gpu"), 2);
  assert_int_equal(integer(model, "n_layer"), 8);
  assert_int_equal(integer(model, "n_positions"), 128);
  assert_int_equal(integer(model, "n_inner"), 256);
  assert_true(json_is_true(sl_json_at(config, "bf16.enabled")));
  assert_string_equal(json_string_value(sl_json_at(config, "shardlab.preset")), "megatron-lm");
  assert_string_equal(warned,
                      "run.sh: runs pretrain.py: its arguments are taken to mean what they do of pretrain_gpt.py\n"
                      "run.sh: no counterpart, so without effect: --frobnicate");
  json_decref(config);
  json_decref(model);
}

static void defaults_are_megatrons(void **state) {
  (void)state;
  json_t *config, *model;
  read_as("--micro-batch-size 1 --seq-length 64", &config, &model);
  assert_null(model);
  assert_true(json_number_value(sl_json_at(config, "gradient_clipping")) == 1.0);
  assert_true(json_number_value(sl_json_at(config, "optimizer.params.weight_decay")) == 0.01);
  assert_int_equal(integer(config, "shardlab.make_vocab_size_divisible_by"), 128);
  assert_string_equal(json_string_value(sl_json_at(config, "shardlab.attention")), "flash-on-gpu");
  assert_true(json_is_false(sl_json_at(config, "zero_optimization.overlap_comm")));
  json_decref(config);
}

/* bf16 sums in fp32 unless told otherwise, fp16 only if told to. */
/* Delayed scaling with Megatron-LM's defaults, which are not Transformer Engine's. */
static void fp8_is_delayed_scaling(void **state) {
  (void)state;
  static const struct {
    const char *arguments, *format, *algorithm;
    int margin, length;
  } cases[] = {{"--fp8-format hybrid", "hybrid", "most_recent", 0, 1},
               {"--fp8-format e4m3 --fp8-recipe delayed --fp8-amax-history-len 1024 --fp8-amax-compute-algo max "
                "--fp8-margin 2 --fp8-interval 1",
                "e4m3", "max", 2, 1024}};
  static const char *const refused[][2] = {
      {"--fp8-format hybrid --fp8-recipe mxfp8", "run.sh:1: --fp8-recipe: is 'mxfp8'; expected delayed"},
      {"--fp8-format e5m2", "run.sh:1: --fp8-format: is 'e5m2'; expected hybrid or e4m3"},
      {"--fp8-format hybrid --fp8-amax-compute-algo min", "--fp8-amax-compute-algo: is 'min'; expected max or"},
      {"--fp8-format hybrid --first-last-layers-bf16", "--first-last-layers-bf16: "},
      {"--fp8-format hybrid --fp8-param-gather",
       "--fp8-param-gather: is given; expected --use-distributed-optimizer beside it"}};
  json_t *config, *model;
  char text[600];
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    snprintf(text, sizeof text, "--micro-batch-size 1 --bf16 %s", cases[i].arguments);
    read_as(text, &config, &model);
    assert_true(json_is_true(sl_json_at(config, "shardlab.fp8")));
    assert_string_equal(json_string_value(sl_json_at(config, "shardlab.fp8_format")), cases[i].format);
    assert_string_equal(json_string_value(sl_json_at(config, "shardlab.fp8_amax_compute_algo")), cases[i].algorithm);
    assert_int_equal(integer(config, "shardlab.fp8_margin"), cases[i].margin);
    assert_int_equal(integer(config, "shardlab.fp8_amax_history_len"), cases[i].length);
    assert_string_equal(warned, "");
    json_decref(config);
    json_decref(model);
  }
  read_as("--micro-batch-size 1 --bf16 --fp8-margin 3", &config, &model);
  assert_null(sl_json_at(config, "shardlab.fp8"));
  assert_non_null(strstr(warned, "--fp8-margin"));
  json_decref(config);
  json_decref(model);
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
    snprintf(text, sizeof text, MODEL "--micro-batch-size 1 --bf16 %s", refused[i][0]);
    refuses(text, true, false, refused[i][1]);
  }
}

static void gradients_have_the_type_that_is_said(void **state) {
  (void)state;
  static const char *const cases[][2] = {{"", NULL},
                                         {"--grad-reduce-in-bf16", NULL},
                                         {"--bf16", NULL},
                                         {"--bf16 --grad-reduce-in-bf16", "bf16"},
                                         {"--fp16", "fp16"},
                                         {"--fp16 --accumulate-allreduce-grads-in-fp32", NULL},
                                         {"--fp16 --deepspeed --zero-stage 1", NULL}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[256];
    json_t *config, *model;
    snprintf(text, sizeof text, "--micro-batch-size 1 %s", cases[i][0]);
    read_as(text, &config, &model);
    const json_t *sent = sl_json_at(config, "communication_data_type"),
                 *kept = sl_json_at(config, "data_types.grad_accum_dtype");
    assert_int_equal(sent != NULL, cases[i][1] != NULL);
    assert_int_equal(kept != NULL, cases[i][1] != NULL);
    if (sent != NULL) assert_string_equal(json_string_value(sent), cases[i][1]);
    if (kept != NULL) assert_string_equal(json_string_value(kept), cases[i][1]);
    json_decref(config);
  }
}

/* Transformer Engine's unless the arguments are older, say otherwise, or DeepSpeed's fork takes them. */
static void kernels_are_those_of_the_implementation(void **state) {
  (void)state;
  static const struct {
    const char *arguments, *kernels;
    bool fused_norm;
  } cases[] = {{"", "megatron-core", false},
               {"--transformer-impl transformer_engine --no-rope-fusion", "megatron-core", false},
               {"--transformer-impl local", "megatron-fused", false},
               {"--use-legacy-models", "megatron-fused", false},
               {"--transformer-impl local --no-masked-softmax-fusion", "megatron-unfused", true},
               {"--deepspeed --zero-stage 1", "megatron-deepspeed", false},
               {"--deepspeed --no-masked-softmax-fusion", "megatron-deepspeed", false}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    json_t *config, *model;
    char text[512];
    snprintf(text, sizeof text, MODEL "--micro-batch-size 1 %s", cases[i].arguments);
    read_as(text, &config, &model);
    assert_string_equal(json_string_value(sl_json_at(config, "shardlab.kernels")), cases[i].kernels);
    assert_int_equal(json_is_true(sl_json_at(config, "shardlab.fused_norm")), cases[i].fused_norm);
    json_decref(config);
    json_decref(model);
  }
}

/* Transformer Engine chooses where nothing is said, but for Megatron-LM of 2021, DeepSpeed's fork and --transformer-impl
 * local. */
static void attention_is_that_of_the_release(void **state) {
  (void)state;
  static const char *const cases[][2] = {{"", "flash-on-gpu"},
                                         {"--attention-backend auto", "flash-on-gpu"},
                                         {"--attention-backend flash", "flash"},
                                         {"--transformer-impl local --attention-backend auto", "flash"},
                                         {"--attention-backend unfused", "materialised"},
                                         {"--transformer-impl local", "materialised"},
                                         {"--transformer-impl local --use-flash-attn", "flash"},
                                         {"--checkpoint-activations", "materialised"},
                                         {"--DDP-impl local", "materialised"},
                                         {"--deepspeed --zero-stage 1", "materialised"},
                                         {"--deepspeed --zero-stage 1 --use-flash-attn-v2", "flash"},
                                         {"--deepspeed --zero-stage 1 --use-flash-attn", "flash"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[256];
    json_t *config, *model;
    snprintf(text, sizeof text, "--micro-batch-size 1 %s", cases[i][0]);
    read_as(text, &config, &model);
    assert_string_equal(json_string_value(sl_json_at(config, "shardlab.attention")), cases[i][1]);
    json_decref(config);
  }
}

static void sizes_are_what_megatron_makes_of_them(void **state) {
  (void)state;
  static const struct {
    const char *text, *key;
    long long value;
  } cases[] = {{ROPE "--swiglu --normalization RMSNorm --disable-bias-linear " DRY, "num_key_value_heads", 4},
               {ROPE "--swiglu --normalization RMSNorm --disable-bias-linear --group-query-attention " DRY,
                "num_key_value_heads", 1},
               {ROPE "--swiglu --normalization RMSNorm --disable-bias-linear --group-query-attention "
                     "--num-query-groups 2 " DRY,
                "num_key_value_heads", 2},
               {ROPE "--swiglu --normalization RMSNorm --disable-bias-linear --kv-channels 32 " DRY, "head_dim", 32},
               {ROPE "--swiglu --normalization RMSNorm --disable-bias-linear --num-key-value-heads 2 " DRY,
                "num_key_value_heads", 2},
               {"--kv-channels 16 --num-key-value-heads 4", "vocab_size", 999},
               {"--padded-vocab-size 1024", "vocab_size", 1024},
               {"--pad-vocab-size-to 2048", "vocab_size", 2048},
               {"--normalization layernorm --rotary-seq-len-interpolation-factor 1", "vocab_size", 999}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[512];
    json_t *config, *model;
    snprintf(text, sizeof text, "--micro-batch-size 1 " MODEL "%s", cases[i].text);
    read_as(text, &config, &model);
    assert_int_equal(integer(model, cases[i].key), cases[i].value);
    json_decref(config);
    json_decref(model);
  }
}

static void forms_have_their_families(void **state) {
  (void)state;
  static const struct {
    const char *arguments, *key, *json;
  } cases[] = {
      {"--vocab-size 9", "model_type", "\"gpt2\""},
      {"", "vocab_size", "50257"}, /* pretrain_gpt.py's tokenizer */
      {"--tokenizer-type Llama3Tokenizer", "vocab_size", "128256"},
      {"--tokenizer-type HuggingFaceTokenizer --padded-vocab-size 640", "vocab_size", "640"},
      {ROPE "--swiglu --normalization RMSNorm --disable-bias-linear " DRY, "model_type", "\"llama\""},
      {ROPE "--swiglu --normalization rmsnorm " DRY, "mlp_bias", "true"},
      {ROPE "--swiglu --normalization RMSNorm --disable-bias-linear --add-qkv-bias " DRY, "model_type", "\"qwen2\""},
      {ROPE "--swiglu --normalization RMSNorm --disable-bias-linear --qk-layernorm " DRY, "head_dim", "16"},
      {ROPE "--rotary-percent 0.25", "partial_rotary_factor", "0.25"},
      {ROPE "--disable-bias-linear", "use_bias", "false"},
      {ROPE "--use-rope-scaling", "rope_scaling",
       "{\"rope_type\":\"llama3\",\"factor\":8.0,\"low_freq_factor\":1.0,\"high_freq_factor\":4.0,"
       "\"original_max_position_embeddings\":8192}"},
      {"--position-embedding-type alibi --embed-layernorm", "model_type", "\"bloom\""},
      {"--norm-epsilon 1e-3", "layer_norm_epsilon", "0.001"},
      {"", "initializer_range", "0.02"},
      {"--init-method-std 0.5", "initializer_range", "0.5"},
      {ROPE "--layernorm-epsilon 1e-3", "norm_epsilon", "0.001"},
      {ROPE "--swiglu --normalization RMSNorm " DRY, "rms_norm_eps", "1e-5"}, /* Megatron-LM's default, not Llama's */
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[512];
    json_t *config, *model, *want = json_loads(cases[i].json, JSON_DECODE_ANY, NULL);
    snprintf(text, sizeof text, "%s %s", SIZES, cases[i].arguments);
    read_as(text, &config, &model);
    if (!json_equal(json_object_get(model, cases[i].key), want))
      fail_msg("%s: %s", cases[i].arguments, json_dumps(model, 0));
    json_decref(want);
    json_decref(config);
    json_decref(model);
  }
}

#define CORE "--swiglu --normalization RMSNorm --disable-bias-linear "
#define SQUARED "--squared-relu --disable-bias-linear "

/* A family is taken where it has all that the arguments ask for, and Megatron-LM's own model otherwise. */
static void what_no_family_has_is_megatrons(void **state) {
  (void)state;
  static const struct {
    const char *arguments, *family, *key, *json;
  } cases[] = {
      {"--ffn-hidden-size 100 --untie-embeddings-and-output-weights", "gpt2", "tie_word_embeddings", "false"},
      {"--group-query-attention --num-query-groups 2", "megatron", "num_query_groups", "2"},
      {"--group-query-attention", "gpt_bigcode", "n_layer", "8"},
      {"--attention-head-type multiquery --untie-embeddings-and-output-weights", "gpt_bigcode", "tie_word_embeddings",
       "false"},
      {"--attention-head-type multiquery --disable-bias-linear", "megatron", "num_query_groups", "1"},
      {"--attention-head-type multihead", "gpt2", "n_layer", "8"},
      {"--glu-activation swiglu", "megatron", "ffn_hidden_size", "256"},
      {ROPE "--attention-head-type multiquery", "starcoder2", "num_key_value_heads", "1"},
      {"--num-key-value-heads 2", "megatron", "num_query_groups", "2"},
      {"--kv-channels 32", "megatron", "kv_channels", "32"},
      {"--disable-bias-linear", "megatron", "add_bias_linear", "false"},
      {"--disable-bias-linear --add-qkv-bias", "megatron", "add_qkv_bias", "true"},
      {"--add-qkv-bias", "gpt2", "n_layer", "8"}, /* which all linear layers have */
      {"--swiglu --normalization RMSNorm", "megatron", "gated_linear_unit", "true"},
      {"--swiglu --normalization RMSNorm", "megatron", "ffn_hidden_size", "128"},
      {"--normalization RMSNorm", "megatron", "normalization", "\"RMSNorm\""},
      {"--position-embedding-type none", "megatron", "position_embedding_type", "\"none\""},
      {"--no-position-embedding", "megatron", "position_embedding_type", "\"none\""},
      {"--position-embedding-type alibi", "megatron", "position_embedding_type", "\"alibi\""},
      {"--position-embedding-type alibi --embed-layernorm --ffn-hidden-size 100", "megatron", "embed_layernorm",
       "true"},
      {"--position-embedding-type alibi --embed-layernorm", "bloom", "hidden_dropout", "0.1"},
      {ROPE CORE "--hidden-dropout 0.1", "megatron", "hidden_dropout", "0.1"}, /* llama drops nothing there */
      {ROPE CORE DRY " --rotary-base 5000 --apply-layernorm-1p", "llama", "rope_theta", "5000"},
      {ROPE CORE "--rotary-base 5000 --rotary-percent 0.5", "megatron", "rotary_base", "5000"},
      {ROPE CORE "--rotary-base 5000 --rotary-percent 0.5", "megatron", "rotary_percent", "0.5"},
      {ROPE CORE "--norm-epsilon 1e-3", "megatron", "layernorm_epsilon", "0.001"},
      {ROPE CORE "--init-method-std 0.5", "megatron", "init_method_std", "0.5"},
      {ROPE SQUARED DRY " --apply-layernorm-1p", "nemotron", "partial_rotary_factor", "1"},
      {ROPE SQUARED DRY " --apply-layernorm-1p --norm-epsilon 1e-3", "nemotron", "norm_eps", "0.001"},
      {ROPE "--squared-relu --apply-layernorm-1p " DRY, "nemotron", "mlp_bias", "true"},
      {ROPE SQUARED DRY " --normalization RMSNorm", "arcee", "rms_norm_eps", "1e-5"},
      {ROPE SQUARED, "megatron", "activation_func", "\"relu2\""},
      {ROPE SQUARED "--apply-layernorm-1p", "megatron", "layernorm_zero_centered_gamma", "true"},
      {ROPE "--group-query-attention --num-query-groups 2", "starcoder2", "num_key_value_heads", "2"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[512];
    json_t *config, *model, *want = json_loads(cases[i].json, JSON_DECODE_ANY, NULL);
    snprintf(text, sizeof text, "%s %s", SIZES, cases[i].arguments);
    read_as(text, &config, &model);
    const json_t *got = json_object_get(model, cases[i].key);
    assert_string_equal(json_string_value(json_object_get(model, "model_type")), cases[i].family);
    if (!json_equal(got, want) && !(json_is_number(got) && json_number_value(got) == json_number_value(want)))
      fail_msg("%s: %s", cases[i].arguments, json_dumps(model, 0));
    json_decref(want);
    json_decref(config);
    json_decref(model);
  }
}

/* Without --num-layers no model is described; with it, it is the vocabulary that is missing. */
static void a_vocabulary_that_nobody_knows_is_missing(void **state) {
  (void)state;
  json_t *config, *model;
  read_as(NEEDED "--tokenizer-type HuggingFaceTokenizer", &config, &model);
  assert_null(model);
  json_decref(config);
  refuses("pretrain_gpt.py \\\n" SIZES NEEDED "\\\n --tokenizer-type HuggingFaceTokenizer", true, false,
          "run.sh:3: --tokenizer-type: is 'HuggingFaceTokenizer'; expected --vocab-size beside it, --model, or a "
          "--tokenizer-model whose tokenizer.json is here: only that says how large its vocabulary is");
}

static void what_a_shell_computes_is_computed(void **state) {
  (void)state;
  json_t *config, *model;
  read_as("A=3 B=$((A * (2 + 4) / 9 - -1)) --micro-batch-size $(( $B % 2 + 1 )) --global-batch-size $((${A}*8)) --lr "
          "1 --deepspeed --zero-stage $((1+1)) --no-pipeline-parallel",
          &config, &model);
  assert_int_equal(integer(config, "train_micro_batch_size_per_gpu"), 2);
  assert_int_equal(integer(config, "train_batch_size"), 24);
  assert_int_equal(integer(config, "zero_optimization.stage"), 2);
  assert_string_equal(json_string_value(sl_json_at(config, "shardlab.preset")), "deepspeed-2");
  json_decref(config);
}

/* Lines of a heredoc are no words; quotation marks in them, in comments and in each other open nothing. */
static void quoting_is_a_shells(void **state) {
  (void)state;
  json_t *config, *model;
  read_as("cat > note <<-'END'\n  don't --tensor-model-parallel-size 7\n\tEND\n# don't\n"
          "sed 's/\\//' ; echo \"it's\" 'say \"' $(echo ')') ; A=4 B=$((1<<A))\n"
          "run --micro-batch-size $A --lr 1\n",
          &config, &model);
  assert_int_equal(integer(config, "train_micro_batch_size_per_gpu"), 4);
  assert_int_equal(integer(config, "shardlab.tp"), 1);
  json_decref(config);
}

static void what_is_not_modelled_is_named(void **state) {
  (void)state;
  static const struct {
    const char *text, *says;
  } cases[] = {
      {"--micro-batch-size 1 --img-h 448 --freeze-LM",
       "run.sh:1: --img-h: is '448'; expected none: it is not modelled"},
      {"--micro-batch-size 1 --account-for-loss-in-pipeline-split",
       "run.sh:1: --account-for-loss-in-pipeline-split: is given; expected none: it is not modelled"},
      {"--micro-batch-size 1 --softmax-type vanilla --softmax-type off-by-one",
       "run.sh:1: --softmax-type: is 'off-by-one'; expected vanilla: nothing else is modelled"},
      {MODEL "--micro-batch-size 1 --swiglu --squared-relu",
       "run.sh:1: --squared-relu: is given; expected none beside --swiglu, as in Megatron-LM"},
      {MODEL "--micro-batch-size 1 --position-embedding-type mrope",
       "run.sh:1: --position-embedding-type: is 'mrope'; expected rope, alibi, learned_absolute or none"},
      {MODEL "--micro-batch-size 1 --pad-vocab-size-to 100",
       "run.sh:1: --pad-vocab-size-to: is '100'; expected at least --vocab-size, which is padded to it"},
      {MODEL "--micro-batch-size 1 --normalization Foo",
       "run.sh:1: --normalization: is 'Foo'; expected LayerNorm or RMSNorm"},
      {"--micro-batch-size 1 --num-experts 8", "run.sh:1: --num-experts: is '8'; expected 1: nothing else is modelled"},
      {"--micro-batch-size many", "run.sh:1: --micro-batch-size: is 'many'; expected a whole number"},
      {"--micro-batch-size $MBS", "run.sh:1: --micro-batch-size: is '$MBS'; expected a whole number"},
      {"--micro-batch-size", "run.sh:1: --micro-batch-size: is given; expected a whole number"},
      {"--lr 1e999", "run.sh:1: --lr: is '1e999'; expected a number"},
      {"--optimizer muon", "run.sh:1: --optimizer: is 'muon'; expected adam: no other one of Megatron-LM is modelled"},
      {"--recompute-granularity full --recompute-num-layers 4",
       "run.sh:1: --recompute-num-layers: is '4'; expected 1: pieces of several layers, or some layers alone, are not "
       "modelled"},
      {"--micro-batch-size 1\n--recompute-granularity full",
       "run.sh:2: --recompute-granularity: is 'full'; expected --recompute-method uniform beside it: full needs "
       "uniform or block, and block is not modelled"},
      {"--recompute-granularity selective --recompute-method uniform",
       "run.sh:1: --recompute-method: is 'uniform'; expected none: recompute method is not yet supported for "
       "selective recomputing granularity"},
      {"--recompute-activations --recompute-method block",
       "run.sh:1: --recompute-method: is 'block'; expected none: recompute method is not yet"},
      {"--micro-batch-size 1 --ds-sequence-parallel-size 2",
       "run.sh:1: --ds-sequence-parallel-size: is '2'; expected 1 without --deepspeed"},
      {"--micro-batch-size 1 --partition-activations",
       "run.sh:1: --partition-activations: is given; expected none without --deepspeed"},
      {"--recompute-granularity full --recompute-method block --recompute-num-layers 1",
       "run.sh:1: --recompute-method: is 'block'; expected uniform: block is not modelled"},
      {"--lr 1", "run.sh: --micro-batch-size: is missing; expected sequences a step of a rank, without which "
                 "Megatron-LM does not start"},
      {"--micro-batch-size 1 --vocab-size 5", "run.sh: --num-layers: is missing; expected a whole number"},
      {"torchrun --nnodes 1 tools/pretrain_bert.py --micro-batch-size 1",
       "run.sh: runs pretrain_bert.py, which is not modelled; expected pretrain_gpt.py"},
      {"--micro-batch-size $((A * (B + 1))) --seq-length 2",
       "run.sh:1: --micro-batch-size: is '$((A * (B + 1)))'; expected a whole number"},
      {"--activations-checkpoint-method block",
       "run.sh:1: --activations-checkpoint-method: is 'block'; expected uniform: block is not modelled"},
      {"--micro-batch-size 1\n--save \"cut off", "run.sh:2: a quotation mark is not closed"},
      {"--micro-batch-size 1 --save $(date \")\"", "run.sh:1: $( is not closed"},
      {"train.py", "run.sh: has no argument; expected Megatron-LM's, as --micro-batch-size 4"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) refuses(cases[i].text, true, false, cases[i].says);
}

/* As argparse of Megatron-LM, which knows no word that belongs to no argument. */
static void every_word_belongs_to_an_argument(void **state) {
  (void)state;
  static const struct {
    const char *text, *says;
  } cases[] = {
      {NEEDED "stray", "--from-megatron: 'stray' behind --lr belongs to no argument; expected --NAME"},
      {NEEDED "--bf16 false", "--from-megatron: 'false' behind --bf16 belongs to no argument; expected --NAME"},
      {NEEDED "--save a b", "--from-megatron: 'b' behind --save belongs to no argument; expected --NAME"},
      {NEEDED "--split 1,2 3", "--from-megatron: '3' behind --split belongs to no argument; expected --NAME"},
      {NEEDED MODEL "--num-layers 8 9",
       "--from-megatron: '9' behind --num-layers belongs to no argument; expected --NAME"},
      {NEEDED "--split", "--from-megatron: --split: has no value; expected one"},
      {NEEDED "--train-iters --bf16", "--from-megatron: --train-iters: has no value; expected one"},
      {"--=x " NEEDED, "--from-megatron: '--' behind nothing belongs to no argument; expected --NAME"},
      {"stray " NEEDED, "--from-megatron: 'stray' behind nothing belongs to no argument; expected --NAME"},
      {"torchrun pretrain_gpt.py a " NEEDED,
       "--from-megatron: 'a' behind pretrain_gpt.py belongs to no argument; expected --NAME"},
      {NEEDED "--rampup-batch-size 16 16", "--from-megatron: --rampup-batch-size: is '16'; expected three whole "
                                           "numbers: the first batch, its increment and the samples it grows in"},
      {NEEDED "--rampup-batch-size 16 x 9", "--from-megatron: --rampup-batch-size: is '16'; expected three whole "
                                            "numbers: the first batch, its increment and the samples it grows in"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) refuses(cases[i].text, false, false, cases[i].says);
}

/* Lists and what nobody knows take any words; a launcher's are its own. What changes time, or the data, is named. */
static void what_has_no_effect_is_named(void **state) {
  (void)state;
  warns("torchrun --standalone --nproc_per_node 8 x pretrain_gpt.py " NEEDED "--data-path 0.5 a 0.5 b --frobnicate 1 2 "
        "--rampup-batch-size 16 16 300 --split 99,1,0 --profile --no-rope-fusion --save x --log-energy --bucket-size 3",
        false, false,
        "--from-megatron: no counterpart, so without effect: --standalone --frobnicate --rampup-batch-size --split "
        "--no-rope-fusion --bucket-size");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_launch_script_is_read),
                                     cmocka_unit_test(defaults_are_megatrons),
                                     cmocka_unit_test(fp8_is_delayed_scaling),
                                     cmocka_unit_test(gradients_have_the_type_that_is_said),
                                     cmocka_unit_test(kernels_are_those_of_the_implementation),
                                     cmocka_unit_test(attention_is_that_of_the_release),
                                     cmocka_unit_test(sizes_are_what_megatron_makes_of_them),
                                     cmocka_unit_test(forms_have_their_families),
                                     cmocka_unit_test(what_no_family_has_is_megatrons),
                                     cmocka_unit_test(a_vocabulary_that_nobody_knows_is_missing),
                                     cmocka_unit_test(what_a_shell_computes_is_computed),
                                     cmocka_unit_test(quoting_is_a_shells),
                                     cmocka_unit_test(what_is_not_modelled_is_named),
                                     cmocka_unit_test(every_word_belongs_to_an_argument),
                                     cmocka_unit_test(what_has_no_effect_is_named)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
