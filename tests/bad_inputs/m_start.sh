#!/bin/bash
TP=1
torchrun pretrain_gpt.py --micro-batch-size $2 --tensor-model-parallel-size $TP --vocab-size 999 \
  --num-layers 4 --hidden-size 64 --num-attention-heads 4 --seq-length 64 --max-position-embeddings 64 --bf16
