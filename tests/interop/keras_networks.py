"""Writes the networks in keras/: `python keras_networks.py`, in an environment with TensorFlow.

Each is a Keras model, frozen by TensorFlow with its batch left open, and an
.npz of an input with what TensorFlow computes from it.
"""

import os
from pathlib import Path

os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"  # the same numbers on every machine

import numpy as np
import tensorflow as tf
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

layers, Input, Model = tf.keras.layers, tf.keras.Input, tf.keras.Model


def cnn():
    """Convolutions of three kinds, batch normalisation, both poolings, dropout, softmax."""
    image = Input((8, 8, 1))
    x = layers.Conv2D(4, 3, padding="same", strides=2, activation="relu")(image)
    x = layers.DepthwiseConv2D(3, padding="same")(layers.BatchNormalization()(x))
    x = layers.Conv2DTranspose(3, 2, strides=2)(layers.MaxPooling2D()(x))
    x = layers.Dropout(0.5)(layers.Flatten()(layers.AveragePooling2D(2)(x)))
    return Model(image, layers.Dense(3, activation="softmax")(x))


def mlp():
    vector = Input((5,))
    return Model(vector, layers.Dense(3)(layers.Dense(7, activation="gelu")(vector)))


def transformer():
    """Self-attention with layer normalisation; its dense layers multiply three axes."""
    words = Input((4, 6))
    x = layers.LayerNormalization()(layers.Dense(6)(words) + words)
    x = layers.Dense(3)(layers.MultiHeadAttention(2, 4)(x, x))
    return Model(words, layers.GlobalAveragePooling1D()(x))


def gru():
    """A recurrent layer, its steps written out."""
    words = Input((4, 6))
    return Model(words, layers.GRU(3, unroll=True)(words))


def write(make, folder):
    random, model = np.random.default_rng(1), make()
    for weight in model.weights:
        if "seed" not in weight.path:
            weight.assign(random.uniform(0.1, 0.6, weight.shape))
    called = tf.function(lambda x: model(x, training=False))
    shape = model.input_shape
    frozen = convert_variables_to_constants_v2(called.get_concrete_function(tf.TensorSpec(shape, tf.float32, "x")))
    x = random.normal(size=(2, *shape[1:])).astype(np.float32)
    (folder / f"{make.__name__}.pb").write_bytes(frozen.graph.as_graph_def().SerializeToString())
    np.savez(folder / f"{make.__name__}.npz", x=x, y=frozen(tf.constant(x))[0].numpy())


if __name__ == "__main__":
    for make in (cnn, mlp, transformer, gru):
        write(make, Path(__file__).parent / "keras")
