// An answer as people read it: its name, how likely it is, and a bar as long as that.

export const percent = (score, digits = score < 0.1 ? 2 : 1) => (100 * score).toFixed(digits) + " %";

export function swatch(colour) {
  const element = document.createElement("span");
  element.className = "swatch";
  element.style.background = `rgb(${colour.join(" ")})`;
  return element;
}

// colour: that of the class over the image, where it has one.
export function bar({ label, score, colour }) {
  const item = document.createElement("li");
  const words = document.createElement("span");
  words.className = "words";
  const name = document.createElement("span"), value = document.createElement("span");
  name.textContent = label;
  if (colour) name.prepend(swatch(colour));
  value.textContent = percent(score);
  words.append(name, value);
  const progress = document.createElement("progress");
  progress.max = 1;
  progress.value = score;
  progress.setAttribute("aria-label", label);
  item.append(words, progress);
  return item;
}
