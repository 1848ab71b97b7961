"""Numbers for the inputs, the formats they are held in, and the comparison of outputs."""
from dataclasses import dataclass

import numpy as np

# Storage in .npy: numpy's own type where it has one, else a wider one that holds the values exactly.
NPY = {"f64": np.float64, "f32": np.float32, "f16": np.float16, "bf16": np.float32, "f8e4m3": np.float32,
       "f8e5m2": np.float32, "i64": np.int64, "i32": np.int32, "i16": np.int16, "i8": np.int8, "i4": np.int8,
       "u32": np.uint32, "u8": np.uint8, "u4": np.uint8, "bool": np.bool_}

# Relative to the largest finite value of the output.
TOLERANCE = {"f64": 1e-12, "f32": 1e-5, "f16": 1 / 1024, "bf16": 1 / 128}


@dataclass
class Input:
    """A tensor as given: `value` must be exact in `format`."""
    format: str
    value: np.ndarray


@dataclass
class Output:
    """What is expected: `value` in f64 or int64. `chosen` is for indices picked by comparing floats: a function from
    an array of such indices to the values they pick, which are compared in place of the indices."""
    format: str
    value: np.ndarray
    chosen: object = None


class Source:
    """A counter-based generator (splitmix64), so that the numbers depend on the seed alone and on no library."""

    def __init__(self, seed):
        self.seed = np.uint64(seed)
        self.count = 0

    def bits(self, shape):
        """64 random bits at each point."""
        n = int(np.prod(shape, dtype=np.int64))
        counter = np.arange(self.count, self.count + n, dtype=np.uint64)
        self.count += n
        with np.errstate(over="ignore"):
            z = (counter + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15) + self.seed * np.uint64(0xD1342543DE82EF95)
            z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            z = z ^ (z >> np.uint64(31))
        return z.reshape(shape)

    def integers(self, lo, hi, shape):
        """Integers in lo..hi, both included."""
        return (self.bits(shape) % np.uint64(hi - lo + 1)).astype(np.int64) + lo

    def coarse(self, shape, limit=2, step=1 / 16):
        """Multiples of `step` in -limit..limit: few mantissa bits, exact in f16 and bf16 (and in an f32 sum)."""
        n = round(limit / step)
        return self.integers(-n, n, shape) * step

    def uniform(self, shape, lo=-1.0, hi=1.0):
        """f32 values with all their bits in use, in lo..hi."""
        unit = (self.bits(shape) >> np.uint64(11)).astype(np.float64) * 2.0 ** -53
        return (lo + (hi - lo) * unit).astype(np.float32).astype(np.float64)


def holds(format, value):
    """True where `value` is exact in `format`."""
    stored = np.asarray(value).astype(NPY[format])
    if format == "bf16":
        return (stored.view(np.uint32) & np.uint32(0xFFFF) == 0) & ((stored == value) | np.isnan(stored))
    if format in ("i4", "u4"):
        lo, hi = (-8, 7) if format == "i4" else (0, 15)
        return (stored == value) & (stored >= lo) & (stored <= hi)
    return (stored == value) | (np.isnan(stored) if stored.dtype.kind == "f" else False)


def compare(expected, got):
    """Returns (ok, text): whether `got` (floats as f32 or f64, integers as int64) is what `expected` says."""
    want = np.asarray(expected.value)
    if got.shape != want.shape:
        return False, f"shape {got.shape}, expected {want.shape}"
    if expected.format[0] in "iu" or expected.format == "bool":
        if got.dtype.kind not in "iub":
            return False, f"type {got.dtype}, expected integers"
        if expected.chosen is not None:
            return compare(Output("f32", expected.chosen(want)), expected.chosen(got.astype(np.int64)))
        wrong = got.astype(np.int64) != want
        if wrong.any():
            at = tuple(int(i) for i in np.argwhere(wrong)[0])
            return False, f"{int(wrong.sum())} of {want.size} differ, first at {at}: {got[at]}, expected {want[at]}"
        return True, f"{want.size} equal"
    if got.dtype.kind != "f":
        return False, f"type {got.dtype}, expected floats"
    got = got.astype(np.float64)
    finite = np.isfinite(want)
    same = np.where(finite, np.isfinite(got), (got == want) | (np.isnan(got) & np.isnan(want)))
    if not same.all():
        at = tuple(int(i) for i in np.argwhere(~same)[0])
        return False, f"at {at}: {got[at]}, expected {want[at]}"
    if not finite.any():
        return True, f"{want.size} equal"
    scale = np.abs(want[finite]).max() or 1.0
    error = np.where(finite, np.abs(np.where(finite, got - np.where(finite, want, 0), 0)), 0) / scale
    worst = tuple(int(i) for i in np.unravel_index(np.argmax(error), error.shape))
    text = f"largest error {error[worst]:.3g} of {scale:.6g}"
    if error[worst] > TOLERANCE[expected.format]:
        allowed = TOLERANCE[expected.format]
        return False, f"{text}, allowed {allowed:.3g}; at {worst}: {got[worst]}, expected {want[worst]}"
    return True, text
