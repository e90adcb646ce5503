# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The Corral authors
#
# The Python end of the bridge: one process that plays many instances of one Gymnasium environment.
#
# Corral starts it as `python -c THIS_TEXT`, so nothing has to be installed beside Gymnasium itself. Three file
# descriptors are its whole world: CHANNEL, a socket that takes one message per batch step and gives one answer;
# LIFELINE, a pipe whose other end closes when Corral ends, however it ends; and the memory that a message brings
# along, where actions, observations, rewards and flags lie as arrays. Per step of all instances there is one
# wake-up and no copy but NumPy's into those arrays.
#
# A message is a letter, then JSON or a number:
#   d {name}               describe an environment; the answer's number is the length of the JSON in the memory
#   p {name}               the size of its pictures; the answer's number is height << 16 | width
#   o {name, count, ...}   make `count` instances over the memory
#   r                      begin episodes where the mask says so
#   s                      one step of all
#   f INDEX                a picture of one
#   c                      close them
# An answer is "+" (done), "!" (done, but some instances failed) or "-" (not done), and a number. What failed is told
# as two texts in the memory, ended by zeros: a sentence, and the traceback.

import ast
import copy
import fcntl
import hashlib
import importlib
import inspect
import json
import math
import mmap
import os
import resource
import signal
import socket
import struct
import sys
import traceback
import urllib.parse

CHANNEL, LIFELINE = 3, 4
F_SETSIG = 10
LARGE = 1e308  # JSON has no infinity: what is beyond is none
TEXT_SIZE = 8192


class Refusal(Exception):
    """A sentence for the user; no traceback adds to it."""


def die_with_host():
    """The kernel kills this process when the other end of the lifeline closes, whatever it is doing then."""
    fcntl.fcntl(LIFELINE, F_SETSIG, signal.SIGKILL)
    fcntl.fcntl(LIFELINE, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(LIFELINE, fcntl.F_SETFL, fcntl.fcntl(LIFELINE, fcntl.F_GETFL) | os.O_ASYNC)


def frames_of(error):
    """Where it was raised, without the lines of this file and of the import system."""
    return [f for f in traceback.extract_tb(error.__traceback__) if not f.filename.startswith("<")]


def sentence_of(error):
    """'ValueError: no such thing (walk.py:12, in step)'"""
    if isinstance(error, Refusal):
        return str(error)
    text = " ".join(str(error).split())
    text = text if len(text) <= 150 else text[:147] + "..."
    frames = frames_of(error)
    place = f" ({os.path.basename(frames[-1].filename)}:{frames[-1].lineno}, in {frames[-1].name})" if frames else ""
    return f"{type(error).__name__}{': ' if text else ''}{text}{place}"


def traceback_of(error):
    if isinstance(error, Refusal):
        return ""
    lines = ["Traceback (most recent call last):\n"] + traceback.format_list(frames_of(error))
    return "".join(lines + traceback.format_exception_only(type(error), error))


def texts_of(error):
    """At most TEXT_SIZE bytes. Of a long traceback the end is kept."""
    sentence = sentence_of(error).encode()[:1000].replace(b"\0", b" ")
    trace = traceback_of(error).encode().replace(b"\0", b" ")
    return sentence + b"\0" + trace[-(TEXT_SIZE - len(sentence) - 2) :] + b"\0"


# --- making environments


def import_gymnasium():
    try:
        import gymnasium
        import numpy
    except ModuleNotFoundError as error:
        raise Refusal(
            f"{sys.executable} has no {error.name}: type  {sys.executable} -m pip install {error.name}  "
            "or name another Python: CORRAL_PYTHON=/path/to/python"
        ) from None
    return gymnasium, numpy


def import_module(name):
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not (name + ".").startswith(error.name + "."):
            raise  # it is there, and misses another one
        raise Refusal(f"{sys.executable} finds no module {error.name}") from None


def spec_of(name):
    """The specification of "CartPole-v1", "ALE/Pong-v5", "package.module:Env-v0", "LunarLander-v3?continuous=True"."""
    import gymnasium

    name, _, arguments = name.partition("?")
    module, colon, name = name.rpartition(":")
    if colon:
        import_module(module)
    if name.startswith("ALE/") and name not in gymnasium.registry:
        try:
            import ale_py
        except ModuleNotFoundError:
            raise Refusal(f"{sys.executable} has no ale-py: type  {sys.executable} -m pip install ale-py") from None
        ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
        gymnasium.register_envs(ale_py)
    try:
        spec = copy.deepcopy(gymnasium.spec(name))
    except gymnasium.error.Error as error:
        raise Refusal(" ".join(str(error).split())) from None
    for key, text in urllib.parse.parse_qsl(arguments, keep_blank_values=True):
        try:
            spec.kwargs[key] = ast.literal_eval(text[:1].upper() + text[1:] if text in ("true", "false") else text)
        except (ValueError, SyntaxError):
            spec.kwargs[key] = text
    return spec


def settable(spec):
    """Arguments of the environment that are numbers, by name: what Corral calls its parameters."""
    creator = spec.entry_point
    if isinstance(creator, str):
        creator = __import__("gymnasium").envs.registration.load_env_creator(creator)
    try:
        arguments = inspect.signature(creator).parameters.values()
    except (TypeError, ValueError):
        return {}
    defaults = {a.name: spec.kwargs.get(a.name, a.default) for a in arguments}
    return {n: d for n, d in defaults.items() if isinstance(d, (bool, int, float)) and math.isfinite(d)}


def make(name, values, pictures=False):
    """Time limits belong to Corral, and so do the checks."""
    gymnasium = __import__("gymnasium")
    spec = spec_of(name)
    defaults = settable(spec)
    keywords = {}
    for key, value in values.items():
        kind = type(defaults[key])
        if kind is int and value != int(value):
            raise Refusal(f"{key} is {value:g}; it has to be a whole number")
        keywords[key] = kind(value)
    spec.max_episode_steps = None
    spec.order_enforce = False
    if pictures:
        keywords["render_mode"] = "rgb_array"
    return gymnasium.make(spec, disable_env_checker=True, **keywords)


# --- spaces: trees in Gymnasium, rows of leaves in Corral


def leaves_of(space, path=""):
    """Every leaf with its path; the keys of a Dict in order, the parts of a Tuple by number."""
    import gymnasium.spaces as spaces

    below = path + "/" if path else ""
    if isinstance(space, spaces.Dict):
        return [leaf for key in sorted(space.keys(), key=str) for leaf in leaves_of(space[key], f"{below}{key}")]
    if isinstance(space, spaces.Tuple):
        return [leaf for i, part in enumerate(space.spaces) for leaf in leaves_of(part, f"{below}{i}")]
    return [(path, space)]


def bounds(array, numpy):
    """One number where all are equal."""
    numbers = numpy.clip(numpy.asarray(array, dtype=numpy.float64), -LARGE, LARGE).ravel()
    return float(numbers[0]) if len(numbers) and (numbers == numbers[0]).all() else numbers.tolist()


def box_dtype(path, dtype):
    """Numbers of any width go as f32, u8 or i32."""
    if dtype.kind == "f":
        return "f32"
    if dtype.kind == "b" or dtype == "uint8":
        return "u8"
    if dtype.kind in "iu":
        return "i32"
    raise Refusal(f"the space {path or 'of its numbers'} has the dtype {dtype}")


def describe_leaf(path, space, numpy):
    import gymnasium.spaces as spaces

    leaf = {"path": path, "shape": list(space.shape or ())}
    if isinstance(space, spaces.Box):
        dtype = box_dtype(path, space.dtype)
        return leaf | {"kind": "box", "dtype": dtype, "low": bounds(space.low, numpy), "high": bounds(space.high, numpy)}
    if isinstance(space, spaces.Discrete):
        return leaf | {"kind": "discrete", "dtype": "i32", "n": int(space.n), "start": int(space.start), "shape": []}
    if isinstance(space, spaces.MultiDiscrete):
        return leaf | {"kind": "multi_discrete", "dtype": "i32", "nvec": numpy.asarray(space.nvec).ravel().tolist()}
    if isinstance(space, spaces.MultiBinary):
        return leaf | {"kind": "multi_binary", "dtype": "u8"}
    raise Refusal(
        f"the space{' ' + path if path else ''} is a {type(space).__name__}, which has no fixed size: "
        "wrap the environment so that it gives a Box, Discrete, MultiDiscrete, MultiBinary, Tuple or Dict"
    )


def describe_spaces(environment, numpy):
    return {
        "observation": [describe_leaf(p, s, numpy) for p, s in leaves_of(environment.observation_space)],
        "action": [describe_leaf(p, s, numpy) for p, s in leaves_of(environment.action_space)],
    }


def spaces_digest(spaces):
    return hashlib.blake2b(json.dumps(spaces).encode(), digest_size=8).hexdigest()


def takes_wide_seeds(environment):
    """Gymnasium's own generators take any seed; np.random.seed() below an environment takes 32 bits."""
    try:
        environment.reset(seed=2**64 - 1)
        return True
    except Exception:
        environment.reset(seed=2**32 - 1)  # where that fails as well, that is what is told
        return False


def describe(name):
    gymnasium, numpy = import_gymnasium()
    environment = make(name, {})
    spec = spec_of(name)
    wide = takes_wide_seeds(environment)
    _, info = environment.reset(seed=1)
    metadata = environment.metadata or {}
    mask = isinstance(environment.action_space, gymnasium.spaces.Discrete) and "action_mask" in info
    fps = metadata.get("render_fps")
    spaces = describe_spaces(environment, numpy)
    result = spaces | {
        "spaces": spaces_digest(spaces),
        "max_episode_steps": spec.max_episode_steps or 0,
        "params": [
            {"name": n, "default": float(d), "flag": isinstance(d, bool)} for n, d in settable(spec).items()
        ],
        "mask": mask,
        "wide_seeds": wide,
        "pictures": "rgb_array" in (metadata.get("render_modes") or ()),
        "fps": float(fps) if isinstance(fps, (int, float)) and not isinstance(fps, bool) and 0 < fps <= 1000 else 0.0,
        "python": f"{sys.executable} {sys.version_info.major}.{sys.version_info.minor}",
        "gymnasium": gymnasium.__version__,
    }
    if isinstance(spec.reward_threshold, (int, float)):
        result["reward_threshold"] = float(spec.reward_threshold)
    environment.close()
    return result


def picture_size(name):
    import_gymnasium()
    environment = make(name, {}, pictures=True)
    environment.reset(seed=1)
    frame = environment.render()
    environment.close()
    return frame.shape[0] << 16 | frame.shape[1]


DTYPES = {"f32": "float32", "u8": "uint8", "i32": "int32"}


def leaf_array(memory, offset, count, path, space, numpy):
    """All instances' values of one leaf, as an array of the leaf's true shape."""
    leaf = describe_leaf(path, space, numpy)
    dtype = numpy.dtype(DTYPES[leaf["dtype"]])
    return numpy.ndarray((count, *leaf["shape"]), dtype, memory, offset)


def action_reader(space, arrays):
    """A function that gives the actions of all instances as the environment wants them."""
    import gymnasium.spaces as spaces

    if isinstance(space, spaces.Dict):
        keys = sorted(space.keys(), key=str)
        parts = [action_reader(space[key], arrays) for key in keys]
        return lambda: [dict(zip(keys, values)) for values in zip(*(part() for part in parts))]
    if isinstance(space, spaces.Tuple):
        parts = [action_reader(part, arrays) for part in space.spaces]
        return lambda: list(zip(*(part() for part in parts)))
    array = next(arrays)
    if isinstance(space, spaces.Discrete):
        return array.tolist
    if isinstance(space, spaces.MultiDiscrete):
        return lambda: list((array + space.start).astype(space.dtype))
    return lambda: list(array.astype(space.dtype))


def observation_writer(space, arrays, numpy, path=""):
    """A function (index, observation) that stores it."""
    import gymnasium.spaces as spaces

    below = path + "/" if path else ""
    if isinstance(space, spaces.Dict):
        keys = sorted(space.keys(), key=str)
        parts = [(key, observation_writer(space[key], arrays, numpy, f"{below}{key}")) for key in keys]

        def write_dict(index, value):
            for key, part in parts:
                part(index, value[key])

        return write_dict
    if isinstance(space, spaces.Tuple):
        parts = [observation_writer(s, arrays, numpy, f"{below}{i}") for i, s in enumerate(space.spaces)]

        def write_tuple(index, value):
            for i, part in enumerate(parts):
                part(index, value[i])

        return write_tuple
    array = next(arrays)
    if isinstance(space, spaces.Discrete):
        return array.__setitem__
    shape, name = array.shape[1:], f"the observation{' ' + path if path else ''}"
    start = space.start if isinstance(space, spaces.MultiDiscrete) else None
    ndarray = numpy.ndarray

    def write_array(index, value):
        if type(value) is not ndarray:
            value = numpy.asarray(value)
        if value.shape != shape:
            raise Refusal(f"{name} has the shape {value.shape} instead of {shape}")
        array[index] = value if start is None else value - start

    return write_array


# --- playing


class Batch:
    def __init__(self, order, file):
        _, numpy = import_gymnasium()
        self.name, self.values, self.count = order["name"], order["values"], order["count"]
        count, at = self.count, order["at"]
        self.memory = memory = mmap.mmap(file, order["size"])
        self.environments = [make(self.name, self.values) for _ in range(count)]
        self.pictures = [False] * count  # made so that they can draw
        self.wanted = set()  # shall draw from their next episode on
        first = self.environments[0]
        if spaces_digest(describe_spaces(first, numpy)) != order["spaces"]:
            raise Refusal(
                "its parameters change its spaces: name them with the environment, "
                f"as in gym:{self.name}?{'&'.join(f'{k}={v:g}' for k, v in self.values.items())}"
            )

        def arrays(space, offsets):
            return iter(
                [leaf_array(memory, o, count, p, s, numpy) for o, (p, s) in zip(offsets, leaves_of(space))]
            )

        def column(name, dtype):
            return numpy.ndarray((count,), dtype, memory, at[name])

        self.read_actions = action_reader(first.action_space, arrays(first.action_space, at["action"]))
        self.write = observation_writer(
            first.observation_space, arrays(first.observation_space, at["observation"]), numpy
        )
        self.reward, self.seed = column("reward", "float64"), column("seed", "uint64")
        self.terminated, self.truncated = column("terminated", "uint8"), column("truncated", "uint8")
        self.failed, self.mask = column("failed", "uint8"), column("mask", "uint8")
        self.current = numpy.ndarray((1,), "uint32", memory, at["current"])
        self.allowed = None
        if "allowed" in at:
            self.allowed = numpy.ndarray((count, int(first.action_space.n)), "uint8", memory, at["allowed"])
        self.text_at, self.picture_at = at["text"], at["picture"]
        self.picture_size = order["size"] - at["picture"]
        self.seeds = [None] * count
        self.lengths = [0] * count
        self.alive = [False] * count  # between a reset and a failure
        self.told = False

    def close(self):
        for environment in self.environments:
            try:
                environment.close()
            except Exception:  # it is gone anyhow
                pass

    def fail(self, index, error):
        """Only the first failure of a call is told."""
        self.failed[index] = 1
        self.alive[index] = False
        if not self.told:
            self.tell(error)

    def tell(self, error):
        text = texts_of(error)
        self.memory[self.text_at : self.text_at + len(text)] = text
        self.told = True

    def begin(self, index):
        if index in self.wanted:
            self.wanted.discard(index)
            self.draw_from_now_on(index)
        environment = self.environments[index]
        observation, info = environment.reset(seed=self.seeds[index])
        self.write(index, observation)
        if self.allowed is not None:
            self.allowed[index] = info.get("action_mask", 1)
        self.lengths[index] = 0
        self.alive[index] = True

    def reset(self):
        self.told = False
        seeds = self.seed.tolist()
        for index in self.mask.nonzero()[0].tolist():
            self.current[0] = index
            self.seeds[index] = seeds[index]
            try:
                self.begin(index)
            except BaseException as error:
                self.fail(index, error)
        return b"!" if self.told else b"+"

    def step(self):
        self.told = False
        environments, write, allowed, lengths, alive = (
            self.environments,
            self.write,
            self.allowed,
            self.lengths,
            self.alive,
        )
        current = self.current
        count = self.count
        rewards, ends, cuts = [0.0] * count, [False] * count, [False] * count
        actions = self.read_actions()
        for index in range(count):
            current[0] = index
            try:
                if not alive[index]:
                    raise Refusal("the Python process that played this episode has ended")
                observation, reward, ends[index], cuts[index], info = environments[index].step(actions[index])
                rewards[index] = float(reward)
                write(index, observation)
                if allowed is not None:
                    allowed[index] = info.get("action_mask", 1)
                lengths[index] += 1
            except BaseException as error:
                ends[index] = cuts[index] = False
                self.fail(index, error)
        self.reward[:] = rewards
        self.terminated[:] = ends
        self.truncated[:] = cuts
        return b"!" if self.told else b"+"

    # An environment that can draw may cost more (LunarLander makes sparks then), so each is made without, and again
    # on its first picture: at once where its episode has just begun, else when the next one begins.

    def draw_from_now_on(self, index):
        self.environments[index].close()
        self.environments[index] = make(self.name, self.values, pictures=True)
        self.pictures[index] = True

    def picture(self, index):
        _, numpy = import_gymnasium()
        self.told = False
        if not self.pictures[index]:
            if not self.alive[index] or self.lengths[index] > 0:
                self.wanted.add(index)
                return b"-", 0
            self.draw_from_now_on(index)
            self.begin(index)
        frame = numpy.ascontiguousarray(self.environments[index].render(), dtype=numpy.uint8)
        if frame.ndim != 3 or frame.shape[2] != 3 or frame.nbytes > self.picture_size or 0 in frame.shape:
            raise Refusal(f"render() gives an array of the shape {frame.shape} instead of height x width x 3")
        self.memory[self.picture_at : self.picture_at + frame.nbytes] = frame.tobytes()
        return b"+", frame.shape[0] << 16 | frame.shape[1]


# --- serving


def write_json(file, value):
    data = json.dumps(value).encode()
    os.pwrite(file, data, 0)
    return len(data)


class Server:
    def __init__(self):
        self.channel = socket.socket(fileno=CHANNEL)
        self.batch = None

    def answer(self, mark, number=0):
        os.write(CHANNEL, struct.pack("=cxxxI", mark, number))

    def order(self, letter, body, file):
        if letter == b"d":
            self.answer(b"+", write_json(file, describe(json.loads(body)["name"])))
        elif letter == b"p":
            self.answer(b"+", picture_size(json.loads(body)["name"]))
        elif letter == b"o":
            self.batch = Batch(json.loads(body), file)
            self.answer(b"+")
        elif letter == b"f":
            self.answer(*self.batch.picture(int(body)))
        elif letter == b"c":
            self.batch.close()
            self.batch = None
            self.answer(b"+")

    def refuse(self, error, letter, file):
        if letter in (b"d", b"p", b"o") and file is not None:
            os.pwrite(file, texts_of(error), 0)  # a batch's memory is large enough, and begins with no column yet
        elif self.batch is not None:
            self.batch.tell(error)
        self.answer(b"-", 1)

    def serve(self):
        while True:
            if self.batch is not None:  # the usual way, short
                message, files = os.read(CHANNEL, 64), []
            else:
                message, files, _, _ = socket.recv_fds(self.channel, 65536, 1)
            if not message:
                break
            letter, file = message[:1], files[0] if files else None
            if letter == b"s":
                self.answer(self.batch.step())
            elif letter == b"r":
                self.answer(self.batch.reset())
            else:
                try:
                    self.order(letter, message[1:], file)
                except BaseException as error:
                    self.refuse(error, letter, file)
            if file is not None:
                os.close(file)
        if self.batch is not None:
            self.batch.close()


def main():
    die_with_host()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the host's to answer
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    __import__("faulthandler").enable()  # a crash says where, on standard error
    Server().serve()


main()
