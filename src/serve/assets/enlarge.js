// Enlarges a small grey map exactly as the program does (src/image/ops/resize.h): bicubic, 8-bit pixels, weights in
// fixed point, first across and then down. The browser's own smoothing differs from one to the next.

const BITS = 22;
const SUPPORT = 2;

function cubic(x) {
  const a = -0.5;
  x = Math.abs(x);
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0;
}

// For each of `to` places, where among `from` it begins and what each pixel weighs.
function weights(from, to) {
  return Array.from({ length: to }, (_, place) => {
    const centre = (place + 0.5) * from / to;
    const first = Math.max(0, Math.trunc(centre - SUPPORT + 0.5));
    const last = Math.min(from, Math.trunc(centre + SUPPORT + 0.5));
    const shares = Array.from({ length: last - first }, (_, i) => cubic(first + i - centre + 0.5));
    const sum = shares.reduce((a, b) => a + b);
    return { first, parts: shares.map((share) => Math.trunc(share / sum * 2 ** BITS + (share < 0 ? -0.5 : 0.5))) };
  });
}

const byte = (sum) => Math.min(255, Math.max(0, Math.floor((sum + 2 ** (BITS - 1)) / 2 ** BITS)));

// One pass: each of the lines, `length` pixels long, becomes one of `to`.
function stretched(pixels, lines, length, to) {
  const rule = weights(length, to), result = new Uint8Array(lines * to);
  for (let line = 0; line < lines; ++line)
    for (let place = 0; place < to; ++place) {
      const { first, parts } = rule[place];
      let sum = 0;
      for (let i = 0; i < parts.length; ++i) sum += parts[i] * pixels[line * length + first + i];
      result[line * to + place] = byte(sum);
    }
  return result;
}

function turned(pixels, lines, length) {
  const result = new Uint8Array(pixels.length);
  for (let line = 0; line < lines; ++line)
    for (let i = 0; i < length; ++i) result[i * lines + line] = pixels[line * length + i];
  return result;
}

// {width, height, values}: (height, width) bytes. The result is at least as large.
export function enlarged({ width, height, values }, wide, high) {
  const across = stretched(values, height, width, wide);
  const down = stretched(turned(across, height, wide), wide, height, high);
  return turned(down, wide, high);
}
