#!/usr/bin/env bash
# Libraries that bear the names of the driver's, cuBLASLt's and NCCL's and have what fit.py and a module's loader ask of them, for
# machines without: each function of theirs that MODULE calls answers 0. usage: stubs.sh FOLDER [MODULE]
set -euo pipefail
folder=$1 module=${2:-}
mkdir -p "$folder"

called() { # PREFIX: the functions of MODULE that a library is to have
  [ -n "$module" ] || return 0
  nm -D --undefined-only "$module" | sed -n "/GetVersion/d; s/^ *U \($1[A-Za-z0-9_]*\).*/int \1(void) { return 0; }/p"
}

stub() { # SONAME, C on standard input; cuBLASLt's functions bear its soname as their version
  echo "$1 { *; };" >"$folder/version"
  [[ $1 == libcublasLt* ]] || echo "{ *; };" >"$folder/version"
  cc -shared -fPIC -w -x c - -Wl,-soname,"$1" -Wl,--version-script,"$folder/version" -o "$folder/$1"
  rm "$folder/version"
}

stub libcuda.so.1 <<'C'
int cuDriverGetVersion(int *v) { *v = 13000; return 0; }
int cuInit(unsigned flags) { return 0; }
int cuDeviceGetCount(int *n) { *n = 1; return 0; }
int cuDeviceGetAttribute(int *v, int attribute, int device) { *v = attribute == 75 ? 9 : 0; return 0; }
int cuDeviceGetName(char *name, int size, int device) { __builtin_strcpy(name, "a stand-in"); return 0; }
C
echo 'int nvmlInit_v2(void) { return 0; }' | stub libnvidia-ml.so.1
{ called cublasLt; echo 'unsigned long cublasLtGetVersion(void) { return 130000; }'; } | stub libcublasLt.so.13
{ called nccl; echo 'int ncclGetVersion(int *v) { *v = 22809; return 0; }'; } | stub libnccl.so.2
