// Wires the page: an image from wherever, or the text that somebody writes, goes to every panel, to the search, and
// nowhere else.
import * as api from "./api.js";
import { Panel } from "./panel.js";
import { addSamples } from "./samples.js";
import { items } from "./similar.js";
import { TranslationPanel } from "./translation.js";
import { watch } from "./live.js";

const PAUSE = 400;  // milliseconds without a key until what was written is translated

const find = (id) => document.getElementById(id);
const panels = [];
let models = new Map();  // by name
let colours = null;  // of heat maps and saliency
let image = null;  // {file, bitmap}
let searches = false;
let texts = false;  // whether the panels are of models that translate
let turn = 0;  // answers to what was asked before come too late
let pause = 0;  // the timer

function say(words, bad = false) {
  find("status").textContent = words;
  find("status").classList.toggle("bad", bad);
}

function trouble(problem) {
  if (problem instanceof api.Away) away();
  else if (problem instanceof api.Locked) lock(problem.message);
  else say(problem.message, true);
}

function away() {
  find("trouble").hidden = false;
  find("trouble").textContent = "The server does not answer. Trying again…";
}

async function back() {
  find("trouble").hidden = true;
  if (models.size === 0) await start();
  if (given()) await show();
}

// The page waits for a token; words: what was wrong with the last one.
function lock(words) {
  find("trouble").hidden = true;
  document.querySelector("main").hidden = true;
  find("locked").textContent = words;
  if (!find("unlock").hidden) return;
  find("unlock").hidden = false;
  find("token").focus();
}

async function unlock(event) {
  event.preventDefault();
  const token = find("token").value;
  find("token").value = "";
  try {
    api.useToken(token);
  } catch (problem) {
    return trouble(problem);
  }
  if (!await start()) return;
  find("unlock").hidden = true;
  document.querySelector("main").hidden = false;
  if (given()) await show();
}

async function take(file) {
  if (!file) return;
  if (!file.type.startsWith("image/")) return say(`${file.name || "This"} is no image.`, true);
  let bitmap;
  try {
    bitmap = await createImageBitmap(file);
  } catch {
    return say(`${file.name || "The image"} cannot be read: it is damaged, or no JPEG, PNG or WebP.`, true);
  }
  image = { file, bitmap };
  await show();
}

// What the panels are to answer: an image, or lines and how many translations of each; null for none.
function given() {
  if (!texts) return image;
  const lines = find("text").value.split("\n").map((line) => line.trim()).filter((line) => line !== "");
  return lines.length > 0 ? { lines, best: Number(find("best").value) } : null;
}

async function show() {
  const asked = image, wish = given();
  if (!wish) return clear();
  say(texts ? "Translating…" : `Looking at ${image.file.name || "the pasted image"}…`);
  const mine = ++turn;
  await Promise.all([...panels.map((panel) => panel.show(wish)), texts ? null : findSimilar(asked)]);
  if (mine === turn && !find("status").classList.contains("bad")) {
    const best = panels.map((panel) => `${panel.select.value}: ${panel.best || "no answer"}`);
    say(best.join("; "));
  }
}

function clear() {
  ++turn;
  say("");
  for (const panel of panels) panel.show(null);
}

async function findSimilar(asked) {
  if (!searches) return;
  try {
    const found = await api.similar(asked.file);
    if (asked !== image) return;
    find("neighbours").replaceChildren(...items(found));
    find("similar").hidden = false;
  } catch (problem) {
    trouble(problem);
  }
}

const translates = (name) => models.get(name).task === "translate";

function addPanel(model) {
  const listeners = { trouble, changed: choose };
  const panel = texts ? new TranslationPanel(models, model, listeners) : new Panel(models, model, colours, listeners);
  panels.push(panel);
  find("panels").append(panel.element);
  panel.show(given());
}

// Another model in a panel. One of the other kind takes the whole page: it answers other questions.
function choose(panel) {
  const name = panel.select.value;
  if (translates(name) === texts) return panel.show(given());
  begin(name);
  panels[0].select.focus();
}

// The page for this model.
function begin(name) {
  for (const panel of panels.splice(0)) panel.element.remove();
  texts = translates(name);
  find("choose").hidden = texts;
  find("write").hidden = !texts;
  find("similar").hidden = texts || find("neighbours").childElementCount === 0;
  find("about").textContent = texts ? "What the network makes of a sentence." : "What the network sees in an image.";
  find("answers-title").textContent = texts ? "Translations" : "Answers";
  find("compare").checked = false;
  ++turn;
  say("");
  addPanel(name);
}

function compare(both) {
  if (both && panels.length === 1) {
    const { value } = panels[0].select;
    addPanel([...models.keys()].find((one) => one !== value && translates(one) === texts) ?? value);
  }
  if (!both && panels.length > 1) panels.pop().element.remove();
}

function write(after) {
  clearTimeout(pause);
  pause = setTimeout(show, after);
}

function listen() {
  find("file").addEventListener("change", (event) => {
    take(event.target.files[0]);
    event.target.value = "";  // so that the same file can be chosen again
  });
  find("text").addEventListener("input", () => write(PAUSE));
  find("best").addEventListener("change", () => write(0));
  addEventListener("paste", (event) => {
    if (texts) return;  // the field takes it
    const file = [...event.clipboardData.files].find((one) => one.type.startsWith("image/"));
    if (file) take(file);
    else say("There is no image on the clipboard.", true);
  });
  const over = (event, on) => {
    if (texts) return;
    event.preventDefault();
    find("drop").classList.toggle("over", on);
  };
  addEventListener("dragover", (event) => over(event, true));
  addEventListener("dragleave", (event) => over(event, false));
  addEventListener("drop", (event) => {
    over(event, false);
    if (!texts) take(event.dataTransfer.files[0]);
  });
  find("compare").addEventListener("change", (event) => compare(event.target.checked));
  find("unlock").addEventListener("submit", unlock);
  addSamples(find("samples"), take);
}

// Whether the server told what it serves.
async function start() {
  try {
    const told = await api.statistics();
    colours ??= await api.colours();
    searches = told.search;
    models = new Map(told.models.filter((model) => model.ready).map((model) => [model.name, model]));
    if (models.size === 0) say("The server has no model ready.", true);
    else if (panels.length === 0) begin(models.keys().next().value);
    return true;
  } catch (problem) {
    trouble(problem);
    return false;
  }
}

listen();
await start();
watch(find("live"), find("busy"), { asks: () => find("unlock").hidden, trouble, back });
