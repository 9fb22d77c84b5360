#!/usr/bin/env python3
"""Small tokenizers trained with Hugging Face's `tokenizers`, and the ids that it makes of hostile texts.

    python3 tests/golden/make_tokenizers.py tests/golden/tokenizers examples/corpus.txt

Writes NAME.json, a tokenizer; texts.jsonl, a text a line; and NAME.ids, of each text its ids in a line. The suite compares shardlab's ids
with these without the package. With a third argument N, N random texts are tried besides, by the program that SHARDLAB names, and
nothing is written."""
import json
import os
import random
import subprocess
import sys
import tempfile

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
          r"|\s+(?!\S)|\s+")
QWEN2 = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
EOT = AddedToken("<|endoftext|>", special=True, normalized=False)
LONGER = AddedToken("<|endoftext|>>", special=False, normalized=False)
PLAIN = AddedToken("caf\u00e9", special=False, normalized=True)
STRIPS = (EOT, AddedToken("<l>", lstrip=True, normalized=False), AddedToken("<r>", rstrip=True, normalized=False),
          AddedToken("<both>", lstrip=True, rstrip=True, normalized=True), AddedToken("word", single_word=True, normalized=False),
          AddedToken("a word", single_word=True, lstrip=True, normalized=False), AddedToken("or", normalized=False),
          AddedToken("caf\u00e9", single_word=True, rstrip=True, normalized=True), AddedToken("\n", normalized=False))

HOSTILE = [
    "", " ", "a", "\n", "\r\n", "\r\n\r\n  x", "Hello world", " leading and trailing  ", "it's we'll I'M YOU'RE don't 's'S 'Tis",
    "1 12 123 1234 1234567890 \u0661\u0662\u0663 \u2167 \u00bd 3.14", "tabs\t\tand\n\nnewlines\r\rand\fform\vfeeds",
    "caf\u00e9 cafe\u0301 na\u00efve Ångström A\u030angstro\u0308m \ufb01 \u1e9b\u0323", "emoji \U0001f600\U0001f469\u200d\U0001f469\u200d\U0001f467 \U0001f1e9\U0001f1ea \U0001f44d\U0001f3fd",
    "日本語のテキスト 中文 한국어 ไทย עברית العربية हिन्दी", "\u00a0nbsp\u2003em\u3000ideographic\u2028line\u2029para\u0085next\u200bzero",
    "<|endoftext|>", "a<|endoftext|>b<|endoftext|><|endoftext|>", "<|endoftext|>>x <|endoftext|", " <|endoftext|> ", "caf\u00e9caf\u00e9 cafe\u0301",
    "x" * 300, " " * 300 + "x", "\n" * 50, "ab" * 200, "_" * 70 + "!" * 70, "a \u2581 b\u2581c \u2581\u2581", "\u2581", "control \x01\x02\x7f\x00 end",
    "\ufeffbom \ufffd \ufffe", "def f(x):\n    return x**2  # comment\n\n\tif x: pass\n", "http://a.b/c?d=e&f=%20#g", "ſ 'ſ 'S K \u212a", "I\u0307 \u0130 ı \u03a3\u03c2 ß ẞ",
    "e\u0301\u0300\u0327 \u0344 \u1100\u1161\u11a8 \uac01", "\U00010400\U00010428 \U0001d400 \U000e0001", "a\u0300" * 40, "....,,,,;;;;''''\"\"\"\"", "  a  b   c    d", "\t \t x",
    " <l> <r> <both> <l><r> \t<l> \u3000<both>\u00a0\u0085x <r>", "word aword word1 word_ word\u0301 word\u200d \u24b6word \u2460word -word- \U0001f171word word",
    "  a word  a words a word", "<r> \n \n<l>x<r>\n", "caf\u00e9  caf\u00e9s cafe\u0301 \u4e2dcaf\u00e9 \u180ecaf\u00e9\u200b", "<l>", "  <r>  ", "sword word<r>  word <l>word",
]


def byte_level(pre, normalizer=None, ignore=False, added=(EOT, LONGER), **more):
    t = Tokenizer(models.BPE(ignore_merges=ignore))
    t.normalizer = normalizer
    t.pre_tokenizer = pre
    t.decoder = decoders.ByteLevel()
    return t, dict(initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), **more), added


def split(pattern, **how):
    return pre_tokenizers.Split(Regex(pattern), **{"behavior": "isolated", "invert": False, **how})


def bytes_only():
    return pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)


def kinds():
    yield "gpt2", byte_level(pre_tokenizers.ByteLevel(add_prefix_space=False))
    yield "prefix", byte_level(pre_tokenizers.ByteLevel(add_prefix_space=True), added=(EOT, PLAIN))
    yield "llama3", byte_level(pre_tokenizers.Sequence([split(LLAMA3), bytes_only()]), ignore=True)
    yield "qwen2", byte_level(pre_tokenizers.Sequence([split(QWEN2), bytes_only()]), normalizers.NFC(), added=(EOT, PLAIN))
    yield "digits", byte_level(pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), split(r"[\r\n]"),
                                                        split(r"\w+|[^\w\s]+", behavior="removed", invert=True), bytes_only()]), normalizers.NFKC())
    meta = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    meta.normalizer = normalizers.Sequence([normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")])
    yield "llama2", (meta, {}, (EOT,))
    first = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=False, byte_fallback=True))
    first.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=True)
    yield "mistral", (first, {}, (EOT, LONGER))
    gemma = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    gemma.normalizer = normalizers.Replace(" ", "\u2581")
    gemma.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split("\u2581", "merged_with_next"),
                                                   pre_tokenizers.Split(Regex("[a-c!]+"), "merged_with_previous")])
    yield "gemma", (gemma, {}, (EOT, AddedToken("<unk> b", normalized=True)))
    unknown = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True))
    unknown.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always", split=True)
    yield "unknown", (unknown, {}, (EOT,))
    yield "strips", byte_level(pre_tokenizers.ByteLevel(add_prefix_space=True), normalizers.NFC(), added=STRIPS)
    strips = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    strips.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=True)
    yield "strips_meta", (strips, {}, STRIPS)


def make(corpus):
    for name, (t, how, added) in kinds():
        meta = name in ("llama2", "mistral", "gemma", "strips_meta")
        special = (["<unk>"] if meta or name == "unknown" else []) + ([f"<0x{i:02X}>" for i in range(256)] if meta else [])
        normalizer, pre = t.normalizer, t.pre_tokenizer
        if name == "llama2":  # its text is one word, of which a trainer would learn nothing
            t.normalizer, t.pre_tokenizer = None, pre_tokenizers.Metaspace()
        trainer = trainers.BpeTrainer(vocab_size=700 if how or name == "unknown" else 800, special_tokens=special, show_progress=False, **how)
        t.train_from_iterator([open(corpus).read()] + HOSTILE[10:16] * 3, trainer)
        data = json.loads(t.to_str())
        data["added_tokens"] = [x for x in data["added_tokens"] if x["content"] == "<unk>"]
        t = Tokenizer.from_str(json.dumps(data))
        if name == "llama2":
            t.normalizer, t.pre_tokenizer = normalizer, None
            data = json.loads(t.to_str())
            data["pre_tokenizer"] = None
            t = Tokenizer.from_str(json.dumps(data))
        t.add_tokens(list(added))
        yield name, t


def ids(t, text):
    return t.encode(text, add_special_tokens=False).ids


def ours(shardlab, tokenizer, texts):
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/t.jsonl", "w") as out:
            for text in texts:
                out.write(json.dumps({"text": text}) + "\n")
        with open(f"{folder}/tokenizer.json", "w") as out:
            out.write(tokenizer.to_str())
        import numpy
        marks = []
        subprocess.run([shardlab, "tokenize", f"{folder}/t.jsonl", "--tokenizer", f"{folder}/tokenizer.json", "--quiet",
                        "--eod-token", "<|endoftext|>", "--out", f"{folder}/o.npy"], check=True)
        return numpy.load(f"{folder}/o.npy").tolist()


def drawn(rng):
    pieces = HOSTILE + ["the", " quick", "'ll", "\u0301", "\u2581", "9", "\r\n", "\u00a0", " ", "\U0001f600", "<|endoftext|>", "\u1e0b\u0323", "\u180e", "<l>", "<r>", "<both>", "word",
                        "a word", "caf\u00e9", "\u3000", "\u0085", "\u24d0", "\u200d"]
    text = "".join(rng.choice(pieces)[: rng.randint(1, 12)] for _ in range(rng.randint(1, 12)))
    return text + "".join(chr(rng.choice([rng.randint(0, 0x7f), rng.randint(0, 0x2ff), rng.randint(0x300, 0xd7ff), rng.randint(0xe000, 0x10ffff)]))
                          for _ in range(rng.randint(0, 8)))


def main():
    folder, corpus = sys.argv[1:3]
    if len(sys.argv) > 3:
        rng, wrong = random.Random(7), 0
        for name, t in make(corpus):
            eod = t.token_to_id("<|endoftext|>")
            texts = HOSTILE + [drawn(rng) for _ in range(int(sys.argv[3]))]
            want = [i for text in texts for i in ids(t, text) + [eod]]
            got = ours(os.environ["SHARDLAB"], t, texts)
            print(name, "equal" if got == want else "differs", len(want))
            if got != want:
                wrong += 1
                for text in texts:
                    if ours(os.environ["SHARDLAB"], t, [text]) != ids(t, text) + [eod]:
                        print("  ", ascii(text), ours(os.environ["SHARDLAB"], t, [text]), ids(t, text) + [eod])
                        break
        sys.exit(wrong > 0)
    with open(f"{folder}/texts.jsonl", "w") as out:
        for text in HOSTILE:
            out.write(json.dumps({"text": text}) + "\n")
    for name, t in make(corpus):
        with open(f"{folder}/{name}.json", "w") as out:
            out.write(json.dumps(json.loads(t.to_str()), ensure_ascii=False, separators=(",", ":")) + "\n")
        with open(f"{folder}/{name}.ids", "w") as out:
            for text in HOSTILE:
                out.write(" ".join(str(i) for i in ids(t, text)) + "\n")


if __name__ == "__main__":
    main()
