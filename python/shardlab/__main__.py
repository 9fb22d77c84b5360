"""The command `shardlab` of a wheel, and `python -m shardlab`: this process becomes the program that lies in the package."""
import os
import pathlib
import shutil
import sys


def main():
    packed = pathlib.Path(__file__).resolve().parent / "bin" / "shardlab"
    program = str(packed) if packed.exists() else shutil.which("shardlab")
    if program is None:
        sys.exit("shardlab: the command is not installed")
    os.execv(program, ["shardlab", *sys.argv[1:]])


if __name__ == "__main__":
    main()
