# The name of a host may begin like a flag of ssh.
# file: core/launch/hosts.c
# tests: test_hosts
s/(c != '-' || i == 0)/c != '-'/
