#!/bin/bash
ARGS="--num-layers 2 --hidden-size 64 --num-attention-heads 4
  --max-position-embeddings 8 --seq-length 8 --vocab-size 9 --lr 1
  --micro-batch-size 1 --ffn-hidden-size ${FFN:-0}"
torchrun pretrain_gpt.py $ARGS
