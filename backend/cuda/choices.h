/* Choices that were made by timing, such as a product's algorithm, kept on disk, so that every process on this kind of
 * device makes the same ones: today's ranks among themselves, and tomorrow's run, whose results then are today's bit
 * for bit.
 *
 * A choice belongs to a key, both of them bytes. The file is a line of text for each and grows at its end, under a
 * lock; lines that are no such line, as after a crash, are ignored. */
#pragma once

#include "core/base/status.h"

#include <stdbool.h>
#include <stddef.h>

struct sl_choices;

/* Opens or creates the file for `about`, which names all that a choice depends on (device, driver, library, layout
 * of keys), in the folder $SHARDLAB_CACHE, else $XDG_CACHE_HOME/shardlab, else ~/.cache/shardlab. *out is NULL,
 * without an error, where there is no such folder, it is not the user's, or SHARDLAB_CACHE is empty: then nothing is
 * to be timed. Errors: SL_ERR_MEMORY. */
enum sl_status sl_choices_open(struct sl_choices **out, const char *about);
/* If there is a choice of this size for the key, copies it to `choice` and sets *made. Otherwise *made is false, and
 * the caller has to make it: the file is locked until it calls sl_choices_end. Errors: SL_ERR_IO where the file
 * cannot be locked or read. */
enum sl_status sl_choices_begin(struct sl_choices *choices, const void *key, size_t key_bytes, void *choice,
                                size_t choice_bytes, bool *made);
/* Keeps the choice and lets others go on. With `choice` NULL nothing is kept. A line that cannot be written is told
 * by a warning. */
void sl_choices_end(struct sl_choices *choices, const void *key, size_t key_bytes, const void *choice,
                    size_t choice_bytes);
void sl_choices_close(struct sl_choices *choices); /* accepts NULL */
