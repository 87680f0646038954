# SPDX-License-Identifier: MIT
"""Building blocks of hostile files: small valid corpora, to be broken one way at a time."""
import struct

MAGIC = 0x636E746B5F62696E  # "nib_ktnc" in little-endian order


def ctf_config(path="data.ctf", streams="a = [ dim = 2 ; format = \"dense\" ] ; b = [ dim = 5 ; format = \"sparse\" ]", extra="", deserializer=""):
    return f"""Test = [
  reader = [
    randomize = false
    {extra}
    deserializers = ( [ type = "CNTKTextFormatDeserializer" ; module = "CNTKTextFormatReader" ; file = "{path}" ; {deserializer}
      input = [ {streams} ] ] )
  ]
]
"""


def cbf_config(path="data.cbf"):
    return f"""Test = [
  reader = [
    randomize = false
    deserializers = ( [ type = "CNTKBinaryFormatDeserializer" ; module = "CNTKBinaryReader" ; file = "{path}" ] )
  ]
]
"""


def speech_config(scp="data.scp", mlf=None, states="states.list", dim=3, frame_mode="false", features="", reader=""):
    labels = ""
    if mlf:
        labels = f""" :
      [ type = "HTKMLFDeserializer" ; module = "HTKDeserializers" ;
        input = [ labels = [ mlfFile = "{mlf}" ; labelDim = 4 ; labelMappingFile = "{states}" ] ] ]"""
    return f"""Test = [
  reader = [
    randomize = false
    frameMode = {frame_mode}
    {reader}
    deserializers = (
      [ type = "HTKFeatureDeserializer" ; module = "HTKDeserializers" ; input = [ features = [ dim = {dim} ; scpFile = "{scp}" ; {features} ] ] ]{labels}
    )
  ]
]
"""


CTF = b"0 |a 1 2 |b 0:1 4:2\n0 |a 3 4 |b 1:1\n1 |a 5 6 |b 2:1\n2 |a 7 8 |b 3:1\n"


def cbf_stream(encoding=0, name=b"x", name_length=None, element=0, dim=2):
    return struct.pack("<BI", encoding, len(name) if name_length is None else name_length) + name + struct.pack("<BI", element, dim)


def dense_sequence(samples, dim=2, count=None):
    return struct.pack("<I", samples if count is None else count) + struct.pack(f"<{samples * dim}f", *range(samples * dim))


def sparse_sequence(per_sample, indices, values=None, samples=None, nnz=None):
    values = values or [1.0] * len(indices)
    return (struct.pack("<Ii", len(per_sample) if samples is None else samples, len(indices) if nnz is None else nnz) +
            struct.pack(f"<{len(values)}f", *values) + struct.pack(f"<{len(indices)}i", *indices) +
            struct.pack(f"<{len(per_sample)}i", *per_sample))


def cbf(chunks=None, streams=None, rows=None, chunk_count=None, stream_count=None, header_offset=None, prefix_magic=MAGIC,
        header_magic=MAGIC, version=1, tail=b""):
    """A file of the newer binary layout. `chunks`: (sample counts, bytes of the streams)."""
    chunks = [([2, 1], dense_sequence(2) + dense_sequence(1))] if chunks is None else chunks
    streams = [cbf_stream()] if streams is None else streams
    out = struct.pack("<QI", prefix_magic, version)
    table = []
    for counts, data in chunks:
        table.append((len(out), len(counts), sum(counts)))
        out += struct.pack(f"<{len(counts)}I", *counts) + data
    start = len(out)
    out += struct.pack("<QII", header_magic, len(chunks) if chunk_count is None else chunk_count,
                       len(streams) if stream_count is None else stream_count) + b"".join(streams)
    for row in table if rows is None else rows:
        out += struct.pack("<qII", *row)
    return out + tail + struct.pack("<q", start if header_offset is None else header_offset)


def htk(frames=4, dim=3, count=None, period=100000, size=None, kind=9, data=None):
    body = struct.pack(f">{frames * dim}f", *range(frames * dim)) if data is None else data
    return struct.pack(">iihH", frames if count is None else count, period, 4 * dim if size is None else size, kind) + body


def mlf_utterance(key, segments, frames=None, count=None):
    return (struct.pack("<H", len(key)) + key +
            struct.pack("<IH", sum(n for _, n in segments) if frames is None else frames, len(segments) if count is None else count) +
            b"".join(struct.pack("<HH", *s) for s in segments))


def mlf_binary(utterances, version=2):
    return b"MLF" + struct.pack("<h", version) + utterances


def kaldi_matrix(rows=2, cols=3, token=b"FM ", data=None):
    body = struct.pack("<6f", *range(6)) if data is None else data
    return b"\0B" + token + b"\x04" + struct.pack("<i", rows) + b"\x04" + struct.pack("<i", cols) + body


def kaldi_integers(values):
    return b"\0B\x04" + struct.pack("<i", len(values)) + b"".join(b"\x04" + struct.pack("<i", v) for v in values)


STATES = b"s0\ns1\ns2\ns3\n"
MLF = b'#!MLF!#\n"u.lab"\n0 200000 s0 0\n200000 400000 s1 0\n.\n'
SCP = b"u.feat=u.htk[0,3]\n"
