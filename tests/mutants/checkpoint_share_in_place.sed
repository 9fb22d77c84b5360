# A replica saves the elements of the first, under its own name.
# file: core/checkpoint/pieces.c
# tests: test_checkpoint
s/^  at->offset += skip \* SL_CHECKPOINT_ELEMENT;$//
