# Checksums of event files are CRC-32, not CRC-32C.
# file: core/monitor/events.c
# tests: test_monitor
s/0x82f63b78/0xedb88320/
