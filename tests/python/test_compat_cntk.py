# SPDX-License-Identifier: MIT
"""The reader half of an old training script, with its import changed."""
import copy
import json
import pickle
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse


import batchfeed as bf
import batchfeed.compat.cntk as C
from batchfeed.compat.cntk import (
    FULL_DATA_SWEEP,
    INFINITELY_REPEAT,
    CBFDeserializer,
    CTFDeserializer,
    MinibatchSource,
    MinibatchSourceFromData,
    StreamConfiguration,
    StreamDef,
    StreamDefs,
    StreamInformation,
    UserDeserializer,
    UserMinibatchSource,
)


def deserializer(corpus):
    streams = StreamDefs(features=StreamDef(field="x", shape=3), labels=StreamDef(field="y", shape=5, is_sparse=True))
    out = CTFDeserializer(corpus.path, streams)
    out["chunkSizeInBytes"] = 200
    return out


def rows(minibatch):
    return [] if not minibatch else [s.tolist() for s in minibatch["features"].as_sequences()]


def reference(corpus, **options):
    """The same run, as the configuration of a composite reader says it."""
    text = f"""reader = [ randomizationWindow = {options.pop("window", 128)} ; sampleBasedRandomizationWindow = false
      {options.pop("more", "")}
      deserializers = ( [ type = "CNTKTextFormatDeserializer" ; module = "CNTKTextFormatReader" ; file = "{corpus.path}"
      chunkSizeInBytes = 200 ; input = [ features = [ alias = "x" ; dim = 3 ; format = "dense" ]
                                         labels = [ alias = "y" ; dim = 5 ; format = "sparse" ] ] ] ) ]"""
    config = corpus.path + ".cntk"
    with open(config, "w") as file:
        file.write(text)
    return bf.open(config, driver="timeline", **options)


@pytest.mark.parametrize(
    "ours, theirs",
    [
        ({}, {}),
        ({"randomization_seed": 7, "randomization_window_in_chunks": 2}, {"window": 2, "more": "randomizationSeed = 7"}),
        ({"randomize": False}, {"more": "randomize = false"}),
        ({"truncation_length": 3}, {"more": "truncated = true ; truncationLength = 3"}),
    ],
)
def test_minibatches_are_those_of_the_configuration(corpus, ours, theirs):
    source = MinibatchSource(deserializer(corpus), max_sweeps=2, **ours)
    reader = reference(corpus, epoch_sweeps=2, minibatch_samples=10, **theirs)
    while batch := source.next_minibatch(10):
        expected = reader.read()
        assert rows(batch) == [s.tolist() for s in expected["features"].sequences()]
        assert batch["labels"].sweep_end == expected.end_of_sweep
        assert source.current_position == expected.position
    assert reader.read() is None or not reader.read()
    assert source.next_minibatch(10) == {}, "for ever"


def test_a_training_loop_of_old(corpus):
    x, y = object(), object()  # C.input_variable(...)
    source = C.io.MinibatchSource(deserializer(corpus), randomize=True, max_sweeps=INFINITELY_REPEAT)
    input_map = {x: source.streams.features, y: source.streams.labels}
    seen = 0
    while seen < 3 * sum(corpus.lengths):
        data = source.next_minibatch(16, input_map=input_map)
        assert set(data) == {x, y}
        seen += data[x].num_samples
        values, mask = data[x].asarray(), data[x].mask
        assert values.shape == (data[x].num_sequences, mask.shape[1], 3) == data[x].shape
        assert (mask[:, 0] == 2).all() and (mask > 0).sum() == data[x].num_samples
        labels = data[y].as_sequences()
        assert len(labels) == len(data[y]) == data[y].num_sequences and labels[0].shape[1] == 5
    assert source.streams["labels"].is_sparse and source["features"].shape == (3,)
    assert [info.name for info in source.stream_infos()] == ["features", "labels"]
    assert source.stream_info("labels").storage_format == "sparse"


def test_max_samples_and_full_data_sweep(corpus):
    for given, samples in ((FULL_DATA_SWEEP, sum(corpus.lengths)), (30, 30)):
        source = MinibatchSource(deserializer(corpus), max_samples=given)
        got = 0
        while batch := source.next_minibatch(7):
            got += batch[source.streams.features].num_samples
        assert abs(got - samples) < 10 and (given == 30 or got == samples)


def test_partitions_share_the_data(corpus):
    whole, parts = [], []
    source = MinibatchSource(deserializer(corpus), max_sweeps=1)
    while batch := source.next_minibatch(20):
        whole += rows(batch)
    for index in range(3):
        part = MinibatchSource(deserializer(corpus), max_sweeps=1)
        while batch := part.next_minibatch(20, num_data_partitions=3, partition_index=index):
            if batch["features"].num_sequences:
                parts += rows(batch)
    assert sorted(map(str, parts)) == sorted(map(str, whole))


def test_a_source_is_pickled_with_its_place(corpus):
    source = MinibatchSource(deserializer(corpus), max_sweeps=2, randomization_seed=3)
    source.next_minibatch(9)
    other = pickle.loads(pickle.dumps(source))
    assert [rows(other.next_minibatch(9)) for _ in range(5)] == [rows(source.next_minibatch(9)) for _ in range(5)]


def test_a_checkpoint_goes_on(corpus):
    source = MinibatchSource(deserializer(corpus), max_sweeps=3)
    for _ in range(4):
        source.next_minibatch(9)
    state = json.loads(json.dumps(source.get_checkpoint_state()))
    assert state["minibatchSourcePosition"] == source.current_position
    expected = [rows(source.next_minibatch(9)) for _ in range(5)]
    other = MinibatchSource(deserializer(corpus), max_sweeps=3)
    other.restore_from_checkpoint(state)
    assert [rows(other.next_minibatch(9)) for _ in range(5)] == expected
    with pytest.raises(bf.StateError, match="not batchfeed's"):
        other.restore_from_checkpoint({"minibatchSourcePosition": 9})


def test_the_position_is_a_checkpoint_and_a_number(corpus):
    source = MinibatchSource(deserializer(corpus), max_sweeps=3)
    before = source.current_position
    first = rows(source.next_minibatch(9, input_map={}))
    position, n = source.current_position, source.get_checkpoint_state()["minibatchSourcePosition"]
    assert first and position == source.get_checkpoint_state() and position["minibatchSourcePosition"] == n
    assert position == n == int(position) and position != n + 1 and position - before == n and f"{position:4d}" == f"{n:4d}"
    assert before < position <= n < position + 1 and position > 0 and position >= before and n // 2 == position // 2
    assert (100 / position, 100 // position, 100 % position, 100 - position) == (100 / n, 100 // n, 100 % n, 100 - n)
    expected = rows(source.next_minibatch(9))
    for given in (position, json.loads(json.dumps(position)), pickle.loads(pickle.dumps(position)), dict(position)):
        source.current_position = given
        assert source.current_position == n and rows(source.next_minibatch(9)) == expected
    source.current_position = before
    assert rows(source.next_minibatch(9)) == first
    with pytest.raises(TypeError, match="what get_checkpoint_state\\(\\) or current_position gives, not 9"):
        source.current_position = 9


@pytest.mark.parametrize(
    "name, hint",
    [
        ("epoch_size", "max_samples=n for so many samples, max_sweeps=n"),
        ("randomization_window", "randomization_window_in_chunks=n, or"),
        ("sample_based_randomization_window", "randomization_window_in_samples=n"),
        ("distributed_after", "next_minibatch(num_data_partitions=n, partition_index=i)"),
        ("other", ""),
    ],
)
def test_keywords_of_betas_are_told_what_came_in_their_place(corpus, name, hint):
    with pytest.raises(TypeError) as raised:
        MinibatchSource(deserializer(corpus), **{name: 1})
    assert str(raised.value).startswith(f"unexpected keyword argument {name!r}" + (f": {hint}" if hint else ""))


@pytest.mark.parametrize("rank", [0, 1])
def test_a_checkpoint_brings_its_share_and_its_size(corpus, rank):
    def following(source, size=9, **share):
        return [rows(source.next_minibatch(size, **share)) for _ in range(3)]

    share = {"num_data_partitions": 2, "partition_index": rank}
    source = MinibatchSource(deserializer(corpus), max_sweeps=5)
    following(source, **share)
    state = source.get_checkpoint_state()
    expected = following(source, **share)
    other = MinibatchSource(deserializer(corpus), max_sweeps=5)
    other.restore_from_checkpoint(state)
    assert following(other, **share) == expected
    following(source, 4)
    source.restore_from_checkpoint(state)
    assert following(source, **share) == expected, "of another size and share since"


def test_binary_files_and_stream_configurations(corpus, tmp_path):
    bf.convert(corpus.source(), tmp_path / "t.cbf")
    source = MinibatchSource(CBFDeserializer(str(tmp_path / "t.cbf"), {"features": StreamDef("x", 3), "y": StreamDef("y", 5)}))
    assert source.next_minibatch(5)["features"].num_samples > 0
    assert set(MinibatchSource(CBFDeserializer(str(tmp_path / "t.cbf"))).streams) == {"x", "y"}
    text = CTFDeserializer(corpus.path, [StreamConfiguration("a", 3, stream_alias="x"), StreamConfiguration("y", 5, True)])
    assert MinibatchSource(text).next_minibatch(5)["a"].num_samples > 0


def test_what_cannot_be_asked_for(corpus):
    with pytest.raises(ValueError, match="needs the field"):
        CTFDeserializer(corpus.path, StreamDefs(a=StreamDef(shape=3)))
    with pytest.raises(ValueError, match="shape is 0"):
        CTFDeserializer(corpus.path, StreamDefs(a=StreamDef("x", 0)))
    with pytest.raises(ValueError, match="both windows"):
        MinibatchSource(deserializer(corpus), randomization_window_in_samples=9)
    with pytest.raises(ValueError, match="max_samples and max_sweeps"):
        MinibatchSource(deserializer(corpus), max_samples=9, max_sweeps=1)
    with pytest.raises(ValueError, match="exclude each other"):
        MinibatchSource(deserializer(corpus), frame_mode=True, truncation_length=3)
    with pytest.raises(AttributeError, match="no stream 'feature'"):
        MinibatchSource(deserializer(corpus)).streams.feature


class Counting(UserDeserializer):
    def stream_infos(self):
        return [StreamInformation("n", 0, "dense", np.float32, (2, 2)), StreamInformation("c", 1, "sparse", np.float32, (4,))]

    def num_chunks(self):
        return 3

    def get_chunk(self, chunk_id):
        n = [np.full((length, 2, 2), 10 * chunk_id + length, np.float32) for length in (1, 2)]
        return {"n": n, "c": [scipy.sparse.csr_array(np.eye(4)[:length]) for length in (1, 2)]}


def test_a_user_deserializer(corpus):
    source = MinibatchSource([Counting()], max_sweeps=1, randomize=False)
    batch = source.next_minibatch(100)
    sequences = batch["n"].as_sequences()
    assert [s.shape for s in sequences] == [(1, 2, 2), (2, 2, 2)] * 3
    assert [s.flat[0] for s in sequences] == [1, 2, 11, 12, 21, 22]
    assert batch["c"].as_sequences()[1].toarray().tolist() == np.eye(4)[:2].tolist()
    joined = MinibatchSource([deserializer(corpus), Counting()], max_sweeps=1)
    assert joined.next_minibatch(100)["n"].num_sequences == 6, "keys 0 to 5 are in both"


def test_data_in_memory():
    dense = np.arange(12, dtype=np.float32).reshape(6, 2)
    source = MinibatchSourceFromData({"x": dense, "y": scipy.sparse.csr_array(np.eye(6, dtype=np.float32))}, max_samples=FULL_DATA_SWEEP)
    got = []
    while batch := source.next_minibatch(4):
        got.append(batch["x"].asarray()[:, 0].tolist())
    assert [len(g) for g in got] == [4, 2] and sum(got, []) == dense.tolist()
    sequences = MinibatchSourceFromData({"s": [dense[:4], dense[4:]]}, max_samples=INFINITELY_REPEAT)
    assert sequences.next_minibatch(4)["s"].num_sequences >= 1
    with pytest.raises(ValueError, match="data_streams is empty"):
        MinibatchSourceFromData({})
    with pytest.raises(ValueError, match="stream 'x' has no sequence"):
        MinibatchSourceFromData({"x": []})
    with pytest.raises(ValueError, match="the streams of a chunk differ in sequences: 'x' 6, 'y' 5"):
        MinibatchSourceFromData({"x": dense, "y": dense[:5]})
    lists = MinibatchSourceFromData({"x": [[[1, 2]], [[3, 4], [5, 6]]]})
    assert lists.next_minibatch(3)["x"].asarray().tolist() == [[[1, 2], [0, 0]], [[3, 4], [5, 6]]]
    endless = MinibatchSourceFromData({"x": dense})
    assert [len(endless.next_minibatch(4)["x"]) for _ in range(6)] == [4, 2] * 3, "as CNTK's, whose minibatches end with the data"
    assert endless.is_infinite() and not source.is_infinite()


def test_a_user_minibatch_source_is_what_its_class_says():
    class Mine(UserMinibatchSource):
        def stream_infos(self):
            return [StreamInformation("x", 0, "dense", np.float32, (1,))]

        def next_minibatch(self, num_samples, number_of_workers=1, worker_rank=0, device=None):
            return {self.streams.x: np.zeros(num_samples)}

    mine = Mine()
    assert mine["x"].name == "x" and len(next(iter(mine.next_minibatch(3).values()))) == 3
    assert mine.get_checkpoint_state() == {} and mine.restore_from_checkpoint({}) is None and mine.is_infinite() is False
    with pytest.raises(NotImplementedError, match="Mine cannot restore_from_checkpoint"):
        mine.restore_from_checkpoint({"place": 3})


def test_minibatch_data_of_a_source_of_ones_own():
    class Mine(UserMinibatchSource):
        x = StreamInformation("x", 0, "dense", np.float32, (2,))
        y = StreamInformation("y", 1, "sparse", np.float32, (3,))

        def stream_infos(self):
            return [self.x, self.y]

        def next_minibatch(self, num_samples, number_of_workers=1, worker_rank=0, device=None):
            x = C.MinibatchData([np.ones((2, 2)), np.full((1, 2), 3.0)], 2, 3, True)
            y = C.MinibatchData([scipy.sparse.csr_array(np.eye(3)[:2]), scipy.sparse.csr_array(np.eye(3)[2:])], 2, 3, True)
            return {self.x: x, self.y: y}

    source = Mine()
    batch = source.next_minibatch(3)
    x, y = batch[source.streams.x], batch[source.streams.y]
    assert (len(x), x.num_samples, x.end_of_sweep, x.sweep_end, x.is_sparse, y.is_sparse) == (2, 3, True, True, False, True)
    assert np.asarray(x).tolist() == x.asarray().tolist() and np.asarray(x, np.float64).dtype == np.float64
    assert x.shape == (2, 2, 2) and x.asarray().tolist() == [[[1, 1], [1, 1]], [[3, 3], [0, 0]]] == x.value.tolist()
    assert x.mask.tolist() == y.mask.tolist() == [[2, 1], [2, 0]] and x.data[1].tolist() == [[3, 3]]
    assert y.shape == (2, 2, 3) and [s.shape for s in y.as_sequences()] == [(2, 3), (1, 3)]
    assert repr(x) == "MinibatchData(2 sequences, 3 samples, end of sweep)"
    rectangle = C.MinibatchData(np.ones((4, 5, 6), np.float32), 4, 20, False)
    assert rectangle.shape == (4, 5, 6) and rectangle.mask.tolist() == [[2, 1, 1, 1, 1]] * 4 and rectangle.value.dtype == np.float32


def test_the_mask_says_which_pieces_begin(tmp_path):
    (tmp_path / "t.ctf").write_text("0 |x 0\n" * 5 + "1 |x 1\n" * 2)
    text = CTFDeserializer(str(tmp_path / "t.ctf"), StreamDefs(x=StreamDef("x", 1)))
    source = MinibatchSource(text, max_sweeps=1, truncation_length=3, randomize=False)
    masks = []
    while batch := source.next_minibatch(3):
        masks.append(batch["x"].mask.tolist())
    assert masks == [[[2, 1, 1]], [[1, 1], [2, 0]], [[1]]]


def test_a_stream_that_is_not_there_names_those_that_are(corpus):
    streams = MinibatchSource(deserializer(corpus)).streams
    for get in (lambda: streams.label, lambda: streams["label"]):
        with pytest.raises((KeyError, AttributeError), match="no stream 'label'; there are 'features', 'labels'"):
            get()
    source = MinibatchSource(deserializer(corpus), max_sweeps=1)
    with pytest.raises(KeyError, match="no stream 'label'; there are 'features', 'labels'"):
        source.next_minibatch(1000)["label"]
    with pytest.raises(KeyError, match="the run is over"):
        source.next_minibatch(1000)["labels"]
    assert repr(streams).startswith("Streams(StreamInformation('features', dense, (3,)), ")
    assert pickle.loads(pickle.dumps(streams)) == copy.deepcopy(streams) == streams


def test_sequences_as_text(tmp_path):
    text = C.sequence_to_cntk_text_format(0, {"W": np.array([[1, 0, 0, 0]]), "L": np.array([[2]])})
    assert text == "0\t|L 2 |W 1 0 0 0"
    sparse = scipy.sparse.csr_matrix(([5.0, 2.0, 1.0], [3, 0, 1], [0, 2, 3]), shape=(2, 4))
    text = C.sequence_to_cntk_text_format(7, {"S": sparse, "L": np.array([[2.5]])})
    assert text == "7\t|L 2.5 |S 0:2.0 3:5.0\n7\t|S 1:1.0"
    path = tmp_path / "t.ctf"
    path.write_text(text + "\n")
    np.testing.assert_array_equal(bf.open(path).next()["S"].numpy(), sparse.toarray())


def test_names_are_all_there():
    assert {"MinibatchData", "HTKFeatureDeserializer", "HTKMLFDeserializer", "HTKMLFBinaryDeserializer"} <= set(C.__all__)
    assert all(hasattr(C, name) for name in C.__all__)
    assert C.DEFAULT_RANDOMIZATION_WINDOW_IN_CHUNKS == C.io.DEFAULT_RANDOMIZATION_WINDOW_IN_CHUNKS == 128


def test_the_name_of_old_is_a_module_too():
    import batchfeed.compat.cntk.io
    from batchfeed.compat.cntk.io import MinibatchSource as same

    assert same is C.MinibatchSource is C.io.MinibatchSource
    assert set(batchfeed.compat.cntk.io.__all__) <= set(dir(C))


def test_streams_that_say_the_same_are_one_key():
    class Mine(UserMinibatchSource):
        def stream_infos(self):
            return [StreamInformation("x", 0, "dense", np.float32, (2,))]

        def next_minibatch(self, num_samples, number_of_workers=1, worker_rank=0, device=None):
            return {self["x"]: np.ones((num_samples, 2))}

    source = Mine()
    assert source.next_minibatch(3)[source.streams.x].shape == (3, 2)
    assert source["x"] != StreamInformation("x", 0, "dense", np.float32, (3,)) and source["x"] != "x"
    assert StreamInformation("x", 0, "dense", np.float32, 2) == source["x"]


WHOLE = "expected a whole number"


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda d: MinibatchSource(d, max_samples=0), f"max_samples is 0, {WHOLE}, at least 1"),
        (lambda d: MinibatchSource(d, max_sweeps=1.5), f"max_sweeps is 1.5, {WHOLE}, at least 1"),
        (lambda d: MinibatchSource(d, max_errors=-1), f"max_errors is -1, {WHOLE}"),
        (lambda d: MinibatchSource(d, trace_level="x"), f"trace_level is 'x', {WHOLE}"),
        (lambda d: MinibatchSource(d, randomize="no"), "randomize is 'no', expected True or False"),
        (lambda d: MinibatchSource(d).next_minibatch(None), f"minibatch_size_in_samples is None, {WHOLE}, at least 1"),
        (lambda d: MinibatchSource(d).next_minibatch(5, num_data_partitions=0), f"num_data_partitions is 0, {WHOLE}"),
        (lambda d: MinibatchSource(d).next_minibatch(5, None, None, 2, 2), f"partition_index is 2, {WHOLE} below"),
        (lambda d: MinibatchSource(d).next_minibatch(5, {"a": "features"}), "input_map is {'a': 'features'}, expected"),
        (lambda d: CTFDeserializer(3, {}), "filename is 3, expected a path"),
        (lambda d: C.HTKFeatureDeserializer(StreamDefs(a=StreamDef(shape=3, scp="a.scp", context=3))), "context of stream 'a' is 3"),
        (lambda d: C.HTKFeatureDeserializer(StreamDefs(a=StreamDef(shape=3, scp=3))), "scp is 3, expected a path"),
        (lambda d: C.HTKMLFDeserializer(None, StreamDefs(a=StreamDef(shape=3, mlf=[3]))), "one of mlf is 3, expected a path"),
        (lambda d: MinibatchSource(d).restore_from_checkpoint({"batchfeed": None}), "a state is a mapping, as state_dict() gives it; got NoneType"),
        (lambda d: MinibatchSourceFromData(3), "data_streams is 3, expected {name: data}"),
        (lambda d: MinibatchSourceFromData({"x": [1, 2]}), "a sequence is an array [samples, ...] or a matrix, not 1"),
    ],
)
def test_arguments_are_told_by_the_names_of_old(corpus, call, message):
    with pytest.raises((bf.ConfigError, TypeError)) as raised:
        call(deserializer(corpus))
    assert message in str(raised.value)


def test_speech_files_are_any_paths():
    for scp in ("a.scp", Path("a.scp"), ["a.scp"], [Path("a.scp")]):
        assert C.HTKFeatureDeserializer(C.StreamDefs(a=C.StreamDef(shape=3, scp=scp)))[0]["input"]["a"]["scpFile"] == "a.scp"
    for mlf in (Path("a.mlf"), ["a.mlf"]):
        assert C.HTKMLFDeserializer(None, C.StreamDefs(a=C.StreamDef(shape=3, mlf=mlf)))[0]["input"]["a"]["mlfFile"] == "a.mlf"


def test_a_length_that_nobody_reads_is_told(tmp_path, caplog):
    scp = tmp_path / "a.scp"
    bf.convert(bf.Arrays({"x": np.ones((6, 3), np.float32)}, lengths=[1, 2, 3]), scp)
    for stream, told in ((StreamDef(shape=3, scp=scp), []), (StreamDef(shape=3, scp=scp, max_sequence_length=2), ["maxSequenceSize"])):
        caplog.clear()
        source = MinibatchSource(C.HTKFeatureDeserializer(StreamDefs(f=stream)), max_sweeps=1)
        assert [word for record in caplog.records for word in ["maxSequenceSize"] if word in record.getMessage()] == told
        assert source.next_minibatch(10)["f"].num_sequences == 3


def test_what_is_no_loop_says_so(corpus):
    source = C.MinibatchSource(C.CTFDeserializer(corpus.path, C.StreamDefs(x=C.StreamDef("x", 3))))
    with pytest.raises(TypeError, match="not iterable"):
        iter(source)


def test_paths_with_what_configurations_take_for_a_variable():
    streams = C.StreamDefs(x=C.StreamDef("x", 3))
    with pytest.raises(ValueError, match="takes for a variable"):
        C.MinibatchSource(C.CTFDeserializer("/data/$x$.ctf", streams))
    with pytest.raises(bf.MissingFileError) as raised:
        C.MinibatchSource(C.CTFDeserializer("/data/$x.ctf", streams))
    assert raised.value.hint == "there is no folder '/data'"  # and not where in the text that is made of it


def test_one_of_a_kind_is_no_plural(corpus):
    source = C.MinibatchSource(C.CTFDeserializer(corpus.path, C.StreamDefs(x=C.StreamDef("x", 3))), randomize=False)
    (data,) = source.next_minibatch(3).values()
    assert repr(data) == "MinibatchData('x', 1 sequence, 3 samples)"
