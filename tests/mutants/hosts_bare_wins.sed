# A host that stands bare and with slots in one selection counts as a whole.
# file: core/launch/hosts.c
# tests: test_hosts
s/marks\[i\].slots != NULL ? marks\[i\].slots\[s\] : marks\[i\].whole/marks[i].whole || (marks[i].slots != NULL \&\& marks[i].slots[s])/
