# SPDX-License-Identifier: MIT
"""Streams as arrays of JAX."""
import os
import socket
import subprocess
import sys

import numpy as np
import pytest

import batchfeed as bf

jax = pytest.importorskip("jax")
import jax.numpy as jnp


def test_dense_streams(corpus):
    for batch in corpus.reader():
        x = batch["x"].jax()
        assert isinstance(x, jax.Array) and x.shape == batch["x"].shape and x.dtype == jnp.float32
        np.testing.assert_array_equal(np.asarray(x), batch["x"].numpy())
        np.testing.assert_array_equal(np.asarray(jnp.from_dlpack(batch["x"])), batch["x"].numpy())


def test_arrays_outlive_the_minibatch(corpus):
    reader = corpus.reader(shuffle=False)
    kept = [batch["x"].jax() for batch in reader]
    reader.close()
    del reader
    np.testing.assert_array_equal(np.concatenate([np.asarray(x) for x in kept]), np.concatenate(corpus.dense))


def test_a_step_of_training(corpus):
    @jax.jit
    def loss(weights, x, labels):
        return -jnp.take_along_axis(jax.nn.log_softmax(x @ weights), labels[:, None], axis=1).mean()

    weights = jnp.zeros((corpus.dim, corpus.classes))
    before = after = None
    for batch in corpus.reader(minibatch_samples=200).epochs(20):
        value, gradient = jax.value_and_grad(loss)(weights, batch["x"].jax(), jnp.asarray(batch["y"].classes()))
        weights -= 0.5 * gradient
        before, after = before or float(value), float(value)
    assert after < before


def test_sparse_and_padded_streams(corpus):
    batch = next(iter(corpus.reader(minibatch_samples=30)))
    weights = np.arange(corpus.classes * 2, dtype=np.float32).reshape(corpus.classes, 2)
    product = jax.jit(lambda y, w: y @ w)(batch["y"].jax(), weights)
    np.testing.assert_array_equal(np.asarray(product), batch["y"].csr() @ weights)
    np.testing.assert_array_equal(np.asarray(batch["x"].jax("padded")), batch["x"].padded().values)
    both = batch.jax({"y": "classes"})
    assert both["y"].dtype == jnp.int32 and both["y"].tolist() == batch["y"].classes().tolist()
    assert jax.jit(lambda tree: tree["x"].sum())(both) == batch["x"].jax().sum()
    with pytest.raises(KeyError, match="no stream 'z'"):
        batch.jax({"z": "padded"})
    with pytest.raises(TypeError, match="stream 'x' is dense, classes"):
        batch["x"].jax("classes")
    with pytest.raises(ValueError, match="expected 'packed'"):
        batch["x"].jax("nested")


def test_sizes_that_stay_compile_once(corpus):
    compiled = 0

    @jax.jit
    def step(weights, x, steps, rows, classes, words):
        nonlocal compiled
        compiled += 1
        words = jnp.where(words >= 0, words, 0) * (words >= 0)
        return x.sum(), steps.sum(), rows @ weights, classes, words

    weights = np.arange(corpus.classes * 2, dtype=np.float32).reshape(corpus.classes, 2)
    reader = corpus.reader(minibatch_size=4, size_unit="sequences")
    for batch in reader.epochs(2):
        x, y = batch["x"], batch["y"]
        dense, rectangle = x.jax(samples=36), x.jax("padded", sequences=4, steps=9)
        rows, classes = y.jax(samples=36, entries=40), y.jax("classes", samples=36)
        words = y.jax("classes", sequences=4, steps=9)
        total, cells, product, _, _ = step(weights, dense, rectangle, rows, classes, words)
        n = x.num_samples
        assert dense.shape == (36, corpus.dim) and rectangle.shape == (4, 9, corpus.dim) and rows.shape == (36, corpus.classes)
        np.testing.assert_array_equal(np.asarray(dense)[:n], x.numpy())
        np.testing.assert_allclose([total, cells], x.numpy().sum(), rtol=1e-4)
        np.testing.assert_array_equal(np.asarray(product)[:n], y.csr() @ weights)
        assert not np.asarray(product)[n:].any()
        assert classes.tolist() == [*y.classes().tolist(), *[-1] * (36 - n)]
        mask = np.asarray(words) >= 0
        np.testing.assert_array_equal(mask, x.padded(sequences=4, steps=9).mask)
        np.testing.assert_array_equal(np.asarray(words)[mask], y.classes())
    assert compiled == 1


@pytest.mark.parametrize(
    "name, form, sizes, message",
    [
        ("x", "packed", {"samples": 1}, "samples is 1, and stream 'x' has [0-9]+ samples"),
        ("y", "packed", {"entries": 1}, "entries is 1, and stream 'y' has [0-9]+ entries"),
        ("x", "packed", {"entries": 99}, "entries is given for form 'packed' of the dense stream 'x'; hint: it has samples"),
        ("x", "padded", {"samples": 99}, "samples is given for form 'padded' of the dense stream 'x'; hint: it has sequences and steps"),
        ("y", "classes", {"samples": 99, "steps": 99}, "samples is given with sequences or steps"),
    ],
)
def test_sizes_that_do_not_fit(corpus, name, form, sizes, message):
    with pytest.raises(bf.ConfigError, match=message):
        corpus.reader(minibatch_samples=30).next()[name].jax(form, **sizes)


PAGE = """
import sys
import jax
sys.path[:0] = [sys.argv[1]]
import test_docs

import batchfeed as bf

with bf.Writer("trips.ctf", {"word": bf.sparse(20), "tag": bf.sparse(5)}) as writer:
    for n in range(100):
        writer.append({"word": [i % 20 for i in range(1 + n % 40)], "tag": [i % 5 for i in range(1 + n % 40)]})
first = {}
for snippet in test_docs.blocks(test_docs.ROOT / "docs/how-to/train-with-jax.md"):
    test_docs.run(snippet, first)
again = {}
test_docs.run(test_docs.blocks(test_docs.ROOT / "docs/how-to/train-with-jax.md")[0], again)
assert first["step"]._cache_size() == 1 and first["weights"].any()
assert again["run"]["state"]["epoch"] == 9 and (again["weights"] == first["weights"]).all()
assert len(first["words"].sharding.device_set) == len(jax.devices()) == 4
assert first["words"].shape == (32, 50, 20)
"""


def test_the_page_on_four_devices(tmp_path):
    environment = {**os.environ, "XLA_FLAGS": "--xla_force_host_platform_device_count=4"}
    command = [sys.executable, "-c", PAGE, os.path.dirname(os.path.abspath(__file__))]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


def test_arrays_may_be_donated(corpus):
    double = jax.jit(lambda x: 2 * x, donate_argnums=0)
    for batch in corpus.reader():
        before = batch["x"].numpy().copy()
        np.testing.assert_array_equal(np.asarray(double(batch["x"].jax())), 2 * before)
        np.testing.assert_array_equal(batch["x"].numpy(), before)


RANK = """
import sys
import jax
jax.distributed.initialize(sys.argv[2], num_processes=2, process_id=int(sys.argv[3]))
import batchfeed as bf
reader = bf.open(sys.argv[1], minibatch_samples=7, shuffle=False, **bf.world())
print(bf.world(), *sorted(key for batch in reader for key in batch.sequence_keys), sep=",")
"""


def test_processes_of_jax_are_ranks(corpus):
    with socket.socket() as free:
        free.bind(("localhost", 0))
        address = f"localhost:{free.getsockname()[1]}"
    commands = [[sys.executable, "-c", RANK, corpus.path, address, str(rank)] for rank in range(2)]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for command in commands]
    said = [one.communicate(timeout=120)[0] for one in running]
    assert [text.startswith(f"{{'workers': 2, 'rank': {rank}}},") for rank, text in enumerate(said)] == [True, True], said
    keys = [text.strip().split("},")[1].split(",") for text in said]
    assert sorted(keys[0] + keys[1], key=int) == [str(key) for key in range(15)]
