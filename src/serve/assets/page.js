// Wires the page: an image from wherever goes to every panel, to the search, and nowhere else.
import * as api from "./api.js";
import { Panel } from "./panel.js";
import { addSamples } from "./samples.js";
import { items } from "./similar.js";
import { watch } from "./live.js";

const find = (id) => document.getElementById(id);
const panels = [];
let models = new Map();  // by name
let colours = null;  // of heat maps and saliency
let image = null;  // {file, bitmap}
let searches = false;

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
  if (image) await show();
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
  if (image) await show();
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

async function show() {
  say(`Looking at ${image.file.name || "the pasted image"}…`);
  const asked = image;
  await Promise.all([...panels.map((panel) => panel.show(asked)), findSimilar(asked)]);
  if (asked === image && !find("status").classList.contains("bad")) {
    const best = panels.map((panel) => `${panel.select.value}: ${panel.best || "no answer"}`);
    say(best.join("; "));
  }
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

function addPanel(model) {
  const panel = new Panel(models, model, colours, trouble);
  panels.push(panel);
  find("panels").append(panel.element);
  panel.show(image);
}

function compare(both) {
  if (both && panels.length === 1) addPanel([...models.keys()].find((one) => one !== panels[0].select.value) ?? panels[0].select.value);
  if (!both && panels.length > 1) panels.pop().element.remove();
}

function listen() {
  find("file").addEventListener("change", (event) => {
    take(event.target.files[0]);
    event.target.value = "";  // so that the same file can be chosen again
  });
  addEventListener("paste", (event) => {
    const file = [...event.clipboardData.files].find((one) => one.type.startsWith("image/"));
    if (file) take(file);
    else say("There is no image on the clipboard.", true);
  });
  const over = (event, on) => {
    event.preventDefault();
    find("drop").classList.toggle("over", on);
  };
  addEventListener("dragover", (event) => over(event, true));
  addEventListener("dragleave", (event) => over(event, false));
  addEventListener("drop", (event) => {
    over(event, false);
    take(event.dataTransfer.files[0]);
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
    else if (panels.length === 0) addPanel(models.keys().next().value);
    return true;
  } catch (problem) {
    trouble(problem);
    return false;
  }
}

listen();
await start();
watch(find("live"), find("busy"), { asks: () => find("unlock").hidden, trouble, back });
