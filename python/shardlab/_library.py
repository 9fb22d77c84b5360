"""libshardlab, found and called: what shardlab.h says, by ctypes."""
import ctypes
import os
import pathlib

OK, FAILED, BAD_INPUT = 0, 1, 2
_NAME = "libshardlab.so.0"


def _places():
    """Where it stands: as the environment says, in this package (a wheel), or where the system looks."""
    if "SHARDLAB_LIBRARY" in os.environ:
        yield os.environ["SHARDLAB_LIBRARY"]
        return
    here = pathlib.Path(__file__).resolve().parent
    yield from (str(path) for path in sorted(here.glob(f"lib*/**/{_NAME}")))
    yield _NAME


def _load():
    faults = []
    for place in _places():
        try:
            return ctypes.CDLL(place)
        except OSError as fault:
            faults.append(str(fault))
    raise ImportError("shardlab: " + "; ".join(faults))


def _declare(name, result, *arguments):
    function = getattr(_lib, name)
    function.restype, function.argtypes = result, arguments
    return function


_lib = _load()
_text = ctypes.c_char_p
_result = ctypes.c_void_p
_version = _declare("shardlab_version", _text)
_predict = _declare("shardlab_predict", ctypes.c_int, _text, _text, _text, ctypes.POINTER(_text), ctypes.POINTER(_result))
_record = _declare("shardlab_record", _text, _result)
_error = _declare("shardlab_error", _text, _result)
_warning_count = _declare("shardlab_warning_count", ctypes.c_size_t, _result)
_warning = _declare("shardlab_warning", _text, _result, ctypes.c_size_t)
_free = _declare("shardlab_free", None, _result)


def _encode(value):
    """Paths are bytes to the system, and no text that goes to C may end early."""
    if value is None:
        return None
    encoded = os.fsencode(value)
    if b"\0" in encoded:
        raise ValueError("shardlab: a text holds a null byte")
    return encoded


def version():
    return _version().decode()


def predict(model, config, cluster, words):
    """(status, the record as JSON or the error's line, warnings)."""
    flags = (_text * (len(words) + 1))(*map(_encode, words), None)
    result = _result()
    status = _predict(_encode(model), _encode(config), _encode(cluster), flags, ctypes.byref(result))
    try:
        text = (_record if status == OK else _error)(result).decode(errors="replace")
        return status, text, [_warning(result, i).decode(errors="replace") for i in range(_warning_count(result))]
    finally:
        _free(result)
