// One model's answers: its classes as bars, and its attention, the classes of pixels or the objects found, over the
// image.
import * as api from "./api.js";
import { bar } from "./bars.js";
import { Detections } from "./detections.js";
import { drawSeen, overlay } from "./maps.js";
import { ObjectList, words } from "./objects.js";
import { Segments } from "./segments.js";

const TOP = 5;
const WHOLE = [0, 0, 1, 1];
// What a model shows over the image, by its task; of others the attention.
const VIEWS = { segment: ["classes"], detect: ["objects"] };
const ATTENTION = ["heat", "saliency"];
let panels = 0;

async function loaded(uri) {
  const picture = new Image();
  picture.src = uri;
  await picture.decode();
  return picture;
}

export class Panel {
  // models: by name, as the server describes them; colours: see overlay(); trouble(problem) tells people;
  // changed(panel): another model was chosen.
  constructor(models, chosen, colours, { trouble, changed }) {
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
    this.select.addEventListener("change", () => changed(this));
    this.layer.addEventListener("input", () => this.draw());
    this.head.addEventListener("input", () => this.draw());
    this.canvas.addEventListener("pointermove", (event) => this.point(event));
    this.canvas.addEventListener("pointerleave", () => this.leave());
    this.objects = new ObjectList({ threshold: find(".threshold"), legend: find(".legend"), list: this.answers },
      () => this.draw());
    this.turn = 0;  // answers to an image that was replaced since come too late
  }

  // image: {file, bitmap}
  async show(image) {
    if (!image) return;
    const turn = ++this.turn;
    this.image = image;
    this.best = "";
    this.attention = null;
    this.segments = this.detections = null;
    this.objects.fill(null);
    this.answers.replaceChildren();
    this.took.textContent = "";
    try {
      const start = performance.now();
      const model = this.models.get(this.select.value);
      const { answers, attention, segments, detections } = await this.ask(model, image.file);
      if (turn !== this.turn) return;
      this.took.textContent = `${Math.round(performance.now() - start)} ms from question to answer`;
      this.best = answers[0]?.label ?? "";
      this.answers.replaceChildren(...answers.map(bar));
      this.attention = attention;
      this.segments = segments ?? null;
      this.detections = detections ?? null;
      this.setViews(VIEWS[model.task] ?? ATTENTION);
      this.setSliders();
      this.objects.fill(this.detections);
      if (this.detections) this.best = this.objects.summary;
    } catch (problem) {
      if (turn === this.turn) this.trouble(problem);
    }
    if (turn === this.turn) await this.draw();
  }

  async ask(model, file) {
    if (model.task === "segment") {
      const segments = new Segments(await api.segment(model, file));
      return { answers: segments.legend(), attention: null, segments };
    }
    if (model.task === "detect") {
      const detections = new Detections(await api.detect(model, file));
      return { answers: detections.told.objects, attention: null, detections };
    }
    return api.classify(model, file, TOP);
  }

  // What is there instead of attention hides its views and sliders.
  setViews(views) {
    for (const kind of this.kinds) kind.parentElement.hidden = kind.value !== "image" && !views.includes(kind.value);
    for (const slider of [this.layer, this.head]) slider.parentElement.hidden = views !== ATTENTION;
    if (this.kinds.find((one) => one.checked).parentElement.hidden)
      this.kinds.find((one) => one.value === views[0]).checked = true;
  }

  get view() {
    return this.kinds.find((one) => one.checked).value;
  }

  // What is under the pointer. The canvas is as large as fits into its place, in the middle of it.
  point(event) {
    const box = this.canvas.getBoundingClientRect(), { width, height } = this.canvas;
    const scale = Math.min(box.width / width, box.height / height);
    const x = Math.floor((event.clientX - box.left - (box.width - width * scale) / 2) / scale);
    const y = Math.floor((event.clientY - box.top - (box.height - height * scale) / 2) / scale);
    if (this.segments) this.tell(this.segments.nameAt(x, y));
    if (this.detections && this.view === "objects") this.objects.choose(this.detections.at(x, y));
  }

  leave() {
    this.tell("");
    this.objects.choose(null);
  }

  tell(name) {
    if (!this.segments && !this.detections) return;
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
    if (this.detections) return this.drawDetections();
    const turn = this.turn, kind = this.view;
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
    const segments = this.segments, shown = this.view === "classes";
    await segments.draw(this.canvas, this.image.bitmap, shown);
    if (segments !== this.segments) return this.draw();  // another image came meanwhile
    this.tell("");
    const what = shown ? "The image with the classes of its pixels" : "The image";
    this.canvas.setAttribute("aria-label", `${what}, ${this.select.value}, answer: ${this.best}`);
  }

  drawDetections() {
    const shown = this.view === "objects", { chosen } = this.detections;
    this.detections.draw(this.canvas, this.image.bitmap, shown);
    this.tell(shown && chosen ? words(chosen) : "");
    const count = this.detections.shown.length;
    const what = shown ? `The image with ${count} ${count === 1 ? "object" : "objects"}` : "The image";
    this.canvas.setAttribute("aria-label", `${what}, ${this.select.value}, answer: ${this.best || "nothing"}`);
  }
}
