"""The posterior of randomised response (or OUE with full patterns) by NUTS in a generic library, for comparison.

Not needed by any test. Needs `pip install numpyro`. Prints CPU seconds and the smallest effective sample size.

    python posterior_numpyro.py grr 128 100000 1.0
    python posterior_numpyro.py oue 128 100000 1.0
"""

import sys
import time

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from jax import random
from numpyro.diagnostics import effective_sample_size
from numpyro.infer import MCMC, NUTS

kind, a, n, epsilon = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
rng = np.random.default_rng(1)
p = 1.0 / (np.arange(a) + 3.0)
p /= p.sum()
x = rng.choice(a, size=n, p=p)

if kind == "grr":
    beta = np.expm1(epsilon)
    honest = rng.random(n) < beta / (a + beta)
    counts = jnp.asarray(np.bincount(np.where(honest, x, rng.integers(0, a, n)), minlength=a))

    def model():
        q = numpyro.sample("p", dist.Dirichlet(0.5 * jnp.ones(a)))
        numpyro.factor("likelihood", jnp.sum(counts * jnp.log1p(beta * q)))
else:
    kappa, noise = 0.5, 1.0 / (np.exp(epsilon) + 1.0)
    bits = rng.random((n, a)) < noise
    bits[np.arange(n), x] = rng.random(n) < kappa
    member, other = kappa / noise, (1.0 - kappa) / (1.0 - noise)
    patterns = jnp.asarray(bits, dtype=jnp.float32)

    def model():
        q = numpyro.sample("p", dist.Dirichlet(0.5 * jnp.ones(a)))
        numpyro.factor("likelihood", jnp.sum(jnp.log(other + (member - other) * (patterns @ q))))


start = time.process_time()
mcmc = MCMC(NUTS(model), num_warmup=300, num_samples=700, progress_bar=False)
mcmc.run(random.PRNGKey(0))
sizes = effective_sample_size(np.asarray(mcmc.get_samples()["p"])[None])
print(f"{kind} a={a} n={n}: {time.process_time() - start:.1f} CPU-s, smallest effective sample size {sizes.min():.0f}")
