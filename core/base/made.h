/* The folder that a command makes for its output, so that one into which nothing came does not stay. */
#pragma once

/* Names a folder that this process will make. If it is not there yet, sl_made_remove removes it, and those above it
 * that are not there either, each if nothing is in it. One folder at a time. */
void sl_made_name(const char *path);
/* Call when the process ends; where sl_new_file_watch was called (core/base/new_file.h), a signal that ends it does so.
 * May be called from a signal handler. */
void sl_made_remove(void);
