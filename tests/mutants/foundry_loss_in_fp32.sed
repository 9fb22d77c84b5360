# llm-foundry's loss holds three fp32 copies of the logits, as torch's own does.
# file: core/plan/kernel_rows.h
# tests: table_ran
s|^    {SL_OP_CLASSIFIER,       OP,      32,   22,      2, |    {SL_OP_CLASSIFIER,       OP,      32,   22,      12,|
