# The start of scripts that run the command on the cuda backend's stand-ins, sourced with their own arguments SHARDLAB
# LIBSHARDLAB_CORE STAND_IN_MODULE: $here is a folder that is removed at the end, $here/bin/shardlab the command with the
# stand-in as its module.
here=$(mktemp -d)
trap 'rm -rf "$here" /dev/shm/shardlab-stand-in-$$-*' EXIT
mkdir "$here/bin" "$here/lib"
cp "$1" "$here/bin/shardlab" # its lib/ is where its modules are looked for
cp "$2" "$3" "$here/lib/"
export SHARDLAB_STAND_IN=/shardlab-stand-in-$$ # what the ranks' shared memory is called
