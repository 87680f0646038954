# SPDX-License-Identifier: MIT
"""Streams as arrays of JAX."""
import numpy as np
import pytest

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
