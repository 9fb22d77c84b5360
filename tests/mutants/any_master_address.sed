# --master-addr may be anything, also a flag of ssh's or bytes that a terminal acts on.
# file: cli/nodes.c
# tests: test_cli
s/  return check_address(o->master_addr);/  return check_address(NULL);/
