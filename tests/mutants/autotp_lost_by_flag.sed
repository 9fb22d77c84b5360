# --tp makes DeepSpeed's tensor parallelism Megatron-LM's.
# file: cli/setup.c
# tests: test_cli_flags
s/if (options->tp > 0) keep_autotp/if (options->tp > 99) keep_autotp/
