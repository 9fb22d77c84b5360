/* The table of frameworks; see frameworks.h. Versions of October 2024: PyTorch 2.5, DeepSpeed 0.15.2, Megatron-LM core
 * 0.9, Accelerate 1.0.1; of November 2026: PyTorch 2.15, DeepSpeed 0.19.8, Megatron-LM core 0.16, Accelerate 1.15. */
#include "core/plan/frameworks.h"

#include <stddef.h>

enum { NONE = 0, Z0 = 1, Z1 = 2, Z2 = 4, Z3 = 8 };

// clang-format off
/* A framework's presets by ZeRO stage; NULL: it has none. */
#define OF_DDP {"ddp", "ddp", "ddp", "ddp"}
#define OF_ZRO {NULL, "zero-redundancy-optimizer", "zero-redundancy-optimizer", "zero-redundancy-optimizer"}
#define OF_FSDP {NULL, "fsdp", "fsdp-shard-grad-op", "fsdp"}
#define OF_FSDP2 {NULL, "fsdp2", "fsdp2-no-reshard", "fsdp2"}
#define OF_DEEPSPEED {"deepspeed-0", "deepspeed-1", "deepspeed-2", "deepspeed-3"}
#define OF_MEGATRON {"megatron-lm", "megatron-distributed-optimizer", NULL, "megatron-fsdp"}
#define OF_ACCELERATE {NULL, "accelerate-megatron", "accelerate-deepspeed", "accelerate-fsdp"}
#define OF_ACCELERATE_DP {"accelerate-ddp", "accelerate-deepspeed", "accelerate-deepspeed", "accelerate-fsdp"}
#define OF_ACCELERATE_TP {NULL, "accelerate-megatron", NULL, "accelerate-fsdp"}
#define ALL (Z0 | Z1 | Z2 | Z3)
// clang-format on

static const struct sl_framework_support table[] = {
    {"PyTorch DDP", SL_DATA_PARALLEL, Z0, Z0, OF_DDP,
     "torch/nn/parallel/distributed.py: replicas and all-reduced buckets"},
    {"PyTorch DDP", SL_PIPELINE_PARALLEL, NONE, NONE, OF_DDP,
     "distributed.py, device_mesh; torch.distributed.pipelining may hold a DDP module in a stage"},
    {"PyTorch DDP", SL_TENSOR_PARALLEL, NONE, NONE, OF_DDP, "distributed.py: \"Only 1D device mesh is supported\""},
    {"PyTorch DDP", SL_3D_PARALLEL, NONE, NONE, OF_DDP, "as for PP and TP"},
    {"ZeroRedundancyOptimizer", SL_DATA_PARALLEL, Z1, Z1, OF_ZRO,
     "torch/distributed/optim/zero_redundancy_optimizer.py: optimizer state only"},
    {"ZeroRedundancyOptimizer", SL_PIPELINE_PARALLEL, NONE, NONE, OF_ZRO, "one process group, of replicas"},
    {"ZeroRedundancyOptimizer", SL_TENSOR_PARALLEL, NONE, NONE, OF_ZRO, "one process group, of replicas"},
    {"ZeroRedundancyOptimizer", SL_3D_PARALLEL, NONE, NONE, OF_ZRO, "one process group, of replicas"},
    {"PyTorch FSDP", SL_DATA_PARALLEL, Z2 | Z3, Z2 | Z3, OF_FSDP,
     "torch/distributed/fsdp/api.py: SHARD_GRAD_OP, FULL_SHARD and their hybrids (NO_SHARD is DDP, deprecated)"},
    {"PyTorch FSDP", SL_PIPELINE_PARALLEL, Z2 | Z3, Z2 | Z3, OF_FSDP2,
     "torch/distributed/pipelining/stage.py takes fully_shard modules; alpha in 2024"},
    {"PyTorch FSDP", SL_TENSOR_PARALLEL, Z2 | Z3, Z2 | Z3, OF_FSDP2,
     "fully_shard over DTensor parameters (2D mesh); prototype in 2024"},
    {"PyTorch FSDP", SL_3D_PARALLEL, Z2 | Z3, Z2 | Z3, OF_FSDP2,
     "the three composed by the user's own script, as torchtitan does"},
    {"DeepSpeed", SL_DATA_PARALLEL, ALL, ALL, OF_DEEPSPEED, "deepspeed/runtime/engine.py; hpZ too, MiCS until 0.19.6"},
    {"DeepSpeed", SL_PIPELINE_PARALLEL, Z0 | Z1, Z0 | Z1, OF_DEEPSPEED,
     "deepspeed/runtime/pipe/engine.py: \"ZeRO-2 and ZeRO-3 are incompatible with pipeline parallelism\"; no "
     "interleaving"},
    {"DeepSpeed", SL_TENSOR_PARALLEL, ALL, ALL, OF_DEEPSPEED,
     "2024: only through a client's mpu (Megatron-DeepSpeed); now tensor_parallel.autotp_size in engine.py"},
    {"DeepSpeed", SL_3D_PARALLEL, Z0 | Z1, Z0 | Z1, OF_DEEPSPEED,
     "PipeModelDataParallelTopology, tensor parallelism by the client's layers"},
    {"Megatron-LM", SL_DATA_PARALLEL, Z0 | Z1, ALL, OF_MEGATRON,
     "core/distributed; data_parallel_sharding_strategy of Megatron-FSDP came after core 0.9"},
    {"Megatron-LM", SL_PIPELINE_PARALLEL, Z0 | Z1, Z0 | Z1, OF_MEGATRON,
     "core/pipeline_parallel/schedules.py: 1F1B and interleaved; Megatron-FSDP documents TP, EP and CP beside it, not "
     "PP"},
    {"Megatron-LM", SL_TENSOR_PARALLEL, Z0 | Z1, ALL, OF_MEGATRON, "core/tensor_parallel, with sequence parallelism"},
    {"Megatron-LM", SL_3D_PARALLEL, Z0 | Z1, Z0 | Z1, OF_MEGATRON, "core/parallel_state.py"},
    {"Accelerate", SL_DATA_PARALLEL, ALL, ALL, OF_ACCELERATE_DP, "DDP, and the DeepSpeed and FSDP plugins"},
    {"Accelerate", SL_PIPELINE_PARALLEL, Z0 | Z1, Z0 | Z1, OF_ACCELERATE,
     "accelerator.py: \"Pipeline parallelism is currently not supported in Accelerate.\"; MegatronLMPlugin's pp_degree "
     "runs Megatron-LM's own models"},
    {"Accelerate", SL_TENSOR_PARALLEL, Z0 | Z1, ALL, OF_ACCELERATE_TP,
     "2024: only MegatronLMPlugin's tp_degree; now parallelism_config.py, tp_size beside FSDP"},
    {"Accelerate", SL_3D_PARALLEL, Z0 | Z1, Z0 | Z1, OF_ACCELERATE, "only MegatronLMPlugin"},
};

const struct sl_framework_support *sl_framework_support(int i) {
  return i >= 0 && i < (int)(sizeof table / sizeof *table) ? &table[i] : NULL;
}

const char *sl_parallelism_name(enum sl_parallelism parallelism) {
  switch (parallelism) {
  case SL_DATA_PARALLEL:
    break;
  case SL_PIPELINE_PARALLEL:
    return "PP";
  case SL_TENSOR_PARALLEL:
    return "TP";
  case SL_3D_PARALLEL:
    return "3D";
  }
  return "DP";
}
