// How busy the server is, every two seconds while somebody looks.
import * as api from "./api.js";

const EVERY = 2000;

function row(cells) {
  const element = document.createElement("tr");
  for (const cell of cells) {
    const data = document.createElement("td");
    data.textContent = cell;
    element.append(data);
  }
  return element;
}

// asks(): whether to; trouble(problem) and back() hear of a server that goes away and of one that is there again.
export function watch(table, busy, { asks, trouble, back }) {
  let gone = false;
  const look = async () => {
    if (document.hidden || !asks()) return;
    try {
      const { models, pending } = await api.statistics();
      const served = models.filter((model) => model.ready);
      table.replaceChildren(...served.map((model) => row([model.name, model.images_per_second.toFixed(1),
        model.latency_ms.p50.toFixed(1), model.latency_ms.p99.toFixed(1)])));
      busy.textContent = `${pending} waiting`;
      if (gone) {
        gone = false;
        back();
      }
    } catch (problem) {
      gone ||= problem instanceof api.Away;
      if (!(problem instanceof api.Refused)) trouble(problem);
    }
  };
  look();
  setInterval(look, EVERY);
  document.addEventListener("visibilitychange", look);
}
