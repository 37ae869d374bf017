// Draws the image as the model gets it, and its attention over it, with the formulas and colours of `cait attend`
// (src/image/draw/heat_map.h); page_checks.py holds both equal.
import { enlarged } from "./enlarge.js";

const OVER = 0.6;  // share of the colours above the image

// `seen`: the part of the image that the model gets, [left, top, right, bottom] as shares of its size; parts beyond
// the image stay black.
export function drawSeen(canvas, bitmap, seen) {
  const [left, top, right, bottom] = seen;
  const width = (right - left) * bitmap.width, height = (bottom - top) * bitmap.height;
  canvas.height = Math.max(1, Math.round(canvas.width * height / width));
  const context = canvas.getContext("2d", { willReadFrequently: true });
  context.fillStyle = "#000";
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(bitmap, left * bitmap.width, top * bitmap.height, width, height, 0, 0, canvas.width, canvas.height);
}

// A picture of the server's with a pixel for each patch, as numbers.
function numbers(map) {
  const canvas = new OffscreenCanvas(map.naturalWidth, map.naturalHeight);
  const context = canvas.getContext("2d");
  context.drawImage(map, 0, 0);
  const pixels = context.getImageData(0, 0, canvas.width, canvas.height).data;
  return { width: canvas.width, height: canvas.height, values: pixels.filter((_, i) => i % 4 === 0) };
}

// The colours above the image.
function heat(data, values, colours) {
  for (let i = 0; i < values.length; ++i)
    for (let c = 0; c < 3; ++c)
      data[4 * i + c] = Math.round(data[4 * i + c] * (1 - OVER) + colours[values[i]][c] * OVER);
}

// Figure 3.10 of Touvron's thesis: the grey image times the map, which goes from 0 to 1, in the colours of cividis.
function saliency(data, values, colours) {
  const least = values.reduce((a, b) => Math.min(a, b)), most = values.reduce((a, b) => Math.max(a, b));
  const range = Math.max(most - least, 1);
  for (let i = 0; i < values.length; ++i) {
    const at = 4 * i;
    const grey = (19595 * data[at] + 38470 * data[at + 1] + 7471 * data[at + 2] + 0x8000) >> 16;
    const colour = colours[Math.round((values[i] - least) / range * grey)];
    for (let c = 0; c < 3; ++c) data[at + c] = colour[c];
  }
}

// Over what `canvas` shows. kind: "heat" or "saliency"; colours: 256 of each kind, as the server has them.
export function overlay(canvas, map, kind, colours) {
  const context = canvas.getContext("2d");
  const picture = context.getImageData(0, 0, canvas.width, canvas.height);
  const values = enlarged(numbers(map), canvas.width, canvas.height);
  (kind === "heat" ? heat : saliency)(picture.data, values, colours[kind]);
  context.putImageData(picture, 0, 0);
}
