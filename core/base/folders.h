/* Folders that an output goes to, made with those above them, as `mkdir -p` and DeepSpeed's save_checkpoint do. */
#ifndef SHARDLAB_CORE_BASE_FOLDERS_H
#define SHARDLAB_CORE_BASE_FOLDERS_H

/* Make every folder of a path that is missing; returns 0, or the errno of the one that could not be made. A path that names
 * something else than a folder is ENOTDIR. What was made before a failure stays. */
int sl_folders_make(const char *path);

/* Whether sl_folders_make would work, with nothing made: the nearest folder above that is there can be written to. Returns 0 or an
 * errno. */
int sl_folders_check(const char *path);

#endif
