// Draws the image as the model gets it, and its attention over it.

// Colours at equal steps of the scales that Matplotlib calls inferno and cividis.
const INFERNO = [[0, 0, 4], [40, 11, 84], [101, 21, 110], [159, 42, 99], [212, 72, 66], [245, 125, 21], [250, 193, 39], [252, 255, 164]];
const CIVIDIS = [[0, 34, 78], [30, 60, 111], [73, 85, 108], [107, 110, 116], [139, 136, 120], [174, 164, 112], [213, 195, 92], [254, 232, 56]];
const OVER = 0.6;  // share of the colours above the image

// 256 colours of a scale, as bytes.
function table(scale) {
  const bytes = new Uint8ClampedArray(256 * 3);
  for (let i = 0; i < 256; ++i) {
    const place = i / 255 * (scale.length - 1);
    const low = Math.min(Math.floor(place), scale.length - 2), share = place - low;
    for (let c = 0; c < 3; ++c) bytes[i * 3 + c] = scale[low][c] + (scale[low + 1][c] - scale[low][c]) * share;
  }
  return bytes;
}

const TABLES = { heat: table(INFERNO), saliency: table(CIVIDIS) };

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

// The map as large as the canvas, a byte for every pixel: the browser's own smooth enlargement.
function enlarged(map, { width, height }) {
  const large = document.createElement("canvas");
  large.width = width;
  large.height = height;
  const context = large.getContext("2d", { willReadFrequently: true });
  context.imageSmoothingQuality = "high";
  context.drawImage(map, 0, 0, width, height);
  return context.getImageData(0, 0, width, height).data;
}

// Over what `canvas` shows. heat: colours above it; saliency: the grey image lit by them.
export function overlay(canvas, map, kind) {
  const context = canvas.getContext("2d");
  const picture = context.getImageData(0, 0, canvas.width, canvas.height);
  const values = enlarged(map, canvas), colours = TABLES[kind], data = picture.data;
  for (let at = 0; at < data.length; at += 4) {
    const over = values[at] * 3;
    const grey = (0.299 * data[at] + 0.587 * data[at + 1] + 0.114 * data[at + 2]) / 255;
    for (let c = 0; c < 3; ++c)
      data[at + c] = kind === "heat" ? data[at + c] * (1 - OVER) + colours[over + c] * OVER : colours[over + c] * grey;
  }
  context.putImageData(picture, 0, 0);
}
