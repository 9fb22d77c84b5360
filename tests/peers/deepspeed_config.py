#!/usr/bin/env python3
"""What DeepSpeed's own configuration code says to thousands of configurations, as a table.

    pip install --no-deps deepspeed==0.19.6; pip install pydantic hjson numpy packaging
    python tests/peers/deepspeed_config.py > tests/peers/deepspeed_config.tsv

Only deepspeed/runtime/config.py and what it reads is run; torch, which it names but does not need, is stubbed, and so is what of
DeepSpeed trains. A row of the table: the text of a configuration (\\n, \\t and \\\\ escaped), the number of data-parallel ranks,
"accepts" or "refuses", and what keys mean then, as a JSON object of paths ("{}" where nothing of it is modelled by shardlab).
tests/core/config/test_config_deepspeed.c holds shardlab to it.

Keys come from shardlab's own table of keys, values from the type that it gives them; what no key alone shows is listed here."""
import importlib.abc
import importlib.machinery
import importlib.metadata
import json
import logging
import pathlib
import re
import sys
import tempfile
import types

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Anything(type):
    """A class whose attributes are such classes: stands for any name of torch."""

    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        made = Anything(name, (), {"__init__": lambda self, *a, **k: None, "__call__": lambda self, *a, **k: a[0] if a else self})
        setattr(cls, name, made)
        return made

    def __or__(cls, other):
        return object

    __ror__ = __or__


class Stub(types.ModuleType):
    __path__ = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        made = getattr(Anything(self.__name__, (), {}), name)
        setattr(self, name, made)
        return made


class Stubs(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Modules that are never run here."""
    names = ("torch", "triton", "deepspeed.ops", "deepspeed.moe", "deepspeed.model_implementations", "deepspeed.runtime.utils",
             "deepspeed.runtime.fp16", "deepspeed.inference.quantization")

    def find_spec(self, name, path=None, target=None):
        if name.startswith(self.names):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        return Stub(spec.name)

    def exec_module(self, module):
        pass


class Dtype:
    def __init__(self, name):
        self.name = name


SHORT = {"float32": "fp32", "float16": "fp16", "bfloat16": "bf16", "int8": "int8"}
world = 1  # what DeepSpeed finds


def deepspeed_config():
    """DeepSpeed's module of that name, without what a package's __init__ would bring."""
    sys.meta_path.insert(0, Stubs())
    import torch
    torch.dtype = Dtype
    torch.__version__ = "2.9.0"
    for name in SHORT:
        setattr(torch, name, Dtype(name))
    folder = importlib.metadata.distribution("deepspeed").locate_file("deepspeed")

    def package(name, **attributes):
        module = Stub(name)
        module.__path__ = [str(folder.joinpath(*name.split(".")[1:]))]
        module.__dict__.update(attributes)
        sys.modules[name] = module
        return module

    accelerator = types.SimpleNamespace(device_name=lambda *a: "cuda", communication_backend_version=lambda: (2, 20, 0))
    logger = logging.getLogger("deepspeed")
    logger.addHandler(logging.NullHandler())
    logger.propagate = False
    package("deepspeed").comm = package("deepspeed.comm", get_rank=lambda: 0, get_world_size=lambda group=None: world)
    package("deepspeed.accelerator", get_accelerator=lambda: accelerator)
    package("deepspeed.utils", logger=logger)
    package("deepspeed.git_version_info", version=importlib.metadata.version("deepspeed"))
    for name in ("inference module_inject compression monitor runtime.zero runtime.swap_tensor runtime.activation_checkpointing "
                 "profiling profiling.flops_profiler autotuning nebula datastates runtime.data_pipeline").split():
        package("deepspeed." + name)
    tensor_parallel = package("deepspeed.runtime.tensor_parallel")
    import deepspeed.runtime.tensor_parallel.config as tp
    tensor_parallel.get_tensor_parallel_config = tp.get_tensor_parallel_config
    from deepspeed.runtime import config
    return config


# ---- the keys that shardlab knows, and values to try ----

BOOLS = ["true", "false", "1", "0", "2", "1.0", "0.5", '"true"', '"False"', '"1"', '"no"', '"ON"', '" true"', '"x"', '""', "null",
         "[]", "{}", '"auto"']
INTS = ["1", "2", "0", "-1", "8", "3.0", "2.5", "5e8", "1e12", '"1"', '"2.0"', '" 2 "', '"+2"', '"1_0"', '"1e3"', '"x"', '""',
        "true", "false", "null", "[]", "{}", '"auto"']
REALS = ["0.5", "1", "0", "-1", "1.5", '"0.5"', '"1e-3"', '" 0.25 "', '"1_0.5"', '"x"', '"nan"', '"inf"', "true", "null", "[]",
         '"auto"']
TEXTS = ['"x"', '""', "1", "true", "null", "[]", '"auto"']
TYPES = ['"fp32"', '"fp16"', '"bf16"', '"FP16"', '"Bf16"', '"float32"', '"float16"', '"bfloat16"', '"torch.float16"', '"half"',
         '"bfp16"', '"int8"', '"x"', '""', "16", "true", "null", "[]", '"auto"']
LISTS = ["[]", '["a"]', "[1]", '"a"', "{}", "1", "null", '"auto"']
DICTS = ["{}", '{"a": 1}', "[]", '"x"', "1", "true", "null", '"auto"']
ANYS = ['"x"', "1", "true", "{}", "[]", "null", '"auto"']
VALUES = {"BOOL": BOOLS, "INT": INTS, "WHOLE": INTS, "REAL": REALS, "TEXT": TEXTS, "DTYPE": TYPES, "LIST": LISTS, "DICT": DICTS,
          "ANY": ANYS}
FEW = {"BOOL": ["true", '"false"', '"x"', "null"], "INT": ["3.0", "2.5", '"2"', '"x"', "null"],
       "REAL": ["0.5", '"0.5"', '"x"', "true", "null"], "TEXT": ['"x"', "1", "null"]}
SECTIONS = ["null", "true", '"auto"', "{}", '{"no_such_key": 1}', '{"no_such_key": "auto"}']


def our_keys():
    """(section, key, type, words, modelled) of every row of the table of keys."""
    text = (ROOT / "core/config/fields.c").read_text() + (ROOT / "core/config/keys.inc").read_text()
    names = dict(re.findall(r'#define (\w+) ("[^"]*")', text))
    rows = re.findall(r'\n  ([MKL])\(("[^"]*"|\w+), "(\w+)", (\w+)((?:.|\n)*?)\),(?= *(?:/\*.*)?\n)', text)
    for kind, section, key, type_, rest in rows:
        words = re.search(r'WORDS\("([^"]*)"\)', rest)
        yield names.get(section, section).strip('"'), key, type_, words.group(1).split("|") if words else [], kind == "M"


def nest(path, value):
    """{"a": {"b": value}} of "a.b", beside what the case needs to be one."""
    batch = "" if path in BATCH else '"train_micro_batch_size_per_gpu": 1, '
    parts = path.split(".")
    inner = f'"{parts[-1]}": {value}'
    for part in reversed(parts[:-1]):
        stage = '"stage": 3, ' if part == "zero_optimization" and parts[-1] != "stage" else ""
        inner = f'"{part}": {{{stage}{inner}}}'
    return f"{{{batch}{inner}}}"


BATCH = ("train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps")


def key_cases():
    sections, seen = {}, set()
    for section, key, type_, words, modelled in our_keys():
        if "@" in section or section.startswith(("shardlab", "optimizer", "scheduler")):
            continue  # not judged by DeepSpeed's configuration code, or not its own
        sections[section] = True
        values = VALUES.get(type_, [])
        if words:
            values = [f'"{word}"' for word in words] + [f'"{words[0].upper()}"', '"x"', "1", "true", "null", '"auto"']
        elif not modelled and type_ in seen:  # one key of each type stands for the others
            values = FEW.get(type_, values[:3] + values[-2:])
        seen.add(type_)
        path = f"{section}.{key}" if section else key
        for value in values:
            yield path, nest(path, value), 1
    for section in sections:
        if section:
            for value in SECTIONS:
                yield section, nest(section, value), 1


def batch_cases():
    for total in (None, 1, 4, 12):
        for micro in (None, 1, 2, 3):
            for steps in (None, 1, 2):
                given = [f'"{key}": {value}' for key, value in zip(BATCH, (total, micro, steps)) if value is not None]
                for ranks in (1, 2, 3):
                    yield "batch", "{" + ", ".join(given) + "}", ranks


def elastic_cases():
    base = {"enabled": True, "max_train_batch_size": 10000, "micro_batch_sizes": [8, 12, 16, 17], "min_gpus": 32, "max_gpus": 1500,
            "min_time": 20, "version": 0.1}
    changes = [({}, 64), ({}, 128), ({}, 1), ({"version": 0.2}, 64), ({"version": 0.2, "min_gpus": 1}, 3), ({"version": 0.3}, 64),
               ({"version": "0.1"}, 64), ({"model_parallel_size": 2}, 64), ({"version": 0.2, "model_parallel_size": 2}, 64),
               ({"version": 0.2, "num_gpus_per_node": 8, "model_parallel_size": 4}, 16),
               ({"version": 0.2, "num_gpus_per_node": 8, "model_parallel_size": 8, "max_train_batch_size": 200,
                 "micro_batch_sizes": [2, 4, 7]}, 16),
               ({"micro_batch_sizes": [1, 4, 7], "max_train_batch_size": 4, "min_gpus": 1, "max_gpus": 4}, 1),
               ({"max_train_batch_size": 4, "micro_batch_sizes": [1, 2, 3, 4], "min_gpus": 1, "max_gpus": 4}, 4),
               ({"max_train_batch_size": 4, "micro_batch_sizes": [1, 2, 3, 4], "min_gpus": 1, "max_gpus": 4,
                 "prefer_larger_batch": False}, 1),
               ({"max_train_batch_size": 16, "micro_batch_sizes": [1, 2, 4], "min_gpus": 1, "max_gpus": 8}, 8),
               ({"max_train_batch_size": 720, "micro_batch_sizes": [1, 2, 3], "min_gpus": 1, "max_gpus": 500}, 6),
               ({"max_train_batch_size": 720, "micro_batch_sizes": [5, 7], "min_gpus": 1, "max_gpus": 500}, 4),
               ({"enabled": False}, 1), ({"micro_batch_sizes": []}, 64), ({"micro_batch_sizes": [8, 0]}, 64),
               ({"micro_batch_sizes": 5}, 64), ({"micro_batch_sizes": [1.5]}, 64), ({"micro_batch_sizes": ["8"]}, 64),
               ({"min_gpus": 0}, 64), ({"max_gpus": 0}, 64), ({"min_gpus": 100, "max_gpus": 64}, 64), ({"min_time": -1}, 64),
               ({"model_parallel_size": 0}, 64), ({"num_gpus_per_node": 0}, 64), ({"num_gpus_per_node": -1}, 64),
               ({"version": 0.2, "num_gpus_per_node": 3, "model_parallel_size": 2}, 64),
               ({"max_train_batch_size": None}, 64), ({"min_gpus": None}, 64), ({"version": 0.2, "min_gpus": 1, "max_gpus": 2}, 4)]
    for change, ranks in changes:
        yield "elasticity", json.dumps({"elasticity": {**base, **change}}), ranks
    for missing in ("max_train_batch_size", "micro_batch_sizes", "min_gpus", "max_gpus", "version"):
        yield "elasticity", json.dumps({"elasticity": {k: v for k, v in base.items() if k != missing}}), 64
    for ignore in (True, False, None):
        for batch in ({"train_batch_size": 64}, {"gradient_accumulation_steps": 2}, {"train_micro_batch_size_per_gpu": 1},
                      {"train_batch_size": "auto"}):
            elastic = base if ignore is None else {**base, "ignore_non_elastic_batch_info": ignore}
            yield "elasticity", json.dumps({"elasticity": elastic, **batch}), 64
    small = {"enabled": True, "min_gpus": 1, "version": 0.1}
    for version in (0.1, 0.2):
        for most, sizes in ((100, [2, 3]), (1000, [4, 6]), (5000, [1, 7, 9]), (37, [5]), (719, [3, 4, 5]), (2000, [2, 4, 6])):
            for larger in (True, False):
                for ranks in (1, 2, 4, 5, 9):
                    yield "elasticity", json.dumps({"elasticity": {**small, "version": version, "max_train_batch_size": most,
                                                                   "micro_batch_sizes": sizes, "prefer_larger_batch": larger}}), ranks


M1 = '"train_micro_batch_size_per_gpu": 1'
TOGETHER = [
    # the old form of ZeRO, and allgather_size beside it
    *[f'{{{M1}, "zero_optimization": {on}, "allgather_size": {size}}}' for on in ("true", "false")
      for size in ("1000", "1e3", "2e10", "1000.0", "2.5", '"1000"', "-1", '"x"', "null", "0")],
    *[f'{{{M1}, "zero_optimization": {value}}}' for value in ("1", "0", '"true"', "null", "[]", "{}", "true", "false")],
    *[f'{{{M1}, "zero_optimization": {{"stage": 2, "{old}": {a}, "{new}": {b}}}}}'
      for old, new in (("cpu_offload", "offload_optimizer"), ("cpu_offload_param", "offload_param"))
      for a in ("true", "false", "null", '"auto"', '"true"', '"x"') for b in ("null", '"auto"', "{}", '{"device": "none"}', '{"device": "cpu"}')],
    *[f'{{{M1}, "zero_optimization": {{"stage": {stage}, "cpu_offload": {a}}}}}' for stage in (1, 2, 3)
      for a in ("true", "false", "null", '"yes"', "1", "1.0", '"auto"')],
    f'{{{M1}, "zero_optimization": {{"stage": 3, "stage3_gather_fp16_weights_on_model_save": true, '
    '"stage3_gather_16bit_weights_on_model_save": true}}',
    f'{{{M1}, "zero_optimization": {{"stage": 3, "stage3_prefetch_bucket_size": 5, "prefetch_bucket_size": 6}}}}',
    f'{{{M1}, "zero_optimization": {{"stage": 3, "prefetch_bucket_size": 6}}}}',
    f'{{{M1}, "zero_optimization": {{"stage": 2, "offload_optimizer": {{"device": "cpu", "ratio": 0.3}}}}}}',
    f'{{{M1}, "zero_optimization": {{"stage": 3, "offload_optimizer": {{"device": "cpu", "ratio": "0.3"}}}}}}',
    f'{{{M1}, "zero_optimization": {{"stage": 2, "offload_optimizer": {{"device": "cpu", "ratio": "0.3"}}}}}}',
    # precision
    *[f'{{{M1}, "fp16": {{"enabled": {a}}}, "bf16": {{"enabled": {b}}}}}' for a in ("true", '"true"', "1", "false")
      for b in ("true", '"on"', "false", '"auto"')],
    *[f'{{{M1}, "bfloat16": {{"enabled": {a}}}}}' for a in ("true", '"true"', "0")],
    f'{{{M1}, "bf16": {{"enabled": false}}, "bfloat16": {{"enabled": true}}}}',
    f'{{{M1}, "bf16": null, "bfloat16": {{"enabled": true}}}}',
    *[f'{{{M1}, "fp16": {{"enabled": {on}, "loss_scale": {scale}, "{key}": {value}}}}}' for on in ("true", "false")
      for scale in ("0", "128", '"128"') for key in ("loss_scale_window", "min_loss_scale") for value in ("0", "-1", '"0"', "1", '"2"', "1.5")],
    *[f'{{{M1}, "{section}": {{"{key}": true}}, "zero_optimization": {{"stage": {stage}}}}}' for stage in (0, 1, 3)
      for section, key in (("fp16", "fp16_master_weights_and_grads"), ("bf16", "bf16_master_weights_and_grads"),
                           ("bf16", "bf16_optimizer_states"))],
    f'{{{M1}, "bf16": {{"bf16_master_weights_and_grads": "true", "bf16_optimizer_states": 1}}, "zero_optimization": {{"stage": "1"}}}}',
    # reductions
    *[f'{{{M1}, "gradient_allreduce_op": {op}, {more}}}' for op in ('"sum"', '"SUM"', '"mean"')
      for more in ('"zero_optimization": {"stage": 3}', '"zero_optimization": {"stage": 2}', '"compile": {"deepcompile": true}',
                   '"compile": {"deepcompile": "yes"}', '"zero_optimization": {"stage": 2, "zenflow": {}}')],
    # values of sections that no type tells
    *[f'{{{M1}, "sparse_attention": {{"mode": {mode}}}}}' for mode in
      ('"dense"', '"fixed"', '"variable"', '"bigbird"', '"bslongformer"', '"Fixed"', '"x"', "1", "null", '"auto"')],
    *[f'{{{M1}, "torch_autocast": {{"enabled": true, "dtype": {value}}}}}' for value in TYPES + ['"torch.bfloat16"', '"float"', '"torch.int8"']],
    *[f'{{{M1}, "torch_autocast": {{"lower_precision_safe_modules": {value}}}}}' for value in
      ("[]", '["torch.nn.Linear"]', "[1]", '["a", null]', '"ab"', "{}", "1", "null")],
    *[f'{{{M1}, "checkpoint": {{"tag_validation": {mode}}}}}' for mode in ('"WARN"', '"fail"', '"x"', "1", "null", '"auto"')],
    *[f'{{{M1}, "checkpoint": {{"parallel_write": {{"pipeline_stage": {mode}}}}}}}' for mode in
      ("true", "0", "1.0", "2", '"true"', "null", '"auto"')],
    *[f'{{{M1}, "zero_optimization": {{"zenflow": {{{value}}}}}}}' for value in
      ('"select_strategy": "epoch"', '"select_strategy": "x"', '"select_interval": "x"', '"select_interval": 3',
       '"select_interval": "auto"', '"update_interval": 0', '"update_interval": "2"', '"update_interval": 2',
       '"topk_ratio": 0', '"topk_ratio": 1', '"topk_ratio": 0.5')],
    *[f'{{{M1}, "zero_optimization": {{"leaf_module": {value}}}}}' for value in
      ('{"classes": "A"}', '{"names": ["a", "b"]}', '{"names": [1]}', '{"name_suffixes": null}', "null")],
    *[f'{{{M1}, "compile": {{"passes": {value}}}}}' for value in
      ('["z1"]', '["z3"]', '["autosp"]', '["x"]', '["prefetch", "z3"]', "[]", '"z1"')],
    *[f'{{{M1}, "vocabulary_size": {value}}}' for value in ("50257", "50304", '"50304"', "null", "0")],
    # hjson, and numbers as it reads them
    "train_micro_batch_size_per_gpu: 1\nzero_optimization: {stage: 2\n}\n",
    "{train_micro_batch_size_per_gpu: 1 // one\n # two\n /* three */ 'gradient_accumulation_steps': 3,}",
    "{'train_micro_batch_size_per_gpu': 1, 'communication_data_type': 'fp16'}",
    "{train_micro_batch_size_per_gpu: 1\n communication_data_type: bf16\n}",
    "{train_micro_batch_size_per_gpu: 1\n communication_data_type: bf16,\n}",
    "{train_micro_batch_size_per_gpu: 1\n communication_data_type: '''bf16'''\n}",
    "{train_micro_batch_size_per_gpu: 1\n communication_data_type:\n   '''\n   bf16\n   '''\n}",
    "{train_micro_batch_size_per_gpu: 1\n communication_data_type: fp32 # no comment in text without quotes\n}",
    "{train_micro_batch_size_per_gpu: 1, zero_optimization: {stage: one}}",
    "{train_micro_batch_size_per_gpu: 1, train_micro_batch_size_per_gpu: 1}",
    "{\"train_micro_batch_size_per_gpu\": 1 \"gradient_accumulation_steps\": 2}",
    "{\"fp16\": {\"enabled\": true} \"train_micro_batch_size_per_gpu\": 1}",
    "[]", "4", "\"text\"", "", "# nothing", "{}", "{\"train_batch_size\": 4", "{\"train_batch_size\": 4}}", "train_batch_size: 4}",
    '{"train_batch_size": 04}', '{"train_batch_size": +4}', "{train_batch_size: +4\n}", "{train_batch_size: 4.\n}",
    '{"train_batch_size": 1e1}', '{"train_batch_size": NaN}', '{"train_batch_size": 1e999}',
    f'{{{M1}, "zero_optimization": {{"stage": 3, "stage3_max_live_parameters": 1e15}}}}',
    f'{{{M1}, "zero_optimization": {{"reduce_bucket_size": 1e9}}}}', f'{{{M1}, "gradient_clipping": 1.0}}',
    f'{{{M1}, "no_such_key": 1}}', f'{{{M1}, "no_such_key": "auto"}}',
]


# ---- what DeepSpeed says ----

def meaning(config, path):
    """What the key `path` became, as {path: JSON}; {} where it is not read, or null."""
    top = {"communication_data_type": "communication_data_type", "gradient_clipping": "gradient_clipping",
           "gradient_allreduce_op": "gradient_allreduce_op", "zero_allow_untested_optimizer": "zero_allow_untested_optimizer"}
    sections = {"fp16": config.float16_config, "bf16": config.bfloat16_config, "zero_optimization": config.zero_config}
    out = {key: getattr(config, key) for key in BATCH} if path in ("batch", "elasticity", "together", *BATCH) else {}
    parts = path.split(".")
    if path in top:
        out[path] = getattr(config, top[path])
    elif parts[0] in sections and len(parts) > 1:
        value = sections[parts[0]]
        for part in parts[1:]:
            named = {field.alias: name for name, field in type(value).model_fields.items() if field.alias} if value is not None else {}
            value = getattr(value, named.get(part, part), None)
        out[path] = value
    if path in ("zero_optimization", "together"):
        zero = config.zero_config
        out.update({"zero_optimization.stage": zero.stage, "zero_optimization.allgather_bucket_size": zero.allgather_bucket_size,
                    "fp16.enabled": config.float16_config.enabled, "bf16.enabled": config.bfloat16_config.enabled,
                    "fp16.loss_scale_window": config.float16_config.loss_scale_window,
                    "communication_data_type": config.communication_data_type})
        for key in ("offload_optimizer", "offload_param"):
            if getattr(zero, key):
                out[f"zero_optimization.{key}.device"] = getattr(zero, key).device
    return {key: SHORT[value.name] if isinstance(value, Dtype) else value for key, value in out.items()
            if isinstance(value, (bool, int, float, str, Dtype))}


def main():
    global world
    config = deepspeed_config()
    cases = [*key_cases(), *batch_cases(), *elastic_cases(), *(("together", text, 1) for text in TOGETHER)]
    print(f"# What DeepSpeed {importlib.metadata.version('deepspeed')} says; made by deepspeed_config.py, which says how to read it.")
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        done = set()
        for path, text, ranks in cases:
            if (text, ranks) in done:
                continue
            done.add((text, ranks))
            world = ranks
            file.seek(0)
            file.truncate()
            file.write(text)
            file.flush()
            try:
                verdict, means = "accepts", meaning(config.DeepSpeedConfig(file.name), path)
            except Exception as error:  # whatever stops DeepSpeed refuses the configuration
                verdict, means = "refuses", {}
                if "--errors" in sys.argv:
                    print("#", type(error).__name__, str(error).replace("\n", " ")[:150])
            escaped = text.replace("\\", "\\\\").replace("\n", "\\n").replace("\t", "\\t")
            print(path, escaped, ranks, verdict, json.dumps(means), sep="\t")


if __name__ == "__main__":
    main()
