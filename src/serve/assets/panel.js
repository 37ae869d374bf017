// One model's answers: its classes as bars, and its attention, or the classes of pixels, over the image.
import * as api from "./api.js";
import { drawSeen, overlay } from "./maps.js";
import { Segments } from "./segments.js";

const TOP = 5;
const WHOLE = [0, 0, 1, 1];
const percent = (score) => (100 * score).toFixed(score < 0.1 ? 2 : 1) + " %";
let panels = 0;

// colour: that of the class over the image, where it has one.
function bar({ label, score, colour }) {
  const item = document.createElement("li");
  const words = document.createElement("span");
  words.className = "words";
  const name = document.createElement("span"), value = document.createElement("span");
  name.textContent = label;
  if (colour) {
    const swatch = document.createElement("span");
    swatch.className = "swatch";
    swatch.style.background = `rgb(${colour.join(" ")})`;
    name.prepend(swatch);
  }
  value.textContent = percent(score);
  words.append(name, value);
  const progress = document.createElement("progress");
  progress.max = 1;
  progress.value = score;
  progress.setAttribute("aria-label", label);
  item.append(words, progress);
  return item;
}

async function loaded(uri) {
  const picture = new Image();
  picture.src = uri;
  await picture.decode();
  return picture;
}

export class Panel {
  // models: by name, as the server describes them; colours: see overlay(); trouble(problem) tells people.
  constructor(models, chosen, colours, trouble) {
    this.models = models;
    this.colours = colours;
    this.trouble = trouble;
    this.element = document.getElementById("panel").content.firstElementChild.cloneNode(true);
    const find = (selector) => this.element.querySelector(selector);
    this.select = find("select");
    this.canvas = find("canvas");
    this.caption = find("figcaption");
    this.layer = find(".layer");
    this.head = find(".head");
    this.layerText = this.layer.parentElement.querySelector("output");
    this.headText = this.head.parentElement.querySelector("output");
    this.answers = find(".answers");
    this.took = find(".took");
    this.kinds = [...this.element.querySelectorAll(".views input")];
    const group = `view-${++panels}`;
    for (const kind of this.kinds) {
      kind.name = group;
      kind.addEventListener("change", () => this.draw());
    }
    for (const name of models.keys()) this.select.add(new Option(name, name));
    this.select.value = chosen;
    this.select.addEventListener("change", () => this.show(this.image));
    this.layer.addEventListener("input", () => this.draw());
    this.head.addEventListener("input", () => this.draw());
    this.canvas.addEventListener("pointermove", (event) => this.point(event));
    this.canvas.addEventListener("pointerleave", () => this.tell(""));
    this.turn = 0;  // answers to an image that was replaced since come too late
  }

  // image: {file, bitmap}
  async show(image) {
    if (!image) return;
    const turn = ++this.turn;
    this.image = image;
    this.best = "";
    this.attention = null;
    this.segments = null;
    this.answers.replaceChildren();
    this.took.textContent = "";
    try {
      const start = performance.now();
      const model = this.models.get(this.select.value);
      const { answers, attention, segments } = await this.ask(model, image.file);
      if (turn !== this.turn) return;
      this.took.textContent = `${Math.round(performance.now() - start)} ms from question to answer`;
      this.best = answers[0]?.label ?? "";
      this.answers.replaceChildren(...answers.map(bar));
      this.attention = attention;
      this.segments = segments ?? null;
      this.setViews(model.task === "segment");
      this.setSliders();
    } catch (problem) {
      if (turn === this.turn) this.trouble(problem);
    }
    if (turn === this.turn) await this.draw();
  }

  async ask(model, file) {
    if (model.task !== "segment") return api.classify(model, file, TOP);
    const segments = new Segments(await api.segment(model, file));
    return { answers: segments.legend(), attention: null, segments };
  }

  // Classes of pixels take the place of what attention has.
  setViews(pixels) {
    for (const kind of this.kinds)
      if (kind.value !== "image") kind.parentElement.hidden = (kind.value === "classes") !== pixels;
    for (const slider of [this.layer, this.head]) slider.parentElement.hidden = pixels;
    const chosen = this.kinds.find((one) => one.checked);
    if (chosen.parentElement.hidden) this.kinds.find((one) => one.value === (pixels ? "classes" : "heat")).checked = true;
  }

  // The name of the class under the pointer.
  point(event) {
    if (!this.segments) return;
    const box = this.canvas.getBoundingClientRect();
    const x = Math.floor((event.clientX - box.left) / box.width * this.canvas.width);
    const y = Math.floor((event.clientY - box.top) / box.height * this.canvas.height);
    this.tell(this.segments.nameAt(x, y));
  }

  tell(name) {
    if (!this.segments) return;
    this.canvas.title = name;
    this.caption.textContent = name || "Point at the image to see what is there.";
  }

  setSliders() {
    const layers = this.attention?.layers ?? [];
    this.layer.max = Math.max(0, layers.length - 1);
    this.layer.value = this.attention?.usual ?? 0;
    this.head.max = layers.length ? Math.max(...layers.map((layer) => layer.heads.length)) : 0;
    this.head.value = 0;
    this.layer.disabled = this.layer.max === "0";
    this.head.disabled = this.head.max === "0";
  }

  // The map that the sliders are at, and words for it.
  chosenMap() {
    const layers = this.attention?.layers ?? [];
    if (layers.length === 0) return null;
    const layer = layers[Number(this.layer.value)];
    const head = Math.min(Number(this.head.value), layer.heads.length);
    this.layerText.textContent = `${Number(this.layer.value) + 1} of ${layers.length}`;
    this.headText.textContent = head === 0 ? "mean" : `${head} of ${layer.heads.length}`;
    return head === 0 ? layer.mean : layer.heads[head - 1];
  }

  async draw() {
    if (!this.image) return;
    if (this.segments) return this.drawSegments();
    const turn = this.turn, kind = this.kinds.find((one) => one.checked).value;
    const map = this.chosenMap();
    this.caption.textContent = map || !this.best ? "" : "This model has no attention to show.";
    const picture = map && kind !== "image" ? await loaded(map.png) : null;
    if (turn !== this.turn || (map && map !== this.chosenMap())) return;
    drawSeen(this.canvas, this.image.bitmap, this.attention?.seen ?? WHOLE);
    if (picture) overlay(this.canvas, picture, kind, this.colours);
    this.canvas.title = "";
    const what = !picture ? "The image" : kind === "heat" ? "Heat map of the attention" : "Grey saliency";
    this.canvas.setAttribute("aria-label", `${what}, ${this.select.value}${this.best ? `, answer: ${this.best}` : ""}`);
  }

  async drawSegments() {
    const segments = this.segments, shown = this.kinds.find((one) => one.checked).value === "classes";
    await segments.draw(this.canvas, this.image.bitmap, shown);
    if (segments !== this.segments) return this.draw();  // another image came meanwhile
    this.tell("");
    const what = shown ? "The image with the classes of its pixels" : "The image";
    this.canvas.setAttribute("aria-label", `${what}, ${this.select.value}, answer: ${this.best}`);
  }
}
