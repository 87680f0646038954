# SPDX-License-Identifier: MIT
"""The reader half of `cntk.io`: an old training script reads with batchfeed when it changes its import.

    from batchfeed.compat.cntk.io import MinibatchSource, CTFDeserializer, StreamDef, StreamDefs, INFINITELY_REPEAT

or, where the script says C.io.MinibatchSource: `import batchfeed.compat.cntk as C`. The same sequences come
in the same minibatches as there. Values are NumPy arrays and SciPy matrices.
"""
from . import io as io
from .io import *
from .io import __all__ as __all__
