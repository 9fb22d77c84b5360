"""Predictions of LLM training: memory, traffic and time of one configuration, in this process.

    import shardlab
    record = shardlab.predict(model="llama3-8b", config="ds_config.json", cluster="dgx-h100", world=64)
    record["step_time_s"], record["memory"]["device"]["peak_bytes"]

Calls go to libshardlab (shardlab.h) by ctypes, which releases the interpreter's lock while one runs: any thread may predict. No
process is started, and neither MPI nor a GPU is needed.
"""
import json as _json
import numbers as _numbers
import os as _os
import warnings as _warnings

from . import _library

__all__ = ["Error", "Record", "predict", "version"]


class Error(ValueError):
    """What cannot be predicted, in one line: the place, the value and what was expected."""


class Record(dict):
    """A run record (docs/record.md): a dict as it stands in JSON."""

    def flat(self):
        """The values by their path: {"memory.device.peak_bytes": ...}. Lists and empty objects stay as they are."""
        values = {}

        def walk(path, value):
            if isinstance(value, dict) and value:
                for key, inner in value.items():
                    walk(f"{path}.{key}" if path else key, inner)
            else:
                values[path] = value

        walk("", self)
        return values

    @property
    def frame(self):
        """One row, a column a path, as a pandas DataFrame: pandas.concat of these is a table of predictions."""
        import pandas

        return pandas.DataFrame([self.flat()])


def _input(value):
    """A name, a path or the JSON itself; a dict becomes JSON."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, dict):
        return _json.dumps(value)
    return _os.fspath(value)


def _text(flag, value):
    """A value as the command line has it; what has no such form would be its repr there, as a file's name for one."""
    if isinstance(value, (bytes, _os.PathLike)):
        return _os.fsdecode(value)
    if isinstance(value, (str, _numbers.Real)):
        return str(value)
    raise TypeError(f"shardlab: {flag}: is a {type(value).__name__}; expected a text, a number or a path")


def _words(flags):
    """micro_batch=2 -> --micro-batch=2; True: the flag alone; False: off, whatever the config has; None: nothing; a list: its words with commas between."""
    for name, value in flags.items():
        flag = "--" + name.replace("_", "-")
        if value is None:
            continue
        if value is True:
            yield flag
        elif value is False:
            yield f"{flag}=off"
        elif isinstance(value, (list, tuple)):
            yield f"{flag}={','.join(_text(flag, one) for one in value)}"
        else:
            yield f"{flag}={_text(flag, value)}"


def predict(model=None, config=None, cluster=None, world=None, **flags):
    """Predict one training configuration, as `shardlab predict` does; returns a Record.

    model, config, cluster: a built-in name, a path, JSON text, or a dict of what stands in such a file.
    world: ranks in all. flags: those of `shardlab help predict`, hyphens as underscores: micro_batch=2, zero_stage=3, no_fold=True.
    Raises Error for what cannot be used. Warnings are UserWarnings.
    """
    words = list(_words(dict(world=world, **flags)))
    status, text, warnings = _library.predict(_input(model), _input(config), _input(cluster), words)
    for warning in warnings:
        _warnings.warn(warning, stacklevel=2)
    if status == _library.OK:
        return Record(_json.loads(text))
    raise Error(text) if status == _library.BAD_INPUT else RuntimeError(text)


def version():
    """The version of the library that answers."""
    return _library.version()
