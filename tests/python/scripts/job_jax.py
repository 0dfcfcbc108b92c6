"""A small job of JAX: compiled code and a gradient."""

import jax
import jax.numpy as jnp


@jax.jit
def loss(weights, inputs):
    return jnp.square(inputs @ weights).mean()


weights = jax.random.normal(jax.random.key(0), (128, 16))
inputs = jax.random.normal(jax.random.key(1), (256, 128))
print(f"{loss(weights, inputs):.5f} {jnp.abs(jax.grad(loss)(weights, inputs)).sum():.5f}")
