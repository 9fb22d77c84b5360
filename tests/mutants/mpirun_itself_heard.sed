# What mpirun itself says behind its name is not held back: its line reaches the user beside ours.
# file: cli/launch.c
# tests: test_cli_mpirun
s|^  return begins ? at + strlen(name) : NULL;|  return begins \&\& *line == 0 ? at + strlen(name) : NULL;|
