# GPTBigCode's heads are packed by kind without multi_query, too.
# file: core/model/gpt_bigcode.c
# tests: families_gpt_bigcode_heads
s/f->qkv = one_key_head ? SL_QKV_PACKED : SL_QKV_BY_GROUP;/f->qkv = SL_QKV_PACKED;/
