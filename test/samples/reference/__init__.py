"""Independent numpy references for the samples: one function per sample, found by its name in `TABLE`.

Each takes the case's dims and a `Source` of numbers and returns `(inputs, outputs)`: dicts from the names in the
`.tg` file to `Input` and `Output`. Everything is computed in f64 (integers exactly) from what the inputs hold.
"""
from . import attention, convolution, dense, functions, models, recurrent, steps, training

TABLE = {}
for _module in (attention, convolution, dense, functions, models, recurrent, steps, training):
    TABLE.update(_module.TABLE)
