"""Arrays as the bytes that generated code reads and writes, one storage format at a time."""
import numpy as np

PLAIN = {"f64": np.float64, "f32": np.float32, "f16": np.float16, "i64": np.int64, "i32": np.int32, "i16": np.int16,
         "i8": np.int8, "u32": np.uint32, "u8": np.uint8, "bool": np.uint8}
BITS = {"bf16": 16, "f8e4m3": 8, "f8e5m2": 8, "i4": 4, "u4": 4}


def size_of(format, shape):
    """Bytes of a row-major tensor."""
    count = int(np.prod(shape, dtype=np.int64))
    bits = BITS[format] if format in BITS else np.dtype(PLAIN[format]).itemsize * 8
    return (count * bits + 7) // 8


def f8_values(format):
    """The 256 values of an 8-bit float format (OCP 8-bit floating point specification)."""
    exponent_bits, mantissa_bits, bias = (4, 3, 7) if format == "f8e4m3" else (5, 2, 15)
    values = np.empty(256)
    for code in range(256):
        sign = -1.0 if code & 0x80 else 1.0
        exponent, mantissa = (code & 0x7F) >> mantissa_bits, code & ((1 << mantissa_bits) - 1)
        fraction = mantissa / (1 << mantissa_bits)
        value = fraction * 2.0 ** (1 - bias) if exponent == 0 else (1 + fraction) * 2.0 ** (exponent - bias)
        if format == "f8e4m3" and code & 0x7F == 0x7F:
            value = np.nan
        if format == "f8e5m2" and exponent == 31:
            value = np.nan if mantissa else np.inf
        values[code] = sign * value
    return values


def encode(format, array):
    """The bytes of values that are exact in the format."""
    if format in PLAIN:
        return np.ascontiguousarray(array.astype(PLAIN[format])).tobytes()
    if format == "bf16":
        return (np.ascontiguousarray(array.astype(np.float32)).view(np.uint32) >> 16).astype(np.uint16).tobytes()
    if format in ("i4", "u4"):
        nibbles = array.astype(np.int64).ravel() & 15
        if nibbles.size % 2:
            nibbles = np.append(nibbles, 0)
        return (nibbles[::2] | nibbles[1::2] << 4).astype(np.uint8).tobytes()
    table = f8_values(format)
    flat = array.astype(np.float64).ravel()
    code_of = {(v, np.signbit(v)) if v == v else "nan": code for code, v in enumerate(table)}
    return np.array([code_of[(v, np.signbit(v)) if v == v else "nan"] for v in flat], np.uint8).tobytes()


def decode(format, data, shape):
    """Floats as f64, integers as int64."""
    count = int(np.prod(shape, dtype=np.int64))
    if format in PLAIN:
        flat = np.frombuffer(data, PLAIN[format])
        return flat.astype(np.float64 if format[0] == "f" else np.int64).reshape(shape)
    if format == "bf16":
        bits = np.frombuffer(data, np.uint16).astype(np.uint32) << 16
        return bits.view(np.float32).astype(np.float64).reshape(shape)
    raw = np.frombuffer(data, np.uint8)
    if format in ("i4", "u4"):
        nibbles = np.stack([raw & 15, raw >> 4], axis=1).ravel()[:count].astype(np.int64)
        return (np.where(nibbles > 7, nibbles - 16, nibbles) if format == "i4" else nibbles).reshape(shape)
    return f8_values(format)[raw].reshape(shape)
