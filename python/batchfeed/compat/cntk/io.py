# SPDX-License-Identifier: MIT
"""All of batchfeed.compat.cntk under the name it had: `from cntk.io import ...`."""
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
    DEFAULT_RANDOMIZATION_WINDOW_IN_CHUNKS,
    FULL_DATA_SWEEP,
    INFINITELY_REPEAT,
    MinibatchSource,
    MinibatchSourceFromData,
    UserDeserializer,
    UserMinibatchSource,
)

__all__ = [
    "CBFDeserializer",
    "CTFDeserializer",
    "DEFAULT_RANDOMIZATION_WINDOW_IN_CHUNKS",
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
    "sequence_to_cntk_text_format",
]
