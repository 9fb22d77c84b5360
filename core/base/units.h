/* Formats bytes, seconds and counts with a suitable unit, the same way in every table. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* "1.25 GiB", "512 B" */
void sl_format_bytes(char *out, size_t size, double bytes);
/* "1.234 s", "56.7 ms", "8.90 us"; from two hours and two days on "2.500 h" and "3.000 days" */
void sl_format_seconds(char *out, size_t size, double seconds);
/* "1234", "56.7k", "1.24M", "3.50G" */
void sl_format_count(char *out, size_t size, double count);
/* Parses "512MiB", "1.5 GB", "4096": a number followed by B, KB, MB ... (powers of 1000) or KiB, MiB ... (powers of
 * 1024), in any case, into bytes. False if the text has another form. */
bool sl_parse_bytes(const char *text, double *bytes);
