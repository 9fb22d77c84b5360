#!/bin/bash
TP=4 # ranks
GLOBAL=${1:-256}
ARGS=(
    --tensor-model-parallel-size $TP --use_distributed_optimizer
    --micro-batch-size=2 --global-batch-size "$GLOBAL" \
    --recompute-granularity full --recompute-method uniform --recompute-num-layers 1
)
torchrun --nproc_per_node 8 pretrain_gpt.py ${ARGS[@]} --num-layers 8 --hidden-size 64 --vocab-size 99
