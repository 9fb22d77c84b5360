# A lost host whose ssh ends after another node did is not named.
# file: cli/launch_ssh.c
# tests: test_cli_ssh
s/if (!released && !job->explained && sl_children_signal() == 0)/if (!released \&\& job->deadline == 0 \&\& sl_children_signal() == 0)/
