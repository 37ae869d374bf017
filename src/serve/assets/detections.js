// Draws what was found over the image: boxes, masks and the one that somebody looks at. Knows which object is under
// the pointer, and which are likely enough to be shown.

// Shares of a mask's colour above the image: usually, and of the one that somebody looks at and of the others then.
const OVER = 0.4, CHOSEN = 0.65, OTHERS = 0.15;

// The lengths of runs out of COCO's text: five bits a character, from the third run on the difference to the one
// before the last.
export function runsOf(text) {
  const runs = [];
  for (let at = 0; at < text.length;) {
    let value = 0, shift = 0, more = true;
    while (more) {
      const bits = text.charCodeAt(at++) - 48;
      value += (bits & 31) * 2 ** shift;
      shift += 5;
      more = (bits & 32) !== 0;
      if (!more && bits & 16) value -= 2 ** shift;
    }
    runs.push(runs.length > 2 ? value + runs[runs.length - 2] : value);
  }
  return runs;
}

// Whether pixels of the image are inside a mask, which goes down the columns and begins outside.
class Inside {
  constructor({ size, counts }) {
    this.height = size[0];
    let end = 0;
    this.ends = runsOf(counts).map((run) => end += run);
  }

  // The number of the run that a pixel is in: odd ones are inside.
  run(place) {
    let low = 0, high = this.ends.length;  // the first run that ends behind it
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.ends[middle] > place) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  // Of column x, which of the rows are: they go down.
  column(x, rows) {
    let run = this.run(x * this.height + rows[0]);
    return rows.map((row) => {
      while (this.ends[run] <= x * this.height + row) ++run;
      return run % 2;
    });
  }
}

// An object at the size of the canvas: its box, and the pixels of it that its mask covers.
class Placed {
  constructor(object, across, down, width, height) {
    const [left, top, right, bottom] = object.box;
    this.object = object;
    this.box = [left * across, top * down, right * across, bottom * down];
    this.area = (right - left) * (bottom - top);
    this.left = Math.max(0, Math.floor(this.box[0]));
    this.top = Math.max(0, Math.floor(this.box[1]));
    this.wide = Math.max(0, Math.min(width, Math.ceil(this.box[2])) - this.left);
    this.high = Math.max(0, Math.min(height, Math.ceil(this.box[3])) - this.top);
    if (!object.mask) return;
    const inside = new Inside(object.mask);
    const rows = Array.from({ length: this.high }, (_, y) => Math.floor((this.top + y + 0.5) / down));
    this.mask = new Uint8Array(this.wide * this.high);
    for (let x = 0; x < this.wide; ++x)
      inside.column(Math.floor((this.left + x + 0.5) / across), rows).forEach((is, y) => {
        this.mask[y * this.wide + x] = is;
      });
  }

  // Of its mask where it has one, otherwise of its box; in pixels of the canvas.
  covers(x, y) {
    const column = x - this.left, row = y - this.top;
    if (column < 0 || row < 0 || column >= this.wide || row >= this.high) return false;
    return !this.mask || this.mask[row * this.wide + column] === 1;
  }
}

export class Detections {
  // told: {width, height, objects: [{label, index, score, box, colour, mask}]}, the likeliest first
  constructor(told) {
    this.told = told;
    this.threshold = 0;
    this.chosen = null;  // the object that somebody looks at
  }

  get shown() {
    return this.told.objects.filter((object) => object.score >= this.threshold);
  }

  // Every class that was found, however unlikely, so that the list stays as it is while the threshold moves:
  // [{label, colour, count}], count being that of the shown ones.
  legend() {
    const classes = new Map();
    for (const { label, index, colour, score } of this.told.objects) {
      const one = classes.get(index) ?? { label, colour, count: 0 };
      if (score >= this.threshold) ++one.count;
      classes.set(index, one);
    }
    return [...classes.values()];
  }

  // The image, with what was found unless it alone is wanted.
  draw(canvas, bitmap, found) {
    canvas.height = Math.max(1, Math.round(canvas.width * bitmap.height / bitmap.width));
    const across = canvas.width / this.told.width, down = canvas.height / this.told.height;
    const context = canvas.getContext("2d", { willReadFrequently: true });
    context.drawImage(bitmap, 0, 0, canvas.width, canvas.height);
    this.placed ??= this.told.objects.map((object) => new Placed(object, across, down, canvas.width, canvas.height));
    if (!found) return;
    const shown = this.placed.filter(({ object }) => object.score >= this.threshold).reverse();  // the likeliest on top
    const picture = context.getImageData(0, 0, canvas.width, canvas.height);
    const chosen = shown.find(({ object }) => object === this.chosen);
    for (const one of shown) tint(picture, one, !chosen ? OVER : one === chosen ? CHOSEN : OTHERS);
    context.putImageData(picture, 0, 0);
    for (const one of shown) if (one !== chosen) outline(context, one, chosen ? 1 : 2);
    if (chosen) outline(context, chosen, 4);
  }

  // The smallest of the shown objects there, in pixels of the canvas, or null.
  at(x, y) {
    const there = (this.placed ?? []).filter((one) => one.object.score >= this.threshold && one.covers(x, y));
    return there.reduce((least, one) => !least || one.area < least.area ? one : least, null)?.object ?? null;
  }
}

function tint(picture, { object, mask, left, top, wide, high }, share) {
  if (!mask) return;
  for (let y = 0; y < high; ++y)
    for (let x = 0; x < wide; ++x) {
      if (!mask[y * wide + x]) continue;
      const at = 4 * ((top + y) * picture.width + left + x);
      for (let c = 0; c < 3; ++c)
        picture.data[at + c] = Math.round(picture.data[at + c] * (1 - share) + object.colour[c] * share);
    }
}

// On a dark rim, so that it is seen on any ground.
function outline(context, { object, box }, width) {
  const [left, top, right, bottom] = box;
  for (const [colour, wide] of [["#000", width + 2], [`rgb(${object.colour.join(" ")})`, width]]) {
    context.strokeStyle = colour;
    context.lineWidth = wide;
    context.strokeRect(left, top, right - left, bottom - top);
  }
}
