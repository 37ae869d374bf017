// The list of what was found: a button for each object, which shows it in the image while it has the focus or the
// pointer, a legend that counts them, and the score from which on they are shown.
import { bar, percent, swatch } from "./bars.js";

// Up and down among the buttons of a list, as among the items of a menu; Tab goes on to what follows.
const STEPS = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1, Home: -Infinity, End: Infinity };

export const words = ({ label, score }) => `${label} ${percent(score)}`;

export class ObjectList {
  // threshold, legend, list: elements; changed(): the picture is to be drawn again.
  constructor({ threshold, legend, list }, changed) {
    Object.assign(this, { threshold, legend, list, changed });
    this.text = threshold.parentElement.querySelector("output");
    this.buttons = [];
    threshold.addEventListener("input", () => this.filter());
    list.addEventListener("keydown", (event) => this.step(event));
  }

  // Of an image, or of none: what the list had is for others to replace.
  fill(detections) {
    this.detections = detections;
    this.threshold.parentElement.hidden = this.legend.hidden = !detections;
    this.list.classList.toggle("objects", detections !== null);
    this.list.setAttribute("aria-label", detections ? "Objects by score" : "Classes by probability");
    this.buttons = [];
    if (!detections) return;
    this.buttons = detections.told.objects.map((object) => this.button(object));
    this.list.replaceChildren(...this.buttons.map((button) => {
      const item = document.createElement("li");
      item.append(button);
      return item;
    }));
    this.list.scrollTop = 0;
    this.filter();
  }

  button(object) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...bar(object).childNodes);
    button.querySelector("progress").setAttribute("aria-hidden", "true");  // the words say it
    for (const event of ["focus", "pointerenter"]) button.addEventListener(event, () => this.choose(object));
    for (const event of ["blur", "pointerleave"]) button.addEventListener(event, () => this.choose(null));
    return button;
  }

  // Shows what is likely enough, of what is there already.
  filter() {
    const detections = this.detections;
    if (!detections) return;
    detections.threshold = Number(this.threshold.value);
    this.text.textContent = percent(detections.threshold, 0);
    const { objects } = detections.told;
    this.buttons.forEach((button, i) => {
      button.parentElement.hidden = objects[i].score < detections.threshold;
      button.tabIndex = i === 0 ? 0 : -1;
    });
    this.legend.replaceChildren(...detections.legend().map(({ label, colour, count }) => {
      const item = document.createElement("li");
      item.append(swatch(colour), `${label} ${count}`);
      return item;
    }));
    if (!detections.shown.includes(detections.chosen)) this.choose(null);
    this.changed();
  }

  // "3 cat, 1 dog", of those that are shown.
  get summary() {
    const there = this.detections.legend().filter(({ count }) => count > 0);
    return there.map(({ label, count }) => `${count} ${label}`).join(", ") || "nothing";
  }

  // The object that somebody looks at, here or in the image.
  choose(object) {
    const detections = this.detections;
    if (!detections || detections.chosen === object) return;
    detections.chosen = object;
    this.buttons.forEach((button, i) => {
      const chosen = detections.told.objects[i] === object;
      button.classList.toggle("chosen", chosen);
      if (chosen) this.reveal(button.parentElement);
    });
    this.changed();
  }

  // In the list alone: the page stays where it is.
  reveal(item) {
    const top = item.offsetTop, bottom = top + item.offsetHeight;
    if (top < this.list.scrollTop) this.list.scrollTop = top;
    if (bottom > this.list.scrollTop + this.list.clientHeight) this.list.scrollTop = bottom - this.list.clientHeight;
  }

  step(event) {
    const shown = this.buttons.filter((button) => !button.parentElement.hidden);
    const from = shown.indexOf(document.activeElement);
    if (from < 0 || !(event.key in STEPS)) return;
    event.preventDefault();
    const to = shown[Math.min(Math.max(from + STEPS[event.key], 0), shown.length - 1)];
    for (const button of shown) button.tabIndex = button === to ? 0 : -1;
    to.focus({ preventScroll: true });
  }
}
