// One model's answers: its classes as bars, and its attention over the image.
import * as api from "./api.js";
import { drawSeen, overlay } from "./maps.js";

const TOP = 5;
const WHOLE = [0, 0, 1, 1];
const percent = (score) => (100 * score).toFixed(score < 0.1 ? 2 : 1) + " %";
let panels = 0;

function bar({ label, score }) {
  const item = document.createElement("li");
  const words = document.createElement("span");
  words.className = "words";
  const name = document.createElement("span"), value = document.createElement("span");
  name.textContent = label;
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
    this.turn = 0;  // answers to an image that was replaced since come too late
  }

  // image: {file, bitmap}
  async show(image) {
    if (!image) return;
    const turn = ++this.turn;
    this.image = image;
    this.best = "";
    this.attention = null;
    this.answers.replaceChildren();
    this.took.textContent = "";
    try {
      const start = performance.now();
      const { answers, attention } = await api.classify(this.models.get(this.select.value), image.file, TOP);
      if (turn !== this.turn) return;
      this.took.textContent = `${Math.round(performance.now() - start)} ms from question to answer`;
      this.best = answers[0]?.label ?? "";
      this.answers.replaceChildren(...answers.map(bar));
      this.attention = attention;
      this.setSliders();
    } catch (problem) {
      if (turn === this.turn) this.trouble(problem);
    }
    if (turn === this.turn) await this.draw();
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
    const turn = this.turn, kind = this.kinds.find((one) => one.checked).value;
    const map = this.chosenMap();
    this.caption.textContent = map || !this.best ? "" : "This model has no attention to show.";
    const picture = map && kind !== "image" ? await loaded(map.png) : null;
    if (turn !== this.turn || (map && map !== this.chosenMap())) return;
    drawSeen(this.canvas, this.image.bitmap, this.attention?.seen ?? WHOLE);
    if (picture) overlay(this.canvas, picture, kind, this.colours);
    const what = !picture ? "The image" : kind === "heat" ? "Heat map of the attention" : "Grey saliency";
    this.canvas.setAttribute("aria-label", `${what}, ${this.select.value}${this.best ? `, answer: ${this.best}` : ""}`);
  }
}
