# SPDX-License-Identifier: MIT
"""HTK features and MLF labels, joined; by batchfeed's names and by CNTK's."""
import errno
import pickle
import struct
from pathlib import Path

import numpy as np
import pytest

import batchfeed as bf
from batchfeed._core import htk_kind
from batchfeed.compat.cntk import HTKFeatureDeserializer, HTKMLFDeserializer, MinibatchSource, StreamDef, StreamDefs

STATES = ["sil", "aa", "bb"]


class Speech:
    """Utterances of (state, frames) runs; frame i of utterance u is (u, i)."""

    def __init__(self, folder, utterances):
        self.scp, self.mlf, self.states = (str(folder / name) for name in ("a.scp", "a.mlf", "states"))
        self.frames, self.classes = {}, {}
        lines, labels = [], ["#!MLF!#"]
        for u, runs in enumerate(utterances):
            name, n = f"utt{u}", sum(frames for _, frames in runs)
            data = np.array([(u, i) for i in range(n)], dtype=">f4")
            path = folder / f"{name}.mfc"
            path.write_bytes(struct.pack(">iihh", n, 100_000, 8, 9) + data.tobytes())
            lines.append(f"{name}.mfc={path}[0,{n - 1}]")
            labels.append(f'"{name}.lab"')
            at = 0
            for state, frames in runs:
                labels.append(f"{at * 100_000} {(at + frames) * 100_000} {state} 0.0")
                at += frames
            labels.append(".")
            self.frames[name], self.classes[name] = data, [STATES.index(s) for s, f in runs for _ in range(f)]
        for path, text in ((self.scp, lines), (self.mlf, labels), (self.states, STATES)):
            with open(path, "w") as file:
                file.write("\n".join(text) + "\n")


@pytest.fixture
def speech(tmp_path):
    return Speech(tmp_path, [[("sil", 2), ("aa", 3)], [("bb", 4)], [("aa", 1), ("bb", 1), ("sil", 2)]])


def sources(speech, **features):
    return [bf.HTKFeatures("features", speech.scp, 2, **features), bf.MLF("labels", speech.mlf, 3, mapping_file=speech.states)]


def test_utterances_with_their_labels(speech):
    batch = next(iter(bf.Reader(sources(speech), minibatch_samples=100)))
    assert sorted(batch.sequence_keys) == ["utt0", "utt1", "utt2"]
    for key, x, y in zip(batch.sequence_keys, batch["features"].sequences(), batch["labels"].sequences()):
        np.testing.assert_array_equal(x, speech.frames[key])
        assert y.indices.tolist() == speech.classes[key]


def test_a_file_of_a_list_that_is_not_there_is_a_file_not_found_error(speech, tmp_path):
    (tmp_path / "utt0.mfc").unlink()
    with pytest.raises(FileNotFoundError, match="utt0.mfc: cannot open.*listed at .*a.scp:1") as caught:
        list(bf.Reader(bf.HTKFeatures("features", speech.scp)))
    assert caught.value.errno == errno.ENOENT and caught.value.filename == str(tmp_path / "utt0.mfc")


def test_frames_are_drawn_one_by_one(speech):
    reader = bf.Reader(sources(speech), pack="frames", minibatch_samples=5, seed=1)
    pairs = set()
    for batch in reader:
        assert batch.num_sequences == batch.num_samples <= 5
        pairs |= {(*x, y) for x, y in zip(batch["features"].numpy().tolist(), batch["labels"].classes().tolist())}
    assert pairs == {(u, i, c) for u in range(3) for i, c in enumerate(speech.classes[f"utt{u}"])}


def test_frames_in_context(speech):
    batch = next(iter(bf.Reader(bf.HTKFeatures("f", speech.scp, 2, context=(1, 1)), shuffle=False, minibatch_samples=100)))
    first = batch["f"].sequences()[0]
    assert first.shape == (5, 6) and first[1].tolist() == [0, 0, 0, 1, 0, 2]


def test_speech_files_need_no_configuration(speech, tmp_path):
    for options in ({}, {"pack": "frames"}):
        reader = bf.open([speech.scp, speech.mlf], state_list=speech.states, minibatch_samples=100, **options)
        assert (reader.num_samples, sorted(s.dim for s in reader.streams.values())) == (13, [2, 3])
    assert reader.num_sequences == 13, "each frame is one"
    both, told = [speech.scp, speech.mlf], {"state_list": speech.states}
    assert {s.dim for s in bf.info(both, **told).streams} == {2, 3} and not bf.check(both, **told)
    done = bf.convert(speech.scp, tmp_path / "copy.scp", parameter_kind="FBANK")
    assert (done.sequences, done.samples) == (3, 13)
    copy = next(iter(bf.open(tmp_path / "copy.scp", minibatch_samples=100)))
    assert sorted(copy.sequence_keys) == ["utt0", "utt1", "utt2"]


def test_features_keep_kind_and_period(tmp_path):
    (tmp_path / "a.htk").write_bytes(struct.pack(">iihh", 1, 50_000, 4, 7) + struct.pack(">f", 1.5))
    (tmp_path / "a.scp").write_text("u.htk=.../a.htk[0,0]\n")
    header = lambda: struct.unpack(">iihh", (tmp_path / "b.htk").read_bytes()[:12])[1::2]
    for given, expected in (({}, (50_000, 7)), ({"parameter_kind": "MFCC_0"}, (50_000, htk_kind("MFCC_0"))), ({"frame_period": 1, "parameter_kind": 9}, (1, 9))):
        bf.convert(tmp_path / "a.scp", tmp_path / "b.scp", force=True, **given)
        assert header() == expected
    for name in ("parameter_kind", "frame_period"):
        with pytest.raises(bf.ConfigError, match=f"{name} is True, expected a whole number"):
            bf.convert(tmp_path / "a.scp", tmp_path / "b.scp", force=True, **{name: True})


def test_a_mixture_has_one_list_of_states(speech, tmp_path):
    other = tmp_path / "other"
    other.write_text("\n".join(reversed(STATES)))
    labels = [bf.HTKFeatures("features", speech.scp, 2), bf.MLF("labels", speech.mlf, 3, mapping_file=other)]
    with pytest.raises(bf.ConfigError, match="class 0 of 'labels' is 'bb' here and 'sil' in .*states:1") as told:
        bf.Reader(bf.Mix((sources(speech), 1), (labels, 1)), minibatch_samples=10)
    assert (told.value.fault.path, told.value.fault.line) == (str(other), 1)
    other.write_text("\n".join([*STATES, "more"]))
    assert bf.Reader(bf.Mix((sources(speech), 1), (labels, 1)), minibatch_samples=10).streams["labels"].dim == 3


def test_labels_cannot_come_first(speech):
    with pytest.raises(bf.ConfigError, match="labels cannot be the first of several sources"):
        bf.Reader(list(reversed(sources(speech))))


@pytest.mark.parametrize("frame_mode", [False, True])
def test_the_names_of_cntk(speech, frame_mode):
    features = HTKFeatureDeserializer(StreamDefs(features=StreamDef(shape=2, context=(0, 0), scp=speech.scp)))
    labels = HTKMLFDeserializer(speech.states, StreamDefs(labels=StreamDef(shape=3, mlf=speech.mlf)))
    source = MinibatchSource([features, labels], max_sweeps=1, frame_mode=frame_mode)
    frames, classes = [], []
    while batch := source.next_minibatch(6):
        frames += np.concatenate(batch["features"].as_sequences()).tolist()
        classes += [int(c) for s in batch["labels"].as_sequences() for c in s.indices]
    expected = [([u, i], c) for u in range(3) for i, c in enumerate(speech.classes[f"utt{u}"])]
    assert sorted(zip(frames, classes)) == expected


@pytest.mark.parametrize("options", [{}, {"frame_mode": True}, {"truncation_length": 2}])
def test_a_context_by_the_names_of_cntk(speech, options):
    """The shape that is declared is that of one frame."""
    features = HTKFeatureDeserializer(StreamDefs(features=StreamDef(shape=2, context=(1, 1), scp=speech.scp)))
    source = MinibatchSource(features, max_sweeps=1, **options)
    assert source.streams.features.shape == (6,)
    rows = []
    while batch := source.next_minibatch(6):
        data = batch["features"]
        assert data.asarray().shape == data.shape and data.shape[2:] == (6,)
        rows += np.concatenate(data.as_sequences()).tolist()
    assert len(rows) == 13 and [1, 0, 1, 1, 1, 2] in rows


@pytest.fixture
def moved(speech, tmp_path):
    """The list, or a configuration that names it, of files that lie elsewhere by now; and how they are read."""
    with open(speech.scp) as file:
        lines = file.read()
    with open(speech.scp, "w") as file:
        file.write(lines.replace(f"={tmp_path}/", "=/old/"))
    config = tmp_path / "a.cntk"
    config.write_text(
        f"""reader = [ readerType = "HTKMLFReader" ; useMersenneTwisterRand = true ; features = [ dim = 2 ; scpFile = "{speech.scp}" ]
          labels = [ mlfFile = "{speech.mlf}" ; labelMappingFile = "{speech.states}" ; labelDim = 3 ] ]"""
    )
    return [([speech.scp, speech.mlf], {"state_list": speech.states}), (config, {})]


def test_the_files_of_a_list_of_another_machine(speech, moved, tmp_path):
    rule = {"/old/": f"{tmp_path}/"}
    for what, given in moved:
        with pytest.raises(bf.MissingFileError) as raised:
            bf.open(what, **given)
        assert raised.value.hint == f"a file of that name lies beside the list: path_map={rule}"
        given = {**given, "path_map": rule}
        keys = {key for batch in bf.open(what, minibatch_samples=100, **given) for key in batch.sequence_keys}
        assert sorted(keys) == ["utt0", "utt1", "utt2"]
        assert bf.info(what, **given).sequences == 3 and not bf.check(what, **given)
        assert bf.convert(what, tmp_path / "out.ctf", force=True, **given).sequences == 3
        assert pickle.loads(pickle.dumps(bf.open(what, **given))).num_samples == 13
    config, _ = moved[1]
    assert "a.mlf" in {Path(built.file).name for built in bf.index(config, path_map=rule, cache_dir=tmp_path / "cache")}
