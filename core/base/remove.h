/* Removal of what a program made. */
#pragma once

/* Remove the file `path`, or the folder with all files in it (not those of folders in it). A signal handler may call it. */
void sl_remove(const char *path);
/* The same, but a folder on which another process holds a lock (flock) stays as it is. */
void sl_remove_unheld(const char *path);
