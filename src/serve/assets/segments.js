// Draws the classes of pixels over the image, and knows which class is under the pointer.

const OVER = 0.5;  // share of the colours above the image

// The server's grey picture, whose values are classes, at the size of the canvas.
async function classesAt(uri, width, height) {
  const picture = new Image();
  picture.src = uri;
  await picture.decode();
  const context = new OffscreenCanvas(width, height).getContext("2d");
  context.imageSmoothingEnabled = false;  // there is nothing between two classes
  context.drawImage(picture, 0, 0, width, height);
  return context.getImageData(0, 0, width, height).data.filter((_, i) => i % 4 === 0);
}

export class Segments {
  // told: {width, height, png, areas: [{label, index, share, colour}]}
  constructor(told) {
    this.told = told;
    this.byIndex = new Map(told.areas.map((area) => [area.index, area]));
  }

  // Over the whole image, or the image alone.
  async draw(canvas, bitmap, shown) {
    canvas.height = Math.max(1, Math.round(canvas.width * bitmap.height / bitmap.width));
    this.width = canvas.width;
    this.classes = await classesAt(this.told.png, canvas.width, canvas.height);
    const context = canvas.getContext("2d", { willReadFrequently: true });
    context.drawImage(bitmap, 0, 0, canvas.width, canvas.height);
    if (!shown) return;
    const picture = context.getImageData(0, 0, canvas.width, canvas.height);
    this.classes.forEach((index, i) => {
      const colour = this.byIndex.get(index)?.colour;
      for (let c = 0; colour && c < 3; ++c)
        picture.data[4 * i + c] = Math.round(picture.data[4 * i + c] * (1 - OVER) + colour[c] * OVER);
    });
    context.putImageData(picture, 0, 0);
  }

  // The name of the class there, in pixels of the canvas.
  nameAt(x, y) {
    if (x < 0 || x >= this.width) return "";
    return this.byIndex.get(this.classes?.[y * this.width + x])?.label ?? "";
  }

  legend() {
    return this.told.areas.map(({ label, share, colour }) => ({ label, score: share, colour }));
  }
}
