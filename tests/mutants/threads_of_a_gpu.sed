# Threads of the host change what a GPU needs.
# file: cli/setup.c
# tests: test_cli_flags
s/ \&\& setup->cluster.device.kind == SL_DEVICE_CPU)/)/
