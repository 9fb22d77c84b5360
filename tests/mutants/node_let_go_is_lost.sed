# A node that this command ends is called lost.
# file: cli/launch_ssh.c
# tests: test_cli_ssh
s/if (!released && !job->explained && sl_children_signal() == 0)/(void)released; if (!job->explained \&\& sl_children_signal() == 0)/
