"""Writes the reference tables in tests/tables/*.rs, with mpmath and, where it matters, Arb (python-flint), at 60 digits.

Every value comes from a textbook form (no rearrangement against cancellation): the integrals of E[ln L] and E[L ln L] over
t with the trapezoidal rule of step 0.1 in ln t (error e^{-98}), the unary encoding integral with Psi(t), the subset
selection integral with elementary symmetric polynomials. `check_definitions` compares these forms with the definitions: an
integral over the Beta density and a sum over all outputs.

Run: python3 crates/core/tests/tables.py
"""
import itertools
import math
import os
import random
from flint import arb, ctx
from mpmath import mp, mpf

mp.dps = 60
ctx.prec = 240
HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tables")
STEP = arb(1) / 10


def exp(x):
    return x.exp()


def log(x):
    return x.log()


def digamma(x):
    return x.digamma()


def nodes(left, right):
    k = int(float(left / STEP)) - 1
    while k * STEP <= right:
        yield exp(k * STEP)
        k += 1


def span(coefficients, alpha0):
    big, small = max(coefficients), min(c for c in coefficients if c > 0)
    left = -110 - log(big) - log(1 + alpha0)
    right = 110 + (-log(small) if small < 1 else 0)
    return left, right


def mean_ln_plain(pairs):
    """E[ln L], pairs (alpha, c)."""
    alpha0 = sum(a for a, _ in pairs)
    left, right = span([c for _, c in pairs] + [arb(1)], alpha0)
    total = arb(0)
    for t in nodes(left, right * max(1, 1 / sum(a for a, c in pairs if c > 0))):
        phi = exp(-sum(a * (c * t).log1p() for a, c in pairs))
        total += exp(-alpha0 * (t).log1p()) - phi
    return total * STEP


def mean_ln(pairs):
    positive = [(a, c) for a, c in pairs if c > 0]
    plus, alpha0 = sum(a for a, _ in positive), sum(a for a, _ in pairs)
    zero = digamma(plus) - digamma(alpha0) if len(positive) < len(pairs) else arb(0)
    if len(positive) == 1:
        return zero + log(positive[0][1])
    if plus >= 1:
        return zero + mean_ln_plain(positive)
    out = arb(0)
    for i, (a, _) in enumerate(positive):
        raised = [(b + (1 if i == j else 0), c) for j, (b, c) in enumerate(positive)]
        out += a / plus * mean_ln_plain(raised)
    return zero + out


def mean_x_ln_x(pairs):
    """E[L ln L]."""
    alpha0 = sum(a for a, _ in pairs)
    m = sum(a * c for a, c in pairs) / alpha0
    left, right = span([c for _, c in pairs] + [arb(1)], alpha0)
    total = arb(0)
    for t in nodes(left, right):
        phi = exp(-sum(a * (c * t).log1p() for a, c in pairs if c > 0))
        biased = sum(a * c / (1 + c * t) for a, c in pairs) / alpha0
        total += m * exp(-(alpha0 + 1) * (t).log1p()) - phi * biased
    return total * STEP


def xlogx(x):
    return x * log(x) if x > 0 else arb(0)


def merged(pairs):
    groups = {}
    for a, c in pairs:
        key = str(c)
        groups[key] = (groups.get(key, (arb(0), c))[0] + a, c)
    return list(groups.values())


def row(pairs):
    pairs = merged([(arb(a), arb(c)) for a, c in pairs])
    alpha0 = sum(a for a, _ in pairs)
    if len(pairs) == 1:
        return arb(0)
    return sum(a / alpha0 * xlogx(c) for a, c in pairs) - mean_x_ln_x(pairs)


def entropy(groups):
    alpha0 = sum(arb(a) * n for a, n in groups)
    return sum(n * arb(a) / alpha0 * (digamma(alpha0 + 1) - digamma(arb(a) + 1)) for a, n in groups)


def grr(epsilon, groups):
    e = exp(arb(epsilon))
    inputs = sum(n for _, n in groups)
    alpha0 = sum(arb(a) * n for a, n in groups)
    scale = e + inputs - 1
    return sum(n * row([(a, e / scale), (alpha0 - arb(a), 1 / scale)]) for a, n in groups)


def unary(kappa, lam, groups):
    A, B = kappa / lam, (1 - kappa) / (1 - lam)
    alpha0 = sum(arb(a) * n for a, n in groups)
    left, right = span([A, B, arb(1)], alpha0)
    total = arb(0)
    for t in nodes(left, right):
        la, lb = (A * t).log1p(), (B * t).log1p()
        ln_psi, slope = arb(0), arb(0)
        for a, n in groups:
            a = arb(a)
            one, zero = lam * exp(-a * la), (1 - lam) * exp(-a * lb)
            ln_psi += n * log(one + zero)
            slope -= n * a * (one * A / (1 + A * t) + zero * B / (1 + B * t)) / (one + zero)
        total += exp(-(alpha0 + 1) * (t).log1p()) + exp(ln_psi) * slope / alpha0
    kl = lam * xlogx(A) + (1 - lam) * xlogx(B)
    return kl - total * STEP


def subsets(k, epsilon, alphas):
    """Subset selection by elementary symmetric polynomials with their derivative in t."""
    a, e = len(alphas), exp(arb(epsilon))
    scale = k * e + a - k
    A, B = a * e / scale, a / scale
    alphas = [arb(x) for x in alphas]
    alpha0 = sum(alphas)
    left, right = span([A, B, arb(1)], alpha0)
    total, count = arb(0), math.comb(a, k)
    for t in nodes(left, right):
        la, lb, sa, sb = (A * t).log1p(), (B * t).log1p(), A / (1 + A * t), B / (1 + B * t)
        value, slope = [arb(1)] + [arb(0)] * k, [arb(0)] * (k + 1)
        for x in alphas:
            p, q = exp(-x * la), exp(-x * lb)
            dp, dq = -x * sa * p, -x * sb * q
            for j in range(k, -1, -1):
                v, s = (value[j - 1], slope[j - 1]) if j else (0, 0)
                slope[j] = slope[j] * q + value[j] * dq + s * p + v * dp
                value[j] = value[j] * q + v * p
        total += exp(-(alpha0 + 1) * (t).log1p()) + slope[k] / count / alpha0
    q = arb(k) / a
    return q * xlogx(A) + (1 - q) * xlogx(B) - total * STEP


def check_definitions():
    beta = lambda a, b, f: mp.quad(lambda p: p ** (a - 1) * (1 - p) ** (b - 1) * f(p), [0, 0.5, 1]) / mp.beta(a, b)
    for a, b, c, d in [(1, 2, 3, 0.5), (2.5, 1.5, 1e-3, 2)]:
        pairs = [(arb(a), arb(c)), (arb(b), arb(d))]
        a, b, c, d = map(mpf, (a, b, c, d))
        direct = beta(a, b, lambda p: (c * p + d * (1 - p)) * mp.log(c * p + d * (1 - p)))
        assert abs(arb(direct) / mean_x_ln_x(pairs) - 1) < 1e-20
        direct = beta(a, b, lambda p: mp.log(c * p + d * (1 - p)))
        assert abs(arb(direct) / mean_ln(pairs) - 1) < 1e-20
    alphas, kappa, lam = [arb(1) / 2, arb(2), arb(3)], arb(3) / 4, arb(1) / 5
    rows = itertools.product([0, 1], repeat=3)
    likelihood = lambda y, x: math.prod((kappa if i == x else lam) if bit else 1 - (kappa if i == x else lam)
                                       for i, bit in enumerate(y))
    brute = sum(row([(a, likelihood(y, x)) for x, a in enumerate(alphas)]) for y in rows)
    assert abs(brute / unary(kappa, lam, [(a, 1) for a in alphas]) - 1) < 1e-30
    e, k = exp(arb(1)), 2
    rows = itertools.combinations(range(3), k)
    brute = sum(row([(a, (e if x in y else 1) / (2 * e + 1)) for x, a in enumerate(alphas)]) for y in rows)
    assert abs(brute / subsets(k, 1, alphas) - 1) < 1e-30


def num(x):
    if isinstance(x, arb):
        assert x.rel_accuracy_bits() > 66, x
        x = mpf(x.str(30, radius=False))
    return repr(float(x))


def dbl(x):
    text = repr(float(x))
    return text if "inf" not in text else "f64::INFINITY"


def write(name, declarations):
    with open(os.path.join(HERE, name), "w") as out:
        out.write("// Written by tests/tables.py: inputs are doubles, values are the doubles nearest to 60 digits.\n")
        for constant, kind, rows in declarations:
            out.write(f"\nconst {constant}: &[{kind}] = &[\n")
            out.writelines(f"    {r},\n" for r in rows)
            out.write("];\n")


def special():
    xs = [1e-8, 1e-3, 0.1, 0.5, 0.9999999, 1.0000001, 1.4616, 1.4616321449683622, 1.5, 1.9999, 2.0001, 3.7, 9.99, 10.0, 12.5, 100.3, 12345.6, 1e6, 1e8]
    one = lambda f, pts: [f"({dbl(x)}, {num(f(mpf(x)))})" for x in pts]
    small = [s * z for z in [1e-15, 1e-9, 1e-6, 1e-3, 0.01, 0.1, 0.3, 0.4999, 0.5, 0.5001, 0.9] for s in (1, -1)]
    large = [1.0, 1.7, 10.0, 1e3, 1e10, 1e22]
    near = [-0.99, -0.999999]
    two = lambda f, pts: [f"({dbl(x)}, {dbl(y)}, {num(f(mpf(x), mpf(y)))})" for x, y in pts]
    grid = [1e-8, 1e-3, 0.5, 1.0, 9.0, 11.0, 300.5, 1e5, 1e8]
    pw = [(z, a) for a in [1e-3, 0.01, 0.5, 1, 3.3, 100, 1e4, 1e6]
          for z in [s * y for y in [1e-12, 1e-9, 1e-6, 1e-3, 0.1, 0.3, 0.9] for s in (1, -1)] + [1.0, 30.0, 1e3]
          if a * abs(mp.log1p(z)) <= 10]
    phi = lambda d: (1 + d) * mp.log1p(d) - d
    bits = [(n, q, x) for n in [1, 7, 60, 1000, 10**4] for q in [0.25, 0.01, 0.9]
            for x in sorted({round(n * q + d * mp.sqrt(n * q * (1 - q))) for d in [-9, -3, 0, 1, 8]}) if 0 <= x <= n]
    binomial = lambda n, q, x: mp.binomial(n, x) * mpf(q) ** x * (1 - mpf(q)) ** (n - x)
    ln_beta = lambda g: sum(n * mp.loggamma(mpf(a)) for a, n in g) - mp.loggamma(sum(n * mpf(a) for a, n in g))
    lists = [[(a, n)] for a in [1e-3, 0.5, 1.0, 9.5, 10.0, 300.0, 1e6] for n in [1, 2, 3, 100, 10**6]]
    lists += [[(0.5, 3), (20.0, 2)], [(10.0, 1), (1e6, 2)], [(0.01, 1000), (1e4, 1)], [(1e-8, 1), (1e8, 1)]]
    mp.dps = 90
    write("special.rs", [
        ("LN_BETA_GROUPS", "(&[(f64, usize)], f64)", [f"({groups_text(g)}, {num(ln_beta(g))})" for g in lists]),
        ("BINOMIAL", "(f64, f64, f64, f64)", [f"({dbl(n)}, {q}, {dbl(x)}, {num(binomial(n, q, x))})" for n, q, x in bits]),
        ("LN_GAMMA", "(f64, f64)", one(mp.loggamma, xs)),
        ("DIGAMMA", "(f64, f64)", one(mp.digamma, xs)),
        ("TRIGAMMA", "(f64, f64)", one(lambda x: mp.psi(1, x), xs)),
        ("LN1P_EXCESS", "(f64, f64)", one(lambda z: mp.log1p(z) - z, small + near + large)),
        ("EXCESS_ENTROPY", "(f64, f64)", one(phi, small + near + large)),
        ("EXP_M1_EXCESS", "(f64, f64)", one(lambda y: mp.exp(y) - 1 - y, small + [1.0, -1.0, 1.1, -1.1, 5.0, -5.0, 30.0, -30.0])),
        ("POWER_EXCESS", "(f64, f64, f64)", two(lambda z, a: mp.exp(-a * mp.log1p(z)) - 1 + a * z, pw)),
        ("DIGAMMA_DIFFERENCE", "(f64, f64, f64)", two(lambda x, d: mp.digamma(x + d) - mp.digamma(x),
            [(x, d) for x in [1e-8, 1e-3, 0.5, 1.0, 1.001, 5.0, 9.99, 10.0, 1e3, 1e7] for d in [1e-9, 1e-3, 0.7, 20, 1e4, 1e7]])),
        ("LN_BETA", "(f64, f64, f64)", two(lambda x, y: mp.loggamma(x) + mp.loggamma(y) - mp.loggamma(x + y),
            [(x, y) for x in grid for y in grid if x <= y])),
    ])
    mp.dps = 60


def form_row(pairs):
    exact = merged([(arb(a), 1 + arb(d)) for a, d in pairs])
    alpha0 = sum(a for a, _ in exact)
    m = sum(a * c for a, c in exact) / alpha0
    excess = (mean_x_ln_x(exact) - xlogx(m)) / m
    gap = sum(a / alpha0 * xlogx(c / m) for a, c in exact) - excess
    inner = ", ".join(f"({dbl(a)}, {dbl(d)})" for a, d in pairs)
    return f"(&[{inner}], {num(mean_ln(exact) - log(m))}, {num(excess)}, {num(gap)})"


def random_forms():
    """Zero coefficients of nearly all or nearly no weight, rare coefficients apart from the others: each has broken a bound."""
    random.seed(31337)
    rows = []
    for _ in range(160):
        scale = spread_over(1e-3, 1e7)
        kinds = lambda: random.choice([0.0, -1.0, -1.0, spread_over(1e-9, 1e-3), -spread_over(1e-9, 0.99),
                                       spread_over(1e-3, 1e3), spread_over(1, 1e22)])
        deviations = [kinds() for _ in range(random.randint(2, 5))]
        if max(deviations) > -1 and len(set(deviations)) > 1:
            rows.append(form_row([(scale * spread_over(1e-9, 1), d) for d in deviations]))
    rows.append(form_row([(7.9025e-6, 1.88e-7), (0.018, 0.0), (8.938e-10, -1.01e-5)]))
    return rows


def dirichlet_mean():
    rows = []
    for scale in [1e-3, 0.01, 0.5, 3, 100, 1e4, 1e6, 1e7]:
        for d in [1e-9, 1e-6, 1e-3, 0.5, 1.718281828459045, 1e4, float(math.expm1(20)), float(math.expm1(50))]:
            rows.append(form_row([(scale * 0.25, d), (scale * 0.75, 0.0)]))
        for d in [1e-9, 0.3, 1e8]:
            rows.append(form_row([(scale * 1e-6, d), (scale, 0.0)]))
            rows.append(form_row([(scale, d), (scale * 1e-6, 0.0)]))
        rows.append(form_row([(scale * 0.3, -1.0), (scale * 0.7, 0.0)]))
        rows.append(form_row([(scale * 0.3, -1.0), (scale * 0.5, 0.0), (scale * 0.2, 1e-7)]))
        rows.append(form_row([(0.01, 1e6), (scale, 0.0), (0.01, -1.0)]))
        rows.append(form_row([(scale * w, d) for w, d in [(0.1, 0.0), (0.2, 3e5), (0.3, 1.0), (0.2, 1e11), (0.2, 1e22)]]))
        print("dirichlet_mean", scale, flush=True)
    rows += random_forms()
    write("dirichlet_mean.rs", [("FORMS", "(&[(f64, f64)], f64, f64, f64)", rows)])


EPSILONS = [1e-6, 1e-3, 1, 20, 50]
ALPHAS = [0.01, 0.5, 1, 1e4]
SKEWED = [[(0.01, 1), (1e4, 1)], [(0.5, 3), (2.25, 4)], [(1e-3, 2), (1e6, 1)], [(0.3, 1), (0.7, 1), (1.9, 2), (40, 1)]]


def groups_text(groups):
    return "&[" + ", ".join(f"({dbl(a)}, {n})" for a, n in groups) + "]"


def spread_over(low, high):
    """A number of few digits, uniform in the logarithm."""
    return float(f"{math.exp(random.uniform(math.log(low), math.log(high))):.3g}")


def random_leakages():
    """Extremes met by chance: bit probabilities next to 0 and 1, priors of very unequal alphas."""
    random.seed(2)
    bits, sets = [], []
    end = lambda: random.choice([random.uniform(0.01, 0.99), spread_over(1e-9, 1e-2), 1 - spread_over(1e-6, 1e-2)])
    for _ in range(120):
        kappa, lam = end(), end()
        if random.random() < 0.3:
            kappa = min(max(lam * (1 + random.choice([-1, 1]) * spread_over(1e-6, 1)), 0.0), 1.0)
        g = [(spread_over(1e-3, 1e6), random.choice([1, 1, 2, 50])) for _ in range(random.randint(1, 4))]
        if sum(n for _, n in g) > 1:
            bits.append(f"({dbl(kappa)}, {dbl(lam)}, {groups_text(g)}, {num(unary(arb(kappa), arb(lam), g))})")
    for _ in range(60):
        a = random.randint(2, 7)
        alphas = [spread_over(1e-3, random.choice([1, 1e6])) for _ in range(a)]
        k, e = random.randint(1, a - 1), spread_over(1e-6, 60)
        inner = ", ".join(dbl(x) for x in alphas)
        sets.append(f"({k}, {dbl(e)}, &[{inner}], {num(subsets(k, e, alphas))})")
    return bits, sets


def leakage():
    symmetric = lambda sizes: [[(alpha, a)] for alpha in ALPHAS for a in sizes]
    entropies = [f"({groups_text(g)}, {num(entropy(g))})" for g in symmetric([2, 3, 10, 1000, 10**6]) + SKEWED
                 + [[(1e-9, 2)], [(1e-9, 1), (1e6, 1)]]]
    response = [f"({dbl(e)}, {groups_text(g)}, {num(grr(e, g))})" for g in symmetric([2, 3, 10, 1000, 10**6]) + SKEWED for e in EPSILONS]
    print("grr", flush=True)
    bits = []
    for g in symmetric([2, 3, 10, 1000, 10**4]) + SKEWED:
        for e in EPSILONS:
            half, full = exp(arb(e) / 2), exp(arb(e))
            rappor = unary(half / (1 + half), 1 / (1 + half), g)
            oue = unary(arb(1) / 2, 1 / (1 + full), g)
            lh = unary(full / (full + 999), arb(1) / 1000, g)
            bits.append(f"({dbl(e)}, {groups_text(g)}, [{num(rappor)}, {num(oue)}, {num(lh)}])")
    print("unary", flush=True)
    edges = []
    for kappa, lam in [(1.0, 0.25), (0.0, 0.25), (0.25, 0.75), (0.75, 0.9990234375), (2e-10, 1e-10), (1.0, 1e-200), (0.5, 1e-30), (0.2, 0.8)]:
        for g in [[(0.5, 2)], [(1.0, 10)], SKEWED[0], SKEWED[1]]:
            edges.append(f"({dbl(kappa)}, {dbl(lam)}, {groups_text(g)}, {num(unary(arb(kappa), arb(lam), g))})")
    print("edges", flush=True)
    sets = []
    random.seed(1)
    spread = [round(random.uniform(0.1, 3), 3) for _ in range(12)]
    for k, alphas in [(2, [0.5, 1.0, 2.5]), (1, [0.01, 1e4]), (2, [1e-3, 1e-3, 1e6]), (5, spread), (11, spread), (3, [0.01, 0.02, 0.03, 0.04])]:
        for e in EPSILONS:
            inner = ", ".join(dbl(x) for x in alphas)
            sets.append(f"({k}, {dbl(e)}, &[{inner}], {num(subsets(k, e, alphas))})")
    print("subsets", flush=True)
    random_bits, random_sets = random_leakages()
    write("leakage.rs", [
        ("ENTROPY", "(&[(f64, usize)], f64)", entropies),
        ("RANDOMISED_RESPONSE", "(f64, &[(f64, usize)], f64)", response),
        ("UNARY_ENCODING", "(f64, &[(f64, usize)], [f64; 3])", bits),
        ("UNARY_EDGES", "(f64, f64, &[(f64, usize)], f64)", edges),
        ("SUBSET_SELECTION", "(usize, f64, &[f64], f64)", sets),
        ("RANDOM_UNARY_ENCODING", "(f64, f64, &[(f64, usize)], f64)", random_bits),
        ("RANDOM_SUBSET_SELECTION", "(usize, f64, &[f64], f64)", random_sets),
    ])


if __name__ == "__main__":
    check_definitions()
    special()
    dirichlet_mean()
    leakage()
