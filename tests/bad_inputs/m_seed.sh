#!/bin/bash
torchrun pretrain_gpt.py --seq-length 8 --lr 1 --micro-batch-size 1 \
  --seed $RANDOM
