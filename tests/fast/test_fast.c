/* label: property
   libs: fast sim
 * The fast clock against the exact one on drawn configurations, family by family: the step time and the most bytes that live at
 * once are within 1 %, and equal (but for bytes of scratch that are rounded up) where nothing but blocks is in a step. Prints how
 * far they are apart. */
#include "tests/fast/families.h"

/* Those that formulas cover. */
#define ROW(what, of, text, draws, tp, pp, dp, stage, time_by, live_by, any_cut)                                       \
  {                                                                                                                    \
    .name = what, .model = of, .config = text, .count = draws, .most_tp = tp, .most_pp = pp, .most_dp = dp,            \
    .zero_stage = stage, .time = time_by, .live = live_by, .uneven = any_cut, .formulas = true                         \
  }

#define AUTOCAST "\"torch_autocast\": {\"enabled\": true, \"dtype\": \"bf16\"}, "

static const struct family families[] = {
    ROW("one rank, fp32", "gpt2", "{" ADAMW "\"shardlab\": {\"seq_len\": 257}}", 80, 1, 1, 1, 0, 1e-8, 0.01, false),
    ROW("one rank, bf16, flash", "llama3-8b",
        "{" BF16 ADAMW "\"shardlab\": {\"seq_len\": 512, \"attention\": \"flash\"}}", 32, 1, 1, 1, 0, 1e-8, 0.01,
        false),
    ROW("tensor parallel", "gpt2", "{" BF16 ADAMW "\"shardlab\": {\"seq_len\": 256}}", 80, 4, 1, 1, 0, 1e-6, 0.01,
        false),
    ROW("data parallel, serial", "gpt2",
        "{" BF16 ADAMW "\"communication_data_type\": \"fp32\", \"zero_optimization\": {\"overlap_comm\": false, "
        "\"reduce_bucket_size\": 3e6},"
        " \"shardlab\": {\"seq_len\": 129}}",
        80, 1, 1, 64, 0, 1e-6, 0.01, false),
    ROW("data parallel, beside backward", "gpt2",
        "{" ADAMW "\"communication_data_type\": \"bf16\", \"zero_optimization\": {\"overlap_comm\": true, "
        "\"reduce_bucket_size\": 7e6},"
        " \"shardlab\": {\"seq_len\": 512}}",
        80, 4, 1, 64, 0, 0.001, 0.001, false),
    ROW("sums in bf16 that travel in fp32", "gpt2",
        "{" BF16 ADAMW "\"communication_data_type\": \"fp32\", \"zero_optimization\": {\"overlap_comm\": true, "
        "\"reduce_bucket_size\": 7e6},"
        " \"shardlab\": {\"seq_len\": 512}}",
        80, 1, 1, 64, 0, 0.01, 0.001, false),
    {.name = "few blocks to a stage, sums in fp32 on the wire",
     .model = "llama3-8b",
     .config = "{" BF16 ADAMW "\"communication_data_type\": \"fp32\", \"zero_optimization\": {\"overlap_comm\": true, "
               "\"reduce_bucket_size\": 4e8}, \"shardlab\": {\"seq_len\": 64}}",
     .count = 90,
     .most_tp = 1,
     .most_pp = 8,
     .most_dp = 64,
     .most_micro = 2,
     .uneven = true,
     .time = 0.001,
     .live = 0.001,
     .formulas = true},
    ROW("DDP, gradients as views of its buckets", "gpt2",
        "{" ADAMW "\"shardlab\": {\"seq_len\": 512, \"preset\": \"ddp\", \"gradient_as_bucket_view\": true}}", 48, 1, 1,
        32, 0, 1e-4, 0.01, false),
    ROW("ZeRO 1, serial", "gpt2",
        "{" BF16 ADAMW "\"zero_optimization\": {\"stage\": 1, \"overlap_comm\": false, \"reduce_bucket_size\": 5e6,"
        " \"allgather_bucket_size\": 9e6}, \"shardlab\": {\"seq_len\": 512}}",
        80, 1, 1, 64, 1, 1e-6, 0.01, false),
    ROW("passes beside the optimizer", "llama3-8b",
        "{" FP16 ADAMW "\"shardlab\": {\"seq_len\": 256, \"attention\": \"flash\", \"kernels\": \"megatron-fused\"}}",
        24, 1, 1, 1, 0, 0.001, 0.01, false),
    ROW("ZeRO 1, beside backward", "gpt2",
        "{" BF16 ADAMW "\"zero_optimization\": {\"stage\": 1, \"overlap_comm\": true, \"reduce_bucket_size\": 5e6},"
        " \"shardlab\": {\"seq_len\": 1024}}",
        80, 1, 1, 64, 1, 0.01, 0.01, false),
    ROW("pipelines", "llama3-8b", "{" BF16 ADAMW "\"shardlab\": {\"seq_len\": 512}}", 96, 8, 8, 1, 0, 0.01, 0.01,
        false),
    ROW("uneven stages", "llama3-8b", "{" BF16 ADAMW "\"shardlab\": {\"seq_len\": 512}}", 96, 2, 8, 1, 0, 0.001, 0.01,
        true),
    ROW("stages by cost, as the choice has them", "llama3-8b",
        "{" BF16 ADAMW "\"shardlab\": {\"seq_len\": 512, \"stages\": \"cost\"}}", 64, 2, 8, 1, 0, 0.001, 0.01, true),
    {.name = "no forward behind the first backward",
     .model = "llama3-8b",
     .config = "{" BF16 ADAMW "\"shardlab\": {\"attention\": \"flash\"}}",
     .count = 24,
     .most_tp = 8,
     .most_pp = 8,
     .most_dp = 8,
     .time = 0.01,
     .live = 0.01,
     .formulas = true,
     .most_micro = 2},
    {.name = "copies for the wire beside blocks",
     .model = "llama3-8b",
     .config = "{" BF16 ADAMW "\"communication_data_type\": \"fp32\", \"zero_optimization\": {\"overlap_comm\": true}, "
               "\"shardlab\": {\"seq_len\": 6144, "
               "\"attention\": \"flash\"}}",
     .count = 32,
     .most_tp = 4,
     .most_pp = 2,
     .most_dp = 8,
     .time = 0.01,
     .live = 0.01,
     .formulas = true,
     .most_micro = 1},
    {.name = "copies for the wire beside scores",
     .model = "llama3-8b",
     .config = "{" BF16 ADAMW "\"communication_data_type\": \"fp32\", \"zero_optimization\": {\"overlap_comm\": true, "
               "\"reduce_bucket_size\": 735e6}, \"shardlab\": {\"seq_len\": 6144, \"attention\": \"materialised\"}}",
     .count = 24,
     .most_tp = 1,
     .most_pp = 1,
     .most_dp = 8,
     .time = 1e-4,
     .live = 1e-4,
     .formulas = true,
     .most_micro = 2},
    ROW("a tied embedding, reduced before others", "gpt2",
        "{" BF16 ADAMW "\"zero_optimization\": {\"overlap_comm\": true}, \"shardlab\": {\"seq_len\": 576, "
        "\"attention\": \"flash\", \"preset\": \"nanotron-zero1\"}}",
        40, 4, 4, 4, 0, 0.01, 0.01, false),
    ROW("a tied embedding in another type on the wire", "gpt2-medium",
        "{" BF16 ADAMW "\"zero_optimization\": {\"overlap_comm\": true, \"reduce_bucket_size\": 5e8},"
        " \"shardlab\": {\"seq_len\": 448, \"attention\": \"materialised\"}}",
        24, 1, 4, 16, 0, 1e-3, 0.01, false),
    ROW("gradients that are complete in another order than theirs", "llama3-8b",
        "{" FP16 ADAMW "\"zero_optimization\": {\"stage\": 1, \"overlap_comm\": true, \"reduce_bucket_size\": 5e6,"
        " \"allgather_bucket_size\": 9e6}, \"shardlab\": {\"seq_len\": 448, \"attention\": \"flash\"}}",
        24, 1, 1, 64, 1, 1e-3, 0.01, false),
    ROW("gradients that stay", "gpt2",
        "{" BF16 ADAMW "\"shardlab\": {\"seq_len\": 192, \"preset\": \"nanotron\", \"kernels\": \"megatron-fused\"}}",
        16, 1, 1, 4, 0, 0.01, 0.01, false),
    ROW("pipelines with a tied embedding", "gpt2-xl", "{" BF16 ADAMW "\"shardlab\": {\"seq_len\": 1024}}", 64, 1, 8, 4,
        0, 0.01, 0.01, false),
    ROW("pipelines with a tied embedding, ZeRO 1", "gpt2-xl",
        "{" BF16 ADAMW
        "\"zero_optimization\": {\"stage\": 1, \"overlap_comm\": true}, \"shardlab\": {\"seq_len\": 1024}}",
        64, 1, 8, 8, 1, 0.01, 0.01, false),
    ROW("Megatron-LM, three dimensions", "llama3-8b",
        "{" BF16 ADAMW "\"shardlab\": {\"seq_len\": 512, \"preset\": \"megatron-lm\"}}", 64, 4, 4, 8, 0, 0.01, 0.01,
        false),
    ROW("Megatron-LM that reduces behind the backward, a tied embedding", "gpt2",
        "{" BF16 ADAMW "\"zero_optimization\": {\"overlap_comm\": false}, \"shardlab\": {\"seq_len\": 512, \"preset\": "
        "\"megatron-lm\"}}",
        32, 2, 4, 16, 0, 1e-3, 0.01, false),
    ROW("nanotron, ZeRO 1", "llama3-8b",
        "{" BF16 ADAMW "\"shardlab\": {\"seq_len\": 512, \"preset\": \"nanotron-zero1\", "
        "\"attention\": \"flash\"}}",
        64, 4, 4, 8, 1, 0.01, 0.01, false),
    ROW("Megatron-LM of 2022, scattered messages", "llama3-8b",
        "{" FP16 ADAMW "\"shardlab\": {\"seq_len\": 512, \"preset\": \"megatron-local-ddp\", "
        "\"scatter_gather_tensors_in_pipeline\": true}}",
        64, 4, 4, 8, 0, 0.01, 0.01, false),
    ROW("a host that launches", "gpt2",
        "{" BF16 ADAMW "\"shardlab\": {\"seq_len\": 256, \"kernels\": \"torch-eager\"}}", 80, 4, 1, 1, 0, 0.01, 0.01,
        false),
    ROW("launches that block", "gpt2",
        "{" BF16 ADAMW "\"shardlab\": {\"seq_len\": 256, \"kernels\": \"torch-eager\", \"launch_blocking\": true}}", 40,
        1, 1, 1, 0, 0.01, 0.01, false),
    ROW("a host that launches, data parallel", "gpt2",
        "{" BF16 ADAMW "\"zero_optimization\": {\"overlap_comm\": true, \"reduce_bucket_size\": 7e6},"
        " \"shardlab\": {\"seq_len\": 512, \"kernels\": \"torch-eager\", \"attention\": \"materialised\"}}",
        80, 1, 1, 64, 0, 0.01, 0.01, false),
    ROW("copies of all gradients, DeepSpeed's", "gpt2",
        "{" BF16 ADAMW "\"zero_optimization\": {\"stage\": 1}, \"shardlab\": {\"seq_len\": 256, \"kernels\": "
        "\"torch-eager\"}}",
        40, 4, 1, 1, 1, 0.01, 0.01, false),
    ROW("a host that is behind to the end", "gpt2-tiny",
        "{" BF16 ADAMW "\"shardlab\": {\"seq_len\": 64, \"kernels\": \"llm-foundry\"}}", 40, 4, 1, 1, 0, 1e-6, 0.01,
        false),
    ROW("a host that is behind to the end, data parallel", "gpt2-tiny",
        "{" BF16 ADAMW "\"shardlab\": {\"seq_len\": 64, \"kernels\": \"torch-compile\"}}", 24, 1, 1, 64, 0, 1e-3, 0.01,
        false),
    {.name = "a host that falls behind only after some blocks",
     .model = "gpt2",
     .config =
         "{" BF16 ADAMW "\"shardlab\": {\"seq_len\": 768, \"attention\": \"flash\", \"kernels\": \"llm-foundry\"}}",
     .count = 24,
     .most_tp = 1,
     .most_pp = 1,
     .most_dp = 1,
     .time = 2e-3,
     .live = 0.01,
     .formulas = true,
     .most_micro = 3,
     .cluster = "dgx-h100"},
    {.name = "a host that calls many reductions",
     .model = "gpt2-medium",
     .config =
         "{" BF16 ADAMW "\"zero_optimization\": {\"overlap_comm\": false, \"reduce_bucket_size\": 5e6}, \"shardlab\": "
         "{\"seq_len\": 448, \"kernels\": \"torch-compile\", \"attention\": \"materialised\"}}",
     .count = 32,
     .most_tp = 1,
     .most_pp = 1,
     .most_dp = 2,
     .time = 0.01,
     .live = 0.01,
     .formulas = true,
     .cluster = "dgx-h100"},
    ROW("launches that block, data parallel", "gpt2",
        "{" BF16 ADAMW "\"communication_data_type\": \"fp32\", \"shardlab\": {\"seq_len\": 128, \"kernels\": "
        "\"torch-eager\", \"launch_blocking\": true}}",
        24, 1, 1, 64, 0, 1e-6, 0.01, false),
    ROW("reductions that slow kernels", "llama3-8b",
        "{" BF16 ADAMW "\"zero_optimization\": {\"overlap_comm\": true},"
        " \"shardlab\": {\"seq_len\": 512, \"attention\": \"flash\", \"kernels\": \"llm-foundry\"}}",
        48, 1, 1, 64, 0, 0.01, 0.01, false),
    ROW("kernels of Megatron-LM", "llama3-8b",
        "{" BF16 ADAMW "\"shardlab\": {\"seq_len\": 256, \"kernels\": \"megatron-unfused\"}}", 40, 8, 1, 1, 0, 0.01,
        0.01, false),
    ROW("torch.autocast, eager", "gpt2",
        "{" ADAMW AUTOCAST "\"shardlab\": {\"seq_len\": 256, \"kernels\": \"torch-eager\"}}", 40, 1, 1, 1, 0, 0.01,
        1e-4, false),
    ROW("torch.autocast, compiled", "llama3-8b",
        "{" ADAMW AUTOCAST "\"shardlab\": {\"seq_len\": 256, \"kernels\": \"torch-compile\"}}", 24, 1, 1, 1, 0, 1e-3,
        1e-4, false),
    ROW("torch.autocast, DDP", "gpt2",
        "{" ADAMW AUTOCAST "\"shardlab\": {\"seq_len\": 256, \"kernels\": \"torch-compile\", \"preset\": \"ddp\", "
        "\"gradient_as_bucket_view\": true}}",
        40, 1, 1, 32, 0, 0.01, 1e-4, false),
    ROW("three dimensions", "llama3-8b",
        "{" BF16 ADAMW "\"zero_optimization\": {\"overlap_comm\": true}, \"shardlab\": {\"seq_len\": 512}}", 64, 4, 4,
        8, 0, 0.01, 0.01, false),
    ROW("three dimensions, ZeRO 1", "llama3-8b",
        "{" BF16 ADAMW
        "\"zero_optimization\": {\"stage\": 1, \"overlap_comm\": true}, \"shardlab\": {\"seq_len\": 512}}",
        64, 4, 4, 8, 1, 0.01, 0.01, false),
};

int main(void) {
  enum { FAMILIES = sizeof families / sizeof *families };
  struct CMUnitTest tests[FAMILIES];
  for (int i = 0; i < FAMILIES; i++)
    tests[i] = (struct CMUnitTest){families[i].name, family_agrees, NULL, NULL, (void *)(uintptr_t)&families[i]};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
