# Fails on a call of CUDA, cuBLAS or NCCL, or of a launcher of kernels/gpu/cuda.h, whose return code is dropped: one that
# begins a statement, or that a cast to void silences. Run as  awk -f returns.awk kernels/gpu/cuda.h FILE...
# The first file gives the launchers' names. Comments and strings are taken out first; a code that is stored and never
# read is the compiler's to find.

FNR == 1 { finish(); text = ""; name = FILENAME; files++ }
{ text = text $0 "\n" }
END { finish(); exit bad > 0 }

function finish() {
  if (files == 1) learn()
  if (files > 1) check(plain(text))
}

# "int sl_cuda_NAME(": the launchers, which return a cudaError_t.
function learn(rest) {
  rest = text
  while (match(rest, /\nint sl_cuda_[a-z0-9_]*\(/)) {
    launcher[substr(rest, RSTART + 5, RLENGTH - 6)] = 1
    rest = substr(rest, RSTART + RLENGTH)
  }
}

# The text with comments, strings and preprocessor lines as spaces; newlines stay.
function plain(s,    out, c, two, end, part) {
  out = ""
  while (match(s, /\/\*|\/\/|"|'|\n[ \t]*#/)) {
    out = out substr(s, 1, RSTART - 1)
    c = substr(s, RSTART, 1)
    two = substr(s, RSTART, 2)
    s = substr(s, RSTART)
    if (two == "/*") end = index(s, "*/") + 1
    else if (two == "//") end = index(s, "\n") - 1
    else if (c == "\n") { match(s, /\n([^\n\\]|\\\n|\\.)*/); end = RLENGTH }
    else end = literal(s, c)
    if (end < 1) end = length(s)
    part = substr(s, 1, end)
    s = substr(s, end + 1)
    gsub(/[^\n]/, " ", part)
    out = out part
  }
  return out s
}

# Length of the literal that opens s with quote c.
function literal(s, c,    i) {
  for (i = 2; i <= length(s); i++) {
    if (substr(s, i, 1) == "\\") i++
    else if (substr(s, i, 1) == c) return i
  }
  return length(s)
}

function check(s,    before, word, line) {
  before = ""
  while (match(s, /[A-Za-z_][A-Za-z0-9_]*[ \t\n]*\(/)) {
    before = before substr(s, 1, RSTART - 1)
    word = substr(s, RSTART, RLENGTH - 1)
    s = substr(s, RSTART + RLENGTH - 1)
    sub(/[ \t\n]+$/, "", word)
    if ((word ~ /^(cuda|cublas|cublasLt|nccl|cudnn|cu)[A-Z]/ || word in launcher) && dropped(before)) {
      line = gsub(/\n/, "\n", before) + 1
      printf "%s:%d: the return code of %s is dropped\n", name, line, word
      bad++
    }
    before = before word
  }
}

# Does a statement begin behind this text?
function dropped(before,    tail) {
  tail = before
  if (length(tail) > 300) tail = substr(tail, length(tail) - 299)
  sub(/[ \t\n]+$/, "", tail)
  while (tail ~ /\([A-Za-z_][A-Za-z0-9_ ]*\)$/ && tail !~ /(if|while|for|switch)[ \t\n]*\([A-Za-z0-9_ ]*\)$/) {
    if (tail ~ /\([ ]*void[ ]*\)$/) return 1
    sub(/[ \t\n]*\([A-Za-z_][A-Za-z0-9_ ]*\)$/, "", tail)
  }
  return tail == "" || tail ~ /[;{})]$/ || tail ~ /(^|[^A-Za-z0-9_])(else|do)$/ || tail ~ /[A-Za-z0-9_]:$/
}
