# SPDX-License-Identifier: MIT
"""The files of joined corpora: text, binary files, HTK features and labels, and the sections that name them."""
import struct

from cbf_slow import modern

CHUNK_FRAMES = 90000  # a chunk of features is closed when it has more


def chunks(source):
    """The utterances of the first source as they are loaded together."""
    if source.kind == "cbf":
        return [source.utterances[i : i + source.chunk] for i in range(0, len(source.utterances), source.chunk)]
    out, begin, end, at = [], 0, 0, 0
    limit = min(source.chunk, sum(len(u.text) for u in source.utterances))
    for u in source.utterances:
        if source.kind == "htk":
            size = 0 if u.left_out else u.counted
            full = end - begin > CHUNK_FRAMES
        else:
            size = len(u.text)
            full = end - begin + size > limit
        if not u.left_out:
            if not out or full:
                out.append([])
                begin = at
            out[-1].append(u)
            end = at + size
        at += size
    return out


def text(source, name):
    errors = " ; maxErrors = 1000000" if any(u.damaged for u in source.utterances) else ""
    inputs = " ; ".join(f"{s.name} = [ dim = {s.dim} ; format = {'sparse' if s.sparse else 'dense'}{' ; definesMBSize = true' if s.name == source.main else ''} ]"
                        for s in source.streams)
    return f'file = "{name}" ; chunkSizeInBytes = {source.chunk}{errors} ; input = [ {inputs} ]', {name: "".join(u.text for u in source.utterances).encode()}


def binary(source, name):
    inputs = [{"name": s.name, "sparse": s.sparse, "dim": s.dim} for s in source.streams]
    sequences = [[list(u.samples.values()) for u in chunk] for chunk in chunks(source)]
    return f'file = "{name}"', {name: modern("f", inputs, sequences, [[u.counted for u in chunk] for chunk in chunks(source)])}


def features(source, name):
    """Of all utterances one after the other, a frame that belongs to none between them."""
    stream, body, lines, at = source.streams[0], b"", [], 0
    for u in source.utterances:
        given = u.samples[stream.name]
        body += b"".join(struct.pack(f">{stream.dim}f", *frame) for frame in [*given, [99.0] * stream.dim])
        lines.append(f"{u.key}.mfc={name}.fea[{at},{at + len(given) - 1}]\n")
        at += len(given) + 1
    return (f'{stream.name} = [ type = real ; {source.keys} ; scpFile = "{name}" ]',
            {name: "".join(lines).encode(), f"{name}.fea": struct.pack(">iIHH", at, 100000, 4 * stream.dim, 9) + body})


def segments(source, utterance):
    """[begin, end, class] of runs of one class; of a damaged utterance the last one begins elsewhere."""
    out = []
    for i, ((row, _),) in enumerate(utterance.samples[source.streams[0].name]):
        if out and out[-1][2] == row:
            out[-1][1] += 1
        else:
            out.append([i, i + 1, row])
    if utterance.damaged:
        last = out[-1]
        last[0] += 1 if last[1] - last[0] > 1 else -1
    return out


def labels(source, name):
    """Times in units of 100 ns, or numbers of frames, utterance by utterance."""
    stream, out = source.streams[0], "#!MLF!#\n"
    for i, u in enumerate(source.utterances):
        unit = 1 if i % 2 else 100000
        out += f'"{"*/" if i % 3 else ""}{u.key}.lab"\n' + "".join(f"{b * unit} {e * unit} s{row}\n" for b, e, row in segments(source, u)) + ".\n"
    states = "".join(f"s{i}\n" for i in range(stream.dim))
    return (f'{stream.name} = [ labelType = category ; labelDim = {stream.dim} ; mlfFile = "{name}" ; labelMappingFile = "states" ]',
            {name: out.encode(), "states": states.encode()})


def binary_labels(source, name):
    stream, out = source.streams[0], b"MLF" + struct.pack("<h", 2)
    for u in source.utterances:
        given = segments(source, u)
        out += struct.pack("<H", len(u.key)) + u.key.encode() + struct.pack("<IH", u.counted, len(given)) + b"".join(struct.pack("<HH", row, e - b) for b, e, row in given)
    return f'{stream.name} = [ labelDim = {stream.dim} ; mlfFile = "{name}" ]', {name: out}


TYPES = {"ctf": ("CNTKTextFormat", "CNTKTextFormatReader", text), "cbf": ("CNTKBinaryFormat", "CNTKBinaryReader", binary), "htk": ("HTKFeature", "HTKDeserializers", features),
         "mlf": ("HTKMLF", "HTKDeserializers", labels), "mlf_binary": ("HTKMLFBinary", "HTKDeserializers", binary_labels)}


def element(source, name):
    """A section of a list of deserializers, and the files it needs."""
    kind, module, write = TYPES[source.kind]
    said, files = write(source, name)
    if module == "HTKDeserializers":
        chunk = f" ; {'maxSequenceSize' if source.kind == 'htk' else 'chunkSizeInBytes'} = {source.chunk}" if source.chunk else ""
        main = " ; definesMBSize = true" if source.main else ""
        said = f"input = [ {said} ]{chunk}{main}"
    return f'[ type = "{kind}Deserializer" ; module = "{module}" ; {said} ]', files


def files(sources, style, keys):
    """All files of a reader of composite, plain, or another style, which is the type of a reader of speech; its configuration is c.cntk."""
    out, sections = {}, []
    for i, source in enumerate(sources):
        section, more = element(source, f"data{i}") if style == "composite" else TYPES[source.kind][2](source, f"data{i}")
        sections.append(section)
        out |= more
    if style == "composite":
        body = f"{keys}\n deserializers = (\n  " + " :\n  ".join(sections) + "\n )"
    else:
        body = f'readerType = "{TYPES[sources[0].kind][1] if style == "plain" else style}" ; {keys}\n ' + "\n ".join(sections)
    return out | {"c.cntk": f"reader = [\n {body}\n]\n".encode()}
