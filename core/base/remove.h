/* Removes files and folders that a program has created. */
#pragma once

/* Removes the file `path`, or the folder with all files in it (not those of its subfolders). May be called from a
 * signal handler. */
void sl_remove(const char *path);
/* The same, except for a folder on which another process holds a lock (flock). */
void sl_remove_unheld(const char *path);
