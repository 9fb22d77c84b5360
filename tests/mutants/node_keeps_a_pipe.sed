# Of a node that cannot be started a pipe stays open.
# file: cli/launch_ssh.c
# tests: test_launch_ssh
s/for (int end = 0; end < 4; end++)/for (int end = 2; end < 4; end++)/
