/* Creates folders for output including their parents, as `mkdir -p` and DeepSpeed's save_checkpoint do. */
#ifndef SHARDLAB_CORE_BASE_FOLDERS_H
#define SHARDLAB_CORE_BASE_FOLDERS_H

/* Creates every missing folder of a path; returns 0, or the errno of the one that failed. ENOTDIR if the path names
 * something other than a folder. Folders created before a failure remain. */
int sl_folders_make(const char *path);

/* Can something be created in this folder? Tries it and leaves nothing: /sys and /proc look writable to root. Returns 0
 * or an errno. */
int sl_folders_try(const char *folder);

/* Would sl_folders_make succeed? Creates no folder; tries the nearest existing one above. Returns 0 or an errno. */
int sl_folders_check(const char *path);

#endif
