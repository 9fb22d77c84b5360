# Checksums of event files stand as they are, not masked.
# file: core/monitor/events.c
# tests: monitor_own
s/return (crc >> 15 | crc << 17) + UINT32_C(0xa282ead8);/return crc;/
