# SPDX-License-Identifier: MIT
"""The reader half of `cntk.io`: an old training script reads with batchfeed when it changes its import.

    from batchfeed.compat.cntk import MinibatchSource, CTFDeserializer, StreamDef, StreamDefs, INFINITELY_REPEAT

or, where the script says C.io.MinibatchSource: `import batchfeed.compat.cntk as C`. The same sequences come
in the same minibatches as there. Values are NumPy arrays and SciPy matrices.
"""
import sys

from ._data import MinibatchData, StreamInformation
from ._deserializers import (
    CBFDeserializer,
    CTFDeserializer,
    HTKFeatureDeserializer,
    HTKMLFBinaryDeserializer,
    HTKMLFDeserializer,
    StreamConfiguration,
    StreamDef,
    StreamDefs,
    sequence_to_cntk_text_format,
)
from ._source import (
    FULL_DATA_SWEEP,
    INFINITELY_REPEAT,
    MinibatchSource,
    MinibatchSourceFromData,
    UserDeserializer,
    UserMinibatchSource,
)

io = sys.modules[__name__]  # as `cntk.io`

__all__ = [
    "CBFDeserializer",
    "CTFDeserializer",
    "FULL_DATA_SWEEP",
    "HTKFeatureDeserializer",
    "HTKMLFBinaryDeserializer",
    "HTKMLFDeserializer",
    "INFINITELY_REPEAT",
    "MinibatchData",
    "MinibatchSource",
    "MinibatchSourceFromData",
    "StreamConfiguration",
    "StreamDef",
    "StreamDefs",
    "StreamInformation",
    "UserDeserializer",
    "UserMinibatchSource",
    "io",
    "sequence_to_cntk_text_format",
]
