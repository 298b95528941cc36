// Functions that JavaScript lacks, or has with another value at poles, for code that is written in it.

function ng_isinf(a) {
    return Math.abs(a) == Infinity;
}

function ng_fmod(a, b) {
    return a % b;
}

function ng_copysign(a, b) {
    return Math.abs(a) * (b < 0 || Object.is(b, -0) ? -1 : 1);
}

// 1 to any power is 1 in IEEE 754, and NaN here; so with -1 to an infinite one.
function ng_pow(a, b) {
    return a == 1 || (a == -1 && Math.abs(b) == Infinity) ? 1 : Math.pow(a, b);
}

// Below 1.5 the power series; above, 1 minus a continued fraction. Source: Abramowitz & Stegun, 7.1.
function ng_erf(a) {
    const x = Math.abs(a);
    if (x < 1.5) {
        let sum = 0;
        for (let n = 30; n > 0; n--) sum = (1 / (2 * n + 1) + sum) * (-x * x / n);
        return a + a * (0.12837916709551257 + 1.1283791670955126 * sum);
    }
    if (!(x < 6)) return a != a ? a : Math.sign(a);
    let tail = x;
    for (let n = 120; n > 0; n--) tail = x + n / 2 / tail;
    return Math.sign(a) * (1 - 0.5641895835477563 * Math.exp(-x * x) / tail);
}
